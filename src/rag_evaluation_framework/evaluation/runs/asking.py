"""Puts samples to the target, one by one or in batches, until there is an answer or a reason for none."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rag_evaluation_framework.errors import InputError, TargetError, UsageError, brief, described
from rag_evaluation_framework.evaluation.runs.concurrency import AdaptiveLimit
from rag_evaluation_framework.evaluation.runs.outages import OutageWatch
from rag_evaluation_framework.evaluation.runs.retries import (
    Attempts,
    RetryBudget,
    shows_congestion,
    was_reached,
)
from rag_evaluation_framework.evaluation.runs.stopping import Stopped, StopSign
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import TURNS, Failure, Request, Response
from rag_evaluation_framework.records.runs import RunSettings, Timing
from rag_evaluation_framework.records.samples import Sample

# A target with a timeout of its own gets a moment to report it before it is cut off.
_GUARD_SHARE = 0.1
_GUARD_MOST = 1.0
_BUDGET_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking one sample."""

    response: Response
    timing: Timing


def key_of(run_id: str, sample_id: str) -> str:
    """Return the idempotency key of a sample in a run: the same for every attempt, after a resume too."""
    return _digest("key", run_id, sample_id)


def thread_of(run_id: str, sample_id: str) -> str:
    """Return the id of a sample's conversation in a run."""
    return _digest("thread", run_id, sample_id)


class Asker:
    """Asks samples of one target; all of them share its slots, retry budget and stop sign."""

    def __init__(self, target: Target, run_id: str, *, settings: RunSettings, stop: StopSign) -> None:
        self.limit = AdaptiveLimit(settings.concurrency)
        self.retries = 0
        self._target = target
        # A recorded answer takes no time now: its latency is the recorded one, or unknown.
        self._is_live = getattr(target, "is_live", True)
        self._run_id = run_id
        self._settings = settings
        self._stop = stop
        self._budget = RetryBudget(settings.concurrency, clock=time.monotonic)
        self._watch = OutageWatch(settings.max_attempts, clock=time.monotonic)

    async def ask(self, sample: Sample) -> Asked:
        """Ask one sample until it is answered or has failed; raises :class:`Stopped` if the run ends first.

        Attempts and the waits between them count towards the sample's deadline; waiting for a slot does not.
        """
        request = self._request(sample, timeout=0.0)
        attempts = Attempts(request.key, self._settings.max_attempts, self._settings.seed)
        self._budget.sample_begun()
        started_at, left, requests = "", self._settings.sample_timeout, 0
        while True:
            await self._slot()
            started_at = started_at or datetime.now(UTC).isoformat(timespec="milliseconds")
            sent = time.monotonic()
            timeout = min(self._settings.attempt_timeout, left)
            outcome = await self._attempt(replace(request, timeout=timeout))
            took = time.monotonic() - sent
            left -= took
            requests += _requests_of(outcome) if self._is_live else 0
            if isinstance(outcome, TargetError):
                attempts.failed(outcome)
                still_left = await self._wait(attempts, outcome, left)
                if still_left is not None:
                    left = still_left
                    continue
            spent = self._settings.sample_timeout - left
            made = attempts.made + (not isinstance(outcome, TargetError))
            return self._ended(outcome, made, started_at=started_at, spent=spent, requests=requests)

    async def ask_many(self, samples: Sequence[Sample]) -> list[Asked | None]:
        """Ask a target with ``answer_many`` for a batch at once; the time it takes is shared out evenly.

        ``None`` stands for a sample that is to be asked by itself: another attempt may help it, or the batch
        failed as a whole, which may be the fault of one. The samples of a batch have their time together.
        """
        await self._slot()
        timeout = self._settings.sample_timeout * len(samples)
        requests = [self._request(sample, timeout=timeout) for sample in samples]
        started_at, sent = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        try:
            outcomes = await _called_many(self._target, requests)
        finally:
            self.limit.give_back()
        if outcomes is None:
            return [None] * len(samples)
        share = (time.monotonic() - sent) / max(1, len(samples))
        return [
            None
            if isinstance(outcome, TargetError) and outcome.retry
            else self._settled(outcome, started_at=started_at, spent=share)
            for outcome in outcomes
        ]

    def _settled(self, outcome: Response | TargetError, *, started_at: str, spent: float) -> Asked:
        """Take note of what the one attempt of a batch brought for a sample."""
        requests = _requests_of(outcome) if self._is_live else 0
        if not isinstance(outcome, TargetError):
            self._watch.answered()
        elif reason := self._watch.attempt_failed(outcome):
            self._stop.set(reason)
        return self._ended(outcome, 1, started_at=started_at, spent=spent, requests=requests)

    def _request(self, sample: Sample, *, timeout: float) -> Request:
        return Request(
            sample=sample,
            key=key_of(self._run_id, sample.id),
            thread_id=thread_of(self._run_id, sample.id),
            timeout=timeout,
        )

    def _ended(
        self,
        outcome: Response | TargetError,
        attempts: int,
        *,
        started_at: str,
        spent: float,
        requests: int,
    ) -> Asked:
        if isinstance(outcome, TargetError):
            response = Response(
                failure=Failure(kind=outcome.kind, message=outcome.message),
                metadata={TURNS: list(outcome.answered)} if outcome.answered else {},
            )
            if reason := self._watch.sample_failed(outcome):
                self._stop.set(reason)
        else:
            response = outcome
        timing = Timing(
            started_at=started_at,
            attempts=attempts,
            elapsed_ms=round(spent * 1000, 3),
            requests=requests,
            latency_ms=response.latency_ms,
        )
        return Asked(response, timing)

    @property
    def in_doubt(self) -> bool:
        """Whether all samples so far were turned away alike, so that perhaps none of them is at fault."""
        return self._watch.in_doubt

    async def _slot(self) -> None:
        await self.limit.acquire()
        if self._stop.is_set:
            self.limit.give_back()
            raise Stopped

    async def _attempt(self, request: Request) -> Response | TargetError:
        """Make one attempt in a slot that is held, and give the slot back."""
        try:
            outcome = await self._answer(request)
            if isinstance(outcome, TargetError):
                self.limit.replied(congested=shows_congestion(outcome))
                if reason := self._watch.attempt_failed(outcome):
                    self._stop.set(reason)
            else:
                self.limit.replied(congested=False)
                self._watch.answered()
        finally:
            self.limit.give_back()
        return outcome

    async def _answer(self, request: Request) -> Response | TargetError:
        # In a task of its own, so that a target that ignores being cancelled is left behind, not waited for.
        task = asyncio.ensure_future(_called(self._target, request, is_live=self._is_live))
        guard = request.timeout + min(_GUARD_MOST, request.timeout * _GUARD_SHARE)
        try:
            done, _ = await asyncio.wait((task,), timeout=guard)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done and not task.cancelled():
            return task.result()
        if done:
            return TargetError("cancelled", "the target cancelled its own request")
        task.cancel()
        return _timed_out()

    async def _wait(self, attempts: Attempts, error: TargetError, left: float) -> float | None:
        """Wait before the next attempt; return what is left of the sample's time, or ``None`` to stop."""
        if not attempts.may_go_on(error):
            return None
        if self._stop.is_set:
            raise Stopped
        delay = attempts.delay(error)
        while delay < left:
            if not was_reached(error) or self._budget.spend():
                await self._stop.sleep(delay)
                self.retries += 1
                return left - delay
            if not error.throttled:
                return None
            await self._stop.sleep(_BUDGET_PAUSE)
            left -= _BUDGET_PAUSE
        return None


async def _called(target: Target, request: Request, *, is_live: bool) -> Response | TargetError:
    """Call the target; every way of failing becomes one kind of value.

    A response without a latency gets the time of the call, taken before anything else has its turn.
    """
    sent = time.monotonic()
    try:
        response = await target.answer(request)
        took = time.monotonic() - sent
    except TargetError as error:
        return error.reworded(brief(error.message))
    except TimeoutError:
        return _timed_out()
    except Exception as error:  # noqa: BLE001 - a target is a plug-in: its mistake is the sample's failure
        return TargetError("target-error", described(error))
    if not isinstance(response, Response):
        return TargetError("target-error", f"expected a response, got {type(response).__name__}")
    latency_ms = took * 1000 if response.latency_ms is None and is_live else response.latency_ms
    return replace(response, latency_ms=None if latency_ms is None else round(latency_ms, 3))


async def _called_many(
    target: Target, requests: Sequence[Request]
) -> Sequence[Response | TargetError] | None:
    """Call a target for a batch; ``None`` where it failed as a whole or gave something else than answers."""
    answer_many = target.answer_many  # type: ignore[attr-defined]  # asked for by who has seen that it is there
    try:
        outcomes = await answer_many(requests)
    except (UsageError, InputError):  # nothing that is wrong with a question: no other one would do better
        raise
    except Exception:  # noqa: BLE001 - a target is a plug-in: each sample, asked by itself, tells its reason
        return None
    if not isinstance(outcomes, Sequence) or len(outcomes) != len(requests):
        return None
    return outcomes if all(isinstance(each, Response | TargetError) for each in outcomes) else None


def _requests_of(outcome: Response | TargetError) -> int:
    """Count the requests of one attempt that reached the target: one for each turn that was asked."""
    if isinstance(outcome, TargetError):
        return len(outcome.answered) + was_reached(outcome)
    turns = outcome.metadata.get(TURNS)
    return len(turns) if isinstance(turns, list) and turns else 1


def _timed_out() -> TargetError:
    # Without the seconds, which differ from run to run: equal results must be equal bytes.
    return TargetError("timeout", "no answer in time", retry=True)


def _digest(purpose: str, run_id: str, sample_id: str) -> str:
    return hashlib.blake2b(f"{purpose}\0{run_id}\0{sample_id}".encode(), digest_size=16).hexdigest()
