"""What ``rag-eval retrieval`` does: from the settings to the ranked table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.retrieval_settings import RetrievalSettings, settings_of
from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import InputError, UsageError, counted
from rag_evaluation_framework.evaluation.levels.retrieval_datasets import find_dataset
from rag_evaluation_framework.evaluation.levels.retrieval_sweeps import evaluate_sweep
from rag_evaluation_framework.evaluation.levels.sweep_results import SweepResults
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.reports.retrieval_sweep import sweep_text
from rag_evaluation_framework.reports.step_line import StepLine
from rag_evaluation_framework.results.run_summaries import IntervalSettings
from rag_evaluation_framework.retrieval.embedders import CachedEmbedder


def compare_pipelines(
    given: Mapping[str, Any],
    config: Path | None,
    *,
    test: Any,
    workers: int,
    per_query: bool,
    as_json: bool,
) -> None:
    """Evaluate every combination that options and configuration ask for, and print the comparison."""
    settings = settings_of(given, config)
    results = _results(settings, test=test, workers=workers, show_steps=not as_json and sys.stderr.isatty())
    written = results.write(settings.out) if settings.out is not None else []
    if as_json:
        print_json(results.to_dict(per_query=per_query))
        return
    click.echo(sweep_text(results))
    if written:
        click.echo(f"\nwrote {counted(len(written), 'file')} to {settings.out}")


def _results(settings: RetrievalSettings, *, test: Any, workers: int, show_steps: bool) -> SweepResults:
    corpus, dataset = _inputs(settings)
    line = StepLine(sys.stderr) if show_steps else None
    try:
        return evaluate_sweep(
            corpus,
            dataset,
            dataset_name=(settings.dataset or settings.corpus).name,
            chunkers=settings.chunkers,
            embedders=_embedders(settings),
            retrievers=settings.retrievers,
            vector_stores=settings.stores,
            rerankers=settings.rerankers,
            k=settings.ks,
            fetch_k=settings.fetch_k,
            level=settings.level,  # type: ignore[arg-type]  # checked where it is used
            rank_by=settings.rank_by,
            test=test,
            intervals=IntervalSettings(seed=settings.seed),
            workers=workers,
            on_step=line.step if line else None,
            on_texts=line.texts if line else None,
        )
    finally:
        if line:
            line.finish()


def _embedders(settings: RetrievalSettings) -> list[str | Embedder]:
    if settings.cache is None:
        return list(settings.embedders)
    return [CachedEmbedder(component_from(EMBEDDERS, each), settings.cache) for each in settings.embedders]


def _inputs(settings: RetrievalSettings) -> tuple[Corpus, Dataset]:
    """Read the documents and the questions; a dataset that holds its documents may be both."""
    path = settings.corpus
    if not path.exists():
        raise UsageError(f"corpus: expected a folder of documents or a dataset, got nothing at {path}")
    holder = recognise(path).read(path) if path.is_file() or _is_dataset(path) else None
    if holder is not None and not holder.documents:
        raise UsageError(f"corpus: expected documents, got {path}, a dataset without any")
    corpus = Corpus(holder.documents) if holder is not None else Corpus.from_folder(path, settings.glob)
    if settings.dataset is not None:
        return corpus, find_dataset(settings.dataset)
    if holder is None:
        raise UsageError(f"dataset: expected the questions as --dataset FILE, because {path} holds none")
    return corpus, holder


def _is_dataset(folder: Path) -> bool:
    try:
        recognise(folder)
    except InputError:
        return False
    return True
