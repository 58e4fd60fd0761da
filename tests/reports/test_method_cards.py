"""The cards of the offline methods, as they are shown."""

from __future__ import annotations

import json

from click.testing import CliRunner

from rag_evaluation_framework.cli.listing import command
from rag_evaluation_framework.judging.cards import method_card, method_cards
from rag_evaluation_framework.metrics.declaration import all_metrics


def test_every_metric_that_a_card_names_uses_the_method_of_the_card() -> None:
    declared = {metric.name: metric for metric in all_metrics()}
    for card in method_cards():
        for name in card.metrics:
            assert card.name in declared[name].method, (card.name, name)


def test_every_screening_method_has_a_card() -> None:
    screening = {metric.method for metric in all_metrics() if metric.method.endswith("screening")}
    assert screening
    assert all(method_card(method) is not None for method in screening)


def test_the_cards_are_listed_with_their_figures_and_as_json() -> None:
    text = CliRunner().invoke(command, ["methods"]).output
    rows = json.loads(CliRunner().invoke(command, ["methods", "--json"]).output)
    assert [row["name"] for row in rows] == [card.name for card in method_cards()]
    for card in method_cards():
        assert card.name in text
        assert all(f"{each.value:.3f}" in text for each in card.agreement)
