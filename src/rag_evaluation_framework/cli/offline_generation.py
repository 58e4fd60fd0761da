"""What ``scripts/generate_offline_dataset.py`` does: from the options to raw records and the exit code."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.components import chunker_from, retriever_from
from rag_evaluation_framework.datasets.split_build import BuildPaths, read_build_settings
from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.evaluation.preflight import check_writable
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.models.chat import ChatModel
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.synthesis.drafts import Rejection
from rag_evaluation_framework.synthesis.extractive import NAME, VERSION, generate_extractively
from rag_evaluation_framework.synthesis.offline_records import (
    TASK_TYPES,
    Task,
    offline_records,
    offline_tasks,
)

_INCOMPLETE = 3


def generate_offline(*, as_json: bool, run_id: str | None, **given: Any) -> int:
    """Write the records and return the exit code."""
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
    if output is not None:
        return output
    settings = read_build_settings(config) if config is not None else {}
    return Path(settings.get("offline_dataset", BuildPaths().offline_dataset))


def _model(given: dict[str, Any]) -> ChatModel | None:
    if given["model"] is None:
        return None
    model = OpenAIChatModel(
        given["model"],
        base_url=given["base_url"],
        key_env=given["key_env"],
        concurrency=given["concurrency"],
    )
    click.get_current_context().call_on_close(model.close)
    return RememberingModel(model, given["completions"])


def _tasks(corpus: Corpus, given: dict[str, Any]) -> list[Task]:
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
