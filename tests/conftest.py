"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from postgres_server import postgres

from rag_evaluation_framework.metrics import declaration

__all__ = ["postgres"]

# The same examples every time, so that a run that passed here passes elsewhere; `explore` looks further.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Hundreds of tests start the command: it keeps its compiled modules, as it does for users, wherever this is
# switched off for the machine.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Small products of matrices, in as many processes as there are cores: a second thread only spins.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


# What is collected stays to the end: to search it for garbage again and again is a quarter of the collection.
gc.disable()
_FOLDERS = count()


def pytest_collection_finish() -> None:
    """Leave the collected tests out of every later search for garbage: a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send one report a test from a worker, and none of a setting up that went well: a millisecond each."""
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.verbose > 0 or options.durations or options.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture
def own_metrics(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test declare metrics; what it declares is forgotten after it."""
    declaration.all_metrics()
    monkeypatch.setattr(declaration, "_declared", dict(declaration._declared))
    monkeypatch.setattr(declaration, "_aliases", dict(declaration._aliases))
    declaration._parsed.cache_clear()
    yield
    declaration._parsed.cache_clear()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, as pytest's, which goes through all those there are to name the next."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_FOLDERS)}"
    folder.mkdir(mode=0o700)
    return folder


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
