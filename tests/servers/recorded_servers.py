"""What other people's servers replied, byte for byte, served again.

``python recorded_servers.py`` asks the real ones (see ``vendor_servers.py``) all that the tests ask, through
a server in between that writes down each request with its reply: ``make fixtures-servers``.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import IncompleteRead
from pathlib import Path
from typing import Any, ClassVar

import yaml
from serving import QuietHandler, serving
from vendor_servers import ENVIRONMENTS, KEY, SERVERS, vendor_server

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = FIXTURES / "servers.json.gz"
PACKAGES = {
    "langserve": "langserve",
    "gradio": "gradio",
    "gradio5": "gradio",
    "langgraph": "langgraph-api",
    "litellm": "litellm",
    "hayhooks": "hayhooks",
}

Exchange = dict[str, Any]
TURNS = (("human", "When?"), ("ai", "Early."), ("human", "And then?"))


@dataclass(frozen=True)
class Case:
    """One way to ask a server: what is put behind its address, and what a probe is to find."""

    server: str
    behind: str
    api: dict[str, Any]
    """The lines of the manifest, without the address."""
    requests: int
    options: Sequence[str] = ()
    reads_contexts: bool = False
    tokens: int | None = None
    ending: str = ""
    """What the second answer of a conversation has behind it, where the server knows of the first."""


_WRITTEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CASES = {name: Case(**case) for name, case in _WRITTEN.items()}


@dataclass(frozen=True)
class Outcome:
    """What the commands said."""

    probe: subprocess.CompletedProcess[str]
    run: subprocess.CompletedProcess[str]
    conversation: subprocess.CompletedProcess[str]


def asked(case: Case, url: str, folder: Path) -> Outcome:
    """Probe a server, and run what the probe has written, then a conversation in the same way."""
    from command_lines import rag_eval_ended

    variables = {**os.environ, "AGENT_KEY": KEY}
    given = ("probe", url + case.behind, *case.options, "--write", "agent.yaml", "--json")
    probe = rag_eval_ended(*given, folder=folder, environment=variables)
    run = rag_eval_ended("evaluate", "agent.yaml", "--json", folder=folder, environment=variables)
    turns = [{"type": kind, "content": text} for kind, text in TURNS]
    (folder / "evals").mkdir(exist_ok=True)
    (folder / "evals/first.jsonl").write_text(json.dumps({"user_input": turns}) + "\n")
    talk = rag_eval_ended("evaluate", "agent.yaml", "--json", folder=folder, environment=variables)
    return Outcome(probe, run, talk)


def key_of(method: str, path: str, body: bytes) -> str:
    """Return what a request is known by; the name of a thread, drawn anew each time, is no part of it."""
    asked = json.loads(body) if body else None
    if isinstance(asked, dict):
        asked.pop("session_hash", None)
    return f"{method} {path} {json.dumps(asked, sort_keys=True, ensure_ascii=False)}"


@cache
def recordings() -> dict[str, dict[str, Exchange]]:
    """Return what was recorded, by server and request."""
    return dict(json.loads(gzip.decompress(RECORDED.read_bytes())))


@contextmanager
def recorded_server(name: str) -> Iterator[str]:
    """Serve the replies of a real server; a request that it was never sent is refused."""
    known = recordings()[name]

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            key = key_of(self.command, self.path, self.sent())
            exchange = known.get(key, {"status": 418, "type": "text/plain", "body": f"not recorded: {key}"})
            self.reply(exchange["status"], exchange["body"].encode(), {"Content-Type": exchange["type"]})

        def do_GET(self) -> None:
            self.do_POST()

    with serving(Handler) as url:
        yield url


@contextmanager
def recording_server(real: str, kept: dict[str, Exchange]) -> Iterator[str]:
    """Serve what the real server behind an address replies, and keep the first reply to each request."""

    class Handler(QuietHandler):
        passed: ClassVar[tuple[str, ...]] = ("Content-Type", "Accept", "Authorization")

        def do_POST(self) -> None:
            body = self.sent()
            headers = {name: self.headers[name] for name in self.passed if name in self.headers}
            request = urllib.request.Request(
                real + self.path, data=body or None, headers=headers, method=self.command
            )
            try:
                reply = urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as error:
                reply = error
            with reply:
                try:
                    told = reply.read()
                except IncompleteRead as cut:  # it broke off after it had told of an error
                    told = cut.partial
                kind = reply.headers.get("Content-Type", "")
                exchange = {"status": reply.status, "type": kind, "body": told.decode()}
            kept.setdefault(key_of(self.command, self.path, body), exchange)
            self.reply(exchange["status"], exchange["body"].encode(), {"Content-Type": exchange["type"]})

        def do_GET(self) -> None:
            self.do_POST()

    with serving(Handler) as url:
        yield url


def _reachable(kept: dict[str, Exchange]) -> dict[str, Exchange]:
    """Leave out the events of calls whose reply, which names the event, was not the first and is not kept."""
    named = " ".join(exchange["body"] for exchange in kept.values() if "event_id" in exchange["body"])
    return {
        key: exchange
        for key, exchange in kept.items()
        if "/call/" not in key or key.startswith("POST") or key.split()[1].rpartition("/")[2] in named
    }


def main() -> None:
    """Record all anew, and the versions."""
    made: dict[str, dict[str, Exchange]] = {}
    for name in SERVERS:
        kept: dict[str, Exchange] = {}
        with vendor_server(name) as real, recording_server(real, kept) as url:
            for case in (case for case in CASES.values() if case.server == name):
                with tempfile.TemporaryDirectory() as folder:
                    asked(case, url, Path(folder))
        made[name] = _reachable(kept)
        print(f"{name}: {len(made[name])} replies")
    text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True)
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))
    versions = FIXTURES / "versions.json"
    told = json.loads(versions.read_text())
    for environment, package in PACKAGES.items():
        program = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
        done = subprocess.run(
            [ENVIRONMENTS / environment / "bin" / "python", "-c", program],
            check=True,
            capture_output=True,
            text=True,
        )
        told[environment] = f"{package} {done.stdout.strip()}"
    versions.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]
    main()
