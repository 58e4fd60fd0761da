"""The citations of one answer from every side, with the arithmetic of the overall figure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from chat_server import ChatReply, refused, running_chat
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import (
    CitationEvaluator,
    ContextCitation,
    Corpus,
    Document,
    DocumentId,
    InputError,
    Judge,
    Sample,
    SpanCitation,
    Turn,
    UsageError,
)
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError, UnknownNameError
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict
from word_support import WordSupport, words

TABLES = tables_beside(__file__)
DOCUMENTS = {
    "boats.md": "The boat leaves at noon. The boat returns at six.",
    "fares.md": "The fare is two pounds.",
}
ANSWER = "The boat leaves at noon. The fare is ten pounds."


def cited(file: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"file_name": file, "start_char": start, "end_char": end, **more}


QUERY = {
    "query_id": "q1",
    "query_text": "When?",
    "citations": [cited("boats.md", 0, 24), cited("fares.md", 0, 23)],
}


class ShareOfWords:
    """Supports a claim with the share of its words that stand in the evidence; half of them are enough."""

    name, version = "share of words", 1

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        known = words("\n".join(evidence))
        shares = [len(words(claim.text) & known) / len(words(claim.text)) for claim in claims]
        return [
            ClaimVerdict(claim=claim, label="supported" if share > 0.9 else "unsupported", probability=share)
            for claim, share in zip(claims, shares, strict=True)
        ]


def evaluate(
    answer: str = ANSWER, citations: Any = (), documents: Any = DOCUMENTS, query: Any = QUERY, **config: Any
) -> dict[str, Any]:
    results = CitationEvaluator({"support": ShareOfWords(), **config}).evaluate_answer_citations(
        answer, citations, documents, query
    )
    json.dumps(results, allow_nan=False)
    return results


def test_a_worked_answer() -> None:
    results = evaluate(
        citations=[cited("boats.md", 0, 20), cited("fares.md", 0, 23), cited("ships.md", 0, 9)]
    )
    spans = results["span_accuracy"]
    # Pairs of 20/24 and 1; ships.md is unpaired: (0.8333 + 1) / 3. The end is 4 off, within 10: (1 + 1) / 3.
    assert spans["mean_exact_jaccard"] == pytest.approx((20 / 24 + 1) / 3)
    assert spans["mean_tolerance_jaccard"] == pytest.approx(2 / 3)
    assert (spans["perfect_matches"], spans["good_matches"]) == (1, 2)
    quality = results["citation_quality"]
    # "The boat leaves at " lacks "noon": 4 of 5 words, not enough; the fare is not ten: 4 of 5 words.
    assert quality["citation_completeness"] == {"value": 0.0, "total_claims": 2, "cited_claims": 0}
    # ships.md is none of the documents: not scored.
    assert quality["citation_correctness"] == {"value": 0.0, "total_citations": 2, "correct_citations": 0}
    assert quality["citation_validity"] == {"value": 1.0, "total_citations": 2, "valid_citations": 2}
    # The claims against all documents: 5 of 5 words, and 4 of 5.
    consistency = results["answer_consistency"]["factual_consistency"]
    assert consistency == {"value": 0.5, "mean_consistency": 0.9, "consistency_scores": [1.0, 0.8]}
    hallucinations = results["hallucination_detection"]
    assert hallucinations["hallucination_rate"] == {"value": 0.5, "total_claims": 2, "hallucinated_claims": 1}
    assert [claim["text"] for claim in hallucinations["claims"]] == ["The fare is ten pounds."]
    # 0.30 × 2/3 + 0.30 × 1 + 0.25 × 0.9 + 0.15 × (1 − 0.5) = 0.2 + 0.3 + 0.225 + 0.075
    assert results["overall_scores"]["overall_citation_accuracy"] == pytest.approx(0.8)


def test_a_perfect_answer_is_one_and_a_wrong_one_is_zero() -> None:
    perfect = evaluate(
        "The boat leaves at noon.",
        [cited("boats.md", 0, 24)],
        query={"citations": [cited("boats.md", 0, 24)]},
    )
    assert perfect["overall_scores"]["overall_citation_accuracy"] == 1.0
    assert perfect["overall_scores"]["because"] == []
    wrong = evaluate("Elephants fly.", [cited("boats.md", 900, 924)])
    assert wrong["overall_scores"]["overall_citation_accuracy"] == 0.0
    assert wrong["overall_scores"]["because"] == [
        "tolerance_jaccard is 0.000 (weight 0.30): 2 true and 1 cited spans have no counterpart",
        "citation_validity is 0.000 (weight 0.30): expected an end of at most 49, "
        "the length of 'boats.md', got 924",
        "mean_consistency is 0.000 (weight 0.25): the documents do not fully cover 'Elephants fly.'",
        "no_hallucination is 0.000 (weight 0.15): the documents do not support 'Elephants fly.'",
    ]


@pytest.mark.filterwarnings("ignore:the documents do not contain the query")
def test_a_range_beyond_the_document_is_said_to_be() -> None:
    documents = {"doc_ml_intro": "Machine learning is a subset of artificial intelligence..."}
    (citation,) = evaluate(ANSWER, [cited("doc_ml_intro", 100, 200)], documents)["citation_quality"][
        "citations"
    ]
    expected = "an end of at most 58, the length of 'doc_ml_intro'"
    assert citation["problem"] == f"span-outside: expected {expected}, got 200"
    (citation,) = evaluate(ANSWER, [cited("ml_guide.pdf", 100, 200)], documents)["citation_quality"][
        "citations"
    ]
    assert citation["problem"] == (
        "unknown-document: expected the name of a document, got 'ml_guide.pdf' and an end of 200 beyond the "
        "longest document, which has 58"
    )
    assert citation["valid"] is False


@pytest.mark.parametrize(
    "documents",
    [
        DOCUMENTS,
        {"b": {"content": DOCUMENTS["boats.md"], "file_path": "docs/boats.md"}},
        {"b": Document(DocumentId("boats.md"), DOCUMENTS["boats.md"])},
        [{"document_id": "b", "content": DOCUMENTS["boats.md"], "metadata": {"file_name": "boats.md"}}],
        [Document(DocumentId("boats.md"), DOCUMENTS["boats.md"])],
        Corpus([Document(DocumentId("docs/boats.md"), DOCUMENTS["boats.md"])]),
    ],
)
def test_documents_come_in_any_form(documents: Any) -> None:
    results = evaluate("The boat leaves at noon.", [cited("boats.md", 0, 24)], documents)
    assert results["citation_quality"]["citation_correctness"]["value"] == 1.0
    assert results["span_accuracy"]["perfect_matches"] == 1


def test_plain_texts_are_numbered_contexts() -> None:
    texts = list(DOCUMENTS.values())
    quality = evaluate("The fare is two pounds [2]. The boat leaves at noon [9].", None, texts)[
        "citation_quality"
    ]
    assert quality["citation_recall"]["value"] == 1 / 2
    assert quality["citation_validity"]["value"] == 1 / 2
    assert (
        evaluate("The fare is two pounds.", [2], texts)["citation_quality"]["citation_recall"]["value"] == 1.0
    )


READABLE = [
    cited("boats.md", 0, 24, text="leaves at noon"),
    {"file": "boats.md", "start": 0, "end": 24},
    {"doc_id": "boats.md", "start": 0, "end": 24, "page": "?", "number": 1},
    SpanCitation("boats.md", 0, 24),
    "[boats.md:?:0-24]",
]
UNREADABLE = [
    *TABLES["unreadable"],
    cited("boats.md", 0, 24, confidence_score=float("nan")),
    "x" * 100_000,
    b"boats.md",
]


@pytest.mark.parametrize("citation", READABLE)
def test_a_citation_comes_in_any_form(citation: Any) -> None:
    assert evaluate(citations=[citation])["citation_quality"]["citation_validity"]["value"] == 1.0


@pytest.mark.parametrize("citation", UNREADABLE, ids=lambda citation: repr(citation)[:40])
def test_a_citation_that_cannot_be_read_is_not_valid_and_says_why(citation: Any) -> None:
    quality = evaluate(citations=[citation, cited("boats.md", 0, 24)])["citation_quality"]
    assert quality["citation_validity"] == {"value": 1 / 2, "total_citations": 2, "valid_citations": 1}
    assert quality["citations"][0]["problem"].startswith("unreadable-citation: ")


def test_without_anything_to_open_them_in_citations_have_no_figures_and_the_reason_is_given() -> None:
    by_number = evaluate(citations=[ContextCitation(1)])["citation_quality"]
    assert by_number["citation_validity"]["value"] is None
    assert by_number["reason"] == "the answer cites numbered passages, but has no retrieved passages"
    assert by_number["citations"][0]["valid"] is False
    by_name = evaluate(documents=list(DOCUMENTS.values()), citations=[cited("boats.md", 0, 24)])
    assert by_name["citation_quality"]["reason"] == (
        "the answer cites characters of files, but the documents are missing"
    )
    assert by_name["citation_quality"]["citation_recall"]["value"] is None


def test_citations_of_another_kind_than_the_true_ones_are_not_compared_with_them() -> None:
    results = evaluate("The boat leaves at noon [1].", None, list(DOCUMENTS.values()))
    reason = "the answer cites numbered contexts; the expected citations are characters of files"
    spans = results["span_accuracy"]
    assert spans.pop("reason") == reason
    assert set(spans.values()) == {None}
    overall = results["overall_scores"]
    assert (overall["overall_citation_accuracy"], overall["tolerance_jaccard"]) == (None, None)
    assert overall["reason"] == reason
    mixed = evaluate(citations=[ContextCitation(1), cited("boats.md", 0, 24)])["span_accuracy"]
    assert mixed["mean_exact_jaccard"] is None
    assert mixed["reason"].startswith("the answer cites characters of files and numbered contexts")


def test_a_citation_that_cannot_be_read_is_unpaired_and_named_by_its_place() -> None:
    # One pair of 1, one true span unpaired, one that cannot be read: 1 / 3.
    results = evaluate(citations=[cited("boats.md", 0, 24), cited("boats.md", 9, 5)])
    spans = results["span_accuracy"]
    assert (spans["unpaired_predicted"], spans["mean_exact_jaccard"]) == (1, pytest.approx(1 / 3))
    # Characters that nobody knows are in no count of characters: 24 of 24, and 24 of 24 + 23.
    assert (spans["character_precision"], spans["character_recall"]) == (1.0, pytest.approx(24 / 47))
    problem = results["citation_quality"]["citations"][1]["problem"]
    assert problem.startswith("unreadable-citation: citations[1].end_char: expected ")
    (written,) = evaluate(citations=["nonsense"])["citation_quality"]["citations"]
    assert written["problem"] == "unreadable-citation: citations[0]: expected a citation, got 'nonsense'"


@pytest.mark.parametrize("documents", [None, {}, []])
def test_without_documents_the_claims_are_counted_and_none_is_called_hallucinated(documents: Any) -> None:
    results = evaluate(documents=documents)
    assert results["hallucination_detection"]["hallucination_rate"] == {
        "value": None,
        "total_claims": 2,
        "hallucinated_claims": None,
    }
    assert results["citation_quality"]["citation_completeness"]["total_claims"] == 2
    assert (
        results["overall_scores"]["reason"] == "no retrieved passages or documents to compare the answer with"
    )


MISSING = [
    (ANSWER, DOCUMENTS, {"query_text": "When?"}, "there are no expected citations to compare with"),
    (ANSWER, DOCUMENTS, "When?", "there are no expected citations to compare with"),
    (
        ANSWER,
        {},
        QUERY,
        "the answer cites characters of files, but the documents are missing; "
        "no retrieved passages or documents to compare the answer with",
    ),
    ("", DOCUMENTS, QUERY, "the answer is empty"),
    ("# Boats", DOCUMENTS, QUERY, "the answer claims nothing"),
    ("I don't know.", DOCUMENTS, QUERY, "the answer says that it does not know"),
]


@pytest.mark.parametrize(("answer", "documents", "query", "reason"), MISSING)
def test_without_one_of_its_parts_there_is_no_overall_value(
    answer: str, documents: Mapping[str, str], query: Any, reason: str
) -> None:
    overall = evaluate(answer, [cited("boats.md", 0, 24)], documents, query)["overall_scores"]
    assert overall["overall_citation_accuracy"] is None
    assert overall["reason"] == reason


def test_a_part_that_counts_nothing_is_not_missed() -> None:
    weights = {"citation_validity": 0.5, "mean_consistency": 0.3, "no_hallucination": 0.2}
    results = evaluate(citations=[cited("boats.md", 0, 24)], query="When?", weights=weights)
    # 0.5 × 1 + 0.3 × 0.9 + 0.2 × 0.5
    assert results["overall_scores"]["overall_citation_accuracy"] == pytest.approx(0.87)
    assert results["span_accuracy"]["mean_exact_jaccard"] is None


def test_the_query_may_be_a_sample() -> None:
    sample = Sample(
        id="q", turns=(Turn(role="user", content="When?"),), relevant_spans=(SpanCitation("boats.md", 0, 24),)
    )
    assert (
        evaluate(citations=[cited("boats.md", 0, 24)], query=sample)["span_accuracy"]["perfect_matches"] == 1
    )


def test_settings_change_tolerance_and_threshold() -> None:
    strict = evaluate(citations=[cited("boats.md", 0, 20), cited("fares.md", 0, 23)], tolerance_chars=2)
    assert strict["span_accuracy"]["mean_tolerance_jaccard"] == pytest.approx((20 / 24 + 1) / 2)
    lenient = evaluate(consistency_threshold=0.75)
    assert lenient["hallucination_detection"]["hallucination_rate"]["value"] == 0.0
    by_label = CitationEvaluator({"support": WordSupport(), "consistency_threshold": 0.75})
    results = by_label.evaluate_answer_citations(ANSWER, [], DOCUMENTS, QUERY)
    assert results["hallucination_detection"]["hallucination_rate"]["value"] == 0.5


@pytest.mark.parametrize(("config", "message"), TABLES["settings"])
def test_a_setting_that_makes_no_sense_is_refused(config: Any, message: str) -> None:
    with pytest.raises((InputError, UsageError), match=message):
        CitationEvaluator(config)


def test_a_judges_verdicts_are_used_where_one_is_given_and_none_beside_them() -> None:
    with running_chat(refused_reply) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        evaluator = CitationEvaluator({"judge": Judge(model)})
        results = evaluator.evaluate_answer_citations("Hello!", [], DOCUMENTS, QUERY)
        assert results["answer_consistency"]["method"] == "judge:scripted"
        with pytest.raises(ModelError):
            evaluator.evaluate_answer_citations(ANSWER, [], DOCUMENTS, QUERY)
        with pytest.raises(
            InputError, match="support: expected no support method if a judge is given, got 'lexical'"
        ):
            CitationEvaluator({"judge": Judge(model), "support": "lexical"})


def refused_reply(_: dict[str, Any]) -> ChatReply:
    return refused()


def test_all_the_settings_that_make_no_sense_are_told_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        CitationEvaluator({"tolerance": 5, "tolerance_chars": -1, "judge": 1})
    assert len(str(raised.value).splitlines()) == 3
    with pytest.raises(UnknownNameError):
        CitationEvaluator({"wieghts": {}})


@pytest.mark.parametrize(("arguments", "message"), TABLES["arguments"])
def test_arguments_of_the_wrong_kind_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate(**arguments)


def test_nothing_that_is_given_is_changed() -> None:
    citations, query = [cited("boats.md", 0, 24)], json.loads(json.dumps(QUERY))
    evaluate(citations=citations, query=query)
    assert (citations, query) == ([cited("boats.md", 0, 24)], QUERY)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["file_name", "start_char", "end_char", "page_number", "context", "text", "file"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@given(st.text(alphabet="The boat leaves at noon. [1]:-0一。", max_size=60), st.lists(anything, max_size=4))
def test_no_citation_breaks_the_evaluation(answer: str, citations: list[Any]) -> None:
    results = evaluate(answer, citations)
    validity = results["citation_quality"]["citation_validity"]
    assert validity["value"] is None or 0.0 <= validity["value"] <= 1.0
    overall = results["overall_scores"]["overall_citation_accuracy"]
    assert overall is None or 0.0 <= overall <= 1.0
