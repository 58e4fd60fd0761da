"""Patterns that are made late are those of ``re``; records are copied and written as dataclasses are."""

from __future__ import annotations

import dataclasses
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.structs import asdict, replace


class Inner(msgspec.Struct, frozen=True):
    """A record within others."""

    path: Path
    names: tuple[str, ...] = ()


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """A record of msgspec."""

    inner: Inner
    several: Mapping[str, list[Inner]] = {}
    value: int = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plain:
    """The same as a dataclass."""

    inner: Inner
    several: Mapping[str, list[Inner]] = dataclasses.field(default_factory=dict)
    value: int = 3


@pytest.mark.parametrize("kind", [Struct, Plain])
def test_record_is_copied_and_written_whatever_made_it(kind: Any) -> None:
    inner = Inner(Path("a"), ("b",))
    record = kind(inner=inner, several={"c": [inner]})
    assert replace(record, value=4) == kind(inner=inner, several={"c": [inner]}, value=4) != record
    written = {"path": "a", "names": ("b",)}
    assert asdict(record) == {"inner": written, "several": {"c": [written]}, "value": 3}
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises(AttributeError):
        record.value = 5


def test_a_late_pattern_finds_what_a_pattern_finds() -> None:
    late, own = (
        late_pattern(r"(?P<word>[a-z]+)", re.IGNORECASE),
        re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE),
    )
    assert late.pattern == own.pattern
    assert late.findall("One two") == late.findall("One two") == own.findall("One two") == ["One", "two"]
    assert late.sub("x", "One two") == own.sub("x", "One two")


OF_NANOBIND = """
import importlib.machinery, types
library = sys.modules["library"] = types.ModuleType("library")
library.__file__ = f"library{importlib.machinery.EXTENSION_SUFFIXES[0]}"
library.function = type("nb_func", (), {"__module__": "nanobind"})()
"""


@pytest.mark.parametrize(("loaded", "kept"), [("", "True"), (OF_NANOBIND, "False")])
def test_a_program_ends_without_garbage_collection_unless_a_library_counts(loaded: str, kept: str) -> None:
    program = f"""
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from rag_evaluation_framework.startup import collect_seldom
collect_seldom()
{loaded}"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (kept, "")
