"""A server that keeps datasets and experiments as LangSmith does, as far as its SDK asks, or fails as told.

As LangSmith does, it gives at most 100 examples at once, the newest first, adds the split to each example's
metadata, and refuses what is there already with 409. The workspace has no projects before the first.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import pytest
from serving import QuietHandler, serving

from rag_evaluation_framework.evaluation import attempts

KEY = "lsv2-verysecret-0123456789"
MOST_AT_ONCE = 100
MOMENT = "2026-01-01T00:00:00+00:00"
TENANT = "11111111-1111-4111-8111-111111111111"
EXAMPLES = "/v1/platform/datasets/{id}/examples"

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Answer = tuple[int, Any]


def id_of(*parts: object) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, parts))))


@dataclass(frozen=True)
class Asked:
    """A request; in its path ids are written ``{id}``."""

    method: str
    route: str
    id: str
    query: dict[str, str]
    body: Any


@dataclass
class LangSmithServer:
    """What is kept, what was asked, and the replies to give before the usual ones."""

    url: str = ""
    datasets: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The examples of each dataset, by its name."""
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is known of each dataset beside its examples."""
    projects: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: dict[str, dict[str, Any]] = field(default_factory=dict)
    has_multipart: bool = True
    """Older servers take examples as one JSON text only."""
    requests: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    """Statuses for the next replies, by path, or by method and path."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Bodies in place of the usual ones, by path."""
    lost: list[str] = field(default_factory=list)
    """Method and path of requests that are carried out and then left without a reply."""
    delays: dict[str, list[float]] = field(default_factory=dict)
    """Seconds before the next replies, by path."""
    retry_after: str | None = None
    moved_to: str = ""
    """Where redirects lead."""

    def answer(self, method: str, address: str, key: str, body: Any) -> Answer:
        parts = urlsplit(address)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        ids = _ID.findall(parts.path)
        asked = Asked(method, _ID.sub("{id}", parts.path), ids[0] if ids else "", query, body)
        self.requests.append(address)
        self.asked.append(asked)
        if self.delays.get(asked.route):
            time.sleep(self.delays[asked.route].pop(0))
        for told in (asked.route, f"{method} {asked.route}"):
            if self.statuses.get(told) and (status := self.statuses[told].pop(0)) != 200:
                return status, {"detail": f"as told, {key}"}
        if key != KEY:
            return 401, {"detail": f"Invalid token {key}"}
        if parts.path in self.bodies:
            return 200, self.bodies[parts.path]
        return self._carried_out(asked)

    def is_lost(self, method: str, address: str) -> bool:
        told = f"{method} {_ID.sub('{id}', urlsplit(address).path)}"
        if told in self.lost:
            self.lost.remove(told)
            return True
        return False

    def pages(self) -> list[str]:
        return [address for address in self.requests if address.startswith("/examples")]

    def sent(self, method: str, route: str) -> list[Asked]:
        return [asked for asked in self.asked if (asked.method, asked.route) == (method, route)]

    def _carried_out(self, asked: Asked) -> Answer:
        match asked.method, asked.route:
            case "GET", "/info":
                flags = {"dataset_examples_multipart_enabled": self.has_multipart}
                return 200, {"version": "0.13.0", "instance_flags": flags}
            case "GET", "/datasets":
                return 200, [self._dataset(name) for name in self.datasets if name == asked.query["name"]]
            case "POST", "/datasets":
                return self._make_dataset(asked.body)
            case "PATCH", "/datasets/{id}":
                name = self._name(asked.id)
                self.described.setdefault(name, {}).update(asked.body)
                return 200, self._dataset(name)
            case "GET", "/examples":
                return 200, self._examples(asked.query)
            case (("POST" | "PATCH"), ("/v1/platform/datasets/{id}/examples" | "/examples/bulk")):
                return self._keep_examples(asked)
            case _:
                return self._experiments(asked)

    def _experiments(self, asked: Asked) -> Answer:
        match asked.method, asked.route:
            case "GET", "/sessions":
                named = asked.query.get("name")
                return 200, [each for each in self.projects.values() if named in (None, each["name"])][:1]
            case "POST", "/sessions":
                name = asked.body["name"]
                if name in self.projects:
                    return 409, {"detail": "Session already exists."}
                kept = {"reference_dataset_id": None, "tenant_id": TENANT, "start_time": MOMENT}
                self.projects[name] = {**kept, **asked.body}
                return 200, self.projects[name]
            case "PATCH", "/sessions/{id}":
                project = next(each for each in self.projects.values() if each["id"] == asked.id)
                project.update({name: value for name, value in asked.body.items() if value is not None})
                return 200, project
            case "POST", "/runs/multipart":
                return self._keep_runs(asked.body)
        return 404, {"detail": "Not Found"}

    def _keep_runs(self, parts: dict[str, Any]) -> Answer:
        if any(name.partition(".")[2] in self.runs for name in parts):
            return 409, {"detail": "Run already exists."}
        for name, value in parts.items():
            kind, identifier, *rest = name.split(".")
            if kind == "feedback":
                self.feedback[identifier] = value
            elif rest:
                self.runs[identifier][rest[0]] = value
            else:
                self.runs[identifier] = dict(value)
        return 202, {"message": "Runs batch ingested"}

    def _name(self, dataset_id: str) -> str:
        return next(name for name in self.datasets if id_of(name) == dataset_id)

    def _dataset(self, name: str) -> dict[str, Any]:
        known = {"id": id_of(name), "name": name, "description": f"About {name}", "created_at": MOMENT}
        return {**known, **self.described.get(name, {})}

    def _make_dataset(self, asked: dict[str, Any]) -> Answer:
        name = asked["name"]
        if name in self.datasets:
            return 409, {"detail": "Dataset with this name already exists."}
        self.datasets[name] = []
        kept = {"description": asked.get("description"), "metadata": asked["extra"]["metadata"]}
        self.described[name] = kept
        return 200, self._dataset(name)

    def _examples(self, query: dict[str, str]) -> list[dict[str, Any]]:
        name = self._name(query["dataset"])
        shown = [self._example(name, number, it) for number, it in enumerate(self.datasets[name])]
        shown.sort(key=lambda example: str(example["created_at"]), reverse=True)
        return shown[int(query["offset"]) :][: min(int(query["limit"]), MOST_AT_ONCE)]

    def _example(self, name: str, number: int, example: dict[str, Any]) -> dict[str, Any]:
        kept = {"id": id_of(name, number), "dataset_id": id_of(name), "created_at": MOMENT, **example}
        kept.pop("split", None)
        split = example.get("split") or "base"
        in_splits = [split] if isinstance(split, str) else split
        return {**kept, "metadata": {"dataset_split": in_splits, **example.get("metadata", {})}}

    def _keep_examples(self, asked: Asked) -> Answer:
        is_bulk = asked.route == "/examples/bulk"
        if is_bulk == self.has_multipart:
            return 404, {"detail": "Not Found"}
        given = asked.body if is_bulk else _examples_of(asked.body)
        by_id = {example.get("id"): example for kept in self.datasets.values() for example in kept}
        known = [example for example in given if example["id"] in by_id]
        if asked.method == "POST":
            if known:
                return 409, {"detail": "Example already exists."}
            self.datasets[self._name(given[0]["dataset_id"] if is_bulk else asked.id)].extend(given)
        else:
            if len(known) < len(given):
                return 404, {"detail": "Example not found."}
            for example in given:
                by_id[example["id"]].update(example)
        ids = [example["id"] for example in given]
        return 200, given if is_bulk else {"example_ids": ids, "count": len(ids)}


def _examples_of(parts: dict[str, Any]) -> list[dict[str, Any]]:
    """Put the parts of a form together: ``<id>`` has the metadata, ``<id>.inputs`` the inputs."""
    examples: dict[str, dict[str, Any]] = {}
    for name, value in parts.items():
        identifier, _, rest = name.partition(".")
        example = examples.setdefault(identifier, {"id": identifier})
        example.update({rest: value} if rest else value)
    return list(examples.values())


def _decoded(content_type: str, body: bytes) -> Any:
    if not content_type.startswith("multipart/"):
        return json.loads(body) if body else None
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    form = BytesParser(policy=HTTP).parsebytes(head + body)
    parts: dict[str, Any] = {}
    for part in form.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        assert part.get_content_type() == "application/json"
        assert name not in parts
        content = part.get_content()
        assert int(part.get("Content-Length", len(content))) == len(content)
        parts[name] = json.loads(content)
    return parts


@contextmanager
def signed_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[LangSmithServer]:
    """Run a server whose address and key are in the environment; the folder becomes the current one."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    for name in ("LANGCHAIN_API_KEY", "LANGSMITH_TEST_TRACKING", "LANGCHAIN_TEST_TRACKING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    with running_langsmith() as running:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", running.url)
        yield running


@contextmanager
def running_langsmith() -> Iterator[LangSmithServer]:
    """Run a server in a thread for as long as the block lasts."""
    state = LangSmithServer()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            asked = _decoded(self.headers.get("Content-Type", ""), self.sent())
            status, value = state.answer(self.command, self.path, self.headers.get("x-api-key", ""), asked)
            if state.is_lost(self.command, self.path):
                self.close_connection = True
                return
            headers = {} if state.retry_after is None else {"Retry-After": state.retry_after}
            self.reply(status, value, headers | ({"Location": state.moved_to} if 300 <= status < 400 else {}))

        do_POST = do_PATCH = do_GET  # noqa: N815  # as the standard library calls them

    with serving(Handler) as state.url:
        yield state
