"""Excerpts become characters: where a passage that somebody copied is in the text.

It is looked for as it is written; then with other case, white space, quotation marks and the like; then with
up to a tenth of its characters changed, where the alignment gives the beginning and the end. A passage that
fits several places is put at the one nearest to the other passages of its question, or nowhere. Whatever is
found is a slice of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Literal

from rag_evaluation_framework.synthesis.locating.approximate_search import MOST_PLACES, approximate_places
from rag_evaluation_framework.synthesis.locating.folded_text import FoldedText
from rag_evaluation_framework.synthesis.locating.word_borders import Span, is_whole, whole_words

Manner = Literal["exact", "folded", "aligned"]
Reason = Literal["empty-excerpt", "excerpt-not-found", "ambiguous-excerpt"]

LEAST_SIMILARITY = 0.9

# With fewer characters a single change makes another passage of it.
_LEAST_ALIGNED = 12
_LEAST_PART = 12
_HALF_WORD = 8
# The nearest of several places must be clearly so: so many times, and so many characters, before the next.
_TIMES_NEARER = 2
_CHARACTERS_NEARER = 100

_WORD = re.compile(r"\w")
_DIGITS = re.compile(r"\d+")
# What models put around a copied passage.
_WRAPPING = re.compile(r"""\A[\s"'“”‘’«»]*(?:\.{2,}|…)?[\s"'“”‘’]*|[\s"'“”‘’«»]*(?:\.{2,}|…)?[\s"'“”‘’]*\Z""")
_LEFT_OUT = re.compile(r"\s*(?:\[\s*(?:\.{3,}|…)\s*\]|\(\s*(?:\.{3,}|…)\s*\)|\.{3,}|…)\s*")


@dataclass(frozen=True, slots=True)
class Located:
    """The passage is ``text[start:end]``."""

    start: int
    end: int
    manner: Manner


@dataclass(frozen=True, slots=True)
class Unlocated:
    """A passage that has no place in the text, and why."""

    reason: Reason
    excerpt: str


def locate(excerpt_text: str, document_text: str, *, near: Sequence[Span] = ()) -> Located | Reason:
    """Return where an excerpt is in a document, or why that is not known.

    ``near`` are the places of other excerpts of the same question. They decide if the text occurs in several
    places and one of those is clearly the nearest.

    >>> locate("four   FERRIES", "There are four ferries a day.")
    Located(start=10, end=22, manner='folded')
    """
    return _finder(document_text).locate(excerpt_text, near=near)


class ExcerptFinder:
    """Finds excerpts of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _folded(self) -> FoldedText:
        return FoldedText(self.text)

    def locate(self, excerpt: str, *, near: Sequence[Span] = ()) -> Located | Reason:
        """Return where an excerpt is, or why that is not known."""
        if not _WORD.search(excerpt):
            return "empty-excerpt"
        forms = list(dict.fromkeys((excerpt.strip(), _WRAPPING.sub("", excerpt))))
        for form in forms:
            if places := list(islice(self._exact_places(form), MOST_PLACES)):
                return _chosen([*places, *self._other_spacings(form, places)], "exact", near)
        wanted = [FoldedText(form).folded for form in forms]
        for form in wanted:
            if places := list(islice(self._folded_places(form), MOST_PLACES)):
                return _chosen(places, "folded", near)
        return self._aligned(wanted[-1], near)

    def locate_together(self, excerpts: Sequence[str]) -> list[Located] | Unlocated:
        """Return the places of all excerpts of a question, in the order of the text, or the first that fails.

        Where a passage is not found and something in it is left out ("…"), its parts are passages. Those
        that overlap are joined.
        """
        parts = [part for excerpt in excerpts for part in self._parts(excerpt)]
        found = [self.locate(part) for part in parts]
        certain = [(place.start, place.end) for place in found if isinstance(place, Located)]
        for number, part in enumerate(parts):
            if found[number] == "ambiguous-excerpt":
                found[number] = self.locate(part, near=certain)
        located: list[Located] = []
        for part, place in zip(parts, found, strict=True):
            if not isinstance(place, Located):
                return Unlocated(place, part)
            located.append(place)
        return _joined(located)

    def _parts(self, excerpt: str) -> list[str]:
        parts = [part for part in _LEFT_OUT.split(excerpt) if part]
        is_elided = len(parts) > 1 and all(len(part) >= _LEAST_PART for part in parts)
        if not is_elided or self.locate(excerpt) != "excerpt-not-found":
            return [excerpt]
        return parts

    def _exact_places(self, wanted: str) -> Iterator[Span]:
        start = self.text.find(wanted) if wanted else -1
        while start >= 0:
            if is_whole(self.text, start, start + len(wanted)):
                yield start, start + len(wanted)
            start = self.text.find(wanted, start + 1)

    def _other_spacings(self, wanted: str, places: Sequence[Span]) -> Iterator[Span]:
        """Yield the places that have the same text with other white space: a copy fits them all."""
        bare = "".join(wanted.split())
        for span in islice(self._folded_places(FoldedText(wanted).folded), MOST_PLACES):
            is_same = "".join(self.text[slice(*span)].split()) == bare
            if is_same and all(_gap(span, place) for place in places):
                yield span

    def _folded_places(self, wanted: str) -> Iterator[Span]:
        at = self._folded.folded.find(wanted) if wanted else -1
        while at >= 0:
            span = self._folded.span(at, at + len(wanted))
            if span is not None and is_whole(self.text, *span):
                yield span
            at = self._folded.folded.find(wanted, at + 1)

    def _aligned(self, wanted: str, near: Sequence[Span]) -> Located | Reason:
        if len(wanted) < _LEAST_ALIGNED:
            return "excerpt-not-found"
        most_edits = int(len(wanted) * (1 - LEAST_SIMILARITY) + 1e-9)
        places = approximate_places(wanted, self._folded.folded, most_edits=most_edits)
        edits = {self._trimmed(place.start, place.end, wanted): place.edits for place in reversed(places)}
        spans = [span for span in edits if self._is_copy(span, wanted, most_edits)]
        if not spans:
            return "excerpt-not-found"
        chosen = _chosen(spans, "aligned", near)
        if not isinstance(chosen, Located):
            return chosen
        is_closest = edits[chosen.start, chosen.end] == min(edits.values())
        return chosen if is_closest else "ambiguous-excerpt"

    def _is_copy(self, span: Span, wanted: str, most_edits: int) -> bool:
        """Tell whether the span, widened to whole words, is still the passage, with the same numbers."""
        passage = FoldedText(self.text[slice(*span)]).folded
        if abs(len(passage) - len(wanted)) > 2 * most_edits + _HALF_WORD:
            return False
        # Numbers are not paraphrased: with another number it is another passage.
        return bool(passage) and _DIGITS.findall(passage) == _DIGITS.findall(wanted)

    def _trimmed(self, begin: int, end: int, wanted: str) -> Span:
        """Return an aligned place in the text, in whole words, without foreign marks at its ends."""
        folded, places = self._folded.folded, self._folded.places
        while begin < end - 1 and not folded[begin].isalnum() and folded[begin] != wanted[0]:
            begin += 1
        while begin < end - 1 and not folded[end - 1].isalnum() and folded[end - 1] != wanted[-1]:
            end -= 1
        return whole_words(self.text, places[begin], places[end - 1] + 1)


@lru_cache(maxsize=16)
def _finder(text: str) -> ExcerptFinder:
    return ExcerptFinder(text)


def _chosen(places: Sequence[Span], manner: Manner, near: Sequence[Span]) -> Located | Reason:
    """Return the one place, or of several the one that is clearly the nearest to the others' places."""
    if len(places) == 1:
        return Located(*places[0], manner)
    if not near or len(places) >= MOST_PLACES:
        return "ambiguous-excerpt"
    gaps = sorted((min(_gap(place, other) for other in near), place) for place in places)
    if gaps[0][0] * _TIMES_NEARER + _CHARACTERS_NEARER > gaps[1][0]:
        return "ambiguous-excerpt"
    return Located(*gaps[0][1], manner)


def _gap(first: Span, second: Span) -> int:
    """Return how many characters lie between two places, and one more; 0 where they overlap."""
    return max(0, first[0] - second[1] + 1, second[0] - first[1] + 1)


def _joined(located: Sequence[Located]) -> list[Located]:
    joined: list[Located] = []
    for place in sorted(located, key=lambda place: (place.start, -place.end)):
        if joined and place.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = Located(last.start, max(last.end, place.end), last.manner)
        else:
            joined.append(place)
    return joined
