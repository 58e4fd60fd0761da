"""The parts of a gate's result: thresholds, checks, movements since a baseline, and the verdict.

Records, and how they are written; :mod:`.gate` decides, :mod:`.regressions` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.verdict import CORRECT, GRADES, AnswerCounts
from rag_evaluation_framework.metrics.declaration import KnownMetric, known_metric, metric_name
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.text.display import short_repr

Operator = Literal[">=", "<="]
Movement = Literal["worse", "better", "no worse", "undecided", "not evaluated"]
"""The movement of a run since its baseline."""
CheckStatus = Literal["met", "missed", "not evaluated", "worse", "better", "no worse", "undecided"]
Word = Literal["passed", "thresholds met", "failed", "undecided", "not evaluated", "incomplete", "no gate"]
Excuse = Literal["left out", "waived"]
BASELINE = "baseline"
"""The name of the check against a baseline, by which it is also waived."""
UNSTABLE, ERROR_RATE, RETRY_RATE = OF_REQUESTS = ("unstable", "error_rate", "retry_rate")
OF_ANSWERS = (*GRADES, *OF_REQUESTS)
"""The numbers and shares of answers that every run has besides its metrics, and that thresholds may limit."""


FLIPS_LEVEL, METRICS_LEVEL, LEVEL = 0.04, 0.01, 0.05
"""The p-values that show a change: of answers that moved, of a gated metric, of either by itself."""


class Threshold(msgspec.Struct, frozen=True):
    """A bound for the mean of one metric, by its name; equality passes.

    Args:
        metric: Name of the metric, or of a grade of answers such as ``correct``.
        operator: ``>=`` or ``<=``.
        bound: The bound; of a grade a share, or a number if ``is_count``.
        line: Line of the file that states it.
        warning: Warning about the bound.
        dataset: Dataset that it is for; by default all that have the metric, and for a grade all answers.
        is_count: True if the bound is a number of answers.

    Example:
        >>> from rag_evaluation_framework import Threshold
        >>> Threshold("faithfulness", ">=", 0.8).is_met_by(0.8)
        True
    """

    metric: str
    operator: Operator
    bound: float
    line: int | None = None
    warning: str | None = None
    dataset: str | None = None
    is_count: bool = False

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.operator == ">=" else value <= self.bound

    @property
    def is_of_answers(self) -> bool:
        """Return True if it limits a number or a share of answers."""
        return self.metric in OF_ANSWERS

    @property
    def is_of_grade(self) -> bool:
        return self.metric in GRADES

    def __str__(self) -> str:
        of = "" if self.dataset is None else f"{self.dataset}:"
        return f"{of}{self.metric} {self.operator} {format_bound(self)}"


def format_bound(limit: Threshold | Check) -> str:
    """Return a bound as a manifest has it: ``0.8``; of answers ``2`` is a number and ``90%`` a share."""
    if limit.bound is None:
        return ""
    if limit.metric not in OF_ANSWERS:
        return f"{limit.bound:g}"
    return f"{limit.bound:.0f}" if limit.is_count else f"{100 * limit.bound:.10g}%"


# Thresholds as a manifest writes them: ``faithfulness: 0.8``, ``hallucination: {max: 0.05}``.
#
# A plain number is a floor where higher is better and a ceiling where lower is. ``min`` and ``max`` say which
# it is, whatever the metric; both together make a corridor. A metric may be written in any of its spellings.

# A plain number beyond these, for its direction, is likelier a slip than a wish.
_LOW_FLOOR = 0.1
_HIGH_CEILING = 0.5


def read_thresholds(metric: str, written: Any, *, line: int | None = None) -> Iterator[Threshold]:
    """Yield the thresholds that one entry stands for; :class:`InputError` without a place if it is none."""
    if metric.strip() in OF_ANSWERS:
        yield _read_limit(metric.strip(), written, line)
        return
    metric, known = metric_name(metric), known_metric(metric) or KnownMetric(is_share=False)
    operator: Operator = ">=" if known.higher_is_better else "<="
    if isinstance(written, Mapping):
        yield from _explicit(metric, written, known, line)
        return
    bound = _number(written, known)
    yield Threshold(metric, operator, bound, line, _doubt(metric, operator, bound, known))


def _read_limit(metric: str, written: Any, line: int | None) -> Threshold:
    """Return the limit of a grade or rate: more correct answers are better, and less of anything else."""
    side: Literal["min", "max"] = "min" if metric == CORRECT else "max"
    expected = f"a number of answers or a share (3, 0.1 or 10%), or {{{side}: …}}"
    value = written.get(side) if isinstance(written, Mapping) else written
    if isinstance(written, Mapping) and set(written) != {side}:
        raise InputError([Issue("invalid-threshold", f"{side}", ", ".join(map(str, written)) or "nothing")])
    is_count = isinstance(value, int) and not isinstance(value, bool)
    share = _PERCENTAGE.fullmatch(value.strip()) if isinstance(value, str) else None
    bound = float(f"{share[1]}e-2") if share else strict_json.finite_number(value)
    if bound is None or bound < 0 or (bound > 1 and not is_count):
        raise InputError([Issue("invalid-threshold", expected, shown(value))])
    return Threshold(metric, ">=" if side == "min" else "<=", bound, line, is_count=is_count)


_PERCENTAGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")


def _explicit(
    metric: str, written: Mapping[str, Any], known: KnownMetric, line: int | None
) -> Iterator[Threshold]:
    if not written or set(written) - {"min", "max"}:
        keys = ", ".join(map(str, written)) or "nothing"
        raise InputError([Issue("invalid-threshold", "min, max or both", keys)])
    bounds = {side: _number(value, known, side) for side, value in written.items()}
    if "min" in bounds and "max" in bounds and bounds["min"] > bounds["max"]:
        found = f"min {bounds['min']:g} above max {bounds['max']:g}"
        raise InputError([Issue("invalid-threshold", "min of at most max", found)])
    if "min" in bounds:
        yield Threshold(metric, ">=", bounds["min"], line)
    if "max" in bounds:
        yield Threshold(metric, "<=", bounds["max"], line)


def _number(value: Any, known: KnownMetric, path: str = "") -> float:
    expected = "a number from 0 to 1" if known.is_share else "a number"
    number = strict_json.finite_number(value)
    if number is None:
        expected = f"{expected}, or {{min: …}} or {{max: …}}" if not path else expected
        raise InputError([Issue("invalid-threshold", expected, shown(value), path)])
    if known.is_share and not 0 <= value <= 1:
        raise InputError([Issue("invalid-threshold", expected, shown(value), path)])
    return number


def _doubt(metric: str, operator: Operator, bound: float, known: KnownMetric) -> str | None:
    """Return a warning about a plain number that looks inverted; ``None`` if it does not."""
    is_ceiling = operator == "<="
    if not known.is_share or not (bound > _HIGH_CEILING if is_ceiling else bound <= _LOW_FLOOR):
        return None
    kind, better, side = ("ceiling", "lower", "max") if is_ceiling else ("floor", "higher", "min")
    return (
        f"{metric}: {bound:g} is a {kind}, since {better} is better, and looks inverted; "
        f"did you mean {1 - bound:.4g}? ({{{side}: {bound:g}}} says that it is meant)"
    )


_THRESHOLD = re.compile(
    r"(?:(?P<dataset>.+):)?(?P<metric>\S+) (?P<operator>[<>]=) "
    r"(?P<bound>-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]{1,2})?)(?P<share>%?)\Z"
)
_OPERATORS: Mapping[str, Operator] = {">=": ">=", "<=": "<="}


def written_thresholds(configuration: Mapping[str, Any]) -> tuple[Threshold, ...]:
    """Return the thresholds that the configuration of a run's head has as texts; other texts are none."""
    written = configuration.get("thresholds")
    found = (_THRESHOLD.match(str(each)) for each in (written if isinstance(written, list | tuple) else ()))
    return tuple(
        Threshold(
            each["metric"],
            _OPERATORS[each["operator"]],
            float(f"{each['bound']}e-2" if each["share"] else each["bound"]),
            dataset=each["dataset"],
            is_count=each["metric"] in OF_ANSWERS and not each["share"],
        )
        for each in found
        if each is not None
    )


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check: ``value operator bound``, or how the run stands to its baseline.

    ``dataset`` is ``None`` if the metric ran on none of them, or all count together. One that was not
    evaluated fails the gate, unless there is an ``excuse``: the user narrowed the run, or waived it by name.
    """

    dataset: str | None
    metric: str
    operator: Operator = ">="
    bound: float | None = None
    value: float | None = None
    status: CheckStatus
    held: str = "mean"
    """The value that is compared with the bound: mean, an end of the interval, all samples, answers."""
    method: str | None = None
    reason: str | None = None
    line: int | None = None
    excuse: Excuse | None = None
    is_count: bool = False
    number: int | None = None
    """The number of answers, questions or requests that a limit counted, out of ``of``."""
    of: int | None = None

    @property
    def fails(self) -> bool:
        """Return True if it fails the gate because of what was measured."""
        return self.status in ("missed", "worse")

    @property
    def is_open(self) -> bool:
        """Return True if it fails the gate because it was not evaluated."""
        return self.status == "not evaluated" and self.excuse is None

    @property
    def is_undecided(self) -> bool:
        return self.status == "undecided" and self.excuse is None

    @property
    def is_of_grade(self) -> bool:
        """Return True if it limits how many answers have a grade."""
        return self.metric in GRADES

    @property
    def required(self) -> float | None:
        """The number of answers that the bound amounts to; a fraction is allowed."""
        return self.bound if self.is_count or None in (self.bound, self.of) else self.bound * self.of  # type: ignore[operator]

    @property
    def status_text(self) -> str:
        """The status, with its excuse and its reason."""
        excuse = "" if self.excuse is None else f" ({self.excuse})"
        return f"{self.status}{excuse}" + (f": {self.reason}" if self.reason else "")

    def __str__(self) -> str:
        of = "" if self.dataset is None else f"{self.dataset}: "
        if self.status in ("not evaluated", "worse", "undecided"):
            return f"{of}{self.metric} {self.status_text}"
        value = "no value" if self.value is None else f"{self.value:.6g}"
        bound = "" if self.bound is None else f", not {self.operator} {format_bound(self)}"
        if self.number is not None and self.of is not None:
            return f"{of}{self.metric} {self.number:,} of {self.of:,}{bound}"
        return f"{of}{self.metric} {self.held} {value}{bound}" + (f" ({self.reason})" if self.reason else "")


class GatedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One gated metric of one dataset since the baseline; ``drop`` is how far it fell at the most."""

    dataset: str
    metric: str
    n: int = 0
    before: float | None = None
    now: float | None = None
    interval: Interval | None = None
    p_adjusted: float | None = None
    finding: Movement | Literal["same"] = "not evaluated"
    drop: float | None = None

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.now is None else self.now - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**msgspec.to_builtins(self), "difference": self.difference}


_NAMED_SAMPLES = ("worse", "unconfirmed", "unstable", "partly", "better", "edited", "left_out")


class Regressions(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a comparison with a baseline; samples are ``(dataset, id)``."""

    baseline: str
    word: Movement
    worse: tuple[tuple[str, str], ...] = ()
    """Questions whose answers were correct, or partly, and became wrong, also when they were asked again."""
    partly_before: frozenset[tuple[str, str]] = frozenset()
    """Those of them whose answers were only partly correct before."""
    unconfirmed: tuple[tuple[str, str], ...] = ()
    """Questions whose answers were correct and are not judged now, or were not wrong every time."""
    unstable: tuple[tuple[str, str], ...] = ()
    """Questions whose answers were correct, and are at times now."""
    partly: tuple[tuple[str, str], ...] = ()
    better: tuple[tuple[str, str], ...] = ()
    new: int = 0
    gone: int = 0
    edited: tuple[tuple[str, str], ...] = ()
    """Samples of both runs that were edited in between, by their names for people."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Samples that one of the runs was narrowed not to ask, called alike; they count nowhere."""
    notice: str | None = None
    """Why samples are paired by question although the data has ids."""
    paired: int = 0
    p_value: float = 1.0
    """Of answers that moved between correct and wrong: how likely so many for the worse are by chance."""
    metrics: tuple[GatedMetric, ...] = ()
    drop: float | None = None
    """The upper end of a one-sided 95% interval of the drop in the share of correct answers."""
    reason: str | None = None
    """Why it is not evaluated, where it is not."""
    asked_again: int = 0
    """The number of answers that were used to ask again about apparent regressions."""
    was_asked_again: bool = False
    were_judged: bool = False
    """True if answers to the unconfirmed were judged when they were asked again, but not always wrong."""
    reliability: Mapping[str, Mapping[str, Any]] = {}
    """The rates of failed and repeated requests in the baseline, by dataset."""
    answers: Mapping[tuple[str, str], str] = {}
    """The baseline's answers to the first samples that got worse."""

    __repr__ = short_repr

    def settled(self) -> Regressions:
        """Return it with the word that its questions come to, where they were evaluated."""
        if self.word == "not evaluated" or not (self.worse or self.unconfirmed or self.better):
            return self
        word: Movement = "worse" if self.worse else "undecided" if self.unconfirmed else "better"
        return replace(self, word=word)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; samples as ``dataset/id``."""
        named = {name: ["/".join(each) for each in getattr(self, name)] for name in _NAMED_SAMPLES}
        counts = {name: getattr(self, name) for name in ("new", "gone", "paired", "p_value", "asked_again")}
        return {
            "baseline": self.baseline,
            "verdict": self.word,
            **named,
            **counts,
            "largest_drop": self.drop,
            "reason": self.reason,
            "notice": self.notice,
            "reliability": dict(self.reliability),
            "metrics": [each.to_dict() for each in self.metrics],
        }


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a gate: every check, and the rules that were broken regardless of the checks.

    A gate that is off decides nothing: its checks are only shown. The exit code is 0 for passed, thresholds
    met and off; 1 for failed, not evaluated, and undecided unless the gate accepts that; 3 for an incomplete
    run, 130 for an interrupted one.
    """

    enabled: bool = True
    checks: tuple[Check, ...] = ()
    broken_rules: tuple[str, ...] = ()
    unevaluated: tuple[str, ...] = ()
    """Other parts that could not be evaluated: there were no samples, or nothing to check."""
    stopped: Literal["incomplete", "interrupted"] | None = None
    """Why a run is not complete, where it is not."""
    fails_undecided: bool = True
    regressions: Regressions | None = None
    min_scored: float = 0.9
    max_errors: int = 0
    max_regressions: int = 0
    """The limits of the gate, kept so that shards can be decided together."""
    n_errors: int = 0
    """The number of requests that failed."""
    n_uncovered: int = 0
    """The number of answers that are known to be wrong where no check of the gate is about wrong answers."""

    __repr__ = short_repr

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate does not pass; empty if it does."""
        undecided = [check for check in self.checks if self.fails_undecided and check.is_undecided]
        failed = [check for check in self.checks if check.fails]
        missing = [check for check in self.checks if check.is_open]
        return (*self.broken_rules, *map(str, failed), *self.unevaluated, *map(str, [*missing, *undecided]))

    @property
    def passed(self) -> bool:
        return not self.reasons

    @property
    def word(self) -> Word:
        """The verdict in a word: the first that holds."""
        if self.stopped is not None:
            return "incomplete"
        if not self.enabled:
            return "no gate"
        if self.broken_rules or any(check.fails for check in self.checks):
            return "failed"
        if self.unevaluated or any(check.is_open for check in self.checks):
            return "not evaluated"
        if any(check.is_undecided for check in self.checks):
            return "undecided"
        return "thresholds met" if self.n_uncovered else "passed"

    @property
    def result(self) -> Literal["PASS", "FAIL", "N/A"]:
        """The result of the gate alone; not applicable if it is off."""
        if not self.enabled:
            return "N/A"
        return "PASS" if self.passed and self.stopped is None else "FAIL"

    @property
    def exit_code(self) -> int:
        """The exit code of a command that ran the evaluation."""
        if self.stopped is not None:
            return 130 if self.stopped == "interrupted" else 3
        return 1 if self.result == "FAIL" else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "result": self.result,
            "word": self.word,
            "rows": [_row_of(check) for check in self.checks],
            "reasons": list(self.reasons),
            "baseline": None if self.regressions is None else self.regressions.to_dict(),
        }


def _row_of(check: Check) -> dict[str, Any]:
    """Return a check as plain values; what is counted stands only where answers are."""
    left_out = () if check.number is not None else ("is_count", "number", "of")
    return {name: value for name, value in asdict(check).items() if name not in left_out}


# What became of each answer between two runs, looked at both ways.

Trait = Literal["document", "needed", "why", "tag", "category", "difficulty", "query_type"]
"""The traits that answers may share: the documents they use and need, how they fail, their subject."""


class ChangedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is not the same in two runs, or cannot be compared for a ``reason``.

    ``line`` is that of its file, ``why`` the kind of failure it is blamed for now, ``scores`` what each
    metric gives it before and now.
    """

    dataset: str
    id: str
    question: str
    line: int | None = None
    expected: str | None = None
    before: str | None = None
    now: str | None = None
    why: str | None = None
    reason: str | None = None
    scores: Mapping[str, tuple[float | None, float | None]] = {}

    __repr__ = short_repr


class SharedTrait(msgspec.Struct, frozen=True, kw_only=True):
    """Something that more of the answers that moved one way share than of all the others."""

    moved: Literal["worse", "better"]
    kind: Trait
    value: str
    count: int
    of: int
    others: int
    of_others: int


class SliceChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The movements of the answers of one group; ``metrics`` has the pairs and two means of each."""

    worse: int
    better: int
    same: int
    metrics: Mapping[str, tuple[int, float, float]] = {}


class SampleShares(msgspec.Struct, frozen=True, kw_only=True):
    """The number of correct answers, and of all, where two runs asked different questions.

    Where nothing was judged they are those that were flagged.

    ``interval`` is that of the difference of the two shares, now less before.
    """

    before: tuple[int, int]
    now: tuple[int, int]
    interval: Interval
    are_flagged: bool = False

    @property
    def finding(self) -> Movement:
        """The claim that the interval supports: the share moved only where the interval leaves out 0."""
        if self.interval.low <= 0 <= self.interval.high:
            return "undecided"
        return "worse" if (self.interval.high < 0) != self.are_flagged else "better"


class AnswerChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one run beside those of another, in sorts that add up to all.

    ``p_value`` is that of the answers that moved between correct and wrong, looked at both ways and corrected
    over the contenders; at ``level`` it shows a change. Where no answer was judged only metrics are tested.
    """

    baseline: str
    contender: str
    worse: tuple[ChangedAnswer, ...] = ()
    better: tuple[ChangedAnswer, ...] = ()
    correct: int = 0
    wrong: int = 0
    same: int = 0
    """Answers that moved neither way, and those of them that are correct and wrong in both runs."""
    untold: int = 0
    """Answers that neither run judges."""
    new: tuple[ChangedAnswer, ...] = ()
    gone: tuple[ChangedAnswer, ...] = ()
    unpaired: tuple[ChangedAnswer, ...] = ()
    """Answers that only one of the runs judges."""
    unconfirmed: int = 0
    """The number of them that were correct and could not be judged any more."""
    unscored: Mapping[str, tuple[ChangedAnswer, ...]] = {}
    """By metric the answers of both runs that only one of them scores."""
    p_value: float = 1.0
    level: float = 0.05
    is_tested: bool = False
    """True if the answers themselves are tested, and not only their metrics."""
    traits: tuple[SharedTrait, ...] = ()
    slices: Mapping[str, Mapping[str, SliceChanges]] = {}
    edited: tuple[ChangedAnswer, ...] = ()
    """Answers of both runs to samples that were edited in between; they are among the others too."""
    left_out: tuple[ChangedAnswer, ...] = ()
    """Answers of one run to samples that the other was narrowed not to ask; they count nowhere."""
    notice: str | None = None
    """Why answers are paired by question although the data has ids."""
    other_questions: tuple[int, int] | None = None
    """The number of answers of each run, where the two are samples of different questions and none pairs."""
    shares: SampleShares | None = None
    """The number of these that are good, where that is known of both."""
    answers: tuple[AnswerCounts, AnswerCounts] = (AnswerCounts(), AnswerCounts())
    """The number of answers of each run by grade."""

    __repr__ = short_repr

    @property
    def paired(self) -> int:
        return len(self.worse) + len(self.better) + self.same

    @property
    def finding(self) -> Movement:
        """The claim that the answers alone support."""
        if self.shares is not None:
            return self.shares.finding
        if not self.paired and not self.unpaired:
            return "not evaluated"
        if self.is_tested and self.p_value <= self.level and len(self.worse) != len(self.better):
            return "worse" if len(self.worse) > len(self.better) else "better"
        return "undecided" if self.worse or self.unpaired else "no worse"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**msgspec.to_builtins(self), "paired": self.paired, "verdict": self.finding}
