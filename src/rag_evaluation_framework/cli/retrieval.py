"""``rag-eval retrieval``: compare chunkers, embedders, stores and rerankers over a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.options import AS_JSON, EXISTING_FILE, PAIRED_TEST, RUNS_DIR, Option
from rag_evaluation_framework.cli.retrieval_settings import DEFAULT_CHUNKER, DEFAULT_GLOB

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
@click.option(
    "--resume", metavar="RUN", help="Go on with this sweep; what was searched for is not searched for again."
)
@RUNS_DIR
@PAIRED_TEST
@click.option("--workers", type=click.IntRange(1), default=1, help="Number of threads.")
@click.option(
    "--seed", type=click.IntRange(0), help="Random seed; the same seed gives the same results.  [default: 0]"
)
@click.option("--per-query", is_flag=True, help="With --json: also print the scores of every query.")
@AS_JSON
def command(
    config: Path | None,
    test: Any,
    workers: int,
    runs_dir: Path,
    resume: str | None,
    per_query: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Compare how well chunkers, embedders, retrievers and rerankers find what the questions need in CORPUS.

    CORPUS is a folder of documents, or a dataset that holds its documents (a BEIR folder, an .eval.json).
    Retrievers are dense, bm25 and fused; the reranker none leaves the order as it is. Every combination is
    evaluated; texts are embedded once and chunkings done once. Prints a ranked table for each k with
    intervals, and says which differences from the best are significant. Each combination is a run in the
    folder of the sweep; a sweep that was stopped goes on with the same options and --resume.
    """
    from rag_evaluation_framework.cli.retrieval_command import compare_pipelines  # slow to import

    return compare_pipelines(
        given,
        config,
        test=test,
        workers=workers,
        runs_dir=runs_dir,
        resume=resume,
        per_query=per_query,
        as_json=as_json,
    )
