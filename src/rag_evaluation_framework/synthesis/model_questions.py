"""A model that is asked for questions as a run asks a system, and its replies read as drafts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import MAX_COST, ModelError, ModelOutageError, TargetError
from rag_evaluation_framework.models.chat import ChatModel, Message
from rag_evaluation_framework.models.spending import CountedModel, Spending
from rag_evaluation_framework.models.structured import ask
from rag_evaluation_framework.records.responses import NOT_REACHED, Failure, Request, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.synthesis.drafts import (
    DIFFICULTIES,
    KINDS,
    Draft,
    Drafts,
    Excerpt,
    QuestionKind,
    Rejection,
)
from rag_evaluation_framework.synthesis.question_prompts import QuestionTask, Shown
from rag_evaluation_framework.text.scripts import writes_another_script
from rag_evaluation_framework.text.search import ExcerptFinder, Unlocated
from rag_evaluation_framework.workers import in_own_thread

# A language model as the system that a run asks: a sample's turns go in, a JSON value comes out.
#
# So asking a model for many things is a run like any other, with the same journal: answers are on the
# disk, and a resumed run asks nothing twice.

Schema = Mapping[str, Any]

# The endpoint answered; its answer is useless.
_USELESS = frozenset({"not-json", "off-schema", "ambiguous", "truncated", "refused"})
# The endpoint was not there, which says nothing of the sample: the run waits, then stops and can be resumed.
_GONE = "connection-failed"


class ModelTarget:
    """Fulfils ``extensions.Target``. A response's text is the value that the model gave, as JSON.

    ``schema`` is the schema in the request, for each sample; ``accepted`` is the least that a reply
    must have to be taken; ``other_form`` reads one that is not JSON. The chat model retries by its own rules,
    so nothing is retried here.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        schema: Callable[[Sample], Schema],
        accepted: Schema,
        other_form: Callable[[str], Any | None] | None = None,
    ) -> None:
        self.name = model.name
        self._other_form = other_form
        self._model = model
        self._schema = schema
        self._accepted = accepted
        self._has_answered = False

    async def answer(self, request: Request) -> Response:
        """Ask the model in a thread of its own."""
        try:
            async with asyncio.timeout(request.timeout):
                return await in_own_thread(lambda: self._answered(request.sample), name="model")
        except TimeoutError:
            raise TargetError("timeout", "no answer in time") from None
        except ModelError as error:
            # An endpoint that answered and then fails everyone is as good as gone, whatever it says.
            if error.kind == MAX_COST:
                raise
            is_gone = self._has_answered and isinstance(error, ModelOutageError)
            kind = _GONE if is_gone else error.kind
            raise TargetError(kind, error.message, retry=kind in NOT_REACHED) from error

    async def close(self) -> None:
        """Leave the model open: whoever made it closes it."""

    def _answered(self, sample: Sample) -> Response:
        messages = [Message(turn.role, turn.content or "") for turn in sample.turns]
        model = CountedModel(self._model, Spending())
        try:
            reply = ask(
                model, messages, self._schema(sample), accepted=self._accepted, other_form=self._other_form
            )
            self._has_answered = True
        except ModelError as error:
            if error.kind not in _USELESS:
                raise
            return Response(
                failure=Failure(kind=error.kind, message=error.message), usage=model.spending.usage
            )
        text = json.dumps(reply.value, ensure_ascii=False, separators=(",", ":"))
        return Response(
            text=text, usage=model.spending.usage, metadata={"asked_twice": True} if reply.repaired else {}
        )


# Questions written as lines, ``Q: …`` and ``Chunks: chunk_…, chunk_…``, by a model that does not write JSON.

_ASKED_LINE = re.compile(
    r"^[\W\d_]*(?:Q|Question|问题|问)\s*\d*\s*[*_]*\s*[:：]\s*[*_]*\s*(.*)$", re.IGNORECASE
)
_CITED_LINE = re.compile(r"^[\W\d_]*(?:Relevant )?Chunks?(?: ids?)?\s*[*_]*\s*[:：](.*)$", re.IGNORECASE)
_CHUNK_ID = re.compile(r"(?:pa_)?chunk_\w+")


def questions_in_lines(text: str) -> dict[str, Any] | None:
    """Return the questions of a reply in lines with the chunks that each names; ``None`` if it has none.

    >>> questions_in_lines("Q: When does it sail?\\nChunks: chunk_a1b2c3, chunk_d4e5f6")
    {'questions': [{'question': 'When does it sail?', 'chunk_ids': ['chunk_a1b2c3', 'chunk_d4e5f6']}]}
    """
    questions: list[dict[str, Any]] = []
    for line in text.splitlines():
        if asked := _ASKED_LINE.match(line):
            questions.append({"question": asked[1].strip(" *_"), "chunk_ids": []})
        elif questions and (cited := _CITED_LINE.match(line)):
            questions[-1]["chunk_ids"] += _CHUNK_ID.findall(cited[1])
    return {"questions": questions} if any(each["chunk_ids"] for each in questions) else None


# Whether a question can be put to somebody who has not seen the text it was made from.

_LONGEST = 600

_TEXT = r"(?:texts?|passages?|excerpts?|chunks?|article|document \d)"
_SPEAKS_OF_TEXT = re.compile(
    rf"\b(?:according to|based on|in|from|of|by|does|do) (?:the|this|these|that) "
    rf"(?:(?:above|given|provided|following) )?{_TEXT}\b"
    r"|\baccording to (?:the|this|these) (?:(?:above|given|provided) )?(?:documents?|sections?|paragraphs?)\b"
    r"|\bchunk_[0-9a-f]{6,}"
    r"|本文|上文|该文|此文|文中|这段文字|该段|上述(?:文本|文字|段落|文档)|以上(?:文本|文字|段落)",
    re.IGNORECASE,
)


def question_problem(question: str, sources: Iterable[str]) -> tuple[str, str] | None:
    """Return the reason to reject a question and what shows it; ``None`` if there is none.

    >>> question_problem("What does the passage say about dogs?", ["Dogs travel free."])
    ('refers-to-the-text', 'does the passage')
    """
    if not question or len(question) > _LONGEST:
        return "malformed-question", f"a question of {len(question)} characters"
    if found := _SPEAKS_OF_TEXT.search(question):
        return "refers-to-the-text", found[0]
    if writes_another_script(question, sources):
        return "other-language", ""
    return None


# Reads a model's reply to a task: valid questions become drafts, the others are rejected.
#
# Of a question that is kept, every passage is a slice of a document that the model was shown, and every
# chunk is one that it was shown. Nothing is lost: a task for n questions gives at least n drafts and
# rejections together. The reasons (``drafts.REASONS``) are stable, and so are ``model-<kind>``
# (``model-truncated``, ``model-refused`` …) where there was no usable reply.

# Somebody who copies more than half of a long text has not said where the answer is.
_LONG_TEXT = 1500
_LARGEST_SHARE = 0.5
_DETAIL_CHARACTERS = 200
_AROUND_ID = " \t\n[](){}<>'\"`“”‘’,;:."


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
    value = json.loads(response.text)
    listed = value.get("questions") if isinstance(value, dict) else value
    given = listed if isinstance(listed, list) else []
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
        """Parts left out of questions that are kept."""

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
        answer = item.get("answer")
        excerpts, chunk_ids = self._evidence(item, question)
        return Draft(
            question=question,
            excerpts=excerpts,
            answer=answer.strip() or None if isinstance(answer, str) else None,
            kind=kind,
            difficulty=next((each for each in DIFFICULTIES if each == _label(item.get("difficulty"))), None),
            chunk_ids=chunk_ids,
            origin=self._task.origin,
        )

    def _kind(self, said: Any) -> QuestionKind | None:
        kind = next((kind for kind in KINDS if kind == _label(said)), None)
        if kind is not None and kind not in self._task.kinds:
            raise _TurnedAway("kind-not-asked-for", kind)
        return kind

    def _evidence(
        self, item: Mapping[str, Any], question: str
    ) -> tuple[tuple[Excerpt, ...], tuple[str, ...]]:
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
                raise _TurnedAway("malformed-question", "excerpts that are not text")
            if not isinstance(number, int) or not 1 <= number <= len(self._task.shown):
                raise _TurnedAway("malformed-question", f"an excerpt of document {number!r}")
            copied.append((number - 1, text))
        return copied

    def _located(self, place: int, texts: Sequence[str]) -> list[Excerpt]:
        part = self._task.shown[place]
        located = self._finders[place].locate_together(texts)
        if isinstance(located, Unlocated):
            raise _TurnedAway(located.reason, located.excerpt)
        length = sum(found.size for found in located)
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
