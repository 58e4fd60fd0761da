"""The runs of a folder, as a table for people and as rows for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.evaluation.runs.run_folder import ListedRun
from rag_evaluation_framework.reports.tables import text_table


def run_rows(runs: Sequence[ListedRun]) -> list[dict[str, Any]]:
    """Return one object a run; what a broken one cannot tell is ``None``, and ``error`` says why."""
    return [_row(run) for run in runs]


def run_list_text(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Return the table, and below it what is broken and how to go on with what is unfinished."""
    if not rows:
        return f"No runs in {folder}."
    cells = [
        (
            row["run_id"],
            row["state"],
            row["dataset_id"] or "–",
            row["target"] or "–",
            "–" if row["done"] is None else f"{row['done']:,} of {row['total']:,}",
            "–" if row["failed"] is None else f"{row['failed']:,}",
            row["started_at"] or "–",
        )
        for row in rows
    ]
    table = text_table(
        ("run", "state", "dataset", "target", "done", "failed", "started"), cells, align="<<<<>><"
    )
    notes = [f"broken: {row['run_id']}: {row['error']}" for row in rows if row["error"]]
    notes += [f"running: {row['run_id']}: {row['owner']}" for row in rows if row["owner"]]
    notes += _ways_on(rows)
    return "\n".join([table, *(["", *notes] if notes else [])])


def _ways_on(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return how the incomplete runs go on: golden sets by another command than the rest."""
    golden = {bool(row["golden"]) for row in rows if row["state"] == "incomplete"}
    ways = {
        False: "An incomplete run goes on with: rag-eval evaluate … --resume RUN",
        True: "An incomplete run of golden sets goes on with: rag-eval golden DIR … --resume RUN",
    }
    return [way for is_golden, way in ways.items() if is_golden in golden]


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
    row |= {"done": index.done, "failed": index.failed, "total": len(index.offsets)}
    if index.problems:
        row["error"] = "; ".join(map(str, index.problems))
    return row
