"""Spans as OTLP JSON writes them, for tests of traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BEGAN = 1794833653 * 10**9


def any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": list(map(any_value, value))}}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
    return {"stringValue": value}


def attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": any_value(value)} for name, value in values.items()]


def span(
    trace: int, number: int, parent: int | None = None, said: Any = None, **fields: Any
) -> dict[str, Any]:
    """A span of a trace; it begins ``at`` so many milliseconds and takes ``ms`` of them."""
    at, took = fields.pop("at", number * 10), fields.pop("ms", 5)
    found = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": "step",
        "startTimeUnixNano": str(BEGAN + at * 10**6),
        "endTimeUnixNano": str(BEGAN + (at + took) * 10**6),
        "attributes": attributes(said or {}),
        **fields,
    }
    return found if parent is None else {**found, "parentSpanId": f"{parent:016x}"}


def root(
    trace: int, question: str = "What is the fare?", answer: str | None = "Five pounds.", **more: Any
) -> Any:
    """The outermost span of a trace: a chain that is asked and answers, span 1."""
    said = {"openinference.span.kind": "CHAIN", "input.value": question, **more.pop("said", {})}
    return span(trace, 1, None, {**said, "output.value": answer}, at=0, ms=1000, **more)


def retrieval(trace: int, number: int, query: str, documents: Mapping[str, str], **more: Any) -> Any:
    """A retriever below the root that finds these documents: texts by their names."""
    said: dict[str, Any] = {"openinference.span.kind": "RETRIEVER", "input.value": query}
    said["output.value"] = json.dumps({"documents": []})
    for place, (name, text) in enumerate(documents.items()):
        said[f"retrieval.documents.{place}.document.id"] = name
        said[f"retrieval.documents.{place}.document.content"] = text
        said[f"retrieval.documents.{place}.document.score"] = 1 - place / 10
    return span(trace, number, more.pop("parent", 1), said, **more)


def tool(trace: int, number: int, name: str, arguments: Any, **more: Any) -> Any:
    said = {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": json.dumps(arguments)}
    return span(trace, number, 1, {**said, "output.value": "done"}, **more)


def request(*spans: Any, service: str = "assistant") -> dict[str, Any]:
    """One export of a service's spans."""
    resource = {"attributes": attributes({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def write(path: Path, *requests: Any) -> Path:
    """Write a request a line; a text as it is."""
    lines = (each if isinstance(each, str) else json.dumps(each) for each in requests)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
