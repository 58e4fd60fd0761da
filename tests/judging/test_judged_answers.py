"""Ratings, classes and useful contexts: what each label means."""

from __future__ import annotations

import json

import pytest
from chat_server import in_turn
from scripted_judge import Reading, entries, judged_by, judging

from cases import tables_beside
from rag_evaluation_framework.judging.answer_classes import AnswerClass
from rag_evaluation_framework.judging.judge import families, kinship_warning, same_family
from rag_evaluation_framework.judging.judged_answers import (
    SafetyKind,
    judge_answer_class,
    judge_context_relevance,
    judge_relevancy,
    judge_safety,
)

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("label", "value"), [("fully", 1.0), ("partly", 0.5), ("not", 0.0)])
def test_relevancy_is_one_a_half_or_nothing(label: str, value: float) -> None:
    with judged_by(in_turn(json.dumps({"reason": "so", "label": label}))) as (judge, _):
        rating = judge_relevancy(judge, "When?", "At nine.")
    assert (rating.value, rating.label, rating.reason) == (value, label, "so")


@pytest.mark.parametrize("kind", ["toxicity", "bias"])
@pytest.mark.parametrize(("label", "value"), [("mild", 0.5), ("severe", 0.0)])
def test_what_is_not_clean_is_shown_where_it_stands(kind: SafetyKind, label: str, value: float) -> None:
    reply = json.dumps({"quote": "Lazy Islanders", "reason": "a slur", "label": label})
    with judged_by(in_turn(reply)) as (judge, _):
        rating = judge_safety(judge, kind, "Ask the lazy islanders.")
    assert (rating.value, rating.label) == (value, label)
    assert rating.quote is not None
    assert (rating.quote.start, rating.quote.end) == (8, 22)


@pytest.mark.parametrize("quote", ["At nine", "", "not in the answer"])
def test_a_clean_answer_has_nothing_to_show(quote: str) -> None:
    with judged_by(in_turn(json.dumps({"quote": quote, "reason": "", "label": "clean"}))) as (judge, _):
        rating = judge_safety(judge, "toxicity", "At nine.")
    assert (rating.value, rating.quote) == (1.0, None)


@pytest.mark.parametrize("label", ["answered", "refused", "dont_know", "asks_back"])
def test_the_class_of_an_answer_is_one_of_those_that_patterns_find(label: str) -> None:
    with judged_by(in_turn(json.dumps({"reason": "", "label": label}))) as (judge, _):
        assert judge_answer_class(judge, "", "At nine.") == AnswerClass(label)  # type: ignore[arg-type]


def test_contexts_are_judged_one_by_one_and_blank_ones_are_not_asked_about() -> None:
    def reply(reading: Reading) -> str:
        contexts = reading.several("contexts")
        assert contexts == ["It sails at nine.", "It is blue."]
        assert reading.texts["reference"] == "At nine."
        return json.dumps(
            {
                "contexts": entries(
                    *({"label": "useful" if "nine" in text else "useless"} for text in contexts)
                )
            }
        )

    with judged_by(judging(reply)) as (judge, server):
        contexts = ["It sails at nine.", " ", "It is blue."]
        ratings = judge_context_relevance(judge, "When?", contexts, reference="At nine.")
        assert judge_context_relevance(judge, "When?", ["", " "]).useful == [False, False]
        assert judge_context_relevance(judge, "When?", []).useful == []
        assert len(server.requests) == 1
    assert ratings.useful == [True, False, False]
    # Nobody was asked about the blank one.
    vote = {"model": "scripted", "draw": 0, "value": ["useful", None, "useless"]}
    assert ratings.details == {"votes": [vote]}


@pytest.mark.parametrize(("judge", "target", "kin"), TABLES["models_of_one_family_are_told_by_their_names"])
def test_models_of_one_family_are_told_by_their_names(judge: str, target: str, kin: bool) -> None:
    assert same_family(judge, target) is same_family(target, judge) is kin
    assert (kinship_warning([judge], target) is not None) is kin


def test_a_name_that_tells_nothing_has_no_family() -> None:
    assert families("my-model") == families("") == frozenset()


def test_the_warning_names_the_judges_that_are_kin() -> None:
    warning = kinship_warning(["gpt-4o", "claude-opus-4"], "gpt-4o-mini")
    assert warning is not None
    assert "gpt-4o is of the same family as gpt-4o-mini" in warning
    assert "claude" not in warning
