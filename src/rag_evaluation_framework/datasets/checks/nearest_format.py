"""Which format a record comes nearest to, when a mistake in it keeps it from being recognised.

Every field that a schema knows speaks for that schema, the more so the fewer schemas know it. A record that
lacks one required field, or has it misspelt, is thus still taken for what it is, and the mistake is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from rag_evaluation_framework.datasets.schemas import schema

FORMAT_OF_KIND: Mapping[str, str] = {
    "evaluation-dataset": "evaluation-dataset",
    "annotation": "annotations",
    "results": "results",
    "benchmark": "benchmark",
    "manifest": "manifest",
    "agent-sample": "agent-samples",
    "golden-factual": "golden-factual",
    "golden-relationship": "golden-relationship",
    "golden-tracking": "golden-tracking",
    "golden-multiturn": "golden-multiturn",
    "golden-boundary": "golden-boundary",
    "offline-record": "offline-records",
    "qa-pair": "qa-pairs",
    "summary": "summaries",
    "langsmith-example": "langsmith",
    "squad": "squad",
    "ragas-record": "ragas",
}
"""The formats that are told apart by the fields of a record, by the kind of the record."""

# Fields that files of every kind have, ours and others'.
_SAYING_NOTHING = frozenset(
    {"id", "name", "version", "description", "created_at", "timestamp", "metadata", "data"}
)
# A field that two schemas share is worth half; less than that says too little.
_LEAST_EVIDENCE = 0.5


class _Fields(NamedTuple):
    known: frozenset[str]
    required: frozenset[str]


def nearest_format(names: Iterable[str]) -> str | None:
    """Return the format whose schema knows the fields of a record best; ``None`` where none does.

    Of schemas that know them equally well, the one that misses the fewest required fields is taken. One that
    misses more than half of them is not meant: a ``query_id`` alone does not make an annotation.
    """
    present = frozenset(names)
    telling = present - _SAYING_NOTHING
    kinds = _fields_of_kinds()
    shared = Counter(name for fields in kinds.values() for name in fields.known)
    evidence = {
        kind: sum(1 / shared[name] for name in fields.known & telling) for kind, fields in kinds.items()
    }
    missing = {kind: len(fields.required - present) for kind, fields in kinds.items()}
    meant = [kind for kind in kinds if missing[kind] <= max(1, len(kinds[kind].required) // 2)]
    best = max(meant, key=lambda kind: (evidence[kind], -missing[kind]), default=None)
    return FORMAT_OF_KIND[best] if best is not None and evidence[best] >= _LEAST_EVIDENCE else None


@cache
def _fields_of_kinds() -> Mapping[str, _Fields]:
    return {kind: _fields(schema(kind)) for kind in FORMAT_OF_KIND}


def _fields(document: Mapping[str, Any]) -> _Fields:
    """Return the fields of a schema's record, which may be defined below the top."""
    definitions = document.get("$defs", {})
    record = definitions.get("Record", definitions.get("Annotation", document))
    return _Fields(frozenset(record["properties"]), frozenset(record["required"]))
