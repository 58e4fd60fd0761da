"""The evaluations as the design documents write them, with OpenAI's endpoint played by a local server."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedding_server import EmbeddingServer, running_embeddings

from cases import tables_beside
from rag_evaluation_framework import generate_chunk_id
from rag_evaluation_framework.datasets.project import create_layout

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"

SEED = tables_beside(__file__)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """Prepare a folder as the user has it: the documents, and datasets in LangSmith's shape."""
    (tmp_path / "knowledge_base").mkdir()
    for name in ("timetable.md", "fares.md", "visitor-guide-zh.md"):
        shutil.copy(HANDBOOK / "documents" / name, tmp_path / "knowledge_base" / name)
    (tmp_path / "langsmith").mkdir()
    for key in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.chdir(tmp_path)
    with running_embeddings() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        yield running


def example(query: str, outputs: dict[str, object]) -> str:
    return json.dumps({"inputs": {"query": query}, "outputs": outputs}) + "\n"


@pytest.mark.vendors("chromadb")
def test_the_token_level_workflow_runs_as_written(
    server: EmbeddingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quoted = "Tuesdays are kept free for maintenance"
    start = (tmp_path / "knowledge_base" / "timetable.md").read_bytes().decode().index(quoted)
    span = {"doc_id": "timetable.md", "start": start, "end": start + len(quoted), "text": quoted}
    outputs: dict[str, object] = {"relevant_chunk_ids": ["pa_chunk_0123456789ab"], "spans": [span]}
    (tmp_path / "langsmith" / "my-rag-eval-token-level.jsonl").write_text(
        example("Tuesdays are kept free for what?", outputs), encoding="utf-8"
    )
    names: dict[str, object] = {}
    exec(SEED["token_level"], names)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 5
    assert printed[0] == "recursive(chunk_size=200, overlap=0): Recall=1.000"
    for result in names["results"]:  # type: ignore[attr-defined]
        assert {"span_recall", "span_precision", "span_iou"} <= result.metrics.keys()
        assert result.experiment_url is None
        assert "store=chroma" in result.raw_results.head.configuration["retriever"]
    assert server.keys == {"Bearer a-key"}


@pytest.mark.vendors("chromadb")
def test_the_chunk_level_workflow_runs_as_written(server: EmbeddingServer, tmp_path: Path) -> None:
    from rag_evaluation_framework import RecursiveCharacterChunker

    text = (tmp_path / "knowledge_base" / "fares.md").read_bytes().decode()
    content = RecursiveCharacterChunker(chunk_size=200).chunk(text)[3]
    outputs: dict[str, object] = {"relevant_chunk_ids": [generate_chunk_id(content)]}
    (tmp_path / "langsmith" / "my-rag-eval-chunk-level.jsonl").write_text(
        example(content, outputs), encoding="utf-8"
    )
    names: dict[str, object] = {}
    exec(SEED["chunk_level"], names)
    # The query is the chunk itself: it is found, with four others.
    assert names["result"].metrics == {  # type: ignore[attr-defined]
        "chunk_recall": 1.0,
        "chunk_precision": 0.2,
        "chunk_f1": pytest.approx(1 / 3),
    }
    # And so its text was embedded already.
    assert set(Counter(server.texts).values()) == {1}


# Creating a dataset and evaluating with it, as the description of the data formats writes it.

IMPORTS = """
from rag_evaluation_framework import CitationEvaluator, EvaluationDatasetLoader, EvaluationResultsStorage
"""


@pytest.mark.parametrize("is_new_project", [False, True], ids=["empty folder", "new project"])
def test_creating_and_evaluating_run_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_new_project: bool
) -> None:
    if is_new_project:
        create_layout(tmp_path)  # what `rag-eval init` does; the annotations of sample_eval come with it
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + SEED["creating"] + SEED["evaluating"], names)
    assert names["create_sample_evaluation_dataset"]() == (  # type: ignore[operator]
        "data/evaluation/datasets/sample_eval_v1.0.0.eval.json"
    )
    with pytest.warns(UserWarning, match="ml_guide.pdf|using the citations in the dataset") as told:
        names["run_evaluation_example"]()  # type: ignore[operator]
    loaded, accuracy, saved = capsys.readouterr().out.splitlines()
    assert loaded == "Loaded dataset with 1 queries"
    label, _, value = accuracy.rpartition(" = ")
    assert label == "Query sample_query_001: Citation accuracy"
    # The spans are the true ones: 0.30. The citation cannot be opened, since no document called
    # ml_guide.pdf: 0. What the answer adds to the document is left to the method: at most 0.25 + 0.15.
    assert 0.30 <= float(value) <= 0.70
    assert len(told) == (1 if is_new_project else 2)  # in an empty folder nobody has annotated either
    written = json.loads((tmp_path / saved.removeprefix("Results saved to: ")).read_text(encoding="utf-8"))
    assert written["evaluation_id"] == "sample_eval_001"


def test_the_sample_of_a_new_project_is_evaluated_with_its_own_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create_layout(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + SEED["evaluating"], names)
    names["run_evaluation_example"]()  # type: ignore[operator]
    for line in capsys.readouterr().out.splitlines()[1:-1]:
        # Its citations stand in its documents, and so does what it says: 0.30 + 0.30 + 0.25 × 0.9 + 0.15.
        assert float(line.rpartition(" = ")[2]) >= 0.95
