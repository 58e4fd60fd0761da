"""The share of samples whose scores meet every threshold, also of samples that are asked several times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Evaluation, Options, evaluate

ROWS = [{"input": f"q{number}", "expected": f"The answer to q{number}"} for number in range(18)]


def run(folder: Path, answer: Callable[[str], str], **options: Any) -> Evaluation:
    gate = {"string_match": 0.5}
    wish: dict[str, Any] = {"gate": gate, "runs_directory": folder, "options": Options(**options)}
    return evaluate(ROWS, target=answer, metrics=["string_match"], **wish)


def test_failed_requests_count_against_the_pass_rate(tmp_path: Path) -> None:
    def answer(question: str) -> str:
        if question == "q0":
            raise RuntimeError("gone")
        return "no" if question in ("q1", "q2") else f"The answer to {question}"

    found = run(tmp_path, answer)
    rate = found.metrics["pass_rate"]
    assert (rate.value, rate.n_scored, rate.n_failed) == (pytest.approx(15 / 18), 18, 0)
    assert rate.interval is not None
    assert rate.interval.method == "Wilson score"


def test_figures_of_repeats_are_over_samples(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        is_slip = question in ("q0", "q1", "q2", "q3") and asked.count(question) == 1
        return "no" if is_slip else f"The answer to {question}"

    found = run(tmp_path, answer, repeats=5, concurrency=1)
    figure, rate = found.metrics["string_match"], found.metrics["pass_rate"]
    # Four of the eighteen score 4 of 5, and all of them pass.
    assert (figure.value, figure.n_scored) == (pytest.approx((14 + 4 * 0.8) / 18), 18)
    assert (rate.value, rate.n_scored, len(asked)) == (1.0, 18, 90)
    assert figure.interval is not None
    assert figure.interval.high - figure.interval.low > 0.15  # not that of ninety scores
