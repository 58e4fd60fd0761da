"""The rate at which a gate fails an unchanged agent: pairs of runs, simulated from repeated answers.

What is known of a question is how many of its answers were correct. Its true share of correct answers is
drawn from what that leaves open, given all questions together (a Dirichlet process over shares, by Gibbs
sampling), so that a question correct 5 of 5 times is neither certain nor as unsure as if it stood alone. Each
draw simulates pairs of runs, a baseline and a candidate, from the answers there are; the gate's own rules
decide each pair. A threshold that most of these runs miss is no false alarm, and counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.judging.verdict import (
    CORRECT,
    GRADES,
    PARTLY_CORRECT,
    AnswerCounts,
    AnswerVerdict,
    original_sample_id,
)
from rag_evaluation_framework.records.samples import question_key
from rag_evaluation_framework.results.evaluations import Evaluation, Row, suite
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.movements import REGRESSIONS, ask_again, movement_between
from rag_evaluation_framework.results.summaries import RELIABILITY, Counts
from rag_evaluation_framework.results.verdicts import BASELINE, Regressions, Verdict, format_bound

DRAWS, PAIRS = 60, 60
"""The number of sets of shares that are drawn, and of pairs of runs that are simulated from each."""
_SHARES = np.linspace(0.0, 1.0, 101)
# Before anything is seen, as if three more questions had been: a quarter of such are always correct, a
# quarter never, and half of them anything between.
_PRIOR = np.full(101, 1.5 / 101)
_PRIOR[[0, -1]] += 0.75
_BURN_IN, _THIN = 60, 3
_VERDICTS = [AnswerVerdict(grade) for grade in GRADES]
_MOVEMENTS = [[movement_between([before], [now]) for now in _VERDICTS] for before in _VERDICTS]
_GETS_WORSE = np.array([[each in REGRESSIONS for each in row] for row in _MOVEMENTS])
_ERRORS = "--max-errors"

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


class UnstableQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question whose answers differ in grade; in a share of runs (``fails``) it counts as worse."""

    dataset: str
    id: str
    question: str
    correct: int
    asked: int
    grades: Mapping[str, int]
    fails: float


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """The rate at which a gate fails an agent that did not change, with its standard error.

    ``causes`` are the shares of runs that each check fails; ``missed`` those of thresholds that the agent
    misses in most runs, which are no false alarms. ``calls`` is how many answers asking again takes.
    """

    runs: tuple[str, ...]
    questions: int
    answers: int
    pairs: int
    rate: float
    standard_error: float
    causes: Mapping[str, float]
    missed: Mapping[str, float]
    calls: float
    unstable: tuple[UnstableQuestion, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return dict(msgspec.to_builtins(self))


def measure_noise(evaluations: Sequence[Evaluation], gate: Gate, *, seed: int = 0) -> Noise:
    """Return how often the gate fails the agent of these runs, which asked each question several times."""
    rng = np.random.default_rng(seed)
    simulation = _Simulation(evaluations, replace(gate, enabled=True, max_drop=None), rng)
    correct, asked = simulation.count_answers()
    if not len(asked) or asked.max() < 2:
        runs = ", ".join(each.head.run_id for each in evaluations)
        raise UsageError(
            f"{runs}: expected questions that were asked at least twice, got one answer each.\n"
            "  Ask them again with --repeats 10, or name several runs of the same agent."
        )
    pairs = [[simulation.pair(shares) for _ in range(PAIRS)] for shares in draw_shares(correct, asked, rng)]
    failing = Counter(name for draw in pairs for failed in draw for name in failed)
    total = DRAWS * PAIRS
    missed = {name for name, count in failing.items() if name != BASELINE and 2 * count > total}
    rates = np.array([np.mean([bool(failed - missed) for failed in draw]) for draw in pairs])
    rate, smoothed = float(rates.mean()), (rates.sum() * PAIRS + 1) / (total + 2)
    # Doubled, since agents are not drawn from the prior; what a draw's own pairs add stays in.
    variance = 2 * float(rates.var(ddof=1)) + smoothed * (1 - smoothed) / total
    shares_of = {name: count / total for name, count in failing.most_common()}
    return Noise(
        runs=tuple(each.head.run_id for each in evaluations),
        questions=len(asked),
        answers=int(asked.sum()),
        pairs=total,
        rate=rate,
        standard_error=float(np.sqrt(variance)),
        causes={name: share for name, share in shares_of.items() if name not in missed},
        missed={name: share for name, share in shares_of.items() if name in missed},
        calls=simulation.calls / total,
        unstable=tuple(simulation.find_unstable(total)),
    )


def draw_shares(correct: Places, asked: Places, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield draws of each question's true share of correct answers, given what was seen of all questions."""
    likely = _SHARES ** correct[:, None] * (1 - _SHARES) ** (asked - correct)[:, None]
    weights = _PRIOR
    for step in range(1, _BURN_IN + DRAWS * _THIN + 1):
        ends = (likely * weights).cumsum(axis=1)
        places = (ends < rng.random((len(ends), 1)) * ends[:, -1:]).sum(axis=1)
        weights = rng.gamma(_PRIOR + np.bincount(places, minlength=len(_SHARES)))
        if step > _BURN_IN and (step - _BURN_IN) % _THIN == 0:
            yield _SHARES[places]


class _Simulation:
    """Draws runs of one agent from the answers that it gave, and has the gate decide on pairs of them."""

    def __init__(self, evaluations: Sequence[Evaluation], gate: Gate, rng: np.random.Generator) -> None:
        self._first, self._gate, self._rng = evaluations[0], gate, rng
        self._parts = {part.name: part for part in self._first.runs}
        self._metrics = sorted({name for part in self._first.runs for name in part.metrics})
        self.calls = 0
        self._fails: Counter[int] = Counter()
        self._kinds: dict[str, tuple[int, AnswerCounts]] = {}
        self._rows: list[Row] = []
        asked: dict[tuple[str, str], list[int]] = {}
        for each in evaluations:
            if {part.name for part in each.runs} != self._parts.keys():
                named, expected = (", ".join(part.name for part in run.runs) for run in (each, self._first))
                raise UsageError(
                    f"{each.head.run_id}: expected the datasets of {self._first.head.run_id} ({expected}), "
                    f"got {named}"
                )
            for part in each.runs:
                for row in part.rows:
                    if row.verdict is not None:
                        key = original_sample_id(row.id) if row.sample is None else question_key(row.sample)
                        asked.setdefault((part.name, key), []).append(len(self._rows))
                        self._rows.append(row)
        self._keys, self._asked = [*asked], [np.array(places) for places in asked.values()]
        rows, kinds = self._rows, []
        for row in rows:
            counts = AnswerCounts.of([row])
            kinds.append(self._kinds.setdefault(repr(counts), (len(self._kinds), counts))[0])
        self._of_kind = np.array(kinds, dtype=np.int64)
        grades = [GRADES.index(row.verdict.grade) for row in rows if row.verdict is not None]
        self._grades = np.array(grades, dtype=np.int64)
        self._failed = np.array([row.response.failure is not None for row in rows], dtype=np.int64)
        attempts = [1 if row.timing is None else max(row.timing.attempts, 1) for row in rows]
        self._retries = np.array(attempts, dtype=np.int64) - 1
        scores = [{each.metric: each.value for each in row.scores} for row in rows]
        values = [[each.get(name) for name in self._metrics] for each in scores]
        self._values = np.array(values, dtype=np.float64).reshape(len(rows), len(self._metrics))
        datasets = np.array([dataset for dataset, _ in self._keys])
        self._places = {name: np.flatnonzero(datasets == name) for name in self._parts}
        self._is_live = any(RELIABILITY in part.performance.figures for part in self._parts.values())
        # Where the answers that are correct, and those that are not, stand; of a question that has none of
        # a sort, those of all others.
        is_correct = self._grades == GRADES.index(CORRECT)
        sorts = []
        for wanted in (False, True):
            pool = np.flatnonzero(is_correct == wanted)
            sorts += [
                own if len(own := places[is_correct[places] == wanted]) else pool if len(pool) else places
                for places in self._asked
            ]
        self._sizes = np.array([len(each) for each in sorts]).reshape(2, -1)
        self._starts = (np.cumsum(self._sizes.ravel()) - self._sizes.ravel()).reshape(2, -1)
        self._sorted = np.concatenate(sorts) if sorts else np.array([], dtype=np.int64)

    def count_answers(self) -> tuple[Places, Places]:
        """Return of each question how many of its answers were correct, and how many there are."""
        correct = [(self._grades[places] == GRADES.index(CORRECT)).sum() for places in self._asked]
        return np.array(correct, dtype=np.int64), np.array([*map(len, self._asked)], dtype=np.int64)

    def pair(self, shares: Floats) -> frozenset[str]:
        """Simulate a baseline and a candidate; return the checks by which the gate does not pass."""
        everything = np.arange(len(shares))
        before, now = (self._draw(everything, shares) for _ in range(2))
        first, second = self._grades[before], self._grades[now]
        got_worse = np.flatnonzero(_GETS_WORSE[first, second])
        movements = {int(place): _MOVEMENTS[first[place]][second[place]] for place in got_worse}
        worse = tuple(place for place, movement in movements.items() if movement == "became wrong")
        unconfirmed = tuple(place for place in movements if place not in worse)
        unstable: tuple[int, ...] = ()
        if self._is_live and self._gate.ask_again and len(movements) > self._gate.max_regressions:

            def ask(places: Collection[int], times: int) -> Mapping[int, Sequence[AnswerVerdict]]:
                again = np.repeat(np.array([*places]), times)
                grades = self._grades[self._draw(again, shares)].reshape(-1, times)
                return {place: [_VERDICTS[each] for each in row] for place, row in zip(places, grades)}  # noqa: B905

            partly = {place for place in worse if first[place] == GRADES.index(PARTLY_CORRECT)}
            found = ask_again(
                {place: _VERDICTS[second[place]] for place in movements}, ask, self._gate.ask_again, partly
            )
            worse, unconfirmed, unstable = found.became_wrong, found.unconfirmed, found.unstable
            self.calls += found.calls
        self._fails.update((*worse, *unconfirmed))
        names = [(dataset, str(place)) for place, (dataset, _) in enumerate(self._keys)]
        moved = Regressions(
            baseline="the same agent",
            word="no worse",
            worse=tuple(names[place] for place in worse),
            unconfirmed=tuple(names[place] for place in unconfirmed),
            paired=len(shares),
        ).settled()
        return frozenset(_failing(self._gate.decide(self._run(now, moved, unstable)), len(self._parts) > 1))

    def _draw(self, questions: Places, shares: Floats) -> Places:
        """Draw an answer to each of these questions, correct as often as the shares say."""
        sort = (self._rng.random(len(questions)) < shares[questions]).astype(np.int64)
        at = (self._rng.random(len(questions)) * self._sizes[sort, questions]).astype(np.int64)
        drawn: Places = self._sorted[self._starts[sort, questions] + at]
        return drawn

    def _run(self, drawn: Places, moved: Regressions, unstable: Collection[int]) -> Evaluation:
        """Return the evaluation that these answers make."""
        parts: dict[str, Evaluation] = {}
        for name, part in self._parts.items():
            chosen = drawn[places := self._places[name]]
            numbers = np.bincount(self._of_kind[chosen], minlength=len(self._kinds))
            answers = AnswerCounts.weighted(
                (counts, int(number))
                for (_, counts), number in zip(self._kinds.values(), numbers, strict=True)
            ).with_unstable(str(each) for each in unstable if each in places)
            failed, retries = int(self._failed[chosen].sum()), int(self._retries[chosen].sum())
            counts = Counts(total=len(chosen), finished=len(chosen), failed=failed, retries=retries)
            metrics = {**part.metrics, **dict(self._figures(part, chosen))}
            parts[name] = replace(part, answers=answers, counts=counts, metrics=metrics)
        kind, left_out = self._first.kind, self._first.left_out
        return suite(self._first.head, parts, kind=kind, left_out=left_out, regressions=moved)

    def _figures(self, part: Evaluation, chosen: Places) -> Iterator[tuple[str, Any]]:
        """Yield the means of the metrics that have a threshold; an interval moves with its mean."""
        limited = {each.metric for each in part.thresholds or self._gate.thresholds}
        for name in limited.intersection(part.metrics, self._metrics):
            values = self._values[chosen, self._metrics.index(name)]
            scored, figure = values[~np.isnan(values)], part.metrics[name]
            if not len(scored) or figure.value is None:
                continue
            value, interval = float(scored.mean()), figure.interval
            if interval is not None:
                by = value - figure.value
                interval = replace(interval, low=interval.low + by, high=interval.high + by)
            drawn: dict[str, Any] = {"value": value, "interval": interval, "n_scored": len(scored)}
            yield name, replace(figure, **drawn, n_failed=0, reasons=())

    def find_unstable(self, pairs: int) -> Iterator[UnstableQuestion]:
        """Yield the questions whose answers differ in grade, those that fail the gate most often first."""
        for place in sorted(range(len(self._keys)), key=lambda place: -self._fails[place]):
            grades = Counter(GRADES[self._grades[each]] for each in self._asked[place])
            if len(grades) > 1:
                row = self._rows[self._asked[place][0]]
                yield UnstableQuestion(
                    dataset=self._keys[place][0],
                    id=original_sample_id(row.id),
                    question=row.question,
                    correct=grades[CORRECT],
                    asked=grades.total(),
                    grades=dict(grades),
                    fails=self._fails[place] / pairs,
                )


def _failing(verdict: Verdict, are_several: bool) -> Iterator[str]:
    """Yield the checks by which a gate does not pass, as a manifest writes them."""
    for check in verdict.checks:
        if check.fails or check.is_open or (check.is_undecided and verdict.fails_undecided):
            of = f"{check.dataset}:" if are_several and check.dataset is not None else ""
            limit = "" if check.bound is None else f" {check.operator} {format_bound(check)}"
            yield f"{of}{check.metric}{limit}"
    if verdict.n_errors > verdict.max_errors:
        yield _ERRORS
