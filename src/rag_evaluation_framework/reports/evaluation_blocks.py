"""An evaluation as blocks: the verdict in a sentence, the answers behind it, the figures, and the way on.

And what all reports say of runs: notes, why there is no score, which field of plain rows was read as what.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import join, quote
from typing import Any, TypeAlias

from rag_evaluation_framework.datasets.row_fields import RowReading
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.agent_shapes import DEFAULT_PATH
from rag_evaluation_framework.evaluation.run import JUDGE
from rag_evaluation_framework.files.project_root import is_runs_directory
from rag_evaluation_framework.judging.verdict import CORRECT, PARTLY_CORRECT, WRONG, AnswerCounts
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.records.responses import EXPECTED
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.samples import RECORDED_ROWS
from rag_evaluation_framework.records.scores import NOT_ANSWERED
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.blocks import Headline, names_listed, one_line
from rag_evaluation_framework.reports.facts import (
    Demand,
    FigureRow,
    counts_sentence,
    demand_of,
    gated_rows,
    in_common,
    list_answers,
    list_figures,
    listed_cases,
    sample_name,
    steps_sentence,
    verdict_of,
    worse_cases,
)
from rag_evaluation_framework.reports.messages import verdict_sentences as say
from rag_evaluation_framework.reports.messages.run_sentences import (
    KINDS_OF_GOLDEN,
    caution,
    excluded_answers,
    gate_switch,
    latency_text,
    not_scored_lines,
    reading_lines,
    refusals_sentence,
    requests_text,
    shortfall_of,
    unmeasured_lines,
)
from rag_evaluation_framework.reports.system_blocks import describe_systems, systems_sentence
from rag_evaluation_framework.results.evaluations import Evaluation, unscored
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS
from rag_evaluation_framework.results.regressions import NOTHING_IN_COMMON
from rag_evaluation_framework.results.run_store import CELLS, in_runs, run_paths, short_id
from rag_evaluation_framework.results.summaries import RELIABILITY, Figure
from rag_evaluation_framework.results.verdicts import BASELINE, Regressions, Verdict, Word

MARKS = {
    "passed": "✓",
    "thresholds met": "",
    "failed": "✗",
    "undecided": "?",
    "not evaluated": "!",
    "incomplete": "…",
}

_FULL = "the disk is full"
_LONGEST_REASON = 48
_STOPS = {_FULL: _FULL, "the target cannot be reached": "rag-eval cannot connect to the agent"}
# Why a judge gave no verdict, by a part of the full reason.
_SILENCES = {"http-429": "quota exceeded", "http-40": "request rejected", "http-5": "server error"}
_SILENCES |= {"timeout": "timed out", "connect": "rag-eval cannot connect to it"}
_IMPORTED = re.compile(r"[\w.]+:[\w.]+")
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
    "deepeval": "a deepeval file",
    "inspect": "an inspect_ai file",
    "langfuse": "a Langfuse export",
    "langsmith": "a LangSmith export",
    "langsmith-export": "a LangSmith export",
    "openai-evals": "an OpenAI evals file",
    "phoenix": "a Phoenix export",
    "promptfoo": "a promptfoo file",
    "ragas": "ragas 0.2+",
    "ragas-0.1": "ragas 0.1",
    "squad-rows": "SQuAD (Hugging Face layout)",
    "traces": "traces in OTLP JSON",
}
"""Names of the formats of other tools."""


def describe_evaluation(
    evaluation: Evaluation,
    *,
    samples: bool = True,
    details: bool = False,
    everything: bool = False,
    reading: bool = True,
) -> blocks.Blocks:
    """Add the fields of rows, the verdict, the answers behind it, the figures, runs and next steps."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    if reading and holds_rows(evaluation):
        yield from describe_reading(reading_of_run(evaluation))
        yield blocks.GAP
    yield headline(evaluation)
    # Figures of a part of the answers decide nothing, and few answers show nothing.
    is_short = evaluation.verdict is not None and (
        verdict.word == "incomplete"
        or (verdict.word == "not evaluated" and moved is not None and moved.reason is not None)
    )
    if not is_short or details:
        if samples and evaluation.kind != "systems":
            yield blocks.GAP
            yield _answers(evaluation, everything=everything)
        yield blocks.GAP
        yield from _figures(evaluation)
        if details:
            yield blocks.GAP
            yield from _details(evaluation)
        yield blocks.GAP
    yield from _runs(evaluation)
    yield blocks.Steps(way_on(evaluation))


# The answers behind a verdict.


def _answers(evaluation: Evaluation, *, everything: bool) -> blocks.Answers:
    word, found = verdict_of(evaluation).word, listed_cases(evaluation, everything=everything)
    full, asked = _IN_FULL, _ASKED
    if found.moved is None and found.total <= _ALL_IN_FULL:
        full = _ALL_IN_FULL
    is_beside = word == "passed" or (evaluation.kind == "golden" and word == "no gate")
    if word == "undecided" if found.moved else is_beside:
        full, asked = 1, 0
    full = evaluation.counts.total if everything else full
    return list_answers(found.cases, full=full, asked=asked, total=found.total)


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
    for line in (*not_scored_lines(evaluation), refusals_sentence(evaluation), *of_rows):
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
        yield blocks.aside(f"No gate: {gate_switch(evaluation)}.")


def _figures_table(evaluation: Evaluation) -> blocks.Block:
    several, rows = len(evaluation.parts) > 1, list_figures(evaluation)
    decisive = [each for each in rows if each.demand.check or not verdict_of(evaluation).checks]
    summary = ", ".join(f"{each.metric} {each.value} {each.demand.status}".rstrip() for each in decisive[:6])
    found = [each.figure.interval.confidence for each in rows if each.figure.interval]
    interval = blocks.interval_header(found[-1] if found else 0.95)
    meant = blocks.Column("meaning", leaves=blocks.MEANING, joins=blocks.WIDEST)
    return blocks.table(
        (
            [
                (
                    blocks.Column("dataset", flexible=True, optional=True, once=True),
                    each.part if several else "",
                ),
                (blocks.Column("metric", flexible=True), each.metric),
                (blocks.right("value"), each.value),
                (blocks.Column("", leaves=blocks.BAR, joins=blocks.WIDEST, picture=True), _draw_bar(each)),
                (interval, each.interval),
                (blocks.Column("threshold", optional=True), each.demand.needs),
                (blocks.Column("result", optional=True), each.demand.result),
                (blocks.right("answers", leaves=blocks.COUNT), each.answers),
                (blocks.Column("method", leaves=blocks.BY), each.by),
                (meant, blocks.meaning(each.metric)),
            ]
            for each in rows
        ),
        summary=f"Figures: {summary}",
    )


def _draw_bar(row: FigureRow) -> blocks.Piece:
    known, value = known_metric(row.metric), row.figure.value
    if not known or not known.is_share or value is None:
        return ""
    style = blocks.BAD if row.demand.is_missed else ""
    return blocks.Bar(value, _BAR_CELLS, interval=row.figure.interval, limit=row.bound, style=style)


def _gated_table(evaluation: Evaluation) -> blocks.Block:
    several, rows = len(evaluation.parts) > 1, gated_rows(evaluation)
    return blocks.table(
        (
            [
                (blocks.Column("dataset", flexible=True, optional=True), each.of if several else ""),
                (blocks.Column("metric", flexible=True), each.metric),
                (blocks.right("before"), each.before),
                (blocks.right("now"), each.now),
                ("difference", blocks.aligned(each.difference)),
                (blocks.PICTURE, each.picture),
                ("change", each.finding),
                (blocks.Column("threshold", leaves=blocks.COUNT + 1), each.demand.needs),
                ("result", each.demand.result),
                (blocks.right("answers", leaves=blocks.COUNT), f"{each.moved.n:,}"),
                (blocks.Column("method", leaves=blocks.BY), each.by),
            ]
            for each in rows
        ),
        summary=f"Figures: {'; '.join(map(str, rows))}",
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
                ("main metric", "" if main is None else _MAIN_FIGURES.get(main.metric, main.metric)),
                (blocks.right("value"), value),
                (blocks.interval_header(), blocks.NOTHING if row is None else row.interval),
                (
                    blocks.Column("threshold", leaves=blocks.COUNT + 2),
                    "" if row is None else row.demand.needs,
                ),
                (blocks.Column("result", leaves=blocks.COUNT + 2), "" if row is None else row.demand.result),
                (blocks.right("passage recall", leaves=blocks.DIFFERENCE), found),
                (blocks.right("faithfulness", leaves=blocks.DIFFERENCE), supported),
                (blocks.Column("method", leaves=blocks.BY), "" if row is None else row.by),
            ]
        )
    yield blocks.table(rows)
    for check in verdict_of(evaluation).checks:
        mains = {next(iter(part.metrics), "") for part in evaluation.runs}
        if check.metric not in mains and check.bound is not None:
            demand, value = Demand(check), blocks.measure(check.metric, check.value, bound=check.bound)
            of = "" if check.dataset is None else f"{check.dataset}: "
            yield blocks.aside(f"{of}{check.metric} {value}, threshold {demand.needs}: ", demand.result)


# Why samples have no score for a metric.


# Methods, tests and counts, for --details.


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
        tests = [f"answers: p {blocks.probability_text(moved.p_value)} (exact, mid-p, one-sided)"]
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
    told = [f"{each.answers} {'scored' if each.judged is None else 'judged, the others not sampled'}"]
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
    first, second = reading_lines(reading)
    yield blocks.prose(first, hang=hang)
    yield blocks.prose(second, indent=hang, hang=hang)


def describe_format(name: str, format_: str, rows: int) -> blocks.Blocks:
    """Add whose format a file is read in, and how to change that."""
    unit, change = ("sample", "") if format_ == "traces" else ("row", "; change with --map answer=FIELD")
    told = f"{name}: read as {_TOOLS.get(format_, format_)}, {counted(rows, unit)}{change}"
    yield blocks.prose(told, hang=len(name) + 2)


def reading_sentences(evaluation: Evaluation) -> list[str]:
    """Return the lines on how rows were read, for use without a screen; empty if no reading is recorded."""
    return [*reading_lines(reading_of_run(evaluation))] if holds_rows(evaluation) else []


_MOST_NAMED = 1000


def not_counted(evaluation: Evaluation) -> Iterator[str]:
    """Yield a line on the answers that refuse, don't know or ask back, and the metrics that exclude them."""
    kinds = {reason: kind for kind, reason in NOT_ANSWERED.items()}
    names: dict[str, list[str]] = defaultdict(list)
    metrics: dict[str, None] = {}
    counts = {each.reason for figure in evaluation.metrics.values() for each in figure.reasons}
    if not counts & kinds.keys() or evaluation.counts.total > _MOST_NAMED:
        return
    for row in evaluation.rows:
        for reason, metric in {
            each.reason: each.metric for each in row.scores if each.reason in kinds
        }.items():
            names[kinds[str(reason)]].append(sample_name(row))
            metrics[metric] = None
    yield excluded_answers(metrics=list(metrics), names=names)


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
    if left := [name for name, part in evaluation.parts.items() if not part.has_started]:
        yield blocks.prose(f"not started: {', '.join(left)}", hang=2)
    for line in reliability_lines(evaluation):
        yield blocks.prose(line, hang=2)
    target = f", agent {blocks.one_line(evaluation.target)}" if evaluation.target else ""
    moved = evaluation.regressions
    against = "" if moved is None else f", baseline {blocks.one_line(moved.baseline)}"
    if len(runs) == 1:
        part = next(iter(runs.values()))
        if holds_rows(evaluation):
            if evaluation.kept is None:
                yield blocks.prose(f"saved as {part.head.run_id}{against}", hang=4)
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
    for label, told in (("Requests", requests_text), (f"Latency{of}", latency_text)):
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


# The verdict in words, which agrees with the exit code everywhere.


def headline(evaluation: Evaluation) -> Headline:
    """Return the headline of an evaluation: of several situations the first, and the others as lines."""
    verdict = verdict_of(evaluation)
    said = [*_SITUATIONS[verdict.word](evaluation, verdict)]
    first, *others = said or [f"{reason}." for reason in verdict.reasons]
    comparison = evaluation.comparison
    if evaluation.kind == "systems" and verdict.word == "no gate" and comparison and comparison.metrics:
        first = systems_sentence(comparison)
    lines = dict.fromkeys([*others, *_more_lines(evaluation, verdict)])
    if verdict.word == "no gate":
        return Headline("", "", first if comparison else f"{first[0].upper()}{first[1:]}", tuple(lines))
    return Headline(MARKS[verdict.word], verdict.word.upper(), first, tuple(lines))


# The situations of each verdict, in the order in which they become its headline.


def _failed(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    answers, moved = evaluation.answers, evaluation.regressions
    missed = {each.metric: each for each in verdict.checks if each.fails and each.is_of_grade}
    if verdict.n_errors > verdict.max_errors:
        yield _agent_failed(evaluation)
    if moved is not None and any(each.metric == BASELINE and each.fails for each in verdict.checks):
        yield _became_wrong(moved) if moved.worse and answers.total else f"{say.moved_sentence(moved)}."
    is_told = verdict.n_errors > verdict.max_errors and answers.wrong == answers.unanswered
    if answers.wrong and not is_told and (CORRECT in missed or WRONG in missed or verdict.n_uncovered):
        is_told = True
        yield _wrong(answers)
    check = missed.get(CORRECT) or missed.get(PARTLY_CORRECT)
    if check is not None and (answers.partly_correct or not answers.wrong):
        correct, partly = answers.correct, answers.partly_correct
        yield say.too_few_correct(
            correct=correct, total=answers.total, partly=partly, gate=say.demand_text(check)
        )
    means = [each for each in verdict.checks if each.fails and not each.is_of_grade]
    several = len(evaluation.runs) > 1
    for number, check in enumerate(each for each in means if each.metric != BASELINE):
        wrong = answers.wrong if answers.judged and not (number or is_told) else None
        yield say.missed_sentence(check, several=several, wrong=wrong)
    errors = counted(verdict.n_errors, "request")
    yield from (f"{rule}." for rule in verdict.broken_rules if not rule.startswith(errors))


def _not_evaluated(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    answers, moved = evaluation.answers, evaluation.regressions
    opened = [check for check in verdict.checks if check.is_open]
    is_of_grade = any(check.is_of_grade for check in opened)
    if is_of_grade and answers.without_verdict:
        yield _judge_failed(evaluation)
    if moved is not None and any(check.metric == BASELINE for check in opened):
        is_other = moved.reason in (OTHER_QUESTIONS, NOTHING_IN_COMMON)
        yield say.other_questions() if is_other else f"{moved.reason}."
    if is_of_grade and answers.without_truth and answers.without_truth + answers.unanswered == answers.total:
        yield say.nothing_to_judge_by()
    yield from (f"{each}." for each in say.open_reasons(verdict))


def _judge_failed(evaluation: Evaluation) -> str:
    """Say how many answers the judge left open, with the most frequent reason for which scores failed."""
    figures = (figure for part in evaluation.runs for figure in part.metrics.values())
    failed = [each for figure in figures for each in figure.reasons if each.status == "failed"]
    why = max(failed, key=lambda each: each.count, default=None)
    full = "" if why is None else why.reason.removeprefix("no verdict: ")
    short = next((name for sign, name in _SILENCES.items() if sign in full), full)
    answers = evaluation.answers
    return say.judge_failed(silent=answers.without_verdict, asked=answers.asked_of_judge, reason=short)


def _no_longer_confirmed(moved: Regressions) -> str:
    count, were_judged = len(moved.unconfirmed), moved.were_judged
    return say.no_longer_confirmed(count=count, baseline=say.name_baseline(moved), were_judged=were_judged)


def _undecided(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    answers, moved = evaluation.answers, evaluation.regressions
    opened = [check for check in verdict.checks if check.is_undecided]
    if any(check.is_of_grade for check in opened) and answers.off_topic and not answers.judged:
        yield say.off_topic(count=answers.off_topic, total=answers.total)
    if moved is not None and any(check.metric == BASELINE for check in opened):
        yield _no_longer_confirmed(moved) if moved.unconfirmed else f"{say.moved_sentence(moved)}."
    if any(check.is_of_grade for check in opened):
        yield say.too_many_unjudged(unjudged=answers.not_judged, total=answers.total, wrong=answers.wrong)
        if answers.without_truth:
            missing = counted(answers.without_truth, "question has", "questions have")
            yield f"Add expected answers: {missing} none."


def _passed(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    answers, moved = evaluation.answers, evaluation.regressions
    limits = {each.metric: each for each in verdict.checks if each.is_of_grade}
    covering = limits.get(WRONG) or limits.get(CORRECT)
    if answers.wrong and covering is not None:
        gate = f"{say.demand_text(covering)}{' correct' if covering.metric == CORRECT else ''}"
        yield say.wrong_allowed(wrong=answers.wrong, total=answers.total, gate=gate)
    if moved is not None and not moved.worse:
        yield _none_got_worse(moved)
    elif moved is not None:
        yield _became_wrong(moved, allowed=verdict.max_regressions)
    if answers.total and answers.correct == answers.total:
        yield say.all_correct(total=answers.total)
    elif answers.total and not answers.judged:
        yield say.correctness_not_judged(total=answers.total)
    elif answers.correct < answers.total - answers.wrong:
        counts = {"partly": answers.partly_correct, "unjudged": answers.not_judged}
        yield say.few_unjudged(correct=answers.correct, total=answers.total, **counts)
    if not answers.total and verdict.checks:
        yield "every threshold is met."


def _thresholds_met(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    yield say.wrong_uncovered(wrong=evaluation.answers.wrong, total=evaluation.answers.total)
    yield "To fail on wrong answers, add `wrong: {max: 0}` to the thresholds."
    if (moved := evaluation.regressions) is not None:
        line = (
            _became_wrong(moved, allowed=verdict.max_regressions) if moved.worse else _none_got_worse(moved)
        )
        yield f"{line[0].upper()}{line[1:]}"


def _incomplete(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    counts, reason = evaluation.counts, evaluation.outcome.reason
    short = next((name for start, name in _STOPS.items() if (reason or "").startswith(start)), reason)
    short = short if short and len(short) <= _LONGEST_REASON else None
    yield say.incomplete(answered=counts.finished, total=counts.total, reason=short)
    if reason and short != reason:
        yield f"{reason[0].upper()}{one_line(reason[1:], 300).rstrip('.')}."
    kept = "Finished answers are saved and will not be requested again. " if counts.finished else ""
    yield f"{kept}No verdict (exit {verdict.exit_code})."


def _without_gate(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    answers, counts = evaluation.answers, evaluation.counts
    if not answers.total:
        yield f"{counted(counts.finished, 'question was', 'questions were')} evaluated."
    elif answers.without_verdict and not answers.judged:
        yield _judge_failed(evaluation)
    elif answers.off_topic and not answers.judged:
        yield say.off_topic(count=answers.off_topic, total=answers.total)
    elif not answers.judged and not answers.flagged and not answers.looks_wrong and holds_rows(evaluation):
        yield say.no_problems(total=answers.total, unjudged=answers.not_judged)
    elif answers.looks_wrong and not answers.judged:
        yield say.nothing_judged(total=answers.total)
    elif answers.judged or not holds_rows(evaluation):
        unsure = {"partly": answers.partly_correct, "unjudged": answers.not_judged}
        yield say.without_gate(correct=answers.correct, wrong=answers.wrong, **unsure)
    if answers.flagged and holds_rows(evaluation):
        yield say.flagged_answers(flagged=answers.flagged, total=answers.total)
    if evaluation.head.configuration.get("blame") is False:
        yield "Causes were not diagnosed (--no-blame)."
    if counts.failed:
        yield _agent_failed(evaluation)


_SITUATIONS: Mapping[Word, Callable[[Evaluation, Verdict], Iterator[str]]] = {
    "failed": _failed,
    "not evaluated": _not_evaluated,
    "undecided": _undecided,
    "passed": _passed,
    "thresholds met": _thresholds_met,
    "incomplete": _incomplete,
    "no gate": _without_gate,
}


def _became_wrong(moved: Regressions, *, allowed: int = 0) -> str:
    worse, partly = len(moved.worse), len(moved.partly_before.intersection(moved.worse))
    again = moved.was_asked_again
    return say.became_wrong(
        worse=worse, baseline=say.name_baseline(moved), partly=partly, is_confirmed=again, allowed=allowed
    )


def _none_got_worse(moved: Regressions) -> str:
    unsure = len(moved.partly) + len(moved.unconfirmed)
    better, unstable = len(moved.better), len(moved.unstable)
    return say.none_got_worse(
        baseline=say.name_baseline(moved), better=better, unstable=unstable, unsure=unsure
    )


def _wrong(answers: AnswerCounts) -> str:
    if answers.wrong == answers.missed_refusals:
        return say.refusals_missed(missed=answers.missed_refusals, expected=answers.refusals_expected)
    within = answers.conversations if answers.conversations == answers.questions else 0
    return say.some_wrong(wrong=answers.wrong, total=answers.total, kinds=answers.kinds, conversations=within)


def _agent_failed(evaluation: Evaluation) -> str:
    kinds: Counter[str] = Counter()
    for part in evaluation.runs:
        kinds.update(part.counts.failures)
    counts = evaluation.counts
    noun = "request" if any(part.head.repeats > 1 for part in evaluation.runs) else "question"
    return say.agent_failed(
        failed=counts.failed, total=counts.finished, kinds=dict(kinds.most_common()), noun=noun
    )


def holds_rows(evaluation: Evaluation) -> bool:
    """Return True if the answers are somebody's rows, which nobody was asked for."""
    return "reading" in evaluation.head.configuration


def _more_lines(evaluation: Evaluation, verdict: Verdict) -> Iterator[str]:
    """Yield what stands below the sentences: what the gate read, what was compared, waived or left out."""
    moved = evaluation.regressions
    if verdict.word in ("incomplete", "no gate"):
        return
    yield from (say.limit_sentence(check) for check in verdict.checks if check.held == "answers" and check.of)
    if verdict.word in ("failed", "undecided"):
        yield from (f"{each}." for each in say.open_reasons(verdict))
    if moved is not None and moved.word == "worse":
        yield from filter(None, [in_common([each.row for each in worse_cases(evaluation)])])
    elif moved is not None and moved.unconfirmed and verdict.word == "failed":
        yield _no_longer_confirmed(moved)
    elif moved is not None and moved.paired and verdict.word in ("failed", "not evaluated"):
        yield f"Compared with {one_line(moved.baseline)}: {say.moved_sentence(moved)}."
    if verdict.word == "undecided":
        yield f"UNDECIDED exits with {verdict.exit_code}" + (
            ". To pass, use --on-undecided pass." if verdict.exit_code else " because of --on-undecided pass."
        )
    yield from say.excused_sentences(verdict)
    yield from _not_compared(evaluation, moved)


def _names_of(evaluation: Evaluation, samples: Iterable[tuple[str, str]]) -> str:
    """List samples by what people call them."""
    wanted = set(samples)
    rows = ((part.name, row) for part in evaluation.runs for row in part.rows)
    return names_listed([sample_name(row) for name, row in rows if (name, row.id) in wanted])


def _not_compared(evaluation: Evaluation, moved: Regressions | None) -> Iterator[str]:
    if moved is None:
        return
    if moved.reason in (None, OTHER_QUESTIONS) and (moved.new or moved.gone):
        new, gone = counted(moved.new, "question is", "questions are"), moved.gone
        baseline, were = say.name_baseline(moved), "was" if gone == 1 else "were"
        yield f"{new} new since {baseline}; {gone:,} of its questions {were} not asked."
    if moved.unstable:
        yield f"Unstable, sometimes worse than before: {_names_of(evaluation, moved.unstable)}."
    if moved.unconfirmed and moved.word != "undecided":
        yield f"No longer confirmed: {_names_of(evaluation, moved.unconfirmed)}."
    if moved.was_asked_again:
        yield f"Asked again: {counted(moved.asked_again, 'answer')}."
    if moved.edited:
        yield f"Edited since {say.name_baseline(moved)}: {names_listed([name for _, name in moved.edited])}."
    if moved.left_out:
        names = names_listed([name for _, name in moved.left_out])
        left_out = counted(len(moved.left_out), "question")
        yield f"{left_out} left out by --sample-size, --tag or --dataset: {names}"
    if moved.notice is not None:
        yield moved.notice


def way_on(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield what can be done now, a command or a sentence, and what for."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    run, runs_option = _named(evaluation)
    if verdict.word == "not evaluated":
        names = dict.fromkeys(check.metric for check in verdict.checks if check.is_open)
        waiving = f"add {' '.join(f'--waive {name}' for name in names)}" if names else ""
        if moved is not None and BASELINE in names:
            is_other = moved.reason in (OTHER_QUESTIONS, NOTHING_IN_COMMON)
            first = "remove --sample-size" if moved.left_out else "save a new baseline"
            yield (f"{first}, or skip this check with --waive {BASELINE}" if is_other else waiving), ""
        elif waiving:
            yield f"{waiving} to pass without", ""
    elif (limits := _accepting(evaluation, verdict)) is not None:
        yield limits, "accept the wrong answers for now, as thresholds of the manifest"
        yield f"rag-eval show {run} --failed{runs_option}", "inspect the wrong answers"
    elif not _is_saved(evaluation):
        return
    elif verdict.word == "incomplete":
        yield from _continued(evaluation)
    elif verdict.word in ("passed", "thresholds met") and moved is None:
        yield from _inspecting(evaluation)
        if (command := _asking_again(evaluation)) is not None:
            yield f"{command} --baseline {run}{runs_option}", "compare the next version with this one"
    elif moved is not None and moved.word == "worse":
        yield (
            f"rag-eval compare {_short(moved.baseline, evaluation)} {run}{runs_option}",
            f"compare the {counted(len(moved.worse), 'answer')} that became wrong",
        )
    elif verdict.word in ("failed", "undecided"):
        yield from _inspecting(evaluation)
    elif verdict.word == "no gate" and holds_rows(evaluation):
        answers = evaluation.answers
        if answers.failed:
            yield from _inspecting(evaluation)
        else:
            yield f"rag-eval show {run}{runs_option}", "show all answers with their retrieved passages"
        yield f"rag-eval report {run}{runs_option}", "write an HTML report"
    elif verdict.word == "no gate":
        yield from _inspecting(evaluation)


def _accepting(evaluation: Evaluation, verdict: Verdict) -> str | None:
    """Return the thresholds that accept the wrong answers of a first run; ``None`` of any other run."""
    answers, checks = evaluation.answers, {each.metric: each for each in verdict.checks if each.fails}
    runs = {part.folder for part in evaluation.runs}
    earlier = {each for path in runs if path is not None for each in run_paths(path.parent)} - runs
    is_first = evaluation.regressions is None and not earlier
    if not answers.wrong or checks.keys().isdisjoint((CORRECT, WRONG)) or not is_first:
        return None
    share = f"{CORRECT}: {{min: {100 * answers.correct // answers.total}%}}, " if CORRECT in checks else ""
    return f"{share}{WRONG}: {{max: {answers.wrong}}}"


def _inspecting(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield the command that shows the answers that failed, else those that were not judged."""
    (run, runs_option), counts = _named(evaluation), evaluation.answers
    if counts.failed:
        grades = {"wrong": counts.wrong, "partly correct": counts.partly_correct}
        kind = " or ".join(grade for grade, count in grades.items() if count)
        purpose = f"inspect the {counted(counts.failed, f'{kind} answer')}"
        yield f"rag-eval show {run} --failed{runs_option}", purpose
    elif counts.not_judged:
        purpose = f"inspect the {counted(counts.not_judged, 'unjudged answer')}"
        yield f"rag-eval show {run} --not-judged{runs_option}", purpose


def _named(evaluation: Evaluation) -> tuple[str, str]:
    """Return what a command calls an evaluation: its run, and the option that says where runs are kept."""
    folder = evaluation.folder or next((part.folder for part in evaluation.runs if part.folder), None)
    if folder is None:
        return evaluation.head.run_id, ""
    return short_id(folder), in_runs(folder.parent)


def _asking_again(evaluation: Evaluation) -> str | None:
    """Return the command that asks everything anew; ``None`` if no command began the run."""
    head = next((part.head for part in evaluation.runs), evaluation.head)
    selection = head.configuration.get("selection")
    words = _golden if "golden" in head.configuration else _evaluate
    if not isinstance(selection, Mapping) or not {"golden", "manifest"} & head.configuration.keys():
        return None
    chosen = ["--allow-missing"] if words is _evaluate and selection.get("allow_missing") else []
    part = "--split" if words is _golden else "--dataset"
    for name, option in (("datasets", part), ("metrics", "-m"), ("tags", "--tag")):
        chosen += [f"{option} {quote(str(each))}" for each in selection.get(name) or ()]
    if selection.get("sample_size"):
        chosen.append(f"--sample-size {selection['sample_size']}")
    return " ".join([_addressed(" ".join(words(head)), evaluation.target), *chosen, *_judges(head)])


def _addressed(command: str, target: str | None) -> str:
    """Return a command with the address as it was given, where the head of a run does not tell it."""
    is_known = target is not None and target.startswith("http") and target.isprintable()
    return command.replace("--url URL", f"--url {quote(str(target))}") if is_known else command


def _continued(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield the command that continues a run, with the address and the id as they are."""
    ended = ((part, part.outcome) for part in evaluation.runs)
    part = next((part for part, end in ended if end.interrupted or not end.completed), None)
    if part is None or part.folder is None:
        return
    command = resuming_command(part.head, part.folder)
    target = evaluation.target or part.target
    if command is not None:
        command, reason = _addressed(command, target), part.outcome.reason or ""
        if "--max-cost" in reason:  # a higher one, which only the reader knows
            command = re.sub(r"--max-cost \S+", "--max-cost USD", command)
        named = f"--resume {part.head.run_id}"
        is_full = reason.startswith(_FULL)
        purpose = "when there is room on the disk" if is_full else ""
        yield command.replace(named, f"--resume {short_id(part.folder)}"), purpose


def _short(run_id: str, evaluation: Evaluation) -> str:
    """Return the shortest end of a run's id, if the run is kept beside the evaluation."""
    path = None if evaluation.folder is None else evaluation.folder.parent / run_id
    return short_id(path) if path is not None and path.is_dir() else one_line(run_id)


def _is_saved(evaluation: Evaluation) -> bool:
    folder = evaluation.folder or next((part.folder for part in evaluation.runs), None)
    return evaluation.kept is None and folder is not None


# The command that goes on with a run: the one that began it, with what its head tells of the arguments.
#
# What the head does not tell, as where the documents are, stands in capitals as in the command's help.

_Words: TypeAlias = Callable[[RunHead], Iterator[str]]


def resuming_command(head: RunHead, path: Path) -> str | None:
    """Return the command that goes on with the run in this folder; ``None`` if no command began it."""
    words = next((words for kind, words in _COMMANDS.items() if kind in head.configuration), None)
    if words is None:
        return None
    if words is _evaluate and head.target == RECORDED_ROWS:
        words = partial(_evaluate, command="score")
    run = head.run_id if is_runs_directory(path.parent) else str(path)
    options = [quote(str(each)) for each in head.parameters.get("options") or ()]
    told = [each for each in (*words(head), *_judges(head)) if each.split()[0] not in options]
    return " ".join([*told, *options, "--resume", quote(run)])


def _golden(head: RunHead) -> Iterator[str]:
    yield f"rag-eval golden {quote(str(head.configuration['golden']))}"
    yield _target(head)
    if head.configuration.get("history") == "reference":
        yield "--history reference"


def _evaluate(head: RunHead, *, command: str = "evaluate") -> Iterator[str]:
    named = head.configuration.get("manifest") or head.configuration.get("dataset_path") or "MANIFEST"
    yield f"rag-eval {command} {quote(str(named))}"
    yield from (_target(head),) if command == "evaluate" else ()


def _with_arguments(head: RunHead, command: str, usual: str) -> Iterator[str]:
    given = head.configuration.get("arguments")
    yield f"rag-eval {command} {join(map(str, given)) if isinstance(given, list) else usual}"


def _evaluate_models(head: RunHead) -> Iterator[str]:
    yield "python scripts/evaluate_models.py"
    yield f"--base-url {quote(str(head.configuration.get('base_url', 'URL')))}"


# By the field that only heads of this kind have; those of golden sets and of models have what those of
# manifests have too.
_COMMANDS: Mapping[str, _Words] = {
    "golden": _golden,
    "models": _evaluate_models,
    "selection": _evaluate,
    "generation": lambda head: _with_arguments(
        head, "generate", f"CORPUS -o FILE --model {quote(str(head.target))}"
    ),
    CELLS: partial(_with_arguments, command="retrieval", usual="CORPUS"),
}


def _target(head: RunHead) -> str:
    """Return the option that names the target again, as far as its own name tells what was given."""
    name = str(head.target)
    if name.startswith(("http://", "https://")):
        address = name.removesuffix(DEFAULT_PATH)
        return f"--url {quote(address) if address != name and address.isprintable() else 'URL'}"
    is_told = _IMPORTED.fullmatch(name) or Path(name).is_file()
    return f"--target {quote(name) if is_told and name.isprintable() else 'TARGET'}"


def _judges(head: RunHead) -> Iterator[str]:
    cap, prices = (head.parameters.get(name) for name in ("max_cost_usd", "prices_usd_per_million_tokens"))
    for judge in head.configuration.get(JUDGE) or ():
        model = str(judge["model"] if isinstance(judge, Mapping) else judge)
        if cap is not None and (price := (prices or {}).get(model)):
            amounts = f"price_input={price['input']:g}, price_output={price['output']:g}"
            name = model if model.replace("-", "").replace(".", "").isalnum() else repr(model)
            model = f"openai(model={name}, {amounts})"
        yield f"--judge-model {quote(model)}"
    if cap is not None:
        yield "--max-cost USD"


def card_notes(evaluation: Evaluation) -> list[str]:
    """Return what the card of the judge says of it, where it had one."""
    card = evaluation.head.configuration.get("judge_card")
    return [] if card is None else [str(card)]
