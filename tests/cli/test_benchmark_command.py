"""``rag-eval benchmark``: figures over time in the project's files, the verdict, and what it was asked."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from fault_agent import RunningServer

from cases import tables_beside
from command_lines import commands_next, ok, rag_eval_ended
from rag_evaluation_framework.evaluation.benchmarks import KeptBenchmark
from rag_evaluation_framework.reports.messages.history_sentences import pace_sentence
from rag_evaluation_framework.results.benchmark_history import Pace, add_record, compared, throughput_figures
from rag_evaluation_framework.results.summaries import latency_figures

TABLES = tables_beside(__file__)

PERFORMANCE = Path("data", "config", "performance_benchmark_config.config.yaml")
BM25 = ("benchmark", "--retriever", "bm25")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    done = rag_eval_ended("init", "--ci", "none", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def records(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "data/benchmarks" / f"{name}.json").read_bytes())[
        "records"
    ]
    return found


def test_a_new_project_is_measured_kept_and_compared_with_the_last_time(project: Path) -> None:
    first = ok(project, *BM25)
    assert first.startswith("First measurement: ")
    assert "2 questions of sample_eval_v1.0.0, each asked 20 times, 1 concurrent request" in first
    (command,) = commands_next(first)
    assert command[:3] == list(BM25)
    second = json.loads(ok(project, *command, "--json"))
    assert second["verdict"] in ("same", "faster", "slower", "undecided")
    assert (
        second["last"]["timestamp"] == records(project, "performance/throughput_benchmarks")[0]["timestamp"]
    )
    latency, throughput = (
        records(project, f"performance/{name}_benchmarks") for name in ("latency", "throughput")
    )
    assert len(latency) == len(throughput) == 2
    assert {"mean", "p50", "p95", "p99", "min", "max"} <= latency[0].keys()
    assert latency[0]["min"] <= latency[0]["p50"] <= latency[0]["p99"] <= latency[0]["max"]
    assert throughput[0]["total_queries"] == 40
    assert throughput[0]["failed_queries"] == 0
    assert throughput[0]["slow_repetition"] <= throughput[0]["queries_per_second"]
    quality = records(project, "quality/retrieval_quality_benchmarks")
    assert [each["hit@3"] for each in quality] == [1.0, 1.0]
    # The second has the name that was asked for, and the results in the seed's shape.
    (kept,) = (project / "data/evaluation/results").glob("benchmark_weekly_*.results.json")
    document = json.loads(kept.read_bytes())
    assert kept.name == f"{document['evaluation_id']}.results.json"
    assert document["performance_metrics"]["latency_stats"]["n"] == 40
    assert document["retrieval_metrics"]["mrr"]["value"] == quality[1]["mrr"]
    ok(project, "validate", "data")
    assert not (project / "runs").exists()


def test_every_setting_of_the_file_is_in_force(project: Path) -> None:
    settings = TABLES["settings"]
    (project / PERFORMANCE).write_text(yaml.safe_dump(settings), encoding="utf-8")
    (project / "own.jsonl").write_text(
        '{"question": "A?"}\n{"question": "B?"}\n{"question": "C?"}\n', encoding="utf-8"
    )
    (project / "slow.py").write_text("def answer(question):\n    return question\n", encoding="utf-8")
    found = json.loads(ok(project, "benchmark", "--target", "slow:answer", "--json"))
    assert found["dataset_id"] == "own"
    assert found["latency_stats"]["n"] == 9
    assert {"p10", "p90"} < found["latency_stats"].keys()
    assert "p50" not in found["latency_stats"]
    (record,) = json.loads((project / "figures/speed/throughput_benchmarks.json").read_bytes())["records"]
    assert (record["concurrency"], record["warmup_queries"], record["repetitions"]) == (2, 1, 3)
    shown = json.loads(ok(project, "benchmark", "--show-config", "--json"))
    told = {row["value"] for row in shown if row["from"].partition(":")[0].endswith(PERFORMANCE.name)}
    assert {"1", "3", "2", "10, 90", "9", "own.jsonl", "figures/speed"} == told
    wrong = yaml.safe_dump(settings).replace("repetitions", "repetitons")
    (project / PERFORMANCE).write_text(wrong, encoding="utf-8")
    refused = rag_eval_ended("benchmark", folder=project)
    assert refused.returncode == 2
    assert 'Did you mean "repetitions"?' in refused.stderr


def test_an_answer_that_takes_too_long_counts_as_failed(project: Path) -> None:
    code = (
        "import time\ndef answer(question):\n    time.sleep(9 * ('supervised' in question))\n    return 'x'\n"
    )
    (project / "slow.py").write_text(code, encoding="utf-8")
    begun = time.monotonic()
    few = ("--warmup", "0", "--repetitions", "1", "--timeout", "0.2")
    told = ok(project, "benchmark", "--target", "slow:answer", *few)
    assert time.monotonic() - begun < 9
    assert "1 of 2 requests failed (timeout 1); the latencies exclude them" in told
    (record,) = records(project, "performance/latency_benchmarks")
    assert (record["total_queries"], record["failed_queries"]) == (2, 1)


def test_an_agent_is_measured_as_its_manifest_says(project: Path, server: RunningServer) -> None:
    manifest = project / "agent.yaml"
    api = f"api: {{url: '{server.url}'}}"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("api: {}  # url: http://localhost:4000", api),
        encoding="utf-8",
    )
    found = json.loads(ok(project, "benchmark", "--repetitions", "2", "--json"))
    assert found["configuration"].startswith(server.url)
    assert found["latency_stats"]["n"] == 4
    assert "resource_usage" not in found  # the agent's memory is not this process's


@pytest.mark.parametrize(("arguments", "told"), TABLES["arguments_that_do_not_fit"])
def test_what_cannot_be_measured_is_refused(project: Path, arguments: tuple[str, ...], told: str) -> None:
    done = rag_eval_ended("benchmark", *arguments, folder=project)
    assert done.returncode == 2
    assert told in done.stderr
    assert not list(project.glob("data/benchmarks/*/*.json"))


def test_outside_of_a_project_it_says_what_to_name(tmp_path: Path) -> None:
    done = rag_eval_ended("benchmark", folder=tmp_path)
    assert done.returncode == 2
    assert "No agent or retrieval given. Pass --url" in done.stderr


CITES = """
def answer(question):
    cited = {"file_name": "ml_intro.pdf", "start_char": 0, "end_char": 134}
    contexts = [{"id": "ml_intro", "text": "Machine learning is a subset of artificial intelligence."}]
    return {"response": "It is a subset.", "contexts": contexts, "citations": [cited]}
"""


def test_citations_have_a_file_of_their_own(project: Path) -> None:
    (project / "cites.py").write_text(CITES, encoding="utf-8")
    measured = ("-m", "citation_exact_jaccard", "-m", "hit@1", "--allow-missing")
    ok(project, "evaluate", "sample_eval", "--target", "cites:answer", *measured)
    # Of the two questions one is about the document that is cited, from its first character to its last.
    (record,) = records(project, "quality/citation_accuracy_benchmarks")
    assert (record["citation_exact_jaccard"], record["mean_exact_jaccard"]) == (0.5, 0.5)
    assert (record["perfect_matches"], record["total_queries"]) == (1, 2)
    few = ("--repetitions", "1", "--warmup", "0", "--json")
    told = json.loads(ok(project, "benchmark", "--target", "cites:answer", *few))
    # agent.yaml lists neither retrieval nor citations, so the project's metrics are taken.
    assert told["metrics"]["hit@1"]["value"] == 0.5
    assert len(records(project, "quality/retrieval_quality_benchmarks")) == 2


def test_an_evaluation_adds_to_the_files_of_quality_and_a_second_time_takes_its_place(project: Path) -> None:
    rows = TABLES["rows"]
    (project / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ok(project, "score", "log.jsonl", "-m", "hit@1")
    (record,) = records(project, "quality/retrieval_quality_benchmarks")
    assert record["hit@1"] == 0.5
    assert record["hit@1_low"] < 0.5 < record["hit@1_high"]
    assert record["evaluation_id"].startswith("eval_run_")
    folder = project / "data/benchmarks/quality"
    add_record(folder, "retrieval_quality_benchmarks", {**record, "hit@1": 0.75}, key="evaluation_id")
    (record,) = records(project, "quality/retrieval_quality_benchmarks")
    assert record["hit@1"] == 0.75


# The verdict. A record has the median pace of its repetitions and between which paces nine of ten lie.


def pace(median: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    about = TABLES["about"]
    spread = {"queries_per_second": median, "slow_repetition": low, "fast_repetition": high}
    return {"timestamp": "2026-11-15T22:40:00+00:00", "load_per_core": 0.2, **about, **spread, **more}


@pytest.mark.parametrize(
    ("now", "before", "word"),
    [
        (pace(100, 95, 105), None, "first"),
        (pace(95, 90, 97), pace(100, 98, 105), "same"),  # apart, but by less than a tenth
        (pace(80, 75, 85), pace(100, 95, 105), "slower"),
        (pace(120, 115, 125), pace(100, 95, 105), "faster"),
        (pace(80, 70, 96), pace(100, 95, 105), "undecided"),  # 95 to 96 in both
        (pace(80, 75, 85, load_per_core=3.0), pace(100, 95, 105), "undecided"),
        (pace(80, 75, 85), pace(100, 95, 105, load_per_core=3.0), "undecided"),
        (pace(80, 75, 85), pace(100, 95, 105, configuration="dense"), "first"),
        (pace(80, 75, 85), pace(100, 95, 105, hardware="another"), "first"),
        (pace(80, 75, 85), pace(100, 95, 105, dataset_hash="other"), "first"),
        (pace(80, 75, 85), pace(100, 95, 105, concurrency=8), "first"),
    ],
)
def test_slower_is_what_lies_apart_on_a_quiet_machine(now: Any, before: Any, word: str) -> None:
    found = compared(now, [pace(1, 1, 1, configuration="else"), *([before] if before else [])])
    assert found.word == word
    assert bool(found.reason) == (word == "undecided")


def test_figures_are_percentiles_by_interpolation() -> None:
    # 1 … 5: the median is 3; 95 % lies 0.8 of the way from 4 to 5, 5 % 0.2 from 1 to 2.
    assert latency_figures([5, 1, 4, 2, 3], [50, 95]) == {"mean": 3, "p50": 3, "p95": 4.8, "min": 1, "max": 5}
    assert throughput_figures([5, 1, 4, 2, 3]) == {
        "queries_per_second": 3,
        "slow_repetition": 1.2,
        "fast_repetition": 4.8,
    }


def kept(now: dict[str, Any], before: dict[str, Any] | None) -> KeptBenchmark:
    counts = {"total_queries": 40, "failed_queries": 2, "repetitions": 20, "warmup_queries": 5}
    now = {**now, **counts, "memory_mb_peak": 66.2}
    earlier = [] if before is None else [({**before, **counts}, {"p50": 9.1, "p95": 12.0})]
    return KeptBenchmark(
        pace=Pace(word="first", now=now) if before is None else compared(now, [before]),
        latency={"mean": 11.2, "p50": 0.83, "p95": 14.6, "min": 0.7, "max": 1500.0},
        earlier=earlier * 6,
        failures={"timeout": 2},
        performance={},
        metrics={"hit@1": {"value": 0.5}},
        indexed={"documents": 2, "chunks": 7, "index_seconds": 0.004},
        files=(Path("data/benchmarks/performance/latency_benchmarks.json"),),
        results=None,
    )


SENTENCES = [
    (None, "First measurement: 80 questions per second, 50% within 0.83 ms, 95% within 15 ms."),
    (pace(82, 75, 85), "As fast as last time: 80 questions per second, last time 82."),
    (pace(100, 95, 105), "Slower than last time: 80 questions per second, last time 100."),
    (pace(40, 35, 45), "Faster than last time: 80 questions per second, last time 40."),
    (
        pace(100, 79, 105),
        "Undecided: 80 questions per second, last time 100, "
        "but the repetitions of both measurements overlap.",
    ),
]


@pytest.mark.parametrize(("before", "sentence"), SENTENCES)
def test_the_verdict_is_a_sentence(before: Any, sentence: str) -> None:
    assert pace_sentence(kept(pace(80, 75, 85), before)) == sentence
