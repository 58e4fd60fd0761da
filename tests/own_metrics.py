"""Metrics that a test declares for itself, and that are gone after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_evaluation_framework.metrics import declaration


@pytest.fixture
def own_metrics(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test declare metrics; what it declares is forgotten after it."""
    declaration.all_metrics()
    monkeypatch.setattr(declaration, "_declared", dict(declaration._declared))
    monkeypatch.setattr(declaration, "_aliases", dict(declaration._aliases))
    declaration._parsed.cache_clear()
    yield
    declaration._parsed.cache_clear()
