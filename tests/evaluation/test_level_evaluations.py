"""Evaluations at token, chunk and document level, with figures small enough to work out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest

from rag_evaluation_framework import (
    CharacterSpan,
    ChunkLevelEvaluation,
    ChunkLevelMetric,
    ChunkRecall,
    ChunkRegistry,
    Corpus,
    Document,
    DocumentId,
    Hit,
    InputError,
    PositionAwareChunk,
    Response,
    SpanRecall,
    TokenLevelEvaluation,
    TokenLevelMetric,
    UsageError,
    evaluate,
    generate_chunk_id,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.hit_columns import retrieval_level
from rag_evaluation_framework.metrics.spans import SpanF1
from rag_evaluation_framework.retrieval.pipeline import Chunking
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of

LETTERS = "abcdefgh"


class FourCharacters:
    """Cuts after every four characters; knows no positions."""

    def chunk(self, text: str) -> list[str]:
        return [text[start : start + 4] for start in range(0, len(text), 4)]

    def __str__(self) -> str:
        return "four"


class LetterCounts:
    """A vector is how often each letter occurs."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[text.count(letter) for letter in LETTERS] for text in texts], np.float32)

    def __str__(self) -> str:
        return "letters"


# Chunks: aaaa bbbb | cccc aaaa | dddd
CORPUS = Corpus(
    [
        Document(DocumentId("1.md"), "aaaabbbb"),
        Document(DocumentId("2.md"), "ccccaaaa"),
        Document(DocumentId("3.md"), "dddd"),
    ]
)


def written(path: Path, *examples: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(example) + "\n" for example in examples), encoding="utf-8")
    return path


def example(
    query: str, ids: Sequence[str] = (), spans: Sequence[tuple[str, int, int]] = ()
) -> dict[str, Any]:
    places = [{"doc_id": document, "start": start, "end": end} for document, start, end in spans]
    outputs: dict[str, Any] = {"relevant_chunk_ids": list(ids)}
    return {
        "id": query,
        "inputs": {"query": query},
        "outputs": outputs | ({"spans": places} if places else {}),
    }


def run_tokens(path: Path, **options: Any) -> Any:
    evaluation = TokenLevelEvaluation(corpus=CORPUS, langsmith_dataset_name=str(path))
    options = {"k": 2, "vector_store": ExactVectorStore(), **options}
    return evaluation.run(chunker=FourCharacters(), embedder=LetterCounts(), **options)


def test_token_level_counts_characters_of_both_places_of_a_repeated_text(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    result = run_tokens(path)
    # The query a finds both chunks aaaa, tied: 1.md 0-4 and 2.md 4-8. Of the relevant 2-6, characters 2 and 3
    # are retrieved: recall 2/4, precision 2/8, IoU 2/10. The chunks needed are 0-4 and 4-8: omega 4/8.
    assert result.metrics == {"span_recall": 0.5, "span_precision": 0.25, "span_iou": 0.2}
    asked = run_tokens(path, metrics=["span_f1", "precision_omega", SpanRecall()])
    assert asked.metrics == {"span_f1": pytest.approx(1 / 3), "precision_omega": 0.5, "span_recall": 0.5}
    with pytest.raises(UnknownNameError, match='unknown metric at token level "chunk_f1"'):
        run_tokens(path, metrics=["chunk_f1"])
    assert result.experiment_url is None
    hits = next(iter(result.raw_results.rows)).response.hits
    assert [hit.span for hit in hits] == [
        CharacterSpan(DocumentId("1.md"), 0, 4),
        CharacterSpan(DocumentId("2.md"), 4, 8),
    ]


def test_a_query_without_truth_is_retrieved_for_skipped_and_not_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("b", spans=[("1.md", 4, 8)]), example("d"))
    result = run_tokens(path, k=1)
    assert result.metrics["span_recall"] == 1.0
    unscored = list(result.raw_results.rows)[1]
    assert unscored.response.hits
    assert {score.status for score in unscored.scores} == {"skipped"}


class CountsSpans(TokenLevelMetric):
    """Somebody else's metric."""

    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return len(retrieved) + 10 * len(ground_truth)


class NotANumber(TokenLevelMetric):
    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return float("nan")


def test_given_metrics_replace_the_list_ours_and_others_alike(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    result = run_tokens(path, metrics=[SpanRecall(), SpanF1(), CountsSpans(), NotANumber()])
    assert result.metrics == {"span_recall": 0.5, "span_f1": pytest.approx(1 / 3), "counts_spans": 12.0}
    failed = next(iter(result.raw_results.rows)).scores[3]
    assert (failed.metric, failed.status) == ("not_a_number", "failed")


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "metrics is empty"),
        ([SpanRecall], "objects with the method calculate"),
        ([SpanRecall(), SpanRecall()], "duplicate name span_recall"),
    ],
)
def test_metrics_that_make_no_sense_are_refused(tmp_path: Path, metrics: Any, message: str) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    with pytest.raises(UsageError, match=message):
        run_tokens(path, metrics=metrics)


def run_chunks(path: Path, chunker: Any = None, **options: Any) -> Any:
    evaluation = ChunkLevelEvaluation(corpus=CORPUS, langsmith_dataset_name=str(path))
    options = {"k": 2, "vector_store": ExactVectorStore(), **options}
    return evaluation.run(chunker=chunker or FourCharacters(), embedder=LetterCounts(), **options)


def test_chunk_level_indexes_a_repeated_text_once_so_k_results_are_k_chunks(tmp_path: Path) -> None:
    relevant = [generate_chunk_id("aaaa"), generate_chunk_id("cccc")]
    path = written(tmp_path / "c.jsonl", example("aab", relevant))
    result = run_chunks(path)
    # aab finds aaaa, once, and bbbb: one of two relevant ones, one of two retrieved ones.
    assert result.metrics == {"chunk_recall": 0.5, "chunk_precision": 0.5, "chunk_f1": 0.5}
    assert result.raw_results.head.configuration["chunks"] == 4
    found = [hit.id for hit in next(iter(result.raw_results.rows)).response.hits]
    assert found == [generate_chunk_id("aaaa"), generate_chunk_id("bbbb")]


class NeverAsked:
    """Fails if anything is embedded."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        raise AssertionError(texts)


class CountsChunks(ChunkLevelMetric):
    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        return float(len(retrieved))


class BothLevels(ChunkRecall, TokenLevelMetric):
    """Somebody else's, who knows what to do at either level."""

    def calculate(self, retrieved: Any, ground_truth: Any) -> float:
        return float(len(retrieved))


@pytest.mark.parametrize(
    ("evaluation", "metric", "levels"),
    [
        (TokenLevelEvaluation, ChunkRecall(), ("chunk", "token")),
        (TokenLevelEvaluation, CountsChunks(), ("chunk", "token")),
        (ChunkLevelEvaluation, SpanRecall(), ("token", "chunk")),
        (ChunkLevelEvaluation, CountsSpans(), ("token", "chunk")),
    ],
)
def test_a_metric_of_the_other_level_is_refused_before_anything_runs(
    tmp_path: Path, evaluation: Any, metric: Any, levels: tuple[str, str]
) -> None:
    ids = [generate_chunk_id("aaaa")]
    path = written(tmp_path / "t.jsonl", example("a", ids, spans=[("1.md", 2, 6)]))
    other, own = levels
    expected = f"{type(metric).__name__} is a metric at {other} level; expected a metric at {own} level"
    with pytest.raises(UsageError, match=expected):
        evaluation(CORPUS, path).run(FourCharacters(), NeverAsked(), metrics=[metric])


def test_a_metric_of_both_levels_is_taken_at_either(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    assert run_tokens(path, metrics=[BothLevels()]).metrics == {"both_levels": 2.0}


def test_the_types_tell_the_levels_apart() -> None:
    # What a type checker goes by: it refuses the calls above.
    assert get_args(TokenLevelEvaluation.__orig_bases__[0]) == (TokenLevelMetric,)  # type: ignore[attr-defined]
    assert get_args(ChunkLevelEvaluation.__orig_bases__[0]) == (ChunkLevelMetric,)  # type: ignore[attr-defined]
    assert not issubclass(ChunkRecall, TokenLevelMetric)
    assert not issubclass(SpanRecall, ChunkLevelMetric)


def test_a_sweep_refuses_a_metric_of_the_other_level_by_name_and_as_an_object(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    grid = grid_of(chunkers=[FourCharacters()], embedders=[NeverAsked()])
    for metric in ("chunk_recall", ChunkRecall()):
        with pytest.raises(UsageError, match='unknown metric at token level "chunk_recall"'):
            evaluate(path, target=grid, metrics=[metric], documents=CORPUS)  # type: ignore[list-item]
    with pytest.raises(UsageError, match="expected names or metrics"):
        evaluate(path, target=grid, metrics=[CountsSpans()], documents=CORPUS)  # type: ignore[list-item]
    swept = evaluate(
        path,
        target=grid_of(chunkers=[FourCharacters()], embedders=[LetterCounts()], k=[2]),
        metrics=[SpanF1()],  # type: ignore[list-item]
        documents=CORPUS,
    )
    assert next(iter(swept.parts.values())).metrics["span_f1"].value == pytest.approx(1 / 3)


class Shouting:
    """Changes the text, so that its chunks stand nowhere in the document."""

    def chunk(self, text: str) -> list[str]:
        return [piece.upper() for piece in FourCharacters().chunk(text)]


def test_chunk_level_takes_a_chunker_that_changes_the_text_at_its_word(tmp_path: Path) -> None:
    class CountsCapitals(LetterCounts):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return super().embed([text.lower() for text in texts])

    path = written(tmp_path / "c.jsonl", example("b", [generate_chunk_id("BBBB")]))
    evaluation = ChunkLevelEvaluation(CORPUS, path)
    result = evaluation.run(Shouting(), CountsCapitals(), 1, ExactVectorStore(), metrics=[ChunkRecall()])
    assert result.metrics == {"chunk_recall": 1.0}
    assert next(iter(result.raw_results.rows)).response.hits[0].span is None


def test_a_chunk_id_that_no_chunk_has_is_found_before_anything_is_embedded(tmp_path: Path) -> None:
    class Refuses:
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            raise AssertionError("nothing may be embedded")

    path = written(tmp_path / "c.jsonl", example("a", [generate_chunk_id("zzzz")]))
    with pytest.raises(InputError, match="unknown ids"):
        ChunkLevelEvaluation(CORPUS, path).run(FourCharacters(), Refuses(), 1, ExactVectorStore())


def test_document_level_ranks_a_document_by_its_best_chunk() -> None:
    def hit(document: str, start: int) -> Hit:
        return Hit(id="pa_chunk_x", span=CharacterSpan(DocumentId(document), start, start + 4))

    dataset = _judged({"q1": {"2.md": 2, "3.md": 1}, "q2": {}})
    found = [(hit("1.md", 0), hit("2.md", 0), hit("1.md", 4)), (hit("1.md", 0),)]
    responses = [Response(hits=hits) for hits in found]
    scorers = retrieval_level("document", dataset, CORPUS).scorers(Chunking("four", (), 0.0))
    by_name = {scorer.name: scorer.score_many(dataset.samples, responses) for scorer in scorers}  # type: ignore[attr-defined]
    # Documents in order: 1.md, 2.md. One of two relevant ones found, at rank 2.
    assert by_name["recall"][0].value == 0.5
    assert by_name["precision"][0].value == 0.5
    assert by_name["mrr"][0].value == 0.5
    assert {scores[1].status for scores in by_name.values()} == {"skipped"}


def _judged(judgements: dict[str, dict[str, int]]) -> Any:
    from rag_evaluation_framework import Dataset, Sample, Turn

    return Dataset(
        samples=tuple(
            Sample(id=query, turns=(Turn(role="user", content=query),), relevant_documents=grades)
            for query, grades in judgements.items()
        ),
        dialect="beir",
    )


def test_wrong_arguments_are_one_clear_message_each(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", example("a", spans=[("1.md", 2, 6)]))
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        run_tokens(path, k=0)
    with pytest.raises(UsageError, match="workers: expected a whole number of at least 1, got 0"):
        run_tokens(path, workers=0)
    with pytest.raises(UsageError, match="corpus: expected a Corpus, got 'documents'"):
        TokenLevelEvaluation("documents", str(path))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="corpus contains no documents"):
        TokenLevelEvaluation(Corpus([]), str(written(tmp_path / "n.jsonl", example("a")))).run(
            FourCharacters(), LetterCounts()
        )


def test_truth_that_has_only_ids_is_looked_up_in_the_registry_that_is_given(tmp_path: Path) -> None:
    registry = ChunkRegistry()
    for document, start in (("1.md", 0), ("2.md", 4)):
        place = (DocumentId(document), start, start + 4)
        registry.register_pa_chunk(PositionAwareChunk(generate_pa_chunk_id("aaaa"), "aaaa", *place))
    path = written(tmp_path / "t.jsonl", example("a", ids=[generate_pa_chunk_id("aaaa")]))
    evaluation = TokenLevelEvaluation(CORPUS, str(path), chunk_registry=registry)
    result = evaluation.run(FourCharacters(), LetterCounts(), 2, ExactVectorStore())
    # Both places of the text are relevant, and both are found.
    assert result.metrics == {"span_recall": 1.0, "span_precision": 1.0, "span_iou": 1.0}
    without = TokenLevelEvaluation(CORPUS, str(path))
    with pytest.raises(UsageError, match=r"ids of excerpts without spans .* or a chunk_registry"):
        without.run(FourCharacters(), LetterCounts(), 2, ExactVectorStore())
    path = written(tmp_path / "u.jsonl", example("a", ids=["pa_chunk_000000000000"]))
    unknown = TokenLevelEvaluation(CORPUS, str(path), chunk_registry=registry)
    with pytest.raises(
        InputError, match=r"u.jsonl:1: .*relevant_chunk_ids\[0\]: expected a chunk of the reg"
    ):
        unknown.run(FourCharacters(), LetterCounts(), 2, ExactVectorStore())
