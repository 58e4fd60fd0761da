"""Names in an answer count where they are stated, not where they are denied, lacked or disliked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import mentions
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.metrics.golden import entity_coverage

TABLES = tables_beside(__file__)

NAMES = ["玛拉妮", "热情", "探险"]
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


@pytest.mark.parametrize(
    ("answer", "name", "expected"), TABLES["a_name_counts_where_it_stands_and_is_not_denied"]
)
def test_a_name_counts_where_it_stands_and_is_not_denied(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


@pytest.mark.parametrize(("answer", "stated"), TABLES["a_name_that_is_lacked_or_disliked_is_not_stated"])
def test_a_name_that_is_lacked_or_disliked_is_not_stated(answer: str, stated: int) -> None:
    assert entity_coverage(names_in(answer, NAMES)) == stated / 3


@pytest.mark.parametrize(
    ("answer", "name", "question", "expected"), TABLES["a_question_may_ask_for_what_is_denied"]
)
def test_a_question_may_ask_for_what_is_denied(answer: str, name: str, question: str, expected: bool) -> None:
    assert names_in(answer, [name], question=question) == [expected]


@pytest.mark.parametrize(
    ("answer", "name", "question", "expected"),
    TABLES["a_name_of_which_the_answer_denies_what_was_asked_is_not_named"],
)
def test_a_name_of_which_the_answer_denies_what_was_asked_is_not_named(
    answer: str, name: str, question: str, expected: bool
) -> None:
    assert names_in(answer, [name], question=question) == [expected]


@pytest.mark.parametrize(
    ("answer", "names", "question"), TABLES["an_exception_or_a_denial_of_its_own_denies_no_name"]
)
def test_an_exception_or_a_denial_of_its_own_denies_no_name(
    answer: str, names: list[str], question: str
) -> None:
    assert all(names_in(answer, names, question=question))


@pytest.mark.parametrize(
    "conjunction", ["but", "while", "whereas", "although", "though", "because", "so", "and"]
)
def test_a_denial_in_another_clause_denies_no_name(conjunction: str) -> None:
    answer = f"Carl is not the mayor {conjunction} Anna Berg is the mayor."
    assert names_in(answer, ["Anna Berg", "Carl"], question="Who is the mayor?") == [True, False]


@pytest.mark.parametrize("but_for", ["except", "other than", "apart from", "aside from", "besides"])
def test_whoever_is_excepted_is_named(but_for: str) -> None:
    assert all(names_in(f"Nobody {but_for} Tom is the captain.", ["Tom"], question="Who is the captain?"))


@pytest.mark.parametrize("only", ["只有", "仅有", "其他人都不如", "别的人都不如"])
def test_whoever_alone_is_is_named_in_chinese(only: str) -> None:
    assert all(names_in(f"没有人是队长的料{only}王明是队长。", ["王明"], question="谁是队长？"))


@pytest.mark.parametrize(("answer", "name", "expected"), TABLES["a_name_may_have_a_plurals_ending"])
def test_a_name_may_have_a_plurals_ending(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


@pytest.mark.parametrize(("answer", "name", "expected"), TABLES["a_number_is_named_by_its_value"])
def test_a_number_is_named_by_its_value(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


def test_what_another_is_named_instead_of_is_not_named() -> None:
    named = names_in("Berlin, rather than Hamburg.", ["Hamburg", "Berlin"], question="Which city?")
    assert named == [False, True]


@pytest.mark.parametrize(
    "written", ["Anna\u2011Maria", "Anna\u2010Maria", "An\u00adna-Maria", "Anna-\u200bMaria"]
)
def test_hyphens_that_look_alike_are_the_same(written: str) -> None:
    assert all(names_in(f"It was {written} Berg.", ["Anna-Maria"]))
    assert all(names_in("It was Anna-Maria Berg.", [written]))


@given(answer=TEXTS, name=TEXTS)
def test_whatever_the_texts_a_name_is_stated_or_not(answer: str, name: str) -> None:
    assert len(names_in(answer, [name])) == 1


def test_each_phrase_is_an_expression_that_another_or_the_code_uses() -> None:
    package = Path(mentions.__file__).parent
    data = (package / "data" / "phrases.yaml").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
    names = list(yaml_documents.decode(data))
    assert all(mentions.phrase(name) for name in names)
    assert set(names) <= {*re.findall(r'"([a-z_]+)"', code), *re.findall(r"\{([a-z_]+)\}", data)}
