"""The rate at which a gate fails an agent that did not change, on a screen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import CORRECT, name_of_state
from rag_evaluation_framework.reports.blocks import GAP, Blocks, Column, Steps, one_line, prose, right, table
from rag_evaluation_framework.results.noise import Noise
from rag_evaluation_framework.results.run_store import in_runs, short_id
from rag_evaluation_framework.results.verdicts import BASELINE

_LISTED = 20


def describe_noise(noise: Noise, *, runs: Path) -> Blocks:
    """Show the rate, what it comes from, the unstable questions and the next steps."""
    error = f"(standard error {100 * noise.standard_error:.1f}%)"
    yield prose(f"An unchanged agent fails this gate in {100 * noise.rate:.1f}% of runs {error}.")
    asked = f"{counted(noise.answers, 'answer')} to {counted(noise.questions, 'question')}"
    yield prose(f"Estimated from {asked}, with {noise.pairs:,} simulated pairs of runs.", indent=2)
    for name, share in noise.causes.items():
        label = "against a baseline" if name == BASELINE else name
        yield prose(f"{label}: {100 * share:.1f}% of the runs", indent=2)
    for name, share in noise.missed.items():
        told = f"{name} is missed in {100 * share:.1f}% of the runs: no noise, so not counted above"
        yield prose(told, indent=2)
    if noise.calls:
        yield prose(f"Asking again takes {noise.calls:.1f} answers per run.", indent=2)
    yield GAP
    if not noise.unstable:
        yield prose("No question is unstable: the answers to each have one grade.")
    yield table(
        [
            (Column("unstable question", flexible=True), one_line(each.question, 200)),
            (right("correct"), f"{each.correct} of {each.asked}"),
            ("other grades", _other_grades(each.grades)),
            (right("fails (%)"), f"{100 * each.fails:.1f}"),
        ]
        for each in noise.unstable[:_LISTED]
    )
    if len(noise.unstable) > _LISTED:
        yield prose(f"{len(noise.unstable) - _LISTED:,} more with --json", indent=2)
    yield GAP
    paths = [path for run in noise.runs if (path := runs / run).is_dir()]
    if paths:
        run, at = " ".join(map(short_id, paths)), in_runs(runs)
        steps = [(f"rag-eval aa {run} --max-regressions 1{at}", "measure a gate that allows one regression")]
        if noise.unstable:
            steps.insert(0, (f"rag-eval show {short_id(paths[0])}{at}", "inspect the answers that differ"))
        yield Steps(steps)


def _other_grades(grades: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name_of_state(grade)}" for grade, count in grades.items() if grade != CORRECT)
