"""Pages for one person on this machine: a server on 127.0.0.1 that answers nobody else.

Every address begins with a secret, which is made anew each time and stands in the address that is printed.
A request has to name this server as its host, and one that a browser sends for another site's page is
refused by its origin. To change anything, a request needs the secret once more, in a header that no other
site's page can send. A malformed request is refused and not recorded.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from rag_evaluation_framework.errors import InputError, RagEvalError, UsageError, refused
from rag_evaluation_framework.files import strict_json

HOST = "127.0.0.1"
HTML = "text/html; charset=utf-8"
JSON = "application/json"
TOKEN_HEADER = "X-Rag-Eval-Token"  # noqa: S105  # the name of a header, not a secret

NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Content security policy of replies without a policy of their own."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LARGEST_BODY = 1 << 20
_SILENCE_SECONDS = 10.0
_OWN_PAGES = ("same-origin", "none")
_ELSEWHERE = "Open the address that rag-eval printed in the terminal."


class Reply(msgspec.Struct, frozen=True):
    """A reply: bytes of a type, and for a page its content security policy."""

    body: bytes
    type: str = HTML
    policy: str = NOTHING_ALLOWED
    status: int = 200

    @classmethod
    def of_page(cls, text: str, policy: str) -> Reply:
        """Return a page, which nobody may put into a frame."""
        return cls(text.encode("utf-8", "replace"), HTML, f"{policy}; frame-ancestors 'none'")

    @classmethod
    def of_json(cls, value: Any, *, status: int = 200) -> Reply:
        """Return a value as JSON."""
        # Escaped, since a system may answer with half a surrogate pair, which UTF-8 cannot hold.
        return cls(json.dumps(value).encode(), JSON, status=status)


Read = Callable[[str, Mapping[str, str]], Reply | None]
"""Answers a path below the secret, with its parameters; ``None`` where there is nothing."""

Write = Callable[[str, Any], Reply | None]
"""Answers what was sent to a path."""


class LocalServer:
    """Serves what ``read`` answers and, where there is a ``write``, takes what the pages send.

    The port is a free one unless it is named.
    """

    def __init__(self, read: Read, write: Write | None = None, *, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        handler = type("Handler", (_Handler,), {"read": staticmethod(read), "token": self.token})
        handler.write = None if write is None else staticmethod(write)  # type: ignore[attr-defined]
        try:
            self._server = _Server((HOST, port), handler)
        except OSError as error:
            raise refused("listen on", f"{HOST}:{port}", error) from error

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address to open, with the secret in it."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self._server.server_close()

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve in a thread as long as the block lasts; gives the address."""
        thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self.url
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def server_bind(self) -> None:
        # The parent looks up the name of the host, which may take seconds and is not needed.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # who hangs up, or says nothing, is no error
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request, one answer; the connection is closed after it."""

    read: Read
    write: Write | None
    token: str
    timeout = _SILENCE_SECONDS
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d: %(message)s\n"
    _policy = NOTHING_ALLOWED

    def do_GET(self) -> None:
        if (place := self._allowed_place()) is not None:
            self._answer_with(lambda: self.read(place.below, place.query))

    def do_POST(self) -> None:
        if (place := self._allowed_place()) is None:
            return
        if self.write is None:
            self.send_error(405, "This page is read-only")
        elif not _is_same(self.headers.get(TOKEN_HEADER, ""), self.token):
            self.send_error(403, _ELSEWHERE)
        elif (sent := self._body()) is not None:
            write = self.write
            self._answer_with(lambda: write(place.below, strict_json.decode(sent)))

    def _allowed_place(self) -> _Place | None:
        """Return what is asked for; refuse whoever is not the page, or not on this machine."""
        hosts = {f"{HOST}:{self.server.server_port}", f"localhost:{self.server.server_port}"}  # type: ignore[attr-defined]
        # HTTP/0.9 has no headers, and from Python 3.14 on no message that could hold them.
        named = [] if self.request_version == "HTTP/0.9" else self.headers.get_all("Host", [])
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        if len(named) != 1 or named[0].strip().lower() not in hosts:
            self.send_error(421, "This server accepts only its own host name")
        elif (origin is not None and origin not in {f"http://{host}" for host in hosts}) or (
            site not in _OWN_PAGES
        ):
            self.send_error(403, "Requests from other sites are rejected")
        elif (place := _place_of(self.path)) is None:
            self.send_error(400, "Invalid address")
        elif not _is_same(place.token, self.token):
            self.send_error(403, _ELSEWHERE)
        else:
            return place
        return None

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            self.send_error(411, "Content-Length is missing")
        elif self.headers.get_content_type() != JSON:
            self.send_error(415, "Expected a JSON body")
        elif len(length) > 9 or int(length) > _LARGEST_BODY:
            self.send_error(413, "The body is too large")
        else:
            sent = self.rfile.read(int(length))
            if len(sent) == int(length):
                return sent
            self.send_error(400, "The body is shorter than Content-Length")
        return None

    def _answer_with(self, answer: Callable[[], Reply | None]) -> None:
        try:
            reply = answer()
        except (InputError, UsageError) as error:
            reply = Reply.of_json({"error": str(error)}, status=400)
        except RagEvalError as error:  # a disk that is full, a folder that cannot be written
            reply = Reply.of_json({"error": str(error)}, status=500)
        if reply is None:
            self.send_error(404, "Not found")
            return
        self._policy = reply.policy
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", self._policy)
        super().end_headers()

    def version_string(self) -> str:
        return "rag-eval"

    def log_message(self, *_: Any) -> None:
        """Log nothing: the address contains the secret."""


class _Place(NamedTuple):
    token: str
    below: str
    query: dict[str, str]


def _place_of(address: str) -> _Place | None:
    try:
        parts = urlsplit(address)
        token, slash, below = parts.path[1:].partition("/")
        place = _Place(token if slash else "", unquote(below, errors="strict"), dict(parse_qsl(parts.query)))
    except ValueError:
        return None
    return None if parts.scheme or parts.netloc or not parts.path.startswith("/") else place


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
