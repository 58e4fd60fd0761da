"""What was retrieved and is not in the dataset: a miss, or names of another kind, through the public API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Corpus, Document, Evaluation, Gate, Threshold, evaluate, load
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.samples import Sample, Turn

BOATS = Document(id="boats.md", content="The ferry leaves at nine. It returns at six.")
FARES = Document(id="fares.md", content="A ticket costs four euros. Children travel free.")
CORPUS = Corpus([BOATS, FARES])
SPAN = SpanCitation("boats.md", 0, 25)


def rows_that_retrieved(*names: str) -> list[dict[str, Any]]:
    return [
        {
            "question": f"Question {number}?",
            "answer": "At nine.",
            "relevant_documents": ["boats.md"],
            "retrieved_doc_ids": [name],
        }
        for number, name in enumerate(names)
    ]


def evaluated(rows: Any, metric: str, *, min_resolved: float = 0.5, **given: Any) -> Evaluation:
    gate = Gate(thresholds=(Threshold(metric, ">=", 0.9),), min_resolved=min_resolved)
    return evaluate(rows, metrics=[metric], gate=gate, **given)


def reasons(evaluation: Evaluation) -> dict[str, str]:
    """Return why the run does not measure its metrics."""
    return dict(next(iter(evaluation.parts.values()), evaluation).unmeasured)


@pytest.mark.parametrize("documents", [None, CORPUS])
def test_an_unlisted_document_is_a_miss_that_counts_as_0(documents: Corpus | None) -> None:
    names = ["boats.md", "fares.md", "gone.md"]
    found = evaluated(rows_that_retrieved(*names), "hit@1", documents=documents)
    assert [row.scores[0].value for row in found.rows] == [1.0, 0.0, 0.0]
    assert (found.metrics["hit@1"].n_scored, found.metrics["hit@1"].value) == (3, 1 / 3)
    assert (found.verdict.word, reasons(found)) == ("failed", {})


@pytest.mark.parametrize(
    ("names", "documents", "reason"),
    [
        (["a", "b", "boats.md"], CORPUS, "1 of 3 retrieved names is in the dataset; unknown: 'a', 'b'"),
        (
            ["a", "b"],
            None,
            "0 of 2 retrieved names are in the dataset; unknown: 'a', 'b'; the dataset has 'boats.md'",
        ),
    ],
)
def test_names_of_another_kind_leave_the_metric_not_evaluated(
    names: list[str], documents: Corpus | None, reason: str
) -> None:
    found = evaluated(rows_that_retrieved(*names), "hit@1", documents=documents)
    assert reasons(found) == {"hit@1": reason}
    assert "hit@1" not in found.metrics
    assert (found.verdict.word, found.verdict.exit_code) == ("not evaluated", 1)


def test_min_resolved_sets_the_share_of_names_that_must_be_known() -> None:
    rows = rows_that_retrieved("a", "b", "boats.md")
    found = evaluated(rows, "hit@1", documents=CORPUS, min_resolved=0.3)
    assert (reasons(found), found.verdict.word) == ({}, "failed")


def test_a_run_that_is_read_again_says_the_same_of_its_names(tmp_path: Path) -> None:
    found = evaluated(rows_that_retrieved("a", "b"), "hit@1", runs_directory=tmp_path)
    again = load(found.folder)
    assert (reasons(again), dict(again.metrics).get("hit@1")) == (reasons(found), None)


@pytest.mark.parametrize(
    ("texts", "word", "value"),
    [
        (["The ferry leaves at nine.", "Nobody wrote this."], "failed", 0.5),
        (["Nobody wrote this.", "Nor this."], "not evaluated", None),
    ],
)
def test_a_text_of_no_document_is_a_miss_unless_all_are(
    texts: list[str], word: str, value: float | None
) -> None:
    samples = [
        Sample(id=text, turns=(Turn(role="user", content=text),), relevant_spans=(SPAN,)) for text in texts
    ]
    target = {text: {"response": "At nine.", "contexts": [text]} for text in texts}.__getitem__
    found = evaluated(samples, "span_recall", documents=CORPUS, target=target)
    assert found.verdict.word == word
    assert (found.metrics["span_recall"].value if value is not None else None) == value
