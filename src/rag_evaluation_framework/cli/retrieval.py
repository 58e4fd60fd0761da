"""``rag-eval retrieval``: compare chunkers, embedders, stores and rerankers over a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.retrieval_settings import (
    DEFAULT_CHUNKER,
    DEFAULT_GLOB,
    RetrievalSettings,
    settings_of,
)
from rag_evaluation_framework.cli.shared_options import AS_JSON, EXISTING_FILE, PAIRED_TEST, Option
from rag_evaluation_framework.counts import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.extensions import Embedder
    from rag_evaluation_framework.records.datasets import Dataset
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.results.sweep_results import SweepResults

_LEVELS = ("token", "chunk", "document")
_PATH = click.Path(path_type=Path)

EXAMPLES = """\b
Examples:
  rag-eval retrieval documents --dataset questions.eval.json -k 5
  rag-eval retrieval documents --dataset questions.eval.json -k 5 -k 10 \\
      --reranker none --reranker lexical \\
      --chunker 'recursive(chunk_size=200, overlap=50)' --chunker 'fixed(tokens=100)' --chunker sentence
  rag-eval retrieval beir/scifact --retriever bm25 --retriever fused --out results
  rag-eval retrieval --config sweep.config.yaml --json > sweep.json"""


def _tried(part: str, *, default: str) -> Option[Any]:
    """Return the option for a part of the pipeline, of which several can be compared."""
    text = f"{part.capitalize()} to try; may be repeated.  [default: {default}]"
    return click.option(f"--{part}", multiple=True, metavar="SPEC", help=text)


@click.command("retrieval", epilog=EXAMPLES)
@click.argument("corpus", type=_PATH, required=False)
@click.option(
    "--dataset",
    type=_PATH,
    metavar="FILE",
    help="Dataset with the questions.  [default: CORPUS, if it is a dataset]",
)
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    help="Level of comparison with the ground truth.  [default: the finest that the dataset allows]",
)
@_tried("chunker", default=DEFAULT_CHUNKER)
@_tried("embedder", default="hashing")
@_tried("retriever", default="dense")
@_tried("store", default="chroma if installed, else exact")
@_tried("reranker", default="none")
@click.option(
    "-k",
    "k",
    type=int,
    multiple=True,
    metavar="N",
    help="Number of chunks to retrieve for a query; may be repeated.  [default: 5]",
)
@click.option(
    "--fetch-k", type=int, metavar="N", help="Number of candidates given to a reranker.  [default: 4 k]"
)
@click.option(
    "--glob",
    metavar="PATTERN",
    help=f"Which files of a CORPUS folder are documents.  [default: {DEFAULT_GLOB}]",
)
@click.option(
    "--rank-by", metavar="METRIC", help="Metric that orders the table.  [default: recall at the level]"
)
@click.option(
    "--cache", type=_PATH, metavar="DIR", help="Folder in which embeddings are kept for later runs."
)
@click.option(
    "--config",
    type=EXISTING_FILE,
    metavar="FILE",
    help="Configuration file (.config.yaml); options take precedence over it.",
)
@click.option(
    "--out", "output", type=_PATH, metavar="DIR", help="Folder for .results.json files and sweep.json."
)
@PAIRED_TEST
@click.option("--workers", type=click.IntRange(1), default=1, help="Number of threads.")
@click.option(
    "--seed", type=click.IntRange(0), help="Random seed; the same seed gives the same results.  [default: 0]"
)
@click.option("--per-query", is_flag=True, help="With --json: also print the scores of every query.")
@AS_JSON
def command(
    config: Path | None, test: Any, workers: int, per_query: bool, as_json: bool, **given: Any
) -> None:
    """Compare how well chunkers, embedders, retrievers and rerankers find what the questions need in CORPUS.

    CORPUS is a folder of documents, or a dataset that holds its documents (a BEIR folder, an .eval.json).
    Retrievers are dense, bm25 and fused; the reranker none leaves the order as it is. Every combination is
    evaluated; texts are embedded once and chunkings done once. Prints a ranked table for each k with
    intervals, and says which differences from the best are significant.
    """
    from rag_evaluation_framework.reports.retrieval_sweep import sweep_text

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
    from rag_evaluation_framework.reports.step_line import StepLine
    from rag_evaluation_framework.results.retrieval_sweeps import evaluate_sweep
    from rag_evaluation_framework.results.run_summaries import IntervalSettings

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
    from rag_evaluation_framework.retrieval.components import EMBEDDERS, component_from
    from rag_evaluation_framework.retrieval.embedding_cache import CachedEmbedder

    return [CachedEmbedder(component_from(EMBEDDERS, each), settings.cache) for each in settings.embedders]


def _inputs(settings: RetrievalSettings) -> tuple[Corpus, Dataset]:
    """Read the documents and the questions; a dataset that holds its documents may be both."""
    from rag_evaluation_framework.datasets.dialects.recognition import recognise
    from rag_evaluation_framework.errors import UsageError
    from rag_evaluation_framework.evaluation.levels.retrieval_datasets import find_dataset
    from rag_evaluation_framework.records.documents import Corpus

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
    from rag_evaluation_framework.datasets.dialects.recognition import recognise
    from rag_evaluation_framework.errors import InputError

    try:
        recognise(folder)
    except InputError:
        return False
    return True
