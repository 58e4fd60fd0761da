"""Raw offline record to split record, pure; strict lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Required, TypedDict, cast

import msgspec

from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.errors import InputError, counted, invalid
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import open_reading
from rag_evaluation_framework.files.strict_json import MAX_LINE_BYTES, numbered_lines
from rag_evaluation_framework.records.citations import ContextCitation, parse_citations

# What a raw offline record becomes in each split: pure functions from record to record.
#
# A raw record says everything under one of several names; the first that is there and not empty counts:
#
# =================  =============================================  ==================================
# field              qa split                                       summaries split
# =================  =============================================  ==================================
# what is asked      ``question``                                   ``instruction``
# the reference      ``reference_answer``                           ``reference_summary``
# =================  =============================================  ==================================
#
# What is asked comes from ``instruction`` or ``question``; the reference from ``expected_response``,
# ``answer`` or ``response``; the prompt from ``rag.prompt`` or ``rag_prompt``; the rest from ``rag``,
# else from the top level. A field that no split has (``rag.scores``, anything unknown) stays in the raw
# file, which ``task_id`` leads back to.
#
# The functions look into nothing that they only pass on, so a value may also be JSON text that was never
# decoded (:class:`msgspec.Raw`).

QUESTION_NAMES = ("instruction", "question")
REFERENCE_NAMES = ("expected_response", "answer", "response")
_RETRIEVAL_NAMES = frozenset({"contexts", "sources", "retrieved", "citations"})

# Where a retrieved citation may say its own number.
_NUMBER_FIELDS = ("number", "index", "label", "id")
_WRITTEN_NUMBER = re.compile(r"\[?([0-9]{1,9})\]?\Z")
_BRACKETED_NUMBER = re.compile(r"\[([0-9]{1,9})\]")

# Written once, since every record begins with them.
_FIRST_NUMBERS = tuple(f"[{number}] " for number in range(1, 21))

Record = dict[str, Any]


def qa_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the question answering split."""
    reference = first_text(record, REFERENCE_NAMES)
    retrieval = _retrieval(record)
    return {
        "task_id": record["task_id"],
        "task_type": record["task_type"],
        "question": first_text(record, QUESTION_NAMES),
        "reference_answer": reference,
        **retrieval,
        "answer_citations": answer_citations(record, reference),
        "metadata": record.get("metadata", {}),
    }


def summary_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the summarisation split."""
    return {
        "task_id": record["task_id"],
        "task_type": record["task_type"],
        "instruction": first_text(record, QUESTION_NAMES),
        "reference_summary": first_text(record, REFERENCE_NAMES),
        **_retrieval(record),
        "metadata": record.get("metadata", {}),
    }


SPLITS: Mapping[str, Callable[[Mapping[str, Any]], Record]] = {"qa": qa_record, "summaries": summary_record}
"""The splits by task type, which is also their name in the manifest."""


def reason_to_drop(mapped: Mapping[str, Any]) -> str | None:
    """Say why a split's record is of no use: it asks nothing, or has nothing to compare an answer with."""
    if not (mapped.get("question") or mapped.get("instruction")):
        return "missing_question"
    if not (mapped.get("reference_answer") or mapped.get("reference_summary")):
        return "missing_reference"
    return None


def first_text(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first text that is there and not blank; nothing where there is none."""
    for name in names:
        text: str | None = record.get(name)
        if text and not text.isspace():
            return text
    return ""


def numbered_contexts(contexts: Sequence[str]) -> list[str]:
    """Put each context's number before it, ``[1] …``; a context that bears its own already is left alone.

    >>> numbered_contexts(["tides", "[2] fares", "[9] is a reference"])
    ['[1] tides', '[2] fares', '[3] [9] is a reference']
    """
    return [
        context if context.startswith(number) else _numbered(context, number)
        for context, number in zip(contexts, _numbers(), strict=False)
    ]


def answer_citations(record: Mapping[str, Any], reference: str) -> list[Record]:
    """Return the citations of the reference: the record's own list, else the retrieved ones it uses.

    The record's own list is ``answer_citations`` or, where that is absent, ``citations`` at the top level.
    A retrieved citation is used when the reference has its number in brackets: ``[2]``, ``[1, 3]``,
    ``[1-3]``.
    """
    own: list[Record] | None = record.get("answer_citations", record.get("citations") or None)
    if own is not None:
        return own
    retrieved: list[Record] = record.get("rag", {}).get("citations", [])
    used = _used_numbers(reference) if retrieved else frozenset()
    if not used:
        return []
    numbers = _citation_numbers(retrieved)
    return [citation for number, citation in zip(numbers, retrieved, strict=True) if number in used]


def _retrieval(record: Mapping[str, Any]) -> Record:
    """Return what retrieval did, under the names that both splits have."""
    rag = record.get("rag", {})
    # In a flat record the top level stands in for ``rag``, name by name.
    said = rag if rag.keys() >= _RETRIEVAL_NAMES else {**record, **rag}
    contexts = said.get("contexts", [])
    sources = said.get("sources", [])
    if sources and len(sources) != len(contexts):
        path = "rag.sources" if "sources" in rag else "sources"
        raise invalid(
            path,
            f"one for each of the {counted(len(contexts), 'context')}",
            len(sources),
            code="wrong-length",
        )
    return {
        "rag_prompt": rag.get("prompt") or record.get("rag_prompt") or "",
        "contexts": numbered_contexts(contexts),
        "sources": sources,
        "retrieved": said.get("retrieved", []),
        "citations": said.get("citations", []),
    }


def _numbers() -> Iterator[str]:
    return chain(_FIRST_NUMBERS, (f"[{number}] " for number in count(len(_FIRST_NUMBERS) + 1)))


def _numbered(context: str, number: str) -> str:
    first = context[:1]
    if first != "[" and not first.isspace():
        return number + context
    text, bare = context.lstrip(), number.rstrip()
    return number + (text.removeprefix(bare).lstrip() if text.startswith(bare) else context)


def _used_numbers(reference: str) -> frozenset[int]:
    """Return the context numbers that a text cites."""
    plain = _BRACKETED_NUMBER.findall(reference)
    if len(plain) == reference.count("["):
        return frozenset(map(int, plain))
    # Lists, ranges and brackets that are something else need the whole grammar, which is slower.
    cited = (placed.citation for placed in parse_citations(reference).citations)
    return frozenset(citation.number for citation in cited if isinstance(citation, ContextCitation))


def _citation_numbers(citations: Sequence[Mapping[str, Any]]) -> Sequence[int]:
    """Return each citation's number: its own where every citation has one, else its place in the list."""
    for field in _NUMBER_FIELDS:
        if field in citations[0]:
            numbers = [_own_number(citation.get(field)) for citation in citations]
            if 0 not in numbers:
                return numbers
    return range(1, len(citations) + 1)


def _own_number(value: Any) -> int:
    """Return what a field of a citation says is its number, 0 where it says none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    match = _WRITTEN_NUMBER.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else 0


# Raw offline records, line by line, decoded quickly where a line is as it should be, and exactly
# elsewhere.
#
# A line is decoded straight into the types of its schema, and the prompt, the longest text, is left as it
# is written. A line that does not fit is read again by the general reader, which says what is wrong with
# it, or that nothing is.

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


# One line of raw records becomes one line of a split, without losing sight of what the line said.
#
# Decoding into types is quick and forgets two things: a key that is said twice, and a key that the types
# do not know. Both are found by counting. Every key has a colon, so a line has more colons than what was
# read from it exactly when a key was forgotten. What was read is mostly what is written into the split,
# so the colons of the written line are counted, less those that mapping added. A line that does not come
# out even is read again exactly.

# Each of these is passed on once, whole or (where it is blank, or numbers only) without a colon.
_PASSED_ON = frozenset({"task_id", "task_type", "instruction", "expected_response", "rag", "metadata"})
_PASSED_ON_OF_RAG = frozenset({"prompt", "contexts", "sources", "scores", "citations", "retrieved"})

_ESCAPED_COLON = re.compile(rb"\\u003[aA]")

_encode = msgspec.json.Encoder().encode


class SplitLine(NamedTuple):
    """What became of a raw line: the text for its split, or why it has none.

    ``text`` is ``None`` where the task type has no split, and where ``dropped`` gives a reason.
    """

    task_id: str
    task_type: str
    text: bytes | None = None
    dropped: str | None = None


def split_line(line: bytes, *, file: str, number: int) -> SplitLine:
    """Turn a raw line into a line of its split, or raise all that is wrong with it."""
    record = typed_record(line)
    if record is not None:
        try:
            mapped, result = _mapped(record)
        except InputError:
            pass  # something else may be wrong as well: read exactly
        else:
            if _is_told_whole(line, record, mapped, result.text):
                return result
    record = exact_record(line, file=file, number=number)
    try:
        return _mapped(record)[1]
    except InputError as error:
        raise error.located(file, number) from None


def _mapped(record: Mapping[str, Any]) -> tuple[Record | None, SplitLine]:
    task_id, task_type = record["task_id"], record["task_type"]
    mapping = SPLITS.get(task_type)
    if mapping is None:
        return None, SplitLine(task_id, task_type)
    mapped = mapping(record)
    if reason := reason_to_drop(mapped):
        return None, SplitLine(task_id, task_type, dropped=reason)
    return mapped, SplitLine(task_id, task_type, _encode(mapped))


def _is_told_whole(line: bytes, record: Record, mapped: Record | None, text: bytes | None) -> bool:
    """Tell whether a record says all that its line says, each key once."""
    rag = record.get("rag", {})
    added = 0
    if (
        text is None
        or mapped is None
        or not (record.keys() <= _PASSED_ON and rag.keys() <= _PASSED_ON_OF_RAG)
    ):
        text = _encode(record)
    else:
        added = len(mapped) - len(record) - len(rag)
        if answer_citations := mapped.get("answer_citations"):
            added += _encode(answer_citations).count(b":")
    return (
        _count(b":", line) == _count(b":", text) - added
        # An escaped colon counts in the record and not in the line.
        and _ESCAPED_COLON.search(line) is None
    )


def _count(character: bytes, text: bytes) -> int:
    # In prose, removing so rare a character takes less than half the time of counting it.
    return len(text) - len(text.replace(character, b""))
