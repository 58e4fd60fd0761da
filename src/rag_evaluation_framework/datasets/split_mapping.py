"""Raw offline records, line by line, and what each becomes in its split."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.errors import InputError, counted, invalid
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import MAX_LINE_BYTES, open_reading
from rag_evaluation_framework.files.strict_json import numbered_lines
from rag_evaluation_framework.records.citations import ContextCitation, parse_citations

# A raw record says everything under one of several names; the first that is there and not empty counts:
#
# =================  ==========================  ======================  ======================
# field              qa and citations splits     summaries split         retrieval split
# =================  ==========================  ======================  ======================
# what is asked      ``question``                ``instruction``         ``question``
# the truth          ``reference_answer``        ``reference_summary``   ``relevant_chunk_ids``
# =================  ==========================  ======================  ======================
#
# What is asked comes from ``instruction`` or ``question``; the reference from ``expected_response``,
# ``reference_answer``, ``reference_summary``, ``answer`` or ``response``, that of a citation task also from
# the numbers of its citations; the relevant chunks from ``relevant_chunk_ids``, else from
# ``metadata.selected_chunk_ids``; the prompt from ``rag.prompt`` or ``rag_prompt``; the rest from ``rag``,
# else from the top level. ``rag.scores`` go into ``retrieved`` where that has none. A field that no split
# has stays in the raw file, which ``task_id`` leads back to.

QUESTION_NAMES = ("instruction", "question")
REFERENCE_NAMES = ("expected_response", "reference_answer", "reference_summary", "answer", "response")
_RETRIEVAL_NAMES = frozenset({"contexts", "sources", "retrieved", "citations"})
CHUNK_IDS = "selected_chunk_ids"
"""Metadata field, in a raw record, with the ids of the chunks that have the answer."""

# Where a retrieved citation may say its own number.
_NUMBER_FIELDS = ("number", "index", "label", "id")
_WRITTEN_NUMBER = re.compile(r"\[?([0-9]{1,9})\]?\Z")
_BRACKETED_NUMBER = re.compile(r"\[([0-9]{1,9})\]")

# Written once, since every record begins with them.
_FIRST_NUMBERS = tuple(f"[{number}] " for number in range(1, 21))

Record = dict[str, Any]


def _record(record: Mapping[str, Any], said: Record, **more: Any) -> Record:
    """Return the record of a split: which task it is, what is ``said``, what retrieval did, and metadata."""
    task = {name: record[name] for name in ("task_id", "task_type")}
    return {**task, **said, **_retrieval(record), **more, "metadata": record.get("metadata", {})}


def qa_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the question answering split."""
    reference = first_text(record, REFERENCE_NAMES)
    said: Record = {"question": first_text(record, QUESTION_NAMES), "reference_answer": reference}
    return _record(record, said, answer_citations=answer_citations(record, reference))


def summary_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the summarisation split."""
    asked, reference = first_text(record, QUESTION_NAMES), first_text(record, REFERENCE_NAMES)
    return _record(record, {"instruction": asked, "reference_summary": reference})


def citation_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the split of citation tasks, which has the fields of question answering.

    The reference is what should be cited; where the raw record has no text for it, the numbers of its
    citations: ``[2][3]``.
    """
    mapped = qa_record(record)
    cited = mapped["answer_citations"] or mapped["citations"]
    if not mapped["reference_answer"] and cited:
        numbers = dict.fromkeys(_citation_numbers(cited))
        mapped |= {"reference_answer": "".join(f"[{n}]" for n in numbers), "answer_citations": cited}
    return mapped


def retrieval_record(record: Mapping[str, Any]) -> Record:
    """Return the record of the split of retrieval diagnostics: what was retrieved, and what is relevant."""
    relevant = record.get("relevant_chunk_ids") or record.get("metadata", {}).get(CHUNK_IDS)
    chunk_ids = relevant if is_texts(relevant) else []
    return _record(record, {"question": first_text(record, QUESTION_NAMES), "relevant_chunk_ids": chunk_ids})


def is_texts(value: Any) -> bool:
    """Return True if a value is a list of texts that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


SPLITS: Mapping[str, Callable[[Mapping[str, Any]], Record]] = {
    "qa": qa_record,
    "summaries": summary_record,
    "citations": citation_record,
    "retrieval": retrieval_record,
}
"""The splits by task type, which is also their name in the manifest."""


def reason_to_drop(mapped: Mapping[str, Any]) -> str | None:
    """Return the problem with a split's record: no question, or nothing to compare with."""
    if not (mapped.get("question") or mapped.get("instruction")):
        return "missing_question"
    if "relevant_chunk_ids" in mapped:
        return None if mapped["relevant_chunk_ids"] else "missing_relevant_chunks"
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

    The record's own list is ``answer_citations`` or, where that is absent, ``citations`` at the top level. A
    retrieved citation is used when the reference has its number in brackets: ``[2]``, ``[1, 3]``, ``[1-3]``.
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
    retrieved, scores = said.get("retrieved", []), said.get("scores", [])
    if scores and len(scores) == len(retrieved) and not any("score" in each for each in retrieved):
        retrieved = [
            {**each, "score": score} if score is not None else each
            for each, score in zip(retrieved, scores, strict=True)
        ]
    return {
        "rag_prompt": rag.get("prompt") or record.get("rag_prompt") or "",
        "contexts": numbered_contexts(contexts),
        "sources": sources,
        "retrieved": retrieved,
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


# Lines of raw records, and what becomes of each.


def offline_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield every line of a file that is not blank with its 1-based number."""
    with open_reading(path, max_line_bytes=None) as stream:
        for number, line in numbered_lines(stream, file=str(path), max_line_bytes=MAX_LINE_BYTES):
            if isinstance(line, InputError):
                raise line.located(str(path), number)
            yield number, line.rstrip(b"\r\n")


class SplitLine(NamedTuple):
    """The outcome of a raw line: the record of its split, or the reason for having none.

    ``mapped`` is ``None`` where the task type has no split, and where ``dropped`` gives a reason.
    """

    task_id: str
    task_type: str
    mapped: Record | None = None
    dropped: str | None = None


def split_line(line: bytes, *, file: str, number: int) -> SplitLine:
    """Turn a raw line into a record of its split, or raise all that is wrong with it."""
    record: Record = strict_json.decode(line, file=file, line=number)
    if issues := schema_issues("offline-record", record):
        raise InputError(issues).located(file, number)
    task_id, task_type = record["task_id"], record["task_type"]
    if task_type not in SPLITS:
        return SplitLine(task_id, task_type)
    try:
        mapped = SPLITS[task_type](record)
    except InputError as error:
        raise error.located(file, number) from None
    if reason := reason_to_drop(mapped):
        return SplitLine(task_id, task_type, dropped=reason)
    return SplitLine(task_id, task_type, mapped)
