"""Plain text tables that line up in any terminal, and other people's texts made fit for them.

:func:`systems_table` sets figures of several systems side by side, with intervals and counts;
:func:`comparisons_text` is the table of tests against a baseline. Both serve every report of several runs;
:func:`sweep_text` and :func:`ranking_text` are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE, known_metric
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.statistics.intervals import Interval


def one_line(text: str, characters: int = 100) -> str:
    """Return a text in one line without control characters, which could move a terminal's cursor."""
    line = " ".join("".join(it if it.isprintable() else " " for it in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def figure(value: float | None) -> str:
    """Write a measured value; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


def shown_figures(evaluation: Evaluation) -> list[Figure]:
    """Return the figures that say something: no pass rate where nothing decides what passes."""
    figures = evaluation.metrics.values()
    return [each for each in figures if each.metric != PASS_RATE or each.n_scored or each.n_failed]


def text_width(text: str) -> int:
    """Count the terminal cells a text takes: Chinese takes two a character, combining marks none."""
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, align: str) -> str:
    """Lay out rows under headers; ``align`` has ``<`` or ``>`` for each column."""
    widths = [max(map(text_width, column)) for column in zip(headers, *rows, strict=True)]
    lines = [headers, ["─" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            _padded(cell, width, side) for cell, width, side in zip(line, widths, align, strict=True)
        ).rstrip()
        for line in lines
    )


def _padded(cell: str, width: int, side: str) -> str:
    space = " " * (width - text_width(cell))
    return space + cell if side == ">" else cell + space


Count = Literal["scored", "skipped", "failed"]


def systems_table(
    systems: Mapping[str, Evaluation],
    metrics: Iterable[str],
    *,
    system: str,
    confidence: float = 0.95,
    counts: Sequence[Count] = ("scored", "skipped", "failed"),
) -> str:
    """Lay out a row for each metric and system: its mean, the interval, how many samples it rests on.

    ``systems`` are evaluations by name, such as the ``parts`` of one; ``system`` is what they are called
    (``run``, ``model``).
    """
    rows = []
    for metric in metrics:
        for place, (name, evaluation) in enumerate(systems.items()):
            found = evaluation.metrics.get(metric)
            rows.append(
                [
                    metric if place == 0 else "",
                    one_line(name),
                    figure(found.value if found else None),
                    interval_text(found.interval if found else None),
                    *(f"{getattr(found, f'n_{count}', 0):,}" for count in counts),
                ]
            )
    headers = ["metric", system, "mean", interval_header(confidence), *counts]
    return text_table(headers, rows, align="<<>>" + ">" * len(counts))


def comparisons_text(comparisons: Sequence[MetricComparison], *, system: str, unit: str) -> str:
    """Render comparisons with one baseline.

    ``system`` is what is compared (``run``, ``model``), ``unit`` what pairs (``query``, ``sample``).
    """
    first = comparisons[0]
    rows = [
        [
            each.metric,
            one_line(each.contender),
            f"{each.difference:+.4f}",
            interval_text(each.interval),
            probability_text(each.p_adjusted),
            "–" if each.effect_size is None else f"{each.effect_size:+.2f}",
            f"{each.wins}/{each.ties}/{each.losses}",
            "" if _is_beyond_scale(each) else figure(each.smallest_detectable),
            each.verdict,
        ]
        for each in comparisons
    ]
    headers = ["metric", system, "difference", interval_header(1 - first.alpha), "p (Holm)", "effect d"]
    headers += ["wins/ties/losses", "detectable", "verdict"]
    table = text_table(headers, rows, align="<<>>>>>><")
    title = f"compared with {one_line(first.baseline)}, {unit} by {unit}"
    return f"{title}\n\n{table}\n\n" + "\n".join(_comparison_notes(comparisons, unit))


def _is_beyond_scale(each: MetricComparison) -> bool:
    """Tell whether no difference that the metric can have would be shown."""
    known = known_metric(each.metric)
    return known is not None and known.is_share and (each.smallest_detectable or 0) > 1


def interval_header(confidence: float) -> str:
    return f"{100 * confidence:g}% interval"


def interval_text(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{figure(interval.low)}, {figure(interval.high)}]"


def probability_text(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _comparison_notes(comparisons: Sequence[MetricComparison], unit: str) -> Iterator[str]:
    """Say which tests were made, and of each system what could not be paired."""
    plural = unit.removesuffix("y") + "ies" if unit.endswith("y") else f"{unit}s"
    tests = "; ".join(dict.fromkeys(each.test for each in comparisons))
    corrected = sum(each.p_value is not None for each in comparisons)
    yield (
        f"tests: {tests}; Holm's correction over {corrected}; detectable: the smallest difference that this "
        f"many {plural} would show four times in five"
    )
    for each in {each.contender: each for each in comparisons}.values():
        if each.n_unpaired:
            paired = counted(each.n, unit, plural)
            yield (
                f"{one_line(each.contender)}: compared over the {paired} scored on both sides; "
                f"{each.n_unpaired:,}, scored on one side only, left out"
            )


# A sweep over retrieval pipelines: ranked, with intervals and tests.

_PARTS = ("chunker", "retriever", "reranker")
_NOTHING = "–"
# Says nothing that IoU does not say; it is in the files.
_NOT_SHOWN = ("span_f1",)


def sweep_text(sweep: Evaluation) -> str:
    """Render one table for each k, and what the figures rest on."""
    configuration, cells = sweep.head.configuration, list(sweep.parts.values())
    comparisons = () if sweep.comparison is None else sweep.comparison.metrics
    counts = (
        counted(cells[0].counts.total, "query", "queries"),
        counted(configuration["documents"], "document"),
        counted(len(cells), "cell"),
    )
    level, rank_by = configuration["level"], configuration["rank_by"]
    values = {part: list(dict.fromkeys(_part(cell, part) for cell in cells)) for part in _PARTS}
    title = [f"{sweep.name}, {level} level: {', '.join(counts)}; ranked by {rank_by}"]
    title += [f"{part}: {each[0]}" for part, each in values.items() if len(each) == 1 and each != [_NOTHING]]
    varying = [part for part, each in values.items() if len(each) > 1] or ["chunker"]
    parts = ["\n".join(title), *_tables(sweep, varying), *([_tests(comparisons)] if comparisons else [])]
    return "\n\n".join([*parts, "\n".join(_sweep_notes(sweep))])


def _part(cell: Evaluation, part: str) -> str:
    value: str | None = cell.head.configuration[part]
    return value or _NOTHING


def _tables(sweep: Evaluation, varying: Sequence[str]) -> Iterator[str]:
    rank_by = sweep.head.configuration["rank_by"]
    figures = next(iter(sweep.parts.values())).metrics
    first = figures.get(rank_by)
    others = [name for name in figures if name not in (rank_by, *_NOT_SHOWN)]
    confidence = f"{first.interval.confidence:.0%} interval" if first and first.interval else "interval"
    # All are of one level: ``recall`` stands for ``span_recall``.
    names = [
        name.removeprefix("span_").removeprefix("chunk_").replace("precision_omega", "omega")
        for name in (rank_by, *others)
    ]
    costs = ["cost"] if _has_costs(sweep) else []
    headers = ["", *varying, names[0], confidence, *names[1:], "chunks", "seconds", *costs]
    align = ">" + "<" * len(varying) + ">" * (len(headers) - 1 - len(varying)) + "<"
    compared = {} if sweep.comparison is None else {each.contender: each for each in sweep.comparison.metrics}
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
                *(_dollars(cell.performance.figures.get("cost_usd", {}).get("alone")) for _ in costs),
                _verdict(compared.get(name), is_first=place == 1),
            ]
            for place, (name, cell) in enumerate(ranked, start=1)
        ]
        yield f"k = {k}\n\n{text_table([*headers, 'against the best'], rows, align=align)}"


def _verdict(comparison: MetricComparison | None, *, is_first: bool) -> str:
    """Say how a cell compares with the best of its k."""
    if comparison is None:
        return "the best" if is_first else _NOTHING
    if comparison.p_adjusted is None:
        return comparison.verdict
    p = "p < 0.0001" if comparison.p_adjusted < 0.0001 else f"p = {comparison.p_adjusted:.4f}"
    return f"{comparison.verdict}, {comparison.difference:+.3f}, {p}"


def _tests(comparisons: Sequence[MetricComparison]) -> str:
    significant = sum(each.verdict != "no difference shown" for each in comparisons)
    of_all = counted(len(comparisons), "difference is", "differences are")
    detectable = [
        each.smallest_detectable
        for each in comparisons
        if each.smallest_detectable is not None and not _is_beyond_scale(each)
    ]
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
    figure = next(iter(sweep.parts.values())).metrics.get(configuration["rank_by"])
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


def _seconds(cell: Evaluation) -> str:
    spent = cell.performance.figures.get("stage_seconds")
    return _NOTHING if spent is None else f"{sum(spent.values()):.2f}"


def _has_costs(sweep: Evaluation) -> bool:
    return any("cost_usd" in cell.performance.figures for cell in sweep.parts.values())


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


# Ranked runs.


def ranking_text(ranking: Evaluation, *, rows: bool = False) -> str:
    """Render means with intervals, then the comparisons, then (if asked for) every query."""
    configuration = ranking.head.configuration
    means = systems_table(
        ranking.parts,
        ranking.metrics,
        system="run",
        confidence=configuration["confidence"],
        counts=("scored", "skipped"),
    )
    methods = dict.fromkeys(
        figure.interval.method
        for part in ranking.parts.values()
        for figure in part.metrics.values()
        if figure.interval
    )
    notes = [f"rules: {_RULES[configuration['rules']['ties']]}"]
    notes += ["intervals: " + "; ".join(methods)] if methods else []
    notes += [f"{name}: {note}" for name, part in ranking.parts.items() for note in part.warnings]
    parts = [means, "\n".join(notes)]
    parts.extend(_totals(ranking))
    if ranking.comparison is not None and ranking.comparison.metrics:
        parts.append(comparisons_text(ranking.comparison.metrics, system="run", unit="query"))
    if rows:
        parts.extend(_per_query(name, part) for name, part in ranking.parts.items())
    return "\n\n".join(parts)


# By how ties are broken, in which the two sets of rules differ.
_RULES = {
    "trec_eval": "those of trec_eval",
    "document_ascending": (
        "ties by document id; judged queries missing from a run count 0; "
        "queries without a relevant document are skipped"
    ),
}


def _totals(ranking: Evaluation) -> Iterator[str]:
    """Yield a table of what was counted over all queries, where it was asked for."""
    totals = {name: (part.document or {}).get("totals", {}) for name, part in ranking.parts.items()}
    names = list(next(iter(totals.values())))
    if names:
        rows = [
            [name, *(f"{n:.4f}" if isinstance(n, float) else f"{n:,}" for n in each.values())]
            for name, each in totals.items()
        ]
        yield text_table(["run", *names], rows, align="<" + ">" * len(names))


def _per_query(name: str, part: Evaluation) -> str:
    columns = {metric: part.columns.scored(metric) for metric in part.metrics}
    queries = next(iter(columns.values()), {})
    rows = [[query, *(f"{column[query]:.4f}" for column in columns.values())] for query in queries]
    return f"{name}, per query\n\n" + text_table(["query", *columns], rows, align="<" + ">" * len(columns))
