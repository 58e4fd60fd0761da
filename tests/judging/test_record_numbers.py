"""Numbers of claims are held against those of records."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.structured_evidence import facts_of
from rag_evaluation_framework.judging.support.record_numbers import number_conflicts, number_facts
from rag_evaluation_framework.text.numbers import quantities

RECORD = """{"name": "Luigi", "stars": 3.5, "review_count": 120, "menu": {"price": "$9"}, "discount": "15 %",
    "distance": 127.8, "phone": "030 1234"}"""
CHINESE = '{"套餐": "专业版", "价格": 9, "评分": 3.5}'


@pytest.mark.parametrize(
    ("claim", "conflict"),
    [
        ("It costs $10.", "number 10, evidence says $9"),
        ("It has a price of 10.", "number 10, evidence says $9"),
        ("The price is 10 per head.", "number 10, evidence says $9"),
        ("It is rated 4.5 stars.", "number 4.5, evidence says 3.5"),
        ("It has 4 stars.", "number 4, evidence says 3.5"),
        ("It has 150 reviews.", "number 150, evidence says 120"),
        ("There is a discount of 20 %.", "number 20 %, evidence says 15 %"),
        # Rounded or bounded; of something else; a place in a row; the most there can be.
        ("The distance is 128 km.", None),
        ("It has more than 100 reviews.", None),
        ("It costs less than $10.", None),
        ("Of the stars, 7 cooks like it.", None),
        ("The price rose by 5 %.", None),
        ("The 3rd review is long.", None),
        ("It has 3.5 out of 5 stars.", None),
        ("It has 7 rooms.", None),
    ],
)
def test_a_number_beside_the_words_of_a_fact_that_has_another_conflicts(
    claim: str, conflict: str | None
) -> None:
    assert _conflicts(claim, RECORD) == ([conflict] if conflict else [])


@pytest.mark.parametrize(
    ("claim", "conflict"),
    [
        ("专业版的价格为10元。", "number 10, evidence says 9"),
        ("专业版每月10元。", "number 10, evidence says 9"),
        ("评分4.5。", "number 4.5, evidence says 3.5"),
        ("价格不到10元。", None),
        ("专业版有7个账号。", None),
    ],
)
def test_chinese_words_stand_beside_a_number(claim: str, conflict: str | None) -> None:
    assert _conflicts(claim, CHINESE) == ([conflict] if conflict else [])


def _conflicts(claim: str, record: str) -> list[str]:
    facts = number_facts(facts_of(record))
    held = {value for fact in facts for value in fact.number.values}
    new = [number for number in quantities(claim) if held.isdisjoint(number.values)]
    return list(number_conflicts(claim, new, facts))


def test_only_values_that_are_numbers_are_number_facts() -> None:
    found = number_facts(facts_of('{"a": 3, "b": "3 rooms", "c": "3 to 5 rooms", "d": "Rome", "e": true}'))
    assert [fact.value for fact in found] == ["3", "3 rooms"]
