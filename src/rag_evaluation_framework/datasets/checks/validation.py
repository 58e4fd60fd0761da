"""Validates evaluation data held in memory: the shipped schema first, then what no schema can say."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.datasets.checks.consistency_rules import rule_issues
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files.values import check_value


def value_issues(kind: str, value: Any, *, lenient: bool = False) -> list[Issue]:
    """Return everything that is wrong with a value of a kind: against its schema, then against its rules."""
    try:
        check_value(value)
    except InputError as error:
        return list(error.issues)
    return decoded_issues(kind, value, lenient=lenient)


def decoded_issues(kind: str, value: Any, *, lenient: bool = False) -> list[Issue]:
    """Return the same of a value that was decoded from a file: that JSON can hold it need not be checked."""
    return [*schema_issues(kind, value, lenient=lenient), *rule_issues(kind, value)]


class DataFormatValidator:
    """Validates evaluation data formats against schemas.

    Every method returns all errors as text, each with its path, what was expected and what was there; an
    empty list means valid. Strict by default: with ``lenient=True`` only the least that makes a dataset, an
    annotation or results is asked for. ``schemas`` holds the schemas that are enforced.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.schemas: dict[str, dict[str, Any]] = {
            "evaluation_dataset": schema("evaluation-dataset", lenient=lenient),
            "ground_truth": schema("annotations", lenient=lenient),
            "evaluation_results": schema("results", lenient=lenient),
        }

    def validate_evaluation_dataset(self, data: dict[str, Any]) -> list[str]:
        """Validate an evaluation dataset."""
        return self._errors("evaluation-dataset", data)

    def validate_ground_truth(self, data: dict[str, Any]) -> list[str]:
        """Validate ground truth: one annotation, or ``{"dataset_id": …, "annotations": […]}``."""
        return self._errors("annotations", data)

    def validate_evaluation_results(self, data: dict[str, Any]) -> list[str]:
        """Validate evaluation results."""
        return self._errors("results", data)

    def _errors(self, kind: str, data: dict[str, Any]) -> list[str]:
        issues = value_issues(kind, data, lenient=self.lenient)
        return [str(issue) for issue in issues if issue.severity == "error"]
