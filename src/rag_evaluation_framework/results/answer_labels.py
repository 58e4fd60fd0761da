"""The labels that people give to answers: one file, with which every run is read.

A label is about a question, with the questions before it in a conversation, and the text of an answer, both
in any case, spacing and punctuation. It decides while the reference is the one that stood beside it. The file
has one label on each line and is only appended to: a later one of the same annotator replaces the earlier,
and one without a state takes it back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rag_evaluation_framework.errors import FileProblems, Issue, check_format, refused, shown
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.files.atomic import BINARY, lock_taken, sync_folder
from rag_evaluation_framework.judging.verdict import (
    NO_LABEL,
    STATES,
    FoundLabel,
    Label,
    State,
    grade_of,
    is_reference,
    label_together,
    name_of_state,
)
from rag_evaluation_framework.records.samples import (
    REFERENCE_HASH,
    Sample,
    asked_until,
    hash_of_references,
    question_number,
    written_reference,
)
from rag_evaluation_framework.text.normalisation import fold_text
from rag_evaluation_framework.version import FORMAT_VERSION

Asked = tuple[str, ...]


class AnswerLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The label that one person gives to one answer; without a ``state``, a label that was taken back.

    ``before`` are the questions before it in a conversation, ``reference`` is what stood beside the answer.
    """

    question: str
    answer: str
    annotator: str
    time: str
    state: State | None = None
    reference: str | None = None
    before: Asked = ()
    format_version: int = 1

    @classmethod
    def of(
        cls, asked: Asked, sample: Sample, answer: str, state: State | None, annotator: str
    ) -> AnswerLabel:
        """Return the label that somebody gives an answer to the last question of ``asked`` now."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        reference = written_reference(sample)
        return cls(asked[-1], answer, annotator, now, state, reference, asked[:-1], FORMAT_VERSION)

    @property
    def conversation(self) -> Asked:
        return (*self.before, self.question)


class _Versioned(msgspec.Struct):
    format_version: int = 1


class AnswerLabels:
    """The labels of a file, by what was asked."""

    def __init__(self, labels: Iterable[AnswerLabel] = ()) -> None:
        self._labels: dict[Asked, dict[str, dict[tuple[str, str], AnswerLabel]]] = {}
        for label in labels:
            answers = self._labels.setdefault(_fold_all(label.conversation), {})
            given = answers.setdefault(fold_text(label.answer), {})
            given.pop(key := (label.annotator, hash_of_references([label.reference])), None)
            given[key] = label
        self._questions = {asked[-1]: question_number(asked[-1]) for asked in self._labels if asked}

    def __bool__(self) -> bool:
        return bool(self._labels)

    def concern(self, sample: Sample) -> bool:
        """Return True if any of them is about a question that is asked in a sample."""
        return any(fold_text(each) in self._questions for each in asked_until(sample)) if self else False

    def find_all(self, asked: Asked, sample: Sample, answer: str) -> list[AnswerLabel]:
        """Return every label of an answer, for any reference that stood beside it."""
        found = self._labels.get(_fold_all(asked), {}).get(fold_text(answer), {})
        return [label for label in found.values() if label.state is not None]

    def find_deciding(self, asked: Asked, sample: Sample, answer: str) -> dict[str, AnswerLabel]:
        """Return the labels of an answer that decide, by annotator, the latest last."""
        known = _reference_key(sample)
        return {
            label.annotator: label
            for label in self.find_all(asked, sample, answer)
            if hash_of_references([label.reference]) == known
        }

    def find(self, asked: Asked, sample: Sample, answer: str) -> FoundLabel:
        """Return what people say of an answer to the last question of ``asked``."""
        if (answers := self._labels.get(_fold_all(asked))) is None:
            return NO_LABEL
        own, known, references = fold_text(answer), _reference_key(sample), []
        for text, given in answers.items():
            if text != own and is_reference(label_together([*_states(given, known).values()])):
                references.append(next(label.answer for label in given.values() if label.state is not None))
        here = answers.get(own, {})
        said = _states(here, known)
        label = label_together([*said.values()])
        is_stale = label is None and any(each.state is not None for each in here.values())
        return FoundLabel(label, tuple(references), is_stale, _why(said, label))

    def digest(self, questions: Iterable[int]) -> str:
        """Return what changes with every label of these questions; empty without any."""
        wanted = set(self._questions.values()).intersection(questions)
        lines = sorted(
            msgspec.json.encode((asked, answer, [(*key, label.state) for key, label in given.items()]))
            for asked, answers in (self._labels.items() if wanted else ())
            if self._questions[asked[-1]] in wanted
            for answer, given in answers.items()
        )
        return hashlib.blake2b(b"\n".join(lines), digest_size=16).hexdigest() if lines else ""


def _states(given: dict[tuple[str, str], AnswerLabel], known: str) -> dict[str, State]:
    """Return what each annotator says beside this reference."""
    return {who: each.state for (who, at), each in given.items() if at == known and each.state}


def _why(said: dict[str, State], label: Label | None) -> str:
    """Say who gave an answer its label, or who disagrees."""
    if label is not None and grade_of(label) is None:
        told = (f"{who} {name_of_state(state)}" for who, state in said.items())
        return f"annotators disagree: {', '.join(told)}"
    return f"labeled by {', '.join(said)}"


def _fold_all(asked: Asked) -> Asked:
    return tuple(map(fold_text, asked))


def _reference_key(sample: Sample) -> str:
    """Return the digits of what is expected, where the text itself is not at hand too."""
    expected = written_reference(sample)
    hashed = str(sample.extra.get(REFERENCE_HASH) or "").partition(",")[0]
    return hash_of_references([expected]) if expected is not None or not hashed else hashed


# How they are read, and how one is added.

_BEGINNING, _LONGEST = b'{"question":', 1 << 20


def read_labels(path: Path) -> list[AnswerLabel]:
    """Return the labels of a file in its order; every damaged line is in one error.

    The beginning of a line at the end, which a kill has left, was never acknowledged and is skipped.
    """
    labels: list[AnswerLabel] = []
    problems = FileProblems(str(path))
    content = read_bytes(path)
    lines = content[: len(content) - _torn(content)].split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            check_format(line.strip() and msgspec.json.decode(line, type=_Versioned).format_version, path)
            labels += [msgspec.json.decode(line, type=AnswerLabel)] if line.strip() else ()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            expected = f"a label with question, answer, annotator, time and state ({', '.join(STATES)})"
            found = f"{shown(line[:60].decode(errors='replace'))} ({error})"
            problems.add(Issue("damaged-line", expected, found, line=number))
    problems.raise_if_any()
    return labels


def append_labels(path: Path, labels: Sequence[AnswerLabel]) -> None:
    """Add labels at the end of a file, on the disk when this returns; others may add theirs meanwhile."""
    text = b"".join(msgspec.json.encode(label) + b"\n" for label in labels)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY, 0o666)
        try:
            with suppress(OSError):  # some network shares lock no file
                lock_taken(descriptor)
            size = os.fstat(descriptor).st_size
            os.lseek(descriptor, -min(size, _LONGEST), os.SEEK_END)
            content = os.read(descriptor, _LONGEST)
            if torn := _torn(content):
                os.ftruncate(descriptor, size - torn)
            elif content and not content.endswith(b"\n"):
                text = b"\n" + text
            while text:
                text = text[os.write(descriptor, text) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise refused("write", path, error) from error


def _torn(content: bytes) -> int:
    """Return how many bytes at the end are the beginning of a label that was never whole."""
    last = content[content.rfind(b"\n") + 1 :]
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        msgspec.json.decode(last, type=AnswerLabel)
        return 0
    return len(last) if last[: len(_BEGINNING)] == _BEGINNING[: len(last)] else 0
