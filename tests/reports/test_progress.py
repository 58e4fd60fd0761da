"""Progress: one live line on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import io

import pytest

from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.reports.progress import ProgressLine, duration, progress_text


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_text_has_rate_errors_cost_and_time_left() -> None:
    progress = Progress(total=100, done=40, failed=2, in_flight=8, retries=3, cost_usd=0.5, elapsed=10.0)
    # 40 - 20 in 10 s is 2 a second; the 60 that are left take 30 s.
    assert progress_text("rag", progress, begun_with=20) == (
        "rag: 40/100, 2.0/s, 2 failed, 3 retries, 8 in flight, $0.5000, 30 s left"
    )


def test_what_is_not_known_is_not_made_up() -> None:
    assert progress_text("rag", Progress(total=100)) == "rag: 0/100, 0 failed, time left unknown"
    told = Progress(total=2, done=2, elapsed=4.0, input_tokens=1200)
    assert progress_text("rag", told) == "rag: 2/2, 0.5/s, 0 failed, 1,200 tokens, took 4 s"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (185, "3:05 min"), (7620, "2:07 h")]
)
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines_come_every_ten_seconds_and_once_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, live=False, clock=clock)
    line("rag", Progress(total=50))
    for second in range(1, 26):
        clock.now = float(second)
        line("rag", Progress(total=50, done=second, elapsed=clock.now))
    line("rag", Progress(total=50, done=50, elapsed=26.0))
    line("rag", Progress(total=50, done=50, elapsed=26.5))
    line.finish()
    assert [text.split(",")[0] for text in stream.getvalue().splitlines()] == [
        "rag: 10/50",
        "rag: 20/50",
        "rag: 50/50",
    ]


def test_a_live_line_is_rewritten_kept_within_the_terminal_and_taken_away() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, live=True, clock=clock, columns=lambda: 20)
    line("数据", Progress(total=50))
    clock.now = 1.0
    line("数据", Progress(total=50, done=9, elapsed=1.0))
    line.finish()
    written = stream.getvalue().split("\r\x1b[2K")
    assert written[1].startswith("数据: 0/50")
    assert written[-1] == ""
    assert all(len(text) <= 17 for text in written)
    assert "\n" not in stream.getvalue()


def test_secrets_are_hidden_in_progress() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, live=False, mask=lambda text: text.replace("s3cret", "***"))
    line("s3cret", Progress(total=1, done=1, elapsed=1.0))
    assert stream.getvalue().startswith("***: 1/1")


def test_a_notice_stands_at_the_end_for_as_long_as_there_is_one() -> None:
    stream, notices = io.StringIO(), iter(["2 questions wait", ""])
    line = ProgressLine(stream, live=False, notice=lambda: next(notices))
    line("rag", Progress(total=2, done=2, elapsed=1.0))
    line("other", Progress(total=1, done=1, elapsed=1.0))
    first, second = stream.getvalue().splitlines()
    assert first.endswith("took 1 s; 2 questions wait")
    assert second.endswith("took 1 s")
