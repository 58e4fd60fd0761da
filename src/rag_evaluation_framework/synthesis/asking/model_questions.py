"""Asks a model for questions as a run: tasks become samples, replies a journal, the journal drafts.

Drafts are read from the journal in the order of the tasks. So they are the same however often the run was
interrupted, and can be read again without asking the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import ModelError, UsageError
from rag_evaluation_framework.evaluation.runs.runner import run_samples
from rag_evaluation_framework.language_models.chat import ChatModel
from rag_evaluation_framework.records.responses import Response, Usage
from rag_evaluation_framework.records.runs import Progress, RunHead, RunOutcome, RunSettings, package_versions
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder
from rag_evaluation_framework.results.sample_list import content_hash
from rag_evaluation_framework.synthesis.asking.asked_questions import drafts_of
from rag_evaluation_framework.synthesis.asking.model_target import ModelTarget
from rag_evaluation_framework.synthesis.asking.question_plan import QuestionSettings
from rag_evaluation_framework.synthesis.asking.question_tasks import (
    ACCEPTED,
    QuestionTask,
    sample_of,
    schema_of,
)
from rag_evaluation_framework.synthesis.drafts import Drafts

CONCURRENCY = 16

# The chat model limits each of its attempts; this only ends what would never end.
_LONGEST_TASK = 1800.0
_SETTINGS = "generation"
_CHUNKER = "chunker"


@dataclass(frozen=True, slots=True)
class AskedQuestions:
    """The outcome of asking: the questions so far, what they cost, and whether the run is at its end."""

    drafts: Drafts
    outcome: RunOutcome
    usage: Usage | None


def ask_for_questions(
    tasks: Sequence[QuestionTask],
    model: ChatModel,
    *,
    folder: RunFolder,
    seed: int = 0,
    concurrency: int = CONCURRENCY,
    on_progress: Callable[[Progress], None] | None = None,
) -> AskedQuestions:
    """Ask the model every task that is not in the folder's journal yet, and read all replies.

    Tasks that failed because the endpoint could not be reached or turned the caller away are asked again. If
    no task at all got a usable reply, that is a :class:`ModelError`.
    """
    by_id = {task.id: task for task in tasks}
    target = ModelTarget(model, schema=lambda sample: schema_of(by_id[sample.id]), accepted=ACCEPTED)
    settings = RunSettings(
        concurrency=concurrency,
        attempt_timeout=_LONGEST_TASK,
        sample_timeout=_LONGEST_TASK,
        seed=seed,
    )
    outcome = run_samples(
        lambda: _samples(tasks, seed), target, [], folder=folder, settings=settings, on_progress=on_progress
    )
    responses = {entry.result.sample_id: entry.result.response for entry in folder.entries()}
    if outcome.completed:
        _check_any_reply(responses, model.name)
    parts = (drafts_of(task, responses[task.id]) for task in tasks if task.id in responses)
    totals = folder.index().usage
    known = (totals.input_tokens, totals.output_tokens, totals.cost_usd)
    usage = Usage(input_tokens=known[0], output_tokens=known[1], cost_usd=known[2])
    return AskedQuestions(Drafts.joined(parts), outcome, usage if any(known) else None)


def opened_run(
    run_folder: RunFolder | str | Path | None,
    tasks: Sequence[QuestionTask],
    settings: QuestionSettings,
    *,
    model: str,
    chunker: str | None,
    runs_directory: str | Path,
    configuration: Mapping[str, Any],
) -> RunFolder:
    """Return the run to resume, or a new one.

    ``run_folder`` is a run, or the path of one, which is created if it does not exist. Without it a new run
    gets the next free name in ``runs_directory``. The head of a new one records ``configuration`` too. A run
    that was begun with other settings is refused.
    """

    def head(run_id: str) -> RunHead:
        return RunHead(
            run_id=run_id,
            dataset_id=f"questions-{settings.level}-level",
            dataset_hash=content_hash(lambda: _samples(tasks, settings.seed)),
            target=model,
            configuration={**configuration, _SETTINGS: asdict(settings), _CHUNKER: chunker},
            seed=settings.seed,
            packages=package_versions(),
        )

    if run_folder is not None and not isinstance(run_folder, RunFolder):
        path = Path(run_folder)
        if not (path / "head.json").exists():
            return RunFolder.create(path.parent, head(path.name))
        run_folder = RunFolder.open(path)
    if run_folder is None:
        return RunFolder.create(runs_directory, head(NEW_RUN))
    _check_alike(run_folder.head, settings, model=model, chunker=chunker)
    return run_folder


def settings_of(head: RunHead) -> QuestionSettings:
    """Return the settings that a run was begun with, to resume it."""
    written = head.configuration.get(_SETTINGS)
    if not isinstance(written, dict):
        raise UsageError(f"run {head.run_id}: expected one that generates questions, got another kind")
    return QuestionSettings(**written)


def chunker_of(head: RunHead) -> str | None:
    """Return the chunker that a run's questions are about, at chunk level."""
    chunker = head.configuration.get(_CHUNKER)
    return chunker if isinstance(chunker, str) else None


def _samples(tasks: Sequence[QuestionTask], seed: int) -> Iterator[Sample]:
    return (sample_of(task, seed=seed) for task in tasks)


def _check_alike(head: RunHead, settings: QuestionSettings, *, model: str, chunker: str | None) -> None:
    began = settings_of(head)
    pairs = {"model": (head.target, model), "chunker": (chunker_of(head), chunker)}
    pairs |= {name: (getattr(began, name), value) for name, value in asdict(settings).items()}
    for name, (then, now) in pairs.items():
        if then != now:
            raise UsageError(
                f"run {head.run_id} cannot go on with another {name}: expected {then}, got {now}"
            )


def _check_any_reply(responses: dict[str, Response], model: str) -> None:
    failures = [response.failure for response in responses.values()]
    first = failures[0] if failures else None
    if first is not None and all(failure is not None for failure in failures):
        message = (
            f"none of {len(failures):,} requests to {model} got a reply that can be used; {first.message}"
        )
        raise ModelError(first.kind, message)
