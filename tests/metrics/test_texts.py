"""Lexical text metrics: worked values, Chinese, empty texts, references in the plural."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.texts import (
    bleu,
    chrf,
    common_subsequence_length,
    exact_match,
    rouge,
    string_match,
    token_f1,
)

TABLES = tables_beside(__file__)

ALL = [string_match, exact_match, token_f1, rouge, bleu, chrf]


@pytest.mark.parametrize(("answer", "reference", "expected"), TABLES["string_match"])
def test_string_match(answer: str, reference: str, expected: float) -> None:
    assert string_match(answer, reference) == expected


def test_alternatives_are_either_side_of_a_slash_on_request() -> None:
    assert string_match("it was Li Bai", "Du Fu/Li Bai", alternatives=True) == 1.0
    assert string_match("是李白", "杜甫／李白", alternatives=True) == 1.0
    assert string_match("it was Bai Juyi", "Du Fu/Li Bai", alternatives=True) == 0.0
    assert string_match("nothing", "/", alternatives=True) == 0.0
    assert parse_metric("string_match(alternatives=true)")("it was Li Bai", "Du Fu/Li Bai") == 1.0


@pytest.mark.parametrize(("answer", "reference", "expected"), TABLES["exact_match"])
def test_exact_match(answer: str, reference: str, expected: float) -> None:
    assert exact_match(answer, reference) == expected


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("the cat sat", "a cat sat down", 2 * 2 / (2 + 3)),  # {cat, sat} of {cat, sat} and {cat, sat, down}
        ("no no no", "no no", 2 * 2 / (3 + 2)),  # shared as often as in both
        ("北京大学", "北京", 2 * 2 / (4 + 2)),  # by the character
        ("RAG 系统", "系统 rag", 1.0),
        ("left", "right", 0.0),
    ],
)
def test_token_f1(answer: str, reference: str, expected: float) -> None:
    assert token_f1(answer, reference) == expected


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("rouge1", 2 * 6 / (6 + 7)),  # all six words of the answer
        ("rouge2", 2 * 3 / (5 + 6)),  # police killed, killed the, the gunman
        ("rougeL", 2 * 5 / (6 + 7)),  # police killed the gunman today
    ],
)
def test_rouge_worked(variant: str, expected: float) -> None:
    answer, reference = "police killed the gunman the today", "The police killed the gunman today: ok"
    assert rouge(answer, reference, variant=variant) == expected


def test_rouge_compares_chinese_by_the_character() -> None:
    # 北京首都 is shared, of 4 and 5 characters.
    assert rouge("北京首都！", "北京是首都", variant="rouge1") == 2 * 4 / (4 + 5)
    assert rouge("首都北京", "北京是首都") == 2 * 2 / (4 + 5)  # of 北京 and 首都 only one keeps its order


def test_bleu_worked() -> None:
    # 4 of 5 words, 3 of 4 bigrams, 2 of 3 trigrams, 1 of 2 four-grams; as long as the reference.
    expected = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu("the cat sat on grass", "the cat sat on mats") == pytest.approx(expected)
    # Two words, one order without a match: 1/2, and 1 / (2 × 1); the reference is twice as long.
    assert bleu("red house", "my red car drove") == pytest.approx(
        math.exp(1 - 4 / 2) * math.sqrt(1 / 2 * 1 / 2)
    )


def test_chrf_worked() -> None:
    # Orders 1 and 2 of "ab" and "abc": precision 2/2 and 1/1, recall 2/3 and 1/2, averaged 1 and 7/12.
    recall = (2 / 3 + 1 / 2) / 2
    assert chrf("ab", "abc") == pytest.approx(5 * recall / (4 + recall))


@pytest.mark.parametrize("metric", ALL)
def test_an_empty_answer_scores_zero(metric: Callable[[str, str], float]) -> None:
    for answer in ("", "  \n"):
        assert metric(answer, "Paris") == 0.0


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(("reference", "message"), TABLES["an_empty_reference_is_refused"])
def test_no_reference_is_refused(
    metric: Callable[[str, str | list[str]], float], reference: str | list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        metric("Paris", reference)


@pytest.mark.parametrize("metric", ALL)
def test_the_reference_itself_scores_one(metric: Callable[[str, str], float]) -> None:
    for text in ("Paris", "The tower was built in 1889.", "北京是中国的首都。", "A", "mixed 文本 text"):
        assert metric(text, text) == pytest.approx(1.0)


@pytest.mark.parametrize("metric", [string_match, exact_match, token_f1, rouge, chrf])
def test_of_several_references_the_best_counts(metric: Callable[[str, str | list[str]], float]) -> None:
    answer, references = "the red house", ["a blue car", "a red house on the hill", "red house"]
    assert metric(answer, references) == max(metric(answer, reference) for reference in references)


@given(st.text(max_size=30), st.text(min_size=1, max_size=30).filter(str.strip))
def test_every_metric_stays_between_zero_and_one(answer: str, reference: str) -> None:
    for metric in ALL:
        assert 0.0 <= metric(answer, reference) <= 1.0 + 1e-12


def longest_common_subsequence(first: list[str], second: list[str]) -> int:
    lengths = [0] * (len(second) + 1)
    for one in first:
        previous = lengths[:]
        for place, other in enumerate(second, start=1):
            lengths[place] = (
                previous[place - 1] + 1 if one == other else max(previous[place], lengths[place - 1])
            )
    return lengths[-1]


tokens = st.lists(st.sampled_from("abcd"), max_size=80)


@given(tokens, tokens)
def test_the_subsequence_by_bits_equals_the_one_by_table(first: list[str], second: list[str]) -> None:
    assert common_subsequence_length(first, second) == longest_common_subsequence(first, second)


def test_a_variant_that_there_is_none_is_refused() -> None:
    with pytest.raises(UnknownNameError, match='unknown variant of rouge "rouge3"'):
        rouge("a", "a", variant="rouge3")
