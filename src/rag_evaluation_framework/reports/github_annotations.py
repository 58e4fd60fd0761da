"""Annotations for the files of a pull request on GitHub: the verdict, and the answers behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rag_evaluation_framework.judging.verdict import GRADES
from rag_evaluation_framework.reports.blocks import one_line
from rag_evaluation_framework.reports.evaluation_blocks import headline
from rag_evaluation_framework.reports.facts import (
    ListedCases,
    cases_sentence,
    counts_sentences,
    list_answers,
    listed_cases,
    verdict_of,
)
from rag_evaluation_framework.results.evaluations import Evaluation

# GitHub shows ten annotations of a kind for each step: the verdict, the answers, and how many more there are.
_LISTED = 8


def render(evaluation: Evaluation, *, manifest: Path | str = "agent.yaml") -> str:
    """Render GitHub annotations, one per line; they are errors if the exit code is not 0."""
    verdict, file, said = verdict_of(evaluation), str(manifest), headline(evaluation)
    lines = [annotation("warning", warning, file=file) for warning in evaluation.warnings]
    level = "error" if verdict.exit_code else "warning" if verdict.word == "undecided" else "notice"
    if verdict.exit_code:
        title = f"rag-eval {verdict.word if verdict.word != 'failed' else 'gate failed'}"
        lines.append(annotation("error", said.sentence, file=file, title=title))
        # Where answers are to blame they are named; else the threshold is, at its line.
        lines += [
            annotation("error", str(row), file=file, line=row.line, title="rag-eval gate failed")
            for row in verdict.checks
            if verdict.stopped is None and (row.is_open or (row.fails and row.metric not in GRADES))
            if row.line is not None
        ]
    elif verdict.word == "undecided":
        told = " ".join([f"{said.sentence.rstrip('.')}.", *said.lines])
        lines.append(annotation("warning", told, file=file, title="rag-eval undecided"))
    lines += [annotation("notice", each, file=file, title="answers") for each in counts_sentences(evaluation)]
    if verdict.stopped is None:
        lines += _listed(listed_cases(evaluation), level)
    return "\n".join(lines)


def _listed(found: ListedCases, level: str) -> Iterator[str]:
    for turns in found.cases[:_LISTED]:
        first, verdict = turns[0], turns[0].row.verdict
        severity = level if found.moved or (verdict and verdict.has_failed) else "notice"
        told = f"{one_line(first.row.question)}: {cases_sentence(turns)}"
        yield annotation(severity, told, file=first.file, line=first.line, title=first.kind)
    listed = list_answers(found.cases, full=0, asked=0, total=found.total)
    if rest := listed.describe_rest(_LISTED):
        yield annotation(level, rest, file="", title="got worse" if found.moved else "rag-eval")


def annotation(
    level: str, message: str, *, file: str, line: int | None = None, title: str | None = None
) -> str:
    """Return one workflow command; nothing in its texts can begin another."""
    properties = {"file": file, "line": line, "title": title}
    written = ",".join(
        f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None
    )
    return f"::{level} {written}::{_data(one_line(message, 1000))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
