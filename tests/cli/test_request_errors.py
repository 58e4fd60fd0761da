"""How reliable a live agent is: requests, retries and errors by kind in every report, and as thresholds."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import pytest
from serving import QuietHandler, serving

from command_lines import rag_eval_ended
from rag_evaluation_framework import load
from rag_evaluation_framework.evaluation import attempts

QUESTIONS = 20
MANIFEST = """
spec:
  evaluation:
    datasets: [{name: rooms, path: "$file:rooms.jsonl"}]
    metrics: [string_match]
    ciGate: true
    thresholds: %s
"""


class Agent(QuietHandler):
    """Fails by the question's number: 1 once with 429, 2 twice with 500, 3 always, 4 once by its silence."""

    asked: ClassVar[Counter[int]] = Counter()
    is_broken = True

    def do_POST(self) -> None:
        number = int(re.findall(rb"number (\d+)", self.sent())[0])
        self.asked[number] += 1
        fails = self.is_broken and self.asked[number] <= {1: 1, 2: 2, 3: 99, 4: 1}.get(number, 0)
        if fails and number == 4:
            time.sleep(3.0)  # longer than a request may take, then nothing
            self.close_connection = True
        else:
            status = {1: 429}.get(number, 500) if fails else 200
            self.reply(status, {"output": f"Room {100 + number}."})


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(Agent, "asked", Counter())
    monkeypatch.setattr(Agent, "is_broken", True)
    rooms = [
        {"input": f"Which room has number {n}?", "expected": f"Room {100 + n}."} for n in range(QUESTIONS)
    ]
    Path("rooms.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rooms))
    with serving(Agent) as url:
        yield url


def evaluated(agent: str, *options: str, thresholds: str = "{string_match: 0.5}") -> tuple[int, str]:
    Path("agent.yaml").write_text(MANIFEST % thresholds)
    usual = ("--url", agent, "--timeout", "1.5", "--max-attempts", "4", "--width", "80", "--max-errors", "1")
    ended = rag_eval_ended("evaluate", "agent.yaml", *usual, *options)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode, ended.stdout


# 1: one retry; 2: two; 3: three, all in vain; 4: one.
REQUESTS = "Requests: 27, 7 retries (25.9%, 4 answers), 1 failed (errors: 6 http-500, 1 http-429, 1 timeout)"


def test_every_report_tells_how_reliable_an_agent_is(agent: str) -> None:
    code, screen = evaluated(agent, "--junit", "junit.xml", "--markdown", "report.md")
    assert (code, REQUESTS in " ".join(screen.split())) == (0, True)
    assert re.search(r"\nLatency: median \S+ m?s, p95 \S+ m?s\.\n", screen)
    assert REQUESTS in Path("report.md").read_text()
    run = load(max(Path("runs").iterdir()))
    assert REQUESTS in run.render("page")
    assert REQUESTS in run.render("notebook")
    told = json.loads(run.render("json"))["runs"][0]["performance"]["reliability"]
    assert (told["answers"], told["requests"], told["retries"], told["retried_answers"]) == (20, 27, 7, 4)
    assert told["errors"] == {"http-500": 6, "http-429": 1, "timeout": 1}
    assert (told["error_rate"], told["failed"]) == (0.05, 1)
    suite = ElementTree.parse("junit.xml").findall("testsuite")[1]
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    expected = {"requests": "27", "retries": "7", "errors_http-429": "1", "error_rate": "0.05"}
    assert {name: properties[name] for name in expected} == expected


@pytest.mark.parametrize("baseline", ["main", "001"])
def test_reliability_stands_beside_that_of_the_baseline(agent: str, baseline: str) -> None:
    evaluated(agent, "--save-baseline", "main")
    Agent.is_broken = False
    code, screen = evaluated(agent, "--baseline", baseline)
    before = REQUESTS.removeprefix("Requests: ")
    assert code == 0
    assert f"Requests: 20, 0 retries, 0 failed; before: {before}." in " ".join(screen.split())
    assert re.search(r"Latency: median \S+ m?s, p95 \S+ m?s; before: median \S+ m?s, p95 \S+ m?s\.", screen)


@pytest.mark.parametrize(
    ("limits", "missed"),
    [
        ("{error_rate: 5%, retry_rate: {max: 7}}", []),
        ("{error_rate: 4%, retry_rate: 25%}", ["error_rate", "retry_rate"]),
        ("{error_rate: {max: 1}, retry_rate: {max: 6}}", ["retry_rate"]),
        ("{error_rate: 0, retry_rate: 0.26}", ["error_rate"]),
    ],
)
def test_thresholds_limit_errors_and_retries(agent: str, limits: str, missed: list[str]) -> None:
    code, out = evaluated(agent, "--json", thresholds=limits)
    rows = json.loads(out)["gate"]["rows"]
    assert (code, [each["metric"] for each in rows if each["status"] == "missed"]) == (bool(missed), missed)


def test_options_limit_errors_as_the_manifest_does(agent: str) -> None:
    options = ("--threshold", "error_rate<=1", "--threshold", "retry_rate<=20%", "--json")
    code, out = evaluated(agent, *options)
    found = {each["metric"]: (each["status"], each["number"]) for each in json.loads(out)["gate"]["rows"]}
    assert (code, found) == (1, {"error_rate": ("met", 1), "retry_rate": ("missed", 7)})


def test_recorded_answers_have_no_reliability(agent: str) -> None:
    rows = [{"input": "Which room?", "expected": "Room 1.", "output": "Room 1."}]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = rag_eval_ended("score", "log.jsonl", "-m", "string_match").stdout
    assert "Requests" not in told
    assert "Latency" not in told
