"""A model as judge: votes, memory of verdicts, kinship."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from statistics import median
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import ModelError, ModelOutageError, UsageError, shown
from rag_evaluation_framework.models.chat import FAILURES_OF_THE_ANSWER, ChatModel, Message
from rag_evaluation_framework.models.prompts import FieldValue, Prompt, load_prompt, messages_for
from rag_evaluation_framework.models.spending import (
    BudgetedModel,
    CallBudget,
    Spending,
    counted_in,
    total_usage,
)
from rag_evaluation_framework.models.structured import ask
from rag_evaluation_framework.records.samples import Usage

# Makes one verdict out of several: the label of more than half of the votes, the median of numbers.
#
# A vote that failed counts among all, so a label wins only if no reply that is missing could have changed
# that. A number needs every vote.


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of one model in one draw, or the reason for which there is none."""

    model: str
    draw: int
    values: Mapping[str, Any] | None = None
    usage: Usage | None = None
    error: ModelError | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The agreed value of the votes, and the share of votes for exactly that, for each judged text."""

    values: Mapping[str, Any]
    shares: tuple[float, ...]

    @property
    def agreement(self) -> float:
        return sum(self.shares) / len(self.shares)


def outcome(prompt: Prompt, votes: Sequence[Vote]) -> Outcome:
    """Return what the votes agree on, or raise :class:`ModelError`.

    What stands beside the deciding value (reasons, quotes) is taken from the first vote for it.
    """
    replies = [vote.values for vote in votes if vote.values is not None]
    errors = [vote.error for vote in votes if vote.error is not None]
    if not replies:
        raise errors[0]
    try:
        if prompt.listed is None:
            winner, share = _decided(prompt, replies, len(votes))
            return Outcome(values=winner, shares=(share,))
        columns = zip(*(reply[prompt.listed] for reply in replies), strict=True)
        decided = [_decided(prompt, column, len(votes)) for column in columns]
    except ModelError:
        # With the votes that are missing there might have been a majority: they are what went wrong.
        raise (errors[0] if errors else _no_majority(prompt, len(votes))) from None
    winners = [winner for winner, _ in decided]
    shares = tuple(share for _, share in decided)
    return Outcome(values={**replies[0], prompt.listed: winners}, shares=shares)


def reply_value(prompt: Prompt, values: Mapping[str, Any]) -> Any:
    """Return what decides in one reply: a value, or one for each text."""
    if prompt.listed is None:
        return values[prompt.decides]
    return [entry[prompt.decides] for entry in values[prompt.listed]]


def _decided(
    prompt: Prompt, entries: Sequence[Mapping[str, Any]], asked: int
) -> tuple[Mapping[str, Any], float]:
    """Return the entry that the votes agree on, and the share of votes that say the same."""
    values = [entry[prompt.decides] for entry in entries]
    winner = _winner(values, asked)
    if winner is None:
        raise _no_majority(prompt, asked)
    share = values.count(winner) / asked
    if winner in values:
        return entries[values.index(winner)], share
    # The middle of an even number of numbers: the words of the vote that comes nearest.
    nearest = min(entries, key=lambda entry: abs(entry[prompt.decides] - winner))
    return {**nearest, prompt.decides: winner}, share


def _winner(values: Sequence[Any], asked: int) -> Any:
    """Return the label of more than half of all votes, or the median of numbers, or ``None``."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return median(values) if len(values) == asked else None
    label, count = Counter(values).most_common(1)[0]
    return label if 2 * count > asked else None


def _no_majority(prompt: Prompt, asked: int) -> ModelError:
    return ModelError("no-majority", f"{prompt.name}: no verdict has a majority of {asked} votes")


# Keeps the last verdicts of a judge, since several metrics ask the same question about the same sample.

Kept = TypeVar("Kept")


class Memory(Generic[Kept]):
    """The last ``size`` results by key; whoever asks for one that is being made waits for it.

    A failure is raised for everyone who waits. It is kept like a result if ``keeps`` says so, and otherwise
    as long as one answer is scored.
    """

    def __init__(self, size: int, *, keeps: Callable[[BaseException], bool] = lambda _: False) -> None:
        self._size = size
        self._keeps = keeps
        self._lock = threading.Lock()
        self._futures: OrderedDict[bytes, Future[Kept]] = OrderedDict()

    def recall(self, key: bytes, make: Callable[[], Kept]) -> tuple[Kept, bool]:
        """Return the result for a key, made now if it is not known, and whether it was known."""
        failures, place = FAILURES_OF_THE_ANSWER.get(), (id(self), key)
        if failures and place in failures:
            raise failures[place].with_traceback(None)
        try:
            return self._recalled(key, make)
        except Exception as error:  # whatever it is: raised again
            if failures is not None:
                failures[place] = error
            raise

    def _recalled(self, key: bytes, make: Callable[[], Kept]) -> tuple[Kept, bool]:
        with self._lock:
            known = self._futures.get(key)
            if known is not None:
                self._futures.move_to_end(key)
            future = known or self._futures.setdefault(key, Future())
        if known is not None:
            return known.result(), True
        try:
            future.set_result(make())
        except BaseException as error:  # whatever it is: raised again, here and where others wait
            future.set_exception(error)
            if not self._keeps(error):
                with self._lock:
                    self._futures.pop(key, None)
            raise
        finally:
            with self._lock:
                while len(self._futures) > self._size:
                    self._futures.popitem(last=False)
        return future.result(), False


# A language model as judge: a versioned prompt and the texts to judge in, a schema-bound verdict out.

MAX_CHARACTERS = 200_000
"""Maximum length of a question to a judge: some 50,000 tokens of English, four times that of Chinese."""

_REMEMBERED = 1024

Check = Callable[[Mapping[str, Any]], str | None]
"""Tells what is wrong with a reply that follows the schema, in words that the model may be shown."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a judge: the fields of the prompt's schema, agreed on by ``votes`` replies.

    ``agreement`` is the share of votes that say the same as the verdict (the mean share where it is one for
    each of several texts, whose own are ``shares``); there is none with a single vote. ``details`` has what
    each model said, or the kind of its error. ``usage`` is what was paid for now: remembered replies cost
    nothing.
    """

    values: Mapping[str, Any]
    prompt: str
    prompt_version: int
    votes: int = 1
    agreement: float | None = None
    shares: tuple[float, ...] = ()
    usage: Usage | None = None
    details: Mapping[str, Any] = {}


class Judge:
    """An LLM judge of one model or several; every verdict follows its prompt's schema.

    The verdict is the label of more than half of all votes, or the median of numbers. All models must answer,
    since fewer would be another panel. The last thousand verdicts, and the failed replies, are remembered:
    several metrics with the same question share one verdict. Where an endpoint failed, the question is
    repeated once the answer is scored (:func:`scoring_one_answer`).

    Args:
        *models: The models.
        votes: Number of replies per model.
        max_characters: Maximum length of a question; longer ones are never cut.

    Raises:
        ModelError: While judging: ``no-majority``, ``too-long``, or a reply that does not follow the schema.
        ModelOutageError: While judging: a model is down.
    """

    def __init__(self, *models: ChatModel, votes: int = 1, max_characters: int = MAX_CHARACTERS) -> None:
        if not models:
            raise UsageError("judge: no model given")
        if votes < 1:
            raise UsageError(f"judge: votes: expected at least 1, got {shown(votes)}")
        self.models = models
        self.votes = votes
        self.max_characters = max_characters
        self._memory: Memory[Verdict] = Memory(_REMEMBERED, keeps=_is_final)
        self._lock = threading.Lock()
        self._failed_votes: Counter[str] = Counter()

    def __reduce__(self) -> tuple[Any, ...]:
        # Verdicts stay here: a copy asks for what it needs.
        return partial(Judge, votes=self.votes, max_characters=self.max_characters), self.models

    @property
    def name(self) -> str:
        """Return the models, joined with ``+``, and the number of votes: ``judge:gpt-4o-mini``."""
        models = "+".join(model.name for model in self.models)
        return f"judge:{models}" if self.votes == 1 else f"judge:{models}, {self.votes} votes"

    def counted_in(self, spending: Spending) -> Judge:
        """Return the same judge, whose models count and are capped by a total."""
        models = (counted_in(model, spending) for model in self.models)
        return Judge(*models, votes=self.votes, max_characters=self.max_characters)

    def within(self, calls: CallBudget) -> Judge:
        """Return the same judge, whose models may be put so many calls together."""
        models: Any = (BudgetedModel(model, calls) for model in self.models)
        return Judge(*models, votes=self.votes, max_characters=self.max_characters)

    @property
    def failed_votes(self) -> dict[str, int]:
        """Return the number of failed votes of each model that has failed any."""
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
        verdict, was_known = self._memory.recall(question.key, lambda: self._ask(question))
        if not was_known:
            return verdict
        if check is not None and check(verdict.values) is not None:
            return self._ask(question)  # it was given to someone who checked less
        return replace(verdict, usage=None)

    def _ask(self, question: _Question) -> Verdict:
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
            details={"votes": [_format_vote(prompt, vote) for vote in votes]},
        )

    def _votes(self, question: _Question) -> list[Vote]:
        calls = [(model, draw) for model in self.models for draw in range(self.votes)]
        if len(calls) == 1:
            return [question.put(*calls[0])]
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda call: question.drawn_anew().put(*call), calls))


class _Question(msgspec.Struct, frozen=True):
    """A prompt with its texts, ready to be put to any model."""

    prompt: Prompt
    fields: Mapping[str, FieldValue]
    messages: list[Message]
    check: Check | None

    @property
    def key(self) -> bytes:
        """Return the cache key: the question's words without delimiter code, and the schema."""
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
        """Return the problem with a reply: a text not judged exactly once, or a failed check."""
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
    """Return True if the reply caused the error; after an endpoint's failure a retry may work."""
    return isinstance(error, ModelError) and not error.is_of_endpoint


def _format_vote(prompt: Prompt, vote: Vote) -> dict[str, Any]:
    told: dict[str, Any] = {"model": vote.model, "draw": vote.draw}
    if vote.values is not None:
        return {**told, "value": reply_value(prompt, vote.values)}
    return {**told, "error": None if vote.error is None else vote.error.kind}


# Which models are kin: a judge rates the answers of its own family better than people do.

# Models trained by the same house, or from the same weights. A name may belong to two families: a distilled
# model is kin to both its parents.
_FAMILIES: dict[str, re.Pattern[str]] = {
    "claude": re.compile(r"claude"),
    "cohere": re.compile(r"\b(?:command|aya|c4ai)\b"),
    "deepseek": re.compile(r"deepseek"),
    "falcon": re.compile(r"falcon"),
    "gemini": re.compile(r"gemini|gemma|\bpalm\b|bison"),
    "glm": re.compile(r"glm"),
    "gpt": re.compile(r"(?<![a-z])gpt(?!-?(?:neo|j\b))|chatgpt|davinci|\bo[1-9]\b"),
    "granite": re.compile(r"granite"),
    "grok": re.compile(r"grok"),
    "internlm": re.compile(r"internlm"),
    "jamba": re.compile(r"jamba"),
    "kimi": re.compile(r"kimi|moonshot"),
    "llama": re.compile(r"llama|vicuna|alpaca|nemotron"),
    "mistral": re.compile(r"(?:mis|minis|magis|codes|devs|mix|pix|vox)tral"),
    "nova": re.compile(r"\bnova\b"),
    "olmo": re.compile(r"\bolmo"),
    "phi": re.compile(r"\bphi(?:\b|\d)"),
    "qwen": re.compile(r"qwen|qwq|qvq"),
    "yi": re.compile(r"\byi\b"),
}
_SEPARATORS = re.compile(r"[\s_./:@]+")
# Whose names say nothing of the model: a house that hosts or tunes others' weights.
_HOUSES = re.compile(r"^(?:meta-llama|deepseek-ai|ollama|vllm|huggingface)[/:]")


def families(model: str) -> frozenset[str]:
    """Return the families of a model by its name; none where the name tells nothing.

    >>> sorted(families("deepseek-ai/DeepSeek-R1-Distill-Llama-8B"))
    ['deepseek', 'llama']
    """
    name = _SEPARATORS.sub("-", _HOUSES.sub("", model.lower()))
    return frozenset(family for family, pattern in _FAMILIES.items() if pattern.search(name))


def same_family(judge_model: str, target_model: str) -> bool:
    """Return True if two models are of one family, as far as their names show.

    >>> same_family("gpt-4o-mini", "azure/gpt-4.1"), same_family("gpt-4o-mini", "claude-sonnet-4")
    (True, False)
    """
    is_same = judge_model.strip().lower() == target_model.strip().lower()
    return is_same or bool(families(judge_model) & families(target_model))


def kinship_warning(judge_models: Iterable[str], target_model: str) -> str | None:
    """Return what to tell a user whose judge is kin to what it judges; ``None`` where it is not."""
    kin = [model for model in judge_models if same_family(model, target_model)]
    if not kin:
        return None
    return (
        f"judge {' and '.join(kin)} is of the same family as {target_model}, which it judges: such judges "
        f"favour models like themselves; use one of another family, or check it against people's labels"
    )
