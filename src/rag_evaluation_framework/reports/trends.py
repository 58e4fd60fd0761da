"""Figures over many runs: which have left what the earlier ones lead to expect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.compared_answers import short_names
from rag_evaluation_framework.reports.screen import (
    BAD,
    BAR,
    BOLD,
    BY,
    COUNT,
    DOUBT,
    GOOD,
    NOTHING,
    Column,
    Piece,
    Screen,
    Styled,
    by,
    figure,
    listed,
)
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, in_runs
from rag_evaluation_framework.results.trend import LEAST_RUNS, MetricTrend

_STEPS = "▁▂▃▄▅▆▇█"
_LONGEST_LINE = 20
_WORDS = {"regression": "worse", "improvement": "better", "steady": "steady", "too few": "too few"}
_STYLES = {"worse": BAD, "better": GOOD, "too few": DOUBT}


def trend_sentence(trends: Sequence[MetricTrend]) -> str:
    """Say which metrics have left what earlier runs lead to expect."""
    if not trends:
        return "Nothing to tell: the latest run has no metric"
    by_verdict = {
        verdict: [each for each in trends if each.verdict == verdict]
        for verdict in ("regression", "improvement", "steady", "too few")
    }
    for verdict, side in (("regression", "worse"), ("improvement", "better")):
        if found := by_verdict[verdict]:
            told = [f"{each.metric} is {figure(each.current.value)}" for each in found[:3]]
            which = f"{_expected(found[0])} was expected" if len(found) == 1 else "none of it was expected"
            return (
                f"{side.capitalize()}: {listed(told)}; {which} after {counted(len(found[0].history), 'run')}"
            )
    if steady := by_verdict["steady"]:
        are = counted(len(steady), "metric is", "metrics are")
        return f"Steady: {are} where earlier runs lead to expect"
    return f"Too few to tell: {by_verdict['too few'][0].reason}"


def _expected(trend: MetricTrend) -> str:
    return NOTHING if trend.low is None else f"[{figure(trend.low)}, {figure(trend.high)}]"


def show_trends(
    screen: Screen, trends: Sequence[MetricTrend], *, runs: Path = DEFAULT_RUNS_DIRECTORY
) -> None:
    """Add the verdict, then each metric with its course, its latest value and what was expected."""
    word, colon, rest = trend_sentence(trends).partition(":")
    screen.say(Styled(word, f"{BOLD} {_STYLES.get(word.lower(), '')}".strip()), f"{colon}{rest}")
    if not trends:
        return
    screen.gap()
    rows: list[list[Piece]] = []
    for each in trends:
        verdict = _WORDS[each.verdict]
        rows.append(
            [
                each.metric,
                "" if screen.plain or screen.plain_bars else course(each),
                figure(each.current.value),
                _expected(each),
                Styled(verdict, _STYLES.get(verdict, "")),
                f"{len(each.history):,}",
                "" if each.current.method is None else by(each.current.method),
            ]
        )
    screen.table(
        [
            "metric",
            Column("course", leaves=BAR),
            Column("latest", right=True),
            "expected",
            "verdict",
            Column("earlier runs", right=True, leaves=COUNT),
            Column("by", leaves=BY),
        ],
        rows,
    )
    first = trends[0].current
    if any(each.low is not None for each in trends):
        screen.say("Expected: where the next run of an unchanged system falls in 19 of 20 cases.", indent=2)
    for reason in dict.fromkeys(each.reason for each in trends if each.reason):
        if reason not in rest:  # which the headline has said
            names = [each.metric for each in trends if each.reason == reason]
            screen.say(f"{listed(names)}: {reason}", indent=2, hang=4)
    if excluded := max(each.n_excluded for each in trends):
        those = counted(excluded, "earlier run does", "earlier runs do")
        screen.say(f"{those} not count: other data, another method, or too few samples", indent=2)
    screen.gap()
    screen.say(f"run {first.evaluation_id}, dataset {first.data[0]}")
    worse = [each for each in trends if each.verdict == "regression"]
    before = next((each.history[-1] for each in worse or trends if each.history), None)
    if before is not None and (worse or any(len(each.history) < LEAST_RUNS for each in trends)):
        ids = short_names([before.evaluation_id, first.evaluation_id])
        purpose = "which answers changed" if worse else "with the run before it, answer by answer"
        screen.steps([(f"rag-eval compare {' '.join(ids.values())}{in_runs(runs)}", purpose)])


def course(trend: MetricTrend) -> str:
    """Draw the values of the last runs and the latest, the lowest and the highest as far apart as can be."""
    values = [*(point.value for point in trend.history), trend.current.value][-_LONGEST_LINE:]
    low, high = min(values), max(values)
    if low == high:
        return _STEPS[3] * len(values)
    return "".join(_STEPS[round((value - low) / (high - low) * (len(_STEPS) - 1))] for value in values)
