"""``rag-eval label``: what a person says of the answers of a run, one key for each."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.annotate import user_name
from rag_evaluation_framework.cli.options import (
    EXISTING_FILE,
    RUNS_DIR,
    flag,
    new_screen,
    option,
    show,
    whole_number,
)
from rag_evaluation_framework.cli.output import check_free
from rag_evaluation_framework.cli.show import open_evaluation
from rag_evaluation_framework.errors import InputError, UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.verdict import Key
    from rag_evaluation_framework.results.label_queue import LabelItem, LabelQueue

EXAMPLES = """\b
Examples:
  rag-eval label                 label answers of the latest run
  rag-eval label 003 --annotator anna
  rag-eval label 003 --to answers.xlsx --draw 50
  rag-eval label 003 --from answers.xlsx
  rag-eval label 003 --from anna.gt.json"""

_KEYS: dict[str, Key | None] = {"c": "correct", "p": "partly", "w": "wrong", "s": None}
_LISTED = 20
_LEGEND = "c correct   p partly   w wrong   s skip   u undo   q quit"


@click.command("label", epilog=EXAMPLES)
@click.argument("run", required=False)
@option("--annotator NAME", "Name of the annotator.  [default: the user of this machine]")
@option("--to FILE", "Write the answers to a table for labeling: .csv or .xlsx.", called="to", type=Path)
@option(
    "--from FILE",
    "Read labels from a table (.csv, .xlsx, .jsonl) or annotations (.gt.json).",
    called="source",
    type=EXISTING_FILE,
)
@whole_number("--draw", "Number of answers to write, the most informative first.")
@flag("--force", "Replace an existing table.")
@RUNS_DIR
def command(run: str | None, runs_dir: Path, **given: Any) -> None:
    """Label the answers of RUN (id, folder or results file; default: the latest).

    You see the question, expected answer, answer and best passage, and press one key. Answers that were not
    judged come first. Each label is saved at once; the next call resumes where you quit. Labels belong to the
    question and the answer text, and apply to every run with them. Without a terminal, standard input has one
    key per line.
    """
    from rag_evaluation_framework.results.label_queue import LabelQueue

    target, source, draw = given["to"], given["source"], given["draw"]
    if target is not None and source is not None:
        raise UsageError("expected --to or --from, got both")
    if draw is not None and target is None:
        raise UsageError("--draw needs --to FILE, the table to write the answers to")
    if target is not None:
        if target.suffix not in (".csv", ".xlsx"):
            raise UsageError(f"--to: expected a .csv or .xlsx file, got {target}")
        check_free(target, force=given["force"])
    queue = LabelQueue(open_evaluation(run, runs_dir), given["annotator"] or user_name())
    if not queue.items:
        raise UsageError(f"{run or 'the latest run'} has no answers to label")
    if target is not None:
        _write(queue, target, draw, run or "RUN")
    elif source is not None:
        _read(queue, source)
    else:
        _label(queue)
        _show_end(queue)


def _write(queue: LabelQueue, path: Path, most: int | None, run: str) -> None:
    from rag_evaluation_framework.datasets.csv_tables import write_rows
    from rag_evaluation_framework.reports.exports import write_workbook
    from rag_evaluation_framework.results.label_queue import COLUMNS, TABLE, table_of

    rows = table_of(queue, most)
    if path.suffix == ".csv":
        write_rows(path, rows, TABLE)
    else:
        write_workbook(path, {"answers": rows}, COLUMNS)
    click.echo(f"Wrote {counted(len(rows), 'answer')} to {path}.")
    click.echo("Write correct, partly or wrong in the column label, then read the table:")
    click.echo(f"  rag-eval label {run} --from {path}")


def _read(queue: LabelQueue, path: Path) -> None:
    from rag_evaluation_framework.reports.exports import allowed_text
    from rag_evaluation_framework.results.answer_labels import append_labels
    from rag_evaluation_framework.results.label_queue import read_table

    try:
        table = read_table(path, queue, clean=allowed_text)
    except InputError as error:  # every wrong row is named, and not only the first
        raise UsageError(f"{error}\n  Nothing was written.") from error
    append_labels(queue.path, table.labels)
    queue.read_labels()
    for word, state in table.mapping.items():
        click.echo(f"  {word} → {state.replace('_', ' ')}")
    more = f"; {counted(table.empty, 'row')} without a label" if table.empty else ""
    more += f"; {counted(table.others, 'label')} of other answers skipped" if table.others else ""
    click.echo(f"Read {counted(len(table.labels), 'label')} from {path}{more}.")
    _show_end(queue)


def _label(queue: LabelQueue) -> None:
    """Show answer after answer, and take a key for each."""
    note = ""
    while any(left := queue.left()):
        item = next(chain(*left))
        _show_item(queue, item, [*map(len, left)], note)
        key = _read_key()
        if key == "q":
            return
        if key == "u":
            undone = queue.undo()
            note = (
                "Nothing to undo in this session."
                if undone is None
                else (f"Removed the label of {undone.id}.")
            )
        elif key in _KEYS:
            label, tool = queue.press(item, _KEYS[key]), item.tool_verdict
            said = f"{tool.by.replace('_', ' ')}: {tool.name}" if tool.by else tool.name
            name = "Skipped" if label is None else f"Labeled {str(label.state).replace('_', ' ')}"
            note = f"{name}: {item.id} ({said})."
        else:
            note = f"Unknown key {key!r}."
    click.echo("All answers are labeled.")


def _read_key() -> str:
    """Return the next key; the end of the input, Ctrl-C and Ctrl-D quit."""
    if not sys.stdin.isatty():
        return (sys.stdin.readline() or "q").strip()[:1].casefold()
    try:
        key = click.getchar().casefold()
    except (EOFError, KeyboardInterrupt):
        return "q"
    return "q" if key in ("\x03", "\x04", "\x1b") else key


def _show_item(queue: LabelQueue, item: LabelItem, left: list[int], note: str) -> None:
    screen = new_screen()
    if note:
        screen.say(note)
    screen.gap()
    told = f"{left[0]:,} not judged and {left[1]:,} judged answers left"
    screen.say(f"{item.id}: {told if left[0] else f'all answers are judged; {left[1]:,} left to check'}")
    for question in item.asked[:-1]:
        screen.labelled("before", question, indent=2, hang=12, lines=2)
    screen.labelled("question", item.asked[-1], indent=2, hang=12, lines=4)
    screen.labelled("expected", item.expected or "no expected answer", indent=2, hang=12, lines=4)
    screen.labelled("answer", item.answer, indent=2, hang=12, lines=12)
    screen.labelled("passage", item.passage or "no retrieved passage", indent=2, hang=12, lines=5)
    if item.verdict.to_confirm:
        for label in queue.labels.find_all(item.asked, item.sample, item.answer):
            state = str(label.state).replace("_", " ")
            beside = label.reference or "no expected answer"
            told = f"{label.annotator} labeled it {state}. Reference then: {beside}"
            screen.labelled("confirm", told, indent=2, hang=12, lines=3)
    if agreement := _agreement(queue):
        screen.say(agreement, indent=2, hang=4)
    screen.say(_LEGEND, indent=2)
    show(screen)


def _agreement(queue: LabelQueue) -> str:
    """Return how often each method agrees with people; empty while no agreement is known."""
    found = queue.agreement().items()
    told = ", ".join(f"{method} {agreeing:,} of {judged:,}" for method, (agreeing, judged) in found)
    return f"agreement with human labels: {told}" if told else ""


def _show_end(queue: LabelQueue) -> None:
    from rag_evaluation_framework.reports.blocks import listed

    given = [label for item in queue.items if (label := queue.label_of(item)) is not None]
    stale = sum(item.verdict.to_confirm and queue.label_of(item) is None for item in queue.items)
    screen = new_screen()
    screen.gap()
    told = f"{queue.annotator} has labeled {len(given):,} of {counted(len(queue.items), 'answer')}"
    screen.say(f"{told}. Labels are saved in {queue.path}.", hang=2)
    if stale:
        screen.say(f"{counted(stale, 'label')} to confirm: the reference changed after labeling.", hang=2)
    if disputed := [item.id for item in queue.find_disputed()]:
        screen.say(f"Annotators disagree on {listed(disputed[:_LISTED])}: not judged.", hang=2)
    if agreement := _agreement(queue):
        screen.say(agreement, hang=2)
    show(screen)
