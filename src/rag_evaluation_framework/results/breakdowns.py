"""Where answers fail, in counts and shares; what should be declined against what was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.files.atomic import Aside, atomic_writer
from rag_evaluation_framework.files.strict_json import encode, encode_unchecked, read_lines
from rag_evaluation_framework.records.scores import BLAME_KINDS, PART_OF_KIND, Blame, BlameKind, Part
from rag_evaluation_framework.results.journal import JournalEntry
from rag_evaluation_framework.startup import asdict, dataclass
from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval
from rag_evaluation_framework.text.display import short_repr

# Where the answers of a whole run failed: answer by answer in a file, and in counts and shares for all.
#
# The file has a line for each finished sample, in the order of the dataset: its id and its blame. An
# answer is blamed once, however many reports show it, and memory does not grow with the run.


@dataclass(frozen=True, slots=True)
class BlameShare:
    """How many answers are of this kind, and their share of the answers whose kind is known."""

    kind: BlameKind
    part: Part
    count: int
    share: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameSummary:
    """Every kind with its count; ``total`` counts all answers, ``told`` those whose kind is known.

    ``unknown_because`` counts what is missing for the others, of which so many are ``unknown_but_wrong``.
    """

    method: str
    total: int
    told: int
    shares: tuple[BlameShare, ...]
    unknown_because: dict[str, int]
    unknown_but_wrong: int = 0

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as results files store it."""
        return asdict(self)


def blame_line(sample_id: str, blame: Blame | None) -> bytes:
    """Return the line of a sample."""
    line = [sample_id, blame_fields(blame)]
    try:
        return encode_unchecked(line) + b"\n"  # texts and the numbers of turns need no check but this
    except ValueError:  # half of a surrogate pair, which is said with its place
        return encode(line) + b"\n"


class FoundBlames:
    """The lines that are found while the answers of a run are scored, out of memory."""

    def __init__(self, folder: Path) -> None:
        self._lines, self._found, self.counter = Aside(folder), 0, BlameCounter()

    def counted(self, line: bytes) -> Blame | None:
        """Return the blame in a line, counted."""
        found = _lines.decode(line)[1]
        for each in () if found is None else found.answers:
            self.counter.add(each)
        return found

    def add(self, entry: JournalEntry) -> None:
        """Keep the line of the next entry, as long as none is missing."""
        if entry.blame is not None and entry.index == self._found:
            self._lines.write(entry.blame)
            self._found += 1

    def of_all(self, total: int) -> Iterator[bytes] | None:
        """Return the lines of so many samples in the order of the dataset; ``None`` if not all are here."""
        return self._lines.read() if self._found == total else None


def write_blames(path: Path, lines: Iterable[bytes]) -> None:
    """Write the lines of samples."""
    with atomic_writer(path) as file:
        file.writelines(lines)


def read_blames(path: Path, *, only: Container[str] | None = None) -> Iterator[tuple[str, Blame | None]]:
    """Yield what :func:`write_blames` wrote, of ``only`` some samples where they are named."""
    for _, (sample_id, written) in read_lines(path):
        if only is None or sample_id in only:
            yield sample_id, read_blame(written)


_lines = msgspec.json.Decoder(tuple[str, Blame | None])


def blame_fields(blame: Blame | None) -> Any:
    """Return a blame with its turns as plain values."""
    return msgspec.to_builtins(blame, str_keys=True)


def read_blame(written: Any) -> Blame | None:
    """Return the blame that :func:`blame_fields` made plain values of; older kinds may tell no cause."""
    if not isinstance(written, Mapping):
        return None
    if turns := written.get("turns"):
        return Blame.of_turns({int(number): read_blame(each) for number, each in turns.items()})
    return msgspec.convert(written, Blame) if written.get("kind") in BLAME_KINDS else None


def read_blame_summary(written: Any) -> BlameSummary | None:
    """Return the summary of a results document, without the kinds of older ones that tell no cause."""
    if written is None:
        return None
    shares = [each for each in written["shares"] if each["kind"] in BLAME_KINDS]
    summary = msgspec.convert({**written, "shares": shares}, BlameSummary)
    return blame_of_all([summary])


def blame_summary(blames: Iterable[Blame], *, method: str) -> BlameSummary:
    """Count the kinds; shares are of the answers whose kind is known, with Wilson's interval.

    ``method`` names what decided what supports what, as shown beside figures.
    """
    counter = BlameCounter()
    for each in blames:
        counter.add(each)
    return counter.summary(method)


class BlameCounter:
    """Takes the blames of answers one by one, or what was counted of others."""

    def __init__(self) -> None:
        self._counts: Counter[BlameKind] = Counter()
        self._reasons: Counter[str] = Counter()
        self._wrong = 0

    def add(self, blame: Blame) -> None:
        """Take one more."""
        self._counts[blame.kind] += 1
        if blame.kind == "unknown":
            self._reasons[blame.why] += 1
            self._wrong += blame.is_fault

    def take(self, summary: BlameSummary) -> None:
        """Take all that a summary counts."""
        self._counts.update({share.kind: share.count for share in summary.shares})
        self._reasons.update(summary.unknown_because)
        self._wrong += summary.unknown_but_wrong

    def summary(self, method: str) -> BlameSummary:
        """Return what :func:`blame_summary` does."""
        told = self._counts.total() - self._counts["unknown"]
        shares = []
        for kind in BLAME_KINDS:
            count, share, interval = self._counts[kind], None, None
            if told and kind != "unknown":
                share, interval = count / told, wilson_interval(count, told)
            shares.append(BlameShare(kind, PART_OF_KIND[kind], count, share, interval))
        return BlameSummary(
            method=method,
            total=self._counts.total(),
            told=told,
            shares=tuple(shares),
            unknown_because=dict(self._reasons.most_common()),
            unknown_but_wrong=self._wrong,
        )


def blame_of_all(summaries: Iterable[BlameSummary]) -> BlameSummary | None:
    """Return one summary of several runs; ``None`` if there are none."""
    counter, methods = BlameCounter(), dict[str, None]()
    for each in summaries:
        methods[each.method] = None
        counter.take(each)
    return counter.summary(" + ".join(methods)) if methods else None
