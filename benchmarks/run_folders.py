"""The first result of a run, a complete run resumed, and a list of many: CPU seconds of whole commands.

RAGTruth's questions are put to a function that answers at once. All its answers are right, or, where another
model's answer is the reference, all are wrong: those that are wrong are read again, to show the worst.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks._labelled_data import DATA
from benchmarks.scoring_commands import RAG_EVAL, cpu_seconds, samples, write

FEW, MANY, FOLDERS, TRIES = 3, 100_000, 500, 3
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
        print(f"runs over {FOLDERS} folders{least(folder, 'runs'):>29.2f} s   0.5 asked for", flush=True)
        for told, is_right in (("all right", True), ("all wrong", False)):
            shutil.rmtree(folder / "runs")
            arguments = evaluation(folder, MANY, is_right=is_right)
            least(folder, *arguments, *METRIC, tries=1)
            resumed = least(folder, *arguments, "--resume")
            print(f"a run of {MANY:,} resumed, {told}{resumed:>17.2f} s   2 asked for", flush=True)


if __name__ == "__main__":
    main()
