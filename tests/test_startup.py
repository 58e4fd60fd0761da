"""Records that are made late are those of Python's own ``dataclass``, and late patterns those of ``re``."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rag_evaluation_framework.startup import dataclass, field, late_pattern


def _records(made_by: Callable[..., Any]) -> list[type[Any]]:
    @made_by(frozen=True, slots=True, kw_only=True)
    class Asked:
        """With a check, a field that nobody gives, and one that is not hashed."""

        value: int
        name: str = "a"
        details: dict[str, int] = field(default_factory=dict, hash=False)
        kind: str = field(default="rows", init=False)

        def __post_init__(self) -> None:
            if self.value < 0:
                raise ValueError("below 0")

    @made_by(frozen=True, slots=True)
    class Pair:
        """By place and by name."""

        value: int
        others: tuple[int, ...] = ()

    @made_by(slots=True)
    class Tally:
        """That may be changed."""

        value: int = 0
        found: list[int] = field(default_factory=list)

    @made_by(frozen=True, eq=False)
    class Handle:
        """That is equal to itself alone."""

        value: int

    @made_by
    class Loose:
        """One field that is neither shown nor compared, and words of its own for itself."""

        value: int = field(default=3, repr=False, compare=False)

        def __repr__(self) -> str:
            return "Loose"

    return [Asked, Pair, Tally, Handle, Loose]


PAIRS = list(zip(_records(dataclasses.dataclass), _records(dataclass), strict=True))


def outcome(call: Callable[[], object]) -> str:
    """Say what a call returns or raises, in words that do not depend on where the record was defined."""
    try:
        told = repr(call())
    except Exception as error:  # noqa: BLE001 - whatever one raises, the other raises too
        told = f"{type(error).__name__}: {error}"
    return told


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda each: each.__name__)
def test_a_record_behaves_as_one_of_python_s_own(theirs: Any, ours: Any) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda made: str(inspect.signature(made)),
        lambda made: made.__match_args__,
        lambda made: [(each.name, each.type, each.init, each.kw_only) for each in dataclasses.fields(made)],
        lambda made: made.__dataclass_params__,
        lambda made: made(value=1),
        lambda made: made(value=-1),
        lambda made: made(1, (2,)),
        lambda made: made(),
        lambda made: made(nothing=1),
        lambda made: made(value=1) == made(value=1),
        lambda made: made(value=1) == made(value=2),
        lambda made: made(value=1) == 1,
        lambda made: made.__hash__ is object.__hash__ or hash(made(value=1)),
        lambda made: setattr(made(value=1), "value", 2),
        lambda made: delattr(made(value=1), "value"),
        lambda made: copy.copy(made(value=1)),
        lambda made: dataclasses.replace(made(value=1), value=2),
        lambda made: dataclasses.asdict(made(value=1)),
    ]
    for call in calls:
        assert outcome(lambda each=call: each(ours)) == outcome(lambda each=call: each(theirs))


@dataclass(frozen=True, slots=True)
class Sent:
    """A record that is sent to another process."""

    value: int
    texts: tuple[str, ...] = ()


def test_a_record_is_the_same_after_it_was_sent() -> None:
    assert pickle.loads(pickle.dumps(Sent(1, ("a",)))) == Sent(1, ("a",))


@dataclass(frozen=True, slots=True)
class More(Sent):
    """A record that inherits from another."""

    weight: float = 0.0


def test_a_record_may_inherit_from_another() -> None:
    assert More(1, ("a",), 0.5) == More(1, ("a",), 0.5) != Sent(1, ("a",))
    assert [each.name for each in dataclasses.fields(More)] == ["value", "texts", "weight"]


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
def test_a_program_ends_without_a_search_for_garbage_unless_a_library_counts_it(
    loaded: str, kept: str
) -> None:
    program = f"""
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from rag_evaluation_framework.startup import collect_seldom
collect_seldom()
{loaded}"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (kept, "")
