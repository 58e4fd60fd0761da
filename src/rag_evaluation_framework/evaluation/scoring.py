"""From metrics to scores: metrics × views × turns, in one loop.

A metric bound to methods is a :class:`MetricScorer`. It scores each turn of a conversation where its view
says so, and each reading of the reference; it asks the reader of its view for the fields that the metric's
function takes, and makes a score of what comes back: *scored*, *skipped* where there is nothing to score, or
*failed* where something broke. Readers are found by the name of their view and imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import (
    InputError,
    ModelError,
    ModelOutageError,
    Problems,
    UsageError,
    shown,
)
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.judging.methods import Methods, Way, chosen_method, missing_method, way_of
from rag_evaluation_framework.judging.verdict import is_correct, state_of
from rag_evaluation_framework.metrics.declaration import DECIDES, BoundMetric, check_metric
from rag_evaluation_framework.metrics.safety import REFUSALS
from rag_evaluation_framework.metrics.views import CLAIMS, NOTHING_RETRIEVED, Method, NoValueError
from rag_evaluation_framework.records.responses import (
    NOT_TOLD_BY_TURN,
    RECORDED,
    RETRIEVAL,
    TURNS,
    Response,
    answered_turns,
    is_conversation,
    no_answer_in_turn,
)
from rag_evaluation_framework.records.samples import Entities, Milestones, Refusal, Relation, Sample
from rag_evaluation_framework.records.scores import (
    CLASS_BY,
    EMPTY,
    ENDPOINT_ERROR,
    NO_CONTEXTS,
    SETTLED,
    Score,
)
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.languages import foreign_language, language_of

Turns: TypeAlias = list[tuple[int, Sample, Response]]
"""The turns of a conversation by their numbers, each as a sample and a response of its own."""

READERS: Registry[type[Reader]] = Registry("reader of a view")
"""Who finds the fields of each view."""
for _view, _place in {
    "texts": "scoring:TextsReader",
    "likeness": "answer_views:LikenessReader",
    "claims": "claim_views:ClaimsReader",
    "citations": "claim_views:CitationsReader",
    "cited_spans": "claim_views:CitedSpansReader",
    "ranking": "hit_views:RankingReader",
    "hits": "hit_views:HitsReader",
    "golden": "golden_views:GoldenReader",
    "conduct": "answer_views:ConductReader",
    "grades": "answer_views:GradesReader",
    "relevance": "answer_views:RelevanceReader",
    "nuggets": "answer_views:NuggetsReader",
    "usage": "scoring:UsageReader",
    "steps": "step_views:StepsReader",
    "exchange": "scoring:ExchangeReader",
}.items():
    READERS.register(_view, f"rag_evaluation_framework.evaluation.{_place}")

# With what the names of all dialects of golden sets begin.
_GOLDEN = "golden-"

ONLY_HITS = "the agent returned hits without text"
ONLY_RETRIEVED = "the sample has retrieved passages but no answer"
"""Why there is no score of what was said."""
# What there is nothing of where the answer is empty.
_OF_THE_ANSWER = frozenset({"answer", "citations"})
_HIT_FIELDS = frozenset({"judged", "retrieved_ids", "retrieved_spans"})
_EXPECTATIONS: Mapping[str, tuple[type, str, str]] = {
    "entities": (Entities, "names", "the sample expects no entities"),
    "relation": (Relation, "relation", "the sample expects no relation"),
    "milestones": (Milestones, "steps", "the sample expects no milestones"),
    "hops": (Milestones, "hops", "the sample has no context_hops"),
}


class Reader:
    """Finds the fields of a view for one answer; a field is an attribute of the same name.

    A reader raises :class:`NoValueError` for a field that there is not, with the reason.
    """

    keeps = True
    """True if it finds out what other metrics of the view ask for too."""

    def __init__(
        self, sample: Sample, response: Response, *, method: Method | None, methods: Methods
    ) -> None:
        self.sample, self.response = sample, response
        self.method, self.methods = method, methods

    @property
    def is_literal(self) -> bool:
        """Return True if the answer holds the expected text literally, so its language does not matter."""
        return False

    @property
    def nothing(self) -> str | None:
        """Return why a function has no value, if there is a better reason than that of *Empty*."""
        return None

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return what stands beside a value: the verdicts of the fields that the metric shows."""
        return {}


class TextsReader(Reader):
    """Gives the texts as they are."""

    keeps = False
    question = property(lambda self: self.sample.question)
    answer = property(lambda self: self.response.text or "")
    reference = property(lambda self: self.sample.reference or "")
    contexts = property(lambda self: self.response.contexts)
    reference_contexts = property(lambda self: self.sample.reference_contexts)


class UsageReader(Reader):
    """Gives what the system reports of an answer's time, tokens and cost."""

    keeps = False
    input_tokens = property(lambda self: int(self._reported("input_tokens", "input tokens")))
    output_tokens = property(lambda self: int(self._reported("output_tokens", "output tokens")))
    cost_usd = property(lambda self: self._reported("cost_usd", "the cost"))

    @property
    def latency_ms(self) -> float:
        if self.response.latency_ms is None:
            raise NoValueError("the target does not report its latency")
        return self.response.latency_ms

    def _reported(self, name: str, what: str) -> float:
        value: float | None = getattr(self.response.usage, name, None)
        if value is None:
            raise NoValueError(f"the agent does not report {what}")
        return value


class ExchangeReader(Reader):
    """Gives sample and response themselves, which every reader has."""

    keeps = False


def turns_of(sample: Sample, response: Response) -> Turns | None:
    """Return the turns of a conversation; ``None`` if the target does not report them all."""
    answered = answered_turns(sample, response)
    if answered is None:
        return None
    return [(turn.number, turn.as_sample(sample), turn.as_response(response)) for turn in answered]


class MetricScorer:
    """A metric bound to methods, with what summaries, preflight and the engine ask about it.

    ``reader`` and ``needs`` stand in place of those of its view, where the truth is known from elsewhere.
    """

    def __init__(
        self,
        metric: BoundMetric,
        methods: Methods,
        *,
        reader: Callable[..., Any] | None = None,
        needs: tuple[str, ...] | None = None,
    ) -> None:
        declared, view = metric.metric, metric.metric.view
        self.metric, self.methods = metric, methods
        self._given: dict[str, Any] = {"reader": reader, "needs": needs}
        method = chosen_method(metric, methods) if declared.methods else None
        self.needs_model = bool(declared.methods) and method is None
        """True if only a judge or an embedding model could measure it, and there is none."""
        lack = f"not scored: {missing_method(declared)[0]}"
        way = Way(lack) if self.needs_model else way_of(metric, method, methods)
        self.name = str(metric)
        self.method = way.name
        # Figures change with the formula and with the method alike, and either makes them incomparable.
        self.version = declared.version + way.version - 1
        self.higher_is_better = declared.higher_is_better
        self.needs = declared.needs if needs is None else needs
        """The inputs it scores by, as names of the view's fields: ``reference``, ``contexts`` …"""
        self.needs_answer = not _OF_THE_ANSWER.isdisjoint(self.needs)
        self.questions = way.questions
        """The questions to a judge about an answer; a question that two metrics share is asked once."""
        self.asks_for_verdict = bool(way.questions) and not methods.judges_all and _is_read(declared.name)
        """True if the judge is asked for the verdict on an answer alone, so that a settled one needs none."""
        self.is_slow, self.engines = way.is_slow, way.engines
        """True if scoring waits for a model, so that a run does it beside its other work."""
        self._by_turn = view.by_turn and not self.needs_model
        self.scores_turns = self._by_turn or "turns" in self.needs
        """True if each turn of a conversation is scored by itself."""
        if self.needs_model:
            return
        found_by = reader or view.reader or READERS.get(view.name)
        read = partial(found_by, method=method, methods=methods)
        keeps = getattr(found_by, "keeps", True)
        self._read = methods.latest((found_by, method), read).of if keeps else read
        if describe := getattr(found_by, "method_name", None):
            self.method = describe(way.name, methods)
        own = {key: value for key, value in metric.parameters.items() if key != "method"}
        names = {each.name for each in view.fields}
        self._call = _Call(declared.function, names, own)
        unless = [_Call(each, names, own) if callable(each) else each for each in declared.unless]
        of_answer = {each.name for each in view.fields if not _OF_THE_ANSWER.isdisjoint(each.needs)}
        self._before = [each for each in unless if of_answer.isdisjoint(_names(each))]
        self._after = [each for each in unless if each not in self._before]
        of_contexts = [each for each in declared.fields if "contexts" in each.needs]
        self._counts_nothing = bool(of_contexts) and all(each.counts_nothing for each in of_contexts)
        self._counts_empty = self.higher_is_better and any(each.counts_empty for each in declared.fields)
        self._has_readings = view.readings and "reference" in self.needs
        self._screens_refusals = not view.of_refusals and "turns" not in self.needs
        self._languages = declared.languages(method, own_support=methods.has_own_support)
        self._expects = [_EXPECTATIONS[need] for need in self.needs if need in _EXPECTATIONS]

    def __reduce__(self) -> tuple[Any, ...]:
        methods = self.methods if self.is_slow or self.questions else self.methods.without_judge
        return partial(type(self), **self._given), (self.metric, methods)

    def bound_to(self, metric: BoundMetric, methods: Methods) -> MetricScorer:
        """Return another scorer that reads the same truth."""
        return MetricScorer(metric, methods, **self._given)

    @cached_property
    def without_judge(self) -> MetricScorer:
        """The scorer of the same metric that asks no judge."""
        parameters = {name: value for name, value in self.metric.parameters.items() if name != "method"}
        return self.bound_to(replace(self.metric, parameters=parameters), self.methods.without_judge)

    def score_settled(self, sample: Sample, response: Response) -> Score:
        """Score an answer whose verdict needs no judge: patterns tell its class, the rest is skipped."""
        if self.metric.metric.name in REFUSALS:
            found = self.without_judge.score(sample, response)
            details = {**found.details, CLASS_BY: "patterns"}
            return replace(found, metric=self.name, method=self.method, details=details)
        return self._skipped(SETTLED)

    @property
    def reads_spans(self) -> bool:
        """Return True if it scores the characters retrieved."""
        return any(each.name == "retrieved_spans" for each in self.metric.metric.fields)

    @property
    def reads_hits(self) -> bool:
        """Return True if it scores what was retrieved against what is relevant."""
        return not _HIT_FIELDS.isdisjoint(each.name for each in self.metric.metric.fields)

    def score(self, sample: Sample, response: Response) -> Score:
        """Score an answer, each reading of its reference, or each turn that expects something.

        Of several readings the best counts, and where none has a score, the first. The score of a
        conversation is the mean over its turns; a turn that fails, fails it, and the details still have the
        values of the others. Where no turn is scored, the first reason is reported.
        """
        if self.needs_model:
            return self._skipped(missing_method(self.metric.metric)[1])
        if self._by_turn and is_conversation(sample):
            return self._by_turns(sample, response)
        if not self._has_readings or not _has_readings(sample):  # as nearly all: no copy is made
            return self._single(sample, response)
        # The metrics of an answer share the copies, and so what is found out about each.
        readings = self.methods.latest("readings", _samples_by_reading).of(sample, response)
        scores = [self._single(reading, response) for reading in readings]
        valued = [score for score in scores if score.value is not None]
        sign = 1 if self.higher_is_better else -1
        return max(valued, key=lambda score: sign * (score.value or 0.0)) if valued else scores[0]

    def _by_turns(self, sample: Sample, response: Response) -> Score:
        turns = self.methods.latest("turns", turns_of).of(sample, response)
        if turns is None:
            return self._skipped(NOT_TOLD_BY_TURN)
        # A turn is no conversation: it is scored by itself.
        scores = [(number, self.score(asked, answered)) for number, asked, answered in turns]
        values = [(number, score.value) for number, score in scores if score.value is not None]
        details = {TURNS: [{"turn": number, "value": value} for number, value in values]} if values else {}
        if (reason := no_answer_in_turn(response)) is not None:
            return self._failed(reason, details)
        for number, score in scores:
            if score.status == "failed":
                return self._failed(f"turn {number}: {score.reason}", {**score.details, **details})
        if not values:
            reason = next((score.reason for _, score in scores if score.reason), "no turn has an expectation")
            return self._skipped(reason)
        mean = exact_mean([value for _, value in values])
        return Score.scored(self.name, mean, method=self.method, details=details)

    def _single(self, sample: Sample, response: Response) -> Score:
        """Score one answer by one reading. What does not apply is skipped."""
        declared = self.metric.metric
        if reason := self._unmet(sample, response):
            return self._skipped(reason)
        try:
            reader = self._read(sample, response)
            if (lacking := self._lacking(reader, response)) is not None:
                return lacking
            found = self._call.function(**self._call.fields_of(reader))
            return self._scored(reader, float(found[0]) if declared.view.block else found)
        except NoValueError as missing:
            told = missing.reason
            return self._failed(told, missing.details) if missing.failed else self._skipped(told)
        except ModelOutageError:
            raise  # nothing is wrong with this answer: it is scored when the model is back
        except ModelError as error:
            endpoint = {ENDPOINT_ERROR: error.kind} if error.is_of_endpoint else None
            return self._failed(f"no verdict: {error}", endpoint)
        except (InputError, UsageError) as error:
            if not declared.view.block:
                raise
            return self._failed(str(error))  # a grade that the metric has no room for

    def _lacking(self, reader: Reader, response: Response) -> Score | None:
        """Return the score of an answer with which there is nothing to compute.

        An empty answer is wrong by what holds it against something, and says nothing to metrics of what was
        said. A metric that needs no answer scores an empty one like any other.
        """
        if reason := _reason(self._before, reader):
            return self._skipped(reason)
        is_empty = self.needs_answer and response.is_empty
        if is_empty and response.metadata.get(RECORDED) == RETRIEVAL:
            return self._skipped(ONLY_RETRIEVED)
        if is_empty and response.text is None and response.hits:
            return self._failed(ONLY_HITS)
        if is_empty and not self._counts_empty:
            return self._skipped(EMPTY)
        if reason := (None if is_empty else self._unmeasured(reader)) or _reason(self._after, reader):
            return self._skipped(reason)
        return (
            Score.scored(self.name, 0.0, method=self.method, details={"reason": EMPTY}) if is_empty else None
        )

    def _scored(self, reader: Reader, value: Any) -> Score:
        declared = self.metric.metric
        if value is None:
            return self._skipped(reader.nothing or declared.empty.partition(";")[0])
        details = reader.details(declared.shows, self.metric) if declared.shows else None
        if declared.decides:
            state = state_of(value)
            if state is None:
                return self._failed(
                    f"expected a boolean, a grade or a state of an answer, got {shown(value)}"
                )
            value, details = float(is_correct(state)), {**(details or {}), DECIDES: state}
        return Score.scored(self.name, value, method=self.method, details=details)

    def _unmet(self, sample: Sample, response: Response) -> str | None:
        """Return the need of the metric that the sample or the response does not meet, in words."""
        if self._screens_refusals and isinstance(sample.expectation, Refusal):
            return "the sample expects a refusal"
        if "reference" in self.needs and not (sample.reference or "").strip():
            return "the sample expects no text"
        if "contexts" in self.needs and not any(text.strip() for text in response.contexts):
            if not response.retrieved_nothing:
                return NO_CONTEXTS
            if not self._counts_nothing:
                return NOTHING_RETRIEVED
        if "reference_contexts" in self.needs and not any(map(str.strip, sample.reference_contexts)):
            return "the sample has no reference contexts"
        for kind, part, reason in self._expects:
            if not isinstance(sample.expectation, kind) or not getattr(sample.expectation, part):
                return reason
        return None

    def _unmeasured(self, reader: Reader) -> str | None:
        """Say in which language the texts are, if the method was not measured on it."""
        if not self._languages or reader.is_literal:
            return None
        sample, answer = reader.sample, reader.response.text or ""
        found = foreign_language((answer if language_of(answer) else sample.question,), self._languages)
        if found is None and "contexts" in self.needs:
            found = foreign_language(reader.response.contexts, self._languages)
        if found is None and "reference" in self.needs:
            found = foreign_language((sample.reference or "",), self._languages)
        return None if found is None else f"not measured on {found}"

    def _skipped(self, reason: str) -> Score:
        return Score.skipped(self.name, reason, method=self.method, details=self.undecided)

    def _failed(self, reason: str, details: Mapping[str, Any] | None = None) -> Score:
        return Score.failed(
            self.name, reason, method=self.method, details={**self.undecided, **(details or {})}
        )

    @property
    def undecided(self) -> dict[str, Any]:
        """Return the details of a missing score: a mark that it was to decide."""
        return {DECIDES: None} if self.metric.metric.decides else {}


def _is_read(metric: str) -> bool:
    """Return True if the verdict on an answer reads what a judge says by a metric."""
    from rag_evaluation_framework.judging.answer_evidence import AnswerEvidence  # takes long

    return metric in AnswerEvidence.JUDGED_METRICS


def _has_readings(sample: Sample) -> bool:
    """Tell whether there may be several references: by their list, or by what a golden set writes in one."""
    is_golden = sample.origin is not None and sample.origin.dialect.startswith(_GOLDEN)
    return bool(sample.references) or (is_golden and sample.reference is not None)


def _samples_by_reading(sample: Sample, response: Response) -> list[Sample]:
    from rag_evaluation_framework.judging.answer_verdicts import readings_of  # takes long

    readings = readings_of(sample)
    return [sample if text == sample.reference else replace(sample, reference=text) for text in readings]


class _Call:
    """A function of fields and parameters, called with what a reader gives."""

    def __init__(self, function: Callable[..., Any], fields: set[str], own: Mapping[str, Any]) -> None:
        names = signature(function).parameters
        self.function = function
        self.fields = tuple(name for name in names if name in fields)
        self.own = {name: value for name, value in own.items() if name in names}

    def fields_of(self, reader: Reader) -> dict[str, Any]:
        return {name: getattr(reader, name) for name in self.fields} | self.own

    def __call__(self, reader: Reader) -> Any:
        return self.function(**self.fields_of(reader))


def _names(each: _Call | str) -> tuple[str, ...]:
    return each.fields if isinstance(each, _Call) else (each,)


def _reason(found_by: Sequence[_Call | str], reader: Reader) -> str | None:
    """Return the first reason for which there is nothing to score."""
    for each in found_by:
        reason: str | None = each(reader) if isinstance(each, _Call) else getattr(reader, each)
        if reason is not None:
            return reason
    return None


def scorer_for(text: str, methods: Methods | None = None) -> MetricScorer:
    """Return a metric bound to methods: ``string_match``, ``claim_f1(method=judge)``, ``rbp(p=0.5)@3``."""
    return MetricScorer(check_metric(text), methods or Methods())


def scorers_for(names: Iterable[str], methods: Methods | None = None) -> list[MetricScorer]:
    """Return a scorer for each name, each once; all the names that cannot be used are in one error."""
    methods = methods or Methods()
    found: dict[str, MetricScorer] = {}
    problems = Problems()
    for name in names:
        with problems.collected():
            scorer = scorer_for(name, methods)
            found.setdefault(scorer.name, scorer)
    problems.raise_all()
    return list(found.values())


def calls_each(scorers: Iterable[MetricScorer], methods: Methods) -> float:
    """Return about how many calls judging a sample takes; its answer decides it, and may not be there yet."""
    questions = frozenset[str]().union(*(scorer.questions for scorer in scorers))
    votes = 0 if methods.judge is None else len(methods.judge.models) * methods.judge.votes
    share = getattr(methods.support, "asked_answers", 1.0)  # a cascade spares some of them
    return float(votes * len(questions) * share)


def score(
    sample: Sample, response: Response, metrics: Sequence[BoundMetric], methods: Methods
) -> tuple[Score, ...]:
    """Score one answer by several metrics; what one of them finds out about it is there for the others."""
    return tuple(MetricScorer(metric, methods).score(sample, response) for metric in metrics)


def are_blamed(scorers: Iterable[MetricScorer], *, is_golden: bool) -> bool:
    """Return True if answers are blamed: those of golden sets, and those whose contexts a metric looks at.

    So are those whose claims one holds against the reference: that tells which are wrong, if not why.
    """
    return is_golden or any(
        "contexts" in scorer.needs or (scorer.metric.metric.view is CLAIMS and "reference" in scorer.needs)
        for scorer in scorers
    )
