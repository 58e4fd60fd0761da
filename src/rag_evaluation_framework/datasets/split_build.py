"""Building the splits with their manifest, and checking what a build left."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

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

# Where a project keeps its evaluation data, from the section ``evaluation`` of its configuration file::
#
#     evaluation:
#       corpus: documents
#       offline_dataset: evaluation/datasets/offline_dataset.jsonl
#       qa_output: evaluation/datasets/qa_pairs.jsonl
#       summaries_output: evaluation/datasets/summaries.jsonl
#       citations_output: evaluation/datasets/citations.jsonl
#       retrieval_output: evaluation/datasets/retrieval.jsonl
#       manifest_output: evaluation/datasets/manifest.json
#       version: v1
#
# Each may be left out. Paths are relative to the project's root, wherever the command is run. Other settings
# are for others and left alone, unless one looks like a slip of the pen.

DEFAULT_CONFIG = Path("configs", "default.yaml")
DEFAULT_FOLDER = Path("evaluation", "datasets")
DEFAULT_GLOB = "**/*.md"
DEFAULT_VERSION = "v1"

# A configuration in one of these folders belongs to the project above it.
_CONFIG_FOLDERS = (("data", "config"), ("configs",), ("config",))
# Alike enough to be the same word mistyped: "manifest_ouput" is, "manifest" is not.
_MISTYPED = 0.85


class EvaluationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of a project's evaluation data: its documents, raw records, and the files built from them.

    By default the paths are those of the project in the current folder. :meth:`from_file` gives those of a
    configuration's project, as seen from the current folder.
    """

    root: Path = Path()
    corpus: Path | None = None
    corpus_glob: str = DEFAULT_GLOB
    offline_dataset: Path = DEFAULT_FOLDER / "offline_dataset.jsonl"
    qa_output: Path = DEFAULT_FOLDER / "qa_pairs.jsonl"
    summaries_output: Path = DEFAULT_FOLDER / "summaries.jsonl"
    citations_output: Path | None = None
    retrieval_output: Path | None = None
    manifest_output: Path = DEFAULT_FOLDER / "manifest.json"
    version: str = DEFAULT_VERSION

    @property
    def splits(self) -> dict[str, Path]:
        """The file of each split by name; what is not said is beside the question answering split."""
        return {
            "qa": self.qa_output,
            "summaries": self.summaries_output,
            "citations": self.citations_output or self.qa_output.with_name("citations.jsonl"),
            "retrieval": self.retrieval_output or self.qa_output.with_name("retrieval.jsonl"),
        }

    @property
    def outputs(self) -> tuple[Path, ...]:
        """Every file that a build may write, the manifest last."""
        return *self.splits.values(), self.manifest_output

    @classmethod
    def from_file(cls, path: str | Path) -> EvaluationConfig:
        """Read a configuration file; all that is wrong is in one error.

        Its project is the folder that ``root`` names, relative to the file; without one the folder of the
        file or, if that is ``configs``, ``config`` or ``data/config``, the folder above it.
        """
        document = read_document(path)
        document.checked("configuration")
        section = document.value.get("evaluation") or {}
        if not isinstance(section, dict):
            issues = [Issue("wrong-type", "settings by name", shown(section), "evaluation")]
        else:
            issues = [issue for name, value in section.items() for issue in _issues(name, value)]
        if issues:
            raise InputError(issue.located(str(path)) for issue in document.place(issues))
        settings = {_ALIASES.get(name, name): value for name, value in section.items() if value is not None}
        root = _root(Path(path), settings.pop("root", None))
        written = {**msgspec.structs.asdict(cls()), **settings}
        chosen: dict[str, Any] = {name: settings[name] for name in _TEXTS if name in settings}
        chosen |= {name: _from_here(root / written[name]) for name in _PATHS if written[name] is not None}
        return cls(root=root, **chosen)

    @classmethod
    def of_project(cls, path: Path | None = None) -> EvaluationConfig:
        """Read the configuration given or, if there is one, ``configs/default.yaml``."""
        if path is None and not DEFAULT_CONFIG.is_file():
            return cls()
        return cls.from_file(path or DEFAULT_CONFIG)


_PATHS = (
    *("corpus", "offline_dataset", "qa_output", "summaries_output", "citations_output", "retrieval_output"),
    "manifest_output",
)
_TEXTS = ("corpus_glob", "version")
_ALIASES = {"summary_output": "summaries_output"}
_SETTINGS = ("root", *_PATHS, *_TEXTS, *_ALIASES)


def _issues(name: str, value: Any) -> list[Issue]:
    path = f"evaluation.{name}"
    if name in _SETTINGS:
        is_text = value is None or (isinstance(value, str) and value)
        return [] if is_text else [Issue("wrong-type", "text", shown(value), path)]
    meant = get_close_matches(name, _SETTINGS, n=1, cutoff=_MISTYPED)
    return [Issue("unknown-field", meant[0], name, path)] if meant else []


def _root(config: Path, written: str | None) -> Path:
    """Return the root of a configuration's project, as seen from the current folder."""
    folder = Path(os.path.realpath(config)).parent
    if written is not None:
        return _from_here(folder / written)
    above = next((names for names in _CONFIG_FOLDERS if folder.parts[-len(names) :] == names), ())
    return _from_here(folder.parents[len(above) - 1] if above else folder)


def _from_here(path: Path) -> Path:
    """Return a path relative to the current folder where it is below it."""
    here = Path.cwd()
    whole = Path(os.path.normpath(here / path))
    return whole.relative_to(here) if whole.is_relative_to(here) else whole


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


# Builds the splits, with their manifest, from the raw offline records.
#
# One pass in source order. The files are replaced together or not at all. Those of citation tasks and of
# retrieval diagnostics are written where there are such records, or an older file to replace. Memory does
# not grow with the size of the records; what grows is a digest of each ``task_id``, about 100 bytes a
# record, to find duplicates.

OPTIONAL_SPLITS = frozenset({"citations", "retrieval"})

OnError = Literal["stop", "skip"]

_RECORDS_BETWEEN_REPORTS = 1000


class BuiltSplits(msgspec.Struct, frozen=True):
    """The result of a build: the manifest, the number of raw records, and the replaced manifest."""

    manifest: Mapping[str, Any]
    records: int
    replaced: Mapping[str, Any] | None = None

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
    config: EvaluationConfig,
    *,
    now: datetime,
    limit: int | None = None,
    force: bool = False,
    on_error: OnError = "stop",
    on_progress: Callable[[int], None] | None = None,
) -> BuiltSplits:
    """Build the splits and their manifest.

    ``limit`` is the number of raw records to read. A malformed line raises :class:`InputError` with its
    number, or is counted with ``on_error="skip"``; a ``task_id`` that comes twice is always an error, and so
    are raw records of which none is of use. Files that exist already, a manifest of the same version among
    them, need ``force``. Paths in the manifest are relative to the root of the configuration. A build that
    fails leaves nothing behind. ``on_progress`` gets the number of records read, now and then.
    """
    if not config.version or config.version.isspace():
        raise UsageError(f"version: expected a name such as v1, got {config.version!r}")
    counts = _Counts()
    optional = [path for name, path in config.splits.items() if name in OPTIONAL_SPLITS]
    with _folders_for(config.outputs), ExitStack() as stack:
        replaced = _make_way(config, force=force)
        group = atomic_group(config.outputs, overwrite=force, optional=optional)
        *streams, manifest_stream = stack.enter_context(group)
        files = {
            name: stack.enter_context(closing(_SplitFile(stream, path, is_optional=path in optional)))
            for (name, path), stream in zip(config.splits.items(), streams, strict=True)
        }
        for line in _split_lines(config.offline_dataset, counts, limit=limit, on_error=on_error):
            if line.mapped is not None:
                files[line.task_type].write(strict_json.encode_unchecked(line.mapped))
            if on_progress and counts.records % _RECORDS_BETWEEN_REPORTS == 0:
                on_progress(counts.records)
        for file in files.values():
            file.close()
        written = {name: file for name, file in files.items() if file.count or file.path not in optional}
        if not any(file.count for file in written.values()):
            raise UsageError(f"{config.offline_dataset}: nothing to build: {counts.description}")
        manifest = {
            "version": config.version,
            "generated_at_utc": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source_offline_dataset": _relative(config.offline_dataset, config.root),
            "filters": {} if limit is None else {"limit": limit},
            "splits": {
                name: {"path": _relative(file.path, config.root), "count": file.count, "sha256": file.sha256}
                for name, file in written.items()
            },
            "excluded_task_types": dict(sorted(counts.excluded.items())),
            "dropped": counts.left_out(written, with_malformed=on_error == "skip"),
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


class _Counts(msgspec.Struct):
    """The numbers of records read, and of records left out by reason."""

    records: int = 0
    malformed: int = 0
    excluded: Counter[str] = msgspec.field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = msgspec.field(
        default_factory=lambda: {name: Counter() for name in SPLITS}
    )

    def add(self, line: SplitLine) -> None:
        self.records += 1
        if line.dropped:
            self.dropped[line.task_type][line.dropped] += 1
        elif line.mapped is None:
            self.excluded[line.task_type] += 1

    def left_out(self, splits: Container[str], *, with_malformed: bool) -> dict[str, Any]:
        """Return how many records of each split were left out for which reason."""
        of_splits = {
            name: dict(sorted(reasons.items()))
            for name, reasons in self.dropped.items()
            if reasons or name in splits
        }
        # A malformed line belongs to no split.
        return of_splits | ({"malformed": self.malformed} if with_malformed else {})

    @property
    def description(self) -> str:
        """Return a description of the records that are in no split."""
        parts = [f"no split for task type {name!r} ({count:,})" for name, count in self.excluded.items()]
        parts += [
            f"{split}: {count:,} dropped ({reason.replace('_', ' ')})"
            for split, reasons in self.dropped.items()
            for reason, count in reasons.items()
        ]
        parts += [f"{counted(self.malformed, 'malformed line')}"] if self.malformed else []
        return "; ".join(parts) or "the file contains no records"


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
    found = f"duplicate {shown(task_id)}, first in line {first}"
    return InputError(
        [Issue("duplicate-id", "unique task_ids", found, "task_id", file=str(path), line=number)]
    )


def _has_task_id(raw: bytes, path: Path, number: int, task_id: str) -> bool:
    try:
        return split_line(raw, file=str(path), number=number).task_id == task_id
    except InputError:
        return False


@contextmanager
def _folders_for(outputs: Iterable[Path]) -> Iterator[None]:
    """Make the folders of the outputs; if what follows fails, those that were not there are gone again."""
    made: list[Path] = []
    done = False
    try:
        for output in outputs:
            folder = Path(os.path.realpath(output)).parent
            missing = [each for each in (folder, *folder.parents) if not each.exists()]
            made += reversed(missing)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise refused("write", output, error) from error
        yield
        done = True
    finally:
        for folder in [] if done else reversed(made):
            with suppress(OSError):  # somebody else's file may be in it by now
                folder.rmdir()


def _make_way(config: EvaluationConfig, *, force: bool) -> dict[str, Any] | None:
    """Make sure that the outputs may be written, and return the manifest that they replace."""
    recover(Path(os.path.realpath(config.manifest_output)).parent)
    for output in config.outputs:
        if os.path.realpath(output) == os.path.realpath(config.offline_dataset):
            raise UsageError(f"expected outputs other than the raw records, got {output} for both")
    try:
        old = read_manifest(config.manifest_output) if config.manifest_output.exists() else None
    except RagEvalError:
        old = None  # what cannot be read tells nothing and may be replaced
    existing = [str(output) for output in config.outputs if output.exists()]
    if existing and not force:
        is_taken = old is not None and old["version"] == config.version
        same = f"; the manifest already has version {config.version}" if is_taken else ""
        raise UsageError(
            f"the output already exists: {', '.join(existing)}{same}. To replace it, add --force"
        )
    return old


def _relative(path: Path, root: str | Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


class _SplitFile:
    """One split on its way to the disk: compressed if its name says so, counted and hashed."""

    def __init__(self, stream: BinaryIO, path: Path, *, is_optional: bool) -> None:
        self.path = path
        self.count = 0
        self._hashed = _Hashed(stream)
        self._is_optional = is_optional
        self._stream = compressing(self._hashed, named_compression(path))  # type: ignore[arg-type]

    @property
    def sha256(self) -> str:
        return self._hashed.sha256.hexdigest()

    def write(self, line: bytes) -> None:
        self.count += 1
        self._stream.write(line + b"\n")

    def close(self) -> None:
        """Bring everything into the file, so that its digest is known; an optional one may stay empty."""
        if self.count or not self._is_optional:
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

_KINDS = {"qa": "qa-pair", "summaries": "summary", "citations": "qa-pair", "retrieval": "retrieval-case"}
_REFERENCES = {"qa": "reference_answer", "summaries": "reference_summary", "citations": "reference_answer"}


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
        yield Issue("empty-corpus", f"text files ({pattern})", "no such file", file=str(folder))
    for path in files:
        try:
            if not read_text(path).strip():
                yield Issue("empty-text", "text", "only white space", file=str(path))
        except InputError as error:
            yield from error.issues
        except RagEvalError as error:
            yield Issue("unreadable-file", "a readable file", str(error), file=str(path))


def _records_issues(
    name: str, path: Path, split: Mapping[str, Any], manifest_path: str | Path
) -> Iterator[Issue]:
    bad_lines: list[Issue] = []
    count = 0
    for line, record in read_lines(path, on_error=lambda error: bad_lines.extend(error.issues)):
        yield from drained(bad_lines)
        count += 1
        issues = schema_issues(_KINDS[name], record)
        yield from (issue.located(str(path), line) for issue in issues)
        field_ = _REFERENCES.get(name)
        if field_ and not issues and not record[field_].strip():
            yield Issue("empty-reference", "a reference", "an empty text", field_, file=str(path), line=line)
    yield from drained(bad_lines)
    where = str(manifest_path)
    if count != split["count"]:
        yield Issue(
            "wrong-count",
            f"{count:,}, the number of records in {path}",
            f"{split['count']:,}",
            f"splits.{name}.count",
            file=where,
        )
    if "sha256" in split and sha256(path) != split["sha256"]:
        yield Issue(
            "wrong-digest", f"the SHA-256 of {path}", split["sha256"], f"splits.{name}.sha256", file=where
        )


def drained(issues: list[Issue]) -> list[Issue]:
    """Return the issues of a list, which is empty then."""
    taken = issues.copy()
    issues.clear()
    return taken
