"""A split that lost more than a tenth of its records since an older manifest is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.split_build import count_issues, read_manifest

TABLES = tables_beside(__file__)


def manifest(**counts: int) -> dict[str, Any]:
    return {
        "version": "v1",
        "generated_at_utc": "2025-11-04T18:30:00Z",
        "source_offline_dataset": "offline_dataset.jsonl",
        "splits": {name: {"path": f"{name}.jsonl", "count": count} for name, count in counts.items()},
    }


@pytest.mark.parametrize(("before", "now", "wrong"), TABLES["a loss of more than a tenth is an error"])
def test_a_loss_of_more_than_a_tenth_is_an_error(before: int, now: int, wrong: bool) -> None:
    # 120 records may become 108, which is exactly nine tenths; 5 may not become 4, which is eight tenths.
    issues = count_issues(manifest(qa=now), manifest(qa=before))
    assert [(issue.code, issue.path) for issue in issues] == (
        [("count-drop", "splits.qa.count")] if wrong else []
    )


def test_a_split_that_is_gone_has_lost_all_and_a_new_one_nothing() -> None:
    issues = count_issues(manifest(qa=5, citations=3), manifest(qa=5, summaries=45))
    assert [str(issue) for issue in issues] == [
        "splits.summaries.count: expected at least 41 records (the older manifest has 45), got 0"
    ]


def test_a_manifest_is_checked_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(manifest(qa=1), indent=2), encoding="utf-8")
    assert read_manifest(path) == manifest(qa=1)
    path.write_text(json.dumps(manifest(qa=-1) | {"version": 5}, indent=2), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_manifest(path)
    assert sorted(str(issue).removeprefix(f"{path}:") for issue in caught.value.issues) == [
        '2: version: expected text, got 5; write "5"',
        "8: splits.qa.count: expected a number of at least 0, got -1",
    ]
