"""A method that was not measured on a language says so, and gives no figure."""

from __future__ import annotations

from typing import Any

import pytest

from blaming import blame
from cases import tables_beside
from rag_evaluation_framework import CitationEvaluator, Refusal, Response, Sample, Turn, evaluate
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.verdict import AnswerVerdict

TABLES = tables_beside(__file__)

# The answer is false, and the words that it has beside the false one all stand in the context.
FALSE_CLAIMS = TABLES["false_claims"]
REFUSALS = TABLES["refusals"]
BY_WORDS = (
    *(
        "faithfulness",
        "hallucination",
        "answer_correctness",
        "claim_f1",
        "context_recall",
        "answer_similarity",
    ),
    *("grounded_fraction", "over_refusal", "toxicity"),
)


def sample_of(question: str, **fields: Any) -> Sample:
    return Sample(id="q", turns=(Turn(role="user", content=question),), **fields)


@pytest.mark.parametrize("metric", BY_WORDS)
@pytest.mark.parametrize("language", FALSE_CLAIMS)
def test_a_claim_in_another_language_is_skipped_and_the_reason_names_it(language: str, metric: str) -> None:
    question, answer, context = FALSE_CLAIMS[language]
    sample = sample_of(question, reference=context, reference_contexts=(context,))
    score = scorer_for(metric).score(sample, Response(text=answer, contexts=(context,)))
    assert (score.status, score.reason) == ("skipped", f"not measured on {language}")


@pytest.mark.parametrize("metric", ["refusal_recall", "toxicity"])
@pytest.mark.parametrize("language", REFUSALS)
def test_a_refusal_in_another_language_does_not_count_as_an_answer(language: str, metric: str) -> None:
    sample = sample_of("?", expectation=Refusal(reason="unsafe"))
    score = scorer_for(metric).score(sample, Response(text=REFUSALS[language]))
    assert (score.status, score.reason) == ("skipped", f"not measured on {language}")


def test_a_refusal_that_the_sample_spells_out_is_one_in_any_language() -> None:
    expected = Refusal(reason="unsafe", pattern="dabei kann ich Ihnen nicht helfen")
    score = scorer_for("refusal_recall").score(
        sample_of("?", expectation=expected), Response(text=REFUSALS["German"])
    )
    assert score.value == 1.0


@pytest.mark.parametrize("answer", ["90 Tage", "90", "Anna Berg"])
def test_where_the_answer_is_too_short_to_tell_the_question_decides(answer: str) -> None:
    question, _, context = FALSE_CLAIMS["German"]
    score = scorer_for("faithfulness").score(sample_of(question), Response(text=answer, contexts=(context,)))
    assert score.reason == "not measured on German"
    english = sample_of("How long may the lamp be returned?")
    assert scorer_for("over_refusal").score(english, Response(text=answer)).status == "scored"


@pytest.mark.parametrize("field", ["contexts", "reference"])
def test_evidence_in_another_language_is_not_compared_with_an_english_answer(field: str) -> None:
    german = FALSE_CLAIMS["German"][2]
    reference = german if field == "reference" else None
    contexts = (german,) if field == "contexts" else ()
    metric = "faithfulness" if field == "contexts" else "claim_recall"
    score = scorer_for(metric).score(
        sample_of("How long may the lamp be returned?", reference=reference),
        Response(text="The lamp may be returned within 30 days.", contexts=contexts),
    )
    assert score.reason == "not measured on German"


@pytest.mark.parametrize("metric", ["string_match", "exact_match", "token_f1", "chrf", "rouge"])
def test_what_compares_letters_is_scored_in_any_language(metric: str) -> None:
    question, answer, _ = FALSE_CLAIMS["German"]
    score = scorer_for(metric).score(sample_of(question, reference=answer), Response(text=answer))
    assert score.value == pytest.approx(1.0)


def test_blame_by_words_is_unknown() -> None:
    question, answer, context = FALSE_CLAIMS["German"]
    sample = sample_of(question, reference=context)
    found = blame(sample, Response(text=answer, contexts=(context,)), AnswerVerdict("wrong"))
    assert found is not None
    assert (found.kind, found.why) == ("unknown", "word overlap is not validated for German")


def test_the_counts_show_what_was_left_out() -> None:
    english = ("How long may the lamp be returned?", "30 days.", "A lamp may be returned within 30 days.")
    rows = [
        {"user_input": question, "response": answer, "retrieved_contexts": [context]}
        for question, answer, context in (*FALSE_CLAIMS.values(), english)
    ]
    figure = evaluate(rows, metrics=["faithfulness"]).metrics["faithfulness"]
    assert (figure.n_scored, figure.n_skipped, figure.n_failed) == (1, 4, 0)


@pytest.mark.parametrize("language", FALSE_CLAIMS)
def test_the_evaluator_of_citations_decides_nothing_by_words_either(language: str) -> None:
    question, answer, context = FALSE_CLAIMS[language]
    found = CitationEvaluator({}).evaluate_answer_citations(f"{answer} [1]", [], [context], question)
    reason = f"not measured on {language}"
    quality, consistency = found["citation_quality"], found["answer_consistency"]
    assert quality["reason"] == consistency["reason"] == found["hallucination_detection"]["reason"] == reason
    assert found["overall_scores"]["overall_citation_accuracy"] is None
    assert reason in found["overall_scores"]["reason"]
    assert quality["citation_recall"]["value"] is None
    assert consistency["factual_consistency"]["value"] is None
    assert found["hallucination_detection"]["hallucination_rate"]["value"] is None
    # Whether a citation can be opened is told without words.
    assert quality["citation_validity"]["value"] == 1.0
