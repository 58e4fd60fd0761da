"""What GitHub shows beside the files of a pull request: why the gate failed, and samples that do not pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rag_evaluation_framework.reports.tables import one_line
from rag_evaluation_framework.reports.terminal import expected_and_got
from rag_evaluation_framework.reports.verdict_lines import explanation, sentence, verdict_of, worse_answers
from rag_evaluation_framework.results.evaluations import Evaluation

# GitHub shows ten annotations of a kind for each step.
_LISTED_SAMPLES, _LISTED_WORSE = 5, 7


def render(evaluation: Evaluation, *, manifest: Path | str = "agent.yaml") -> str:
    """Render the lines to print, one annotation each; there are errors where the exit code is not 0."""
    verdict, file = verdict_of(evaluation), str(manifest)
    lines = [annotation("warning", warning, file=file) for warning in evaluation.warnings]
    if verdict.exit_code:
        title = f"rag-eval {verdict.word if verdict.word != 'failed' else 'gate failed'}"
        lines.append(annotation("error", sentence(evaluation), file=file, title=title))
        lines += [
            annotation("error", str(row), file=file, line=row.line, title="Gate failed")
            for row in verdict.checks
            if verdict.stopped is None and (row.fails or row.is_open) and row.line is not None
        ]
        lines += [
            annotation("error", rule, file=file, title="Gate failed")
            for rule in verdict.broken_rules
            if verdict.stopped is None
        ]
    elif verdict.word == "undecided":
        told = " ".join([f"{sentence(evaluation)}.", *explanation(evaluation)])
        lines.append(annotation("warning", told, file=file, title="rag-eval undecided"))
    lines += _worse(evaluation, "error" if verdict.exit_code == 1 else "warning")
    for name, each in evaluation.named_runs.items():
        lines += _samples(name, each, "warning" if verdict.exit_code else "notice")
    return "\n".join(lines)


def _worse(evaluation: Evaluation, level: str) -> Iterator[str]:
    moved = evaluation.regressions
    for each in worse_answers(evaluation, _LISTED_WORSE):
        told = f"{one_line(each.question)}: now {each.now}"
        yield annotation(level, told, file=each.file or "", line=each.line, title="got worse")
    more = 0 if moved is None else len(moved.worse) - _LISTED_WORSE
    if more > 0:
        yield annotation(level, f"{more:,} more got worse", file="", title="got worse")


def annotation(
    level: str, message: str, *, file: str, line: int | None = None, title: str | None = None
) -> str:
    """Return one workflow command; nothing in its texts can begin another."""
    properties = {"file": file, "line": line, "title": title}
    written = ",".join(
        f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None
    )
    return f"::{level} {written}::{_data(one_line(message, 1000))}"


def _samples(name: str, evaluation: Evaluation, level: str) -> Iterator[str]:
    failing = (sample for sample in evaluation.rows if sample.is_failing)
    for sample in islice(failing, _LISTED_SAMPLES):
        origin = None if sample.sample is None else sample.sample.origin
        said = sample.error or expected_and_got(sample)
        yield annotation(
            level,
            f"{one_line(sample.question)}: {said}",
            file=str(evaluation.head.configuration.get("dataset_path")),
            line=origin.line if origin else None,
            title=f"{name} does not pass",
        )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
