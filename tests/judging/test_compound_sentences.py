"""Which sentences are several statements side by side, and where they are cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.citation_support import cited_answer
from rag_evaluation_framework.judging.claims import statements_in
from rag_evaluation_framework.judging.lexical_support import screen_answer


def statements(sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in statements_in(sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "The pool is open daily|, and entry is free.",
        "In summer, the pool is open daily|, and entry is free.",
        "The pool is open daily|,\nand entry is free.",
        "The train is fast|, but tickets sell out early.",
        "The pool is open daily|, while the museum is closed on Mondays.",
        "The pool is open daily|, whereas the museum isn't free.",
        "The library is quiet|, yet the café is loud.",
        "The boat leaves at noon| and tickets cost 8 euros.",
        "The pool that was built in 1990 is open|, and entry to all of the baths is free.",
        "Apples, pears, and plums are sold|, and the staff are kind.",
        "Both the pool and the sauna are open|, and entry is free.",
        "The pool and the sauna are open| and the bar and the gym are closed.",
        "The fee is between 3 and 5 euros|, and places are few.",
        "It expanded to Asia|, and it was sold.",
        "公司总部位于杭州|；成立于2009年。",
        "公司成立于2009年|，总部位于杭州|，现有员工240人。",
        "公司成立於2009年|，總部位於杭州|,現有員工240人。",
        "博物馆每天开放|，门票免费。",
        "博物馆每天开放|,门票免费。",
        "会员可以使用健身房|，但是游泳池需要另外收费。",
        "该酒店共有200间客房，全部配备空调|，位于火车站旁。",
    ],
)
def test_statements_side_by_side_are_cut_apart(sentence: str) -> None:
    expected = [part.lstrip(" ,;，；\n") for part in sentence.split("|")]
    assert statements(sentence.replace("|", "")) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        # lists
        "Apples, pears, and plums are sold.",
        "The pool and the sauna of the old hotel are open.",
        "There is a garage, but street parking, lot parking, and valet services are not provided.",
        "The hotel has shops, bars, and restaurants which are open late.",
        "Marks and Spencer is a shop.",
        "The deal he has with Marks and Spencer is new.",
        "It was clear then that neither cats and dogs are bad.",
        "The usual fee is between 3 and 5 euros is possible.",
        "It costs more and more people are upset.",
        "苹果、梨和李子在这里都有出售。",
        "杭州，上海，北京都设有办事处。",
        # what holds both sides together
        "If the pool is open, and entry is free, we go.",
        "If it rains, and it is cold, the fee is returned.",
        "People who are old and children are admitted free.",
        "It is a culture where safety is valued and managers are held accountable.",
        "At 6pm, the temperature is 55 degrees and it is cloudy.",
        "As the scale becomes clear, the need for aid and the size of the task are seen.",
        "Therefore, the shortest time is 3 years, while the longest time is not limited.",
        "The show is not only long, but the seats are hard.",
        "It is not only cheap, but it is also good.",
        "Do not open the door while the train is moving.",
        "He said that cats and dogs are pets.",
        "He thinks cats and dogs are pets.",
        "如果公司位于杭州，总部设在上海，就要报税。",
        "他说公司位于杭州，总部设在上海。",
        "因为博物馆周一关闭，所以门票需要提前预订。",
        # what is no statement of its own
        "The hotel is located in the city centre and offers free parking.",
        "Procedures should be reviewed and updated to ensure they remain effective.",
        "They praised the food and service while others have had trouble.",
        "It has nominated Anna and Ben for eviction and has stated its reasons.",
        "位于杭州的公司，成立于2009年。",
        "2009年，公司成立于杭州。",
        "在公司成立于2009年之后，总部位于杭州。",
        "公司有300名员工，其中100人负责研发。",
        "他是医生，也是作家。",
        # quotes and brackets
        'She said "the pool is open, and entry is free" at noon.',
        "She was told (the pool is open; entry is free) at noon.",
        "“公司成立于2009年，总部位于杭州。”",
        "《公司成立于2009年，总部位于杭州》是一本书。",
    ],
)
def test_what_belongs_together_stays_together(sentence: str) -> None:
    assert statements(sentence) == [sentence]


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("The pool is open daily, and entry is free.", "The pool is open daily."),
        ("The train is fast, but tickets sell out early.", "The train is fast."),
        ("The boat leaves at noon and tickets cost 8 euros [1].", "The boat leaves at noon."),
        ("公司总部位于杭州；成立于2009年。", "公司总部位于杭州。"),
        ("公司位于杭州，现有员工240人。", "公司位于杭州。"),
    ],
)
def test_an_addition_beside_what_is_supported_is_seen(answer: str, evidence: str) -> None:
    assert [each.label for each in screen_answer(answer, [evidence]).verdicts] == ["supported", "unsupported"]


def test_citations_belong_to_all_statements_of_their_sentence() -> None:
    (cited,) = cited_answer("The boat leaves at noon and tickets cost 8 euros [1][2].").sentences
    assert len(cited.claims) == 2
    assert len(cited.brackets) == 2


_PARTS = [
    "the pool is open",
    "it is free",
    ", and ",
    " and ",
    ", but",
    "；",
    "; ",
    "，",
    "位于杭州",
    " ",
    "\n",
    "(",
    '"',
]


@given(st.lists(st.sampled_from(_PARTS)).map("".join))
def test_every_word_belongs_to_exactly_one_statement(sentence: str) -> None:
    end = 0
    for start, stop in statements_in(sentence):
        assert re.fullmatch(r"[\s,;，；]*", sentence[end:start])
        end = stop
    assert not sentence[end:].strip()
