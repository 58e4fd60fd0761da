"""What a long command is doing, as one live line on a terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TextIO

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.tables import text_width

_ERASE_LINE = "\r\x1b[2K"


class StepLine:
    """Shows the step that is going on, and how many texts were embedded so far."""

    def __init__(
        self, stream: TextIO, *, columns: Callable[[], int] = lambda: shutil.get_terminal_size().columns
    ) -> None:
        self._stream, self._columns = stream, columns
        self._step = ""
        self._texts = 0

    def step(self, step: str) -> None:
        """Show the next step."""
        self._step = step
        self._show()

    def texts(self, count: int) -> None:
        """Count texts that were embedded."""
        self._texts += count
        self._show()

    def finish(self) -> None:
        """Take the line away."""
        self._stream.write(_ERASE_LINE)
        self._stream.flush()

    def _show(self) -> None:
        text = f"{self._step}; {counted(self._texts, 'text')} embedded" if self._texts else self._step
        while text and text_width(text) >= max(self._columns(), 2):
            text = text[:-1]
        self._stream.write(_ERASE_LINE + text)
        self._stream.flush()
