"""Raw offline records, line by line, decoded quickly where a line is as it should be, and exactly elsewhere.

A line is decoded straight into the types of its schema, and the prompt, the longest text, is left as it is
written. A line that does not fit is read again by the general reader, which says what is wrong with it, or
that nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Required, TypedDict, cast

import msgspec

from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.compression import open_reading
from rag_evaluation_framework.files.json_lines import MAX_LINE_BYTES, numbered_lines

_Name = Annotated[str, msgspec.Meta(min_length=1)]
# Values of the usual depth; what nests deeper is for the general reader, which knows how deep is too deep.
_Scalar = None | bool | int | float | str
_Shallow = _Scalar | list[_Scalar] | dict[str, _Scalar]
_Value = _Scalar | list[_Shallow] | dict[str, _Shallow]
_Object = dict[str, _Value]
_Objects = list[_Object]


class _Retrieval(TypedDict, total=False):
    contexts: list[str]
    sources: list[str]
    scores: list[float | None]
    citations: _Objects
    retrieved: _Objects


class _Rag(_Retrieval, total=False):
    prompt: msgspec.Raw


class _OfflineRecord(_Retrieval, total=False):
    """The types of the schema ``offline-record``; a test holds the two together."""

    task_id: Required[_Name]
    task_type: Required[_Name]
    instruction: str | None
    question: str | None
    expected_response: str | None
    answer: str | None
    response: str | None
    rag: _Rag
    rag_prompt: msgspec.Raw
    answer_citations: _Objects
    metadata: _Object


_decode = msgspec.json.Decoder(_OfflineRecord).decode


def typed_record(line: bytes) -> dict[str, Any] | None:
    """Decode a line into the types of its schema; ``None`` where it does not fit them.

    A prompt is left as its JSON text. Keys that are said twice, or that the types do not know, leave no
    trace: the caller counts the colons.
    """
    try:
        record = cast("dict[str, Any]", _decode(line))
        for prompt in (record.get("rag", {}).get("prompt"), record.get("rag_prompt")):
            if prompt is not None:
                text = bytes(prompt)
                if not text.startswith(b'"'):
                    return None
                text.decode("utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record


def exact_record(line: bytes, *, file: str, number: int) -> dict[str, Any]:
    """Decode a line with the general reader, which knows everything and raises all that is wrong."""
    record: dict[str, Any] = strict_json.decode(line, file=file, line=number)
    if issues := schema_issues("offline-record", record):
        raise InputError(issues).located(file, number)
    return record


def offline_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield every line of a file that is not blank with its 1-based number."""
    with open_reading(path) as stream:
        for number, line in numbered_lines(stream, file=str(path), max_line_bytes=MAX_LINE_BYTES):
            if isinstance(line, InputError):
                raise line.located(str(path), number)
            yield number, line
