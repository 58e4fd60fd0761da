"""``rag-eval golden`` from the outside: on the example's own assistant, and on a real agent over HTTP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from fault_agent import RunningServer, running_server

from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.cli.golden import command
from rag_evaluation_framework.datasets.results_files import read_results

EXAMPLES = Path(__file__).parents[2] / "examples"
ASSISTANT = "golden.assistant:answer"
SPLITS = ["facts", "relations", "tracking", "multiturn", "boundary"]


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ended]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example's golden sets and assistant, which is the current one."""
    shutil.copytree(EXAMPLES / "golden", tmp_path / "golden", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "golden"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


@pytest.fixture
def golden(project: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            run_program(command, ["golden", *map(str, arguments)], name="rag-eval")
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return run


def test_all_five_splits_run_into_one_table_and_one_results_file(golden: Command, project: Path) -> None:
    ended = golden("--target", ASSISTANT, "--out", "all.results.json")
    assert ended.code == 0, ended.err
    for name in SPLITS:
        assert f"\n{name} " in ended.out
    assert ended.out.count("95% interval") == 2  # the figures, and the refusals
    assert "gate: off" in ended.out
    results = read_results(project / "all.results.json")
    kept = list(project.glob("runs/*/golden.results.json"))
    assert [read_results(path)["golden"] for path in kept] == [results["golden"]]
    assert results["dataset_id"] == "golden"
    assert list(results["golden"]["splits"]) == SPLITS
    assert results["summary"]["total_queries"] == len(results["query_results"]) == 14
    assert {query["split"] for query in results["query_results"]} == set(SPLITS)
    assert results["query_results"][0]["query_id"] == "facts/fact_001"
    # 4 names of 4, 1 of 1, 1 of 4 (only Mara), 1 of 1: (1 + 1 + 1/4 + 1) / 4.
    figures = results["golden"]["splits"]["facts"]["metrics"]["entity_coverage"]
    assert (figures["value"], figures["n_scored"], figures["method"]) == (3.25 / 4, 4, "lexical")


def test_refusals_are_a_table_of_two_by_two_over_all_splits(golden: Command) -> None:
    table = golden("--target", ASSISTANT, "--json").json["refusals"]
    # To decline: the three boundary questions, which it does, and one turn, which it answers.
    assert (table["should_refuse"]["refused"], table["should_refuse"]["answered"]) == (3, 1)
    assert table["should_refuse"]["rate"] == 3 / 4
    # To answer: 4 facts, 3 relations, 2 stories, and 2 + 2 turns; it declines none of them.
    assert (table["should_answer"]["refused"], table["should_answer"]["answered"]) == (0, 13)
    assert {name: counts["answered"] for name, counts in table["over_refusal_by_split"].items()} == {
        "facts": 4,
        "relations": 3,
        "tracking": 2,
        "multiturn": 4,
    }
    low, high = table["should_answer"]["confidence_interval"]
    assert low == 0
    assert 0.2 < high < 0.25  # Wilson: 3.84 / (13 + 3.84) = 0.228


def test_missing_splits_are_said_and_the_others_run(golden: Command, project: Path) -> None:
    datasets = project / "golden" / "evaluation" / "datasets"
    for name in ("tracking_qa.json", "multiturn_qa.json"):
        (datasets / name).unlink()
    ended = golden("--target", ASSISTANT)
    assert (ended.code, "not there: tracking, multiturn" in ended.out) == (0, True)
    assert golden("--target", ASSISTANT, "--json").json["missingSplits"] == ["tracking", "multiturn"]


def test_conversations_are_replayed_turn_by_turn_over_http(golden: Command, server: RunningServer) -> None:
    before = server.log()["received"]
    ended = golden("--url", server.url, "--split", "multiturn", "--json")
    assert ended.code == 0, ended.err
    requests = server.log()["requests"][before:]
    asked = sorted((each["headers"]["x-thread-id"], each["body"]["message"]) for each in requests)
    assert len(asked) == 5
    assert len({thread for thread, _ in asked}) == 2  # one thread a conversation
    # "The answer to … is café 42." says nothing that is expected, and declines nothing.
    assert ended.json["metrics"]["multiturn"]["turn_correctness"] == 0.0
    assert ended.json["refusals"]["should_refuse"]["refused"] == 0


def test_the_reference_is_the_history_on_request(golden: Command, project: Path) -> None:
    (project / "listener.py").write_text(
        "def answer(question, history):\n"
        "    with open('heard.txt', 'a') as file:\n"
        "        file.write(' | '.join(m['content'] for m in history if m['role'] == 'assistant') + '\\n')\n"
        "    return 'something else'\n"
    )
    options = ("--target", "listener:answer", "--json")
    ended = golden(*options, "--split", "multiturn", "--history", "reference")
    assert ended.code == 0, ended.err
    heard = (project / "heard.txt").read_text().splitlines()
    assert sorted(heard) == [
        "",
        "",
        "Tobin Reed keeps them.",
        "Tobin Reed keeps them. | Mara Quill taught him.",
        "她的伙伴叫小萤。",
    ]
    (project / "heard.txt").unlink()
    golden(*options, "--split", "multiturn")
    assert "something else" in (project / "heard.txt").read_text()
    run = ended.json["runs"][0]["runId"]
    narrowed = golden(*options, "--split", "facts", "--resume", run)
    assert (narrowed.code, "leave out --split" in narrowed.err) == (2, True)
    resumed = golden(*options, "--resume", run)
    assert (resumed.code, "expected --history reference, got --history own" in resumed.err) == (2, True)


def test_an_agent_that_keeps_its_own_history_cannot_be_given_another(
    golden: Command, server: RunningServer
) -> None:
    before = server.log()["received"]
    ended = golden("--url", server.url, "--history", "reference")
    assert (ended.code, "is not sent the conversation so far" in ended.err) == (2, True)
    assert server.log()["received"] == before


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        ("entity_coverage=0.8", 0),  # 3.25 / 4 = 0.8125
        ("entity_coverage=0.82", 1),
        ("over_refusal=0.05", 0),  # lower is better
        ("multiturn:refusal_recall=0.5", 1),
        ("boundary:refusal_recall=0.5", 0),
        ("refusal_recall=0.5", 1),  # every split that has it must meet it
    ],
)
def test_thresholds_are_a_gate_like_any_other(golden: Command, threshold: str, code: int) -> None:
    ended = golden("--target", ASSISTANT, "--threshold", threshold)
    assert ended.code == code, ended.out
    assert f"gate: {'FAILED' if code else 'PASSED'}" in ended.out


def test_settings_come_from_a_file_and_reports_are_written(golden: Command, project: Path) -> None:
    (project / "golden.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n      - {name: boundary, metrics: [refusal_recall, latency]}\n"
        "    thresholds: {refusal_recall: {min: 1}}\n    ciGate: true\n"
    )
    outputs = ("--junit", "junit.xml", "--markdown", "summary.md")
    ended = golden(
        "--target", ASSISTANT, "--config", "golden.yaml", "--split", "boundary", "--json", *outputs
    )
    assert ended.code == 0, ended.err
    assert list(ended.json["metrics"]["boundary"]) == ["refusal_recall", "latency", "pass_rate"]
    assert (project / "summary.md").read_text().startswith("## Evaluation passed")
    assert (project / "junit.xml").exists()


def test_a_drop_from_an_earlier_run_fails(golden: Command, project: Path) -> None:
    # Six facts more, so that a drop can be significant.
    path = project / "golden" / "evaluation" / "datasets" / "factual_qa.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([{**each, "id": f"{each['id']}_{n}"} for n in range(3) for each in records]))
    (project / "silent.py").write_text("def answer(question):\n    return 'nothing of that'\n")
    options = ("--split", "facts")
    run = golden("--target", ASSISTANT, *options, "--json").json["runs"][0]["runId"]
    assert golden("--target", ASSISTANT, *options, "--baseline", run).code == 0
    ended = golden("--target", "silent:answer", *options, "--baseline", run)
    assert (ended.code, "entity_coverage mean against the baseline" in ended.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --url or --target"),
        (["--target", ASSISTANT, "--threshold", "entity_covrage=1"], "did you mean entity_coverage"),
        (["--target", ASSISTANT, "--threshold", "fact:token_f1=1"], "did you mean facts"),
        (["--target", "nobody:answer"], "cannot import nobody"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(
    golden: Command, project: Path, arguments: list[str], message: str
) -> None:
    ended = golden(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert not (project / "runs").exists()


def test_a_dry_run_says_what_would_be_asked(golden: Command, project: Path) -> None:
    plan = golden("--target", ASSISTANT, "--dry-run", "--json").json
    assert (plan["totalSamples"], plan["calls"]) == (14, 17)  # 5 calls for the 2 conversations
    assert not (project / "runs").exists()


def test_an_agent_that_is_gone_ends_incomplete(golden: Command) -> None:
    ended = golden("--url", "http://127.0.0.1:9")
    assert ended.code == 3
    assert "go on with --resume" in ended.out


def test_a_killed_run_goes_on_and_gives_the_same_results(golden: Command, project: Path) -> None:
    assistant = project / "golden" / "slow.py"
    assistant.write_text(
        "import time\nfrom golden.assistant import answer as quick\n"
        "def answer(question, history):\n"
        "    with open('asked.txt', 'a') as file:\n        file.write(question + '\\n')\n"
        "    time.sleep(0.15)\n    return quick(question, history)\n"
    )
    options = ["--target", "golden.slow:answer", "--concurrency", "1", "--json"]
    code = (
        "from rag_evaluation_framework.cli.exit_codes import run_program\n"
        "from rag_evaluation_framework.cli.golden import command\n"
        f"run_program(command, {['golden', *options]!r}, name='rag-eval')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    asked = project / "asked.txt"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (asked.exists() and len(asked.read_text().splitlines()) >= 6):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    run = min(path.name for path in (project / "runs").iterdir())
    resumed = golden(*options, "--resume", run)
    assert resumed.code == 0, resumed.err
    assert resumed.json["totalSamples"] == len(resumed.json["samples"]) == 14
    # 17 questions; what was in flight when it was killed may be asked again: one, or the turns of one.
    assert 17 <= len(asked.read_text().splitlines()) <= 17 + 3
    whole = golden(*options)
    assert whole.json["metrics"] == resumed.json["metrics"]
    assert whole.json["refusals"] == resumed.json["refusals"]
