"""Human labels of answers by field: from annotations, or from a plain table of ids and labels.

A field is one of the quality scores, ``overall`` (their mean), an aspect rated in words, or any other field
of an annotation or a table. Several annotators of an answer are merged: by majority where every label is 0 or
1, else by their mean.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path
from sys import float_info
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.annotations import OVERALL, RatedUnit, annotator_of
from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.record_files import PlacedRecord, read_records
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    Location,
    Problems,
    UnknownNameError,
    UsageError,
    counted,
    shown,
)
from rag_evaluation_framework.records.samples import QUALITY_SCORES, Annotation, AnswerQualityAnnotation

LABEL = "label"
"""The field of a plain table that is taken when none is named."""

_IDS = ("query_id", "sample_id", "id")
_COLUMNS = Columns(dict.fromkeys(_IDS, "text"))
_NOT_FIELDS = frozenset({*_IDS, "annotator_id", "answer_text"})
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_SHOWN_WORDS = 5


class HumanLabel(msgspec.Struct, frozen=True):
    """The label of one person for one answer; ``answer_text`` is ``None`` if the answer is not given.

    ``is_named`` is True if the annotator gave that name, and ``place`` is the label's place in the file.
    """

    query_id: str
    annotator: str
    answer_text: str | None = None
    fields: Mapping[str, Any] = {}
    is_named: bool = True
    place: Location = msgspec.field(default_factory=Location)

    def placed(self, issue: Issue) -> Issue:
        """Return an issue of one of its fields with the place of the label."""
        return issue.located(self.place.file, self.place.line, self.place.field)


class LabelField(msgspec.Struct, frozen=True):
    """A field and how it is read: the ``words`` that count as 1, and whether 1 stands for what is bad."""

    name: str
    words: tuple[str, ...] = ()
    is_reversed: bool = False

    @classmethod
    def parse(cls, text: str) -> LabelField:
        """Read ``accuracy``, ``factual_correctness:fully_correct,mostly_correct`` or ``-hallucinated``."""
        name, _, words = text.removeprefix("-").partition(":")
        if not name.strip():
            raise UsageError(f"label field: expected FIELD, -FIELD or FIELD:word,word, got {shown(text)}")
        given = tuple(word.strip() for word in words.split(",") if word.strip())
        return cls(name.strip(), given, text.startswith("-"))

    @property
    def is_quality(self) -> bool:
        """Return True if more of it is better, independent of the expected answer."""
        return self.name in (*QUALITY_SCORES, OVERALL) or bool(self.words)

    @property
    def reversed(self) -> LabelField:
        """The same field, turned round."""
        return replace(self, is_reversed=not self.is_reversed)

    def __str__(self) -> str:
        return f"{'-' * self.is_reversed}{self.name}{':' * bool(self.words)}{','.join(self.words)}"


class MergedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """One label for each answer, by query id.

    ``units`` holds what each annotator said; ``undecided`` counts answers without a majority.
    """

    values: Mapping[str, float]
    units: tuple[RatedUnit[float], ...]
    is_binary: bool
    undecided: int

    @property
    def merging(self) -> str:
        """Return the method that merged several annotators into one label."""
        if all(len(unit.ratings) == 1 for unit in self.units):
            return "one annotator per answer"
        return "majority of annotators" if self.is_binary else "mean of annotators"


def labels_of_annotations(annotations: Iterable[Annotation]) -> list[HumanLabel]:
    """Return every annotation as the fields it fills."""
    labels = []
    for annotation in annotations:
        fields: dict[str, Any] = dict(annotation.extra)
        answer = None
        if isinstance(annotation, AnswerQualityAnnotation):
            answer = annotation.answer_text
            overall = annotation.mean_score if annotation.overall_score is None else annotation.overall_score
            fields |= {**annotation.aspect_ratings, **annotation.quality_scores}
            fields |= {} if overall is None else {OVERALL: overall}
        who = annotator_of(annotation)
        labels.append(HumanLabel(annotation.query_id, who, answer, fields, place=annotation.place))
    return labels


def read_labels(
    path: str | Path, *, wanted: Iterable[LabelField] = (), on_warning: Callable[[Issue], None] | None = None
) -> list[HumanLabel]:
    """Read a table of labels: CSV, JSON lines or a JSON array with ``query_id`` (or ``sample_id``, ``id``).

    ``annotator_id`` and ``answer_text`` are optional; every other column is a field. Whoever has no name is
    called by the file. Labels of the same query by nobody in particular are taken for those of different
    people; if such rows are the same word for word, ``on_warning`` is called once. An error has every
    row that cannot be read, and of the others what is wrong with the fields that are ``wanted``.
    """
    labels: list[HumanLabel] = []
    issues: list[Issue] = []
    unnamed: Counter[str] = Counter()
    for record in read_records(
        path, columns=lambda: _COLUMNS, on_error=lambda error: issues.extend(error.issues)
    ):
        try:
            labels.append(_label(record, str(path), unnamed))
        except InputError as error:
            issues.extend(record.place(issue).located(str(path)) for issue in error.issues)
    if issues:
        issues.extend(issue for each in dict.fromkeys(wanted) for issue in _wrong_labels(labels, each))
        raise InputError(sorted(issues, key=lambda issue: issue.line or 0))
    if on_warning is not None:
        _tell_repeated_rows(labels, on_warning)
    return labels


def check_words(labels: Iterable[HumanLabel], wanted: LabelField) -> None:
    """Raise :class:`UsageError` for the words of a field that no label has, and offer those there are."""
    said = {str(value) for label in labels if (value := label.fields.get(wanted.name)) is not None}
    unknown = [word for word in wanted.words if word not in said]
    if unknown:
        kind = f"word of label {wanted.name}"
        raise UsageError("\n".join(str(UnknownNameError(kind, word, sorted(said))) for word in unknown))


def merged_labels(labels: Sequence[HumanLabel], wanted: LabelField) -> MergedLabels:
    """Merge what the annotators of each query say; they must all mean the same answer.

    An annotator who labels a query twice is an error; one whose label lacks the field says nothing.
    """
    saying = [label for label in labels if label.fields.get(wanted.name) is not None]
    problems = Problems()
    with problems.collected():
        _refuse_repeated(saying, wanted)
    with problems.collected():
        values = _numbers(saying, wanted)
    problems.raise_all()
    given: dict[str, dict[str, float]] = {}
    for label, value in zip(saying, values, strict=True):
        given.setdefault(label.query_id, {})[label.annotator] = value
    is_binary = all(value in (0.0, 1.0) for ratings in given.values() for value in ratings.values())
    means = {query: fsum(ratings.values()) / len(ratings) for query, ratings in given.items()}
    decided = {query: mean for query, mean in means.items() if not (is_binary and mean == 0.5)}
    if is_binary:
        decided = {query: float(mean > 0.5) for query, mean in decided.items()}
    return MergedLabels(
        values=decided,
        units=tuple(RatedUnit(query, ratings) for query, ratings in given.items()),
        is_binary=is_binary,
        undecided=len(means) - len(decided),
    )


def fields_of(labels: Iterable[HumanLabel]) -> list[str]:
    """Return the fields that any label has with a value that can be one, in the order of appearance."""
    return list(
        dict.fromkeys(
            name
            for label in labels
            for name, value in label.fields.items()
            if isinstance(value, bool | int | float | str)
        )
    )


def is_same_answer(label: HumanLabel, answer: str | None) -> bool:
    """Return True if a label may be for this answer: the same text, or one is unknown."""
    if label.answer_text is None or answer is None:
        return True
    given, said = (unicodedata.normalize("NFKC", text).split() for text in (label.answer_text, answer))
    return given == said


def _label(record: PlacedRecord, file: str, unnamed: Counter[str]) -> HumanLabel:
    """Return a row as a label; ``unnamed`` counts those of each query that name no annotator."""
    row = record.value
    if not isinstance(row, dict):
        raise InputError([Issue("wrong-type", "an object", shown(row))])
    identifier = next((row[name] for name in _IDS if row.get(name) is not None), None)
    if not isinstance(identifier, str | int) or isinstance(identifier, bool) or identifier == "":
        found = "a row without an id" if identifier is None else shown(identifier)
        raise InputError([Issue("missing-id", "an id in query_id, sample_id or id", found)])
    annotator, answer = row.get("annotator_id"), row.get("answer_text")
    if annotator is None:
        unnamed[str(identifier)] += 1
        number = unnamed[str(identifier)]  # the first, second … without a name who labels the query here
        annotator = f"unnamed ({file})" if number == 1 else f"unnamed {number} ({file})"
    is_named = row.get("annotator_id") is not None
    fields = {name: value for name, value in row.items() if name not in _NOT_FIELDS}
    return HumanLabel(
        str(identifier),
        str(annotator),
        None if answer is None else str(answer),
        fields,
        is_named,
        Location(file, record.line, record.within),
    )


def _tell_repeated_rows(labels: Sequence[HumanLabel], on_warning: Callable[[Issue], None]) -> None:
    """Warn once if labels of one query by nobody in particular are the same word for word.

    They may be the votes of several people, or a row that was pasted twice.
    """
    first: dict[tuple[str, str | None, str], HumanLabel] = {}
    unnamed = [label for label in labels if not label.is_named]
    before = [
        first.setdefault((each.query_id, each.answer_text, repr(sorted(each.fields.items()))), each)
        for each in unnamed
    ]
    repeated = [pair for pair in zip(unnamed, before, strict=True) if pair[0] is not pair[1]]
    if repeated:
        label, same = repeated[0]
        more = f" and {counted(len(repeated) - 1, 'more such row')}" if len(repeated) > 1 else ""
        found = f"a duplicate of {same.place}{more}, counted as labels of different annotators"
        expected = "unique rows, or an annotator_id in each row"
        on_warning(label.placed(Issue("repeated-row", expected, found, severity="warning")))


def _wrong_labels(labels: Sequence[HumanLabel], wanted: LabelField) -> tuple[Issue, ...]:
    """Return what is wrong with the values of a field."""
    try:
        merged_labels(labels, wanted)
    except InputError as error:
        return error.issues
    except UsageError:  # a field of words is read once it is told which are good
        return ()
    return ()


def _refuse_repeated(labels: Iterable[HumanLabel], wanted: LabelField) -> None:
    """Raise an error that names every second label of a query by the same annotator."""
    first: dict[tuple[str, str], HumanLabel] = {}
    issues = []
    for label in labels:
        before = first.setdefault((label.query_id, label.annotator), label)
        if before is not label:
            expected = f"one label of {label.query_id!r} per annotator"
            found = f"2 by {label.annotator!r}"
            if str(before.place):
                found += f", the first in {before.place}"
            issues.append(label.placed(Issue("annotated-twice", expected, found, wanted.name)))
    if issues:
        raise InputError(issues)


def _numbers(labels: Sequence[HumanLabel], wanted: LabelField) -> list[float]:
    """Return what every label says as a number, and refuse those that say none.

    Where no label says a number, yes or no, the field is one of words, and the good ones have to be named.
    """
    said = [_read_label(label.fields[wanted.name], wanted) for label in labels]
    if said and all(isinstance(value, str) for value in said):
        raise _only_words(wanted, labels)
    numbers, issues = [], []
    for label, value in zip(labels, said, strict=True):
        if isinstance(value, int | float) and abs(value) <= float_info.max:
            numbers.append(float(value))
        else:
            expected = f"a number, yes or no for {label.query_id!r}"
            found = f"{shown(label.fields[wanted.name])} by {label.annotator!r}"
            issues.append(label.placed(Issue("wrong-label", expected, found, wanted.name)))
    if issues:
        raise InputError(issues)
    return numbers


def _read_label(value: Any, wanted: LabelField) -> Any:
    """Return a value with words read as 1 or 0 and figures as numbers; what is neither stays as it is."""
    if wanted.words:
        return float(str(value) in wanted.words)
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    try:
        return _WORDS[text] if text in _WORDS else float(text)
    except ValueError:
        return value


def _only_words(wanted: LabelField, labels: Sequence[HumanLabel]) -> UsageError:
    words = dict.fromkeys(str(label.fields[wanted.name]) for label in labels)
    listed = ", ".join(map(shown, list(words)[:_SHOWN_WORDS])) + (", …" if len(words) > _SHOWN_WORDS else "")
    return UsageError(
        f"label {wanted.name!r} contains words ({listed}). Name the words that count as good: "
        f"{wanted.name}:WORD,WORD"
    )
