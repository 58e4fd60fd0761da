"""How far a run is, on standard error: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.reports.screen import cells as text_width

# What a long command is doing, as one live line on a terminal.

_ERASE_LINE = "\r\x1b[2K"


class StepLine:
    """Shows the step that is going on, and how many texts were embedded so far."""

    def __init__(
        self, stream: TextIO, *, columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns
    ) -> None:
        self._stream, self._columns = stream, columns
        self._step = ""
        self._texts = 0

    def step(self, step: str) -> None:
        """Show the next step."""
        self._step = step
        self._show()

    def texts(self, count: int) -> None:
        """Count texts that were embedded."""
        self._texts += count
        self._show()

    def finish(self) -> None:
        """Take the line away."""
        self._stream.write(_ERASE_LINE)
        self._stream.flush()

    def _show(self) -> None:
        text = f"{self._step}; {counted(self._texts, 'text')} embedded" if self._texts else self._step
        while text and text_width(text) >= max(self._columns(), 2):
            text = text[:-1]
        self._stream.write(_ERASE_LINE + text)
        self._stream.flush()


LIVE_SECONDS = 0.1
PLAIN_SECONDS = 10.0


class ProgressLine:
    """Called with the progress of a dataset's run as often as it changes; writes only now and then.

    The first report on a dataset says what was done before. ``mask`` is applied to everything that is
    written; what ``notice`` returns at that moment, if anything, comes at the end.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        mask: Callable[[str], str] = str,
        notice: Callable[[], str] = str,
        clock: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._stream, self._live, self._mask, self._notice = stream, live, mask, notice
        self._clock, self._columns = clock, columns
        self._seconds = LIVE_SECONDS if live else PLAIN_SECONDS
        self._written_at = clock() if not live else -LIVE_SECONDS
        self._begun_with: dict[str, int] = {}
        self._shown = False
        self._ended: set[str] = set()

    def __call__(self, dataset: str, progress: Progress) -> None:
        """Take note, and write if it is time to, or if this is the end."""
        begun_with = self._begun_with.setdefault(dataset, progress.done if not progress.elapsed else 0)
        now = self._clock()
        ended = progress.done == progress.total
        if dataset in self._ended or (not ended and now - self._written_at < self._seconds):
            return
        self._ended |= {dataset} if ended else set()
        self._written_at = now
        parts = (progress_text(dataset, progress, begun_with=begun_with), self._notice())
        text = self._mask("; ".join(filter(None, parts)))
        if self._live:
            self._stream.write(_ERASE_LINE + _cut(text, self._columns() - 1))
        else:
            self._stream.write(text + "\n")
        self._shown = True
        self._stream.flush()

    def finish(self) -> None:
        """Take the live line away."""
        if self._live and self._shown:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()


def progress_text(dataset: str, progress: Progress, *, begun_with: int = 0) -> str:
    """Say how far a run is; the rate is that of this part of it, which was ``begun_with`` so many done."""
    parts = [f"{dataset}: {progress.done:,}/{progress.total:,}"]
    rate = (progress.done - begun_with) / progress.elapsed if progress.elapsed > 0 else 0.0
    if rate:
        parts.append(f"{rate:,.1f}/s")
    parts.append(f"{progress.failed:,} failed")
    if progress.retries:
        parts.append(counted(progress.retries, "retry", "retries"))
    if progress.in_flight:
        parts.append(f"{progress.in_flight:,} in flight")
    if progress.cost_usd is not None:
        parts.append(f"${progress.cost_usd:.4f}")
    elif progress.input_tokens is not None or progress.output_tokens is not None:
        parts.append(counted((progress.input_tokens or 0) + (progress.output_tokens or 0), "token"))
    remaining = progress.total - progress.done
    if remaining:
        parts.append(f"{duration(remaining / rate)} left" if rate else "time left unknown")
    else:
        parts.append(f"took {duration(progress.elapsed)}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Write a duration for people: ``42 s``, ``3:05 min``, ``2:07 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


def _cut(text: str, width: int) -> str:
    while text and text_width(text) > max(width, 1):
        text = text[:-1]
    return text
