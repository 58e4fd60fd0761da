"""Experiments: what an evaluation found for each query, shown beside the dataset where that is kept.

Whoever keeps datasets (LangSmith) may keep experiments too. Results stand on their own: a host that fails
costs the experiment, never the results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rag_evaluation_framework.errors import RagEvalError, UsageError
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.records.samples import Dataset

NO_TRACKING = "LANGSMITH_TEST_TRACKING"
"""LangSmith's own variable for tests that leave nothing behind; ``false`` switches experiments off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedDataset(Dataset):
    """A dataset read from a host, with the ids that the host knows it and its examples by."""

    host: str
    host_id: str
    example_ids: Mapping[str, str] = field(hash=False)
    """The host's id of each sample, by the sample's own."""


class ExperimentHost(Protocol):
    """Keeps experiments."""

    def __call__(self, run: Run, dataset: HostedDataset, *, seconds: float) -> str:
        """Record a run of a dataset that took so many seconds, and return where it can be seen."""


EXPERIMENT_HOSTS: Registry[ExperimentHost] = Registry("experiment_host")
EXPERIMENT_HOSTS.register("langsmith", "rag_evaluation_framework.adapters.langsmith:upload_experiment")


@dataclass(frozen=True, slots=True)
class RecordedExperiment:
    """Where an experiment can be seen, or why there is none although there should be."""

    url: str | None = None
    warning: str | None = None


def is_recorded(dataset: Dataset, wish: bool | None) -> bool:
    """Tell whether runs of a dataset become experiments; without a wish, those of hosted datasets do."""
    if wish and not isinstance(dataset, HostedDataset):
        raise UsageError("experiments are shown beside a dataset at LangSmith: expected the name of one")
    if wish is not None:
        return wish
    return isinstance(dataset, HostedDataset) and os.environ.get(NO_TRACKING, "").lower() != "false"


def recorded_experiment(run: Run, dataset: Dataset, *, seconds: float) -> RecordedExperiment:
    """Record a run with the host of its dataset; whatever fails is a warning."""
    if not isinstance(dataset, HostedDataset):
        return RecordedExperiment()
    try:
        return RecordedExperiment(EXPERIMENT_HOSTS.get(dataset.host)(run, dataset, seconds=seconds))
    except RagEvalError as error:
        return RecordedExperiment(warning=f"the experiment was not recorded: {error}")
