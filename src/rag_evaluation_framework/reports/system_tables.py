"""Systems side by side as text: ranked runs, cells of a sweep, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.reports.tables import comparisons_text, systems_table, text_table
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure

# A sweep over retrieval pipelines as text for a terminal: ranked, with intervals and tests.

_PARTS = ("chunker", "retriever", "reranker")
_NOTHING = "–"
# Says nothing that IoU does not say; it is in the files.
_NOT_SHOWN = ("span_f1",)


def sweep_text(sweep: Evaluation) -> str:
    """Render one table for each k, and what the figures rest on."""
    comparisons = () if sweep.comparison is None else sweep.comparison.metrics
    parts = [_title(sweep), *_tables(sweep), *([_tests(comparisons)] if comparisons else [])]
    return "\n\n".join([*parts, "\n".join(_sweep_notes(sweep))])


def _title(sweep: Evaluation) -> str:
    configuration = sweep.head.configuration
    counts = (
        counted(_first(sweep).counts.total, "query", "queries"),
        counted(configuration["documents"], "document"),
        counted(len(sweep.parts), "cell"),
    )
    level, rank_by = configuration["level"], configuration["rank_by"]
    lines = [f"{sweep.name}, {level} level: {', '.join(counts)}; ranked by {rank_by}"]
    for part in _PARTS:
        values = _values(sweep, part)
        if len(values) == 1 and values != [_NOTHING]:
            lines.append(f"{part}: {values[0]}")
    return "\n".join(lines)


def _first(sweep: Evaluation) -> Evaluation:
    return next(iter(sweep.parts.values()))


def _values(sweep: Evaluation, part: str) -> list[str]:
    return list(dict.fromkeys(_part(cell, part) for cell in sweep.parts.values()))


def _part(cell: Evaluation, part: str) -> str:
    value: str | None = cell.head.configuration[part]
    return value or _NOTHING


def _tables(sweep: Evaluation) -> Iterator[str]:
    varying = [part for part in _PARTS if len(_values(sweep, part)) > 1] or ["chunker"]
    rank_by = sweep.head.configuration["rank_by"]
    first = _first(sweep).metrics.get(rank_by)
    others = [name for name in _first(sweep).metrics if name not in (rank_by, *_NOT_SHOWN)]
    confidence = f"{first.interval.confidence:.0%} interval" if first and first.interval else "interval"
    names = [_short(name) for name in (rank_by, *others)]
    costs = ["cost"] if _has_costs(sweep) else []
    headers = [
        "",
        *varying,
        names[0],
        confidence,
        *names[1:],
        "chunks",
        "seconds",
        *costs,
        "against the best",
    ]
    align = ">" + "<" * len(varying) + ">>" + ">" * len(others) + ">>" + ">" * len(costs) + "<"
    for k in dict.fromkeys(cell.head.configuration["k"] for cell in sweep.parts.values()):
        ranked = [each for each in sweep.parts.items() if each[1].head.configuration["k"] == k]
        rows = [
            [
                str(place),
                *(_part(cell, part) for part in varying),
                _value(cell.metrics.get(rank_by)),
                _interval(cell.metrics.get(rank_by)),
                *(_value(cell.metrics.get(metric)) for metric in others),
                f"{cell.head.configuration['chunks']:,}",
                _seconds(cell),
                *(_dollars(_cost(cell).get("alone")) for _ in costs),
                _verdict(_comparison(sweep, name), is_first=place == 1),
            ]
            for place, (name, cell) in enumerate(ranked, start=1)
        ]
        yield f"k = {k}\n\n{text_table(headers, rows, align=align)}"


def _comparison(sweep: Evaluation, cell: str) -> MetricComparison | None:
    """Return how a cell compares with the best of its k; ``None`` for the best itself."""
    compared = () if sweep.comparison is None else sweep.comparison.metrics
    return next((each for each in compared if each.contender == cell), None)


def _verdict(comparison: MetricComparison | None, *, is_first: bool) -> str:
    if comparison is None:
        return "the best" if is_first else _NOTHING
    if comparison.p_adjusted is None:
        return comparison.verdict
    p = "p < 0.0001" if comparison.p_adjusted < 0.0001 else f"p = {comparison.p_adjusted:.4f}"
    return f"{comparison.verdict}, {comparison.difference:+.3f}, {p}"


def _tests(comparisons: Sequence[MetricComparison]) -> str:
    significant = sum(each.verdict != "no difference shown" for each in comparisons)
    of_all = counted(len(comparisons), "difference is", "differences are")
    detectable = [each.smallest_detectable for each in comparisons if each.smallest_detectable is not None]
    lines = [
        f"{significant:,} of {of_all} significant at the level "
        f"{comparisons[0].alpha:g}: {comparisons[0].test}, query by query against the best of the same k; "
        f"Holm's correction over {counted(len(comparisons), 'test')}. "
        "The best was chosen on these same queries.",
    ]
    if detectable:
        lines.append(
            f"Four times in five, this many queries would show a difference of {max(detectable):.3f} "
            "in each of them."
        )
    return "\n".join(lines)


def _sweep_notes(sweep: Evaluation) -> Iterator[str]:
    configuration = sweep.head.configuration
    figure = _first(sweep).metrics.get(configuration["rank_by"])
    if figure is not None and figure.interval:
        yield f"intervals: {figure.interval.method}, seed {sweep.head.seed}"
    if figure is not None and figure.n_skipped:
        skipped = counted(figure.n_skipped, "query is", "queries are")
        yield f"{skipped} left out: without truth at this level in the dataset"
    if configuration["moved_spans"]:
        moved = counted(configuration["moved_spans"], "relevant span was", "relevant spans were")
        yield f"{moved} found elsewhere: documents have changed"
    recalls = {
        cell.head.configuration["retriever"]: cell.performance.figures.get("store_recall")
        for cell in sweep.parts.values()
    }
    for retriever, recall in recalls.items():
        if recall is not None and recall < 1:
            yield f"{retriever}: its store found {recall:.2%} of the true nearest chunks"
    yield "seconds: chunking, embedding, indexing and searching were done once for the cells that share them"
    if _has_costs(sweep):
        spent = "how much was spent is not known"
        if "spent_usd" in sweep.performance.figures:
            spent = f"{_dollars(sweep.performance.figures['spent_usd'])} was spent in all"
        yield f"cost: of each cell by itself, nothing shared and nothing cached; {spent}"
    yield from (f"warning: {warning}" for warning in sweep.warnings)
    if not sweep.outcome.completed:
        cells = counted(len(configuration["cells"]), "cell")
        yield f"INCOMPLETE: {len(sweep.parts):,} of {cells} begun: {sweep.outcome.reason}"


def _short(metric: str) -> str:
    """Return a metric's name for a table in which all are of one level: ``recall`` for ``span_recall``."""
    return metric.removeprefix("span_").removeprefix("chunk_").replace("precision_omega", "omega")


def _seconds(cell: Evaluation) -> str:
    spent = cell.performance.figures.get("stage_seconds")
    return _NOTHING if spent is None else f"{sum(spent.values()):.2f}"


def _cost(cell: Evaluation) -> Mapping[str, float]:
    found: Mapping[str, float] = cell.performance.figures.get("cost_usd", {})
    return found


def _has_costs(sweep: Evaluation) -> bool:
    return any(map(_cost, sweep.parts.values()))


def _dollars(cost: float | None) -> str:
    if cost is None:
        return _NOTHING
    return f"${cost:,.4f}" if cost >= 0.01 or not cost else f"${cost:.6f}"


def _value(figure: Figure | None) -> str:
    return _NOTHING if figure is None or figure.value is None else f"{figure.value:.3f}"


def _interval(figure: Figure | None) -> str:
    if figure is None or figure.interval is None:
        return _NOTHING
    return f"[{figure.interval.low:.3f}, {figure.interval.high:.3f}]"


# Ranking results as text for a terminal.


def ranking_text(ranking: Evaluation, *, rows: bool = False) -> str:
    """Render means with intervals, then the comparisons, then (if asked for) every query."""
    means = systems_table(
        ranking.parts,
        ranking.metrics,
        system="run",
        confidence=ranking.head.configuration["confidence"],
        counts=("scored", "skipped"),
    )
    parts = [means, _notes(ranking)]
    if ranking.comparison is not None and ranking.comparison.metrics:
        parts.append(comparisons_text(ranking.comparison.metrics, system="run", unit="query"))
    if rows:
        parts.extend(_per_query(name, part) for name, part in ranking.parts.items())
    return "\n\n".join(parts)


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
