"""Scores by a judge: what the panel said and why it said so stands beside the value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from chat_server import Asked, ChatReply, failing, running_chat
from scripted_judge import entries, judged_by, read_question

from rag_evaluation_framework import Judge, Refusal, Response, Sample, Turn
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelOutageError
from rag_evaluation_framework.evaluation.scored_answers import rescored_result, scored_result
from rag_evaluation_framework.evaluation.scoring import scorer_for, scorers_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.rubrics import Criterion, Rubric
from rag_evaluation_framework.structs import replace

QUESTION = Turn(role="user", content="When does the ferry sail?")
SAMPLE = Sample(id="ferry", turns=(QUESTION,), reference="At nine.")
ANSWER = Response(text="At nine sharp.", contexts=("It sails at nine.", " ", "It is blue."))
RUBRIC = Rubric(
    name="short",
    version=1,
    criteria=(Criterion("right", 0.75, "It is right."), Criterion("kind", 0.25, "It is kind.")),
)


@contextmanager
def judged(said: Mapping[str, Any], **options: Any) -> Iterator[Methods]:
    """Have models judge that always reply with these values; an error is a reply too."""

    def script(asked: Asked) -> ChatReply | str:
        reply = said[asked["model"]]
        return reply if isinstance(reply, ChatReply) else json.dumps(reply)

    with running_chat(script) as server, ExitStack() as stack:
        models = [
            stack.enter_context(OpenAIChatModel(name, base_url=server.url, max_attempts=1)) for name in said
        ]
        yield Methods(judge=Judge(*models), **options)


def grades(right: float, kind: float) -> dict[str, Any]:
    scores = enumerate((right, kind), start=1)
    return {"criteria": [{"number": n, "reason": f"{score} for {n}", "score": score} for n, score in scores]}


def usefulness(*labels: str) -> dict[str, Any]:
    return {"contexts": [{"number": n, "label": label} for n, label in enumerate(labels, start=1)]}


def rated(label: str) -> dict[str, Any]:
    return {"reason": f"because {label}", "label": label}


def test_a_rubric_shows_the_reason_of_each_grade() -> None:
    with judged({"a": grades(1, 0.5)}, rubric=RUBRIC) as methods:
        score = scorer_for("rubric", methods).score(SAMPLE, ANSWER)
    assert score.value == 0.75 * 1 + 0.25 * 0.5
    assert score.details == {
        "grades": {"right": 1.0, "kind": 0.5},
        "reasons": {"right": "1 for 1", "kind": "0.5 for 2"},
    }


@pytest.mark.parametrize(
    ("bounds", "passes"),
    [
        ({}, 1.0),  # 0.75 x 1 + 0.25 x 0.5 = 0.875 is above 0.65, and 0.5 above 0.4
        ({"pass_at": 0.875, "floor": 0.5}, 1.0),
        ({"pass_at": 0.9}, 0.0),
        ({"floor": 0.6}, 0.0),
    ],
)
def test_an_answer_passes_by_the_bounds_of_its_rubric(bounds: dict[str, float], passes: float) -> None:
    with judged({"a": grades(1, 0.5)}, rubric=replace(RUBRIC, **bounds)) as methods:
        score = scorer_for("rubric_pass", methods).score(SAMPLE, ANSWER)
    assert score.value == passes


def test_a_rubric_shows_the_grades_of_each_model_of_a_panel() -> None:
    said = {"a": grades(1, 0.5), "b": grades(0.5, 0.5), "c": grades(1, 0)}
    with judged(said, rubric=RUBRIC) as methods:
        score = scorer_for("rubric", methods).score(SAMPLE, ANSWER)
    # Medians 1 and 0.5; two of three say each, so the shares are 2/3 and 2/3.
    assert score.value == 0.75 * 1 + 0.25 * 0.5
    assert score.details["reasons"] == {"right": "1 for 1", "kind": "0.5 for 2"}
    assert score.details["agreement"] == 0.6667
    assert "failed_votes" not in score.details
    assert score.details["votes"] == [
        {"model": "a", "draw": 0, "value": [1, 0.5]},
        {"model": "b", "draw": 0, "value": [0.5, 0.5]},
        {"model": "c", "draw": 0, "value": [1, 0]},
    ]


def test_contexts_show_what_each_model_of_a_panel_said_of_each() -> None:
    said = {
        "a": usefulness("useful", "useless"),
        "b": usefulness("useful", "useful"),
        "c": usefulness("useful", "useless"),
    }
    with judged(said) as methods:
        score = scorer_for("context_precision", methods).score(SAMPLE, ANSWER)
    assert score.details["useful"] == [True, False, False]
    # The shares are 3/3 and 2/3; nobody was asked about the blank one.
    assert score.details["agreement"] == 0.8333
    assert [vote["value"] for vote in score.details["votes"]] == [
        ["useful", None, "useless"],
        ["useful", None, "useful"],
        ["useful", None, "useless"],
    ]


@pytest.mark.parametrize(
    ("metric", "sample", "key", "labels"),
    [
        ("answer_relevancy", SAMPLE, "label", ("fully", "partly")),
        (
            "refusal_recall",
            Sample(id="no", turns=(QUESTION,), expectation=Refusal(reason="unsafe")),
            "class",
            ("answered", "refused"),
        ),
    ],
)
def test_labels_show_why_and_what_each_model_said_and_who_said_nothing(
    metric: str, sample: Sample, key: str, labels: tuple[str, str]
) -> None:
    most, other = labels
    with judged({"a": rated(most), "b": rated(other), "c": rated(most)}) as methods:
        score = scorer_for(metric, methods).score(sample, ANSWER)
    assert (score.details[key], score.details["reason"]) == (most, f"because {most}")
    assert score.details["agreement"] == 0.6667
    assert [vote["value"] for vote in score.details["votes"]] == [most, other, most]

    with judged({"a": rated(most), "b": failing(500), "c": rated(most)}) as methods:
        score = scorer_for(metric, methods).score(sample, ANSWER)
    # A vote that was not given is no disagreement, and the two are told apart.
    assert (score.details["agreement"], score.details["failed_votes"]) == (0.6667, 1)
    assert score.details["votes"][1] == {"model": "b", "draw": 0, "error": "http-500"}

    with judged({"a": rated(most)}) as methods:
        score = scorer_for(metric, methods).score(sample, ANSWER)
    assert score.details == {key: most, "reason": f"because {most}"}


def test_no_answer_is_scored_by_a_panel_with_a_member_that_turns_everyone_away() -> None:
    with (
        judged({"a": rated("fully"), "b": rated("fully"), "c": failing(401)}) as methods,
        pytest.raises(ModelOutageError, match="http-401: c at"),
    ):
        scorer_for("answer_relevancy", methods).score(SAMPLE, ANSWER)


MIXED = "I don't know. The document does not say when the ferry sails, but pier 3 is closed."


@pytest.mark.parametrize(
    ("label", "value", "reason"),
    [("answered", 1.0, None), ("dont_know", None, "the answer says that it does not know")],
)
def test_the_judge_decides_whether_an_answer_that_seems_to_decline_claims_anything(
    label: str, value: float | None, reason: str | None
) -> None:
    asked_for: list[list[str]] = []

    def script(asked: Asked) -> str:
        reading = read_question(asked)
        if reading.prompt.name == "answer_class":
            return json.dumps(rated(label))
        asked_for.append(reading.several("claims"))
        return json.dumps(
            {"claims": entries({"label": "supported", "evidence": 1, "quote": "pier 3 is closed"})}
        )

    answer = Response(text=MIXED, contexts=("Since May pier 3 is closed.",))
    with judged_by(script) as (judge, _):
        by_judge = scorer_for("faithfulness", Methods(judge=judge)).score(SAMPLE, answer)
    assert (by_judge.value, by_judge.reason) == (value, reason)
    # "I don't know." is none of the claims, though the answer as a whole is one.
    assert asked_for == ([[MIXED.partition(". ")[2]]] if value is not None else [])
    offline = scorer_for("faithfulness", Methods()).score(SAMPLE, answer)
    assert offline.reason == "the answer says that it does not know"


@pytest.mark.parametrize(
    "answer", ["I don't know.", "I'm sorry, I can't help with that.", "Do you mean today?"]
)
@pytest.mark.parametrize(
    ("label", "value", "details"),
    [
        ("answered", 0.5, {"label": "partly", "reason": "because partly"}),
        ("asks_back", 0.0, {"answer_class": "asks_back"}),
    ],
)
def test_an_answer_that_the_judge_finds_to_be_none_is_not_relevant(
    answer: str, label: str, value: float, details: dict[str, Any]
) -> None:
    prompts: list[str] = []

    def script(asked: Asked) -> str:
        prompts.append(read_question(asked).prompt.name)
        return json.dumps(rated(label if prompts[-1] == "answer_class" else "partly"))

    response = Response(text=answer, contexts=("It sails at nine.",))
    with judged_by(script) as (judge, _):
        methods = Methods(judge=judge)
        score = scorer_for("answer_relevancy", methods).score(SAMPLE, response)
        scorer_for("answer_relevancy", methods).score(SAMPLE, response)
    assert (score.value, score.details) == (value, details)
    assert prompts == ["answer_class", "relevancy"][: 1 + bool(value)]  # each once


def test_an_answer_that_plainly_answers_costs_no_question_about_its_class() -> None:
    def script(asked: Asked) -> str:
        assert read_question(asked).prompt.name == "claim_support"
        return json.dumps({"claims": entries({"label": "unsupported", "evidence": 1, "quote": ""})})

    with judged_by(script) as (judge, server):
        scorer_for("faithfulness", Methods(judge=judge)).score(SAMPLE, ANSWER)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "may_be_retried"),
    [(failing(503), True), (failing(429), True), (failing(400), False), (ChatReply(content="no"), False)],
)
def test_a_score_tells_whether_the_endpoint_or_the_reply_was_at_fault(
    reply: ChatReply, may_be_retried: bool
) -> None:
    with judged({"scripted": reply}) as methods:
        score = scorer_for("answer_relevancy", methods).score(SAMPLE, ANSWER)
    assert (score.status, score.may_be_retried) == ("failed", may_be_retried)


def test_an_answer_that_is_scored_again_is_put_to_the_judge_again() -> None:
    unsupported = json.dumps({"claims": entries({"label": "unsupported", "evidence": 1, "quote": ""})})
    replies = iter([failing(503), ChatReply(content=unsupported)])
    with judged_by(lambda _: next(replies)) as (judge, server):
        scorers = scorers_for(["faithfulness", "hallucination"], Methods(judge=judge))
        failed = scored_result(SAMPLE, ANSWER, scorers)
        assert ([score.may_be_retried for score in failed.scores], len(server.requests)) == ([True, True], 1)
        scored = rescored_result(SAMPLE, failed, scorers)
    assert [score.value for score in scored.scores] == [0.0, 1.0]


@pytest.mark.parametrize(
    "metrics", [["rubric", "rubric_pass"], ["over_refusal", "dont_know"], ["faithfulness", "hallucination"]]
)
@pytest.mark.parametrize(
    "reply", [ChatReply(body=b"<html>oops</html>"), failing(503), ChatReply(content="?")]
)
def test_metrics_that_share_a_question_all_have_a_score_or_none(metrics: list[str], reply: ChatReply) -> None:
    bad = [reply, reply] if reply.content == "?" else [reply]  # what cannot be read is asked for twice
    unsupported = {"label": "unsupported", "evidence": 1, "quote": ""}
    good = {
        "rubric": grades(1, 1),
        "answer_class": rated("answered"),
        "claim_support": {"claims": entries(unsupported)},
    }

    def script(asked: Asked) -> ChatReply | str:
        return bad.pop() if bad else json.dumps(good[read_question(asked).prompt.name])

    with judged_by(script) as (judge, _):
        scorers = scorers_for(metrics, Methods(judge=judge, rubric=RUBRIC))
        scores = scored_result(SAMPLE, ANSWER, scorers).scores
    assert [score.status for score in scores] == ["failed", "failed"]
    assert scores[0].reason == scores[1].reason


TALK = Sample(
    id="talk",
    turns=(
        QUESTION,
        Turn(role="assistant", reference="At nine."),
        Turn(role="user", content="And on Sundays?"),
        Turn(role="assistant", reference="At ten."),
    ),
)


def test_a_conversation_tells_that_the_endpoint_failed_in_one_of_its_turns() -> None:
    told = [{"answer": "At nine."}, {"answer": "At ten."}]
    replies = iter([ChatReply(content=json.dumps(rated("fully"))), failing(503)])
    with judged_by(lambda _: next(replies)) as (judge, _):
        scorer = scorer_for("answer_relevancy", Methods(judge=judge))
        response = Response(text="At ten.", metadata={"turns": told})
        score = scorer.score(TALK, response)
    assert (score.reason or "").startswith("turn 2: no verdict: http-503")
    assert score.may_be_retried
    assert score.details["turns"] == [{"turn": 1, "value": 1.0}]


def test_what_metrics_share_is_asked_once_in_each_turn_of_a_conversation() -> None:
    told = [{"answer": f"It sails at {hour}.", "contexts": ["It sails at nine."]} for hour in ("nine", "ten")]
    asked: list[str] = []

    def supported(question: Asked) -> ChatReply:
        asked.append(read_question(question).several("claims")[0])
        found = {"label": "supported", "evidence": 1, "quote": "It sails at"}
        return ChatReply(content=json.dumps({"claims": entries(found)}))

    response = Response(text="It sails at ten.", metadata={"turns": told})
    with judged_by(supported) as (judge, _):
        scorers = scorers_for(["faithfulness", "hallucination"], Methods(judge=judge))
        scores = [scorer.score(TALK, response) for scorer in scorers]
    assert [score.value for score in scores] == [1.0, 0.0]
    assert asked == ["It sails at nine.", "It sails at ten."]
