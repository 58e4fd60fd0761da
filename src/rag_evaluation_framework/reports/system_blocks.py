"""Several systems side by side: ranked runs and models, each with how it stands to the baseline."""

from __future__ import annotations

from collections.abc import Mapping

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure

# Each metric of each system, and how the others stand to the baseline.


def describe_systems(evaluation: Evaluation, *, unit: str = "answer") -> blocks.Blocks:
    """Add the figures of systems; of two, both and their difference on one line."""
    comparison = evaluation.comparison
    if comparison is not None and comparison.metrics:
        yield from _compared_table(evaluation.parts, comparison)
        yield from _comparison_notes(comparison, unit)
        return
    several, interval = len(evaluation.parts) > 1, blocks.interval_header(_confidence(evaluation))
    metrics = dict.fromkeys(name for part in evaluation.parts.values() for name in part.metrics)
    yield blocks.table(
        [
            (blocks.Column("metric", once=True), metric),
            (blocks.Column("system", flexible=True, optional=True), name if several else ""),
            *_figure_cells(part.metrics.get(metric), interval),
            (blocks.right(f"{unit}s", leaves=blocks.COUNT), f"{found.n_scored if found else 0:,}"),
            (blocks.Column("method", leaves=blocks.BY), blocks.by(found.method) if found else ""),
        ]
        for metric in metrics
        for name, part in evaluation.parts.items()
        for found in [part.metrics.get(metric)]
    )


def _figure_cells(found: Figure | None, interval: str) -> list[blocks.Cell]:
    """Return a figure and its interval as cells; dashes where there is none."""
    value, ends = (None, None) if found is None else (found.value, found.interval)
    return [
        (blocks.right("value"), blocks.figure(value, ends)),
        (interval, blocks.interval_text(ends, value)),
    ]


def _confidence(evaluation: Evaluation) -> float:
    figures = (each for part in evaluation.parts.values() for each in part.metrics.values())
    return next((each.interval.confidence for each in figures if each.interval is not None), 0.95)


def _compared_table(parts: Mapping[str, Evaluation], comparison: Comparison) -> blocks.Blocks:
    """Add a row for each metric and contender, the baseline's figure beside it."""
    several = len({each.contender for each in comparison.metrics}) > 1
    baseline, contender = (
        blocks.one_line(name, 24) for name in (comparison.baseline, comparison.metrics[0].contender)
    )
    confidence = round(1 - comparison.metrics[0].alpha, 9)
    moved = "difference" if confidence == 0.95 else f"difference, {blocks.interval_header(confidence)}"
    method = blocks.Column("method", leaves=blocks.BY, joins=blocks.WIDEST)
    rows: list[list[blocks.Cell]] = []
    for each in comparison.metrics:
        made = parts[each.contender].metrics.get(each.metric) if each.contender in parts else None
        counts = {"better": each.wins, "same": each.ties, "worse": each.losses}
        rows.append(
            [
                (blocks.Column("metric", once=several), each.metric),
                (blocks.Column("system", flexible=True, optional=True), each.contender if several else ""),
                (blocks.right(baseline), blocks.figure(each.baseline_mean)),
                (blocks.right("value" if several else contender), blocks.figure(each.contender_mean)),
                (moved, blocks.aligned(blocks.difference(each.difference, each.interval))),
                *((blocks.right(name, leaves=blocks.COUNT), f"{n:,}") for name, n in counts.items()),
                ("result" if several else f"{contender} is", blocks.result(each.finding)),
                (blocks.right("MDD", leaves=blocks.BY), blocks.figure(each.visible_from)),
                (method, "" if made is None else blocks.by(made.method)),
            ]
        )
    yield blocks.table(rows)


def _comparison_notes(comparison: Comparison, unit: str) -> blocks.Blocks:
    most = counted(max(each.n for each in comparison.metrics), unit)
    yield blocks.aside(f"MDD: minimum detectable difference with {most} at 80% power")
    tested = sum(each.p_value is not None for each in comparison.metrics)
    if tested > 1:
        metrics = len({each.metric for each in comparison.metrics})
        is_each = tested == metrics
        one = "metric" if is_each else "comparison"
        yield blocks.aside(
            f"Intervals are per {one}; verdicts are corrected for {counted(tested, 'comparison')}."
        )
    for each in {each.contender: each for each in comparison.metrics}.values():
        if each.n_unpaired:
            paired = f"compared on the {counted(each.n, unit)} scored in both; {each.n_unpaired:,} left out"
            yield blocks.aside(f"{blocks.one_line(each.contender)}: {paired}")


def _comparison_details(comparison: Comparison) -> blocks.Blocks:
    """Add the tests behind the verdicts."""
    yield blocks.GAP
    yield blocks.table(
        [
            ("metric", each.metric),
            (blocks.Column("system", flexible=True), each.contender),
            (blocks.right("pairs"), f"{each.n:,}"),
            (blocks.right("p"), blocks.probability_text(each.p_value)),
            (blocks.right("p (Holm)"), blocks.probability_text(each.p_adjusted)),
            (blocks.right("effect d"), blocks.NOTHING if effect is None else f"{effect:+.2f}"),
        ]
        for each in comparison.metrics
        for effect in [each.effect_size]
    )
    tests = "; ".join(dict.fromkeys(each.test for each in comparison.metrics))
    corrected = sum(each.p_value is not None for each in comparison.metrics)
    yield blocks.aside(f"tests: {tests}; Holm's correction for {corrected} comparisons")


# Ranked runs.

# By how ties are broken, in which the two sets of rules differ.
_RULES = {
    "trec_eval": "trec_eval",
    "document_ascending": (
        "ties are ordered by document id; judged queries missing from a run count as 0; "
        "queries without a relevant document are skipped"
    ),
}


def describe_ranking(
    ranking: Evaluation, *, rows: bool = False, details: bool = False, again: str | None = None
) -> blocks.Blocks:
    """Add how ranked runs compare, their figures and, if asked for, every query.

    ``again`` is the command that ranks them, where there is one.
    """
    comparison = ranking.comparison
    figures = [each for part in ranking.parts.values() for each in part.metrics.values()]
    questions = counted(max((each.n_scored for each in figures), default=0), "question")
    if comparison is not None and comparison.metrics:
        yield blocks.prose(f"{systems_sentence(comparison)} ({questions})")
    else:
        yield blocks.prose(f"{blocks.listed([*map(blocks.one_line, ranking.parts)])}: {questions}")
    yield blocks.GAP
    yield from describe_systems(ranking, unit="question")
    for name, part in ranking.parts.items():
        skipped = max((each.n_skipped for each in part.metrics.values()), default=0)
        if skipped:
            yield blocks.aside(f"{blocks.one_line(name)}: {counted(skipped, 'question')} skipped")
        for note in part.warnings:
            yield blocks.aside(f"{blocks.one_line(name)}: {note}")
    yield from _totals(ranking)
    if details:
        yield from _ranking_details(ranking)
    if rows:
        for name, part in ranking.parts.items():
            yield from _per_query(name, part)
    if len(ranking.parts) > 1 and again is not None and not rows:
        yield blocks.GAP
        yield blocks.Steps([(f"{again} --per-query", "show every question")])


def _ranking_details(ranking: Evaluation) -> blocks.Blocks:
    configuration = ranking.head.configuration
    if ranking.comparison is not None and ranking.comparison.metrics:
        yield blocks.GAP
        interval = blocks.interval_header(configuration["confidence"])
        yield blocks.table(
            [
                (blocks.Column("run", flexible=True), name),
                ("metric", metric),
                *_figure_cells(each, interval),
                (blocks.right("questions"), f"{each.n_scored:,}"),
            ]
            for name, part in ranking.parts.items()
            for metric, each in part.metrics.items()
        )
        yield from _comparison_details(ranking.comparison)
    yield blocks.aside(f"rules: {_RULES[configuration['rules']['ties']]}")
    if methods := interval_methods(ranking):
        yield blocks.aside("intervals: " + "; ".join(methods))


def interval_methods(systems: Evaluation) -> list[str]:
    """Return by which methods the intervals of systems are made."""
    figures = (each for part in systems.parts.values() for each in part.metrics.values())
    return list(dict.fromkeys(each.interval.method for each in figures if each.interval))


def _total(number: float) -> str:
    return f"{number:.4f}" if isinstance(number, float) else f"{number:,}"


def _totals(ranking: Evaluation) -> blocks.Blocks:
    """Add what was counted over all queries, where it was asked for."""
    totals = {name: (part.document or {}).get("totals", {}) for name, part in ranking.parts.items()}
    names = list(next(iter(totals.values())))
    if names:
        yield blocks.GAP
        rows = [[name, *map(_total, each.values())] for name, each in totals.items()]
        yield blocks.Table([blocks.Column("run", flexible=True), *map(blocks.right, names)], rows)


def _per_query(name: str, part: Evaluation) -> blocks.Blocks:
    columns = {metric: part.columns.scored(metric) for metric in part.metrics}
    queries = next(iter(columns.values()), {})
    yield blocks.GAP
    yield blocks.prose(f"{blocks.one_line(name)}: scores by question")
    yield blocks.Table(
        [blocks.Column("question", flexible=True), *(blocks.right(metric) for metric in columns)],
        [[query, *(f"{column[query]:.4f}" for column in columns.values())] for query in queries],
    )


def systems_sentence(comparison: Comparison) -> str:
    """Say of each contender on how many metrics it is better, worse, undecided."""
    said = []
    baseline = blocks.one_line(comparison.baseline)
    for name in dict.fromkeys(each.contender for each in comparison.metrics):
        found = [each.finding for each in comparison.metrics if each.contender == name]
        worse, better, total = found.count("worse"), found.count("better"), len(found)
        called = blocks.one_line(name)
        metrics = counted(total, "metric")
        first, second, count = (baseline, called, worse) if worse >= better else (called, baseline, better)
        rest = _open_metrics(found.count("undecided"), found.count("same"))
        on = f"all {metrics}" if count == total > 1 else f"{count:,} of {metrics}"
        if worse and better:
            both = f"worse than {baseline} on {worse:,} and better on {better:,}"
            said.append(f"{called} is {both} of {metrics}{rest}")
        elif count:
            said.append(f"{first} is better than {second} on {on}{rest}")
        else:
            on_all = "the only metric" if total == 1 else f"all {metrics}"
            alike = "the same" if found.count("same") == total else "statistically tied"
            said.append(f"{called} and {baseline} are {alike} on {on_all}")
    return "; ".join(said)


def _open_metrics(undecided: int, same: int) -> str:
    told = [(undecided, "undecided"), (same, "the same")]
    said = [f"{f'{count:,} are' if count > 1 else '1 is'} {word}" for count, word in told if count]
    return f"; {'the other ' if len(said) == 1 else ''}{' and '.join(said)}" if said else ""
