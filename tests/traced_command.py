"""Runs ``rag-eval`` and writes, one a line, the files of the package in which a function ran.

``python traced_command.py LISTING ARGUMENTS…``. What runs while a module is imported counts if it is the body
of a function, as of a decorator; the bodies of modules and classes, and comprehensions in them, do not.
"""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

import rag_evaluation_framework

ROOT = str(Path(rag_evaluation_framework.__file__).parent) + "/"
COMPREHENSIONS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


def main() -> None:
    ran: set[str] = set()
    seen: dict[int, CodeType] = {}

    def called(frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if id(code) in seen:
            return
        seen[id(code)] = code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in COMPREHENSIONS
        if is_function and code.co_filename.startswith(ROOT):
            ran.add(code.co_filename.removeprefix(ROOT))

    listing, *arguments = sys.argv[1:]
    sys.argv = ["rag-eval", *arguments]
    threading.settrace(called)  # type: ignore[arg-type]
    sys.settrace(called)  # type: ignore[arg-type]
    try:
        from rag_evaluation_framework.cli.main import main

        main()
    finally:
        sys.settrace(None)
        Path(listing).write_text("".join(f"{name}\n" for name in sorted(ran)), encoding="utf-8")


if __name__ == "__main__":
    main()
