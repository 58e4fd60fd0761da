"""``rag-eval retrieval``: compare chunkers, embedders, stores and rerankers over a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rag_evaluation_framework.cli.retrieval_settings import RetrievalSettings
    from rag_evaluation_framework.extensions import Embedder
    from rag_evaluation_framework.records.datasets import Dataset
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.results.sweep_results import SweepResults

_LEVELS = ("token", "chunk", "document")
_TESTS = ("randomisation", "t", "wilcoxon")
_PATH = click.Path(path_type=Path)

EXAMPLES = """\b
Examples:
  rag-eval retrieval documents --dataset questions.eval.json -k 5
  rag-eval retrieval documents --dataset questions.eval.json -k 5 -k 10 \\
      --reranker none --reranker lexical \\
      --chunker 'recursive(chunk_size=200, overlap=50)' --chunker 'fixed(tokens=100)' --chunker sentence
  rag-eval retrieval beir/scifact --retriever bm25 --retriever fused --out results
  rag-eval retrieval --config sweep.config.yaml --json > sweep.json"""


@click.command(
    "retrieval",
    epilog=EXAMPLES,
    short_help="Compare chunkers, embedders, stores and rerankers over a corpus.",
)
@click.argument("corpus", type=_PATH, required=False)
@click.option("--dataset", type=_PATH, metavar="FILE", help="The questions.  [default: CORPUS, if a dataset]")
@click.option("--level", type=click.Choice(_LEVELS), help="What is compared.  [default: the finest there is]")
@click.option(
    "--chunker", "chunker", multiple=True, metavar="SPEC", help="May be repeated, as all parts may."
)
@click.option("--embedder", multiple=True, metavar="SPEC", help="[default: hashing]")
@click.option("--retriever", multiple=True, metavar="SPEC", help="dense, bm25, fused.  [default: dense]")
@click.option("--store", multiple=True, metavar="SPEC", help="[default: chroma if installed, else exact]")
@click.option("--reranker", multiple=True, metavar="SPEC", help="none is one too.  [default: none]")
@click.option("-k", "k", type=int, multiple=True, metavar="N", help="Chunks a query.  [default: 5]")
@click.option("--fetch-k", type=int, metavar="N", help="Candidates for a reranker.  [default: 4 k]")
@click.option("--glob", metavar="PATTERN", help="The files of a CORPUS folder.  [default: **/*.md]")
@click.option("--rank-by", metavar="METRIC", help="[default: the level's recall]")
@click.option("--cache", type=_PATH, metavar="DIR", help="Keep embeddings there, for later runs too.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--out", "output", type=_PATH, metavar="DIR", help="Write .results.json files and sweep.json.")
@click.option("--test", type=click.Choice(_TESTS), default="randomisation", show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Threads.")
@click.option("--seed", type=click.IntRange(0), help="Same seed, same figures.  [default: 0]")
@click.option("--per-query", is_flag=True, help="With --json: every query's scores too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(
    config: Path | None, test: Any, workers: int, per_query: bool, as_json: bool, **given: Any
) -> None:
    """Find out which chunker, embedder, retriever, reranker and k find what the questions need in CORPUS.

    CORPUS is a folder of documents, or a dataset that holds its documents (a BEIR folder, an .eval.json).
    Every combination is evaluated; texts are embedded once and chunkings done once. Prints a ranked table for
    each k with intervals, and says which differences from the best are real.
    """
    from rag_evaluation_framework.cli.retrieval_settings import settings_of
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.retrieval_sweep import sweep_text

    settings = settings_of(given, config)
    results = _results(settings, test=test, workers=workers, show_steps=not as_json and sys.stderr.isatty())
    written = results.write(settings.out) if settings.out is not None else []
    if as_json:
        click.echo(strict_json.encode(results.to_dict(per_query=per_query), indent=2))
        return
    click.echo(sweep_text(results))
    if written:
        click.echo(f"\nwrote {len(written):,} files to {settings.out}")


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
