"""Progress: one live line on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import io
import re
import time

import pytest

from rag_evaluation_framework.cli.main import Steps
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.reports import progress
from rag_evaluation_framework.reports.progress import ProgressLine, live_text, progress_text


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_text_has_rate_errors_cost_and_time_left() -> None:
    progress = Progress(total=100, done=40, failed=2, in_flight=8, retries=3, cost_usd=0.5, elapsed=10.0)
    # 40 - 20 in 10 s is 2 a second; the 60 that are left take 30 s.
    assert progress_text("rag", progress, begun_with=20) == (
        "rag: 40 of 100, 2.0/s, 2 failed, 3 retried, $0.50, 30 s left"
    )
    # 4 a second; 14 cells x 0.4 are 5.6, 5 and 5 eighths; 100 such answers cost 1.25.
    assert live_text("rag", progress) == (
        "rag         █████▋           40 of 100   4.0/s   2 failed   3 retried   "
        "$0.50 of about $1.25   15 s left"
    )
    assert live_text("rag", progress, plain=True).startswith("rag         ######           40 of 100")


def test_what_is_not_known_is_not_made_up() -> None:
    assert progress_text("rag", Progress(total=100)) == "rag: 0 of 100, 0 failed"
    told = Progress(total=2, done=2, elapsed=4.0, input_tokens=1200)
    assert progress_text("rag", told) == "rag: done, 2 of 2 in 4.0 s, 0 failed, 1,200 tokens"


def test_plain_lines_come_after_half_a_minute_and_a_tenth_and_once_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, live=False, clock=clock)
    line("rag", Progress(total=1000))
    for second in range(1, 101):  # two a second: the tenth part takes longer than half a minute
        clock.now = float(second)
        line("rag", Progress(total=1000, done=2 * second, elapsed=clock.now))
    for second in range(101, 141):  # twenty a second: half a minute is longer
        clock.now = float(second)
        line("rag", Progress(total=1000, done=200 + 20 * (second - 100), elapsed=clock.now))
    line("rag", Progress(total=1000, done=1000, elapsed=140.5))
    line.finish()
    assert [text.split(",")[:2] for text in stream.getvalue().splitlines()] == [
        ["rag: 100 of 1", "000"],
        ["rag: 200 of 1", "000"],
        ["rag: 800 of 1", "000"],
        ["rag: done", " 1"],
    ]


def test_a_live_line_is_rewritten_kept_within_the_terminal_and_taken_away() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, live=True, clock=clock, columns=lambda: 38)
    line("数据", Progress(total=50))
    clock.now = 1.0
    line("数据", Progress(total=50, done=9, elapsed=1.0))
    line.finish()
    written = stream.getvalue().split("\r\x1b[2K")
    assert written[1:] == [
        "数据                         0 of 50…",
        "数据        ██▌              9 of 50…",
        "",
    ]
    assert "\n" not in stream.getvalue()


def test_secrets_are_hidden_and_what_the_judge_costs_is_added() -> None:
    stream = io.StringIO()
    line = ProgressLine(
        stream, live=False, mask=lambda text: text.replace("s3cret", "***"), spent=lambda: 0.14
    )
    line("s3cret", Progress(total=1, done=1, elapsed=9.0))
    assert stream.getvalue() == "***: done, 1 of 1 in 9.0 s, 0 failed, $0.14\n"


def test_what_is_done_at_once_needs_no_line() -> None:
    stream = io.StringIO()
    ProgressLine(stream, live=False)("rag", Progress(total=2, done=2, elapsed=1.0))
    assert stream.getvalue() == ""


def test_a_notice_stands_at_the_end_for_as_long_as_there_is_one() -> None:
    stream, notices = io.StringIO(), iter(["2 questions wait", ""])
    line = ProgressLine(
        stream, live=False, notice=lambda: next(notices), names={"multiturn": "conversations"}
    )
    line("multiturn", Progress(total=2, done=2, elapsed=9.0))
    line("other", Progress(total=1, done=1, elapsed=9.0))
    first, second = stream.getvalue().splitlines()
    assert first.startswith("conversations: done")  # as people call them
    assert first.endswith("0 failed; 2 questions wait")
    assert second.endswith("0 failed")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["elsewhere", "terminal"])
def test_what_a_command_is_doing_is_said_for_as_long_as_it_takes(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.01)
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr", stream)

    def wait_for(text: str) -> None:
        until = time.monotonic() + 2
        while text not in stream.getvalue() and time.monotonic() < until:
            time.sleep(0.01)

    with Steps("reading") as steps:
        wait_for("reading")
        steps.step("combination 2 of 3: embedding")
        steps.texts(1200)
        wait_for("embedded")
    said = stream.getvalue()
    if stream.isatty():
        assert said.startswith("\r\x1b[2Kreading\r")
        assert said.endswith("\r\x1b[2Kcombination 2 of 3: embedding; 1,200 texts embedded\r\x1b[2K")
        return
    lines = said.splitlines()
    assert re.fullmatch(r"reading; \d+ ms so far", lines[0])
    assert re.fullmatch(r"combination 2 of 3: embedding; 1,200 texts embedded; \d+ ms so far", lines[-1])


def test_a_command_that_is_done_at_once_or_prints_json_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Steps("reading"):
        pass
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.001)
    with Steps("reading", silent=True):
        time.sleep(0.05)
    assert stream.getvalue() == ""
