"""Finds ids that occur twice in a file of any length, in eight bytes an id.

The first pass keeps a 64-bit digest of each id; where two digests are equal, a second pass over the file
compares the few ids in question themselves, so that nothing is called a repetition by chance.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

_MASK = (1 << 64) - 1


class IdDigests:
    """The digests of all ids of a file."""

    def __init__(self) -> None:
        self._digests = array("Q")

    def add(self, identifier: str) -> None:
        """Take in an id."""
        self._digests.append(_digest(identifier))

    def repeated(self) -> frozenset[int]:
        """Return the digests that occur more than once."""
        if len(self._digests) < 2:
            return frozenset()
        import numpy as np  # sorts in place, eight bytes an id; loaded when there is something to sort

        digests = np.frombuffer(self._digests, dtype=np.uint64)
        digests.sort()
        return frozenset(digests[1:][digests[1:] == digests[:-1]].tolist())


def repetitions(
    numbered: Iterable[tuple[int | None, str]], repeated: frozenset[int]
) -> Iterator[tuple[int | None, str, int | None]]:
    """Yield the line and id of each repetition, and the line where the id stood first."""
    first: dict[str, int | None] = {}
    for line, identifier in numbered:
        if _digest(identifier) in repeated:
            if identifier in first:
                yield line, identifier, first[identifier]
            else:
                first[identifier] = line


def _digest(identifier: str) -> int:
    return hash(identifier) & _MASK
