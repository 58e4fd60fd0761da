"""Every fault of a real server ends as the failure the published table names, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from fault_agent import FAULTS, RunningServer, answer_to
from hypothesis import given
from hypothesis import strategies as st

from asked_targets import answer_of
from cases import tables_beside
from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import HttpAgent
from rag_evaluation_framework.adapters.http_client import retry_after
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import LONGEST_RETRY_AFTER

TABLES = tables_beside(__file__)
# kind, tried again, throttled, seconds asked for
TABLE: dict[str, list[Any]] = {
    **TABLES["faults"],
    "429-date": ["http-429", True, True, pytest.approx(1.5, abs=0.6)],
}


def failure_of(agent: HttpAgent, *, timeout: float = 10.0) -> TargetError:
    with pytest.raises(TargetError) as caught:
        answer_of(agent, timeout=timeout)
    return caught.value


def test_the_table_has_every_fault_of_the_server() -> None:
    assert TABLE.keys() == FAULTS.keys()


@pytest.mark.parametrize("fault", TABLE)
def test_a_fault_is_the_failure_of_the_table(fault: str, server: RunningServer) -> None:
    hangs = fault in ("hang", "slow-drip")
    error = failure_of(HttpAgent(server.fault(fault)), timeout=0.5 if hangs else 10.0)
    assert [error.kind, error.retry, error.throttled, error.retry_after] == TABLE[fault]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 418])
def test_a_refusal_is_final(status: int, server: RunningServer) -> None:
    error = failure_of(HttpAgent(server.fault(str(status))))
    assert (error.kind, error.retry, error.retry_after) == (f"http-{status}", False, None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://nowhere.invalid"])  # no listener, no such host
def test_a_connection_that_cannot_be_made_may_be_tried_again(url: str) -> None:
    error = failure_of(HttpAgent(url))
    assert (error.kind, error.retry) == ("connection-failed", True)


@pytest.mark.parametrize("form", ["declared-charset", "gzip"])
def test_an_unusual_but_readable_reply_is_an_answer(form: str, server: RunningServer) -> None:
    assert answer_of(HttpAgent(server.fault(form)), "q7").text == answer_to("q7")


def test_a_redirect_carries_no_header_to_another_origin(server: RunningServer) -> None:
    agent = HttpAgent(server.fault("redirect"), secret_headers={"X-Api-Key": "open-sesame"})
    error = failure_of(agent)
    assert "another origin" in error.message
    assert "key=x" not in error.message
    assert server.log()["stolen"] == []


def test_the_same_failure_has_the_same_words_every_time(server: RunningServer) -> None:
    messages = {
        failure_of(HttpAgent(server.fault("hang")), timeout=timeout).message for timeout in (0.1, 0.2)
    }
    assert messages == {"timed out before the reply was complete"}


MEMORY_PROGRAM = """
import asyncio, sys
from rag_evaluation_framework.adapters.http_agent import HttpAgent
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.records.responses import Request
from rag_evaluation_framework.records.samples import Sample, Turn

async def main(urls):
    agents = [HttpAgent(url) for url in urls]
    sample = Sample(id="s", turns=(Turn(role="user", content="q"),))
    request = Request(sample=sample, key="k", thread_id="t", timeout=60.0)
    asked = [agent.answer(request) for agent in agents for _ in range(50)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {error.kind for error in outcomes} == {"body-too-large"}, outcomes
    for agent in agents:
        await agent.close()

asyncio.run(main(sys.argv[1:]))
print(peak_kib() // 1024)
"""


def test_a_hundred_large_bodies_and_bombs_at_once_stay_within_200_megabytes(server: RunningServer) -> None:
    urls = [server.fault("large-chunked"), server.fault("gzip-bomb")]
    done = subprocess.run(
        [sys.executable, "-c", PEAK_SOURCE + MEMORY_PROGRAM, *urls],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Unbounded, 50 bodies of 200 MB and 50 bombs of 1 GB would be 60 GB.
    assert int(done.stdout) < 200


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("header", "seconds"), [*TABLES["retry_after"], ("9" * 400, None)])
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
