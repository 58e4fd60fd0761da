"""One sample put to the target until it is answered: retries, concurrency, outages, stopping."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import (
    MAX_COST,
    InputError,
    ModelOutageError,
    TargetError,
    UsageError,
    brief,
    described,
)
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import (
    NOT_REACHED,
    TURNED_AWAY,
    TURNS,
    Failure,
    Request,
    Response,
)
from rag_evaluation_framework.records.runs import Options, Timing
from rag_evaluation_framework.records.samples import Sample

# The sign that ends a run early: no new samples, no more waiting, and some time for what is in flight.


class Stopped(Exception):  # noqa: N818  # not an error: the run ends before the sample does
    """The run ended before this sample did."""


class StopSign:
    """Set once, with a reason; the first reason stays. Belongs to one event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reason: str | None = None
        self.grace = 0.0

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self, reason: str, *, grace: float = 0.0) -> None:
        """Ask everyone to stop; what is with the target may take ``grace`` seconds more."""
        if not self.is_set:
            self.reason, self.grace = reason, grace
            self._event.set()

    async def wait(self) -> None:
        """Wait for the sign."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep; raises :class:`Stopped` if the run stops meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        if self.is_set:
            raise Stopped


# Whether and when a sample is asked again: the only layer that retries.
#
# The target says which failures may be retried (``TargetError.retry``); this module, how often and when.
#
# - *Attempts*: at most ``max_attempts`` that reached the target; after ``malformed-json`` one more only. An
#   attempt that did not reach it says nothing about the sample: it is not counted, and repeated until the
#   sample's deadline.
# - *Wait before attempt n*: half to all of 0.5 s · 2^(n-2), at most 30 s, drawn by seed and sample. A longer
#   Retry-After is waited for, up to 60 s. A wait that would pass the sample's deadline ends the sample.
# - *Budget*: 0.7 retries for each sample begun, plus 2 a second; at most 100 or twice the concurrency,
#   whichever is more, are saved up. Without budget a throttled sample waits; any other one ends.

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_RETRY_AFTER = 60.0

_RETRIED_ONCE = frozenset({"malformed-json"})

# Under 30 % faults an ideal client needs 0.43 retries a sample; the cap leaves room for bad luck and stays
# below 1.8 attempts a sample whatever the target does.
_BUDGET_PER_SAMPLE = 0.7
_BUDGET_PER_SECOND = 2.0
_BUDGET_CAP = 100.0


def was_reached(error: TargetError) -> bool:
    """Return True if the request reached the target."""
    return error.kind not in NOT_REACHED


def shows_congestion(error: TargetError) -> bool:
    """Return True if the failure asks for fewer requests at once."""
    return error.throttled or error.kind == "timeout" or not was_reached(error)


class Attempts(msgspec.Struct):
    """The attempts at one sample so far."""

    key: str
    max_attempts: int
    seed: int
    made: int = 0
    reached: int = 0
    kinds: Counter[str] = msgspec.field(default_factory=Counter)
    _generator: random.Random | None = None

    def failed(self, error: TargetError) -> None:
        """Count an attempt that failed."""
        self.made += 1
        self.reached += was_reached(error)
        self.kinds[error.kind] += 1

    def may_go_on(self, error: TargetError) -> bool:
        """Return True if another attempt is worth it after this failure, budget and deadline aside."""
        if not error.retry or self.reached >= self.max_attempts:
            return False
        return error.kind not in _RETRIED_ONCE or self.kinds[error.kind] < 2

    def delay(self, error: TargetError) -> float:
        """Return how many seconds to wait before the next attempt."""
        if self._generator is None:
            self._generator = random.Random(f"{self.seed} {self.key}")  # noqa: S311  # spreads load, guards nothing
        longest = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(self.made - 1, 16))
        backoff = longest * self._generator.uniform(0.5, 1.0)
        return max(backoff, min(error.retry_after or 0.0, LONGEST_RETRY_AFTER))


class RetryBudget:
    """Keeps retries a bounded share of all requests, so that a target in trouble is not flooded."""

    def __init__(self, concurrency: int, *, clock: Callable[[], float]) -> None:
        self._cap = max(_BUDGET_CAP, 2.0 * concurrency)
        self._clock = clock
        self._filled_at = clock()
        self._saved = _BUDGET_CAP / 10

    def count_sample(self) -> None:
        """Pay in for a sample that is asked for the first time."""
        self._saved = min(self._cap, self._saved + _BUDGET_PER_SAMPLE)

    def spend(self) -> bool:
        """Take one retry out, if there is one."""
        now = self._clock()
        self._saved = min(self._cap, self._saved + (now - self._filled_at) * _BUDGET_PER_SECOND)
        self._filled_at = now
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


# How many requests the target is given at once: few at first, more while it keeps up, else fewer.
#
# - The limit starts at an eighth of the maximum (at least 4) and triples with each clean round, until
#   something is throttled or times out. From then on it grows by a thirty-second of the maximum (at least 1)
#   a round.
# - At the end of a round it is cut by half the share of replies that were throttled or timed out, as in Data
#   Center TCP (Alizadeh et al., SIGCOMM 2010, section 3.1): a target that refuses everything is given half,
#   one that errs now and then hardly less.
#
# A round is as many replies as the limit was when it began: about one round trip.

_START_SHARE = 8
_START_LEAST = 4
_FAST_GROWTH = 2.0
_STEADY_SHARE = 32


class AdaptiveLimit:
    """Slots for requests, handed out in the order in which they were asked for."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.in_flight = 0
        self._limit = float(min(maximum, max(_START_LEAST, maximum // _START_SHARE)))
        self._cautious = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begin_round()

    @property
    def limit(self) -> int:
        """Return the number of requests that may be with the target at this moment."""
        return int(self._limit)

    async def acquire(self) -> None:
        """Wait for a slot."""
        if self.in_flight < self.limit:
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Cancelled in the instant after the slot was handed over: it goes to the next.
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def replied(self, *, congested: bool) -> None:
        """Take note of a reply: whether the target throttled the request or let it time out."""
        self._replies += 1
        self._congested += congested
        if not congested:
            self._grow()
        if self._replies >= self._round:
            if self._congested:
                self._cautious = True
                self._limit = max(1.0, self._limit * (1 - self._congested / self._replies / 2))
            self._begin_round()

    def give_back(self) -> None:
        """Give a slot back."""
        self.in_flight -= 1
        while self._waiting and self.in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def _begin_round(self) -> None:
        self._round, self._replies, self._congested = self.limit, 0, 0

    def _grow(self) -> None:
        steady = max(1.0, self.maximum / _STEADY_SHARE) / self._limit
        self._limit = min(float(self.maximum), self._limit + (steady if self._cautious else _FAST_GROWTH))


# Notices that the target is gone, so that a run stops with a reason instead of failing sample by sample.
#
# - *Not reached*: as many attempts in a row as a sample may make end without a connection, for at least 2
#   s at the start of a run and 30 s once the target has replied. No sample fails for it: all of them are
#   asked again when the run is resumed.
# - *Turned away*: the first 10 samples all end with the same status, one that is about the caller or the
#   target and not about a sample (401, 403, 404, 405, 407, 429, 502, 503, 504): a wrong key, a wrong
#   address, a target that is down behind its gateway. While that is still possible the samples are in
#   doubt, and none of them fails for it either.
#
# A sample that does fail for such a reason, since others were answered, is asked again on a resume too.

PATIENCE_AT_START = 2.0
PATIENCE_LATER = 30.0
TURNED_AWAY_SAMPLES = 10


class OutageWatch:
    """Listens to every attempt; a method that returns a text has found the reason to stop."""

    def __init__(self, max_attempts: int, *, clock: Callable[[], float]) -> None:
        self._max_attempts = max_attempts
        self._clock = clock
        self._heard = False
        self._answered = False
        self._missed = 0
        self._missed_since = 0.0
        self._turned_away: list[str] = []

    @property
    def in_doubt(self) -> bool:
        """Return True if every sample so far was rejected, all with the same status."""
        kinds = set(self._turned_away)
        return not self._answered and len(kinds) == 1 and kinds <= TURNED_AWAY

    def answered(self) -> None:
        """Take note of an answer."""
        self._heard = self._answered = True
        self._missed = 0

    def attempt_failed(self, error: TargetError) -> str | None:
        """Take note of a failed attempt; return why to stop, if it is time to."""
        if was_reached(error):
            self._heard = True
            self._missed = 0
            return None
        if not self._missed:
            self._missed_since = self._clock()
        self._missed += 1
        patience = PATIENCE_LATER if self._heard else PATIENCE_AT_START
        lasting = self._clock() - self._missed_since >= patience
        if self._missed >= self._max_attempts and lasting:
            return f"the target cannot be reached ({error.message})"
        return None

    def sample_failed(self, error: TargetError) -> str | None:
        """Take note of a sample that failed for good; return why to stop, if it is time to."""
        if self._answered or len(self._turned_away) >= TURNED_AWAY_SAMPLES:
            return None
        self._turned_away.append(error.kind)
        if self.in_doubt and len(self._turned_away) == TURNED_AWAY_SAMPLES:
            return f"the agent rejected the first {TURNED_AWAY_SAMPLES} requests ({error})"
        return None


# Puts samples to the target, one by one or in batches, until there is an answer or a reason for none.

# A target with a timeout of its own gets a moment to report it before it is cut off.
_GUARD_SHARE = 0.1
_GUARD_MOST = 1.0
_BUDGET_PAUSE = 0.5


Outcome: TypeAlias = Response | TargetError
"""The outcome of one attempt: an answer, or the reason for its absence."""


class Asked(msgspec.Struct, frozen=True):
    """The response to one sample, and its timing."""

    response: Response
    timing: Timing


class Asker:
    """Asks samples of one target; all of them share its slots, retry budget and stop sign."""

    def __init__(self, target: Target, run_id: str, *, options: Options, stop: StopSign, seed: int) -> None:
        self.limit = AdaptiveLimit(options.concurrency)
        self.retries = 0
        self._target = target
        # A recorded answer takes no time now: its latency is the recorded one, or unknown.
        self._is_live = getattr(target, "is_live", True)
        self._held_by = None if self._is_live else getattr(target, "held_by", None)
        self._run_id = run_id
        self._options, self._seed = options, seed
        self._stop = stop
        self._budget = RetryBudget(options.concurrency, clock=time.monotonic)
        self._watch = OutageWatch(options.max_attempts, clock=time.monotonic)

    async def ask(self, sample: Sample) -> Asked:
        """Ask one sample until it is answered or has failed; raises :class:`Stopped` if the run ends first.

        Attempts and the waits between them count towards the sample's deadline; waiting for a slot does not.
        """
        if self._held_by is not None:
            return self._taken(sample, self._held_by)
        options = self._options
        request = self._request(sample, timeout=min(options.attempt_timeout, options.sample_limit))
        attempts = Attempts(request.key, options.max_attempts, self._seed)
        self._budget.count_sample()
        started_at, left, requests = "", options.sample_limit, 0
        while True:
            await self._slot()
            started_at = started_at or datetime.now(UTC).isoformat(timespec="milliseconds")
            sent = time.monotonic()
            timeout = min(options.attempt_timeout, left)
            if timeout < request.timeout:
                request = replace(request, timeout=timeout)
            outcome = await self._attempt(request)
            took = time.monotonic() - sent
            left -= took
            requests += _requests_of(outcome) if self._is_live else 0
            if isinstance(outcome, TargetError):
                attempts.failed(outcome)
                still_left = await self._wait(attempts, outcome, left)
                if still_left is not None:
                    left = still_left
                    continue
            spent = options.sample_limit - left
            made = attempts.made + (not isinstance(outcome, TargetError))
            return self._ended(outcome, made, attempts.kinds, started_at, spent, requests)

    def _taken(self, sample: Sample, held_by: Callable[[Sample], Response]) -> Asked:
        """Take an answer that is recorded, where nothing is waited for."""
        if self._stop.is_set:
            raise Stopped
        started_at, sent = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        outcome: Outcome
        try:
            outcome = held_by(sample)
        except TargetError as error:
            outcome = error.reworded(brief(error.message))
        except InputError as error:  # what is recorded is no answer
            outcome = TargetError("target-error", described(error))
        else:
            if outcome.latency_ms is not None:
                outcome = replace(outcome, latency_ms=round(outcome.latency_ms, 3))
        return self._settled(outcome, started_at=started_at, spent=time.monotonic() - sent)

    async def ask_many(self, samples: Sequence[Sample]) -> list[Asked | None]:
        """Ask a target with ``answer_many`` for a batch at once; the time it takes is shared out evenly.

        ``None`` stands for a sample that is to be asked by itself: another attempt may help it, or the batch
        failed as a whole, which may be the fault of one. The samples of a batch have their time together.
        """
        await self._slot()
        timeout = self._options.sample_limit * len(samples)
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

    def _settled(self, outcome: Outcome, *, started_at: str, spent: float) -> Asked:
        """Take note of what the one attempt of a batch brought for a sample."""
        requests = _requests_of(outcome) if self._is_live else 0
        if not isinstance(outcome, TargetError):
            self._watch.answered()
        elif reason := self._watch.attempt_failed(outcome):
            self._stop.set(reason)
        failures = {outcome.kind: 1} if isinstance(outcome, TargetError) else {}
        return self._ended(outcome, 1, failures, started_at, spent, requests)

    def _request(self, sample: Sample, *, timeout: float) -> Request:
        return Request(
            sample=sample,
            # The same for every attempt, after a resume too.
            key=_digest("key", self._run_id, sample.id),
            thread_id=_digest("thread", self._run_id, sample.id),
            timeout=timeout,
            history=self._options.history,
        )

    def _ended(
        self,
        outcome: Outcome,
        attempts: int,
        failures: Mapping[str, int],
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
            failures=dict(failures) if self._is_live else {},
        )
        return Asked(response, timing)

    @property
    def in_doubt(self) -> bool:
        """Return True if all samples so far were rejected alike, so that perhaps none of them is at fault."""
        return self._watch.in_doubt

    async def _slot(self) -> None:
        await self.limit.acquire()
        if self._stop.is_set:
            self.limit.give_back()
            raise Stopped

    async def _attempt(self, request: Request) -> Outcome:
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

    async def _answer(self, request: Request) -> Outcome:
        # In a task of its own, so that a target that ignores being cancelled is left behind, not waited for.
        task = asyncio.ensure_future(called_target(self._target, request, is_live=self._is_live))
        guard = request.timeout + min(_GUARD_MOST, request.timeout * _GUARD_SHARE)
        try:
            done, _ = await asyncio.wait((task,), timeout=guard)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done and not task.cancelled():
            return task.result()
        if done:
            return TargetError("cancelled", "the agent canceled its own request")
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


async def called_target(target: Target, request: Request, *, is_live: bool) -> Outcome:
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
    except ModelOutageError as error:
        if error.kind == MAX_COST:  # no other sample may be asked either
            raise
        return TargetError("target-error", described(error))
    except Exception as error:  # noqa: BLE001 - a target is a plug-in: its mistake is the sample's failure
        return TargetError("target-error", described(error))
    if not isinstance(response, Response):
        return TargetError("target-error", f"expected a response, got {type(response).__name__}")
    latency_ms = took * 1000 if response.latency_ms is None and is_live else response.latency_ms
    latency_ms = None if latency_ms is None else round(latency_ms, 3)
    return response if latency_ms == response.latency_ms else replace(response, latency_ms=latency_ms)


async def _called_many(target: Target, requests: Sequence[Request]) -> Sequence[Outcome] | None:
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


def _requests_of(outcome: Outcome) -> int:
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
