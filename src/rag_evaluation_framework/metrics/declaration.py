"""How a metric is declared, and how its name with parameters reads back into it.

A metric is a function under :func:`metric`. Its docstring has four parts: the first line says what it
measures; ``Formula:``, ``Empty:`` and ``Source:`` each start a paragraph. ``rag-eval list metrics`` and
``docs/metrics.md`` are printed from these declarations, so there is one place to keep true.

Names: ``ndcg``, ``ndcg@10``, ``rbp(p=0.5)``, ``rbp(p=0.5)@10``. trec_eval's spellings (``P_10``, ``P.10``,
``ndcg_cut_10``, ``recip_rank``) are accepted as aliases and print under our names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import inf
from typing import Any, Literal, TypeAlias, TypeVar

from rag_evaluation_framework.errors import Problems, UnknownNameError, UsageError, shown
from rag_evaluation_framework.extensions import Specification, parse_specification

Family = Literal[
    "ranking",
    "chunks",
    "spans",
    "citations",
    "consistency",
    "texts",
    "answers",
    "refusals",
    "safety",
    "golden",
]
Method = Literal["lexical", "embedding", "lexicon", "judge"]

AUTO = "auto"
"""The method that is used unless one is asked for: the judge's where there is a judge, else the first."""

# The modules of this room that declare metrics; they are imported when a name is first looked up.
FAMILY_MODULES: dict[Family, tuple[str, ...]] = {
    "ranking": ("ranking",),
    "chunks": ("spans",),
    "spans": ("spans",),
    "citations": ("citations",),
    "consistency": ("citations",),
    "texts": ("texts",),
    "answers": ("claims", "texts"),
    "refusals": ("safety",),
    "safety": ("safety",),
    "golden": ("golden",),
}

_ROOM = "rag_evaluation_framework.metrics"

_CUT_OFF = re.compile(r"(?P<name>.+?)@(?P<k>[^@)]*)\Z")
# trec_eval prints ndcg_cut_10 and is asked for ndcg_cut.10.
_TREC_CUT_OFF = re.compile(r"(?P<name>.+)[_.](?P<k>\d+)\Z")
_LARGEST_CUT_OFF = 10**9

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Within:
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
"""What a parameter may be, beyond being of its default's type: one of these words, or such a number."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A declared metric: what it is called, needs and means, and the function that computes it."""

    name: str
    family: Family
    function: Callable[..., Any] = field(repr=False)
    higher_is_better: bool
    needs: tuple[str, ...]
    parameters: Mapping[str, Any] = field(hash=False)
    method: str
    version: int
    aliases: tuple[str, ...]
    methods: tuple[Method, ...] = ()
    """Where there are several ways to come by what the function is given; a metric's text may name one."""
    is_share: bool = True
    """Whether the values are from 0 to 1."""
    allowed: Mapping[str, Allowed] = field(default_factory=dict, hash=False)
    """What the parameters may be, for those of which not every value makes sense."""

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
    family: Family,
    needs: tuple[str, ...],
    higher_is_better: bool = True,
    parameters: Mapping[str, Any] | None = None,
    method: str = "exact",
    version: int = 1,
    aliases: tuple[str, ...] = (),
    methods: tuple[Method, ...] = (),
    is_share: bool = True,
    allowed: Mapping[str, Allowed] | None = None,
) -> Callable[[F], F]:
    """Declare the function below as a metric. The function itself is returned unchanged.

    ``parameters`` has each keyword parameter with its default, and ``allowed`` what it may be; ``k`` is the
    cut-off written ``@k``. A metric with ``methods`` may be asked for by one of them,
    ``faithfulness(method=lexical)``; the function does not see which.
    """

    if family not in FAMILY_MODULES:
        raise UnknownNameError("family of metrics", str(family), list(FAMILY_MODULES))

    def declare(function: F) -> F:
        for taken in (name, *aliases):
            if taken in _declared or taken in _aliases:
                raise UsageError(f"metric {taken!r} is declared already")
        accepted = {**(parameters or {}), **({"method": AUTO} if methods else {})}
        _declared[name] = Metric(
            name,
            family,
            function,
            higher_is_better,
            needs,
            accepted,
            method,
            version,
            aliases,
            methods,
            is_share,
            allowed or {},
        )
        _aliases.update(dict.fromkeys(aliases, name))
        return function

    return declare


def all_metrics() -> list[Metric]:
    """Return every metric, family by family, in the order in which the modules declare them."""
    places = [f"{_ROOM}.{module}" for modules in FAMILY_MODULES.values() for module in modules]
    for place in places:
        import_module(place)
    families = list(FAMILY_MODULES)

    def order(declared: Metric) -> tuple[int, int]:
        home = declared.function.__module__
        return families.index(declared.family), places.index(home) if home in places else len(places)

    return sorted(_declared.values(), key=order)


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


@cache
def _parsed(text: str) -> BoundMetric:
    all_metrics()
    specification, cut_off = split_cut_off(text)
    name, given = specification.name, dict(specification.arguments)
    if cut_off is None and name not in _known():
        trec = _TREC_CUT_OFF.match(name)
        if trec and trec["name"] in _known():
            name, cut_off = trec["name"], trec["k"]
    declared = _declared.get(_aliases.get(name, name))
    if declared is None:
        raise UnknownNameError("metric", name, list(_known()))
    if cut_off is not None and "k" in given:
        raise UsageError(f"metric {shown(text)}: expected one cut-off, got two")
    if cut_off is not None:
        given["k"] = cut_off
    for key, value in given.items():
        if key not in declared.parameters:
            raise UsageError(f"metric {shown(text)}: no parameter {key}; it is written {declared.signature}")
        given[key] = _checked(text, key, value, declared)
    if given.get("method", AUTO) not in (AUTO, *declared.methods):
        raise UnknownNameError(f"method of {declared.name}", given["method"], [AUTO, *declared.methods])
    return BoundMetric(declared, {**declared.parameters, **given})


def _known() -> dict[str, object]:
    """Return every name and alias, as keys."""
    return {**_declared, **_aliases}


def _cut_off(text: str, digits: str) -> int:
    # Ten digits are enough for the largest; Python refuses to read more than 4,300.
    if digits.isascii() and digits.isdigit() and len(digits) <= 10 and 1 <= int(digits) <= _LARGEST_CUT_OFF:
        return int(digits)
    expected = f"a cut-off that is a whole number from 1 to {_LARGEST_CUT_OFF:,}"
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
    raise UsageError(f"metric {shown(text)}: expected {key} to be like {default!r}, got {shown(value)}")


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
        raise UsageError(f"{function.__name__}: its docstring lacks {lacking}")
    return parts
