"""Where a generated dataset goes: to LangSmith, or to the local folder where evaluations find the same name.

``destination`` is asked first and refuses what cannot work, so that no model is paid in vain; ``deliver``
brings the dataset there. A dataset that LangSmith does not take is kept in the local folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.dialects.langsmith import LANGSMITH
from rag_evaluation_framework.errors import TargetError, UsageError, shown
from rag_evaluation_framework.evaluation.hosted_datasets import API_KEYS, DATASETS_FOLDER
from rag_evaluation_framework.evaluation.retrieval_truth import CHUNKER, FINGERPRINTS
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.synthesis.drafts import Level
from rag_evaluation_framework.synthesis.generated_datasets import GENERATOR

_ADAPTER = "rag_evaluation_framework.adapters.langsmith_uploads:"
_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What an upload did: where the dataset can be seen, and how many examples it found in which state.

    ``others`` are examples in LangSmith's dataset of this name that are not in this one; they stay.
    """

    url: str | None
    added: int
    updated: int
    unchanged: int
    others: int


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a dataset is to go."""

    name: str
    is_langsmith: bool
    folder: Path

    @property
    def path(self) -> Path:
        """The local file of this name."""
        return self.folder / f"{self.name}.jsonl"


@dataclass(frozen=True, slots=True)
class Delivered:
    """Where a dataset went: a local file, or LangSmith."""

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
            f"upload_to_langsmith: expected an API key in {API_KEYS[0]}, got none; without an upload the "
            f"dataset is written to {place.path}, where evaluations find it by the same name"
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
        return Delivered(path=_written(told, place.path))
    try:
        return Delivered(upload=UPLOADS.get("langsmith")(told, place.name))
    except TargetError as error:
        kept = f"the dataset is kept in {_written(told, place.path)}"
        raise TargetError(error.kind, f"{error.message}; {kept}") from error
    except UsageError as error:
        raise UsageError(f"{error}; the dataset is kept in {_written(told, place.path)}") from error


def self_contained(dataset: Dataset) -> Dataset:
    """Return a dataset whose samples say in their metadata of what kind they are and what made them.

    LangSmith shows examples one by one and has no other place for that, and its files have no place for
    fields of a whole dataset.
    """
    metadata = {name: value for name, value in dataset.metadata.items() if name != FINGERPRINTS}
    samples = tuple(_labelled(sample, dataset.metadata) for sample in dataset.samples)
    return replace(dataset, samples=samples, metadata=metadata)


def _labelled(sample: Sample, of_dataset: Mapping[str, Any]) -> Sample:
    moved: dict[str, Any] = {"category": None, "query_type": None, "difficulty": None, "tags": ()}
    labels = {name: getattr(sample, name) for name in moved}
    labels |= {"tags": list(sample.tags), "reference_answer": sample.reference}
    moved["reference"] = None
    told = {name: value for name, value in labels.items() if value not in (None, [])}
    return replace(sample, metadata={**told, **_origins(sample, of_dataset), **sample.metadata}, **moved)


def _origins(sample: Sample, of_dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sample was made with, and the documents it was made from as they were then."""
    origins = {CHUNKER: of_dataset[CHUNKER]} if CHUNKER in of_dataset else {}
    generator = of_dataset.get(GENERATOR)
    if isinstance(generator, Mapping):
        origins["generation_model"] = generator.get("model") or generator.get("name")
    documents = {*sample.relevant_documents, *(span.file for span in sample.relevant_spans)}
    recorded = of_dataset.get(FINGERPRINTS)
    if isinstance(recorded, Mapping) and (known := sorted(documents & recorded.keys())):
        origins[FINGERPRINTS] = {name: recorded[name] for name in known}
    return origins


def _written(dataset: Dataset, path: Path) -> Path:
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
        is_path = Path(name).exists()
    except OSError:  # the name is too long
        raise refusal from None
    if not is_inside:
        raise refusal
    if is_path:
        raise UsageError(
            f"dataset_name: expected a name that is no path, got {shown(name)}, which is one: evaluations "
            "would read what is there"
        )
    return name
