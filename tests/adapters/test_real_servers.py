"""Assistants behind the servers that people use: as recorded, and live where these are installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from recorded_servers import CASES, asked, recorded_server
from shaped_agents import ANSWER, CONTEXT
from vendor_servers import KEY, SERVERS, vendor_server


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[str, bool], str]]:
    """Return the address of a server, recorded or live; a live one is started once."""
    running: dict[tuple[str, bool], str] = {}
    with ExitStack() as stack:

        def address(name: str, live: bool) -> str:
            if (name, live) not in running:
                serving = vendor_server(name) if live else recorded_server(name)
                running[name, live] = stack.enter_context(serving)
            return running[name, live]

        yield address


@pytest.mark.parametrize(
    ("name", "live"),
    [
        *((name, False) for name in CASES),
        *(
            pytest.param(name, True, marks=pytest.mark.vendors(f"fixtures/{SERVERS[case.server][0]}"))
            for name, case in CASES.items()
        ),
    ],
)
def test_a_probe_finds_how_the_server_is_asked_and_a_run_reads_its_answers(
    name: str, live: bool, served: Callable[[str, bool], str], tmp_path: Path
) -> None:
    case = CASES[name]
    url = served(case.server, live)
    outcome = asked(case, url, tmp_path)
    assert outcome.probe.returncode == 0, outcome.probe.stdout + outcome.probe.stderr
    found = json.loads(outcome.probe.stdout)
    assert found["answer"]["text"] == ANSWER
    assert found["answer"]["contexts"] == ([CONTEXT] if case.reads_contexts else [])
    usage = found["answer"]["usage"]
    assert (usage and usage["input_tokens"] + usage["output_tokens"]) == case.tokens
    api = found["manifest"]["spec"]["api"]
    assert api.pop("url").startswith(url)
    assert (api, len(found["tried"])) == (case.api, case.requests)
    assert KEY not in outcome.probe.stdout + (tmp_path / "agent.yaml").read_text()
    for ended, answer in ((outcome.run, ANSWER), (outcome.conversation, ANSWER + case.ending)):
        assert ended.returncode == 0, ended.stdout + ended.stderr
        (sample,) = json.loads(ended.stdout)["samples"]
        assert sample["actual"] == answer
