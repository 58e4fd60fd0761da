"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from postgres_server import postgres

from own_metrics import own_metrics

__all__ = ["own_metrics", "postgres"]

# The same examples every time, so that a run that passed here passes elsewhere; `explore` looks further.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Hundreds of tests start the command: it keeps its compiled modules, as it does for users, wherever this is
# switched off for the machine.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """Leave the collected tests out of every later search for garbage: a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _is_installed(name: str) -> bool:
    try:
        found = find_spec(name)
        # A folder of tests that is called like the package is no package: it has no file.
        return found is not None and (found.origin is not None or found.loader is not None)
    except ModuleNotFoundError:  # not even the package that it would be in
        return False


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked ``vendors`` where a package, program or environment that it names is missing."""
    for name in (name for mark in item.iter_markers("vendors") for name in mark.args):
        own = Path(sys.prefix) / name / "bin" / "python"  # an environment for what goes with nothing else
        if not _is_installed(name) and shutil.which(name) is None and not own.exists():
            pytest.skip(f"{name} is not installed: make test-vendors")
