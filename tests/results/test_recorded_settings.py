"""Results keep what a reader needs to trust them: tests, the dataset's own name, machine, limits, prices."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest
from component_server import running_components

from rag_evaluation_framework import Corpus, OpenAIEmbedder, evaluate, load, metric
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.metrics.views import TEXTS
from rag_evaluation_framework.models.chat import Completion
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of

DATA = Path(__file__).parent.parent / "acceptance" / "data"
QUESTIONS = [f"What is {number} and {number}?" for number in range(12)]


def right(question: str) -> str:
    return f"It is {2 * int(question.split()[2])}."


def wrong(question: str) -> str:
    return "It is unknown to me." if int(question.split()[2]) < 8 else right(question)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "sums.jsonl"
    rows = [{"input": each, "expected": str(2 * number)} for number, each in enumerate(QUESTIONS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def results_of(evaluation: Any) -> dict[str, Any]:
    folder = next(iter(evaluation.parts.values()), evaluation).folder
    document: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return document


def test_a_run_with_a_baseline_has_the_tests_against_it_in_its_results(samples: Path, tmp_path: Path) -> None:
    common: dict[str, Any] = {"metrics": ["string_match"], "runs_directory": tmp_path / "runs"}
    before = evaluate(samples, target=right, **common)
    after = evaluate(samples, target=wrong, baseline=before.head.run_id, gate={"string_match": 0.1}, **common)
    tests = results_of(after)["statistical_analysis"]["significance_tests"]
    # Eight of twelve fell from 1 to 0, none rose: one-sided, 2^-8 of all signs, at most by Holm.
    fell = tests["string_match"]
    assert (fell["baseline_mean"], fell["current_mean"], fell["n"]) == (1.0, pytest.approx(4 / 12), 12)
    assert fell["p_value"] <= 2**-8 + 1e-9
    assert fell["significant"] is True
    flips = tests["passing_samples"]
    assert (flips["got_worse"], flips["got_better"], flips["significant"]) == (8, 0, True)
    assert "significance_tests" not in results_of(before)["statistical_analysis"]
    assert after.to_dict()["statistical_analysis"]["significance_tests"] == tests


def test_systems_side_by_side_have_the_tests_between_them(samples: Path, tmp_path: Path) -> None:
    both = evaluate(samples, target={"right": right, "wrong": wrong}, metrics=["string_match"])
    (test,) = both.to_dict()["statistical_analysis"]["significance_tests"].values()
    assert (test["baseline_mean"], test["current_mean"]) == (1.0, pytest.approx(4 / 12))
    assert test["significant"] is True
    # Differences: eight of -1, four of 0; mean -2/3, s = 0.492366.
    assert test["effect_size"] == pytest.approx(-(8 / 12) / 0.492366, abs=1e-5)


def test_limits_and_machine_are_those_of_the_run(samples: Path, tmp_path: Path) -> None:
    options = Options(attempt_timeout=7.5, max_attempts=3, concurrency=2)
    run = evaluate(samples, target=right, metrics=["string_match"], runs_directory=tmp_path, options=options)
    metadata = results_of(run)["metadata"]
    assert metadata["evaluation_parameters"] == {
        "timeout_seconds": 7.5,
        "max_retries": 2,
        "sample_timeout_seconds": 300.0,
        "concurrency": 2,
        "random_seed": 0,
    }
    environment = metadata["evaluation_environment"]
    assert platform.python_version() in environment["software"]
    assert f"{os.cpu_count()} cores" in environment["hardware"]
    assert load(run.parts["sums"].folder).head.parameters["max_retries"] == 2


def test_the_dataset_keeps_its_own_id_and_version(tmp_path: Path) -> None:
    run = evaluate(
        DATA / "sample_eval_v1.0.0.eval.json",
        target=lambda question: "It is so.",
        metrics=["token_f1"],
        runs_directory=tmp_path,
        options=Options(allow_missing=True),
    )
    document = results_of(run)
    own = json.loads((DATA / "sample_eval_v1.0.0.eval.json").read_text(encoding="utf-8"))
    assert document["metadata"]["dataset"] == {
        "id": own["dataset_id"],
        "name": own["name"],
        "version": own["version"],
    }
    assert document["metadata"]["dataset_version"] == own["version"]
    assert document["dataset_id"] == own["dataset_id"]
    # The run keeps the name under which it pairs with others; a file of its results is that run again.
    kept = next(iter(run.parts.values()), run).folder / "results.json"
    assert (run.name, load(kept).name) == (document["metadata"]["evaluated_as"],) * 2
    assert document["metadata"]["dataset_hash"].startswith("sha256:")


def quality_of(evaluation: Any) -> dict[str, Any]:
    quality: dict[str, Any] = results_of(evaluation)["metadata"]["quality_assurance"]
    return quality


def test_what_was_checked_is_said_of_this_run(samples: Path, tmp_path: Path) -> None:
    common: dict[str, Any] = {"metrics": ["string_match"], "runs_directory": tmp_path / "runs"}
    alone = evaluate(samples, target=right, **common)
    assert quality_of(alone) == {
        "data_validation": "passed",
        "metric_calculation": "verified",
        "statistical_tests": "none made: nothing was compared",
    }
    options = Options(allow_missing=True, repeats=2)
    compared = evaluate(samples, target=wrong, baseline=alone.head.run_id, options=options, **common)
    assert quality_of(compared) == {
        "data_validation": "passed; missing fields were allowed",
        "metric_calculation": "not verified: each sample was asked 2 times",
        "statistical_tests": "1 made",
    }


@pytest.mark.usefixtures("own_metrics")
def test_a_score_that_could_not_be_calculated_is_counted(samples: Path, tmp_path: Path) -> None:
    @metric("broken_at_zero", reads=TEXTS)
    def broken_at_zero(answer: str) -> float:
        """Fails on one answer. Formula: none. Empty: never. Source: nobody."""
        if answer == "It is 0.":
            raise ValueError("no")
        return 1.0

    run = evaluate(samples, target=right, metrics=["broken_at_zero"], runs_directory=tmp_path)
    told = "not verified: 1 of 12 scores could not be calculated"
    assert quality_of(run)["metric_calculation"] == told


class PricedModel:
    """A judge that agrees with everything, for a price."""

    name = "agreeable"
    prices = Prices(0.15, 0.6)

    def chat(self, messages: Any, *, schema: Any = None, draw: int = 0) -> Completion:
        return Completion(text='{"score": 5, "reason": "fine"}', usage=None)


def test_prices_of_a_judge_and_of_an_embedder_are_kept(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = evaluate(
        samples,
        target=right,
        metrics=["string_match"],
        judge=Judge(PricedModel()),  # type: ignore[arg-type]
        runs_directory=tmp_path / "runs",
    )
    parameters = results_of(run)["metadata"]["evaluation_parameters"]
    assert parameters["prices_usd_per_million_tokens"] == {"agreeable": {"input": 0.15, "output": 0.6}}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with running_components() as server:
        embedder = OpenAIEmbedder("small", f"{server.url}/v1", price=0.02)
        corpus = Corpus.from_folder(DATA.parent.parent.parent / "examples" / "handbook" / "documents")
        path = tmp_path / "leave.jsonl"
        spans = [{"doc_id": next(iter(corpus)).id, "start": 0, "end": 20}]
        row = {"inputs": {"query": "leave"}, "outputs": {"relevant_chunk_ids": [], "spans": spans}}
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        grid = grid_of(chunkers=["recursive"], embedders=[embedder], vector_stores=[ExactVectorStore()])
        swept = evaluate(path, target=grid, documents=corpus)
    (cell,) = swept.parts.values()
    assert cell.to_dict()["metadata"]["evaluation_parameters"] == {
        "prices": {"embedder_usd_per_million_tokens": 0.02},
        "random_seed": 0,
    }
