"""How many requests the target is given at once: few at first, more while it keeps up, else fewer.

- The limit starts at an eighth of the maximum (at least 4) and triples with each clean round, until
  something is throttled or times out. From then on it grows by a thirty-second of the maximum (at least 1)
  a round.
- At the end of a round it is cut by half the share of replies that were throttled or timed out, as in Data
  Center TCP (Alizadeh et al., SIGCOMM 2010, section 3.1): a target that refuses everything is given half,
  one that errs now and then hardly less.

A round is as many replies as the limit was when it began: about one round trip.
"""

from __future__ import annotations

import asyncio
from collections import deque

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
        """How many requests may be with the target at this moment."""
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
