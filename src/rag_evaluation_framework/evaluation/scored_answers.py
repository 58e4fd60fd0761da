"""Applies the scorers to a response. Each metric has exactly one score, even if its scorer fails."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import (
    InputError,
    ModelError,
    ModelOutageError,
    StorageError,
    TargetError,
    UsageError,
    described,
    shown,
)
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.verdict import AnswerVerdict, Labels, decide_result
from rag_evaluation_framework.models.chat import scoring_one_answer
from rag_evaluation_framework.records.responses import TURNS, Failure, Response, is_conversation
from rag_evaluation_framework.records.runs import SampleResult, Timing, result_fields, timing_fields
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import ENDPOINT_ERROR, Blame, Score
from rag_evaluation_framework.results.breakdowns import blame_line
from rag_evaluation_framework.results.journal import WrittenResult, written_result
from rag_evaluation_framework.workers import Crew, Workers

Scored: TypeAlias = tuple[tuple[Score, ...], AnswerVerdict | None, bytes | None, WrittenResult | None]
"""Scores, the verdict, where the answer failed, and the text for the journal, as far as they are made."""
T = TypeVar("T")


class Blaming(Protocol):
    """Tells where an answer failed."""

    def find(self, sample: Sample, result: SampleResult, verdict: AnswerVerdict | None) -> Blame | None:
        """Return where it failed; ``None`` if it did not."""


Item = TypeVar("Item")


class Scoring(msgspec.Struct, frozen=True):
    """Scores an answer, or makes again what an endpoint failed at, and tells right after where it failed.

    What is written of it is made here too: in a worker, where there is one, and not where all is written.
    """

    scorers: tuple[Scorer, ...]
    blaming: Blaming | None = None

    def __call__(self, item: tuple[Sample, Response | SampleResult]) -> Scored:
        sample, given = item
        if isinstance(given, SampleResult):
            result = rescored_result(sample, given, self.scorers)
        else:
            result = scored_result(sample, given, self.scorers)
        blame = written = verdict = None
        with suppress(InputError):  # it cannot be written down: another result is made of it
            verdict = decide_result(sample, result)
            found = None if self.blaming is None else self.blaming.find(sample, result, verdict)
            blame = None if self.blaming is None else blame_line(sample.id, found)
            verdict = None if verdict is None else verdict.with_cause(found)
            written = written_result(result)
        return result.scores, verdict, blame, written

    def name_of(self, item: tuple[Sample, object]) -> str:
        """Return the name of the item in messages."""
        return f"sample {item[0].id}"


_NO_TIME = Timing(started_at="", attempts=0, elapsed_ms=0.0)


def check_scorers(scorers: Sequence[Scorer]) -> None:
    """Raise :class:`UsageError` unless every scorer has a name of its own."""
    names = [scorer.name for scorer in scorers]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"duplicate metrics: {', '.join(repeated)}")


def scored_result(
    sample: Sample, response: Response, scorers: Sequence[Scorer], made: Mapping[str, Score] | None = None
) -> SampleResult:
    """Score one response, but for what is ``made``; without an answer every score fails for that reason.

    The judge is asked last, and only if no label, check … decides. Of a conversation that failed, the details
    of those that score turns have the turns answered before.

    Raises :class:`ModelOutageError` where a judge is down, and :class:`StorageError` where its verdicts
    cannot be kept: neither is a failure of the answer.
    """
    found = dict(made or {})
    waiting: list[Any] = [each for each in scorers if getattr(each, "asks_for_verdict", False)]
    with _sharing_failures(scorers):
        for scorer in scorers:
            if scorer not in waiting and scorer.name not in found:
                found[scorer.name] = _score(scorer, sample, response)
        scores = tuple(found.values())
        is_settled = bool(waiting) and _is_settled(sample, response, scores, waiting[0].methods.labels)
        for scorer in waiting:
            found[scorer.name] = _score(scorer, sample, response, is_settled=is_settled)
    return SampleResult(sample.id, response, tuple(found[scorer.name] for scorer in scorers))


def _is_settled(sample: Sample, response: Response, scores: tuple[Score, ...], labels: Labels | None) -> bool:
    verdict = decide_result(sample, SampleResult(sample.id, response, scores), labels)
    return response.failure is None and verdict is not None and verdict.is_settled


def waits_to_score(scorers: Iterable[Scorer], crew: Crew) -> bool:
    """Tell whether scoring waits for a model beside which a run goes on; workers that hold it do not wait."""
    slow = (each for each in scorers if getattr(each, "is_slow", False))
    return any(crew.engine not in getattr(each, "engines", ()) for each in slow)


def _sharing_failures(scorers: Iterable[Scorer]) -> AbstractContextManager[None]:
    """Let the metrics of an answer share what a model failed at, where they ask one."""
    is_slow = any(getattr(scorer, "is_slow", False) for scorer in scorers)
    return scoring_one_answer() if is_slow else nullcontext()


def scored_results(
    samples: Sequence[Sample], responses: Sequence[Response], scorers: Sequence[Scorer]
) -> list[SampleResult]:
    """Score a batch as :func:`scored_result` does each; a scorer with ``score_many`` is asked once for all.

    Only answers are put to it together: where there are failures among them, or it breaks, or gives something
    else than a score for each, its samples are scored one by one.
    """
    together = [_score_many(scorer, samples, responses) for scorer in scorers]
    columns = [column for column in together if column is not None]
    if len(columns) == len(scorers):
        rows = zip(*columns, strict=True) if columns else (() for _ in samples)
        return [SampleResult(*each) for each in zip((s.id for s in samples), responses, rows, strict=True)]
    results = []
    for place, (sample, response) in enumerate(zip(samples, responses, strict=True)):
        columns_of = zip(scorers, together, strict=True)
        made = {scorer.name: column[place] for scorer, column in columns_of if column is not None}
        results.append(scored_result(sample, response, scorers, made))
    return results


def _score_many(
    scorer: Scorer, samples: Sequence[Sample], responses: Sequence[Response]
) -> Sequence[Score] | None:
    score_many = getattr(scorer, "score_many", None)
    if score_many is None or any(response.failure is not None for response in responses):
        return None
    try:
        scores: Sequence[Score] = score_many(samples, responses)
    except Exception:  # noqa: BLE001 - a scorer is a plug-in: scored one by one, each sample tells what broke
        return None
    fits = len(scores) == len(samples)
    return scores if fits and all(score.metric == scorer.name for score in scores) else None


def rescored_result(sample: Sample, result: SampleResult, scorers: Sequence[Scorer]) -> SampleResult:
    """Repeat the scores that failed only because a model's endpoint did, or wait for a judge; others stay."""
    again = {score.metric for score in result.scores if score.may_be_retried or score.is_undrawn}
    scored = scored_result(sample, result.response, [scorer for scorer in scorers if scorer.name in again])
    made = {score.metric: score for score in scored.scores}
    return replace(result, scores=tuple(each.succeeded_by(made.get(each.metric)) for each in result.scores))


def writable_result(sample: Sample, result: SampleResult, scorers: Sequence[Scorer]) -> SampleResult:
    """Return the result with failures in place of what JSON cannot hold.

    A response with a NaN or half a surrogate pair in it is a failure; a score with such a thing in its
    details is a failed score.
    """
    try:
        _check(SampleResult(result.sample_id, result.response))
    except InputError as error:
        message = f"cannot save the response: {error}"
        response = Response(failure=Failure(kind="unwritable-response", message=message))
        return scored_result(sample, response, scorers)
    return SampleResult(result.sample_id, result.response, tuple(map(_writable, result.scores)))


def _score(scorer: Any, sample: Sample, response: Response, *, is_settled: bool = False) -> Score:
    if response.failure is not None and not _has_turns_to_score(scorer, sample, response):
        return _failed(scorer, f"no answer: {response.failure.kind}")
    try:
        score = (scorer.score_settled if is_settled else scorer.score)(sample, response)
    except (ModelOutageError, StorageError):
        raise
    except (ModelError, TargetError) as error:  # such as an embedder that is down: no mistake of the scorer
        failure = ModelError(error.kind, error.message)
        # What is of the endpoint may answer later.
        details = {ENDPOINT_ERROR: error.kind} if failure.is_of_endpoint else None
        return _failed(scorer, f"the scorer's model gave no answer: {failure}", details)
    except Exception as error:  # noqa: BLE001 - a scorer is a plug-in: its mistake is its score's, not the run's
        return _failed(scorer, f"the scorer failed: {described(error)}")
    if not isinstance(score, Score) or score.metric != scorer.name:
        return _failed(scorer, f"the scorer failed: expected a score of {scorer.name}, got {shown(score)}")
    return score


def _has_turns_to_score(scorer: Scorer, sample: Sample, response: Response) -> bool:
    """Return True if a conversation failed after some of its turns, which the scorer scores one by one."""
    scores_turns = getattr(scorer, "scores_turns", False) and is_conversation(sample)
    return bool(scores_turns and response.metadata.get(TURNS))


def _failed(scorer: Scorer, reason: str, details: Mapping[str, str] | None = None) -> Score:
    details = {**getattr(scorer, "undecided", {}), **(details or {})}
    return Score.failed(scorer.name, reason, method=getattr(scorer, "method", "unknown"), details=details)


def _writable(score: Score) -> Score:
    try:
        _check(SampleResult("", Response(), (score,)))
    except InputError as error:
        return Score.failed(score.metric, f"cannot save the score: {error}", method=score.method)
    return score


def _check(result: SampleResult) -> None:
    strict_json.encode([result_fields(result), timing_fields(result, _NO_TIME)])


# Threads that score while the event loop goes on reading replies: a loop that scored by itself would read
# every open reply late, and the delay would count as the target's.

# A scorer computes with the interpreter lock held, and the loop needs the lock again after every system call.
# With Python's own 5 ms, answers of 45 ms were measured as 61 to 69 ms; with 0.5 ms, as 49 to 52 ms.
_SWITCH_SECONDS = 0.0005
# What takes less is made at once: to hand it to a thread would take about as long.
_QUICK_SECONDS = 0.001


class ScoringThreads:
    """Makes calls in threads, in the order in which they come in.

    One thread alone is for calls that only compute: as long as the last of them was quick, they are made
    without it. The threads are daemons: a scorer that hangs does not keep the program from ending, as in a
    pool it would.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._switch_seconds = sys.getswitchinterval()
        self._is_quick = False

    def __enter__(self) -> Self:
        sys.setswitchinterval(min(self._switch_seconds, _SWITCH_SECONDS))
        for _ in range(self._count):
            threading.Thread(target=self._work, name="scoring", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        sys.setswitchinterval(self._switch_seconds)
        for _thread in range(self._count):
            self._calls.put(None)

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns; one that is cancelled before its turn is never made."""
        if self._is_quick:
            began = time.perf_counter()
            try:
                return call()
            finally:
                self._take_note(began)
        made: Future[T] = Future()
        self._calls.put((made, call))
        return await asyncio.wrap_future(made)

    def _work(self) -> None:
        while (waiting := self._calls.get()) is not None:
            made, call = waiting
            if made.set_running_or_notify_cancel():
                began = time.perf_counter()
                try:
                    made.set_result(call())
                except BaseException as error:  # noqa: BLE001 - raised again where the call is awaited
                    made.set_exception(error)
                self._take_note(began)

    def _take_note(self, began: float) -> None:
        self._is_quick = self._count == 1 and time.perf_counter() - began < _QUICK_SECONDS


class AsTheyCome(Generic[Item, T]):
    """Has single items worked on beside an event loop, in the order in which they come in.

    While all workers are busy, items wait, and go together, ``size`` at most, to the first that is free.
    ``call`` makes the calls that submit them, which may do the work.
    """

    def __init__(
        self,
        pool: Workers[Item, T],
        call: Callable[[Callable[[], Future[list[T]]]], Awaitable[Future[list[T]]]],
        *,
        size: Callable[[], int] | None = None,
    ) -> None:
        self._pool, self._call = pool, call
        self._size = size or (lambda: pool.batch_size)
        self._waiting: deque[tuple[Item, asyncio.Future[T]]] = deque()
        self._busy: set[asyncio.Task[Any] | None] = set()

    async def done(self, item: Item) -> T:
        """Return what is made of an item."""
        if not self._pool.in_flight:  # there is nobody to wait for yet
            making = await self._call(partial(self._pool.submit, [item]))
            (found,) = making.result() if making.done() else await asyncio.wrap_future(making)
            return found
        made: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, made))
        if len(self._busy) < self._pool.in_flight:
            self._busy.add(asyncio.ensure_future(self._work()))
        return await made

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(self._size(), len(self._waiting)))]
                await self._do(batch)
        finally:  # at once: what comes in after the last look needs another
            self._busy.discard(asyncio.current_task())

    async def _do(self, batch: Sequence[tuple[Item, asyncio.Future[T]]]) -> None:
        try:
            making = await self._call(partial(self._pool.submit, [item for item, _ in batch]))
            results = making.result() if making.done() else await asyncio.wrap_future(making)
        except asyncio.CancelledError:
            for _, made in batch:
                made.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - raised again where the items are waited for
            for _, made in batch:
                if not made.done():
                    made.set_exception(error)
            return
        for (_, made), result in zip(batch, results, strict=True):
            if not made.done():
                made.set_result(result)
