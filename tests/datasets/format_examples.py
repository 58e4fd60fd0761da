"""The users' own examples of every kind of file, from ``format_examples.yaml``."""

from __future__ import annotations

from typing import Any

from cases import tables_beside
from rag_evaluation_framework import Issue
from rag_evaluation_framework.datasets.consistency import RULES

_BY_KIND: dict[str, list[Any]] = tables_beside(__file__)
EXAMPLES: list[tuple[str, Any]] = [(kind, value) for kind, values in _BY_KIND.items() for value in values]

EVALUATION_DATASET, SAMPLE_DATASET = _BY_KIND["evaluation-dataset"]
CITATION_ANNOTATION, ANSWER_QUALITY_ANNOTATION = _BY_KIND["annotation"]
(RESULTS,) = _BY_KIND["results"]
(GOLDEN_FACTUAL,) = _BY_KIND["golden-factual"]
(GOLDEN_RELATIONSHIP,) = _BY_KIND["golden-relationship"]
(GOLDEN_TRACKING,) = _BY_KIND["golden-tracking"]
(GOLDEN_MULTITURN,) = _BY_KIND["golden-multiturn"]
(GOLDEN_BOUNDARY,) = _BY_KIND["golden-boundary"]
(QA_PAIR,) = _BY_KIND["qa-pair"]
(MANIFEST,) = _BY_KIND["manifest"]


def rule_issues(kind: str, value: Any) -> list[Issue]:
    """Return what the rules of a kind alone find in a value, whatever its schema says."""
    return [issue for rule in RULES.get(kind, ()) for issue in rule(value)]
