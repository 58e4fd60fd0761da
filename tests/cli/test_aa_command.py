"""``rag-eval aa`` from the outside: how often the gate fails an agent that did not change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from benchmarks.regression_gate import simulate_pair

from command_lines import rag_eval_ended

MANIFEST = """
spec:
  evaluation:
    datasets: [%s]
    metrics: [string_match]
    ciGate: true
    thresholds: {string_match: 0.0%s}
"""
# Answers each question correctly as often as its share says, by a generator of its own; below 0 it fails.
AGENT = """
import random

shares = %r
rooms = [random.Random(f"%d {number}") for number in range(len(shares))]

def answer(question):
    number = int(question.split()[-1].rstrip("?"))
    if shares[number] < 0:
        raise ValueError("no room")
    return f"Room {100 + number}." if rooms[number].random() < shares[number] else "%s"
"""
numbers = count()


class Aa:
    """Runs ``rag-eval aa`` in a folder with an agent of known noise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def agent(
        self,
        shares: list[float],
        *,
        seed: int = 1,
        wrong: str = "Room 7.",
        limits: str = "",
        datasets: int = 1,
    ) -> None:
        rows = [
            {"input": f"Which room has number {n}?", "expected": f"Room {100 + n}."}
            for n in range(len(shares))
        ]
        names = [f"rooms{number}" for number in range(datasets)]
        for number, name in enumerate(names):
            lines = (json.dumps(row) + "\n" for row in rows[number::datasets])
            (self.folder / f"{name}.jsonl").write_text("".join(lines))
        listed = ", ".join(f'{{name: {name}, path: "$file:{name}.jsonl"}}' for name in names)
        (self.folder / "agent.yaml").write_text(MANIFEST % (listed, limits))
        module = f"noisy_rooms_{next(numbers)}"  # one of its own, since modules are imported once
        (self.folder / f"{module}.py").write_text(AGENT % (shares, seed, wrong))
        self.target = ("--target", f"{module}:answer")

    def __call__(self, *arguments: str, code: int = 0) -> str:
        ended = rag_eval_ended("aa", *arguments, folder=self.folder)
        assert ended.returncode == code, ended.stderr
        return ended.stdout if code == 0 else ended.stderr

    def asked(self, *arguments: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self("agent.yaml", *self.target, "--json", *arguments))
        return found


@pytest.fixture
def aa(tmp_path: Path) -> Aa:
    return Aa(tmp_path)


def true_rate(shares: list[float], pairs: int = 3_000) -> float:
    """Simulate the gate on the known shares, by the benchmark of the gate."""
    fails: list[bool] = []
    for seed in range(pairs):
        each = iter(shares)
        fails.append(simulate_pair(len(shares), lambda _: next(each), 0.0, seed)[0])  # noqa: B023
    return sum(fails) / pairs


@pytest.mark.parametrize(
    ("number", "noisy", "share"), [(40, 13, 0.4), (40, 8, 0.7), (60, 6, 0.5), (40, 40, 0.95), (40, 0, 1.0)]
)
def test_printed_rate_is_that_of_the_known_noise(aa: Aa, number: int, noisy: int, share: float) -> None:
    shares = [share] * noisy + [1.0] * (number - noisy)
    aa.agent(shares)
    found = aa.asked()
    assert abs(found["rate"] - true_rate(shares)) <= 2 * found["standard_error"]
    assert found["standard_error"] < 0.12
    assert (found["questions"], found["answers"]) == (number, 10 * number)
    numbers = {int(each["question"].split()[-1].rstrip("?")) for each in found["unstable"]}
    assert numbers <= set(range(noisy))
    assert len(numbers) >= 0.3 * noisy


def test_most_agents_are_within_two_standard_errors(aa: Aa) -> None:
    shares = [0.5] * 4 + [0.8] * 6 + [0.0] * 5 + [1.0] * 25
    rate, inside = true_rate(shares), []
    for seed in range(6):
        aa.agent(shares, seed=seed)
        found = aa.asked()
        inside.append(abs(found["rate"] - rate) <= 2 * found["standard_error"])
    assert inside.count(True) >= 5


def test_more_askings_make_the_rate_more_certain(aa: Aa) -> None:
    aa.agent([0.4] * 10 + [1.0] * 30)
    few, many = (aa.asked("--repeats", repeats) for repeats in ("4", "24"))
    assert few["answers"] == 160
    assert many["standard_error"] < few["standard_error"]


def test_rate_is_that_of_the_gate_which_is_asked_about(aa: Aa) -> None:
    aa.agent([0.5] * 10 + [1.0] * 30)
    aa.asked()
    rates = [
        json.loads(aa("001", "--json", *options))["rate"]
        for options in (("--ask-again", "0"), ("--ask-again", "2"), (), ("--max-regressions", "1"))
    ]
    # Without asking again, any of ten questions that are correct half of the time fails it.
    assert rates[0] > 0.9
    assert rates == sorted(rates, reverse=True)
    assert rates[3] < 0.5 * rates[2]


def test_threshold_that_noise_crosses_is_counted(aa: Aa) -> None:
    aa.agent([0.5] * 10 + [1.0] * 30, limits=", correct: {min: 85%}, wrong: {max: 2}")
    found = aa.asked()
    # Fewer than four of ten are correct in 17% of the runs, and more than two are wrong in 95%.
    assert 0.05 < found["causes"]["correct >= 85%"] < 0.35
    assert found["missed"]["wrong <= 2"] > 0.85
    assert found["rate"] >= found["causes"]["correct >= 85%"]
    screen = aa("001", "--width", "80")
    assert "wrong <= 2 is missed in" in screen
    assert "no noise" in screen


def test_answers_that_are_not_judged_leave_the_gate_undecided(aa: Aa) -> None:
    aa.agent([0.2] * 10 + [1.0] * 10, wrong="It is the usual one.")
    found = aa.asked()
    assert found["unstable"][0]["grades"].keys() == {"correct", "not_judged"}
    passed = json.loads(aa("001", "--json", "--on-undecided", "pass"))
    assert found["rate"] > 0.1
    assert passed["rate"] == 0.0


def test_failed_requests_count_as_the_gate_counts_them(aa: Aa) -> None:
    aa.agent([-1.0] + [1.0] * 9)
    options = ("--max-attempts", "1", "--repeats", "3")
    assert aa.asked(*options)["missed"]["--max-errors"] > 0.8
    assert aa.asked(*options, "--max-errors", "1")["missed"] == {}


def test_runs_of_one_agent_are_measured_together(aa: Aa) -> None:
    for seed in range(6):
        aa.agent([0.4] * 10 + [1.0] * 30, seed=seed)
        ended = rag_eval_ended("evaluate", "agent.yaml", *aa.target, folder=aa.folder)
        assert ended.returncode == 0, ended.stderr
    found = json.loads(aa("001", "002", "003", "004", "005", "006", "--json"))
    assert (found["questions"], found["answers"], len(found["runs"])) == (40, 240, 6)
    assert {each["asked"] for each in found["unstable"]} == {6}
    assert "asked at least twice" in aa("001", code=2)


def test_several_datasets_are_one_gate(aa: Aa) -> None:
    shares = [0.4] * 12 + [1.0] * 28
    aa.agent(shares, datasets=2)
    found = aa.asked()
    assert abs(found["rate"] - true_rate(shares)) <= 2 * found["standard_error"]
    assert {each["dataset"] for each in found["unstable"]} == {"rooms0", "rooms1"}
    ended = rag_eval_ended("evaluate", "agent.yaml", *aa.target, "--dataset", "rooms0", folder=aa.folder)
    assert ended.returncode == 0, ended.stderr
    assert "expected the datasets of" in aa("001", "003", code=2)


def test_screen_has_the_rate_first_and_fits(aa: Aa) -> None:
    aa.agent([0.4] * 10 + [1.0] * 30)
    lines = aa("agent.yaml", *aa.target, "--width", "80").splitlines()
    assert lines[0].startswith("An unchanged agent fails this gate in ")
    assert lines[0].endswith("%).")
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line.startswith("Next:")).startswith("Next: rag-eval show 001")
    steady = [1.0] * 40
    aa.agent(steady, seed=2)
    assert "No question is unstable" in aa("agent.yaml", *aa.target)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("agent.yaml", "--repeats", "1"), "--repeats: expected at least 2, got 1"),
        (("agent.yaml", "agent.yaml"), "expected one manifest or dataset"),
        (("agent.yaml", "--url", "http://127.0.0.1:1", "--threshold", "nothing"), "threshold"),
    ],
)
def test_wrong_use_of_aa_says_what_is_wrong(aa: Aa, arguments: tuple[str, ...], told: str) -> None:
    aa.agent([1.0] * 4)
    options = () if "--url" in arguments else aa.target
    assert told in aa(*arguments, *options, code=2)
    assert "there is no run" in aa("777", code=2)


def test_run_that_only_retrieves_has_no_noise_to_measure(aa: Aa) -> None:
    (aa.folder / "corpus").mkdir()
    (aa.folder / "corpus" / "rooms.md").write_text("# Rooms\n\nThe kitchen has number 7.\n")
    row = {"input": "Which number has the kitchen?", "expected": "7", "relevant_documents": ["rooms.md"]}
    (aa.folder / "search.jsonl").write_text(json.dumps(row) + "\n")
    options = ("corpus", "--dataset", "search.jsonl", "--retriever", "bm25")
    ended = rag_eval_ended("retrieval", *options, folder=aa.folder)
    assert ended.returncode == 0, ended.stderr
    assert "asked at least twice" in aa("001", code=2)


def test_dry_run_of_aa_asks_nothing(aa: Aa) -> None:
    aa.agent([1.0] * 4)
    assert "40" in aa("agent.yaml", *aa.target, "--dry-run")
    assert not (aa.folder / "runs").exists()
