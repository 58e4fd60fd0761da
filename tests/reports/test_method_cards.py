"""The cards of the offline methods, as they are shown."""

from __future__ import annotations

import json

from click.testing import CliRunner

from rag_evaluation_framework.cli.listing import list_command
from rag_evaluation_framework.judging.methods import method_cards


def test_the_cards_are_listed_with_their_figures_and_as_json() -> None:
    named = [card.name for card in method_cards()]
    text = CliRunner().invoke(list_command, ["methods", *named]).output
    rows = json.loads(CliRunner().invoke(list_command, ["methods", "--json"]).output)
    assert [row["name"] for row in rows] == named
    for card in method_cards():
        assert card.name in text
        assert all(f"{each.value:.3f}" in text for each in card.agreement)
