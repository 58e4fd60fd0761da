"""Judgements and runs as Parquet and Arrow: the figures of TREC files, and every problem with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import tables_beside
from command_lines import rag_eval_ended as rag_eval
from rag_evaluation_framework import InputError, evaluate
from rag_evaluation_framework.datasets import ranking_tables
from rag_evaluation_framework.datasets.ranking_tables import TableRun, table_qrels
from rag_evaluation_framework.datasets.trec import read_qrels, read_run
from rag_evaluation_framework.metrics.ranking import evaluate_ranking

TABLES = tables_beside(__file__)

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

METRICS = ["ndcg@5", "map", "mrr", "hole@3"]


def written(path: Path, columns: dict[str, Any], **types: Any) -> Path:
    arrays = {name: pyarrow.array(values, types.get(name)) for name, values in columns.items()}
    table = pyarrow.table(arrays)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=7)
    else:
        new = pyarrow.ipc.new_file if path.suffix == ".arrow" else pyarrow.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.fixture(scope="module")
def columns() -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgements and a run of 20 queries, with ties, out of order, and with documents nobody judged."""
    rng = np.random.default_rng(3)
    query = np.repeat(np.arange(20), 12)
    document = np.concatenate([rng.permutation(40)[:12] for _ in range(20)])
    run = {
        "query_id": [f"q{n}" for n in query],
        "doc_id": [f"document-{n}" for n in document],
        "score": rng.integers(0, 9, size=240) / 8,
    }
    judged = rng.random(240) < 0.4
    judgements = {
        "query_id": [f"q{n}" for n in query[judged]],
        "doc_id": [f"document-{n}" for n in document[judged]],
        "relevance": rng.integers(0, 3, size=int(judged.sum())),
    }
    return judgements, run


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("kind", ["text", "dictionary", "large text"])
def test_tables_give_the_figures_of_their_rows(
    tmp_path: Path, columns: tuple[Any, Any], ending: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = {
        "text": pyarrow.string(),
        "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        "large text": pyarrow.large_string(),
    }[kind]
    types = {"query_id": text, "doc_id": text}
    qrels = written(tmp_path / f"qrels.{ending}", columns[0], **types)
    run = written(tmp_path / f"run.{ending}", columns[1], **types)
    monkeypatch.setattr(ranking_tables, "_ROWS_AT_A_TIME", 5)  # a query takes three batches
    in_blocks = evaluate_ranking(table_qrels(qrels), TableRun(run), METRICS)
    by_rows = evaluate_ranking(read_qrels(qrels), read_run(run), METRICS)
    assert in_blocks.query_ids == by_rows.query_ids
    for metric in METRICS:
        assert in_blocks.per_query[metric].tolist() == by_rows.per_query[metric].tolist()


def test_tables_and_trec_files_go_together_and_scores_of_queries_are_written(
    tmp_path: Path, columns: tuple[Any, Any]
) -> None:
    written(tmp_path / "qrels.parquet", columns[0])
    written(tmp_path / "a.parquet", columns[1])
    lines = zip(*columns[1].values(), strict=True)
    (tmp_path / "b.run").write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in lines))
    done = rag_eval(
        "rank", "qrels.parquet", "a.parquet", "b.run", "-m", "mrr", "--out", "scores.parquet", folder=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "a and b are the same on the only metric" in " ".join(done.stdout.split()).replace(
        "b and a", "a and b"
    )
    table = parquet.read_table(tmp_path / "scores.parquet")
    assert table.column_names == ["system", "query_id", "mrr"]
    scores = table.to_pydict()
    assert scores["system"] == ["a"] * (len(scores["mrr"]) // 2) + ["b"] * (len(scores["mrr"]) // 2)
    found = evaluate(tmp_path / "qrels.parquet", target={"a": tmp_path / "a.parquet"}, metrics=["mrr"])
    assert {q: v for q, v in zip(scores["query_id"], scores["mrr"], strict=True) if v is not None} == (
        found.parts["a"].columns.scored("mrr")
    )
    assert (
        pyarrow.ipc.open_file(found.save(tmp_path / "scores.arrow")).read_all().num_rows
        == len(scores["mrr"]) // 2
    )


def test_ids_may_be_whole_numbers(tmp_path: Path) -> None:
    qrels = written(tmp_path / "qrels.parquet", {"qid": [7, 7], "docno": [1, 2], "label": [1, 0]})
    run = written(tmp_path / "run.parquet", {"qid": [7, 7], "docno": [2, 1], "score": [3, 1]})
    assert evaluate_ranking(table_qrels(qrels), TableRun(run), ["mrr"]).mean == {"mrr": 0.5}
    assert read_qrels(qrels) == {"7": {"1": 1, "2": 0}}


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        *TABLES["every_problem_of_a_table_is_told_with_its_row"],
        (
            {"query_id": ["q", "r", "q"], "doc_id": ["d", "d", "d"], "score": [1.0, float("nan"), 3.0]},
            [
                "{file}:2: score: expected a finite number, got nan",
                "{file}:3: expected unique documents per query, got duplicate 'd' for query 'q'",
            ],
        ),
    ],
)
def test_every_problem_of_a_table_is_told_with_its_row(
    tmp_path: Path, table: dict[str, Any], messages: list[str]
) -> None:
    path = written(tmp_path / "run.parquet", table)
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert [str(issue) for issue in caught.value.issues] == [
        each.replace("{file}", str(path)) for each in messages
    ]


def test_a_file_that_is_cut_off_is_an_error_in_a_line(tmp_path: Path, columns: tuple[Any, Any]) -> None:
    written(tmp_path / "qrels.parquet", columns[0])
    for ending, kind in (("parquet", "Parquet"), ("arrow", "Arrow")):
        whole = written(tmp_path / f"run.{ending}", columns[1]).read_bytes()
        (tmp_path / f"run.{ending}").write_bytes(whole[: len(whole) // 2])
        done = rag_eval("rank", "qrels.parquet", f"run.{ending}", folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith(f"rag-eval: run.{ending}: expected a readable {kind} file")
        assert "Traceback" not in done.stderr


def test_a_column_that_is_no_longer_optional_ends_in_a_line(tmp_path: Path, columns: tuple[Any, Any]) -> None:
    path = written(tmp_path / "run.parquet", columns[1])  # what its footer counts is then of another shape
    path.write_bytes(path.read_bytes().replace(b"\x25\x02\x18\x08query_id", b"\x25\x00\x18\x08query_id"))
    done = rag_eval("rank", "run.parquet", "run.parquet", folder=tmp_path)
    assert (done.returncode, "expected a readable Parquet file" in done.stderr) == (2, True), done.stderr
