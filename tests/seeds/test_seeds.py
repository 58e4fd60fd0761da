"""Everything the seed documents name, run for real."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from following import memory, ran
from promises import Promise, seeds

import rag_evaluation_framework as door
from cases import FERRIES

ROOT = Path(__file__).parents[2]


class Done(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def shell(line: str) -> Done:
    """Run a command line of a seed."""
    out, err = memory(), memory()
    code = ran(line, out, err)
    told = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Done(code, *told)


def ok(line: str) -> Done:
    done = shell(line)
    assert done.code == 0, done.err
    return done


def lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write(path: str | Path, content: Any) -> Path:
    """Write a text, a list as JSON lines, or anything else as JSON."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list) and place.suffix == ".jsonl":
        content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    place.write_text(text, encoding="utf-8")
    return place


def documents() -> None:
    write("knowledge_base/ferries.md", FERRIES)


def built() -> None:
    """A project of seed 004, with its raw records and splits."""
    write("documents/ferries.md", FERRIES)
    config = (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    write("configs/default.yaml", config.replace("examples/handbook/documents", "documents"))
    ok("python scripts/generate_offline_dataset.py")
    ok("python scripts/build_evaluation_dataset.py --config configs/default.yaml")


def started() -> None:
    """A new project."""
    ok("rag-eval init")


GIVEN: dict[str, Callable[[], None]] = {"documents": documents, "built": built, "started": started}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], None]:
    """Copy a folder as it is given; each is made once."""
    made: dict[str, Path] = {}

    def copy(name: str, place: Path) -> None:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            here = Path.cwd()
            os.chdir(made[name])
            try:
                GIVEN[name]()
            finally:
                os.chdir(here)
        shutil.copytree(made[name], place, dirs_exist_ok=True)

    return copy


class Names(dict[str, Any]):
    """What the code of an entry may name: the front door's names, and the helpers above."""

    def __missing__(self, name: str) -> Any:
        if name in door.__all__:
            return getattr(door, name)
        raise KeyError(name)


def parameters() -> Iterator[Any]:
    for seed in seeds():
        for number, promise in enumerate(seed.promises, start=1):
            marks = [pytest.mark.xfail(reason=promise.due, strict=True)] if promise.due else []
            yield pytest.param(promise, id=f"{seed.number}-{number:03}", marks=marks)


@pytest.mark.parametrize("promise", list(parameters()))
def test_what_a_seed_promises_is_kept(
    promise: Promise,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folders: Callable[[str, Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "OPENAI_API_KEY", "CO_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if promise.given:
        folders(promise.given, tmp_path)
    monkeypatch.chdir(tmp_path)
    helpers = (shell, ok, lines, write)
    names = Names({helper.__name__: helper for helper in helpers})
    names |= {
        "json": json,
        "Path": Path,
        "pytest": pytest,
        "monkeypatch": monkeypatch,
        "capsys": capsys,
        "tmp_path": tmp_path,
        "ROOT": ROOT,
        "DOCUMENT": FERRIES,
    }
    # A class body or a function looks names up in the globals, which do not ask ``__missing__``.
    names.update({name: getattr(door, name) for name in door.__all__ if name in promise.before + promise.run})
    exec(compile(promise.before + "\n" + promise.run, promise.what, "exec"), names)


def test_an_entry_says_what_is_promised_once_and_how_it_differs() -> None:
    for seed in seeds():
        told = [(promise.section, promise.what) for promise in seed.promises]
        assert len(set(told)) == len(told)
        for promise in seed.promises:
            assert "assert" in promise.run or "ok(" in promise.run or "raises" in promise.run, promise.what
            assert not (promise.settled and promise.due), promise.what
            assert "|" not in promise.what.replace("\\|", ""), promise.what
