"""The place of a passage in a text: exact, with other white space, folded, or slightly changed.

Each result is a slice of the text, and begins and ends with whole words and numbers. Four searches, by
who wrote the passage: snippets of golden sets and positions of chunks (:class:`SqueezedText`), excerpts that
a model copied (:class:`ExcerptFinder`), quotes by which a judge proves a verdict (:func:`find_quote`); and
under them the search for copies with a few characters changed (:func:`approximate_places`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import FoldedText
from rag_evaluation_framework.text.scripts import OTHER_UNSPACED, UNSPACED
from rag_evaluation_framework.text.spans import Span, Spanned, joined

MOST_PLACES = 64
"""The search ends when a text was found in so many places."""

# Scripts without spaces between words; kana of half width among them.
_UNSPACED = late_pattern(rf"[{UNSPACED}{OTHER_UNSPACED}\uff66-\uff9f]")
# Only a passage that is made for it stands so often, and never as whole words.
_MOST_COMPARED = 10_000_000


def is_whole(text: str, start: int, end: int) -> bool:
    """Return True if a place cuts no word and no number.

    >>> is_whole("costs 4.50", 6, 7), is_whole("costs 4.50", 6, 10)
    (False, True)
    """
    return _is_border(text, start) and _is_border(text, end)


def whole_words(text: str, start: int, end: int) -> Span:
    """Return a place in whole words: one that its end cuts is in if most of it is."""
    before, after = _borders_around(text, start)
    start = before if after - start >= start - before else after
    before, after = _borders_around(text, end)
    end = after if end - before >= after - end else before
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _borders_around(text: str, at: int) -> tuple[int, int]:
    before = after = at
    while not _is_border(text, before):
        before -= 1
    while not _is_border(text, after):
        after += 1
    return before, after


def _is_border(text: str, at: int) -> bool:
    """Return True if no word and no number continues across a position."""
    if at == 0 or at == len(text):
        return True
    before, after = text[at - 1], text[at]
    if _is_of_spaced_word(before) and _is_of_spaced_word(after):
        return False
    # 4 is no passage of 4.50, and neither is .50
    if before.isdigit() and after in ".,":
        return not text[at + 1 : at + 2].isdigit()
    return not (before in ".," and after.isdigit() and text[at - 2 : at - 1].isdigit())


@lru_cache(maxsize=1 << 14)
def _is_of_spaced_word(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    is_of_word = character.isalnum() or unicodedata.category(character).startswith("M")
    return is_of_word and _UNSPACED.match(character) is None


def _occurrences(wanted: str, text: str) -> Iterator[int]:
    """Yield where a text begins inside another, as often as it takes no long time to find."""
    at = -1
    for _ in range(_MOST_COMPARED // len(wanted) if wanted else 0):
        at = text.find(wanted, at + 1)
        if at < 0:
            return
        yield at


def _whole_places(wanted: str, text: str) -> Iterator[Span]:
    """Yield where a text stands in whole words inside another, character by character."""
    for start in _occurrences(wanted, text):
        if is_whole(text, start, start + len(wanted)):
            yield Span(start, start + len(wanted))


# Snippets: to the letter, or with other white space. White space may be of any kind and length. Beside a
# Chinese or Japanese character there may be more or less of it, since lines are broken there; between two
# others there is some in both, or none in either. All searches are linear in the text.

WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Every character that ``str.isspace`` and ``str.split`` take for white space."""
_DOTS_AND_SPACE = ".… \t\r\n\u3000"


class SqueezedText:
    """A text without its white space, that knows where each of its characters stood.

    >>> SqueezedText("One\\n  two three").find("ne two")
    Span(start=1, end=9)
    """

    def __init__(self, text: str) -> None:
        self.characters = without_spaces(text)
        self.positions = np.flatnonzero(~np.isin(code_points(text), code_points(WHITE_SPACE)))

    def find(self, wanted: str, start: int = 0) -> Span | None:
        """Return the first place from ``start`` on, ignoring white space."""
        characters = without_spaces(wanted)
        found = self.characters.find(characters, int(np.searchsorted(self.positions, start)))
        return self._span(found, len(characters)) if found >= 0 and characters else None

    def places(self, snippet: str, within: Span) -> list[Span]:
        """Return where the snippet stands inside a stretch, one place after the other."""
        wanted = SqueezedText(snippet)
        length = len(wanted.characters)
        stretch = Span(*np.searchsorted(self.positions, within).tolist())
        # Where two characters must be parted, or not be parted, just as in the snippet.
        is_narrow = np.array([not _is_wide(character) for character in wanted.characters])
        tight = is_narrow[:-1] & is_narrow[1:]
        is_parted = wanted._is_parted(0, length)[tight]
        return [
            self._span(place.start, length)
            for place in exact_places(wanted.characters, self.characters, stretch)
            if np.array_equal(self._is_parted(place.start, length)[tight], is_parted)
        ]

    def _span(self, at: int, length: int) -> Span:
        return Span(int(self.positions[at]), int(self.positions[at + length - 1]) + 1)

    def _is_parted(self, first: int, length: int) -> npt.NDArray[np.bool_]:
        """Tell of so many characters whether white space stood between each and the next."""
        return np.diff(self.positions[first : first + length]) > 1


def exact_places(snippet: str, text: str, within: Span) -> list[Span]:
    """Return where the snippet stands inside a stretch, character by character, one place after the other."""
    found: list[Span] = []
    at = text.find(snippet, *within)
    while at >= 0:
        found.append(Span(at, at + len(snippet)))
        at = text.find(snippet, at + len(snippet), within.end)
    return found


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the number of each character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def without_spaces(text: str) -> str:
    """Take out all white space."""
    return "".join(text.split())


def without_dots(snippet: str) -> str:
    """Take off what stands for words left out at either end."""
    trimmed = snippet.strip()
    if trimmed.endswith(("..", "…")):
        trimmed = trimmed.rstrip(_DOTS_AND_SPACE)
    return trimmed.lstrip(_DOTS_AND_SPACE) if trimmed.startswith(("..", "…")) else trimmed


def _is_wide(character: str) -> bool:
    """Return True if a line may be broken beside a character, as it may in Chinese and Japanese."""
    return unicodedata.east_asian_width(character) in "WF"


# Copies with a few characters changed, added or left out. Of a text cut into ``edits + 1`` pieces
# at least one is unchanged, so every copy can be found by a piece of it that occurs exactly. Around those the
# edit distance is computed, a column of the table at a time in the bits of one integer (Myers, "A fast
# bit-vector algorithm for approximate string matching based on dynamic programming", JACM 46, 1999).

# Pieces this short stand everywhere: such a search would be as slow as trying every place.
_SHORTEST_PIECE = 3


class Place(NamedTuple("Place", [("start", int), ("end", int), ("edits", int)]), Spanned):
    """``text[start:end]`` is the copy, so many edits away."""

    __slots__ = ()


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


def _stretches(wanted: str, text: str, most_edits: int) -> list[Span]:
    """Return stretches of the text that hold every copy: around each exact occurrence of a piece."""
    most = len(text) // len(wanted) + MOST_PLACES
    stretches = list(islice(_around_pieces(wanted, text, most_edits), most + 1))
    return joined(stretches) if len(stretches) <= most else [Span(0, len(text))]


def _around_pieces(wanted: str, text: str, most_edits: int) -> Iterator[tuple[int, int]]:
    borders = [len(wanted) * number // (most_edits + 1) for number in range(most_edits + 2)]
    for begin, end in pairwise(borders):
        for at in _occurrences(wanted[begin:end], text):
            first = at - begin
            yield max(0, first - most_edits), min(len(text), first + len(wanted) + most_edits)


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


# Excerpts: as written; then with other case, white space, quotation marks and the like; then with up to
# a tenth of the characters changed, where the alignment gives the beginning and the end. A passage that fits
# several places is put at the one nearest to the other passages of its question, or nowhere.

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

_WORD = late_pattern(r"\w")
_DIGITS = late_pattern(r"\d+")
# What models put around a copied passage.
_WRAPPING = late_pattern(
    r"""\A[\s"'“”‘’«»]*(?:\.{2,}|…)?[\s"'“”‘’]*"""
    r"""|(?<![\s"'“”‘’«»])[\s"'“”‘’«»]*+(?:\.{2,}|…)?[\s"'“”‘’]*+\Z"""
)
_LEFT_OUT = late_pattern(r"(?:(?<!\s)\s++)?(?:\[\s*(?:\.{3,}|…)\s*\]|\(\s*(?:\.{3,}|…)\s*\)|\.{3,}|…)\s*")


class Located(msgspec.Struct, Spanned, frozen=True):
    """The passage is ``text[start:end]``."""

    start: int
    end: int
    manner: Manner


class Unlocated(msgspec.Struct, frozen=True):
    """A passage that has no place in the text, and why."""

    reason: Reason
    excerpt: str


class ExcerptFinder:
    """Finds excerpts of one text.

    >>> ExcerptFinder("There are four ferries a day.").locate("four   FERRIES")
    Located(start=10, end=22, manner='folded')
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _folded(self) -> FoldedText:
        return FoldedText(self.text)

    def locate(self, excerpt: str, *, near: Sequence[tuple[int, int]] = ()) -> Located | Reason:
        """Return where an excerpt is, or why that is not known.

        ``near`` are the places of other excerpts of the same question. They decide if the text occurs in
        several places and one of those is clearly the nearest.
        """
        if not _WORD.search(excerpt):
            return "empty-excerpt"
        forms = list(dict.fromkeys((excerpt.strip(), _WRAPPING.sub("", excerpt))))
        for form in forms:
            if places := list(islice(_whole_places(form, self.text), MOST_PLACES)):
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
        certain = [place.span for place in found if isinstance(place, Located)]
        for number, part in enumerate(parts):
            if found[number] == "ambiguous-excerpt":
                found[number] = self.locate(part, near=certain)
        located: list[Located] = []
        for part, place in zip(parts, found, strict=True):
            if not isinstance(place, Located):
                return Unlocated(place, part)
            located.append(place)
        return _joined_places(located)

    def _parts(self, excerpt: str) -> list[str]:
        parts = [part for part in _LEFT_OUT.split(excerpt) if part]
        is_elided = len(parts) > 1 and all(len(part) >= _LEAST_PART for part in parts)
        if not is_elided or self.locate(excerpt) != "excerpt-not-found":
            return [excerpt]
        return parts

    def _other_spacings(self, wanted: str, places: Sequence[Span]) -> Iterator[Span]:
        """Yield the places that have the same text with other white space: a copy fits them all."""
        bare = without_spaces(wanted)
        for span in islice(self._folded_places(FoldedText(wanted).folded), MOST_PLACES):
            is_same = without_spaces(span.of(self.text)) == bare
            if is_same and all(map(span.gap, places)):
                yield span

    def _folded_places(self, wanted: str) -> Iterator[Span]:
        for at in _occurrences(wanted, self._folded.folded):
            span = self._folded.span(at, at + len(wanted))
            if span is not None and is_whole(self.text, *span):
                yield span

    def _aligned(self, wanted: str, near: Sequence[tuple[int, int]]) -> Located | Reason:
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
        is_closest = edits[chosen.span] == min(edits.values())
        return chosen if is_closest else "ambiguous-excerpt"

    def _is_copy(self, span: Span, wanted: str, most_edits: int) -> bool:
        """Return True if the span, widened to whole words, is still the passage, with the same numbers."""
        passage = FoldedText(span.of(self.text)).folded
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


def _chosen(places: Sequence[Span], manner: Manner, near: Sequence[tuple[int, int]]) -> Located | Reason:
    """Return the one place, or of several the one that is clearly the nearest to the others' places."""
    if len(places) == 1:
        return Located(*places[0], manner)
    if not near or len(places) >= MOST_PLACES:
        return "ambiguous-excerpt"
    gaps = sorted((min(place.gap(Span(*other)) for other in near), place) for place in places)
    if gaps[0][0] * _TIMES_NEARER + _CHARACTERS_NEARER > gaps[1][0]:
        return "ambiguous-excerpt"
    return Located(*gaps[0][1], manner)


def _joined_places(located: Sequence[Located]) -> list[Located]:
    joined: list[Located] = []
    for place in sorted(located, key=lambda place: (place.start, -place.end)):
        if joined and place.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = Located(last.start, max(last.end, place.end), last.manner)
        else:
            joined.append(place)
    return joined


# Quotes: case, white space and the shape of marks may differ; the words may not. A quote that stands nowhere
# proves nothing.

# Around a quote, judges set quotation marks and dots for what they left out.
_AROUND_QUOTES = " \t\r\n\"'`“”‘’„«»「」『』….*"
_AROUND_SENTENCES = _AROUND_QUOTES + "!?。！？；;,，:："
# Fewer letters and digits than this stand in almost any text.
_FEWEST_CHARACTERS = 3
_UNSPACED_CHARACTERS_OF_A_WORD = 2


def find_quote(
    quote: str, texts: Sequence[str], *, expected: int = 0, fewest_words: int = 1
) -> tuple[int, Span] | None:
    """Return where a quote stands: in the text of the number ``expected`` if it does, else in the first.

    Numbers count from 0. A quote of less than ``fewest_words`` is none, nor is one of less than three letters
    or digits, unless it is a whole sentence. Two characters count as a word where a script has no spaces.

    >>> find_quote("the  “Razorbill”", ["It sails.", 'Take the "razorbill".'])
    (1, Span(start=5, end=19))
    """
    wanted = quote.strip(_AROUND_QUOTES)
    if not any(map(str.isalnum, wanted)):
        return None
    find = _passage if _is_long_enough(wanted, fewest_words) else _sentence
    for number in sorted(range(len(texts)), key=lambda number: number != expected):
        place = find(wanted, texts[number])
        if place is not None:
            return number, place
    return None


def _is_long_enough(quote: str, fewest_words: int) -> bool:
    unspaced = len(_UNSPACED.findall(quote))
    words = sum(any(map(_is_of_spaced_word, piece)) for piece in quote.split())
    if words + unspaced // _UNSPACED_CHARACTERS_OF_A_WORD < fewest_words:
        return False
    return unspaced > 0 or sum(map(str.isalnum, quote)) >= _FEWEST_CHARACTERS


def _sentence(wanted: str, text: str) -> Span | None:
    return _sentences(text).get(_squeezed(wanted.strip(_AROUND_SENTENCES))[0])


def _passage(wanted: str, text: str) -> Span | None:
    """Return where the words stand, character by character if they do, else folded."""
    if (place := next(_whole_places(wanted, text), None)) is not None:
        return place
    characters, places = _searched(text)
    sought, _ = _squeezed(wanted)
    for first in _occurrences(sought, characters):
        start, end = places[first], places[first + len(sought) - 1] + 1
        if is_whole(text, start, end):
            return Span(start, end)
    return None


@lru_cache(maxsize=64)
def _sentences(text: str) -> dict[str, Span]:
    """Return where each sentence stands, without the marks around it, by its folded characters."""
    from rag_evaluation_framework.text.sentences import sentence_spans

    found: dict[str, Span] = {}
    for first, last in sentence_spans(text):
        words = text[first:last].strip(_AROUND_SENTENCES)
        start = text.index(words, first)
        found.setdefault(_squeezed(words)[0], Span(start, start + len(words)))
    return found


def _squeezed(text: str) -> tuple[str, list[int]]:
    """Return the text folded and without white space, and where each of its characters stood."""
    folded = FoldedText(text)
    kept = [place for character, place in zip(folded.folded, folded.places, strict=True) if character != " "]
    return folded.folded.replace(" ", ""), kept


_searched = lru_cache(maxsize=64)(_squeezed)  # one text is searched for the quotes of many claims
