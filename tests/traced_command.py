"""Runs ``rag-eval`` and counts what a reader of the command has to know, as a JSON object in a file.

``python traced_command.py COUNTS ARGUMENTS…``. ``files``: files of the package in which a function ran.
``lines``: lines of code in the functions that ran, without docstrings and comments. ``frames``: functions of
the package on the stack when a metric is computed. What runs while a module is imported does not count.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import rag_evaluation_framework
from rag_evaluation_framework.cli.main import main

ROOT = f"{Path(rag_evaluation_framework.__file__).parent}/"
NOT_A_METRIC = ("metrics/declaration.py", "metrics/views.py")


class Trace:
    """The functions of the package that ran, and how deep a metric lay."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.frames = 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT) or code.co_name == "<module>":
            return
        stack = [each.f_code for each in _frames_of_package(frame)]
        if any(each.co_name == "<module>" for each in stack):
            return
        self.functions.add(code)
        place = code.co_filename.removeprefix(ROOT)
        if place.startswith("metrics/") and place not in NOT_A_METRIC:
            self.frames = max(self.frames, len(stack))

    def counts(self) -> dict[str, object]:
        lines: dict[str, set[int]] = defaultdict(set)
        for code in self.functions:
            place = code.co_filename.removeprefix(ROOT)
            lines[place].update(line for _, _, line in code.co_lines() if line)
        total = sum(map(len, lines.values()))
        return {"files": sorted(lines), "lines": total, "frames": self.frames}


def _frames_of_package(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT):
            yield frame
        frame = frame.f_back


if __name__ == "__main__":
    counts, *arguments = sys.argv[1:]
    sys.argv = ["rag-eval", *arguments]
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        main()
    finally:
        sys.setprofile(None)
        Path(counts).write_text(json.dumps(trace.counts()), encoding="utf-8")
