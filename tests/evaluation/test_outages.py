"""When a run stops because its target is gone."""

from __future__ import annotations

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import OutageWatch

REFUSED = TargetError("connection-failed", "connection refused", retry=True)
BUSY = TargetError("http-503", "busy", retry=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def missed(watch: OutageWatch, clock: Clock, *moments: float) -> list[bool]:
    """Let one attempt fail to connect at each moment; tell after each whether the run stops."""
    stops = []
    for clock.now in moments:
        stops.append(watch.attempt_failed(REFUSED) is not None)
    return stops


def test_at_the_start_five_misses_over_two_seconds_stop_the_run() -> None:
    clock = Clock()
    watch = OutageWatch(5, clock=clock)
    assert missed(watch, clock, 0, 0, 0, 0, 0.5, 1.9, 2.0) == [False] * 6 + [True]


def test_few_misses_do_not_stop_it_however_long_they_take() -> None:
    clock = Clock()
    watch = OutageWatch(5, clock=clock)
    assert missed(watch, clock, 0, 10, 20, 30, 40) == [False] * 4 + [True]


def test_after_something_was_heard_an_outage_of_half_a_minute_is_waited_out() -> None:
    for heard in (OutageWatch.answered, lambda watch: watch.attempt_failed(BUSY)):
        clock = Clock()
        watch = OutageWatch(5, clock=clock)
        heard(watch)
        assert missed(watch, clock, *range(100, 131)) == [False] * 30 + [True]


def test_any_reply_ends_the_row_of_misses() -> None:
    clock = Clock()
    watch = OutageWatch(5, clock=clock)
    missed(watch, clock, 0, 20, 40, 60)
    assert watch.attempt_failed(BUSY) is None
    assert missed(watch, clock, 61, 62, 63, 64, 65) == [False] * 5


def test_ten_samples_turned_away_at_the_start_stop_the_run_with_the_status() -> None:
    watch = OutageWatch(5, clock=Clock())
    denied = TargetError("http-401", "no key")
    assert [watch.sample_failed(denied) for _ in range(9)] == [None] * 9
    assert watch.sample_failed(denied) == "the target turned away the first 10 samples (http-401: no key)"
    assert watch.sample_failed(denied) is None


def test_failures_that_speak_of_the_sample_never_stop_the_run() -> None:
    for kinds in (["http-422"] * 30, ["http-500"] * 30, ["http-401", "http-422"] * 15):
        watch = OutageWatch(5, clock=Clock())
        assert not any(watch.sample_failed(TargetError(kind, "")) for kind in kinds)


def test_one_answer_shows_that_the_target_lets_us_in() -> None:
    watch = OutageWatch(5, clock=Clock())
    watch.answered()
    assert not any(watch.sample_failed(TargetError("http-401", "")) for _ in range(30))


def test_samples_are_in_doubt_as_long_as_all_were_turned_away_alike() -> None:
    denied, wrong = TargetError("http-401", ""), TargetError("http-422", "")
    watch = OutageWatch(5, clock=Clock())
    assert not watch.in_doubt
    watch.sample_failed(denied)
    assert watch.in_doubt
    watch.sample_failed(wrong)
    assert not watch.in_doubt
    let_in = OutageWatch(5, clock=Clock())
    let_in.sample_failed(denied)
    let_in.answered()
    assert not let_in.in_doubt
