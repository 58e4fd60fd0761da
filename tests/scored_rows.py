"""Rows that are scored as a run, and labeled by people."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from command_lines import ok, rag_eval_ended
from rag_evaluation_framework import Evaluation, load

ROWS = [
    ("q1", "How many days of leave are there?", "27 days", "You get close to a month off, 27 in all."),
    ("q2", "When does the ferry sail?", "The ferry sails at nine.", "It departs early, at 9 o'clock sharp."),
    ("q3", "What does a ticket cost?", "four crowns", "A ticket costs four crowns."),
    ("q4", "Where is the office?", "In Bergen", "I don't know."),
    ("q5", "Who founded it?", "Ada Berg founded the company.", "A woman named Berg."),
]


def write_rows(path: Path, rows: Sequence[tuple[str, ...]] = ROWS, **more: Any) -> Path:
    names = ("id", "question", "reference", "answer")
    lines = [{**dict(zip(names, row, strict=True)), "contexts": [row[2]], **more} for row in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def score(folder: Path, rows: Sequence[tuple[str, ...]] = ROWS, *more: str) -> str:
    """Score rows as a run, and return its id."""
    write_rows(folder / "answers.jsonl", rows)
    before = {path.parent.name for path in folder.glob("runs/*/head.json")}
    done = rag_eval_ended("score", "answers.jsonl", "-m", "answer_correctness", *more, folder=folder)
    assert done.returncode in (0, 1), done.stderr
    (name,) = {path.parent.name for path in folder.glob("runs/*/head.json")} - before
    return name


def press(folder: Path, keys: str, *arguments: str, who: str = "anna") -> str:
    """Label answers by these keys, and return what is printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("\n".join(keys) + "\n"))
        return ok(folder, "label", *arguments, "--annotator", who)


def label(folder: Path, run: str, labels: Mapping[str, str], who: str = "anna") -> str:
    """Label answers by their ids, from a table."""
    table = folder / "labels.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *labels.items()])
    return ok(folder, "label", run, "--from", "labels.csv", "--annotator", who)


def states(folder: Path, run: str) -> dict[str, str]:
    evaluation = load(folder / "runs" / run)
    assert isinstance(evaluation, Evaluation)
    return {row.id: row.verdict.state for row in evaluation.rows if row.verdict is not None}
