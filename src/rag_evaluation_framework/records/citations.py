"""The three ways in which an answer points at its sources. They are never mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.spans import check_range


@dataclass(frozen=True, slots=True)
class SpanCitation:
    """The characters ``[start, end)`` of a file, or of one page of it.

    ``extra`` keeps what else a file said of it, so that writing it back loses nothing.
    """

    file: str
    start: int
    end: int
    page: int | None = None
    text: str | None = None
    confidence: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_file(self.file)
        check_range(self.start, self.end)
        if self.page is not None and (not isinstance(self.page, int) or isinstance(self.page, bool)):
            raise invalid("page", "a whole number", self.page)
        confidence = self.confidence
        if confidence is not None and not (isinstance(confidence, int | float) and 0 <= confidence <= 1):
            raise invalid("confidence", "a number from 0 to 1", confidence)


@dataclass(frozen=True, slots=True)
class TokenSpanCitation:
    """The tokens ``[start, end)`` of a file, counted by the named tokenizer."""

    file: str
    start: int
    end: int
    tokenizer: str

    def __post_init__(self) -> None:
        _check_file(self.file)
        check_range(self.start, self.end)


@dataclass(frozen=True, slots=True)
class ContextCitation:
    """A numbered context shown to the model: ``[2]`` is the second one."""

    number: int

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or isinstance(self.number, bool) or self.number < 1:
            raise invalid("number", "a whole number of at least 1", self.number)


Citation: TypeAlias = SpanCitation | TokenSpanCitation | ContextCitation


def _check_file(file: object) -> None:
    if not isinstance(file, str) or not file:
        raise invalid("file", "a file name", file)
