"""One HTTP POST within limits: time, size on the wire and unpacked, one origin, no memory of earlier replies.

Nothing is retried and no redirect is followed, so a header sent to one origin never reaches another.
Cookies, proxies and ``.netrc`` of the environment are not used. Whatever goes wrong is a
:class:`TargetError` whose text is ours: it holds neither the address's query nor a header.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_evaluation_framework.adapters.http_unpacking import Unpacker
from rag_evaluation_framework.errors import TargetError

if TYPE_CHECKING:
    import aiohttp

MAX_BODY_BYTES = 10_000_000
CONNECT_TIMEOUT = 10.0

# Replies beyond this size are read a few at a time: with hundreds in flight, memory stays within
# _LARGE_AT_ONCE times the limit of a body.
_LARGE_BODY_BYTES = 1 << 20
_LARGE_AT_ONCE = 4
# What waits unread on each connection; aiohttp's own 256 KB would add up to 250 MB at 500 in flight.
_READ_BUFFER_BYTES = 1 << 15
# Of a reply that is no answer only the beginning is read, to quote it.
_ERROR_EXCERPT_BYTES = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: the status, headers by lower-case name, and the unpacked body.

    Of a reply with an error status the body is only its first bytes, as they came. ``latency_ms`` is the time
    from sending the request to the end of the body; starting the client up is not in it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_ms: float = 0.0


class HttpClient:
    """Posts bodies over connections that are kept open; belongs to the event loop that first uses it."""

    def __init__(
        self, *, max_body_bytes: int = MAX_BODY_BYTES, connect_timeout: float = CONNECT_TIMEOUT
    ) -> None:
        self._max_body_bytes = max_body_bytes
        self._connect_timeout = connect_timeout
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._large_bodies = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str], timeout: float) -> Reply:
        """Send a body and return the whole reply, whatever its status; a failure is a ``TargetError``."""
        import aiohttp

        limits = aiohttp.ClientTimeout(total=None, connect=min(self._connect_timeout, timeout))
        try:
            async with asyncio.timeout(timeout):
                session = self._open_session()
                sent = time.monotonic()
                async with session.post(
                    url, data=body, headers=headers, timeout=limits, allow_redirects=False
                ) as response:
                    return Reply(
                        status=response.status,
                        headers={name.lower(): value for name, value in response.headers.items()},
                        body=await self._body_of(response),
                        latency_ms=(time.monotonic() - sent) * 1000,
                    )
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a timeout is an OSError
            raise _failure(error) from None

    async def close(self) -> None:
        """Close the connections; the next post opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._loop = loop
            self._large_bodies = asyncio.Semaphore(_LARGE_AT_ONCE)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "gzip, deflate"},
                auto_decompress=False,
                trust_env=False,
                read_bufsize=_READ_BUFFER_BYTES,
            )
        return self._session

    async def _body_of(self, response: aiohttp.ClientResponse) -> bytes:
        """Read the body as far as the limits allow; leaving early closes the connection."""
        if response.status >= 300:
            return await response.content.read(_ERROR_EXCERPT_BYTES)
        unpacker = Unpacker(response.headers.get("Content-Encoding", ""), self._max_body_bytes)
        if (response.content_length or 0) > self._max_body_bytes:
            raise unpacker.too_large()
        chunks = response.content.iter_any()
        async for chunk in chunks:
            unpacker.add(chunk)
            if unpacker.size > _LARGE_BODY_BYTES:
                break
        else:
            return unpacker.finished()
        async with self._large_bodies:
            async for chunk in chunks:
                unpacker.add(chunk)
            return unpacker.finished()


def _refusal(error: OSError) -> str:
    """Say why there is no connection, in the system's words; asyncio's own show its inner calls."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "the host is not known"


def _failure(error: Exception) -> TargetError:
    """Say what went wrong on the way, in words of our own."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return TargetError("connect-timeout", "no connection in time", retry=True)
    if isinstance(error, TimeoutError):
        return TargetError("timeout", "no complete reply in time", retry=True)
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return TargetError("tls-error", "the certificate or the encryption was refused")
    if isinstance(error, aiohttp.ClientConnectorError):
        return TargetError("connection-failed", f"cannot connect: {_refusal(error.os_error)}", retry=True)
    if isinstance(error, aiohttp.ClientPayloadError):
        return TargetError("truncated-body", "the connection ended before the body did", retry=True)
    if isinstance(error, aiohttp.ClientResponseError):
        return TargetError("invalid-http", "the reply is not HTTP")
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return TargetError("connection-reset", "the connection was closed without a reply", retry=True)
    return TargetError("invalid-request", f"the request could not be sent ({type(error).__name__})")
