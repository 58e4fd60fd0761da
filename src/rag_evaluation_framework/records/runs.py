"""A run: a system's responses to a dataset with their scores, and everything needed to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.documents import require_unique
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What was run: data, system, parameters and versions. Equal heads promise equal results."""

    run_id: str
    dataset_id: str
    dataset_version: str | None = None
    dataset_hash: str | None = None
    target: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    metric_versions: Mapping[str, int] = field(default_factory=dict, hash=False)
    seed: int = 0
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)
    started_at: str | None = None

    def __post_init__(self) -> None:
        for name in ("run_id", "dataset_id"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise invalid(name, "an id", value)
        for name in ("configuration", "metric_versions", "packages"):
            if not isinstance(getattr(self, name), Mapping):
                raise invalid(name, "an object", getattr(self, name))


def package_versions() -> dict[str, str]:
    """Return the versions that are running now, as the ``packages`` of a head."""
    return {"rag-evaluation-framework": __version__, "python": platform.python_version()}


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One sample's response and its scores, each metric once."""

    sample_id: str
    response: Response
    scores: tuple[Score, ...] = ()

    def __post_init__(self) -> None:
        metrics = [score.metric for score in self.scores]
        if len(set(metrics)) != len(metrics):
            raise invalid("scores", "each metric once", metrics)


@dataclass(frozen=True, slots=True)
class Run:
    """A head and the results by sample. Results pair with others by ``sample_id``, never by position."""

    head: RunHead
    results: tuple[SampleResult, ...]

    def __post_init__(self) -> None:
        require_unique((result.sample_id for result in self.results), what="sample", path="results")

    def scores(self, metric: str) -> dict[str, Score]:
        """Return one metric's scores by sample id; samples that do not have it are left out."""
        return {
            result.sample_id: score
            for result in self.results
            for score in result.scores
            if score.metric == metric
        }
