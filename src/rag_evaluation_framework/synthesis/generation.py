"""Corpus and model to a dataset."""

from __future__ import annotations

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any, Protocol

from rag_evaluation_framework.errors import ModelError, UsageError
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker, component_text
from rag_evaluation_framework.models.chat import ChatModel
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.records.runs import Progress, RunOutcome
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
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
from rag_evaluation_framework.synthesis.model_questions import (
    CONCURRENCY,
    AskedQuestions,
    ask_for_questions,
    opened_run,
)
from rag_evaluation_framework.synthesis.question_plan import (
    MAX_CHARACTERS,
    Cut,
    QuestionSettings,
    chunk_cut,
    planned_tasks,
    window_cut,
)
from rag_evaluation_framework.synthesis.question_prompts import load_prompt
from rag_evaluation_framework.text.normalisation import FoldedText
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import content_keys

# Whether a question that should have no answer obviously has one: by the words it shares with a
# sentence.
#
# This finds a passage that has nearly all the words of the question, not one that answers in other words.

# A sentence that has this share of what a question names, rare words counting more, most likely answers it.
_SHARE = 0.8
_LEAST_WORDS = 3

_ASKS_WHY = re.compile(r"\bwhy\b|\bfor what (?:reason|purpose)\b|为什么|为何|何故|原因", re.IGNORECASE)
_SAYS_WHY = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|the reason|therefore|as a result)\b"
    r"|因为|由于|因此|以便|为了|所以",
    re.IGNORECASE,
)


class ObviousAnswers:
    """The sentences of a corpus, found by the words of a question."""

    def __init__(self, corpus: Corpus) -> None:
        self._sentences: list[str] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for document in corpus:
            for start, end in sentence_spans(document.content):
                self._add(document.content[start:end])

    def answering(self, question: str) -> str | None:
        """Return a sentence that obviously answers a question, if there is one."""
        words = sorted(set(content_keys(question)))
        if len(words) < _LEAST_WORDS:
            return None
        weights = {word: self._rarity(word) for word in words}
        shared: Counter[int] = Counter()
        for word, weight in weights.items():
            for number in self._holding.get(word, ()):
                shared[number] += weight  # type: ignore[assignment]  # a counter of weights
        least = _SHARE * sum(weights.values())
        likely = sorted(number for number, weight in shared.items() if weight >= least)
        return self._first_that_says(question, [self._sentences[number] for number in likely])

    def _first_that_says(self, question: str, sentences: Sequence[str]) -> str | None:
        asks_why = _ASKS_WHY.search(question) is not None
        return next((each for each in sentences if not asks_why or _SAYS_WHY.search(each)), None)

    def _add(self, sentence: str) -> None:
        for word in set(content_keys(sentence)):
            self._holding[word].append(len(self._sentences))
        self._sentences.append(sentence)

    def _rarity(self, word: str) -> float:
        return log(1 + (len(self._sentences) + 1) / (len(self._holding.get(word, ())) + 1))


def without_answered(drafts: Drafts, corpus: Corpus) -> Drafts:
    """Reject the unanswerable questions that the corpus obviously answers (``answered-after-all``)."""
    if all(draft.excerpts or draft.chunk_ids for draft in drafts.kept):
        return drafts
    answers = ObviousAnswers(corpus)

    def rejection(draft: Draft) -> Rejection | None:
        if draft.excerpts or draft.chunk_ids:
            return None
        sentence = answers.answering(draft.question)
        if sentence is None:
            return None
        return Rejection("answered-after-all", draft.question, draft.origin, sentence)

    return drafts.sifted(map(rejection, drafts.kept))


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

    ``model`` is whatever :func:`~rag_evaluation_framework.models.clients.as_chat_model` takes. The
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
    plan = _Plan(corpus, as_chat_model(model), settings, chunker)
    with plan.run(run_folder, runs_directory, configuration or {}) as folder:
        asked = ask_for_questions(
            plan.tasks, plan.model, folder=folder, seed=seed, concurrency=concurrency, on_progress=on_progress
        )
    return plan.generation(asked, folder, quality)


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


class _Plan:
    """What a model is asked about a corpus, where its replies are kept, and what is made of them."""

    def __init__(
        self,
        corpus: Corpus,
        model: ChatModel,
        settings: QuestionSettings,
        chunker: Chunker | PositionAwareChunker | None,
    ) -> None:
        self.model = model
        self._corpus, self._settings = corpus, settings
        self._chunker = chunker if settings.level == "chunk" else None
        self.tasks = planned_tasks(corpus, settings, self._cut())

    @contextmanager
    def run(
        self,
        run_folder: RunFolder | str | Path | None,
        runs_directory: str | Path | None,
        configuration: Mapping[str, Any],
    ) -> Iterator[RunFolder]:
        """Provide the run; one that nobody gave a place is removed with all that is in it."""
        is_temporary = run_folder is None and runs_directory is None
        kept = nullcontext(str(runs_directory or "."))
        with tempfile.TemporaryDirectory(prefix="rag-eval-") if is_temporary else kept as directory:
            folder = opened_run(
                run_folder,
                self.tasks,
                self._settings,
                model=self.model.name,
                chunker=None if self._chunker is None else component_text(self._chunker),
                runs_directory=directory,
                configuration=configuration,
            )
            try:
                yield folder
            except ModelError as error:
                if is_temporary or not folder.counts.reaskable:
                    raise
                way_on = f"once that is mended, a resume of run {folder.head.run_id} asks again"
                raise ModelError(error.kind, f"{error.message}; {way_on}") from error

    def generation(
        self, asked: AskedQuestions, folder: RunFolder, quality: ChecksDrafts | None
    ) -> Generation:
        """Return the questions whose ground truth holds; of a run that is at its end, as a dataset."""
        is_complete = asked.outcome.completed
        drafts = without_answered(without_duplicates(asked.drafts), self._corpus)
        if is_complete and quality is not None:
            drafts = quality.checked(drafts, self._corpus)
        return Generation(
            dataset=self._dataset(drafts) if is_complete else None,
            drafts=drafts,
            outcome=asked.outcome,
            usage=asked.usage,
            requests=len(self.tasks),
            run_id=folder.head.run_id,
            run_path=folder.path if folder.path.exists() else None,
        )

    def _cut(self) -> Cut:
        if self._settings.level == "token":
            return window_cut
        if self._chunker is None:
            raise UsageError("chunker: expected one, since the level is chunk, got None")
        return chunk_cut(chunk_corpus(self._corpus, self._chunker, distinct=True).chunks, self._corpus)

    def _dataset(self, drafts: Drafts) -> Dataset:
        """Return a dataset that records how it was made: nothing that differs between equal generations."""
        settings = asdict(self._settings)
        level = settings.pop("level")
        prompts = sorted({task.prompt for task in self.tasks})
        generator = {
            "name": "model",
            "model": self.model.name,
            "prompts": {name: load_prompt(name).version for name in prompts},
            **{name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()},
        }
        return dataset_of(drafts, self._corpus, level=level, chunker=self._chunker, generator=generator)
