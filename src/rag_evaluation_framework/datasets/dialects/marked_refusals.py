"""A refusal that is expected, where a dialect has no field for it: marked in the sample's metadata.

``{"expectation": "refusal"}`` in the metadata says that the question should be declined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.records.samples import Refusal, Sample

EXPECTATION = "expectation"
REFUSAL = "refusal"


def read_refusal(metadata: Mapping[str, Any]) -> tuple[Refusal | None, Mapping[str, Any]]:
    """Return the refusal that the metadata mark, and the metadata without the mark."""
    if metadata.get(EXPECTATION) != REFUSAL:
        return None, metadata
    return Refusal(), {name: value for name, value in metadata.items() if name != EXPECTATION}


def marked_metadata(sample: Sample) -> dict[str, Any]:
    """Return the metadata of a sample, with the mark where it expects a refusal."""
    mark = {EXPECTATION: REFUSAL} if isinstance(sample.expectation, Refusal) else {}
    return {**sample.metadata, **mark}
