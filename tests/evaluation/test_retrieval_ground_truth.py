"""What a retriever should find: read from any dialect, and checked against the corpus as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import (
    CharacterSpan,
    Corpus,
    Dataset,
    Document,
    DocumentId,
    InputError,
    Sample,
    SpanCitation,
    Turn,
    UsageError,
    read_dataset,
)
from rag_evaluation_framework.errors import MissingDatasetError, MissingExtraError
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.evaluation.retrieval_truth import (
    level_of,
    relevant_chunks,
    relevant_documents,
    relevant_spans,
)

TEXT = "The boat leaves at noon. The boat returns at six. 船在中午离开。"


def corpus(**texts: str) -> Corpus:
    return Corpus([Document(DocumentId(name.replace("_", ".")), text) for name, text in texts.items()])


BOATS = corpus(boats_md=TEXT)


def dataset(*samples: Sample, dialect: str = "langsmith", **head: Any) -> Dataset:
    return Dataset(samples=samples, dialect=dialect, **head)


def asked(sample_id: str = "q1", **truth: Any) -> Sample:
    return Sample(id=sample_id, turns=(Turn(role="user", content="When?"),), **truth)


def cited(file: str, start: int, end: int, text: str | None = None, **extra: Any) -> Sample:
    return asked(relevant_spans=(SpanCitation(file, start, end, text=text, extra=extra),))


def span_of(sample: Sample, now: Corpus = BOATS, **head: Any) -> CharacterSpan:
    return relevant_spans(dataset(sample, **head), now).spans["q1"][0]


@pytest.mark.parametrize(
    "name", ["boats.md", "./boats.md", "boats", "handbook/boats.md", "handbook\\boats.md"]
)
def test_a_file_name_is_resolved_to_the_one_document_that_it_means(name: str) -> None:
    assert span_of(cited(name, 0, 8, "The boat")) == CharacterSpan(DocumentId("boats.md"), 0, 8)


def test_a_name_of_no_document_and_a_name_of_two_are_errors_that_say_so() -> None:
    with pytest.raises(InputError, match=r"q1\.relevant_spans\[0\]: expected a document .* got 'ships.md'"):
        relevant_spans(dataset(cited("ships.md", 0, 3)), BOATS)
    two = Corpus([Document(DocumentId(f"{folder}/boats.md"), TEXT) for folder in "ab"])
    with pytest.raises(InputError, match=r"which matches 'a/boats\.md' and 'b/boats\.md'"):
        relevant_spans(dataset(cited("boats.md", 0, 3)), two)


def test_another_documents_name_in_another_folder_is_not_taken_for_it() -> None:
    with pytest.raises(InputError, match="expected a document of the corpus"):
        relevant_spans(dataset(cited("b/boats.md", 0, 3)), corpus(a__boats_md=TEXT))


def test_the_datasets_own_documents_lend_their_other_names() -> None:
    own = Document(DocumentId("doc_7"), TEXT, {"file_name": "boats.md"})
    found = span_of(cited("doc_7", 0, 8), dialect="evaluation-dataset", documents=(own,))
    assert found == CharacterSpan(DocumentId("boats.md"), 0, 8)


def test_a_span_of_a_changed_document_moves_to_the_one_place_where_its_text_stands() -> None:
    longer = corpus(boats_md="A new preface. " + TEXT)
    truth = relevant_spans(dataset(cited("boats.md", 25, 49, "The boat returns at six.")), longer)
    # The preface is 15 characters long: 25 + 15 = 40.
    assert truth.spans["q1"] == (CharacterSpan(DocumentId("boats.md"), 40, 64),)
    assert truth.moved == 1


def test_a_context_text_of_the_spans_own_length_serves_as_its_text_and_a_longer_one_does_not() -> None:
    longer = corpus(boats_md="A new preface. " + TEXT)
    exact = cited("boats.md", 0, 8, context_text="The boat")
    with pytest.raises(InputError, match="'The boat' in several places"):
        span_of(exact, longer)
    wider = cited("boats.md", 0, 8, context_text="The boat leaves at noon.")
    assert span_of(wider, longer) == CharacterSpan(DocumentId("boats.md"), 0, 8)


@pytest.mark.parametrize(
    ("text", "where"), [("The train leaves", "no place"), ("The boat", "several places")]
)
def test_a_span_whose_text_is_gone_or_stands_twice_is_an_error(text: str, where: str) -> None:
    with pytest.raises(
        InputError, match=f"that occurs once in the changed document .boats.md., got '{text}' in {where}"
    ):
        span_of(cited("boats.md", 3, 3 + len(text), text))


def test_a_span_without_text_in_a_document_with_another_fingerprint_is_an_error() -> None:
    fingerprint = {"corpus_fingerprint": {"boats.md": "0" * 64}}
    with pytest.raises(InputError, match="the text of the span, because its document changed"):
        span_of(cited("boats.md", 0, 8), metadata=fingerprint)
    right = {"corpus_fingerprint": {"boats.md": BOATS["boats.md"].fingerprint}}
    assert span_of(cited("boats.md", 0, 8), metadata=right).end == 8


def test_a_span_beyond_the_end_of_its_document_is_an_error() -> None:
    with pytest.raises(InputError, match=f"an end of at most {len(TEXT)}"):
        span_of(cited("boats.md", 0, len(TEXT) + 1))


def test_all_the_wrong_spans_of_a_dataset_are_told_at_once() -> None:
    wrong = dataset(cited("ships.md", 0, 3), asked("q2", relevant_spans=(SpanCitation("trains.md", 0, 3),)))
    with pytest.raises(InputError) as raised:
        relevant_spans(wrong, BOATS)
    assert [issue.path for issue in raised.value.issues] == ["q1.relevant_spans[0]", "q2.relevant_spans[0]"]


def test_golden_contexts_are_found_in_the_files_they_name(tmp_path: Path) -> None:
    (tmp_path / "boats.md").write_text(TEXT, encoding="utf-8")
    record = {
        "id": "g1",
        "question": "When does it return?",
        "ground_truth": "At six.",
        "golden_context": {"file": "boats.md", "snippet": "The boat returns at six."},
    }
    path = tmp_path / "factual_qa.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    golden = read_dataset(path)
    assert level_of(golden) == "token"
    truth = relevant_spans(golden, Corpus.from_folder(tmp_path))
    assert truth.spans["g1"] == (CharacterSpan(DocumentId("boats.md"), 25, 49),)


CHUNKER = "recursive(chunk_size=200, overlap=0)"


def test_chunk_ids_that_no_chunk_has_are_named() -> None:
    truth = dataset(asked(relevant_chunk_ids=("chunk_a", "chunk_b")))
    with pytest.raises(
        InputError, match=r"chunk ids of recursive.* for this corpus, got unknown ids chunk_b"
    ):
        relevant_chunks(truth, BOATS, chunker=CHUNKER, chunk_ids=["chunk_a"])
    known = relevant_chunks(truth, BOATS, chunker=CHUNKER, chunk_ids=["chunk_a", "chunk_b", "chunk_c"])
    assert known == {"q1": ("chunk_a", "chunk_b")}


@pytest.mark.parametrize("place", ["dataset", "sample"])
def test_another_chunker_than_the_truth_was_made_with_is_an_error(place: str) -> None:
    recorded = {"chunker": "fixed(tokens=100)"}
    sample = asked(relevant_chunk_ids=("chunk_a",), metadata=recorded if place == "sample" else {})
    truth = dataset(sample, metadata=recorded if place == "dataset" else {})
    with pytest.raises(UsageError, match=r"expected fixed\(tokens=100\), got recursive"):
        relevant_chunks(truth, BOATS, chunker=CHUNKER, chunk_ids=["chunk_a"])


@pytest.mark.parametrize(("name", "how"), [("boats.md", "has changed"), ("ships.md", "is not in the corpus")])
def test_changed_documents_at_chunk_level_are_an_error_that_names_them(name: str, how: str) -> None:
    sample = asked(relevant_chunk_ids=("chunk_a",), metadata={"corpus_fingerprint": {name: "0" * 64}})
    with pytest.raises(InputError, match=f"'{name}', which {how}"):
        relevant_chunks(dataset(sample), BOATS, chunker=CHUNKER, chunk_ids=["chunk_a"])


def test_documents_keep_their_grades_under_the_ids_of_the_corpus() -> None:
    assert relevant_documents(dataset(asked(relevant_documents={"boats": 2})), BOATS) == {
        "q1": {"boats.md": 2}
    }


def test_the_level_is_the_finest_for_which_there_is_truth() -> None:
    assert level_of(dataset(asked(relevant_documents={"boats.md": 1}))) == "document"
    assert level_of(dataset(asked(relevant_chunk_ids=("chunk_a",)))) == "chunk"
    assert level_of(dataset(cited("boats.md", 0, 3))) == "token"
    with pytest.raises(UsageError, match="without relevant characters, chunks or documents"):
        level_of(dataset(asked()))


def test_ids_of_excerpts_without_their_spans_are_told_apart() -> None:
    bare = dataset(asked(relevant_chunk_ids=("pa_chunk_a",)))
    assert level_of(bare) == "token"
    with pytest.raises(UsageError, match=r"ids of excerpts without spans \(outputs.spans, or a"):
        relevant_spans(bare, BOATS)


EXAMPLE = {"inputs": {"query": "When?"}, "outputs": {"relevant_chunk_ids": ["chunk_a"]}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for key in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / "langsmith").mkdir()
    (tmp_path / "langsmith" / "boats.jsonl").write_text(json.dumps(EXAMPLE) + "\n", encoding="utf-8")
    (tmp_path / "outside.jsonl").write_text(json.dumps(EXAMPLE) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_langsmith_name_without_a_key_is_a_file_in_the_local_folder(folder: Path) -> None:
    assert find_dataset("boats").samples[0].relevant_chunk_ids == ("chunk_a",)
    assert find_dataset("boats", folder=folder / "langsmith").samples
    assert find_dataset(folder / "outside.jsonl").samples


@pytest.mark.parametrize("name", ["ships", "../outside"])
def test_a_name_that_is_not_in_the_folder_says_where_it_was_looked_for(folder: Path, name: str) -> None:
    with pytest.raises(MissingDatasetError, match=r"there is no file .*, and no dataset of this name in"):
        find_dataset(name)


def test_one_name_for_two_files_is_an_error_naming_both(folder: Path) -> None:
    (folder / "langsmith" / "boats.json").write_text(json.dumps([EXAMPLE]), encoding="utf-8")
    with pytest.raises(UsageError, match=r"boats\.jsonl and .*boats\.json"):
        find_dataset("boats")


def test_a_name_with_a_key_in_the_environment_is_never_read_from_the_local_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "secret-key")
    monkeypatch.setitem(sys.modules, "langsmith", None)  # as where the extra is not installed
    with pytest.raises(MissingExtraError, match="from LangSmith needs an extra") as raised:
        find_dataset("boats")
    assert "secret-key" not in str(raised.value)
    assert find_dataset("langsmith/boats.jsonl").samples


PAGED = Corpus(
    [
        Document(
            DocumentId("boats.pdf"),
            f"Cover.\n\n{TEXT}",
            {"format": "pdf", "pages": [[0, 6], [8, 8 + len(TEXT)]]},
        )
    ]
)


def on_page(page: int, start: int, end: int, text: str | None = None) -> Sample:
    return asked(relevant_spans=(SpanCitation("boats.pdf", start, end, page=page, text=text),))


def test_a_span_on_a_page_counts_from_the_pages_start_and_is_not_moved_by_it() -> None:
    truth = relevant_spans(dataset(on_page(2, 25, 49, "The boat returns at six.")), PAGED)
    # Page 2 begins at 8: 25 + 8 = 33.
    assert truth.spans["q1"] == (CharacterSpan(DocumentId("boats.pdf"), 33, 57),)
    assert truth.moved == 0
    assert relevant_spans(dataset(on_page(2, 25, 49)), PAGED).spans == truth.spans


def test_a_span_beyond_its_page_and_a_page_that_is_not_there_are_errors() -> None:
    with pytest.raises(InputError, match=r"an end of at most 6, the length of page 1 of 'boats\.pdf', got 7"):
        span_of(on_page(1, 0, 7), PAGED)
    with pytest.raises(InputError, match=r"expected a page of 'boats\.pdf', got page 3"):
        span_of(on_page(3, 0, 7), PAGED)


def test_the_text_of_a_span_is_looked_up_on_the_page_of_the_datasets_own_document() -> None:
    longer = Corpus([Document(DocumentId("boats.pdf"), "A new preface. " + TEXT)])
    found = relevant_spans(dataset(on_page(2, 25, 49), documents=tuple(PAGED.documents)), longer)
    # The corpus has no pages, but the text is known: it stands 15 characters later than in TEXT.
    assert found.spans["q1"] == (CharacterSpan(DocumentId("boats.pdf"), 40, 64),)
    assert found.moved == 1
