"""The program of ``scripts/generate_offline_dataset.py``: writes the raw records behind the splits."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.generate import opened_model
from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.output import check_free, print_json
from rag_evaluation_framework.errors import UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.synthesis.offline_records import Task

_INCOMPLETE = 3

EXAMPLES = """\b
Examples:
  python scripts/generate_offline_dataset.py
  python scripts/generate_offline_dataset.py documents
  python scripts/generate_offline_dataset.py documents \\
    --config configs/default.yaml --force
  python scripts/generate_offline_dataset.py documents --task-type qa \\
    --model gpt-4o-mini
  python scripts/generate_offline_dataset.py data/processed \\
    --glob '**/*.txt' -k 8 --output raw.jsonl.zst"""


@click.command("generate-offline-dataset", epilog=EXAMPLES, context_settings=options.CONTEXT)
@click.argument("corpus", type=options.DOCUMENTS, required=False)
@options.option(
    "--config",
    "Configuration file with the paths; options take precedence.  [default: configs/default.yaml, if "
    "it exists]",
    type=options.EXISTING_FILE,
)
@options.option(
    "--output",
    "File for the offline records.  [default: evaluation/datasets/offline_dataset.jsonl]",
    type=options.FILE,
)
@options.flag("--force", "Replace an existing file.")
@options.repeated(
    "--task-type",
    "Task to generate records for; may be repeated.  [default: all]",
    called="task_types",
    type=click.Choice(["qa", "summaries", "citations", "retrieval"]),
)
@options.whole_number("--queries-per-doc", "Number of questions per document.", default=5)
@options.whole_number("-k", "Number of contexts per question.", default=5)
@options.option("--chunker SPEC", "Chunker for the documents.", default="recursive(chunk_size=500)")
@options.option("--retriever SPEC", "Retriever for the contexts: bm25, dense(…) or fused(…).", default="bm25")
@options.option("--model NAME", "Model to answer the questions.  [default: copy the passages]")
@options.BASE_URL
@options.KEY_ENV
@options.ALLOW_HOST
@options.concurrency(default=8, type=click.IntRange(1, 256))
@options.option(
    "--completions",
    "Folder to cache the model's replies in.",
    type=options.FOLDER,
    default=Path(".rag-eval") / "completions",
)
@options.option(
    "--glob PATTERN", "Pattern of the document files.  [default: the configuration's, else **/*.md]"
)
@options.option("--run-id NAME", "Name of the run, stored in each record.  [default: offline_<UTC date>]")
@options.SEED
@options.AS_JSON
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Generate offline records about the documents in CORPUS (default: from the configuration).

    The records are questions, summaries, citation tasks and retrieval diagnostics.

    Contexts are retrieved from the documents and numbered; each answer cites them as [n]. If a model's reply
    has no or wrong citations, the model is asked once more, then the reply is rejected. `rag-eval build`
    writes the splits.

    Exit code 0: written; 2: wrong usage or data; 3: no record generated.
    """
    from rag_evaluation_framework.files.strict_json import write_lines
    from rag_evaluation_framework.records.documents import Corpus

    given |= _places(given)
    output: Path = given["output"]
    check_free(output, force=given["force"])
    corpus = Corpus.from_folder(given["corpus"], given["glob"])
    tasks = _tasks(corpus, given)
    records, rejected = _records(tasks, given)
    if not records:
        told = f"no record from {counted(len(tasks), 'task')}: {_shown(rejected)}"
        click.echo(f"generate-offline-dataset: {told}", err=True)
        context.exit(_INCOMPLETE)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_lines(output, records)
    counts = Counter(record["task_type"] for record in records)
    if given["as_json"]:
        print_json({"output": str(output), "records": dict(counts), "rejected": dict(rejected)})
        return
    click.echo(f"{output}: {counted(len(records), 'record')} ({_shown(counts)})")
    if rejected:
        click.echo(f"rejected: {_shown(rejected)}")


def _places(given: dict[str, Any]) -> dict[str, Any]:
    """Return where the documents are, which of them count, and where the records go."""
    from rag_evaluation_framework.datasets.split_build import DEFAULT_CONFIG, EvaluationConfig

    config = EvaluationConfig.of_project(given["config"])
    corpus: Path | None = given["corpus"] or config.corpus
    where = f"evaluation.corpus in {given['config'] or DEFAULT_CONFIG}"
    if corpus is None:
        raise UsageError(f"No documents given. Pass CORPUS, or set {where}.")
    if not corpus.is_dir():
        raise UsageError(f"{where}: there is no folder {corpus}")
    inside = Path(os.path.relpath(corpus, config.root))
    return {
        "corpus": corpus,
        # Sources are written as the project sees them, wherever the command is run.
        "folder": corpus if ".." in inside.parts else inside,
        "glob": given["glob"] or config.corpus_glob,
        "output": given["output"] or config.offline_dataset,
    }


def _tasks(corpus: Corpus, given: dict[str, Any]) -> list[Task]:
    from rag_evaluation_framework.components import chunker_from, retriever_from
    from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
    from rag_evaluation_framework.synthesis.extractive import generate_extractively
    from rag_evaluation_framework.synthesis.offline_records import TASK_TYPES, offline_tasks

    pipeline = RetrievalPipeline(chunker_from(given["chunker"]), retriever=retriever_from(given["retriever"]))
    pipeline.index(corpus)
    made = generate_extractively(corpus, queries_per_doc=given["queries_per_doc"], seed=given["seed"])
    task_types = given["task_types"] or TASK_TYPES
    return list(
        offline_tasks(corpus, made.drafts.kept, pipeline=pipeline, k=given["k"], task_types=task_types)
    )


def _records(tasks: Sequence[Task], given: dict[str, Any]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the records of all tasks, and how many were rejected for which reason."""
    from rag_evaluation_framework.models.memory import RememberingModel
    from rag_evaluation_framework.synthesis.drafts import Rejection
    from rag_evaluation_framework.synthesis.extractive import NAME, VERSION
    from rag_evaluation_framework.synthesis.offline_records import offline_records

    def show(done: int) -> None:
        end = "\r\033[K" if done == len(tasks) else ""
        click.echo(f"\r{done:,}/{counted(len(tasks), 'task')}{end}", nl=False, err=True)

    name = given["model"]
    made = list(
        offline_records(
            tasks,
            run_id=given["run_id"] or f"offline_{datetime.now(UTC):%Y%m%d}",
            folder=f"{given['folder'].as_posix()}/",
            model=None if name is None else RememberingModel(opened_model(given), given["completions"]),
            generator={"questions": f"{NAME} {VERSION}", "seed": given["seed"], "answers": name or NAME},
            concurrency=given["concurrency"],
            on_done=show if sys.stderr.isatty() else None,
        )
    )
    rejected = Counter(each.reason for each in made if isinstance(each, Rejection))
    return [each for each in made if not isinstance(each, Rejection)], rejected


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="generate-offline-dataset")
