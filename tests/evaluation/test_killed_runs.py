"""Nothing finished is ever lost: runs in real processes that are killed, interrupted, or out of disk.

``RAG_EVAL_LONG_TESTS=1`` kills 200 times instead of 20 and measures memory at 100,000 samples.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from simulated_targets import ExactMatch, final_bytes, new_folder, samples

from command_lines import commands_next, rag_eval_ended
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.results.run_store import RunFolder
from sizes import LONG

SCRIPT = Path(__file__).with_name("killable_run.py")
KILLS = 200 if LONG else 12
WORKERS = 16


class KillableRun:
    """A run whose process can be started, killed and started again, with what it left behind."""

    def __init__(self, directory: Path, count: int, *, seconds: float = 0.0) -> None:
        directory.mkdir(exist_ok=True)
        self.folder = new_folder(directory / "runs")
        self.asks_path, self.acks_path = directory / "asks", directory / "acks"
        self.options: dict[str, Any] = {
            "folder": str(self.folder.path),
            "asks": str(self.asks_path),
            "acks": str(self.acks_path),
            "count": count,
            "concurrency": WORKERS,
            "seconds": seconds,
        }

    def start(self, **options: object) -> subprocess.Popen[bytes]:
        given = msgspec.json.encode({**self.options, **options}).decode()
        return subprocess.Popen([sys.executable, str(SCRIPT), given])

    def finish(self, **options: object) -> int:
        with self.start(**options) as process:
            return process.wait(timeout=120)

    def asks(self) -> list[tuple[str, str]]:
        """Return the sample id and key of every request so far."""
        words = self.asks_path.read_text().split() if self.asks_path.exists() else []
        return list(zip(words[::2], words[1::2], strict=True))

    def acks(self) -> list[str]:
        return self.acks_path.read_text().splitlines() if self.acks_path.exists() else []

    def acknowledged(self) -> int:
        return max((int(line.split()[1]) for line in self.acks() if line.startswith("done")), default=0)

    def wait_for(self, beginning: str) -> None:
        deadline = time.monotonic() + 30
        while not any(line.startswith(beginning) for line in self.acks()):
            assert time.monotonic() < deadline, f"never saw {beginning!r}"
            time.sleep(0.005)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of 2,000 samples from a run that nothing happened to."""
    run = KillableRun(tmp_path_factory.mktemp("undisturbed"), 2000)
    assert run.finish() == 0
    return run.folder.results_path.read_bytes()


def killed_again_and_again(directory: Path, chance: random.Random) -> Iterator[KillableRun]:
    """Begin runs, kill each at random moments until it is complete, and yield each time one is started."""
    run = KillableRun(directory / "0", 2000, seconds=0.03)
    for number in range(1, KILLS + 1):
        yield run
        process = run.start()
        # From before the first line of the journal, through the resume, to far into the run.
        time.sleep(chance.uniform(0.0, 0.8))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            yield run
            run = KillableRun(directory / str(number), 2000, seconds=0.03)
    while run.finish() != 0:
        pass
    yield run


def test_a_run_killed_at_random_moments_loses_nothing_and_asks_nothing_twice(
    tmp_path: Path, undisturbed: bytes
) -> None:
    current, segment, finished = None, 0, set[str]()
    for run in killed_again_and_again(tmp_path, random.Random(20261115)):
        if run is not current:
            current, segment, finished = run, 0, set()
        asks = run.asks()
        since = {identifier for identifier, _ in asks[segment:]}
        # What was finished before this process began was not asked by it.
        assert not since & finished
        results = [result.sample_id for result in run.folder.results()]
        assert len(results) == len(set(results)) >= run.acknowledged()
        assert finished <= set(results)
        # What this process asked and did not finish was in flight when it was killed.
        assert len(since - set(results)) <= WORKERS
        keys = dict(asks)
        assert all(keys[identifier] == key for identifier, key in asks)
        segment, finished = len(asks), set(results)
        if run.folder.results_path.exists():
            assert run.folder.results_path.read_bytes() == undisturbed
    assert run.folder.state == "complete"
    assert final_bytes(run.folder) == undisturbed


def test_a_run_killed_while_it_is_summed_up_has_all_its_results_or_no_file(
    tmp_path: Path, undisturbed: bytes
) -> None:
    chance = random.Random(7)
    run = KillableRun(tmp_path, 2000)
    for _ in range(max(5, KILLS // 10)):
        run.acks_path.unlink(missing_ok=True)
        process = run.start()
        run.wait_for("finalising")
        time.sleep(chance.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run.folder.state == "complete"
        assert len(run.asks()) == 2020  # 20 samples in 2,000 are asked twice by the retry rules
        if run.folder.results_path.exists():
            assert run.folder.results_path.read_bytes() == undisturbed
    assert run.finish() == 0
    assert run.folder.results_path.read_bytes() == undisturbed


def test_ctrl_c_lets_what_is_in_flight_finish_and_returns_within_five_seconds(tmp_path: Path) -> None:
    run = KillableRun(tmp_path, 500, seconds=0.5)
    process = run.start()
    run.wait_for("done")
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert time.monotonic() - pressed < 5
    asked = {identifier for identifier, _ in run.asks()}
    assert 0 < len(asked) < 500
    # Everything that was with the target is done, but for a sample that waited to be tried again.
    assert asked - {result.sample_id for result in run.folder.results()} <= {"q00003"}
    assert "ended interrupted" in run.acks()


def test_ctrl_c_does_not_wait_for_a_target_that_hangs(tmp_path: Path) -> None:
    run = KillableRun(tmp_path, 50, seconds=60.0)
    process = run.start()
    while not run.asks():
        time.sleep(0.01)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert 2.5 < time.monotonic() - pressed < 5
    assert run.folder.counts.done == 0
    assert run.folder.state == "incomplete"


def test_a_disk_that_fills_up_stops_the_run_cleanly_and_it_can_be_resumed(
    tmp_path: Path, undisturbed: bytes
) -> None:
    run = KillableRun(tmp_path, 2000)
    assert run.finish(file_size=300_000) == 3
    assert "File too large" in run.acks()[-1]
    done = run.folder.counts.done
    assert 0 < done == run.acknowledged() < 2000
    assert run.folder.journal_path.read_bytes().endswith(b"}\n")
    assert run.finish() == 0
    assert run.folder.results_path.read_bytes() == undisturbed
    in_flight = len(run.asks()) - 2020
    assert in_flight <= WORKERS + 20


def test_a_disk_without_room_for_the_list_of_samples_is_refused_before_the_first_request(
    tmp_path: Path,
) -> None:
    run = KillableRun(tmp_path, 2000)
    assert run.finish(file_size=1000) == 2
    assert "File too large" in run.acks()[-1]
    assert run.asks() == []
    assert run.finish(count=20) == 0


def test_a_folder_that_cannot_be_written_is_refused_before_the_first_request() -> None:
    # Root may write anywhere, so the run takes the rights of nobody.
    user = {"user": 65534} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        run = KillableRun(directory, 20)
        run.folder.path.chmod(0o555)
        try:
            assert run.finish(**user) == 2
        finally:
            run.folder.path.chmod(0o755)
        assert "Permission denied" in run.acks()[-1]
        assert run.asks() == []


def test_a_second_process_is_refused_and_told_who_is_at_work(tmp_path: Path) -> None:
    run = KillableRun(tmp_path, 2000, seconds=0.05)
    process = run.start()
    try:
        run.wait_for("done")
        assert run.folder.state == "running"
        with pytest.raises(UsageError, match=f"is in use by process {process.pid} on "):
            run_samples(samples(2000), None, [ExactMatch()], folder=run.folder)  # type: ignore[arg-type]
    finally:
        process.kill()
        process.wait()
    assert RunFolder.open(run.folder.path).state == "incomplete"


def test_memory_does_not_grow_with_the_number_of_samples(tmp_path: Path) -> None:
    memory = []
    for count in (1_000, 100_000 if LONG else 10_000):
        run = KillableRun(tmp_path / str(count), count)
        with run.start(finalise=False) as process:
            assert process.wait(timeout=300) == 0
        memory.append(int(run.acks()[-1].split()[1]) / 1024)
    small, large = memory
    assert large - small < 10, f"{small:.1f} MB at 1,000 samples, {large:.1f} MB at many"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with answers, and a run over them that nothing happened to."""
    folder = tmp_path_factory.mktemp("answers")
    facts = [f"Ferry {n} leaves pier {n % 7} at {n % 24}:30, and {n} went by it in May." for n in range(99)]
    said = (" ".join(facts[n * step % 99] for step in range(2, 8)) + f" {n}." for n in range(6000))
    rows = (msgspec.json.encode({"question": "?", "answer": each, "contexts": facts[:9]}) for each in said)
    (folder / "my answers.jsonl").write_bytes(b"\n".join(rows))
    assert rag_eval_ended("score", "my answers.jsonl", "-m", "faithfulness", folder=folder).returncode == 0
    return folder


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_scoring_that_was_stopped_goes_on_by_the_command_that_is_named(answers: Path, sign: int) -> None:
    code = "import signal as s; s.signal(s.SIGINT, s.default_int_handler)\n"  # a background job may ignore it
    code += "from rag_evaluation_framework.cli.main import main; main()"
    words = ("score", "my answers.jsonl", "-m", "faithfulness", "--workers", "1", "--runs-dir", f"of {sign}")
    process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, cwd=answers)
    while not any(path.stat().st_size for path in answers.glob(f"of {sign}/*/journal.jsonl")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sign)
    screen = process.communicate(timeout=30)[0].decode()
    assert process.returncode == (130 if sign == signal.SIGINT else -sign)
    [stopped], [whole] = (map(RunFolder.open, answers.glob(f"{name}/*")) for name in (f"of {sign}", "runs"))
    assert 0 < stopped.counts.done < 6000
    listed = rag_eval_ended("runs", "--runs-dir", f"of {sign}", folder=answers).stdout
    [named] = commands_next(screen if sign == signal.SIGINT else listed.replace("resume with:", "Next:"))
    assert [rag_eval_ended(*named, folder=answers).returncode for _ in range(2)] == [0, 0]  # goes on; is done
    for name in ("blame.jsonl.zst", "data.jsonl.zst"):
        assert (stopped.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert final_bytes(stopped) == final_bytes(whole)
    (answers / "other.jsonl").write_bytes((answers / "my answers.jsonl").read_bytes())
    refused = rag_eval_ended("score", "other.jsonl", *named[2:], folder=answers)
    assert (refused.returncode, "expected the dataset my answers of" in refused.stderr) == (2, True)
