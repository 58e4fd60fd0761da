"""Tables line up, whatever the script."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.reports.tables import text_table, text_width


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("Ａ", 2), ("", 0)])
def test_width_counts_terminal_cells(text: str, width: int) -> None:
    assert text_width(text) == width


def test_columns_line_up_with_wide_characters() -> None:
    table = text_table(["name", "n"], [["中文", "1"], ["abcd", "22"]], align="<>")
    assert table.splitlines() == ["name   n", "────  ──", "中文   1", "abcd  22"]


def test_a_table_without_rows_is_its_headers() -> None:
    assert text_table(["name", "n"], [], align="<>").splitlines() == ["name  n", "────  ─"]
