"""No cell of a table that we write is a formula to a spreadsheet, and every text comes back as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.datasets.csv_tables import Columns, read_rows, write_rows

TABLES = tables_beside(__file__)

COLUMNS = Columns({"query_id": "text", "score": "json", "contexts": "either"})


def written_and_read(path: Path, record: dict[str, object]) -> tuple[list[list[str]], dict[str, object]]:
    write_rows(path, [record], COLUMNS)
    with path.open(newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    ((_, read),) = read_rows(path, COLUMNS, on_error=lambda error: pytest.fail(str(error)))
    return cells, read


@pytest.mark.parametrize(
    ("text", "cell"), TABLES["a_text_that_would_be_computed_stands_behind_an_apostrophe"]
)
def test_a_text_that_would_be_computed_stands_behind_an_apostrophe(
    tmp_path: Path, text: str, cell: str
) -> None:
    cells, read = written_and_read(tmp_path / "t.csv", {"query_id": text, "contexts": text, text: "x"})
    assert cells[1][:2] == [cell, cell]
    assert cells[0][2] == cell
    assert read == {"query_id": text, "contexts": text, text: "x"}


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    cells, read = written_and_read(tmp_path / "t.csv", {"query_id": "q", "score": -0.5})
    assert cells[1] == ["q", "-0.5"]
    assert read["score"] == -0.5


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    cells, read = written_and_read(tmp_path_factory.mktemp("csv") / "t.csv", {"query_id": text})
    assert read == {"query_id": text}
    assert cells[1][0][:1] not in "=@\t\r"
