"""Judgements and runs are read from TREC, BEIR and JSON files; every problem is told with its line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.trec import read_qrels, read_run
from rag_evaluation_framework.errors import MAX_ISSUES

TABLES = tables_beside(__file__)

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"文档": 1}}
RUN = {"q1": {"d2": 1.5, "d1": -0.25}, "q2": {"文档": 3.0}}
TREC_QRELS = "q1 0 d1 2\nq1 0 d2 0\n\nq2\t0\t文档\t1\n"
TREC_RUN = "q1 Q0 d2 1 1.5 tag\nq1 Q0 d1 2 -0.25 tag\nq2 Q0 文档 1 3e0 tag\n"


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        TREC_QRELS,
        TREC_QRELS.replace("\n", "\r\n"),
        "\ufeff" + TREC_QRELS,
        gzip.compress(TREC_QRELS.encode(), mtime=0),
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\t文档\t1\n",
        "q1\td1\t2\nq1\td2\t0\nq2\t文档\t1\n",
        json.dumps(QRELS),
        "\n  " + json.dumps(QRELS, indent=2, ensure_ascii=False),
    ],
)
def test_judgements_are_the_same_whatever_the_format(tmp_path: Path, content: str | bytes) -> None:
    assert read_qrels(written(tmp_path, content)) == QRELS


@pytest.mark.parametrize("content", [TREC_RUN, json.dumps(RUN), gzip.compress(TREC_RUN.encode(), mtime=0)])
def test_runs_are_the_same_whatever_the_format(tmp_path: Path, content: str | bytes) -> None:
    assert read_run(written(tmp_path, content)) == RUN


def test_lists_are_relevant_documents_or_rankings(tmp_path: Path) -> None:
    path = written(tmp_path, '{"q1": ["d1", "d2"], "q2": []}')
    assert read_qrels(path) == {"q1": {"d1": 1, "d2": 1}, "q2": {}}
    assert read_run(path) == {"q1": ["d1", "d2"], "q2": []}


def test_ids_with_spaces_are_kept_in_beir_files(tmp_path: Path) -> None:
    assert read_qrels(written(tmp_path, "a query\ta document\t1\n")) == {"a query": {"a document": 1}}


def test_only_ascii_space_parts_the_columns(tmp_path: Path) -> None:
    assert read_qrels(written(tmp_path, "q\u3000１ 0 d\u00a0x 1\n")) == {"q\u3000１": {"d\u00a0x": 1}}


@pytest.mark.parametrize(
    ("read", "content", "messages"),
    [
        *((read_qrels, *case) for case in TABLES["judgements"]),
        (read_qrels, b"q1 0 d\xff 1\n", ["{file}:1: expected UTF-8 text, got b'd\\xff'"]),
        *((read_run, *case) for case in TABLES["every problem of a run is told with its place"]),
    ],
)
def test_every_problem_of_judgements_and_of_runs_is_told_with_its_place(
    tmp_path: Path, read: Callable[[Path], Any], content: str | bytes, messages: list[str]
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert [str(issue) for issue in caught.value.issues] == [
        each.replace("{file}", str(path)) for each in messages
    ]


def test_a_file_that_is_wrong_throughout_is_told_shortly(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_qrels(written(tmp_path, "q 0 d\n" * 250))
    assert len(caught.value.issues) == MAX_ISSUES + 1
    assert "150 more problems" in str(caught.value.issues[-1])
