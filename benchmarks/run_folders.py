"""The first result of a run, one resumed, lists of many, and two compared: CPU seconds of whole commands.

RAGTruth's questions are put to a function that answers at once. All its answers are right, or, where another
model's answer is the reference, all are wrong: those that are wrong are read again, to show the worst. To
compare the two is held against reading both journals as JSON in the same run.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks._labelled_data import DATA
from benchmarks.scoring_commands import RAG_EVAL, cpu_seconds, samples, write
from rag_evaluation_framework.results.journal import opened_journal

FEW, MANY, COMPARED, FOLDERS, TRIES = 3, 100_000, 20_000, 500, 3
METRIC = ("-m", "exact_match")
ANSWER = "It is in the article."
AGENT = f"def answer(question):\n    return {ANSWER!r}\n"


def least(folder: Path, *arguments: str, tries: int = TRIES) -> float:
    """Return the least CPU time of a command over several tries."""
    return min(cpu_seconds([*RAG_EVAL, *arguments], str(folder)) for _ in range(tries))


def evaluation(folder: Path, count: int, *, is_right: bool) -> list[str]:
    """Write so many samples, and return the arguments that put them to the function."""
    asked = (
        {
            "id": each["id"],
            "question": each["question"],
            "reference": ANSWER if is_right else each["reference"],
        }
        for each in samples(count, as_recorded=True)
    )
    write(folder / "asked.jsonl", asked)
    return ["evaluate", "asked.jsonl", "--target", "agent:answer"]


def journals_read(runs: Sequence[Path]) -> float:
    """Return the CPU time of reading the journals of runs as JSON."""
    began = time.process_time()
    for run in runs:
        with opened_journal(run / "journal.jsonl") as lines:
            for line in lines or ():
                json.loads(line)
    return time.process_time() - began


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"there is no labelled data at {DATA}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agent.py").write_text(AGENT)
        first = least(folder, *evaluation(folder, FEW, is_right=True), *METRIC)
        print(f"{FEW} samples put to a function{first:>24.2f} s   0.4 asked for", flush=True)
        run = next((folder / "runs").iterdir())
        for number in range(FOLDERS - TRIES):
            shutil.copytree(run, run.with_name(f"copy_{number:03}"))
        for command in ("runs", "results", "trend"):
            took = least(folder, command)
            print(f"{f'{command} over {FOLDERS} folders':<42}{took:.2f} s   0.5 asked for", flush=True)
        shutil.rmtree(folder / "runs")
        for told, is_right in (("all right", True), ("all wrong", False)):
            arguments = evaluation(folder, MANY, is_right=is_right)
            least(folder, *arguments, *METRIC, tries=1)
            resumed = least(folder, *arguments, "--resume")
            print(f"a run of {MANY:,} resumed, {told}{resumed:>17.2f} s   2 asked for", flush=True)
        shutil.rmtree(folder / "runs")
        runs = [scored(folder, COMPARED, changed=changed) for changed in (False, True)]
        took, read = least(folder, "compare", *(run.name for run in runs), "--json"), journals_read(runs)
        asked = "1.5 asked for at 100,000"
        print(f"two of {COMPARED:,} compared: {took:.2f} s, {took / read:.2f} times their JSON   {asked}")


def scored(folder: Path, count: int, *, changed: bool) -> Path:
    """Score recorded answers with their contexts, every tenth changed, and return the run."""
    known = set((folder / "runs").glob("*"))
    answers = (
        {**each, "answer": each["reference"]} if changed and number % 10 == 0 else each
        for number, each in enumerate(samples(count, as_recorded=True))
    )
    write(folder / "answers.jsonl", answers)
    least(folder, "score", "answers.jsonl", *METRIC, "--no-blame", tries=1)
    return next(run for run in (folder / "runs").iterdir() if run not in known)


if __name__ == "__main__":
    main()
