"""The words of a sentence in their order, grammar and numbers among them: what stands in which place.

Support counts words wherever they stand; a conflict is told by the place. Chinese is taken by characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.folded_text import simplified_characters
from rag_evaluation_framework.judging.words.quantities import number_word
from rag_evaluation_framework.judging.words.written_words import WRITTEN_WORD, word_form

_WORD = re.compile(
    rf"{WRITTEN_WORD}|{HAN_CHARACTER.pattern}|(?P<money>[$€£¥])?\s?(?P<digits>\d+(?:[.,:]\d+)*)"
)
_BREAK = re.compile(r"[,;:.!?()\[\]，。；：！？、（）]")
_ARTICLES = frozenset(("a", "an", "the"))
_MONEY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_KEPT_SENTENCES, _KEPT_WORDS = 1 << 10, 1 << 13


class Word(NamedTuple):
    """A word, a number or a Chinese character at ``[start, end)``; compared by ``key``."""

    key: str
    form: str
    start: int
    end: int
    is_capital: bool
    is_after_break: bool
    """Whether a comma or another mark stands before it."""

    @property
    def is_number(self) -> bool:
        return self.key[0].isdigit()


@lru_cache(maxsize=_KEPT_SENTENCES)
def sentence_words(sentence: str) -> tuple[Word, ...]:
    """Return the words of a sentence without its articles; a currency's sign follows its number.

    >>> [word.key for word in sentence_words("The ticket costs $5, or five euros.")]
    ['ticket', 'cost', '5', 'dollar', 'or', '5', 'euro']
    """
    found: list[Word] = []
    last, after_break = 0, False
    for match in _WORD.finditer(sentence):
        start, end = match.span()
        between, last = sentence[last:start], end
        after_break = after_break or (between != " " and _BREAK.search(between) is not None)
        if match["digits"]:
            digits = normalize("NFKC", match["digits"]).replace(",", "")
            found.append(Word(digits, digits, match.start("digits"), end, False, after_break))
            if match["money"]:
                name = _MONEY[match["money"]]
                found.append(Word(name, name, start, start + 1, False, False))
        else:
            form, key = _form_and_key(match[0])
            if form in _ARTICLES:
                continue
            found.append(Word(key, form, start, end, match[0][0].isupper(), after_break))
        after_break = False
    return tuple(found)


@lru_cache(maxsize=_KEPT_WORDS)
def _form_and_key(word: str) -> tuple[str, str]:
    form = word_form(word)
    if HAN_CHARACTER.match(word):
        return form, form.translate(simplified_characters())
    return form, number_word(form) or stem(form)
