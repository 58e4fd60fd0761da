"""``rag-eval show``: the answers of a run, each with its verdict and what was retrieved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rag_evaluation_framework.cli.options import (
    AS_JSON,
    RUNS_DIR,
    flag,
    new_screen,
    option,
    repeated,
    show,
    whole_number,
)
from rag_evaluation_framework.cli.output import check_metrics, print_json
from rag_evaluation_framework.errors import UnknownNameError, UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.verdict import AnswerVerdict
    from rag_evaluation_framework.results.evaluations import Evaluation, Row

EXAMPLES = """\b
Examples:
  rag-eval show            inspect the wrong answers of the latest run
  rag-eval show 001 --not-judged
  rag-eval show 001 --worst 5 --metric claim_recall
  rag-eval show 001 --sample 3 --sample q017
  rag-eval show --missed   inspect questions of the latest sweep
  rag-eval show 001 --slice tag=fares --json"""

_SHOWN = 10
_USUAL_WORST = 3
_Holds: TypeAlias = Callable[["AnswerVerdict"], bool]
_KINDS: dict[str, tuple[str, _Holds]] = {
    "failed": ("wrong or partly correct", lambda verdict: verdict.has_failed),
    "unjudged": ("not judged", lambda verdict: not verdict.is_judged),
    "flagged": ("flagged", lambda verdict: verdict.is_flagged),
}


@click.command("show", epilog=EXAMPLES)
@click.argument("run", required=False)
@flag("--failed", "Show the wrong and partly correct answers.")
@flag("--not-judged", "Show the answers that were not judged.", called="unjudged")
@flag("--flagged", "Show the flagged answers.")
@flag("--missed", "Show the questions with a retrieval miss.")
@whole_number("--worst", "Show the N answers with the lowest scores.")
@repeated("--sample ID", "Id of an answer, or its line in the file; may be repeated.", called="samples")
@option("-m, --metric NAME", "Metric to sort by, with --worst.")
@option(
    "--slice KIND=VALUE",
    "Tag, category, difficulty, query_type or document of the answers, e.g. tag=fares.",
    called="slice_by",
)
@flag("--all", f"Show all answers, not only the first {_SHOWN}.", called="everything")
@RUNS_DIR
@AS_JSON
def command(run: str | None, runs_dir: Path, metric: str | None, **given: Any) -> None:
    """Show answers of RUN: question, expected answer, answer, verdict and the retrieved passages in order.

    RUN is the id of a run, the end of its id, its folder or a results file (default: the latest run). The
    default is the wrong and partly correct answers; if none, the answers that were not judged, then the
    lowest scores.
    """
    from rag_evaluation_framework.reports.json_report import evaluation_document

    missed, worst, samples = given["missed"], given["worst"], given["samples"]
    kind = next((each for each in _KINDS if given[each]), None)
    if sum(bool(given[name]) for name in (*_KINDS, "missed", "worst", "samples")) > 1:
        options = "--failed, --not-judged, --flagged, --missed, --worst and --sample"
        raise UsageError(f"expected one of {options}, got several")
    evaluation = open_evaluation(run, runs_dir)
    check_metrics(() if metric is None else (metric,), evaluation.runs)
    of_slice = _slice(given["slice_by"])
    words, holds = _KINDS[kind or "failed"]
    title, rows = "", list[tuple[str, "Row"]]()
    if samples:
        rows = _named(_best(evaluation), samples)
    elif evaluation.kind == "systems":
        title, rows = _missed_by_all(evaluation)
    elif missed:
        title, rows = "{0} lacked an expected passage", _chosen(evaluation, _is_missed)
    elif kind is not None:
        title, rows = f"{{1}} {words}", _of_a_kind(evaluation, holds, metric)
    else:
        usual = ("failed", "unjudged") if worst is None and metric is None else ()
        for words, holds in map(_KINDS.__getitem__, usual):
            if rows := _of_a_kind(evaluation, holds):
                title = f"{{1}} {words}"
                break
        else:
            title, rows = _worst(evaluation, worst or _USUAL_WORST, metric)
    rows = [each for each in rows if of_slice is None or of_slice in set(_traits(each[1]))]
    if given["as_json"]:
        ids = {row.id for _, row in rows}
        print_json([each for each in evaluation_document(evaluation)["samples"] if each["id"] in ids])
        return
    answers = sum(_count(row, holds) for _, row in rows)
    counts = _counted(len(rows), evaluation), _counted(answers, evaluation, "is", "are")
    title = title.format(*counts) if rows or missed else title.format("No question", "No answer is")
    _show(evaluation, title, rows, everything=given["everything"])


def open_evaluation(run: str | None, runs_dir: Path) -> Evaluation:
    """Load a run by what people call it, or the latest."""
    from rag_evaluation_framework.results.run_store import latest_run
    from rag_evaluation_framework.results.stored_runs import find_evaluation, load_run

    if run is None:
        return load_run(latest_run(runs_dir))
    if (found := find_evaluation(run, runs_directory=runs_dir)).is_ranking:
        raise UsageError(f"expected a run with answers, got ranked runs: rag-eval report {run} shows them")
    return found


def _counted(number: int, evaluation: Evaluation, *verbs: str) -> str:
    from rag_evaluation_framework.reports.blocks import part_of

    asked = evaluation.answers.total if verbs else evaluation.counts.total
    if evaluation.kind == "systems":
        asked = next(iter(evaluation.parts.values())).counts.total
    return part_of(number, asked, "question" if evaluation.kind == "systems" else "answer", *verbs)


def _chosen(evaluation: Evaluation, holds: Callable[[Row], object]) -> list[tuple[str, Row]]:
    """Return the rows of which this holds."""
    from rag_evaluation_framework.reports.facts import rows_of_runs

    return [each for each in rows_of_runs(evaluation) if holds(each[1])]


def _of_a_kind(evaluation: Evaluation, holds: _Holds, metric: str | None = None) -> list[tuple[str, Row]]:
    """Return the rows with an answer of which this holds; by a ``metric``, the lowest scores first."""
    rows = _chosen(evaluation, lambda row: _count(row, holds))
    if metric is None:
        return rows
    found = {row.id: place for place, row in enumerate(evaluation.worst(evaluation.counts.total, metric))}
    return sorted((each for each in rows if each[1].id in found), key=lambda each: found[each[1].id])


def _count(row: Row, holds: _Holds) -> int:
    return sum(map(holds, row.verdicts))


def _is_missed(row: Row) -> bool:
    blames = () if row.blame is None else (row.blame, *row.blame.answers)
    return any(each.kind in ("retrieval_missed", "cut_passage") for each in blames)


def _worst(evaluation: Evaluation, number: int, metric: str | None) -> tuple[str, list[tuple[str, Row]]]:
    by = metric or next((name for part in evaluation.runs for name in part.metrics), "")
    ids = [row.id for row in evaluation.worst(number, metric)]
    known = {row.id: (part, row) for part, row in _chosen(evaluation, lambda row: row.id in ids)}
    return f"the lowest {by}", [known[each] for each in ids if each in known]


def _named(evaluation: Evaluation, names: Iterable[str]) -> list[tuple[str, Row]]:
    from rag_evaluation_framework.reports.facts import rows_of_runs, sample_name

    rows = list(rows_of_runs(evaluation))
    called: dict[str, list[tuple[str, Row]]] = {}
    for each in rows:
        line = sample_name(each[1])
        for name in dict.fromkeys((each[1].id, line, line.removeprefix("line ").removeprefix("sample "))):
            called.setdefault(name, []).append(each)
    for name in names:
        if name not in called:
            raise UnknownNameError("sample", name, list(called))
    return [each for name in names for each in called[name]]


def _best(evaluation: Evaluation) -> Evaluation:
    """Return the best combination of a sweep; of anything else, all of it."""
    return next(iter(evaluation.parts.values())) if evaluation.kind == "systems" else evaluation


def _missed_by_all(sweep: Evaluation) -> tuple[str, list[tuple[str, Row]]]:
    """Return the questions that no combination of a sweep finds, with what the best brought instead."""
    from rag_evaluation_framework.reports.sweep_blocks import found_by_none

    missed = set(found_by_none(sweep))
    name, best = next(iter(sweep.parts.items()))
    told = (
        "{0}: no setup retrieved the expected passage"
        if missed
        else ("Every question has a setup that retrieved its expected passage.")
    )
    return told, [(name, row) for row in best.rows if row.id in missed]


def _slice(given: str | None) -> tuple[str, str] | None:
    if given is None:
        return None
    kind, _, value = given.partition("=")
    kinds = ("tag", "category", "difficulty", "query_type", "document")
    if kind not in kinds or not value:
        raise UsageError(
            f"--slice: expected one of {', '.join(kinds)} with a value, such as tag=fares, got {given}"
        )
    return kind, value


def _traits(row: Row) -> Iterator[tuple[str, str]]:
    from rag_evaluation_framework.reports.facts import needed_names, retrieved_names

    if row.sample is None:
        return
    yield from (("tag", tag) for tag in row.sample.tags)
    for kind in ("category", "difficulty", "query_type"):
        yield kind, str(getattr(row.sample, kind))
    yield from (("document", name) for name in (*needed_names(row), *retrieved_names(row)))


def _show(evaluation: Evaluation, title: str, rows: list[tuple[str, Row]], *, everything: bool) -> None:
    from rag_evaluation_framework.reports.facts import describe_whole_case, named_rows

    screen = new_screen()
    if title:
        screen.say(f"{evaluation.head.run_id}: {title}", hang=2)
    thresholds = {name: part.thresholds for name, part in evaluation.named_runs.items()}
    is_sweep = evaluation.kind == "systems"  # in which only the best combination is shown
    named = [(row.id, row) for _, row in rows] if is_sweep else [*named_rows(evaluation, rows)]
    for (part, row), (name, _) in islice(zip(rows, named, strict=True), None if everything else _SHOWN):
        found = describe_whole_case(name, row, thresholds.get(part, ()), documents=evaluation.documents)
        screen.draw(found)
    if not rows and not title:
        screen.say("No answer matches.")
    screen.gap()
    if len(rows) > _SHOWN and not everything:
        screen.say(f"{counted(len(rows) - _SHOWN, 'more')}. To show all, use --all.".replace("mores", "more"))
    show(screen)
