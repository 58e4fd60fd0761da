"""What GitHub shows beside the files of a pull request: why the gate failed, and samples that do not pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rag_evaluation_framework.reports.tables import one_line
from rag_evaluation_framework.reports.terminal import expected_and_got
from rag_evaluation_framework.results.evaluations import Evaluation, Verdict

# GitHub shows ten annotations of a kind for each step.
_LISTED_SAMPLES = 5


def render(evaluation: Evaluation, *, manifest: Path | str = "agent.yaml") -> str:
    """Render the lines to print, one annotation each."""
    verdict, warnings = evaluation.verdict or Verdict(enabled=False), evaluation.warnings
    lines = [annotation("warning", warning, file=str(manifest)) for warning in warnings]
    if verdict.enabled and not verdict.passed:
        failures: list[tuple[str, int | None]] = [(rule, None) for rule in verdict.broken_rules]
        failures += [(str(row), row.line) for row in verdict.checks if row.status == "failed"]
        lines += [
            annotation("error", reason, file=str(manifest), line=line, title="Gate failed")
            for reason, line in failures
        ]
    lines += [line for name, each in evaluation.named_runs.items() for line in _samples(name, each)]
    return "\n".join(lines)


def annotation(
    level: str, message: str, *, file: str, line: int | None = None, title: str | None = None
) -> str:
    """Return one workflow command; nothing in its texts can begin another."""
    properties = {"file": file, "line": line, "title": title}
    written = ",".join(
        f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None
    )
    return f"::{level} {written}::{_data(one_line(message, 1000))}"


def _samples(name: str, evaluation: Evaluation) -> Iterator[str]:
    failing = (sample for sample in evaluation.rows if sample.is_failing)
    for sample in islice(failing, _LISTED_SAMPLES):
        origin = None if sample.sample is None else sample.sample.origin
        said = sample.error or expected_and_got(sample)
        yield annotation(
            "warning",
            f"{one_line(sample.question)}: {said}",
            file=str(evaluation.head.configuration.get("dataset_path")),
            line=origin.line if origin else None,
            title=f"{name}: does not pass",
        )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
