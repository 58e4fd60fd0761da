"""From a corpus and a model to a dataset: plan, ask, read, check, write down as samples with ground truth."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rag_evaluation_framework.errors import ModelError, UsageError, shown
from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
from rag_evaluation_framework.evaluation.runs.run_records import Progress, RunOutcome
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.language_models.clients import as_chat_model
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.retrieval.chunking import chunk_corpus, component_text
from rag_evaluation_framework.synthesis.asking.model_questions import (
    CONCURRENCY,
    ask_for_questions,
    opened_run,
)
from rag_evaluation_framework.synthesis.asking.prompts import load_prompt
from rag_evaluation_framework.synthesis.asking.question_plan import (
    Cut,
    QuestionSettings,
    chunk_cut,
    planned_tasks,
    window_cut,
)
from rag_evaluation_framework.synthesis.asking.question_tasks import QuestionTask
from rag_evaluation_framework.synthesis.asking.unanswerable import without_answered
from rag_evaluation_framework.synthesis.asking.windows import MAX_CHARACTERS
from rag_evaluation_framework.synthesis.drafts import (
    DIFFICULTIES,
    KINDS,
    Difficulty,
    Draft,
    Drafts,
    Level,
    QuestionKind,
    Rejection,
)
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.locating.folded_text import folded


class ChecksDrafts(Protocol):
    """Quality control: rejects questions that are not good enough, with their reasons."""

    def checked(self, drafts: Drafts, corpus: Corpus) -> Drafts: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
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
    *,
    level: Level = "token",
    queries_per_doc: int = 5,
    kinds: Sequence[QuestionKind] = KINDS,
    difficulties: Sequence[Difficulty] = DIFFICULTIES,
    queries_across_docs: int = 0,
    unanswerable_per_doc: int = 0,
    chunker: Chunker | PositionAwareChunker | None = None,
    quality: ChecksDrafts | None = None,
    run_folder: RunFolder | str | Path | None = None,
    runs_directory: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    seed: int = 0,
    max_characters: int = MAX_CHARACTERS,
    concurrency: int = CONCURRENCY,
    configuration: Mapping[str, Any] | None = None,
) -> Generation:
    """Have a model write questions about a corpus, and keep those whose ground truth holds.

    ``model`` is whatever :func:`~rag_evaluation_framework.language_models.clients.as_chat_model` takes. The
    journal is kept in ``run_folder`` (a run, or the path of one, which may not exist yet), or in a new run in
    ``runs_directory``, or else only during the call. The same call with the same ``run_folder`` goes on where
    it was interrupted. The head of a new run records ``configuration`` beside these settings. Whatever
    prevents the generation is raised before the model is asked.
    """
    settings = QuestionSettings(
        level=level,
        queries_per_doc=queries_per_doc,
        kinds=tuple(kinds),
        difficulties=tuple(difficulties),
        queries_across_docs=queries_across_docs,
        unanswerable_per_doc=unanswerable_per_doc,
        max_characters=max_characters,
        seed=seed,
    )
    chat_model = as_chat_model(model)
    tasks = planned_tasks(corpus, settings, _cut(corpus, settings, chunker))
    name = None if chunker is None or level == "token" else component_text(chunker)
    is_temporary = run_folder is None and runs_directory is None
    with _runs(runs_directory, is_temporary=is_temporary) as runs:
        folder = opened_run(
            run_folder,
            tasks,
            settings,
            model=chat_model.name,
            chunker=name,
            runs_directory=runs,
            configuration=configuration or {},
        )
        try:
            asked = ask_for_questions(
                tasks, chat_model, folder=folder, seed=seed, concurrency=concurrency, on_progress=on_progress
            )
        except ModelError as error:
            if is_temporary or not folder.counts.reaskable:
                raise
            way_on = f"once that is mended, a resume of run {folder.head.run_id} asks again"
            raise ModelError(error.kind, f"{error.message}; {way_on}") from error
    drafts = without_answered(without_duplicates(asked.drafts), corpus)
    if asked.outcome.completed and quality is not None:
        drafts = quality.checked(drafts, corpus)
    generator = _generator(settings, tasks, model=chat_model.name)
    dataset = dataset_of(drafts, corpus, level=level, chunker=chunker, generator=generator)
    return Generation(
        dataset=dataset if asked.outcome.completed else None,
        drafts=drafts,
        outcome=asked.outcome,
        usage=asked.usage,
        requests=len(tasks),
        run_id=folder.head.run_id,
        run_path=folder.path if folder.path.exists() else None,
    )


def without_duplicates(drafts: Drafts) -> Drafts:
    """Reject questions that were asked before in the same words (``duplicate-question``)."""
    seen: set[str] = set()

    def rejection(draft: Draft) -> Rejection | None:
        words = folded(draft.question).rstrip("?？.! ")
        if words in seen:
            return Rejection("duplicate-question", draft.question, draft.origin)
        seen.add(words)
        return None

    return drafts.sifted(map(rejection, drafts.kept))


def _cut(corpus: Corpus, settings: QuestionSettings, chunker: Chunker | PositionAwareChunker | None) -> Cut:
    if settings.level == "token":
        return window_cut
    if chunker is None:
        raise UsageError(f"chunker: expected one, since the level is chunk, got {shown(chunker)}")
    return chunk_cut(chunk_corpus(corpus, chunker, distinct=True).chunks, corpus)


@contextmanager
def _runs(directory: str | Path | None, *, is_temporary: bool) -> Iterator[Path]:
    """Provide the directory for a new run; a temporary one is removed with all that is in it."""
    if not is_temporary:
        yield Path(directory or ".")
        return
    with tempfile.TemporaryDirectory(prefix="rag-eval-") as name:
        yield Path(name)


def _generator(settings: QuestionSettings, tasks: Sequence[QuestionTask], *, model: str) -> dict[str, Any]:
    """Return what the dataset records of how it was made: nothing that differs between equal generations."""
    prompts = sorted({task.prompt for task in tasks})
    return {
        "name": "model",
        "model": model,
        "prompts": {name: load_prompt(name).version for name in prompts},
        "queries_per_doc": settings.queries_per_doc,
        "queries_across_docs": settings.queries_across_docs,
        "unanswerable_per_doc": settings.unanswerable_per_doc,
        "kinds": list(settings.kinds),
        "difficulties": list(settings.difficulties),
        "max_characters": settings.max_characters,
        "seed": settings.seed,
    }
