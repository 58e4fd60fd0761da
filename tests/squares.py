"""Work that other processes do in tests: light to import, so that they start at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Sequence
from pathlib import Path

from rag_evaluation_framework.errors import invalid


class Squares:
    """Squares numbers and says where it did so; some of them make it fail or end its process.

    Where it is given a folder, it leaves a mark there for each time that a number was begun; those at which
    it ``dies`` kill its process the first time.
    """

    def __init__(
        self,
        *,
        fails: int | None = None,
        ends: int | None = None,
        marks: Path | None = None,
        dies: Collection[int] = (),
    ) -> None:
        self.fails, self.ends, self.marks, self.dies = fails, ends, marks, dies

    def __call__(self, number: int) -> tuple[int, int]:
        if self.marks is not None:
            with (self.marks / str(number)).open("a") as file:
                file.write("x")
            if number in self.dies and (self.marks / str(number)).stat().st_size == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        if number == self.fails:
            raise invalid("number", "one that can be squared", number)
        if number == self.ends:
            os._exit(9)
        return number * number, os.getpid()

    def name_of(self, number: int) -> str:
        return f"number {number}"


class Lengths:
    """Embeds texts by their lengths; leaves a mark in a folder each time that its model is loaded."""

    engines = ("processes", "ray")

    def __init__(self, marks: Path) -> None:
        self.marks = marks
        self._model: list[float] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {"marks": self.marks, "_model": None}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._model is None:
            self._model = [1.0]
            with (self.marks / str(os.getpid())).open("a") as file:
                file.write("x")
        return [[len(text) + 1.0, *self._model] for text in texts]


def process_of(question: str) -> str:
    """Answer with the process that answers; a question without a number cannot be answered."""
    if not any(map(str.isdigit, question)):
        raise ValueError(question)
    return f"{os.getpid()}"
