"""Which samples of a dataset a run is over: those with a tag, and of these so many at random.

Tags filter first (any of several), then samples are drawn without replacement; the order of the file is kept.
A draw depends on the seed and the samples' ids alone: reordering the file changes nothing, and a larger draw
holds the smaller one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop

from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.records.samples import Sample

_LISTED_TAGS = 10


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen samples; calling it begins to read them. Memory does not grow with the file."""

    stream: Callable[[], Iterator[Sample]]
    tags: frozenset[str]
    drawn: frozenset[int] | None
    n_in_file: int
    n_matching: int

    def __call__(self) -> Iterator[Sample]:
        place = 0
        for sample in self.stream():
            if not _has_tag(sample, self.tags):
                continue
            if self.drawn is None or place in self.drawn:
                yield sample
            place += 1

    def __len__(self) -> int:
        return self.n_matching if self.drawn is None else len(self.drawn)


def select_samples(
    stream: Callable[[], Iterator[Sample]],
    *,
    tags: Sequence[str] = (),
    sample_size: int | None = None,
    seed: int = 0,
) -> Selection:
    """Choose samples from what ``stream`` begins to read each time; choosing none at all is an error."""
    wanted = frozenset(tags)
    present: Counter[str] = Counter()
    lowest = _Lowest(sample_size or 0)
    n_in_file = n_matching = 0
    for sample in stream():
        n_in_file += 1
        present.update(set(sample.tags) if wanted else ())
        if _has_tag(sample, wanted):
            lowest.offer(_rank(sample.id, seed), n_matching)
            n_matching += 1
    _refuse_nothing(n_in_file, n_matching, wanted, present)
    drawn = None if sample_size is None else lowest.places()
    return Selection(stream, wanted, drawn, n_in_file, n_matching)


class _Lowest:
    """Keeps the places of the so many lowest ranks that it was offered."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, int]] = []

    def offer(self, rank: int, place: int) -> None:
        if len(self._heap) < self._size:
            heappush(self._heap, (-rank, place))
        elif self._size:
            heappushpop(self._heap, (-rank, place))

    def places(self) -> frozenset[int]:
        return frozenset(place for _, place in self._heap)


def _has_tag(sample: Sample, wanted: frozenset[str]) -> bool:
    return not wanted or not wanted.isdisjoint(sample.tags)


def _rank(identifier: str, seed: int) -> int:
    digest = hashlib.blake2b(f"{seed}\0{identifier}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big")


def _refuse_nothing(n_in_file: int, n_matching: int, wanted: frozenset[str], present: Counter[str]) -> None:
    if not n_in_file:
        raise InputError([Issue("empty-file", "at least one sample", "none")])
    if not n_matching:
        tags = " or ".join(sorted(wanted))
        there = ", ".join(tag for tag, _ in present.most_common(_LISTED_TAGS)) or "none"
        raise UsageError(
            f"expected samples with the tag {tags}, got none of {n_in_file:,}; tags there: {there}"
        )
