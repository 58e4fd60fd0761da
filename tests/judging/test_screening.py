"""Whole answers: one probability from the claims, and agreement with people where there is labelled data."""

from __future__ import annotations

import json
import math

import pytest
from benchmarks import _ragtruth, _wice
from benchmarks._auroc import auroc

from labelled_data import present
from rag_evaluation_framework.judging.lexical_support import (
    SupportModel,
    probability,
    screen_answer,
    shipped_model,
)

RIDGE_TOP = {
    "station": "Ridge Top",
    "date": "2024-03-09",
    "snow_cm": 42,
    "wind": "north-west",
    "lifts_open": {"gondola": True, "chairlift": False},
    "forecast": "Light snow in the afternoon. Clearing overnight.",
}


def test_odds_are_pooled_between_their_sum_and_their_mean() -> None:
    # Two claims with odds 1 and 3: their sum is 4, their mean 2; with exponent 1/2 it is 4 / sqrt(2).
    odds = [math.log(1), math.log(3)]
    for exponent, pooled in ((0.0, 4.0), (0.5, 4.0 / math.sqrt(2)), (1.0, 2.0)):
        model = SupportModel(0.0, {}, 0.0, 0.5, exponent, 1.0, 0.0)
        assert math.exp(model.pooled_odds(odds)) == pytest.approx(pooled)
        assert model.answer_probability(odds) == pytest.approx(pooled / (1 + pooled))
    assert probability(0.0) == 0.5


def test_an_answer_that_claims_nothing_has_no_probability() -> None:
    for answer in ("", "Is it?", "Hello!"):
        assert screen_answer(answer, ["Rome is old."]).probability_unsupported is None


def test_an_unsupported_sentence_raises_the_probability_of_the_answer() -> None:
    context = "Rome lies on the Tiber. It has three million people."
    good = screen_answer("Rome lies on the Tiber. It has 3 million people.", [context])
    bad = screen_answer("Rome lies on the Tiber. Its submarines guard a secret volcano.", [context])
    assert good.unsupported == ()
    assert [verdict.claim.text for verdict in bad.unsupported] == ["Its submarines guard a secret volcano."]
    assert good.probability_unsupported is not None
    assert bad.probability_unsupported is not None
    assert good.probability_unsupported < 0.5 < bad.probability_unsupported


def test_descriptions_of_a_record_are_told_apart() -> None:
    record = [json.dumps(RIDGE_TOP)]
    true = (
        "On March 9, 2024, Ridge Top reported 42 cm of snow with wind from the north-west. The gondola is "
        "open while the chairlift is closed. Light snow is expected in the afternoon."
    )
    false = (
        "On March 9, 2024, Ridge Top reported 60 cm of snow with wind from the south. The gondola and the "
        "chairlift are open. Heavy storms close every road."
    )
    right = screen_answer(true, record).probability_unsupported
    wrong = screen_answer(false, record).probability_unsupported
    assert right is not None
    assert wrong is not None
    assert right < 0.5 < wrong


def test_weights_of_what_is_missing_are_not_negative() -> None:
    weights = shipped_model().weights
    free = {"length", "of_record"}
    assert all(weight >= 0.0 for name, weight in weights.items() if name not in free)


@pytest.mark.parametrize(("task", "least"), [("qa", 0.82), ("summary", 0.68), ("data2txt", 0.70)])
def test_screening_tells_hallucinated_answers_apart_on_sources_not_tuned_on(task: str, least: float) -> None:
    data = present("ragtruth").parent
    answers = [each for each in _ragtruth.answers(data, task) if each.source % 2 == 1]
    scores = [screen_answer(each.answer, each.contexts, question=each.question) for each in answers]
    found = auroc(
        [bool(each.spans) for each in answers], [each.probability_unsupported or 0.0 for each in scores]
    )
    assert found >= least


@pytest.fixture(scope="module")
def of_wikipedia() -> dict[str, float]:
    return {figure.name: figure.value for figure in _wice.rows(present("wice").parent)}


@pytest.mark.parametrize(
    "part",
    [
        "all claims: AUROC, not supported against the rest",
        "all claims: AUROC, not supported against supported",
        "the half of the articles that guided nothing: AUROC, not supported against supported",
    ],
)
def test_claims_not_supported_are_told_apart_on_a_source_that_orders_nothing(
    of_wikipedia: dict[str, float], part: str
) -> None:
    assert of_wikipedia[f"WiCE, {part}"] >= 0.80
