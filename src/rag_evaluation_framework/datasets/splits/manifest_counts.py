"""The manifest of a build: reading it, finding the files it names, and comparing it with an older one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.datasets.checks.checked_documents import read_document
from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.files.atomic_group import recover

LARGEST_LOSS = 0.10
"""The share of its records that a split may lose from one version to the next without an alert."""


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read and check a manifest; all that is wrong is in one error.

    A build that was killed while it replaced the files is finished first, so that they belong together.
    """
    recover(Path(os.path.realpath(path)).parent)
    manifest: dict[str, Any] = read_document(path).checked("manifest")
    return manifest


def split_path(manifest_path: str | Path, written: str) -> Path:
    """Return the file that a manifest names, whose paths are relative to the root of its project.

    The root is the nearest folder above the manifest where the file is, else the current folder.
    """
    folder, here = Path(os.path.realpath(manifest_path)).parent, Path.cwd()
    for root in (folder, *folder.parents):
        path = root / written
        if path.is_file():
            return path.relative_to(here) if path.is_relative_to(here) else path
    return Path(written)


def count_issues(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Issue]:
    """Return an error for every split that lost more than a tenth of its records since the old manifest.

    Both are manifests as :func:`read_manifest` returns them. A split that is gone has lost all.
    """
    issues = []
    for name, split in old["splits"].items():
        before = split["count"]
        now = new["splits"].get(name, {"count": 0})["count"]
        least = before * (1 - LARGEST_LOSS)
        if now < least:
            expected = f"at least {counted(_rounded_up(least), 'record')} (the older manifest has {before:,})"
            issues.append(Issue("count-drop", expected, f"{now:,}", f"splits.{name}.count"))
    return issues


def _rounded_up(number: float) -> int:
    return -int(-number // 1)
