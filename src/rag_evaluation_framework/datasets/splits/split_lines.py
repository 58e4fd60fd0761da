"""One line of raw records becomes one line of a split, without losing sight of what the line said.

Decoding into types is quick and forgets two things: a key that is said twice, and a key that the types do
not know. Both are found by counting. Every key has a colon, so a line has more colons than what was read from
it exactly when a key was forgotten. What was read is mostly what is written into the split, so the colons of
the written line are counted, less those that mapping added. A line that does not come out even is read again
exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from rag_evaluation_framework.datasets.splits.offline_lines import exact_record, typed_record
from rag_evaluation_framework.datasets.splits.split_mapping import SPLITS, Record, reason_to_drop
from rag_evaluation_framework.errors import InputError

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
