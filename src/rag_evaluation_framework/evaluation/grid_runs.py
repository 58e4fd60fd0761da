"""A grid of retrieval pipelines evaluated: each cell is a run with head and journal, so a sweep resumes.

::

    runs/eval_run_20261115_001/            the sweep
    ├── head.json                          what was swept: data, documents, level, cells
    ├── 001_recursive-chunk-size-200_k5/   a run for each cell: head.json, journal.jsonl and,
    │   └── performance.json               once it is complete, what it took
    └── results.json                       the ranking, once all cells are complete

Cells are ranked among those of the same k, since more chunks find more with any pipeline; each is tested
against the best of its k, query by query, with one correction over all tests.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, counted, refused, shown
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.hit_columns import RetrievalLevel, retrieval_level
from rag_evaluation_framework.evaluation.pipeline_targets import PipelineTarget
from rag_evaluation_framework.evaluation.retrieval_truth import LEVELS, level_of
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Options, RunHead, evaluation_environment, package_versions
from rag_evaluation_framework.records.samples import Dataset, is_made_id
from rag_evaluation_framework.results.comparison import (
    CalledWorkers,
    Comparison,
    MetricComparison,
    compare_systems,
    corrected_together,
)
from rag_evaluation_framework.results.evaluations import PERFORMANCE_FILE, Evaluation, evaluation_of_cell
from rag_evaluation_framework.results.results_document import SUFFIX
from rag_evaluation_framework.results.run_data import (
    KeptDocuments,
    content_hash,
    fingerprint,
    keep_documents,
    keep_samples,
    named_documents,
    needed_documents,
)
from rag_evaluation_framework.results.run_store import CELLS, NEW_RUN, PassingFolder, RunFolder
from rag_evaluation_framework.results.summaries import INTERVALS, Counts, Performance
from rag_evaluation_framework.retrieval.pipeline import Chunking
from rag_evaluation_framework.retrieval.sweep import Cell, CellPipeline, Grid, swept_cells
from rag_evaluation_framework.structs import asdict

UNNAMED_DATASET = "dataset"
SWEEP_FILE = "sweep.json"

_CELL_FIELDS = Cell.__struct_fields__
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_NAME = 80
_SAME = ("level", "documents", "corpus", CELLS)


def evaluate_over(
    data: Dataset | str | Path,
    grid: Grid,
    *,
    documents: Corpus | str | Path | None = None,
    rank_by: str | None = None,
    options: Options | None = None,
    **settings: Any,
) -> Evaluation:
    """Evaluate every cell of a grid over the documents, by default those of the dataset.

    The level is by default the finest that the dataset has truth for. ``settings`` are those of
    :func:`evaluate_grid`.
    """
    if not isinstance(data, str | Path | Dataset):
        raise UsageError(f"a grid needs a dataset: expected a dataset or its path, got {shown(data)}")
    options = options or Options()
    if options.level is not None and options.level not in LEVELS:
        raise UnknownNameError("level", options.level, LEVELS)
    dataset = data if isinstance(data, Dataset) else find_dataset(data)
    if documents is None and not dataset.documents:
        raise UsageError("documents is missing. Set documents=…, which the grid searches.")
    if documents is None:
        documents = Corpus(dataset.documents)
    corpus = documents if isinstance(documents, Corpus) else Corpus.from_folder(documents)
    return evaluate_grid(
        corpus,
        dataset,
        grid,
        retrieval_level(options.level or level_of(dataset), dataset, corpus),
        dataset_name=None if isinstance(data, Dataset) else Path(data).name,
        rank_by=rank_by,
        options=options,
        **settings,
    )


def evaluate_grid(
    corpus: Corpus,
    dataset: Dataset,
    grid: Grid,
    level: RetrievalLevel,
    *,
    dataset_name: str | None = None,
    rank_by: str | None = None,
    options: Options | None = None,
    seed: int = 0,
    runs_directory: str | Path | None = None,
    resume: str | None = None,
) -> Evaluation:
    """Evaluate every cell of a grid: systems that are ranked, and compared with the best of their k.

    A truth that does not fit is refused before any embedding. Each text is embedded once, each chunking and
    each search done once. Figures depend on the seed and not on the number of workers. The sweep is kept in
    ``runs_directory``, where ``resume`` is one to go on with; without it in a folder that passes. Cells are
    ranked by the level's first metric unless ``rank_by`` is another.
    """
    rank_by = rank_by or level.metrics[0]
    if rank_by not in level.metrics:
        raise UnknownNameError(f"metric at {level.level} level", rank_by, level.metrics)
    if not dataset.samples:
        raise UsageError("dataset contains no samples")
    options = options or Options()
    options.reach()
    aside = PassingFolder() if runs_directory is None else None
    sweep = _Sweep(
        corpus=corpus,
        dataset=dataset,
        grid=grid,
        level=level,
        dataset_id=dataset.dataset_id or dataset_name or UNNAMED_DATASET,
        rank_by=rank_by,
        options=options,
        seed=seed,
    )
    group = sweep.group(Path(runs_directory or "") if aside is None else aside.path, resume)
    try:
        with group.lock():
            parts = list(sweep.evaluated(group))
    finally:
        _remove_unbegun(group)
    return sweep.summed_up(parts, group, aside)


@dataclass(kw_only=True, eq=False)
class _Sweep:
    """The cells of a grid, and what their runs share."""

    corpus: Corpus
    dataset: Dataset
    grid: Grid
    level: RetrievalLevel
    dataset_id: str
    rank_by: str
    options: Options
    seed: int

    def __post_init__(self) -> None:
        made_by = {name: getattr(self.options, name) for name in ("confidence", "resamples")}
        self._intervals = {**INTERVALS, "method": self.options.interval, **made_by, "seed": self.seed}
        self._samples = tuple(self.dataset.samples)
        self._started_at = datetime.now(UTC).isoformat()
        self._dataset_hash = content_hash(self._samples)
        self._scorers: dict[str, list[Scorer]] = {}
        self._cells: tuple[CellPipeline, ...] = swept_cells(
            self.corpus,
            [sample.question for sample in self.dataset.samples],
            self.grid,
            distinct=self.level.level == "chunk",
            workers=self.options.crew,
            on_chunking=self._check,
        )

    def _check(self, chunking: Chunking) -> None:
        self._scorers[chunking.chunker] = self.level.scorers(chunking)

    def group(self, directory: Path, resume: str | None) -> RunFolder:
        """Begin a sweep, or open the one to go on with; one over anything else is refused."""
        configuration = {
            "level": self.level.level,
            "rank_by": self.rank_by,
            "documents": len(self.corpus),
            "corpus": _corpus_hash(self.corpus),
            "moved_spans": self.level.moved,
            "samples": len(self._samples),
            CELLS: [str(pipeline.cell) for pipeline in self._cells],
            "test": self.options.test,
            "intervals": self._intervals,
            **({"arguments": list(self.grid.arguments)} if self.grid.arguments else {}),
        }
        if resume is not None:
            self._call_samples_as(RunFolder.open(resume, directory))
        head = self._head(NEW_RUN, "retrieval", configuration)
        if resume is None:
            folder = RunFolder.create(directory, head)
            keep_samples(self._samples, folder.path)
            return folder
        folder = RunFolder.open(resume, directory)
        _check_same(folder.head, head)
        return folder

    def _call_samples_as(self, folder: RunFolder) -> None:
        """Call the samples as a sweep did: an earlier version generated ids otherwise."""
        kept = tuple(folder.samples())
        are_made = all(
            is_made_id(each.id) for sample in zip(kept, self._samples, strict=False) for each in sample
        )
        if are_made and [*map(fingerprint, kept)] == [*map(fingerprint, self._samples)]:
            self._samples, self._dataset_hash = kept, content_hash(kept)

    def evaluated(self, group: RunFolder) -> Iterator[Evaluation]:
        """Yield each cell's evaluation; the first that cannot be completed is the last."""
        for number, pipeline in enumerate(self._cells, start=1):
            part = self._evaluated(f"{number:03}_{_short_name(pipeline.cell)}", pipeline, group)
            yield part
            if part.outcome.interrupted or not part.outcome.completed:
                return

    def _evaluated(self, run_id: str, pipeline: CellPipeline, group: RunFolder) -> Evaluation:
        place = group.path / run_id
        if (place / PERFORMANCE_FILE).is_file():  # it is complete
            return evaluation_of_cell(RunFolder.at(place), self._intervals)
        # Parts that do not work, and truth that does not fit, are errors before the cell begins.
        pipeline.prepare()
        cell = pipeline.cell
        configuration = {
            "level": self.level.level,
            **asdict(cell),
            **({} if pipeline.chunks is None else {"chunks": pipeline.chunks}),
            **({"embedding_roles": roles} if (roles := pipeline.embedding_roles) else {}),
        }
        head = self._head(run_id, str(cell), configuration, pipeline.prices)
        folder = _open_cell(place) or RunFolder.create(group.path, head)
        outcome = run_samples(
            self._samples,
            PipelineTarget(pipeline, cell.k, texts=False, name=str(cell)),
            self._scorers[pipeline.chunking.chunker],
            folder=folder,
            are_unchanged=True,
        )
        if outcome.completed:
            figures = strict_json.encode(pipeline.figures(), indent=2) + b"\n"
            write_bytes_atomically(place / PERFORMANCE_FILE, figures)
        part = evaluation_of_cell(folder, self._intervals, outcome)
        return replace(part, warnings=tuple(pipeline.doubts))

    def _head(
        self,
        run_id: str,
        target: str,
        configuration: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
    ) -> RunHead:
        return RunHead(
            run_id=run_id,
            dataset_id=self.dataset_id,
            dataset_version=self.dataset.version,
            dataset_hash=self._dataset_hash,
            target=target,
            configuration=configuration,
            metric_versions=dict(_versions(self.level.metrics)),
            seed=self._intervals["seed"],
            packages=package_versions(),
            started_at=self._started_at,
            parameters=parameters or {},
            environment=evaluation_environment(),
        )

    def summed_up(
        self, parts: Sequence[Evaluation], group: RunFolder, aside: PassingFolder | None
    ) -> Evaluation:
        """Rank the cells, and keep the ranking of a complete sweep, unless it is ``aside``."""
        if aside is not None:
            parts = [replace(part, folder=None, kept=aside) for part in parts]
        found = rank_cells(parts, group.head, workers=lambda: self.options.crew)
        if aside is not None:
            return replace(found, read_documents=lambda: KeptDocuments(tuple(self.corpus)))
        if found.outcome.completed:
            rows = chain.from_iterable(part.rows for part in parts)
            retrieved = (name for row in rows for name in named_documents(row.response))
            keep_documents(
                self.corpus.documents, chain(needed_documents(self._samples), retrieved), group.path
            )
            written = strict_json.encode(found.document, indent=2) + b"\n"
            write_bytes_atomically(group.results_path, written)
        return replace(found, folder=group.path)


def rank_cells(
    parts: Sequence[Evaluation], head: RunHead, *, workers: CalledWorkers | None = None
) -> Evaluation:
    """Rank cells, in the order of the grid, as the head of their sweep says, and test each against the best
    of its k.
    """
    cells, metric = head.configuration[CELLS], head.configuration["rank_by"]
    ranked = sorted(parts, key=lambda part: _place_of(part, metric))
    compared = _compared(ranked, metric, head, workers)
    last = parts[-1].outcome
    completed = last.completed and len(parts) == len(cells)
    done = sum(part.counts.finished for part in parts)
    total = head.configuration["samples"] * len(cells)
    failed = sum(part.counts.failed for part in parts)
    spent = [part.performance.figures.get("cost_usd", {}).get("spent") for part in parts]
    evaluation = Evaluation(
        kind="systems",
        head=head,
        metrics=ranked[0].metrics,
        counts=Counts(total=total, finished=done, failed=failed, errors=failed),
        outcome=replace(last, completed=completed, done=done, failed=failed, remaining=total - done),
        parts={str(part.head.target): part for part in ranked},
        parts_are="systems",
        comparison=Comparison(
            baseline=str(ranked[0].head.target),
            contenders=tuple(each.contender for each in compared),
            metrics=tuple(compared),
        ),
        performance=Performance({} if None in spent else {"spent_usd": math.fsum(spent)}),
        warnings=tuple(warning for part in ranked for warning in (*_unanswered(part), *part.warnings)),
    )
    return replace(evaluation, document=sweep_document(evaluation))


def _unanswered(part: Evaluation) -> Iterator[str]:
    counts = part.counts
    if counts.failed:
        kinds = ", ".join(f"{kind}: {count:,}" for kind, count in counts.failures.items())
        queries = counted(counts.total, "query", "queries")
        yield f"{part.head.target}: {counts.failed:,} of {queries} failed ({kinds})"


def _compared(
    ranked: Sequence[Evaluation], metric: str, head: RunHead, workers: CalledWorkers | None
) -> list[MetricComparison]:
    intervals = head.configuration.get("intervals", INTERVALS)
    compared: list[MetricComparison] = []
    for k in dict.fromkeys(part.head.configuration["k"] for part in ranked):
        scores = {
            str(part.head.target): {metric: values}
            for part in ranked
            if part.head.configuration["k"] == k
            and metric in part.columns.values
            and (values := part.columns.scored(metric))
        }
        if len(scores) > 1:
            compared += compare_systems(
                scores,
                [parse_metric(metric)],
                baseline=next(iter(scores)),
                test=head.configuration.get("test", Options().test),
                alpha=1 - intervals["confidence"],
                resamples=intervals["resamples"],
                seed=head.seed,
                workers=workers,
            )
    return corrected_together(compared) if compared else []


def _place_of(part: Evaluation, metric: str) -> tuple[int, bool, float]:
    """Return where a cell stands: by k, then the best first; equal ones stay in the order of the grid."""
    figure = part.metrics.get(metric)
    if figure is None or figure.value is None:
        return part.head.configuration["k"], True, 0.0
    return part.head.configuration["k"], False, -figure.value if figure.higher_is_better else figure.value


def sweep_document(evaluation: Evaluation, *, per_query: bool = False) -> dict[str, Any]:
    """Return a sweep as plain values for JSON; ``per_query`` adds every query's scores."""
    configuration, compared = evaluation.head.configuration, evaluation.comparison
    return {
        "dataset_id": evaluation.head.dataset_id,
        "level": configuration["level"],
        "rank_by": configuration["rank_by"],
        "queries": next(iter(evaluation.parts.values())).counts.total,
        "documents": configuration["documents"],
        "moved_spans": configuration["moved_spans"],
        "seed": evaluation.head.seed,
        **evaluation.performance.figures,
        "cells": [_written_cell(name, part, per_query=per_query) for name, part in evaluation.parts.items()],
        "comparisons": [each.to_dict() for each in compared.metrics] if compared else [],
        "statistical_analysis": {"significance_tests": compared.significance_tests() if compared else {}},
    }


def write_sweep(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write a results document for each cell, and the ranking as ``sweep.json``; return the paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", folder, error) from error
    paths = [part.save(folder / f"{part.head.run_id}{SUFFIX}") for part in evaluation.parts.values()]
    return [*paths, evaluation.save(folder / SWEEP_FILE)]


def _written_cell(name: str, part: Evaluation, *, per_query: bool) -> dict[str, Any]:
    configuration = {each: part.head.configuration[each] for each in _CELL_FIELDS}
    written = {
        "name": name,
        "evaluation_id": part.head.run_id,
        "configuration": configuration,
        "metrics": {metric: figure.to_dict() for metric, figure in part.metrics.items()},
        "performance": part.performance.figures,
    }
    if per_query:
        written["per_query"] = {metric: part.columns.scored(metric) for metric in part.metrics}
    return written


def _open_cell(place: Path) -> RunFolder | None:
    """Return the run of a cell that was begun; a folder that a kill left empty is none."""
    if (place / "head.json").exists():
        return RunFolder.open(place)
    with suppress(OSError):
        place.rmdir()
    return None


def _remove_unbegun(group: RunFolder) -> None:
    """Remove the folder of a sweep in which no cell was begun: there is nothing in it to go on with."""
    if not any(path.is_dir() for path in group.path.iterdir()):
        shutil.rmtree(group.path, ignore_errors=True)


def _check_same(then: RunHead, now: RunHead) -> None:
    """Refuse to go on with a sweep over something else than it began with."""
    wanted = {name: then.configuration.get(name) for name in _SAME}
    found = {name: now.configuration[name] for name in _SAME}
    differing = [name for name in _SAME if wanted[name] != found[name]]
    if then.dataset_hash != now.dataset_hash:
        differing.append("questions")
    if then.metric_versions != now.metric_versions:
        differing.append("metrics")
    if differing:
        expected = "the level, documents, questions, metrics and setups of the run"
        raise UsageError(
            f"cannot resume {then.run_id}: expected {expected}, got different {', '.join(differing)}. "
            "Start a new sweep."
        )


def _corpus_hash(corpus: Corpus) -> str:
    digest = hashlib.sha256()
    for document in corpus:
        digest.update(f"{document.id}\0{document.fingerprint}\n".encode(errors="surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def _versions(metrics: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the version of each metric that is declared here."""
    for name in metrics:
        try:
            yield name, parse_metric(name).metric.version
        except UsageError:  # somebody else's
            continue


def _short_name(cell: Cell) -> str:
    """Return a cell's chunker and k as part of a file name."""
    words = _NOT_IN_NAMES.sub("-", cell.chunker).strip("-")[:_LONGEST_NAME]
    return f"{words}_k{cell.k}"
