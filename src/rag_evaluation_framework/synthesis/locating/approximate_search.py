"""Finds where a text occurs in another with a few characters changed, added or left out.

Pieces first: of a text cut into ``edits + 1`` pieces at least one is unchanged, so every copy can be found by
a piece of it that occurs exactly. Around those the edit distance is computed, a column of the table at a time
in the bits of one integer (Myers, "A fast bit-vector algorithm for approximate string matching based on
dynamic programming", JACM 46, 1999). No place is missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

MOST_PLACES = 64
"""The search ends when a text was found in so many places."""

# Pieces this short stand everywhere: such a search would be as slow as trying every place.
_SHORTEST_PIECE = 3


@dataclass(frozen=True, slots=True)
class Place:
    """``text[start:end]`` is the copy, so many edits away."""

    start: int
    end: int
    edits: int


def approximate_places(wanted: str, text: str, *, most_edits: int) -> list[Place]:
    """Return every place of a copy of ``wanted``, the closest first.

    Ends that are no further apart than the edits of both belong to one place: that of the fewest edits. Of
    several such, one that begins and ends with the characters of ``wanted`` is taken, and the longest. Where
    pieces would be shorter than three characters, nothing is looked for; at :data:`MOST_PLACES` it ends.

    >>> approximate_places("the last fery", "Take the last ferry home.", most_edits=1)
    [Place(start=5, end=19, edits=1)]
    """
    if len(wanted) // (most_edits + 1) < _SHORTEST_PIECE:
        return []
    ends: dict[int, int] = {}
    masks = _masks(wanted)
    for begin, end in _stretches(wanted, text, most_edits):
        edits_at = _distances(len(wanted), masks, text[begin:end], anchored=False)
        ends.update({begin + at + 1: edits for at, edits in enumerate(edits_at) if edits <= most_edits})
    found: list[Place] = []
    for end in sorted(ends, key=lambda end: (ends[end], text[end - 1] != wanted[-1], -end)):
        if all(abs(end - place.end) > ends[end] + place.edits for place in found):
            found.append(Place(_start(wanted, text, end, ends[end]), end, ends[end]))
            if len(found) == MOST_PLACES:
                break
    return found


def _stretches(wanted: str, text: str, most_edits: int) -> list[tuple[int, int]]:
    """Return stretches of the text that hold every copy: around each exact occurrence of a piece."""
    most = len(text) // len(wanted) + MOST_PLACES
    stretches = list(islice(_around_pieces(wanted, text, most_edits), most + 1))
    return _joined(stretches) if len(stretches) <= most else [(0, len(text))]


def _around_pieces(wanted: str, text: str, most_edits: int) -> Iterator[tuple[int, int]]:
    borders = [len(wanted) * number // (most_edits + 1) for number in range(most_edits + 2)]
    for begin, end in pairwise(borders):
        piece = wanted[begin:end]
        at = text.find(piece)
        while at >= 0:
            first = at - begin
            yield max(0, first - most_edits), min(len(text), first + len(wanted) + most_edits)
            at = text.find(piece, at + 1)


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(stretches):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _masks(wanted: str) -> dict[str, int]:
    """Return for each character the places in which it stands, as bits."""
    masks: dict[str, int] = {}
    for place, character in enumerate(wanted):
        masks[character] = masks.get(character, 0) | 1 << place
    return masks


def _distances(size: int, masks: dict[str, int], text: Sequence[str], *, anchored: bool) -> Iterator[int]:
    """Yield after each character of the text the edits between the wanted text and what ends there.

    What ends there begins anywhere or, if ``anchored``, at the beginning of the text.
    """
    full, last = (1 << size) - 1, 1 << (size - 1)
    rises, falls, edits = full, 0, size
    for character in text:
        equal = masks.get(character, 0)
        crossing = equal | falls
        equal |= (((equal & rises) + rises) ^ rises) & full
        above = (falls | ~(equal | rises)) & full
        below = rises & equal
        if above & last:
            edits += 1
        elif below & last:
            edits -= 1
        above = (above << 1 | anchored) & full
        below = below << 1 & full
        rises = (below | ~(crossing | above)) & full
        falls = above & crossing
        yield edits


def _start(wanted: str, text: str, end: int, edits: int) -> int:
    """Return where the copy begins that ends at ``end`` and is so many edits away."""
    furthest = max(0, end - len(wanted) - edits)
    backwards = text[furthest:end][::-1]
    distances = _distances(len(wanted), _masks(wanted[::-1]), backwards, anchored=True)
    lengths = [length for length, found in enumerate(distances, start=1) if found == edits]
    length = max(lengths, key=lambda length: (text[end - length] == wanted[0], length))
    return end - length
