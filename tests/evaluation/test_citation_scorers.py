"""Scoring what an answer cites: against what it says, and against what it should cite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from chat_server import last_message, running_chat

from cases import tables_beside
from rag_evaluation_framework import (
    ContextCitation,
    Corpus,
    Document,
    DocumentId,
    Judge,
    Refusal,
    Response,
    Sample,
    Score,
    SpanCitation,
    Turn,
)
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation.scoring import scorer_for, scorers_for
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.records.citations import Citation, TokenSpanCitation
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict
from word_support import WordSupport

TABLES = tables_beside(__file__)
BOATS = "The boat leaves at noon. The boat returns at six."
CORPUS = Corpus(
    [
        Document(DocumentId("docs/boats.md"), BOATS),
        Document(DocumentId("guide.pdf"), "Cover.\n\nThe fare is two pounds.", {"pages": [[0, 6], [8, 31]]}),
    ]
)
CONTEXTS = ("The boat leaves at noon.", "The boat returns at six.", "The fare is two pounds.")
CLAIM_METRICS = TABLES["claim_metrics"]
SPAN_METRICS = TABLES["span_metrics"]
SOURCE_METRICS = ("factual_consistency", "hallucination_rate", "overall_citation_accuracy")


def sample(*spans: SpanCitation, **fields: Any) -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content="When?"),), relevant_spans=spans, **fields)


def scored(
    name: str,
    answer: str,
    *,
    contexts: Sequence[str] = (),
    corpus: Corpus | None = None,
    beside: Sequence[Citation] = (),
    asked: Sample | None = None,
) -> Score:
    scorer = scorer_for(name, Methods(support=WordSupport(), corpus=corpus))
    response = Response(text=answer, contexts=tuple(contexts), citations=tuple(beside))
    score = scorer.score(asked or sample(), response)
    strict_json.encode(dict(score.details))
    return score


ANSWER = "The boat leaves at noon [1][3]. The boat returns at six. The fare is ten pounds [3][9]."


def cited(places: Sequence[Any]) -> tuple[Citation, ...]:
    return tuple(ContextCitation(each) if isinstance(each, int) else SpanCitation(*each) for each in places)


@pytest.mark.parametrize("case", TABLES["scores"].values(), ids=TABLES["scores"])
def test_worked_cases(case: dict[str, Any]) -> None:
    asked = sample(*cited(case.get("truth", ())), relevant_documents=case.get("relevant", {}))  # type: ignore[arg-type]
    for name, expected in {**case.get("values", {}), **case.get("reasons", {})}.items():
        score = scored(
            name,
            case["answer"],
            contexts=CONTEXTS if case.get("contexts") else (),
            corpus=CORPUS if case.get("corpus") else None,
            beside=cited(case.get("beside", ())),
            asked=asked,
        )
        if name in case.get("values", {}):
            assert (name, score.value) == (name, pytest.approx(float(Fraction(expected))))
        else:
            assert (name, score.status, score.value) == (name, "skipped", None)
            assert (score.reason or "").startswith(expected)


def test_details_tell_what_counts_against_an_answer_and_where_it_stands() -> None:
    sentences = scored("citation_recall", ANSWER, contexts=CONTEXTS).details["sentences"]
    assert [(each["supported"], each["cited"]) for each in sentences] == [
        (True, True),
        (False, False),
        (False, True),
    ]
    assert ANSWER[sentences[1]["start"] : sentences[1]["end"]] == "The boat returns at six."
    citations = scored("citation_validity", ANSWER, contexts=CONTEXTS).details["citations"]
    assert [ANSWER[slice(*each["bracket"])] for each in citations] == ["[1]", "[3]", "[3]", "[9]"]
    assert citations[3]["problem"] == "unknown-context: expected a context's number up to 3, got [9]"
    relevant = scored("citation_precision", ANSWER, contexts=CONTEXTS).details["citations"]
    assert [each["relevant"] for each in relevant] == [True, False, False, False]


def test_numbers_without_contexts_give_way_to_the_citations_beside_the_answer() -> None:
    beside = [SpanCitation("boats.md", 0, 24)]
    score = scored("citation_recall", "The boat leaves at noon [1].", corpus=CORPUS, beside=beside)
    assert (score.value, score.details["citations_from"]) == (1.0, "beside the answer")


def test_tokens_of_files_are_skipped() -> None:
    beside = [TokenSpanCitation("boats.md", 0, 9, "cl100k")]
    score = scored("citation_validity", "The boat leaves.", corpus=CORPUS, beside=beside)
    assert score.reason == "the answer cites tokens of files, which only their tokenizer could find"


def test_citations_that_could_not_be_read_count_among_those_that_cannot_be_opened() -> None:
    methods = Methods(support=WordSupport(), corpus=CORPUS)
    response = Response(
        text="The boat leaves at noon.",
        citations=(SpanCitation("boats.md", 0, 24),),
        metadata={"unread_citations": 2},
    )
    validity = scorer_for("citation_validity", methods).score(sample(), response)
    assert validity.value == 1 / 3
    precision = scorer_for("citation_precision", methods)
    assert precision.score(sample(), response).value == 1 / 3


class Silent:
    """A judge that gives no verdict."""

    name, version = "judge:silent", 1

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        raise ModelError("timeout", "no reply within 60 s")


def test_a_judge_that_gives_no_verdict_is_a_failed_score() -> None:
    scorer = scorer_for("citation_recall", Methods(support=Silent()))
    score = scorer.score(sample(), Response(text=ANSWER, contexts=CONTEXTS))
    assert (score.status, score.method) == ("failed", "judge:silent")
    assert score.reason == "no verdict: timeout: no reply within 60 s"


def test_scorers_of_one_method_ask_once() -> None:
    support = WordSupport()
    methods = Methods(support=support)
    asked, response = sample(), Response(text="The boat leaves at noon [1].", contexts=CONTEXTS)
    for name in CLAIM_METRICS:
        scorer_for(name, methods).score(asked, response)
    assert len(support.asked) == 1


def test_every_metric_of_citations_has_a_scorer_and_only_those_of_spans_need_the_true_spans() -> None:
    names = [metric.name for metric in all_metrics() if metric.family in ("citations", "consistency")]
    assert set(names) == {*CLAIM_METRICS, *SPAN_METRICS, *SOURCE_METRICS, "citation_validity"}
    for scorer in scorers_for(names, Methods(corpus=CORPUS)):
        is_of_spans = scorer.name in (*SPAN_METRICS, "overall_citation_accuracy")
        assert ("relevant_spans" in scorer.needs) == is_of_spans
        assert scorer.higher_is_better == (scorer.name != "hallucination_rate")
        lexical = scorer.name in (*CLAIM_METRICS, *SOURCE_METRICS)
        assert scorer.method == ("lexical support, screening" if lexical else "exact")


def test_the_scorers_that_names_give_open_the_corpus_and_support_by_words() -> None:
    answer = "The boat leaves at noon [boats.md:?:0-24]. Elephants invented the telephone [boats.md:?:0-24]."
    methods = Methods(corpus=CORPUS)
    values = {
        name: scorer_for(name, methods).score(sample(), Response(text=answer)).value
        for name in ("citation_recall", "citation_precision", "citation_correctness", "citation_validity")
    }
    assert values == {
        "citation_recall": 1 / 2,
        "citation_precision": 1 / 2,
        "citation_correctness": 1 / 2,
        "citation_validity": 1.0,
    }


def judged_by_a_quote(asked: dict[str, Any]) -> str:
    """Support the one claim that is asked about where the first context is among the evidence."""
    is_there = CONTEXTS[0] in last_message(asked)
    quote = {"evidence": 1, "quote": CONTEXTS[0], "label": "supported"}
    nothing = {"evidence": 0, "quote": "", "label": "unsupported"}
    return json.dumps({"claims": [{"number": 1, **(quote if is_there else nothing)}]})


def test_a_judge_gives_the_verdicts_where_there_is_one_and_is_asked_once_for_each_set_of_texts() -> None:
    response = Response(text="The boat leaves at noon [1][3].", contexts=CONTEXTS)
    asked = sample()
    with running_chat(judged_by_a_quote) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        scorers = scorers_for([*CLAIM_METRICS, "citation_validity"], Methods(judge=Judge(model)))
        values = {scorer.name: scorer.score(asked, response).value for scorer in scorers}
    # Together, [1] alone, [3] alone, and without [3], which is [1] alone again: three questions.
    assert len(server.requests) == 3
    assert values == {
        "citation_recall": 1.0,
        "citation_precision": 1 / 2,
        "citation_f1": pytest.approx(2 / 3),
        "citation_completeness": 1.0,
        "citation_correctness": 1 / 2,
        "citation_validity": 1.0,
    }
    assert {(scorer.method, scorer.is_slow) for scorer in scorers} == {
        ("judge:scripted", True),
        ("exact", False),
    }


def test_a_judge_is_asked_once_for_all_that_the_sources_are_held_against() -> None:
    response = Response(text="The boat leaves at noon.", contexts=CONTEXTS)
    asked = sample()
    with running_chat(judged_by_a_quote) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        scorers = scorers_for(["factual_consistency", "hallucination_rate"], Methods(judge=Judge(model)))
        values = [scorer.score(asked, response).value for scorer in scorers]
    assert (values, len(server.requests)) == ([1.0, 0.0], 1)
    assert {scorer.method for scorer in scorers} == {"judge:scripted"}


def test_an_empty_answer_and_one_to_decline_are_skipped() -> None:
    assert scored("citation_recall", " ", contexts=CONTEXTS).status == "skipped"
    refusing = sample(expectation=Refusal())
    assert scored("citation_recall", ANSWER, contexts=CONTEXTS, asked=refusing).status == "skipped"


@pytest.mark.parametrize(
    "answer",
    [
        *TABLES["hostile"],
        "The boat leaves [" * 500,
        'The boat leaves [boats.md:1:0-10 | excerpt: "' + "x" * 4000 + '"].',
        "The boat leaves [" + "/".join("a" * 900) + ":1:0-10].",
    ],
)
def test_hostile_citations_end_as_a_score_or_a_reason(answer: str) -> None:
    truth = sample(SpanCitation("boats.md", 0, 24))
    for name in (*CLAIM_METRICS, "citation_validity", "citation_exact_jaccard"):
        for contexts in ((), CONTEXTS):
            score = scored(name, answer, contexts=contexts, corpus=CORPUS, asked=truth)
            assert score.status in ("scored", "skipped")
            assert score.value is None or 0.0 <= score.value <= 1.0


def test_citations_beside_an_answer_that_could_not_be_read_are_unpaired() -> None:
    asked = sample(SpanCitation("boats.md", 0, 24))
    beside = Response(
        text="The boat leaves at noon.",
        citations=(SpanCitation("boats.md", 0, 20),),
        metadata={"unread_citations": 3},
    )
    # The end is 4 off: within 10, and beyond 2; three more cannot be read.
    for name, pair in (("citation_tolerance_jaccard", 1.0), ("citation_exact_jaccard", 20 / 24)):
        assert scorer_for(name).score(asked, beside).value == pytest.approx(pair / 4)
    strict = scorer_for("citation_tolerance_jaccard(tolerance_chars=2)").score(asked, beside)
    assert strict.value == strict.details["mean_tolerance_jaccard"] == pytest.approx(20 / 24 / 4)
    assert strict.details["unpaired_predicted"] == 3
