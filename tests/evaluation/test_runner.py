"""The engine: every sample ends once, as an answer or a typed failure, whatever the target does."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_targets import Calculator, ExactMatch, final_bytes, new_folder, number_of, sample, samples

from rag_evaluation_framework import Options, Request, Response, Sample, Score
from rag_evaluation_framework.errors import StorageError, TargetError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.records.runs import Progress, RunOutcome
from rag_evaluation_framework.results.run_store import RunFolder


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the waits between attempts, and for an agent that is not there, be a fraction of what they are."""
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(attempts, "PATIENCE_AT_START", 0.2)


def run(
    directory: Path,
    target: Target,
    count: int = 50,
    *,
    folder: RunFolder | None = None,
    scorers: tuple[Scorer, ...] = (ExactMatch(),),
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 16,
    **options: float | int | None,
) -> tuple[RunOutcome, RunFolder]:
    folder = folder or new_folder(directory)
    outcome = run_samples(
        samples(count),
        target,
        scorers,
        folder=folder,
        options=Options(**options),  # type: ignore[arg-type]
        threads=threads,
        on_progress=on_progress,
    )
    return outcome, folder


def failure_kinds(folder: RunFolder) -> dict[str, str]:
    return {
        result.sample_id: result.response.failure.kind
        for result in folder.results()
        if result.response.failure is not None
    }


def test_every_sample_is_asked_scored_and_written_down_once(tmp_path: Path) -> None:
    target = Calculator()
    outcome, folder = run(tmp_path, target, 200)
    assert outcome == RunOutcome(completed=True, interrupted=False, done=200, failed=0, remaining=0)
    assert set(target.asked.values()) == {1}
    assert [result.sample_id for result in folder.results()] == [f"q{n:05}" for n in range(200)]
    assert all(result.scores[0].value == 1.0 for result in folder.results())
    assert all(result.response.latency_ms is not None for result in folder.results())
    assert target.closed == 1


def test_the_latency_of_answers_given_long_ago_is_not_made_up(tmp_path: Path) -> None:
    target = Calculator()
    target.is_live = False  # type: ignore[attr-defined]
    _, folder = run(tmp_path, target, 5)
    assert [result.response.latency_ms for result in folder.results()] == [None] * 5


def test_requests_that_reached_the_target_are_counted_retries_included(tmp_path: Path) -> None:
    faults = {
        "q00000": [TargetError("http-503", "down", retry=True), TargetError("http-503", "down", retry=True)],
        "q00001": [TargetError("connection-failed", "nobody there", retry=True)],
        "q00002": [
            TargetError("http-400", "turn 2 of 2: wrong", answered=[{"question": "a", "answer": "b"}])
        ],
    }
    target = Calculator(faults=lambda sample: faults.get(sample.id, []))
    _, folder = run(tmp_path / "live", target, 4)
    # Two that failed and the answer; what did not get there does not count; two turns; one.
    assert [entry.timing.requests for entry in folder.entries()] == [3, 1, 2, 1]
    recorded = Calculator()
    recorded.is_live = False  # type: ignore[attr-defined]
    _, folder = run(tmp_path / "recorded", recorded, 2)
    assert [entry.timing.requests for entry in folder.entries()] == [0, 0]


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    _, folder = run(tmp_path, Calculator())
    before = folder.journal_path.read_bytes()
    target = Calculator()
    outcome, _ = run(tmp_path, target, folder=folder)
    assert (outcome.completed, outcome.done, target.asked.total()) == (True, 50, 0)
    assert folder.journal_path.read_bytes() == before


def test_a_run_over_no_samples_is_complete_and_empty(tmp_path: Path) -> None:
    outcome, folder = run(tmp_path, Calculator(), 0)
    assert (outcome.completed, outcome.done, folder.state) == (True, 0, "complete")


def chaotic(sample: Sample) -> list[TargetError]:
    """Return the faults of a sample: of every kind, and the same in every run."""
    chance = random.Random(sample.id)
    kinds = [
        TargetError("http-429", "", retry=True, throttled=True, retry_after=0.001),
        TargetError("http-500", "", retry=True),
        TargetError("connection-reset", "", retry=True),
        TargetError("malformed-json", "", retry=True),
        TargetError("http-400", ""),
    ]
    faults = []
    while chance.random() < 0.3:
        faults.append(chance.choice(kinds))
    return faults


def test_results_are_the_same_with_1_2_and_16_workers(tmp_path: Path) -> None:
    found = set()
    for workers in (1, 2, 16):
        target = Calculator(faults=chaotic, delay=lambda each: random.Random(each.id).random() / 2000)
        outcome, folder = run(tmp_path, target, 150, concurrency=workers)
        assert outcome.completed
        assert target.most_at_once <= workers
        found.add(final_bytes(folder))
    assert len(found) == 1
    assert b'"http-400"' in found.pop()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 40))
def test_under_faults_every_sample_ends_as_the_retry_table_says(
    tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int
) -> None:
    def faults(each: Sample) -> list[TargetError]:
        return chaotic(sample(number_of(each) + seed))

    def expected(each: Sample) -> str | None:
        malformed = 0
        for attempt, fault in enumerate(faults(each), 1):
            malformed += fault.kind == "malformed-json"
            if not fault.retry or attempt == 5 or (malformed == 2 and fault.kind == "malformed-json"):
                return fault.kind
        return None

    target = Calculator(faults=faults)
    outcome, folder = run(tmp_path_factory.mktemp("runs"), target, 60, concurrency=workers)
    assert outcome.completed
    ends = {each.id: expected(each) for each in samples(60)()}
    assert failure_kinds(folder) == {identifier: kind for identifier, kind in ends.items() if kind}
    assert target.asked.total() <= 1.8 * 60 + 10  # the budget: 0.7 a sample and 10 to begin with


def test_every_attempt_at_a_sample_carries_the_same_key_and_thread_and_no_two_samples_share_them(
    tmp_path: Path,
) -> None:
    target = Calculator(faults=chaotic)
    run(tmp_path, target, 60)
    keys: dict[str, set[tuple[str, str]]] = {}
    for request in target.requests:
        keys.setdefault(request.sample.id, set()).add((request.key, request.thread_id))
    assert all(len(seen) == 1 for seen in keys.values())
    assert len({key for seen in keys.values() for key, _ in seen}) == 60
    assert len({thread for seen in keys.values() for _, thread in seen}) == 60


def test_a_dead_server_is_not_asked_ever_more(tmp_path: Path) -> None:
    target = Calculator(faults=lambda _: [TargetError("http-500", "", retry=True)] * 9)
    outcome, folder = run(tmp_path, target, 300)
    assert (outcome.completed, outcome.failed) == (True, 300)
    assert target.asked.total() <= 300 * 1.7 + 10 + 2 * 5  # share, start, and 2 a second
    assert set(failure_kinds(folder).values()) == {"http-500"}


class Unreachable:
    name = "nobody"

    def __init__(self) -> None:
        self.attempts = 0

    async def answer(self, request: Request) -> Response:
        self.attempts += 1
        raise TargetError("connection-failed", "cannot connect: Connection refused", retry=True)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("count", [1, 1000])
def test_an_unreachable_agent_stops_the_run_early_and_fails_no_sample(tmp_path: Path, count: int) -> None:
    target = Unreachable()
    began = time.monotonic()
    outcome, folder = run(tmp_path, target, count)
    assert time.monotonic() - began < 10
    assert outcome.reason == "the target cannot be reached (cannot connect: Connection refused)"
    assert (outcome.completed, outcome.done, outcome.remaining) == (False, 0, count)
    assert target.attempts < 1000
    assert run(tmp_path, Calculator(), count, folder=folder)[0].completed


def test_an_agent_that_turns_everyone_away_stops_the_run_early(tmp_path: Path) -> None:
    target = Calculator(faults=lambda _: [TargetError("http-401", "no key")])
    outcome, folder = run(tmp_path, target, 1000)
    assert not outcome.completed
    assert outcome.reason == "the agent rejected the first 10 requests (http-401: no key)"
    assert target.asked.total() < 50
    # No sample is failed for a wrong key: with the right one all of them are asked.
    assert (outcome.done, outcome.failed) == (0, 0)
    resumed, _ = run(tmp_path, Calculator(), 1000, folder=folder)
    assert (resumed.completed, resumed.failed) == (True, 0)


@pytest.mark.parametrize("denied", [3, 9])
def test_samples_that_were_turned_away_are_failed_once_the_agent_lets_others_in(
    tmp_path: Path, denied: int
) -> None:
    target = Calculator(
        faults=lambda each: [TargetError("http-401", "no key")] if number_of(each) < denied else []
    )
    outcome, folder = run(tmp_path, target, 20, concurrency=1)
    assert (outcome.completed, outcome.failed) == (True, denied)
    assert set(failure_kinds(folder)) == {f"q{n:05}" for n in range(denied)}


def test_a_small_dataset_that_is_turned_away_whole_ends_with_its_failures(tmp_path: Path) -> None:
    target = Calculator(faults=lambda _: [TargetError("http-401", "no key")])
    outcome, folder = run(tmp_path, target, 4)
    assert (outcome.completed, outcome.failed, folder.counts.failed) == (True, 4, 4)
    assert outcome.notes == (
        "4 samples were rejected or did not reach the agent; resume the run to ask again",
    )


def test_a_resume_asks_those_again_that_the_target_turned_away_and_nobody_else(tmp_path: Path) -> None:
    kinds = {1: "http-401", 2: "http-503", 3: "http-422", 4: "timeout"}
    wrong = Calculator(
        faults=lambda each: [TargetError(kinds[number_of(each)], "")] if number_of(each) in kinds else []
    )
    first, folder = run(tmp_path, wrong, 6)
    assert (first.completed, first.failed, folder.counts.reaskable) == (True, 4, 2)
    right, told = Calculator(), list[Progress]()
    again, _ = run(tmp_path, right, 6, folder=folder, on_progress=told.append)
    assert set(right.asked) == {"q00001", "q00002"}
    assert (again.completed, again.done, again.failed, again.notes) == (True, 6, 2, ())
    assert (told[-1].done, told[-1].failed) == (6, 2)
    assert (folder.counts.failed, folder.counts.reaskable, folder.state) == (2, 0, "complete")
    assert failure_kinds(folder) == {"q00003": "http-422", "q00004": "timeout"}
    assert len([*folder.results()]) == 6


class Deliberate(ExactMatch):
    """Takes a tenth of a second for each answer."""

    def score(self, sample: Sample, response: Response) -> Score:
        time.sleep(0.1)
        return super().score(sample, response)


def test_the_time_of_a_run_includes_its_scoring_and_adds_up_its_parts_without_the_pauses(
    tmp_path: Path,
) -> None:
    denied = Calculator(faults=lambda each: [TargetError("http-401", "")] if number_of(each) == 0 else [])
    _, folder = run(tmp_path, denied, 3, scorers=(Deliberate(),))
    before = folder.index().seconds
    assert before >= 0.2
    time.sleep(1.0)
    run(tmp_path, Calculator(), 3, folder=folder, scorers=(Deliberate(),))
    assert before + 0.1 <= folder.index().seconds < before + 1.0


def test_a_resume_that_is_turned_away_again_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    def wrong() -> Calculator:
        return Calculator(faults=lambda _: [TargetError("http-401", "no key")])

    _, folder = run(tmp_path, wrong(), 4)
    again, _ = run(tmp_path, wrong(), 4, folder=folder)
    assert (again.completed, again.failed, folder.counts.reaskable, folder.state) == (True, 4, 4, "complete")
    assert run(tmp_path, Calculator(), 4, folder=folder)[0].failed == 0


def test_an_attempt_that_takes_too_long_is_cut_off_and_tried_again(tmp_path: Path) -> None:
    target = Calculator()
    target.delay = lambda each: 5.0 if target.asked[each.id] == 1 else 0.0
    outcome, _ = run(tmp_path, target, 4, attempt_timeout=0.1)
    assert (outcome.completed, outcome.failed) == (True, 0)
    assert min(target.asked.values()) == 2
    assert all(request.timeout <= 0.1 for request in target.requests)


def test_a_sample_that_never_answers_fails_at_its_deadline(tmp_path: Path) -> None:
    target = Calculator(delay=lambda each: 60.0 if number_of(each) == 1 else 0.0)
    began = time.monotonic()
    outcome, folder = run(tmp_path, target, 4, attempt_timeout=0.3, sample_timeout=0.7)
    assert time.monotonic() - began < 3
    assert (outcome.completed, outcome.failed) == (True, 1)
    assert failure_kinds(folder) == {"q00001": "timeout"}
    # The message is the same whatever was left of the time: results are compared byte by byte.
    messages = {result.response.failure.message for result in folder.results() if result.response.failure}
    assert messages == {"no answer in time"}


class Stubborn:
    """Ignores being cancelled."""

    name = "stubborn"

    async def answer(self, request: Request) -> Response:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    async def close(self) -> None:
        await asyncio.sleep(60)


def test_a_target_that_ignores_being_cancelled_never_hangs_the_run(tmp_path: Path) -> None:
    began = time.monotonic()
    outcome, folder = run(tmp_path, Stubborn(), 3, attempt_timeout=0.1, max_attempts=1)
    assert time.monotonic() - began < 4
    assert (outcome.completed, outcome.failed) == (True, 3)
    assert set(failure_kinds(folder).values()) == {"timeout"}


def test_the_deadline_of_the_run_stops_it_and_what_was_open_is_asked_again(tmp_path: Path) -> None:
    target = Calculator(delay=lambda _: 0.05)
    outcome, folder = run(tmp_path, target, 400, concurrency=4, run_timeout=0.4)
    assert not outcome.completed
    assert outcome.reason == "the run exceeded its limit of 0.4 s"
    assert 0 < outcome.done == folder.counts.done < 400
    assert failure_kinds(folder) == {}
    assert run(tmp_path, Calculator(), 400, folder=folder)[0].completed


class Careless:
    name = "careless"

    async def answer(self, request: Request) -> Response:
        if number_of(request.sample) == 0:
            raise ZeroDivisionError("division by zero")
        if number_of(request.sample) == 1:
            return "not a response"  # type: ignore[return-value]
        if number_of(request.sample) == 2:
            raise asyncio.CancelledError
        if number_of(request.sample) == 3:
            return Response(text="\ud800")
        return Response(text=str(number_of(request.sample) + 1))

    async def close(self) -> None:
        raise RuntimeError("closing fails too")


def test_a_careless_target_fails_its_samples_and_not_the_run(tmp_path: Path) -> None:
    outcome, folder = run(tmp_path, Careless(), 6)
    assert (outcome.completed, outcome.failed) == (True, 4)
    assert failure_kinds(folder) == {
        "q00000": "target-error",
        "q00001": "target-error",
        "q00002": "cancelled",
        "q00003": "unwritable-response",
    }
    messages = [result.response.failure.message for result in folder.results() if result.response.failure]
    assert "ZeroDivisionError: division by zero" in messages


def test_progress_counts_what_is_durable_and_adds_up_costs_over_a_resume(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    seen: list[Progress] = []

    def look(progress: Progress) -> None:
        assert folder.counts.done >= progress.done
        seen.append(progress)

    run(tmp_path, Calculator(delay=lambda _: 0.02), 300, folder=folder, on_progress=look, run_timeout=0.5)
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert any(0 < progress.done < 300 for progress in seen)
    run(tmp_path, Calculator(), 300, folder=folder, on_progress=look)
    last = seen[-1]
    assert (last.total, last.done, last.failed, last.in_flight) == (300, 300, 0, 0)
    assert (last.input_tokens, last.output_tokens, last.cost_usd) == (3000, 600, 150.0)


def test_a_progress_callback_that_raises_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)

    def broken(progress: Progress) -> None:
        raise ZeroDivisionError

    target = Calculator(delay=lambda _: 0.01)
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, target, 5000, folder=folder, on_progress=broken)
    assert 0 < folder.counts.done < 5000
    assert target.closed == 1


def test_the_engine_works_inside_a_running_loop_and_from_a_thread(tmp_path: Path) -> None:
    async def inside() -> RunOutcome:
        return run(tmp_path, Calculator(), 20)[0]

    assert asyncio.run(inside()).completed
    outcomes: list[RunOutcome] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(run(tmp_path, Calculator(), 20)[0])) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.completed for outcome in outcomes] == [True] * 3


def test_one_target_serves_several_runs_one_after_another(tmp_path: Path) -> None:
    target = Calculator()
    assert [run(tmp_path, target, 5)[0].done for _ in range(3)] == [5, 5, 5]
    assert target.closed == 3


def test_a_torn_end_is_cut_off_at_the_resume_and_said(tmp_path: Path) -> None:
    _, folder = run(tmp_path, Calculator(), 20)
    whole, results = folder.journal_path.read_bytes(), final_bytes(folder)
    folder.journal_path.write_bytes(whole[:-10])
    outcome, _ = run(tmp_path, Calculator(), 20, folder=folder)
    torn = len(whole) - 10 - (whole.rindex(b"\n", 0, -1) + 1)
    assert outcome.notes == (f"removed {torn:,} bytes of an unfinished line at the end of the journal",)
    assert final_bytes(folder) == results


def test_the_load_on_a_throttling_agent_falls_to_what_it_can_bear(tmp_path: Path) -> None:
    class Narrow(Calculator):
        """Serves four at a time and throttles the rest."""

        refused = 0

        async def answer(self, request: Request) -> Response:
            if self._at_once >= 4:
                self.refused += 1
                raise TargetError("http-429", "", retry=True, throttled=True)
            return await super().answer(request)

    target = Narrow(delay=lambda _: 0.005)
    outcome, _ = run(tmp_path, target, 600, concurrency=32)
    assert outcome.completed
    assert target.refused < 600 * 0.7
    assert outcome.failed <= 6  # at most one in a hundred met five refusals in a row


class WaitingScorer(ExactMatch):
    """Waits for somebody else, as for a judge, and counts how many wait at once."""

    is_slow = True

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.most = 0
        self.lock = threading.Lock()

    def score(self, sample: Sample, response: Response) -> Score:
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        time.sleep(0.02)
        with self.lock:
            self.waiting -= 1
        return super().score(sample, response)


def test_slow_scorers_wait_side_by_side_and_change_nothing_in_the_results(tmp_path: Path) -> None:
    slow, quick = WaitingScorer(), ExactMatch()
    _, folder = run(tmp_path / "slow", Calculator(), 60, scorers=(slow,), concurrency=2, threads=12)
    _, other = run(tmp_path / "quick", Calculator(), 60, scorers=(quick,))
    assert 2 < slow.most <= 12
    assert final_bytes(folder) == final_bytes(other)


class ForgetfulScorer(ExactMatch):
    """Cannot keep what it was told, as where the disk of a judge's verdicts is full."""

    def score(self, sample: Sample, response: Response) -> Score:
        raise StorageError("verdicts: no space left")


def test_a_scorer_whose_disk_is_full_stops_the_run_and_fails_no_answer(tmp_path: Path) -> None:
    outcome, folder = run(tmp_path, Calculator(), 5, scorers=(ForgetfulScorer(),))
    assert (outcome.completed, outcome.done, outcome.reason) == (False, 0, "verdicts: no space left")
    again, _ = run(tmp_path, Calculator(), 5, folder=folder, scorers=(ExactMatch(),))
    assert (again.completed, again.failed) == (True, 0)


class AbsentJudge(ExactMatch):
    """Fails every score as an endpoint that is down does, until it is back; counts what it is asked."""

    name = "judged"

    def __init__(self) -> None:
        super().__init__()
        self.is_back = False
        self.asked = 0

    def score(self, sample: Sample, response: Response) -> Score:
        self.asked += 1
        if not self.is_back:
            details = {"endpoint_error": "timeout"}
            return Score.failed(self.name, "no verdict", method="judge", details=details)
        return Score.scored(self.name, 1.0, method="judge")


class AbsentEmbedder(AbsentJudge):
    """Raises what an embedder that is down raises."""

    def score(self, sample: Sample, response: Response) -> Score:
        if not self.is_back:
            raise TargetError("http-503", "embedder small: busy")
        return super().score(sample, response)


class CountingScorer(ExactMatch):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def score(self, sample: Sample, response: Response) -> Score:
        self.asked += 1
        return super().score(sample, response)


def test_a_resume_makes_the_scores_that_lacked_an_embedder(tmp_path: Path) -> None:
    embedder = AbsentEmbedder()
    first, folder = run(tmp_path, Calculator(), 3, scorers=(embedder,))
    assert (first.completed, folder.counts.rescorable) == (True, 3)
    embedder.is_back = True
    run(tmp_path, Calculator(), 3, folder=folder, scorers=(embedder,))
    assert [score.value for result in folder.results() for score in result.scores] == [1.0] * 3


def test_a_resume_makes_only_the_scores_again_that_an_endpoint_failed_and_asks_nobody(tmp_path: Path) -> None:
    target, judge, other = Calculator(), AbsentJudge(), CountingScorer()
    told: list[Progress] = []
    first, folder = run(tmp_path, target, 6, scorers=(judge, other))
    assert (first.completed, first.done, len(first.notes)) == (True, 6, 1)
    assert folder.counts.rescorable == 6
    judge.is_back = True
    again, _ = run(tmp_path, target, 6, folder=folder, scorers=(judge, other), on_progress=told.append)
    assert again == RunOutcome(completed=True, interrupted=False, done=6, failed=0, remaining=0)
    assert set(target.asked.values()) == {1}
    assert (judge.asked, other.asked) == (12, 6)
    assert (told[-1].done, told[-1].total, folder.counts.rescorable) == (6, 6, 0)
    assert [score.value for result in folder.results() for score in result.scores] == [1.0] * 12
    assert [entry.timing.attempts for entry in folder.entries()] == [1] * 6


def test_what_an_endpoint_fails_again_stays_to_be_made(tmp_path: Path) -> None:
    judge = AbsentJudge()
    _, folder = run(tmp_path, Calculator(), 3, scorers=(judge,))
    again, _ = run(tmp_path, Calculator(), 3, folder=folder, scorers=(judge,))
    assert (again.completed, again.done, folder.counts.rescorable) == (True, 3, 3)
    assert again.notes == (
        "3 samples lack scores because a model's endpoint failed; resume the run to score them",
    )


class AnsweredWhileScoring(Calculator):
    """Answers its second sample only while the first is being scored."""

    def __init__(self) -> None:
        super().__init__()
        self.scoring, self.answered = threading.Event(), threading.Event()

    async def answer(self, request: Request) -> Response:
        if number_of(request.sample) == 1:
            while not self.scoring.is_set():
                await asyncio.sleep(0.001)
            self.answered.set()
        return await super().answer(request)


class BlockingScorer(ExactMatch):
    """Blocks on the first sample until something happens, and says whether it did."""

    def __init__(self, begun: threading.Event, until: threading.Event, *, seconds: float) -> None:
        self.begun, self.until, self.seconds = begun, until, seconds

    def score(self, sample: Sample, response: Response) -> Score:
        if number_of(sample) == 0:
            self.begun.set()
            return Score.scored(self.name, float(self.until.wait(self.seconds)), method=self.method)
        return super().score(sample, response)


def test_a_reply_is_read_while_another_sample_is_scored(tmp_path: Path) -> None:
    # Otherwise the scorer's time would count as the latency of every request that is open meanwhile.
    target = AnsweredWhileScoring()
    scorer = BlockingScorer(target.scoring, target.answered, seconds=10)
    outcome, folder = run(tmp_path, target, 2, scorers=(scorer,), concurrency=2)
    assert outcome.completed
    assert [result.scores[0].value for result in folder.results()] == [1.0, 1.0]


def test_a_scorer_that_hangs_keeps_neither_the_run_nor_the_program_from_ending(tmp_path: Path) -> None:
    begun, released = threading.Event(), threading.Event()
    scorer = BlockingScorer(begun, released, seconds=60)
    before = sys.getswitchinterval()
    try:
        outcome, _ = run(tmp_path, Calculator(), 3, scorers=(scorer,), concurrency=1, run_timeout=0.2)
        hanging = [thread for thread in threading.enumerate() if thread.name == "scoring"]
    finally:
        released.set()
    assert (outcome.completed, outcome.done) == (False, 0)
    assert hanging
    assert all(thread.daemon for thread in hanging)
    assert sys.getswitchinterval() == before


def test_the_latency_that_a_target_has_measured_itself_is_kept(tmp_path: Path) -> None:
    class Measuring(Calculator):
        async def answer(self, request: Request) -> Response:
            return Response(text="1", latency_ms=12.34567)

    _, folder = run(tmp_path, Measuring(), 3)
    assert [result.response.latency_ms for result in folder.results()] == [12.346] * 3
