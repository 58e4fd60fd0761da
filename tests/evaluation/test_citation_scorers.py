"""Scoring what an answer cites: against what it says, and against what it should cite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from chat_server import last_message, running_chat

from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError, UsageError
from rag_evaluation_framework.evaluation.scoring import scorer_for, scorers_for
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.records.citations import (
    Citation,
    ContextCitation,
    SpanCitation,
    TokenSpanCitation,
)
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Score
from word_support import WordSupport

BOATS = "The boat leaves at noon. The boat returns at six."
CORPUS = Corpus(
    [
        Document(DocumentId("docs/boats.md"), BOATS),
        Document(DocumentId("guide.pdf"), "Cover.\n\nThe fare is two pounds.", {"pages": [[0, 6], [8, 31]]}),
    ]
)
CONTEXTS = ("The boat leaves at noon.", "The boat returns at six.", "The fare is two pounds.")
CLAIM_METRICS = (
    "citation_recall",
    "citation_precision",
    "citation_f1",
    "citation_completeness",
    "citation_correctness",
)
SPAN_METRICS = (
    "citation_exact_jaccard",
    "citation_tolerance_jaccard",
    "citation_span_precision",
    "citation_span_recall",
    "citation_span_f1",
)
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
WORKED = [
    ("citation_recall", 1 / 3),  # the first sentence only
    ("citation_precision", 1 / 4),  # [1], of [1] [3] [3] [9]
    ("citation_f1", 2 / 7),  # 2 × 1/3 × 1/4 / (7/12)
    ("citation_completeness", 2 / 3),  # the first and the last
    ("citation_correctness", 1 / 4),  # [1]
    ("citation_validity", 3 / 4),  # all but [9]
]


@pytest.mark.parametrize(("name", "value"), WORKED)
def test_numbered_contexts_are_those_of_the_response(name: str, value: float) -> None:
    score = scored(name, ANSWER, contexts=CONTEXTS)
    assert (score.status, score.value) == ("scored", pytest.approx(value))


FILES = (
    "The boat leaves at noon [docs/boats.md:?:0-24]. The fare is two pounds [guide.pdf:2:0-23]. "
    "The boat returns at six [boats.md:?:0-24 | excerpt: \"returns\"]. It rains [boats.md:?:40-90]."
)  # fmt: skip
WORKED_FILES = [
    # The third quotes words that do not stand there, the fourth leads out of the document.
    ("citation_validity", 2 / 4),
    ("citation_recall", 2 / 4),
    ("citation_precision", 2 / 4),
    ("citation_completeness", 4 / 4),
    ("citation_correctness", 2 / 4),
]


@pytest.mark.parametrize(("name", "value"), WORKED_FILES)
def test_files_are_opened_in_the_documents_and_on_their_pages(name: str, value: float) -> None:
    assert scored(name, FILES, corpus=CORPUS).value == value


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


def test_citations_beside_an_answer_count_where_it_has_none_written() -> None:
    beside = [SpanCitation("boats.md", 0, 24), SpanCitation("ships.md", 0, 9)]
    answer = "The boat leaves at noon. It never rains."
    assert scored("citation_recall", answer, corpus=CORPUS, beside=beside).value == 1 / 2
    assert scored("citation_precision", answer, corpus=CORPUS, beside=beside).value == 1 / 2
    assert scored("citation_completeness", answer, corpus=CORPUS, beside=beside).value == 1 / 2
    assert scored("citation_validity", answer, corpus=CORPUS, beside=beside).value == 1 / 2
    written = scored("citation_validity", answer + " [9]", contexts=CONTEXTS, corpus=CORPUS, beside=beside)
    assert written.value == 0.0


def test_numbers_without_contexts_give_way_to_the_citations_beside_the_answer() -> None:
    beside = [SpanCitation("boats.md", 0, 24)]
    score = scored("citation_recall", "The boat leaves at noon [1].", corpus=CORPUS, beside=beside)
    assert (score.value, score.details["citations_from"]) == (1.0, "beside the answer")


NOTHING = [
    ("citation_recall", 0.0),
    ("citation_precision", 0.0),
    ("citation_f1", 0.0),
    ("citation_completeness", 0.0),
    ("citation_correctness", None),
    ("citation_validity", None),
]


@pytest.mark.parametrize(("name", "value"), NOTHING)
def test_missing_citations_count_against_an_answer_that_claims_something(
    name: str, value: float | None
) -> None:
    score = scored(name, "The boat leaves at noon.", contexts=CONTEXTS)
    assert score.value == value
    assert score.reason == ("the answer cites nothing" if value is None else None)


SKIPPED = [
    ("The boat leaves at noon [1].", (), None, "the answer cites numbered contexts, and none came with it"),
    (
        "The boat leaves at noon [boats.md:?:0-9].",
        CONTEXTS,
        None,
        "the answer cites characters of files, and there are no documents to open them in",
    ),
    (
        "The boat leaves at noon [1] [boats.md:?:0-9].",
        CONTEXTS,
        CORPUS,
        "the answer cites characters of files and numbered contexts, which are never counted together",
    ),
]


@pytest.mark.parametrize("name", ["citation_recall", "citation_validity"])
@pytest.mark.parametrize(("answer", "contexts", "corpus", "reason"), SKIPPED)
def test_what_there_is_nothing_to_open_in_is_skipped(
    name: str, answer: str, contexts: Sequence[str], corpus: Corpus | None, reason: str
) -> None:
    score = scored(name, answer, contexts=contexts, corpus=corpus)
    assert (score.status, score.reason) == ("skipped", reason)


def test_tokens_of_files_are_skipped() -> None:
    beside = [TokenSpanCitation("boats.md", 0, 9, "cl100k")]
    score = scored("citation_validity", "The boat leaves.", corpus=CORPUS, beside=beside)
    assert score.reason == "the answer cites tokens of files, which only their tokenizer could find"


def test_a_year_in_brackets_is_text_in_an_answer_that_cites_files() -> None:
    answer = "The boat [2020] leaves at noon [boats.md:?:0-24]."
    assert scored("citation_validity", answer, corpus=CORPUS).value == 1.0
    # What is text is claimed, and the document says nothing of 2020.
    assert scored("citation_recall", answer, corpus=CORPUS).value == 0.0


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


@pytest.mark.parametrize(
    "answer", ["I don't know.", "I'm sorry, I can't help with that.", "抱歉，我不知道。"]
)
def test_an_answer_that_does_not_answer_has_nothing_to_cite(answer: str) -> None:
    score = scored("citation_recall", answer, contexts=CONTEXTS)
    assert score.status == "skipped"
    assert score.reason is not None
    assert score.reason.startswith("the answer ")


def test_an_answer_without_claims_is_skipped_and_an_empty_one_has_failed() -> None:
    assert scored("citation_recall", "# Boats", contexts=CONTEXTS).reason == "the answer claims nothing"
    assert scored("citation_recall", " ", contexts=CONTEXTS).status == "failed"
    refusing = sample(expectation=Refusal())
    assert scored("citation_recall", ANSWER, contexts=CONTEXTS, asked=refusing).status == "skipped"


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


SPANS = [
    # relevant 0–24; cited 0–24 and 25–49: one pair of 1, one unpaired
    ("citation_exact_jaccard", [(0, 24), (25, 49)], 1 / 2),
    ("citation_exact_jaccard", [(0, 20)], 20 / 24),
    ("citation_tolerance_jaccard", [(0, 20)], 1.0),  # the end is 4 off
    ("citation_tolerance_jaccard(tolerance_chars=2)", [(0, 20)], 20 / 24),
    ("citation_span_precision", [(12, 36)], 12 / 24),
    ("citation_span_recall", [(12, 36)], 12 / 24),
    ("citation_span_f1", [(12, 36)], 1 / 2),
    ("citation_exact_jaccard", [], 0.0),
    ("citation_span_recall", [], 0.0),
]


@pytest.mark.parametrize(("name", "places", "value"), SPANS)
def test_cited_characters_are_compared_with_the_relevant_ones(
    name: str, places: list[tuple[int, int]], value: float
) -> None:
    truth = sample(SpanCitation("boats.md", 0, 24))
    beside = [SpanCitation("docs/boats.md", start, end) for start, end in places]
    assert scored(name, "At noon.", corpus=CORPUS, beside=beside, asked=truth).value == pytest.approx(value)
    written = "At noon " + "".join(f"[boats:?:{start}-{end}]" for start, end in places) + "."
    assert scored(name, written, corpus=CORPUS, asked=truth).value == pytest.approx(value)


def test_with_the_documents_pages_and_whole_documents_are_one_place() -> None:
    truth = sample(SpanCitation("guide.pdf", 4, 23, page=2))
    # Page 2 begins at 8: 12–31 of the whole document are the same characters.
    beside = [SpanCitation("guide.pdf", 12, 31)]
    assert scored("citation_exact_jaccard", "Two.", corpus=CORPUS, beside=beside, asked=truth).value == 1.0
    assert scored("citation_exact_jaccard", "Two.", beside=beside, asked=truth).value == 11 / 27
    both = [*beside, SpanCitation("guide.pdf", 4, 23, page=2)]
    assert scored("citation_exact_jaccard", "Two.", corpus=CORPUS, beside=both, asked=truth).value == 1.0
    for whole in (truth, sample(SpanCitation("guide.pdf", 12, 31))):
        gone = [SpanCitation("guide.pdf", 12, 31, page=9)]
        assert scored("citation_exact_jaccard", "Two.", corpus=CORPUS, beside=gone, asked=whole).value == 0.0


def test_span_metrics_are_skipped_without_truth_without_citations_and_for_other_kinds() -> None:
    truth = sample(SpanCitation("boats.md", 0, 24))
    assert (
        scored("citation_exact_jaccard", "At noon.").reason == "there are no true citations to compare with"
    )
    assert scored("citation_span_precision", "At noon.", asked=truth).reason == "the answer cites nothing"
    unread = scored("citation_span_precision", "At noon [boats.md:?:34-14].", asked=truth)
    assert unread.reason == "the answer cites nothing that can be read"
    for answer, beside in (("At noon [1].", []), ("At noon.", [ContextCitation(1)])):
        score = scored("citation_exact_jaccard", answer, contexts=CONTEXTS, beside=beside, asked=truth)
        assert score.reason == (
            "the answer cites numbered contexts, and the true citations are characters of files"
        )


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


def test_a_judge_that_is_asked_for_and_not_there_is_an_error() -> None:
    with pytest.raises(UsageError, match="needs a judge"):
        scorer_for("citation_recall(method=judge)")


@pytest.mark.parametrize(
    "answer",
    [
        "The boat [99999999] leaves [1][1][1][1].",
        "The boat leaves [" * 500,
        "The boat leaves [1-100]. [1-101] [0] [-1]",
        "The boat leaves [../../etc/passwd:1:0-10].",
        "The boat leaves [C:\\boats.md:1:0-10][\x00.md:1:0-10][boats.md:999999999:0-10].",
        'The boat leaves [boats.md:1:0-10 | excerpt: "' + "x" * 4000 + '"].',
        "The boat leaves [boats.md:1:0-999999999999999].",
        "The boat leaves [" + "/".join("a" * 900) + ":1:0-10].",
    ],
)
@pytest.mark.parametrize("name", [*CLAIM_METRICS, "citation_validity", "citation_exact_jaccard"])
def test_hostile_citations_end_as_a_score_or_a_reason(name: str, answer: str) -> None:
    truth = sample(SpanCitation("boats.md", 0, 24))
    for contexts in ((), CONTEXTS):
        score = scored(name, answer, contexts=contexts, corpus=CORPUS, asked=truth)
        assert score.status in ("scored", "skipped")
        assert score.value is None or 0.0 <= score.value <= 1.0


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


CLAIMS = "The boat leaves at noon. The fare is two pounds. The boat returns at ten."


@pytest.mark.parametrize(("name", "value"), [("factual_consistency", 2 / 3), ("hallucination_rate", 1 / 3)])
def test_claims_are_held_against_the_contexts_whatever_they_cite(name: str, value: float) -> None:
    assert scored(name, CLAIMS, contexts=CONTEXTS).value == pytest.approx(value)
    (hallucinated,) = [
        claim
        for claim in scored(name, CLAIMS, contexts=CONTEXTS).details["claims"]
        if claim["label"] != "supported"
    ]
    assert CLAIMS[hallucinated["start"] : hallucinated["end"]] == "The boat returns at ten."


@pytest.mark.parametrize(
    ("asked", "beside", "value"),
    [
        # Only the boats are cited or relevant; what the guide says of the fare does not count: 1 of 3.
        (sample(relevant_documents={"boats.md": 1}), (), 1 / 3),
        (sample(SpanCitation("boats.md", 0, 24)), (), 1 / 3),
        (sample(), (SpanCitation("boats.md", 0, 24),), 1 / 3),
        (sample(relevant_documents={"boats.md": 1, "guide.pdf": 1}), (), 2 / 3),
    ],
)
def test_without_contexts_claims_are_held_against_the_documents_that_are_cited_or_relevant(
    asked: Sample, beside: Sequence[Citation], value: float
) -> None:
    score = scored("factual_consistency", CLAIMS, corpus=CORPUS, asked=asked, beside=beside)
    assert score.value == pytest.approx(value)


def test_without_sources_there_is_nothing_to_be_consistent_with() -> None:
    reason = "neither contexts nor documents to hold the answer against"
    assert scored("hallucination_rate", CLAIMS, corpus=CORPUS).reason == reason
    assert scored("factual_consistency", CLAIMS).reason == reason
    declined = scored("factual_consistency", "I don't know.", contexts=CONTEXTS)
    assert declined.reason == "the answer says that it does not know"


TRUE = sample(SpanCitation("docs/boats.md", 0, 24), SpanCitation("docs/boats.md", 25, 49))


def test_the_overall_figure_is_made_of_its_four_parts() -> None:
    answer = "The boat leaves at noon [boats.md:?:0-20]. The boat returns at ten [ships.md:?:0-9]."
    score = scored("overall_citation_accuracy", answer, corpus=CORPUS, asked=TRUE)
    # Spans: the first ends 4 off, within 10: 1; the second true one and ships.md are unpaired: 1 / 3.
    # One of two citations opens; one of two claims stands in the document.
    # 0.30 × 1/3 + 0.30 × 1/2 + 0.25 × 1/2 + 0.15 × 1/2 = 0.1 + 0.15 + 0.125 + 0.075
    assert score.value == pytest.approx(0.45)
    assert score.details == {
        "tolerance_jaccard": pytest.approx(1 / 3),
        "citation_validity": 0.5,
        "mean_consistency": 0.5,
        "no_hallucination": 0.5,
    }
    # Nothing cited: 0.30 × 0 + 0.30 × 0 + 0.25 × 1 + 0.15 × 1
    bare = scored("overall_citation_accuracy", "The boat leaves at noon.", corpus=CORPUS, asked=TRUE)
    assert bare.value == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("answer", "contexts", "asked", "reason"),
    [
        ("The boat leaves at noon [1].", CONTEXTS, TRUE, "the answer cites numbered contexts"),
        (
            "The boat leaves at noon [boats.md:?:0-24].",
            (),
            sample(),
            "there are no true citations to compare with",
        ),
        ("I don't know.", (), TRUE, "the answer says that it does not know"),
    ],
)
def test_without_one_of_its_parts_the_overall_figure_is_skipped_for_that_reason(
    answer: str, contexts: Sequence[str], asked: Sample, reason: str
) -> None:
    score = scored("overall_citation_accuracy", answer, contexts=contexts, corpus=CORPUS, asked=asked)
    assert score.status == "skipped"
    assert (score.reason or "").startswith(reason)


def test_a_citation_that_cannot_be_read_pairs_with_no_true_span() -> None:
    asked = sample(SpanCitation("boats.md", 0, 24))
    written = "The boat leaves at noon [boats.md:?:0-24][boats.md:?:9-5]."
    # One pair of 1, one that cannot be read: 1 / 2. No characters of it are known: 24 of 24.
    assert scored("citation_exact_jaccard", written, asked=asked).value == 1 / 2
    assert scored("citation_span_precision", written, asked=asked).value == 1.0
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


def test_spans_are_not_compared_where_an_answer_cites_numbered_contexts_too() -> None:
    mixed = [SpanCitation("boats.md", 0, 24), ContextCitation(1)]
    asked = sample(SpanCitation("boats.md", 0, 24))
    score = scored("citation_exact_jaccard", "At noon.", contexts=CONTEXTS, beside=mixed, asked=asked)
    assert score.reason == (
        "the answer cites characters of files and numbered contexts, "
        "and the true citations are characters of files"
    )
