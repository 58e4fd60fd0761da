"""No command waits for a pipe, reads a device, or lets a file of any kind eat the memory; each says why.

Every way in which a command is given a file is tried with everything that may lie there, in one process
whose memory is watched. Every command is given wrong files, wrong options and what does not go together:
exit code 2, one to three lines that say what to do, and no traceback.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

from cases import tables_beside
from command_lines import Command, rag_eval
from peak_memory import PEAK_SOURCE
from rag_evaluation_framework.cli.main import main, program
from rag_evaluation_framework.files.access import compress
from sizes import size

LINES: list[str] = tables_beside(__file__)["command_lines"]
SOUND_LINES = {line.split()[0]: line.split() for line in tables_beside(__file__)["sound_lines"]}
EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_KIB = 300 << 10
SECONDS = 400
# More than a line may have.
LONG = size(72, 200) << 20

PROGRAM = f"""{PEAK_SOURCE}
import contextlib, io, json, os, sys, traceback
from rag_evaluation_framework.cli.main import main
for folder, line in json.load(sys.stdin):
    os.chdir(folder)
    said, code = io.StringIO(), "no end"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(line)
        except SystemExit as end:
            code = end.code
        except BaseException:
            said.write(traceback.format_exc())
    print(json.dumps([code, said.getvalue(), peak_kib()]), flush=True)
"""


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    """Leave nothing there."""


def a_long_line(path: Path) -> None:
    """A record whose text is so long; the disk holds it as a hole."""
    with path.open("wb") as file:
        file.write(b'{"input": "')
        file.truncate(LONG)


def a_long_row(path: Path) -> None:
    """A line of columns, the third of them so long."""
    with path.open("wb") as file:
        file.write(b"user_input,response\nq1 Q0 ")
        file.truncate(LONG)


def a_gzip_bomb(path: Path) -> None:
    member = gzip.compress(b'{"input": "%s?", "expected": "that"}\n' % (b"w" * 1_000) * 3_000)
    path.write_bytes(member * 96)


def a_zstandard_bomb(path: Path) -> None:
    path.write_bytes(compress(b'[{"input": "what?"}\n' + b" " * LONG, "zstd"))


def a_parquet_bomb(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, pyarrow.int32()), ["x" * (4 << 20)])
    parquet.write_table(pyarrow.table({"user_input": rows, "response": rows}), path, compression="zstd")


def an_hdf5_bomb(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name in ("head", "columns/0/bytes", "columns/0/ends"):
            file.create_dataset(name, (4 << 30,), "u1", chunks=(1 << 26,), compression="gzip", fillvalue=32)


CHEAP = (a_pipe, a_device, a_folder, nothing)
DEAR = (a_long_line, a_long_row, a_gzip_bomb, a_zstandard_bomb, a_parquet_bomb, an_hdf5_bomb)
"""Made once for all commands."""
NEEDS = {a_parquet_bomb: "pyarrow", an_hdf5_bomb: "h5py"}
HOSTILE = [kind for kind in (*CHEAP, *DEAR) if kind not in NEEDS or find_spec(NEEDS[kind])]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every command of the table would do its work, had it not met something hostile."""
    folder = tmp_path_factory.mktemp("project")
    handbook = EXAMPLES / "handbook"
    shutil.copy(handbook / "questions.eval.json", folder)
    shutil.copy(handbook / "ranking" / "qrels.trec", folder / "qrels")
    shutil.copy(handbook / "ranking" / "bm25.run", folder / "a.run")
    for name in ("documents", "corpus", "folder", "golden"):
        (folder / name).mkdir()
    shutil.copy(EXAMPLES / "golden" / "evaluation" / "datasets" / "factual_qa.json", folder / "golden")
    shutil.copy(handbook / "documents" / "fares.md", folder / "documents")
    sample = {"input": "What is the fare?", "expected": "Five pounds.", "id": "s1"}
    (folder / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    (folder / "answers.jsonl").write_text(json.dumps({"id": "s1", "answer": "Five pounds."}) + "\n")
    (folder / "labels.csv").write_text("query_id,good\ns1,1\n")
    evaluation = {"datasets": [{"name": "fares", "path": "samples.jsonl"}], "metrics": ["string_match"]}
    manifest = {"apiVersion": "agentspec.io/v1", "kind": "AgentSpec", "metadata": {"name": "fares"}}
    (folder / "agent.yaml").write_text(json.dumps({**manifest, "spec": {"evaluation": evaluation}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = rag_eval("evaluate", "agent.yaml", "--target", "answers.jsonl")
        assert done.return_value == 0, done.output
        raw = EXAMPLES / "offline" / "offline_dataset.jsonl"
        done = rag_eval("build", "--offline-dataset", raw, "--manifest-output", "manifest.json")
        assert done.return_value in (0, None), done.output
        (run,) = (path for path in Path("runs").iterdir() if path.is_dir())
        run.rename("runs/old")
    return folder


def set_up(line: str, folder: Path, kind: Callable[[Path], None], *, made: Path) -> list[str]:
    """Put the hostile file where a line wants it; return the arguments."""
    said, _, place = line.partition(" | ")
    hostile = folder / next(word[1:] for word in (place or said).split() if word.startswith("@"))
    hostile.unlink(missing_ok=True)
    if kind in CHEAP:
        kind(hostile)
    else:
        if not made.exists():
            kind(made)
        os.link(made, hostile)
    return [word.removeprefix("@") for word in said.split()]


@pytest.mark.parametrize("kind", HOSTILE, ids=lambda kind: kind.__name__)
def test_what_must_not_be_read_is_refused_by_every_command(
    kind: Callable[[Path], None], project: Path, tmp_path: Path
) -> None:
    commands = []
    for number, line in enumerate(LINES):
        folder = tmp_path / f"{number}"
        shutil.copytree(project, folder, copy_function=os.link)
        commands.append((str(folder), set_up(line, folder, kind, made=tmp_path / "made")))
    # In one process, where only what waits for ever comes to the end of its time.
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        program, input=json.dumps(commands), stdout=subprocess.PIPE, text=True, timeout=SECONDS
    )
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    before = 0
    for line, (code, said, peak) in zip(LINES, ended, strict=True):
        # A run without a journal or a list of samples is one that was not begun.
        not_begun = kind is nothing and "@runs" in line and code == 3
        assert code == 2 or not_begun, f"{line}: {code}\n{said}"
        assert "Traceback" not in said, line
        assert peak < MOST_KIB, f"{line}: {before:,} to {peak:,} KiB"
        before = peak


ASKED = '{"input": "登塔多少钱？", "expected": "六镑"}\n'
WRONG_FILES: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "cut off": b'[{"input": "what is it?", "expected": "th',
    "GBK": ASKED.encode("gbk"),
    "UTF-16": ASKED.encode("utf-16"),
    "unsound YAML": b"spec: [\n  - a: : b\n\t}",
    "an unknown key": b'{"speling": 1}\n',
    "another kind of value": b'"input"\n',
    "a misspelt field": b'{"inptu": "what?", "expcted": "that"}\n',
    "deeply nested": b"[" * 100_000,
    "not a number": b'{"input": NaN, "expected": "x"}\n',
    "the same key twice": b'{"input": "a", "input": "b", "expected": "x"}\n',
    "a huge number": b'{"input": ' + b"9" * 5000 + b"}\n",
    "half a character": b'{"input": "\\ud800", "expected": "x"}\n',
    "a zero byte": b'{"input": "a\0b", "expected": "x"}\n',
    "a damaged gzip": gzip.compress(b'{"input": "a"}\n' * 99)[:40],
    "a damaged Zstandard": compress(b'{"input": "a"}\n' * 99, "zstd")[:12],
    "a web page": b"<!doctype html>\n<title>Sign in</title>\n",
    "wrong in every line": b'{"input": 7}\n' * 150,
}
# A run without a journal is one that was not begun; settings may have keys of their own.
SOUND = {("empty", "@runs/old/journal.jsonl"), ("an unknown key", "@bad.config.yaml")}
# What to do: what was expected, what there is, what to give or to look at.
TELLS = re.compile(
    r"expected|did you mean|there (?:is|are) |available: |the rows have|missing|needed|"
    r"--\w|rag-eval \w|give |choose |invalid [JY]",
    re.I,
)


def told(error: str) -> str:
    """Return what a command says, checked: one to three lines that say what to do."""
    lines = [line for line in error.splitlines() if "questions are made by rules" not in line]
    assert 1 <= len(lines) <= 3, error
    assert "Traceback" not in error
    assert TELLS.search(error), error
    return error


@pytest.mark.parametrize("kind", WRONG_FILES)
def test_a_wrong_file_is_told_in_one_to_three_lines(
    kind: str, project: Path, tmp_path: Path, to_the_end: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    for line in LINES:
        said, _, place = line.partition(" | ")
        name, word = said.split()[0], next(each for each in (place or said).split() if each.startswith("@"))
        if name in seen and not place:  # one line a command, and what it meets by itself
            continue
        seen.add(name)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(project, folder, copy_function=os.link)
        (folder / word[1:]).unlink(missing_ok=True)
        (folder / word[1:]).write_bytes(WRONG_FILES[kind])
        monkeypatch.chdir(folder)
        ended = to_the_end(main, *(each.removeprefix("@") for each in said.split()))
        if (kind, word) in SOUND:
            assert ended.code in (0, 3)
        elif name == "validate":
            assert ended.code == 2, (line, ended)
        else:
            assert ended.code == 2, (line, ended)
            assert ended.out == ""
            told(ended.err)


def test_every_command_has_a_sound_line() -> None:
    assert set(program.list_commands(click.Context(program))) == SOUND_LINES.keys()


BY_NAME = {"--metric": "faithfullness", "--map": "answer"} | dict.fromkeys(
    ("--resume", "--baseline", "--format", "--from", "--to", "--embedder", "--chunker", "--store"), "nothing"
)


OUTPUTS = ("out", "output", "junit", "markdown", "write")


def wrong_options(command: click.Command) -> Iterator[list[str]]:
    """Yield what is wrong with the options of a command, each kind of option once."""
    yield ["--nothing"]
    yield ["--widht", "80"]
    yield ["--width"]
    kinds: set[Any] = set()
    for option in (each for each in command.params if isinstance(each, click.Option) and not each.is_flag):
        name, kind = max(option.opts, key=len), option.type
        if isinstance(kind, click.IntRange | click.FloatRange) and (key := type(kind)) not in kinds:
            kinds.add(key)
            yield from ([name, wrong] for wrong in ("many", "-1", "", "9" * 5000, "nan"))
        elif isinstance(kind, click.Choice) and click.Choice not in kinds:
            kinds.add(click.Choice)
            yield [name, "nothing"]
        elif isinstance(kind, click.Path) and (key := (click.Path, kind.exists)) not in kinds:
            kinds.add(key)
            if kind.exists:
                yield [name, "nowhere/nothing.json"]
                yield from [[name, "agent.yaml"]] if not kind.file_okay else []
                yield from [[name, "documents"]] if not kind.dir_okay else []
            elif option.name in OUTPUTS:
                yield [name, "agent.yaml/below/new.json"]
                yield [name, "documents"]
        elif name in BY_NAME:
            yield [name, BY_NAME[name]]


@pytest.mark.parametrize("name", SOUND_LINES)
def test_a_wrong_option_is_told_in_one_to_three_lines(
    name: str, project: Path, to_the_end: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    command = program.get_command(click.Context(program), name)
    assert command is not None
    line, arguments = SOUND_LINES[name], [each for each in command.params if isinstance(each, click.Argument)]
    tried = [] if isinstance(command, click.Group) else [[*line, *each] for each in wrong_options(command)]
    tried += [[name]] if any(each.required for each in arguments) else []
    tried += [[*line, "surplus", "surplus"]] if all(each.nargs > 0 for each in arguments) else []
    if any("RUN" in each.human_readable_name for each in arguments):
        tried.append([name, "nothing_001", *(["nothing_002"] if name == "merge" else [])])
    for each in tried:
        ended = to_the_end(main, *each)
        assert (ended.code, ended.out) == (2, ""), (each, ended)
        told(ended.err)


@pytest.mark.parametrize("line", tables_beside(__file__)["contradictions"])
def test_what_does_not_go_together_is_told_in_one_to_three_lines(
    line: str, project: Path, to_the_end: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    ended = to_the_end(main, *line.split())
    assert (ended.code, ended.out) == (2, ""), ended
    told(ended.err)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
