"""Drafts to samples, files, LangSmith.

A sample has the characters that answer it, with their text, and the ids of the chunks they are in. The
dataset says which documents it was made from (their SHA-256), by what, with which chunker at chunk level, and
how many questions were rejected or flagged for which reason.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS, KIND
from rag_evaluation_framework.datasets.langsmith_examples import LANGSMITH
from rag_evaluation_framework.errors import TargetError, UsageError, invalid, refused, shown
from rag_evaluation_framework.evaluation.data import API_KEYS, DATASETS_FOLDER
from rag_evaluation_framework.evaluation.retrieval_truth import CHUNKER, FINGERPRINTS
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker, Registry, component_text
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.records.chunks import (
    PositionAwareChunk,
    generate_chunk_id,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset, Refusal, Sample, Turn
from rag_evaluation_framework.retrieval.pipeline import UNPLACED, chunk_corpus
from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Excerpt, Level

GENERATOR = "generator"
"""The key under which a dataset's metadata says what made it."""

REJECTED = "rejected"
"""The key under which a dataset's metadata counts the rejected questions by reason."""

FLAGGED = "flagged"
"""The key under which a dataset's metadata counts the questions that were kept with a flag."""

FLAGS = "flags"
"""The key under which a sample's metadata lists its flags."""

_MODEL = "generation_model"
_DESCRIPTIONS = {
    "chunk": "Ground truth for chunk-level RAG evaluation",
    "token": "Ground truth for token-level RAG evaluation (character spans)",
}

# A chunk is relevant if it has this share of an excerpt; of an excerpt cut finer, every large part is.
_SHARE_OF_EXCERPT = 0.5


def dataset_of(
    drafts: Drafts,
    corpus: Corpus,
    *,
    level: Level,
    chunker: Chunker | PositionAwareChunker | None = None,
    generator: Mapping[str, Any],
) -> Dataset:
    """Return the drafts as a dataset; at chunk level, those without chunk ids get those of their chunks.

    An excerpt that is not the text of its document at its place is refused: it was made from another
    document.
    """
    chunks = _ChunkPlaces(corpus, chunker) if level == "chunk" else None
    digits = max(3, len(str(len(drafts.kept))))
    samples = []
    for number, draft in enumerate(drafts.kept, start=1):
        _check(draft, corpus)
        samples.append(_sample(f"q{number:0{digits}}", draft, chunks))
    metadata: dict[str, Any] = {
        "size": len(samples),
        "level": level,
        GENERATOR: dict(generator),
        REJECTED: dict(drafts.counts()),
        FLAGGED: dict(drafts.flagged()),
        FINGERPRINTS: corpus.fingerprints,
    }
    if chunks is not None:
        metadata[CHUNKER] = chunks.name
    return Dataset(samples=tuple(samples), dialect=KIND, metadata=metadata)


def _check(draft: Draft, corpus: Corpus) -> None:
    for excerpt in draft.excerpts:
        text = corpus[excerpt.doc_id].content[excerpt.start : excerpt.end]
        if not excerpt.text or text != excerpt.text:
            found = f"{excerpt.text!r} at {excerpt.start}-{excerpt.end}"
            raise invalid("excerpts", f"text of {excerpt.doc_id!r}", found, code="misplaced-excerpt")


def _sample(sample_id: str, draft: Draft, chunks: _ChunkPlaces | None) -> Sample:
    ids: tuple[str, ...]
    if chunks is None:
        ids = tuple(dict.fromkeys(generate_pa_chunk_id(excerpt.text) for excerpt in draft.excerpts))
    else:
        ids = draft.chunk_ids or chunks.of(draft)
    return Sample(
        id=sample_id,
        turns=(Turn(role="user", content=draft.question),),
        reference=draft.answer,
        relevant_documents=dict.fromkeys((excerpt.doc_id for excerpt in draft.excerpts), 1),
        relevant_spans=tuple(
            SpanCitation(excerpt.doc_id, excerpt.start, excerpt.end, text=excerpt.text)
            for excerpt in draft.excerpts
        ),
        relevant_chunk_ids=ids,
        expectation=None if draft.excerpts or draft.chunk_ids else Refusal(),
        difficulty=draft.difficulty,
        query_type=draft.kind,
        metadata={FLAGS: list(draft.flags)} if draft.flags else {},
    )


class _ChunkPlaces:
    """The chunks of a corpus by one chunker, found by the characters they cover."""

    def __init__(self, corpus: Corpus, chunker: Chunker | PositionAwareChunker | None) -> None:
        if chunker is None:
            raise UsageError(
                "chunker is missing; level=chunk needs one, because chunk ids are valid for one chunker only"
            )
        self.name = component_text(chunker)
        self._chunks: defaultdict[str, list[PositionAwareChunk]] = defaultdict(list)
        for chunk in chunk_corpus(corpus, chunker).chunks:
            if not chunk.metadata.get(UNPLACED):
                self._chunks[chunk.doc_id].append(chunk)
        self._starts = {doc_id: [chunk.start for chunk in chunks] for doc_id, chunks in self._chunks.items()}

    def of(self, draft: Draft) -> tuple[str, ...]:
        """Return the ids of the chunks that hold most of a draft's excerpts."""
        found = [chunk for excerpt in draft.excerpts for chunk in self._holding(excerpt)]
        return tuple(dict.fromkeys(generate_chunk_id(chunk.content) for chunk in found))

    def _holding(self, excerpt: Excerpt) -> list[PositionAwareChunk]:
        """Return the chunks with a large share of an excerpt; where none has one, those with the most."""
        chunks = self._chunks[excerpt.doc_id]
        last = bisect_right(self._starts.get(excerpt.doc_id, []), excerpt.end - 1)
        shared = {
            number: min(chunk.end, excerpt.end) - max(chunk.start, excerpt.start)
            for number, chunk in enumerate(chunks[:last])
            if chunk.end > excerpt.start
        }
        most = max(shared.values(), default=0)
        least = min(_SHARE_OF_EXCERPT * excerpt.size, most)
        return [chunks[number] for number, size in shared.items() if size >= least]


# Where a generated dataset goes: to LangSmith, or to the local folder where evaluations find the same name.
#
# ``destination`` is asked first and refuses what cannot work, so that no model is paid in vain;
# ``deliver`` brings the dataset there. A dataset that LangSmith does not take is kept in the local
# folder.

_ADAPTER = "rag_evaluation_framework.adapters.langsmith:"
_DIGITS = 8


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an upload: the address of the dataset, and the numbers of examples by their state.

    ``others`` are examples in LangSmith's dataset of this name that are not in this one; they stay.
    """

    url: str | None
    added: int
    updated: int
    unchanged: int
    others: int


class Destination(msgspec.Struct, frozen=True):
    """The destination of a dataset."""

    name: str
    is_langsmith: bool
    folder: Path

    @property
    def path(self) -> Path:
        """The local file of this name."""
        return self.folder / f"{self.name}.jsonl"


class Delivered(msgspec.Struct, frozen=True):
    """The place of a written dataset, and its name for evaluations: a local file, or LangSmith."""

    name: str
    path: Path | None = None
    upload: Upload | None = None


UPLOADS: Registry[Callable[[Dataset, str], Upload]] = Registry("dataset_upload")
UPLOADS.register("langsmith", f"{_ADAPTER}upload_to_langsmith")
UPLOAD_CHECKS: Registry[Callable[[str], None]] = Registry("dataset_upload_check")
UPLOAD_CHECKS.register("langsmith", f"{_ADAPTER}check_langsmith")


def destination(
    dataset_name: str | None,
    *,
    upload_to_langsmith: bool,
    default_name: str,
    folder: str | Path = DATASETS_FOLDER,
) -> Destination | None:
    """Return where a dataset is to go, or ``None`` if it is to go nowhere.

    An upload without a key is an error at once, and so is a key that LangSmith refuses.
    """
    if dataset_name is None and not upload_to_langsmith:
        return None
    name = default_name if dataset_name is None else dataset_name
    place = Destination(_checked(name, Path(folder)), upload_to_langsmith, Path(folder))
    if not upload_to_langsmith:
        return place
    if not any(os.environ.get(key, "").strip() for key in API_KEYS):
        raise UsageError(
            f"upload_to_langsmith needs an API key. Set {API_KEYS[0]}, or write the dataset to "
            f"{place.path} without an upload; evaluations find it there by the same name"
        )
    UPLOAD_CHECKS.get("langsmith")(name)
    return place


def default_dataset_name(level: Level, corpus: Corpus) -> str:
    """Return a name that stays the same for the same documents."""
    texts = "\n".join(f"{name} {digest}" for name, digest in corpus.fingerprints.items())
    return f"rag-eval-{level}-level-{hashlib.sha256(texts.encode()).hexdigest()[:_DIGITS]}"


def deliver(dataset: Dataset, place: Destination) -> Delivered:
    """Bring a dataset to where it is to go; doing so again changes nothing."""
    told = self_contained(dataset)
    if not place.is_langsmith:
        return Delivered(place.name, path=_write_dataset(told, place.path))
    try:
        return Delivered(place.name, upload=UPLOADS.get("langsmith")(told, place.name))
    except TargetError as error:
        kept = f"the dataset is saved in {_write_dataset(told, place.path)}"
        raise TargetError(error.kind, f"{error.message}; {kept}") from error
    except UsageError as error:
        raise UsageError(f"{error}; the dataset is saved in {_write_dataset(told, place.path)}") from error


def self_contained(dataset: Dataset) -> Dataset:
    """Return a dataset whose samples say in their metadata of what kind they are and what made them.

    LangSmith shows examples one by one and has no other place for that, and its files have no place for
    fields of a whole dataset.
    """
    metadata = {name: value for name, value in dataset.metadata.items() if name != FINGERPRINTS}
    samples = tuple(_labelled(sample, dataset.metadata) for sample in dataset.samples)
    description = dataset.description or _DESCRIPTIONS.get(metadata.get("level", ""))
    return replace(dataset, samples=samples, metadata=metadata, description=description)


def _labelled(sample: Sample, of_dataset: Mapping[str, Any]) -> Sample:
    moved: dict[str, Any] = {"category": None, "query_type": None, "difficulty": None, "tags": ()}
    labels = {name: getattr(sample, name) for name in moved}
    labels |= {"tags": list(sample.tags), "reference_answer": sample.reference}
    moved["reference"] = None
    told = {name: value for name, value in labels.items() if value not in (None, [])}
    origins = _origins(sample, of_dataset)
    # Within the outputs too, where people look for it beside the ids.
    within = {"source_docs": list(sample.relevant_documents)} if sample.relevant_documents else {}
    within |= {name: origins[name] for name in (_MODEL,) if origins.get(name)}
    extra = {"metadata": {}, "outputs": {"metadata": within}} if within else {}
    return replace(sample, metadata={**told, **origins, **sample.metadata}, extra=extra, **moved)


def _origins(sample: Sample, of_dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sample was made with, and the documents it was made from as they were then."""
    origins = {CHUNKER: of_dataset[CHUNKER]} if CHUNKER in of_dataset else {}
    generator = of_dataset.get(GENERATOR)
    if isinstance(generator, Mapping):
        origins[_MODEL] = generator.get("model") or generator.get("name")
    documents = {*sample.relevant_documents, *(span.file for span in sample.relevant_spans)}
    recorded = of_dataset.get(FINGERPRINTS)
    if isinstance(recorded, Mapping) and (known := sorted(documents & recorded.keys())):
        origins[FINGERPRINTS] = {name: recorded[name] for name in known}
    return origins


def _write_dataset(dataset: Dataset, path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", path, error) from error
    LANGSMITH.write(dataset, path)
    return path


def _checked(name: str, folder: Path) -> str:
    refusal = UsageError(f"dataset_name: expected a name such as 'handbook-token-level', got {shown(name)}")
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise refusal
    try:
        is_inside = (folder / f"{name}.jsonl").resolve().is_relative_to(folder.resolve())
        is_path = bool(Path(name).stat())
    except (FileNotFoundError, NotADirectoryError):
        is_path = False
    except OSError:  # the name is too long
        raise refusal from None
    if not is_inside:
        raise refusal
    if is_path:
        raise UsageError(
            f"dataset_name: expected a name that is not a path, got {shown(name)}, which exists; evaluations "
            "would read that file"
        )
    return name


# Generated datasets as files: evaluation datasets, or examples in LangSmith's shape.


def dialect_of(path: str | Path, given: str | None = None, *, level: Level = "token") -> str:
    """Return the dialect to write: the one named, or that of the file's ending; it must hold the level."""
    name = plain_name(path)
    if given is not None:
        dialect = given
    elif name.endswith((".jsonl", ".langsmith.json")):
        dialect = "langsmith"
    elif name.endswith((".json", ".yaml", ".yml", ".csv")):
        dialect = "evaluation-dataset"
    else:
        endings = ".eval.json, .eval.yaml, .eval.csv or .jsonl"
        raise UsageError(f"{path}: expected a name that ends in {endings}, or --format")
    if level == "chunk" and dialect != "langsmith":
        raise UsageError(
            f"{path}: {dialect} cannot store chunk ids. At chunk level, write a .jsonl file (langsmith)"
        )
    return dialect


def write_generated(dataset: Dataset, path: str | Path, *, dialect: str) -> None:
    """Write a generated dataset; where a file has no head, each sample says what the head would."""
    if dialect == "langsmith":
        LANGSMITH.write(self_contained(dataset), Path(path))
        return
    EVALUATION_SETS.write(dataset, Path(path))
