"""When a model's endpoint counts as down, and when only one question has failed."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.models.chat import IN_A_ROW, EndpointWatch


def is_outage(watch: EndpointWatch, kind: str) -> bool:
    return isinstance(watch.failed(ModelError(kind, "as told")), ModelOutageError)


@pytest.mark.parametrize("kind", ["connection-failed", "http-401", "http-403", "http-404"])
def test_an_endpoint_that_never_answered_and_turns_the_first_away_is_an_outage(kind: str) -> None:
    assert is_outage(EndpointWatch(), kind)


@pytest.mark.parametrize("kind", ["timeout", "http-429", "http-500", "http-503", "connection-failed"])
def test_one_that_has_answered_must_fail_ten_in_a_row(kind: str) -> None:
    watch = EndpointWatch()
    watch.answered()
    assert [is_outage(watch, kind) for _ in range(IN_A_ROW)] == [False] * (IN_A_ROW - 1) + [True]


def test_an_answer_in_between_begins_the_count_anew() -> None:
    watch = EndpointWatch()
    for _ in range(3):
        assert not any(is_outage(watch, "http-500") for _ in range(IN_A_ROW - 1))
        watch.answered()


def test_what_is_wrong_with_one_question_is_no_outage_however_often() -> None:
    watch = EndpointWatch()
    assert not any(is_outage(watch, "http-400") for _ in range(3 * IN_A_ROW))
