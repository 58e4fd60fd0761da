"""Checks what a build has left behind, and the texts behind it, before an evaluation relies on them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.splits.manifest_counts import read_manifest, split_path
from rag_evaluation_framework.errors import InputError, Issue, RagEvalError, UsageError
from rag_evaluation_framework.files.json_lines import read_lines
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.text import read_text

_KINDS = {"qa": "qa-pair", "summaries": "summary"}
_REFERENCES = {"qa": "reference_answer", "summaries": "reference_summary"}


def split_issues(manifest_path: str | Path) -> Iterator[Issue]:
    """Yield what is wrong with the splits that a manifest names, one record at a time.

    Each record must have every mandatory field and a reference that is not blank; each file must have the
    records, and the digest, that the manifest says.
    """
    try:
        manifest = read_manifest(manifest_path)
    except InputError as error:
        yield from error.issues
        return
    for name, split in manifest["splits"].items():
        path = split_path(manifest_path, split["path"])
        if name not in _KINDS:
            continue
        if not path.is_file():
            yield Issue(
                "missing-file", f"the split {name}", "no such file", f"splits.{name}.path", file=str(path)
            )
        else:
            yield from _records_issues(name, path, split, manifest_path)


def corpus_issues(folder: str | Path, *, pattern: str = "**/*") -> Iterator[Issue]:
    """Yield what is wrong with a folder of texts: files that are not UTF-8, and files without a word."""
    folder = Path(folder)
    try:
        files = sorted(
            path for path in folder.glob(pattern) if path.is_file() and not _is_hidden(path, folder)
        )
    except (ValueError, NotImplementedError):
        raise UsageError(f"expected a pattern such as **/*.txt, got {pattern!r}") from None
    except OSError as error:
        raise refused("read", folder, error) from error
    if not files:
        yield Issue("empty-corpus", f"text files ({pattern})", "none", file=str(folder))
    for path in files:
        try:
            if not read_text(path).strip():
                yield Issue("empty-text", "text", "nothing but white space", file=str(path))
        except InputError as error:
            yield from error.issues
        except RagEvalError as error:
            yield Issue("unreadable-file", "a file that can be read", str(error), file=str(path))


def _records_issues(
    name: str, path: Path, split: Mapping[str, Any], manifest_path: str | Path
) -> Iterator[Issue]:
    bad_lines: list[Issue] = []
    count = 0
    for line, record in read_lines(path, on_error=lambda error: bad_lines.extend(error.issues)):
        yield from _drained(bad_lines)
        count += 1
        issues = schema_issues(_KINDS[name], record)
        yield from (issue.located(str(path), line) for issue in issues)
        reference = record.get(_REFERENCES[name]) if not issues else None
        if reference is not None and not reference.strip():
            yield Issue(
                "empty-reference", "a reference", "a blank one", _REFERENCES[name], file=str(path), line=line
            )
    yield from _drained(bad_lines)
    where = str(manifest_path)
    if count != split["count"]:
        yield Issue(
            "wrong-count",
            f"{count:,}, as {path} has",
            f"{split['count']:,}",
            f"splits.{name}.count",
            file=where,
        )
    if "sha256" in split and _sha256(path) != split["sha256"]:
        yield Issue("wrong-digest", f"that of {path}", split["sha256"], f"splits.{name}.sha256", file=where)


def _drained(issues: list[Issue]) -> list[Issue]:
    taken = issues.copy()
    issues.clear()
    return taken


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise refused("read", path, error) from error


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)
