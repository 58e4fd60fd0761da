"""A server that keeps datasets as LangSmith does, as far as its SDK asks for them, or fails as told.

It gives at most 100 examples at once and, as LangSmith does, adds the split to each example's metadata. The
workspace has no projects.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

from component_server import QuietServer

KEY = "lsv2-verysecret-0123456789"
MOST_AT_ONCE = 100
MOMENT = "2026-01-01T00:00:00+00:00"


def id_of(*parts: object) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, parts))))


@dataclass
class LangSmithServer:
    """The datasets by name, what was asked, and the replies to give before the usual ones."""

    url: str = ""
    datasets: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    """Statuses for the next replies, by path."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Bodies in place of the usual ones, by path."""

    def answer(self, address: str, key: str) -> tuple[int, Any]:
        parts = urlsplit(address)
        asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.requests.append(address)
        if self.statuses.get(parts.path):
            return self.statuses[parts.path].pop(0), {"detail": f"as told, {key}"}
        if key != KEY:
            return 401, {"detail": f"Invalid token {key}"}
        if parts.path in self.bodies:
            return 200, self.bodies[parts.path]
        if parts.path == "/datasets":
            return 200, [self._dataset(name) for name in self.datasets if name == asked["name"]]
        if parts.path == "/examples":
            return 200, self._examples(asked["dataset"], int(asked["offset"]), int(asked["limit"]))
        return (200, []) if parts.path == "/sessions" else (404, {"detail": "Not Found"})

    def pages(self) -> list[str]:
        return [address for address in self.requests if address.startswith("/examples")]

    def _dataset(self, name: str) -> dict[str, Any]:
        return {"id": id_of(name), "name": name, "description": f"About {name}", "created_at": MOMENT}

    def _examples(self, dataset_id: str, offset: int, limit: int) -> list[dict[str, Any]]:
        name = next(name for name in self.datasets if id_of(name) == dataset_id)
        page = list(enumerate(self.datasets[name]))[offset:][: min(limit, MOST_AT_ONCE)]
        return [self._example(name, number, example) for number, example in page]

    def _example(self, name: str, number: int, example: dict[str, Any]) -> dict[str, Any]:
        kept = {"id": id_of(name, number), "dataset_id": id_of(name), "created_at": MOMENT, **example}
        return {**kept, "metadata": {"dataset_split": ["base"], **example.get("metadata", {})}}


@contextmanager
def running_langsmith() -> Iterator[LangSmithServer]:
    """Run a server in a thread for as long as the block lasts."""
    state = LangSmithServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, value = state.answer(self.path, self.headers.get("x-api-key", ""))
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = QuietServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
