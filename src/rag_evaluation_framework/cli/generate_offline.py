"""What ``scripts/generate_offline_dataset.py`` runs: write the raw records behind the splits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.shared_options import (
    AS_JSON,
    BASE_URL,
    CONTEXT,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    GLOB,
    KEY_ENV,
    SEED,
    concurrency,
)
from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.language_models.chat import ChatModel
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.synthesis.offline.offline_records import Task

_TASKS = ("qa", "summaries", "citations")
_INCOMPLETE = 3
_FOLDER = click.Path(file_okay=False, path_type=Path)

EXAMPLES = """\b
Examples:
  python scripts/generate_offline_dataset.py documents
  python scripts/generate_offline_dataset.py documents --config configs/default.yaml --force
  python scripts/generate_offline_dataset.py documents --task-type qa --model gpt-4o-mini
  python scripts/generate_offline_dataset.py data/processed --glob '**/*.txt' -k 8 --output raw.jsonl.zst"""


@click.command("generate-offline-dataset", epilog=EXAMPLES, context_settings=CONTEXT)
@click.argument("corpus", type=EXISTING_FOLDER)
@click.option(
    "--config",
    type=EXISTING_FILE,
    help="Configuration file of the project; --output takes precedence over it.",
)
@click.option(
    "--output",
    type=FILE,
    help="File for the raw records.  [default: evaluation/datasets/offline_dataset.jsonl]",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--task-type",
    "task_types",
    multiple=True,
    type=click.Choice(_TASKS),
    help="Kind of task to make records for; may be repeated.  [default: all]",
)
@click.option(
    "--queries-per-doc",
    type=click.IntRange(1),
    default=5,
    metavar="N",
    help="Number of questions for each document.",
)
@click.option(
    "-k", "k", type=click.IntRange(1), default=5, metavar="N", help="Number of contexts for each question."
)
@click.option(
    "--chunker", default="recursive(chunk_size=500)", metavar="SPEC", help="Chunker of the documents."
)
@click.option(
    "--retriever",
    default="bm25",
    metavar="SPEC",
    help="Retriever of the contexts: bm25, dense(…) or fused(…).",
)
@click.option(
    "--model", metavar="NAME", help="Model that answers the questions.  [default: the passages themselves]"
)
@BASE_URL
@KEY_ENV
@concurrency(default=8, most=256)
@click.option(
    "--completions",
    type=_FOLDER,
    default=Path(".rag-eval") / "completions",
    help="Folder in which the model's replies are remembered, so that nothing is asked twice.",
)
@GLOB
@click.option(
    "--run-id",
    metavar="NAME",
    help="Name of the run, recorded in every record.  [default: offline_<UTC date>]",
)
@SEED
@AS_JSON
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Write raw records about the documents in the folder CORPUS: questions, summaries and citations.

    Contexts are retrieved from the documents and numbered; every answer cites them as [n]. A model's reply
    that cites nothing, or wrongly, is asked for once more and then rejected. `rag-eval build` makes the
    question answering and summary splits from the records.

    Exit code 0: written; 2: wrong usage or data; 3: not one record could be made.
    """
    context.exit(_generate(**given))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="generate-offline-dataset")


def _generate(*, as_json: bool, run_id: str | None, **given: Any) -> int:
    from rag_evaluation_framework.evaluation.manifests.preflight import check_writable
    from rag_evaluation_framework.files.json_lines import write_lines
    from rag_evaluation_framework.records.documents import Corpus

    output = _output(given["output"], given["config"])
    if output.exists() and not given["force"]:
        raise UsageError(f"{output} exists; give --force to replace it")
    check_writable([output.parent])
    model = _model(given)
    corpus = Corpus.from_folder(given["corpus"], given["glob"])
    tasks = _tasks(corpus, given)
    records = _Records(tasks, model, given, run_id=run_id or f"offline_{datetime.now(UTC):%Y%m%d}")
    listed = list(records)
    if not listed:
        _say(f"not one of {counted(len(tasks), 'task')} became a record: {_shown(records.rejected)}")
        return _INCOMPLETE
    output.parent.mkdir(parents=True, exist_ok=True)
    write_lines(output, listed)
    counts = Counter(record["task_type"] for record in listed)
    if as_json:
        told = {"output": str(output), "records": dict(counts), "rejected": dict(records.rejected)}
        print_json(told)
        return 0
    click.echo(f"{output}: {counted(len(listed), 'record')} ({_shown(counts)})")
    if records.rejected:
        click.echo(f"rejected: {_shown(records.rejected)}")
    return 0


def _output(output: Path | None, config: Path | None) -> Path:
    from rag_evaluation_framework.datasets.splits.build import BuildPaths
    from rag_evaluation_framework.datasets.splits.build_settings import read_build_settings

    if output is not None:
        return output
    settings = read_build_settings(config) if config is not None else {}
    return Path(settings.get("offline_dataset", BuildPaths().offline_dataset))


def _model(given: dict[str, Any]) -> ChatModel | None:
    if given["model"] is None:
        return None
    from rag_evaluation_framework.adapters.openai_chat import OpenAIChatModel
    from rag_evaluation_framework.language_models.cache import RememberingModel

    model = OpenAIChatModel(
        given["model"],
        base_url=given["base_url"],
        key_env=given["key_env"],
        concurrency=given["concurrency"],
    )
    click.get_current_context().call_on_close(model.close)
    return RememberingModel(model, given["completions"])


def _tasks(corpus: Corpus, given: dict[str, Any]) -> list[Task]:
    from rag_evaluation_framework.retrieval.components import chunker_from
    from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
    from rag_evaluation_framework.retrieval.retrievers import retriever_from
    from rag_evaluation_framework.synthesis.extractive import generate_extractively
    from rag_evaluation_framework.synthesis.offline.offline_records import TASK_TYPES, offline_tasks

    pipeline = RetrievalPipeline(chunker_from(given["chunker"]), retriever=retriever_from(given["retriever"]))
    pipeline.index(corpus)
    drafts = generate_extractively(
        corpus, queries_per_doc=given["queries_per_doc"], seed=given["seed"]
    ).drafts
    task_types = given["task_types"] or TASK_TYPES
    return list(offline_tasks(corpus, drafts.kept, pipeline=pipeline, k=given["k"], task_types=task_types))


class _Records:
    """The records of all tasks, one after the other; counts those rejected."""

    def __init__(
        self, tasks: Sequence[Task], model: ChatModel | None, given: dict[str, Any], *, run_id: str
    ) -> None:
        self._tasks, self._model, self._given, self._run_id = tasks, model, given, run_id
        self.rejected: Counter[str] = Counter()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        from rag_evaluation_framework.synthesis.drafts import Rejection
        from rag_evaluation_framework.synthesis.extractive import NAME, VERSION
        from rag_evaluation_framework.synthesis.offline.offline_records import offline_records

        generator: dict[str, Any] = {"questions": f"{NAME} {VERSION}", "seed": self._given["seed"]}
        generator["answers"] = self._given["model"] or NAME
        made = offline_records(
            self._tasks,
            run_id=self._run_id,
            folder=f"{self._given['corpus'].as_posix()}/",
            model=self._model,
            generator=generator,
            concurrency=self._given["concurrency"],
            on_done=self._show if sys.stderr.isatty() else None,
        )
        for each in made:
            if isinstance(each, Rejection):
                self.rejected[each.reason] += 1
            else:
                yield each

    def _show(self, done: int) -> None:
        end = "\r\033[K" if done == len(self._tasks) else ""
        click.echo(f"\r{done:,}/{counted(len(self._tasks), 'task')}{end}", nl=False, err=True)


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def _say(text: str) -> None:
    click.echo(f"generate-offline-dataset: {text}", err=True)
