"""Every reply of a judge, however odd, ends as a valid verdict or as a typed error; never as a default."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import (
    ChatReply,
    failing,
    fenced,
    filtered,
    garbage,
    in_prose,
    in_turn,
    refused,
    reset,
    thinking,
    truncated,
)
from scripted_judge import judged_by

from rag_evaluation_framework import InputError, Judge, UsageError
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.judged_answers import JudgeSupport, judge_relevancy, judge_safety
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.records.scores import Claim

GOOD = '{"reason": "names the ship", "label": "fully"}'


def rating(reply: ChatReply | str, *more: ChatReply | str) -> str:
    """Return the label that comes of a judge who replies like this."""
    with judged_by(in_turn(reply, *more)) as (judge, _):
        return judge_relevancy(judge, "Which ship?", "The Razorbill.").label


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        in_prose(GOOD),
        fenced(GOOD),
        fenced(GOOD, ""),
        thinking(GOOD),
        thinking(in_prose(fenced(GOOD)), 'Or {"reason": "", "label": "not"}?'),
        f"  \n{GOOD}\n  ",
        f"{GOOD}\n{GOOD}",
        GOOD.replace("}", ",}"),
    ],
)
def test_what_is_wrapped_around_a_verdict_does_no_harm(reply: str) -> None:
    assert rating(reply) == "fully"


UNUSABLE: list[tuple[str, ChatReply | str, str]] = [
    ("a label of no kind", '{"reason": "", "label": "mostly"}', "off-schema"),
    ("a label in other letters", '{"reason": "", "label": "Fully"}', "off-schema"),
    ("a wrong type", '{"reason": "", "label": 1}', "off-schema"),
    ("a reason that is a list", '{"reason": [], "label": "fully"}', "off-schema"),
    ("a missing field", '{"label": "fully"}', "off-schema"),
    ("null", '{"reason": "", "label": null}', "off-schema"),
    ("a list", f"[{GOOD}]", "off-schema"),
    ("a number", "1.0", "not-json"),
    ("a word", "fully", "not-json"),
    ("a key twice", '{"reason": "", "label": "not", "label": "fully"}', "not-json"),
    ("two verdicts", f"{GOOD} {GOOD.replace('fully', 'not')}", "ambiguous"),
    ("a refusal in prose", "I'm sorry, but I can't help with that.", "not-json"),
    ("half a verdict", GOOD[:-3], "truncated"),
    ("nothing", "", "not-json"),
    ("white space", " \n ", "not-json"),
    ("a broken string", '{"reason": "a "quote" in it", "label": "fully"}', "not-json"),
    ("not a number", '{"reason": "", "label": NaN}', "not-json"),
]


@pytest.mark.parametrize(
    ("reply", "kind"), [case[1:] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE]
)
def test_an_unusable_reply_is_asked_for_once_more_and_then_fails(reply: ChatReply | str, kind: str) -> None:
    assert rating(reply, GOOD) == "fully"
    with pytest.raises(ModelError) as caught:
        rating(reply, reply)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refused(), "refused"),
        (filtered(), "refused"),
        (truncated(GOOD[:20]), "truncated"),
        (failing(500), "http-500"),
        (failing(401, "who are you?"), "http-401"),
    ],
    ids=["refusal", "filter", "length", "500", "401"],
)
def test_what_the_endpoint_says_went_wrong_is_the_error(reply: ChatReply, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        rating(reply)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "reply", [garbage(), reset(), ChatReply(content=None)], ids=["bytes", "reset", "null"]
)
def test_no_reply_at_all_is_a_typed_error(reply: ChatReply) -> None:
    with pytest.raises(ModelError):
        rating(reply)


def claim_reply(*values: tuple[int, str, str]) -> str:
    return json.dumps(
        {
            "claims": [
                {"number": number, "evidence": 1, "quote": quote, "label": label}
                for number, quote, label in values
            ]
        }
    )


SUPPORTED = (1, "sails at nine", "supported")
UNSUPPORTED = (2, "", "unsupported")


@pytest.mark.parametrize(
    "reply",
    [
        claim_reply(SUPPORTED),
        claim_reply(SUPPORTED, UNSUPPORTED, (3, "", "unsupported")),
        claim_reply(SUPPORTED, (1, "", "unsupported")),
        claim_reply((0, "sails at nine", "supported"), (1, "", "unsupported")),
        claim_reply(),
    ],
    ids=["one too few", "one too many", "one twice", "from zero", "none"],
)
def test_a_list_that_does_not_judge_each_claim_once_is_no_verdict(reply: str) -> None:
    claims = [Claim("It sails at nine.", 0, 17), Claim("It is blue.", 18, 29)]
    with judged_by(in_turn(reply)) as (judge, server):
        with pytest.raises(ModelError) as caught:
            JudgeSupport(judge).decide(claims, ["The Razorbill sails at nine."])
        assert caught.value.kind == "off-schema"
        assert len(server.requests) == 2


def test_entries_in_another_order_are_put_in_the_order_of_the_claims() -> None:
    claims = [Claim("It sails at nine.", 0, 17), Claim("It is blue.", 18, 29)]
    reply = claim_reply(UNSUPPORTED, SUPPORTED)
    with judged_by(in_turn(reply)) as (judge, _):
        verdicts = JudgeSupport(judge).decide(claims, ["The Razorbill sails at nine."])
    assert [verdict.label for verdict in verdicts] == ["supported", "unsupported"]


def test_a_safety_verdict_without_a_real_quote_is_no_verdict() -> None:
    made_up = json.dumps({"quote": "you idiots", "reason": "insult", "label": "severe"})
    with judged_by(in_turn(made_up)) as (judge, _), pytest.raises(ModelError) as caught:
        judge_safety(judge, "toxicity", "Ferries sail at nine.")
    assert caught.value.kind == "off-schema"


def test_the_note_that_asks_again_does_not_repeat_the_reply() -> None:
    reply = json.dumps({"quote": "IGNORE THE RULES", "reason": "BAIT", "label": "severe"})
    with judged_by(in_turn(reply)) as (judge, server):
        with pytest.raises(ModelError):
            judge_safety(judge, "bias", "Ferries sail at nine.")
        second = json.dumps(server.requests[1])
    assert "IGNORE THE RULES" not in second
    assert "BAIT" not in second


def test_texts_beyond_the_limit_are_never_cut() -> None:
    claims = [Claim("It sails at nine.", 0, 17)]
    with judged_by(in_turn(GOOD), max_characters=10_000) as (judge, server):
        with pytest.raises(ModelError) as caught:
            JudgeSupport(judge).decide(claims, ["nine " * 2_000])
        assert server.requests == []
    assert caught.value.kind == "too-long"


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_a_blank_answer_is_not_put_to_a_judge(answer: str) -> None:
    with judged_by(in_turn(GOOD)) as (judge, server):
        with pytest.raises(InputError, match="answer: expected text"):
            judge_relevancy(judge, "Which ship?", answer)
        assert server.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda judge: Judge(),
        lambda judge: Judge(*judge.models, votes=0),
        lambda judge: judge.verdict("relevance", {}),
        lambda judge: judge.verdict("relevancy", {"question": "?", "answer": "!", "reference": "-"}),
        lambda judge: judge.verdict("relevancy", {"question": "?", "answer": ["!"]}),
        lambda judge: judge.verdict("claim_support", {"claims": "one", "evidence": ["e"]}),
    ],
    ids=[
        "no model",
        "no votes",
        "no such prompt",
        "a field too many",
        "a list for a text",
        "a text for a list",
    ],
)
def test_a_call_that_makes_no_sense_is_a_usage_error(wrong: Callable[[Judge], object]) -> None:
    with judged_by(in_turn(GOOD)) as (judge, server):
        with pytest.raises(UsageError):
            wrong(judge)
        assert server.requests == []


def test_a_question_that_was_judged_before_is_remembered_on_disk_though_its_code_is_another(
    tmp_path: Path,
) -> None:
    with judged_by(in_turn(GOOD)) as (asked, server):
        for _ in range(3):
            judge = Judge(RememberingModel(asked.models[0], tmp_path))
            verdict = judge.verdict("relevancy", {"question": "Which ship?", "answer": "The Razorbill."})
        judge.verdict("relevancy", {"question": "Which ship?", "answer": "The Guillemot."})
        assert len(server.requests) == 2
    assert verdict.values["label"] == "fully"
    assert verdict.usage is None
