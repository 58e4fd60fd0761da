"""How a metric's method is chosen, and what stands in where a method is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import tables_beside
from rag_evaluation_framework import Dataset, Document, DocumentId, Judge, Response, Sample, Turn, UsageError
from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.methods import LatestOf, Methods, chosen_method, with_documents
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.models.chat import Completion
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)


class Silent:
    """A model that is never asked here."""

    name = "silent"

    def chat(self, messages: object, *, schema: object = None, draw: int = 0) -> Completion:
        raise AssertionError("nobody should ask")


JUDGED = Methods(judge=Judge(Silent()))
EMBEDDED = Methods(embedder=HashingEmbedder())
SAMPLE = Sample(
    id="s", turns=(Turn(role="user", content="Where is the archive?"),), reference="In the cellar."
)


@pytest.mark.parametrize(
    ("text", "methods", "method"),
    [
        ("faithfulness", Methods(), "lexical"),
        ("faithfulness", JUDGED, "judge"),
        ("faithfulness(method=lexical)", JUDGED, "lexical"),
        ("answer_similarity", Methods(), "lexical"),
        ("answer_similarity", EMBEDDED, "embedding"),
        ("answer_similarity(method=lexical)", EMBEDDED, "lexical"),
        ("answer_relevancy", EMBEDDED, "embedding"),
        ("answer_relevancy", JUDGED, "judge"),
        ("toxicity", Methods(), "lexicon"),
        ("bias", Methods(), None),
        ("bias", JUDGED, "judge"),
        ("rubric", Methods(), None),
    ],
)
def test_the_judge_is_used_where_there_is_one_unless_the_metric_says_otherwise(
    text: str, methods: Methods, method: str | None
) -> None:
    assert chosen_method(parse_metric(text), methods) == method


@pytest.mark.parametrize(
    ("metric", "looks_up"), TABLES["the_documents_of_the_dataset_are_read_where_a_metric_looks_something_up"]
)
def test_the_documents_of_the_dataset_are_read_where_a_metric_looks_something_up(
    metric: str, looks_up: bool, tmp_path: Path
) -> None:
    path = tmp_path / "boats.eval.json"
    document = Document(DocumentId("d1"), "The boat leaves at noon.")
    EVALUATION_SETS.write(Dataset(samples=(SAMPLE,), dialect="made", documents=(document,)), path)
    methods = with_documents(Methods(), [metric], dialect=recognise(path), path=path)
    assert (methods.corpus is not None) == looks_up


def test_a_method_that_is_asked_for_and_not_set_up_says_how_to_set_it_up() -> None:
    with pytest.raises(UsageError, match="needs a judge: use --judge-model"):
        scorer_for("faithfulness(method=judge)")
    with pytest.raises(UsageError, match="needs an embedder: give --embedder"):
        scorer_for("answer_similarity(method=embedding)")
    with pytest.raises(UnknownNameError, match="method of faithfulness"):
        scorer_for("faithfulness(method=embedding)")


def test_what_only_a_judge_can_measure_is_skipped_without_one_and_never_scored() -> None:
    for name in ("bias", "rubric", "rubric_pass"):
        score = scorer_for(name).score(SAMPLE, Response(text="In the cellar."))
        assert (score.status, score.reason) == ("skipped", "needs a judge")
        assert score.method == "not scored: needs a judge"


def test_relevancy_without_a_model_is_skipped_with_what_to_add_and_words_cannot_be_asked_for() -> None:
    score = scorer_for("answer_relevancy").score(SAMPLE, Response(text="In the cellar."))
    needs = "needs an embedding model or a judge"
    assert (score.status, score.reason) == ("skipped", f"not measurable by word overlap: {needs}")
    assert score.method == f"not scored: {needs}"
    for methods in (EMBEDDED, JUDGED):
        assert not scorer_for("answer_relevancy", methods).needs_model
    with pytest.raises(UnknownNameError, match="method of answer_relevancy"):
        scorer_for("answer_relevancy(method=lexical)", EMBEDDED)


def test_the_method_stands_in_the_score_and_in_the_name_where_it_was_asked_for() -> None:
    plain = scorer_for("answer_similarity", EMBEDDED)
    asked = scorer_for("answer_similarity(method=lexical)", EMBEDDED)
    assert (plain.name, plain.method) == ("answer_similarity", "embedding:hashing(dimensions=1024)")
    assert (asked.name, asked.method) == ("answer_similarity(method=lexical)", "lexical match, calibrated")
    assert scorer_for("answer_relevancy", EMBEDDED).method == "embedding:hashing(dimensions=1024)"


@pytest.mark.parametrize(
    ("name", "methods", "of_method"),
    [
        ("token_f1", Methods(), 1),
        ("faithfulness", Methods(), LexicalSupport().version),
        ("bias", JUDGED, load_prompt("bias").version),
    ],
)
def test_a_version_counts_the_changes_of_formula_and_method(
    name: str, methods: Methods, of_method: int
) -> None:
    changes = (parse_metric(name).metric.version - 1) + (of_method - 1)
    assert scorer_for(name, methods).version == 1 + changes


def test_the_same_words_are_fully_similar_by_embedding_and_other_words_less() -> None:
    scorer = scorer_for("answer_similarity", EMBEDDED)
    same = scorer.score(SAMPLE, Response(text="In the cellar."))
    other = scorer.score(SAMPLE, Response(text="Nobody knows that."))
    assert same.value == pytest.approx(1.0, abs=1e-6)
    assert other.value is not None
    assert 0.0 <= other.value < 0.5


def test_by_embedding_an_answer_is_relevant_if_it_is_like_the_question_and_answers_it() -> None:
    scorer = scorer_for("answer_relevancy", EMBEDDED)
    near, far, none = (
        scorer.score(SAMPLE, Response(text=text))
        for text in ("The archive is here.", "Blue boats sail.", "I do not know where the archive is.")
    )
    assert near.value is not None
    assert far.value is not None
    assert near.value > 0.5 > far.value
    assert (none.value, none.details) == (0.0, {"answer_class": "dont_know"})


# What several metrics ask about an answer is found once.

RESPONSE = Response(text="At noon.")


def counted() -> tuple[LatestOf[int], list[Sample]]:
    """What is found is how many answers were looked at before."""
    looked_at: list[Sample] = []

    def find(sample: Sample, response: Response) -> int:
        looked_at.append(sample)
        return len(looked_at)

    return LatestOf(find), looked_at


def test_the_same_sample_and_response_are_looked_at_once_and_equal_others_by_themselves() -> None:
    latest, looked_at = counted()
    assert [latest.of(SAMPLE, RESPONSE) for _ in range(3)] == [1, 1, 1]
    assert latest.of(replace(SAMPLE), RESPONSE) == 2
    assert latest.of(SAMPLE, replace(RESPONSE)) == 3
    assert len(looked_at) == 3


def test_only_the_latest_answers_are_kept() -> None:
    latest, looked_at = counted()
    latest.of(SAMPLE, RESPONSE)
    for _ in range(1000):  # none is held on to here, so that an id could pass to the next one
        latest.of(replace(SAMPLE), replace(RESPONSE))
    assert len(looked_at) == 1001
    assert latest.of(SAMPLE, RESPONSE) == 1002
