"""Ranking results as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.reports.comparisons import comparisons_text, interval_header, interval_text
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.evaluations import Evaluation


def ranking_text(ranking: Evaluation, *, rows: bool = False) -> str:
    """Render means with intervals, then the comparisons, then (if asked for) every query."""
    parts = [_means(ranking), _notes(ranking)]
    if ranking.comparison is not None and ranking.comparison.metrics:
        parts.append(comparisons_text(ranking.comparison.metrics, system="run", unit="query"))
    if rows:
        parts.extend(_per_query(name, part) for name, part in ranking.parts.items())
    return "\n\n".join(parts)


def _means(ranking: Evaluation) -> str:
    rows = [
        [
            metric if position == 0 else "",
            name,
            "–" if figure.value is None else f"{figure.value:.4f}",
            interval_text(figure.interval),
            str(figure.n_scored),
            str(figure.n_skipped),
        ]
        for metric in ranking.metrics
        for position, (name, figure) in enumerate(
            (name, part.metrics[metric]) for name, part in ranking.parts.items()
        )
    ]
    interval = interval_header(ranking.head.configuration["confidence"])
    return text_table(["metric", "run", "mean", interval, "scored", "skipped"], rows, align="<<>>>>")


def _notes(ranking: Evaluation) -> str:
    """Say what the figures rest on: rules, interval methods, and queries that were treated separately."""
    methods = dict.fromkeys(
        figure.interval.method
        for part in ranking.parts.values()
        for figure in part.metrics.values()
        if figure.interval
    )
    lines = [f"rules: {_rules(ranking.head.configuration['rules'])}"]
    if methods:
        lines.append("intervals: " + "; ".join(methods))
    lines += [f"{name}: {note}" for name, part in ranking.parts.items() for note in part.warnings]
    return "\n".join(lines)


def _rules(rules: Mapping[str, Any]) -> str:
    """Put the rules in a sentence."""
    level = rules["relevance_level"]
    if rules == asdict(RankingRules.trec_eval(relevance_level=level)):
        text = "those of trec_eval"
    else:
        text = (
            "ties by document id; judged queries missing from a run count 0; "
            "queries without a relevant document are skipped"
        )
    return text if level == 1 else f"{text}; relevant from grade {level}"


def _per_query(name: str, part: Evaluation) -> str:
    columns = {metric: part.columns.scored(metric) for metric in part.metrics}
    queries = next(iter(columns.values()), {})
    rows = [[query, *(f"{column[query]:.4f}" for column in columns.values())] for query in queries]
    return f"{name}, per query\n\n" + text_table(["query", *columns], rows, align="<" + ">" * len(columns))
