"""Claims judged against evidence: quotes that are checked and located, batches, and what is never asked."""

from __future__ import annotations

import json

import pytest
from chat_server import ChatServer, in_turn
from scripted_judge import Reading, entries, judged_by, judging

from cases import tables_beside
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.judged_answers import JudgeSupport, quoted_evidence
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Evidence, SupportMethod

TABLES = tables_beside(__file__)

EVIDENCE = ["The Razorbill sails at nine.\nIt carries  forty cars.", "狗可以免费乘船，须系绳。"]


def replying(*replies: list[dict[str, object]]) -> list[str]:
    return [json.dumps({"claims": entries(*values)}) for values in replies]


def judged(replies: list[str], text: str, evidence: list[str]) -> tuple[list[ClaimVerdict], ChatServer]:
    with judged_by(in_turn(*replies)) as (judge, server):
        return JudgeSupport(judge).decide(claims_of(text), evidence), server


def test_it_is_a_support_method() -> None:
    with judged_by(in_turn("")) as (judge, _):
        method = JudgeSupport(judge)
    assert isinstance(method, SupportMethod)
    assert (method.name, method.version) == ("judge:scripted", 2)


def test_each_label_comes_with_the_passage_that_decides() -> None:
    replies = replying(
        [
            {"evidence": 1, "quote": "sails at nine", "label": "supported"},
            {"evidence": 1, "quote": "It carries forty cars", "label": "contradicted"},
            {"evidence": 0, "quote": "", "label": "unsupported"},
        ]
    )
    verdicts, _ = judged(replies, "The Razorbill sails at nine. It takes ten cars. It is blue.", EVIDENCE)
    assert [verdict.label for verdict in verdicts] == ["supported", "contradicted", "unsupported"]
    # "The Razorbill " is 14 characters; "…sails at nine.\n" ends at 29, and the second quote has two spaces.
    assert verdicts[0].evidence == Evidence(0, 14, 27, "sails at nine")
    assert verdicts[1].evidence == Evidence(0, 29, 51, "It carries  forty cars")
    assert verdicts[1].conflicts == ("evidence says: It carries  forty cars",)
    assert verdicts[2].evidence is None
    assert [verdict.claim.start for verdict in verdicts] == [0, 29, 48]


@pytest.mark.parametrize(
    "quote",
    ["sails at ten", "", "…", "a", "The Razorbill carries forty cars", "nin", "sails at nin", "nine", "乘船"],
)
@pytest.mark.parametrize("label", ["supported", "contradicted"])
def test_a_verdict_without_a_real_quote_is_repaired_once(quote: str, label: str) -> None:
    made_up = [{"evidence": 1, "quote": quote, "label": label}]
    honest = [{"evidence": 0, "quote": "", "label": "unsupported"}]
    verdicts, server = judged(replying(made_up, honest), "It sails at ten.", EVIDENCE)
    assert verdicts[0].label == "unsupported"
    assert len(server.requests) == 2
    assert "claims 1: expected a quote" in json.dumps(server.requests[1])


def test_a_verdict_without_a_real_quote_twice_is_no_verdict() -> None:
    made_up = [{"evidence": 1, "quote": "sails at ten", "label": "supported"}]
    with pytest.raises(ModelError) as caught:
        judged(replying(made_up), "It sails at ten.", EVIDENCE)
    assert caught.value.kind == "off-schema"


def test_a_real_quote_under_a_wrong_number_is_put_where_it_stands() -> None:
    replies = replying([{"evidence": 1, "quote": "免费乘船", "label": "supported"}])
    verdicts, _ = judged(replies, "狗可以免费乘船。", EVIDENCE)
    assert verdicts[0].evidence == Evidence(1, 3, 7, "免费乘船")


@pytest.mark.parametrize("number", [-1, 0, 3, 99])
def test_a_number_that_no_evidence_has_is_asked_about_once_more(number: int) -> None:
    nowhere = [{"evidence": number, "quote": "sails at nine", "label": "supported"}]
    right = [{"evidence": 1, "quote": "sails at nine", "label": "supported"}]
    verdicts, server = judged(replying(nowhere, right), "It sails at nine.", EVIDENCE)
    assert verdicts[0].label == "supported"
    assert "claims 1: expected the number of an evidence text, 1 to 2" in json.dumps(server.requests[1])
    with pytest.raises(ModelError, match="off-schema"):
        judged(replying(nowhere), "It sails at nine.", EVIDENCE)


def test_long_answers_are_judged_in_batches_and_nothing_is_lost() -> None:
    def reply(reading: Reading) -> str:
        sizes.append(len(reading.several("claims")))
        return json.dumps(
            {
                "claims": entries(
                    *(
                        {"evidence": 1, "quote": text, "label": "supported"}
                        if text in reading.texts["evidence 1"]
                        else {"evidence": 0, "quote": "", "label": "unsupported"}
                        for text in reading.several("claims")
                    )
                )
            }
        )

    sizes: list[int] = []
    claims = [Claim(f"Cabin {number} is free.", 0, 1) for number in range(45)]
    evidence = " ".join(claim.text for claim in claims[::2])
    with judged_by(judging(reply)) as (judge, _):
        verdicts = JudgeSupport(judge).decide(claims, [evidence])
    assert sizes == [20, 20, 5]
    assert [verdict.is_supported for verdict in verdicts] == [number % 2 == 0 for number in range(45)]
    assert [verdict.claim for verdict in verdicts] == claims


def test_no_claims_and_no_evidence_are_not_put_to_the_judge() -> None:
    verdicts, server = judged(["never"], "It sails.", ["", "  "])
    assert [verdict.label for verdict in verdicts] == ["unsupported"]
    assert (judged(["never"], "", EVIDENCE)[0], server.requests) == ([], [])


def test_a_blank_text_among_the_evidence_keeps_its_number() -> None:
    replies = replying([{"evidence": 2, "quote": "forty cars", "label": "supported"}])
    verdicts, _ = judged(replies, "It takes forty cars.", ["", *EVIDENCE])
    assert verdicts[0].evidence is not None
    assert verdicts[0].evidence.number == 1


def test_several_metrics_that_ask_the_same_ask_once_and_keep_their_own_positions() -> None:
    replies = replying([{"evidence": 1, "quote": "sails at nine", "label": "supported"}])
    with judged_by(in_turn(*replies)) as (judge, server):
        for start in (0, 40):
            claim = Claim("It sails at nine.", start, start + 17)
            assert JudgeSupport(judge).decide([claim], EVIDENCE)[0].claim == claim
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    TABLES["a_quote_may_differ_in_white_space_case_width_and_marks_but_not_in_words"],
)
def test_a_quote_may_differ_in_white_space_case_width_and_marks_but_not_in_words(
    quote: str, text: str, found: str | None
) -> None:
    place = quoted_evidence(quote, [text])
    assert (place.text if place else None) == found
    if place is not None:
        assert text[place.start : place.end] == place.text


@pytest.mark.parametrize(
    ("quote", "text", "fewest_words", "found"),
    TABLES["a_quote_is_of_whole_words_and_long_enough_to_prove_something"],
)
def test_a_quote_is_of_whole_words_and_long_enough_to_prove_something(
    quote: str, text: str, fewest_words: int, found: str | None
) -> None:
    place = quoted_evidence(quote, [text], fewest_words=fewest_words)
    assert (place.text if place else None) == found


@pytest.mark.parametrize(
    ("quote", "text"),
    [("xy " * 20_000 + "x", "xy " * 60_000), ("a" * 90_000, "a" * 180_000), ("x", "x y. " * 30_000)],
)
def test_a_quote_that_is_made_to_be_searched_for_long_is_not_found(quote: str, text: str) -> None:
    assert quoted_evidence(quote, [text], fewest_words=2) is None


def test_a_quote_is_looked_for_first_in_the_text_that_was_named() -> None:
    texts = ["one ship", "one ship", "two ships"]
    assert [quoted_evidence("one ship", texts, expected=number) for number in (0, 1, 2, 9)] == [
        Evidence(number, 0, 8, "one ship") for number in (0, 1, 0, 0)
    ]
