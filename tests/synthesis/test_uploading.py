"""Where generated datasets go: refused before anything is paid for, and never lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langsmith_server import EXAMPLES, LangSmithServer, signed_in

from rag_evaluation_framework import (
    Corpus,
    Dataset,
    Document,
    DocumentId,
    RecursiveCharacterChunker,
    Refusal,
    Sample,
    SpanCitation,
    TokenLevelEvaluation,
    Turn,
    UsageError,
)
from rag_evaluation_framework.errors import MissingDatasetError, StorageError, TargetError
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.synthesis.generated_datasets import (
    Delivered,
    Destination,
    default_dataset_name,
    deliver,
    destination,
    self_contained,
)

TEXT = "Boats leave at noon."
CORPUS = Corpus([Document(DocumentId("boats.md"), TEXT), Document(DocumentId("cars.md"), "Cars are red.")])
DATASET = Dataset(
    samples=(
        Sample(
            id="q1",
            turns=(Turn(role="user", content="When do boats leave?"),),
            reference="At noon.",
            relevant_spans=(SpanCitation("boats.md", 0, 20, text=TEXT),),
            relevant_chunk_ids=("pa_chunk_0123456789ab",),
            relevant_documents={"boats.md": 1},
            query_type="temporal",
            difficulty="easy",
        ),
        Sample(id="q2", turns=(Turn(role="user", content="When do trains leave?"),), expectation=Refusal()),
    ),
    dialect="evaluation-dataset",
    metadata={
        "corpus_fingerprint": CORPUS.fingerprints,
        "generator": {"name": "model", "model": "scripted", "seed": 1},
        "rejected": {"duplicate-question": 2},
        "level": "token",
    },
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A current folder, without a key."""
    for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithServer]:
    pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")
    with signed_in(monkeypatch, tmp_path) as running:
        yield running


def asked_for(name: str | None, *, upload: bool) -> Destination | None:
    return destination(name, upload_to_langsmith=upload, default_name="rag-eval-token-level-01")


def delivered(name: str | None, *, upload: bool = False) -> Delivered:
    place = asked_for(name, upload=upload)
    assert place is not None
    return deliver(DATASET, place)


def test_an_upload_without_a_key_is_refused_and_says_what_works_without(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        asked_for("boats", upload=True)
    path = Path("langsmith", "boats.jsonl")
    assert str(caught.value) == (
        "upload_to_langsmith needs an API key. Set LANGSMITH_API_KEY, or write the dataset to "
        f"{path} without an upload; evaluations find it there by the same name"
    )
    assert list(folder.iterdir()) == []


def test_a_dataset_that_has_no_name_and_is_not_uploaded_goes_nowhere(folder: Path) -> None:
    assert asked_for(None, upload=False) is None


def test_without_a_key_evaluations_find_the_dataset_by_its_name(folder: Path) -> None:
    done = delivered("boats")
    assert (done.path, done.upload) == (Path("langsmith", "boats.jsonl"), None)
    read = find_dataset("boats")
    labels = {
        "query_type": "temporal",
        "difficulty": "easy",
        "reference_answer": "At noon.",
        "generation_model": "scripted",
        "corpus_fingerprint": {"boats.md": CORPUS["boats.md"].fingerprint},
    }
    assert [each.id for each in read.samples] == ["q1", "q2"]
    assert read.samples[0].metadata == labels
    assert read.samples[0].relevant_documents == {"boats.md": 1}
    assert read.samples[1].metadata == {"generation_model": "scripted"}
    assert read.samples[1].expectation == Refusal()
    evaluation = TokenLevelEvaluation(corpus=CORPUS, langsmith_dataset_name="boats")
    result = evaluation.run(RecursiveCharacterChunker(), HashingEmbedder(), 1, ExactVectorStore())
    assert result.metrics["span_recall"] == 1.0
    assert result.experiment_url is None


def test_writing_the_same_dataset_again_writes_the_same_bytes(folder: Path) -> None:
    path = delivered("team/boats").path
    before = path.read_bytes()
    assert delivered("team/boats").path == path
    assert path.read_bytes() == before
    assert len(find_dataset("team/boats")) == 2
    assert [each.name for each in path.parent.iterdir()] == ["boats.jsonl"]


@pytest.mark.parametrize("name", ["", "  ", "../boats", "/boats", "a/../../boats", "a\0b", "a" * 999])
def test_a_name_that_leads_out_of_the_folder_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="dataset_name: expected a name such as"):
        asked_for(name, upload=False)


def test_a_name_that_is_also_a_path_is_refused_since_evaluations_would_read_that(folder: Path) -> None:
    (folder / "boats").mkdir()
    with pytest.raises(UsageError, match="dataset_name: expected a name that is not a path, got 'boats'"):
        asked_for("boats", upload=False)


def test_a_folder_that_cannot_be_made_is_one_line(folder: Path) -> None:
    (folder / "langsmith").write_text("a file")
    with pytest.raises(StorageError, match="cannot write"):
        delivered("boats")


def test_the_usual_name_depends_on_the_documents_and_the_level_alone() -> None:
    name = default_dataset_name("token", CORPUS)
    assert name == default_dataset_name("token", Corpus(list(CORPUS.documents), {"folder": "elsewhere"}))
    others = {default_dataset_name("chunk", CORPUS), default_dataset_name("token", Corpus([]))}
    assert name not in others
    assert len(others) == 2


def test_an_upload_brings_the_dataset_to_langsmith_and_writes_no_file(
    server: LangSmithServer, tmp_path: Path
) -> None:
    done = delivered("boats", upload=True)
    assert done.path is None
    assert (done.upload.added, done.upload.unchanged) == (2, 0)
    assert list(tmp_path.iterdir()) == []
    assert done.name == "boats"
    example, declined = (each["outputs"] for each in server.datasets["boats"])
    assert example["metadata"]["source_docs"] == ["boats.md"]
    assert example["metadata"]["generation_model"]
    assert "source_docs" not in declined["metadata"]
    assert server.described["boats"]["description"] == (
        "Ground truth for token-level RAG evaluation (character spans)"
    )
    read, sent = find_dataset("boats"), self_contained(DATASET)
    assert [replace(each, origin=None) for each in read.samples] == list(sent.samples)
    # What is said of every document would grow with the corpus; each sample has its own documents'.
    assert read.metadata == {
        name: value for name, value in DATASET.metadata.items() if name != "corpus_fingerprint"
    }
    again = delivered("boats", upload=True).upload
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)


def test_an_upload_without_a_name_has_the_usual_one(server: LangSmithServer) -> None:
    delivered(None, upload=True)
    assert list(server.datasets) == ["rag-eval-token-level-01"]


def test_a_key_that_is_refused_is_known_before_anything_is_generated(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-wrong-0123456789")
    with pytest.raises(UsageError, match="the API key in LANGSMITH_API_KEY was rejected"):
        asked_for("boats", upload=True)


@pytest.mark.parametrize(("status", "kind"), [(500, TargetError), (403, UsageError)])
def test_a_dataset_that_langsmith_does_not_take_is_kept_in_the_local_folder(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch, status: int, kind: type[Exception]
) -> None:
    server.statuses = {f"POST {EXAMPLES}": [status] * 4}
    with pytest.raises(kind, match=r"the dataset is saved in langsmith.boats\.jsonl"):
        delivered("boats", upload=True)
    with pytest.raises(MissingDatasetError):
        find_dataset("ships")
    monkeypatch.delenv("LANGSMITH_API_KEY")
    assert len(find_dataset("boats")) == 2
