"""Spans from files: OTLP JSON as SDKs and the collector's file exporter write it, and the SDK's own JSON.

A file has an ``ExportTraceServiceRequest`` per line, or a whole document of one, several or a list of them;
it may be compressed with gzip or Zstandard. A part that cannot be read is reported with file, line and span,
and reading continues after it. Of what cannot be read, the traces are still known where their ids are: a
trace with a piece missing is not one to be scored.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, StorageError, brief, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import Limits, data_files, open_reading, read_bytes
from rag_evaluation_framework.files.json_scanner import after_space
from rag_evaluation_framework.files.strict_json import numbered_lines

OnIssue = Callable[[Issue], None]

_WHOLE = Limits(max_whole_bytes=256 << 20)
"""A document that is not written in lines is held in memory; of lines any number may come."""
_LOOKED_AT = 20
_TRACE_ID = re.compile(rb'"(?:traceId|trace_id)"\s*:\s*"(?:0x)?([^"\\]{16,32})"')
_HEX = re.compile(r"[0-9a-f]+")
_OTHER_SIGNALS = ("resourceLogs", "resourceMetrics", "resource_logs", "resource_metrics", "resourceProfiles")
# A second of the year 1973 in nanoseconds: what is below was counted in other units.
_EARLIEST = 10**17
_HAS_REMOTE, _IS_REMOTE = 0x100, 0x200


class Span(msgspec.Struct):
    """One span as it was written, with the attributes of its resource."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    file: str
    line: int
    attributes: dict[str, Any]
    resource: Mapping[str, Any] = {}
    events: list[tuple[str, dict[str, Any]]] = []
    start: int | None = None
    end: int | None = None
    error: str | None = None
    is_remote: bool | None = None
    """True if the parent is in another process; ``None`` where that was not recorded."""

    def issue(self, code: str, expected: str, found: str, *, severity: Any = "error") -> Issue:
        """Return something that is wrong with it, with its place."""
        return Issue(
            code, expected, found, f"span {self.span_id}", severity=severity, file=self.file, line=self.line
        )


class Unreadable(msgspec.Struct, frozen=True):
    """A piece that could not be read, of a trace whose id could."""

    trace_id: str


class _WrongError(Exception):
    """A value that a span cannot have."""

    def __init__(self, path: str, expected: str, found: object) -> None:
        super().__init__(path)
        self.path, self.expected, self.found = path, expected, shown(found)


def holds_spans(record: Mapping[str, Any]) -> bool:
    """Return True if a record, or the beginning of a document, is one of spans."""
    if any(name in record for name in ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans")):
        return True
    context = record.get("context")
    return isinstance(context, Mapping) and {"trace_id", "span_id"} <= context.keys() and "name" in record


def read_spans(path: Path, on_issue: OnIssue) -> Iterator[Span | Unreadable]:
    """Yield the spans of a file, or of the files of a folder by their names, which is in the order of time.

    Problems are reported to ``on_issue``.
    """
    for file in data_files(path) if path.is_dir() else (path,):
        try:
            yield from _file_spans(file, on_issue)
        except InputError as error:
            for issue in error.located(str(file)).issues:
                on_issue(issue)
        except StorageError as error:
            if not path.is_dir():
                raise
            on_issue(Issue("unreadable", "a readable file", str(error), file=str(file)))


def _file_spans(file: Path, on_issue: OnIssue) -> Iterator[Span | Unreadable]:
    if not _is_lines(file):
        yield from _document_spans(file, on_issue)
        return
    with open_reading(file, max_line_bytes=None, pipe=True) as stream:
        for number, line in numbered_lines(stream, file=str(file)):
            if isinstance(line, InputError):
                for issue in line.located(str(file), number).issues:
                    on_issue(issue)
                continue
            yield from _text_spans(line.rstrip(b"\r\n"), file, on_issue, line=number)


def _is_lines(file: Path) -> bool:
    """Return True if one of the first lines is a whole record; of a document, no line is."""
    with open_reading(file, max_line_bytes=None, pipe=True) as stream:
        for _, line in islice(numbered_lines(stream, file=str(file)), _LOOKED_AT):
            try:
                value = None if isinstance(line, InputError) else strict_json.decode(line)
            except InputError:
                continue
            if value and isinstance(value, dict | list):
                return True
    return False


def _document_spans(file: Path, on_issue: OnIssue) -> Iterator[Span | Unreadable]:
    """Yield the spans of one document, or of several that follow each other over many lines."""
    data = read_bytes(file, limits=_WHOLE)
    try:
        value = strict_json.decode(data, file=str(file))
    except InputError as error:
        # The SDK's exporter to a console writes one indented object after the other.
        text = data.decode("utf-8", "replace")
        decoder, position, pieces = json.JSONDecoder(), 0, list[tuple[int, int]]()
        while (start := after_space(text, position)) < len(text):
            try:
                _, position = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
            pieces.append((start, position))
        if len(pieces) < 2:
            for issue in error.issues:
                on_issue(issue)
            yield from _unreadable(data)
            return
        for start, end in pieces:
            line = 1 + text.count("\n", 0, start)
            yield from _text_spans(text[start:end].encode(), file, on_issue, line=line)
        if position < len(text.rstrip()):
            rest, line = text[position:].strip(), 1 + text.count("\n", 0, position)
            on_issue(Issue("json-syntax", "a complete record", shown(rest), file=str(file), line=line))
            yield from _unreadable(rest.encode())
        return
    yield from _value_spans(value, str(file), _Lines(data), on_issue)


def _text_spans(text: bytes, file: Path, on_issue: OnIssue, *, line: int) -> Iterator[Span | Unreadable]:
    try:
        value = strict_json.decode(text, file=str(file), line=line)
    except InputError as error:
        for issue in error.issues:
            on_issue(issue)
        yield from _unreadable(text)
        return
    yield from _value_spans(value, str(file), _Lines(text, first=line), on_issue)


def _unreadable(text: bytes) -> Iterator[Unreadable]:
    """Yield the traces that a text names which cannot be read."""
    for found in dict.fromkeys(_TRACE_ID.findall(text)):
        try:
            yield Unreadable(_identifier(found.decode("utf-8", "replace"), 16, "traceId"))
        except _WrongError:
            continue


class _Lines:
    """The lines of a text's spans, which come in the order of the text."""

    def __init__(self, text: bytes, *, first: int = 1) -> None:
        self._text, self._line, self._position = text, first, 0
        self._is_one = b"\n" not in text

    def of(self, span_id: object) -> int:
        """Return the line on which a span's id stands."""
        if not self._is_one and isinstance(span_id, str):
            found = self._text.find(span_id.encode(), self._position)
            if found >= 0:
                self._line += self._text.count(b"\n", self._position, found)
                self._position = found
        return self._line


def _value_spans(value: Any, file: str, lines: _Lines, on_issue: OnIssue) -> Iterator[Span | Unreadable]:
    """Yield the spans of a request, of a resource's spans, of the SDK's own record, or of a list of these."""
    if isinstance(value, list):
        for item in value:
            yield from _value_spans(item, file, lines, on_issue)
        return
    if not isinstance(value, dict) or not (holds_spans(value) or "traceId" in value):
        if not (isinstance(value, dict) and any(name in value for name in _OTHER_SIGNALS)):
            expected = "an object with resourceSpans, or a span"
            on_issue(Issue("no-spans", expected, shown(value), file=file, line=lines.of(None)))
        return
    if "context" in value or "traceId" in value:
        yield from _span_or_issue(value, value.get("resource"), file, lines, on_issue)
        return
    several = _field(value, "resourceSpans") if _field(value, "scopeSpans") is None else [value]
    for resource, spans in _groups(several):
        if isinstance(spans, _WrongError):
            wrong = Issue(
                "wrong-type", spans.expected, spans.found, spans.path, file=file, line=lines.of(None)
            )
            on_issue(wrong)
            continue
        for span in spans:
            yield from _span_or_issue(span, resource, file, lines, on_issue)


def _groups(several: Any) -> Iterator[tuple[Any, list[Any] | _WrongError]]:
    """Yield the resource and the spans of each scope, or what is wrong with one."""
    if not isinstance(several, list):
        yield None, _WrongError("resourceSpans", "a list", several)
        return
    for number, one in enumerate(several):
        path = f"resourceSpans[{number}]"
        if not isinstance(one, dict):
            yield None, _WrongError(path, "an object", one)
            continue
        scopes = _field(one, "scopeSpans")
        if scopes is None:
            scopes = _field(one, "instrumentationLibrarySpans") or []  # as it was called before 2022
        if not isinstance(scopes, list):
            yield None, _WrongError(f"{path}.scopeSpans", "a list", scopes)
            continue
        for place, scope in enumerate(scopes):
            spans = scope.get("spans", []) if isinstance(scope, dict) else None
            if isinstance(spans, list):
                yield one.get("resource"), spans
            else:
                found = scope if spans is None else spans
                yield (
                    None,
                    _WrongError(f"{path}.scopeSpans[{place}]", "an object with a list of spans", found),
                )


def _field(record: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in JSON or in the protocol: ``traceId`` or ``trace_id``."""
    if name in record:
        return record[name]
    return record.get(re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name))


def _span_or_issue(
    value: Any, resource: Any, file: str, lines: _Lines, on_issue: OnIssue
) -> Iterator[Span | Unreadable]:
    trace_id: str | None = None
    is_record = isinstance(value, dict)
    ids = value.get("context", value) if is_record else {}
    ids = ids if isinstance(ids, dict) else {}
    line = lines.of(_field(ids, "spanId"))
    try:
        if not is_record:
            raise _WrongError("", "an object", value)
        trace_id = _identifier(_field(ids, "traceId"), 16, "traceId")
        span_id = _identifier(_field(ids, "spanId"), 8, "spanId")
        yield _span(value, trace_id, span_id, resource, Span("", "", None, "", file, line, {}))
    except _WrongError as wrong:
        named = _field(ids, "spanId")
        where = f"span {named}" if isinstance(named, str) and 0 < len(named) <= 40 else "span"
        path = f"{where}.{wrong.path}" if wrong.path else where
        on_issue(Issue("wrong-span", wrong.expected, wrong.found, path, file=file, line=line))
        if trace_id is not None:
            yield Unreadable(trace_id)


def _span(value: dict[str, Any], trace_id: str, span_id: str, resource: Any, span: Span) -> Span:
    parent = _field(value, "parentSpanId") or value.get("parent_id")
    span.trace_id, span.span_id = trace_id, span_id
    # A parent of zeroes is none: that is how the protocol writes it in full.
    found = None if parent in (None, "") else _identifier(parent, 8, "parentSpanId", or_zero=True)
    span.parent_id = None if found is None or not found.strip("0") else found
    span.name = _typed(value.get("name", ""), str, "name", "text")
    span.attributes = _attributes(value.get("attributes"), "attributes")
    if resource is not None:
        held = _typed(resource, dict, "resource", "an object").get("attributes")
        span.resource = _attributes(held, "resource.attributes")
    span.start = _time(_field(value, "startTimeUnixNano"), value.get("start_time"), "startTimeUnixNano")
    span.end = _time(_field(value, "endTimeUnixNano"), value.get("end_time"), "endTimeUnixNano")
    for number, event in enumerate(_typed(value.get("events") or [], list, "events", "a list")):
        event = _typed(event, dict, f"events[{number}]", "an object")
        name = _typed(event.get("name", ""), str, f"events[{number}].name", "text")
        span.events.append((name, _attributes(event.get("attributes"), f"events[{number}].attributes")))
    span.error = _error(value.get("status"), span.events)
    flags = value.get("flags")
    if isinstance(flags, int) and flags & _HAS_REMOTE:
        span.is_remote = bool(flags & _IS_REMOTE)
    return span


def _identifier(value: Any, size: int, path: str, *, or_zero: bool = False) -> str:
    """Return an id in hexadecimal digits, as OTLP writes it, or as protobuf's own JSON does in base64."""
    expected = f"{size * 2} hexadecimal digits"
    text: str = _typed(value, str, path, expected).lower().removeprefix("0x")
    if len(text) != size * 2 or not _HEX.fullmatch(text):
        try:
            decoded = base64.b64decode(value, validate=True)
        except (ValueError, binascii.Error):
            raise _WrongError(path, expected, value) from None
        if len(decoded) != size:
            raise _WrongError(path, expected, value)
        text = decoded.hex()
    if not or_zero and not text.strip("0"):
        raise _WrongError(path, f"{expected}, not all zero", value)
    return text


def _typed(value: Any, kind: type, path: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise _WrongError(path, expected, value)
    return value


def _time(nanoseconds: Any, moment: Any, path: str) -> int | None:
    """Return a time in nanoseconds, also from the SDK's own text; ``None`` where it was not recorded."""
    if nanoseconds is None and moment is not None:
        try:
            found = datetime.fromisoformat(_typed(moment, str, path, "a time"))
        except ValueError:
            raise _WrongError(path, "a time in ISO 8601", moment) from None
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1e9)
    if nanoseconds in (None, 0, "0", ""):
        return None
    count = _whole(nanoseconds, path)
    if not _EARLIEST <= count < 1 << 63:
        raise _WrongError(path, "nanoseconds since 1970", nanoseconds)
    return count


def _whole(value: Any, path: str) -> int:
    """Return a whole number, which JSON of the protocol writes as a text."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _WrongError(path, "a whole number", value)
    return value


def _error(status: Any, events: list[tuple[str, dict[str, Any]]]) -> str | None:
    """Return what went wrong, in the words of the span; ``None`` where nothing did."""
    if status in (None, {}):
        return None
    status = _typed(status, dict, "status", "an object")
    code = status.get("code", status.get("status_code", 0))
    if code not in (2, "2", "STATUS_CODE_ERROR", "ERROR"):
        return None
    said = status.get("message") or status.get("description")
    raised = (attributes.get("exception.message") for name, attributes in events if name == "exception")
    told = (text for text in (said, *raised) if isinstance(text, str) and text.strip())
    first = next(told, "an error without a message").strip().partition("Traceback (most recent")[0]
    return brief(first.strip().partition("\n")[0] or "an error without a message")


def _attributes(value: Any, path: str) -> dict[str, Any]:
    """Return attributes by name, from the protocol's list or from the SDK's object."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for number, item in enumerate(_typed(value, list, path, "a list")):
        if not isinstance(item, dict) or not isinstance(key := item.get("key"), str):
            raise _WrongError(f"{path}[{number}]", "an object with key and value", item)
        held = item.get("value")
        if isinstance(held, dict) and isinstance(text := held.get("stringValue"), str) and len(held) == 1:
            found[key] = text  # as nearly all
        else:
            found[key] = _any_value(held, f"{path}.{key}")
    return found


def _any_value(value: Any, path: str, depth: int = 0) -> Any:
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or len(value) != 1 or depth > 50:
        raise _WrongError(path, "one value with its type, such as stringValue", value)
    ((kind, held),) = value.items()
    match kind.replace("_v", "V"):
        case "stringValue" | "bytesValue":
            return _typed(held, str, path, "text")
        case "intValue":
            return _whole(held, path)
        case "boolValue":
            return _typed(held, bool, path, "true or false")
        case "doubleValue":
            number = float("nan") if held in ("NaN", "Infinity", "-Infinity") else held
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise _WrongError(path, "a number", held)
            return number
        case "arrayValue":
            items = _typed(_typed(held, dict, path, "an object").get("values") or [], list, path, "a list")
            return [_any_value(item, path, depth + 1) for item in items]
        case "kvlistValue":
            items = _typed(_typed(held, dict, path, "an object").get("values") or [], list, path, "a list")
            return {
                _typed(item.get("key"), str, path, "a key"): _any_value(item.get("value"), path, depth + 1)
                for item in (_typed(item, dict, path, "an object") for item in items)
            }
    raise _WrongError(path, "a type of OTLP, such as stringValue", kind)
