"""The cards of the offline methods fit the methods, and the metrics that use them."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.answer_classes import answer_patterns
from rag_evaluation_framework.judging.lexical_support import NAME, VERSION
from rag_evaluation_framework.judging.methods import method_cards
from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metric

CARDS = {card.name: card for card in method_cards()}


def test_every_figure_lies_in_its_interval() -> None:
    assert all(each.low <= each.value <= each.high for card in CARDS.values() for each in card.agreement)


def test_every_metric_that_a_card_names_uses_the_method_of_the_card() -> None:
    declared = {metric.name: metric for metric in all_metrics()}
    for card in CARDS.values():
        for name in card.metrics:
            assert card.name in declared[name].method, (card.name, name)


def test_a_metric_is_limited_to_the_languages_of_its_card() -> None:
    declared = {metric.name: metric for metric in all_metrics()}
    for card in CARDS.values():
        assert card.languages
        for name in card.metrics:
            assert declared[name].languages() == card.languages, (card.name, name)


@pytest.mark.parametrize("metric", ["refusal_recall", "over_refusal", "dont_know", "toxicity"])
def test_the_default_method_of_a_metric_has_a_card_that_names_the_metric(metric: str) -> None:
    assert metric in CARDS[parse_metric(metric).metric.method].metrics


def test_every_screening_method_has_a_card() -> None:
    screening = {metric.method for metric in all_metrics() if metric.method.endswith("screening")}
    assert screening
    assert screening <= CARDS.keys()


def test_the_card_of_lexical_support_names_all_its_metrics() -> None:
    assert list(CARDS[NAME].metrics) == sorted(each.name for each in all_metrics() if each.method == NAME)


def test_the_cards_are_of_the_versions_in_use() -> None:
    assert CARDS[NAME].version == VERSION
    assert CARDS["lexical, answer patterns"].version == answer_patterns().version


def test_the_profanity_screen_does_not_claim_to_tell_hate() -> None:
    assert CARDS["lexicon, profanity screen"].agreement[0].high < 0.5
