"""A sweep over retrieval pipelines as text for a terminal: ranked, with intervals and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.levels.sweep_results import SweepCell, SweepResults
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.summaries import MetricSummary

_PARTS = ("chunker", "retriever", "reranker")
_NOTHING = "–"
# Says nothing that IoU does not say; it is in the files.
_NOT_SHOWN = ("span_f1",)


def sweep_text(results: SweepResults) -> str:
    """Render one table for each k, and what the figures rest on."""
    parts = [_title(results), *_tables(results)]
    if not results.comparisons:
        return "\n\n".join([*parts, "\n".join(_notes(results))])
    return "\n\n".join([*parts, _tests(results.comparisons), "\n".join(_notes(results))])


def _title(results: SweepResults) -> str:
    counts = (
        counted(len(results.samples), "query", "queries"),
        counted(results.documents, "document"),
        counted(len(results.cells), "cell"),
    )
    lines = [f"{results.dataset_id}, {results.level} level: {', '.join(counts)}; ranked by {results.rank_by}"]
    for part in _PARTS:
        values = _values(results, part)
        if len(values) == 1 and values != [_NOTHING]:
            lines.append(f"{part}: {values[0]}")
    return "\n".join(lines)


def _values(results: SweepResults, part: str) -> list[str]:
    return list(dict.fromkeys(_part(each, part) for each in results.cells))


def _part(cell: SweepCell, part: str) -> str:
    value: str | None = getattr(cell.cell, part)
    return value or _NOTHING


def _tables(results: SweepResults) -> Iterator[str]:
    varying = [part for part in _PARTS if len(_values(results, part)) > 1] or ["chunker"]
    first = results.cells[0].metric(results.rank_by)
    others = [
        each.metric
        for each in results.cells[0].summary.metrics
        if each.metric not in (results.rank_by, *_NOT_SHOWN)
    ]
    confidence = f"{first.interval.confidence:.0%} interval" if first.interval else "interval"
    names = [_short(name) for name in (results.rank_by, *others)]
    costs = ["cost"] if _has_costs(results) else []
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
    for k, cells in results.ranking().items():
        rows = [
            [
                str(place),
                *(_part(cell, part) for part in varying),
                _value(cell.metric(results.rank_by)),
                _interval(cell.metric(results.rank_by)),
                *(_value(cell.metric(name)) for name in others),
                f"{cell.evaluated.index.chunks:,}",
                f"{_seconds(cell):.2f}",
                *(_dollars(cell.evaluated.cost.alone) for _ in costs),
                _verdict(results.comparison(cell), is_first=place == 1),
            ]
            for place, cell in enumerate(cells, start=1)
        ]
        yield f"k = {k}\n\n{text_table(headers, rows, align=align)}"


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


def _notes(results: SweepResults) -> Iterator[str]:
    summary = results.cells[0].metric(results.rank_by)
    if summary.interval:
        yield f"intervals: {summary.interval.method}, seed {results.seed}"
    if summary.n_skipped:
        skipped = counted(summary.n_skipped, "query is", "queries are")
        yield f"{skipped} left out: without truth at this level in the dataset"
    if results.moved_spans:
        moved = counted(results.moved_spans, "relevant span was", "relevant spans were")
        yield f"{moved} found elsewhere: documents have changed"
    recalls = {cell.cell.retriever: cell.evaluated.store_recall for cell in results.cells}
    for retriever, recall in recalls.items():
        if recall is not None and recall < 1:
            yield f"{retriever}: its store found {recall:.2%} of the true nearest chunks"
    yield "seconds: chunking, embedding, indexing and searching were done once for the cells that share them"
    if _has_costs(results):
        spent = "how much was spent is not known"
        if results.spent_usd is not None:
            spent = f"{_dollars(results.spent_usd)} was spent in all"
        yield f"cost: of each cell by itself, nothing shared and nothing cached; {spent}"


def _short(metric: str) -> str:
    """Return a metric's name for a table in which all are of one level: ``recall`` for ``span_recall``."""
    return metric.removeprefix("span_").removeprefix("chunk_").replace("precision_omega", "omega")


def _seconds(cell: SweepCell) -> float:
    spent = cell.evaluated.seconds
    return spent.chunk + spent.embed + spent.index + spent.search + spent.rerank


def _has_costs(results: SweepResults) -> bool:
    costs = [each.evaluated.cost for each in results.cells]
    return any(cost.spent is not None or cost.alone is not None for cost in costs)


def _dollars(cost: float | None) -> str:
    if cost is None:
        return _NOTHING
    return f"${cost:,.4f}" if cost >= 0.01 or not cost else f"${cost:.6f}"


def _value(metric: MetricSummary) -> str:
    return _NOTHING if metric.value is None else f"{metric.value:.3f}"


def _interval(metric: MetricSummary) -> str:
    return _NOTHING if metric.interval is None else f"[{metric.interval.low:.3f}, {metric.interval.high:.3f}]"
