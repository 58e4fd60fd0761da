"""A run as calibration needs it: each metric's values by query, and the answers that were scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.records.runs import Run, SampleResult
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.run_groups import whole_results_of
from rag_evaluation_framework.results.scored_runs import ScoredMetric, scored_run

_QUERIES = "query_results"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredRun:
    """A run's scores, and its answers by query id; an answer is ``None`` if the source does not have it.

    Queries without any answer are in ``unanswered`` instead.
    """

    name: str
    dataset_id: str | None
    metrics: Mapping[str, ScoredMetric] = field(hash=False)
    answers: Mapping[str, str | None] = field(hash=False)
    unanswered: frozenset[str] = frozenset()
    whole: Path | None = None
    """The results of all splits, where the run is one split of golden sets."""


def answered_run(source: Run | RunFolder | Mapping[str, Any]) -> AnsweredRun:
    """Read a run in memory, on the disk, or a results document."""
    scored = scored_run(source)
    if isinstance(source, Mapping):
        answers, unanswered = _answers_of_document(source)
    else:
        results = source.results if isinstance(source, Run) else source.results(order="dataset")
        answers, unanswered = _answers_of_results(results)
    return AnsweredRun(
        name=scored.name,
        dataset_id=scored.dataset_id,
        metrics=scored.metrics,
        answers=answers,
        unanswered=frozenset(unanswered),
    )


def open_answered_run(run: str, runs_directory: str | Path) -> AnsweredRun:
    """Open a results file, or a run by its id or the path of its folder."""
    if Path(run).is_file():
        document = read_results(run)
        if not isinstance(document.get(_QUERIES), list):
            expected = f"an object with the results of a run in {_QUERIES}"
            found = f"one with {', '.join(sorted(document)) or 'nothing'}"
            raise InputError([Issue("no-results", expected, found, file=run)])
        return answered_run(document)
    folder = RunFolder.open(run, runs_directory)
    return replace(answered_run(folder), whole=whole_results_of(folder))


def _answers_of_results(results: Iterable[SampleResult]) -> tuple[dict[str, str | None], list[str]]:
    answers: dict[str, str | None] = {}
    unanswered: list[str] = []
    for result in results:
        if result.response.failure is None:
            answers[result.sample_id] = result.response.text
        else:
            unanswered.append(result.sample_id)
    return answers, unanswered


def _answers_of_document(document: Mapping[str, Any]) -> tuple[dict[str, str | None], list[str]]:
    queries = document.get(_QUERIES)
    answers: dict[str, str | None] = {}
    unanswered: list[str] = []
    for query in queries if isinstance(queries, list) else []:
        if not isinstance(query, Mapping) or "query_id" not in query:
            continue
        if "error" in query:
            unanswered.append(str(query["query_id"]))
        else:
            answer = query.get("generated_answer")
            answers[str(query["query_id"])] = answer if isinstance(answer, str) else None
    return answers, unanswered
