"""``rag-eval merge`` and ``rag-eval export`` from the outside."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from command_lines import Command, Ended
from rag_evaluation_framework import evaluate
from rag_evaluation_framework.cli.main import main
from rag_evaluation_framework.reports.exports import latex_text

FORMULA = '=HYPERLINK("http://example.org", "a & b_1")'


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of two runs over halves of a dataset; every answer begins like a formula."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{n}", "input": f"Q{n}?", "expected": FORMULA, "tags": [f"t{n % 2}"]} for n in range(6)]
    Path("six.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    wish: dict[str, Any] = {
        "metrics": ["string_match"],
        "gate": {"string_match": 1.0},
        "runs_directory": "runs",
    }
    return [
        evaluate("six.jsonl", target=lambda question: FORMULA, tags=(tag,), **wish).head.run_id
        for tag in ("t0", "t1")
    ]


@pytest.fixture
def run(to_the_end: Command) -> Any:
    def to_its_end(*arguments: str | Path) -> Ended:
        return to_the_end(main, *arguments)

    return to_its_end


def test_a_run_is_exported_to_every_format(shards: list[str], run: Any) -> None:
    for to, ending in (
        ("latex", "tex"),
        ("junit", "xml"),
        ("markdown", "md"),
        ("csv", "csv"),
        ("html", "html"),
    ):
        ended = run("export", shards[0], "--to", to)
        assert (ended.code, ended.out) == (0, f"saved as {shards[0]}.{ending}\n"), to
    with Path(f"{shards[0]}.csv").open(encoding="utf-8-sig", newline="") as file:
        (first, *_) = csv.DictReader(file)
    assert first["answer"] == f"'{FORMULA}"  # never a formula
    cells = [first[name] for name in ("id", "string_match", "tags", "verdict", "meets_thresholds")]
    assert cells == ["q0", "1.0", "t0", "correct", "true"]
    answers = ElementTree.parse(f"{shards[0]}.xml").findall(".//testcase[@classname='six']")
    assert len(answers) == 3
    table = Path(f"{shards[0]}.tex").read_text(encoding="utf-8")
    assert r"string\_match & 1.00 & [0.44, 1.00] & 3 & lexical \\" in table
    assert run("export", "--to", "csv", "-o", "latest.csv").code == 0
    assert Path("latest.csv").read_text(encoding="utf-8-sig").count("\n") == 4


def test_texts_are_texts_in_a_workbook_and_in_parquet(shards: list[str], run: Any) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="exports to xlsx need openpyxl")
    assert run("export", shards[0], "--to", "xlsx", "-o", "a.xlsx").code == 0
    book = openpyxl.load_workbook("a.xlsx")
    assert book.sheetnames == ["answers", "figures"]
    names = [cell.value for cell in book["answers"][1]]
    answer = book["answers"].cell(2, names.index("answer") + 1)
    assert (answer.value, answer.data_type) == (FORMULA, "s")
    assert book["figures"].cell(2, 1).value == "string_match"


def test_parquet_has_a_row_for_each_answer(shards: list[str], run: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("export", shards[1], "--to", "parquet", "-o", "a.parquet").code == 0
    table = parquet.read_table("a.parquet").to_pylist()
    assert [row["id"] for row in table] == ["q1", "q3", "q5"]
    assert (table[0]["answer"], table[0]["string_match"]) == (FORMULA, 1.0)


def test_without_openpyxl_the_extra_is_named(
    shards: list[str], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    ended = run("export", shards[0], "--to", "xlsx")
    assert ended.code == 2
    assert "rag-evaluation-framework[xlsx]" in ended.err


def test_latex_shows_any_text_as_it_is() -> None:
    assert latex_text("a_b & 5% of {x}^2 ~ \\\n#1 $") == (
        r"a\_b \& 5\% of \{x\}\textasciicircum{}2 \textasciitilde{} \textbackslash{} \#1 \$"
    )
