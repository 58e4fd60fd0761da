"""The problems of one file, collected so that a user hears of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError

MAX_ISSUES = 100
"""Of a file with more problems than this, the first are shown and the rest counted."""


class FileProblems:
    """Collects the issues of one file in bounded memory: the first are kept, the rest counted.

    >>> problems = FileProblems("rag.jsonl")
    >>> problems.add(Issue("wrong-type", "text", "5", "input", line=3))
    >>> problems.raise_if_any()
    Traceback (most recent call last):
    ...
    rag_evaluation_framework.errors.InputError: rag.jsonl:3: input: expected text, got 5
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._issues: list[Issue] = []
        self._more = 0
        self._limit_exceeded = False

    @property
    def has_issues(self) -> bool:
        return bool(self._issues)

    def add(self, issue: Issue) -> None:
        """Keep an issue, with this file's name."""
        if len(self._issues) < MAX_ISSUES:
            self._issues.append(issue.located(self.file))
        else:
            self._more += 1

    def extend(self, issues: Iterable[Issue], *, place: Callable[[Issue], Issue] | None = None) -> None:
        """Keep several issues; ``place``, which may be slow, is asked only for those that are shown."""
        for issue in issues:
            if place is not None and len(self._issues) < MAX_ISSUES:
                issue = place(issue)
            self.add(issue)

    def take(self, error: InputError) -> None:
        """Keep the issues of an error, and remember whether a limit was passed."""
        self._limit_exceeded |= isinstance(error, LimitExceededError)
        self.extend(error.issues)

    def raise_if_any(self) -> None:
        """Raise one error with every issue, or do nothing when there is none."""
        if not self._issues:
            return
        issues = list(self._issues)
        if self._more:
            found = counted(self._more, "more problem")
            issues.append(Issue("too-many", f"at most {MAX_ISSUES} problems to show", found, file=self.file))
        raise (LimitExceededError if self._limit_exceeded else InputError)(issues)
