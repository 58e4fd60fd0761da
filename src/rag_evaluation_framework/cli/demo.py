"""``rag-eval demo``: one story on the packaged example, shown by running the commands themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from rag_evaluation_framework.cli.options import FOLDER, QUESTIONS, flag, new_screen, show
from rag_evaluation_framework.errors import RagEvalError, UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.reports.blocks import Screen
    from rag_evaluation_framework.results.evaluations import Evaluation

EXAMPLES = """\b
Examples:
  rag-eval demo
  rag-eval demo try-it --force"""

_WIDEST, _INDENT = 100, 3
_FAULTY, _FIXED = "002", "003"  # the runs of the two agents; the sweep before them is 001
# Says whose folder it is, and keeps it out of the user's repository.
_MARK = "# Made by rag-eval demo, and replaced by rag-eval demo --force.\n*\n"


@click.command("demo", epilog=EXAMPLES)
@click.argument("folder", type=FOLDER, default=Path("demo"), metavar="[DIR]")
@flag("--force", "Replace an earlier demo.")
def command(folder: Path, force: bool) -> None:
    """Run the whole workflow offline, on an example copied to DIR (demo).

    The demo generates questions, compares chunkers, and evaluates an agent twice: it fails its gate, then
    passes after a fix. Each step shows its command and the start of its output; DIR has all of it.
    """
    _prepare(folder, force=force)
    story = _Story(folder)
    story.say(
        f"No API key and no network needed. To repeat a step, run cd {folder}, then its command on the right."
    )
    story.step("Generate questions", "generate documents", shows="clause")
    story.say_question()
    story.step("Choose a chunker", "retrieval documents --store exact")
    story.step("Test the agent", "evaluate --target ferry_agent:faulty", code=1, shows="line")
    story.say_faults(_FAULTY)
    story.step("Test the fixed agent", "evaluate --target ferry_agent:fixed", shows="line")
    story.step("Compare the two runs", f"compare {_FAULTY} {_FIXED}")
    story.say_undecided(_FAULTY, _FIXED)
    story.step("Write a report", f"report {_FAULTY} {_FIXED} -o report.html", shows="nothing")
    page = folder / "report.html"
    story.say(f"Report: {page} (open it in a browser; it works offline)", indent=_INDENT)
    story.say("Next: rag-eval score YOUR-LOG.jsonl")


def _prepare(folder: Path, *, force: bool) -> None:
    """Copy the example into a folder that is new, empty, or of an earlier demo."""
    from rag_evaluation_framework.files.access import read_text

    mark = folder / ".gitignore"
    if folder.is_dir() and any(folder.iterdir()):
        if not (mark.is_file() and read_text(mark) == _MARK):
            raise UsageError(f"{folder} contains other files. Choose another folder: rag-eval demo DIR")
        if not force:
            raise UsageError(
                f"{folder} contains an earlier demo. Replace it with --force, or choose another folder."
            )
        shutil.rmtree(folder)
    left_out = shutil.ignore_patterns("__pycache__", "runs")
    try:
        for name, place in (("ferry", folder), ("handbook/documents", folder / "documents")):
            shutil.copytree(_examples() / name, place, dirs_exist_ok=True, ignore=left_out)
        mark.write_text(_MARK, encoding="utf-8")
    except (OSError, shutil.Error) as error:
        raise UsageError(f"cannot write to {folder} ({getattr(error, 'strerror', None) or error})") from None


def _examples() -> Path:
    """Return the folder of the examples: inside an installed package, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "examples"
    return installed if installed.is_dir() else package.parents[1] / "examples"


class _Story:
    """Runs commands in a folder, one after the other, and shows the beginning of what each says."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self._width = min(new_screen().width, _WIDEST)

    def say(self, text: str, *, indent: int = 0) -> None:
        """Show a sentence."""
        screen = self._screen()
        screen.say(text, indent=indent)
        show(screen)

    def step(self, title: str, line: str, *, code: int = 0, shows: str = "paragraph") -> None:
        """Show a title with its command, run it, keep all it says, and show its start."""
        if self._number:
            click.echo()
        self._number += 1
        shown = f"rag-eval {line}"
        self.say(f"{self._number}  {title}".ljust(self._width - len(shown) - 1) + " " + shown)
        ends = {"paragraph": "\n\n", "line": "\n", "clause": ";"}
        said = self._ran(line, code=code)
        if shows in ends:
            click.echo(textwrap.indent(said.partition(ends[shows])[0], " " * _INDENT))

    def say_question(self) -> None:
        """Show the first of the questions made that fits a line, with its answer and where that stands."""
        from rag_evaluation_framework.datasets.recognition import recognise
        from rag_evaluation_framework.reports.blocks import cells

        path = self._folder / QUESTIONS
        for sample in recognise(path).read(path).samples:
            place = next(iter(sample.relevant_spans))
            stands = f"({place.file} {place.start}–{place.end})"
            line = f"{sample.question}   {sample.reference}   {stands}"
            if cells(line) <= self._width - _INDENT - 2:
                self.say(line, indent=_INDENT + 2)
                break

    def say_faults(self, run: str) -> None:
        """Show the answers that failed or were flagged, with the words that nothing supports marked."""
        from rag_evaluation_framework.reports.facts import failed_answers, sample_name, unsupported_words

        screen, cases = self._screen(), failed_answers(self._run(run)).cases
        verdicts = ((row, row.verdict) for _, row in cases if row.verdict is not None)
        rows = [row for row, verdict in verdicts if verdict.has_failed or verdict.is_flagged]
        hang = _INDENT + 4 + max(len(sample_name(row)) for row in rows)
        for row in rows:
            marks = unsupported_words(row)
            screen.labelled(
                sample_name(row), row.response.text or "", indent=_INDENT + 2, hang=hang, marks=marks
            )
        show(screen)

    def say_undecided(self, before: str, now: str) -> None:
        """Print the metrics whose change is undecided."""
        from rag_evaluation_framework.reports.blocks import listed
        from rag_evaluation_framework.results.changes import compare_evaluations

        systems = {name: self._run(name) for name in (before, now)}
        comparison = compare_evaluations(systems)
        undecided = [each.metric for each in comparison.metrics if each.finding == "undecided"]
        if undecided:
            answers = counted(systems[now].counts.finished, "answer")
            self.say(f"Undecided for {listed(undecided)}: {answers} are too few.", indent=_INDENT)

    def _run(self, name: str) -> Evaluation:
        from rag_evaluation_framework.results.stored_runs import find_evaluation

        return find_evaluation(name, runs_directory=self._folder / "runs")

    def _screen(self) -> Screen:
        return replace(new_screen(), width=self._width)

    def _ran(self, line: str, *, code: int) -> str:
        words, encoding = line.split(), sys.stdout.encoding or "utf-8"
        program = "from rag_evaluation_framework.cli.main import main; main()"
        done: subprocess.CompletedProcess[str] = subprocess.run(  # noqa: S603  # our own program, with words that stand above
            [sys.executable, "-c", program, *words, "--width", str(self._width - _INDENT)],
            cwd=self._folder,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            encoding=encoding,
        )
        kept = self._folder / f"{self._number}-{words[0]}.txt"
        kept.write_text(done.stdout, encoding="utf-8")
        if done.returncode != code:
            why = done.stderr.strip() or f"exit code {done.returncode}; its output is in {kept}"
            raise RagEvalError(f"rag-eval {line}: {why}")
        return done.stdout
