"""Labelled data for tests; a test that needs some that is not there is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks._labelled_data import DATA, FOLDER_VARIABLE


def present(name: str) -> Path:
    """Return a file or folder of the labelled data."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no labelled data {name} in {DATA}; set {FOLDER_VARIABLE} to look elsewhere")
    return path
