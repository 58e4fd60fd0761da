"""An evaluation as files of other programs: tables for spreadsheets and frames, LaTeX for papers, pages."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rag_evaluation_framework.datasets import csv_tables, parquet_tables
from rag_evaluation_framework.errors import UnknownNameError, UsageError, refused
from rag_evaluation_framework.extensions import Registry, extra_module
from rag_evaluation_framework.files.atomic import write_bytes_atomically, write_text_atomically
from rag_evaluation_framework.reports.blocks import figure, interval_text
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.results_document import SHARDS
from rag_evaluation_framework.results.shards import divided

ENDINGS = {
    "csv": ".csv",
    "parquet": ".parquet",
    "shards": SHARDS,
    "xlsx": ".xlsx",
    "latex": ".tex",
    "qrels": ".qrels",
    "junit": ".xml",
    "markdown": ".md",
    "html": ".html",
}
"""File suffix of each format that an evaluation can be exported to."""
TRACKERS: Registry[Callable[[Evaluation, str | None], str]] = Registry("tracker")
"""Where people keep their experiments; each records an evaluation at a place and says where it is."""
for _name in ("mlflow", "langsmith", "opentelemetry", "wandb"):
    TRACKERS.register(_name, f"rag_evaluation_framework.adapters.experiment_trackers:to_{_name}")
_SHARD_ROWS = 20_000
_RENDERED = {"junit": "junit", "markdown": "markdown", "html": "page"}


def export(evaluation: Evaluation, to: str, path: str | Path | None = None) -> str:
    """Write an evaluation as one of :data:`ENDINGS` or record it in one of :data:`TRACKERS`; say where.

    CSV, Parquet and the first sheet of a workbook have a row for each answer; LaTeX and the second sheet have
    the figures; qrels have the grades that a judge gave to what was retrieved; shards are results files in a
    folder that is made, for ``merge`` to join. ``path`` is the file or the folder, by default the run's id
    with the ending; of a tracker, its place.
    """
    if to in TRACKERS.names():
        return TRACKERS.get(to)(evaluation, None if path is None else str(path))
    if to not in ENDINGS:
        raise UnknownNameError("export", to, [*ENDINGS, *TRACKERS.names()])
    path = Path(path or f"{evaluation.head.run_id}{ENDINGS[to]}")
    if to in _RENDERED:
        write_text_atomically(path, evaluation.render(_RENDERED[to]))
    else:
        _WRITERS[to](evaluation, path)
    return f"saved as {path}"


def answer_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield each answer as the cells of a row; a score that is missing has none."""
    for named, part in _named_parts(evaluation):
        yield from ({**named, **_cells(row)} for row in part.rows)


def _named_parts(evaluation: Evaluation) -> Iterator[tuple[dict[str, str], Evaluation]]:
    """Yield each run, with the cell that names its dataset where there are several."""
    several = len(evaluation.named_runs) > 1
    for name, part in evaluation.named_runs.items():
        yield {"dataset": name} if several else {}, part


def _cells(row: Row) -> dict[str, Any]:
    sample = row.sample
    about = (
        {}
        if sample is None
        else {
            "line": None if sample.origin is None else sample.origin.line,
            "tags": ", ".join(sample.tags),
            "category": sample.category,
            "difficulty": sample.difficulty,
            "query_type": sample.query_type,
        }
    )
    found = {
        "id": row.id,
        "question": row.question,
        "expected": row.expected,
        "answer": row.response.text,
        **({} if row.verdict is None else row.verdict.to_cells()),
        "meets_thresholds": row.passes,
        "error": row.error,
        **about,
        "latency_ms": row.response.latency_ms,
        **{score.metric: score.value for score in row.scores},
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def figure_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield each metric as the cells of a row."""
    for named, part in _named_parts(evaluation):
        for each in part.metrics.values():
            yield {
                **named,
                "metric": each.metric,
                "value": each.value,
                "low": None if each.interval is None else each.interval.low,
                "high": None if each.interval is None else each.interval.high,
                "scored": each.n_scored,
                "skipped": each.n_skipped,
                "failed": each.n_failed,
                "by": each.method,
            }


def _csv(evaluation: Evaluation, path: Path) -> None:
    rows = list(answer_rows(evaluation))
    names = dict.fromkeys(name for row in rows for name in row)
    numbers = {name for row in rows for name, value in row.items() if isinstance(value, float | bool | int)}
    kinds: dict[str, Any] = {name: "json" if name in numbers else "text" for name in names}
    csv_tables.write_rows(path, rows, csv_tables.Columns(kinds))


def _shards(evaluation: Evaluation, path: Path) -> None:
    """Write a results file for every twenty thousand answers, so that no more are held at a time.

    The folder gets its name at the end: one that a kill left would be merged as if it were all of it.
    """
    if path.exists():
        raise UsageError(f"expected a folder that is not there yet, got {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
            unfinished = Path(folder, path.name)
            unfinished.mkdir()
            for number, shard in enumerate(divided(evaluation, _SHARD_ROWS)):
                shard.save(unfinished / f"part-{number:05}.results.parquet")
            unfinished.rename(path)
    except OSError as error:
        raise refused("make the folder", path, error) from error


def _xlsx(evaluation: Evaluation, path: Path) -> None:
    sheets = {"answers": list(answer_rows(evaluation)), "figures": list(figure_rows(evaluation))}
    write_workbook(path, sheets)


def write_workbook(
    path: Path, sheets: Mapping[str, Sequence[Mapping[str, Any]]], first: Sequence[str] = ()
) -> None:
    """Write rows as the sheets of an Excel workbook, by their titles; ``first`` are columns of each."""
    openpyxl = extra_module("openpyxl", feature="export to xlsx", extra="xlsx")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        names = list(dict.fromkeys([*first, *(name for row in rows for name in row)]))
        for column, name in enumerate(names, start=1):
            sheet.cell(1, column, name)
        for line, row in enumerate(rows, start=2):
            for column, name in enumerate(names, start=1):
                if name in row:
                    cell = sheet.cell(line, column)
                    # Whatever it begins with, a text is a text and never a formula.
                    is_text = isinstance(row[name], str)
                    cell.value = allowed_text(row[name]) if is_text else row[name]
                    if is_text:
                        cell.data_type = "s"
        sheet.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    write_bytes_atomically(path, content.getvalue())


_NOT_IN_CELLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
_LONGEST_CELL = 32_767


def allowed_text(text: str) -> str:
    """Return what a cell of a workbook can hold: no control characters, and no more than so many."""
    return _NOT_IN_CELLS.sub("\ufffd", text)[:_LONGEST_CELL]


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    """Return a text that LaTeX shows as it is, in one line."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return "".join(_LATEX.get(each, each) for each in line)


def latex_table(evaluation: Evaluation) -> str:
    """Return the figures as a table for LaTeX, by the package booktabs."""
    several = len(evaluation.named_runs) > 1
    heads = [*(["dataset"] if several else []), "metric", "value", "95\\% CI", "answers", "by"]
    lines = [
        f"% {latex_text(evaluation.head.run_id)}; needs \\usepackage{{booktabs}}",
        *([f"% answers: {evaluation.answers}"] if evaluation.answers.total else []),
        f"\\begin{{tabular}}{{{'l' if several else ''}lrrrl}}",
        "\\toprule",
        " & ".join(heads) + r" \\",
        "\\midrule",
    ]
    for named, part in _named_parts(evaluation):
        for each in part.metrics.values():
            cells = [figure(each.value, each.interval), interval_text(each.interval, each.value)]
            row = [*named.values(), each.metric, *cells, str(each.n_scored), each.method]
            lines.append(" & ".join(map(latex_text, row)) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


GRADE = "relevance_grade"
"""The metric whose grades are relevance judgements."""


def judged_qrels(evaluation: Evaluation) -> Iterator[tuple[str, str, int]]:
    """Yield query, document and grade of what a judge has graded; of a document's chunks the best counts."""
    for part in evaluation.named_runs.values():
        for row in part.rows:
            details = next((each.details for each in row.scores if each.metric.startswith(GRADE)), {})
            grades: dict[str, float] = {}
            for name, grade in zip(details.get("documents", ()), details.get("grades", ()), strict=False):
                grades[name] = max(grade, grades.get(name, 0))
            yield from ((row.id, name, round(grade)) for name, grade in grades.items())


def _qrels(evaluation: Evaluation, path: Path) -> None:
    lines = [f"{query} 0 {document} {grade}\n" for query, document, grade in judged_qrels(evaluation)]
    if not lines:
        raise UsageError(
            f"qrels: the run has no document grades. Score it with -m {GRADE} and a judge; the agent must "
            "name the documents that it retrieves"
        )
    if spaced := next((line for line in lines if len(line.split()) != 4), None):
        raise UsageError(f"qrels: expected ids without spaces, got {spaced.strip()}")
    write_text_atomically(path, "".join(lines))


_WRITERS: Mapping[str, Callable[[Evaluation, Path], None]] = {
    "csv": _csv,
    "parquet": lambda evaluation, path: parquet_tables.write_rows(path, lambda: answer_rows(evaluation)),
    "shards": _shards,
    "xlsx": _xlsx,
    "latex": lambda evaluation, path: write_text_atomically(path, latex_table(evaluation)),
    "qrels": _qrels,
}
