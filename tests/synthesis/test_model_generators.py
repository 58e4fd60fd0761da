"""The generators as people call them: from a client and a corpus to a dataset that evaluations find."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import in_turn, running_chat
from langsmith_server import signed_in
from scripted_questions import corpus_of, well_behaved

from rag_evaluation_framework import (
    ChunkLevelDataGenerator,
    Corpus,
    Document,
    DocumentId,
    RecursiveCharacterChunker,
    TokenLevelDataGenerator,
    TokenLevelEvaluation,
    UsageError,
)
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.question_plan import windows_of

CORPUS = corpus_of(4)
CHUNKER = RecursiveCharacterChunker(chunk_size=80)


def complete(prompt: str) -> str:
    """Play a model that gets one prompt, with the schema at its end."""
    told = json.loads(prompt.rpartition("JSON Schema:\n")[2])
    asked = {
        "messages": [{"role": "user", "content": prompt.partition("Reply with one JSON value")[0]}],
        "response_format": {"json_schema": {"schema": told}},
    }
    return well_behaved(asked)


class Completing:
    name = "completing"

    def complete(self, prompt: str) -> str:
        return complete(prompt)


class Never:
    """A model that must not be asked."""

    def complete(self, prompt: str) -> str:
        raise AssertionError("the model was asked")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for key in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(key, raising=False)


def test_the_calls_take_what_they_always_took_by_place() -> None:
    for made, first in ((TokenLevelDataGenerator, 2), (ChunkLevelDataGenerator, 3)):
        parameters = list(inspect.signature(made).parameters)
        assert parameters[:first] == ["llm_client", "corpus", "chunker"][:first]
        called = inspect.signature(made.generate).parameters
        positional = [each for each in called.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
        assert [(each.name, each.default) for each in positional[1:]] == [
            ("queries_per_doc", 5),
            ("upload_to_langsmith", True),
            ("dataset_name", None),
        ]


@pytest.mark.parametrize("client", [complete, Completing()])
def test_a_function_and_an_object_that_completes_are_clients(client: object) -> None:
    generator = TokenLevelDataGenerator(client, CORPUS)
    truths = generator.generate(2, upload_to_langsmith=False, quality=None)
    assert len(truths) == 8
    assert generator.generation.usage is None


def test_the_passages_of_a_question_are_found_in_the_registry_with_their_characters() -> None:
    generator = TokenLevelDataGenerator(complete, CORPUS)
    for truth in generator.generate(3, False, quality=None):
        assert truth.relevant_chunk_ids
        for chunk_id in truth.relevant_chunk_ids:
            assert chunk_id.startswith("pa_chunk_")
            passage = generator.chunk_registry.get_pa_chunk(chunk_id)
            assert passage.matches(CORPUS[passage.doc_id])
        assert truth.query.metadata["query_type"] in ("factual", "analytical", "comparative", "temporal")
        assert truth.query.metadata["difficulty"] in ("easy", "medium", "hard")


def test_the_chunks_of_a_question_are_found_in_the_registry() -> None:
    generator = ChunkLevelDataGenerator(complete, CORPUS, CHUNKER)
    truths = generator.generate(3, False, quality=None)
    assert len(truths) == 12
    for truth in truths:
        for chunk_id in truth.relevant_chunk_ids:
            assert re.fullmatch("chunk_[0-9a-f]{12}", chunk_id)
            assert generator.chunk_registry.get_chunk(chunk_id) is not None


class Lines:
    """A chunker without positions: it returns texts."""

    def chunk(self, text: str) -> list[str]:
        return [sentence for sentence in re.split(r"(?<=\.) |\n+", text) if sentence]


def test_a_chunker_without_positions_will_do_at_chunk_level() -> None:
    generator = ChunkLevelDataGenerator(complete, CORPUS, Lines())
    truths = generator.generate(2, False, quality=None)
    assert len(truths) == 8
    assert all("expectation" not in truth.query.metadata for truth in truths)
    assert all(truth.query.metadata["source_docs"] for truth in truths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries_per_doc": -1}, "queries_per_doc: expected a whole number"),
        ({"kinds": ["trivia"]}, 'unknown kind of question "trivia"'),
        ({"dataset_name": "../outside"}, "dataset_name: expected a name"),
        ({"upload_to_langsmith": True}, "upload_to_langsmith needs an API key"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_model_is_asked(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        TokenLevelDataGenerator(Never(), CORPUS).generate(**{"upload_to_langsmith": False, **options})


def test_what_is_no_client_or_no_corpus_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="model: expected a chat model, an OpenAI client"):
        TokenLevelDataGenerator(7, CORPUS)
    with pytest.raises(UsageError, match="corpus: expected a Corpus"):
        TokenLevelDataGenerator(complete, "folder")  # type: ignore[arg-type]


def test_from_generation_to_evaluation_by_way_of_langsmith(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")
    with signed_in(monkeypatch, tmp_path):
        generator = TokenLevelDataGenerator(llm_client=complete, corpus=CORPUS)
        truths = generator.generate(queries_per_doc=3, dataset_name="my-rag-eval-token-level")
        assert generator.delivered.upload.added == len(truths) > 0
        evaluation = TokenLevelEvaluation(corpus=CORPUS, langsmith_dataset_name="my-rag-eval-token-level")
        result = evaluation.run(CHUNKER, HashingEmbedder(), k=5, vector_store=ExactVectorStore())
        assert result.metrics["span_recall"] > 0.5
        assert sorted(result.per_query) == sorted(each.query.id for each in truths)
        assert result.experiment_url is not None
        assert not (tmp_path / "langsmith").exists()


def test_unanswerable_questions_have_no_relevant_passages() -> None:
    generator = TokenLevelDataGenerator(complete, CORPUS)
    truths = generator.generate(1, False, unanswerable_per_doc=1, quality=None)
    refusals = [truth for truth in truths if truth.query.metadata.get("expectation") == "refusal"]
    assert len(refusals) == 4
    assert all(list(truth.relevant_chunk_ids) == [] for truth in refusals)


def test_a_document_longer_than_the_window_is_asked_about_in_all_its_parts() -> None:
    (part,) = corpus_of(1, sentences=60).documents
    corpus = Corpus([Document(DocumentId("long.md"), part.content)])
    told: list[str] = []

    def remembering(prompt: str) -> str:
        told.append(prompt)
        return complete(prompt)

    generator = TokenLevelDataGenerator(remembering, corpus, max_characters=1000)
    truths = generator.generate(8, False, quality=None)
    # Three windows of nearly 1,000 characters, and a short rest that no question falls to.
    assert len(told) == 3
    spans = [generator.chunk_registry.get_span(each) for truth in truths for each in truth.relevant_chunk_ids]
    for window in windows_of(corpus.documents[0], max_characters=1000)[:3]:
        assert any(span is not None and window.start <= span.start < window.end for span in spans)
    assert all(len(prompt) < 6000 for prompt in told)


def test_progress_is_told_and_every_request_is_counted() -> None:
    seen: list[Progress] = []
    with (
        running_chat(well_behaved) as server,
        OpenAIChatModel("m", base_url=server.url, price_input=1.0, price_output=2.0) as model,
    ):
        generator = TokenLevelDataGenerator(model, CORPUS)
        generator.generate(2, False, on_progress=seen.append, quality=None)
    assert (seen[-1].done, seen[-1].total, seen[-1].failed) == (4, 4, 0)
    usage = generator.generation.usage
    assert usage.cost_usd == seen[-1].cost_usd == pytest.approx(model.spending.usage.cost_usd)  # type: ignore[union-attr]


def test_an_endpoint_that_is_not_there_is_an_error_that_tells_how_far_it_came() -> None:
    with running_chat(in_turn("")) as server:
        url = server.url
    model = OpenAIChatModel("m", base_url=url, max_attempts=1)
    told = "0 of 4 requests were answered; to be able to resume, set run_folder"
    with model, pytest.raises(ModelError, match=told) as error:
        TokenLevelDataGenerator(model, CORPUS).generate(1, False)
    assert error.value.kind == "incomplete"


def copying(prompt: str) -> str:
    """Play a model whose questions are the passages themselves."""
    reply = json.loads(complete(prompt))
    for each in reply["questions"]:
        each["question"] = each["excerpts"][0].rstrip(".") + "?"
    return json.dumps(reply)


def run_with(client: Callable[[str], str], **options: Any) -> TokenLevelDataGenerator:
    generator = TokenLevelDataGenerator(client, CORPUS)
    generator.generate(4, False, **options)
    return generator


def test_questions_that_copy_their_passage_fail_the_usual_quality_control() -> None:
    assert len(run_with(copying, quality=None).generation.drafts.kept) == 16  # type: ignore[union-attr]
    checked = run_with(copying, quality=QualityControl()).generation
    assert checked.drafts.kept == ()
    assert sum(checked.drafts.counts().values()) == 16
    by_default = run_with(copying).generation
    assert by_default.drafts.counts() == checked.drafts.counts()


def in_lines(prompt: str) -> str:
    """Play a model that answers in lines, whatever it is told."""
    ids = re.findall(r"<<[0-9a-f]{16} (chunk_[0-9a-f]{12})>>\n[^<]*?The (\w+) of dock (\d+)", prompt)
    return "Here they are.\n\n" + "\n\n".join(
        f"{number}. **Q:** Who put in the {topic} of dock {dock}?\n   Chunks: [{chunk_id}], chunk_nowhere"
        for number, (chunk_id, topic, dock) in enumerate(ids[:2], start=1)
    )


def test_questions_in_lines_are_read_as_well_as_json() -> None:
    generator = ChunkLevelDataGenerator(in_lines, CORPUS, CHUNKER, model="liner")
    truth = generator.generate(2, upload_to_langsmith=False, quality=None)
    assert len(truth) == 2 * len(CORPUS)
    for each in truth:
        assert each.query.text.startswith("Who put in the ")
        (chunk_id,) = each.relevant_chunk_ids
        assert generator.chunk_registry.get_chunk(chunk_id) is not None
    assert generator.generation.drafts.counts()["unknown-chunk-id"] == 2 * len(CORPUS)
