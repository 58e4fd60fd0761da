"""The instrumented LangChain assistant of the examples, run with the real libraries."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rag_evaluation_framework import evaluate, read_dataset

EXAMPLE = Path(__file__).parents[2] / "examples" / "langchain_traces"
pytestmark = pytest.mark.vendors(
    "langchain_core", "openinference.instrumentation.langchain", "opentelemetry.exporter.otlp.json.file"
)


@pytest.mark.filterwarnings("ignore")
def test_the_traces_of_the_example_are_made_again_and_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    runpy.run_path(str(EXAMPLE / "app.py"))["main"](str(path))
    made, kept = read_dataset(path).samples, read_dataset(EXAMPLE / "traces.jsonl").samples
    assert [(sample.question, sample.recorded) for sample in made] == [
        (sample.question, sample.recorded) for sample in kept
    ]
    steps = [
        [(step.kind, step.query, step.arguments, step.found, step.error) for step in sample.trace.steps]
        for sample in (*made, *kept)
        if sample.trace
    ]
    assert steps[: len(made)] == steps[len(made) :]
    assert evaluate(path).metrics["needless_steps"].value == 0.1
