"""Builds the wheel and the sdist, and tries the wheel as a stranger would: ``make release-check``.

The wheel is installed without extras into an empty environment, outside the repository. There every line of
the README that needs no agent runs, ``rag-eval demo`` included, and a typed program that uses the package is
checked by mypy; with ``--pyright`` by pyright too, which brings node.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What somebody may write who depends on the package; a wrong use of it must be noticed too.
TYPED = """\
from rag_evaluation_framework import Evaluation, SpanRecall, compare, evaluate, load

result: Evaluation = evaluate([{"question": "q", "answer": "a"}], metrics=["string_match"])
value: float | None = result.metrics["string_match"].value
rows: int = len(result.failed())
recall: SpanRecall = SpanRecall()
print(value, rows, recall, compare, load)
"""
WRONG = "from rag_evaluation_framework import evaluate\n\nnumber: int = evaluate([])\n"


def main(arguments: list[str]) -> None:
    begun = time.monotonic()
    with TemporaryDirectory(prefix="rag-eval-release-") as place:
        folder = Path(place)
        wheel = built(folder)
        clean = folder / "clean"
        python = environment(clean, wheel)
        told(begun, f"installed {wheel.name}: {size(clean)}")
        readme(folder, python)
        told(begun, "every line of the README that needs no agent runs from the wheel")
        typed(folder, ["-m", "mypy", "--strict", "--python-executable", python])
        told(begun, "mypy sees the types from outside")
        if "--pyright" in arguments:
            pip(python, "install", "pyright")
            typed(folder, ["-m", "pyright", "--pythonpath", python], by=python)
            told(begun, "so does pyright")


def built(folder: Path) -> Path:
    """Build the sdist from the checkout and the wheel from the sdist, as pip would of an upload."""
    made = folder / "dist"
    made.mkdir()
    python = environment(folder / "build", "hatchling")
    run(python, "-c", "import sys, hatchling.build as b; b.build_sdist(sys.argv[1])", made, cwd=ROOT)
    (sdist,) = made.glob("*.tar.gz")
    pip(python, "wheel", "--no-deps", "--no-build-isolation", "-w", made, sdist)
    (wheel,) = made.glob("*.whl")
    return wheel


def environment(folder: Path, package: str | Path) -> Path:
    """Make an environment with one package and what it needs, and return its Python."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip(python, "install", package)
    return python


def pip(python: Path, *words: str | Path) -> None:
    run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python, *words)


def readme(folder: Path, python: Path) -> None:
    """Run the blocks of Python, the demo, and the commands of the table on what the demo leaves."""
    here = folder / "here"
    here.mkdir()
    program = python.parent / "rag-eval"
    run(program, "demo", cwd=here)
    demo = here / "demo"
    for block in re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        run(python, "-c", block, cwd=here)
    ranking = ROOT / "examples" / "handbook" / "ranking"
    given = {"docs/": "documents", "001 002": "002 003"}
    for name in ("qrels.trec", "bm25.run"):
        (demo / name).write_bytes((ranking / name).read_bytes())
    commands = re.findall(r"`rag-eval ([a-z]+[^`]*)`", README.partition("## What it does")[0])
    for command in commands:
        for name, stands_for in given.items():
            command = command.replace(name, stands_for)
        if command.startswith("generate"):  # which does not overwrite what the demo has made
            (demo / "questions.eval.json").unlink()
        if not command.startswith(("init", "evaluate", "golden")):
            run(program, *command.split(), cwd=demo)


def typed(folder: Path, checker: list[str | Path], *, by: Path | None = None) -> None:
    """Check a program that uses the package well, and one that does not."""
    uses, wrong = folder / "uses.py", folder / "wrong.py"
    uses.write_text(TYPED, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    run(by or sys.executable, *checker, uses, cwd=folder)
    command = [str(each) for each in (by or sys.executable, *checker, wrong)]
    done = subprocess.run(command, cwd=folder, capture_output=True)  # noqa: S603  # a checker of types
    if done.returncode != 1:
        sys.exit(f"{checker[1]} does not notice that evaluate returns no number: its types are not seen")


def size(environment: Path) -> str:
    """Say how many packages were installed, and how large they are."""
    packages = next(environment.glob("[Ll]ib/**/site-packages"))
    names = list(packages.glob("*.dist-info"))
    total = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    return f"{len(names)} packages, {total / 1e6:,.0f} MB"


def run(*command: str | Path, cwd: Path | None = None) -> None:
    # Nothing of the checkout, and of nobody's settings, may help.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(word) for word in command]
    done = subprocess.run(  # noqa: S603  # words that stand above
        words, cwd=cwd, env=environment, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def told(begun: float, what: str) -> None:
    print(f"{time.monotonic() - begun:4.0f} s  {what}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
