"""Corpus and model to a dataset: asked as a run, which can be interrupted and resumed.

Tasks become samples, replies a journal, the journal drafts. Drafts are read from the journal in the order of
the tasks. So they are the same however often the run was interrupted, and can be read again without asking
the model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import ModelError, UsageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker, component_text
from rag_evaluation_framework.models.chat import ChatModel
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import Options, Progress, RunHead, RunOutcome, package_versions
from rag_evaluation_framework.records.samples import Dataset, Sample, Usage
from rag_evaluation_framework.results.run_data import content_hash
from rag_evaluation_framework.results.run_store import NEW_RUN, RunFolder
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Rejection
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.model_questions import ModelTarget, drafts_of, questions_in_lines
from rag_evaluation_framework.synthesis.question_plan import QuestionSettings, planned_tasks
from rag_evaluation_framework.synthesis.question_prompts import (
    ACCEPTED,
    ROOM,
    QuestionTask,
    sample_of,
    schema_of,
)
from rag_evaluation_framework.text.normalisation import FoldedText

CONCURRENCY = 16

# The chat model limits each of its attempts; this only ends what would never end.
_LONGEST_TASK = 1800.0
_SETTINGS = "generation"
_CHUNKER = "chunker"


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a generation.

    ``dataset`` is there once every request has been made; until then ``outcome`` says why it stopped, and the
    run can be resumed. ``drafts`` has every question that was rejected. ``run_path`` is where its journal
    is; that of a temporary run is gone.
    """

    dataset: Dataset | None
    drafts: Drafts
    outcome: RunOutcome
    usage: Usage | None
    requests: int
    run_id: str
    run_path: Path | None


def generate_with_model(
    corpus: Corpus,
    model: object,
    settings: QuestionSettings | None = None,
    *,
    chunker: Chunker | PositionAwareChunker | None = None,
    quality: QualityControl | None = None,
    run_folder: RunFolder | str | Path | None = None,
    runs_directory: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    concurrency: int = CONCURRENCY,
    configuration: Mapping[str, Any] | None = None,
) -> Generation:
    """Have a model write questions about a corpus, and keep those whose ground truth holds.

    ``model`` is a value that :func:`~rag_evaluation_framework.models.clients.as_chat_model` takes. The
    journal is kept in ``run_folder`` (a run, or the path of one, which may not exist yet), or in a new run in
    ``runs_directory``, or else only during the call. The same call with the same ``run_folder`` goes on where
    it was interrupted. The head of a new run records ``configuration`` beside these settings. A problem
    that prevents the generation is raised before the model is asked.
    """
    settings = settings or QuestionSettings()
    chunker = chunker if settings.level == "chunk" else None
    chat_model = as_chat_model(model)
    tasks = planned_tasks(corpus, settings, chunker)
    head = _head(tasks, settings, chat_model.name, chunker, configuration or {})
    with _run(run_folder, runs_directory, head) as folder:
        outcome = _ask_tasks(tasks, chat_model, folder, concurrency=concurrency, on_progress=on_progress)
        responses = {entry.result.sample_id: entry.result.response for entry in folder.entries()}
        if outcome.completed:
            _check_any_reply(responses, chat_model.name)
        totals = folder.index().usage
    drafts = without_duplicates(
        Drafts.joined(drafts_of(task, responses[task.id]) for task in tasks if task.id in responses)
    )
    dataset = None
    if outcome.completed:
        drafts = drafts if quality is None else quality.checked(drafts, corpus)
        generator = _generator(chat_model.name, tasks, settings)
        dataset = dataset_of(drafts, corpus, level=settings.level, chunker=chunker, generator=generator)
    return Generation(
        dataset=dataset,
        drafts=drafts,
        outcome=outcome,
        usage=totals if any(asdict(totals).values()) else None,
        requests=len(tasks),
        run_id=folder.head.run_id,
        run_path=folder.path if folder.path.exists() else None,
    )


def without_duplicates(drafts: Drafts) -> Drafts:
    """Reject questions that were asked before in the same words (``duplicate-question``)."""
    seen: set[str] = set()

    def rejection(draft: Draft) -> Rejection | None:
        words = FoldedText(draft.question).folded.rstrip("?？.! ")
        if words in seen:
            return Rejection("duplicate-question", draft.question, draft.origin)
        seen.add(words)
        return None

    return drafts.sifted(map(rejection, drafts.kept))


def settings_of(head: RunHead) -> QuestionSettings:
    """Return the settings that a run was begun with, to resume it."""
    written = head.configuration.get(_SETTINGS)
    if not isinstance(written, dict):
        raise UsageError(f"run {head.run_id} does not generate questions")
    return QuestionSettings(**written)


def chunker_of(head: RunHead) -> str | None:
    """Return the chunker that a run's questions are about, at chunk level."""
    chunker = head.configuration.get(_CHUNKER)
    return chunker if isinstance(chunker, str) else None


def _head(
    tasks: Sequence[QuestionTask],
    settings: QuestionSettings,
    model: str,
    chunker: Chunker | PositionAwareChunker | None,
    configuration: Mapping[str, Any],
) -> RunHead:
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=f"questions-{settings.level}-level",
        dataset_hash=content_hash(lambda: _samples(tasks, settings.seed)),
        target=model,
        configuration={
            **configuration,
            _SETTINGS: asdict(settings),
            _CHUNKER: None if chunker is None else component_text(chunker),
        },
        seed=settings.seed,
        packages=package_versions(),
    )


def _ask_tasks(
    tasks: Sequence[QuestionTask],
    model: ChatModel,
    folder: RunFolder,
    *,
    concurrency: int,
    on_progress: Callable[[Progress], None] | None,
) -> RunOutcome:
    """Ask the model every task that is not in the folder's journal yet.

    Tasks that failed because the endpoint could not be reached or turned the caller away are asked again.
    """
    by_id = {task.id: task for task in tasks}
    target = ModelTarget(
        model,
        schema=lambda sample: schema_of(by_id[sample.id]),
        accepted=ACCEPTED,
        other_form=questions_in_lines,
    )
    seed = folder.head.seed
    options = Options(concurrency=concurrency, attempt_timeout=_LONGEST_TASK, sample_timeout=_LONGEST_TASK)
    return run_samples(
        lambda: _samples(tasks, seed), target, [], folder=folder, options=options, on_progress=on_progress
    )


@contextmanager
def _run(
    run_folder: RunFolder | str | Path | None, runs_directory: str | Path | None, head: RunHead
) -> Iterator[RunFolder]:
    """Provide the run; one that nobody gave a place is removed with all that is in it."""
    is_temporary = run_folder is None and runs_directory is None
    kept = nullcontext(str(runs_directory or "."))
    with tempfile.TemporaryDirectory(prefix="rag-eval-") if is_temporary else kept as directory:
        folder = _opened(run_folder, directory, head)
        try:
            yield folder
        except ModelError as error:
            if is_temporary or not folder.counts.reaskable:
                raise
            way_on = f"fix this, then resume run {folder.head.run_id}"
            raise ModelError(error.kind, f"{error.message}; {way_on}") from error


def _opened(run_folder: RunFolder | str | Path | None, directory: str, head: RunHead) -> RunFolder:
    """Return the run to resume, or a new one; a run that was begun with other settings is refused."""
    if run_folder is None:
        return RunFolder.create(directory, head)
    if not isinstance(run_folder, RunFolder):
        path = Path(run_folder)
        if not (path / "head.json").exists():
            return RunFolder.create(path.parent, replace(head, run_id=path.name))
        run_folder = RunFolder.open(path)
    began = run_folder.head
    pairs: dict[str, tuple[Any, Any]] = {"model": (began.target, head.target)}
    pairs[_CHUNKER] = chunker_of(began), chunker_of(head)
    then = asdict(settings_of(began))
    pairs |= {name: (then[name], value) for name, value in head.configuration[_SETTINGS].items()}
    for name, (before, after) in pairs.items():
        if before != after:
            raise UsageError(
                f"cannot resume run {began.run_id} with another {name}: expected {before}, got {after}"
            )
    return run_folder


def _samples(tasks: Sequence[QuestionTask], seed: int) -> Iterator[Sample]:
    return (sample_of(task, seed=seed) for task in tasks)


def _check_any_reply(responses: dict[str, Response], model: str) -> None:
    failures = [response.failure for response in responses.values()]
    first = failures[0] if failures else None
    if first is not None and all(failure is not None for failure in failures):
        message = f"none of {len(failures):,} requests to {model} got a usable reply; {first.message}"
        raise ModelError(first.kind, message)


def _generator(model: str, tasks: Sequence[QuestionTask], settings: QuestionSettings) -> dict[str, Any]:
    """Return what a dataset records of how it was made: nothing that differs between equal generations."""
    prompts = sorted({task.prompt for task in tasks})
    asked = {name: value for name, value in asdict(settings).items() if name != "level"}
    return {
        "name": "model",
        "model": model,
        "prompts": {name: load_prompt(name, ROOM).version for name in prompts},
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asked.items()},
    }
