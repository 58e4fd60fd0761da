"""Methods: judge, embedder, support, documents; how a metric's method is chosen; the cards."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.components import EMBEDDERS, JUDGES, component_from
from rag_evaluation_framework.errors import MissingKeyError, UsageError, shown
from rag_evaluation_framework.extensions import Dialect, Embedder, Specification, built, parse_specification
from rag_evaluation_framework.files.atomic import check_writable
from rag_evaluation_framework.metrics.declaration import AUTO, BoundMetric, Metric, parse_metric
from rag_evaluation_framework.metrics.views import LEXICAL_SUPPORT, Method
from rag_evaluation_framework.models.chat import HOW_TO_JUDGE
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.models.spending import CallBudget, Spending
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.answer_verdicts import Reading
    from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts
    from rag_evaluation_framework.judging.cited_texts import SearchedDocuments
    from rag_evaluation_framework.judging.judge import Judge
    from rag_evaluation_framework.judging.rubrics import Rubric
    from rag_evaluation_framework.judging.verdict import Labels
    from rag_evaluation_framework.models.chat import ChatModel
    from rag_evaluation_framework.records.scores import SupportMethod

HOW_TO_EMBED = "give --embedder EMBEDDER"

# Citations are opened in documents, and claims held against them; what was retrieved is looked up in them by
# name and by text.
_LOOKED_UP = frozenset({"citations", "evidence", "relevant_documents", "relevant_spans"})
_KEPT = 256  # more answers than are scored at the same time

T = TypeVar("T")


class LatestOf(Generic[T]):
    """The findings on the latest answers, by the identity of sample and response; threads may share it."""

    def __init__(self, find: Callable[[Sample, Response], T]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[Sample, Response, T]] = OrderedDict()

    def of(self, sample: Sample, response: Response) -> T:
        """Return what is found about an answer; the same object for the same sample and response."""
        key = id(sample), id(response)
        with self._lock:
            if key not in self._kept:
                # Sample and response are kept too, so that their ids cannot pass to others meanwhile.
                self._kept[key] = sample, response, self._find(sample, response)
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key][-1]


class JudgeBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The limit on judging: a number of ``calls``, or judging until every interval of a judged metric is
    ± ``precision`` narrow, if that comes first. ``made`` counts the calls.
    """

    calls: int | None = None
    precision: float | None = None
    made: CallBudget | None = None

    def __post_init__(self) -> None:
        calls, precision = self.calls, self.precision
        if calls is not None and (not isinstance(calls, int) or isinstance(calls, bool) or calls < 1):
            raise UsageError(f"judge_budget: expected a whole number of calls above 0, got {shown(calls)}")
        is_number = isinstance(precision, int | float) and not isinstance(precision, bool)
        if precision is not None and not (is_number and precision > 0):
            raise UsageError(f"precision: expected half the width of an interval, got {shown(precision)}")

    def __bool__(self) -> bool:
        return self.calls is not None or self.precision is not None

    @property
    def head_fields(self) -> dict[str, Any]:
        """Return the budget as the head of a run records it."""
        told = {"calls": self.calls, "precision": self.precision}
        return {name: value for name, value in told.items() if value is not None}


class Methods(msgspec.Struct, frozen=True, kw_only=True, dict=True, weakref=True, eq=False):
    """The judge, its rubric, the embedder and the documents to score with; ``None`` for what is not there.

    The metrics that are bound to one of these share what it finds out about an answer.
    """

    judge: Judge | None = None
    rubric: Rubric | None = None
    embedder: Embedder | None = None
    corpus: Corpus | None = None
    support: SupportMethod | None = None
    """Method that decides support; by default the judge if there is one, else words."""
    spending: Spending | None = None
    """Cost of the judge so far."""
    budget: JudgeBudget | None = None
    """Limit on the judge's work; without one, the judge is asked about every answer."""
    judges_all: bool = False
    """True if the judge is also asked about answers whose verdict is known without it."""
    labels: Labels | None = None
    """Human labels of answers; the judge is not asked about these answers."""
    threads: int = 16
    """Number of samples that may wait for a judge or an embedder at once."""
    _latest: dict[Any, LatestOf[Any]] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "_latest", {})  # a copy finds out by itself

    def __reduce__(self) -> tuple[Any, ...]:
        # What was found out stays here: another process finds out what it needs.
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name != "_latest"}
        return partial(type(self), **given), ()

    @cached_property
    def without_judge(self) -> Methods:
        """The same for who asks no judge: neither its key nor what it has cost is sent about with that."""
        support = None if getattr(self.support, "judge", None) is not None else self.support
        return replace(self, judge=None, support=support, spending=None, budget=None)

    @property
    def has_own_support(self) -> bool:
        """Return True if a method other than our word overlap decides support."""
        return self.support is not None and self.support.name != LEXICAL_SUPPORT

    def load(self) -> None:
        """Load the local models that decide support, so that a failure is raised before the run."""
        stages = (each.method for each in getattr(self.support, "stages", ()))
        for method in (self.support, *stages):
            if load := getattr(getattr(method, "model", None), "load", None):
                load()

    @property
    def local_model(self) -> dict[str, Any]:
        """Return the run's record of a local model that decides support: its name and device."""
        device = getattr(self.support, "device", None)
        told = {"method": getattr(self.support, "name", None), "device": device}
        return {} if device is None else {"support": told}

    @property
    def judge_card(self) -> dict[str, Any]:
        """Return the run's record of the judge's card, as one sentence; empty without a card."""
        from rag_evaluation_framework.judging.judge_card import card_of  # takes long

        card = None if self.judge is None else card_of(self.judge.name)
        return {} if card is None else {"judge_card": card.sentence}

    def check_card(self) -> None:
        """Raise :class:`UsageError` where the judge's card is older than the prompts."""
        from rag_evaluation_framework.judging.judge_card import late_card  # takes long

        late = None if self.judge is None else late_card(self.judge.name)
        if late is not None:
            raise UsageError(f"gate: {late}; make it again: rag-eval judge-card --judge-model …")

    @cached_property
    def documents(self) -> SearchedDocuments:
        """The documents, for looking things up; without a corpus there are none."""
        from rag_evaluation_framework.judging.cited_texts import SearchedDocuments  # takes long

        return SearchedDocuments(() if self.corpus is None else self.corpus.documents)

    def support_by(self, method: Method | None) -> SupportMethod:
        """Return who decides what supports what: the judge if that is the method, else words."""
        return self._judged if method == "judge" and self.judge is not None else self._unjudged

    def reading(self, sample: Sample, response: Response, method: Method | None) -> Reading:
        """Return what a method says of an answer; those who ask for it share it."""
        return self.latest(("reading", method == "judge"), self._find_reading(method)).of(sample, response)

    def citations(self, sample: Sample, response: Response, method: Method | None) -> CitationVerdicts:
        """Return what a method says of the citations of an answer; those who ask for it share it."""
        find = self._find_citations(method)
        return self.latest(("citations", method == "judge"), find).of(sample, response)

    def latest(self, name: Any, find: Callable[[Sample, Response], T]) -> LatestOf[T]:
        """Return what was found out under a name about the latest answers; ``find`` is asked for others."""
        kept = self._latest.get(name)
        return self._latest.setdefault(name, LatestOf(find)) if kept is None else kept

    def _find_reading(self, method: Method | None) -> Callable[[Sample, Response], Reading]:
        from rag_evaluation_framework.judging.answer_verdicts import Reading  # takes long

        return lambda sample, response: Reading(sample, response, self.support_by(method))

    def _find_citations(self, method: Method | None) -> Callable[[Sample, Response], CitationVerdicts]:
        from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts  # takes long

        return lambda sample, response: CitationVerdicts(
            self.reading(sample, response, method), texts=self.documents.texts
        )

    @cached_property
    def _unjudged(self) -> SupportMethod:
        from rag_evaluation_framework.judging.lexical_support import LexicalSupport  # takes long

        return self.support or LexicalSupport()

    @cached_property
    def _judged(self) -> SupportMethod:
        from rag_evaluation_framework.judging.judged_answers import JudgeSupport  # takes long

        return JudgeSupport(self.judge)  # type: ignore[arg-type]  # asked for where there is one


class JudgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The models that judge, where they are, how often each is asked, and the rubric they grade by."""

    models: tuple[str, ...] = ()
    url: str | None = None
    key_env: str | None = None
    votes: int = 1
    rubric: Path | None = None
    cache: Path | None = None
    """The folder in which verdicts are remembered, so that nothing is asked twice."""
    concurrency: int = 16
    timeout: float = 60.0
    budget: int | None = None
    """Maximum number of judge calls; the answers that they are about are drawn at random."""
    all: bool = False
    """True if the judge is also asked about answers whose verdict is known without it."""
    precision: float | None = None
    """Half width of the interval at which judging stops."""


JudgeLike: TypeAlias = "str | JudgeSettings | ChatModel | Judge"


class Scoring(msgspec.Struct, frozen=True, kw_only=True):
    """The scoring methods of a call, a command or a manifest; ``evaluate`` explains each.

    ``settings`` are those of the judge by name; each takes the place of the same one of ``judge``.
    """

    judge: Any = None
    settings: Mapping[str, Any] = {}
    embedder: str | Embedder | None = None
    support: str | SupportMethod | None = None
    documents: Corpus | str | Path | None = None
    max_cost: float | None = None

    def over(self, declared: Scoring) -> Scoring:
        """Return what is said here and, where nothing is, what was declared."""
        judge = self.judge
        if judge is None or isinstance(judge, Mapping):
            judge = _joined(judge or {}, declared.judge)
        said = {
            name: value
            for name in ("embedder", "support", "documents", "max_cost")
            if (value := getattr(self, name)) is not None
        }
        return replace(declared, judge=judge, settings=self.settings, **said)


def _joined(given: Mapping[str, Any], declared: JudgeSettings | None) -> JudgeSettings | None:
    """Return the declared judge with the settings that are given; ``None`` where no model is named."""
    if declared is not None or given.get("models"):
        return replace(declared or JudgeSettings(), **given)
    if any(name in given for name in ("url", "key_env", "votes", "rubric", "budget", "precision", "all")):
        raise UsageError("the options of a judge need --judge-model")
    return None


@contextmanager
def opened_methods(scoring: Scoring, *, labels: Labels | None = None) -> Iterator[Methods]:
    """Set up what answers are scored with; the models that were opened for it are closed at the end.

    What the judge costs is added up; where that has a cap, every model needs a price.
    """
    scoring = scoring.over(Scoring())
    judge, corpus, support = scoring.judge, scoring.documents, scoring.support
    judge = JudgeSettings(models=(judge,)) if isinstance(judge, str) else judge
    settings = judge if isinstance(judge, JudgeSettings) else JudgeSettings()
    settings = replace(settings, **scoring.settings)
    is_counted = scoring.max_cost is not None or isinstance(judge, JudgeSettings)
    spending = Spending(scoring.max_cost) if is_counted else None
    with ExitStack() as opened:
        panel = _panel(judge, settings, spending, opened)
        budget = JudgeBudget(calls=settings.budget, precision=settings.precision) or None
        if budget is not None:
            if panel is None:
                raise UsageError(f"a budget for the judge needs a judge: {HOW_TO_JUDGE}")
            calls = CallBudget()
            budget, panel = replace(budget, made=calls), panel.within(calls)
        if isinstance(support, str):
            from rag_evaluation_framework.judging.cascade import support_from  # takes long

            support = support_from(support, panel)
        embedder = scoring.embedder
        yield Methods(
            judge=panel,
            spending=spending,
            rubric=_rubric(settings),
            embedder=component_from(EMBEDDERS, embedder) if isinstance(embedder, str) else embedder,
            corpus=corpus if isinstance(corpus, Corpus | None) else Corpus.from_folder(corpus),
            support=support,
            threads=settings.concurrency,
            budget=budget,
            judges_all=settings.all,
            labels=labels,
        )


def _rubric(settings: JudgeSettings) -> Rubric | None:
    if settings.rubric is None:
        return None
    from rag_evaluation_framework.judging.rubrics import read_rubric  # takes long

    return read_rubric(settings.rubric)


def _panel(given: Any, settings: JudgeSettings, spending: Spending | None, opened: ExitStack) -> Judge | None:
    """Return the judge of the models that are named or given; ``None`` where there is none."""
    if given is None:
        return None
    from rag_evaluation_framework.judging.judge import Judge  # takes long

    if isinstance(given, JudgeSettings):
        models = [_model(text, settings, spending, opened) for text in settings.models]
        judge = Judge(*models, votes=settings.votes)
    else:
        judge = given if isinstance(given, Judge) else Judge(as_chat_model(given))
    return judge if spending is None or settings.models else judge.counted_in(spending)


def _model(text: str, settings: JudgeSettings, spending: Spending | None, opened: ExitStack) -> ChatModel:
    arguments: dict[str, Any] = {"model": text}
    if "(" in text or JUDGES.package(text) is not None:
        specification = parse_specification(text)
        if specification.name != "openai":
            if spending is not None and spending.cap is not None:
                raise UsageError(
                    f"judge {text}: a cost cap needs prices, and the judge of a plug-in has none"
                )
            return _remembered(_judge_of_a_package(specification, settings, opened), settings)
        arguments = dict(specification.arguments)
    options = {
        "base_url": settings.url,
        "key_env": settings.key_env,
        "concurrency": settings.concurrency,
        "timeout": settings.timeout,
    }
    arguments = {**{name: value for name, value in options.items() if value is not None}, **arguments}
    try:
        model: Any = built(JUDGES.get("openai"), arguments, of=f"judge {text}", given={"spending": spending})
    except MissingKeyError as error:
        option = error.option and "--judge-key-env"
        raise MissingKeyError(error.model, error.variable, option) from None
    opened.callback(model.close, for_good=True)
    return _remembered(model, settings)


def _remembered(model: Any, settings: JudgeSettings) -> ChatModel:
    if settings.cache is not None:
        check_writable([Path(settings.cache)], option="--judge-cache")
        from rag_evaluation_framework.models.memory import RememberingModel  # takes long

        model = RememberingModel(model, settings.cache)
    remembered: ChatModel = model
    return remembered


def _judge_of_a_package(
    specification: Specification, settings: JudgeSettings, opened: ExitStack
) -> ChatModel:
    """Build a judge that a package brings; what an endpoint needs is none of its settings."""
    given = [name for name in ("url", "key_env") if getattr(settings, name) is not None]
    if given:
        options = " and ".join(f"--judge-{name.replace('_', '-')}" for name in given)
        expected = f"its own settings, as in {specification.name}(…)"
        raise UsageError(f"judge {specification}: expected {expected}, got {options}")
    judge = built(JUDGES.get(specification.name), specification.arguments, of=f"judge {specification}")
    if callable(close := getattr(judge, "close", None)):
        opened.callback(close)
    return as_chat_model(judge)


def kinship_warnings(methods: Methods, models: Iterable[str]) -> list[str]:
    """Return a warning for each model that the judge is related to."""
    if methods.judge is None:
        return []
    from rag_evaluation_framework.judging.judge import kinship_warning  # takes long

    judges = [judge.name for judge in methods.judge.models]
    return [warning for model in models if (warning := kinship_warning(judges, model))]


def with_documents(methods: Methods, metrics: Iterable[str], *, dialect: Dialect, path: Path) -> Methods:
    """Return the methods with the dataset's own documents, if a metric looks something up in documents.

    Documents that were given take precedence.
    """
    if (
        methods.corpus is not None
        or not any(map(_looks_up, metrics))
        or "dataset.documents" not in dialect.holds
    ):
        return methods
    documents = dialect.read(path).documents
    return replace(methods, corpus=Corpus(documents)) if documents else methods


def _looks_up(metric: str) -> bool:
    """Return True if a declared metric needs documents."""
    try:
        return not _LOOKED_UP.isdisjoint(parse_metric(metric).metric.needs)
    except UsageError:
        return False  # if that is a mistake, binding it reports it


def missing_method(metric: Metric) -> tuple[str, str, str]:
    """Return what a metric needs to be scored, why it is not, and how to set up what it needs."""
    if "embedding" not in metric.methods:
        return "needs a judge", "needs a judge", HOW_TO_JUDGE
    needs = "needs an embedding model or a judge"
    return needs, f"not measurable by word overlap: {needs}", f"{HOW_TO_EMBED}, or {HOW_TO_JUDGE}"


def chosen_method(metric: BoundMetric, methods: Methods) -> Method | None:
    """Return the method by which a metric is computed; ``None`` where only a model could and there is none.

    Asking by name for a method that is not set up is a :class:`UsageError` that says how to set it up.
    """
    asked = metric.parameters.get("method", AUTO)
    if asked == "judge" and methods.judge is None:
        raise UsageError(f"metric {metric}: needs a judge: {HOW_TO_JUDGE}")
    if asked == "embedding" and methods.embedder is None:
        raise UsageError(f"metric {metric}: needs an embedder: {HOW_TO_EMBED}")
    offered = metric.metric.methods
    if asked != AUTO:
        return next(method for method in offered if method == asked)
    if methods.support is not None and any(each.by_support for each in metric.metric.fields):
        return "lexical"  # in its place stands whoever decides what supports what
    if "judge" in offered and methods.judge is not None:
        return "judge"
    if "embedding" in offered and methods.embedder is not None:
        return "embedding"
    return next((method for method in offered if method in ("lexical", "lexicon")), None)


class Way(msgspec.Struct, frozen=True):
    """The method behind a metric's fields: its printed name, its version and the questions to a judge."""

    name: str
    version: int = 1
    questions: frozenset[str] = frozenset()
    is_slow: bool = False
    engines: tuple[str, ...] = ()
    """Engines whose workers can run it, although it is slow: for a local model, never for an endpoint."""


def way_of(metric: BoundMetric, method: Method | None, methods: Methods) -> Way:
    """Return how a metric comes by its fields, by the method chosen."""
    declared = metric.metric
    if method == "embedding":
        return Way(f"embedding:{methods.embedder!r}", is_slow=True)
    by_judge = method == "judge" and methods.judge is not None
    support = methods.support_by(method) if any(each.by_support for each in declared.fields) else None
    if not by_judge and (support is None or methods.support is None):
        return Way(declared.method, 1 if support is None else support.version)
    asking = [each for each in declared.fields if "judge" in each.methods]
    others = [each.method for each in declared.fields if each not in asking and each.method != "exact"]
    prompt = next((each.prompt for each in asking if each.prompt), None) if by_judge else None
    decided_by = methods.judge if by_judge else support
    questions = (name for each in asking for name in each.asks or (each.prompt or each.name,))
    is_asked = by_judge or getattr(support, "judge", None) is not None
    return Way(
        " + ".join((getattr(decided_by, "name", ""), *dict.fromkeys(others))),
        load_prompt(prompt).version if prompt else getattr(support, "version", 1),
        frozenset(questions) if is_asked else frozenset(),
        is_slow=by_judge or getattr(support, "is_slow", False),
        engines=() if by_judge else getattr(support, "engines", ()),
    )


# The cards of the offline methods: what each sees, what it does not, and how far it agrees with people.
#
# A card is a file, ``judging/cards/<name>.json``; :func:`method_cards` reads them all.


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure measured against people's labels, its 95 % interval, and what to read it by."""

    figure: str
    data: str
    n: int
    value: float
    low: float
    high: float
    plain: float | None = None
    """The same figure by the card's plain count, on the same items."""
    note: str = ""


class MethodCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of an offline method that a user should know before trusting its figures."""

    name: str
    """The method's label, as it stands beside every figure."""
    version: int
    metrics: tuple[str, ...]
    """The metrics that it is used by."""
    languages: tuple[str, ...]
    """The languages that it was measured on; texts in others are not scored."""
    summary: str
    sees: tuple[str, ...]
    does_not_see: tuple[str, ...]
    plain: str
    """The plain count that stands beside figures: what anybody would write first."""
    agreement: tuple[Agreement, ...]
    fitted_on: str
    licence: str
    date: str


@cache
def method_cards() -> tuple[MethodCard, ...]:
    """Return the cards of all offline methods, by name."""
    folder = files(__package__) / "cards"
    found = [
        msgspec.json.decode(entry.read_bytes(), type=MethodCard)
        for entry in folder.iterdir()
        if entry.name.endswith(".json")
    ]
    return tuple(sorted(found, key=lambda card: card.name))


REACHED = "mean {} of right answers"
"""The figure of a card that says what a threshold of a metric can ask for."""


class Bound(Protocol):
    """A threshold for the mean of a metric."""

    @property
    def metric(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def bound(self) -> float | None: ...


def beyond_reach(demand: Bound, method: str | None) -> str | None:
    """Return a warning if correct answers, by this method, miss the threshold; else ``None``.

    If those of one source meet it, there is no warning.
    """
    name, bound = demand.metric.partition("(")[0], demand.bound
    cards = [card for card in method_cards() if card.name == method]
    figures = [each.value for card in cards for each in card.agreement if each.figure == REACHED.format(name)]
    if not figures or bound is None:
        return None
    if max(figures) >= bound if demand.operator == ">=" else min(figures) <= bound:
        return None
    low, high = f"{min(figures):.2f}", f"{max(figures):.2f}"
    judged = " or a judge (--judge-model MODEL)" if "judge" in parse_metric(name).metric.methods else ""
    return (
        f"{demand.metric} {demand.operator} {bound:g} may fail correct answers: by word overlap they "
        f"typically score {low if low == high else f'{low}–{high}'}. Use a "
        f"{'lower' if demand.operator == '>=' else 'higher'} threshold{judged}. "
        f"Details: rag-eval list methods {name}"
    )
