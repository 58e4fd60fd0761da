"""The one tokeniser: words, pieces, content words, Chinese characters and pairs.

Everything is compared folded. Scripts that are written without spaces (Chinese characters and kana) are
compared by the character or by pairs, never by what stands between spaces.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import EN_DASH, comparable, folded, plain, typed
from rag_evaluation_framework.text.scripts import (
    HAN,
    HAN_CHARACTER,
    UNSPACED,
    UNSPACED_CHARACTER,
    has_unspaced_script,
)
from rag_evaluation_framework.text.spans import Spanned
from rag_evaluation_framework.text.vocabulary import STOP_CHARACTERS, STOP_WORDS, stem

_RUN = rf"[^\W_{UNSPACED}]+"
_WORD = late_pattern(rf"[{UNSPACED}]|{_RUN}")
# A figure with its sign, its point or colon, and the ending of an ordinal or a decade; a unit is a word.
_FIGURE = r"(?:(?<![\da-z])-)?\d+(?:[.:]\d+)*(?:(?:st|nd|rd|th|s)\b)?"
_PIECE = late_pattern(rf"{_FIGURE}|[{UNSPACED}]|{_RUN}(?:'{_RUN})*")
_LETTERS = rf"[^\W\d_{HAN}]+"
WRITTEN_WORD = rf"{_LETTERS}(?:['’]{_LETTERS})*"
"""Pattern of a word in a text: letters, with an apostrophe between them."""


class Token(NamedTuple("Token", [("text", str), ("start", int), ("end", int)]), Spanned):
    """A token at ``[start, end)`` of a text, in its form for comparison."""

    __slots__ = ()

    @property
    def is_unspaced(self) -> bool:
        """Return True if its script has no spaces between words."""
        return has_unspaced_script(self.text[0])


def word_tokens(text: str) -> list[str]:
    """Split a text into runs of letters and digits, and unspaced scripts into characters.

    >>> word_tokens("State-of-the-art: 北京!")
    ['state', 'of', 'the', 'art', '北', '京']
    """
    return _WORD.findall(folded(text))


def plain_tokens(text: str) -> list[str]:
    """Split a text into the words of :func:`plain`, and unspaced scripts into characters.

    >>> plain_tokens("The capital is 北京.")
    ['capital', 'is', '北', '京']
    """
    return UNSPACED_CHARACTER.sub(r" \1 ", plain(text)).split()


def lexical_tokens(text: str) -> list[str]:
    """Split a text into words, and unspaced scripts into characters and neighbouring pairs of them.

    A single Chinese character says little; pairs come close to words without a dictionary.

    >>> lexical_tokens("RAG 检索评估")
    ['rag', '检', '索', '评', '估', '检索', '索评', '评估']
    """
    words = word_tokens(text)
    if not has_unspaced_script(text):
        return words
    alone = [has_unspaced_script(word) for word in words]
    pairs = [
        first + second
        for (first, is_first), (second, is_second) in pairwise(zip(words, alone, strict=True))
        if is_first and is_second
    ]
    return words + pairs


def pieces(text: str) -> Iterator[Token]:
    """Take a comparable text apart into words, figures and unspaced characters; punctuation is left out.

    >>> [piece.text for piece in pieces("kael's 龙伙伴")]
    ["kael's", '龙', '伙', '伴']
    >>> [piece.text for piece in pieces("2.5kg, the 3rd")]
    ['2.5', 'kg', 'the', '3rd']
    """
    for found in _PIECE.finditer(text):
        yield Token(found[0], *found.span())


def word_form(word: str) -> str:
    """Return a written word without its case and width, and without the ending of a possessive.

    >>> word_form("Ｍａｌａｎｉ’s")
    'malani'
    """
    return folded(word).replace("’", "'").removesuffix("'s")


# What a text talks about: its content tokens with their places, English by stems, Chinese by pairs.
#
# Words that carry grammar, the talk about the conversation itself ("based on the given passages") and
# citation markers are no content. Numbers are read apart, in :mod:`numbers`. Every token is compared
# after NFKC and case folding, and traditional characters as simplified ones; offsets are those of the
# text as given.

# Markers of citations, HTML entities and ordinals are matched so that nothing in them is taken for a word.
_TOKEN = late_pattern(
    rf"{WRITTEN_WORD}|[{HAN}]+|\[\d[\d,，、;\s–-]{{0,60}}\]|&#?\w{{1,8}};|(?<!\d)\d{{1,12}}(?:st|nd|rd|th)\b"
)
# Marks that stand in no token that has a word: those of entities and apostrophes are not among them.
_BETWEEN = str.maketrans(
    dict.fromkeys(f'!"$%()*+,-./:<=>?@[\\]^`{{|}}~{EN_DASH}\t\n\v\f\r\x1c\x1d\x1e\x1f', " ")
)
_KEPT_TOKENS, _LONGEST_KEPT = 1 << 17, 40
_KEPT_TEXTS, _LONGEST_TEXT_KEPT = 256, 4000


class Words(NamedTuple):
    """The words, keys and tokens of a piece of text, most often of one word."""

    forms: tuple[str, ...]
    """Its words, case and width apart."""
    keys: tuple[str, ...]
    tokens: tuple[Token, ...]
    """Its content tokens, counted from where it begins."""


def content_tokens(text: str) -> list[Token]:
    """Return the content tokens of a text in reading order.

    >>> content_tokens("The cities of Peru")
    [Token(text='citi', start=4, end=10), Token(text='peru', start=14, end=18)]
    """
    found: list[Token] = []
    even, end = typed(text), 0
    index = even.index
    for piece in _pieces(even):
        start = index(piece, end)
        end = start + len(piece)
        for key, first, last in _known[piece][2]:
            found.append(Token(key, start + first, start + last))
    return found


def tokens_with(keys: Set[str], text: str) -> list[Token]:
    """Return the content tokens of a text that have one of the keys, in reading order.

    >>> tokens_with({"peru"}, "Cities of Peru, Peru")
    [Token(text='peru', start=10, end=14), Token(text='peru', start=16, end=20)]
    """
    even = typed(text)
    if not even.isascii():
        return [token for token in content_tokens(text) if token[0] in keys]
    apart, at = f" {even.translate(_BETWEEN)} ", -1
    found: list[Token] = []
    for piece, (_, own, tokens) in zip(apart.split(), words_in(text), strict=True):
        if own and not keys.isdisjoint(own):
            at = apart.index(f" {piece} ", at + 1)
            found += [Token(key, at + start, at + end) for key, start, end in tokens if key in keys]
    return found


def content_keys(text: str) -> list[str]:
    """Return the keys of :func:`content_tokens`, without places."""
    return list(keys_of(words_in(text)))


def words_in(text: str) -> Sequence[Words]:
    """Return the words of a text in reading order; those of the latest claims and answers are kept."""
    return _kept_words(text) if len(text) <= _LONGEST_TEXT_KEPT else _words(text)


def _words(text: str) -> Sequence[Words]:
    return tuple(map(_known.__getitem__, _pieces(typed(text))))


def words_of_parts(text: str, parts: Iterable[tuple[int, int]]) -> list[Sequence[Words]]:
    """Return the words of each part ``[start, end)`` of a text, such as its sentences."""
    even = typed(text)
    if not even.isascii():
        return [words_in(text[start:end]) for start, end in parts]
    even = even.translate(_BETWEEN)
    return [tuple(map(_known.__getitem__, even[start:end].split())) for start, end in parts]


_kept_words = lru_cache(maxsize=_KEPT_TEXTS)(_words)
_forms, _keys = itemgetter(0), itemgetter(1)  # texts are long, and to get at a field by its name takes longer


def keys_of(words: Iterable[Words]) -> Iterator[str]:
    """Yield the keys of words that have content."""
    return chain.from_iterable(map(_keys, words))


def forms_of(words: Iterable[Words]) -> Iterator[str]:
    """Yield the forms of words."""
    return chain.from_iterable(map(_forms, words))


def without_junctures(tokens: Sequence[Token], known: Container[str]) -> list[Token]:
    """Leave out pairs of Chinese characters that only join what is known to what is new, or known to known.

    In 玛拉妮性格热情, of which 玛拉妮 and 热情 are known, 性格 is new; 妮性 and 格热 are no words.
    """
    places = [set(range(token.start, token.end)) for token in tokens]
    familiar = {
        place for token, held in zip(tokens, places, strict=True) if token.text in known for place in held
    }
    told = familiar.union(*(held for held in places if familiar.isdisjoint(held)))
    kept: list[Token] = []
    for token, held in zip(tokens, places, strict=True):
        is_whole = token.text in known or not HAN_CHARACTER.match(token.text) or familiar.isdisjoint(held)
        if is_whole or not held <= told:  # one new character alone is told by its first pair
            kept.append(token)
            told |= held
    return kept


def _pieces(text: str) -> list[str]:
    """Cut a text so that no token is cut: where it is ASCII, between tokens, faster than they are found."""
    return text.translate(_BETWEEN).split() if text.isascii() else _TOKEN.findall(text)


class _KnownWords(dict[str, Words]):
    """Remembers what was read; starts anew when it has grown too large. What is long does not come again."""

    _size = 0

    def __missing__(self, piece: str) -> Words:
        words = _read(piece)
        if len(piece) <= _LONGEST_KEPT:
            self._size += 1 + len(words.tokens)
            if self._size > _KEPT_TOKENS:
                self.clear()
                self._size = 0
            self[piece] = words
        return words


_known = _KnownWords()


def _read(piece: str) -> Words:
    if piece.isascii() and (piece.isalpha() or piece.isdigit()):  # as most are
        return _read_word(piece) if piece.isalpha() else Words((), (), ())
    forms: list[str] = []
    tokens: list[Token] = []
    for match in _TOKEN.finditer(piece):
        token, start = match[0], match.start()
        if HAN_CHARACTER.match(token):
            tokens += _pairs(token, start)
        elif token[0].isalpha():
            form = word_form(token)
            forms.append(form)
            if form not in STOP_WORDS and not (len(form) == 1 and form.isascii()):
                key = stem(form) if form.isascii() else form
                tokens.append(Token(key, start, match.end()))
    keys = [token.text for token in tokens]
    # What is equal is kept once: the less memory the known words take, the sooner they are found there.
    written = (piece,) if forms == [piece] else tuple(forms)
    return Words(written, written if keys == forms else tuple(keys), tuple(tokens))


def _read_word(word: str) -> Words:
    small = word.lower()
    form = word if word == small else small
    if form in STOP_WORDS or len(form) == 1:
        return Words((form,), (), ())
    forms, key = (form,), stem(form)
    return Words(forms, forms if key == form else (key,), (Token(key, 0, len(word)),))


def _pairs(run: str, start: int) -> Iterator[Token]:
    """Yield the pairs of neighbours with content in a run of Chinese characters; one alone is its own."""
    even = comparable(run)
    even = even if len(even) == len(run) else run
    length = min(len(even), 2)
    for place in range(len(even) + 1 - length):
        key = even[place : place + length]
        if STOP_CHARACTERS.isdisjoint(key):
            yield Token(key, start + place, start + place + length)
