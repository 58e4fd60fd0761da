"""Results in a folder: saved whole or not at all, by several processes at once, found by id."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from finished_runs import on_disk
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import EvaluationResultsStorage, InputError, UsageError
from rag_evaluation_framework.datasets.value_files import write_results
from rag_evaluation_framework.errors import MissingResultsError, StorageError
from rag_evaluation_framework.results.results_document import check_id
from rag_evaluation_framework.results.stored_runs import load_run
from sizes import size

TABLES = tables_beside(__file__)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
RESULTS: dict[str, Any] = {
    "evaluation_id": "sample_eval_001",
    "timestamp": "2025-08-30T12:00:00Z",
    "dataset_id": "sample_eval_v1.0.0",
    "results": [{"nested": [1, 2]}],
}
WAYS_OUT = ["../out", "..", ".", "a/b", "/etc/x", "a\\b", "a\0b", "", ".hidden", "a\nb", "x" * 201, "退" * 67]


@pytest.fixture
def storage(tmp_path: Path) -> EvaluationResultsStorage:
    return EvaluationResultsStorage(tmp_path / "results", now=lambda: NOON)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_saved_loads_back_with_when_where_and_what_type(storage: EvaluationResultsStorage) -> None:
    path = storage.save_results(RESULTS, "ab_test")
    loaded = storage.load_results("sample_eval_001")
    assert loaded.pop("_metadata") == {
        "saved_at": "2026-11-15T12:00:00+00:00",
        "file_path": path,
        "evaluation_type": "ab_test",
    }
    assert loaded == RESULTS


def test_saving_does_not_change_what_it_was_given(storage: EvaluationResultsStorage) -> None:
    for given_results in (RESULTS, {"dataset_id": "no id"}, {**RESULTS, "_metadata": {"mine": 1}}):
        before = copy.deepcopy(given_results)
        storage.save_results(given_results)
        assert given_results == before


def test_results_without_an_id_get_the_next_of_the_day(storage: EvaluationResultsStorage) -> None:
    paths = [Path(storage.save_results({"n": n})).name for n in range(3)]
    assert paths == [f"eval_run_20261115_00{n}.results.json" for n in (1, 2, 3)]
    assert storage.load_results("eval_run_20261115_002")["n"] == 1
    assert storage.load_results("eval_run_20261115_002")["evaluation_id"] == "eval_run_20261115_002"
    storage.save_results({"evaluation_id": "eval_run_20261115_041"})
    assert Path(storage.save_results({"evaluation_id": None})).name == "eval_run_20261115_042.results.json"


def test_the_same_id_again_replaces_what_was_there(storage: EvaluationResultsStorage) -> None:
    storage.save_results(RESULTS)
    storage.save_results({**RESULTS, "dataset_id": "another"})
    assert storage.load_results("sample_eval_001")["dataset_id"] == "another"
    assert len(storage.list_results()) == 1


def test_eight_processes_saving_at_once_lose_nothing(tmp_path: Path) -> None:
    each = size(25, 100)
    program = f"""
        import sys
        from datetime import UTC, datetime
        from rag_evaluation_framework.results.results_document import EvaluationResultsStorage
        # One clock for all: every save is in the same second.
        storage = EvaluationResultsStorage({str(tmp_path)!r}, now=lambda: datetime(2026, 11, 15, tzinfo=UTC))
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range({each}):
            print(storage.save_results({{"who": sys.argv[1], "n": n}}))
    """
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), str(who)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in range(8)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    outputs = []
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        outputs.append(writer.communicate()[0].splitlines())
        assert writer.returncode == 0
    paths = [path for output in outputs for path in output]
    assert len(set(paths)) == len(paths) == 8 * each
    assert sorted(paths) == sorted(str(tmp_path / name) for name in files_in(tmp_path))
    for who, output in enumerate(outputs):
        found = [json.loads(Path(path).read_bytes()) for path in output]
        assert [(each["who"], each["n"]) for each in found] == [(str(who), n) for n in range(len(found))]
        assert all(
            Path(path).name.startswith(one["evaluation_id"]) for path, one in zip(output, found, strict=True)
        )


@pytest.mark.parametrize("evaluation_id", WAYS_OUT)
def test_an_id_cannot_leave_the_folder(storage: EvaluationResultsStorage, evaluation_id: str) -> None:
    before = files_in(storage.results_directory.parent)
    with pytest.raises(InputError, match="evaluation_id"):
        storage.save_results({**RESULTS, "evaluation_id": evaluation_id})
    with pytest.raises(InputError, match="evaluation_id"):
        storage.load_results(evaluation_id)
    assert files_in(storage.results_directory.parent) == before


@given(st.text(max_size=30))
def test_an_id_that_is_allowed_is_the_name_of_one_file(evaluation_id: str) -> None:
    try:
        check_id(evaluation_id)
    except InputError:
        return
    folder = Path("/results")
    path = folder / f"{evaluation_id}.results.json"
    assert path.parent == folder
    assert os.path.normpath(path) == str(path)


def test_an_id_is_no_pattern(storage: EvaluationResultsStorage) -> None:
    storage.save_results(RESULTS)
    with pytest.raises(FileNotFoundError, match=r"no results 'sample_eval_\*'"):
        storage.load_results("sample_eval_*")
    with pytest.raises(MissingResultsError):
        storage.load_results("sample_eval_00")


@pytest.mark.parametrize("evaluation_id", ["İstanbul", "二 零", "a.results.json", "UPPER.v1.0.0"])
def test_any_other_id_finds_its_file(storage: EvaluationResultsStorage, evaluation_id: str) -> None:
    storage.save_results({"evaluation_id": evaluation_id, "n": 1})
    assert storage.load_results(evaluation_id)["n"] == 1
    assert storage.list_results()[0]["evaluation_id"] == evaluation_id


def test_a_link_to_nowhere_is_not_taken_for_a_free_id(
    storage: EvaluationResultsStorage, tmp_path: Path
) -> None:
    (storage.results_directory / "eval_run_20261115_001.results.json").symlink_to(tmp_path / "planted.json")
    assert Path(storage.save_results({"n": 1})).name == "eval_run_20261115_002.results.json"
    assert not (tmp_path / "planted.json").exists()


def test_a_link_out_of_the_folder_is_not_followed(storage: EvaluationResultsStorage, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"evaluation_id": "linked", "key": 1}', encoding="utf-8")
    (storage.results_directory / "linked.results.json").symlink_to(secret)
    with pytest.raises(InputError, match="a link out of it"):
        storage.load_results("linked")
    with pytest.raises(InputError, match="a link out of it"):
        storage.save_results({"evaluation_id": "linked"})
    (listed,) = storage.list_results()
    assert listed["error"] is not None
    assert json.loads(secret.read_bytes())["key"] == 1


def test_files_that_cannot_be_read_are_listed_with_their_reason(
    storage: EvaluationResultsStorage, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.save_results(RESULTS, "standard")
    storage.save_results({"evaluation_id": "weekly"}, "benchmark")
    folder = storage.results_directory
    (folder / "torn.results.json").write_bytes(b'{"evaluation_id": "torn", "sum')
    (folder / "wrong.results.json").write_bytes(b'{"evaluation_id": 7}')
    (folder / "list.results.yaml").write_bytes(b"- 1\n")
    (folder / "not utf-8.results.json").write_bytes(b'{"evaluation_id": "\xff"}')
    (folder / "notes.txt").write_bytes(b"not results")
    listed = {Path(each["file_path"]).name: each for each in storage.list_results()}
    assert list(listed) == sorted(listed)
    assert {name for name, each in listed.items() if each["error"]} == {
        "torn.results.json",
        "wrong.results.json",
        "list.results.yaml",
        "not utf-8.results.json",
    }
    assert listed["sample_eval_001.results.json"]["dataset_id"] == "sample_eval_v1.0.0"
    benchmarks = [each["evaluation_id"] for each in storage.list_results("benchmark") if not each["error"]]
    assert benchmarks == ["weekly"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", ["yaml", "csv", "json.gz"])
def test_results_of_every_format_are_found(storage: EvaluationResultsStorage, suffix: str) -> None:
    write_results(RESULTS, storage.results_directory / f"sample_eval_001.results.{suffix}")
    assert storage.load_results("sample_eval_001") == RESULTS
    assert storage.list_results()[0]["evaluation_id"] == "sample_eval_001"


def test_results_are_found_by_the_id_in_the_file_where_no_name_fits(
    storage: EvaluationResultsStorage,
) -> None:
    write_results(RESULTS, storage.results_directory / "benchmark_weekly.results.json")
    assert storage.load_results("sample_eval_001") == RESULTS
    write_results(RESULTS, storage.results_directory / "copy.results.yaml")
    with pytest.raises(InputError, match=r"one file of 'sample_eval_001', got .*weekly.* and .*copy"):
        storage.load_results("sample_eval_001")


def test_a_full_disk_leaves_the_old_files(storage: EvaluationResultsStorage, tmp_path: Path) -> None:
    path = Path(storage.save_results(RESULTS))
    before = path.read_bytes()
    run = on_disk(tmp_path / "runs")
    run.results_path.write_bytes(b"old")
    program = f"""
        import resource, signal, sys
        sys.dont_write_bytecode = True  # a limit on files would cut compiled modules short
        from rag_evaluation_framework import EvaluationResultsStorage, load
        from rag_evaluation_framework.errors import StorageError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        storage = EvaluationResultsStorage({str(path.parent)!r})
        for save in (
            lambda: storage.save_results({{"evaluation_id": "sample_eval_001", "x": "y" * 50_000}}),
            lambda: storage.save_results({{"x": "y" * 50_000}}),
            lambda: load({str(run.path)!r}).save({str(run.results_path)!r}),
        ):
            try:
                save()
            except StorageError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    *_, last = lines = done.stdout.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["File too large"] * 3
    assert last == f"cannot write {run.results_path}: File too large"
    assert (path.read_bytes(), run.results_path.read_bytes()) == (before, b"old")
    assert files_in(path.parent) == [path.name]
    assert not list(run.path.glob("*.tmp"))


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(storage: EvaluationResultsStorage) -> None:
    path = Path(storage.save_results(RESULTS))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"retrieval_metrics.mrr: expected a finite number, got nan"):
        storage.save_results({**RESULTS, "retrieval_metrics": {"mrr": float("nan")}})
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="results: expected a dictionary"):
        storage.save_results([1])  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot write"):
        EvaluationResultsStorage(tmp_path / "file" / "results")


def seed_like(evaluation_id: str, ndcg: float, **sections: Any) -> dict[str, Any]:
    return {
        "evaluation_id": evaluation_id,
        "timestamp": "2025-08-30T13:00:00Z",
        "dataset_id": "d",
        "retrieval_metrics": {"ndcg@5": {"value": ndcg, "confidence_interval": [0.1, 0.9], "n_scored": 9}},
        **sections,
    }


def test_comparing_covers_every_metric_section_at_every_depth(storage: EvaluationResultsStorage) -> None:
    storage.save_results(
        seed_like(
            "a",
            0.5,
            citation_metrics={
                "span_accuracy": {"mean_exact_jaccard": 0.85, "perfect_matches": 380},
                "citation_completeness": {"value": 0.88, "total_claims": 1250, "checked": True},
            },
            answer_quality_metrics={"factual_consistency": {"value": 0.89, "consistency_scores": [0.9, 0.8]}},
            performance_metrics={"latency_stats": {"p50": 10}, "query_latencies_ms": {"q": 1}},
        )
    )
    storage.save_results(seed_like("b", 0.75, house_metrics={"ndcg@5": 1, "tone": 3}))
    compared = storage.compare_results(["a", "b"])
    assert compared["evaluations"] == ["a", "b"]
    assert compared["metrics_comparison"] == TABLES["compared_metrics"]
    assert compared["performance_comparison"] == {"latency_stats": {"a": {"p50": 10}}}
    assert compared["paired_tests"] == compared["not_tested"] == []


def with_queries(
    evaluation_id: str, values: list[float], *, method: str = "lexical", data: str = "d"
) -> dict[str, Any]:
    return {
        "evaluation_id": evaluation_id,
        "dataset_id": data,
        "answer_quality_metrics": {"token_f1": {"value": sum(values) / len(values), "method": method}},
        "query_results": [
            {"query_id": f"q{n}", "individual_metrics": {"token_f1": value}} for n, value in enumerate(values)
        ],
    }


def test_comparing_tests_where_queries_pair_and_says_where_it_does_not(
    storage: EvaluationResultsStorage,
) -> None:
    low, high = [n / 100 for n in range(30)], [0.5 + n / 50 for n in range(30)]
    storage.save_results(with_queries("base", low))
    storage.save_results(with_queries("better", high))
    storage.save_results(with_queries("judged", high, method="judge:m"))
    storage.save_results(with_queries("elsewhere", high, data="other"))
    storage.save_results(seed_like("plain", 0.5))
    compared = storage.compare_results(["base", "better", "judged", "elsewhere", "plain"])
    (test,) = compared["paired_tests"]
    assert (test["baseline"], test["contender"], test["verdict"], test["n"]) == (
        "base",
        "better",
        "better",
        30,
    )
    assert [(each["evaluation"], each["metric"]) for each in compared["not_tested"]] == [
        ("judged", "token_f1"),
        ("elsewhere", None),
        ("plain", "token_f1"),
    ]
    assert "different methods (lexical and judge:m)" in compared["not_tested"][0]["reason"]
    assert compared["metrics_comparison"]["token_f1"].keys() == {"base", "better", "judged", "elsewhere"}


def test_the_tests_of_several_contenders_are_corrected_together(storage: EvaluationResultsStorage) -> None:
    low = [n / 10 for n in range(10)]
    storage.save_results(with_queries("base", low))
    for name in ("x", "y"):
        storage.save_results(with_queries(name, [value + 0.01 for value in low]))
    tests = storage.compare_results(["base", "x", "y"])["paired_tests"]
    assert [test["p_adjusted"] for test in tests] == [pytest.approx(2 * test["p_value"]) for test in tests]


def test_a_saved_run_is_compared_with_itself_as_equal(
    storage: EvaluationResultsStorage, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        folder = on_disk(tmp_path / "runs", run_id=name)
        load_run(folder).save(storage.results_directory / f"{name}.results.json")
    compared = storage.compare_results(["one", "two"])
    assert {test["verdict"] for test in compared["paired_tests"]} == {"no difference shown"}
    assert compared["metrics_comparison"]["ndcg@5"] == {"one": 0.5, "two": 0.5}
    assert set(compared["performance_comparison"]) >= {"latency_stats", "api_usage"}


def test_one_id_in_place_of_a_list_is_told(storage: EvaluationResultsStorage) -> None:
    with pytest.raises(UsageError, match="expected a list of ids"):
        storage.compare_results("sample_eval_001")
