"""What the judge of a run has cost: parts add up, and what is not known stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework.evaluation.runs.run_folder import NEW_RUN, RunFolder
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_judges import JudgeUsage, usage_of_run

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


def test_a_folder_keeps_the_sum_of_all_parts_of_its_run(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, RunHead(run_id=NEW_RUN, dataset_id="d"))
    part = JudgeUsage(judge=PANEL, calls=2, output_tokens=5)
    assert usage_of_run(folder, part) == part
    assert usage_of_run(folder, part) == JudgeUsage(judge=PANEL, calls=4, output_tokens=10)


@pytest.mark.parametrize("written", ["", "[1]", '{"calls": "many", "judge": "x"}', "{}"])
def test_a_sum_that_cannot_be_read_is_begun_anew(tmp_path: Path, written: str) -> None:
    folder = RunFolder.create(tmp_path, RunHead(run_id=NEW_RUN, dataset_id="d"))
    folder.judge_usage_path.write_text(written)
    part = JudgeUsage(judge=PANEL, calls=2)
    assert usage_of_run(folder, part) == part
