"""`validate_file`: every problem of a file of any kind."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets import recognition
from rag_evaluation_framework.datasets.dialect import FieldMap, IdDigests, RecordDialect, digest_of
from rag_evaluation_framework.datasets.evaluation_sets import read_dataset_document
from rag_evaluation_framework.datasets.golden_contexts import golden_context_issues
from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.quality import quality_issues
from rag_evaluation_framework.datasets.record_files import PlacedRecord
from rag_evaluation_framework.datasets.schemas import decoded_issues, misspelt_fields, schema_issues
from rag_evaluation_framework.datasets.split_build import count_issues, drained, read_manifest
from rag_evaluation_framework.datasets.value_files import DocumentFile, read_document, read_results
from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError, StorageError, shown
from rag_evaluation_framework.files import access
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.json_scanner import comment_issues
from rag_evaluation_framework.records.samples import ROWS, Dataset
from rag_evaluation_framework.structs import replace

# Validates what stands in one document, or in a table that stands for one: datasets, results and so on.

_TABLES = (".csv", ".parquet", ".h5", ".hdf5")


def document_issues(path: Path, kind: str, *, lenient: bool = False) -> Iterator[Issue]:
    """Yield every issue of a document with its file and line."""
    document = _document(path, kind)
    issues = document.place(_value_issues(kind, document.value, lenient=lenient))
    yield from (issue.located(str(path)) for issue in issues)


def _value_issues(kind: str, value: Any, *, lenient: bool) -> list[Issue]:
    """Return what is wrong with a value; the quality checks of a dataset include its rules."""
    if kind == "evaluation-dataset":
        found = [*schema_issues(kind, value, lenient=lenient), *quality_issues(value)]
    else:
        found = decoded_issues(kind, value, lenient=lenient)
    return [*found, *misspelt_fields(kind, value)]


def _document(path: Path, kind: str) -> DocumentFile:
    if kind == "evaluation-dataset":
        return read_dataset_document(path)
    if access.plain_name(path).endswith(_TABLES):
        return DocumentFile(str(path), _table_value(path, kind), dict.fromkeys)
    return read_document(path, lines=kind == "annotations")


def _table_value(path: Path, kind: str) -> Any:
    """Read a table of results or of benchmark data, whose rows the paths of a document do not tell."""
    if kind == "results":
        return read_results(path)
    from rag_evaluation_framework.datasets.benchmark_files import read_benchmark  # numpy, only when needed

    return read_benchmark(path)


# Validates a file of records as a stream: memory grows by eight bytes a record, for finding repeated ids.

_ID_FIELDS = ("task_id", "id", "_id")


def record_file_issues(path: Path, dialect: RecordDialect, *, lenient: bool = False) -> Iterator[Issue]:
    """Yield every issue of a file in reading order, and at the end the ids that occur twice."""
    unread: list[Issue] = []
    digests, questions = IdDigests(), IdDigests()
    count = 0
    for placed in _placed_records(path, dialect, unread):
        if unread:
            yield from drained(unread)
        count += 1
        if issues := _record_issues(placed.value, dialect, lenient=lenient):
            yield from map(placed.place, issues)
        if identifier := _identifier(placed.value):
            digests.add(identifier)
        if asked := _question(placed.value, dialect):
            questions.add(asked[0])
    if not count and not unread:
        yield Issue("empty-file", "at least one record", "an empty file")
    yield from drained(unread)
    if repeated := digests.repeated():
        yield from _repetitions(path, dialect, repeated)
    if repeated := questions.repeated():
        yield from _other_answers(path, dialect, repeated)


def _record_issues(record: Any, dialect: RecordDialect, *, lenient: bool) -> list[Issue]:
    issues = dialect.issues(record, lenient=lenient)
    # A record that lacks what it must have may be of another format, whose fields are none of ours; those of
    # other tools have no schema here.
    if dialect.kind and all(issue.code != "missing-field" for issue in issues):
        issues += misspelt_fields(dialect.kind, record)
    if dialect.kind == "agent-sample" and isinstance(record, dict) and "metrics" in record:
        # Nobody reads them there: they belong to the dataset, in the manifest.
        expected, found = "metrics in the manifest, at the dataset, not in a sample", shown(record["metrics"])
        issues.append(Issue("metrics-in-sample", expected, found, "metrics", severity="warning"))
    if all(issue.severity != "error" for issue in issues):
        try:
            dialect.decode(record)  # what is valid can be read: nothing is left to find out later
        except InputError as error:
            issues += error.issues
    return issues


def _repetitions(path: Path, dialect: RecordDialect, repeated: frozenset[int]) -> Iterator[Issue]:
    identified = (
        (placed.line, identifier)
        for placed in _placed_records(path, dialect, [])
        if (identifier := _identifier(placed.value))
    )
    for line, identifier, first in _repeated(identified, repeated):
        found = f"duplicate {shown(identifier)}, first in line {first}"
        yield Issue("duplicate-id", "unique ids", found, line=line)


def _repeated(
    numbered: Iterable[tuple[int | None, str]], repeated: frozenset[int]
) -> Iterator[tuple[int | None, str, int | None]]:
    """Yield the line and id of each repetition, and the line where the id stood first."""
    first: dict[str, int | None] = {}
    for line, identifier in numbered:
        if digest_of(identifier) in repeated:
            if identifier in first:
                yield line, identifier, first[identifier]
            else:
                first[identifier] = line


def _question(record: Any, dialect: RecordDialect) -> tuple[str, str] | None:
    """Return what a sample asks, about which texts, and what it expects, where it says both in words."""
    if dialect.kind != "agent-sample" or not isinstance(record, dict):
        return None
    asked, expected = record.get("input"), record.get("expected")
    if not isinstance(asked, str) or not isinstance(expected, str):
        return None
    return f"{' '.join(asked.split())}\n{record.get('context')}", " ".join(expected.split())


def _other_answers(path: Path, dialect: RecordDialect, repeated: frozenset[int]) -> Iterator[Issue]:
    """Yield a warning for each question that is asked again with another answer."""
    first: dict[str, tuple[int | None, str]] = {}
    for placed in _placed_records(path, dialect, []):
        asked = _question(placed.value, dialect)
        if asked is None or digest_of(asked[0]) not in repeated:
            continue
        line, answer = first.setdefault(asked[0], (placed.line, asked[1]))
        if answer != asked[1]:
            found = f"same question as line {line}, with a different expected answer"
            expected = "one expected answer per question"
            yield Issue("two-answers", expected, found, "expected", "warning", line=placed.line)


def _placed_records(path: Path, dialect: RecordDialect, unread: list[Issue]) -> Iterator[PlacedRecord]:
    """Yield the records that can be read; the issues of the others are put on a list."""
    return dialect.placed(path, lambda error: unread.extend(error.issues))


def _identifier(record: Any) -> str | None:
    """Return the id that a record states, if it states one."""
    if isinstance(record, dict):
        for field in _ID_FIELDS:
            if isinstance(identifier := record.get(field), str):
                return identifier
    return None


# Validates files of every kind: schema, what must hold between fields, quality, golden contexts.
#
# Issues are yielded as they are found. Files of records are read as streams, a record at a time; what
# stands in one JSON or YAML document is read whole.

_DOCUMENTS = frozenset({*recognition.DOCUMENT_FORMATS, "evaluation-dataset", "squad"})
# What stops the reading of one file, and should not keep the others from being checked.
_STOPS = (InputError, StorageError, MissingExtraError)


# Issues of golden contexts, which do not keep a key from being read.
_OF_CONTEXTS = ("context-", "scene-", "snippet-")

KeyCheck = Callable[[Dataset], Iterable[Issue]]
"""Yields what is wrong with the answer keys of a golden set, with file and line."""


class CheckedFile(msgspec.Struct, frozen=True):
    """A file, its detected format (``None`` if unknown), and its issues, found when first needed."""

    file: str
    format: str | None
    issues: Iterator[Issue]


def validate_file(
    path: str | Path, *, format: str | None = None, lenient: bool = False, map: FieldMap | None = None
) -> Iterator[Issue]:
    r"""Yield the errors and the warnings of a file, or of a folder that is one dataset.

    Args:
        path: File or folder.
        format: Format of the data; by default it is detected.
        lenient: True to require only the minimum of a dataset, an annotation or results.
        map: Fields of plain rows by the part of a sample; by default they are guessed.

    Returns:
        An iterator of issues; none if the file is valid.

    Example:
        >>> from pathlib import Path
        >>> from rag_evaluation_framework import validate_file
        >>> _ = Path("rows.csv").write_text("question,reference\nWhat is 2 + 2?,4\n")
        >>> list(validate_file("rows.csv"))
        []
    """
    return _checked(Path(path), format, lenient=lenient, given=map).issues


def checked_files(
    paths: Iterable[Path],
    *,
    format: str | None = None,
    lenient: bool = False,
    against: Path | None = None,
    keys: KeyCheck | None = None,
    map: FieldMap | None = None,
) -> Iterator[CheckedFile]:
    """Yield each file, checked; of a folder that is no dataset itself, each file that may be data.

    ``against`` is an older manifest, with which every manifest among the files is compared. ``keys`` holds
    the answer keys of golden sets against their own metrics. ``map`` says which field of plain rows holds
    what.
    """
    if format is not None:
        recognition.check_format(format)
    checked = (each for path in paths for each in _checked_path(path, format, lenient=lenient, given=map))
    if keys is not None:
        checked = (
            replace(each, issues=_key_checked(each, keys)) if each.format in GOLDEN_DIALECTS else each
            for each in checked
        )
    return checked if against is None else _compared_files(checked, against)


def _key_checked(checked: CheckedFile, keys: KeyCheck) -> Iterator[Issue]:
    """Yield the issues of a golden set and, where it can be read, those of its answer keys."""
    if (yield from _are_right(checked.issues, but=_OF_CONTEXTS)) and checked.format is not None:
        yield from keys(GOLDEN_DIALECTS[checked.format].read(Path(checked.file)))


def _are_right(issues: Iterable[Issue], *, but: tuple[str, ...] = ()) -> Generator[Issue, None, bool]:
    """Yield issues on, and tell whether none of them is an error; ``but`` begins the codes that are none."""
    right = True
    for issue in issues:
        right = right and (issue.severity != "error" or issue.code.startswith(but))
        yield issue
    return right


def _checked_path(
    path: Path, named: str | None, *, lenient: bool, given: FieldMap | None
) -> Iterator[CheckedFile]:
    if not path.is_dir() or named is not None or _is_dataset(path):
        yield _checked(path, named, lenient=lenient, given=given)
        return
    recognised = False
    for file in access.data_files(path):
        checked = _checked(file, None, lenient=lenient, given=given, within=path)
        recognised = recognised or checked.format is not None
        # A file of something else is nothing wrong in a folder; it is only mentioned.
        issues = (
            replace(each, severity="info") if each.code == "unknown-dialect" else each
            for each in checked.issues
        )
        yield CheckedFile(checked.file, checked.format, issues)
    if not recognised:
        yield _only(path, Issue("no-data", "files with evaluation data", "no such file"))


def _checked(
    path: Path, named: str | None, *, lenient: bool, given: FieldMap | None, within: Path | None = None
) -> CheckedFile:
    file = str(path)
    try:
        if not path.is_dir():
            access.check_regular(path, within=within)
            access.check_expansion(path)
        told = recognition.told_format(path, named or (ROWS if given else None))
    except _STOPS as error:
        return CheckedFile(file, None, _of_error(error, file))
    return CheckedFile(file, told, _issues(path, told, lenient=lenient, given=given))


def _issues(path: Path, told: str, *, lenient: bool, given: FieldMap | None) -> Iterator[Issue]:
    """Yield the issues of a file of a known format; what stops the reading is the last of them."""
    file = str(path)
    try:
        if told in _DOCUMENTS:
            yield from document_issues(path, told, lenient=lenient)
        else:
            yield from (
                issue.located(file) for issue in _sample_issues(path, told, lenient=lenient, given=given)
            )
    except _STOPS as error:
        yield from _of_error(error, file)


def _sample_issues(path: Path, told: str, *, lenient: bool, given: FieldMap | None) -> Iterator[Issue]:
    dialect = recognition.recognise(path, format=told, map=given)
    if not isinstance(dialect, RecordDialect):
        every: Callable[[Path], Iterator[Issue]] | None = getattr(dialect, "issues", None)
        if every is not None:
            yield from every(path)
        else:
            dialect.read(path)
        return
    is_golden = told in GOLDEN_DIALECTS
    if is_golden:
        yield from comment_issues(read_text(path))
    if (yield from _are_right(record_file_issues(path, dialect, lenient=lenient))) and is_golden:
        yield from golden_context_issues(dialect.read(path))


def _is_dataset(folder: Path) -> bool:
    """Return True if a folder as a whole is one dataset."""
    try:
        recognition.told_format(folder)
    except InputError:
        return False
    return True


def _compared_files(checked: Iterable[CheckedFile], against: Path) -> Iterator[CheckedFile]:
    """Yield the files, every manifest among them compared with the older one; there must be one."""
    compared = False
    for file in checked:
        if file.format == "manifest":
            compared = True
            file = replace(file, issues=_compared(file, against))
        yield file
    if not compared:
        found = "no manifest among the files"
        yield _only(against, Issue("nothing-to-compare", "a manifest to compare with this one", found))


def _compared(checked: CheckedFile, against: Path) -> Iterator[Issue]:
    """Yield the issues of a manifest, then those of its counts against the older one's."""
    if (yield from _are_right(checked.issues)):
        lost = count_issues(read_manifest(checked.file), read_manifest(against))
        yield from (issue.located(checked.file) for issue in read_document(checked.file).place(lost))


def _only(path: Path, issue: Issue) -> CheckedFile:
    return CheckedFile(str(path), None, iter([issue.located(str(path))]))


def _of_error(error: InputError | StorageError | MissingExtraError, file: str) -> Iterator[Issue]:
    if isinstance(error, InputError):
        yield from error.located(file).issues
    else:
        code = "unreadable" if isinstance(error, StorageError) else "missing-extra"
        found = str(error).removeprefix(f"cannot read {file}: ").replace(f" {file}", " of this name", 1)
        yield Issue(code, "a readable file", found, file=file)
