"""One rule says which citations count: the evaluator of one answer and the scorers of a run agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from chat_server import failing, running_chat
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import (
    CitationEvaluator,
    ContextCitation,
    Corpus,
    Document,
    DocumentId,
    Judge,
    Response,
    Sample,
    SpanCitation,
    Turn,
)
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.records.citations import Citation, TokenSpanCitation

TABLES = tables_beside(__file__)

DOCUMENTS = {
    "boats.md": "The boat leaves at noon. The boat returns at six.",
    "fares.md": "The fare is two pounds.",
}
CORPUS = Corpus([Document(DocumentId(name), text) for name, text in DOCUMENTS.items()])
CONTEXTS = tuple(DOCUMENTS.values())
METRICS = [metric.name for metric in all_metrics() if metric.family in ("citations", "consistency")]
RIGHT = SpanCitation("boats.md", 0, 24)
WRONG = SpanCitation("fares.md", 0, 23)
SPAN_FIGURES = TABLES["span_figures"]


def asked(*true: SpanCitation, reference: str | None = None) -> Sample:
    """Return a sample to which every document is relevant: the evaluator holds claims against all of them."""
    return Sample(
        id="s",
        turns=(Turn(role="user", content="When does the boat leave?"),),
        reference=reference,
        relevant_documents=dict.fromkeys(DOCUMENTS, 1),
        relevant_spans=true,
    )


def scored(sample: Sample, answer: str, beside: Sequence[Citation], sources: Any) -> dict[str, float | None]:
    corpus = (
        Corpus([Document(DocumentId(name), text) for name, text in sources.items()])
        if isinstance(sources, dict)
        else None
    )
    contexts = () if isinstance(sources, dict) else tuple(sources)
    response = Response(text=answer, contexts=contexts, citations=tuple(beside))
    scorers = scorers_for(METRICS, Methods(corpus=corpus))
    return {scorer.name: scorer.score(sample, response).value for scorer in scorers}


def evaluated(sample: Sample, answer: str, beside: Sequence[Citation], sources: Any) -> dict[str, Any]:
    results = CitationEvaluator({}).evaluate_answer_citations(answer, list(beside), sources, sample)
    quality, consistency = results["citation_quality"], results["answer_consistency"]
    return {
        **{name: results["span_accuracy"][figure] for name, figure in SPAN_FIGURES.items()},
        **{name: figures["value"] for name, figures in quality.items() if name in METRICS},
        "factual_consistency": consistency["factual_consistency"]["value"],
        "hallucination_rate": results["hallucination_detection"]["hallucination_rate"]["value"],
        "overall_citation_accuracy": results["overall_scores"]["overall_citation_accuracy"],
    }


def figures(*case: Any) -> dict[str, float | None]:
    """Return what the scorers say, which is what the evaluator says."""
    found = scored(*case)
    assert evaluated(*case) == found
    return found


SENTENCES = ("The boat leaves at noon", "The fare is ten pounds", "I don't know", "Hello")
BRACKETS = TABLES["brackets"]
BESIDE: tuple[Citation, ...] = (
    RIGHT,
    WRONG,
    SpanCitation("ships.md", 0, 9),
    ContextCitation(1),
    ContextCitation(9),
    TokenSpanCitation("boats.md", 0, 9, "cl100k"),
)
answers = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.lists(st.sampled_from(BRACKETS), max_size=2)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60)
@given(
    answers.map(lambda parts: " ".join(f"{said} {''.join(cited)}." for said, cited in parts)),
    st.lists(st.sampled_from(BESIDE), max_size=3),
    st.sampled_from([DOCUMENTS, CONTEXTS, {}]),
    st.sampled_from([(), (RIGHT,), (RIGHT, WRONG)]),
)
def test_the_evaluator_and_the_scorers_agree_on_every_metric(
    answer: str, beside: list[Citation], sources: Any, true: tuple[SpanCitation, ...]
) -> None:
    case = (asked(*true), answer, beside, sources)
    assert evaluated(*case) == scored(*case)


ONE = TABLES["one"]


def test_citations_written_in_the_answer_count_before_those_beside_it() -> None:
    written_right = figures(asked(RIGHT), "The boat leaves at noon [boats.md:?:0-24].", [WRONG], DOCUMENTS)
    assert [written_right[name] for name in ONE] == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    written_wrong = figures(asked(RIGHT), "The boat leaves at noon [fares.md:?:0-23].", [RIGHT], DOCUMENTS)
    assert [written_wrong[name] for name in ONE] == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_numbers_that_nothing_opens_give_way_to_the_citations_beside_the_answer() -> None:
    found = figures(asked(RIGHT), "The boat leaves at noon [1].", [RIGHT], DOCUMENTS)
    assert [found[name] for name in ONE] == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_numbered_contexts_are_opened_and_the_characters_beside_them_compared() -> None:
    sample = asked(RIGHT)
    response = Response(text="The boat leaves at noon [9].", contexts=CONTEXTS, citations=(RIGHT,))
    found = {
        scorer.name: scorer.score(sample, response) for scorer in scorers_for(METRICS, Methods(corpus=CORPUS))
    }
    # There is no ninth context; the characters beside the answer are the true ones.
    assert (found["citation_validity"].value, found["citation_exact_jaccard"].value) == (0.0, 1.0)
    # The overall figure has both its parts from the citations beside the answer.
    assert found["overall_citation_accuracy"].details["tolerance_jaccard"] == 1.0
    assert found["overall_citation_accuracy"].details["citation_validity"] == 1.0


def test_an_answer_that_declines_has_nothing_to_cite_also_where_its_reference_declines() -> None:
    said = "The guide does not mention dogs."
    for sample in (asked(RIGHT), asked(RIGHT, reference=said)):
        assert figures(sample, said, [RIGHT], DOCUMENTS)["citation_completeness"] is None


def test_a_place_that_is_cited_twice_is_one_span() -> None:
    answer = "The boat leaves at noon [boats.md:?:0-24]. The boat leaves at noon [boats.md:?:0-24]."
    for true in ((RIGHT,), (RIGHT, RIGHT)):
        assert figures(asked(*true), answer, [], DOCUMENTS)["citation_exact_jaccard"] == 1.0


def test_a_place_that_is_cited_twice_in_a_sentence_counts_once_in_every_metric() -> None:
    cited = "[boats.md:?:0-24][boats.md:?:0-24][boats.md:?:900-909]"
    beside = [RIGHT, RIGHT, SpanCitation("boats.md", 900, 909)]
    counted = ("citation_correctness", "citation_validity", "citation_exact_jaccard")
    for answer, listed in ((f"The boat leaves at noon {cited}.", []), ("The boat leaves at noon.", beside)):
        found = figures(asked(RIGHT), answer, listed, DOCUMENTS)
        assert [found[name] for name in counted] == [1 / 2] * 3
        # 0.3 × 1/2 + 0.3 × 1/2 + 0.25 × mean consistency + 0.15
        single = figures(asked(RIGHT), "The boat leaves at noon.", [RIGHT], DOCUMENTS)
        overall = "overall_citation_accuracy"
        assert found[overall] == pytest.approx((single[overall] or 0) - 0.3)
    idle = "The boat leaves at noon [boats.md:?:0-24][boats.md:?:0-24][fares.md:?:0-23]."
    assert figures(asked(), idle, [], DOCUMENTS)["citation_precision"] == 1 / 2
    twice = "The boat leaves at noon [1]. The boat leaves at noon [1][9]."
    assert (
        figures(asked(), twice, [], CONTEXTS)["citation_validity"] == 2 / 3
    )  # one in each sentence, and [9]


def test_what_cannot_be_opened_fails_its_sentence_and_beside_the_answer_only_itself() -> None:
    beside = [ContextCitation(1), ContextCitation(7)]
    for answer, listed, recall, precision in (
        ("The boat leaves at noon [1][7].", [], 0.0, 0.0),
        ("The boat leaves at noon.", beside, 1.0, 1 / 2),
    ):
        found = figures(asked(), answer, listed, CONTEXTS)
        assert (found["citation_recall"], found["citation_precision"]) == (recall, precision)
        assert (found["citation_correctness"], found["citation_validity"]) == (1 / 2, 1 / 2)


@pytest.mark.parametrize("answer", ["", "  "])
@pytest.mark.parametrize("beside", [[], [RIGHT]])
def test_an_empty_answer_has_no_figure_and_the_reason_is_given(answer: str, beside: list[Citation]) -> None:
    assert set(figures(asked(RIGHT), answer, beside, DOCUMENTS).values()) == {None}
    results = CitationEvaluator({}).evaluate_answer_citations(answer, beside, DOCUMENTS, asked(RIGHT))
    for section in ("span_accuracy", "citation_quality", "overall_scores"):
        assert results[section]["reason"] == "the answer is empty"


@pytest.mark.parametrize(
    "names",
    [
        # What the first asks for is all that the others look at.
        ["citation_recall", "citation_precision", "citation_correctness"],
        ["factual_consistency", "hallucination_rate", "overall_citation_accuracy"],
    ],
)
def test_an_endpoint_that_failed_is_not_asked_again_by_the_next_metric(names: list[str]) -> None:
    response = Response(text="The boat leaves at noon [boats.md:?:0-24].")
    sample = asked(RIGHT)
    with (
        running_chat(lambda _: failing(503)) as server,
        OpenAIChatModel("scripted", base_url=server.url, max_attempts=1) as model,
    ):
        scorers = scorers_for(names, Methods(judge=Judge(model), corpus=CORPUS))
        scores = scored_result(sample, response, scorers).scores
    assert [score.status for score in scores] == ["failed"] * len(names)
    assert all(score.may_be_retried for score in scores)
    assert len(server.requests) == 1


@pytest.mark.parametrize("bracket", ["[0]", "[3-1]", "[boats.md:?:9-2]"])
def test_a_bracket_that_cannot_be_read_gives_way_to_citations_beside_the_answer(bracket: str) -> None:
    sample, answer = asked(RIGHT), f"The boat leaves at noon {bracket}."
    figures = scored(sample, answer, [RIGHT], DOCUMENTS)
    assert figures["citation_validity"] == figures["citation_exact_jaccard"] == 1.0
    alone = scored(sample, answer, [], DOCUMENTS)
    assert alone["citation_validity"] == alone["citation_exact_jaccard"] == 0.0


def test_citations_that_could_not_be_read_leave_undecided_what_cannot_be_opened() -> None:
    response = Response(
        text="The boat leaves at noon [boats.md:?:0-24].", metadata={"unread_citations": 1}
    )  # characters of a file, and no documents to open them in
    validity, recall = (
        scorer.score(asked(RIGHT), response)
        for scorer in scorers_for(["citation_validity", "citation_recall"], Methods())
    )
    assert validity.value is recall.value is None
    assert "the documents are missing" in (validity.reason or "")
