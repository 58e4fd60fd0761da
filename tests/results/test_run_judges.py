"""The judge of a run: which it is, and what it has cost. Parts add up; what is not known stays unknown."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Judge, Usage, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.evaluation.run import RunSpending, judge_change, judge_fields
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.spending import CountedModel, Spending
from rag_evaluation_framework.records.runs import JudgeUsage, RunHead
from rag_evaluation_framework.results.run_store import NEW_RUN, RunFolder

PANEL = "judge:a+b"


def test_usages_add_up_and_what_no_endpoint_told_is_left_out() -> None:
    first = JudgeUsage(judge=PANEL, calls=3, input_tokens=30, cost_usd=0.1, failed_votes={"a": 1})
    second = JudgeUsage(judge=PANEL, calls=2, input_tokens=20, cost_usd=0.2, failed_votes={"a": 1, "b": 2})
    both = first + second
    assert both.to_dict() == {
        "judge": PANEL,
        "calls": 5,
        "input_tokens": 50,
        "cost_usd": 0.3,
        "failed_votes": {"a": 2, "b": 2},
    }
    assert both - first == second
    assert (first - first).to_dict() == {"judge": PANEL, "calls": 0, "input_tokens": 0, "cost_usd": 0.0}


def methods_of(name: str) -> Methods:
    """A judge whose calls the test counts itself."""
    return Methods(judge=Judge(as_chat_model(lambda _: "", name=name)), spending=Spending())


def spend(methods: Methods, calls: int) -> None:
    assert methods.spending is not None
    for _ in range(calls):
        methods.spending.add(Usage(output_tokens=5))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, RunHead(run_id=NEW_RUN, dataset_id="d"))


def test_a_folder_keeps_the_sum_of_all_parts_of_its_run(folder: RunFolder) -> None:
    for calls, expected in ((2, 2), (3, 5)):
        methods = methods_of("a")
        spend(methods, 7)  # another run's
        with RunSpending(folder, methods) as spending:
            spend(methods, calls)
        assert spending.usage == JudgeUsage(judge="judge:a", calls=expected, output_tokens=5 * expected)
        assert json.loads(folder.judge_usage_path.read_bytes()) == spending.usage.to_dict()
        assert "at_least" not in spending.usage.to_dict()


def test_what_a_run_cost_is_at_least_what_is_written_once_a_part_was_killed(folder: RunFolder) -> None:
    methods = methods_of("a")
    with RunSpending(folder, methods):
        spend(methods, 2)
    RunSpending(folder, methods).__enter__()  # and never comes back
    spend(methods, 4)
    for calls, expected in ((3, 5), (1, 6)):
        with RunSpending(folder, methods) as spending:
            spend(methods, calls)
        assert spending.usage is not None
        assert (spending.usage.calls, spending.usage.to_dict()["at_least"]) == (expected, True)


def test_a_part_that_ends_with_an_error_says_what_it_cost(folder: RunFolder) -> None:
    methods = methods_of("a")
    with suppress(UsageError), RunSpending(folder, methods):
        spend(methods, 2)
        raise UsageError("the data has changed")
    assert json.loads(folder.judge_usage_path.read_bytes()) == {
        "judge": "judge:a",
        "calls": 2,
        "output_tokens": 10,
    }


@pytest.mark.parametrize("written", ["", "[1]", '{"calls": "many", "judge": "x"}', "{}"])
def test_a_sum_that_cannot_be_read_is_begun_anew(folder: RunFolder, written: str) -> None:
    folder.judge_usage_path.write_text(written)
    methods = methods_of("a")
    with RunSpending(folder, methods) as spending:
        spend(methods, 2)
    assert spending.usage == JudgeUsage(judge="judge:a", calls=2, output_tokens=10)


def test_a_head_lists_settings_that_are_not_the_usual_ones_and_a_change_is_told_in_words() -> None:
    def judged(**settings: Any) -> Methods:
        model = OpenAIChatModel("m", base_url="http://localhost:1/v1", **settings)
        return Methods(judge=Judge(CountedModel(model, Spending())))

    fields = judge_fields(judged(seed=7))
    url = "http://localhost:1/v1/chat/completions"
    assert fields == {"judge": [{"url": url, "model": "m", "temperature": 0, "seed": 7}]}
    head = RunHead(run_id="r", dataset_id="d", configuration=fields)
    assert judge_change(head, judged(seed=7, timeout=5.0)) is None
    assert judge_change(head, judged(temperature=None)) == (
        f"m at {url} (temperature 0, seed 7)",
        f"m at {url}",
    )
