"""The runs of a folder, as a table for people and as rows for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.evaluation.runs.run_folder import ListedRun
from rag_evaluation_framework.reports.tables import text_table


def run_rows(runs: Sequence[ListedRun]) -> list[dict[str, Any]]:
    """Return one object a run; what is unknown of a broken one is ``None``, and ``error`` says why."""
    return [_row(run) for run in runs]


def run_list_text(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Return the table, and below it what is broken and how to go on with what is unfinished."""
    if not rows:
        return f"No runs in {folder}."
    has_gaps = any(row["lacking_scores"] for row in rows)
    cells = [
        (
            row["run_id"],
            row["state"],
            row["dataset_id"] or "–",
            row["target"] or "–",
            "–" if row["done"] is None else f"{row['done']:,} of {row['total']:,}",
            "–" if row["failed"] is None else f"{row['failed']:,}",
            *([_gaps(row)] if has_gaps else []),
            row["started_at"] or "–",
        )
        for row in rows
    ]
    gaps = ("lacking scores",) if has_gaps else ()
    headers = ("run", "state", "dataset", "target", "done", "failed", *gaps, "started")
    table = text_table(headers, cells, align=f"<<<<>>{'>' * len(gaps)}<")
    notes = [f"broken: {row['run_id']}: {row['error']}" for row in rows if row["error"]]
    notes += [f"running: {row['run_id']}: {row['owner']}" for row in rows if row["owner"]]
    notes += _ways_on(rows)
    return "\n".join([table, *(["", *notes] if notes else [])])


def _gaps(row: dict[str, Any]) -> str:
    return "–" if row["lacking_scores"] is None else f"{row['lacking_scores']:,}"


def _ways_on(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return how to resume runs that are incomplete or lack scores; golden sets have their own command."""
    unfinished = {bool(row["golden"]) for row in rows if row["state"] == "incomplete"}
    lacking = {bool(row["golden"]) for row in rows if row["state"] == "complete" and row["lacking_scores"]}
    commands = {
        False: ("", "rag-eval evaluate … --resume RUN"),
        True: (" of golden sets", "rag-eval golden DIR … --resume RUN"),
    }
    ways = [
        f"An incomplete run{which} goes on with: {command}"
        for is_golden, (which, command) in commands.items()
        if is_golden in unfinished
    ]
    return ways + [
        f"Scores that a complete run{which} lacks because an endpoint failed are made with: {command}"
        for is_golden, (which, command) in commands.items()
        if is_golden in lacking
    ]


def _row(run: ListedRun) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run_id": run.run_id,
        "state": run.state,
        "dataset_id": None,
        "dataset_version": None,
        "target": None,
        "golden": None,
        "done": None,
        "failed": None,
        "lacking_scores": None,
        "total": None,
        "started_at": None,
        "owner": None,
        "path": str(run.path),
        "error": run.reason,
    }
    if run.folder is None:
        return row
    head, owner = run.folder.head, run.folder.owner
    row |= {
        "dataset_id": head.dataset_id,
        "dataset_version": head.dataset_version,
        "target": head.target,
        "golden": head.configuration.get("golden"),
        "started_at": head.started_at,
        "owner": None if owner is None else str(owner),
    }
    try:
        index = run.folder.index()
    except RagEvalError as error:
        return {**row, "error": str(error)}
    row |= {
        "done": index.done,
        "failed": index.failed,
        "lacking_scores": len(index.rescorable),
        "total": len(index.offsets),
    }
    if index.problems:
        row["error"] = "; ".join(map(str, index.problems))
    return row
