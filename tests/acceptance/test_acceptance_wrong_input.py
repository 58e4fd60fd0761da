"""Wrong input to every command: exit code 2, and a message that names the place (``wrong_input.yaml``)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from acceptance.outside import Commands, read_tables
from acceptance.projects import change, write_everything

CASES = read_tables("wrong_input")


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['command']}-{case.get('edit', [''])[-1]}"[:80]
)
def test_wrong_input_is_refused_by_its_place(case: dict[str, Any], rag_eval: Commands, folder: Path) -> None:
    write_everything(folder)
    if "edit" in case:
        file, old, new = case["edit"]
        if old is None:
            (folder / file).write_text(new, encoding="utf-8")
        else:
            change(folder / file, old, new)
    before = files(folder)
    ended = rag_eval(*shlex.split(case["command"]))
    if "names" in case:
        ended.refused(*case["names"])
    else:
        assert ended.code == 2, ended
        ended.shows(*case["finds"])
        issues = rag_eval(*shlex.split(case["command"]), "--json").json["files"]
        assert [issue["code"] for file in issues for issue in file["issues"] if issue["severity"] == "error"]
    assert files(folder) == before  # nothing is written


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
