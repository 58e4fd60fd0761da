"""The sign that ends a run early: no new samples, no more waiting, and some time for what is in flight."""

from __future__ import annotations

import asyncio
from contextlib import suppress


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
