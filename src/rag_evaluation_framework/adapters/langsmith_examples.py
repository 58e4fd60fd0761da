"""A sample as an example at LangSmith, and back.

An example there has an id of LangSmith's own kind, so the sample's own stands in its metadata. On reading,
what LangSmith itself adds is taken out again: a sample comes back as it was uploaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rag_evaluation_framework.datasets.dialects.langsmith import LANGSMITH
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.samples import Sample

SAMPLE_ID = "rag_eval_id"
"""Where an example's metadata have the id of the sample that it was made from."""

SPLIT = "dataset_split"
_DEFAULT_SPLIT = ["base"]


def example_of(sample: Sample) -> dict[str, Any]:
    """Return the inputs, outputs and metadata of a sample, as they come back from LangSmith."""
    record = LANGSMITH.record(sample)
    example = {
        "inputs": record["inputs"],
        "outputs": record["outputs"],
        "metadata": {**record.get("metadata", {}), SAMPLE_ID: sample.id},
    }
    written: dict[str, Any] = strict_json.decode(strict_json.encode(example), file=f"sample {sample.id!r}")
    return written


def record_of(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example as a file would have it, without what the server says about its keeping."""
    metadata = dict(example.get("metadata") or {})
    if metadata.get(SPLIT) == _DEFAULT_SPLIT:
        del metadata[SPLIT]
    named = metadata.pop(SAMPLE_ID, None)
    outputs = example.get("outputs")
    record = {"id": named or example.get("id"), "inputs": example.get("inputs"), "outputs": outputs}
    if not metadata:
        return record
    within = outputs.get("metadata") if isinstance(outputs, dict) else None
    # LangSmith adds metadata of its own (a split), also where an example has them within the outputs.
    if isinstance(outputs, dict) and isinstance(within, dict) and not metadata.keys() & within.keys():
        metadata = {**within, **metadata}
        record["outputs"] = {name: value for name, value in outputs.items() if name != "metadata"}
    return {**record, "metadata": metadata}


def made_at(example: Mapping[str, Any]) -> datetime:
    """Return when an example was made: LangSmith promises no order, and examples are uploaded in theirs."""
    try:
        moment = datetime.fromisoformat(str(example.get("created_at")))
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
