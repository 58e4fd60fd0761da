"""A language model as judge: a versioned prompt and the texts to judge in, a schema-bound verdict out."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from rag_evaluation_framework.errors import ModelError, ModelOutageError, UsageError, shown
from rag_evaluation_framework.judging.judges.prompt_messages import FieldValue, messages_for
from rag_evaluation_framework.judging.judges.prompts import Prompt, load_prompt
from rag_evaluation_framework.judging.judges.verdict_memory import Memory
from rag_evaluation_framework.judging.judges.votes import Vote, outcome, said
from rag_evaluation_framework.language_models.chat import ChatModel, Message
from rag_evaluation_framework.language_models.spending import total_usage
from rag_evaluation_framework.language_models.structured import ask
from rag_evaluation_framework.records.responses import Usage

MAX_CHARACTERS = 200_000
"""What a question to a judge may come to: some 50,000 tokens of English, four times that of Chinese."""

_REMEMBERED = 1024

Check = Callable[[Mapping[str, Any]], str | None]
"""Tells what is wrong with a reply that follows the schema, in words that the model may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge decided: the fields of the prompt's schema, agreed on by ``votes`` replies.

    ``agreement`` is the share of votes that say the same as the verdict (the mean share where it is one for
    each of several texts, whose own are ``shares``); there is none with a single vote. ``details`` has what
    each model said, or the kind of its error. ``usage`` is what was paid for now: remembered replies cost
    nothing.
    """

    values: Mapping[str, Any] = field(hash=False)
    prompt: str
    prompt_version: int
    votes: int = 1
    agreement: float | None = None
    shares: tuple[float, ...] = ()
    usage: Usage | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Judge:
    """One model or several; every verdict is bound to its prompt's schema or is a :class:`ModelError`.

    Every model is asked ``votes`` times. The verdict is the label of more than half of all votes, or the
    median of numbers; without such a label it is a :class:`ModelError` ``no-majority``. A model that is down
    is a :class:`ModelOutageError`, though the others could decide without it: they are not the panel that was
    asked for. Texts of more than ``max_characters`` are never cut: they are a :class:`ModelError`
    ``too-long``. The last thousand verdicts are kept, and the replies that were none: the same question is
    put once, though several metrics ask it, and either all of them have a verdict or none has. What an
    endpoint failed to answer is put again once the answer is scored (:func:`scoring_one_answer`).
    """

    def __init__(self, *models: ChatModel, votes: int = 1, max_characters: int = MAX_CHARACTERS) -> None:
        if not models:
            raise UsageError("judge: expected at least one model, got none")
        if votes < 1:
            raise UsageError(f"judge: votes: expected at least 1, got {shown(votes)}")
        self.models = models
        self.votes = votes
        self.max_characters = max_characters
        self._memory: Memory[Verdict] = Memory(_REMEMBERED, keeps=_is_final)
        self._lock = threading.Lock()
        self._failed_votes: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """``judge:gpt-4o-mini``; several models are joined with ``+``, and several votes are told."""
        models = "+".join(model.name for model in self.models)
        return f"judge:{models}" if self.votes == 1 else f"judge:{models}, {self.votes} votes"

    @property
    def failed_votes(self) -> dict[str, int]:
        """How many votes each model has failed to give, of those that have failed any."""
        with self._lock:
            return dict(self._failed_votes)

    def verdict(
        self, prompt: str | Prompt, fields: Mapping[str, FieldValue], *, check: Check | None = None
    ) -> Verdict:
        """Ask for the verdict of a prompt, one of the package's by its name or one that was read from a file.

        ``check`` says what else is wrong with a reply, such as a quote that stands nowhere.
        """
        known = load_prompt(prompt) if isinstance(prompt, str) else prompt
        messages = messages_for(known, fields)
        size = sum(len(message.content) for message in messages)
        if size > self.max_characters:
            limit = f"the limit is {self.max_characters:,}"
            raise ModelError("too-long", f"{known.name}: the question has {size:,} characters, {limit}")
        question = _Question(known, fields, messages, check)
        verdict, was_known = self._memory.recall(question.key, lambda: self._asked(question))
        if not was_known:
            return verdict
        if check is not None and check(verdict.values) is not None:
            return self._asked(question)  # it was given to someone who checked less
        return replace(verdict, usage=None)

    def _asked(self, question: _Question) -> Verdict:
        prompt = question.prompt
        votes = self._votes(question)
        with self._lock:
            self._failed_votes.update(vote.model for vote in votes if vote.error is not None)
        agreed = outcome(prompt, votes)
        return Verdict(
            values=agreed.values,
            prompt=prompt.name,
            prompt_version=prompt.version,
            votes=len(votes),
            agreement=agreed.agreement if len(votes) > 1 else None,
            shares=agreed.shares if len(votes) > 1 else (),
            usage=total_usage(vote.usage for vote in votes),
            details={"votes": [_told(prompt, vote) for vote in votes]},
        )

    def _votes(self, question: _Question) -> list[Vote]:
        calls = [(model, draw) for model in self.models for draw in range(self.votes)]
        if len(calls) == 1:
            return [question.put(*calls[0])]
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda call: question.drawn_anew().put(*call), calls))


@dataclass(frozen=True, slots=True)
class _Question:
    """A prompt with its texts, ready to be put to any model."""

    prompt: Prompt
    fields: Mapping[str, FieldValue]
    messages: list[Message]
    check: Check | None

    @property
    def key(self) -> bytes:
        """What the question is known by: its words, without the code of the delimiters, and the schema."""
        asked = json.dumps([[message.remembered_as for message in self.messages], self.prompt.schema])
        return hashlib.blake2b(asked.encode(), digest_size=16).digest()

    def drawn_anew(self) -> _Question:
        """Return the same question with delimiters of another code, so that no two votes see the same."""
        return replace(self, messages=messages_for(self.prompt, self.fields))

    def put(self, model: ChatModel, draw: int) -> Vote:
        """Ask one model once; what goes wrong with its reply is part of the vote."""
        try:
            reply = ask(model, self.messages, self.prompt.schema, draw=draw, check=self.problem)
        except ModelOutageError:
            raise
        except ModelError as error:
            return Vote(model=model.name, draw=draw, error=error)
        paid = total_usage(each.usage for each in reply.completions if not each.is_cached)
        return Vote(model=model.name, draw=draw, values=self.ordered(reply.value), usage=paid)

    def problem(self, value: Mapping[str, Any]) -> str | None:
        """Say what is wrong with a reply: every text is judged once, and the caller's own check holds."""
        listed = self.prompt.listed
        if listed is not None:
            count = len(self.fields.get(listed, ()))
            if sorted(entry["number"] for entry in value[listed]) != list(range(1, count + 1)):
                return f"{listed}: expected one entry for each number from 1 to {count}"
        return self.check(self.ordered(value)) if self.check is not None else None

    def ordered(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a reply with the entries of its list in the order of the texts."""
        listed = self.prompt.listed
        return value if listed is None else {**value, listed: sorted(value[listed], key=itemgetter("number"))}


def failed_votes(details: Mapping[str, Any]) -> int:
    """Return how many of the votes in a verdict's details gave nothing."""
    return sum("error" in vote for vote in details["votes"])


def _is_final(error: BaseException) -> bool:
    """Tell whether the reply was at fault. Where the endpoint failed, who asks later may be luckier."""
    return isinstance(error, ModelError) and not error.is_of_endpoint


def _told(prompt: Prompt, vote: Vote) -> dict[str, Any]:
    told: dict[str, Any] = {"model": vote.model, "draw": vote.draw}
    if vote.values is not None:
        return {**told, "value": said(prompt, vote.values)}
    return {**told, "error": None if vote.error is None else vote.error.kind}
