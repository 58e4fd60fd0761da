"""Forty ways out for a secret, none of which it takes: four secrets, ten places, and an agent that tells."""

from __future__ import annotations

import base64
import json
import sys
from functools import partial
from pathlib import Path

import pytest
from fault_agent import RunningServer

from cases import tables_beside
from command_lines import Command
from rag_evaluation_framework.cli import agentspec
from rag_evaluation_framework.files.access import read_bytes

TABLES = tables_beside(__file__)

CANARIES = {
    "token from $secret": "canary-token-1zqk",
    "header from $env": 'canary"header\\2wqk',
    "password in the URL": "canary-password-3zvk",
    "key in the URL": "canary-query-4xjk",
}
PLACES = (
    *("standard output", "standard error", "json", "junit", "markdown", "results file", "head", "journal"),
    *("samples", "results of the run"),
)
MANIFEST = TABLES["manifest"]


def forms_of(canary: str) -> list[str]:
    """What would give a canary away: its distinctive end, as it is or in base 64."""
    encoded = [base64.b64encode(text.encode()).decode() for text in (canary, f"user:{canary}")]
    return [canary[-4:], *(text[4:16] for text in encoded)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("AGENT_TOKEN", CANARIES["token from $secret"])
    monkeypatch.setenv("HEADER_KEY", CANARIES["header from $env"])
    (tmp_path / "agent.yaml").write_text(MANIFEST)
    (tmp_path / "d.jsonl").write_text('{"input": "q", "expected": "a"}\n{"input": "q2", "expected": "a"}\n')
    return tmp_path


@pytest.fixture
def evaluate(project: Path, to_the_end: Command) -> Command:
    return partial(to_the_end, agentspec.main, "evaluate", "agent.yaml")


def address(url: str) -> str:
    host = url.removeprefix("http://")
    return f"http://user:{CANARIES['password in the URL']}@{host}?api_key={CANARIES['key in the URL']}"


@pytest.mark.parametrize("fault", ["echo-headers", "echo-headers-in-an-error", "echo-body"])
def test_no_secret_leaves_by_forty_ways(
    fault: str, server: RunningServer, project: Path, evaluate: Command
) -> None:
    url = address(server.fault(fault))
    files = ("--junit", "junit.xml", "--markdown", "summary.md", "--out", "out.results.json")
    _, out, err = evaluate("--url", url, *files)
    document = evaluate("--url", url, "--json").out
    folder = sorted((project / "runs").iterdir())[0]
    found = {
        "standard output": out,
        "standard error": err,
        "json": document,
        "junit": (project / "junit.xml").read_text(),
        "markdown": (project / "summary.md").read_text(),
        "results file": (project / "out.results.json").read_text(),
        "head": (folder / "head.json").read_text(),
        "journal": (folder / "journal.jsonl").read_text(),
        "samples": read_bytes(folder / "data.jsonl.zst").decode(),
        "results of the run": (folder / "results.json").read_text(),
    }
    assert set(found) == set(PLACES)
    assert {place for place, text in found.items() if not text} <= {"standard error"}
    for name, canary in CANARIES.items():
        for place, text in found.items():
            assert not any(form in text for form in forms_of(canary)), f"{name} is in {place}"
    # They were sent, so that there was something to leak.
    sent = json.dumps(server.log()["requests"][-1])
    assert CANARIES["token from $secret"] in sent
    if fault == "echo-headers":
        assert "***" in found["journal"]
        assert "***" in document


@pytest.mark.parametrize("arguments", TABLES["plans_and_errors"])
def test_plans_and_errors_hold_no_secret(
    arguments: list[str], server: RunningServer, project: Path, evaluate: Command
) -> None:
    _, out, err = evaluate("--url", address(server.url), *arguments)
    for canary in CANARIES.values():
        assert not any(form in out + err for form in forms_of(canary))
    assert out + err


@pytest.mark.parametrize(
    "url",
    [
        "http://user:canary-password-3zvk@[bad",
        "ftp://user:canary-password-3zvk@host/?token=canary-query-4xjk",
        "http://user:canary-password-3zvk@127.0.0.1:9/?token=canary-query-4xjk",
        "http://user:canary-password-3zvk@host:port",
    ],
)
def test_a_wrong_address_is_named_without_its_secrets(url: str, project: Path, evaluate: Command) -> None:
    _, out, err = evaluate("--url", url)
    assert out + err
    assert not any(form in out + err for canary in CANARIES.values() for form in forms_of(canary))


@pytest.mark.parametrize(
    "body",
    [
        "    raise ValueError('the key is canary-token-1zqk')",
        "    raise ValueError('x' * 480 + 'canary-token-1zqk')",
        "    return 'the key is canary-token-1zqk'",
        "    return {'response': 'a', 'contexts': ['canary-token-1zqk'], 'citations': ['canary-token-1f9c']}",
    ],
)
def test_a_function_that_tells_a_secret_the_manifest_knows_is_hidden_too(
    body: str, server: RunningServer, project: Path, evaluate: Command
) -> None:
    (project / "telling.py").write_text(f"def answer(question):\n{body}\n")
    sys.modules.pop("telling", None)
    _, out, err = evaluate("--target", "telling:answer", "--json")
    journal = next((project / "runs").glob("*/journal.jsonl")).read_text()
    assert json.loads(out)["totalSamples"] == 2
    assert "1f9c" not in out + err + journal
    assert "canary" not in out + err + journal
