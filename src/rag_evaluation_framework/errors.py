"""Every exception; Location, Issue, Problems; `counted`, `shown`; the disk's refusals in one line.

::

    RagEvalError                 everything this package raises on purpose
    ├── InputError               data that is not as it must be: carries every Issue found
    │   └── LimitExceededError   input larger, deeper or more compressed than the limits allow
    ├── UsageError               a call, a name or an option that makes no sense
    │   ├── UnknownNameError     no such metric, chunker, command …: the nearest names are offered
    │   └── MissingKeyError      a service asks for a key that the environment does not have
    ├── MissingDatasetError      no dataset, or ground truth, of this id and version in the folder
    ├── MissingResultsError      no results of this id in the folder
    ├── MissingExtraError        an optional dependency is not installed: says what to install
    ├── StorageError             the disk refused (full, read-only, gone); the old file is untouched
    ├── WorkerError              a worker process ended before its work was done
    ├── TargetError              the system under test gave no answer: kind, and whether to try again
    └── ModelError               a judge or generator gave nothing that can be used: kind
        └── ModelOutageError     its endpoint is down, or refuses access

Low code raises with the field alone; the reader that knows the file and line adds them once, with
:meth:`InputError.located`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from errno import EDQUOT, EISDIR, ENOENT, ENOSPC
from pathlib import Path
from typing import Any, Literal, TypeVar

from rag_evaluation_framework.version import FORMAT_VERSION

T = TypeVar("T")
R = TypeVar("R")

Severity = Literal["error", "warning", "info"]

_SHOWN_CHARACTERS = 60
_BRIEF_CHARACTERS = 500


def shown(value: object) -> str:
    """Write a value for an error message: its ``repr``, cut when it is long."""
    try:
        return _cut(repr(value), _SHOWN_CHARACTERS)
    except Exception:  # noqa: BLE001 - anyone's class may raise anything; so do long integers
        return f"a value of type {type(value).__name__} without a text form"


def described(error: BaseException, *, mask: Callable[[str], str] = str) -> str:
    """Name somebody else's exception by type and message, in :func:`brief`; ``mask`` hides secrets first."""
    return brief(mask(in_full(error)))


def in_full(error: BaseException) -> str:
    """Name somebody else's exception by type and message, uncut: a secret in it can still be found whole."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - anyone's message may raise anything; its type still tells
        return name
    return f"{name}: {message}" if message.strip() else name


def brief(text: str) -> str:
    """Return a text on one line, cut when it is long; hide secrets first, since half of one is not found."""
    return _cut(" ".join(text.split()), _BRIEF_CHARACTERS)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the input: ``evals/rag.jsonl:17: citations[0].end_char``; unknown parts are left out."""

    file: str | None = None
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.field) if part)


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem in the input: the expected value, the value found, and the place.

    Args:
        code: Stable code for programs, such as ``missing-field``.
        expected: Phrase after "expected".
        found: Phrase after "got".
        path: Path of the field.
        severity: ``error`` or ``warning``.
        file: File with the problem.
        line: Line in the file.

    Example:
        >>> from rag_evaluation_framework import Issue
        >>> str(Issue("wrong-type", "a list", "text", path="contexts", file="rows.jsonl", line=3))
        'rows.jsonl:3: contexts: expected a list, got text'
    """

    code: str
    expected: str
    found: str
    path: str = ""
    severity: Severity = "error"
    file: str | None = None
    line: int | None = None

    @property
    def location(self) -> Location:
        return Location(self.file, self.line, self.path)

    def located(self, file: str | None = None, line: int | None = None, within: str = "") -> Issue:
        """Return this issue with the file, line and enclosing path that were not known where it arose."""
        if within and self.path:
            path = f"{within}{self.path}" if self.path.startswith("[") else f"{within}.{self.path}"
        else:
            path = within or self.path
        return replace(
            self,
            path=path,
            file=file if self.file is None else self.file,
            line=line if self.line is None else self.line,
        )

    @property
    def place(self) -> str:
        """File and line, as far as they are known."""
        return str(Location(self.file, self.line))

    @property
    def sentence(self) -> str:
        """Return the problem as a sentence; "expected …, got …" where no better one is known."""
        expected, found = self.expected, self.found
        within = self.path.removesuffix(found).rstrip(".") or "the file"
        if self.code == "missing-field" and self.path and found.startswith("nothing"):
            return f'"{self.path}" is missing{found.removeprefix("nothing")}'
        if self.code == "yaml-syntax" and expected == "valid YAML":
            return f"invalid YAML: {found}"
        if self.code in ("unreadable", "unreadable-file"):
            return found
        if self.code == "too-many":
            return f"and {found}"
        if self.code == "json-syntax":
            return f"invalid JSON: expected {expected}, got {found}"
        if self.code == "misspelt-key":
            near = quoted(expected.removeprefix("the key "))
            return f"unknown key {quoted(found)} in {within}. Did you mean {near}?"
        if self.code == "misspelt-field":
            return f"{self.path}: unknown field. Did you mean {expected}?"
        if self.code == "unknown-key":
            return f"unknown key {quoted(found)} in {within}. Known keys: {expected.removeprefix('one of ')}."
        if self.code in _TOLD_BY_THEMSELVES:
            return found
        if self.path and found == "nothing":
            return f'"{self.path}" is missing; expected {expected}'
        return ": ".join(filter(None, (self.path, f"expected {expected}, got {found}")))

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.place, self.sentence)))


_TOLD_BY_THEMSELVES = frozenset({"unknown-metric", "unavailable-metric", "unknown-split", "two-answers"})
"""Issues whose ``found`` is the sentence."""


class RagEvalError(Exception):
    """The base class of all errors that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts from which another process rebuilds the error, for every subclass."""
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind: type[RagEvalError], args: tuple[Any, ...], state: Mapping[str, Any]) -> RagEvalError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(RagEvalError, ValueError):
    """An error in the data. ``issues`` has every problem found, in reading order.

    Args:
        issues: The problems.

    Example:
        >>> from rag_evaluation_framework import InputError, Refusal, SpanCitation
        >>> try:
        ...     SpanCitation("rome.md", 9, 3)
        ... except InputError as error:
        ...     print(len(error.issues))
        1
    """

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues: tuple[Issue, ...] = tuple(issues)
        super().__init__("\n".join(map(str, self.issues)))

    def located(self, file: str | None = None, line: int | None = None, within: str = "") -> InputError:
        """Return the same error with the place added to every issue that lacks it."""
        return type(self)(issue.located(file, line, within) for issue in self.issues)


class LimitExceededError(InputError):
    """Input that is larger, deeper or more compressed than the limits allow."""


class UsageError(RagEvalError, ValueError):
    """An error in a call: an argument, a name or an option is wrong.

    Example:
        >>> from rag_evaluation_framework import UsageError, evaluate
        >>> try:
        ...     evaluate([{"question": "?", "answer": "4"}], metrics=["exact_mach"])
        ... except UsageError as error:
        ...     print("exact_match" in str(error))
        True
    """


class UnknownNameError(UsageError):
    """No such name; the message offers the nearest ones, or says which command lists them all."""

    def __init__(
        self, kind: str, name: str, known: Sequence[str], listed_by: str = "", meant: str | None = None
    ) -> None:
        self.kind, self.name, self.known, self.listed_by = kind, name, tuple(known), listed_by
        nearest = [meant] if meant else _nearest(name, self.known)
        hints = []
        if nearest:
            hints.append(f"Did you mean {' or '.join(map(quoted, nearest))}?")
        elif self.known and not listed_by:
            hints.append(f"Available: {_named(sorted(self.known))}.")
        elif not self.known:
            hints.append("None are available.")
        if listed_by:
            hints.append(f"List all: {listed_by}")
        super().__init__(" ".join([f"unknown {kind} {quoted(name)}.", *hints]))


_ALIKE = 0.5
_ALIKE_INSIDE = 0.6  # People seldom mistype the first letter: "nope" is not meant for "inspect".
_NEARLY = 0.15
_NAMED = 30


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that are alike: the nearest, and those that are about as near."""
    near = get_close_matches(name, known, n=3, cutoff=_ALIKE)
    likeness = {each: SequenceMatcher(None, each, name).ratio() for each in near}
    likely = [each for each in near if _begins_alike(name, each) or likeness[each] >= _ALIKE_INSIDE]
    return [each for each in likely if likeness[each] >= likeness[likely[0]] - _NEARLY]


def _begins_alike(name: str, known: str) -> bool:
    return name[:1].casefold() == known[:1].casefold() or name in known or known in name


def _named(names: Sequence[str]) -> str:
    """Join names as a sentence does; of many, the first."""
    first, more = names[:_NAMED], len(names) - _NAMED
    last = f"{more:,} more" if more > 0 else first[-1]
    return " and ".join(filter(None, [", ".join(first if more > 0 else first[:-1]), last]))


def quoted(name: str) -> str:
    """Write a name that somebody typed, in double quotes, cut when it is long."""
    return f'"{_cut(repr(str(name))[1:-1], _SHOWN_CHARACTERS)}"'


class MissingKeyError(UsageError):
    """A model's service asks for a key, and the environment has none; ``option`` names another variable."""

    def __init__(self, model: str, variable: str, option: str | None = "key_env") -> None:
        self.model, self.variable, self.option = model, variable, option
        other = f", or name another variable with {option}" if option else ""
        super().__init__(f"{model} needs an API key. Set {variable}{other}.")


class MissingDatasetError(RagEvalError, FileNotFoundError):
    """No dataset, or no ground truth, of this id and version in the folder."""


class MissingResultsError(RagEvalError, FileNotFoundError):
    """No results of this id in the folder."""


class MissingExtraError(RagEvalError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature, self.extra = feature, extra
        super().__init__(f"{feature} needs an extra: pip install 'rag-evaluation-framework[{extra}]'")


class StorageError(RagEvalError, OSError):
    """The disk refused a read or a write; what was there before is untouched."""


class WorkerError(RagEvalError):
    """A process that worked for this one ended before its work was done."""


class TargetError(RagEvalError):
    """The system under test gave no answer to one attempt.

    ``kind`` is stable and meant for machines (``http-503``, ``timeout``, ``malformed-json``). ``retry`` says
    whether another attempt may help, ``throttled`` that the system asks for less, ``retry_after`` how many
    seconds it asks to be left alone. ``answered`` are the turns of a conversation that were answered before:
    question, answer and contexts of each. Targets give the ``message`` whole: a run shortens it, after
    secrets in it were hidden.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = False,
        throttled: bool = False,
        retry_after: float | None = None,
        answered: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.kind, self.message = kind, message
        self.retry, self.throttled, self.retry_after = retry, throttled, retry_after
        self.answered = tuple(answered)
        super().__init__(f"{kind}: {message}")

    def reworded(self, message: str, *, answered: Sequence[Mapping[str, Any]] | None = None) -> TargetError:
        """Return the same failure with another message, and with other ``answered`` turns if given."""
        return TargetError(
            self.kind,
            message,
            retry=self.retry,
            throttled=self.throttled,
            retry_after=self.retry_after,
            answered=self.answered if answered is None else answered,
        )


class ModelError(RagEvalError):
    """A language model gave nothing that can be used.

    ``kind`` is stable and meant for machines: ``http-503``, ``timeout``, ``refused``, ``truncated``,
    ``not-json``, ``off-schema``, ``ambiguous``, ``no-majority``, ``too-long``.
    """

    _OF_REPLY = frozenset(
        {"not-json", "off-schema", "ambiguous", "truncated", "refused", "no-completion", "no-majority"}
    )
    _OF_QUESTION = frozenset({"too-long", "invalid-request", "http-400", "http-413", "http-414", "http-422"})

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(f"{kind}: {message}")

    @property
    def is_of_endpoint(self) -> bool:
        """Return True if neither question nor reply caused it, so that a later call may succeed."""
        return self.kind not in self._OF_REPLY | self._OF_QUESTION


MAX_COST = "max-cost"
"""The kind of an error that is none of the endpoint's: the next call could pass the cap on what is spent."""
JUDGE_BUDGET = "judge-budget"
"""The kind of another: all calls that the judge may be put have been made."""


class ModelOutageError(ModelError):
    """A language model's endpoint is down or turns everyone away: to ask it more is of no use.

    So is one that may not be asked, since the next call could pass the cap in money (``max-cost``) or is one
    more than the judge may be put (``judge-budget``).
    """

    def describe_role(self, role: str) -> str:
        """Return the cause as a sentence; ``role`` names the model, such as ``judge``."""
        if self.kind in (MAX_COST, JUDGE_BUDGET):
            return self.message
        found = _AT_ADDRESS.fullmatch(self.message)
        if found is None:
            return f"the {role} failed ({self.message})"
        reason = found["reason"].removeprefix("cannot connect: ")
        if self.kind == "connection-failed":
            return f"cannot connect to the {role} at {found['url']} ({reason[:1].lower()}{reason[1:]})"
        if self.kind.startswith("http-4"):
            return f"the {role} at {found['url']} rejected the request ({self.kind}: {reason})"
        return f"the {role} at {found['url']} failed ({self.kind}: {reason})"


_AT_ADDRESS = re.compile(r".*? at (?P<url>\S+?)(?:/chat/completions)?: (?P<reason>.*)", re.DOTALL)


def invalid(path: str, expected: str, found: object, *, code: str = "invalid-value") -> InputError:
    """Return the error for one wrong field; ``found`` is printed as Python spells it."""
    return InputError([Issue(code, expected, shown(found), path)])


class Problems:
    """Collects errors, so that a user hears of all of them at once.

    ``with problems.collected(): …`` keeps an error of ours and goes on, and so does :meth:`each` for every
    item; :meth:`raise_all` ends the matter.
    """

    def __init__(self) -> None:
        self._errors: list[RagEvalError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        try:
            yield
        except RagEvalError as error:
            self._errors.append(error)

    def each(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return what a function makes of each item; the errors of those it refuses are kept."""
        made: list[R] = []
        for item in items:
            with self.collected():
                made.append(function(item))
        return made

    def raise_all(self) -> None:
        """Raise nothing, the one error there is, or one error with a line for each."""
        if len(self._errors) == 1:
            raise self._errors[0]
        inputs = [error for error in self._errors if isinstance(error, InputError)]
        if inputs and len(inputs) == len(self._errors):
            raise InputError(issue for error in inputs for issue in error.issues)
        if self._errors:
            raise UsageError("\n".join(map(str, self._errors)))


# The problems of one file, collected so that a user hears of all of them at once.

MAX_ISSUES = 100
"""Maximum number of problems of a file that are shown; the rest are counted."""


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

    @property
    def is_full(self) -> bool:
        """Return True if further issues are only counted."""
        return len(self._issues) >= MAX_ISSUES

    def count(self) -> None:
        """Count an issue that is not shown, which need not be put in words."""
        self._more += 1

    def add(self, issue: Issue) -> None:
        """Keep an issue, with this file's name."""
        if self.is_full:
            self.count()
        else:
            self._issues.append(issue.located(self.file))

    def extend(self, issues: Iterable[Issue], *, place: Callable[[Issue], Issue] | None = None) -> None:
        """Keep several issues; ``place``, which may be slow, is asked only for those that are shown."""
        for issue in issues:
            if place is not None and not self.is_full:
                issue = place(issue)
            self.add(issue)

    def take(self, error: InputError) -> None:
        """Keep the issues of an error, and remember whether a limit was passed."""
        self._limit_exceeded |= isinstance(error, LimitExceededError)
        self.extend(error.issues)

    @property
    def issues(self) -> list[Issue]:
        """The issues that are kept, and one that says how many more there are."""
        issues = list(self._issues)
        if self._more:
            more = counted(self._more, "more problem")
            issues.append(Issue("too-many", f"at most {MAX_ISSUES} problems", more, file=self.file))
        return issues

    def raise_if_any(self) -> None:
        """Raise one error with every issue, or do nothing when there is none."""
        if self._issues:
            raise (LimitExceededError if self._limit_exceeded else InputError)(self.issues)


# Numbers with what they count.


def checked_count(name: str, value: object, *, at_least: int) -> int:
    """Return a whole number of at least so much; anything else is refused under its name."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise UsageError(f"{name}: expected a whole number of at least {at_least}, got {shown(value)}")
    return value


def check_format(version: object, path: str | Path) -> int:
    """Return the version of a file's format, 1 if it states none; raise for what a later version wrote."""
    known = version if isinstance(version, int) else 1
    if known > FORMAT_VERSION:
        found = f"format {known}; this version reads formats up to {FORMAT_VERSION}"
        update = "Update it: pip install --upgrade rag-evaluation-framework"
        raise UsageError(f"{path} was written by a newer rag-eval ({found}). {update}")
    return known


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with what it counts, and with a verb if that follows.

    >>> counted(1, "file"), counted(2_000, "file"), counted(1, "query is", "queries are")
    ('1 file', '2,000 files', '1 query is')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


# What the operating system refused, in one line that names the file.

_FULL = (ENOSPC, EDQUOT)


def is_disk_full(error: BaseException) -> bool:
    """Return True if the disk or a quota is full: with more space, a retry would work."""
    return isinstance(error, OSError) and error.errno in _FULL


def refused(action: str, path: str | Path, error: OSError | ValueError) -> StorageError:
    """Build the error for an action (``read``, ``write``) that failed; it keeps ``errno`` for callers.

    A ``ValueError`` is what Python raises for a name that holds a NUL.
    """
    number = error.errno if isinstance(error, OSError) else None
    told = f"cannot {action} {path}: {os.strerror(number) if number else error}"
    if number in _FULL:
        told = f"the disk is full: cannot write {path}"
    elif action == "read" and number == ENOENT:
        told = f"there is no file {path}"
    elif action == "read" and number == EISDIR:
        told = f"expected a file, got the folder {path}"
    refusal = StorageError(told)
    refusal.errno = number
    return refusal
