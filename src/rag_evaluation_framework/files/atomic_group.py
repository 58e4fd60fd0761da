"""Writing several files so that all are the old ones or all are the new ones, even after a kill.

A file system renames one file at a time, so a *commit record* makes several renames one step:

1. every new file is staged beside its target and brought onto the disk;
2. the record, which lists the renames to do, appears in the folder of the first file: from here the
   new files count;
3. the renames are done and the record is removed.

A kill before step 2 leaves the old files, a kill after it leaves a record, and :func:`recover` brings the
folder to the one state or the other. Every reader that needs the files to belong together, and every
writer, calls it first. Where a group spans folders, the other folders hold a record that points to the
first, written before it and removed before it.

A record can only move a temporary file, named as ours are, within the folder where it lies. A folder that
came from a stranger can therefore do nothing with one to the files outside it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluation_framework.errors import UsageError, invalid
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.staging import (
    TEMPORARY_NAME,
    StagedFile,
    exists_already,
    is_abandoned,
    sync_folder,
    target_of,
)

_RECORD_NAME = re.compile(r"\.rag-eval-[0-9a-f]{16}\.commit\Z")


@contextmanager
def atomic_group(paths: Sequence[str | Path], *, overwrite: bool = True) -> Iterator[tuple[BinaryIO, ...]]:
    """Open several files for writing; all appear at the end of the ``with`` block, or none does.

    Without ``overwrite`` any file that exists already is a :class:`UsageError`.
    """
    for folder in {Path(os.path.realpath(path)).parent for path in paths}:
        recover(folder)
    staged: list[StagedFile] = []
    group = _Group(staged)
    try:
        for path in paths:
            staged.append(_staged(path, [file.target for file in staged], overwrite=overwrite))
        yield tuple(file.stream for file in staged)
        for file in staged:
            file.finish()
            if not overwrite and file.target.exists():
                raise exists_already(file.target)
        group.commit()
    finally:
        group.close()


def replace_together(contents: Mapping[str | Path, bytes], *, overwrite: bool = True) -> None:
    """Write several whole files at once: all are replaced, or none is."""
    with atomic_group(tuple(contents), overwrite=overwrite) as streams:
        for stream, data in zip(streams, contents.values(), strict=True):
            stream.write(data)


def recover(folder: str | Path) -> tuple[Path, ...]:
    """Finish what a killed writer had committed in a folder, and remove what it had not.

    Returns the files that were brought to their new content. A folder without leftovers, or that does not
    exist, is left alone; a living writer's commit is waited for.
    """
    folder = Path(folder)
    finished: list[Path] = []
    for record in _named(folder, _RECORD_NAME):
        finished.extend(_finish(record))
    for temporary in _named(folder, TEMPORARY_NAME):
        _remove_if_abandoned(temporary)
    return tuple(finished)


class _Group:
    """Staged files that are committed together."""

    def __init__(self, staged: list[StagedFile]) -> None:
        self.staged = staged
        self.committed = False

    def commit(self) -> None:
        if not self.staged:
            return
        name = f".rag-eval-{secrets.token_hex(8)}.commit"
        first, *others = dict.fromkeys(file.target.parent for file in self.staged)
        record = first / name
        pointers = [folder / name for folder in others]
        renames = [
            [os.path.relpath(file.target.parent, first), file.temporary.name, file.target.name]
            for file in self.staged
        ]
        content = {"pointers": [os.path.relpath(pointer, first) for pointer in pointers], "renames": renames}
        with ExitStack() as locks:
            locks.callback(self._withdraw, pointers)
            for pointer in pointers:
                _write_record(pointer, {"record": os.path.relpath(record, pointer.parent)}, locks)
            _write_record(record, content, locks)
            self.committed = True
            _rename_all(record, content)

    def _withdraw(self, pointers: Sequence[Path]) -> None:
        """Remove the pointers of a group whose record could not be written."""
        if not self.committed:
            with suppress(OSError):
                for pointer in pointers:
                    pointer.unlink(missing_ok=True)

    def close(self) -> None:
        for file in self.staged:
            if self.committed:
                file.close()
            else:
                file.discard()


def _staged(path: str | Path, taken: Sequence[Path], *, overwrite: bool) -> StagedFile:
    target, status = target_of(path)
    if target in taken:
        raise UsageError(f"expected different files, got {path} twice")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise UsageError(f"expected a regular file, got {path}, which is a device or a pipe")
    if status is not None and not overwrite:
        raise exists_already(target)
    return StagedFile(target, status)


def _write_record(path: Path, content: Mapping[str, Any], locks: ExitStack) -> None:
    """Let a record appear whole, locked until ``locks`` closes."""
    staged = StagedFile(path, None)
    locks.callback(staged.discard)
    # The standard encoder: it also carries names that are not valid UTF-8.
    staged.stream.write(json.dumps(content).encode("ascii"))
    staged.finish()
    staged.place()


def _rename_all(record: Path, content: Mapping[str, Any]) -> list[Path]:
    """Do the renames of a record that are still to be done, then remove it; return the targets."""
    targets = []
    for folder, temporary, name in content["renames"]:
        target = record.parent / folder / name
        try:
            (record.parent / folder / temporary).replace(target)
            targets.append(target)
        except FileNotFoundError:
            continue  # done already, before the kill
        except OSError as error:
            raise refused("write", target, error) from error
    for folder in dict.fromkeys(folder for folder, _, _ in content["renames"]):
        sync_folder(record.parent / folder)
    try:
        for pointer in content["pointers"]:
            (record.parent / pointer).unlink(missing_ok=True)
        record.unlink()
    except OSError as error:
        raise refused("remove", record, error) from error
    return targets


def _finish(path: Path) -> list[Path]:
    """Finish the commit that a record, or a pointer to one, stands for."""
    with _locked(path) as data:
        if data is None:
            return []
        content = _checked(path, data)
        if "renames" in content:
            return _rename_all(path, content)
    # The pointer's lock is free, so its writer is done or dead; holding it any longer could only block.
    finished = _finish_record(path.parent / content["record"])
    path.unlink(missing_ok=True)
    return finished


def _finish_record(record: Path) -> list[Path]:
    """Finish the commit of a record that another folder points to; without it there was no commit."""
    with _locked(record) as data:
        content = {} if data is None else _checked(record, data)
        return _rename_all(record, content) if "renames" in content else []


@contextmanager
def _locked(path: Path) -> Iterator[bytes | None]:
    """Wait until nobody else works on a record; yield its content, or ``None`` if it is gone by then."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise refused("read", path, error) from error
    with os.fdopen(descriptor, "rb") as stream:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield stream.read() if os.fstat(descriptor).st_nlink else None


def _checked(path: Path, data: bytes) -> dict[str, Any]:
    """Read a record, and make sure that it can do no more than ours do."""
    match _parsed(data):
        case {"record": str(record), **rest} if not rest and _RECORD_NAME.match(Path(record).name):
            return {"record": record}
        case {"renames": list(renames), "pointers": list(pointers), **rest} if (
            not rest
            and all(map(_is_rename, renames))
            and all(isinstance(pointer, str) and Path(pointer).name == path.name for pointer in pointers)
        ):
            return {"renames": renames, "pointers": pointers}
    raise invalid("", "a record of files to rename", data[:40], code="damaged-record").located(str(path))


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_rename(rename: Any) -> bool:
    match rename:
        case [str(folder), str(temporary), str(name)]:
            return TEMPORARY_NAME.match(temporary) is not None and "\0" not in folder and _is_plain(name)
    return False


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and not set("/\0").intersection(name)


def _named(folder: Path, name: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if name.match(path.name) and path.is_file() and not path.is_symlink()
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused("read", folder, error) from error


def _remove_if_abandoned(temporary: Path) -> None:
    # What cannot be removed (a read-only folder) does no harm.
    with suppress(OSError):
        descriptor = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # With the lock in hand its writer is dead. If it left a record since we looked, this file is
            # part of a commit, and the next recovery finishes that.
            if is_abandoned(descriptor) and not _named(temporary.parent, _RECORD_NAME):
                temporary.unlink()
        finally:
            os.close(descriptor)
