"""Reads a model's reply to a task: valid questions become drafts, the others are rejected.

Of a question that is kept, every passage is a slice of a document that the model was shown, and every chunk
is one that it was shown. Nothing is lost: a task for n questions gives at least n drafts and rejections
together. The reasons (:data:`REASONS`) are stable, and so are ``model-<kind>`` (``model-truncated``,
``model-refused`` …) where there was no usable reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.synthesis.asking.question_checks import question_problem
from rag_evaluation_framework.synthesis.asking.question_tasks import QuestionTask, Shown
from rag_evaluation_framework.synthesis.drafts import (
    DIFFICULTIES,
    KINDS,
    Difficulty,
    Draft,
    Drafts,
    Excerpt,
    QuestionKind,
    Rejection,
)
from rag_evaluation_framework.synthesis.locating.excerpts import ExcerptFinder, Unlocated

REASONS: Mapping[str, str] = {
    "fewer-than-asked": "the model gave fewer questions",
    "more-than-asked": "the model gave more questions",
    "malformed-question": "no question in it, or passages that are not texts",
    "kind-not-asked-for": "of another kind than those asked for",
    "refers-to-the-text": "speaks of a text that whoever searches has not seen",
    "other-language": "in another script than its source",
    "no-excerpt": "no passage with it",
    "empty-excerpt": "a passage without a word",
    "excerpt-not-found": "a passage that is not in the document",
    "ambiguous-excerpt": "a passage that stands in several places",
    "overlong-excerpt": "a passage that is most of a long text",
    "unknown-chunk-id": "cites a chunk that was not shown; the id alone is dropped",
    "no-chunk": "cites no chunk that was shown",
    "one-document": "across documents, but a single one answers it",
}
"""The reasons given here, in words."""

# Somebody who copies more than half of a long text has not said where the answer is.
_LONG_TEXT = 1500
_LARGEST_SHARE = 0.5
_DETAIL_CHARACTERS = 200
_AROUND_ID = " \t\n[](){}<>'\"`“”‘’,;:."

Evidence: TypeAlias = tuple[tuple[Excerpt, ...], tuple[str, ...]]
"""The passages that answer a question, and at chunk level the ids of their chunks."""


class _TurnedAway(Exception):  # noqa: N818  # no error: it ends the reading of one question
    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(reason)


def drafts_of(task: QuestionTask, response: Response) -> Drafts:
    """Return the valid questions of one reply, and the others with their reasons."""
    if response.text is None:
        failure = response.failure
        kind, message = ("no-completion", "") if failure is None else (failure.kind, failure.message)
        return Drafts((), _lost(task, len(task.wanted), f"model-{kind}", message))
    given = _questions_in(json.loads(response.text))
    reader = _Reader(task)
    kept: list[Draft] = []
    rejected: list[Rejection] = []
    for item in given:
        try:
            if len(kept) == len(task.wanted):
                raise _TurnedAway("more-than-asked")
            kept.append(reader.draft(item))
        except _TurnedAway as away:
            rejected.append(_rejection(task, away.reason, _question_of(item), away.detail))
    missing = _lost(task, len(task.wanted) - len(given), "fewer-than-asked")
    return Drafts(tuple(kept), (*rejected, *reader.dropped, *missing))


def _questions_in(value: Any) -> list[Any]:
    listed = value.get("questions") if isinstance(value, dict) else value
    return listed if isinstance(listed, list) else []


def _question_of(item: Any) -> str:
    question = item.get("question") if isinstance(item, dict) else item
    return question.strip() if isinstance(question, str) else ""


def _lost(task: QuestionTask, number: int, reason: str, detail: str = "") -> tuple[Rejection, ...]:
    return tuple(_rejection(task, reason, "", detail) for _ in range(number))


def _rejection(task: QuestionTask, reason: str, question: str, detail: str = "") -> Rejection:
    shortened = detail if len(detail) <= _DETAIL_CHARACTERS else detail[: _DETAIL_CHARACTERS - 1] + "…"
    return Rejection(reason, question, task.origin, shortened)


class _Reader:
    """Reads the questions of one reply, one after the other."""

    def __init__(self, task: QuestionTask) -> None:
        self._task = task
        self._texts = [part.text for part in task.shown]
        self._finders = [ExcerptFinder(text) for text in self._texts]
        self.dropped: list[Rejection] = []
        """What was left out of questions that are kept."""

    def draft(self, item: Any) -> Draft:
        """Return the draft of a question; :class:`_TurnedAway` says why there is none."""
        if not isinstance(item, dict):
            raise _TurnedAway("malformed-question", f"a {type(item).__name__}")
        question = _question_of(item)
        if problem := question_problem(question, self._texts):
            raise _TurnedAway(*problem)
        if self._task.prompt == "unanswerable":
            return Draft(question=question, excerpts=(), origin=self._task.origin)
        kind = self._kind(item.get("kind"))
        excerpts, chunk_ids = self._evidence(item, question)
        return Draft(
            question=question,
            excerpts=excerpts,
            answer=_answer(item.get("answer")),
            kind=kind,
            difficulty=_difficulty(item.get("difficulty")),
            chunk_ids=chunk_ids,
            origin=self._task.origin,
        )

    def _kind(self, said: Any) -> QuestionKind | None:
        kind = next((kind for kind in KINDS if kind == _label(said)), None)
        if kind is not None and kind not in self._task.kinds:
            raise _TurnedAway("kind-not-asked-for", kind)
        return kind

    def _evidence(self, item: Mapping[str, Any], question: str) -> Evidence:
        if self._task.prompt in ("chunk_level", "across_chunks"):
            cited = self._cited(item.get("chunk_ids"), question)
            documents = [part.doc_id for part in cited]
            excerpts = [_excerpt(part, 0, len(part.text)) for part in cited if part.end > part.start]
            chunk_ids = tuple(part.chunk_id for part in cited)
        else:
            excerpts = self._excerpts(item.get("excerpts"))
            documents = [excerpt.doc_id for excerpt in excerpts]
            chunk_ids = ()
        if self._task.prompt.startswith("across") and len(set(documents)) < 2:
            raise _TurnedAway("one-document", documents[0])
        return tuple(excerpts), chunk_ids

    def _excerpts(self, said: Any) -> list[Excerpt]:
        by_part: dict[int, list[str]] = {}
        for number, text in self._copied(said):
            by_part.setdefault(number, []).append(text)
        if not by_part:
            raise _TurnedAway("no-excerpt")
        return [each for number in sorted(by_part) for each in self._located(number, by_part[number])]

    def _copied(self, said: Any) -> list[tuple[int, str]]:
        """Return the passages that a question came with, each with the place of the text it is from."""
        copied: list[tuple[int, str]] = []
        for each in said if isinstance(said, list) else [said]:
            number, text = (each.get("document"), each.get("text")) if isinstance(each, dict) else (1, each)
            if not isinstance(text, str):
                raise _TurnedAway("malformed-question", "excerpts that are not texts")
            if not isinstance(number, int) or not 1 <= number <= len(self._task.shown):
                raise _TurnedAway("malformed-question", f"an excerpt of document {number!r}")
            copied.append((number - 1, text))
        return copied

    def _located(self, place: int, texts: Sequence[str]) -> list[Excerpt]:
        part = self._task.shown[place]
        located = self._finders[place].locate_together(texts)
        if isinstance(located, Unlocated):
            raise _TurnedAway(located.reason, located.excerpt)
        length = sum(found.end - found.start for found in located)
        if length > _LONG_TEXT and length > _LARGEST_SHARE * len(part.text):
            raise _TurnedAway("overlong-excerpt", f"{length:,} of {len(part.text):,} characters")
        return [_excerpt(part, found.start, found.end) for found in located]

    def _cited(self, said: Any, question: str) -> list[Shown]:
        """Return the chunks that a question came with; ids of others are dropped and counted."""
        listed = re.split(r"[,;\s]+", said) if isinstance(said, str) else said
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise _TurnedAway("malformed-question", "chunk_ids that are not a list of texts")
        by_id = {part.chunk_id: part for part in self._task.shown}
        bare = dict.fromkeys(each.strip(_AROUND_ID) for each in listed)
        found = {each: by_id.get(each) or by_id.get(f"chunk_{each}") for each in bare if each}
        cited = list(dict.fromkeys(part for part in found.values() if part is not None))
        unknown = [each for each, part in found.items() if part is None]
        if not cited:
            raise _TurnedAway("no-chunk", ", ".join(unknown))
        self.dropped += [_rejection(self._task, "unknown-chunk-id", question, each) for each in unknown]
        return cited


def _excerpt(part: Shown, start: int, end: int) -> Excerpt:
    """Return the characters ``[start, end)`` of a text that was shown, by their place in its document."""
    return Excerpt(part.doc_id, part.start + start, part.start + end, part.text[start:end])


def _label(said: Any) -> str:
    return said.strip().lower() if isinstance(said, str) else ""


def _difficulty(said: Any) -> Difficulty | None:
    return next((each for each in DIFFICULTIES if each == _label(said)), None)


def _answer(said: Any) -> str | None:
    return said.strip() or None if isinstance(said, str) else None
