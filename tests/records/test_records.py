"""Records keep their invariants, and refuse what breaks them with the field's name; pages of citations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import (
    CharacterSpan,
    ChunkId,
    ChunkRegistry,
    ContextCitation,
    Corpus,
    Document,
    DocumentId,
    Hit,
    InputError,
    Issue,
    PositionAwareChunk,
    PositionAwareChunkId,
    Query,
    Response,
    Sample,
    Score,
    SpanCitation,
    Turn,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.records.citations import TokenSpanCitation, place_in, range_counted_in
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult
from rag_evaluation_framework.records.samples import Recorded

DOC = DocumentId("doc1")
ASKED = (Turn(role="user", content="What is RAG?"),)
SCORE = Score.scored("mrr", 1, method="exact")

REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("end", lambda: CharacterSpan(DOC, 5, 5)),
    ("end", lambda: CharacterSpan(DOC, 5, 4)),
    ("start", lambda: CharacterSpan(DOC, -1, 4)),
    ("start", lambda: CharacterSpan(DOC, 0.0, 4)),  # type: ignore[arg-type]
    ("end", lambda: CharacterSpan(DOC, 0, True)),
    ("doc_id", lambda: CharacterSpan("", 0, 1)),  # type: ignore[arg-type]
    ("doc_id", lambda: CharacterSpan(None, 0, 1)),  # type: ignore[arg-type]
    ("end", lambda: PositionAwareChunk(PositionAwareChunkId("pa_chunk_x"), "", DOC, 3, 3)),
    ("id", lambda: Document(DocumentId(""), "text")),
    ("content", lambda: Document(DOC, b"text")),  # type: ignore[arg-type]
    ("documents[1]", lambda: Corpus([Document(DOC, "a"), Document(DOC, "b")])),
    ("id", lambda: Query("", "text")),  # type: ignore[arg-type]
    ("start", lambda: SpanCitation("a.pdf", -3, 4)),
    ("file", lambda: SpanCitation("", 3, 4)),
    ("page", lambda: SpanCitation("a.pdf", 3, 4, page="2")),  # type: ignore[arg-type]
    ("confidence", lambda: SpanCitation("a.pdf", 3, 4, confidence=1.5)),
    ("confidence", lambda: SpanCitation("a.pdf", 3, 4, confidence="high")),  # type: ignore[arg-type]
    ("end", lambda: TokenSpanCitation("a.pdf", 3, 3, tokenizer="cl100k")),
    ("number", lambda: ContextCitation(0)),
    ("role", lambda: Turn(role="bot", content="x")),  # type: ignore[arg-type]
    ("content", lambda: Turn(role="user")),
    ("sources", lambda: Recorded(contexts=("a", "b"), sources=("x",))),
    ("id", lambda: Sample(id="", turns=ASKED)),
    ("turns", lambda: Sample(id="s", turns=())),
    ("turns", lambda: Sample(id="s", turns=(Turn(role="assistant", reference="x"),))),
    ("score", lambda: Hit(id="d", score=float("nan"))),
    ("failure", lambda: Response(text="x", failure=Failure(kind="timeout", message="30 s"))),
    ("latency_ms", lambda: Response(text="x", latency_ms=float("inf"))),
    ("value", lambda: Score.scored("mrr", float("nan"), method="exact")),
    ("mrr", lambda: Score.scored("mrr", 10**400, method="exact")),
    ("value", lambda: Score(metric="mrr", method="exact", status="scored", value=10**400)),
    ("value", lambda: Score(metric="mrr", method="exact", status="skipped", value=0.0, reason="empty")),
    ("reason", lambda: Score.failed("mrr", "", method="exact")),
    ("reason", lambda: Score(metric="mrr", method="exact", status="scored", value=0.0, reason="x")),
    ("status", lambda: Score(metric="mrr", method="exact", status="nan")),  # type: ignore[arg-type]
    ("run_id", lambda: RunHead(run_id="", dataset_id="d")),
    ("scores", lambda: SampleResult("s", Response(text="x"), (SCORE, SCORE))),
    (
        "results[1]",
        lambda: Run(
            RunHead(run_id="r", dataset_id="d"),
            (SampleResult("s", Response()), SampleResult("s", Response())),
        ),
    ),
]


@pytest.mark.parametrize(("field", "build"), REFUSED)
def test_a_broken_record_is_refused_by_field(field: str, build: Callable[[], Any]) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert [issue.path for issue in caught.value.issues] == [field]


ranges = st.tuples(st.integers(0, 50), st.integers(1, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ranges, ranges, st.booleans())
def test_span_overlap_counts_shared_characters(
    a: tuple[int, int], b: tuple[int, int], same_document: bool
) -> None:
    first = CharacterSpan(DOC, *a)
    second = CharacterSpan(DOC if same_document else DocumentId("doc2"), *b)
    shared = set(range(*a)) & set(range(*b)) if same_document else set()
    assert first.overlap_chars(second) == second.overlap_chars(first) == len(shared)
    assert first.overlaps(second) == bool(shared)
    assert first.length() == len(range(*a))


def test_a_document_gives_the_characters_of_a_span_by_code_points() -> None:
    document = Document(DOC, "你好👋🏽, World!")
    assert document.text_of(CharacterSpan(DOC, 2, 4)) == "👋🏽"
    with pytest.raises(InputError, match="end: expected at most 12"):
        document.text_of(CharacterSpan(DOC, 0, 13))
    with pytest.raises(InputError, match="doc_id"):
        document.text_of(CharacterSpan(DocumentId("other"), 0, 1))


def test_a_fingerprint_is_the_sha256_of_the_text() -> None:
    # printf 'Hello, World!' | sha256sum
    expected = "dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f"
    assert Corpus([Document(DOC, "Hello, World!")]).fingerprints == {"doc1": expected}


def test_the_last_words_of_the_user_are_the_question() -> None:
    conversation = Sample(
        id="s",
        turns=(
            Turn(role="user", content="基尼奇的龙伙伴叫什么？"),
            Turn(role="assistant", reference="他的龙伙伴叫阿尤。"),
            Turn(role="user", content="它做了什么？"),
            Turn(role="assistant", reference="…", needs=("previous_turn_resolution",)),
        ),
    )
    assert conversation.question == "它做了什么？"


def test_a_runs_scores_pair_by_sample_id() -> None:
    skipped = Score.skipped("mrr", "no relevant documents", method="exact")
    run = Run(
        RunHead(run_id="r", dataset_id="d"),
        (
            SampleResult("b", Response(text="x"), (SCORE,)),
            SampleResult("a", Response(text="y"), (skipped,)),
            SampleResult("c", Response(text="z")),
        ),
    )
    assert run.scores("mrr") == {"b": SCORE, "a": skipped}


# Chunk ids are hashes of text; the registry keeps every place of a repeated text.

A, B = DocumentId("a.md"), DocumentId("b.md")


def place(text: str, doc_id: DocumentId, start: int) -> PositionAwareChunk:
    return PositionAwareChunk(generate_pa_chunk_id(text), text, doc_id, start, start + len(text))


def test_the_same_text_in_two_places_shares_an_id_and_keeps_both_places() -> None:
    registry = ChunkRegistry()
    first, second, third = place("same", A, 10), place("same", A, 90), place("same", B, 10)
    for chunk in (first, second, third, second):
        registry.register_pa_chunk(chunk)
    assert registry.get_pa_chunk(first.id) is first
    assert registry.get_span(first.id) == CharacterSpan(A, 10, 14)
    assert registry.get_spans(first.id) == [first.to_span(), second.to_span(), third.to_span()]


def test_an_unknown_id_is_none() -> None:
    registry = ChunkRegistry()
    assert registry.get("x") is None
    assert registry.get_chunk(ChunkId("x")) is None
    assert registry.get_pa_chunk(PositionAwareChunkId("x")) is None
    assert registry.get_span(PositionAwareChunkId("x")) is None
    assert registry.get_spans(PositionAwareChunkId("x")) == []


def test_a_chunk_knows_whether_it_stands_in_its_document() -> None:
    document = Document(A, "say same again")
    assert place("same", A, 4).matches(document)
    assert not place("same", A, 5).matches(document)
    assert not place("same", B, 4).matches(document)


# A corpus read from a folder has relative ids in order and the text as it is stored.


def test_ids_are_relative_paths_with_slashes_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.md", "a/b/c.md", "note.txt", "中文.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    corpus = Corpus.from_folder(str(tmp_path))
    assert [document.id for document in corpus] == ["a/b/c.md", "a/z.md", "b.md", "中文.md"]
    assert corpus["a/z.md"].content == "a/z.md"
    assert len(Corpus.from_folder(tmp_path, "*.txt")) == 1


def test_the_mark_at_the_start_is_removed_and_line_ends_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert Corpus.from_folder(tmp_path).documents[0].content == "one\r\ntwo\rthree\n"


def test_every_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("fine")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "utf16.md").write_bytes("hello".encode("utf-16"))
    with pytest.raises(InputError) as caught:
        Corpus.from_folder(tmp_path)
    assert [Path(issue.file or "").name for issue in caught.value.issues] == ["latin.md", "utf16.md"]


def test_a_folder_that_is_missing_or_has_no_match_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an existing folder"):
        Corpus.from_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="a pattern that matches a file"):
        Corpus.from_folder(tmp_path)


@pytest.mark.parametrize("pattern", ["../*.md", "a/../../*.md", "/etc/*", "", "**.md"])
def test_a_pattern_that_leaves_the_folder_or_means_nothing_is_an_error(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "secret.md").write_text("outside")
    (tmp_path / "corpus" / "a").mkdir(parents=True)
    # Python 3.13 reads "**.md" as "*.md", which is a pattern that matches nothing here.
    with pytest.raises(InputError, match="glob_pattern: expected a pattern"):
        Corpus.from_folder(tmp_path / "corpus", pattern)


TABLES = tables_beside(__file__)

# Page 1 is characters 0 to 9, page 2 is empty, page 3 is characters 13 to 26.
TEXT = "Page one.\n\n\n\n船在六点回来 today."
PAGES = [[0, 9], [11, 11], [13, 26]]
GUIDE = Document(DocumentId("guide.pdf"), TEXT, {"format": "pdf", "pages": PAGES})


def cited(start: int, end: int, page: int | None) -> CharacterSpan | Issue:
    return place_in(GUIDE, SpanCitation("guide.pdf", start, end, page=page))


@pytest.mark.parametrize(("start", "end", "page", "text"), TABLES["positions_on_a_page_count_from_its_start"])
def test_positions_on_a_page_count_from_its_start(start: int, end: int, page: int | None, text: str) -> None:
    place = cited(start, end, page)
    assert isinstance(place, CharacterSpan)
    assert GUIDE.text_of(place) == text


@pytest.mark.parametrize(("start", "end", "page", "problem"), TABLES["what is not on the page is told"])
def test_what_is_not_on_the_page_is_told(start: int, end: int, page: int | None, problem: str) -> None:
    assert str(cited(start, end, page)) == problem


@pytest.mark.parametrize(
    "metadata", [{}, {"pages": 12}, {"pages": []}, {"pages": ["i", "ii"]}, {"pages": None}, None, "pages"]
)
def test_where_the_pages_are_not_known_the_document_is_counted(metadata: Any) -> None:
    assert range_counted_in(3, metadata, length=26) == (0, 26)


@pytest.mark.parametrize("wrong", [[5, 2], [0, 99], ["0", "9"], [1], [True, 5], None])
def test_a_page_that_stands_nowhere_is_no_page(wrong: Any) -> None:
    assert range_counted_in(2, {"pages": [[0, 9], wrong]}, length=26) is None
    assert range_counted_in(1, {"pages": [[0, 9], wrong]}, length=26) == (0, 9)
