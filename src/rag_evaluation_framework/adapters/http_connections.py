"""HTTP/1.1 over connections that are kept open, one exchange on each at a time.

What comes is parsed by llhttp (httptools), as in Node.js. A body is read as it is asked for, so that what
waits unread on a connection is bounded.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from asyncio.staggered import staggered_race
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote, urlsplit

import httptools

from rag_evaluation_framework.errors import TargetError

# What waits unread on each connection: at 500 in flight, 16 MB.
_UNREAD_BYTES = 1 << 15
_LONGEST_HEAD = 1 << 16
_IDLE_SECONDS = 15.0
_LOOKED_UP_SECONDS = 300.0
# RFC 8305: how long an address may be silent before the next of the same name is tried beside it.
_NEXT_ADDRESS_SECONDS = 0.25
_IN_PATHS = "/%:@!$&'()*+,;=~?"
_PORTS = {"http": 80, "https": 443}

Check = Callable[[str, Sequence[str]], None]
"""Function that receives a name and its addresses, and may refuse them."""


def _not_http() -> TargetError:
    return TargetError("invalid-http", "the reply is not HTTP")


def _not_connected(error: Exception) -> TargetError:
    if isinstance(error, TimeoutError):
        return TargetError("connect-timeout", "timed out while connecting", retry=True)
    if isinstance(error, ssl.SSLError):
        return TargetError("tls-error", "the TLS handshake failed (certificate or encryption)")
    # Why, in the system's words: asyncio's own show its inner calls.
    number = getattr(error, "errno", None) or 0
    told = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or "unknown host"
    return TargetError("connection-failed", f"cannot connect: {told}", retry=True)


class Place(NamedTuple):
    """The destination of a request: the origin, the path and query, and the headers that depend on them."""

    scheme: str
    host: str
    port: int
    target: str
    headers: Mapping[str, str]


@lru_cache(maxsize=1024)
def place_of(url: str) -> Place:
    """Read an address; a ``ValueError`` where it is none of HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("expected an HTTP address")
    port = parts.port or _PORTS[parts.scheme]
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
    target = quote(parts.path or "/", safe=_IN_PATHS)
    if parts.query:
        target += f"?{quote(parts.query, safe=_IN_PATHS)}"
    named = f"[{host}]" if ":" in host else host
    headers = {"host": named if port == _PORTS[parts.scheme] else f"{named}:{port}"}
    headers["accept-encoding"] = "gzip, deflate"
    if parts.username or parts.password:
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["authorization"] = f"Basic {b64encode(user.encode()).decode()}"
    return Place(parts.scheme, host, port, target, headers)


def _format_request(method: str, place: Place, headers: Mapping[str, str], body: bytes | None) -> bytes:
    own = {**place.headers, "content-length": f"{len(body or b'')}"}
    if body is None and method == "GET":
        del own["content-length"]
    for name in headers:
        own.pop(name.lower(), None)
    lines = [f"{name}: {value}\r\n" for each in (own, headers) for name, value in each.items()]
    head = f"{method} {place.target} HTTP/1.1\r\n{''.join(lines)}\r\n"
    if head.count("\n") != len(lines) + 2 or head.count("\r") != len(lines) + 2 or "\0" in head:
        raise ValueError("expected single-line headers")
    return head.encode() + (body or b"")


class Connections:
    """The connections of one event loop, by origin; the one used last is used next."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._idle: dict[tuple[str, str, int], deque[Connection]] = {}
        self._found: dict[tuple[str, int], tuple[float, asyncio.Future[list[Any]]]] = {}
        self._tls: ssl.SSLContext | None = None

    async def exchange(
        self,
        method: str,
        place: Place,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        connect_timeout: float,
    ) -> Connection:
        """Send a request and return its connection once the head of the reply is there.

        The caller reads the body, and always gives the connection back by :meth:`release`.
        """
        written = _format_request(method, place, headers, body)
        connection = self._resting(place[:3]) or await self._opened(place, connect_timeout)
        try:
            await connection.ask(written)
        except BaseException:  # whatever ends the waiting: nobody else would close it
            connection.abort()
            raise
        return connection

    def release(self, connection: Connection) -> None:
        """Keep a connection whose exchange is complete for the next one; any other is closed."""
        if connection.may_be_used_again():
            self._idle.setdefault(connection.origin, deque()).append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close what rests."""
        for resting in self._idle.values():
            for connection in resting:
                connection.abort()
        self._idle.clear()

    def _resting(self, origin: tuple[str, str, int]) -> Connection | None:
        resting = self._idle.get(origin)
        while resting:
            connection = resting.pop()
            if connection.is_open and time.monotonic() - connection.used_at < _IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    async def _opened(self, place: Place, timeout: float) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                sock = await self._connected(await self._looked_up(place.host, place.port))
                try:
                    _, made = await loop.create_connection(
                        partial(Connection, place[:3]), sock=sock, **self._encryption(place)
                    )
                except BaseException:  # whatever ends the waiting: nobody else would close it
                    sock.close()
                    raise
        except (OSError, ValueError) as error:  # a timeout is an OSError
            raise _not_connected(error) from None
        return made

    def _encryption(self, place: Place) -> dict[str, Any]:
        if place.scheme == "http":
            return {}
        if self._tls is None:  # loading the authorities takes 20 ms
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return {"ssl": self._tls, "server_hostname": place.host}

    async def _looked_up(self, host: str, port: int) -> list[Any]:
        """Return the addresses of a name; several that ask at once share the answer."""
        expires, found = self._found.get((host, port), (0.0, None))
        if found is None or expires < time.monotonic() or (found.done() and found.exception() is not None):
            # As bytes: Python would load its tables of international names for a text.
            asked = asyncio.get_running_loop().getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
            found = asyncio.ensure_future(asked)
            self._found[host, port] = time.monotonic() + _LOOKED_UP_SECONDS, found
        addresses = await asyncio.shield(found)
        self._check(host, [address[4][0] for address in addresses])
        return addresses

    async def _connected(self, addresses: Sequence[Any]) -> socket.socket:
        connect = (partial(_connect, *address) for address in addresses)
        made, _, errors = await staggered_race(connect, _NEXT_ADDRESS_SECONDS)
        if made is None:
            raise next((error for error in errors if error is not None), OSError("no address"))
        return cast("socket.socket", made)


async def _connect(family: int, kind: int, protocol: int, _: str, address: Any) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:  # whatever ends the waiting: nobody else would close it
        sock.close()
        raise
    return sock


class Connection(asyncio.Protocol):
    """One connection, and the reply that is being read from it."""

    status: int
    headers: dict[str, str]
    """By lower-case name; of a header that comes twice, the last."""

    def __init__(self, origin: tuple[str, str, int]) -> None:
        self.origin = origin
        self.used_at = 0.0
        self._transport: Any = None
        self._begin()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        # What servers do wrong and every browser reads all the same.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.headers = {}
        self._head_bytes = 0
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._has_head = self._is_complete = self._is_paused = self._may_stay = False
        self._error: TargetError | None = None
        self._waiting: asyncio.Future[None] | None = None

    async def ask(self, written: bytes) -> None:
        """Send a request, and wait for the head of its reply."""
        if self.used_at:
            self._begin()
        self._transport.write(written)
        while not self._has_head:
            await self._news()

    async def piece(self) -> bytes:
        """Return the next piece of the body; empty at its end."""
        while not self._pieces and not self._is_complete:
            await self._news()
        if not self._pieces:
            return b""
        piece = self._pieces.popleft()
        self._unread -= len(piece)
        if self._is_paused and self._unread < _UNREAD_BYTES:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def may_be_used_again(self) -> bool:
        """Return True if the exchange is complete, and the server leaves the connection open."""
        self.used_at = time.monotonic()
        return self.is_open and self._may_stay and not self._pieces and self._error is None

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _news(self) -> None:
        """Wait until something has come; what went wrong is raised."""
        if self._error is not None:
            raise self._error
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _tell(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._is_complete or self._error is not None:  # more than was asked for
            self.abort()
            return
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._error = _not_http()
        if not self._has_head and self._head_bytes > _LONGEST_HEAD:
            self._error = _not_http()
        if self._unread > _UNREAD_BYTES and not self._is_complete and self._error is None:
            self._is_paused = True
            self._transport.pause_reading()
        self._tell()

    def connection_lost(self, error: Exception | None) -> None:
        kind, told = "connection-reset", "the server closed the connection without a reply"
        if self._has_head and not self._is_complete:
            kind, told = "truncated-body", "the connection closed before the end of the body"
            # Where the body's length is not told, the end of the connection is that of the body.
            is_open_ended = {"content-length", "transfer-encoding"}.isdisjoint(self.headers)
            self._is_complete = error is None and is_open_ended
        self._error = self._error or TargetError(kind, told, retry=True)
        self._tell()

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._is_complete:  # a second reply, though nothing was asked
            self._error = _not_http()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:  # else it is a trailer
            self.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape")

    def on_headers_complete(self) -> None:
        if not self._has_head:
            self.status = self._parser.get_status_code()
            self._has_head = self.status >= 200

    def on_body(self, body: bytes) -> None:
        if not self._is_complete:
            self._pieces.append(body)
            self._unread += len(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete, self._may_stay = True, self._parser.should_keep_alive()
        else:  # 100 Continue and its like: the reply is still to come
            self.headers = {}
