"""The edits by which a claim differs from the evidence sentence that it copies.

"The ferry leaves Westport at nine" copies "The ferry leaves Eastham at nine", and says something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from rag_evaluation_framework.records.scores import Edit, EditKind
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import simplified_characters, typed
from rag_evaluation_framework.text.numbers import Number, Quantity, quantities, readings
from rag_evaluation_framework.text.scripts import HAN, HAN_CHARACTER
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_NEGATIONS,
    NEGATIONS,
    STOP_CHARACTERS,
    STOP_WORDS,
    stem,
)

# A claim copies a sentence if so many of its words stand there in the same order.
_COPIED = 0.75
# Fewer words stand in a row by chance; what is longer is no sentence, and comparing it takes too long.
_FEWEST, _MOST = 4, 400
# Where more words than these stand in another's place, the sentence is told anew.
_MOST_REPLACED = 6
# An addition has so many words in a row, of which so many are new; a Chinese word has two characters.
_ADDED, _NEW, _CHARACTERS = 3, 2, 2

_LETTER = rf"[^\W\d_{HAN}]"
_WORD = late_pattern(
    rf"\d+(?:[.,:]\d+)*|n't\b|{_LETTER}+?(?=n't\b)|{_LETTER}+(?:'(?!s\b){_LETTER}+)*|[{HAN}]"
)
_DENYING = frozenset((*NEGATIONS, "n't", *CHINESE_NEGATIONS))
_LIGHT = frozenset((*STOP_WORDS, *STOP_CHARACTERS)) | _DENYING
# What is said of the name before it: 德国, 湖南省.
_AFTER_NAMES = frozenset("国省市县州区岛")
# So many words before a number, or after it, tell what it is the number of.
_BESIDE = 3
# Texts, and words, that are not taken apart again: claims are held against the same sentences.
_KEPT, _KEPT_WORDS = 512, 1 << 14
# What three words and what is between them take at most, but for odd ones.
_LOOK_BESIDE = 80

Place = tuple[int, int]
"""Start and end of a word in its text."""


class _Word(NamedTuple):
    key: str
    is_name: bool
    has_content: bool
    is_han: bool


class _Gap(NamedTuple):
    """Words of the claim, and those of the sentence that stand in their place, by their numbers."""

    first: int
    last: int
    first_there: int
    last_there: int

    @property
    def most(self) -> int:
        return max(self.last - self.first, self.last_there - self.first_there)


class _Copy:
    """A claim beside the sentence that it may copy."""

    def __init__(self, claim: str, sentence: str) -> None:
        self.claim, self.sentence = claim, sentence
        self.ours, self._our_keys = _words(claim)
        self.theirs, self._their_keys = _words(sentence)

    @property
    def may_be_one(self) -> bool:
        """Return True if enough words are the same, but not all."""
        least = _COPIED * min(len(self._our_keys), len(self._their_keys))
        return len(self._our_keys & self._their_keys) >= least and self.ours != self.theirs

    @cached_property
    def places(self) -> tuple[list[Place], list[Place]]:
        """Return the places of the words of both."""
        return _places(self.claim), _places(self.sentence)

    @cached_property
    def numbers(self) -> tuple[list[Quantity], list[Quantity]]:
        """The numbers of both."""
        return quantities(self.claim), quantities(self.sentence)

    def sides(self, gap: _Gap) -> tuple[Sequence[_Word], Sequence[_Word]]:
        """Return the words of a gap, the claim's and the sentence's."""
        return self.ours[gap.first : gap.last], self.theirs[gap.first_there : gap.last_there]

    def edit(self, kind: EditKind, gap: _Gap) -> Edit:
        """Return a gap in characters."""
        ours, theirs = self.places
        start = ours[gap.first][0] if gap.first < len(ours) else ours[-1][1]
        end = ours[gap.last - 1][1] if gap.last > gap.first else start
        if gap.last_there == gap.first_there:
            return Edit(kind, start, end, "")
        there = theirs[gap.first_there : gap.last_there]
        return Edit(kind, start, end, self.sentence[there[0][0] : there[-1][1]])


def find_edits(claim: str, sentence: str, new: Sequence[Place]) -> list[Edit]:
    """Return what a claim changes in a sentence, in the claim's characters; nothing if it does not copy it.

    ``new`` are the places of the words of the claim that stand nowhere in the evidence.

    >>> find_edits("The ferry leaves Westport at nine.", "The ferry leaves Eastham at nine.", [(17, 25)])
    [Edit(kind='name', start=17, end=25, instead_of='Eastham')]
    """
    copy = _Copy(claim, sentence)
    ours, theirs = len(copy.ours), len(copy.theirs)
    if not _FEWEST <= ours <= _MOST or theirs > _MOST or not copy.may_be_one:
        return []
    gaps = list(_gaps(copy.ours, copy.theirs))
    copied = ours - sum(gap.last - gap.first for gap in gaps)
    found = []
    for gap in gaps:
        is_copy_but_for_it = copied >= _COPIED * max(ours - (gap.last - gap.first), theirs)
        if is_copy_but_for_it and _adds_words(gap, copy, new):
            found.append(copy.edit("words", gap))
        elif copied >= _COPIED * ours and gap.most <= _MOST_REPLACED and (kind := _kind_of_change(gap, copy)):
            found.append(copy.edit(kind, gap))
    return found


def _kind_of_change(gap: _Gap, copy: _Copy) -> EditKind | None:
    ours, theirs = copy.sides(gap)
    if ours and theirs:
        if _replaces_a_number(gap, copy):
            return "number"
        if _replaces_a_name(gap, copy):
            return "name"
    return "negation" if _denies_one_side(ours, theirs) else None


@lru_cache(maxsize=_KEPT)
def _words(text: str) -> tuple[Sequence[_Word], frozenset[str]]:
    words = list(map(_word, _WORD.findall(typed(text))))
    return words, frozenset([word.key for word in words])


@lru_cache(maxsize=_KEPT_WORDS)
def _word(written: str) -> _Word:
    small = written.lower()
    if written.isascii():
        key = stem(small) if small.isalpha() and small not in STOP_WORDS else small
        # Abbreviations are written in several ways.
        is_name = written[0].isupper() and not written.isupper() and (small not in _LIGHT or written == "May")
        return _Word(key, is_name, key not in _LIGHT, is_han=False)
    key = written.casefold().translate(simplified_characters())
    is_han = HAN_CHARACTER.match(written) is not None
    is_name = not is_han and written[0].isupper() and not written.isupper()
    return _Word(key, is_name, key not in _LIGHT, is_han)


def _places(text: str) -> list[Place]:
    return [match.span() for match in _WORD.finditer(typed(text))]


def _gaps(ours: Sequence[_Word], theirs: Sequence[_Word]) -> Iterator[_Gap]:
    i = j = 0
    for place, other in (*_aligned(ours, theirs), (len(ours), len(theirs))):
        if place > i or other > j:
            yield _Gap(i, place, j, other)
        i, j = place + 1, other + 1


def _aligned(ours: Sequence[_Word], theirs: Sequence[_Word]) -> list[tuple[int, int]]:
    """Return the places of the words that both have in the same order, as many as there can be."""
    one, other = [word.key for word in ours], [word.key for word in theirs]
    first = len(list(takewhile(bool, map(str.__eq__, one, other))))
    last = len(list(takewhile(bool, map(str.__eq__, one[first:][::-1], other[first:][::-1]))))
    middle = _longest_common(one[first : len(one) - last], other[first : len(other) - last])
    return [
        *((place, place) for place in range(first)),
        *((first + place, first + there) for place, there in middle),
        *((len(one) - place, len(other) - place) for place in range(last, 0, -1)),
    ]


def _longest_common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence, by a number whose bits are the places of the other.

    After each word, a bit that is 0 marks where the sequence becomes longer by one.
    """
    places: dict[str, int] = {}
    for there, key in enumerate(other):
        places[key] = places.get(key, 0) | 1 << there
    row, rows = (1 << len(other)) - 1, []
    for key in one:
        shared = row & places.get(key, 0)
        row = (row + shared) | (row - shared)
        rows.append(row)
    found, place, there = [], len(one) - 1, len(other)
    while place >= 0 and there > 0:
        here = (1 << there) - 1
        length = (~rows[place] & here).bit_count()
        if place and (~rows[place - 1] & here).bit_count() == length:
            place -= 1
        elif not length:
            break
        else:
            there = (~rows[place] & here).bit_length() - 1
            found.append((place, there))
            place -= 1
    return found[::-1]


def _adds_words(gap: _Gap, copy: _Copy, new: Sequence[Place]) -> bool:
    """Return True if words are inserted, of which at least two and half are new."""
    ours, theirs = copy.sides(gap)
    times = _CHARACTERS if ours and ours[0].is_han else 1
    if len(ours) < times * _ADDED or any(word.has_content for word in theirs):
        return False
    places = copy.places[0][gap.first : gap.last]
    said = [place for place, word in zip(places, ours, strict=True) if word.has_content]
    found = sum(any(start <= begin and end <= stop for start, stop in new) for begin, end in said)
    return found >= max(times * _NEW, len(said) / 2)


def _replaces_a_number(gap: _Gap, copy: _Copy) -> bool:
    """Return True if a number replaces another, and neither was only moved."""
    if not all(copy.numbers):
        return False
    (ours, theirs), (our_numbers, their_numbers) = copy.places, copy.numbers
    new = _between(our_numbers, ours[gap.first][0], ours[gap.last - 1][1])
    gone = _between(their_numbers, theirs[gap.first_there][0], theirs[gap.last_there - 1][1])
    return any(
        _is_more_often(number, our_numbers, their_numbers)
        and _is_more_often(other, their_numbers, our_numbers)
        and set(readings(number)).isdisjoint(readings(other))
        for number in new
        for other in gone
    )


def _between(numbers: Iterable[Quantity], begin: int, end: int) -> list[Quantity]:
    return [each for each in numbers if begin < each.end and each.start < end]


def _is_more_often(number: Quantity, here: Iterable[Quantity], there: Iterable[Quantity]) -> bool:
    read = set(readings(number))
    counts = [sum(not read.isdisjoint(readings(each)) for each in side) for side in (here, there)]
    return counts[0] > counts[1]


def _replaces_a_name(gap: _Gap, copy: _Copy) -> bool:
    """Return True if a name replaces another, and was not only moved.

    At the start of a sentence a capital need not be that of a name: all words there must have one.
    """
    ours, theirs = copy.sides(gap)
    is_first = not gap.first or not gap.first_there
    if is_first and not all(word.is_name or word.is_han for word in (*ours, *theirs)):
        return False
    new = _names(ours, copy.ours, copy.theirs, copy.ours[gap.last : gap.last + 1])
    gone = _names(theirs, copy.theirs, copy.ours, copy.theirs[gap.last_there :][:1])
    return _has_another(new, gone) and _has_another(gone, new)


def _names(
    words: Sequence[_Word], here: Sequence[_Word], there: Sequence[_Word], after: Sequence[_Word]
) -> list[str]:
    """Return the names among the words that stand here more often than there.

    Of Chinese, characters that stand together and are more than grammar, or one alone as in 德国.
    """
    if all(word.is_han for word in words):
        is_name = len(words) > 1 or any(word.key in _AFTER_NAMES for word in after)
        has_content = any(word.has_content for word in words)
        return ["".join([word.key for word in words])] if is_name and has_content else []
    return [word.key for word in words if word.is_name and here.count(word) > there.count(word)]


def _has_another(names: Iterable[str], others: Sequence[str]) -> bool:
    """Return True if one of the names is missing in the others."""
    return not set(others).issuperset(names)


def _denies_one_side(ours: Sequence[_Word], theirs: Sequence[_Word]) -> bool:
    """Return True if one side denies, the other does not, and neither has other content."""
    one, other = (any(word.key in _DENYING for word in side) for side in (ours, theirs))
    return one != other and not any(word.has_content for word in (*ours, *theirs))


Side = tuple[str, ...]
"""The words before a number, or after it."""


class NumberPlaces:
    """The places of the numbers of a text, and the words beside them.

    >>> text, claim = "The tower closes at 6, the pier at 9.", "Now the tower closes at 9."
    >>> sides = sides_of(quantities(claim)[0], claim)
    >>> [number.values for number in NumberPlaces(text, quantities(text)).beside(sides)]
    [(6.0,)]
    """

    def __init__(self, text: str, numbers: Sequence[Quantity]) -> None:
        self._text, self._numbers = text, numbers
        self.starts: dict[Number, list[int]] = {}
        """Start of each number, for all of its readings."""
        for number in numbers:
            for value in readings(number):
                self.starts.setdefault(value, []).append(number.start)

    def starts_of(self, values: Iterable[Number]) -> list[int]:
        """Return where a number begins, however it is read."""
        return [start for value in values for start in self.starts.get(value, ())]

    def beside(self, sides: Iterable[Side]) -> list[Quantity]:
        """Return the numbers that stand after or before the same words."""
        return [number for side in sides for number in self._by_words.get(side, ())]

    @cached_property
    def _by_words(self) -> Mapping[Side, Sequence[Quantity]]:
        found: dict[Side, list[Quantity]] = {}
        for number in self._numbers:
            for side in sides_of(number, self._text):
                found.setdefault(side, []).append(number)
        return found


def sides_of(number: Quantity, text: str) -> list[Side]:
    """Return the words before and after a number, where there are enough."""
    before = _WORD.findall(typed(text[max(number.start - _LOOK_BESIDE, 0) : number.start]))
    after = _WORD.findall(typed(text[number.end : number.end + _LOOK_BESIDE]))
    sides = _keys_of_side(before[::-1])[::-1], _keys_of_side(after)
    marked = ("", *sides[0]), (*sides[1], "")
    return [mark for mark, side in zip(marked, sides, strict=True) if side]


def _keys_of_side(written: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the words next to a number, the nearest first; nothing where there are too few."""
    words = list(map(_word, written[: _BESIDE * _CHARACTERS]))
    count = _BESIDE * (_CHARACTERS if words and words[0].is_han else 1)
    return tuple([word.key for word in words[:count]]) if len(words) >= count else ()
