"""Atomic writes: the old file or the new one, whole, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from killed_programs import kill_after

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.files.atomic import (
    atomic_group,
    atomic_writer,
    recover,
    write_bytes_atomically,
    write_text_atomically,
)


def test_a_file_appears_only_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with atomic_writer(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["results.json"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_in_the_block_leaves_the_old_file_and_passes_on(
    failure: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with pytest.raises(failure), atomic_writer(path) as stream:  # noqa: PT012
        stream.write(b"x" * 100_000)
        raise failure
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["results.json"]


def test_permission_bits_are_kept_and_new_files_honour_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o640)
    umask = os.umask(0o027)
    try:
        write_bytes_atomically(old, b"1")
        write_bytes_atomically(new, b"1")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o640  # 0o666 without 0o027
    old.chmod(0o604)
    write_bytes_atomically(old, b"2")
    assert stat.S_IMODE(old.stat().st_mode) == 0o604


def test_a_link_stays_and_the_file_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    real = tmp_path / "store" / "real.json"
    link = tmp_path / "link.json"
    link.symlink_to("store/real.json")
    write_bytes_atomically(link, b"created through a dangling link")
    assert link.is_symlink()
    write_bytes_atomically(link, b"replaced")
    assert real.read_bytes() == b"replaced"
    assert link.is_symlink()
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(StorageError, match="symbolic links"):
        write_bytes_atomically(loop, b"")
    assert loop.is_symlink()


def test_a_name_of_the_longest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_bytes_atomically(path, b"1")
    assert path.read_bytes() == b"1"


def test_devices_are_written_to_and_never_replaced() -> None:
    write_bytes_atomically("/dev/null", b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(StorageError, match="the disk is full: cannot write /dev/full"):
        write_bytes_atomically("/dev/full", b"x" * 10)
    with pytest.raises(StorageError, match="the disk is full: cannot write /dev/full"):
        write_bytes_atomically("/dev/full", b"x" * 1_000_000)


def test_what_the_system_refuses_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, reason in [
        (tmp_path / "file" / "below", "Not a directory"),
        (tmp_path / "missing" / "below", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / ("n" * 256), "File name too long"),
    ]:
        with pytest.raises(StorageError) as caught:
            write_bytes_atomically(path, b"1")
        assert str(caught.value) == f"cannot write {path}: {reason}"
        assert caught.value.errno is not None
    with pytest.raises(StorageError, match="null byte"):
        write_bytes_atomically("a\0b", b"")
    assert names(tmp_path) == ["file"]


def test_text_is_written_in_utf8_with_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_text_atomically(path, "文\r\n\n")
    assert path.read_bytes() == b"\xe6\x96\x87\r\n\n"
    with pytest.raises(InputError, match=r"report\.md: .*a lone surrogate at character 1"):
        write_text_atomically(path, "a\ud800")
    assert path.read_bytes() == b"\xe6\x96\x87\r\n\n"


def test_a_file_that_must_be_new_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_bytes_atomically(path, b"first", overwrite=False)
    with pytest.raises(UsageError, match=r".*run\.json already exists"):
        write_bytes_atomically(path, b"second", overwrite=False)
    late = tmp_path / "late.json"
    with pytest.raises(UsageError), atomic_writer(late, overwrite=False) as stream:  # noqa: PT012
        stream.write(b"ours")
        late.write_bytes(b"theirs")
    assert path.read_bytes() == b"first"
    assert late.read_bytes() == b"theirs"
    assert names(tmp_path) == ["late.json", "run.json"]


def test_of_many_writers_of_a_new_file_exactly_one_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "eval_run_001.json"
    start = threading.Barrier(8)
    winners: list[int] = []

    def attempt(number: int) -> None:
        start.wait()
        try:
            write_bytes_atomically(path, b"%d" % number * 1000, overwrite=False)
        except UsageError:
            return
        winners.append(number)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    assert path.read_bytes() == b"%d" % winners[0] * 1000
    assert names(tmp_path) == [path.name]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    # A limit on the size of files makes the system refuse a real write, as a full disk does.
    program = f"""
        import resource, signal
        from rag_evaluation_framework.errors import StorageError
        from rag_evaluation_framework.files.atomic import atomic_writer, write_bytes_atomically
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            write_bytes_atomically({str(path)!r}, b"x" * 1_000_000)
        except StorageError as error:
            print(error)
        try:
            with atomic_writer({str(path)!r}) as stream:
                for _ in range(60):
                    stream.write(b"x" * 1_000)
        except StorageError as error:
            print(error)
    """
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines() == [f"cannot write {path}: File too large"] * 2
    assert result.stderr == ""
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["results.json"]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    program = f"""
        from rag_evaluation_framework.files.atomic import write_bytes_atomically
        print("ready", flush=True)
        for version in range(10**9):
            write_bytes_atomically({str(path)!r}, b"%09d" % version * 50_000)
    """
    moments = random.Random(7)
    for _ in range(12):
        kill_after(program, moments.uniform(0.0, 0.06))
        if path.exists():
            data = path.read_bytes()
            assert len(data) == 450_000
            assert data == data[:9] * 50_000
        recover(tmp_path)
        assert set(names(tmp_path)) <= {"results.json"}
    assert path.exists()


# Groups of files: all old or all new, and a way back after a kill.

TEMPORARY = ".rag-eval-0123456789abcdef.tmp"
RECORD = ".rag-eval-fedcba9876543210.commit"


def replace_together(contents: Mapping[Path | str, bytes], *, overwrite: bool = True) -> None:
    with atomic_group(tuple(contents), overwrite=overwrite) as streams:
        for stream, data in zip(streams, contents.values(), strict=True):
            stream.write(data)


def names(folder: Path) -> list[str]:
    return sorted(entry.relative_to(folder).as_posix() for entry in folder.rglob("*") if entry.is_file())


def test_files_of_a_group_appear_together(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / "qa.jsonl", tmp_path / "sub" / "summaries.jsonl", tmp_path / "manifest.json"]
    with atomic_group(paths) as streams:
        for number, stream in enumerate(streams):
            stream.write(b"%d" % number)
            stream.flush()
        assert not any(path.exists() for path in paths)
    assert [path.read_bytes() for path in paths] == [b"0", b"1", b"2"]
    assert names(tmp_path) == ["manifest.json", "qa.jsonl", "sub/summaries.jsonl"]
    replace_together(dict.fromkeys(paths, b"new"))
    assert [path.read_bytes() for path in paths] == [b"new"] * 3
    assert len(names(tmp_path)) == 3
    replace_together({})


def test_a_failure_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    replace_together(dict.fromkeys(paths, b"old"))
    with pytest.raises(KeyboardInterrupt), atomic_group(paths) as streams:  # noqa: PT012
        for stream in streams:
            stream.write(b"new" * 100_000)
        raise KeyboardInterrupt
    with pytest.raises(StorageError, match="missing/c: No such file or directory"):
        replace_together({paths[0]: b"new", tmp_path / "missing" / "c": b"new"})
    with pytest.raises(UsageError, match="expected different output files"):
        replace_together({paths[0]: b"new", str(paths[0]): b"new"})
    with pytest.raises(UsageError, match="a device or a pipe"):
        replace_together({paths[0]: b"new", "/dev/null": b"new"})
    assert [path.read_bytes() for path in paths] == [b"old", b"old"]
    assert names(tmp_path) == ["a", "b"]


def test_a_group_of_new_files_is_refused_if_one_exists_even_late(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(UsageError, match="b already exists"), atomic_group(paths, overwrite=False):
        paths[1].write_bytes(b"theirs")
    with pytest.raises(UsageError, match="b already exists"):
        replace_together(dict.fromkeys(paths, b"ours"), overwrite=False)
    assert names(tmp_path) == ["b"]
    assert paths[1].read_bytes() == b"theirs"


def test_a_kill_at_any_moment_leaves_all_old_or_all_new_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / "qa.jsonl", tmp_path / "sub" / "summaries.jsonl", tmp_path / "manifest.json"]
    replace_together(dict.fromkeys(paths, b"first"))
    program = f"""
        from rag_evaluation_framework.files.atomic import atomic_group
        print("ready", flush=True)
        for version in range(10**9):
            with atomic_group({list(map(str, paths))!r}) as streams:
                for stream in streams:
                    stream.write(b"%09d" % version * 2_000)
    """
    moments = random.Random(11)
    interrupted = 0
    for _ in range(20):
        kill_after(program, moments.uniform(0.0, 0.04))
        interrupted += len(names(tmp_path)) > 3
        recover(tmp_path, beside=[tmp_path / "sub"])
        contents = {path.read_bytes() for path in paths}
        assert len(contents) == 1
        assert names(tmp_path) == ["manifest.json", "qa.jsonl", "sub/summaries.jsonl"]
    assert interrupted > 0


@pytest.mark.parametrize("stop_after", range(12))
def test_a_kill_after_every_single_step_is_recovered_from(stop_after: int, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / "a", tmp_path / "sub" / "b", tmp_path / "c"]
    replace_together(dict.fromkeys(paths, b"old"))
    # The process kills itself instead of changing the folder for the n-th time.
    program = f"""
        import os, signal, sys
        from rag_evaluation_framework.files.atomic import atomic_group
        changes = 0
        def count(event, arguments):
            global changes
            if event in ("os.rename", "os.remove") or (event == "open" and ".rag-eval-" in str(arguments[0])):
                if changes == {stop_after}:
                    os.kill(os.getpid(), signal.SIGKILL)
                changes += 1
        sys.addaudithook(count)
        with atomic_group({list(map(str, paths))!r}) as streams:
            for stream in streams:
                stream.write(b"new")
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    # Changes: 3 temporaries, record (create, rename, read: two events), 3 renames, 1 removal.
    assert result.returncode == (-signal.SIGKILL if stop_after < 11 else 0)
    recover(tmp_path, beside=[tmp_path / "sub"])
    # From the record's rename on (the fifth change), the new files count.
    assert [path.read_bytes() for path in paths] == [b"old" if stop_after < 5 else b"new"] * 3
    assert names(tmp_path) == ["a", "c", "sub/b"]


def test_recovery_leaves_the_files_of_living_writers_alone(tmp_path: Path) -> None:
    with atomic_writer(tmp_path / "a") as stream, atomic_group([tmp_path / "b", tmp_path / "c"]) as group:
        stream.write(b"1")
        recover(tmp_path)
        group[0].write(b"2")
        recover(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert (tmp_path / "b").read_bytes() == b"2"
    assert recover(tmp_path / "no such folder") == ()


def test_writers_and_recoveries_at_the_same_time_never_mix_versions(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    problems: list[BaseException] = []

    def attempt(number: int) -> None:
        try:
            for _ in range(3):
                replace_together(dict.fromkeys(paths, b"%d" % number))
                recover(tmp_path)
        except BaseException as problem:  # noqa: BLE001  # reported by the thread that asserts
            problems.append(problem)

    for _ in range(20):
        threads = [threading.Thread(target=attempt, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert names(tmp_path) == ["a", "b"]
        assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"[]",
        b'{"renames": 1}',
        b"[" * 100_000,
        {"renames": [[".", "data.json", "a"]], "pointers": []},
        {"renames": [[".", TEMPORARY, "../a"]], "pointers": []},
        {"renames": [[".", TEMPORARY, "/etc/a"]], "pointers": []},
        {"renames": [[".", f"sub/{TEMPORARY}", "a"]], "pointers": []},
        {"renames": [[".", TEMPORARY, ".."]], "pointers": []},
        {"renames": [[".", TEMPORARY]], "pointers": []},
        {"renames": [], "pointers": ["a"]},
        {"record": "a"},
        {"record": RECORD, "renames": []},
    ],
)
def test_a_record_that_could_do_more_than_ours_is_refused(record: object, tmp_path: Path) -> None:
    (tmp_path / TEMPORARY).write_bytes(b"payload")
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    (tmp_path / RECORD).write_bytes(data)
    with pytest.raises(InputError, match="expected a record of files to rename"):
        recover(tmp_path)
