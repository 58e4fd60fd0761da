"""Metrics of claims where there is no answer, no reference, or no claim in either; and nothing retrieved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_server import Asked
from scripted_judge import judged_by, read_question

from rag_evaluation_framework import Options, Response, Sample, Score, Turn, evaluate
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.records.responses import TURNS

NOON = "The boat leaves at noon."
DOGS = "Dogs travel free of charge."
CONTEXTS = (NOON, DOGS)
CLAIMS_NOTHING = "the reference has no claims"
NOTHING_SOUGHT = "no claims to check against the contexts: "


def asked(**fields: Any) -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content="When does the boat leave?"),), **fields)


def scored(name: str, sample: Sample, answer: str | None, **fields: Any) -> Score:
    return scorer_for(name).score(sample, Response(text=answer, **{"contexts": CONTEXTS, **fields}))


@pytest.mark.parametrize("reference", [None, "Yes", "Really?", "是"])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I'm sorry, I can't help with that.", "the answer refuses"),
        ("I don't know.", "the answer says that it does not know"),
        ("Do you mean today?", "the answer asks back"),
        ("", "the answer is empty"),
    ],
)
def test_no_context_is_useless_where_there_is_no_claim_to_look_for(
    reference: str | None, answer: str, why: str
) -> None:
    score = scored("context_precision", asked(reference=reference), answer)
    assert (score.status, score.reason) == ("skipped", NOTHING_SOUGHT + why)


def test_a_metric_without_a_value_says_why_in_a_clause() -> None:
    score = scored("context_utilization", asked(reference="Cats sleep all day long."), NOON)
    assert (score.status, score.reason) == (
        "skipped",
        "no value where the contexts hold no claim of the reference",
    )


@pytest.mark.parametrize("reference", [None, "Yes"])
def test_contexts_are_useful_by_the_claims_of_the_answer_where_the_reference_makes_none(
    reference: str | None,
) -> None:
    assert scored("context_precision", asked(reference=reference), DOGS).value == 1 / 2


@pytest.mark.parametrize("reference", ["Yes", "No.", "Really?", "是"])
@pytest.mark.parametrize("name", ["noise_sensitivity", "claim_precision", "claim_recall", "claim_f1"])
def test_an_answer_is_neither_right_nor_wrong_by_a_reference_that_claims_nothing(
    name: str, reference: str
) -> None:
    score = scored(name, asked(reference=reference), NOON)
    assert (score.status, score.reason) == ("skipped", CLAIMS_NOTHING)


@pytest.mark.parametrize("answer", [None, "", "  \n"])
@pytest.mark.parametrize(
    ("name", "fields", "value"),
    [
        # Only the second context says what is looked for: precision@2.
        ("context_precision", {"reference": DOGS}, 1 / 2),
        ("context_recall", {"reference_contexts": (DOGS, "The ferry is painted green.")}, 1 / 2),
    ],
)
def test_what_needs_no_answer_is_scored_for_an_empty_one(
    answer: str | None, name: str, fields: dict[str, Any], value: float
) -> None:
    assert scored(name, asked(**fields), answer).value == value


@pytest.mark.parametrize("answer", ["", NOON])
@pytest.mark.parametrize("name", ["context_recall", "refusal_recall", "claim_recall", "faithfulness"])
def test_what_does_not_apply_is_skipped_whatever_the_answer(name: str, answer: str) -> None:
    assert scored(name, asked(), answer, contexts=()).status == "skipped"


def test_the_judge_is_asked_about_contexts_though_the_answer_is_empty() -> None:
    def script(question: Asked) -> str:
        assert read_question(question).prompt.name == "context_relevance"
        labels = ("useless", "useful")
        return json.dumps(
            {"contexts": [{"number": n, "label": label} for n, label in enumerate(labels, start=1)]}
        )

    with judged_by(script) as (judge, _):
        scorer = scorer_for("context_precision", Methods(judge=judge))
        assert scorer.score(asked(), Response(text="", contexts=CONTEXTS)).value == 1 / 2


TRUTH = asked(reference=NOON, reference_contexts=(NOON,))
UNTOLD = "no contexts: neither the system nor the dataset gave any"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("context_recall", 0.0, None),
        ("context_claim_recall", 0.0, None),
        # Nothing supports what is said; the words of the question are still known.
        ("faithfulness", 0.0, None),
        ("hallucination", 1.0, None),
        ("claim_hallucination", 0.0, None),  # the reference says it
        ("self_knowledge", 1.0, None),
        ("grounded_fraction", 1 - 1 / 3, None),  # boat and leaves stand in the question, noon does not
        # Without contexts there are none to put in order, and none that could mislead.
        ("context_precision", None, "nothing was retrieved"),
        ("noise_sensitivity", None, "nothing was retrieved"),
        ("context_utilization", None, "no value where the contexts hold no claim of the reference"),
    ],
)
def test_a_system_that_says_it_retrieved_nothing_recalls_nothing(
    name: str, value: float | None, reason: str | None
) -> None:
    told = scored(name, TRUTH, NOON, contexts=(), retrieved_nothing=True)
    assert (told.value, told.reason) == (value, reason)
    assert scored(name, TRUTH, NOON, contexts=()).reason == UNTOLD


def test_each_turn_of_a_conversation_says_whether_it_retrieved_nothing() -> None:
    talk = tuple(
        turn
        for question in ("When does it leave?", "And dogs?")
        for turn in (Turn(role="user", content=question), Turn(role="assistant", reference=NOON))
    )
    sample = Sample(id="s", turns=talk, reference_contexts=(NOON,))
    found = {"question": "When does it leave?", "answer": NOON, "contexts": [NOON]}
    nothing = {"question": "And dogs?", "answer": NOON, "contexts": []}

    def recall(second: dict[str, Any]) -> float | None:
        response = Response(text=NOON, metadata={TURNS: [found, second]})
        return scorer_for("context_recall").score(sample, response).value

    assert recall({**nothing, "retrieved_nothing": True}) == 1 / 2
    assert recall(nothing) == 1.0


@pytest.mark.parametrize(
    ("row", "values"),
    [
        # An empty list says that nothing was retrieved; null and nothing at all say nothing.
        ({"retrieved_contexts": []}, (0.0, 1.0)),
        ({"retrieved_contexts": None}, (None, None)),
        ({}, (None, None)),
        ({"retrieved_contexts": [NOON]}, (1.0, 0.0)),
    ],
)
def test_an_answer_from_an_empty_list_of_contexts_is_unsupported(
    row: dict[str, Any], values: tuple[float | None, float | None]
) -> None:
    rows = [{"user_input": "When does the boat leave?", "response": NOON, "reference": NOON, **row}]
    result = evaluate(
        rows, metrics=["faithfulness", "hallucination", "claim_recall"], options=Options(allow_missing=True)
    )
    figures = {name: figure.value for name, figure in result.metrics.items()}
    assert (figures["faithfulness"], figures["hallucination"]) == values
    assert figures["claim_recall"] == 1.0
