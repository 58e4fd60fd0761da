"""Progress of a long step, on standard error: one live line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TextIO

from msgspec.structs import replace

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.reports.blocks import bar, cells, cut, money, one_line, shortened
from rag_evaluation_framework.text.display import duration

_ERASE_LINE = "\r\x1b[2K"
_BAR_CELLS, _NAME_CELLS, _LEAST_NAME = 14, 24, 10
_TENTHS = 10
_WORTH_TELLING = 5.0
"""Seconds: what took less has its result on the screen at once."""

LIVE_SECONDS = 0.1
PLAIN_SECONDS = 30.0


class Line:
    """One line on a terminal that is written anew, gone at the end; elsewhere a line below the other."""

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        clock: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._stream, self._live, self._clock, self._columns = stream, live, clock, columns
        self._written_at = -LIVE_SECONDS if live else clock()
        self._shown = False

    @property
    def _is_time(self) -> bool:
        """Return True if the last line is old enough for another."""
        return self._clock() - self._written_at >= (LIVE_SECONDS if self._live else PLAIN_SECONDS)

    def write(self, text: str) -> None:
        """Write a line, on a terminal in place of the one before."""
        whole = _ERASE_LINE + cut(text, max(self._columns() - 1, 1)) if self._live else f"{text}\n"
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(whole.encode(encoding, "replace").decode(encoding))
        self._stream.flush()
        self._written_at, self._shown = self._clock(), True

    def finish(self) -> None:
        """Take the live line away."""
        if self._live and self._shown:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()


class ProgressLine(Line):
    """Called with the progress of a dataset's run as often as it changes; writes only now and then.

    Elsewhere than on a terminal that is after 30 seconds and a tenth of the work, and at the end of what took
    some time. The first report on a dataset says what was done before. ``names`` are what people call
    datasets that have other names. ``mask`` is applied to everything that is written; what ``notice`` returns
    at that moment, if anything, comes at the end; the dollars that ``spent`` returns are added to the cost of
    the answers.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        mask: Callable[[str], str] = str,
        names: Mapping[str, str] = MappingProxyType({}),
        notice: Callable[[], str] = str,
        spent: Callable[[], float | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        super().__init__(stream, live=live, clock=clock, columns=columns)
        self._mask, self._names, self._notice, self._spent = mask, names, notice, spent
        self._begun_with: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._ended: set[str] = set()

    def __call__(self, dataset: str, progress: Progress) -> None:
        """Take note, and write if it is time to, or if this is the end."""
        begun_with = self._begun_with.setdefault(dataset, progress.done if not progress.elapsed else 0)
        ended = progress.done == progress.total
        if dataset in self._ended or not (ended or self._is_time):
            return
        if ended and not self._live and dataset not in self._told and progress.elapsed < _WORTH_TELLING:
            self._ended.add(dataset)
            return
        notice = self._notice()
        advanced = progress.done - self._told.get(dataset, begun_with)
        if not (ended or self._live or notice or advanced * _TENTHS >= progress.total):
            return
        self._ended |= {dataset} if ended else set()
        self._told[dataset] = progress.done
        if (dollars := self._spent()) is not None:
            progress = replace(progress, cost_usd=(progress.cost_usd or 0.0) + dollars)
        dataset = self._names.get(dataset, dataset)
        if self._live:
            text = live_text(dataset, progress, begun_with=begun_with, plain=self._is_plain)
            text += f"   {notice}" if notice else ""
        else:
            text = progress_text(dataset, progress, begun_with=begun_with)
            text += f"; {notice}" if notice else ""
        self.write(self._mask(text))

    @property
    def _is_plain(self) -> bool:
        """Return True if the stream can write no bar but of ``#``."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return not encoding.lower().replace("-", "").startswith("utf")


def progress_text(dataset: str, progress: Progress, *, begun_with: int = 0) -> str:
    """Say how far a run is; the rate is that of this part of it, which was ``begun_with`` so many done."""
    amount = f"{progress.done:,} of {progress.total:,}"
    if progress.done == progress.total:
        told = ["done", f"{amount} in {duration(progress.elapsed)}", *_troubles(progress, begun_with)]
    else:
        told = [
            amount,
            *_pace(progress, begun_with),
            *_troubles(progress, begun_with),
            _left(progress, begun_with),
        ]
    return f"{one_line(dataset)}: {', '.join(filter(None, told))}"


def live_text(dataset: str, progress: Progress, *, begun_with: int = 0, plain: bool = False) -> str:
    """Say the same on a terminal: with a bar, and without what is not known yet."""
    drawn = bar(progress.done, progress.total, size=_BAR_CELLS, plain=plain)
    name = shortened(one_line(dataset), _NAME_CELLS)
    begun = f"{name}{' ' * (_LEAST_NAME - cells(name))}  {drawn}{' ' * (_BAR_CELLS - cells(drawn))}"
    amount = f"{progress.done:,} of {progress.total:,}"
    left = _left(progress, begun_with)
    return "   ".join(
        filter(None, [begun, amount, *_pace(progress, begun_with), *_troubles(progress, begun_with), left])
    )


def _rate(progress: Progress, begun_with: int) -> float:
    return (progress.done - begun_with) / progress.elapsed if progress.elapsed > 0 else 0.0


def _pace(progress: Progress, begun_with: int) -> list[str]:
    rate = _rate(progress, begun_with)
    return [f"{rate:,.1f}/s"] if rate else []


def _troubles(progress: Progress, begun_with: int) -> list[str]:
    """Return what failed, what was tried again, and what it costs, as far as that is known."""
    told = [f"{progress.failed:,} failed"]
    if progress.retries:
        told.append(f"{progress.retries:,} retried")
    if progress.cost_usd is not None:
        is_told = not begun_with and 0 < progress.done < progress.total
        whole = progress.cost_usd * progress.total / progress.done if is_told else None
        told.append(money(progress.cost_usd) + (f" of about {money(whole)}" if whole else ""))
    elif progress.input_tokens is not None or progress.output_tokens is not None:
        told.append(counted((progress.input_tokens or 0) + (progress.output_tokens or 0), "token"))
    return told


def _left(progress: Progress, begun_with: int) -> str:
    """Return how long the rest takes at this pace; nothing before there is one."""
    rate = _rate(progress, begun_with)
    remaining = (progress.total - progress.done) / rate if rate else 0.0
    return f"{duration(max(1.0, round(remaining)))} left".replace(".0 s", " s") if remaining else ""
