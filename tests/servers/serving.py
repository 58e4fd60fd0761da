"""An HTTP server in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """Leaves clients that hang up unmentioned; its queue holds every connection of a run."""

    daemon_threads, request_queue_size = True, 128

    def handle_error(self, *_: object) -> None: ...


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, logs nothing, speaks JSON."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def sent(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send a value as JSON, or bytes as they are."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, text in {**own, **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve for as long as the block lasts, at the address that it is given."""
    server = QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
