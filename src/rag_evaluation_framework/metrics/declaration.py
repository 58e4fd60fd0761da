"""The declaration of a metric, and the parser of its name with parameters.

A metric is a function under :func:`metric`, which names the view that it reads. Its docstring has four parts:
the first line says what it measures; ``Formula:``, ``Empty:`` and ``Source:`` each start a paragraph.
``rag-eval list metrics`` and ``docs/reference/metrics.md`` are printed from these declarations. Installed
packages add theirs as entry points of ``rag_evaluation_framework.metrics``.

Names: ``ndcg``, ``ndcg@10``, ``rbp(p=0.5)``, ``rbp(p=0.5)@10``. trec_eval's spellings (``P_10``, ``P.10``,
``ndcg_cut_10``, ``recip_rank``) are accepted as aliases and print under our names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import inf
from pkgutil import get_data, iter_modules
from typing import Any, TypeAlias, TypeVar

import msgspec

from rag_evaluation_framework.errors import Problems, UnknownNameError, UsageError, shown
from rag_evaluation_framework.extensions import Registry, Specification, parse_specification
from rag_evaluation_framework.metrics.views import FAMILIES, NEEDS, VIEWS, Field, Method, View

AUTO = "auto"
"""The method that is used unless one is asked for: the judge's where there is a judge, else the first."""

INSTALLED: Registry[Callable[..., Any]] = Registry("metric")
"""Metrics of other packages; loading one declares it."""

_ROOM = "rag_evaluation_framework.metrics"
_DECLARES = b"\n@metric("
# Where metrics of one family stand in several modules, those of these come first.
_LISTED_FIRST = ("ranking", "spans", "citations", "texts")

_CUT_OFF = re.compile(r"(?P<name>.+?)@(?P<k>[^@)]*)\Z")
# trec_eval prints ndcg_cut_10 and is asked for ndcg_cut.10.
_TREC_CUT_OFF = re.compile(r"(?P<name>.+)[_.](?P<k>\d+)\Z")
_LARGEST_CUT_OFF = 10**9

F = TypeVar("F", bound=Callable[..., Any])


class Within(msgspec.Struct, frozen=True):
    """The numbers that a parameter may be: from ``low`` to ``high``, without the ends if ``is_open``."""

    low: float
    high: float = inf
    is_open: bool = False

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high if self.is_open else self.low <= value <= self.high

    def __str__(self) -> str:
        if self.is_open:
            return f"above {self.low} and below {self.high}"
        return f"of at least {self.low}" if self.high == inf else f"from {self.low} to {self.high}"


Allowed: TypeAlias = tuple[str, ...] | Within
"""Allowed values of a parameter, beyond its default's type: some words, or a range of numbers."""

Unless: TypeAlias = str | Callable[..., str | None]
"""A field that is a reason or nothing, or a function of fields and parameters that returns one."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A declared metric: what it is called, reads and means, and the function that computes it."""

    name: str
    view: View
    function: Callable[..., Any] = field(repr=False)
    fields: tuple[Field, ...] = ()
    """The fields of the view that the function is given, by the names of its parameters."""
    higher_is_better: bool = True
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Its own parameters with their defaults, and ``method`` where there are several."""
    version: int = 1
    aliases: tuple[str, ...] = ()
    is_share: bool = True
    """True if the values are from 0 to 1."""
    allowed: Mapping[str, Allowed] = field(default_factory=dict, hash=False)
    """Allowed values of parameters, for those with restrictions."""
    shows: tuple[str, ...] = ()
    """The fields whose verdicts stand in the details of a score."""
    unless: tuple[Unless, ...] = ()
    """Tests, before the function is called, that return a reason to skip the sample."""
    decides: bool = False
    """True if it decides if an answer is correct."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By its name: another process declares it by importing where it is declared.
        return _declared_in, (self.name, self.function.__module__)

    @property
    def family(self) -> str:
        """Return the family of the metric."""
        return next((each.family for each in self.fields if each.family), self.view.family)

    @property
    def needs(self) -> tuple[str, ...]:
        """The parts of a sample and of a response without which there is nothing to score."""
        needed = {need for each in self.fields for need in each.needs}
        return tuple(need for need in NEEDS if need in needed)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The ways to come by what the function is given; a metric's text may name one."""
        return tuple(dict.fromkeys(way for each in self.fields for way in each.methods))

    @property
    def method(self) -> str:
        """Return the name of the default method, as it is printed beside a figure."""
        named = dict.fromkeys(each.method for each in self.fields if each.method)
        return " + ".join(named) or "exact"

    def languages(self, method: Method | None = None, *, own_support: bool = False) -> tuple[str, ...]:
        """Return the languages it was measured on by a method, if no other is named the first one.

        None where it is the same in all of them. With ``own_support`` it is not ours that decides what
        supports what, and that field does not limit it.
        """
        fields = [each for each in self.fields if method is None or method not in each.methods[1:]]
        limits = [
            each.languages for each in fields if each.languages and not (own_support and each.by_support)
        ]
        return tuple(code for code in limits[0] if all(code in each for each in limits)) if limits else ()

    @property
    def summary(self) -> str:
        return _docstring_parts(self.function)[""]

    @property
    def formula(self) -> str:
        return _docstring_parts(self.function)["Formula"]

    @property
    def empty(self) -> str:
        return _docstring_parts(self.function)["Empty"]

    @property
    def source(self) -> str:
        return _docstring_parts(self.function)["Source"]

    @property
    def signature(self) -> str:
        """The name with its parameters, for people: ``ndcg[@k]``, ``rbp(p=0.8)[@k]``."""
        others = {key: value for key, value in self.parameters.items() if key not in ("k", "method")}
        return str(Specification(self.name, others)) + ("[@k]" if "k" in self.parameters else "")


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric with its parameters filled in. ``str()`` is its name, which parses back into it."""

    metric: Metric
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def k(self) -> int | None:
        """The cut-off, or ``None`` for the whole list."""
        k: int | None = self.parameters.get("k")
        return k

    def __str__(self) -> str:
        defaults = self.metric.parameters
        others = {
            key: value for key, value in self.parameters.items() if key != "k" and value != defaults[key]
        }
        cut_off = f"@{self.k}" if self.k is not None else ""
        return f"{Specification(self.metric.name, others)}{cut_off}"

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Compute the metric on the arguments of its family."""
        given = {key: value for key, value in self.parameters.items() if key != "method"}
        return self.metric.function(*arguments, **given, **options)


_declared: dict[str, Metric] = {}
_aliases: dict[str, str] = {}


def metric(
    name: str,
    *,
    reads: View,
    higher_is_better: bool = True,
    shows: tuple[str, ...] = (),
    is_share: bool = True,
    version: int = 1,
    aliases: tuple[str, ...] = (),
    allowed: Mapping[str, Allowed] | None = None,
    unless: tuple[Unless, ...] = (),
    decides: bool = False,
) -> Callable[[F], F]:
    """Return a decorator that declares a function as a metric and returns the function unchanged.

    The parameters of the function are fields of the view. Keyword-only parameters with a default that are no
    fields are the metric's settings (``k`` is the cut-off in ``@k``). The function returns a number, or
    ``None`` to skip the sample, as the *Empty* paragraph of its docstring states.

    Args:
        name: Name of the metric.
        reads: View whose fields the function receives.
        higher_is_better: False if lower values are better.
        shows: Fields whose verdicts are stored in the details of a score.
        is_share: True if the values are from 0 to 1.
        version: Version of the formula; scores of different versions are not compared.
        aliases: Other names that are accepted.
        allowed: Allowed values of the settings.
        unless: Fields of the view, or functions, that give a reason to skip the sample beforehand.
        decides: True if the metric decides if an answer is correct; the function then returns a boolean, or
            the name of a grade or a state.

    Returns:
        The decorator.

    Raises:
        UsageError: The name is taken, or a parameter is neither a field nor a setting.

    Example:
        >>> from rag_evaluation_framework import evaluate, metric
        >>> from rag_evaluation_framework.metrics.views import TEXTS
        >>> @metric("shortness", reads=TEXTS)
        ... def shortness(answer: str) -> float:
        ...     '''Return 1 if the answer has at most five words, else 0.
        ...
        ...     Formula: 1 if the answer has at most five words, else 0.
        ...
        ...     Empty: 1 for an empty text.
        ...
        ...     Source: our house style.
        ...     '''
        ...     return float(len(answer.split()) <= 5)
        >>> rows = [{"question": "What is 2 + 2?", "answer": "It is 4."}]
        >>> evaluate(rows, metrics=["shortness"]).metrics["shortness"].value
        1.0
    """
    if not isinstance(reads, View):
        known = ", ".join(each.name.upper() for each in VIEWS)
        raise UsageError(f"metric {name!r}: expected a view to read, one of {known}, got {shown(reads)}")
    for taken in (name, *aliases):
        if taken in _declared or taken in _aliases:
            raise UsageError(f"metric {taken!r} is already declared")

    def declare(function: F) -> F:
        fields, own = _parameters(name, function, reads)
        if decides and _NUMBER.search(str(inspect.signature(function).return_annotation)):
            raise UsageError(
                f"metric {name!r}: a deciding metric must return a boolean, a grade or a state, got a number"
            )
        for each in unless:
            if callable(each):
                _parameters(name, each, reads, own)
        named = (*shows, *(each for each in unless if isinstance(each, str)))
        if unknown := [each for each in named if each not in _fields(reads)]:
            raise _no_field(name, unknown[0], reads)
        if unknown := [each for each in allowed or {} if each not in own]:
            raise UsageError(f"metric {name!r}: allowed: the function has no parameter {unknown[0]}")
        has_methods = any(each.methods for each in fields)
        _declared[name] = Metric(
            name,
            reads,
            function,
            fields,
            higher_is_better,
            {**own, **({"method": AUTO} if has_methods else {})},
            version,
            aliases,
            is_share,
            allowed or {},
            shows,
            unless,
            decides,
        )
        _aliases.update(dict.fromkeys(aliases, name))
        return function

    return declare


def _fields(view: View) -> dict[str, Field]:
    return {each.name: each for each in view.fields}


def _no_field(name: str, unknown: str, view: View) -> UsageError:
    return UsageError(
        f"metric {name!r}: unknown field {unknown!r} of {view.name}. Available: {', '.join(_fields(view))}"
    )


def _parameters(
    name: str, function: Callable[..., Any], view: View, known: Mapping[str, Any] | None = None
) -> tuple[tuple[Field, ...], dict[str, Any]]:
    """Return the fields of the view that a function takes, and its own parameters with their defaults.

    With ``known``, its own must be among these.
    """
    given, fields = _fields(view), []
    own: dict[str, Any] = {}
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise UsageError(f"metric {name!r}: expected named parameters, got {each}")
        if each.name in given:
            fields.append(given[each.name])
        elif each.default is each.empty or (known is not None and each.name not in known):
            raise _no_field(name, each.name, view)
        elif each.kind is each.KEYWORD_ONLY:
            own[each.name] = each.default
    if not fields:
        raise UsageError(
            f"metric {name!r}: the function reads no field of {view.name}. Available: {', '.join(given)}"
        )
    return tuple(fields), own


def all_metrics() -> list[Metric]:
    """Return every metric, family by family, in the order in which the modules declare them.

    Those of installed packages are among them.
    """
    _import_ours()
    for name in INSTALLED.names():
        _load_installed(name)
    families, places = FAMILIES, [f"{_ROOM}.{module}" for module in _sources()]

    def order(declared: Metric) -> tuple[int, int]:
        home = declared.function.__module__
        return families.index(declared.family), places.index(home) if home in places else len(places)

    return sorted(_declared.values(), key=order)


def available_metrics() -> list[str]:
    """Return the names of the metrics that score samples, without parameters; no plug-in is loaded.

    What judges all chunks of a corpus is no metric of a sample.
    """
    _import_ours()
    declared = (each.name for each in _declared.values() if "chunks" not in each.needs)
    return sorted({*declared, *INSTALLED.names()})


@cache
def _sources() -> dict[str, bytes]:
    """Return the modules of this room that declare metrics, with what is written in them."""
    modules = [each.name for each in iter_modules(import_module(_ROOM).__path__)]
    modules.sort(key=lambda name: (name not in _LISTED_FIRST, name))
    sources = {name: get_data(_ROOM, f"{name}.py") or _DECLARES for name in modules}
    return {name: source for name, source in sources.items() if _DECLARES in source}


def _import_ours() -> None:
    for module in _sources():
        import_module(f"{_ROOM}.{module}")


def _load_installed(name: str) -> None:
    if name not in _declared:
        INSTALLED.get(name)
        if name not in _declared:
            raise UsageError(f"cannot load metric {name!r}: its package declares no metric with this name")


def _find(name: str) -> Metric | None:
    """Return the metric of a name or an alias; no more modules are imported than have the name in them."""
    if name not in _known():
        for module, source in _sources().items():
            if f'"{name}"'.encode() in source or source == _DECLARES:
                import_module(f"{_ROOM}.{module}")
    if name not in _known() and name in INSTALLED.names():
        _load_installed(name)
    return _declared.get(_aliases.get(name, name))


def _declared_in(name: str, module: str) -> Metric:
    """Return the metric that a module declares."""
    if name not in _declared:
        import_module(module)
    return _declared[name]


def parse_metric(text: str) -> BoundMetric:
    """Read a metric's name with its parameters: ``parse_metric("ndcg@10")``.

    ``str()`` of the result is the canonical name and parses back into an equal metric. An unknown name
    offers the nearest ones; an unknown or impossible parameter says which there are.
    """
    return _parsed(text.strip())


def parse_metrics(texts: Iterable[str]) -> list[BoundMetric]:
    """Read several names; all the wrong ones are reported in one error, a line each."""
    found: list[BoundMetric] = []
    problems = Problems()
    for text in texts:
        with problems.collected():
            found.append(parse_metric(text))
    problems.raise_all()
    return list({str(bound): bound for bound in found}.values())


def split_cut_off(text: str) -> tuple[Specification, str | None]:
    """Read ``rbp(p=0.5)@10`` into ``rbp(p=0.5)`` and ``"10"``, whether or not there is such a metric."""
    cut_off = _CUT_OFF.match(text)
    if cut_off is None:
        return parse_specification(text), None
    return parse_specification(cut_off["name"]), cut_off["k"]


_LISTED_BY = "rag-eval list metrics"


@cache
def _parsed(text: str) -> BoundMetric:
    specification, cut_off = split_cut_off(text)
    name, given = specification.name, dict(specification.arguments)
    declared = _find(name)
    if declared is None and cut_off is None and (trec := _TREC_CUT_OFF.match(name)):
        declared, cut_off = _find(trec["name"]), trec["k"]
    if declared is None:
        _import_ours()
        raise unknown_metric(name, [*_known(), *INSTALLED.names()])
    if cut_off is not None and "k" in given:
        raise UsageError(f"metric {shown(text)}: expected one cutoff, got 2")
    if cut_off is not None:
        given["k"] = cut_off
    for key, value in given.items():
        if key not in declared.parameters:
            raise UsageError(f"metric {shown(text)}: unknown parameter {key}. Usage: {declared.signature}")
        given[key] = _checked(text, key, value, declared)
    if given.get("method", AUTO) not in (AUTO, *declared.methods):
        raise UnknownNameError(f"method of {declared.name}", given["method"], [AUTO, *declared.methods])
    return BoundMetric(declared, {**declared.parameters, **given})


# What other tools call a thing, as compared: without case, marks and "metric"; and what comes nearest here.
_ELSEWHERE = {
    "factualcorrectness": "claim_f1",
    **dict.fromkeys(("contextrecall", "contextualrecall", "llmcontextrecall"), "context_claim_recall"),
    "nonllmcontextrecall": "context_recall",
    **dict.fromkeys(
        (
            *("contextualprecision", "contextualrelevancy", "contextrelevance", "contextrelevancy"),
            *("llmcontextprecisionwithreference", "llmcontextprecisionwithoutreference"),
            "nonllmcontextprecisionwithreference",
        ),
        "context_precision",
    ),
    "contextentityrecall": "entity_coverage",
    "responserelevancy": "answer_relevancy",
    "answerrelevance": "answer_relevancy",
    "semanticsimilarity": "answer_similarity",
    "similar": "answer_similarity",
    **dict.fromkeys(("factuality", "modelgradedfactuality", "answeraccuracy"), "answer_correctness"),
    **dict.fromkeys(("groundedness", "responsegroundedness", "contextfaithfulness"), "faithfulness"),
    "bleuscore": "bleu",
    **dict.fromkeys(("toolcorrectness", "toolcallaccuracy"), "tool_called"),
    **dict.fromkeys(("equals", "iequals"), "exact_match"),
    **dict.fromkeys(
        ("contains", "icontains", "containsall", "icontainsall", "stringpresence"), "string_match"
    ),
    **dict.fromkeys(
        (
            *("aspectcritic", "llmrubric", "geval", "modelgradedclosedqa", "rubricsscore"),
            *("bias", "summarization", "taskcompletion"),
        ),
        "rubric",
    ),
    **dict.fromkeys(("isrefusal", "refusal"), "refusal_recall"),
}


def unknown_metric(name: str, known: Sequence[str]) -> UnknownNameError:
    """Return the error for a name that no metric has: one that another tool uses leads to ours."""
    plain = re.sub(r"[^a-z]", "", name.casefold()).removesuffix("metric")
    nearest = _ELSEWHERE.get(plain)
    return UnknownNameError("metric", name, known, _LISTED_BY, nearest if nearest in known else None)


def _known() -> dict[str, object]:
    """Return every name and alias, as keys."""
    return {**_declared, **_aliases}


def _cut_off(text: str, digits: str) -> int:
    # Ten digits are enough for the largest; Python refuses to read more than 4,300.
    if digits.isascii() and digits.isdigit() and len(digits) <= 10 and 1 <= int(digits) <= _LARGEST_CUT_OFF:
        return int(digits)
    expected = f"a cutoff that is a whole number from 1 to {_LARGEST_CUT_OFF:,}"
    raise UsageError(f"metric {shown(text)}: expected {expected}, got {shown(digits)}")


def _checked(text: str, key: str, value: Any, declared: Metric) -> Any:
    """Accept a value that the metric allows; ``k``, whose default is the whole list, is a whole number."""
    if key == "k":
        return _cut_off(text, str(value))
    value = _of_type(text, key, value, declared.parameters[key])
    allowed = declared.allowed.get(key)
    if allowed is None or value in allowed:
        return value
    if isinstance(allowed, tuple):
        raise UnknownNameError(f"{key} of {declared.name}", value, allowed)
    raise UsageError(f"metric {shown(text)}: expected {key} {allowed}, got {shown(value)}")


def _of_type(text: str, key: str, value: Any, default: Any) -> Any:
    if type(value) is type(default):  # a subclass will not do: to Python, true is a whole number
        return value
    if type(default) is float and type(value) is int:
        return float(value)
    raise UsageError(f"metric {shown(text)}: expected {key} of the type of {default!r}, got {shown(value)}")


@cache
def _docstring_parts(function: Callable[..., Any]) -> dict[str, str]:
    """Split a metric's docstring into its first line and its Formula, Empty and Source paragraphs."""
    parts: dict[str, str] = {}
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        label, colon, rest = paragraph.partition(":")
        labelled = colon and label in ("Formula", "Empty", "Source")
        text = " ".join((rest if labelled else paragraph).split())
        parts.setdefault(label if labelled else "", text)
    missing = [label for label in ("", "Formula", "Empty", "Source") if not parts.get(label)]
    if missing:
        lacking = ", ".join(label or "a first line" for label in missing)
        raise UsageError(f"{function.__name__}: the docstring lacks {lacking}")
    return parts


_NUMBER = re.compile(r"\b(?:float|int)\b")
DECIDES = "decides"
"""The key under which the details of a score have the state or grade that a user's metric decides."""
PASS_RATE = "pass_rate"  # noqa: S105  # no password
"""The share of samples that pass; a threshold may be set for it, but it is not asked for as a metric."""


class KnownMetric(msgspec.Struct, frozen=True):
    """The properties of a metric by which a threshold is read, before anything is computed."""

    higher_is_better: bool = True
    is_share: bool = True


def known_metric(text: str) -> KnownMetric | None:
    """Return the direction and the range of a metric by its name; ``None`` for one that there is not."""
    if text.strip() == PASS_RATE:
        return KnownMetric()
    try:
        declared = parse_metric(text).metric
    except UsageError:
        return None
    return KnownMetric(declared.higher_is_better, declared.is_share)


def metric_name(text: str) -> str:
    """Return the one name of a metric: ``hit@1``, be it written ``hit(k=1)`` or as trec_eval's ``success_1``.

    Thresholds find their metrics by it. A text that cannot be read is its own name.
    """
    try:
        return PASS_RATE if text.strip() == PASS_RATE else str(parse_metric(text))
    except UsageError:
        return text.strip()


def without_parameters(name: str) -> str:
    """Return the name of a metric without its parameters."""
    return name.partition("(")[0]


def check_known(text: str, others: Container[str] = ()) -> None:
    """Raise :class:`UnknownNameError` for a name that is neither known nor among the others.

    Only metrics that there are get offered: the others may be misspelt themselves.
    """
    if text not in others and known_metric(text) is None:
        raise unknown_metric(text, [PASS_RATE, *available_metrics()])


def check_metric(text: str) -> BoundMetric:
    """Return the metric of a name, for any methods; raise a :class:`UsageError` for others.

    It has an unknown name, a wrong parameter, or is no metric of a sample.
    """
    try:
        bound = parse_metric(text)
    except UnknownNameError as error:
        if error.kind != "metric":
            raise
        raise unknown_metric(error.name, available_metrics()) from None
    if "chunks" in bound.metric.needs:
        raise UsageError(f"metric {bound} needs all chunks of a corpus. Use rag-eval retrieval")
    return bound
