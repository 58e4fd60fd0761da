"""What ``rag-eval retrieval`` does: from the settings to the ranked table."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.cli.retrieval_settings import RetrievalSettings, settings_of
from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import InputError, UsageError, counted
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.evaluation.grid_runs import evaluate_sweep, sweep_document, write_sweep
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.reports.progress import StepLine
from rag_evaluation_framework.reports.system_tables import sweep_text
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.retrieval.embedders import CachedEmbedder


def compare_pipelines(
    given: Mapping[str, Any],
    config: Path | None,
    *,
    test: Any,
    workers: int,
    runs_dir: Path,
    resume: str | None,
    per_query: bool,
    as_json: bool,
) -> int:
    """Evaluate every combination that options and configuration ask for, print it, return the exit code."""
    settings = settings_of(given, config)
    line = StepLine(sys.stderr) if not as_json and sys.stderr.isatty() else None
    try:
        sweep = _sweep(settings, line, test=test, workers=workers, runs_directory=runs_dir, resume=resume)
    finally:
        if line:
            line.finish()
    written = write_sweep(sweep, settings.out) if settings.out is not None else []
    if as_json:
        print_json(sweep_document(sweep, per_query=per_query))
    else:
        click.echo(sweep_text(sweep))
        if written:
            click.echo(f"\nwrote {counted(len(written), 'file')} to {settings.out}")
    if sweep.outcome.completed:
        return 0
    click.echo(f"rag-eval: {sweep.outcome.reason}; go on with --resume {sweep.head.run_id}", err=True)
    return 130 if sweep.outcome.interrupted else 3


def _sweep(settings: RetrievalSettings, line: StepLine | None, **options: Any) -> Evaluation:
    corpus, dataset = _inputs(settings)
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
        seed=settings.seed,
        on_step=line.step if line else None,
        on_texts=line.texts if line else None,
        configuration={"arguments": _given_again()},
        **options,
    )


_NOT_GIVEN_AGAIN = frozenset({"resume", "runs_dir", "as_json", "per_query", "output"})
# What may hold a secret is not written down.
_SECRET = re.compile("key|token=|secret|password|@", re.IGNORECASE)


def _given_again() -> list[str]:
    """Return those words of the current command line that a resume needs too, without secrets."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _NOT_GIVEN_AGAIN or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        for each in value if isinstance(value, tuple) else (value,):
            option = [parameter.opts[0]] if isinstance(parameter, click.Option) else []
            words += [*option, "…" if _SECRET.search(str(each)) else str(each)]
    return words


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
