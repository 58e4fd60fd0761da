"""Notices that the target is gone, so that a run stops with a reason instead of failing sample by sample.

- *Not reached*: as many attempts in a row as a sample may make end without a connection, for at least 2 s at
  the start of a run and 30 s once the target has replied. No sample fails for it: all of them are asked again
  when the run is resumed.
- *Turned away*: the first 10 samples all end with the same status, one that is about the caller or the target
  and not about a sample (401, 403, 404, 405, 407, 429, 502, 503, 504): a wrong key, a wrong address, a target
  that is down behind its gateway. While that is still possible the samples are in doubt, and none of them
  fails for it either.

A sample that does fail for such a reason, since others were answered, is asked again on a resume too.
"""

from __future__ import annotations

from collections.abc import Callable

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.runs.retries import was_reached
from rag_evaluation_framework.records.responses import TURNED_AWAY

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
        """Whether every sample so far was turned away, all with the same status."""
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
            return f"the target turned away the first {TURNED_AWAY_SAMPLES} samples ({error})"
        return None
