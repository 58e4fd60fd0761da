"""The runs of a folder, as a table for people and as rows for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.reports.resuming import resuming_command
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.run_folder import ListedRun

_LEFT = {"lacking_scores": "lacking scores", "to_ask_again": "to ask again"}
_NO_COMMAND = "the program that began it"


def run_rows(runs: Sequence[ListedRun]) -> list[dict[str, Any]]:
    """Return one object a run; what is unknown of a broken one is ``None``, and ``error`` says why."""
    return [_row(run) for run in runs]


def run_list_text(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Return the table, and below it what is broken and how to go on with what is left to do."""
    if not rows:
        return f"No runs in {folder}."
    left = {name: header for name, header in _LEFT.items() if any(row[name] for row in rows)}
    cells = [
        (
            row["run_id"],
            row["state"],
            row["dataset_id"] or "–",
            row["target"] or "–",
            "–" if row["done"] is None else f"{row['done']:,} of {row['total']:,}",
            "–" if row["failed"] is None else f"{row['failed']:,}",
            *("–" if row[name] is None else f"{row[name]:,}" for name in left),
            row["started_at"] or "–",
        )
        for row in rows
    ]
    headers = ("run", "state", "dataset", "target", "done", "failed", *left.values(), "started")
    table = text_table(headers, cells, align=f"<<<<>>{'>' * len(left)}<")
    notes = [f"broken: {row['run_id']}: {row['error']}" for row in rows if row["error"]]
    notes += [f"running: {row['run_id']}: {row['owner']}" for row in rows if row["owner"]]
    notes += [
        f"{row['run_id']} goes on with: {row['resume'] or _NO_COMMAND}" for row in rows if _is_left(row)
    ]
    return "\n".join([table, *(["", *notes] if notes else [])])


def _is_left(row: dict[str, Any]) -> bool:
    """Tell whether a resume has something to do: samples to ask, or scores to make again."""
    return row["state"] == "incomplete" or (row["state"] == "complete" and any(row[name] for name in _LEFT))


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
        "to_ask_again": None,
        "total": None,
        "started_at": None,
        "owner": None,
        "resume": None,
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
        "resume": resuming_command(head, run.path),
    }
    try:
        index = run.folder.index()
    except RagEvalError as error:
        return {**row, "error": str(error)}
    row |= {
        "done": index.done,
        "failed": index.failed,
        "lacking_scores": len(index.rescorable),
        "to_ask_again": len(index.reaskable),
        "total": len(index.offsets),
    }
    if index.problems:
        row["error"] = "; ".join(map(str, index.problems))
    return row
