"""Several models and several votes: majorities, medians, agreement, ties, and votes that fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, ChatReply, Script, failing, is_repair, refused, running_chat
from scripted_judge import judged_by

from rag_evaluation_framework import Judge
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.evaluation.claim_views import verdict_fields
from rag_evaluation_framework.judging.judge import Memory, Verdict, Vote, outcome
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.judging.rubrics import Criterion, Rubric, judge_rubric
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.records.scores import Claim

FIELDS = {"question": "Which ship?", "answer": "The Razorbill."}
REFUSED = "refused"


def relevancy(label: str) -> ChatReply | str:
    return refused() if label == REFUSED else json.dumps({"reason": f"by {label}", "label": label})


def panel(said: Mapping[str, Sequence[str]], *, votes: int = 1) -> tuple[Verdict, list[Asked]]:
    """Have models judge that give these labels one after the other, and return what comes of it.

    Who refuses does so again. Of the requests, the first for each vote are returned.
    """
    left = {model: list(labels) for model, labels in said.items()}
    script: Script = lambda asked: refused() if is_repair(asked) else relevancy(left[asked["model"]].pop(0))  # noqa: E731
    with running_chat(script) as server, ExitStack() as stack:
        models = [stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in said]
        verdict = Judge(*models, votes=votes).verdict("relevancy", FIELDS)
        return verdict, [asked for asked in server.requests if not is_repair(asked)]


@pytest.mark.parametrize(
    ("labels", "verdict", "agreement"),
    [
        (["fully", "fully", "fully"], "fully", 1.0),
        (["fully", "not", "fully"], "fully", 2 / 3),
        (["partly", "not", "not"], "not", 2 / 3),
        (["fully", "fully", "partly", "not", "fully"], "fully", 3 / 5),
        # A vote that failed counts among all three: two of three are still more than half.
        (["fully", REFUSED, "fully"], "fully", 2 / 3),
    ],
)
def test_the_verdict_is_the_label_of_more_than_half_of_the_models(
    labels: list[str], verdict: str, agreement: float
) -> None:
    got, requests = panel({f"model-{number}": [label] for number, label in enumerate(labels)})
    assert got.values == {"reason": f"by {verdict}", "label": verdict}
    assert got.agreement == pytest.approx(agreement)
    assert got.votes == len(requests) == len(labels)
    told = [vote.get("value", vote.get("error")) for vote in got.details["votes"]]
    assert told == labels


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["fully", "not"], "no-majority"),
        (["fully", "partly", "not"], "no-majority"),
        # The most, but not more than half.
        (["fully", "fully", "partly", "not"], "no-majority"),
        (["fully", "not", REFUSED], "refused"),
        (["fully", REFUSED], "refused"),
        ([REFUSED, REFUSED, REFUSED], "refused"),
    ],
)
def test_without_a_majority_there_is_no_verdict(labels: list[str], kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        panel({f"model-{number}": [label] for number, label in enumerate(labels)})
    assert caught.value.kind == kind


def test_each_model_is_asked_as_many_times_as_there_are_votes() -> None:
    got, requests = panel({"a": ["fully"] * 3, "b": ["not"] * 2 + ["fully"]}, votes=3)
    assert (got.votes, got.agreement) == (6, pytest.approx(4 / 6))
    assert sorted(asked["model"] for asked in requests) == ["a"] * 3 + ["b"] * 3
    assert sorted((vote["model"], vote["draw"]) for vote in got.details["votes"]) == [
        (model, draw) for model in "ab" for draw in range(3)
    ]


def test_no_two_votes_of_a_model_are_asked_for_with_the_same_request() -> None:
    _, requests = panel({"a": ["fully"] * 4}, votes=4)
    assert len({json.dumps(asked, sort_keys=True) for asked in requests}) == 4
    # Delimiters of their own, and all but the first are drawn at a temperature.
    assert len({asked["messages"][0]["content"] for asked in requests}) == 4
    assert sorted(asked["temperature"] for asked in requests) == [0, 0.7, 0.7, 0.7]


def test_votes_are_remembered_by_their_draw_and_more_of_them_ask_only_for_the_rest(tmp_path: Path) -> None:
    with running_chat(lambda _: relevancy("fully")) as server, ExitStack() as stack:
        model = stack.enter_context(OpenAIChatModel("a", base_url=server.url))
        asked = []
        for votes in (1, 3, 3):
            Judge(RememberingModel(model, tmp_path), votes=votes).verdict("relevancy", FIELDS)
            asked.append(len(server.requests))
    assert asked == [1, 3, 3]


def test_a_panel_with_a_member_that_is_down_stops_though_the_others_agree() -> None:
    with running_chat(lambda _: relevancy("fully")) as server, ExitStack() as stack:
        models = [stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in ("a", "b")]
        # Nobody listens at port 9.
        dead = stack.enter_context(
            OpenAIChatModel("c", base_url="http://127.0.0.1:9/v1", max_attempts=1, timeout=5)
        )
        with pytest.raises(ModelOutageError, match="c at http://127"):
            Judge(*models, dead).verdict("relevancy", FIELDS)


def test_the_votes_that_each_model_failed_to_give_are_counted() -> None:
    said = {"a": relevancy("fully"), "b": relevancy("fully"), "c": refused()}
    with running_chat(lambda asked: said[asked["model"]]) as server, ExitStack() as stack:
        judge = Judge(*(stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in said))
        for answer in ("The Razorbill.", "The Puffin.", "The Puffin."):  # the last is known
            judge.verdict("relevancy", {**FIELDS, "answer": answer})
    assert judge.failed_votes == {"c": 2}


def test_the_votes_of_one_verdict_are_asked_for_at_the_same_time() -> None:
    reply = ChatReply(content=json.dumps({"reason": "", "label": "fully"}), delay=0.2)
    with judged_by(lambda _: reply, votes=5) as (judge, server):
        judge.verdict("relevancy", FIELDS)
        assert server.most_at_once > 1


def test_what_is_paid_for_is_the_sum_over_all_votes() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    reply = ChatReply(content=json.dumps({"reason": "", "label": "fully"}), usage=usage)
    with running_chat(lambda _: reply) as server, ExitStack() as stack:
        models = [
            stack.enter_context(OpenAIChatModel(name, base_url=server.url, price_input=1.0, price_output=2.0))
            for name in ("a", "b", "c")
        ]
        verdict = Judge(*models).verdict("relevancy", FIELDS)
    assert verdict.usage is not None
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens) == (300, 21)
    assert verdict.usage.cost_usd == pytest.approx((300 * 1.0 + 21 * 2.0) / 1e6)


def test_the_same_question_is_put_once_whichever_thread_asks_and_costs_once() -> None:
    reply = ChatReply(content=json.dumps({"reason": "", "label": "fully"}), delay=0.05)
    verdicts: list[Verdict] = []
    with judged_by(lambda _: reply) as (judge, server):
        threads = [
            threading.Thread(target=lambda: verdicts.append(judge.verdict("relevancy", FIELDS)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.requests) == 1
    assert [verdict.values["label"] for verdict in verdicts] == ["fully"] * 8
    assert sum(verdict.usage is not None for verdict in verdicts) == 1


def test_a_reply_that_was_no_verdict_is_none_for_every_metric_that_asks() -> None:
    replies = [refused(), refused(), relevancy("fully")]
    with judged_by(lambda _: replies.pop(0)) as (judge, server):
        for _ in range(2):
            with pytest.raises(ModelError, match="refused"):
                judge.verdict("relevancy", FIELDS)
        assert len(server.requests) == 2


def test_what_the_endpoint_failed_is_asked_again() -> None:
    replies = [failing(500), relevancy("fully")]
    with judged_by(lambda _: replies.pop(0)) as (judge, _):
        with pytest.raises(ModelError, match="http-500"):
            judge.verdict("relevancy", FIELDS)
        assert judge.verdict("relevancy", FIELDS).values["label"] == "fully"


def test_a_verdict_that_does_not_pass_a_stricter_check_is_asked_for_anew() -> None:
    replies = [relevancy("fully"), relevancy("partly")]
    with judged_by(lambda _: replies.pop(0)) as (judge, _):
        assert judge.verdict("relevancy", FIELDS).values["label"] == "fully"
        strict = judge.verdict(
            "relevancy", FIELDS, check=lambda value: "no" if value["label"] == "fully" else None
        )
    assert strict.values["label"] == "partly"


def test_claims_are_voted_on_one_by_one_and_the_quote_is_of_a_vote_for_the_label() -> None:
    # Claim 1: supported twice; claim 2: unsupported twice. Agreement: (2/3 + 2/3) / 2.
    said = {
        "a": [("supported", 1, "at nine"), ("supported", 1, "sails at")],
        "b": [("unsupported", 0, ""), ("unsupported", 0, "")],
        "c": [("supported", 1, "The Razorbill sails"), ("unsupported", 0, "")],
    }

    def script(asked: Asked) -> str:
        rows = said[asked["model"]]
        keys = ("number", "label", "evidence", "quote")
        return json.dumps(
            {"claims": [dict(zip(keys, (n, *row), strict=True)) for n, row in enumerate(rows, 1)]}
        )

    claims = [Claim("It sails at nine.", 0, 17), Claim("It is blue.", 18, 29)]
    evidence = ["The Razorbill sails at nine."]
    with running_chat(script) as server, ExitStack() as stack:
        models = [stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in said]
        first, second = JudgeSupport(Judge(*models)).decide(claims, evidence)
    assert (first.label, second.label) == ("supported", "unsupported")
    assert first.evidence is not None
    assert first.evidence.text == "at nine"
    assert second.evidence is None
    assert (first.agreement, second.agreement) == (2 / 3, 2 / 3)
    assert (first.failed_votes, second.failed_votes) == (0, 0)


def test_a_claim_tells_how_many_votes_failed_so_that_they_are_not_taken_for_dissent() -> None:
    entry = {"number": 1, "label": "supported", "evidence": 1, "quote": "sails at nine"}

    def script(asked: Asked) -> str:
        return "Hm." if asked["model"] == "c" else json.dumps({"claims": [entry]})

    with running_chat(script) as server, ExitStack() as stack:
        models = [stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in "abc"]
        claims = [Claim("It sails at nine.", 0, 17)]
        (verdict,) = JudgeSupport(Judge(*models)).decide(claims, ["The Razorbill sails at nine."])
    assert (verdict.agreement, verdict.failed_votes) == (2 / 3, 1)
    assert verdict_fields(verdict) | {"agreement": 0.6667, "failed_votes": 1} == verdict_fields(verdict)


def rubric_votes(*scores: float) -> list[Vote]:
    return [
        Vote(model="m", draw=draw, values={"criteria": [{"number": 1, "reason": f"{score}", "score": score}]})
        for draw, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("scores", "median", "reason", "agreement"),
    [
        ((0.25, 0.5, 1.0), 0.5, "0.5", 1 / 3),
        ((0.5, 0.5, 1.0), 0.5, "0.5", 2 / 3),
        # Half-way between 0.5 and 1: nobody said 0.75; the words are those of the first of the nearest.
        ((0.5, 1.0), 0.75, "0.5", 0.0),
        ((1, 1), 1, "1", 1.0),
    ],
)
def test_the_verdict_on_numbers_is_their_median(
    scores: tuple[float, ...], median: float, reason: str, agreement: float
) -> None:
    got = outcome(load_prompt("rubric"), rubric_votes(*scores))
    assert got.values["criteria"] == [{"number": 1, "reason": reason, "score": median}]
    assert got.agreement == pytest.approx(agreement)


def test_a_median_needs_every_vote() -> None:
    failed = Vote(model="m", draw=3, error=ModelError("timeout", "too late"))
    with pytest.raises(ModelError) as caught:
        outcome(load_prompt("rubric"), [*rubric_votes(0.5, 0.5, 0.5), failed])
    assert caught.value.kind == "timeout"


def test_a_panel_scores_each_criterion_by_its_own_median() -> None:
    rubric = Rubric(
        name="r",
        version=1,
        criteria=(Criterion("right", 0.5, "It is right."), Criterion("kind", 0.5, "Kind.")),
    )
    said: dict[str, tuple[float, float]] = {"a": (1, 0), "b": (0.5, 0.25), "c": (0, 0.75)}

    def script(asked: Asked) -> str:
        values: list[dict[str, Any]] = [
            {"number": number, "reason": "", "score": score}
            for number, score in enumerate(said[asked["model"]], start=1)
        ]
        return json.dumps({"criteria": values})

    with running_chat(script) as server, ExitStack() as stack:
        models = [stack.enter_context(OpenAIChatModel(name, base_url=server.url)) for name in said]
        verdict = judge_rubric(Judge(*models), rubric, question="?", answer="!")
    # right: median of 1, 0.5, 0 = 0.5; kind: median of 0, 0.25, 0.75 = 0.25; overall (0.5 + 0.25) / 2.
    assert verdict.scores == {"right": 0.5, "kind": 0.25}
    assert verdict.overall == 0.375
    assert verdict.passed is False


def test_no_more_than_size_failures_are_kept() -> None:
    made: list[bytes] = []
    memory: Memory[bytes] = Memory(2, keeps=lambda _: True)

    def fail(key: bytes) -> bytes:
        made.append(key)
        raise ValueError(key)

    for key in (b"a", b"b", b"a", b"c", b"b"):
        with pytest.raises(ValueError, match=key.decode()):
            memory.recall(key, lambda key=key: fail(key))  # type: ignore[misc]
    # As with results: the second a is remembered, c puts out b.
    assert made == [b"a", b"b", b"c", b"b"]
