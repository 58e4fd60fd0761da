"""Validates files of every kind: schema, what must hold between fields, quality, golden contexts.

Issues are yielded as they are found. Files of records are read as streams, a record at a time; what stands in
one JSON or YAML document is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rag_evaluation_framework.datasets.checks.checked_documents import read_document
from rag_evaluation_framework.datasets.checks.document_validation import document_issues
from rag_evaluation_framework.datasets.checks.file_formats import DOCUMENT_FORMATS, check_format, told_format
from rag_evaluation_framework.datasets.checks.folder_files import check_regular, data_files
from rag_evaluation_framework.datasets.checks.golden_contexts import golden_context_issues
from rag_evaluation_framework.datasets.checks.record_validation import record_file_issues
from rag_evaluation_framework.datasets.dialects.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.dialects.recognition import DIALECTS
from rag_evaluation_framework.datasets.dialects.record_dialect import RecordDialect
from rag_evaluation_framework.datasets.splits.manifest_counts import count_issues, read_manifest
from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError, StorageError
from rag_evaluation_framework.files.compression import check_expansion
from rag_evaluation_framework.files.json_comments import comment_issues
from rag_evaluation_framework.files.text import read_text

_DOCUMENTS = frozenset({*DOCUMENT_FORMATS, "evaluation-dataset", "squad"})
# What stops the reading of one file, and should not keep the others from being checked.
_STOPS = (InputError, StorageError, MissingExtraError)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file, what it was taken for (``None`` where that cannot be told), and its issues, found as asked."""

    file: str
    format: str | None
    issues: Iterator[Issue]


def validate_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    lenient: bool = False,
) -> Iterator[Issue]:
    """Yield everything that is wrong with a file (or a folder that is one dataset), and what is doubtful.

    What the file is is told from its content unless ``format`` says so.
    """
    return _checked(Path(path), format, lenient=lenient).issues


def checked_files(
    paths: Iterable[Path],
    *,
    format: str | None = None,  # noqa: A002
    lenient: bool = False,
    against: Path | None = None,
) -> Iterator[CheckedFile]:
    """Yield each file, checked; of a folder that is no dataset itself, each file that may be data.

    ``against`` is an older manifest, with which every manifest among the files is compared.
    """
    if format is not None:
        check_format(format)
    checked = (each for path in paths for each in _checked_path(path, format, lenient=lenient))
    return checked if against is None else _compared_files(checked, against)


def _checked_path(path: Path, named: str | None, *, lenient: bool) -> Iterator[CheckedFile]:
    if not path.is_dir() or named is not None or _is_dataset(path):
        yield _checked(path, named, lenient=lenient)
        return
    recognised = False
    for file in data_files(path):
        checked = _checked(file, None, lenient=lenient, within=path)
        recognised = recognised or checked.format is not None
        yield CheckedFile(checked.file, checked.format, map(_of_no_concern, checked.issues))
    if not recognised:
        yield _only(path, Issue("no-data", "files of evaluation data", "none"))


def _checked(path: Path, named: str | None, *, lenient: bool, within: Path | None = None) -> CheckedFile:
    file = str(path)
    try:
        if not path.is_dir():
            check_regular(path, within=within)
            check_expansion(path)
        told = told_format(path, named)
    except _STOPS as error:
        return CheckedFile(file, None, _of_error(error, file))
    return CheckedFile(file, told, _issues(path, told, lenient=lenient))


def _issues(path: Path, told: str, *, lenient: bool) -> Iterator[Issue]:
    """Yield the issues of a file of a known format; what stops the reading is the last of them."""
    file = str(path)
    try:
        if told in _DOCUMENTS:
            yield from document_issues(path, told, lenient=lenient)
        else:
            yield from (issue.located(file) for issue in _sample_issues(path, told, lenient=lenient))
    except _STOPS as error:
        yield from _of_error(error, file)


def _sample_issues(path: Path, told: str, *, lenient: bool) -> Iterator[Issue]:
    dialect = DIALECTS.get(told)
    if not isinstance(dialect, RecordDialect):
        dialect.read(path)
        return
    is_golden = told in GOLDEN_DIALECTS
    if is_golden:
        yield from comment_issues(read_text(path))
    wrong = False
    for issue in record_file_issues(path, dialect, lenient=lenient):
        wrong = wrong or issue.severity == "error"
        yield issue
    if is_golden and not wrong:
        yield from golden_context_issues(dialect.read(path))


def _of_no_concern(issue: Issue) -> Issue:
    """In a folder, a file of something else is nothing wrong; it is only mentioned."""
    return replace(issue, severity="info") if issue.code == "unknown-dialect" else issue


def _is_dataset(folder: Path) -> bool:
    """Tell whether a folder as a whole is one dataset."""
    try:
        told_format(folder)
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
        found = "none among the files"
        yield _only(against, Issue("nothing-to-compare", "a manifest to compare with this one", found))


def _compared(checked: CheckedFile, against: Path) -> Iterator[Issue]:
    """Yield the issues of a manifest, then those of its counts against the older one's."""
    wrong = False
    for issue in checked.issues:
        wrong = wrong or issue.severity == "error"
        yield issue
    if not wrong:
        lost = count_issues(read_manifest(checked.file), read_manifest(against))
        yield from (issue.located(checked.file) for issue in read_document(checked.file).place(lost))


def _only(path: Path, issue: Issue) -> CheckedFile:
    return CheckedFile(str(path), None, iter([issue.located(str(path))]))


def _of_error(error: InputError | StorageError | MissingExtraError, file: str) -> Iterator[Issue]:
    if isinstance(error, InputError):
        yield from error.located(file).issues
    else:
        code = "unreadable" if isinstance(error, StorageError) else "missing-extra"
        found = str(error).removeprefix(f"cannot read {file}: ")
        yield Issue(code, "a file that can be read", found, file=file)
