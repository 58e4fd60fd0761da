"""A sweep over retrieval pipelines: what to take and why, every combination, and what none of them finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.extensions import Specification, parse_specification
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.facts import needed_names
from rag_evaluation_framework.reports.messages.verdict_sentences import recommended_setup
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_store import in_runs, short_id
from rag_evaluation_framework.results.summaries import Figure

_NEAR = 0.01
_READ_ROWS = 200
# An index that finds so much of the nearest is not what a combination fails by.
_FINDS_ALL = 0.99
_PARTS = ("chunker", "retriever", "reranker")
RANK_WORDS = {"span_recall": "recall", "chunk_recall": "recall", "document_recall": "recall"}
_USEFUL = ("span_precision", "chunk_precision")


def describe_sweep(
    sweep: Evaluation, *, unread: Mapping[str, str] | None = None, details: bool = False
) -> blocks.Blocks:
    """Add the recommendation, then the setups, then the questions that no setup has retrieved.

    ``unread`` are the files of the folder that were left out, and why.
    """
    cells, configuration = sweep.parts, sweep.head.configuration
    if not sweep.outcome.completed:
        of = counted(len(configuration["cells"]), "setup")
        reason = blocks.one_line(sweep.outcome.reason or "", 300)
        yield blocks.Headline("…", "INCOMPLETE", f"{len(cells):,} of {of} started: {reason}", ())
    advice = sweep_advice(sweep)
    for take, why in advice.sentences.values() if sweep.outcome.completed else ():
        yield blocks.Headline("", "", take, why, hang=2)
    yield blocks.GAP
    yield from _counts(sweep, unread or {})
    for group in _by_k(sweep):
        yield blocks.GAP
        if len(advice.taken) > 1:
            yield blocks.prose(f"{_results(next(iter(group.values())))} per question")
        yield from _combinations(sweep, group, advice, details=details)
    yield blocks.GAP
    for line in (*_legend(sweep), *_sweep_notes(sweep, details=details)):
        yield blocks.prose(line, hang=2)
    yield from _describe_found_by_none(sweep)
    yield blocks.GAP
    if sweep.folder is not None and sweep.outcome.completed:
        yield blocks.prose(blocks.Styled(f"saved as {sweep.folder}", blocks.DIM))
        run, runs_option = short_id(sweep.folder), in_runs(sweep.folder.parent)
        if found_by_none(sweep):
            purpose = "compare the expected and the retrieved passages"
            yield blocks.Steps([(f"rag-eval show {run} --missed{runs_option}", purpose)])
        else:
            yield blocks.Steps([(f"rag-eval report {run}{runs_option}", "write an HTML report")])


class SweepAdvice(msgspec.Struct, frozen=True):
    """The recommendation of a sweep: a sentence and reasons for each k; names and characters of setups."""

    sentences: Mapping[int, tuple[str, tuple[str, ...]]]
    taken: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    read: Mapping[str, float | None]


def sweep_advice(sweep: Evaluation) -> SweepAdvice:
    """Return which combination of each k to take: of those about as good as the best, what reads least."""
    names = _names(list(sweep.parts.values()))
    read = {name: _characters_read(cell) for name, cell in sweep.parts.items()}
    groups = _by_k(sweep)
    taken = [_recommended(sweep, group, read) for group in groups]
    sentences: dict[int, tuple[str, tuple[str, ...]]] = {}
    for group, take in zip(groups, taken, strict=True):
        first, *why = _recommendation(sweep, group, take, names=names, read=read, several=len(groups) > 1)
        sentences[group[take].head.configuration["k"]] = first, tuple(why)
    return SweepAdvice(sentences, tuple(taken), names, read)


def _by_k(sweep: Evaluation) -> list[dict[str, Evaluation]]:
    ks = dict.fromkeys(cell.head.configuration["k"] for cell in sweep.parts.values())
    return [
        {name: cell for name, cell in sweep.parts.items() if cell.head.configuration["k"] == k} for k in ks
    ]


def _results(cell: Evaluation) -> str:
    return counted(cell.head.configuration["k"], "result")


def _rank_figure(sweep: Evaluation, cell: Evaluation) -> Figure | None:
    return cell.metrics.get(sweep.head.configuration["rank_by"])


def _compared(sweep: Evaluation) -> dict[str, MetricComparison]:
    return {} if sweep.comparison is None else {each.contender: each for each in sweep.comparison.metrics}


def _recommended(sweep: Evaluation, group: Mapping[str, Evaluation], read: Mapping[str, float | None]) -> str:
    """Return the combination to take: of those about as good as the best, the one that reads least."""
    compared, best = _compared(sweep), next(iter(group))
    take, least, top = best, read[best], _value(sweep, group[best])
    for name, cell in group.items():
        found, test, amount = _value(sweep, cell), compared.get(name), read[name]
        if test is None or found is None or top is None or amount is None or least is None:
            continue
        is_near = test.finding in ("undecided", "same") and top - found <= _NEAR + 1e-12
        if is_near and amount < least:
            take, least = name, amount
    return take


def _recommendation(
    sweep: Evaluation,
    group: Mapping[str, Evaluation],
    take: str,
    *,
    names: Mapping[str, tuple[str, ...]],
    read: Mapping[str, float | None],
    several: bool,
) -> Iterator[str]:
    best, rank_by = next(iter(group)), sweep.head.configuration["rank_by"]
    if len(group) == 1:
        yield "Only one setup: nothing to compare."
        return
    setup = " with ".join(filter(None, [names[take][0], " + ".join(filter(None, names[take][1:]))]))
    figure, top = _rank_figure(sweep, group[take]), _rank_figure(sweep, group[best])
    is_tied = [
        each.finding in ("undecided", "same") for name, each in _compared(sweep).items() if name in group
    ]
    yield recommended_setup(
        setup=setup,
        k=sweep.parts[take].head.configuration["k"] if several else None,
        metric=RANK_WORDS.get(rank_by, rank_by),
        value=None if figure is None or figure.value is None else blocks.figure(figure.value),
        tied=sum(is_tied),
        total=len(group),
    )
    if take == best or figure is None or top is None:
        return
    test, less = _compared(sweep).get(take), _less(read[take], read[best])
    ends = ""
    if test is not None and test.interval is not None:
        low, high = blocks.difference(test.interval.low), blocks.difference(test.interval.high)
        ends = f"; 95% CI of the difference [{low}, {high}]"
    against = f"{blocks.figure(figure.value)} against {blocks.figure(top.value)}{ends}"
    yield f"Tied with the highest {RANK_WORDS.get(rank_by, rank_by)} ({against}) while returning {less}."


def _less(amount: float | None, most: float | None) -> str:
    if not amount or not most:
        return "less text"
    share = amount / most
    words = {
        0.25: "a quarter as much text",
        1 / 3: "a third as much text",
        0.5: "half as much text",
        2 / 3: "two thirds as much text",
        0.75: "three quarters as much text",
    }
    nearest = min(words, key=lambda each: abs(each - share))
    word = words[nearest] if abs(nearest - share) < 0.06 else "less text"
    return f"{word}: {_hundreds(amount)} characters per question against {_hundreds(most)}"


def _hundreds(amount: float) -> str:
    return f"{round(amount, -2):,.0f}" if amount >= 1000 else f"{amount:,.0f}"


def _counts(sweep: Evaluation, unread: Mapping[str, str]) -> blocks.Blocks:
    configuration, cells = sweep.head.configuration, list(sweep.parts.values())
    ks = dict.fromkeys(cell.head.configuration["k"] for cell in cells)
    counts = [
        counted(cells[0].counts.total, "question"),
        counted(configuration["documents"], "document"),
        f"{' or '.join(map(str, ks))} {'result' if list(ks) == [1] else 'results'} per question",
        counted(len(cells), "setup"),
    ]
    yield blocks.prose(", ".join(counts))
    shared = [
        f"{part} {value}"
        for part in _PARTS
        for value in [cells[0].head.configuration.get(part)]
        if value and len({cell.head.configuration.get(part) for cell in cells}) == 1
    ]
    if shared and len(cells) > 1:
        yield blocks.prose(f"all with {', '.join(shared)}", hang=2)
    if unread:
        total = configuration["documents"] + len(unread)
        read = f"read {configuration['documents']:,} of {counted(total, 'file')}"
        yield blocks.prose("; ".join((read, *skipped_lines(unread))), hang=2)


def skipped_lines(unread: Mapping[str, str]) -> list[str]:
    """Return a line per reason on the files that were skipped, with the first three names."""
    lines = []
    for reason in dict.fromkeys(unread.values()):
        names = [name for name in unread if unread[name] == reason]
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        named = ", ".join(names[:3]) + more if more else blocks.listed(names)
        lines.append(f"skipped {named} ({reason})")
    return lines


def _varying(cells: Sequence[Evaluation]) -> dict[str, list[str]]:
    """Return the parts in which combinations differ, of each its values; without any, the chunker."""
    values = {part: [cell.head.configuration.get(part) or "" for cell in cells] for part in _PARTS}
    return {part: of for part, of in values.items() if len(set(of)) > 1} or {"chunker": values["chunker"]}


def _names(cells: Sequence[Evaluation]) -> dict[str, tuple[str, ...]]:
    """Return what differs between combinations: the short name of each part that does."""
    varying = _varying(cells).values()
    return {
        str(cell.head.target): tuple(short_name(values[place], values) for values in varying)
        for place, cell in enumerate(cells)
    }


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
    sweep: Evaluation, group: Mapping[str, Evaluation], advice: SweepAdvice, *, details: bool
) -> blocks.Blocks:
    names, read = advice.names, advice.read
    take = next(name for name in group if name in advice.taken)
    compared, best = _compared(sweep), next(iter(group))
    useful = next((name for name in _USEFUL if name in group[best].metrics), None)
    rows: list[list[blocks.Cell]] = []
    parts = [blocks.Column(part, flexible=True) for part in _varying(list(sweep.parts.values()))]
    top, rank_by = _rank_figure(sweep, group[best]), sweep.head.configuration["rank_by"]
    interval = blocks.interval_header(top.interval.confidence if top and top.interval else 0.95)
    header = RANK_WORDS.get(rank_by, rank_by)
    folded: list[str] = []
    for place, (name, cell) in enumerate(group.items(), start=1):
        found, test = _rank_figure(sweep, cell), compared.get(name)
        word = "highest" if name == best else blocks.NOTHING if test is None else test.finding
        if word == "worse" and not details and place > 3 and name != take:
            folded.append(name)
            continue
        value, ends = (found.value, found.interval) if found else (None, None)
        amount, share = read[name], cell.metrics.get(useful) if useful else None
        chunks = cell.head.configuration.get("chunks")
        useful_share = "" if share is None or share.value is None else f"{100 * share.value:.1f}%"
        cost = (
            blocks.money(cell.performance.figures.get("cost_usd", {}).get("alone"))
            if _has_costs(sweep)
            else ""
        )
        drawn, shown = (
            blocks.Bar(value or 0.0, 12, wide=17),
            "tied" if word in ("undecided", "same") else word,
        )
        moved = "" if test is None else blocks.aligned(blocks.difference(test.difference, test.interval))
        rows.append(
            [
                ("", f"{place}{' ▸' if name == take and len(group) > 1 else '  '}"),
                *zip(parts, names[name], strict=True),
                (header, blocks.figure(value, ends)),
                (blocks.Column("", leaves=blocks.BAR, joins=blocks.USUAL), drawn),
                (interval, blocks.interval_text(ends, value)),
                (blocks.right("precision", leaves=blocks.COUNT), useful_share),
                (blocks.right("chars", leaves=blocks.COUNT + 1), "" if amount is None else _hundreds(amount)),
                (
                    blocks.right("chunks", leaves=blocks.SIZE, joins=blocks.WIDEST),
                    blocks.NOTHING if chunks is None else f"{chunks:,}",
                ),
                (blocks.right("seconds", leaves=blocks.SIZE, joins=blocks.WIDEST), _seconds(cell)),
                (blocks.right("cost", leaves=blocks.SIZE), cost),
                (blocks.Column("difference", leaves=blocks.DIFFERENCE, joins=blocks.WIDEST), moved),
                (
                    "result",
                    blocks.Styled(shown, blocks.STYLES.get(word, blocks.GOOD if name == best else "")),
                ),
            ]
        )
    yield blocks.table(rows)
    if folded:
        first, last = folded[0], folded[-1]
        told = [
            f"{' + '.join(names[name])} ({blocks.figure(_value(sweep, group[name]))})"
            for name in (first, last)
        ]
        said = f"from {told[0]} down to {told[1]}" if len(folded) > 1 else told[0]
        yield blocks.aside(f"{counted(len(folded), 'other setup is', 'other setups are')} worse, {said}")


def _value(sweep: Evaluation, cell: Evaluation) -> float | None:
    found = _rank_figure(sweep, cell)
    return None if found is None else found.value


def _legend(sweep: Evaluation) -> Iterator[str]:
    rank_by = sweep.head.configuration["rank_by"]
    figures = next(iter(sweep.parts.values())).metrics
    meanings = []
    if rank_by in ("span_recall", "chunk_recall"):
        meanings.append("recall: share of the expected passages that was retrieved")
    if any(name in figures for name in _USEFUL):
        meanings.append("precision: share of the retrieved text that was expected")
    if any(map(_characters_read, sweep.parts.values())):
        meanings.append("chars: characters retrieved per question")
    if meanings:
        yield "; ".join(meanings)
    shown = [each.visible_from for each in _compared(sweep).values() if each.visible_from is not None]
    if shown and max(shown) >= 0.005:
        questions = counted(next(iter(sweep.parts.values())).counts.total, "question")
        yield f"With {questions} you can detect differences of about {max(shown):.2f} or more."


def _sweep_notes(sweep: Evaluation, *, details: bool) -> Iterator[str]:
    configuration = sweep.head.configuration
    found = _rank_figure(sweep, next(iter(sweep.parts.values())))
    if found is not None and found.n_skipped:
        skipped = counted(found.n_skipped, "question is", "questions are")
        yield f"{skipped} not scored: the dataset has no expected {configuration['level']} for them"
    if configuration["moved_spans"]:
        moved = counted(configuration["moved_spans"], "relevant span was", "relevant spans were")
        yield f"{moved} moved: the documents have changed"
    for recall, sentence in index_recalls(sweep):
        if recall < 1 or details:
            yield sentence
    if _has_costs(sweep):
        spent = "total spent: unknown"
        if "spent_usd" in sweep.performance.figures:
            spent = f"{blocks.money(sweep.performance.figures['spent_usd'])} spent in total"
        yield f"cost: of each setup alone, with nothing shared or cached; {spent}"
    yield from (f"warning: {warning}" for warning in sweep.warnings)
    if not details:
        return
    yield f"ranked by {configuration['rank_by']}, by {configuration['level']}s"
    if found is not None and found.interval:
        yield f"intervals: {found.interval.method}, seed {sweep.head.seed}"
    tests = list(_compared(sweep).values())
    if tests:
        yield (
            f"tests: {tests[0].test}, paired by question against the highest of the same k; Holm's "
            f"correction for {counted(len(tests), 'comparison')}; it was chosen on the same questions"
        )
    yield "seconds: setups that share chunking, embedding, indexing or searching did it once"


def index_recalls(sweep: Evaluation) -> list[tuple[float, str]]:
    """Return what each index finds of the true nearest, apart from all else, and a sentence that says it.

    Of an index that several combinations have, the worst counts; one that searches everything is left out.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for cell in sweep.parts.values():
        if cell.performance.figures.get("store_recall") is not None:
            found.setdefault(cell.head.configuration["retriever"], []).append(cell.performance.figures)
    told = []
    for retriever, measured in found.items():
        worst = min(measured, key=lambda each: float(each["store_recall"]))
        recall, effort = float(worst["store_recall"]), worst.get("store_effort")
        if recall == 1 and effort is None:
            continue
        of = f"{short_name(retriever, list(found))}: the" if len(found) > 1 else "The"
        sentence = f"{of} index retrieves {_percent(recall)} of the nearest chunks"
        if recall < _FINDS_ALL:
            advice = f" with {effort}; a higher value misses fewer" if effort else ""
            sentence = f"{of} index misses {_percent(1 - recall)} of the nearest chunks{advice}"
        told.append((recall, sentence))
    return told


def _percent(share: float) -> str:
    """Write a share so that what is not all is not shown as all."""
    return f"{100 * share:.0f}%" if share in (0, 1) or 0.01 <= share < 0.99 else f"{100 * share:.2f}%"


def found_by_none(sweep: Evaluation) -> list[str]:
    """Return the questions for which no combination finds anything that is needed."""
    rank_by = sweep.head.configuration.get("rank_by", "")
    columns = [
        cell.columns.scored(rank_by) for cell in sweep.parts.values() if rank_by in cell.columns.values
    ]
    if not columns:
        return []
    return [query for query in columns[0] if all(column.get(query, 0.0) == 0.0 for column in columns)]


def _describe_found_by_none(sweep: Evaluation) -> blocks.Blocks:
    """Add how many questions no combination finds anything for, and two of them."""
    missed = found_by_none(sweep)
    if not missed:
        return
    yield blocks.GAP
    example = ", for example" if len(missed) > 2 else ""
    questions = counted(len(missed), "question")
    yield blocks.prose(f"No setup retrieved the expected passage for {questions}{example}:")
    wanted = set(missed[:2])
    first = next(iter(sweep.parts.values()))
    shown = list(islice((row for row in first.rows if row.id in wanted), len(wanted)))
    hang = 4 + max((len(row.id) for row in shown), default=0)
    for row in shown:
        needed = "".join(f"    {', '.join(names)}" for names in [needed_names(row)[:2]] if names)
        yield blocks.Labelled(row.id, f"{row.question}{needed}", indent=2, hang=min(hang, 24))


def _seconds(cell: Evaluation) -> str:
    spent = cell.performance.figures.get("stage_seconds")
    return blocks.NOTHING if spent is None else f"{sum(spent.values()):.2f}"


def _has_costs(sweep: Evaluation) -> bool:
    return any("cost_usd" in cell.performance.figures for cell in sweep.parts.values())
