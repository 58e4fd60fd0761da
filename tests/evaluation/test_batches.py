"""A target that answers many at once: asked in batches, each finished sample written, nothing asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from simulated_targets import ExactMatch, final_bytes, new_folder, number_of, samples

from rag_evaluation_framework import Request, Response, Sample, Score
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation import attempts, engine
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.records.runs import Progress, RunOutcome
from rag_evaluation_framework.results.journal import Journal
from rag_evaluation_framework.results.run_store import RunFolder

Outcomes = Sequence[Response | TargetError]


class Batches:
    """Answers rightly and remembers the batches; ``spoil`` may change what a batch is answered with."""

    name = "batches"
    batch_size = 20

    def __init__(self, spoil: Callable[[Sequence[Request], Outcomes], Outcomes] | None = None) -> None:
        self.batches: list[int] = []
        self.asked: Counter[str] = Counter()
        self.alone: Counter[str] = Counter()
        self._spoil = spoil or (lambda _, outcomes: outcomes)

    async def answer(self, request: Request) -> Response:
        self.alone[request.sample.id] += 1
        return _answer(request)

    async def answer_many(self, requests: Sequence[Request]) -> Outcomes:
        self.batches.append(len(requests))
        self.asked.update(request.sample.id for request in requests)
        return self._spoil(requests, [_answer(request) for request in requests])

    async def close(self) -> None:
        return


def _answer(request: Request) -> Response:
    return Response(text=str(number_of(request.sample) + 1))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)


def run(
    directory: Path,
    target: Batches,
    *,
    folder: RunFolder | None = None,
    scorers: tuple[Scorer, ...] = (ExactMatch(),),
    on_progress: Callable[[Progress], None] | None = None,
) -> tuple[RunOutcome, RunFolder]:
    folder = folder or new_folder(directory)
    outcome = run_samples(samples(50), target, scorers, folder=folder, on_progress=on_progress)
    return outcome, folder


def test_a_run_asks_in_batches_and_writes_a_line_for_each_sample(tmp_path: Path) -> None:
    target = Batches()
    outcome, folder = run(tmp_path, target)
    assert target.batches == [20, 20, 10]
    assert (outcome.completed, outcome.done, outcome.failed) == (True, 50, 0)
    entries = list(folder.entries())
    assert [entry.result.sample_id for entry in entries] == [f"q{n:05}" for n in range(50)]
    assert all(entry.result.scores[0].value == 1.0 for entry in entries)
    assert {(entry.timing.attempts, entry.timing.requests) for entry in entries} == {(1, 1)}
    assert not target.alone


def test_the_disk_is_synchronised_once_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SYNC_SECONDS", 60.0)
    monkeypatch.setattr(engine, "SYNC_LINES", 20)
    synced: list[int] = []
    sync = Journal.sync

    def counted(journal: Journal) -> None:
        synced.append(journal.path.read_bytes().count(b"\n"))
        sync(journal)

    monkeypatch.setattr(Journal, "sync", counted)
    done: list[int] = []
    run(tmp_path, Batches(), on_progress=lambda progress: done.append(progress.done))
    assert len(synced) <= 4
    assert (synced[-1], done[-1]) == (50, 50)


def test_a_resumed_run_asks_nothing_twice_and_ends_like_a_whole_one(tmp_path: Path) -> None:
    _, folder = run(tmp_path / "cut", Batches())
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:27]) + lines[27][:10])
    target = Batches()
    outcome, _ = run(tmp_path, target, folder=folder)
    assert outcome.completed
    assert (target.batches, sorted(target.asked)) == ([20, 3], [f"q{n:05}" for n in range(27, 50)])
    _, whole = run(tmp_path / "whole", Batches())
    assert final_bytes(folder) == final_bytes(whole)


def broken(requests: Sequence[Request], outcomes: Outcomes) -> Outcomes:
    raise ValueError("the batch is too large")


def one_short(requests: Sequence[Request], outcomes: Outcomes) -> Outcomes:
    return outcomes[1:]


def busy(requests: Sequence[Request], outcomes: Outcomes) -> Outcomes:
    return [TargetError("http-503", "busy", retry=True) for _ in outcomes]


@pytest.mark.parametrize("spoil", [broken, one_short, busy])
def test_a_batch_that_fails_as_a_whole_is_asked_sample_by_sample(
    tmp_path: Path, spoil: Callable[[Sequence[Request], Outcomes], Outcomes]
) -> None:
    target = Batches(spoil)
    outcome, folder = run(tmp_path, target)
    assert (outcome.completed, outcome.failed) == (True, 0)
    assert set(target.alone.values()) == {1}
    assert len(target.alone) == folder.counts.done == 50


def test_a_failure_of_one_stays_with_it_and_the_others_keep_their_answers(tmp_path: Path) -> None:
    def third(requests: Sequence[Request], outcomes: Outcomes) -> Outcomes:
        return [
            TargetError("wrong-question", "cannot be embedded") if request.sample.id == "q00003" else outcome
            for request, outcome in zip(requests, outcomes, strict=True)
        ]

    outcome, folder = run(tmp_path, target := Batches(third))
    assert (outcome.completed, outcome.failed) == (True, 1)
    failed = [result for result in folder.results() if result.response.failure]
    assert [
        (result.sample_id, result.response.failure and result.response.failure.kind) for result in failed
    ] == [("q00003", "wrong-question")]
    assert failed[0].scores[0].reason == "no answer: wrong-question"
    assert not target.alone


class Columns(ExactMatch):
    """Scores many at once."""

    def __init__(self, *, fault: str = "") -> None:
        self.calls: list[int] = []
        self._fault = fault

    def score_many(self, samples: Sequence[Sample], responses: Sequence[Response]) -> list[Score]:
        self.calls.append(len(samples))
        if self._fault == "breaks":
            raise ValueError("no columns today")
        scores = [self.score(*each) for each in zip(samples, responses, strict=True)]
        return scores[1:] if self._fault == "one short" else scores


@pytest.mark.parametrize("fault", ["", "breaks", "one short"])
def test_a_scorer_of_many_is_asked_once_a_batch_and_its_scores_are_those_of_one_by_one(
    tmp_path: Path, fault: str
) -> None:
    scorer = Columns(fault=fault)
    _, folder = run(tmp_path / "many", Batches(), scorers=(scorer,))
    _, expected = run(tmp_path / "one", Batches())
    assert scorer.calls == [20, 20, 10]
    assert final_bytes(folder) == final_bytes(expected)
