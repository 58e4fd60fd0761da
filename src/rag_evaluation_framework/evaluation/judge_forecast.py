"""The cost of a judge, before it is asked: the real prompts are made, and nobody is sent them.

Some samples are scored as in a run, with a judge that notes each question in place of putting it to a model.
So prompts, questions that metrics share, answers that decline, long lists of claims and the words of a
cascade count as they will. Where the answers are not there yet, expected ones stand in for them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import ModelError, TargetError
from rag_evaluation_framework.evaluation.plan import DatasetPlan, Plan
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.answer_classes import classify_answer
from rag_evaluation_framework.judging.cascade import Band, Cascade, Stage
from rag_evaluation_framework.judging.judge import Judge, Verdict
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.views import LEXICAL_SUPPORT
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.records.responses import Response, is_conversation
from rag_evaluation_framework.records.samples import Sample, Usage
from rag_evaluation_framework.records.scores import ClaimVerdict, SupportMethod

BYTES_PER_TOKEN = 4
"""Assumed size of a token, in questions and in replies that nobody has given yet."""
FACTOR = 2
"""Within how much the bill was of what was said before, in the tests."""
REASON_CHARACTERS = 80
"""Assumed length of each quote or reason of a reply, where the judge has given no reply of its kind."""

_REHEARSED = 200
_REPLIES = 500
_NUGGETS = 5
# What stands in for an answer or contexts of which nothing is known yet.
_SENTENCE = "The document says this about the matter, and gives a number and a date for it. "
_ANSWER = 3 * _SENTENCE
_CONTEXTS = (10 * _SENTENCE,) * 5


class JudgeForecast(msgspec.Struct, frozen=True, kw_only=True):
    """The effort of judging a dataset, from few calls to many; ``calls`` is the likeliest number.

    Tokens and cost are those of ``calls``; ``cost_usd`` is ``None`` where a model of ``unpriced`` has no
    price. ``remembered`` questions are answered already, and cost nothing.
    """

    fewest: int
    calls: int
    most: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    samples: int
    """Of how many samples the prompts were made."""
    remembered: int = 0
    replies: int = 0
    """Number of replies of this judge that the length of one is taken from; 0 if it is assumed."""
    unpriced: tuple[str, ...] = ()
    spared: int = 0
    """The number of calls that are spared because the verdict on an answer is known without the judge."""
    spared_usd: float | None = None
    is_asked_later: bool = False
    """True if the answers are not there yet, so that others stand in for them."""
    decided: Mapping[str, int] = {}
    """The claims that each stage of a cascade would decide; one that was not tried has none of its own."""
    untried: tuple[str, ...] = ()
    """The stages of a cascade that may decide some of what is left to the last one: local models."""

    def cost_of(self, calls: int) -> float | None:
        """Return what so many calls would cost."""
        return None if self.cost_usd is None else self.cost_usd * calls / max(self.calls, 1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "calls": [self.fewest, self.calls, self.most],
            "costUsd": [self.cost_of(each) for each in (self.fewest, self.calls, self.most)],
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "samplesTried": self.samples,
            "remembered": self.remembered,
            "spared": {"calls": self.spared, "costUsd": self.spared_usd},
            "repliesSeen": self.replies,
            "withoutPrice": list(self.unpriced),
            **({"claimsDecided": dict(self.decided)} if self.decided else {}),
            **({"stagesNotTried": list(self.untried)} if self.untried else {}),
        }


def summed(forecasts: Iterable[JudgeForecast]) -> JudgeForecast | None:
    """Return what several datasets take together; ``None`` where none is judged."""
    several = list(forecasts)
    if not several:
        return None
    counted = ("fewest", "calls", "most", "input_tokens", "output_tokens", "samples", "remembered", "spared")
    costs = [each.cost_usd for each in several if each.cost_usd is not None]
    spared = [each.spared_usd for each in several if each.spared_usd is not None]
    decided: Counter[str] = Counter()
    for each in several:
        decided.update(each.decided)
    return replace(
        several[0],
        **{name: sum(getattr(each, name) for each in several) for name in counted},
        cost_usd=sum(costs) if len(costs) == len(several) else None,
        spared_usd=sum(spared) if len(spared) == len(several) else None,
        replies=min(each.replies for each in several),
        unpriced=tuple(dict.fromkeys(name for each in several for name in each.unpriced)),
        is_asked_later=any(each.is_asked_later for each in several),
        decided=dict(decided),
    )


def judge_forecasts(plan: Plan, target: Target, *, seed: int = 0) -> dict[str, JudgeForecast]:
    """Return what judging each dataset would take, of those that are judged at all."""
    return {each.name: _forecast(each, target, seed) for each in plan.datasets if each.judge_calls}


def _forecast(dataset: DatasetPlan, target: Target, seed: int) -> JudgeForecast:
    held_by = None if getattr(target, "is_live", True) else getattr(target, "held_by", None)
    judge = _RehearsedJudge.of(dataset.methods.judge)  # type: ignore[arg-type]  # there are calls, so there is one
    is_open = held_by is None  # whether a cascade's words could not be tried on the answers themselves
    support = _rehearsed(dataset.methods.support, judge, passes_all=is_open)
    methods = replace(dataset.methods, judge=judge, support=support, budget=None, spending=None)
    asking = [each for each in dataset.scorers if each.questions]
    own = [each for each in dataset.scorers if each.metric.metric.decides and each not in asking]
    about_all = _bound(asking, replace(methods, judges_all=True))
    scorers = about_all if is_open else _bound((*own, *asking), methods)
    tried, spared = 0, _Tally()
    for sample, response, times in _answers(dataset, held_by, seed):
        tried += 1
        if response is not None:
            before = judge.usage
            scored_result(sample, response, scorers)
            cost = judge.usage.plus(before, times=-1)
            if not cost.calls and scorers is not about_all:
                scored_result(sample, response, about_all)
                spared = spared.plus(judge.usage.plus(before, times=-1))
            judge.usage = before.plus(cost, times=times)
    scale = len(dataset.selection) / tried if tried else 0.0
    found = _scaled(dataset, judge.usage, scale, support, tried=tried, is_open=is_open)
    is_priced = found.cost_usd is not None and not spared.unpriced
    spared_usd = spared.dollars * scale if is_priced else None
    return replace(found, spared=round(spared.calls * scale), spared_usd=spared_usd)


def _bound(scorers: Iterable[MetricScorer], methods: Methods) -> list[MetricScorer]:
    return [each.bound_to(each.metric, methods) for each in scorers]


def _scaled(
    dataset: DatasetPlan,
    usage: _Tally,
    scale: float,
    support: SupportMethod | None,
    *,
    tried: int,
    is_open: bool,
) -> JudgeForecast:
    whole = round(usage.calls * scale)
    cascade = support if isinstance(support, Cascade) else None
    original = dataset.methods.support
    untried = _untried(original) if isinstance(original, Cascade) else ()
    is_bounded = cascade is not None and (is_open or bool(untried))
    share = _likely(original, is_open=is_open) if isinstance(original, Cascade) and is_bounded else 1.0
    cap = None if dataset.budget is None else dataset.budget.calls
    most = whole if cap is None else min(whole, cap)
    calls = min(round(whole * share), most)
    is_precise = dataset.budget is not None and dataset.budget.precision is not None
    part = calls / usage.calls if usage.calls else 0.0
    decided = {} if cascade is None or is_open else cascade.decided
    return JudgeForecast(
        fewest=0 if is_bounded or is_precise else calls,
        calls=calls,
        most=most,
        input_tokens=round(usage.input_tokens * part),
        output_tokens=round(usage.output_tokens * part),
        cost_usd=None if usage.unpriced else usage.dollars * part,
        samples=tried,
        remembered=round(usage.remembered * scale),
        replies=usage.replies,
        unpriced=tuple(sorted(usage.unpriced)),
        is_asked_later=is_open,
        decided={label: round(count * scale) for label, count in decided.items() if label not in untried},
        untried=untried,
    )


def _answers(
    dataset: DatasetPlan, held_by: Callable[[Sample], Response] | None, seed: int
) -> Iterator[tuple[Sample, Response | None, int]]:
    """Yield samples with what is answered, if anything, and how many such answers each stands for."""
    selection = replace(dataset.selection, repeats=1)
    total = len(selection)
    chance = random.Random(seed)  # noqa: S311 - it only says whose prompts are counted
    drawn = set(chance.sample(range(total), min(_REHEARSED, total)))
    for place, sample in enumerate(selection()):
        if place not in drawn:
            continue
        if held_by is None:
            turns = sum(turn.role == "user" for turn in sample.turns)
            yield (*_stand_in(sample), turns if is_conversation(sample) else 1)
            continue
        response = None
        with suppress(TargetError):  # nobody is asked about what has no answer
            response = held_by(sample)
        yield sample, response, 1


def _stand_in(sample: Sample) -> tuple[Sample, Response]:
    """Return a sample with an answer as it is expected, before there is one; of a conversation, a turn."""
    recorded = sample.recorded
    if is_conversation(sample):
        user = next(turn for turn in reversed(sample.turns) if turn.role == "user")
        expected = next((turn.reference for turn in sample.turns if turn.reference), None)
        sample = replace(
            sample, turns=(replace(user, reference=None),), reference=sample.reference or expected
        )
    answer = (recorded.answer if recorded else None) or sample.reference or _ANSWER
    contexts = (recorded.contexts if recorded else ()) or sample.reference_contexts or _CONTEXTS
    return sample, Response(text=answer, contexts=tuple(contexts), context_origin="system")


# Cascades.


class _Undecided:
    """Stands for a stage that is not tried: it is never sure."""

    version = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def decide(self, claims: Sequence[Any], evidence: Sequence[str], *, question: str = "") -> list[Any]:
        return [ClaimVerdict(claim=claim, label="unsupported", probability=0.5) for claim in claims]


def _rehearsed(support: SupportMethod | None, judge: Judge, *, passes_all: bool) -> SupportMethod | None:
    """Return who decides what supports what, with a judge who is not asked and local models that pass on."""
    if isinstance(support, JudgeSupport):
        return JudgeSupport(judge)
    if not isinstance(support, Cascade):
        return support
    stages = []
    for stage in support.stages:
        method = _rehearsed(stage.method, judge, passes_all=passes_all)
        is_tried = method is not None and (isinstance(method, JudgeSupport) or _is_words(stage))
        if method is None or not is_tried or (passes_all and stage.band is not None):
            stages.append(Stage(_Undecided(stage.method.name), stage.band and Band()))
        else:
            stages.append(Stage(method, stage.band))
    return Cascade(stages)


def _is_words(stage: Stage) -> bool:
    return stage.method.name == LEXICAL_SUPPORT


def _untried(cascade: Cascade) -> tuple[str, ...]:
    named = zip(cascade.labels, cascade.stages, strict=True)
    return tuple(
        label
        for label, stage in named
        if not _is_words(stage) and getattr(stage.method, "judge", None) is None
    )


def _likely(cascade: Cascade, *, is_open: bool) -> float:
    """Return the share of the calls that is likely, by what the bands left open where they were set."""
    if is_open:
        return cascade.asked_answers
    local = (stage.band.asked for stage in cascade.stages if stage.band is not None and not _is_words(stage))
    return prod(local, start=1.0)


# A judge who notes what he would be asked.


class _Tally(msgspec.Struct, frozen=True):
    """Totals of the questions so far."""

    calls: float = 0
    remembered: float = 0
    input_tokens: float = 0
    output_tokens: float = 0
    dollars: float = 0.0
    replies: int = 0
    unpriced: frozenset[str] = frozenset()

    def plus(self, other: _Tally, *, times: int = 1) -> _Tally:
        added = ("calls", "remembered", "input_tokens", "output_tokens", "dollars")
        sums = {name: getattr(self, name) + times * getattr(other, name) for name in added}
        return _Tally(
            **sums, replies=max(self.replies, other.replies), unpriced=self.unpriced | other.unpriced
        )


class _RehearsedJudge(Judge):
    """Gives made-up verdicts that follow the schema, and adds up what the questions would have cost."""

    usage = _Tally()

    @classmethod
    def of(cls, judge: Judge) -> _RehearsedJudge:
        made = cls(*judge.models, votes=judge.votes, max_characters=judge.max_characters)
        made._lengths = {model.name: _reply_lengths(model) for model in judge.models}
        return made

    _lengths: Mapping[str, tuple[int, Mapping[str, float]]]

    def _ask(self, question: Any) -> Verdict:
        prompt, messages = question.prompt, question.messages
        values = _made_up(question)
        sent = sum(_tokens(each.content) for each in messages) + _tokens(json.dumps(prompt.schema))
        written = json.dumps(values, ensure_ascii=False)
        for model in self.models:
            replies, lengths = self._lengths[model.name]
            known = lengths.get(_kind(values))
            reply = _tokens(written) if known is None else known * _entries(values)
            prices: Prices | None = getattr(model, "prices", None)
            for draw in range(self.votes):
                if _is_remembered(model, question, draw):
                    self.usage = self.usage.plus(_Tally(remembered=1))
                    continue
                usage = Usage(input_tokens=round(sent), output_tokens=round(reply))
                cost = None if prices is None else prices.cost(usage)
                self.usage = self.usage.plus(
                    _Tally(
                        calls=1,
                        input_tokens=sent,
                        output_tokens=reply,
                        dollars=cost or 0.0,
                        replies=0 if known is None else replies,
                        unpriced=frozenset() if prices is not None else frozenset({model.name}),
                    )
                )
        if question.problem(values) is not None:
            raise ModelError("off-schema", "dry run: no verdict could be simulated")
        return Verdict(
            values=values, prompt=prompt.name, prompt_version=prompt.version, details={"votes": []}
        )


def _tokens(text: str) -> float:
    return len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN


def _is_remembered(model: Any, question: Any, draw: int) -> bool:
    remembers = getattr(model, "remembers", None)
    return remembers is not None and remembers(question.messages, schema=question.prompt.schema, draw=draw)


def _reply_lengths(model: Any) -> tuple[int, dict[str, float]]:
    """Return how many replies of a model are remembered, and the tokens of an entry by kind of reply.

    A kind is known by its keys; a reply that judges several texts has an entry for each.
    """
    tokens: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    seen = 0
    for completion in getattr(model, "replies", lambda _: ())(_REPLIES):
        with suppress(ValueError):
            values = json.loads(completion.text)
            if isinstance(values, dict):
                usage = completion.usage
                known = None if usage is None else usage.output_tokens
                tokens[_kind(values)] += round(_tokens(completion.text)) if known is None else known
                entries[_kind(values)] += _entries(values)
                seen += 1
    return seen, {kind: tokens[kind] / entries[kind] for kind in tokens}


def _kind(values: Mapping[str, Any]) -> str:
    first = next((value[0] for value in values.values() if isinstance(value, list) and value), None)
    keys = [*values, *(first if isinstance(first, dict) else ())]
    return " ".join(sorted(keys))


def _entries(values: Mapping[str, Any]) -> int:
    return max(1, *(len(value) for value in values.values() if isinstance(value, list)), 1)


def _made_up(question: Any) -> dict[str, Any]:
    """Return a verdict that follows the schema and, if there is such, one that the asker takes."""
    prompt = question.prompt
    listed = len(question.fields.get(prompt.listed, ())) if prompt.listed else _NUGGETS
    values: dict[str, Any] = {}
    for choice in range(_choices(prompt.schema)):
        values = _value(prompt.schema, choice, listed)
        if question.problem(values) is None:
            break
    if prompt.name == "answer_class":  # nothing more is asked about an answer that declines
        asked = {name: str(question.fields.get(name, "")) for name in ("answer", "question")}
        values |= {"label": classify_answer(asked["answer"], asked["question"]).kind}
    return values


def _choices(schema: Any) -> int:
    """Return how many labels there are to choose from."""
    if isinstance(schema, Mapping):
        inside = max((_choices(each) for each in schema.values()), default=1)
        return max(inside, len(schema.get("enum", ())) if isinstance(schema.get("enum"), list) else 1)
    return 1


def _value(schema: Mapping[str, Any], choice: int, listed: int, number: int = 0) -> Any:
    """Return a value that follows a schema; ``choice`` says which of its labels."""
    if "enum" in schema:
        labels = schema["enum"]
        return labels[min(choice, len(labels) - 1)]
    kind = schema.get("type")
    if kind == "object":
        return {
            name: _value(each, choice, listed, number) for name, each in schema.get("properties", {}).items()
        }
    if kind == "array":
        return [_value(schema.get("items", {}), choice, listed, each + 1) for each in range(listed)]
    if kind == "string":
        return f"{number} ".ljust(REASON_CHARACTERS, "x")
    return number or listed if kind in ("integer", "number") else True
