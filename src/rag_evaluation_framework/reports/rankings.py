"""Ranking results as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.reports.comparisons import comparisons_text, interval_header, interval_text
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.rankings import RankedSystem, RankingResults

_LISTED_QUERIES = 5


def ranking_text(results: RankingResults, *, per_query: bool = False) -> str:
    """Render means with intervals, then the comparisons, then (if asked for) every query."""
    parts = [_means(results), _notes(results)]
    if results.comparisons:
        parts.append(comparisons_text(results.comparisons, system="run", unit="query"))
    if per_query:
        parts.extend(_per_query(system) for system in results.systems)
    return "\n\n".join(parts)


def _means(results: RankingResults) -> str:
    systems = results.systems
    rows = [
        [
            summaries[0].metric if position == 0 else "",
            system.name,
            "–" if summary.value is None else f"{summary.value:.4f}",
            interval_text(summary.interval),
            str(summary.n_scored),
            str(summary.n_skipped),
        ]
        for summaries in zip(*(system.summaries for system in systems), strict=True)
        for position, (system, summary) in enumerate(zip(systems, summaries, strict=True))
    ]
    headers = ["metric", "run", "mean", interval_header(results.confidence), "scored", "skipped"]
    return text_table(headers, rows, align="<<>>>>")


def _notes(results: RankingResults) -> str:
    """Say what the figures rest on: rules, interval methods, and queries that were treated separately."""
    methods = dict.fromkeys(
        summary.interval.method
        for system in results.systems
        for summary in system.summaries
        if summary.interval
    )
    lines = [f"rules: {_rules(results.rules)}"]
    if methods:
        lines.append("intervals: " + "; ".join(methods))
    for system in results.systems:
        reasons: dict[str, list[str]] = {}
        for query, reason in system.report.skipped.items():
            reasons.setdefault(reason, []).append(str(query))
        lines += [
            f"{system.name}: skipped {_listed(queries)}: {reason}" for reason, queries in reasons.items()
        ]
        if system.missing and results.rules.missing_queries == "zero":
            lines.append(f"{system.name}: counted as 0, not in the run: {_listed(system.missing)}")
    return "\n".join(lines)


def _rules(rules: RankingRules) -> str:
    """Put the rules in a sentence."""
    if rules == RankingRules.trec_eval(relevance_level=rules.relevance_level):
        text = "those of trec_eval"
    else:
        text = (
            "ties by document id; judged queries missing from a run count 0; "
            "queries without a relevant document are skipped"
        )
    return text if rules.relevance_level == 1 else f"{text}; relevant from grade {rules.relevance_level}"


def _per_query(system: RankedSystem) -> str:
    metrics = list(system.report.per_query)
    columns = [values.tolist() for values in system.report.per_query.values()]
    rows = [
        [str(query), *(f"{value:.4f}" for value in values)]
        for query, *values in zip(system.report.query_ids, *columns, strict=True)
    ]
    return f"{system.name}, per query\n\n" + text_table(
        ["query", *metrics], rows, align="<" + ">" * len(metrics)
    )


def _listed(queries: Sequence[str]) -> str:
    names = ", ".join(queries[:_LISTED_QUERIES])
    more = len(queries) - _LISTED_QUERIES
    return f"{counted(len(queries), 'query', 'queries')} ({names}{f' and {more} more' if more > 0 else ''})"
