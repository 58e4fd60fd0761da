"""Building the splits with their manifest, and checking what a build left."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO, Literal

from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.split_mapping import SPLITS, SplitLine, offline_lines, split_line
from rag_evaluation_framework.datasets.value_files import read_document
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    RagEvalError,
    UsageError,
    counted,
    refused,
    shown,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, read_text, sha256
from rag_evaluation_framework.files.atomic import atomic_group, recover
from rag_evaluation_framework.files.strict_json import read_lines

# The settings of a build from a project's configuration file.
#
# They stand in its section ``evaluation``, under the names of the flags::
#
#     evaluation:
#       offline_dataset: evaluation/datasets/offline_dataset.jsonl
#       qa_output: evaluation/datasets/qa_pairs.jsonl
#       summaries_output: evaluation/datasets/summaries.jsonl
#       manifest_output: evaluation/datasets/manifest.json
#       version: v1
#
# Each may be left out. Paths are relative to the project's root, where commands are run. Other settings
# are for others and left alone, unless one looks like a slip of the pen.

SETTINGS = ("offline_dataset", "qa_output", "summaries_output", "manifest_output", "version")

# Alike enough to be the same word mistyped: "manifest_ouput" is, "manifest" is not.
_MISTYPED = 0.85


def read_build_settings(path: str | Path) -> dict[str, str]:
    """Return the settings that a configuration file has; all that is wrong is in one error."""
    document = read_document(path)
    document.checked("configuration")
    section = document.value.get("evaluation") or {}
    if not isinstance(section, dict):
        issues = [Issue("wrong-type", "settings by name", shown(section), "evaluation")]
    else:
        issues = [issue for name, value in section.items() for issue in _issues(name, value)]
    if issues:
        raise InputError(issue.located(str(path)) for issue in document.place(issues))
    return {name: section[name] for name in SETTINGS if section.get(name) is not None}


def _issues(name: str, value: Any) -> list[Issue]:
    path = f"evaluation.{name}"
    if name in SETTINGS:
        is_text = value is None or (isinstance(value, str) and value)
        return [] if is_text else [Issue("wrong-type", "text", shown(value), path)]
    meant = get_close_matches(name, SETTINGS, n=1, cutoff=_MISTYPED)
    return [Issue("unknown-field", meant[0], name, path)] if meant else []


# The manifest of a build: reading it, finding the files it names, and comparing it with an older one.

LARGEST_LOSS = 0.10
"""The share of its records that a split may lose from one version to the next without an alert."""


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read and check a manifest; all that is wrong is in one error.

    A build that was killed while it replaced the files is finished first, so that they belong together.
    """
    recover(Path(os.path.realpath(path)).parent)
    manifest: dict[str, Any] = read_document(path).checked("manifest")
    return manifest


def split_path(manifest_path: str | Path, written: str) -> Path:
    """Return the file that a manifest names, whose paths are relative to the root of its project.

    The root is the nearest folder above the manifest where the file is, else the current folder.
    """
    folder, here = Path(os.path.realpath(manifest_path)).parent, Path.cwd()
    for root in (folder, *folder.parents):
        path = root / written
        if path.is_file():
            return path.relative_to(here) if path.is_relative_to(here) else path
    return Path(written)


def count_issues(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Issue]:
    """Return an error for every split that lost more than a tenth of its records since the old manifest.

    Both are manifests as :func:`read_manifest` returns them. A split that is gone has lost all.
    """
    issues = []
    for name, split in old["splits"].items():
        before = split["count"]
        now = new["splits"].get(name, {"count": 0})["count"]
        least = before * (1 - LARGEST_LOSS)
        if now < least:
            expected = f"at least {counted(ceil(least), 'record')} (the older manifest has {before:,})"
            issues.append(Issue("count-drop", expected, f"{now:,}", f"splits.{name}.count"))
    return issues


# Builds the question answering and summary splits, with their manifest, from the raw offline records.
#
# One pass in source order. The three files are replaced together or not at all. Memory does not grow with
# the size of the records; what grows is a digest of each ``task_id``, about 100 bytes a record, to find
# duplicates.

DEFAULT_FOLDER = Path("evaluation", "datasets")
DEFAULT_VERSION = "v1"

OnError = Literal["stop", "skip"]

_RECORDS_BETWEEN_REPORTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPaths:
    """The raw records, and the three files built from them."""

    offline_dataset: Path = DEFAULT_FOLDER / "offline_dataset.jsonl"
    qa_output: Path = DEFAULT_FOLDER / "qa_pairs.jsonl"
    summaries_output: Path = DEFAULT_FOLDER / "summaries.jsonl"
    manifest_output: Path = DEFAULT_FOLDER / "manifest.json"

    @property
    def outputs(self) -> tuple[Path, Path, Path]:
        return self.qa_output, self.summaries_output, self.manifest_output


@dataclass(frozen=True, slots=True)
class BuiltSplits:
    """What a build wrote: the manifest, how many raw records it read, and the manifest it replaced."""

    manifest: Mapping[str, Any] = field(hash=False)
    records: int
    replaced: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def changed_version(self) -> str | None:
        """The version that now stands for other content than before, if there is one."""
        old = self.replaced
        if old is None or old["version"] != self.manifest["version"]:
            return None
        same = all(
            old["splits"].get(name, {}).get("sha256") == split["sha256"]
            for name, split in self.manifest["splits"].items()
        )
        return None if same else str(old["version"])


def build_splits(
    paths: BuildPaths,
    *,
    now: datetime,
    version: str = DEFAULT_VERSION,
    limit: int | None = None,
    force: bool = False,
    on_error: OnError = "stop",
    root: str | Path = ".",
    on_progress: Callable[[int], None] | None = None,
) -> BuiltSplits:
    """Build the splits and their manifest.

    ``limit`` is the number of raw records to read. A malformed line raises :class:`InputError` with its
    number, or is counted with ``on_error="skip"``; a ``task_id`` that comes twice is always an error. Files
    that exist already, a manifest of the same version among them, need ``force``. Paths in the manifest are
    relative to ``root``. ``on_progress`` gets the number of records read, now and then.
    """
    if not version or version.isspace():
        raise UsageError(f"expected a version such as v1, got {version!r}")
    replaced = _make_way(paths, version=version, force=force)
    counts = _Counts()
    with (
        atomic_group(paths.outputs, overwrite=force) as (qa, summaries, manifest_stream),
        _SplitFile(qa, paths.qa_output) as qa_file,
        _SplitFile(summaries, paths.summaries_output) as summaries_file,
    ):
        files = {"qa": qa_file, "summaries": summaries_file}
        for line in _split_lines(paths.offline_dataset, counts, limit=limit, on_error=on_error):
            if line.mapped is not None:
                files[line.task_type].write(strict_json.encode_unchecked(line.mapped))
            if on_progress and counts.records % _RECORDS_BETWEEN_REPORTS == 0:
                on_progress(counts.records)
        for file in files.values():
            file.finish()
        manifest = {
            "version": version,
            "generated_at_utc": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source_offline_dataset": _relative(paths.offline_dataset, root),
            "filters": {} if limit is None else {"limit": limit},
            "splits": {
                name: {"path": _relative(file.path, root), "count": file.count, "sha256": file.sha256}
                for name, file in files.items()
            },
            "excluded_task_types": dict(sorted(counts.excluded.items())),
            "dropped": {
                **{name: dict(sorted(reasons.items())) for name, reasons in counts.dropped.items()},
                # A malformed line belongs to no split.
                **({"malformed": counts.malformed} if on_error == "skip" else {}),
            },
        }
        manifest_stream.write(strict_json.encode(manifest, indent=2) + b"\n")
    return BuiltSplits(manifest, counts.records, replaced)


def build_time(environment: Mapping[str, str]) -> datetime:
    """Return the present moment, or the one that ``SOURCE_DATE_EPOCH`` asks for.

    See https://reproducible-builds.org/specs/source-date-epoch/.
    """
    epoch = environment.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"SOURCE_DATE_EPOCH: expected seconds since 1970, got {shown(epoch)}") from None


@dataclass(slots=True)
class _Counts:
    """What was read, and what was left out and why."""

    records: int = 0
    malformed: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in SPLITS})

    def add(self, line: SplitLine) -> None:
        self.records += 1
        if line.dropped:
            self.dropped[line.task_type][line.dropped] += 1
        elif line.mapped is None:
            self.excluded[line.task_type] += 1


def _split_lines(path: Path, counts: _Counts, *, limit: int | None, on_error: OnError) -> Iterator[SplitLine]:
    """Yield what becomes of each record, counting all of them."""
    file = str(path)
    seen: set[bytes] = set()
    for number, raw in offline_lines(path):
        if counts.records == limit:
            return
        try:
            line = split_line(raw, file=file, number=number)
        except InputError:
            if on_error == "stop":
                raise
            counts.malformed += 1
            continue
        digest = _digest(line.task_id)
        if digest in seen:
            raise _duplicate(path, line.task_id, number)
        seen.add(digest)
        counts.add(line)
        yield line


def _digest(task_id: str) -> bytes:
    return hashlib.blake2b(task_id.encode(), digest_size=16).digest()


def _duplicate(path: Path, task_id: str, number: int) -> InputError:
    """Build the error for a ``task_id`` that came before; where, is found by reading again."""
    first = next(line for line, raw in offline_lines(path) if _has_task_id(raw, path, line, task_id))
    found = f"{shown(task_id)} again, first on line {first}"
    return InputError(
        [Issue("duplicate-id", "each task_id once", found, "task_id", file=str(path), line=number)]
    )


def _has_task_id(raw: bytes, path: Path, number: int, task_id: str) -> bool:
    try:
        return split_line(raw, file=str(path), number=number).task_id == task_id
    except InputError:
        return False


def _make_way(paths: BuildPaths, *, version: str, force: bool) -> dict[str, Any] | None:
    """Make sure that the outputs may be written, and return the manifest that they replace."""
    for output in paths.outputs:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("write", output, error) from error
        recover(Path(os.path.realpath(output)).parent)
        if os.path.realpath(output) == os.path.realpath(paths.offline_dataset):
            raise UsageError(f"expected outputs other than the raw records, got {output} for both")
    try:
        old = read_manifest(paths.manifest_output) if paths.manifest_output.exists() else None
    except RagEvalError:
        old = None  # what cannot be read tells nothing and may be replaced
    existing = [str(output) for output in paths.outputs if output.exists()]
    if existing and not force:
        same = (
            f", and the manifest has version {version} already" if old and old["version"] == version else ""
        )
        raise UsageError(
            f"{', '.join(existing)}: expected no such file, got one already{same}; --force replaces"
        )
    return old


def _relative(path: Path, root: str | Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


class _SplitFile:
    """One split on its way to the disk: compressed if its name says so, counted and hashed."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self.path = path
        self.count = 0
        self._hashed = _Hashed(stream)
        self._stream = compressing(self._hashed, named_compression(path))  # type: ignore[arg-type]

    def __enter__(self) -> _SplitFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()

    @property
    def sha256(self) -> str:
        return self._hashed.sha256.hexdigest()

    def write(self, line: bytes) -> None:
        self.count += 1
        self._stream.write(line + b"\n")

    def finish(self) -> None:
        """Bring everything into the file, so that its digest is known."""
        self._stream.close()


class _Hashed:
    """Passes bytes on to a stream and keeps their digest."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()


# Which version of a build a split belongs to, so that a run can say exactly what was asked.


def split_version(path: str | Path, manifest_path: str | Path) -> str | None:
    """Return the version of the manifest that a split was written with.

    The bytes must be those that the manifest vouches for. ``None`` where there is no manifest, or where it
    speaks of other bytes: the split was edited, or is of another build.
    """
    if not Path(manifest_path).is_file():
        return None
    manifest = read_manifest(manifest_path)
    digest = sha256(Path(path))
    vouched = any(split.get("sha256") == digest for split in manifest["splits"].values())
    return str(manifest["version"]) if vouched else None


# Checks what a build has left behind, and the texts behind it, before an evaluation relies on them.

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
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        files = [path for path in found if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
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
    if "sha256" in split and sha256(path) != split["sha256"]:
        yield Issue("wrong-digest", f"that of {path}", split["sha256"], f"splits.{name}.sha256", file=where)


def _drained(issues: list[Issue]) -> list[Issue]:
    taken = issues.copy()
    issues.clear()
    return taken
