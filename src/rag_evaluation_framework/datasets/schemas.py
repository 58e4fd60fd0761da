"""The JSON Schemas (2020-12) of every kind of file and record, as shipped beside this module.

A kind names one file (``evaluation-dataset``, ``manifest``) or, where a file holds a record a line, one
record (``agent-sample``, ``qa-pair``). A few kinds have a lenient schema too: the least that makes one.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.files import strict_json

KINDS: tuple[str, ...] = (
    "evaluation-dataset",
    "annotation",
    "annotations",
    "results",
    "benchmark",
    "configuration",
    "agent-sample",
    "golden-factual",
    "golden-relationship",
    "golden-tracking",
    "golden-multiturn",
    "golden-boundary",
    "offline-record",
    "qa-pair",
    "summary",
    "manifest",
    "langsmith-example",
    "squad",
    "ragas-record",
    "beir-document",
    "beir-query",
)

LENIENT_KINDS = frozenset({"evaluation-dataset", "annotation", "annotations", "results"})


def schema(kind: str, *, lenient: bool = False) -> dict[str, Any]:
    """Return the schema of a kind, as a dictionary of the caller's own.

    A kind without a lenient schema has the one schema for both.
    """
    document: dict[str, Any] = strict_json.decode(schema_text(kind, lenient=lenient))
    return document


@cache
def schema_text(kind: str, *, lenient: bool = False) -> str:
    """Return the schema of a kind as it is shipped: indented JSON that ends with a line feed."""
    if kind not in KINDS:
        raise UnknownNameError("kind of file", kind, KINDS)
    folder = files(__package__) / "schemas"
    if lenient and kind in LENIENT_KINDS:
        folder = folder / "lenient"
    return (folder / f"{kind}.schema.json").read_text(encoding="utf-8")
