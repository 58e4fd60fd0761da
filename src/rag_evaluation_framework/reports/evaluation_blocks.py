"""An evaluation as blocks: the verdict, the answers behind it, the figures, what was run, and the way on.

And what all reports say of runs: notes, why there is no score, which field of plain rows was read as what.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.row_fields import SHOWN, RowReading
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE, known_metric
from rag_evaluation_framework.records.responses import EXPECTED
from rag_evaluation_framework.records.scores import NO_CONTEXTS, NOT_ANSWERED
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.cases import (
    counts_sentence,
    describe_cases,
    names_listed,
    sample_name,
    steps_sentence,
)
from rag_evaluation_framework.reports.figure_rows import (
    Demand,
    FigureRow,
    demand_of,
    gated_rows,
    list_figures,
)
from rag_evaluation_framework.reports.messages.comparison_sentences import systems_sentence
from rag_evaluation_framework.reports.system_blocks import describe_systems
from rag_evaluation_framework.reports.verdict_lines import (
    card_notes,
    headline,
    holds_rows,
    listed_cases,
    verdict_of,
    way_on,
)
from rag_evaluation_framework.results.evaluations import Evaluation, unscored
from rag_evaluation_framework.results.run_evaluations import MOST_UNSCORED, unscored_rows
from rag_evaluation_framework.results.summaries import RELIABILITY, Figure, Unscored

KINDS_OF_GOLDEN = {
    "facts": "facts",
    "relations": "relations",
    "tracking": "events",
    "multiturn": "conversations",
    "boundary": "refusals",
}
_MAIN_FIGURES = {
    "entity_coverage": "entities named",
    "relation_match": "relation stated",
    "milestone_recall": "events covered",
    "turn_correctness": "correct turns",
    "refusal_recall": "refusal recall",
}
_BAR_CELLS = 20
_ALL_IN_FULL, _IN_FULL, _ASKED = 4, 3, 3
_TOOLS = {
    "deepeval": "a file of deepeval",
    "inspect": "a file of inspect_ai",
    "langfuse": "an export of Langfuse",
    "langsmith": "an export of LangSmith",
    "langsmith-export": "an export of LangSmith",
    "openai-evals": "a file of OpenAI evals",
    "phoenix": "an export of Phoenix",
    "promptfoo": "a file of promptfoo",
    "ragas": "ragas 0.2+",
    "ragas-0.1": "ragas 0.1",
    "squad-rows": "SQuAD as Hugging Face has it",
    "traces": "traces in OTLP JSON",
}
"""What the formats of other tools are called."""
_CALLED = {"latency_ms": "latency (milliseconds)", "latency_s": "latency (seconds)"}
_NOT_COUNTED = {
    "refused": ("refusal", "refusals"),
    "dont_know": ('"don\'t know"', '"don\'t know"'),
    "asks_back": ("question back", "questions back"),
}


def describe_evaluation(
    evaluation: Evaluation, *, samples: bool = True, details: bool = False, everything: bool = False
) -> blocks.Blocks:
    """Add the verdict, the answers behind it, the figures, what was run, and the way on."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    said = headline(evaluation)
    yield replace(said, sentence=claim_of(evaluation, said))
    # Figures of a part of the answers decide nothing, and few answers show nothing.
    is_short = evaluation.verdict is not None and (
        verdict.word == "incomplete"
        or (verdict.word == "not evaluated" and moved is not None and moved.reason is not None)
    )
    if not is_short or details:
        if samples and evaluation.kind != "systems":
            yield blocks.GAP
            yield from _cases(evaluation, everything=everything)
        yield blocks.GAP
        yield from _figures(evaluation)
        if details:
            yield blocks.GAP
            yield from _details(evaluation)
        yield blocks.GAP
    yield from _runs(evaluation)
    yield blocks.Steps(way_on(evaluation))


def claim_of(evaluation: Evaluation, said: blocks.Headline) -> str:
    """Say in a sentence what came of it: of systems without a gate what may be claimed."""
    comparison = evaluation.comparison
    is_compared = evaluation.kind == "systems" and comparison is not None and comparison.metrics
    return systems_sentence(comparison) if comparison and is_compared and not said.word else said.sentence


# The answers behind a verdict.


def _cases(evaluation: Evaluation, *, everything: bool) -> blocks.Blocks:
    word, found = verdict_of(evaluation).word, listed_cases(evaluation, everything=everything)
    full, asked = _IN_FULL, _ASKED
    if found.moved is None and found.total <= _ALL_IN_FULL:
        full = _ALL_IN_FULL
    is_beside = word == "passed" or (evaluation.kind == "golden" and word == "no gate")
    if word == "undecided" if found.moved else is_beside:
        full, asked = 1, 0
    full = evaluation.counts.total if everything else full
    yield from describe_cases(found.cases, full=full, asked=asked, total=found.total)


# The figures.


def _figures(evaluation: Evaluation) -> blocks.Blocks:
    moved, counts = evaluation.regressions, evaluation.answers
    is_worth_saying = counts.flagged or counts.conversations or counts.to_confirm
    if counts.total and (counts.correct < counts.total or is_worth_saying):
        yield blocks.aside(counts_sentence(counts))
    if evaluation.kind == "systems":
        yield from describe_systems(evaluation)
    elif moved is not None and moved.metrics:
        yield _gated_table(evaluation)
    elif evaluation.kind == "golden":
        yield from _golden_table(evaluation)
    else:
        yield _figures_table(evaluation)
    of_rows = (*not_counted(evaluation), caution(evaluation)) if holds_rows(evaluation) else ()
    for line in (*not_scored_lines(evaluation), refusals_said(evaluation), *of_rows):
        if line is not None:
            yield blocks.aside(line)
    for warning in evaluation.warnings:
        if "--allow-missing" not in warning:  # who gives that option knows
            yield blocks.aside(blocks.Styled("warning: ", blocks.DOUBT), blocks.one_line(warning, 400))
    if (
        evaluation.verdict is not None
        and not evaluation.verdict.enabled
        and evaluation.verdict.stopped is None
        and not holds_rows(evaluation)
    ):
        yield blocks.aside(f"no gate: {_gate_switch(evaluation)}")


def _figures_table(evaluation: Evaluation) -> blocks.Block:
    several, rows = len(evaluation.parts) > 1, list_figures(evaluation)
    found = [each.figure.interval.confidence for each in rows if each.figure.interval]
    interval = blocks.interval_header(found[-1] if found else 0.95)
    meant = blocks.Column("it says", leaves=blocks.MEANING, joins=blocks.WIDEST)
    return blocks.table(
        [
            (blocks.Column("dataset", flexible=True, optional=True, once=True), each.part if several else ""),
            (blocks.Column("metric", flexible=True), each.metric),
            (blocks.right("value"), each.value),
            (blocks.Column("", leaves=blocks.BAR, joins=blocks.WIDEST), _drawn(each.figure)),
            (interval, each.interval),
            (blocks.Column("needs", optional=True), each.demand.needs),
            (blocks.Column(optional=True), each.demand.result),
            (blocks.right("answers", leaves=blocks.COUNT), each.answers),
            (blocks.Column("by", leaves=blocks.BY), each.by),
            (meant, blocks.meaning(each.metric)),
        ]
        for each in rows
    )


def _drawn(each: Figure) -> blocks.Piece:
    known = known_metric(each.metric)
    return blocks.Bar(each.value, _BAR_CELLS) if known and known.is_share and each.value is not None else ""


def _gated_table(evaluation: Evaluation) -> blocks.Block:
    several = len(evaluation.parts) > 1
    return blocks.table(
        [
            (blocks.Column("dataset", flexible=True, optional=True), each.of if several else ""),
            (blocks.Column("metric", flexible=True), each.metric),
            (blocks.right("before"), each.before),
            (blocks.right("now"), each.now),
            ("difference", blocks.aligned(each.difference)),
            ("verdict", each.finding),
            ("needs", each.demand.needs),
            ("", each.demand.result),
            (blocks.right("answers", leaves=blocks.COUNT), f"{each.moved.n:,}"),
            (blocks.Column("by", leaves=blocks.BY), each.by),
        ]
        for each in gated_rows(evaluation)
    )


def _golden_table(evaluation: Evaluation) -> blocks.Blocks:
    """Add a row for each kind of golden set with its main figure; the others are for details."""
    rows: list[list[blocks.Cell]] = []
    for name, part in evaluation.named_runs.items():
        counts, beside = part.answers, [part.metrics.get(each) for each in ("span_recall", "faithfulness")]
        found, supported = (blocks.figure(None if each is None else each.value) for each in beside)
        main = next(iter(part.metrics.values()), None)
        row = None if main is None else FigureRow(name, part, main, demand_of(evaluation, part, main.metric))
        value = blocks.NOTHING
        if main is not None and row is not None:
            value = blocks.figure(main.value, main.interval, bound=row.bound)
        rows.append(
            [
                ("kind", KINDS_OF_GOLDEN.get(name, name)),
                (blocks.right("answers", leaves=blocks.COUNT + 1), f"{counts.total:,}"),
                (blocks.right("correct"), f"{counts.correct:,}"),
                (blocks.right("wrong"), f"{counts.wrong:,}"),
                (blocks.right("not judged", leaves=blocks.COUNT + 3), f"{counts.not_judged:,}"),
                ("main figure", "" if main is None else _MAIN_FIGURES.get(main.metric, main.metric)),
                (blocks.right(""), value),
                (blocks.interval_header(), blocks.NOTHING if row is None else row.interval),
                (blocks.Column("needs", leaves=blocks.COUNT + 2), "" if row is None else row.demand.needs),
                (blocks.Column("", leaves=blocks.COUNT + 2), "" if row is None else row.demand.result),
                (blocks.right("passage found", leaves=blocks.DIFFERENCE), found),
                (blocks.right("supported", leaves=blocks.DIFFERENCE), supported),
                (blocks.Column("by", leaves=blocks.BY), "" if row is None else row.by),
            ]
        )
    yield blocks.table(rows)
    for check in verdict_of(evaluation).checks:
        mains = {next(iter(part.metrics), "") for part in evaluation.runs}
        if check.metric not in mains and check.bound is not None:
            demand, value = Demand(check), blocks.measure(check.metric, check.value, bound=check.bound)
            of = "" if check.dataset is None else f"{check.dataset}: "
            yield blocks.aside(f"{of}{check.metric} {value}, needs {demand.needs}: ", demand.result)


def refusals_said(evaluation: Evaluation) -> str | None:
    """Say how many refusals of golden sets are correct, wrong and missed; ``None`` where there are none."""
    refusals = evaluation.answers.refusals
    if evaluation.kind != "golden" or not any(refusals.values()):
        return None
    return f"Refusals: {', '.join(f'{count:,} {name}' for name, count in refusals.items())}."


# Why samples have no score for a metric.


def not_scored_lines(evaluation: Evaluation) -> Iterator[str]:
    """Say what should have a score and has none: it failed, or the data lacks what it needs."""
    for name, part in evaluation.named_runs.items():
        of = f"{KINDS_OF_GOLDEN.get(name, name)}: " if len(evaluation.parts) > 1 else ""
        metrics: dict[Unscored, list[str]] = {}
        for metric, found in part.metrics.items():
            if metric == PASS_RATE:
                continue
            for each in found.reasons:
                is_lacking = each.reason == NO_CONTEXTS or not found.n_scored
                if each.status == "failed" or (is_lacking and evaluation.kind != "golden"):
                    metrics.setdefault(each, []).append(metric)
        for each, names in metrics.items():
            word = "failed" if each.status == "failed" else "not scored"
            yield f"{of}{each.count:,} {word}: {blocks.one_line(each.reason, 200)} ({', '.join(names)})"
        yield from (f"{of}{metric} is not measured: {reason}" for metric, reason in part.unmeasured.items())
    if evaluation.missing:
        names = [KINDS_OF_GOLDEN.get(name, name) for name in evaluation.missing]
        yield f"no {blocks.listed(names, 'or')} in this folder"


def unmeasured_lines(evaluation: Evaluation) -> list[str]:
    """Say which metrics failed wherever they apply; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in evaluation.not_measured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"nothing was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


# What was done by which method, for those who ask.


def _details(evaluation: Evaluation) -> blocks.Blocks:
    of = "{}: " if len(evaluation.parts) > 1 else ""
    shown = [(of.format(row.part) + row.metric, row) for row in list_figures(evaluation)]
    hang = 4 + min(max((len(name) for name, _ in shown), default=0), 40)
    for name, row in shown:
        head, each = row.run.head, row.figure
        version = head.metric_versions.get(each.metric)
        told = [f"{each.method}{f' {version}' if version else ''}", _counted(each)]
        if evaluation.kind == "golden":
            told.insert(0, f"{blocks.figure(each.value, each.interval)} {row.interval}")
        if each.interval is not None:
            seed = f", seed {head.seed}" if "ootstrap" in each.interval.method else ""
            told.append(f"interval: {each.interval.method}{seed}")
        yield blocks.Labelled(name, "; ".join(told), hang=hang)
    for name, part in evaluation.named_runs.items():
        if part.counts.origins:
            words = {"system": "from the agent", "dataset": "from the file"}
            origins = [f"{count:,} {words.get(each, each)}" for each, count in part.counts.origins.items()]
            yield blocks.Labelled(f"{of.format(name)}contexts", ", ".join(origins), hang=hang)
    moved = evaluation.regressions
    if moved is not None:
        tests = [f"answers: p {blocks.probability_text(moved.p_value)} (exact, mid-p, one way)"]
        tests += [
            f"{each.metric}: p {blocks.probability_text(each.p_adjusted)} (Holm)"
            for each in moved.metrics
            if each.p_adjusted is not None
        ]
        yield blocks.Labelled("tests", "; ".join(tests), hang=hang)
    if "traces" in evaluation.head.configuration and (told_of := steps_sentence(evaluation.rows)):
        yield blocks.Labelled("steps", told_of, hang=hang)
    if evaluation.kind == "golden":
        yield from _golden_details(evaluation)


def _counted(each: Figure) -> str:
    told = [f"{each.answers} {'scored' if each.judged is None else 'judged, the others not drawn'}"]
    told += [
        f"{reason.count:,} {'failed' if reason.status == 'failed' else 'not applicable'} "
        f"({blocks.one_line(reason.reason, 120)})"
        for reason in each.reasons
    ]
    return ", ".join(told)


def _golden_details(evaluation: Evaluation) -> blocks.Blocks:
    for split, reasons in unscored(evaluation).items() if evaluation.parts else ():
        for metric, reason in reasons.items():
            yield blocks.aside(f"{split}: {metric} has no score: {blocks.one_line(reason, 200)}")
    yield blocks.GAP
    yield blocks.table(_slice_rows(evaluation))


def _slice_rows(evaluation: Evaluation) -> Iterator[list[blocks.Cell]]:
    """Yield each slice of golden sets with the metric that its split is about, the first of it."""
    primary = {next(iter(part.metrics), "") for part in evaluation.runs}
    for kind, values in evaluation.slices.items():
        for value, figures in values.items():
            for each in figures.values():
                if each.metric in primary and each.n_scored:
                    yield [
                        ("slice", kind.replace("_", " ")),
                        (blocks.Column(flexible=True), value),
                        ("metric", each.metric),
                        (blocks.right("value"), blocks.figure(each.value, each.interval)),
                        (blocks.interval_header(), blocks.interval_text(each.interval, each.value)),
                        (blocks.right("answers", leaves=blocks.COUNT), f"{each.n_scored:,}"),
                    ]


# What is said of rows that are scored: what was read from which field, and what does not count.


def reading_of_run(evaluation: Evaluation) -> RowReading:
    """Return what was read of plain rows."""
    reading = RowReading.from_dict(evaluation.head.configuration.get("reading"))
    return RowReading("rows", {}) if reading is None else reading


def describe_reading(reading: RowReading) -> blocks.Blocks:
    """Add which field was taken for what, how many rows there are, and how to change it."""
    hang = len(reading.name) + 2
    first, second = _reading_lines(reading)
    yield blocks.prose(f"{reading.name}: {first}", hang=hang)
    yield blocks.prose(second, indent=hang, hang=hang)


def describe_format(name: str, format_: str, rows: int) -> blocks.Blocks:
    """Add whose format a file is read in, and how to change that."""
    unit, change = ("sample", "") if format_ == "traces" else ("row", "; change with --map answer=FIELD")
    told = f"{name}: read as {_TOOLS.get(format_, format_)}, {counted(rows, unit)}{change}"
    yield blocks.prose(told, hang=len(name) + 2)


def reading_sentences(evaluation: Evaluation) -> list[str]:
    """Say the same where there is no screen; nothing of what is no rows, or was told which field is what."""
    if "reading" not in evaluation.head.configuration:
        return []
    reading = reading_of_run(evaluation)
    first, second = _reading_lines(reading)
    return [f"{reading.name}: {first}; {second}"]


def _reading_lines(reading: RowReading) -> tuple[str, str]:
    """Say which field was taken for what, and what else is known of the rows."""
    fields = reading.fields
    first = ", ".join(f"{part} = {fields[part]}" for part in SHOWN if part in fields)
    told = [] if reading.rows is None else [counted(reading.rows, "row")]
    if reading.rows:
        if "answer" in fields and reading.answers != reading.rows:
            told.append(f"{_some(reading.answers, reading.rows)} with an answer")
        if "reference" in fields:
            told.append(f"{_some(reading.references, reading.rows)} with a reference")
    others = [part for part in fields if part not in (*SHOWN, "id")]
    told += [f"{_CALLED.get(part) or part.replace('_', ' ')} in {fields[part]}" for part in others]
    part = "answer" if "answer" in fields else "question"
    change = f'map={{"{part}": FIELD}}' if reading.in_memory else f"--map {part}=FIELD"
    asked = reading.unit_asked and f"not read: {reading.unit_asked}"
    return first, "; ".join(filter(None, (", ".join(told), asked, f"change with {change}")))


def _some(count: int | None, total: int) -> str:
    return "none" if not count else "all" if count == total else f"{count:,}"


def not_counted(evaluation: Evaluation) -> Iterator[str]:
    """Say which answers refuse, don't know or ask back, and from which metrics they are excluded."""
    reasons = {NOT_ANSWERED[kind]: words for kind, words in _NOT_COUNTED.items()}
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    metrics: dict[str, None] = {}
    counts: Mapping[str, int] = {
        each.reason: each.count for figure in evaluation.metrics.values() for each in figure.reasons
    }
    if not counts.keys() & reasons.keys() or evaluation.counts.total > MOST_UNSCORED:
        return
    for row in chain.from_iterable(map(unscored_rows, evaluation.runs)):
        found = {each.reason: each.metric for each in row.scores if each.reason in reasons}
        for reason, metric in found.items():
            names[reasons[str(reason)]].append(sample_name(row))
            metrics[metric] = None
    said = [f"{counted(len(each), *words)} ({names_listed(each)})" for words, each in names.items()]
    yield f"Excluded from {blocks.listed(list(metrics))}: {', '.join(said)}."


def caution(evaluation: Evaluation) -> str | None:
    """Say what figures by words can show; ``None`` if there are none."""
    if any(each.n_scored and blocks.by(each.method) == "words" for each in evaluation.metrics.values()):
        return "Word overlap finds additions and changed copies. For reworded errors, use --judge-model."
    return None


# What was run: the last lines before the way on.


def _runs(evaluation: Evaluation) -> blocks.Blocks:
    runs = evaluation.named_runs
    for name, part in runs.items():
        of = f"{name}: " if len(runs) > 1 else ""
        if of and part.counts.failed:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in part.counts.failures.items())
            lacking = blocks.part_of(part.counts.failed, part.counts.total, "answer", "is", "are")
            yield blocks.prose(f"{of}{lacking} missing ({kinds})", hang=2)
        for note in run_notes(part):
            yield blocks.prose(f"{of}note: {blocks.one_line(note, 1000)}", hang=2)
        shortfall = shortfall_of(part)
        if shortfall is not None and (len(runs) > 1 or verdict_of(evaluation).word != "incomplete"):
            yield blocks.prose(f"{of}{shortfall}", hang=2)
    if left := [name for name, part in evaluation.parts.items() if not part.is_begun]:
        yield blocks.prose(f"not begun: {', '.join(left)}", hang=2)
    for line in reliability_lines(evaluation):
        yield blocks.prose(line, hang=2)
    target = f", agent {blocks.one_line(evaluation.target)}" if evaluation.target else ""
    moved = evaluation.regressions
    against = "" if moved is None else f", compared with {blocks.one_line(moved.baseline)}"
    if len(runs) == 1:
        part = next(iter(runs.values()))
        if holds_rows(evaluation):
            if evaluation.kept is None:
                yield blocks.prose(f"kept as {part.head.run_id}{against}", hang=4)
            return
        said = f"run {part.head.run_id}{target}, dataset {blocks.one_line(part.name)}{against}"
        yield blocks.prose(blocks.Styled(said, blocks.DIM), hang=4)
    elif runs:
        kinds_of = KINDS_OF_GOLDEN if evaluation.kind == "golden" else {}
        named = ", ".join(
            f"{part.head.run_id} ({blocks.one_line(kinds_of.get(name, name))})" for name, part in runs.items()
        )
        yield blocks.prose(blocks.Styled(f"runs {named}{target}{against}", blocks.DIM), hang=5)


def reliability_lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield how reliably and how fast a live agent answered, and how it did in the baseline."""
    moved = evaluation.regressions
    now = _together([part.performance.figures.get(RELIABILITY) for part in evaluation.runs])
    before = (
        None if moved is None else _together([moved.reliability.get(each.name) for each in evaluation.runs])
    )
    if now is None:
        return
    of = " of the slowest dataset" if len(evaluation.runs) > 1 else ""
    for label, told in (("Requests", _requests), (f"Latency{of}", _latency)):
        yield f"{label}: {told(now)}" + ("." if before is None else f"; before: {told(before)}.")


def _together(found: Sequence[Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """Return figures of several datasets as those of one: the counts added up, the highest latencies."""
    known = [each for each in found if each is not None]
    if len(known) < 2:
        return known[0] if known else None
    names = ("answers", "requests", "failed", "retries", "retried_answers")
    summed: dict[str, Any] = {name: sum(each[name] for each in known) for name in names}
    summed["retry_rate"] = summed["retries"] / summed["requests"]
    summed["errors"] = sum((Counter(each["errors"]) for each in known), Counter())
    latencies = [each["latency_ms"] for each in known]
    summed["latency_ms"] = {name: max(each.get(name, 0.0) for each in latencies) for name in latencies[0]}
    return summed


def _requests(found: Mapping[str, Any]) -> str:
    retries, errors = found["retries"], [f"{count:,} {kind}" for kind, count in found["errors"].items()]
    told = f"{found['requests']:,}, {counted(retries, 'retry', 'retries')}"
    told += (
        f" ({100 * found['retry_rate']:.1f}%, {counted(found['retried_answers'], 'answer')})"
        if retries
        else ""
    )
    return f"{told}, {found['failed']:,} failed" + (f" (errors: {', '.join(errors)})" if errors else "")


def _latency(found: Mapping[str, Any]) -> str:
    names, latencies = {"p50": "median", "p95": "p95"}, found["latency_ms"].items()
    return ", ".join(f"{names[name]} {ms:,.0f} ms" for name, ms in latencies) or "unknown"


def run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes on a run: what was repaired, what could be neither read nor scored."""
    unread = [
        f"{counted(each.count, each.part.removesuffix('s'))} of {counted(each.samples, 'sample')} "
        f"could not be read: expected {EXPECTED[each.part]}"
        for each in evaluation.counts.unread
    ]
    return [*card_notes(evaluation), *evaluation.outcome.notes, *unread, *unmeasured_lines(evaluation)]


def named_run_notes(name: str, evaluation: Evaluation) -> list[str]:
    """Return the notes and, for a run that did not complete, how to resume it; each names its run.

    They are for reports that are read by others than those who ran it.
    """
    shortfall = shortfall_of(evaluation)
    notes = [*run_notes(evaluation), *([] if shortfall is None else [shortfall])]
    return [f"{name}, run {evaluation.head.run_id}: {note}" for note in notes]


def shortfall_of(evaluation: Evaluation) -> str | None:
    """Say why a run did not complete, and how to resume it; ``None`` of one that did."""
    outcome = evaluation.outcome
    if outcome.completed:
        return None
    return f"incomplete: {outcome.reason}; continue with --resume {evaluation.head.run_id}"


def _gate_switch(evaluation: Evaluation) -> str:
    """Say what switches the gate on that is off."""
    if "manifest" in evaluation.head.configuration:
        return "ciGate is not true"
    if evaluation.kind == "golden":
        return "--threshold, or ciGate in the configuration, switches it on"
    return "--threshold METRIC=NUMBER (in Python, gate={metric: bound}) switches it on"
