"""Metrics of the steps of a trace, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.steps import Hop, ToolCall
from rag_evaluation_framework.metrics.views import NoValueError
from rag_evaluation_framework.records.steps import Found, Step

TABLES = tables_beside(__file__)


def hop(documents: int, relevant: int, new: int, known: int = 4) -> Hop:
    return Hop(None, documents, relevant, new, known)


@pytest.mark.parametrize(
    ("name", "hops", "value"),
    [
        ("hop_recall", [hop(5, 1, 1), hop(5, 3, 2)], 0.5),  # (1/4 + 3/4) / 2
        ("hop_precision", [hop(5, 1, 1), hop(4, 3, 2)], 0.475),  # (1/5 + 3/4) / 2
        ("hop_precision", [hop(5, 1, 1), hop(0, 0, 0)], 0.2),  # nothing returned has no share
        ("hop_precision", [hop(0, 0, 0)], None),
        ("hop_gain", [hop(5, 1, 1), hop(5, 1, 0), hop(5, 2, 1)], 2 / 3),  # the second finds the same again
        ("hop_recall", [], None),
        ("hop_gain", [], None),
        ("hop_usefulness", [True, False, True, False], 1 / 2),
        ("hop_usefulness", [], None),
        ("failed_steps", [], None),
    ],
)
def test_hops(name: str, hops: list[Any], value: float | None) -> None:
    assert parse_metric(name)(hops) == (None if value is None else pytest.approx(value))


def search(query: str | None, *names: str, number: int = 0, **more: Any) -> Step:
    found = tuple(Found(names=(name,)) for name in names)
    return Step(kind="retrieval", name="r", query=query, found=found, span=f"{query}{number}", **more)


def call(name: str, arguments: Any = None, *, number: int = 0, **more: Any) -> Step:
    return Step(kind="tool", name=name, arguments=arguments, span=f"{name}{number}", **more)


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ([search("a", "1", "2"), search("b", "2", "3")], 0),  # 3 is new
        ([search("a", "1", "2"), search("a", "1", "2", number=1)], 1 / 2),  # the same again
        ([search("a", "1", "2"), search("b", "2", "1")], 1 / 2),  # other words, nothing new
        ([search("a"), search("b", "1")], 0),  # what finds nothing adds nothing to repeat
        ([search("a", "1"), search("b")], 1 / 2),  # nothing at all is nothing new
        ([search("a", "1", error="timeout"), search("a", "1", number=1)], 0),  # tried again after it failed
        ([call("fare", {"to": "x"}), call("fare", {"to": "y"})], 0),
        ([call("fare", {"to": "x"}), call("fare", {"to": "x"}, number=1)], 1 / 2),
        ([call("now"), call("now", number=1)], 0),  # what it was asked is not known
        ([search("a", "1"), call("a"), Step(kind="model"), Step(kind="model")], 0),  # models do not count
        # models neither count nor repeat, and end nothing
        ([Step(kind="model", query="a", span=each) for each in "xy"] + [search("a", "1")], 0),
        ([Step(kind="model"), search("a", "1"), search("a", "1", number=1)], 1 / 2),
        ([search("a", "1"), search("b", "1", error="timeout")], 0),  # what failed is no repetition
        ([search("a", "1"), Step(kind="retrieval", query="b", span="b")], 0),  # what it found is not known
        ([Step(kind="model")], None),
    ],
)
def test_needless_steps(steps: list[Step], value: float | None) -> None:
    assert parse_metric("needless_steps")(steps) == value


CALLS = [call("fare", {"to": "Skerry", "days": 2}), call("fare", {"to": "Calf"}), call("clock", {})]


@pytest.mark.parametrize(
    ("expected", "called", "arguments"),
    [
        ([ToolCall("fare")], 1, None),
        ([ToolCall("fare"), ToolCall("weather")], 1 / 2, None),
        ([ToolCall("fare", {"to": "Skerry"})], 1, 1),  # what else it was given does not matter
        ([ToolCall("fare", {"to": "Skerry", "days": 3})], 1, 0),
        ([ToolCall("fare", {"days": 2.0})], 1, 1),  # a number by its value
        ([ToolCall("fare", {"to": "Calf"}), ToolCall("fare", {"to": "Skerry"})], 1, 1),  # in any order
        ([ToolCall("fare", {"to": "Calf"})] * 2, 1, 1 / 2),  # one call is one
        ([ToolCall("fare")] * 3, 2 / 3, None),
        ([ToolCall("clock", {}), ToolCall("weather", {"at": "x"})], 1 / 2, 1 / 2),
        # any arguments will do for the first, so that the first call is its own and none is left
        ([ToolCall("fare"), ToolCall("fare", {"to": "Skerry"})], 1, 0),
        ([ToolCall("fare"), ToolCall("fare", {"to": "Calf"})], 1, 1),
    ],
)
def test_tools(expected: list[ToolCall], called: float, arguments: float | None) -> None:
    assert parse_metric("tool_called")(CALLS, expected) == pytest.approx(called)
    assert parse_metric("tool_arguments")(CALLS, expected) == arguments


TIMED = [
    Step(kind="retrieval", took_ms=30),
    Step(kind="model", took_ms=100, input_tokens=50, output_tokens=7),
    Step(kind="model", took_ms=50, input_tokens=20, error="cut off"),
    Step(kind="tool"),
    Step(kind="embedding", took_ms=1, input_tokens=9),
    Step(kind="embedding", took_ms=1, output_tokens=3),
    Step(kind="retrieval", took_ms=10, input_tokens=4),
]


@pytest.mark.parametrize(
    ("name", "value"), [*TABLES["time_tokens_and_errors_by_step"], ("failed_steps", 1 / 7)]
)
def test_time_tokens_and_errors_by_step(name: str, value: float | None) -> None:
    assert parse_metric(name)(TIMED) == value


def test_a_trace_without_a_step_of_the_kind_has_no_time_and_no_tokens() -> None:
    for name in ("step_time(kind=rerank)", "step_tokens(kind=rerank)"):
        with pytest.raises(NoValueError, match="the trace has no step of the kind rerank"):
            parse_metric(name)(TIMED)
