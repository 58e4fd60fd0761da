"""What GitHub shows beside the files of a pull request: the verdict, and the answers behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rag_evaluation_framework.judging.verdict import GRADES
from rag_evaluation_framework.reports.blocks import one_line
from rag_evaluation_framework.reports.cases import counts_sentences, expected_and_got, failed_answers, kind_of
from rag_evaluation_framework.reports.verdict_lines import (
    headline,
    listed_regressions,
    verdict_of,
    worse_answers,
)
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.verdicts import Regressions

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
        moved = listed_regressions(evaluation)
        lines += _listed(evaluation, level) if moved is None else _worse(evaluation, moved, level)
    return "\n".join(lines)


def _worse(evaluation: Evaluation, moved: Regressions, level: str) -> Iterator[str]:
    for each in worse_answers(evaluation, _LISTED):
        yield annotation(level, f"now: {each.now}", file=each.file or "", line=each.line, title="got worse")
    if (more := len(moved.worse) - _LISTED) > 0:
        yield annotation(level, f"{more:,} more got worse", file="", title="got worse")


def _listed(evaluation: Evaluation, level: str) -> Iterator[str]:
    found = failed_answers(evaluation)
    for name, row in found.cases[:_LISTED]:
        origin = None if row.sample is None else row.sample.origin
        yield annotation(
            level if row.verdict and row.verdict.has_failed else "notice",
            f"{one_line(row.question)}: {expected_and_got(row)}",
            file=str(evaluation.named_runs[name].head.configuration.get("dataset_path") or ""),
            line=origin.line if origin else None,
            title=kind_of(row),
        )
    if (more := found.listed - _LISTED) > 0:
        yield annotation(level, f"{more:,} more in the run", file="", title="rag-eval")


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
