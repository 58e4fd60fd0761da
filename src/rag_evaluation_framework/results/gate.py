"""The gate: are the thresholds met, are enough answers correct, did anything get worse?

It fails closed: what was not measured never passes, and those that were scored do not decide for those that
failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, counted, shown
from rag_evaluation_framework.judging.verdict import (
    CORRECT,
    NOT_JUDGED,
    WRONG,
    AnswerCounts,
    original_sample_id,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE, metric_name
from rag_evaluation_framework.metrics.views import NO_HITS
from rag_evaluation_framework.records.responses import told_answers
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import EMPTY, NO_CONTEXTS, NOT_ANSWERED, SETTLED, UNCLEAR, Score
from rag_evaluation_framework.results.drawn_scores import JudgedPart, judging_of
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.movements import MOST_ASKINGS
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import (
    BASELINE,
    ERROR_RATE,
    RETRY_RATE,
    Check,
    CheckStatus,
    Regressions,
    Threshold,
    Verdict,
    read_thresholds,
)
from rag_evaluation_framework.statistics.intervals import mean_interval, wilson_interval
from rag_evaluation_framework.statistics.partly_judged import FEWEST_TO_TELL
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.text.display import short_repr

Confidence = Literal["mean", "lower-bound"]
_LACKING = frozenset({NO_CONTEXTS, NO_HITS, EMPTY, *NOT_ANSWERED.values(), UNCLEAR})
"""Why an answer is skipped that counts as one that should have been scored."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements of an evaluation. A gate that is off shows its checks and fails nothing.

    Args:
        thresholds: Thresholds, or bounds by metric: ``{"faithfulness": 0.8}``.
        min_scored: Share of the applicable samples that must be scored for a threshold to be evaluated; of
            the drawn samples, where a part was drawn for a judge.
        min_resolved: Share of the retrieved names that must be documents of the dataset.
        max_errors: Maximum number of failed requests.
        max_drop: A drop of a metric since the baseline that may be this large fails.
        max_regressions: Maximum number of answers that became wrong since the baseline.
        ask_again: Maximum number of repetitions of a question whose answer got worse.
        on_undecided: ``fail``, or ``pass`` to accept undecided checks.
        waive: Names of metrics, or ``baseline``, whose checks may stay without evaluation.
        confidence: ``mean``, or ``lower-bound`` to compare the worse end of the interval.
        enabled: False to show the checks only.

    Raises:
        UsageError: A value is out of its range.

    Example:
        >>> from rag_evaluation_framework import Gate, evaluate
        >>> rows = [{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}]
        >>> evaluation = evaluate(rows, metrics=["exact_match"], gate=Gate(thresholds={"exact_match": 0.9}))
        >>> evaluation.verdict.word
        'passed'
    """

    thresholds: tuple[Threshold, ...] = ()
    min_scored: float = 0.9
    min_resolved: float = 0.5
    max_errors: int = 0
    max_drop: float | None = None
    max_regressions: int = 0
    ask_again: int = MOST_ASKINGS
    on_undecided: Literal["pass", "fail"] = "fail"
    waive: frozenset[str] = frozenset()
    confidence: Confidence = "mean"
    enabled: bool = True

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if isinstance(self.thresholds, Mapping):
            bounds = (
                each for name, bound in self.thresholds.items() for each in read_thresholds(name, bound)
            )
            msgspec.structs.force_setattr(self, "thresholds", tuple(bounds))
        count, drop = "a whole number of at least 0", self.max_drop
        for name, is_right, expected in (
            ("min_scored", _is_number(self.min_scored, 0, 1), "a number from 0 to 1"),
            ("min_resolved", _is_number(self.min_resolved, 0, 1), "a number from 0 to 1"),
            ("max_errors", _is_count(self.max_errors), count),
            ("max_drop", drop is None or _is_number(drop, 0), "a number of at least 0"),
            ("max_regressions", _is_count(self.max_regressions), count),
            ("ask_again", self.ask_again in range(MOST_ASKINGS + 1), f"a number from 0 to {MOST_ASKINGS}"),
            ("on_undecided", self.on_undecided in ("pass", "fail"), "pass or fail"),
            ("confidence", self.confidence in ("mean", "lower-bound"), "mean or lower-bound"),
            ("waive", not isinstance(self.waive, str), "a set of names"),
        ):
            if not is_right:
                raise UsageError(f"{name}: expected {expected}, got {shown(getattr(self, name))}")

        msgspec.structs.force_setattr(self, "waive", frozenset(map(metric_name, self.waive)))
        for each in self.thresholds:
            if each.is_of_answers and (each.operator == ">=") != (each.metric == CORRECT):
                raise UsageError(f"thresholds: expected >= for {CORRECT} and <= for other grades, got {each}")

    def decide(self, evaluation: Evaluation) -> Verdict:
        """Hold every part of an evaluation against its thresholds; all of them must be met."""
        parts = [
            part if part.thresholds else replace(part, thresholds=self._thresholds(part.name))
            for part in evaluation.parts.values() or (evaluation,)
        ]
        stopped: Literal["incomplete", "interrupted"] | None = None
        if any(part.outcome.interrupted for part in parts):
            stopped = "interrupted"
        elif not all(part.outcome.completed for part in parts):
            stopped = "incomplete"
        moved = evaluation.regressions
        checks = [*self._answer_checks(parts, evaluation)]
        checks += [check for part in parts for check in self._threshold_checks(part)]
        checks += _idle_checks(parts, evaluation.left_out)
        checks += [] if moved is None else [_baseline_check(moved, self.max_regressions)]
        checks = [self._waived(check) for check in checks]
        is_covered = any(each.metric in (CORRECT, WRONG) for each in checks)
        broken = [*_broken_rules(parts, self.max_errors)]
        broken += [] if moved is None else [*_too_large_drops(moved, self.max_drop)]
        return Verdict(
            enabled=self.enabled,
            checks=tuple(checks),
            broken_rules=tuple(broken),
            unevaluated=tuple(_unevaluated(parts, checks)) if self.enabled else (),
            stopped=stopped,
            fails_undecided=self.on_undecided == "fail",
            regressions=moved,
            min_scored=self.min_scored,
            max_errors=self.max_errors,
            max_regressions=self.max_regressions,
            n_errors=sum(part.counts.failed for part in parts),
            n_uncovered=0 if is_covered else evaluation.answers.wrong,
        )

    @classmethod
    def of_verdict(cls, verdict: Verdict) -> Gate:
        """Return the gate that decided a verdict; the thresholds are the evaluation's."""
        return cls(
            min_scored=verdict.min_scored,
            max_errors=verdict.max_errors,
            max_regressions=verdict.max_regressions,
            on_undecided="fail" if verdict.fails_undecided else "pass",
            waive=frozenset(check.metric for check in verdict.checks if check.excuse == "waived"),
            confidence="lower-bound" if any("bound" in each.held for each in verdict.checks) else "mean",
            enabled=verdict.enabled,
        )

    def check_waivers(self, thresholds: Iterable[Threshold]) -> None:
        """Raise :class:`UnknownNameError` for a waiver of what is not demanded."""
        known = dict.fromkeys([*(threshold.metric for threshold in thresholds), BASELINE])
        for name in sorted(self.waive):
            if name not in known:
                raise UnknownNameError("threshold to waive", name, list(known))

    def _thresholds(self, name: str) -> tuple[Threshold, ...]:
        return tuple(each for each in self.thresholds if each.dataset in (None, name))

    def _answer_checks(self, parts: Sequence[Evaluation], whole: Evaluation) -> Iterator[Check]:
        """Yield the checks of limits: those for any dataset hold for all answers together."""
        limits = dict.fromkeys((each.dataset, each) for part in parts for each in part.thresholds)
        by_name = {part.name: part for part in parts}
        for name, limit in limits:
            if limit.is_of_answers and (name is None or name in by_name):
                yield hold_limit(limit, whole if name is None else by_name[name], self.min_scored)

    def _threshold_checks(self, part: Evaluation) -> Iterator[Check]:
        for threshold in part.thresholds:
            if (figure := part.metrics.get(threshold.metric)) is not None:
                yield self._check_threshold(threshold, figure, part)

    def _check_threshold(self, threshold: Threshold, figure: Figure, part: Evaluation) -> Check:
        value, held = figure.value, "mean"
        if self.confidence == "lower-bound":
            low, interval = threshold.operator == ">=", figure.interval
            held = "lower bound" if low else "upper bound"
            value = None if interval is None else interval.low if low else interval.high
        reason = self._too_few(figure, part.counts.unfinished)
        if reason is None and value is None:
            reason = "no interval: too few samples, or all values equal"
        is_met = value is not None and threshold.is_met_by(value)
        return _check(
            threshold,
            dataset=part.name,
            value=value,
            status="not evaluated" if reason is not None else "met" if is_met else "missed",
            held=held,
            method=figure.method,
            reason=reason,
        )

    def _too_few(self, figure: Figure, unfinished: int) -> str | None:
        """Say that too few of the samples a metric applies to were scored; ``None`` if enough were."""
        if figure.value is None and any(each.reason == SETTLED for each in figure.reasons):
            return f"every answer was {SETTLED} (to judge all of them, use --judge-all)"
        if figure.value is None:
            return f"no answer was scored ({figure.n_skipped:,} skipped, {figure.n_failed:,} failed)"
        lacking = sum(each.count for each in figure.reasons if each.reason in _LACKING)
        if figure.judged is not None:
            return self._too_few_judged(figure, figure.judged, lacking + unfinished)
        applies = figure.n_scored + figure.n_failed + lacking + unfinished
        if figure.n_scored >= self.min_scored * applies:
            return None
        needed = f"at least {self.min_scored:.4g} required"
        return f"{figure.n_scored:,} of {counted(applies, 'sample')} scored, and {needed}"

    def _too_few_judged(self, figure: Figure, part: JudgedPart, missing: int) -> str | None:
        """Say that what was drawn does not tell of all; those drawn stand for others that failed as well."""
        if figure.interval is None:
            verdicts = counted(figure.n_scored, "verdict")
            return f"{verdicts} are too few to estimate the mean of {part.n:,}: {FEWEST_TO_TELL} required"
        applies = part.n + figure.n_failed - part.failed + missing
        told = part.n * (1 - part.failed / part.drawn) if part.drawn else 0.0
        if told >= self.min_scored * applies:
            return None
        share = f"at least {self.min_scored:.4g} required"
        return f"verdicts stand for {round(told):,} of {counted(applies, 'sample')}, and {share}"

    def _waived(self, check: Check) -> Check:
        return replace(check, excuse="waived") if check.is_open and check.metric in self.waive else check


def _bounds(given: Mapping[str, Any]) -> tuple[Threshold, ...]:
    return tuple(each for name, bound in given.items() for each in read_thresholds(name, bound))


def bounds_of(given: Gate | Mapping[str, Any] | None) -> Gate | Mapping[str, Any]:
    """Return a gate as it is, or its fields: on with bounds by metric; none where nothing is demanded."""
    if given is None or isinstance(given, Gate):
        return given or {}
    if isinstance(given, Mapping):
        return {"thresholds": _bounds(given), "enabled": True}
    raise UsageError(f"gate: expected a Gate or bounds by metric, got {shown(given)}")


def hold_limit(limit: Threshold, run: Evaluation, min_scored: float) -> Check:
    """Hold the answers of a run against a limit of one grade, of unstable questions, or of requests."""
    counts, answers = run.counts, run.answers
    reason: str | None
    status: CheckStatus
    if limit.metric == RETRY_RATE:
        number, total = counts.retries, counts.finished + counts.retries
    elif limit.metric == ERROR_RATE:
        number, total = counts.failed, counts.finished
    elif limit.is_of_grade:
        number, total = answers.count(limit.metric), answers.total  # type: ignore[arg-type]  # it is a grade
    else:
        number, total = len(answers.unstable), answers.questions
    if not total:
        status, reason = "not evaluated", "there are no answers"
    elif limit.is_of_grade:
        status, reason = hold_grade(limit, answers, min_scored)
        if status == "undecided" and answers.left_out and not limit.is_count:
            status, reason = _hold_estimate(limit, run) or (status, reason)
    else:
        status, reason = ("met" if _is_within(limit, number, total) else "missed"), None
    value = None if not total else number if limit.is_count else number / total
    found = {"value": value, "number": number, "of": total, "is_count": limit.is_count}
    return _check(limit, dataset=limit.dataset, status=status, held="answers", reason=reason, **found)


def hold_grade(limit: Threshold, answers: AnswerCounts, min_scored: float) -> tuple[CheckStatus, str | None]:
    """Return the status of a limit of a grade, and its reason; what is not judged never meets one.

    It is missed where it would be, were every answer that is not judged correct.
    """
    number, total = answers.count(limit.metric), answers.total  # type: ignore[arg-type]  # it is a grade
    best = number + answers.not_judged if limit.metric == CORRECT else number
    if limit.metric != NOT_JUDGED and not _is_within(limit, best, total):
        return "missed", None
    if answers.without_truth and answers.without_truth + answers.unanswered == total:
        return "not evaluated", "the answers have no reference, label or judge"
    asked, silent = answers.asked_of_judge, answers.without_verdict
    if asked - silent < min_scored * asked:
        return "not evaluated", f"the judge gave no verdict on {silent:,} of {counted(asked, 'answer')}"
    is_open = not _is_within(limit, number, total) or not answers.judged
    if is_open or (answers.left_out and limit.metric not in (CORRECT, NOT_JUDGED)):
        return "undecided", f"{answers.not_judged:,} of {counted(total, 'answer')} were not judged"
    return "met", None


def _hold_estimate(limit: Threshold, run: Evaluation) -> tuple[CheckStatus, str | None] | None:
    """Hold the estimated share of a grade against its limit, where a judge budget left answers out.

    It is met or missed where the whole interval is; ``None`` where that is not so, or nothing is estimated.
    """
    draws = next(iter(run.columns.draws.values()), None)
    rows = (
        {row.id: row.verdict for row in run.rows}
        if draws is not None and not run.answers.conversations
        else {}
    )
    if draws is None or not rows:
        return None
    known = [
        verdict is not None and verdict.grade == limit.metric for verdict in map(rows.get, run.columns.ids)
    ]
    values = np.array(known, dtype=np.float64)
    found = judging_of(draws, np.where(draws > 0, values, np.nan)).mean()
    if found is None or found.interval is None:
        return None
    drawn_from, certain = np.count_nonzero(draws) / len(draws), values[draws == 0].sum() / len(draws)
    ends = [certain + drawn_from * end for end in (found.interval.low, found.interval.high)]
    held = {limit.is_met_by(end) for end in ends}
    reason = f"estimated from {found.n_judged:,} verdicts: {ends[0]:.0%} to {ends[1]:.0%}"
    return None if len(held) > 1 else ("met" if held == {True} else "missed", reason)


def _is_within(limit: Threshold, number: int, total: int) -> bool:
    return limit.is_met_by(number if limit.is_count else number / total)


def _is_number(value: Any, low: float, high: float = float("inf")) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _idle_checks(parts: Sequence[Evaluation], left_out: Sequence[Threshold]) -> Iterator[Check]:
    """Yield a check for each threshold that applied nowhere, and where a part cannot measure its metric.

    A threshold for any dataset applies only to those that are scored by its metric.
    """
    told: set[Threshold] = set()
    for part in parts:
        for threshold in part.thresholds:
            if threshold.is_of_answers:
                continue
            why = part.unmeasured.get(threshold.metric)
            if threshold.metric not in part.metrics and (why is not None or threshold.dataset is not None):
                told.add(threshold)
                yield _idle(threshold, part.name, why)
    run_anywhere = {metric for part in parts for metric in part.metrics}
    for threshold in dict.fromkeys(threshold for part in parts for threshold in part.thresholds):
        is_idle = threshold.metric not in run_anywhere and not threshold.is_of_answers
        if is_idle and threshold not in (*told, *left_out):
            yield _idle(threshold, None, None)
    for threshold in left_out:
        reason = "the run covers a part of the questions"
        yield replace(_idle(threshold, threshold.dataset, reason), excuse="left out")


def _idle(threshold: Threshold, dataset: str | None, why: str | None) -> Check:
    reason = why or "the metric did not run"
    return _check(threshold, dataset=dataset, status="not evaluated", reason=reason)


def _check(threshold: Threshold, **found: Any) -> Check:
    asked = {name: getattr(threshold, name) for name in ("metric", "operator", "bound", "line")}
    return Check(**asked, **found)


def _baseline_check(moved: Regressions, max_regressions: int) -> Check:
    n_worse, n_lost = len(moved.worse), len(moved.worse) + len(moved.unconfirmed)
    status: CheckStatus = moved.word
    if moved.word in ("worse", "undecided"):
        status = (
            "worse" if n_worse > max_regressions else "undecided" if n_lost > max_regressions else "no worse"
        )
    counts = f"{n_worse:,} worse, {len(moved.better):,} better of {moved.paired:,}"
    why = "" if moved.reason is None else f": {moved.reason}"
    return Check(
        dataset=None,
        metric=BASELINE,
        status=status,
        held="questions",
        reason=moved.reason or f"{counts}, compared with {moved.baseline}{why}",
    )


def _too_large_drops(moved: Regressions, max_drop: float | None) -> Iterator[str]:
    if max_drop is None or moved.reason == OTHER_QUESTIONS:
        return
    drops = {"the share of correct answers": moved.drop}
    drops |= {f"{each.dataset}: {each.metric}": each.drop for each in moved.metrics}
    for name, drop in drops.items():
        if drop is None:
            yield f"{name}: the drop is unknown; it must be below {max_drop:g}"
        elif drop >= max_drop:
            told = f"{name} may have dropped by {drop:.4g} (95%, one-sided)"
            yield f"{told}; it must be below {max_drop:g}"


def _broken_rules(parts: Sequence[Evaluation], max_errors: int) -> Iterator[str]:
    for part in parts:
        counts = part.counts
        if counts.total and counts.unfinished:
            of_all = counted(counts.total, "sample is", "samples are")
            yield f"{part.name}: {counts.unfinished:,} of {of_all} not finished"
    errors = sum(part.counts.failed for part in parts)
    if errors > max_errors:
        yield f"{counted(errors, 'request')} failed, at most {max_errors:,} allowed"


def _unevaluated(parts: Sequence[Evaluation], checks: Sequence[Check]) -> Iterator[str]:
    for part in parts:
        if not part.counts.total:
            yield f"{part.name}: no samples"
    if all(check.excuse == "left out" for check in checks):
        yield "nothing was evaluated: no threshold is set for a measured metric, and there is no baseline"


# Whether one sample passes, and the share of those that do.
#
# A sample passes when it was answered and each of its scores meets the threshold of its metric. Where no
# metric of the run has a threshold, ``string_match`` and ``exact_match`` must be 1. It fails if the request
# failed, if an answer that has no score is empty, or if a score misses its bound, whatever happened to the
# others. If no bound is missed but a score that counts failed on an answer, because a judge gave no verdict
# for example, it is unknown whether the sample passes; if nothing that counts was scored, it neither passes
# nor fails. Both are left out of ``pass_rate``, and counted as failed and as skipped.

PASS_METHOD = "thresholds"  # noqa: S105  # no password

_MATCHES = ("string_match", "exact_match")


def sample_bounds(thresholds: Sequence[Threshold], metrics: Iterable[str]) -> tuple[Threshold, ...]:
    """Return the bounds that each sample of a run with these metrics must meet."""
    run = tuple(metrics)
    declared = tuple(threshold for threshold in thresholds if threshold.metric in run)
    return declared or tuple(Threshold(metric, ">=", 1.0) for metric in _MATCHES if metric in run)


def sample_passes(result: SampleResult, bounds: Sequence[Threshold]) -> bool | None:
    """Return True if a sample passes; ``None`` where no bound is missed and a score that counts failed, or
    nothing that counts was scored.
    """
    if result.response.failure is not None:
        return False
    counted = _counted(result, bounds)
    values = [(score.value, bound) for score, bound in counted if score.value is not None]
    if any(not bound.is_met_by(value) for value, bound in values):
        return False
    if _lacks_a_score(counted):
        # The answer, or one of the answers of a conversation, has nothing to score.
        is_empty = not all(told.text.strip() for told in told_answers(result.response))
        return False if is_empty else None
    return True if values and not any(score.is_undrawn for score, _ in counted) else None


class PassCounter(msgspec.Struct):
    """Counts the samples of a run that pass, that fail, of which it is not known, that do neither, and those
    with an error.
    """

    bounds: tuple[Threshold, ...] = ()
    passed: int = 0
    failed: int = 0
    unmeasured: int = 0
    undecided: int = 0
    errors: int = 0

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, each as soon as it is counted."""
        for row in rows:
            self.add(row.result)
            yield row

    def add(self, result: SampleResult) -> None:
        """Add one result."""
        failed = result.response.failure is not None or any(each.status == "failed" for each in result.scores)
        self.errors += failed
        scores, verdict = _counted(result, self.bounds), sample_passes(result, self.bounds)
        is_undrawn = any(score.is_undrawn for score, _ in scores)
        self.passed += verdict is True
        self.failed += verdict is False and not is_undrawn
        self.unmeasured += verdict is None and _lacks_a_score(scores)
        self.undecided += is_undrawn or (verdict is None and not _lacks_a_score(scores))

    def rate(self) -> Figure:
        """Return ``pass_rate``; a failed request counts against it, a missing verdict does not."""
        decided = self.passed + self.failed
        return Figure(
            metric=PASS_RATE,
            value=self.passed / decided if decided else None,
            interval=wilson_interval(self.passed, decided) if decided else None,
            n_scored=decided,
            n_skipped=self.undecided,
            n_failed=self.unmeasured,
            higher_is_better=True,
            method=PASS_METHOD,
        )


def with_pass_rate(evaluation: Evaluation, passes: PassCounter) -> Evaluation:
    """Add what was counted while a run was summed up: the share that passes, and errors."""
    metrics = {**evaluation.metrics, PASS_RATE: passes.rate()}
    return replace(evaluation, metrics=metrics, counts=replace(evaluation.counts, errors=passes.errors))


def _counted(result: SampleResult, bounds: Sequence[Threshold]) -> list[tuple[Score, Threshold]]:
    if not bounds:
        return []
    scores = {score.metric: score for score in result.scores}
    return [(scores[bound.metric], bound) for bound in bounds if bound.metric in scores]


def _lacks_a_score(counted: Iterable[tuple[Score, Threshold]]) -> bool:
    """Return True if a score that counts failed, or was skipped only because the answer is empty."""
    return any(score.status == "failed" or score.reason == EMPTY for score, _ in counted)


# A run summed up, with the share of its samples that pass.


def averaged(evaluation: Evaluation, bounds: Sequence[Threshold]) -> Evaluation:
    """Return a run that asked each sample several times with figures over samples, not over answers.

    A sample's score is the mean of its answers' scores, if most have one; it passes if most of them do.
    """
    columns, repeats = evaluation.columns, evaluation.head.repeats
    figures: dict[str, Figure] = {}
    for name in columns.values:
        figure, scored = evaluation.metrics[name], columns.scored(name)
        samples: dict[str, list[float]] = {original_sample_id(each): [] for each in columns.ids}
        for sample_id, value in scored.items():
            samples[original_sample_id(sample_id)].append(value)
        means = [exact_mean(values) for values in samples.values() if 2 * len(values) > repeats]
        n_failed = min(len(samples) - len(means), -(-figure.n_failed // repeats))
        figures[name] = replace(
            figure,
            value=exact_mean(means) if means else None,
            interval=mean_interval(means, **evaluation.intervals) if means else None,
            n_scored=len(means),
            n_skipped=len(samples) - len(means) - n_failed,
            n_failed=n_failed,
        )
    decided: dict[str, list[bool]] = {}
    for row in evaluation.rows:
        passed = sample_passes(row.result, bounds)
        decided.setdefault(original_sample_id(row.id), []).extend(() if passed is None else (passed,))
    passes = PassCounter()
    for answers in decided.values():
        is_passed = 2 * sum(answers) > len(answers) if answers else None
        passes.passed += is_passed is True
        passes.failed += is_passed is False
        passes.undecided += is_passed is None
    return replace(evaluation, metrics={**evaluation.metrics, **figures, PASS_RATE: passes.rate()})
