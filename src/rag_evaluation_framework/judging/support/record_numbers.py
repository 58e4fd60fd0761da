"""Claims against the numbers of records: a price of 10 where the record has 9, 4.5 stars where it has 3.5."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evaluation_framework.judging.structured_evidence import Fact
from rag_evaluation_framework.judging.words.bounds import bounds
from rag_evaluation_framework.text.numbers import ORDINAL, Quantity, quantities
from rag_evaluation_framework.text.scripts import HAN
from rag_evaluation_framework.text.tokens import Word, sentence_words
from rag_evaluation_framework.text.vocabulary import STOP_WORDS, stem

# A value that is a number and nothing else, but for a currency or a unit.
_NUMBER = re.compile(r"[^\w\s]?\s?\d[\d.,]*\s?(?:%|[^\W\d_]{1,12})?")
_MONEY = frozenset(("price", "cost", "fee", "fare", "charg")) | {
    *("dollar", "euro", "pound", "yuan", "yen", "usd", "eur", "gbp", "cny", "rmb", "jpy"),
    *("价格", "价钱", "售价", "单价", "票价", "费用", "月费", "年费", "价", "元", "块"),
}
# Ends of keys that only say that something is counted: review_count.
_COUNTS = frozenset(("count", "counts", "number", "num", "total"))
_REACH = 2  # words between a number and the one that tells what it is
_HAN_BEFORE, _HAN_AFTER = re.compile(rf"[{HAN}]+\Z"), re.compile(rf"[{HAN}]{{1,4}}")
_LONGEST_BEFORE, _LONGEST_CHINESE = 6, 4
_ROUNDED = 0.01  # the most that a rounded number is off, as a share


class NumberFact(NamedTuple):
    """A fact that is a number, with the words that tell what of, by their stems: money has many names."""

    stems: frozenset[str]
    value: str
    number: Quantity


def number_facts(facts: Sequence[Fact]) -> tuple[NumberFact, ...]:
    """Return the facts of a record that are numbers; of ``review_stars`` it is the stars that are counted.

    >>> from rag_evaluation_framework.judging.structured_evidence import facts_of
    >>> [(sorted(fact.stems), fact.value) for fact in number_facts(facts_of('{"review_count": 120}'))]
    [(['review'], '120')]
    """
    found: list[NumberFact] = []
    for fact in facts:
        counted = [stem(word) for word in fact.key if word not in _COUNTS][-1:]
        if counted and _NUMBER.fullmatch(fact.value):
            stems = _MONEY if counted[0] in _MONEY else frozenset(counted)
            found += [NumberFact(stems, fact.value, number) for number in quantities(fact.value)[:1]]
    return tuple(found)


def number_conflicts(claim: str, new: Sequence[Quantity], facts: Sequence[NumberFact]) -> Iterator[str]:
    """Yield the new numbers of a claim that stand beside the words of facts, none of which has them."""
    for number in new if facts else ():
        written = claim[number.start : number.end]
        if ORDINAL.fullmatch(written.lower()):
            continue
        beside = _beside(sentence_words(claim), number) | _chinese_beside(claim, number)
        rivals = [
            fact for fact in facts if fact.number.kind == number.kind and not beside.isdisjoint(fact.stems)
        ]
        if rivals and not any(_is_meant(claim, number, fact.number) for fact in rivals):
            nearest = min(rivals, key=lambda fact: abs(fact.number.values[0] - number.values[0]))
            yield f"number {written}, evidence says {nearest.value}"


def _beside(words: Sequence[Word], number: Quantity) -> frozenset[str]:
    """Return the words that tell what a number is of: those after it, or before it where nothing follows.

    Of "4 out of 5 stars", the 5 is of nothing.
    """
    place = next((at for at, word in enumerate(words) if word.end > number.start), len(words))
    before = words[max(0, place - _REACH - 1) : place][::-1]
    after = list(_until_number(words[place + 1 : place + _REACH + 2]))
    if [word.form for word in before[:2]] == ["of", "out"]:
        return frozenset()
    is_followed = bool(after) and after[0].form not in STOP_WORDS
    return frozenset(word.key for word in (after if is_followed else _until_number(before)))


def _chinese_beside(claim: str, number: Quantity) -> frozenset[str]:
    """Return the runs of Chinese characters beside a number, each of which may be a word."""
    first = max(0, number.start - _LONGEST_BEFORE)
    found = (_HAN_BEFORE.search(claim, first, number.start), _HAN_AFTER.match(claim, number.end))
    return frozenset(
        side[0][start : start + length]
        for side in found
        if side is not None
        for length in range(1, _LONGEST_CHINESE + 1)
        for start in range(len(side[0]))
    )


def _until_number(words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        if word.is_number or word.is_after_break:
            return
        yield word


def _is_meant(claim: str, said: Quantity, held: Quantity) -> bool:
    """Tell whether a number is that of a fact, rounded or bounded as it is said."""
    value, digits = held.values[0], len(claim[said.start : said.end].partition(".")[2])
    is_rounded = round(value, digits) == said.values[0] and abs(value - said.values[0]) <= _ROUNDED * value
    return is_rounded or bounds(claim, said).admit(held)
