"""Configuration files (``.config.yaml``, ``.config.json``): settings by name, kept as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document, write_document
from rag_evaluation_framework.datasets.checks.validation import value_issues
from rag_evaluation_framework.errors import InputError


def read_configuration(path: str | Path) -> dict[str, Any]:
    """Read a configuration; what it holds besides the known settings is kept."""
    configuration: dict[str, Any] = read_document(path).checked("configuration")
    return configuration


def write_configuration(configuration: dict[str, Any], path: str | Path) -> None:
    """Write a configuration as YAML, or as JSON under a name that ends in ``.json``."""
    if issues := value_issues("configuration", configuration):
        raise InputError(issues)
    write_document(configuration, path)
