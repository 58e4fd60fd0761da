"""An A/B experiment as it stands: the decision in a sentence, what each look said, and what is in doubt."""

from __future__ import annotations

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.results.experiments import LEAST_UNITS, ExperimentResult
from rag_evaluation_framework.statistics.intervals import Interval

_STYLES = {
    "winner": blocks.GOOD,
    "running": blocks.DOUBT,
    "not begun": blocks.DOUBT,
    "too small": blocks.DOUBT,
    "no winner": blocks.BAD,
}
_LAST_LOOKS = 10


def experiment_sentence(result: ExperimentResult) -> str:
    """Say what may be said of an experiment today."""
    experiment, look = result.experiment, result.latest
    planned = experiment.planned_units
    effect = f"{experiment.minimum_effect:g} in {experiment.metrics[0]}"
    if look is None:
        return (
            f"Not begun: {counted(planned, 'unit')} of both variants show a difference of {effect} in "
            f"{experiment.power:.0%} of all cases; each needs {LEAST_UNITS} for a first look"
        )
    moved = (
        f"{experiment.metrics[0]} is {blocks.figure(look.means[1])} against {blocks.figure(look.means[0])}"
    )
    if result.word == "winner":
        return f"{result.winner} wins: {moved}, shown on {result.decided_on}"
    if result.word == "too small":
        return f"No winner: {moved}; the difference is shown, but smaller than the {effect} that matter"
    if result.word == "no winner":
        return f"No winner: {moved}, and {counted(result.units, 'unit')} are as many as were planned"
    return f"No winner yet: {moved}; {result.units:,} of {counted(planned, 'planned unit')}"


def describe_experiment(result: ExperimentResult) -> blocks.Blocks:
    """Add the decision, the last looks at the metric that decides, and the other metrics at the latest."""
    word, colon, rest = experiment_sentence(result).partition(":")
    yield blocks.prose(blocks.Styled(word, f"{blocks.BOLD} {_STYLES[result.word]}"), f"{colon}{rest}")
    rows = [row for metric in result.looks for row in _rows(result, metric)]
    if rows:
        yield blocks.GAP
        yield blocks.table(rows)
        yield blocks.prose(
            "Intervals and p hold at every look, however many there are; the first metric alone decides.",
            indent=2,
        )
    for warning in result.warnings:
        yield blocks.aside(blocks.Styled("warning: ", blocks.DOUBT), warning)
    if result.repeated:
        again = counted(result.repeated, "answer is", "answers are")
        yield blocks.aside(f"{again} of units that answered before, and not counted again")


def _rows(result: ExperimentResult, metric: str) -> list[list[blocks.Cell]]:
    """Return the last looks at the metric that decides, of any other the latest."""
    last = _LAST_LOOKS if metric == result.experiment.metrics[0] else 1
    first, second = (
        blocks.Column(each.name, right=True, flexible=True) for each in result.experiment.variants
    )
    return [
        [
            (blocks.Column("metric", once=True), metric),
            ("until", look.day),
            (first, blocks.figure(look.means[0])),
            (second, blocks.figure(look.means[1])),
            (
                "difference",
                blocks.difference(look.difference, Interval(look.low, look.high, 0.95, "always valid")),
            ),
            (blocks.right("p"), blocks.probability_text(look.p_value)),
            (blocks.right("units", leaves=blocks.COUNT), f"{sum(look.n):,}"),
        ]
        for place, look in enumerate(result.looks[metric][-last:])
    ]
