"""An Evaluation or Comparison as text, and what all reports say of samples, notes and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.preflight import Plan
from rag_evaluation_framework.evaluation.suites import unscored
from rag_evaluation_framework.evaluation.systems import RULES
from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.records.responses import EXPECTED
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.compared_answers import show_comparison
from rag_evaluation_framework.reports.screen import Screen
from rag_evaluation_framework.reports.tables import (
    comparisons_text,
    figure,
    interval_header,
    interval_text,
    one_line,
    ranking_text,
    shown_figures,
    sweep_text,
    text_table,
)
from rag_evaluation_framework.reports.verdict_lines import (
    explanation,
    headline,
    moved_cells,
    sample_name,
    way_on,
    worse_lines,
)
from rag_evaluation_framework.results.breakdowns import BlameShare, BlameSummary, Refusals, RefusalTable
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_folder import CELLS
from rag_evaluation_framework.results.summaries import Unscored
from rag_evaluation_framework.results.verdicts import Verdict
from rag_evaluation_framework.statistics.intervals import Interval

# Where answers fail, as a block of text for a terminal and as the cells of a table for other reports.

_WORDS = {
    "ok": "right",
    "retrieval_missed": "relevant text not retrieved",
    "not_used": "retrieved but not used",
    "contradicted": "used but contradicted",
    "invented": "invented: in nothing that was retrieved",
    "wrong_citation": "right answer, wrong citation",
    "refused_wrongly": "declined although it was retrieved",
    "answered_wrongly": "answered where it should decline",
}
_LISTED_REASONS = 3
_LISTED_WORDS = 6


def blame_title(summary: BlameSummary) -> str:
    """Name the method, and say for how many answers it is known where they fail."""
    return f"where it fails ({summary.method}): {summary.told:,} of {counted(summary.total, 'answer')}"


def blame_cells(summary: BlameSummary) -> tuple[list[str], list[list[str]]]:
    """Return the headers and a row for each kind that occurs; no rows if no kind is known."""
    shown = [share for share in summary.shares if share.kind != "unknown" and share.count]
    interval = next((share.interval for share in shown), None)
    confidence = 0.95 if interval is None else interval.confidence
    headers = ["", "part", "answers", "share", interval_header(confidence)]
    return headers, [_row(share) for share in shown]


def untold_blame(summary: BlameSummary) -> str | None:
    """Say for how many answers the kind is unknown, and what is missing; ``None`` if it is known for all."""
    unknown = summary.total - summary.told
    if not unknown:
        return None
    reasons = list(summary.unknown_because.items())
    listed = "; ".join(f"{one_line(why)} ({count:,})" for why, count in reasons[:_LISTED_REASONS])
    more = "; …" if len(reasons) > _LISTED_REASONS else ""
    return f"cannot be told for {unknown:,}: {listed}{more}"


def blame_text(summary: BlameSummary) -> str:
    """Render the counts and shares of each kind, and what is missing where the kind is unknown."""
    headers, rows = blame_cells(summary)
    table = text_table(headers, rows, align="<<>>>") if rows else None
    return "\n\n".join(filter(None, [blame_title(summary), table, untold_blame(summary)]))


def _row(share: BlameShare) -> list[str]:
    return [
        _WORDS[share.kind],
        "" if share.part == "neither" else share.part,
        f"{share.count:,}",
        *_share(share.share, share.interval),
    ]


# What should be declined against what was: the cells of one table for a terminal and for Markdown.


def refusal_cells(table: RefusalTable) -> tuple[list[str], list[list[str]]]:
    """Return the headers and the rows: the two-by-two table, then over-refusal split by split."""
    rows = [
        ["should refuse", *_counts(table.should_refuse)],
        ["should answer", *_counts(table.should_answer)],
        *([f"  {name}", *_counts(counts)] for name, counts in table.by_split.items()),
    ]
    headers = [f"refusals ({', '.join(table.methods)})", "refused", "answered", "refused", "95% interval"]
    return headers, rows


def _counts(counts: Refusals) -> list[str]:
    return [f"{counts.refused:,}", f"{counts.answered:,}", *_share(counts.rate, counts.interval)]


def _share(share: float | None, interval: Interval | None) -> tuple[str, str]:
    ends = "–" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
    return "–" if share is None else f"{share:.1%}", ends


_LISTED_SAMPLES, _LISTED_OF_A_SPLIT = 5, 3
_LISTED_CLAIMS = 3
_PART = {"datasets": "dataset", "splits": "split", "systems": "system"}


def render(
    thing: Evaluation | Comparison,
    *,
    samples: bool = True,
    rows: bool = False,
    screen: Screen | None = None,
    details: bool = False,
    everything: bool = False,
    slice_by: str | None = None,
    short: bool = False,
) -> str:
    """Render an evaluation with its parts, or a comparison on a ``screen``, by default of 100 columns.

    ``samples`` lists what does not pass, ``rows`` every query of ranked runs. A comparison has the tests with
    ``details``, each answer that changed with ``everything``, the groups it is ``slice_by``, or is ``short``.
    """
    if isinstance(thing, Comparison):
        screen = screen or Screen()
        wish = {"details": details, "everything": everything, "short": short}
        show_comparison(screen, thing, slice_by=slice_by, **wish)
        return str(screen)
    if CELLS in thing.head.configuration:
        return sweep_text(thing)
    if thing.kind == "systems" and RULES in thing.head.configuration:
        return ranking_text(thing, rows=rows)
    return "\n\n".join(_sections(thing, samples=samples))


def _sections(evaluation: Evaluation, *, samples: bool) -> Iterator[str]:
    yield "\n".join([headline(evaluation), *(f"  {line}" for line in explanation(evaluation))])
    if worse := list(worse_lines(evaluation)):
        yield "\n".join(["got worse:", *worse])
    yield "\n".join(_heads(evaluation))
    yield _figures(evaluation)
    if lines := list(_not_scored(evaluation)):
        yield "\n".join(["not scored:", *lines])
    if evaluation.refusals is not None and evaluation.refusals.methods:
        headers, rows = refusal_cells(evaluation.refusals)
        yield text_table(headers, rows, align="<>>>>")
    if evaluation.kind == "golden" and (rows := list(_slice_rows(evaluation))):
        headers = ["slice", "", "metric", "mean", "95% interval", "scored"]
        yield text_table(headers, rows, align="<<<>>>")
    if evaluation.blame is not None and evaluation.blame.told:
        yield blame_text(evaluation.blame)
    if samples and evaluation.kind != "systems":
        yield from _samples(evaluation)
    if evaluation.comparison is not None and evaluation.comparison.metrics:
        yield _comparison(evaluation.comparison)
    if evaluation.warnings:
        yield "\n".join(f"warning: {one_line(warning, 400)}" for warning in evaluation.warnings)
    yield from _gate(evaluation)
    if lines := list(way_on(evaluation)):
        yield "\n".join(f"{'next:' if not place else '     '} {line}" for place, line in enumerate(lines))


def _slice_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    """Yield each slice of golden sets with the metric that its split is about, the first of it."""
    primary = {next(iter(part.metrics), "") for part in evaluation.runs}
    for kind, values in evaluation.slices.items():
        for value, figures in values.items():
            for each in figures.values():
                if each.metric in primary and each.n_scored:
                    mean, ends = figure(each.value), interval_text(each.interval)
                    yield [
                        kind.replace("_", " "),
                        one_line(value),
                        each.metric,
                        mean,
                        ends,
                        f"{each.n_scored:,}",
                    ]


def _heads(evaluation: Evaluation) -> Iterator[str]:
    for name, part in evaluation.named_runs.items():
        counts = part.counts
        finished = f"{counts.finished:,} of {counted(counts.total, 'sample')}"
        line = f"{one_line(name)}: {finished}"
        if counts.failures:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.failures.items())
            line += f", {counts.failed:,} of them without an answer ({kinds})"
        line += f", {counts.errors:,} with errors" if counts.errors > counts.failed else ""
        yield f"{line} (run {part.head.run_id})"
        if counts.origins:
            origins = ", ".join(f"{count:,} the {origin}'s" for origin, count in counts.origins.items())
            yield f"  contexts: {origins}"
        yield from (f"  note: {note}" for note in run_notes(part))
        if shortfall := shortfall_of(part):
            yield f"  {shortfall}"
    if left := [name for name, part in evaluation.parts.items() if not part.is_begun]:
        yield f"not begun: {', '.join(left)}"
    if evaluation.missing:
        yield f"not there: {', '.join(evaluation.missing)}"


def _figures(evaluation: Evaluation) -> str:
    several = len(evaluation.parts) > 1 or evaluation.kind in ("golden", "systems")
    part = _PART.get(evaluation.parts_are or "", "")
    rows = [
        [
            *([name] if several else []),
            each.metric,
            each.method,
            figure(each.value),
            interval_text(each.interval),
            f"{each.n_scored:,}",
            f"{each.n_skipped:,}",
            f"{each.n_failed:,}",
        ]
        for name, of_part in evaluation.named_runs.items()
        for each in shown_figures(of_part)
        if evaluation.kind != "golden" or each.n_scored or each.n_failed
    ]
    headers = [*([part] if several else []), "metric", "method", "mean", interval_header(0.95)]
    headers += ["scored", "skipped", "failed"]
    return text_table(headers, rows, align=("<" if several else "") + "<<>>>>>")


def _not_scored(evaluation: Evaluation) -> Iterator[str]:
    """Yield why samples have no score; of golden sets, which metrics have none at all."""
    if evaluation.kind == "golden" and evaluation.parts:
        for split, reasons in unscored(evaluation).items():
            for metric, reason in reasons.items():
                yield f"  {split}: {metric} has no score: {one_line(reason, 200)}"
        return
    for name, part in evaluation.named_runs.items():
        of = f"{one_line(name)}: " if evaluation.kind == "systems" else ""
        yield from (f"  {of}{line.strip()}" for line in unscored_lines(part))


def _samples(evaluation: Evaluation) -> Iterator[str]:
    limit = _LISTED_OF_A_SPLIT if evaluation.kind == "golden" else _LISTED_SAMPLES
    for name, part in evaluation.named_runs.items():
        title = f"{name}, " if len(evaluation.runs) > 1 or evaluation.kind == "golden" else ""
        for listed in samples_to_show(part.rows, limit=limit):
            lines = (line for each in listed.samples for line in _lines(each, by_line=part.kind != "golden"))
            yield "\n".join([f"{title}{listed.title}:", *lines])


def _lines(row: Row, *, by_line: bool) -> Iterator[str]:
    yield from sample_lines(row, sample_name(row, by_line=by_line))
    yield from (f"    claim     {claim}" for claim in islice(doubtful_claims(row.result), _LISTED_CLAIMS))


def _comparison(comparison: Comparison) -> str:
    return comparisons_text(comparison.metrics, system="run", unit="sample")


def plan_text(plan: Plan, *, target: str, prices: Prices | None) -> str:
    """Say what a run would do."""
    rows = [
        [
            dataset.name,
            f"{len(dataset.selection):,} of {dataset.selection.n_in_file:,}",
            f"{dataset.calls:,}",
            f"{dataset.judge_calls:,}",
        ]
        for dataset in plan.datasets
    ]
    metrics = [
        [dataset.name, scorer.name, scorer.method] for dataset in plan.datasets for scorer in dataset.scorers
    ]
    usage = plan.usage
    cost = None if prices is None else prices.cost(usage)
    lines = [
        f"target: {target}",
        f"calls: {plan.calls:,}, and more where one has to be repeated",
        *_judge_calls(plan),
        f"tokens: at least {usage.input_tokens:,} in, {usage.output_tokens:,} out (estimated from questions "
        "and expected answers; what the agent adds is not known)",
        "cost: " + ("not known (--price-input, --price-output)" if cost is None else f"at least ${cost:.4f}"),
        *(f"warning: {warning}" for warning in plan.warnings),
    ]
    return "\n\n".join(
        [
            text_table(["dataset", "samples", "calls", "judge calls"], rows, align="<>>>"),
            text_table(["dataset", "metric", "method"], metrics, align="<<<"),
            "\n".join(lines),
        ]
    )


def _judge_calls(plan: Plan) -> Iterator[str]:
    if plan.judge_calls:
        yield (
            f"judge calls: about {plan.judge_calls:,} (fewer for answers that decline and for what is "
            "remembered; more for long answers, for citations, and where one has to be repeated)"
        )


def _gate_switch(evaluation: Evaluation) -> str:
    """Say what switches the gate on that is off."""
    if "manifest" in evaluation.head.configuration:
        return "ciGate is not true"
    if evaluation.kind == "golden":
        return "--threshold, or ciGate in the configuration, switches it on"
    return "thresholds switch it on: gate={metric: bound}"


def _gate(evaluation: Evaluation) -> Iterator[str]:
    """Yield the checks of the gate, how the gated metrics moved and, if the gate is off, why it is."""
    verdict = evaluation.verdict
    if verdict is None:
        return
    off = "" if verdict.enabled else f"gate: off ({_gate_switch(evaluation)})"
    table = text_table(*gate_cells(verdict), align="<<<>><<") if verdict.checks else ""
    if table or off:
        yield "\n\n".join(filter(None, [table, off]))
    if verdict.regressions is not None and verdict.regressions.metrics:
        yield text_table(*moved_cells(verdict.regressions), align="<<>>>><")


def gate_cells(verdict: Verdict) -> tuple[list[str], list[list[str]]]:
    """Return the headers and a row for each check."""
    rows = [
        [
            row.dataset or "–",
            row.metric,
            row.method or "–",
            figure(row.value),
            "–" if row.bound is None else f"{row.operator} {row.bound:g}",
            row.held,
            row.told,
        ]
        for row in verdict.checks
    ]
    return ["dataset", "metric", "method", "value", "threshold", "held", "verdict"], rows


# The claims of an answer that its evidence does not support, as lines for people.

# The metrics whose claims are the answer's own, and what these were held against.
_HELD_AGAINST = {
    "faithfulness": "the contexts",
    "hallucination": "the contexts",
    "claim_precision": "the reference",
}


def doubtful_claims(result: SampleResult) -> Iterator[str]:
    """Yield each claim of the answer that is unsupported or contradicted, with its characters, once."""
    text = result.response.text or ""
    seen: set[tuple[int, int]] = set()
    for score in result.scores:
        against = _HELD_AGAINST.get(without_parameters(score.metric))
        if against is None:
            continue
        for claim in score.details.get("claims", ()):
            place = claim["start"], claim["end"]
            if claim["label"] == "supported" or place in seen:
                continue
            seen.add(place)
            new = dict.fromkeys(text[start:end] for start, end in claim.get("new_tokens", ()))
            words = f"not there: {', '.join([*new][:_LISTED_WORDS])}"
            told = claim.get("conflicts") or ([words] if new else [])
            why = f" ({'; '.join(told)})" if told else ""
            where = f"at {place[0]}–{place[1]}"
            yield f"{claim['label']} by {against} {where}: {one_line(text[slice(*place)])}{why}"


# Why samples have no score for a metric, as lines for people.


def unmeasured_lines(evaluation: Evaluation) -> list[str]:
    """Say which metrics failed wherever they apply; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in evaluation.not_measured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"nothing was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


def unscored_lines(evaluation: Evaluation) -> list[str]:
    """Say why samples have no score: metrics with the same reason and count share a line."""
    metrics: dict[Unscored, list[str]] = {}
    for name, found in evaluation.metrics.items():
        for each in found.reasons:
            metrics.setdefault(each, []).append(name)
    return [
        f"  {each.count:,} {each.status}, {one_line(each.reason, 120)}: {', '.join(names)}"
        for each, names in metrics.items()
    ]


# Notes on one run: what was repaired, what is left to do, what could be neither read nor scored.


def run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes on a run, one a line."""
    unread = [
        f"{counted(each.count, each.part.removesuffix('s'))} of {counted(each.samples, 'sample')} "
        f"could not be read: expected {EXPECTED[each.part]}"
        for each in evaluation.counts.unread
    ]
    return [*evaluation.outcome.notes, *unread, *unmeasured_lines(evaluation)]


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
    return f"not completed: {outcome.reason}; go on with --resume {evaluation.head.run_id}"


_TO_DECLINE = "(to decline)"
_FAILING = "samples that do not pass"
_AT_FAULT = "samples at fault that miss no threshold"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, what was expected (``None``: nothing in words) and what was answered (``None``: nothing).

    ``turn`` is the place in a conversation, from 1, and ``None`` for a single question.
    """

    turn: int | None
    question: str
    expected: str | None
    answer: str | None
    blame: Blame | None

    @property
    def asked(self) -> str:
        """The question, with the turn it was asked in."""
        return self.question if self.turn is None else f"turn {self.turn}: {self.question}"

    @property
    def fault(self) -> str | None:
        """Where it failed and how that is known; ``None`` if nothing did, or it is not known."""
        return f"{self.blame.kind}: {self.blame.why}" if self.blame and self.blame.is_fault else None


@dataclass(frozen=True, slots=True)
class ListedSamples:
    """The first samples of a kind, and how many there are in all."""

    kind: str
    samples: list[Row]
    total: int

    @property
    def title(self) -> str:
        """What is listed, and whether it is all of it."""
        listed = len(self.samples)
        return self.kind if listed == self.total else f"first {listed:,} of {self.total:,} {self.kind}"


def samples_to_show(samples: Iterable[Row], *, limit: int) -> Iterator[ListedSamples]:
    """Yield what is worth a look, up to ``limit`` of each: samples that do not pass, and others at fault."""
    found: dict[str, list[Row]] = {_FAILING: [], _AT_FAULT: []}
    totals = dict.fromkeys(found, 0)
    for sample in samples:
        kind = _FAILING if sample.is_failing else _AT_FAULT if sample.is_at_fault else None
        if kind is not None:
            totals[kind] += 1
            found[kind] += [sample] if totals[kind] <= limit else []
    return (ListedSamples(kind, listed, totals[kind]) for kind, listed in found.items() if listed)


def sample_lines(sample: Row, place: str) -> Iterator[str]:
    """Yield a sample that does not pass or is at fault, for a terminal; ``place`` says which it is."""
    shown = exchanges(sample)
    is_single = shown[0].turn is None
    yield f"  {place}: {one_line(shown[0].question)}" if is_single else f"  {place}:"
    if sample.error is not None:
        yield f"    error     {one_line(sample.error, 300)}"
    if sample.misses:
        yield f"    misses    {'; '.join(sample.misses)}"
    for exchange in shown:
        if not is_single:
            yield f"    {one_line(exchange.asked)}"
        indent = "    " if is_single else "      "
        yield from (f"{indent}{line}" for line in _exchange_lines(exchange))


def exchanges(sample: Row) -> list[Exchange]:
    """Return what to show of a sample: of a conversation the turns at fault, if there are any."""
    if not sample.turns:
        expected = _TO_DECLINE if sample.expects_refusal else sample.expected
        answer = sample.result.response.text
        return [Exchange(None, sample.question, expected, answer, sample.blame)]
    at_fault = [turn for turn in sample.turns if turn.is_at_fault]
    return [
        Exchange(
            turn.number,
            turn.question,
            _TO_DECLINE if turn.expects_refusal else turn.expected,
            turn.answer,
            turn.blame,
        )
        for turn in at_fault or sample.turns
    ]


def expected_and_got(sample: Row) -> str:
    """Say in one line which bounds are missed, what was expected, what came, and where it failed."""
    told = list(sample.misses)
    for each in exchanges(sample):
        turn = "" if each.turn is None else f"{one_line(each.asked)}: "
        fault = "" if each.fault is None else f" ({each.fault})"
        told.append(f"{turn}expected {each.expected}, got {each.answer}{fault}")
    return "; ".join(told)


def _exchange_lines(exchange: Exchange) -> Iterator[str]:
    if exchange.expected is not None:
        yield f"expected  {one_line(exchange.expected)}"
    if exchange.answer is not None:
        yield f"got       {one_line(exchange.answer)}"
    if exchange.fault is not None:
        yield f"fails in  {one_line(exchange.fault)}"
