"""A share of ``benchmarks/fuzz.py``: mutated files of every grammar, and what they have found so far."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks import fuzz

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, InputError, load
from rag_evaluation_framework.datasets.trec import read_qrels
from rag_evaluation_framework.datasets.trec_tables import read_qrel_columns
from rag_evaluation_framework.metrics.judged_columns import NotPlain

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
FILES, SEED = 120, 16


def test_mutated_files_end_in_an_exit_code_and_a_clear_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fuzz", str(FILES), str(SEED)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert f"{FILES} files, 0 faults" in done.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # and back again, wherever a command went
        fuzz.project(folder)
    return folder


@pytest.mark.parametrize("name", sorted(fuzz.grammars()))
def test_good_files_that_are_mutated_are_read(base: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(base)
    case = fuzz.tried(base, name, fuzz.seeds_of(name, base)[0], fuzz.grammars()[name].commands[0])
    assert case.code in (0, 1), case.said


def test_there_are_at_least_ten_grammars_and_the_same_seed_gives_the_same_files(base: Path) -> None:
    assert len(fuzz.grammars()) >= 10
    first, again = ([fuzz.file_of(number, 5, base) for number in range(20)] for _ in range(2))
    assert first == again
    assert len({data for _, _, data in first}) > 15


@pytest.mark.parametrize("data", [b"[{" + b"[" * 100_000, b"{" + b'{"a":' * 50_000])
def test_a_key_that_nests_without_end_is_no_traceback(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "deep.json").write_bytes(data)
    refused = rag_eval("stats", tmp_path / "deep.json")
    assert "deep.json" in str(refused.exception)


def test_a_sentence_of_a_hundred_thousand_commas_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The fare, " * 20_000 + "is five pounds.\n\nThe pier opens at nine.\n")
    began = time.monotonic()
    rag_eval("generate", tmp_path, "-o", tmp_path / "out.eval.json")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("key", ["a]", "a.", "[" * 3000, "]["])
def test_a_key_of_any_shape_has_its_line_found(tmp_path: Path, key: str) -> None:
    content = {"evaluation": {key: {"b": 1}, "offline_dataset": 5}}
    (tmp_path / "odd.config.yaml").write_text(json.dumps(content))
    refused = rag_eval("build", "--config", tmp_path / "odd.config.yaml")
    assert "odd.config.yaml:1: " in str(refused.exception)


def test_a_score_beyond_every_number_is_a_clear_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "a.json").write_text('{"q1": {"d1": 1%s}}' % ("0" * 400))
    refused = rag_eval("rank", tmp_path / "qrels", tmp_path / "a.json")
    assert "q1.d1: expected a number, got 1000" in str(refused.exception)


def test_a_head_of_a_run_with_a_value_of_another_kind_is_a_broken_run(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base / "runs" / "old", tmp_path / "old")
    head = json.loads((tmp_path / "old" / "head.json").read_text())
    (tmp_path / "old" / "head.json").write_text(json.dumps({**head, "target": {"a": 1}}))
    listed = rag_eval("runs", "--runs-dir", tmp_path)
    assert "head.json: target: expected text, got" in " ".join(listed.output.split())


def test_a_dataset_recorded_under_a_name_too_long_for_a_file_is_not_there(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base / "runs" / "old", tmp_path / "runs" / "old")
    head = json.loads((base / "runs" / "old" / "head.json").read_text())
    head["configuration"]["dataset_path"] = "(" * 3000
    (tmp_path / "runs" / "old" / "head.json").write_text(json.dumps(head))
    refused = rag_eval("score", "old", "-m", "rouge", "--runs-dir", tmp_path / "runs")
    assert "there is no dataset (((" in str(refused.exception)
    assert str(refused.exception).endswith("Pass --dataset FILE.")


def test_judgements_whose_second_column_is_no_text_are_a_clear_line(tmp_path: Path) -> None:
    (tmp_path / "bad.qrels").write_bytes(b"q1 0 d1 2\nq1 0\xff d2 0\n")
    assert "bad.qrels:2: expected UTF-8 text" in str(rag_eval("stats", tmp_path / "bad.qrels").exception)


def results_of(base: Path) -> dict[str, Any]:
    """Return the results of the run, with its queries."""
    loaded = load(base / "runs" / "old")
    assert isinstance(loaded, Evaluation)
    return loaded.to_dict()


@pytest.mark.parametrize("bound", ["0.u", "nan", "1e999", "٣"])
def test_a_bound_that_is_no_number_is_no_threshold(base: Path, tmp_path: Path, bound: str) -> None:
    written = results_of(base)
    written["configuration"]["thresholds"] = ["token_f1 >= 0.5", f"rouge >= {bound}", "rouge <= -2.5e-05"]
    (tmp_path / "odd.results.json").write_text(json.dumps(written))
    held = load(tmp_path / "odd.results.json")
    assert [str(each) for each in held.thresholds] == ["token_f1 >= 0.5", "rouge <= -2.5e-05"]


@pytest.mark.parametrize(
    ("field", "value", "told"), TABLES["results_with_a_value_of_another_kind_are_a_clear_line"]
)
def test_results_of_another_kind_are_a_line(
    base: Path, tmp_path: Path, field: str, value: object, told: str
) -> None:
    written = results_of(base)
    written["query_results"][0][field] = value
    (tmp_path / "odd.results.json").write_text(json.dumps(written))
    refused = rag_eval("show", tmp_path / "odd.results.json")
    assert told in str(refused.exception)
    assert "odd.results.json" in str(refused.exception)


def test_a_configuration_of_another_tool_has_no_thresholds_of_ours(base: Path, tmp_path: Path) -> None:
    written = results_of(base)
    written["configuration"] = {"thresholds": 5}
    (tmp_path / "odd.results.json").write_text(json.dumps(written))
    loaded = load(tmp_path / "odd.results.json")
    assert isinstance(loaded, Evaluation)
    assert loaded.thresholds == ()


def test_a_score_written_with_its_parts_is_read_and_none_is_missing(base: Path, tmp_path: Path) -> None:
    written = results_of(base)
    scores = {"token_f1": {"value": 0.25}, "rouge": {"value": None}, "string_match": None}
    written["query_results"][0]["individual_metrics"] = scores
    (tmp_path / "odd.results.json").write_text(json.dumps(written))
    loaded = load(tmp_path / "odd.results.json")
    assert isinstance(loaded, Evaluation)
    assert [(each.metric, each.value) for each in next(iter(loaded.rows)).result.scores] == [
        ("token_f1", 0.25)
    ]


def test_results_whose_method_is_no_text_can_be_calibrated(base: Path, tmp_path: Path) -> None:
    written = results_of(base)
    for figure in written["answer_quality_metrics"].values():
        figure["method"] = 2.5
    odd = tmp_path / "odd.results.json"
    odd.write_text(json.dumps(written))
    done = rag_eval("calibrate", odd, "--labels", base / "labels.csv", "--label", "good")
    assert done.exception is None, done.output
    assert "2 answers of 2 labeled" in done.output


def test_an_interval_with_one_end_in_a_summary_is_no_interval(base: Path, tmp_path: Path) -> None:
    written = results_of(base)
    written["summary"]["pass_rate"]["confidence_interval"] = [0.5]
    (tmp_path / "odd.results.json").write_text(json.dumps(written))
    loaded = load(tmp_path / "odd.results.json")
    assert isinstance(loaded, Evaluation)
    assert loaded.metrics["pass_rate"].interval is None


@pytest.mark.parametrize("wrong", ["a number beyond its dictionary", "a text beyond its bytes"])
def test_an_arrow_file_that_points_outside_itself_is_a_clear_line(tmp_path: Path, wrong: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    queries = pyarrow.array(["q1", "q1"])
    if wrong == "a number beyond its dictionary":
        queries = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0, 5]), pyarrow.array(["q1"]), safe=False
        )
    else:
        places = pyarrow.py_buffer(struct.pack("<3i", 0, 4_000, 4))
        queries = pyarrow.StringArray.from_buffers(2, places, pyarrow.py_buffer(b"q1q1"))
    for name, number in (("qrels", "relevance"), ("run", "score")):
        columns = {"query_id": queries, "doc_id": ["d1", "d2"], number: [1, 2]}
        table = pyarrow.record_batch(list(map(pyarrow.array, columns.values())), names=list(columns))
        with pyarrow.ipc.new_file(tmp_path / f"{name}.arrow", table.schema) as writer:
            writer.write_batch(table)
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1 t\n")
    for pair in (("qrels.arrow", "a.run"), ("qrels", "run.arrow")):
        refused = rag_eval("rank", *(tmp_path / name for name in pair))
        assert isinstance(refused.exception, InputError)
        assert "expected a readable Arrow file, got " in str(refused.exception)


def test_a_parquet_file_with_a_flipped_bit_is_read_or_a_clear_line(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "relevance": [1, 2]}
    path, told = tmp_path / "qrels.parquet", set()
    parquet.write_table(pyarrow.table(columns), path, compression="none")
    written = path.read_bytes()
    for place in range(4, 70):  # the dictionary of the queries and their numbers
        path.write_bytes(written[:place] + bytes([written[place] ^ 2]) + written[place + 1 :])
        for read in (read_qrels, read_qrel_columns):
            try:
                read(path)
            except NotPlain:
                pass
            except InputError as error:
                told |= {issue.found for issue in error.issues}
    assert "a dictionary index out of range" in told
