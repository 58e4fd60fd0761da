"""The words of a sentence in their order, grammar and numbers among them: what stands in which place.

Support counts words wherever they stand; a conflict is told by the place. Chinese is taken by characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.folded_text import simplified_characters
from rag_evaluation_framework.judging.words.quantities import number_word

_HAN = r"\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"(?P<letters>[^\W\d_{_HAN}]+(?:['’][^\W\d_{_HAN}]+)*)|(?P<han>[{_HAN}])"
    r"|(?P<money>[$€£¥])?\s?(?P<digits>\d+(?:[.,:]\d+)*)"
)
_IS_HAN = re.compile(rf"[{_HAN}]")
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

    @property
    def is_han(self) -> bool:
        return self.key[0] >= "\u3005" and len(self.key) == 1


@lru_cache(maxsize=_KEPT_SENTENCES)
def sentence_words(sentence: str) -> tuple[Word, ...]:
    """Return the words of a sentence without its articles; a currency's sign follows its number.

    >>> [word.key for word in sentence_words("The ticket costs $5, or five euros.")]
    ['ticket', 'cost', '5', 'dollar', 'or', '5', 'euro']
    """
    found: list[Word] = []
    last = 0
    for match in _WORD.finditer(sentence):
        start, end = match.span()
        between = sentence[last:start]
        after_break = between != " " and _BREAK.search(between) is not None
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
        last = end
    return tuple(found)


@lru_cache(maxsize=_KEPT_WORDS)
def _form_and_key(word: str) -> tuple[str, str]:
    form = normalize("NFKC", word).casefold().replace("’", "'").removesuffix("'s")
    if _IS_HAN.match(word):
        return form, form.translate(simplified_characters())
    return form, number_word(form) or stem(form)
