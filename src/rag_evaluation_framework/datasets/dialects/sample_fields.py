"""The names of what a sample or dataset says, so that a dialect can declare which of them it holds.

=============================  ===========================================================================
name                           present when
=============================  ===========================================================================
``id``                         the sample has an id of its own, not one made from its content
``question``                   there is one turn, of the user, and it has words
``turns``                      there is more than that; who holds ``turns`` holds ``question`` too
``reference``                  there is an expected answer
``recorded.contexts`` …        also ``.sources .retrieved .citations .prompt .answer``; ``recorded`` is all
``reference_contexts``         there are contexts that hold the truth
``relevant_documents``         there are relevant documents
``grades``                     a relevant document has another grade than 1
``relevant_spans``             there are relevant characters: file, start, end
``relevant_spans.text`` …      also ``.page .confidence .extra``: a span says more than its place
``relevant_chunk_ids``         there are relevant chunks
``expectation.refusal`` …      also ``.entities .relation .milestones``; ``expectation`` is all
``expectation.reason`` …       also ``.pattern``: why and how the system refuses; in ``expectation`` too
``category`` ``difficulty`` ``query_type`` ``tags`` ``metadata``
``extra.<field>``              its file said what has no place in a sample; only its dialect holds it
``dataset.<field>``            of a dataset: ``dataset_id name version description created_at metadata``
``dataset.documents``          there are documents: id and content
``dataset.documents.title`` …  also ``.metadata .extra``: a document says more than its content
=============================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialects.sample_ids import has_content_id
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn

_RECORDED = ("contexts", "sources", "retrieved", "citations", "prompt", "answer")
_SPAN = ("text", "page", "confidence", "extra")
_LABELS = ("category", "difficulty", "query_type", "tags", "metadata")
_HEAD = ("dataset_id", "name", "version", "description", "created_at", "metadata")
_COVERING = ("recorded", "expectation")


def is_held(name: str, holds: frozenset[str]) -> bool:
    """Tell whether a dialect that declares ``holds`` keeps what the name stands for."""
    if name in holds or (name == "question" and "turns" in holds):
        return True
    first = name.partition(".")[0]
    return first in _COVERING and first in holds


def sample_fields(sample: Sample) -> Iterator[str]:
    """Yield the name of everything the sample says, each once, in the order of the table above."""
    if not has_content_id(sample):
        yield "id"
    yield from _asked(sample.turns)
    if sample.reference is not None:
        yield "reference"
    if sample.recorded is not None:
        yield from (f"recorded.{name}" for name in _RECORDED if _says(getattr(sample.recorded, name)))
    if sample.reference_contexts:
        yield "reference_contexts"
    if sample.relevant_documents:
        yield "relevant_documents"
        if any(grade != 1 for grade in sample.relevant_documents.values()):
            yield "grades"
    if sample.relevant_spans:
        yield "relevant_spans"
        for name in _SPAN:
            if any(_says(getattr(span, name)) for span in sample.relevant_spans):
                yield f"relevant_spans.{name}"
    if sample.relevant_chunk_ids:
        yield "relevant_chunk_ids"
    yield from _expected(sample)
    yield from (name for name in _LABELS if _says(getattr(sample, name)))
    yield from _extra_fields(sample.extra, "extra")


def dataset_fields(dataset: Dataset) -> Iterator[str]:
    """Yield the name of everything the dataset says beside its samples."""
    yield from (f"dataset.{name}" for name in _HEAD if _says(getattr(dataset, name)))
    if dataset.documents:
        yield "dataset.documents"
    names = {name: None for document in dataset.documents for name in _document_fields(document)}
    yield from (f"dataset.documents.{name}" for name in names)
    yield from _extra_fields(dataset.extra, "dataset.extra")


def _asked(turns: tuple[Turn, ...]) -> Iterator[str]:
    first = turns[0]
    if len(turns) > 1 or first != Turn(role="user", content=first.content):
        yield "turns"
    elif first.content:
        yield "question"


def _expected(sample: Sample) -> Iterator[str]:
    expectation = sample.expectation
    if expectation is None:
        return
    yield f"expectation.{type(expectation).__name__.lower()}"
    if isinstance(expectation, Refusal):
        if expectation.reason is not None:
            yield "expectation.reason"
        if expectation.pattern is not None:
            yield "expectation.pattern"


def _document_fields(document: Document) -> Iterator[str]:
    if document.title is not None:
        yield "title"
    if document.metadata:
        yield "metadata"
    yield from _extra_fields(document.extra, "extra")


def _extra_fields(extra: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the fields that say something; one that is there but empty says nothing."""
    for name, value in extra.items():
        if isinstance(value, Mapping):
            yield from _extra_fields(value, f"{prefix}.{name}")
        elif _says(value):
            yield f"{prefix}.{name}"


def _says(value: Any) -> bool:
    """Tell whether a value says anything: text may be empty and yet be meant, containers not."""
    return value is not None and value != () and value != [] and value != {}
