"""Results of LangChain, LlamaIndex, Haystack and DSPy, as plain values; no framework is imported.

An object is recognized by its attributes and not by its class name:

===============  ========================================================================================
a context        ``page_content`` and ``metadata`` (LangChain); ``node`` and ``score``, or a node with
                 ``get_content`` (LlamaIndex); ``content`` and ``meta`` (Haystack); ``long_text`` (DSPy);
                 a pair of one of these and its score
a message        ``content`` or ``text``, and ``type`` or ``role``
a response       ``response`` and ``source_nodes`` (LlamaIndex), also as a stream
an answer        ``data`` and ``query``, with ``documents`` or a ``document`` (Haystack)
a prediction     ``toDict`` and ``keys`` (DSPy)
===============  ========================================================================================

A context becomes ``{"text", "source", "score"}``: the source is what its metadata say it is from, else the
document or the id that it has itself. One that is a dictionary keeps its ``start`` and ``end`` besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from rag_evaluation_framework.datasets.field_names import Message, are_names, message_of, read_item, table
from rag_evaluation_framework.files.strict_json import drop_nulls

Row = dict[str, Any]

QUESTIONS = ("question", "query", "input", "user_input", "user_query", "text", "prompt")
"""Names of an input that takes the question, the surest first."""


def plain_object(value: Any) -> Any:
    """Return an object of a framework as a dictionary or a text; ``None`` if it is no such object.

    >>> from types import SimpleNamespace as Object
    >>> plain_object(Object(page_content="A ferry.", metadata={"source": "ferry.md"}))
    {'text': 'A ferry.', 'source': 'ferry.md'}
    """
    for read in (_context, _response, _answer_of_haystack, _prediction):
        if (found := read(value)) is not None:
            return found
    said = None if isinstance(value, Mapping | list | tuple) else _message(value)
    return None if said is None else {"role": said.role, "content": said.text or ""}


def read_result(value: Any) -> Row | None:
    """Return the result of a chain, an engine, a pipeline or a module as a row.

    The row has ``answer``, ``contexts``, ``question`` and ``usage``, each where the result has it; the row is
    ``None`` without an answer and contexts.
    """
    if isinstance(value, str):
        return {"answer": value}
    if isinstance(value, Mapping):
        return _of_pipeline(value) or _of_mapping(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        contexts = _contexts(value)
        if contexts is not None:
            return {"contexts": contexts}
        return read_result(value[-1]) if value and _message(value[-1]) else None
    read = plain_object(value)
    if isinstance(read, dict) and "role" in read:
        return drop_nulls({"answer": read["content"], "usage": _usage(value)})
    if isinstance(read, dict) and "text" in read:
        return {"contexts": [read]}
    return _of_mapping(read) if isinstance(read, dict) else None


def pipeline_result(value: Any) -> Row | None:
    """Return what a Haystack pipeline returned as a row; ``None`` if it is something else."""
    return _of_pipeline(value) if isinstance(value, Mapping) else None


# One object.


def _context(value: Any) -> Row | None:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int | float):
        read = _context(value[0])
        return None if read is None else _scored(read, value[1])
    if _is_plain(value):
        return None
    if hasattr(value, "node") and hasattr(value, "score"):  # LlamaIndex: a node and its score
        read = _context(value.node)
        return None if read is None else _scored(read, value.score)
    for content, about in (("page_content", "metadata"), ("content", "meta"), ("text", "metadata")):
        text, metadata = getattr(value, content, None), getattr(value, about, None)
        if isinstance(text, str) and isinstance(metadata, Mapping) and _message(value) is None:
            return _made(text, metadata, value)
    if isinstance(text := getattr(value, "long_text", None), str):
        return _made(text, {}, value)
    return None


def _made(text: str, metadata: Mapping[Any, Any], value: Any) -> Row:
    item = read_item(metadata)
    told = (
        item.source,
        *(getattr(value, name, None) for name in ("ref_doc_id", "id", "id_", "node_id", "pid")),
    )
    source = next((str(name) for name in told if isinstance(name, str | int) and str(name)), None)
    read = {"text": text} if source is None else {"text": text, "source": source}
    score = getattr(value, "score", None)
    return _scored(read, item.score if score is None else score)


def _scored(read: Row, score: Any) -> Row:
    try:
        number = float(score)  # numpy's numbers too
    except (TypeError, ValueError):
        return read
    return {**read, "score": number} if isfinite(number) else read


def _response(value: Any) -> Row | None:
    """Read a response of LlamaIndex; one that is still a stream is read to its end."""
    if _is_plain(value) or not isinstance(nodes := getattr(value, "source_nodes", None), list | tuple):
        return None
    text = getattr(value, "response", None)
    if text is None and callable(whole := getattr(value, "get_response", None)):
        text = getattr(whole(), "response", None)
    read: Row = {} if text is None else {"answer": str(text)}
    contexts = _contexts(nodes)
    return read if contexts is None else {**read, "contexts": contexts}


def _answer_of_haystack(value: Any) -> Row | None:
    if _is_plain(value) or not (hasattr(value, "data") and hasattr(value, "query")):
        return None
    documents = getattr(value, "documents", None)
    if documents is None and (document := getattr(value, "document", None)) is not None:
        documents = [document]
    return drop_nulls({"question": value.query, "answer": value.data, "contexts": _contexts(documents or ())})


def _prediction(value: Any) -> Row | None:
    if _is_plain(value) or not (callable(getattr(value, "toDict", None)) and hasattr(value, "keys")):
        return None
    return {str(name): value[name] for name in value.keys()}  # noqa: SIM118 - it is no mapping


def _message(value: Any) -> Message | None:
    """Return a message, also an object: who wrote it is its ``type`` with LangChain, else its ``role``."""
    if not _is_plain(value) and (hasattr(value, "content") or hasattr(value, "text")):
        content, text = getattr(value, "content", None), getattr(value, "text", None)
        told = content if isinstance(content, str | list) else text
        value = {"role": getattr(value, "role", None) or getattr(value, "type", None), "content": told}
    return message_of(value)


def _usage(message: Any) -> Row | None:
    told = getattr(message, "usage_metadata", None)
    return dict(told) if isinstance(told, Mapping) else None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes | int | float | Mapping | list | tuple | type)


# Results of several parts.


def _contexts(values: Any) -> list[Row] | None:
    """Return contexts as plain rows, if all of them are contexts; there may be none."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return None
    read = [_context(value) or _plain_context(value) for value in values]
    return None if None in read else [each for each in read if each is not None]


def _plain_context(value: Any) -> Row | None:
    """Return a context that is written as a dictionary."""
    if not isinstance(value, Mapping) or message_of(value) is not None:
        return None
    read = read_item(value)
    if read.text is None:
        return None
    found = drop_nulls({"text": read.text, "source": read.source, "score": read.score})
    return found | {name: value[name] for name in ("start", "end") if type(value.get(name)) is int}


def _of_mapping(value: Mapping[Any, Any]) -> Row | None:
    """Return what a dictionary tells under the names that chains and predictions give their parts."""
    row: Row = {}
    for name in table().ranks["contexts"]:
        told = value.get(name)
        if isinstance(told, str) and told.strip():
            told = [{"text": told}]
        elif isinstance(told, list | tuple) and all(isinstance(each, str) for each in told):
            if are_names(told, name):
                continue
            told = [{"text": each} for each in told]
        contexts = _contexts(told)
        if contexts is not None:
            row["contexts"] = contexts
            break
    for name in (*table().ranks["answer"], "text", "content", "messages"):
        told = value.get(name)
        if told is None:
            continue
        inner = read_result(told)
        if inner is not None and "answer" in inner:
            row = {**inner, **row}
            break
    asked = next((value[name] for name in QUESTIONS if isinstance(value.get(name), str)), None)
    if asked is not None and asked != row.get("answer"):
        row.setdefault("question", asked)
    return row if "answer" in row or "contexts" in row else None


def _of_pipeline(value: Mapping[Any, Any]) -> Row | None:
    """Return what the components of a Haystack pipeline put out: an answer, else replies and documents.

    Of several that put out documents the last counts: what a ranker leaves of what a retriever found.
    """
    if not value or not all(isinstance(part, Mapping) for part in value.values()):
        return None
    row: Row = {}
    for outputs in value.values():
        if documents := outputs.get("documents"):
            row["contexts"] = _contexts(documents)
        elif documents == []:
            row.setdefault("contexts", [])
        for name in ("replies", "last_message"):
            told = outputs.get(name)
            if told and (said := read_result(told if name != "replies" else told[0])) is not None:
                row |= {part: said[part] for part in ("answer", "usage") if part in said}
        answers = outputs.get("answers")
        if isinstance(answers, Sequence) and answers and (best := _answer_of_haystack(answers[0])):
            row |= {part: told for part, told in best.items() if told or part not in row}
    return drop_nulls(row) or None
