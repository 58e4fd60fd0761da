"""One row of a run as one of the ``query_results`` of a results document.

What is empty is left out, but for the scores: those of a query without any are an empty object.
"""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.evaluated_turns import evaluated_turns
from rag_evaluation_framework.results.run_rows import RunRow

_METRICS = "individual_metrics"


def query_result(row: RunRow) -> dict[str, Any]:
    """Return what happened to one query."""
    sample, response = row.sample, row.result.response
    written = {
        "query_id": row.result.sample_id,
        **(_asked(sample) if sample is not None else {}),
        "latency_ms": response.latency_ms,
        "turns": _turns(row.result, sample),
        "retrieval_results": _retrieved(response.hits, sample),
        "generated_answer": response.text,
        "contexts": list(response.contexts),
        "context_origin": response.context_origin,
        **_citations(response),
        "usage": _usage(response),
        "error": _error(response),
        **_scores(row.result),
        **row.verdict,
    }
    return {name: value for name, value in written.items() if name == _METRICS or value not in (None, [], {})}


def _asked(sample: Sample) -> dict[str, Any]:
    return {
        "query_text": sample.question,
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "category": sample.category,
        "tags": list(sample.tags),
        "ground_truth_answer": sample.reference,
    }


def _turns(result: SampleResult, sample: Sample | None) -> list[dict[str, Any]]:
    """Return every turn of a conversation, with what was expected of it and its scores."""
    return [] if sample is None else [turn.to_dict() for turn in evaluated_turns(sample, result)]


def _retrieved(hits: tuple[Hit, ...], sample: Sample | None) -> dict[str, Any]:
    """Return what was retrieved and, beside it, what should have been."""
    if not hits:
        return {}
    scores = [hit.score for hit in hits if hit.score is not None]
    spans = [
        {
            "chunk_id": hit.id,
            "document_id": hit.span.doc_id,
            "start_char": hit.span.start,
            "end_char": hit.span.end,
        }
        for hit in hits
        if hit.span is not None
    ]
    written: dict[str, Any] = {
        "retrieved_docs": [hit.id if hit.span is None else hit.span.doc_id for hit in hits],
        # In the same order as the documents, so all or none.
        "relevance_scores": scores if len(scores) == len(hits) else [],
        "retrieved_spans": spans,
    }
    if sample is not None:
        relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
        written["ground_truth_relevant"] = relevant
    return {name: value for name, value in written.items() if value != []}


def _citations(response: Response) -> dict[str, Any]:
    """Return the three kinds of citations, each under a name of its own: they are never mixed."""
    spans, tokens, contexts = [], [], []
    for cited in response.citations:
        match cited:
            case SpanCitation():
                spans.append(_span(cited))
            case TokenSpanCitation():
                place = {"file_name": cited.file, "start_token": cited.start, "end_token": cited.end}
                tokens.append({**place, "tokenizer": cited.tokenizer})
            case ContextCitation():
                contexts.append(cited.number)
    return {"citations": spans, "token_citations": tokens, "context_citations": contexts}


def _span(cited: SpanCitation) -> dict[str, Any]:
    written = {
        "file_name": cited.file,
        "page_number": cited.page,
        "start_char": cited.start,
        "end_char": cited.end,
        "confidence_score": cited.confidence,
        "context_text": cited.text,
    }
    return {name: value for name, value in written.items() if value is not None}


def _usage(response: Response) -> dict[str, Any]:
    usage = response.usage
    if usage is None:
        return {}
    figures = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _error(response: Response) -> dict[str, str]:
    failure = response.failure
    return {} if failure is None else {"kind": failure.kind, "message": failure.message}


def _scores(result: SampleResult) -> dict[str, Any]:
    """Return the scores that are numbers, the reasons of those that are not, and the details of both."""
    scores = [score for score in result.scores if score.method != TIMING_METHOD]
    return {
        _METRICS: {score.metric: score.value for score in scores if score.value is not None},
        "unscored_metrics": {
            score.metric: {"status": score.status, "reason": score.reason}
            for score in scores
            if score.value is None
        },
        "metric_details": {score.metric: dict(score.details) for score in scores if score.details},
    }
