"""Generated datasets: ground truth that another process can use, and files that say all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework import (
    Corpus,
    Dataset,
    Document,
    DocumentId,
    InputError,
    Refusal,
    UsageError,
    generate_chunk_id,
    generate_pa_chunk_id,
    read_dataset,
)
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.evaluation.retrieval_truth import relevant_chunks, relevant_spans
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Excerpt, Rejection
from rag_evaluation_framework.synthesis.extractive import generate_extractively
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of, dialect_of, write_generated

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "documents"
TEXT = "The card costs 105.00. It is valid for a year. Dogs pay 2.00 for each crossing."
CORPUS = Corpus([Document(DocumentId("fares.md"), TEXT)])
CHUNKER = "recursive(chunk_size=24)"


def excerpt(text: str) -> Excerpt:
    start = TEXT.index(text)
    return Excerpt("fares.md", start, start + len(text), text)


def drafts(*texts: str) -> Drafts:
    asked = Draft(
        question="What of it?",
        excerpts=tuple(map(excerpt, texts)),
        answer="105.00",
        kind="factual",
        difficulty="easy",
    )
    return Drafts((asked,), (Rejection("near-duplicate", "What?"), Rejection("near-duplicate", "Which?")))


def made(*texts: str, level: str = "token") -> Dataset:
    chunker = chunker_from(CHUNKER) if level == "chunk" else None
    return dataset_of(drafts(*texts), CORPUS, level=level, chunker=chunker, generator={"name": "extractive"})  # type: ignore[arg-type]


def test_token_level_sample_has_its_characters_with_text_and_ids() -> None:
    (sample,) = made("The card costs 105.00.").samples
    (span,) = sample.relevant_spans
    assert (span.file, span.start, span.end, span.text) == ("fares.md", 0, 22, "The card costs 105.00.")
    assert sample.relevant_chunk_ids == (generate_pa_chunk_id("The card costs 105.00."),)
    assert sample.relevant_documents == {"fares.md": 1}
    assert (sample.query_type, sample.difficulty, sample.reference) == ("factual", "easy", "105.00")


def test_dataset_says_what_it_was_made_from_by_what_and_what_was_turned_away() -> None:
    metadata = made("The card costs 105.00.").metadata
    assert metadata["corpus_fingerprint"] == CORPUS.fingerprints
    assert metadata["generator"] == {"name": "extractive"}
    assert metadata["rejected"] == {"near-duplicate": 2}
    assert metadata["level"] == "token"


def test_chunk_level_sample_has_the_ids_of_the_chunks_its_excerpts_stand_in() -> None:
    dataset = made("costs 105.00", level="chunk")
    chunks = [chunk.content for chunk in chunk_corpus(CORPUS, chunker_from(CHUNKER)).chunks]
    (holding,) = [chunk for chunk in chunks if "costs 105.00" in chunk]
    assert dataset.samples[0].relevant_chunk_ids == (generate_chunk_id(holding),)
    assert dataset.metadata["chunker"] == "recursive(chunk_size=24, overlap=0)"


def test_excerpt_over_several_chunks_is_in_each_that_has_a_large_part_of_it() -> None:
    dataset = made(TEXT, level="chunk")
    sizes = {
        generate_chunk_id(chunk.content): len(chunk.content)
        for chunk in chunk_corpus(CORPUS, chunker_from(CHUNKER)).chunks
    }
    assert set(dataset.samples[0].relevant_chunk_ids) == {
        name for name, size in sizes.items() if size == max(sizes.values())
    }


def test_ids_that_a_draft_cites_itself_are_kept() -> None:
    asked = Draft(question="What?", excerpts=(excerpt("The card"),), chunk_ids=("chunk_0123456789ab",))
    dataset = dataset_of(Drafts((asked,)), CORPUS, level="chunk", chunker=chunker_from(CHUNKER), generator={})
    assert dataset.samples[0].relevant_chunk_ids == ("chunk_0123456789ab",)


def test_excerpt_of_another_text_is_refused() -> None:
    wrong = Draft(question="What?", excerpts=(Excerpt("fares.md", 0, 4, "That"),))
    with pytest.raises(InputError, match=r"expected text of 'fares.md', got \"'That' at 0-4"):
        dataset_of(Drafts((wrong,)), CORPUS, level="token", generator={})


def test_chunk_level_needs_a_chunker() -> None:
    with pytest.raises(UsageError, match="chunker is missing"):
        dataset_of(drafts("The card"), CORPUS, level="chunk", generator={})


@pytest.mark.parametrize("name", ["q.eval.json", "q.eval.yaml", "q.eval.csv", "q.jsonl", "q.jsonl.gz"])
def test_written_dataset_reads_back_with_the_same_ground_truth(tmp_path: Path, name: str) -> None:
    corpus = Corpus.from_folder(HANDBOOK)
    dataset = generate_extractively(corpus, queries_per_doc=2).dataset
    write_generated(dataset, tmp_path / name, dialect=dialect_of(name))
    again = read_dataset(tmp_path / name)
    assert [sample.question for sample in again.samples] == [sample.question for sample in dataset.samples]
    assert relevant_spans(again, corpus) == relevant_spans(dataset, corpus)


def test_written_chunk_level_dataset_holds_for_its_chunker_alone(tmp_path: Path) -> None:
    dataset = made("costs 105.00", level="chunk")
    write_generated(dataset, tmp_path / "q.jsonl", dialect="langsmith")
    again = read_dataset(tmp_path / "q.jsonl")
    chunking = chunk_corpus(CORPUS, chunker_from(CHUNKER), distinct=True)
    ids = [generate_chunk_id(chunk.content) for chunk in chunking.chunks]
    assert relevant_chunks(again, CORPUS, chunker=chunking.chunker, chunk_ids=ids) == {
        "q001": dataset.samples[0].relevant_chunk_ids
    }
    with pytest.raises(UsageError, match="made with another chunker"):
        relevant_chunks(again, CORPUS, chunker="sentence", chunk_ids=ids)


def test_changed_documents_are_found_out_through_the_written_file(tmp_path: Path) -> None:
    dataset = made("costs 105.00", level="chunk")
    write_generated(dataset, tmp_path / "q.jsonl", dialect="langsmith")
    changed = Corpus([Document(DocumentId("fares.md"), TEXT + " More.")])
    with pytest.raises(InputError, match="has changed"):
        relevant_chunks(
            read_dataset(tmp_path / "q.jsonl"),
            changed,
            chunker="recursive(chunk_size=24, overlap=0)",
            chunk_ids=dataset.samples[0].relevant_chunk_ids,
        )


def test_unanswerable_question_is_marked_in_the_file(tmp_path: Path) -> None:
    dataset = dataset_of(Drafts((Draft(question="Who?", excerpts=()),)), CORPUS, level="token", generator={})
    write_generated(dataset, tmp_path / "q.eval.json", dialect="evaluation-dataset")
    (sample,) = read_dataset(tmp_path / "q.eval.json").samples
    assert (sample.expectation, sample.relevant_documents) == (Refusal(), {})


def test_ending_tells_the_dialect_and_others_are_refused() -> None:
    assert [dialect_of(name) for name in ("a.eval.json", "a.json.zst", "a.jsonl", "a.langsmith.json")] == [
        "evaluation-dataset",
        "evaluation-dataset",
        "langsmith",
        "langsmith",
    ]
    assert dialect_of("a.txt", "langsmith") == "langsmith"
    with pytest.raises(UsageError, match="expected a name that ends in"):
        dialect_of("a.txt")
    with pytest.raises(UsageError, match="cannot store chunk ids"):
        dialect_of("a.eval.json", level="chunk")
