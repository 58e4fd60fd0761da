"""Datasets, runs, metrics and methods as rows."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.catalogue import CatalogueEntry
from rag_evaluation_framework.errors import MissingExtraError, UsageError
from rag_evaluation_framework.extensions import Registry, Specification
from rag_evaluation_framework.judging.methods import MethodCard
from rag_evaluation_framework.metrics.declaration import Metric
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.evaluation_blocks import resuming_command
from rag_evaluation_framework.reports.facts import labels_to_confirm
from rag_evaluation_framework.results.run_store import ListedRun, in_runs, short_id
from rag_evaluation_framework.results.stored_runs import StoredResult
from rag_evaluation_framework.text.languages import language_name

# The datasets of a folder.


def describe_datasets(folder: Path, entries: Sequence[CatalogueEntry]) -> blocks.Blocks:
    """Add the table, and below it what is broken."""
    if not entries:
        yield blocks.prose(f"No datasets in {folder}. For golden sets and rows, use rag-eval stats FILE.")
        return
    yield blocks.table(
        [
            (blocks.Column("id", flexible=True), entry.dataset_id or blocks.NOTHING),
            ("version", entry.version or blocks.NOTHING),
            (blocks.right("samples", leaves=blocks.COUNT), _count(entry.size)),
            (blocks.Column("format", leaves=blocks.BY), entry.dialect or blocks.NOTHING),
            ("", blocks.Styled("broken", blocks.BAD) if entry.error else ""),
            (blocks.Column("file", flexible=True), entry.path.name),
        ]
        for entry in entries
    )
    yield blocks.GAP
    for entry in entries:
        if entry.error:
            file = "" if entry.error.startswith(str(entry.path)) else f"{entry.path}: "
            yield blocks.prose(f"broken: {file}{entry.error}", hang=2)


# The runs of a folder, as a table for people and as rows for machines.

_LEFT = {"lacking_scores": "unscored", "to_ask_again": "to retry"}
_NO_COMMAND = "the program that started it"


def describe_runs(folder: Path, rows: Sequence[dict[str, Any]]) -> blocks.Blocks:
    """Add the table, and below it what is broken and how to resume unfinished runs."""
    if not rows:
        yield blocks.prose(f"No runs in {folder}. Start one: rag-eval evaluate")
        return
    left = {name: header for name, header in _LEFT.items() if any(row[name] for row in rows)}
    counts, questions = {"failed": "failed", **left}, blocks.right("questions", leaves=blocks.COUNT)
    today = max(row["started_at"] or "" for row in rows)[:10]
    yield blocks.table(
        [
            ("run", row["run_id"]),
            ("state", blocks.result(row["state"])),
            (blocks.Column("dataset", flexible=True), row["dataset_id"] or blocks.NOTHING),
            (blocks.Column("agent", flexible=True), row["target"] or blocks.NOTHING),
            (questions, blocks.NOTHING if row["done"] is None else f"{row['done']:,} of {row['total']:,}"),
            *(
                (blocks.right(header, leaves=blocks.COUNT), _count(row[name]))
                for name, header in counts.items()
            ),
            (blocks.Column("started", leaves=blocks.SIZE), clock_time(row["started_at"], today=today)),
        ]
        for row in rows
    )
    for row in rows:
        if row["error"]:
            yield blocks.prose(f"broken: {row['run_id']}: {row['error']}", hang=2)
        if row["owner"]:
            yield blocks.prose(f"running: {row['run_id']}: {row['owner']}", hang=2)
        if _is_left(row):
            yield blocks.Command("resume with:", row["resume"] or _NO_COMMAND)


def _count(number: int | None) -> str:
    return blocks.NOTHING if number is None else f"{number:,}"


def clock_time(started: str | None, *, today: str) -> str:
    """Return when a run began: the hour if that was on the last day there is, else the day."""
    if not started:
        return blocks.NOTHING
    return started[11:16] if started[:10] == today else started[:10]


def _is_left(row: dict[str, Any]) -> bool:
    """Return True if a resume has something to do: samples to ask, or scores to make again."""
    return row["state"] == "incomplete" or (row["state"] == "complete" and any(row[name] for name in _LEFT))


def run_row(run: ListedRun) -> dict[str, Any]:
    """Return a run as plain values; what is unknown of a broken one is ``None``, and ``error`` says why."""
    head = None if run.folder is None else run.folder.head
    owner = None if run.folder is None else run.folder.owner
    counts = run.counts
    return {
        "run_id": run.path.name,
        "state": run.state,
        "dataset_id": head and head.dataset_id,
        "dataset_version": head and head.dataset_version,
        "target": head and head.target,
        "golden": head and head.configuration.get("golden"),
        "done": counts and counts.done,
        "failed": counts and counts.failed,
        "lacking_scores": counts and counts.rescorable,
        "to_ask_again": counts and counts.reaskable,
        "total": counts and counts.total,
        "started_at": head and head.started_at,
        "owner": None if owner is None else str(owner),
        "resume": head and resuming_command(head, run.path),
        "path": str(run.path),
        "error": run.error,
    }


# What is stored, with its figures and verdict.

_SHOWN_METRICS = 3


def describe_results(folder: Path, found: Sequence[StoredResult]) -> blocks.Blocks:
    """Add a line for each evaluation that is stored, the latest first, and how to compare the last two."""
    if not found:
        yield blocks.prose(f"No results in {folder}. Start a run: rag-eval evaluate")
        return
    times = Counter(metric for each in found for metric in each.metrics)
    metrics = [metric for metric, _ in times.most_common(_SHOWN_METRICS)]
    today = max(each.when or "" for each in found)[:10]
    # The metric that fewest have leaves first.
    figures = {
        metric: blocks.right(metric, leaves=blocks.DIFFERENCE - place / 10)
        for place, metric in enumerate(metrics)
    }
    correct = blocks.right("correct", leaves=blocks.COUNT)
    yield blocks.table(
        [
            ("run", each.id),
            (blocks.Column("when", leaves=blocks.COUNT), clock_time(each.when, today=today)),
            (blocks.Column("dataset", flexible=True), each.dataset or blocks.NOTHING),
            (blocks.Column("agent", flexible=True), each.target or blocks.NOTHING),
            (correct, "{correct:,} of {total:,}".format(**each.answers) if each.answers else blocks.NOTHING),
            *((column, blocks.figure(each.metrics.get(metric))) for metric, column in figures.items()),
            ("gate", blocks.result(each.verdict or "")),
        ]
        for each in found
    )
    for each in found:
        if each.error:
            yield blocks.prose(f"broken: {each.error}", hang=2)
        if stale := each.answers.get("to_confirm"):
            yield blocks.prose(f"{each.id}: {labels_to_confirm(stale)}", hang=2)
    ids = [each.id for each in found if each.error is None]
    same = [each.id for each in found if each.error is None and each.dataset == found[0].dataset][:2]
    if len(same) == 2 and len(set(ids)) == len(ids):
        older, newer = (short_id(folder / each) if (folder / each).is_dir() else each for each in same[::-1])
        yield blocks.Steps(
            [(f"rag-eval compare {older} {newer}{in_runs(folder)}", "compare the last 2 results")]
        )


# The declared metrics as rows, and on a screen.


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


def describe_metrics(metrics: Sequence[Metric], *, whole: bool = False) -> blocks.Blocks:
    """Add the metrics family by family: name, direction, needs, version, then meaning and formula.

    The ``whole`` of one has also what becomes of empty data, and where it is from.
    """
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        yield blocks.GAP
        yield blocks.prose(blocks.Styled(family, blocks.BOLD))
        for metric in members:
            yield blocks.GAP
            yield from _describe_metric(metric, whole=whole)


def _describe_metric(metric: Metric, *, whole: bool) -> blocks.Blocks:
    direction = "higher is better" if metric.higher_is_better else "lower is better"
    ways = f"; by {', '.join(metric.methods)}" if metric.methods else ""
    needs = ", ".join(metric.needs)
    yield blocks.prose(
        f"{metric.signature}   ({direction}; needs {needs}{ways}; version {metric.version})", hang=6
    )
    told = [metric.summary, f"= {metric.formula}"]
    if metric.languages():
        told.append(f"without a judge: {format_languages(metric)} only; other languages are skipped")
    if metric.aliases:
        told.append(f"aliases: {', '.join(metric.aliases)}")
    if whole:
        told += [f"empty: {metric.empty}"] if metric.empty else []
        told += [f"from: {metric.source}"] if metric.source else []
    for line in told:
        yield blocks.prose(line, indent=4, hang=6)


def format_languages(measured: Metric | MethodCard) -> str:
    """Say on which languages something was measured."""
    codes = measured.languages() if isinstance(measured, Metric) else measured.languages
    return " and ".join(map(language_name, codes))


# The cards of the offline methods.


def describe_method_cards(cards: Sequence[MethodCard], *, whole: bool = False) -> blocks.Blocks:
    """Add each card: what the method is, sees and does not see; and the ``whole`` of one: all its figures."""
    for card in cards:
        yield blocks.GAP
        yield blocks.prose(f"{card.name}   (version {card.version}; {', '.join(card.metrics)})", hang=6)
        told = [card.summary, f"languages: {format_languages(card)}; texts in other languages are skipped"]
        told += [*(f"+ {text}" for text in card.sees), *(f"- {text}" for text in card.does_not_see)]
        if whole:
            told += [
                f"fitted on: {card.fitted_on}",
                f"baseline method: {card.plain}",
                f"measured {card.date}",
            ]
        for line in told:
            yield blocks.prose(line, indent=4, hang=6)
        if whole:
            yield from _describe_agreement(card)
    if not whole:
        yield blocks.Steps([(f"rag-eval list methods '{cards[0].name}'", "compare with human labels")])


def _describe_agreement(card: MethodCard) -> blocks.Blocks:
    """Add how far a method agrees with people, the data one after the other."""
    columns = [
        blocks.Column("agreement with human labels", flexible=True),
        blocks.right("n", leaves=blocks.COUNT),
        blocks.right("value"),
    ]
    columns += [blocks.Column(blocks.interval_header()), blocks.right("baseline")]
    rows: dict[str, list[list[blocks.Piece]]] = {}
    for each in card.agreement:
        plain = "" if each.plain is None else f"{each.plain:.3f}"
        interval = f"[{each.low:.3f}, {each.high:.3f}]"
        found = rows.setdefault(each.data, [[blocks.Styled(each.data, blocks.BOLD), "", "", "", ""]])
        found.append([f"  {each.figure}", f"{each.n:,}", f"{each.value:.3f}", interval, plain])
    yield blocks.GAP
    yield blocks.Table(columns, [row for found in rows.values() for row in found], indent=4)


def check_rows() -> list[dict[str, Any]]:
    """Return each check with what it demands and an example, then the options that change it."""
    from rag_evaluation_framework.records.checks import CHECKS, OPTIONS

    rows: list[dict[str, Any]] = [
        {"name": name, "demand": kind.demand, "example": dict(kind.example)} for name, kind in CHECKS.items()
    ]
    options = ({"name": name, "demand": demand, "example": None} for name, demand in OPTIONS.items())
    return [*rows, *options]


def describe_checks(rows: Sequence[dict[str, Any]]) -> blocks.Blocks:
    """Add each check with its example, and how a row has several."""
    for row in rows:
        yield blocks.prose(f"{row['name']:<14}{row['demand']}", hang=14)
        if row["example"] is not None:
            yield blocks.prose(json.dumps(row["example"]), indent=14, hang=14)
    yield blocks.GAP
    yield blocks.prose('In a row: "checks": [{"contains": "27 days"}, {"max_words": 60}]', hang=2)


# Components of one kind, ours and those of installed packages, with their settings.

_TAKEN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def component_rows(registry: Registry[Any], *, skipped: int = 0) -> list[dict[str, Any]]:
    """Return each component with its settings, what it is, the package that brings it, or why it is broken.

    ``skipped`` are so many parameters that are no settings: what a renderer renders.
    """
    rows = []
    for name in registry.names():
        row: dict[str, Any] = {"name": name, "written": name, "settings": {}, "summary": ""}
        row |= {"package": registry.package(name), "error": None}
        try:
            component = registry.get(name)
        except (UsageError, MissingExtraError) as error:
            row["error"] = str(error)
        else:
            row["settings"] = _settings(component, skipped)
            inside = ", ".join(f"{each}={value}" for each, value in row["settings"].items())
            row["written"] = f"{name}({inside})" if inside else name
            row["summary"] = _told_of(component)
        rows.append(row)
    return rows


def _settings(component: Any, skipped: int) -> dict[str, str]:
    """Return the settings with their defaults as a specification writes them; ``…`` where one is needed."""
    if not callable(component):
        return {}
    parameters = [each for each in inspect.signature(component).parameters.values() if each.kind in _TAKEN]
    return {each.name: _default(each.default) for each in parameters[skipped:] if each.name != "spending"}


def _told_of(component: Any) -> str:
    """Return what a component says of itself: a dialect its endings and fields, others their first words."""
    if endings := getattr(component, "suffixes", None):
        held: Iterable[str] = getattr(component, "holds", ())
        holds = ", ".join(word for name, word in _HELD.items() if name in held)
        return f"{', '.join(endings)}{f'; holds {holds}' if holds else ''}"
    return " ".join((inspect.getdoc(component) or "").partition("\n\n")[0].replace("``", "").split())


# What a format has a place for, in words and in the order in which people ask for it.
_HELD = {
    "id": "ids",
    "question": "questions",
    "turns": "conversations",
    "reference": "expected answers",
    "references": "several expected answers",
    "expectation.refusal": "questions to refuse",
    "expectation.entities": "expected names",
    "expectation.relation": "relations",
    "expectation.milestones": "expected events",
    "checks": "answer checks",
    "relevant_documents": "relevant documents",
    "grades": "relevance grades",
    "relevant_spans": "relevant passages",
    "relevant_chunk_ids": "relevant chunks",
    "reference_contexts": "expected passages",
    "recorded.answer": "answers",
    "recorded.contexts": "retrieved texts",
    "recorded.sources": "sources of retrieved texts",
    "recorded.retrieved": "retrieved ids",
    "recorded.prompt": "prompts",
    "dataset.documents": "documents",
    "tags": "tags",
    "category": "categories",
    "difficulty": "difficulty",
    "query_type": "question types",
    "metadata": "metadata",
}


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty or not isinstance(value, bool | int | float | str | None):
        return "…"
    return str(Specification("", {"": value}))[2:-1]


def describe_components(rows: Sequence[dict[str, Any]]) -> blocks.Blocks:
    """Yield the blocks of each component: its notation, its package, and its summary or error."""
    for row in rows:
        yield blocks.GAP
        whose = "" if row["package"] is None else f"   (of {row['package']})"
        yield blocks.prose(f"{row['written']}{whose}", hang=6)
        if row["error"] is not None:
            yield blocks.prose(blocks.Styled(row["error"], blocks.BAD), indent=4, hang=6)
        elif row["summary"]:
            yield blocks.prose(row["summary"], indent=4, hang=6)
