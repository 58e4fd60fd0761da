"""From metric names to scores: what is available, what is not, and what has no score."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Refusal, Response, Sample, Turn, UsageError
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.blame import Blaming
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import scorer_for, scorers_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import (
    BoundMetric,
    Metric,
    all_metrics,
    available_metrics,
    check_known,
    known_metric,
    metric_name,
    parse_metric,
)
from rag_evaluation_framework.metrics.texts import chrf, wording_similarity
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)


def sample(reference: str | None, expectation: Refusal | None = None) -> Sample:
    turns = (Turn(role="user", content="q"),)
    return Sample(id="s", turns=turns, reference=reference, expectation=expectation)


@pytest.mark.parametrize(
    ("name", "answer", "value"), TABLES["text_metrics_score_the_answer_against_the_expected_one"]
)
def test_text_metrics_score_the_answer_against_the_expected_one(name: str, answer: str, value: float) -> None:
    score = scorer_for(name).score(sample("Paris"), Response(text=answer))
    assert (score.metric, score.status, score.value) == (name, "scored", value)


def test_the_likeness_of_wordings_that_a_judge_s_correctness_weighs_is_chrf_of_the_folded_texts() -> None:
    assert wording_similarity("The Café", "the cafe") == chrf("the café", "the cafe")
    assert wording_similarity("ＰＡＲＩＳ", "paris") == 1.0
    assert wording_similarity("北京是首都", "北京是首都") == 1.0
    assert wording_similarity("", "paris") == 0.0


def test_a_parameter_in_the_name_is_kept_and_equal_names_are_scored_once() -> None:
    scorers = scorers_for(["rouge", "rouge(variant=rougeL)", "rouge(variant=rouge1)"])
    assert [scorer.name for scorer in scorers] == ["rouge", "rouge(variant=rouge1)"]


def bound_metrics(declared: Metric) -> st.SearchStrategy[BoundMetric]:
    """Every way in which a metric may be asked for."""

    def values(key: str, default: Any) -> st.SearchStrategy[Any]:
        allowed = declared.allowed.get(key)
        if key == "k":
            return st.none() | st.integers(1, 10**9)
        if key == "method":
            # The others take a judge or an embedder.
            return st.sampled_from(["auto", *({"lexical", "lexicon"} & set(declared.methods))])
        if isinstance(allowed, tuple):
            return st.sampled_from(allowed)
        if isinstance(default, bool):
            return st.booleans()
        numbers = st.integers(1, 1000) if isinstance(default, int) else st.floats(1e-9, 0.999)
        return numbers.filter(lambda value: allowed is None or value in allowed)

    given_to = {key: values(key, default) for key, default in declared.parameters.items()}
    return st.fixed_dictionaries(given_to).map(lambda chosen: BoundMetric(declared, chosen))


SCORABLE = [each for each in all_metrics() if "chunks" not in each.needs]


@pytest.mark.parametrize("declared", SCORABLE, ids=lambda each: each.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_name_that_is_printed_is_that_of_a_scorer_of_the_same_name(
    declared: Metric, data: st.DataObject
) -> None:
    name = str(data.draw(bound_metrics(declared)))
    assert scorer_for(name).name == name
    listed = declared.signature.replace("[@k]", "@3" if data.draw(st.booleans()) else "")
    assert scorer_for(listed).name == str(parse_metric(listed)) == metric_name(f" {listed}")


@pytest.mark.parametrize("text", ["latency@3", "latency(p=1)"])
def test_latency_has_no_parameters(text: str) -> None:
    with pytest.raises(UsageError, match=r"unknown parameter [kp]\. Usage: latency"):
        scorer_for(text)


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_an_empty_answer_is_wrong(text: str | None) -> None:
    score = scorer_for("token_f1").score(sample("Paris"), Response(text=text))
    assert (score.status, score.value, score.details) == ("scored", 0.0, {"reason": "the answer is empty"})


def test_a_sample_that_lacks_what_a_metric_compares_is_skipped_with_the_reason() -> None:
    scorer = scorer_for("string_match")
    assert scorer.score(sample(None), Response(text="a")).reason == "the sample expects no text"
    refusing = sample(None, Refusal())
    assert scorer.score(refusing, Response(text="a")).reason == "the sample expects a refusal"
    asked = replace(refusing, turns=(Turn(role="user", content="Where is Paris?"),))
    grounded = scorer_for("grounded_fraction").score(asked, Response(text="Paris", contexts=("b",)))
    assert (grounded.status, grounded.reason) == ("skipped", "the sample expects a refusal")
    recall = scorer_for("context_recall").score(sample("Paris"), Response(text="a", contexts=("Paris",)))
    assert (recall.status, recall.reason) == ("skipped", "the sample has no reference contexts")
    wordless = scorer_for("grounded_fraction").score(sample("a"), Response(text="It is so.", contexts=("b",)))
    assert wordless.reason == "the answer has no content words or numbers"


@pytest.mark.parametrize("answer", ["👍", "", "Paris"])
@pytest.mark.parametrize(("name", "reference"), TABLES["a_reference_without_units_of_rouge_is_skipped"])
def test_a_reference_without_units_of_rouge_is_skipped(name: str, reference: str, answer: str) -> None:
    score = scorer_for(name).score(sample(reference), Response(text=answer))
    assert score.status == "skipped"
    assert (score.reason or "").startswith("the reference has no units of rouge")


def test_a_reference_with_one_unit_of_rouge_is_scored() -> None:
    assert scorer_for("rouge").score(sample("Paris"), Response(text="Paris")).value == 1.0
    assert scorer_for("rouge").score(sample("Paris"), Response(text="👍")).value == 0.0
    pair = scorer_for("rouge(variant=rouge2)").score(sample("In Paris"), Response(text="in Paris"))
    assert pair.value == 1.0


def test_latency_is_that_of_the_response_in_milliseconds_and_a_timing() -> None:
    scorer = scorer_for("latency")
    score = scorer.score(sample("a"), Response(text="a", latency_ms=12.5))
    assert (score.value, score.method) == (12.5, TIMING_METHOD)
    assert scorer.score(sample("a"), Response(text="a")).status == "skipped"


def test_all_the_names_that_cannot_be_used_are_in_one_error() -> None:
    with pytest.raises(UsageError) as caught:
        scorers_for(["string_mtach", "bias(method=judge)", "token_f1", "precision_omega", "pass_rate"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert 'Did you mean "string_match' in lines[0]
    with pytest.raises(UnknownNameError):
        scorer_for("pass_rate")


def test_the_needs_of_the_metrics_are_those_of_the_published_table() -> None:
    def needs(name: str) -> set[str]:
        # An answer, a question and, where it is compared, a reference are always there.
        return set(scorer_for(name).needs) - {"answer", "question", "reference"}

    for name in ("answer_similarity", "answer_relevancy", "toxicity", "bias", "string_match"):
        assert needs(name) == set()
    for name in ("hallucination", "faithfulness", "context_precision"):
        assert needs(name) == {"contexts"}
    assert needs("context_recall") == {"contexts", "reference_contexts"}


def test_every_scorer_answers_to_the_name_of_its_metric_and_gives_one_score() -> None:
    text, turns = "The archive is in the cellar.", (Turn(role="user", content="Where is the archive?"),)
    asked = Sample(id="s", turns=turns, reference=text, reference_contexts=(text,))
    response = Response(text=text, contexts=(text,))
    assert {metric.name for metric in all_metrics()} - set(available_metrics()) == {"precision_omega"}
    for name in available_metrics():
        scorer, known = scorer_for(name), known_metric(name)
        assert known is not None
        assert scorer.higher_is_better == known.higher_is_better, name
        score = scorer.score(asked, response)
        assert (score.metric, bool(score.method)) == (name, True)
        assert score.status != "failed", score


ODD = (Path(__file__).parent / "odd_fragments.txt").read_text("utf-8").split()
all_scorers = cache(lambda: scorers_for(available_metrics()))
texts = st.lists(st.sampled_from([*ODD, "9" * 320, "\n", "\u200b"]), max_size=9).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(answer=texts, reference=texts, context=texts)
def test_whatever_the_texts_nothing_breaks(answer: str, reference: str, context: str) -> None:
    scored = scored_result(sample(reference), Response(text=answer, contexts=(context,)), all_scorers())
    assert not any("broke" in (each.reason or "") for each in scored.scores), scored
    assert b"broke" not in Blaming(Methods())((sample(reference), scored))


def test_a_name_that_is_not_known_offers_the_nearest_unless_it_is_among_others() -> None:
    check_known("string_match")
    with pytest.raises(UnknownNameError, match='Did you mean "string_match'):
        check_known("string_mtach", others=["string_mtach2"])
    check_known("string_mtach2", others=["string_mtach2"])
    with pytest.raises(UnknownNameError):
        check_known("string_match(")
