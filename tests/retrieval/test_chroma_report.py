"""The published precision-omega rows of Chroma's chunking report, to the printed digit.

Needs the report's corpora and questions; skipped without them.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from benchmarks._chroma_convention import chroma_spans, found_again, piecewise_spans

from labelled_data import present
from rag_evaluation_framework import CharacterSpan, Corpus, Document, DocumentId, FixedTokenChunker
from rag_evaluation_framework.errors import MissingExtraError
from rag_evaluation_framework.metrics.spans import evaluate_spans
from rag_evaluation_framework.retrieval.tokenizers import cl100k

# Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: mean and deviation in %.
PUBLISHED = {
    ("recursive", 800, 400): "6.7 ± 5.2",
    ("recursive", 400, 200): "13.9 ± 10.4",
    ("recursive", 400, 0): "17.7 ± 14.0",
    ("recursive", 200, 0): "29.9 ± 18.4",
    ("fixed", 800, 400): "4.7 ± 3.1",
    ("fixed", 400, 200): "8.4 ± 5.1",
    ("fixed", 400, 0): "12.5 ± 8.1",
    ("fixed", 200, 0): "21.0 ± 11.9",
}


def relevant_spans(questions: Path) -> dict[str, list[CharacterSpan]]:
    with questions.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        str(number): [
            CharacterSpan(
                DocumentId(f"{row['corpus_id']}.md"), reference["start_index"], reference["end_index"]
            )
            for reference in json.loads(row["references"])
        ]
        for number, row in enumerate(rows)
    }


def chunk_texts(document: Document, kind: str, size: int, overlap: int) -> list[str]:
    if kind == "fixed":
        return FixedTokenChunker(size, overlap, "cl100k").chunk(document.content)
    spans = piecewise_spans(
        document.content, lambda piece: len(cl100k().offsets(piece)) - 1, size=size, overlap=overlap
    )
    return [document.content[start:end] for start, end in spans]


@pytest.mark.parametrize(("kind", "size", "overlap"), PUBLISHED)
def test_precision_omega_is_what_chroma_published(kind: str, size: int, overlap: int) -> None:
    data = present("chroma_chunking")
    try:
        cl100k()
    except MissingExtraError as error:
        pytest.skip(str(error))
    corpus = Corpus.from_folder(data / "corpora")
    chunks = [
        span
        for document in corpus
        for span in chroma_spans(document, chunk_texts(document, kind, size, overlap))
    ]
    relevant = relevant_spans(data / "questions.csv")
    omega = evaluate_spans({}, relevant, chunks=chunks, touching=True).per_query["precision_omega"]
    assert f"{100 * omega.mean():.1f} ± {100 * omega.std():.1f}" == PUBLISHED[kind, size, overlap]


def test_a_chunk_is_found_at_its_first_copy_and_without_its_full_stop() -> None:
    assert found_again("Same. Same. End.", "Same.") == (0, 4)
    assert found_again("One\n two.", "One two.") == (0, 8)
    assert found_again("One", "Two") is None
    document = Document(DocumentId("d"), "Same. Same. End.")
    assert chroma_spans(document, ["Same.", "Same.", ".", "gone"]) == [CharacterSpan(document.id, 0, 4)] * 2


def test_pieces_are_counted_one_by_one() -> None:
    # Counted by words: "a b" and " c d" of the first sentence are 2 each, ". e f" is 3 and too many for 3.
    spans = piecewise_spans("a b c d. e f", lambda piece: len(piece.split()), size=3, overlap=0)
    assert ["a b c d. e f"[start:end] for start, end in spans] == ["a b c", "d", ". e f"]
