"""Datasets, runs, metrics and methods as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from shlex import join, quote
from textwrap import fill
from typing import Any, TypeAlias

import msgspec

from rag_evaluation_framework.datasets.catalogue import CatalogueEntry
from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.evaluation.suites import JUDGE
from rag_evaluation_framework.judging.methods import MethodCard
from rag_evaluation_framework.metrics.declaration import Metric
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.run_folder import CELLS, DEFAULT_RUNS_DIRECTORY
from rag_evaluation_framework.results.run_groups import ListedRun
from rag_evaluation_framework.text.languages import language_name

# The datasets of a folder, as a table for people and as rows for machines.


def dataset_rows(entries: Sequence[CatalogueEntry]) -> list[dict[str, Any]]:
    """Return one object a dataset."""
    return [{**entry.to_dict(), "dialect": entry.dialect or None} for entry in entries]


def dataset_list_text(folder: Path, entries: Sequence[CatalogueEntry]) -> str:
    """Return the table, and below it what is broken."""
    if not entries:
        return f"No datasets in {folder}."
    rows = [
        (
            entry.dataset_id or "–",
            entry.version or "–",
            "–" if entry.size is None else f"{entry.size:,}",
            entry.dialect or "–",
            "broken" if entry.error else "",
            entry.path.name,
        )
        for entry in entries
    ]
    table = text_table(("id", "version", "samples", "dialect", "", "file"), rows, align="<<><<<")
    broken = [f"broken: {_named(entry)}" for entry in entries if entry.error]
    return "\n".join([table, *(["", *broken] if broken else [])])


def _named(entry: CatalogueEntry) -> str:
    """Say what is wrong, with the file in front if the reason does not begin with it."""
    file, error = str(entry.path), entry.error or ""
    return error if error.startswith(file) else f"{file}: {error}"


# The command that goes on with a run: the one that began it, with what its head tells of the
# arguments.
#
# What the head does not tell, as where the documents are, stands in capitals as in the command's help.

_Words: TypeAlias = Callable[[RunHead], Iterator[str]]


def resuming_command(head: RunHead, path: Path) -> str | None:
    """Return the command that goes on with the run in this folder; ``None`` if no command began it."""
    words = next((words for kind, words in _COMMANDS.items() if kind in head.configuration), None)
    if words is None:
        return None
    run = head.run_id if path.parent == DEFAULT_RUNS_DIRECTORY else str(path)
    return " ".join([*words(head), *_judges(head), "--resume", quote(run)])


def _golden(head: RunHead) -> Iterator[str]:
    yield f"rag-eval golden {quote(str(head.configuration['golden']))} {_target(head)}"
    if head.configuration.get("history") == "reference":
        yield "--history reference"


def _evaluate(head: RunHead) -> Iterator[str]:
    yield f"rag-eval evaluate {quote(str(head.configuration.get('manifest', 'MANIFEST')))} {_target(head)}"


def _generate(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    usual = f"CORPUS -o FILE --model {quote(str(head.target))}"
    yield "rag-eval generate " + (join(map(str, given)) if isinstance(given, list) else usual)


def _retrieval(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    yield "rag-eval retrieval " + (join(map(str, given)) if isinstance(given, list) else "CORPUS")


def _evaluate_models(head: RunHead) -> Iterator[str]:
    yield "python scripts/evaluate_models.py"
    yield f"--base-url {quote(str(head.configuration.get('base_url', 'URL')))}"


# By the field that only heads of this kind have; those of golden sets and of models have what those of
# manifests have too.
_COMMANDS: Mapping[str, _Words] = {
    "golden": _golden,
    "models": _evaluate_models,
    "selection": _evaluate,
    "generation": _generate,
    CELLS: _retrieval,
}


def _target(head: RunHead) -> str:
    """Name the option; the target's own name is not always what was given."""
    return "--url URL" if str(head.target).startswith(("http://", "https://")) else "--target TARGET"


def _judges(head: RunHead) -> Iterator[str]:
    for judge in head.configuration.get(JUDGE) or ():
        yield f"--judge-model {quote(str(judge['model'] if isinstance(judge, Mapping) else judge))}"


# The runs of a folder, as a table for people and as rows for machines.

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
        "run_id": run.path.name,
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


# The declared metrics as rows, as text for a terminal, and as the page `docs/metrics.md`.


def metric_rows(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Return everything a metric declares, as plain values."""
    return [
        {
            "name": metric.name,
            "written": metric.signature,
            "family": metric.family,
            "higher_is_better": metric.higher_is_better,
            "needs": list(metric.needs),
            "method": metric.method,
            "methods": list(metric.methods),
            "languages": list(metric.languages()),
            "version": metric.version,
            "aliases": list(metric.aliases),
            "measures": metric.summary,
            "formula": metric.formula,
            "empty": metric.empty,
            "source": metric.source,
        }
        for metric in metrics
    ]


def metric_list_text(metrics: Sequence[Metric]) -> str:
    """Render the metrics family by family: name, direction, needs, version, then meaning and formula."""
    parts = []
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        parts.append(f"{family}\n{'─' * len(family)}")
        parts.extend(_described(metric) for metric in members)
    return "\n\n".join(parts)


def _described(metric: Metric) -> str:
    direction = "higher is better" if metric.higher_is_better else "lower is better"
    ways = f"; by {', '.join(metric.methods)}" if metric.methods else ""
    needs = ", ".join(metric.needs)
    lines = [f"{metric.signature}   ({direction}; needs {needs}{ways}; version {metric.version})"]
    lines += [_indented(metric.summary), _indented(f"= {metric.formula}")]
    if metric.languages():
        lines.append(_indented(f"without a judge measured on {_languages(metric)}; others are skipped"))
    if metric.aliases:
        lines.append(_indented(f"also written: {', '.join(metric.aliases)}"))
    return "\n".join(lines)


def _languages(measured: Metric | MethodCard) -> str:
    codes = measured.languages() if isinstance(measured, Metric) else measured.languages
    return " and ".join(map(language_name, codes))


def _indented(text: str) -> str:
    return fill(text, 100, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)


def metric_list_markdown(metrics: Sequence[Metric]) -> str:
    """Render the metrics as a page, family by family."""
    parts = [_PAGE_HEAD]
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        parts.append(f"## {family.capitalize()}")
        parts.extend(_section(metric) for metric in members)
    return "\n\n".join(parts)


_PAGE_HEAD = """# Metrics

Printed from the declarations by `make docs`. A name with its parameters reads back into the metric:
`ndcg@10` is nDCG over the first ten, `rbp(p=0.5)` changes a parameter. *Needs* are the fields of a sample or
of a response without which there is nothing to score; *empty* says what an empty case gives. In a
conversation, metrics of answers, texts, refusals and safety are means over its turns
([scoring](scoring.md))."""


def _section(metric: Metric) -> str:
    direction = "higher" if metric.higher_is_better else "lower"
    needs = ", ".join(f"`{need}`" for need in metric.needs)
    ways = f" (may be asked for: {', '.join(metric.methods)})" if len(metric.methods) > 1 else ""
    lines = [
        f"### `{metric.signature}`",
        "",
        metric.summary,
        "",
        f"- formula: {metric.formula}",
        f"- better: {direction}; needs {needs}; method: {metric.method}{ways}; version {metric.version}",
        f"- empty: {metric.empty}",
        *(
            [f"- languages: {_languages(metric)}; without a judge, others are skipped"]
            if metric.languages()
            else []
        ),
        f"- source: {metric.source}",
    ]
    if metric.aliases:
        lines.append("- also written: " + ", ".join(f"`{alias}`" for alias in metric.aliases))
    return "\n".join(lines)


# The cards of the offline methods, as rows and as text for a terminal.


def method_card_rows(cards: Sequence[MethodCard]) -> list[dict[str, Any]]:
    """Return everything that the cards say, as plain values."""
    return [msgspec.to_builtins(card) for card in cards]


def method_cards_text(cards: Sequence[MethodCard]) -> str:
    """Render each card: what the method is, sees and does not see, and its agreement with people."""
    return "\n\n".join("\n".join(_lines(card)) for card in cards)


def _lines(card: MethodCard) -> Iterator[str]:
    yield f"{card.name}   (version {card.version}; {', '.join(card.metrics)})"
    yield _indented(card.summary)
    yield _indented(f"measured on {_languages(card)}; texts in other languages are skipped")
    yield from (_indented(f"+ {text}") for text in card.sees)
    yield from (_indented(f"- {text}") for text in card.does_not_see)
    yield _indented(f"fitted on: {card.fitted_on}")
    yield _indented(f"plain: {card.plain}")
    yield _indented(f"measured {card.date}")
    if card.agreement:
        rows = [
            [
                each.figure,
                each.data,
                f"{each.n:,}",
                f"{each.value:.3f}",
                f"[{each.low:.3f}, {each.high:.3f}]",
                "" if each.plain is None else f"{each.plain:.3f}",
            ]
            for each in card.agreement
        ]
        headers = ["agreement with people", "data", "n", "value", "95% interval", "plain"]
        table = text_table(headers, rows, align="<<>>>>")
        yield ""
        yield "\n".join(f"    {line}" for line in table.splitlines())
