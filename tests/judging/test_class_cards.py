"""The cards of the answer patterns and of the profanity screen."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.cards import method_card
from rag_evaluation_framework.judging.classes.answer_patterns import answer_patterns
from rag_evaluation_framework.metrics.declaration import parse_metric


@pytest.mark.parametrize("metric", ["refusal_recall", "over_refusal", "dont_know", "toxicity"])
def test_the_default_method_of_a_metric_has_a_card_that_names_the_metric(metric: str) -> None:
    card = method_card(parse_metric(metric).metric.method)
    assert card is not None
    assert metric in card.metrics
    assert all(figure.low <= figure.value <= figure.high for figure in card.agreement)


def test_the_card_is_of_the_patterns_in_use() -> None:
    card = method_card("lexical, answer patterns")
    assert card is not None
    assert card.version == answer_patterns().version


def test_the_screen_does_not_claim_to_tell_hate() -> None:
    card = method_card("lexicon, profanity screen")
    assert card is not None
    assert card.agreement[0].high < 0.5
