"""A dataset in figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.overview import Lengths, overview

TABLES = tables_beside(__file__)


def written(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    lines = value if name.endswith(".jsonl") else [value]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


EVALUATION = {
    "dataset_id": "e",
    "name": "E",
    "version": "2.0.0",
    "queries": TABLES["queries"],
    "documents": [{"document_id": name, "content": name * 10} for name in "abcd"],
}


def test_an_evaluation_dataset_in_figures(tmp_path: Path) -> None:
    figures = overview(written(tmp_path, "e.eval.json", EVALUATION)).to_dict()
    assert (figures["dialect"], figures["dataset_id"], figures["version"]) == (
        "evaluation-dataset",
        "e",
        "2.0.0",
    )
    assert figures["samples"] == 3
    assert figures["having"] == {"reference": 1, "relevant_documents": 2, "relevant_spans": 1}
    assert figures["labels"] == {"query_type": {"factual": 2}, "difficulty": {"easy": 1}}
    # Characters are code points: 3, 5 and 4 of the questions, 2 of the reference, 7 - 2 of the span.
    assert figures["lengths"] == {
        "questions": {"count": 3, "min": 3, "median": 4, "p95": 5, "max": 5, "total": 12},
        "references": {"count": 1, "min": 2, "median": 2, "p95": 2, "max": 2, "total": 2},
        "spans": {"count": 1, "min": 5, "median": 5, "p95": 5, "max": 5, "total": 5},
        "documents": {"count": 4, "min": 10, "median": 10, "p95": 10, "max": 10, "total": 40},
    }
    assert figures["coverage"] == {
        "relevant": 3,
        "documents": 4,
        "covered": 2,  # a and b; x is not among the documents
        "missing": 1,
        "most_used": [{"document": name, "queries": count} for name, count in (("a", 2), ("b", 1), ("x", 1))],
    }


def test_a_conversation_counts_each_question_and_each_reference(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "一二三"},
        {"role": "assistant", "ground_truth": "四"},
        {"role": "user", "content": "五"},
        {"role": "assistant", "ground_truth": "六七"},
    ]
    figures = overview(written(tmp_path, "multiturn_qa.json", [{"id": "s", "conversation": turns}])).to_dict()
    assert figures["lengths"]["questions"]  == {
        "count": 2, "min": 1, "median": 1, "p95": 3, "max": 3, "total": 4
    }  # fmt: skip
    assert figures["lengths"]["references"]["total"] == 3
    assert figures["having"]["several_questions"] == 1


def test_a_folder_of_documents_is_counted_by_file(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.md").write_text("文档\r\n", encoding="utf-8", newline="")
    (tmp_path / "deep" / "b.txt").write_text("x" * 100)
    (tmp_path / "deep" / "c.pdf").write_bytes(b"%PDF\xff\xfe")
    (tmp_path / ".hidden").write_text("no")
    figures = overview(tmp_path)
    assert figures.files == {".md": 1, ".txt": 1}
    assert figures.unreadable == ("deep/c.pdf",)
    assert figures.lengths["documents"].summary()["total"] == 104
    assert "cannot read the text of 1 file: deep/c.pdf" in rag_eval("stats", tmp_path).stdout
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="expected a dataset, or a folder with documents"):
        overview(tmp_path / "empty")


def test_a_broken_dataset_has_no_figures_but_its_errors(tmp_path: Path) -> None:
    path = written(tmp_path, "rag.jsonl", [{"input": "a?", "expected": "b"}, {"input": 5, "expected": "b"}])
    with pytest.raises(InputError, match=r"rag\.jsonl:2: input: expected text"):
        overview(path)


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=60), st.sampled_from([1, 50, 95, 100]))
def test_percentiles_are_those_of_the_nearest_rank(lengths: list[int], percent: int) -> None:
    expected = np.percentile(lengths, percent, method="inverted_cdf")
    assert Lengths(lengths).percentile(percent) == expected
