"""``rag-eval report``: one page from the folder of a run alone, and a badge."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, evaluate, load

ROWS = [{"input": f"{n}?", "expected": str(n), "tags": ["even" if n % 2 == 0 else "odd"]} for n in range(6)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs whose dataset is gone: the first is right, the second half wrong."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    wanted: dict[str, Any] = {"metrics": ["exact_match"], "gate": {"exact_match": 0.9}}
    evaluate(data, target=lambda question: question[:-1], **wanted)
    evaluate(data, target=lambda question: question[:-1] if question < "3" else "no", **wanted)
    data.unlink()
    return tmp_path


def data_of(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="data"( data-packed="gzip")?>(.*?)</script>', page, re.S
    )
    assert found is not None
    packed, written = found.groups()
    return json.loads(gzip.decompress(base64.b64decode(written)) if packed else written)


def test_the_latest_run_is_written_from_its_folder_alone(folder: Path) -> None:
    ended = rag_eval("report", "--badge", "badge.svg")
    assert (ended.exit_code, ended.stdout) == (0, "wrote report.html and badge.svg\n")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "✗ FAILED" in page
    assert re.search(r"<h1>.*3 of 6 answers", page)
    assert {each["q"] for each in data_of(page)["views"][0]["samples"]} == {f"{n}?" for n in range(6)}
    assert "failed" in (folder / "badge.svg").read_text(encoding="utf-8")
    for kind, tag in (("style", "style"), ("script", "script")):
        text = page.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src &#39;sha256-{digest}&#39;" in page


def test_several_runs_are_compared_with_the_first(folder: Path) -> None:
    runs = sorted(path.name for path in (folder / "runs").iterdir())
    ended = rag_eval("report", *runs, "-o", "change.html")
    assert ended.exit_code == 0
    views = data_of((folder / "change.html").read_text(encoding="utf-8"))["views"]
    assert [view["kind"] for view in views] == ["comparison", "run", "run"]
    grades = [pair["g"] for pair in views[0]["runs"][0]["pairs"]]
    assert sorted(grades) == [[0, 0]] * 3 + [[0, 2]] * 3


def test_an_evaluation_writes_its_own_page_and_large_data_are_compressed(folder: Path) -> None:
    run = sorted((folder / "runs").iterdir())[0]
    loaded = load(run)
    assert isinstance(loaded, Evaluation)
    small = loaded.report(folder / "small.html").read_text(encoding="utf-8")
    assert "data-packed" not in small.partition("<body>")[2].partition("<script>")[0]
    rows = [{"user_input": f"{n}?", "response": "x" * 40_000, "reference": "x"} for n in range(30)]
    large = evaluate(rows, metrics=["exact_match"]).report(folder / "large.html").read_text(encoding="utf-8")
    assert len(large) < 200_000
    assert len(data_of(large)["views"][0]["samples"]) == 30
