"""What a system says that it retrieved, scored by what the sample says is relevant."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rag_evaluation_framework import (
    CharacterSpan,
    Corpus,
    Document,
    DocumentId,
    Hit,
    Response,
    Sample,
    Score,
    SpanCitation,
    Turn,
)
from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.methods import Methods

BOATS = "The boat leaves at noon. The boat returns at six."
CORPUS = Corpus(
    [
        Document(DocumentId("doc_1"), BOATS, extra={"file_path": "docs/boats.md"}),
        Document(DocumentId("doc_2"), "The fare is two pounds.", extra={"file_path": "docs/fares.md"}),
    ]
)
CHUNKS = ("chunk_00000000000a", "chunk_00000000000b")


def sample(**fields: Any) -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content="When?"),), **fields)


def hits(*ids: str, **fields: Any) -> Response:
    return Response(text="At noon.", hits=tuple(Hit(id=each) for each in ids), **fields)


def scored(name: str, asked: Sample, response: Response, corpus: Corpus | None = None) -> Score:
    return scorer_for(name, Methods(corpus=corpus)).score(asked, response)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # The ranking is c a b d, once each; a and b are relevant, b with grade 2.
        ("hit@1", 0.0),
        ("hit@3", 1.0),
        ("precision@3", 2 / 3),
        ("precision_strict@10", 2 / 10),
        ("recall@2", 1 / 2),
        ("recip_rank", 1 / 2),
        ("map", (1 / 2 + 2 / 3) / 2),
        ("ndcg", (1 / log2(3) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3))),
        ("hole@3", 1 / 3),
    ],
)
def test_a_ranking_is_that_of_the_documents_of_the_hits(name: str, value: float) -> None:
    asked = sample(relevant_documents={"a": 1, "b": 2})
    assert scored(name, asked, hits("c", "a", "c", "b", "d")).value == pytest.approx(value)


def test_hits_with_a_place_rank_by_their_document() -> None:
    places = tuple(
        Hit(id=f"chunk_{number}", span=CharacterSpan(DocumentId(name), number, number + 5))
        for number, name in enumerate(("b", "b", "a"))
    )
    asked = sample(relevant_documents={"a": 1})
    assert scored("mrr", asked, Response(hits=places)).value == 1 / 2


def test_documents_are_known_by_any_of_their_names_where_they_are_at_hand() -> None:
    asked = sample(relevant_documents={"doc_1": 1})
    answered = hits("fares.md", "docs/boats.md")
    assert scored("mrr", asked, answered, CORPUS).value == 1 / 2
    assert scored("mrr", asked, answered).value == 0.0
    assert scored("mrr", asked, hits("77", "78"), CORPUS).value == 0.0


@pytest.mark.parametrize(
    ("name", "value"), [("chunk_recall", 1 / 2), ("chunk_precision", 1 / 3), ("chunk_f1", 2 / 5)]
)
def test_chunks_are_compared_by_their_ids(name: str, value: float) -> None:
    answered = hits(CHUNKS[0], "chunk_00000000000c", "chunk_00000000000d")
    assert scored(name, sample(relevant_chunk_ids=CHUNKS), answered).value == value
    assert scored("chunk_recall", sample(relevant_chunk_ids=("7", "8")), hits("8", "9")).value == 1 / 2


def test_the_characters_of_hits_are_compared_with_the_relevant_ones() -> None:
    asked = sample(relevant_spans=(SpanCitation("boats.md", 0, 24),))
    span = CharacterSpan(DocumentId("docs/boats.md"), 12, 36)
    answered = Response(hits=(Hit(id="c", span=span),))
    # Characters 12 to 24 are both retrieved and relevant: 12 of 24 and 24.
    assert scored("span_recall", asked, answered, CORPUS).value == 12 / 24
    assert scored("span_iou", asked, answered, CORPUS).value == 12 / 36


def test_contexts_are_looked_for_in_the_documents_where_hits_have_no_place() -> None:
    asked = sample(relevant_spans=(SpanCitation("boats.md", 0, 24),))
    contexts = ("[1] The boat leaves at noon.", "The fare is two pounds.", "Nobody wrote this.")
    for answered in (
        Response(text="a", contexts=contexts, context_origin="system"),
        hits("boats.md", "fares.md", "?", contexts=contexts, context_origin="system"),
    ):
        assert scored("span_recall", asked, answered, CORPUS).value == 1.0
        # 24 relevant characters of 24 + 23 + 18.
        assert scored("span_precision", asked, answered, CORPUS).value == 24 / 65


def test_of_the_places_of_a_context_one_that_is_relevant_counts() -> None:
    # "The boat" stands at 0 and at 25; of the 8 + 4 relevant characters, those from 25 on are found.
    asked = sample(relevant_spans=(SpanCitation("boats.md", 25, 33), SpanCitation("boats.md", 45, 49)))
    answered = Response(text="a", contexts=("The boat",), context_origin="system")
    assert scored("span_recall", asked, answered, CORPUS).value == 8 / 12


def test_a_number_inside_a_context_belongs_to_its_text() -> None:
    corpus = Corpus([Document(DocumentId("notes"), "Boats [2] leave at noon.")])
    asked = sample(relevant_spans=(SpanCitation("notes", 0, 24),))
    for context in ("Boats [2] leave at noon.", "[1] Boats [2] leave at noon."):
        assert scored("span_iou", asked, Response(contexts=(context,)), corpus).value == 1.0


def test_dots_at_the_ends_of_a_context_are_what_was_cut_off() -> None:
    asked = sample(relevant_spans=(SpanCitation("boats.md", 0, 24),))
    answered = Response(contexts=("…The boat leaves at ...",))
    assert scored("span_recall", asked, answered, CORPUS).value == 18 / 24
    assert scored("span_precision", asked, answered, CORPUS).value == 1.0


SPANS = {"relevant_spans": (SpanCitation("doc_1", 0, 24),)}
NO_HITS = "the system does not report what it retrieved"


@pytest.mark.parametrize(
    ("name", "fields", "response", "reason"),
    [
        ("hit@3", {}, hits("a"), "the dataset has no relevant documents for this sample"),
        (
            "hit@3",
            {"relevant_documents": {"a": 0}},
            hits("a"),
            "the dataset has no relevant documents for this sample",
        ),
        ("hit@3", {"relevant_documents": {"a": 1}}, hits(), NO_HITS),
        (
            "hit",
            {"relevant_documents": {"a": 1}},
            hits(*CHUNKS),
            "the hits are chunks without document names",
        ),
        ("chunk_f1", {}, hits(*CHUNKS), "the dataset has no relevant chunks for this sample"),
        ("chunk_f1", {"relevant_chunk_ids": CHUNKS}, hits(), NO_HITS),
        ("span_iou", {}, hits("a"), "the dataset has no relevant characters for this sample"),
        ("span_iou", SPANS, hits(), NO_HITS),
        ("span_iou", SPANS, hits(contexts=("c",), context_origin="dataset"), NO_HITS),
        (
            "span_iou",
            SPANS,
            hits("a", contexts=("c",)),
            "the hits have no positions, and no documents are given to search",
        ),
    ],
)
def test_what_cannot_be_told_is_skipped_with_the_reason(
    name: str, fields: dict[str, Any], response: Response, reason: str
) -> None:
    score = scored(name, sample(**fields), response)
    assert score.status == "skipped"
    assert (score.reason or "").startswith(reason)


@pytest.mark.parametrize("corpus", [None, CORPUS])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 0.0) for name in ("hit@3", "recall@3", "ndcg@3", "mrr", "map", "bpref", "rbp", "err")),
        *((name, 0.0) for name in ("precision@3", "precision_strict@3", "r-precision", "hole@3")),
        *((name, 0.0) for name in ("chunk_recall", "chunk_f1", "span_recall", "span_iou", "span_f1")),
        *((name, None) for name in ("chunk_precision", "span_precision", "span_precision_unmerged")),
    ],
)
def test_to_retrieve_nothing_and_say_so_counts(name: str, value: float | None, corpus: Corpus | None) -> None:
    asked = sample(relevant_documents={"doc_1": 1}, relevant_chunk_ids=CHUNKS, **SPANS)
    # The dataset's contexts stand in for the system's where an answer is judged, not where retrieval is.
    for fields in ({}, {"contexts": (BOATS,), "context_origin": "dataset"}):
        score = scored(name, asked, hits(retrieved_nothing=True, **fields), corpus)
        assert (score.value, score.reason) == (value, "nothing was retrieved" if value is None else None)


def test_contexts_that_stand_in_no_document_are_misses() -> None:
    answered = Response(text="a", contexts=("Another text.",), context_origin="system")
    assert scored("span_recall", sample(**SPANS), answered, CORPUS).value == 0.0
    placeless = scored("span_recall", sample(**SPANS), hits("a"), CORPUS)
    assert placeless.reason == "the hits have no positions and no texts"
    given = hits("doc_1", contexts=(BOATS,), context_origin="dataset")
    assert scored("span_recall", sample(**SPANS), given, CORPUS).reason == placeless.reason


def test_a_grade_beyond_the_metrics_scale_fails_the_sample_and_says_how_to_write_it() -> None:
    score = scored("err(max_grade=1)", sample(relevant_documents={"a": 3}), hits("a"))
    assert (score.status, "use err(max_grade=3)" in (score.reason or "")) == ("failed", True)


def test_a_manifest_scores_the_ranking_of_agent_samples_by_the_name_with_parameters(tmp_path: Path) -> None:
    names = ["ndcg(gain=exponential)@4", "rbp(p=0.5)@3", "chunk_recall"]
    asked = {"input": "When?", "expected": "At noon.", "relevant_chunk_ids": ["boats.md", "c2"]}
    asked["relevant_documents"] = {"boats.md": 2, "fares.md": 1}
    told = {"input": "When?", "response": "At noon.", "contexts": []}
    told["contexts"] = [{"id": "x.md", "text": "Nothing."}, {"id": "boats.md", "text": BOATS}]
    evaluation = {"datasets": [{"name": "boats", "path": "$file:boats.jsonl"}], "metrics": names}
    for name, value in (("boats.jsonl", asked), ("told.jsonl", told)):
        (tmp_path / name).write_text(json.dumps(value) + "\n", encoding="utf-8")
    manifest = tmp_path / "agent.yaml"
    manifest.write_text(json.dumps({"spec": {"evaluation": evaluation}}), encoding="utf-8")
    runs, target = str(tmp_path / "runs"), str(tmp_path / "told.jsonl")
    asking = ["evaluate", str(manifest), "--target", target, "--runs-dir", runs, "--json"]
    done = CliRunner().invoke(program, asking)
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)["runs"]
    figures = {name: f"{run['metrics'][name]['value']:.4f}" for name in names}
    # The ranking is x, boats (grade 2); fares (grade 1) is not there.
    # ndcg: (3 / log2 3) / (3 / log2 2 + 1 / log2 3) = 1.8928 / 3.6309; rbp: (1 - 0.5) x 0.5; chunks: 1 of 2.
    assert figures == dict(zip(names, ["0.5213", "0.2500", "0.5000"], strict=True))


def test_a_run_tells_an_empty_list_of_contexts_from_none(tmp_path: Path) -> None:
    answers: list[dict[str, Any]] = [{"contexts": [{"id": "boats.md", "text": BOATS}]}, {"contexts": []}, {}]
    truth = {"expected": "At noon.", "relevant_documents": {"boats.md": 1}}
    asked = [{"input": f"When {n}?", **truth} for n in range(3)]
    told = [{"input": f"When {n}?", "response": "At noon.", **fields} for n, fields in enumerate(answers)]
    for name, rows in (("boats.jsonl", asked), ("told.jsonl", told)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    evaluation = {"datasets": [{"name": "boats", "path": "$file:boats.jsonl"}], "metrics": ["hit@1"]}
    manifest = tmp_path / "agent.yaml"
    manifest.write_text(json.dumps({"spec": {"evaluation": evaluation}}), encoding="utf-8")
    runs, target = str(tmp_path / "runs"), str(tmp_path / "told.jsonl")
    done = CliRunner().invoke(program, ["evaluate", str(manifest), "--target", target, "--runs-dir", runs])
    assert done.exit_code == 0, done.output
    # The journal keeps the difference: scoring the run again gives the same.
    run = next(Path(runs).iterdir()).name
    again = CliRunner().invoke(program, ["score", run, "--runs-dir", runs, "-m", "hit@1", "--json"])
    figure = json.loads(again.stdout)["metrics"]["hit@1"]
    assert (figure["value"], figure["n_scored"], figure["n_skipped"]) == (1 / 2, 2, 1)
