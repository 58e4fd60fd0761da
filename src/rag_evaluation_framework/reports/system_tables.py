"""Several systems side by side: ranked runs, models, combinations of a sweep; comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.extensions import Specification, parse_specification
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.reports.screen import (
    BAD,
    BAR,
    BOLD,
    BY,
    COUNT,
    DIFFERENCE,
    DIM,
    DOUBT,
    GOOD,
    NOTHING,
    SIZE,
    USUAL,
    WIDEST,
    Column,
    Piece,
    Screen,
    Styled,
    aligned,
    by,
    difference,
    figure,
    interval_header,
    interval_text,
    listed,
    money,
    number_word,
    one_line,
    probability_text,
    right,
)
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.summaries import Figure

_FINDINGS = {"better": GOOD, "worse": BAD, "undecided": DOUBT, "same": ""}


def finding(each: MetricComparison) -> str:
    """Return what may be claimed of a contender: better, worse, undecided, or the same throughout."""
    if each.verdict != "no difference shown":
        return each.verdict
    return "undecided" if each.wins or each.losses else "same"


# Each metric of each system, and how the others stand to the baseline.


def systems_screen(screen: Screen, evaluation: Evaluation, *, unit: str = "answer") -> None:
    """Add the figures of systems; of two, both and their difference on one line."""
    comparison = evaluation.comparison
    if comparison is not None and comparison.metrics:
        _compared_table(screen, evaluation.parts, comparison)
        _comparison_notes(screen, comparison, unit)
        return
    rows: list[list[Piece]] = []
    for metric in dict.fromkeys(name for part in evaluation.parts.values() for name in part.metrics):
        for place, (name, part) in enumerate(evaluation.parts.items()):
            found = part.metrics.get(metric)
            rows.append(
                [
                    metric if not place else "",
                    name,
                    figure(found.value if found else None, found.interval if found else None),
                    interval_text(found.interval, found.value) if found else NOTHING,
                    f"{found.n_scored if found else 0:,}",
                    by(found.method) if found else "",
                ]
            )
    several = len(evaluation.parts) > 1
    columns: list[Column | str] = ["metric", Column("system", flexible=True), right("value")]
    columns += [interval_header(_confidence(evaluation)), right(f"{unit}s", leaves=COUNT)]
    columns.append(Column("by", leaves=BY))
    if not several:
        columns, rows = [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows]
    screen.table(columns, rows)


def _confidence(evaluation: Evaluation) -> float:
    figures = (each for part in evaluation.parts.values() for each in part.metrics.values())
    return next((each.interval.confidence for each in figures if each.interval is not None), 0.95)


def _compared_table(screen: Screen, parts: Mapping[str, Evaluation], comparison: Comparison) -> None:
    """Add a row for each metric and contender, the baseline's figure beside it."""
    several = len({each.contender for each in comparison.metrics}) > 1
    rows: list[list[Piece]] = []
    last = None
    for each in comparison.metrics:
        word = finding(each)
        made = parts[each.contender].metrics.get(each.metric) if each.contender in parts else None
        rows.append(
            [
                "" if several and each.metric == last else each.metric,
                *([each.contender] if several else []),
                figure(each.baseline_mean),
                figure(each.contender_mean),
                aligned(difference(each.difference, each.interval)),
                f"{each.wins:,}",
                f"{each.ties:,}",
                f"{each.losses:,}",
                Styled(word, _FINDINGS[word]),
                NOTHING if _is_beyond_scale(each) else figure(each.smallest_detectable),
                "" if made is None else by(made.method),
            ]
        )
        last = each.metric
    contender = "it" if several else one_line(comparison.metrics[0].contender, 24)
    screen.table(
        [
            Column("metric"),
            *([Column("system", flexible=True)] if several else []),
            right(one_line(comparison.baseline, 24)),
            right("value" if several else contender),
            Column(_difference_header(comparison)),
            right("better", leaves=COUNT),
            right("same", leaves=COUNT),
            right("worse", leaves=COUNT),
            Column("verdict" if several else f"{contender} is"),
            right("visible from", leaves=BY),
            Column("by", leaves=BY, joins=WIDEST),
        ],
        rows,
    )


def _difference_header(comparison: Comparison) -> str:
    confidence = 1 - comparison.metrics[0].alpha
    return (
        "difference"
        if round(confidence, 9) == 0.95
        else f"difference, {interval_header(round(confidence, 9))}"
    )


def _is_beyond_scale(each: MetricComparison) -> bool:
    """Tell whether no difference that the metric can have would be shown."""
    known = known_metric(each.metric)
    return known is not None and known.is_share and (each.smallest_detectable or 0) > 1


def _comparison_notes(screen: Screen, comparison: Comparison, unit: str) -> None:
    most = max(each.n for each in comparison.metrics)
    screen.say(
        f"visible from: the smallest difference that {counted(most, unit)} show four times in five",
        indent=2,
        hang=4,
    )
    tested = sum(each.p_value is not None for each in comparison.metrics)
    if tested > 1:
        metrics = len({each.metric for each in comparison.metrics})
        one, many = ("metric", number_word(tested)) if tested == metrics else ("comparison", f"{tested:,}")
        allows = f"the verdict allows for {many} being tested at once"
        screen.say(f"An interval is for one {one} alone; {allows}.", indent=2, hang=4)
    for each in {each.contender: each for each in comparison.metrics}.values():
        if each.n_unpaired:
            left = f"{each.n_unpaired:,}, scored on one side only, left out"
            paired = f"compared over the {counted(each.n, unit)} scored on both sides"
            screen.say(f"{one_line(each.contender)}: {paired}; {left}", indent=2, hang=4)


def _comparison_details(screen: Screen, comparison: Comparison) -> None:
    """Add the tests behind the verdicts."""
    screen.gap()
    rows: list[list[Piece]] = [
        [
            each.metric,
            each.contender,
            f"{each.n:,}",
            probability_text(each.p_value),
            probability_text(each.p_adjusted),
            NOTHING if each.effect_size is None else f"{each.effect_size:+.2f}",
        ]
        for each in comparison.metrics
    ]
    columns: list[Column | str] = ["metric", Column("system", flexible=True), right("pairs")]
    columns += [right("p"), right("p (Holm)"), right("effect d")]
    screen.table(columns, rows)
    tests = "; ".join(dict.fromkeys(each.test for each in comparison.metrics))
    corrected = sum(each.p_value is not None for each in comparison.metrics)
    screen.say(f"tests: {tests}; Holm's correction over {corrected}", indent=2, hang=4)


def claimed(comparison: Comparison) -> str:
    """Say of each contender on how many metrics it is better, worse, undecided."""
    said = []
    baseline = one_line(comparison.baseline)
    for name in dict.fromkeys(each.contender for each in comparison.metrics):
        found = [finding(each) for each in comparison.metrics if each.contender == name]
        worse, better, total = found.count("worse"), found.count("better"), len(found)
        first, second, count = (
            (baseline, one_line(name), worse) if worse >= better else (one_line(name), baseline, better)
        )
        rest = _rest(found.count("undecided"), found.count("same"))
        on = (
            f"all {counted(total, 'metric')}"
            if count == total > 1
            else f"{count:,} of {counted(total, 'metric')}"
        )
        if worse and better:
            both = f"worse than {baseline} on {worse:,} and better on {better:,}"
            said.append(f"{one_line(name)} is {both} of {counted(total, 'metric')}{rest}")
        elif count:
            said.append(f"{first} is better than {second} on {on}{rest}")
        else:
            on_all = "the one metric" if total == 1 else f"all {total:,} metrics"
            said.append(
                f"{one_line(name)} and {baseline} are the same on {on_all}"
                if found.count("same") == total
                else f"{one_line(name)} and {baseline} are not shown to differ: undecided on {on_all}"
            )
    return "; ".join(said)


def _rest(undecided: int, same: int) -> str:
    told = [(undecided, "undecided"), (same, "the same")]
    said = [f"{f'{count:,} are' if count > 1 else 'one is'} {word}" for count, word in told if count]
    return f"; {'the other ' if len(said) == 1 else ''}{' and '.join(said)}" if said else ""


# Ranked runs.

# By how ties are broken, in which the two sets of rules differ.
_RULES = {
    "trec_eval": "those of trec_eval",
    "document_ascending": (
        "ties by document id; judged queries missing from a run count 0; "
        "queries without a relevant document are skipped"
    ),
}


def ranking_screen(screen: Screen, ranking: Evaluation, *, rows: bool = False, details: bool = False) -> None:
    """Add how ranked runs compare, their figures and, if asked for, every query."""
    comparison = ranking.comparison
    questions = max(
        (each.n_scored for part in ranking.parts.values() for each in part.metrics.values()), default=0
    )
    if comparison is not None and comparison.metrics:
        screen.say(f"{claimed(comparison)} ({counted(questions, 'question')})")
    else:
        screen.say(f"{listed([one_line(name) for name in ranking.parts])}: {counted(questions, 'question')}")
    screen.gap()
    systems_screen(screen, ranking, unit="question")
    for name, part in ranking.parts.items():
        skipped = max((each.n_skipped for each in part.metrics.values()), default=0)
        if skipped:
            screen.say(f"{one_line(name)}: {counted(skipped, 'question')} skipped", indent=2, hang=4)
        for note in part.warnings:
            screen.say(f"{one_line(name)}: {note}", indent=2, hang=4)
    _totals(screen, ranking)
    if details:
        _ranking_details(screen, ranking)
    if rows:
        for name, part in ranking.parts.items():
            _per_query(screen, name, part)
    if len(ranking.parts) > 1 and not rows:
        screen.gap()
        screen.steps([("rag-eval rank … --per-query", "the questions behind it")])


def _ranking_details(screen: Screen, ranking: Evaluation) -> None:
    configuration = ranking.head.configuration
    if ranking.comparison is not None and ranking.comparison.metrics:
        screen.gap()
        rows: list[list[Piece]] = [
            [
                name,
                metric,
                figure(each.value, each.interval),
                interval_text(each.interval, each.value),
                f"{each.n_scored:,}",
            ]
            for name, part in ranking.parts.items()
            for metric, each in part.metrics.items()
        ]
        columns: list[Column | str] = [Column("run", flexible=True), "metric", right("value")]
        screen.table([*columns, interval_header(configuration["confidence"]), right("questions")], rows)
        _comparison_details(screen, ranking.comparison)
    methods = dict.fromkeys(
        each.interval.method
        for part in ranking.parts.values()
        for each in part.metrics.values()
        if each.interval
    )
    screen.say(f"rules: {_RULES[configuration['rules']['ties']]}", indent=2, hang=4)
    if methods:
        screen.say("intervals: " + "; ".join(methods), indent=2, hang=4)


def _totals(screen: Screen, ranking: Evaluation) -> None:
    """Add what was counted over all queries, where it was asked for."""
    totals = {name: (part.document or {}).get("totals", {}) for name, part in ranking.parts.items()}
    names = list(next(iter(totals.values())))
    if names:
        screen.gap()
        rows: list[list[Piece]] = [
            [name, *(f"{n:.4f}" if isinstance(n, float) else f"{n:,}" for n in each.values())]
            for name, each in totals.items()
        ]
        screen.table([Column("run", flexible=True), *(right(name) for name in names)], rows)


def _per_query(screen: Screen, name: str, part: Evaluation) -> None:
    columns = {metric: part.columns.scored(metric) for metric in part.metrics}
    queries = next(iter(columns.values()), {})
    screen.gap()
    screen.say(f"{one_line(name)}, question by question")
    screen.table(
        [Column("question", flexible=True), *(right(metric) for metric in columns)],
        [[query, *(f"{column[query]:.4f}" for column in columns.values())] for query in queries],
    )


# A sweep over retrieval pipelines: what to take, then every combination.

_NEAR = 0.01
_READ_ROWS = 200
_SHOWN_ROWS = 12
_PARTS = ("chunker", "retriever", "reranker")
_NEEDED = {"span_recall": "the needed text", "chunk_recall": "the needed passages"}
_USEFUL = ("span_precision", "chunk_precision")


def sweep_screen(
    screen: Screen, sweep: Evaluation, *, unread: Sequence[str] = (), glob: str = "", details: bool = False
) -> None:
    """Add what to take and why, then the combinations, then questions that none of them finds.

    ``unread`` are the files of the folder that ``glob`` leaves out.
    """
    cells, configuration = sweep.parts, sweep.head.configuration
    if not sweep.outcome.completed:
        of = counted(len(configuration["cells"]), "combination")
        screen.say(
            Styled("INCOMPLETE" if screen.plain else "… INCOMPLETE", f"{BOLD} {DOUBT}"),
            f"  {len(cells):,} of {of} begun: {one_line(sweep.outcome.reason or '', 300)}",
            hang=4,
        )
    names = _names(list(cells.values()))
    by_k = [
        {name: cell for name, cell in cells.items() if cell.head.configuration["k"] == k}
        for k in dict.fromkeys(cell.head.configuration["k"] for cell in cells.values())
    ]
    read = {name: _characters_read(cell) for name, cell in cells.items()}
    taken = [_recommended(sweep, group, read) for group in by_k]
    if sweep.outcome.completed:
        for group, take in zip(by_k, taken, strict=True):
            _recommendation(screen, sweep, group, take, names=names, read=read, several=len(by_k) > 1)
    screen.gap()
    _counts(screen, sweep, unread, glob)
    for group, take in zip(by_k, taken, strict=True):
        screen.gap()
        if len(by_k) > 1:
            screen.say(f"{next(iter(group.values())).head.configuration['k']} results a question")
        _combinations(screen, sweep, group, take, names=names, read=read, details=details)
    screen.gap()
    for line in (*_legend(sweep), *_sweep_notes(sweep, details=details)):
        screen.say(line, hang=2)
    _show_found_by_none(screen, sweep)
    screen.gap()
    if sweep.folder is not None and sweep.outcome.completed:
        screen.say(Styled(f"kept in {sweep.folder}", DIM))
        screen.steps([("rag-eval show --missed", "each with the passage it needs and what came instead")])


def _rank_figure(sweep: Evaluation, cell: Evaluation) -> Figure | None:
    return cell.metrics.get(sweep.head.configuration["rank_by"])


def _compared(sweep: Evaluation) -> dict[str, MetricComparison]:
    return {} if sweep.comparison is None else {each.contender: each for each in sweep.comparison.metrics}


def _recommended(sweep: Evaluation, group: Mapping[str, Evaluation], read: Mapping[str, float | None]) -> str:
    """Return the combination to take: of those about as good as the best, the one that reads least."""
    compared, best = _compared(sweep), next(iter(group))
    top = _rank_figure(sweep, group[best])
    near = [best]
    for name, cell in group.items():
        found, test = _rank_figure(sweep, cell), compared.get(name)
        if name == best or found is None or found.value is None or top is None or top.value is None:
            continue
        if (
            test is not None
            and finding(test) in ("undecided", "same")
            and top.value - found.value <= _NEAR + 1e-12
        ):
            near.append(name)
    least = read[best]
    take = best
    for name in near[1:]:
        if least is not None and (amount := read[name]) is not None and amount < least:
            take, least = name, amount
    return take


def _recommendation(
    screen: Screen,
    sweep: Evaluation,
    group: Mapping[str, Evaluation],
    take: str,
    *,
    names: Mapping[str, tuple[str, ...]],
    read: Mapping[str, float | None],
    several: bool,
) -> None:
    best, configuration = next(iter(group)), sweep.head.configuration
    of_k = f"With {group[take].head.configuration['k']} results a question, take" if several else "Take"
    called = " + ".join(filter(None, names[take]))
    if len(group) == 1:
        screen.say("Only one combination: nothing to compare.")
        return
    screen.say(Styled(f"{of_k} {called}.", BOLD))
    found, top = _rank_figure(sweep, group[take]), _rank_figure(sweep, group[best])
    if found is None or found.value is None or top is None or top.value is None:
        return
    what = _NEEDED.get(configuration["rank_by"], f"{configuration['rank_by']}")
    of = f"of {what}" if configuration["rank_by"] in _NEEDED else f"by {what}"
    if take == best:
        undecided = sum(
            finding(each) == "undecided" for name, each in _compared(sweep).items() if name in group
        )
        rest = f"; {counted(undecided, 'other')} may be as good" if undecided else ""
        screen.say(f"It finds the most ({figure(top.value, top.interval)} {of}){rest}.", indent=2)
        return
    test, less = _compared(sweep).get(take), _less(read[take], read[best])
    ends = ""
    if test is not None and test.interval is not None:
        low, high = difference(test.interval.low), difference(test.interval.high)
        ends = f"; the true difference lies between {low} and {high}"
    against = f"{figure(found.value)} {of} against {figure(top.value)}{ends}"
    screen.say(f"It finds about as much as the best ({against}) and reads {less}.", indent=2)


def _less(amount: float | None, most: float | None) -> str:
    if not amount or not most:
        return "less"
    share = amount / most
    words = {
        0.25: "a quarter as much",
        1 / 3: "a third as much",
        0.5: "half as much",
        2 / 3: "two thirds as much",
        0.75: "three quarters as much",
    }
    nearest = min(words, key=lambda each: abs(each - share))
    word = words[nearest] if abs(nearest - share) < 0.06 else "less"
    return f"{word}: {_hundreds(amount)} characters a question against {_hundreds(most)}"


def _hundreds(amount: float) -> str:
    return f"{round(amount, -2):,.0f}" if amount >= 1000 else f"{amount:,.0f}"


def _counts(screen: Screen, sweep: Evaluation, unread: Sequence[str], glob: str) -> None:
    configuration, cells = sweep.head.configuration, list(sweep.parts.values())
    ks = dict.fromkeys(cell.head.configuration["k"] for cell in cells)
    counts = [
        counted(cells[0].counts.total, "question"),
        counted(configuration["documents"], "document"),
        f"{' or '.join(map(str, ks))} results a question",
        counted(len(cells), "combination"),
    ]
    screen.say(", ".join(counts))
    shared = [
        f"{part} {value}"
        for part in _PARTS
        for value in [cells[0].head.configuration.get(part)]
        if value and len({cell.head.configuration.get(part) for cell in cells}) == 1
    ]
    if shared and len(cells) > 1:
        screen.say(f"all with {', '.join(shared)}", hang=2)
    if unread:
        total = configuration["documents"] + len(unread)
        more = f" and {len(unread) - 3:,} more" if len(unread) > 3 else ""
        named = ", ".join(unread[:3]) + more if more else listed(list(unread))
        screen.say(
            f"read {configuration['documents']:,} of {counted(total, 'file')}; skipped {named} (not {glob})",
            hang=2,
        )


def _names(cells: Sequence[Evaluation]) -> dict[str, tuple[str, ...]]:
    """Return what differs between combinations: the short name of each part that does."""
    called: dict[str, tuple[str, ...]] = {}
    values = {part: [cell.head.configuration.get(part) or "" for cell in cells] for part in _PARTS}
    varying = [part for part in _PARTS if len(set(values[part])) > 1] or ["chunker"]
    for place, cell in enumerate(cells):
        called[str(cell.head.target)] = tuple(
            short_name(values[part][place], values[part]) for part in varying
        )
    return called


def short_name(specification: str, others: Sequence[str]) -> str:
    """Return the name of a component with those of its settings that differ: ``recursive 1000/200``."""
    read = _read(specification)
    if read is None:
        return specification or "none"
    settings = dict(read.arguments)
    alike = [
        each.arguments for each in map(_read, set(others)) if each is not None and each.name == read.name
    ]
    told = []
    if "chunk_size" in settings:
        overlap = settings.pop("overlap", 0)
        told.append(f"{settings.pop('chunk_size')}{f'/{overlap}' if overlap else ''}")
    for key, value in settings.items():
        values = [str(each.get(key, "")) for each in alike]
        if len(set(values)) > 1:
            is_number = isinstance(value, int | float)
            told.append(f"{key}={value}" if is_number else short_name(str(value), values))
    return " ".join([read.name, *told])


def _read(specification: str) -> Specification | None:
    try:
        return parse_specification(specification)
    except UsageError:
        return None


def _characters_read(cell: Evaluation) -> float | None:
    """Return how many characters came back for a question, on average of the first so many."""
    sizes = [
        sum(hit.span.end - hit.span.start for hit in row.response.hits if hit.span is not None)
        for row in islice(cell.rows, _READ_ROWS)
        if row.response.hits
    ]
    return sum(sizes) / len(sizes) if sizes and any(sizes) else None


def _combinations(
    screen: Screen,
    sweep: Evaluation,
    group: Mapping[str, Evaluation],
    take: str,
    *,
    names: Mapping[str, tuple[str, ...]],
    read: Mapping[str, float | None],
    details: bool,
) -> None:
    compared, best = _compared(sweep), next(iter(group))
    varying = [
        part
        for part in _PARTS
        if len({cell.head.configuration.get(part) for cell in sweep.parts.values()}) > 1
    ]
    rank_by = sweep.head.configuration["rank_by"]
    useful = next((name for name in _USEFUL if name in group[best].metrics), None)
    rows: list[list[Piece]] = []
    folded: list[str] = []
    for place, (name, cell) in enumerate(group.items(), start=1):
        found, test = _rank_figure(sweep, cell), compared.get(name)
        word = "the best" if name == best else NOTHING if test is None else finding(test)
        if word == "worse" and not details and place > 3 and name != take:
            folded.append(name)
            continue
        value, ends = (found.value, found.interval) if found else (None, None)
        amount, share = read[name], cell.metrics.get(useful) if useful else None
        rows.append(
            [
                f"{place}{' ▸' if name == take and len(group) > 1 else '  '}",
                *names[name],
                figure(value, ends),
                screen.bar(value or 0.0, size=17 if screen.width >= WIDEST else 12),
                interval_text(ends, value),
                "" if share is None or share.value is None else f"{100 * share.value:.1f} %",
                "" if amount is None else _hundreds(amount),
                f"{cell.head.configuration['chunks']:,}",
                _seconds(cell),
                money(cell.performance.figures.get("cost_usd", {}).get("alone")) if _has_costs(sweep) else "",
                "" if test is None else aligned(difference(test.difference, test.interval)),
                Styled(word, _FINDINGS.get(word, GOOD if name == best else "")),
            ]
        )
    found_header = "found" if rank_by in _NEEDED or rank_by.startswith("recall") else rank_by
    screen.table(
        [
            Column(""),
            *(Column(part, flexible=True) for part in varying or ["chunker"]),
            Column(found_header),
            Column("", leaves=BAR, joins=USUAL),
            Column(interval_header(_confidence(sweep))),
            right("useful", leaves=COUNT),
            right("read", leaves=COUNT + 1),
            right("chunks", leaves=SIZE, joins=WIDEST),
            right("seconds", leaves=SIZE, joins=WIDEST),
            right("cost", leaves=SIZE),
            Column("difference", leaves=DIFFERENCE, joins=WIDEST),
            Column("verdict"),
        ],
        rows,
    )
    if folded:
        first, last = folded[0], folded[-1]
        told = [f"{' + '.join(names[name])} ({figure(_value(sweep, group[name]))})" for name in (first, last)]
        said = f"from {told[0]} down to {told[1]}" if len(folded) > 1 else told[0]
        screen.say(
            f"{len(folded):,} more {'is' if len(folded) == 1 else 'are'} worse, {said}", indent=2, hang=4
        )


def _value(sweep: Evaluation, cell: Evaluation) -> float | None:
    found = _rank_figure(sweep, cell)
    return None if found is None else found.value


def _legend(sweep: Evaluation) -> Iterator[str]:
    rank_by = sweep.head.configuration["rank_by"]
    figures = next(iter(sweep.parts.values())).metrics
    told = []
    if rank_by in _NEEDED:
        told.append(f"found: share of {_NEEDED[rank_by]} that came back")
    if any(name in figures for name in _USEFUL):
        told.append("useful: share of what came back that was needed")
    if told:
        yield "; ".join(told)
    shown = [
        each.smallest_detectable
        for each in _compared(sweep).values()
        if each.smallest_detectable is not None and not _is_beyond_scale(each)
    ]
    if shown:
        questions = counted(next(iter(sweep.parts.values())).counts.total, "question")
        yield f"With {questions}, differences below about {max(shown):.2f} mostly stay undecided."


def _sweep_notes(sweep: Evaluation, *, details: bool) -> Iterator[str]:
    configuration = sweep.head.configuration
    found = _rank_figure(sweep, next(iter(sweep.parts.values())))
    if found is not None and found.n_skipped:
        skipped = counted(found.n_skipped, "question is", "questions are")
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
            yield f"{one_line(retriever)}: its store found {recall:.2%} of the true nearest chunks"
    if _has_costs(sweep):
        spent = "how much was spent is not known"
        if "spent_usd" in sweep.performance.figures:
            spent = f"{money(sweep.performance.figures['spent_usd'])} was spent in all"
        yield f"cost: of each combination by itself, nothing shared and nothing cached; {spent}"
    yield from (f"warning: {warning}" for warning in sweep.warnings)
    if not details:
        return
    yield f"ranked by {configuration['rank_by']}, by {configuration['level']}s"
    if found is not None and found.interval:
        yield f"intervals: {found.interval.method}, seed {sweep.head.seed}"
    tests = list(_compared(sweep).values())
    if tests:
        yield (
            f"tests: {tests[0].test}, question by question against the best with as many results; Holm's "
            f"correction over {len(tests):,}; the best was chosen on these same questions"
        )
    yield "seconds: chunking, embedding, indexing and searching were done once for those that share them"


def found_by_none(sweep: Evaluation) -> list[str]:
    """Return the questions for which no combination finds anything that is needed."""
    rank_by = sweep.head.configuration.get("rank_by", "")
    columns = [
        cell.columns.scored(rank_by) for cell in sweep.parts.values() if rank_by in cell.columns.values
    ]
    if not columns:
        return []
    return [query for query in columns[0] if all(column.get(query, 0.0) == 0.0 for column in columns)]


def _show_found_by_none(screen: Screen, sweep: Evaluation) -> None:
    """Add how many questions no combination finds anything for, and two of them."""
    missed = found_by_none(sweep)
    if not missed:
        return
    screen.gap()
    are = counted(len(missed), "question is", "questions are")
    screen.say(
        f"{are} found by no combination, for example" if len(missed) > 2 else f"{are} found by no combination"
    )
    wanted = set(missed[:2])
    first = next(iter(sweep.parts.values()))
    shown = list(islice((row for row in first.rows if row.id in wanted), len(wanted)))
    hang = 4 + max((len(row.id) for row in shown), default=0)
    for row in shown:
        needed = _needed(row)
        screen.labelled(
            row.id, row.question + (f"    {needed}" if needed else ""), indent=2, hang=min(hang, 24)
        )


def _needed(row: Row) -> str:
    if row.sample is None:
        return ""
    names = (*row.sample.relevant_documents, *(span.file for span in row.sample.relevant_spans))
    return ", ".join(list(dict.fromkeys(names))[:2])


def _seconds(cell: Evaluation) -> str:
    spent = cell.performance.figures.get("stage_seconds")
    return NOTHING if spent is None else f"{sum(spent.values()):.2f}"


def _has_costs(sweep: Evaluation) -> bool:
    return any("cost_usd" in cell.performance.figures for cell in sweep.parts.values())
