"""An A/B experiment as it stands: the decision in a sentence, what each look said, and what is in doubt."""

from __future__ import annotations

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.comparison_sentences import experiment_sentence
from rag_evaluation_framework.results.experiments import ExperimentResult
from rag_evaluation_framework.statistics.intervals import Interval

_LAST_LOOKS = 10


def describe_experiment(result: ExperimentResult) -> blocks.Blocks:
    """Add the decision, the last looks at the metric that decides, and the other metrics at the latest."""
    yield blocks.Headline.of_sentence(experiment_sentence(result), color=blocks.STYLES[result.word])
    rows = [row for metric in result.looks for row in _rows(result, metric)]
    if rows:
        yield blocks.GAP
        yield blocks.table(rows)
        yield blocks.prose(
            "Intervals and p are valid at every look (sequential test); only the first metric decides.",
            indent=2,
        )
    for warning in result.warnings:
        yield blocks.aside(blocks.Styled("warning: ", blocks.DOUBT), warning)
    if result.repeated:
        again = counted(result.repeated, "answer is", "answers are")
        yield blocks.aside(f"{again} from units that answered before; not counted again")


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
