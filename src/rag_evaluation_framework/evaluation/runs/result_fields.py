"""A sample's result as plain fields for the journal, and back.

Fields that are empty are left out, and read back as empty. What differs between two otherwise equal runs (the
latency, and scores whose method is :data:`TIMING_METHOD`) goes to a section of its own, so that equal results
are equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rag_evaluation_framework.records.citations import (
    Citation,
    ContextCitation,
    SpanCitation,
    TokenSpanCitation,
)
from rag_evaluation_framework.records.responses import Failure, Hit, Response, Usage
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score
from rag_evaluation_framework.records.spans import CharacterSpan

_CITATION_KINDS: dict[str, type[SpanCitation] | type[TokenSpanCitation] | type[ContextCitation]] = {
    "characters": SpanCitation,
    "tokens": TokenSpanCitation,
    "context": ContextCitation,
}
_KIND_OF = {record: kind for kind, record in _CITATION_KINDS.items()}
# Looking up the fields of a record takes longer than writing it.
_NAMES: dict[type[Any], tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a sample was first asked (UTC), how many attempts it took, and how long it and its answer took.

    ``requests`` are those that reached the target: one for each turn of each attempt; none for recorded
    answers; ``None`` if they were not counted.
    ``run_seconds`` is for how long the run had been at work when the sample, asked and scored, was written
    down: all parts of a resumed run together, without the pauses between them.
    """

    started_at: str
    attempts: int
    elapsed_ms: float
    requests: int | None = None
    latency_ms: float | None = None
    run_seconds: float = 0.0


def result_fields(result: SampleResult) -> dict[str, Any]:
    """Return what must be the same whenever the same run is repeated."""
    response = result.response
    written: dict[str, Any] = {
        "text": response.text,
        "hits": list(map(_hit_fields, response.hits)) or None,
        "retrieved_nothing": response.retrieved_nothing or None,
        "contexts": list(response.contexts) or None,
        "context_origin": response.context_origin,
        "citations": [{"kind": _KIND_OF[type(cited)], **_present(cited)} for cited in response.citations]
        or None,
        "usage": None if response.usage is None else _present(response.usage),
        "failure": None if response.failure is None else _present(response.failure),
        "metadata": dict(response.metadata) or None,
    }
    return {
        "sample_id": result.sample_id,
        "response": {name: value for name, value in written.items() if value is not None},
        "scores": [_score_fields(score) for score in result.scores if score.method != TIMING_METHOD],
    }


def timing_fields(result: SampleResult, timing: Timing) -> dict[str, Any]:
    """Return what may differ when the same run is repeated."""
    timed = [_score_fields(score) for score in result.scores if score.method == TIMING_METHOD]
    return {**_present(timing), **({"scores": timed} if timed else {})}


def result_from(written: Mapping[str, Any], timing: Mapping[str, Any]) -> SampleResult:
    """Read a result back from its two parts; scores of time come last."""
    return SampleResult(
        written["sample_id"],
        _response(written["response"], timing.get("latency_ms")),
        tuple(Score(**score) for score in (*written["scores"], *timing.get("scores", ()))),
    )


def timing_from(timing: Mapping[str, Any]) -> Timing:
    """Read the times back."""
    return Timing(**{name: value for name, value in timing.items() if name != "scores"})


def _response(written: Mapping[str, Any], latency_ms: float | None) -> Response:
    usage, failure = written.get("usage"), written.get("failure")
    return Response(
        text=written.get("text"),
        hits=tuple(_hit(hit) for hit in written.get("hits", ())),
        retrieved_nothing=written.get("retrieved_nothing", False),
        contexts=tuple(written.get("contexts", ())),
        context_origin=written.get("context_origin"),
        citations=tuple(_citation(cited) for cited in written.get("citations", ())),
        usage=None if usage is None else Usage(**usage),
        latency_ms=latency_ms,
        failure=None if failure is None else Failure(**failure),
        metadata=written.get("metadata", {}),
    )


def _hit_fields(hit: Hit) -> dict[str, Any]:
    # Written out, as scores are: there are many of them in a run of retrieval.
    written: dict[str, Any] = {"id": hit.id}
    if hit.score is not None:
        written["score"] = hit.score
    if hit.span is not None:
        written["span"] = [hit.span.doc_id, hit.span.start, hit.span.end]
    if hit.text is not None:
        written["text"] = hit.text
    return written


def _score_fields(score: Score) -> dict[str, Any]:
    written: dict[str, Any] = {"metric": score.metric, "method": score.method, "status": score.status}
    if score.value is not None:
        written["value"] = score.value
    if score.reason is not None:
        written["reason"] = score.reason
    if score.details:
        written["details"] = dict(score.details)
    return written


def _hit(written: Mapping[str, Any]) -> Hit:
    span = written.get("span")
    return Hit(**{**written, "span": None if span is None else CharacterSpan(*span)})


def _citation(written: Mapping[str, Any]) -> Citation:
    given = {name: value for name, value in written.items() if name != "kind"}
    return _CITATION_KINDS[written["kind"]](**given)


def _present(record: Any) -> dict[str, Any]:
    """Return the fields of a flat record that are not empty."""
    written: dict[str, Any] = {}
    for name in _names(type(record)):
        value = getattr(record, name)
        if value is None or value == {}:
            continue
        written[name] = dict(value) if isinstance(value, Mapping) else value
    return written


def _names(kind: type[Any]) -> tuple[str, ...]:
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(field.name for field in fields(kind))
    return names
