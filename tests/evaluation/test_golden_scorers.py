"""Scoring what golden sets expect: what a direction counts, and expectations that expect nothing."""

from __future__ import annotations

import pytest

from rag_evaluation_framework import Entities, Milestones, Relation, Response, Sample, Turn
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.records.samples import Expectation


def sample(expectation: Expectation) -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content="他们是什么关系？"),), expectation=expectation)


@pytest.mark.parametrize(
    ("answer", "direction", "value"),
    [
        ("闻伯是陆远舟的师父。", "right", 2 / 2 * 1 * 1),
        ("闻伯和陆远舟是师徒。", "not told", 2 / 2 * 1 * 0.5),
        ("陆远舟是闻伯的师父。", "wrong", 2 / 2 * 1 * 0),
    ],
)
def test_a_relation_whose_direction_is_not_told_counts_half(
    answer: str, direction: str, value: float
) -> None:
    expected = Relation(subject="闻伯", relation="mentor_of", object="陆远舟")
    score = scorer_for("relation_match").score(sample(expected), Response(text=answer))
    assert (score.value, score.details["direction"]) == (value, direction)


def test_a_relation_whose_words_are_not_known_is_skipped_and_says_how_many_ends_are_named() -> None:
    expected = Relation(subject="Ann", relation="结义姐妹", object="Bea")
    score = scorer_for("relation_match").score(sample(expected), Response(text="Ann knows her well."))
    assert score.status == "skipped"
    assert score.reason == (
        "the vocabulary has no words for the relation '结义姐妹' in the answer's language; "
        "1 of its 2 ends are named"
    )


@pytest.mark.parametrize(
    ("name", "expectation", "reason"),
    [
        ("entity_coverage", Entities(names=()), "the sample expects no entities"),
        ("entity_coverage", Milestones(steps=("出发",)), "the sample expects no entities"),
        ("relation_match", Entities(names=("闻伯",)), "the sample expects no relation"),
        ("milestone_recall", Milestones(steps=()), "the sample expects no milestones"),
        ("hop_coverage", Milestones(steps=("出发",)), "the sample has no context_hops"),
    ],
)
def test_what_expects_nothing_of_the_kind_is_skipped(
    name: str, expectation: Expectation, reason: str
) -> None:
    answered = Response(text="闻伯出发了。", contexts=("闻伯出发了。",), context_origin="system")
    score = scorer_for(name).score(sample(expectation), answered)
    assert (score.status, score.reason) == ("skipped", reason)
