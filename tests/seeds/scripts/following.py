"""What the scripts that follow a seed are written with; whatever they do is printed, as on a screen."""

from __future__ import annotations

import io
import json
import re
import runpy
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from rag_evaluation_framework.cli.agentspec import main as agentspec
from rag_evaluation_framework.cli.main import main as rag_eval

ROOT = Path(__file__).parents[3]
_PROGRESS = re.compile(r"^[\w-]+: (?:done, )?[\d,]+ of [\d,]+(?:, | in ).*\d failed")
PROGRAMS: dict[str, Callable[[list[str]], object]] = {"rag-eval": rag_eval, "agentspec": agentspec}


def chapter(title: str) -> None:
    """Say which part of the seed comes."""
    print(f"\n== {title}")


def write(path: str, content: Any) -> None:
    """Write a file as its author would: a text as it is, a list for JSON lines, anything else as JSON."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list) and place.suffix == ".jsonl":
        content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    place.write_text(text, encoding="utf-8")
    print(f"wrote {path}")


def ran(line: str, out: TextIO, err: TextIO) -> int:
    """Run a command line of the package or of its scripts, wherever they are; return how it ends."""
    program, *arguments = shlex.split(line)
    if program == "python":
        program, *arguments = arguments
    argv = sys.argv
    sys.argv = [program, *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            if program in PROGRAMS:
                PROGRAMS[program](arguments)
            else:
                runpy.run_path(str(ROOT / program), run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = argv
    return 0


def memory() -> io.TextIOWrapper:
    """Return a stream that keeps what is written to it, as bytes in its buffer."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def sh(line: str, *, first: int | None = None) -> str:
    """Run a command line; print it, what it says and how it ends.

    ``first`` shows no more than so many lines of a long screen.
    """
    print(f"$ {line}")
    said = memory()
    code = ran(line, said, said)
    text = said.buffer.getvalue().decode()  # type: ignore[attr-defined]
    # How fast it went is told while it runs, and differs each time.
    lines = [line for line in text.splitlines() if not _PROGRESS.search(line)]
    print(*lines[:first], *(["…"] if first is not None and len(lines) > first else []), sep="\n")
    if code:
        print(f"(exit code {code})")
    return text


def tree(folder: str) -> None:
    """Print the files of a folder, and the folders that have none."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() or not any(path.iterdir()):
            print(f"  {path.as_posix()}{'' if path.is_file() else '/'}")
