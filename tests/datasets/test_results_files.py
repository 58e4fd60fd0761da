"""Results and configuration files: what is written reads back equal, in every format."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from format_examples import RESULTS
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.value_files import (
    read_configuration,
    read_results,
    results_of_rows,
    results_rows,
    write_results,
)

FORMATS = ["json", "yaml", "csv", "parquet", "json.gz", "csv.zst"]
SECOND = {
    "query_id": "查询_002",
    "query_text": '第一行\r\n第二行, "引" \u2028 \u202bעברית\u202c \x00',
    "generated_answer": None,
    "latency_ms": 10.5,
    "individual_metrics": {"hit@3": 0.0, "a.b": None, "": 1.0},
    "其他": ["=1+1", {"x": []}],
}
AWKWARD = {
    **RESULTS,
    "query_results": [*RESULTS["query_results"], SECOND, {"query_id": "", "individual_metrics": {}}, {}],
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "results",
    [
        RESULTS,
        AWKWARD,
        {"evaluation_id": "a", "query_results": []},
        {"evaluation_id": "a", "results": []},
        {"query_results": [{}]},
        {},
    ],
    ids=["seed", "awkward", "no queries", "no query_results", "an empty query", "nothing"],
)
def test_results_read_back_equal(tmp_path: Path, suffix: str, results: dict[str, Any]) -> None:
    path = tmp_path / f"run.results.{suffix}"
    write_results(results, path)
    assert read_results(path) == results


def test_a_table_has_a_row_for_each_query_and_a_column_for_each_metric(tmp_path: Path) -> None:
    path = tmp_path / "run.results.csv"
    write_results(AWKWARD, path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(AWKWARD["query_results"])
    assert rows[0]["query_id"] == "query_001"
    assert rows[0]["individual_metrics.hit@3"] == "1.0"
    assert rows[1]["results_head"] == ""


def test_a_table_cut_short_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.results.csv"
    write_results({"query_results": [{"query_id": str(n)} for n in range(5)]}, path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    with pytest.raises(InputError, match="expected 5 rows") as caught:
        read_results(path)
    assert caught.value.issues[0].file == str(path)


def test_a_table_of_someone_else_is_read_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("query_id,individual_metrics.mrr\nq1,0.5\n", encoding="utf-8")
    assert read_results(path) == {"query_results": [{"query_id": "q1", "individual_metrics": {"mrr": 0.5}}]}


def test_a_field_named_like_a_column_of_ours_is_refused() -> None:
    for name in ("results_head", "extra_fields", "individual_metrics.x"):
        with pytest.raises(InputError, match="a field name that is not reserved"):
            list(results_rows({"query_results": [{name: 1}]}))


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [("x.results.json", "[1]", read_results), ("a.config.yaml", "- a\n- b\n", read_configuration)],
)
def test_what_is_no_object_is_no_results_file_and_no_configuration(
    name: str, text: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="expected an object"):
        read(tmp_path / name)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
queries = st.dictionaries(
    names.filter(lambda name: name not in ("results_head", "extra_fields")) | st.just("individual_metrics"),
    values,
    max_size=4,
)


@given(st.dictionaries(names, values, max_size=3), st.none() | st.lists(queries, max_size=3))
def test_any_results_survive_as_rows(head: dict[str, Any], rows: list[dict[str, Any]] | None) -> None:
    results = {**head, **({} if rows is None else {"query_results": rows})}
    assert results_of_rows(results_rows(results)) == results
