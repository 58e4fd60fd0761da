"""Groups of files: all old or all new, and a way back after a kill."""

from __future__ import annotations

import json
import random
import signal
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
from rag_evaluation_framework.files.atomic import atomic_group, atomic_writer, recover

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
    with pytest.raises(UsageError, match="expected different files"):
        replace_together({paths[0]: b"new", str(paths[0]): b"new"})
    with pytest.raises(UsageError, match="which is a device or a pipe"):
        replace_together({paths[0]: b"new", "/dev/null": b"new"})
    assert [path.read_bytes() for path in paths] == [b"old", b"old"]
    assert names(tmp_path) == ["a", "b"]


def test_a_group_of_new_files_is_refused_if_one_exists_even_late(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(UsageError, match="b, got one that exists"), atomic_group(paths, overwrite=False):
        paths[1].write_bytes(b"theirs")
    with pytest.raises(UsageError, match="b, got one that exists"):
        replace_together(dict.fromkeys(paths, b"ours"), overwrite=False)
    assert names(tmp_path) == ["b"]
    assert paths[1].read_bytes() == b"theirs"


def test_a_kill_at_any_moment_leaves_all_old_or_all_new_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / "qa.jsonl", tmp_path / "sub" / "summaries.jsonl", tmp_path / "manifest.json"]
    replace_together(dict.fromkeys(paths, b"first"))
    program = f"""
        from rag_evaluation_framework.files.atomic import atomic_group
        import filelock  # loaded with the first lock; the kill is to come later
        print("ready", flush=True)
        for version in range(10**9):
            with atomic_group({list(map(str, paths))!r}) as streams:
                for stream in streams:
                    stream.write(b"%09d" % version * 2_000)
    """
    moments = random.Random(11)
    interrupted = 0
    for turn in range(20):
        kill_after(program, moments.uniform(0.0, 0.04))
        interrupted += len(names(tmp_path)) > 3
        # Whichever folder a reader starts from, its files are whole afterwards.
        recover([tmp_path, tmp_path / "sub"][turn % 2])
        recover([tmp_path / "sub", tmp_path][turn % 2])
        contents = {path.read_bytes() for path in paths}
        assert len(contents) == 1
        assert names(tmp_path) == ["manifest.json", "qa.jsonl", "sub/summaries.jsonl"]
    assert interrupted > 0


@pytest.mark.parametrize("stop_after", range(13))
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
    # Changes: 3 temporaries, pointer (create, rename), record (create, rename), 3 renames, 2 removals.
    assert result.returncode == (-signal.SIGKILL if stop_after < 12 else 0)
    recover(tmp_path / "sub")
    recover(tmp_path)
    # From the record's rename on (the seventh change), the new files count.
    assert [path.read_bytes() for path in paths] == [b"old" if stop_after < 7 else b"new"] * 3
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


def test_a_record_that_points_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(json.dumps({"record": RECORD}))
    assert recover(tmp_path) == ()
    assert names(tmp_path) == []
