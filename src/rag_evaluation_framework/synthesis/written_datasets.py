"""Generated datasets as files: evaluation datasets, or examples in LangSmith's shape."""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.datasets.dialects.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.datasets.dialects.langsmith import LANGSMITH
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.files.compression import plain_name
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.synthesis.uploading import self_contained

FORMATS = ("evaluation-dataset", "langsmith")
"""The dialects in which generated datasets are written; ``rag-eval convert`` converts them to others."""


def format_of(path: str | Path, given: str | None = None) -> str:
    """Return the dialect to write: the one named, or that of the file's ending."""
    name = plain_name(path)
    if given is not None:
        return given
    if name.endswith((".jsonl", ".langsmith.json")):
        return "langsmith"
    if name.endswith((".json", ".yaml", ".yml", ".csv")):
        return "evaluation-dataset"
    endings = ".eval.json, .eval.yaml, .eval.csv or .jsonl"
    raise UsageError(f"{path}: expected a name that ends in {endings}, or --format")


def check_format(dialect: str, *, level: str, path: str | Path) -> None:
    """Refuse a dialect that cannot hold what is to be generated."""
    if level == "chunk" and dialect != "langsmith":
        raise UsageError(
            f"{path}: {dialect} holds no chunk ids; write a .jsonl file (langsmith) at chunk level"
        )


def write_generated(dataset: Dataset, path: str | Path, *, dialect: str) -> None:
    """Write a generated dataset; where a file has no head, each sample says what the head would."""
    if dialect == "langsmith":
        LANGSMITH.write(self_contained(dataset), Path(path))
        return
    EVALUATION_SETS.write(dataset, Path(path))
