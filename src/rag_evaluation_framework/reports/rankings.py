"""Ranking results as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.metrics.ranking_rules import RankingRules
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.rankings import RankedSystem, RankingResults
from rag_evaluation_framework.statistics.intervals import Interval

_LISTED_QUERIES = 5


def ranking_text(results: RankingResults, *, per_query: bool = False) -> str:
    """Render means with intervals, then the comparisons, then (if asked for) every query."""
    parts = [_means(results), _notes(results)]
    if results.comparisons:
        parts.append(_comparisons(results.comparisons))
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
            _interval(summary.interval),
            str(summary.n_scored),
            str(summary.n_skipped),
        ]
        for summaries in zip(*(system.summaries for system in systems), strict=True)
        for position, (system, summary) in enumerate(zip(systems, summaries, strict=True))
    ]
    headers = ["metric", "run", "mean", _interval_header(results.confidence), "scored", "skipped"]
    return text_table(headers, rows, align="<<>>>>")


def _notes(results: RankingResults) -> str:
    """Say what the figures rest on: rules, interval methods, and queries that were treated apart."""
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


def _comparisons(comparisons: Sequence[MetricComparison]) -> str:
    first = comparisons[0]
    rows = [
        [
            each.metric,
            each.contender,
            f"{each.difference:+.4f}",
            _interval(each.interval),
            _probability(each.p_adjusted),
            "–" if each.effect_size is None else f"{each.effect_size:+.2f}",
            f"{each.wins}/{each.ties}/{each.losses}",
            "–" if each.smallest_detectable is None else f"{each.smallest_detectable:.4f}",
            each.verdict,
        ]
        for each in comparisons
    ]
    headers = [
        "metric",
        "run",
        "difference",
        _interval_header(1 - first.alpha),
        "p (Holm)",
        "effect d",
        "wins/ties/losses",
        "detectable",
        "verdict",
    ]
    table = text_table(headers, rows, align="<<>>>>>><")
    tests = "; ".join(dict.fromkeys(each.test for each in comparisons))
    corrected = sum(each.p_value is not None for each in comparisons)
    lines = [
        f"tests: {tests}; Holm's correction over {corrected}; detectable: the smallest difference that this "
        "many queries would show four times in five",
        *_pairs(comparisons),
    ]
    return f"compared with {first.baseline}, query by query\n\n{table}\n\n" + "\n".join(lines)


def _pairs(comparisons: Sequence[MetricComparison]) -> Iterator[str]:
    """Say of each run over how many queries it is compared, where that is not all of them."""
    for each in {each.contender: each for each in comparisons}.values():
        if each.n_unpaired:
            yield (
                f"{each.contender}: compared over the {each.n} queries scored in both runs; "
                f"{each.n_unpaired}, scored in one of them only, left out"
            )


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


def _interval_header(confidence: float) -> str:
    return f"{100 * confidence:g}% interval"


def _interval(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"


def _probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _listed(queries: Sequence[str]) -> str:
    names = ", ".join(queries[:_LISTED_QUERIES])
    more = len(queries) - _LISTED_QUERIES
    count = "1 query" if len(queries) == 1 else f"{len(queries)} queries"
    return f"{count} ({names}{f' and {more} more' if more > 0 else ''})"
