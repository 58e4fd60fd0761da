"""The handbook in examples/ keeps its promises: exact spans, known ids, runs that can be made again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HANDBOOK = Path(__file__).resolve().parent.parent / "examples" / "handbook"
RUNS = ("bm25.run", "ngrams.run", "fused.run")


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    # Decoded from bytes, because reading as text would translate line ends and move the offsets.
    return {path.name: path.read_bytes().decode("utf-8") for path in (HANDBOOK / "documents").iterdir()}


@pytest.fixture(scope="module")
def dataset() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((HANDBOOK / "questions.eval.json").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def judgements() -> list[tuple[str, str, int]]:
    lines = (HANDBOOK / "ranking" / "qrels.trec").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines]
    return [(query, document, int(grade)) for query, _, document, grade in rows]


def places(quoted: str, documents: dict[str, str]) -> set[tuple[str, int]]:
    """Return every document and position where the text stands."""
    return {
        (name, match.start())
        for name, text in documents.items()
        for match in re.finditer(re.escape(quoted), text)
    }


def test_every_cited_span_equals_its_text_everywhere(
    dataset: dict[str, Any], documents: dict[str, str]
) -> None:
    for query in dataset["queries"]:
        citations = query["citations"]
        assert citations, query["query_id"]
        marked = {(citation["file_name"], citation["start_char"]) for citation in citations}
        assert len(marked) == len(citations), query["query_id"]
        for citation in citations:
            text, quoted = documents[citation["file_name"]], citation["context_text"]
            assert text[citation["start_char"] : citation["end_char"]] == quoted, query["query_id"]
            assert places(quoted, documents) <= marked, query["query_id"]
            assert quoted == quoted.strip(), query["query_id"]


def test_the_handbook_is_as_large_and_as_varied_as_the_demo_needs(
    dataset: dict[str, Any], documents: dict[str, str]
) -> None:
    chinese = [name for name in documents if name.endswith("-zh.md")]
    assert (len(documents) - len(chinese), len(chinese)) == (35, 10)
    assert sum(len(text) > 8_000 for text in documents.values()) >= 4
    assert sum("\n```" in text for text in documents.values()) >= 5
    queries = dataset["queries"]
    assert len(queries) >= 120
    assert sum(len(query["relevant_documents"]) > 1 for query in queries) >= 30
    repeated = [
        query
        for query in queries
        if len({citation["context_text"] for citation in query["citations"]}) < len(query["citations"])
    ]
    assert len(repeated) >= 6


def test_relevant_documents_are_those_cited(dataset: dict[str, Any], documents: dict[str, str]) -> None:
    for query in dataset["queries"]:
        relevant = query["relevant_documents"]
        assert set(relevant) <= documents.keys()
        assert len(relevant) == len(set(relevant))
        assert set(relevant) == {citation["file_name"] for citation in query["citations"]}


def test_query_ids_and_texts_are_unique_and_the_size_is_their_number(dataset: dict[str, Any]) -> None:
    queries = dataset["queries"]
    assert dataset["metadata"]["size"] == len(queries)
    assert len({query["query_id"] for query in queries}) == len(queries)
    assert len({query["query_text"] for query in queries}) == len(queries)


def test_documents_have_plain_line_ends_and_end_in_one(documents: dict[str, str]) -> None:
    for name, text in documents.items():
        assert "\r" not in text, name
        assert text.endswith("\n"), name
        assert text.startswith("# "), name


def test_judgements_name_known_queries_and_documents_once(
    dataset: dict[str, Any], documents: dict[str, str], judgements: list[tuple[str, str, int]]
) -> None:
    assert {query for query, _, _ in judgements} == {query["query_id"] for query in dataset["queries"]}
    assert {document for _, document, _ in judgements} <= documents.keys()
    assert max(Counter((query, document) for query, document, _ in judgements).values()) == 1


def test_grade_two_means_cited_document(
    dataset: dict[str, Any], judgements: list[tuple[str, str, int]]
) -> None:
    best = {(query, document) for query, document, grade in judgements if grade == 2}
    cited = {
        (query["query_id"], name) for query in dataset["queries"] for name in query["relevant_documents"]
    }
    assert best == cited
    assert {grade for _, _, grade in judgements} == {0, 1, 2}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_ranks_every_document_for_every_query_without_equal_scores(
    name: str, dataset: dict[str, Any], documents: dict[str, str]
) -> None:
    rows = [line.split() for line in (HANDBOOK / "ranking" / name).read_text(encoding="utf-8").splitlines()]
    for query in dataset["queries"]:
        ranking = [row for row in rows if row[0] == query["query_id"]]
        scores = [float(row[4]) for row in ranking]
        assert {row[2] for row in ranking} == documents.keys()
        assert [int(row[3]) for row in ranking] == list(range(1, len(documents) + 1))
        assert scores == sorted(set(scores), reverse=True)


def test_the_script_writes_the_committed_runs_byte_for_byte(tmp_path: Path) -> None:
    script = HANDBOOK / "ranking" / "make_runs.py"
    subprocess.run([sys.executable, str(script), "--output", str(tmp_path)], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(RUNS)
    for name in RUNS:
        assert (tmp_path / name).read_bytes() == (HANDBOOK / "ranking" / name).read_bytes(), name
