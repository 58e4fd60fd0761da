"""The settings of a build from a project's configuration file.

They stand in its section ``evaluation``, under the names of the flags::

    evaluation:
      offline_dataset: evaluation/datasets/offline_dataset.jsonl
      qa_output: evaluation/datasets/qa_pairs.jsonl
      summaries_output: evaluation/datasets/summaries.jsonl
      manifest_output: evaluation/datasets/manifest.json
      version: v1

Each may be left out. Paths are relative to the project's root, where commands are run. Other settings are for
others and left alone, unless one looks like a slip of the pen.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document
from rag_evaluation_framework.errors import InputError, Issue, shown

SETTINGS = ("offline_dataset", "qa_output", "summaries_output", "manifest_output", "version")

# Alike enough to be the same word mistyped: "manifest_ouput" is, "manifest" is not.
_MISTYPED = 0.85


def read_build_settings(path: str | Path) -> dict[str, str]:
    """Return the settings that a configuration file has; all that is wrong is in one error."""
    document = read_document(path)
    document.checked("configuration")
    section = document.value.get("evaluation") or {}
    if not isinstance(section, dict):
        issues = [Issue("wrong-type", "settings by name", shown(section), "evaluation")]
    else:
        issues = [issue for name, value in section.items() for issue in _issues(name, value)]
    if issues:
        raise InputError(issue.located(str(path)) for issue in document.place(issues))
    return {name: section[name] for name in SETTINGS if section.get(name) is not None}


def _issues(name: str, value: Any) -> list[Issue]:
    path = f"evaluation.{name}"
    if name in SETTINGS:
        is_text = value is None or (isinstance(value, str) and value)
        return [] if is_text else [Issue("wrong-type", "text", shown(value), path)]
    meant = get_close_matches(name, SETTINGS, n=1, cutoff=_MISTYPED)
    return [Issue("unknown-field", meant[0], name, path)] if meant else []
