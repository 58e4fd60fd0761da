"""Work that other processes do in tests: light to import, so that they start at once."""

from __future__ import annotations

import os

from rag_evaluation_framework.errors import invalid


class Squares:
    """Squares numbers and says where it did so; some of them make it fail or end its process."""

    def __init__(self, *, fails: int | None = None, ends: int | None = None) -> None:
        self.fails, self.ends = fails, ends

    def __call__(self, number: int) -> tuple[int, int]:
        if number == self.fails:
            raise invalid("number", "one that can be squared", number)
        if number == self.ends:
            os._exit(9)
        return number * number, os.getpid()

    def name_of(self, number: int) -> str:
        return f"number {number}"
