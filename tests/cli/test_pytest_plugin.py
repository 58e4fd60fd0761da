"""The plug-in of pytest: the gate as a test, one test an answer, failures that can be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

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
    ended.assert_outcomes(passed=12, failed=4)  # 11 answers and the look; the gate, the name, lines 3 and 6
    ended.stdout.fnmatch_lines_random(
        [
            "*FAILED: faithfulness is 0.95, the threshold is 0.98; no answer is known to be wrong.",
            "  line 3  What does it cost to take a kayak one way?",
            "*why       retrieval miss: retrieved freight.md; expected fares.md",
            "  misses hit@1 0.00, not >= 0.95",
            "rag-eval: *agnt.yaml*",
            "FAILED test_rag.py::test_answer[[]line-6[]]*",
        ]
    )
    assert "a gate that fails ends the test" not in str(ended.stdout)
    # Asked once, whoever asks: 4 tests, one run.
    assert len(list((pytester.path / "runs").iterdir())) == 1


def test_an_answer_needs_its_data(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_answer(rag_eval_answer): pass")
    ended = pytester.runpytest_subprocess("-q", *registered())
    assert ended.ret != 0
    ended.stdout.fnmatch_lines(["*rag_eval_answer needs the data: @pytest.mark.rag_eval('agent.yaml')*"])


def test_the_plug_in_costs_nothing_until_it_is_used() -> None:
    told = f"import sys, {PLUGIN}; print([name for name in sys.modules if name.startswith('rag_eval')])"
    loaded = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout
    package = PLUGIN.partition(".")[0]
    assert loaded.strip() == str([f"{package}.version", package, f"{package}.cli", PLUGIN])
