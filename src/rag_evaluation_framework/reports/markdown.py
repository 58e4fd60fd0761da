"""An evaluation or a comparison as Markdown for a pull request or a job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rag_evaluation_framework.reports.compared_answers import (
    called,
    comparison_sentence,
    left_out_sentences,
    metric_word,
    short_names,
    sorts_sentence,
    trait_sentence,
)
from rag_evaluation_framework.reports.screen import by, difference
from rag_evaluation_framework.reports.screen import figure as two_digits
from rag_evaluation_framework.reports.tables import figure, interval_header, one_line, shown_figures
from rag_evaluation_framework.reports.terminal import (
    blame_cells,
    blame_title,
    exchanges,
    gate_cells,
    named_run_notes,
    refusal_cells,
    samples_to_show,
    unscored_lines,
    untold_blame,
)
from rag_evaluation_framework.reports.verdict_lines import (
    MARKS,
    explanation,
    moved_cells,
    sentence,
    verdict_of,
    worse_answers,
)
from rag_evaluation_framework.results.breakdowns import BlameSummary
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row

_LISTED_SAMPLES = 10
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$:-])")


def render(thing: Evaluation | Comparison) -> str:
    """Render the verdict first, then the gate's checks, each dataset's figures, and what did not pass."""
    return _comparison(thing) if isinstance(thing, Comparison) else _evaluation(thing)


def _evaluation(evaluation: Evaluation) -> str:
    verdict, evaluations = verdict_of(evaluation), evaluation.named_runs
    refusals, blame = evaluation.refusals, evaluation.blame
    word = verdict.word
    title = f"{MARKS[word]} {word.upper()}" if word in MARKS else "Evaluation"
    parts = [f"## {title}: {escaped(sentence(evaluation))}"]
    parts += [f"Target: {escaped(evaluation.target)}"] if evaluation.target else []
    if told := [f"- {escaped(line, 1000)}" for line in explanation(evaluation)]:
        parts.append("\n".join(told))
    if worse := worse_answers(evaluation, _LISTED_SAMPLES):
        rows = [[each.name, each.question, each.before or "–", each.now or "–"] for each in worse]
        parts.append(_table(["got worse", "question", "before", "now"], rows))
    if verdict.checks:
        parts.append(_table(*gate_cells(verdict)))
    if verdict.regressions is not None and verdict.regressions.metrics:
        parts.append(_table(*moved_cells(verdict.regressions)))
    parts += [_metrics(evaluations, part="system" if evaluation.parts_are == "systems" else "dataset")]
    parts += [part for name, each in evaluations.items() if (part := _unscored(name, each))]
    if refusals is not None and refusals.methods:
        parts.append(_table(*refusal_cells(refusals)))
    if blame is not None and blame.told:
        parts.append(_blame(blame))
    parts += [f"> **Warning:** {escaped(warning)}" for warning in evaluation.warnings]
    notes = [note for name, each in evaluations.items() for note in named_run_notes(name, each)]
    parts += [f"> **Note:** {escaped(note, 1000)}" for note in notes]
    parts += [part for name, each in evaluations.items() for part in _samples(name, each)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str, characters: int = 300) -> str:
    """Return a text that Markdown shows as it is, in one line: no markup, no mention, no cell of its own."""
    return _SPECIAL.sub(r"\\\1", one_line(text, characters))


def _metrics(evaluations: Mapping[str, Evaluation], *, part: str) -> str:
    rows = [
        [
            name,
            each.metric,
            each.method,
            figure(each.value),
            f"{figure(each.interval.low)} to {figure(each.interval.high)}" if each.interval else "–",
            f"{each.n_scored} / {each.n_skipped} / {each.n_failed}",
        ]
        for name, evaluation in evaluations.items()
        for each in shown_figures(evaluation)
    ]
    headers = [part, "metric", "method", "mean", interval_header(0.95), "scored / skipped / failed"]
    return _table(headers, rows)


def _unscored(name: str, evaluation: Evaluation) -> str:
    lines = [f"- {escaped(line.strip(), 1000)}" for line in unscored_lines(evaluation)]
    return "\n".join([f"Not scored of {escaped(name)}:", "", *lines]) if lines else ""


def _blame(summary: BlameSummary) -> str:
    untold = untold_blame(summary)
    last = [] if untold is None else [escaped(untold, 1000)]
    return "\n\n".join([escaped(blame_title(summary)), _table(*blame_cells(summary)), *last])


def _samples(name: str, evaluation: Evaluation) -> Iterator[str]:
    for listed in samples_to_show(evaluation.rows, limit=_LISTED_SAMPLES):
        rows = [row for sample in listed.samples for row in _rows(sample)]
        # This line is HTML, in which Markdown's backslashes would be shown.
        summary = f"<summary>{escape(one_line(name))}: {listed.title}</summary>"
        table = _table(["input", "expected", "got", "fails in"], rows)
        yield f"<details>{summary}\n\n{table}\n\n</details>"


def _rows(sample: Row) -> list[list[str]]:
    """Return a row for a sample, or one for each turn of a conversation that is at fault."""
    shown = exchanges(sample)
    is_one = len(shown) == 1
    got = [sample.error or each.answer if is_one else each.answer or sample.error for each in shown]
    return [
        [each.asked, each.expected or "–", answer or "–", each.fault or "–"]
        for each, answer in zip(shown, got, strict=True)
    ]


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    written = [[escaped(cell) for cell in row] for row in (headers, *rows)]
    lines = [written[0], ["---"] * len(headers), *written[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# A comparison: the answers that changed beside each other, the figures folded.


def _comparison(comparison: Comparison) -> str:
    names = short_names([comparison.baseline, *comparison.contenders])
    parts = []
    for changes in comparison.answers or (None,):
        of = "" if changes is None or len(comparison.contenders) == 1 else f"{names[changes.contender]}: "
        parts.append(f"### rag-eval: {escaped(of + comparison_sentence(comparison, changes), 1000)}")
        if changes is None:
            continue
        told = [f"Compared with {changes.baseline}.", *map(trait_sentence, changes.traits[:2])]
        parts.append(escaped(" ".join(told), 1000))
        rows = [
            [f"{word}: {called(each)}", each.question, each.before or "–", each.now or "–"]
            for word, answers in (("worse", changes.worse), ("better", changes.better))
            for each in answers[:_LISTED_SAMPLES]
        ]
        if rows:
            old, new = names[changes.baseline], names[changes.contender]
            parts.append(_table(["", "question", old, new], rows))
        lines = [sorts_sentence(changes), *left_out_sentences(changes)]
        parts.append("\n".join(f"- {escaped(line, 1000)}" for line in lines))
    parts += [f"> **Warning:** compared all the same: {escaped(each, 1000)}" for each in comparison.warnings]
    if comparison.metrics:
        parts.append(_compared_metrics(comparison, names))
    return "\n\n".join(parts) + "\n"


def _compared_metrics(comparison: Comparison, names: Mapping[str, str]) -> str:
    told = [
        f"{each.metric} {two_digits(each.baseline_mean)} → {two_digits(each.contender_mean)}, "
        f"{metric_word(each)}"
        for each in comparison.metrics
    ]
    rows = [
        [
            each.metric,
            names[each.contender],
            two_digits(each.baseline_mean),
            two_digits(each.contender_mean),
            difference(each.difference, each.interval),
            f"{each.wins} / {each.ties} / {each.losses}",
            metric_word(each),
            f"{each.n:,}",
            by(comparison.methods.get(each.metric) or ""),
        ]
        for each in comparison.metrics
    ]
    headers = ["metric", "run", "before", "now", "difference", "better / same / worse", "verdict"]
    summary = f"<summary>Figures: {escape(one_line('; '.join(told), 300))}</summary>"
    return f"<details>{summary}\n\n{_table([*headers, 'answers', 'by'], rows)}\n\n</details>"
