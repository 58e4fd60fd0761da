"""A run becomes a results document: everything in its section, nothing made up, always the same bytes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from finished_runs import RESULTS, SAMPLES, evaluated, on_disk

from cases import tables_beside
from rag_evaluation_framework import Evaluation, InputError, UsageError
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.runs import ResourceUsage, Spread
from rag_evaluation_framework.results.evaluations import rows_of_folder
from rag_evaluation_framework.results.journal import entry_from, intact_entry, written_entry
from rag_evaluation_framework.results.resources import ResourceMeter
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.results.stored_runs import load_run
from rag_evaluation_framework.results.summaries import TOTAL_TIME, section_of
from rag_evaluation_framework.structs import replace
from sizes import size

TABLES = tables_beside(__file__)

PEAK_OF = Path(__file__).parents[1] / "peak_memory.py"


def written(folder: RunFolder, **changes: Any) -> Evaluation:
    """Write the results of a run into its folder, its samples among them."""
    evaluation = replace(load_run(folder), read_rows=lambda: rows_of_folder(folder, SAMPLES), **changes)
    evaluation.save(folder.results_path)
    return evaluation


@pytest.fixture
def document() -> dict[str, Any]:
    return evaluated(samples=SAMPLES).to_dict()


def test_the_document_is_valid_by_both_schemas(document: dict[str, Any]) -> None:
    assert schema_issues("results", document) == []
    assert schema_issues("results", document, lenient=True) == []
    empty = evaluated([]).to_dict()
    assert schema_issues("results", empty) == []
    assert schema_issues("results", empty, lenient=True) == []


@pytest.mark.parametrize(
    ("metric", "method", "section"), TABLES["a_metric_stands_in_the_section_of_its_family"]
)
def test_a_metric_stands_in_the_section_of_its_family(metric: str, method: str, section: str) -> None:
    assert section_of(metric, method) == section


def test_every_metric_of_the_run_stands_in_one_section_with_its_counts(document: dict[str, Any]) -> None:
    assert list(document["retrieval_metrics"]) == ["ndcg@5", "span_recall"]
    assert list(document["citation_metrics"]) == ["citation_span_f1"]
    assert list(document["answer_quality_metrics"]) == ["token_f1", "house_style"]
    # ndcg@5 of q1 is 1 and of q2 is 0, q3 failed: (1 + 0) / 2
    ndcg = document["retrieval_metrics"]["ndcg@5"]
    assert (ndcg["value"], ndcg["n_scored"], ndcg["n_skipped"], ndcg["n_failed"]) == (0.5, 2, 0, 1)
    assert ndcg["higher_is_better"] is True
    assert "Wilson" in ndcg["interval_method"]
    token_f1 = document["answer_quality_metrics"]["token_f1"]
    assert token_f1["value"] == pytest.approx(0.6)  # (0.8 + 0.4) / 2
    # The failed sample did not know the method; the scored ones do.
    assert token_f1["method"] == "lexical"
    latency = document["performance_metrics"]["latency"]
    assert (latency["value"], latency["higher_is_better"], latency["n_failed"]) == (100.0, False, 1)


def test_a_metric_that_nothing_was_scored_by_has_no_value() -> None:
    summary = evaluated(RESULTS[2:]).to_dict()["retrieval_metrics"]["ndcg@5"]
    assert summary["value"] is summary["confidence_interval"] is None
    assert (summary["n_scored"], summary["n_failed"]) == (0, 1)


def test_the_summary_counts_what_was_asked_answered_failed_and_left() -> None:
    assert evaluated(total=5).to_dict()["summary"] == TABLES["the_summary"]


def test_a_query_shows_what_was_asked_retrieved_cited_and_scored(document: dict[str, Any]) -> None:
    first, second, third = document["query_results"]
    assert [each.get("latency_ms") for each in (first, second, third)] == [120.0, 80.0, None]
    assert "latency_ms" not in third
    assert first["query_text"] == "What is 退款?"
    assert first["ground_truth_answer"] == "A refund."
    assert first["retrieval_results"] == TABLES["what_was_retrieved"]
    assert first["metric_details"] == {"token_f1": {"overlap": 2}}
    assert second["individual_metrics"] == {"ndcg@5": 0.0, "token_f1": 0.4}
    assert second["unscored_metrics"]["span_recall"] == {"status": "skipped", "reason": "no relevant spans"}
    assert third["error"] == {"kind": "http-503", "message": "the agent is down"}
    assert third["individual_metrics"] == {}  # there whatever happened, as every reader expects
    assert "generated_answer" not in third


def test_the_three_kinds_of_citations_are_not_mixed(document: dict[str, Any]) -> None:
    first = document["query_results"][0]
    assert first["citations"] == TABLES["citations"]
    assert first["token_citations"] == [
        {"file_name": "a.md", "start_token": 0, "end_token": 3, "tokenizer": "cl100k"}
    ]
    assert first["context_citations"] == [1]


def test_the_head_is_all_there(document: dict[str, Any]) -> None:
    assert document["configuration"]["chunker"] == "recursive(chunk_size=200, overlap=50)"
    assert document["system_version"] == "shop-agent"
    metadata = document["metadata"]
    assert metadata["dataset_version"] == "1.0.0"
    assert metadata["dataset_hash"].startswith("sha256:")
    assert metadata["metric_versions"] == {"ndcg@5": 1, "token_f1": 1}
    assert metadata["evaluation_parameters"] == {"random_seed": 7}
    assert metadata["packages"]["python"] == "3.11.9"


def test_performance_is_measured_or_left_out(tmp_path: Path) -> None:
    folder = on_disk(tmp_path)
    resources = ResourceUsage(Spread(80.0, 90.5, 2.0), Spread(45.0, 78.0, 8.0))
    written(folder, performance=replace(load_run(folder).performance, resources=resources))
    figures = read_results(folder.results_path)["performance_metrics"]
    assert figures["latency_stats"] == TABLES["latency_stats"]
    assert figures["api_usage"] == TABLES["api_usage"]
    assert figures["total_evaluation_time_seconds"] == 3.5  # when the last of the three was written down
    assert figures["resource_usage"]["memory_mb"] == {"mean": 80.0, "peak": 90.5, "std": 2.0}
    silent = evaluated(RESULTS[2:]).to_dict()
    assert list(silent["performance_metrics"]) == ["latency"]  # the failed scores alone
    assert not silent["summary"].keys() & {"average_latency_ms", "total_evaluation_time_seconds"}


def test_requests_that_were_not_counted_are_not_told(tmp_path: Path) -> None:
    folder = on_disk(tmp_path)
    lines = folder.journal_path.read_bytes().splitlines()
    entries = [entry_from(content) for line in lines if (content := intact_entry(line + b"\n"))]
    entries[0] = replace(entries[0], timing=replace(entries[0].timing, requests=None))
    folder.journal_path.write_bytes(b"".join(written_entry(each)[0] for each in entries))
    assert "total_requests" not in load_run(folder).performance.figures["api_usage"]


def test_equal_results_are_equal_bytes_whatever_the_order_and_the_times(tmp_path: Path) -> None:
    first = on_disk(tmp_path / "a", run_id="same", order=(0, 1, 2))
    second = on_disk(tmp_path / "b", run_id="same", order=(2, 0, 1), delay=33.0)
    for folder in (first, second):
        written(folder)
    one, other = read_results(first.results_path), read_results(second.results_path)
    assert times_taken_from(one) != times_taken_from(other)
    assert strict_json.encode(one) == strict_json.encode(other)
    before = first.results_path.read_bytes()
    written(first)
    assert first.results_path.read_bytes() == before


def times_taken_from(document: dict[str, Any]) -> list[Any]:
    """Take out of a document what differs between two equal runs."""
    times = [document.pop("performance_metrics")]
    times += [document["summary"].pop(name, None) for name in ("average_latency_ms", TOTAL_TIME)]
    return times + [query.pop("latency_ms", None) for query in document["query_results"]]


@pytest.mark.parametrize("suffix", ["json", "json.gz", "yaml", "csv", "parquet"])
def test_what_is_written_reads_back_as_what_stands_in_memory(
    tmp_path: Path, document: dict[str, Any], suffix: str
) -> None:
    path = evaluated(samples=SAMPLES).save(tmp_path / f"run.results.{suffix}")
    assert read_results(path) == document


def test_a_query_is_one_line_of_the_file(tmp_path: Path) -> None:
    folder = on_disk(tmp_path)
    written(folder)
    lines = [
        line for line in folder.results_path.read_text(encoding="utf-8").splitlines() if '"query_id"' in line
    ]
    assert [strict_json.decode(line.strip().rstrip(","))["query_id"] for line in lines] == ["q1", "q2", "q3"]


def test_samples_pair_by_id_in_whatever_order_the_dataset_is_now(tmp_path: Path) -> None:
    folder = on_disk(tmp_path, RESULTS[1:], order=(1, 0))
    grown = [*reversed(SAMPLES), SAMPLES[0].__class__(id="new", turns=SAMPLES[0].turns)]
    rows = list(rows_of_folder(folder, grown))
    assert [(row.result.sample_id, row.sample.id if row.sample else None) for row in rows] == [
        ("q2", "q2"),
        ("q3", "q3"),
    ]


def test_an_edited_or_missing_sample_is_an_error_with_the_counts(tmp_path: Path) -> None:
    folder = on_disk(tmp_path)
    edited = SAMPLES[0].__class__(id="q1", turns=SAMPLES[0].turns, reference="Something else.")
    with pytest.raises(UsageError, match="3 samples of the run as before, got 1 missing, 1 edited since"):
        list(rows_of_folder(folder, [edited, SAMPLES[1]]))


def test_a_head_without_a_time_cannot_become_a_document() -> None:
    with pytest.raises(InputError, match="started_at: expected when the run began"):
        evaluated([], started_at=None).to_dict()


def test_the_intervals_are_made_as_asked_for_and_say_so() -> None:
    intervals = {"method": "bootstrap", "confidence": 0.9, "resamples": 200, "seed": 3}
    document = evaluated(intervals=intervals).to_dict()
    assert document["statistical_analysis"]["confidence_intervals"] == {
        "confidence_level": 0.9,
        "method": "bootstrap",
        "resamples": 200,
        "seed": 3,
    }
    # Two queries: too few values to be resampled.
    assert document["retrieval_metrics"]["ndcg@5"]["interval_method"] == "Student's t"


def test_the_meter_measures_this_process() -> None:
    with ResourceMeter(interval=0.01) as meter:
        sum(range(2_000_000))
    assert meter.usage.cpu_percent.peak > 0
    assert meter.usage.memory_mb is not None
    assert meter.usage.memory_mb.peak >= meter.usage.memory_mb.mean > 5


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        program = f"""
            import sys
            sys.path[:0] = [{str(PEAK_OF.parent)!r}, {str(Path(__file__).parent)!r}]
            from finished_runs import head
            from peak_memory import peak_kib
            from rag_evaluation_framework.judging.verdict import AnswerVerdict
            from rag_evaluation_framework.records.responses import Response
            from rag_evaluation_framework.records.runs import SampleResult
            from rag_evaluation_framework.records.scores import Score
            from rag_evaluation_framework.records.runs import RunOutcome
            from rag_evaluation_framework.results.evaluations import Row, summed_up

            def rows():
                for n in range({count}):
                    response = Response(text=f"answer {{n}} " * 50, latency_ms=float(n % 100))
                    score = Score.scored("token_f1", n % 1000 / 1000, method="lexical")
                    result = SampleResult(f"q{{n}}", response, (score,))
                    yield Row(n, result, verdict=AnswerVerdict("correct"))

            outcome = RunOutcome(completed=True, interrupted=False, done={count}, failed=0, remaining=0)
            wish = dict(kind="answers", outcome=outcome, rows=rows, intervals={{"resamples": 100}})
            summed_up(head(), rows(), **wish).save({str(tmp_path / "big.json")!r})
            print(peak_kib())
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    most = size(30_000, 100_000)
    # The answers of 30,000 samples alone are 16 MB; what is kept of each is some 60 bytes.
    assert peak(most) - peak(1_000) < most * 0.2
