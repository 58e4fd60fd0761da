"""``Retry-After``: what a system may ask for, and what is made of nonsense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.adapters.http_client import retry_after
from rag_evaluation_framework.evaluation.attempts import LONGEST_RETRY_AFTER

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("60", 60.0),
        ("61", 60.0),
        ("9" * 200, 60.0),
        ("9" * 400, None),
        ("-1", None),
        ("1e9", None),
        ("nan", None),
        ("inf", None),
        ("٣", None),
        ("1.2.3", None),
        (".", None),
        ("", None),
        ("soon", None),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 13:00:30 +0100", 30.0),
        ("Thu, 01 Jan 2026 11:59:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 60.0),
        ("Thu, 99 Jan 2026 12:00:30 GMT", None),
    ],
)
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
