"""An evaluation or a comparison as Markdown for a pull request or a job's summary, figures folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.blocks import by, one_line
from rag_evaluation_framework.reports.evaluation_blocks import (
    headline,
    named_run_notes,
    not_scored_lines,
    reading_sentences,
    reliability_lines,
)
from rag_evaluation_framework.reports.facts import (
    Case,
    MovedRow,
    compared_rows,
    counts_sentences,
    gated_rows,
    list_figures,
    listed_cases,
    verdict_of,
)
from rag_evaluation_framework.reports.messages.comparison_sentences import (
    called,
    comparison_sentence,
    left_out_sentences,
    short_names,
    sorts_sentence,
    trait_sentence,
)
from rag_evaluation_framework.reports.sweep_blocks import index_recalls
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation

_LISTED = 10
_CHARACTERS = 300
# What would begin a cell, a tag, code, a link or an entity; and emphasis, where it would be one.
_SPECIAL = re.compile(r"[\\|<`\[]|(?<!\w)[*_~](?=\S)|(?<=\S)[*_~](?!\w)|&(?=#?\w+;)")
# What GitHub makes a link of, whatever stands before it.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)


def render(thing: Evaluation | Comparison) -> str:
    """Render the verdict first, then the answers behind it, then every figure."""
    return _comparison(thing) if isinstance(thing, Comparison) else _evaluation(thing)


def _evaluation(evaluation: Evaluation) -> str:
    said = headline(evaluation)
    parts = [f"### {said.title or 'Evaluation'}: {escaped(said.sentence, 1000)}"]
    if told := [escaped(line, 1000) for line in (*reading_sentences(evaluation), *said.lines)]:
        parts.append("  \n".join(told))
    parts += [escaped(f"Answers: {each}.") for each in counts_sentences(evaluation)]
    parts += filter(None, _answers(evaluation))
    parts.append(_figures(evaluation))
    notes = [*not_scored_lines(evaluation), *evaluation.warnings]
    notes += [finds for recall, finds in index_recalls(evaluation) if recall < 1]
    notes += [note for name, each in evaluation.named_runs.items() for note in named_run_notes(name, each)]
    notes += reliability_lines(evaluation)
    if told := [f"- {escaped(note, 1000)}" for note in notes]:
        parts.append("\n".join(told))
    target = f", agent {code(evaluation.target)}" if evaluation.target else ""
    runs = ", ".join(
        f"{code(part.head.run_id)} ({escaped(name)})" for name, part in evaluation.named_runs.items()
    )
    parts += [f"Run {runs}{target}"] if runs else []
    return "\n\n".join(parts) + "\n"


def escaped(text: str, characters: int = _CHARACTERS) -> str:
    """Return a text that Markdown shows as it is, in one line: no markup, no mention, no cell of its own."""
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", one_line(text, characters))
    return _LINKED.sub(lambda found: f"{found[0]}\u200b", line)


def code(text: str) -> str:
    """Return a name as code."""
    return f"`{one_line(text).replace('`', chr(39)).replace('|', '/')}`"


def _marked(case: Case) -> str:
    """Return an answer with the words that nothing supports in bold; without one why there is none."""
    if case.answer is None:
        return escaped(case.row.error) if case.row.error else "–"
    text, parts, done = case.answer[:_CHARACTERS], [], 0
    for start, end in sorted(case.marks):
        if done <= start < end <= len(text):
            parts += [_within(text[done:start]), f"**{escaped(text[start:end])}**"]
            done = end
    more = "…" if len(case.answer) > _CHARACTERS else ""
    return "".join([*parts, _within(text[done:])]).strip() + more or "–"


def _within(text: str) -> str:
    """Return a part of a text, the spaces at its ends kept."""
    first, last = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{first}{escaped(text)}{last}" if text.strip() else first


def _answers(evaluation: Evaluation) -> Iterator[str]:
    """Yield the answers behind the verdict, a row for each turn of a conversation, and how many more."""
    found = listed_cases(evaluation)
    shown, moved = found.cases[:_LISTED], found.moved
    rows = [
        [escaped(each.name), escaped(each.asked), escaped(each.before or each.expected or "–"), _marked(each)]
        + ([] if moved else [escaped(each.why or "–")])
        for turns in shown
        for each in turns
    ]
    if rows:
        labels = ["before", "now"] if moved else ["expected", "got", "why"]
        yield _table(["", "question", *labels], rows)
    told = [f"{found.total - len(shown):,} more in the run."] if rows and found.total > len(shown) else []
    if moved is not None and (same := moved.paired - len(moved.worse) - len(moved.better)):
        told.append(f"{counted(same, 'answer is', 'answers are')} the same.")
    yield " ".join(told)


def _figures(evaluation: Evaluation) -> str:
    several = len(evaluation.named_runs) > 1
    if gated := gated_rows(evaluation):
        headers = ["metric", "before", "now", "difference", "verdict", "needs", "answers", "by"]
        rows = [[*_moved(each), escaped(str(each.demand)), f"{each.moved.n:,}", each.by] for each in gated]
        part_is, parts, said = "dataset", [each.of for each in gated], "; ".join(map(str, gated))
    else:
        found = list_figures(evaluation)
        headers = ["metric", "value", "95% interval", "needs", "answers", "by"]
        rows = [
            [
                escaped(each.metric),
                each.value,
                each.interval,
                escaped(str(each.demand)),
                each.answers,
                each.by,
            ]
            for each in found
        ]
        several = several or evaluation.kind in ("golden", "systems")
        part_is = "system" if evaluation.parts_are == "systems" else "dataset"
        parts = [each.part for each in found]
        told = [each for each in found if each.demand.check or not verdict_of(evaluation).checks]
        said = ", ".join(f"{each.metric} {each.value} {each.demand.status}".rstrip() for each in told[:6])
    if several:
        headers, rows = (
            [part_is, *headers],
            [[escaped(of), *row] for of, row in zip(parts, rows, strict=True)],
        )
    return f"{_folded(said, 400)}{_table(headers, rows)}\n</details>"


def _moved(each: MovedRow) -> list[str]:
    return [escaped(each.metric), each.before, each.now, each.difference, each.finding.text]


def _folded(said: str, characters: int) -> str:
    """Return what figures are folded into: its summary is HTML, in which backslashes would be shown."""
    return f"<details><summary>Figures: {escape(one_line(said, characters))}</summary>\n\n"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
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
            [
                escaped(f"{word}: {called(each)}"),
                *map(escaped, (each.question, each.before or "–", each.now or "–")),
            ]
            for word, answers in (("worse", changes.worse), ("better", changes.better))
            for each in answers[:_LISTED]
        ]
        if rows:
            old, new = names[changes.baseline], names[changes.contender]
            parts.append(_table(["", "question", escaped(old), escaped(new)], rows))
        lines = [sorts_sentence(changes), *left_out_sentences(changes)]
        parts.append("\n".join(f"- {escaped(line, 1000)}" for line in lines))
    parts += [f"> **Warning:** compared anyway: {escaped(each, 1000)}" for each in comparison.warnings]
    if comparison.metrics:
        parts.append(_compared_metrics(comparison, names))
    return "\n\n".join(parts) + "\n"


def _compared_metrics(comparison: Comparison, names: Mapping[str, str]) -> str:
    rows = []
    for each in (found := compared_rows(comparison)):
        metric, before, now, moved, finding = _moved(each)
        counts = " / ".join(map(str, each.counts))
        rows.append([metric, escaped(names[each.of]), before, now, moved, counts, finding])
        rows[-1] += [f"{each.moved.n:,}", each.by or by("")]
    headers = ["metric", "run", "before", "now", "difference", "better / same / worse", "verdict"]
    told = "; ".join(map(str, found))
    return f"{_folded(told, 300)}{_table([*headers, 'answers', 'by'], rows)}\n\n</details>"
