"""The plug-in of pytest: the gate as a test, one test an answer, failures that can be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from every_state import ANSWERS, evaluate_every_state
from rag_evaluation_framework import load
from rag_evaluation_framework.cli.pytest_plugin import Answer

pytest_plugins = ["pytester"]

FERRY = Path(__file__).parents[2] / "examples" / "ferry"
PLUGIN = "rag_evaluation_framework.cli.pytest_plugin"
TESTS = """
import pytest

def test_may_ship(rag_eval):
    result = rag_eval.evaluate("agent.yaml", target="ferry_agent:faulty")
    raise AssertionError("a gate that fails ends the test")

def test_look_only(rag_eval):
    result = rag_eval.evaluate("agent.yaml", target="ferry_agent:faulty", check=False)
    assert result.metrics["hit@1"].value < 1

def test_wrong(rag_eval):
    rag_eval.evaluate("agnt.yaml", target="ferry_agent:faulty")

@pytest.mark.rag_eval("agent.yaml", target="ferry_agent:faulty")
def test_answer(rag_eval_answer):
    assert rag_eval_answer.text
    rag_eval_answer.check()
"""


def registered() -> list[str]:
    """Name the plug-in where the package was installed before it had one; leave out those that take long."""
    names = {each.name for each in entry_points(group="pytest11")}
    return ["-p", "no:langsmith_plugin", "-p", "no:anyio", *([] if "rag_eval" in names else ["-p", PLUGIN])]


def test_the_gate_is_a_test_and_each_answer_one_of_its_own(pytester: pytest.Pytester) -> None:
    shutil.copytree(FERRY, pytester.path, dirs_exist_ok=True)
    pytester.makepyfile(test_rag=TESTS)
    ended = pytester.runpytest_subprocess("-q", "--strict-markers", "-p", "no:randomly", *registered())
    found = ended.parseoutcomes()
    (run,) = (pytester.path / "runs").iterdir()  # asked once, whoever asks: 4 tests, one run
    answers = load(run).answers  # type: ignore[union-attr]
    # Beside the answers: the look passes; the gate and the wrong name fail.
    faulty = answers.wrong + answers.partly_correct
    counts = [found.get(name, 0) for name in ("passed", "failed", "skipped")]
    assert counts == [answers.correct + 1, faulty + 2, answers.not_judged]
    ended.stdout.fnmatch_lines_random(["*FAILED*", "rag-eval: *agnt.yaml*"])
    assert "a gate that fails ends the test" not in str(ended.stdout)


def test_an_answer_fails_if_faulty_and_skips_if_unjudged() -> None:
    ended: dict[str, tuple[type[BaseException], str]] = {}
    for row in evaluate_every_state().rows:
        try:
            Answer(row.id, row).check()
        except (pytest.fail.Exception, pytest.skip.Exception) as end:
            ended[row.id] = type(end), str(end)
    skipped = {name: told for name, (kind, told) in ended.items() if kind is pytest.skip.Exception}
    assert skipped == {
        "not_judged": "not judged: only its retrieved passages could be compared",
        "looks_wrong": "not judged (looks wrong): asks back",
    }
    assert ANSWERS.keys() - ended.keys() == {"correct", "correct_refusal", "flagged"}
    assert ended["missed_refusal"][1].endswith(
        "why       missed refusal: answers a question that it should refuse"
    )
    assert "turn 2: And what does a ticket cost?" in ended["talk"][1]
    assert "turn 1" not in ended["talk"][1]


def test_an_answer_needs_its_data(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_answer(rag_eval_answer): pass")
    ended = pytester.runpytest_subprocess("-q", *registered())
    assert ended.ret != 0
    ended.stdout.fnmatch_lines(["*rag_eval_answer needs data: @pytest.mark.rag_eval('agent.yaml')*"])


def test_the_plug_in_costs_nothing_until_it_is_used() -> None:
    told = f"import sys, {PLUGIN}; print([name for name in sys.modules if name.startswith('rag_eval')])"
    loaded = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout
    package = PLUGIN.partition(".")[0]
    assert loaded.strip() == str([f"{package}.version", package, f"{package}.cli", PLUGIN])
