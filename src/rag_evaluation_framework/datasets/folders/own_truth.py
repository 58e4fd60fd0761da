"""The citations of a dataset as annotations: its ground truth where nobody has annotated it apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANNOTATOR = "dataset"
"""Who has annotated: the dataset itself."""


def truth_of_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return one annotation for each query that has citations; there are none where no query has any.

    >>> truth_of_dataset({"dataset_id": "d", "queries": [{"query_id": "q1"}]})
    {'dataset_id': 'd', 'annotations': []}
    """
    made = {"timestamp": dataset["created_at"]} if dataset.get("created_at") else {}
    return {
        "dataset_id": dataset["dataset_id"],
        "annotations": [
            {
                "annotation_id": f"{ANNOTATOR}_{query['query_id']}",
                "query_id": query["query_id"],
                "annotator_id": ANNOTATOR,
                **made,
                "citations": [_annotated(citation) for citation in query["citations"]],
            }
            for query in dataset["queries"]
            if query.get("citations")
        ],
    }


def _annotated(citation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a citation with its confidence under the name that annotations have for it."""
    return {
        "annotation_confidence" if name == "confidence_score" else name: value
        for name, value in citation.items()
    }
