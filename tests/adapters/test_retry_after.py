"""``Retry-After``: what a system may ask for, and what is made of nonsense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.adapters.http_client import retry_after
from rag_evaluation_framework.evaluation.attempts import LONGEST_RETRY_AFTER

TABLES = tables_beside(__file__)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("header", "seconds"), [*TABLES["headers"], ("9" * 400, None)])
def test_seconds_and_dates_are_read_and_the_rest_is_no_value(header: str, seconds: float | None) -> None:
    assert retry_after(header, NOON) == seconds


@given(st.text(max_size=40))
def test_any_header_is_a_wait_within_bounds_or_none(header: str) -> None:
    wait = retry_after(header, NOON)
    assert wait is None or 0 <= wait <= LONGEST_RETRY_AFTER


@given(st.integers(-100_000, 100_000))
def test_a_date_is_as_far_away_as_it_says(seconds: int) -> None:
    header = format_datetime(NOON + timedelta(seconds=seconds), usegmt=True)
    assert retry_after(header, NOON) == min(max(seconds, 0), LONGEST_RETRY_AFTER)
