"""Raw offline records line by line: as strict as every other reader here, and quicker.

A line is decoded once, straight into the types of its schema, and the prompt, the longest text, is passed on
as it is written. What this leaves unchecked is settled by counting, as in :mod:`~..files.strict_json`: each
key that survived decoding has one colon, so the line has more colons than the record exactly when it says a
key twice, or one that the types do not know. Any line that does not come out even, or is wrong in any other
way, is read again by the general reader, which says what is wrong with it, or that nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Required, TypedDict, cast

import msgspec

from rag_evaluation_framework.datasets.schema_validation import schema_issues
from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.compression import open_reading
from rag_evaluation_framework.files.json_lines import MAX_LINE_BYTES
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.values import MAX_DEPTH

_READ_AHEAD = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = b" \t\r\n"

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Objects = list[dict[str, Any]]


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
    metadata: dict[str, Any]


_decode = msgspec.json.Decoder(_OfflineRecord).decode
_encode = msgspec.json.Encoder().encode


def read_offline_lines(
    path: str | Path, *, on_error: Callable[[InputError], None] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the 1-based line number and the record of every line that is not blank.

    A prompt may be :class:`msgspec.Raw`: its JSON text, not decoded. A bad line raises :class:`InputError`
    with file and line; with ``on_error`` the error goes there instead and reading continues. A line beyond
    the limit on length always ends it.
    """
    file = str(path)
    with open_reading(path) as opened:
        # Lines are longer than the eight kilobytes that a file is read by.
        stream = cast("BinaryIO", BufferedReader(cast("Any", opened), _READ_AHEAD))
        for number, line in _numbered(stream, file):
            try:
                yield number, decode_line(line, file=file, number=number)
            except InputError as error:
                if on_error is None:
                    raise
                on_error(error)


def decode_line(line: bytes, *, file: str, number: int) -> dict[str, Any]:
    """Decode one line, or raise all that is wrong with it."""
    try:
        record = cast("dict[str, Any]", _decode(line))
        if _is_told_whole(line, record):
            return record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the general reader words it
    value: dict[str, Any] = strict_json.decode(line, file=file, line=number)
    if issues := schema_issues("offline-record", value):
        raise InputError(issues).located(file, number)
    return value


def _is_told_whole(line: bytes, record: dict[str, Any]) -> bool:
    """Tell whether the record says all that the line says, each key once, in plain depth and valid UTF-8."""
    rag = record.get("rag", {})
    rest = record.copy()
    rest["rag"] = {name: value for name, value in rag.items() if name not in ("prompt", "contexts")}
    rest.pop("rag_prompt", None)
    # The keys left out of ``rest``, each with its colon.
    colons = ("rag_prompt" in record) + len(rag) - len(rest["rag"]) - ("rag" not in record)
    for prompt in (rag.get("prompt"), record.get("rag_prompt")):
        if prompt is not None:
            text = bytes(prompt)
            if not text.startswith(b'"'):
                return False
            text.decode("utf-8")
            colons += text.count(b":")
    for context in rag.get("contexts", ()):
        colons += context.count(":")
    written = _encode(rest)
    return (
        line.count(b":") == colons + written.count(b":")
        # An escaped colon would count in the record and not in the line.
        and b"\\u003" not in line
        and written.count(b"[") + written.count(b"{") < MAX_DEPTH
    )


def _numbered(stream: BinaryIO, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield every line that is not blank with its number."""
    for number in count(1):
        try:
            line = stream.readline(MAX_LINE_BYTES + 1)
        except InputError as error:
            raise error.located(file, number) from None
        except OSError as error:
            raise refused("read", file, error) from error
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            expected = f"a line of at most {MAX_LINE_BYTES:,} bytes"
            raise LimitExceededError([Issue("line-too-long", expected, "more", file=file, line=number)])
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line[:1] not in _WHITE_SPACE or line.strip(_WHITE_SPACE):
            yield number, line
