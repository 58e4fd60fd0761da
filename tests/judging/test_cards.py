"""The cards of the offline methods fit the methods, and the metrics that use them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from benchmarks import cards
from benchmarks._figures import Figure

from rag_evaluation_framework.judging.answer_classes import answer_patterns
from rag_evaluation_framework.judging.lexical_support import NAME, VERSION
from rag_evaluation_framework.judging.methods import method_cards
from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metric

CARDS = {card.name: card for card in method_cards()}


def test_every_card_says_on_what_in_which_languages_beside_what_and_when_it_was_measured() -> None:
    for card in CARDS.values():
        assert card.agreement, card.name
        assert card.languages, card.name
        assert card.plain.endswith("."), card.name
        assert any(each.plain is not None for each in card.agreement), card.name
        assert date.fromisoformat(card.date) <= date.today()
        assert all(each.data and each.figure and each.n > 0 for each in card.agreement)
        told = [(each.data, each.figure) for each in card.agreement]
        assert len(set(told)) == len(told)


def test_a_language_that_a_card_claims_stands_in_what_it_was_measured_on() -> None:
    for card in CARDS.values():
        measured = " ".join(each.data for each in card.agreement)
        assert ("zh" in card.languages) <= ("Chinese" in measured), card.name


def test_one_command_makes_every_card() -> None:
    assert {f"{name}.json" for name in cards.CARDS} == {path.name for path in cards.FOLDER.glob("*.json")}


def test_a_card_is_written_where_a_figure_changed_and_what_changed_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Figure("ours: share", 60, 0.5, 0.4, 0.6, plain=0.3)
    sources = {("ours",): lambda data: [own], ("theirs",): lambda data: []}
    monkeypatch.setattr(cards, "CARDS", {"a": sources})
    monkeypatch.setattr(cards, "FOLDER", tmp_path)
    theirs = {"figure": "F1", "data": "theirs, all", "n": 9, "value": 0.7, "low": 0.6, "high": 0.8}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"name": "a", "agreement": [theirs], "date": "2020-01-01"}), "utf-8")
    cards.renew("a")
    card = json.loads(path.read_text("utf-8"))
    ours = {"figure": "share", "data": "ours", "n": 60, "value": 0.5, "low": 0.4, "high": 0.6, "plain": 0.3}
    assert (card["name"], card["agreement"]) == ("a", [ours, theirs])
    assert card["date"] > "2026"
    assert capsys.readouterr().out.splitlines() == [
        "a: theirs: no data, 1 figures stay as they were",
        "a: 2 figures, 1 changed",
        "+ ours: share  0.500",
    ]
    path.write_text(json.dumps({**card, "date": "2020-01-01"}), "utf-8")
    cards.renew("a")
    assert json.loads(path.read_text("utf-8"))["date"] == "2020-01-01"


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
