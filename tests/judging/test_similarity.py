"""Similarity by words means something: 0.8 is where nine of ten answers are right."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from benchmarks import _similarity
from benchmarks._answers import SYSTEMS, by_metric, questions
from benchmarks._auroc import auroc
from benchmarks._labelled_data import DATA

from cases import tables_beside
from labelled_data import present
from rag_evaluation_framework import Response, Sample, Turn
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.reference_match import similarity
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.scores import ClaimVerdict
from sizes import size

TABLES = tables_beside(__file__)

score = by_metric("answer_similarity")
STEP = size(3, 1)
"""Every so many of EVOUNA's questions are read."""


@pytest.mark.parametrize(
    ("question", "reference", "right", "wrong"),
    TABLES["a_short_right_answer_inside_a_sentence_reaches_the_threshold"],
)  # fmt: skip
def test_a_short_right_answer_inside_a_sentence_reaches_the_threshold(
    question: str, reference: str, right: str, wrong: str
) -> None:
    assert score(question, right, [reference]) >= 0.8
    assert score(question, wrong, [reference]) <= 0.4


def test_the_scale_rises_from_nothing_to_all_and_the_formula_says_how() -> None:
    values = [similarity(share / 1000) for share in range(1001)]
    assert values[0] == 0.0
    assert values[-1] == 1.0
    assert all(one < other for one, other in pairwise(values))
    formula = parse_metric("answer_similarity").metric.formula
    even, nine = (next(n for n in range(1001) if values[n] >= least) / 1000 for least in (0.5, 0.8))
    assert f"0.5 at c = {even}, 0.8 at c = {nine}" in formula


def test_the_reference_itself_is_1_and_of_several_the_best_counts() -> None:
    assert score("?", "ＰＡＲＩＳ.", ["Paris"]) == 1.0
    assert score("?", "two weeks", ["a month", "two weeks"]) == 1.0


def test_where_both_decline_their_words_are_compared() -> None:
    assert score("Who is the mayor?", "I don't know who that is.", ["I don't know."]) > 0.5
    assert score("Who is the mayor?", "I don't know.", ["Anna Berg"]) == 0.0


class _NoSupport:
    name, version = "nothing is supported", 1

    def decide(self, claims, evidence, *, question=""):  # type: ignore[no-untyped-def]
        return [ClaimVerdict(claim=claim, label="unsupported") for claim in claims]


def test_who_decides_what_supports_what_does_not_change_it() -> None:
    sample = Sample(id="s", turns=(Turn(role="user", content="Capital?"),), reference="Paris")
    given = Response(text="The capital is Paris.")
    plain, other = (
        scorer_for("answer_similarity", methods) for methods in (Methods(), Methods(support=_NoSupport()))
    )
    assert plain.score(sample, given).value == other.score(sample, given).value
    assert plain.method == other.method == "lexical match, calibrated"


@pytest.fixture(scope="module")
def verdicts() -> tuple[np.ndarray, np.ndarray, _similarity.Scores]:
    present("evouna")
    return *_similarity.labels(STEP), _similarity.scores(_similarity.weights_in_use(), step=STEP)


def test_each_system_by_the_scale_of_the_others(
    verdicts: tuple[np.ndarray, np.ndarray, _similarity.Scores],
) -> None:
    is_right, systems, found = verdicts
    areas = []
    for system in SYSTEMS:
        mine = systems == system
        scale = _similarity.fitted_scale(found.of(~mine), is_right[~mine])
        every, one = (_similarity.on_scale(column.tolist(), scale) for column in found.of(mine))
        right = is_right[mine]
        assert np.median(every[right]) >= 0.8
        assert np.median(every[~right]) <= 0.4
        # With one reference the name drawn is often another one than the answer's, which words cannot know.
        assert np.median(one[right]) >= 0.55
        assert np.median(one[~right]) == 0.0
        areas.append(auroc(right.tolist(), every.tolist()))
    assert np.mean(areas) >= 0.96


@pytest.mark.parametrize(("system", "least", "more"), TABLES["correctness_agrees_with_people"])
def test_correctness_agrees_with_people(
    verdicts: tuple[np.ndarray, np.ndarray, _similarity.Scores], system: str, least: float, more: float
) -> None:
    is_right, systems, found = verdicts
    mine = systems == system
    plain = [each.plain[0] for each in _similarity.answers(STEP) if each.system == system]
    ours = auroc(is_right[mine], found.every[mine])
    assert ours >= least
    assert ours >= auroc(is_right[mine], plain) + more


def test_the_metric_says_what_its_verdicts_say(
    verdicts: tuple[np.ndarray, np.ndarray, _similarity.Scores],
) -> None:
    rows, by_rows = {str(row["id"]): row for row in questions(DATA)}, by_metric("answer_correctness")
    some = list(zip(_similarity.answers(STEP), verdicts[2].every.tolist(), strict=True))[:: 24 // STEP]
    said = [
        by_rows(row["question"], row["answers"][each.system]["answer"], row["references"])
        for each, _ in some
        for row in [rows[each.source]]
    ]
    # Two of a hundred at most are read otherwise: those that decline, or in which two references agree.
    assert np.mean([value != found for value, (_, found) in zip(said, some, strict=True)]) <= 0.02


def test_nine_of_ten_are_right_at_the_threshold_where_half_of_all_are(
    verdicts: tuple[np.ndarray, np.ndarray, _similarity.Scores],
) -> None:
    is_right, _, found = verdicts
    values = np.concatenate([[similarity(value) for value in column.tolist()] for column in found])
    right = np.concatenate([is_right, is_right])
    near = (values >= 0.75) & (values < 0.85)
    shares = (near & right).sum() / right.sum(), (near & ~right).sum() / (~right).sum()
    assert 0.85 <= shares[0] / sum(shares) <= 0.95


def test_chinese_answers_are_told_apart() -> None:
    pairs = list(_similarity.chinese_pairs())
    assert len(pairs) == 60
    right = np.array([score(asked, said, [key]) for asked, key, said, _ in pairs])
    wrong = np.array([score(asked, said, [key]) for asked, key, _, said in pairs])
    assert np.median(right) >= 0.8
    assert np.median(wrong) <= 0.4
    assert (wrong >= 0.8).sum() <= 3  # "A or B", and who did what to whom
    assert (right > wrong).sum() >= 57
