"""One request within limits: unpacking, status, streams, secrets masked.

Nothing is retried and no redirect is followed, so a header sent to one origin never reaches another.
Cookies, proxies and ``.netrc`` of the environment are not used. Every failure is a
:class:`TargetError` with our own text: it holds neither the address's query nor a header.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from rag_evaluation_framework.adapters.http_connections import Connection, Connections, place_of
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.agent_shapes import Events
from rag_evaluation_framework.evaluation.attempts import LONGEST_RETRY_AFTER
from rag_evaluation_framework.evaluation.secrets import Secrets, masked_value
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.version import __version__

# A reply's body put together piece by piece, unpacked with a limit on what comes out.
#
# gzip shrinks zeros a thousandfold: a megabyte on the wire can be a gigabyte in memory. The unpacker
# inflates in small steps and stops, giving back what it holds, as soon as the limit is passed.

_GZIP_BITS = 16 + zlib.MAX_WBITS
_RAW_DEFLATE_BITS = -zlib.MAX_WBITS
# RFC 1950: the low four bits of a zlib stream's first byte are 8; raw deflate, which some servers send under
# the same name, never begins so in practice.
_ZLIB_METHOD = 8
_STEP_BYTES = 1 << 16


class Unpacker:
    """Collects the pieces of one body; :meth:`finished` returns it whole."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise TargetError("unsupported-encoding", "expected a gzip, deflate or uncompressed body")
        self._max_bytes = max_bytes
        self._inflater: Any = None  # a zlib decompressor
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, data: bytes) -> None:
        """Take the next piece from the wire; a body that grows beyond the limit is a ``TargetError``."""
        if self._encoding in ("", "identity"):
            self._keep(data)
            return
        try:
            self._inflate(data)
        except zlib.error:
            raise TargetError("damaged-body", f"the body is not valid {self._encoding}", retry=True) from None

    def finished(self) -> bytes:
        """Return the body; a compressed one that stops halfway is a ``TargetError``."""
        if self._inflater is not None and not self._inflater.eof:
            raise TargetError("truncated-body", "the compressed body is truncated", retry=True)
        return b"".join(self._pieces)

    def too_large(self) -> TargetError:
        return TargetError(
            "body-too-large", f"expected a body of at most {self._max_bytes:,} bytes, got more"
        )

    def _inflate(self, data: bytes) -> None:
        waiting = bool(data)
        while waiting:
            if self._inflater is None or self._inflater.eof:  # gzip may have several members in a row
                self._inflater = self._new_inflater(data[0])
            piece = self._inflater.decompress(data, _STEP_BYTES)
            self._keep(piece)
            ended = self._inflater.eof
            data = self._inflater.unused_data if ended else self._inflater.unconsumed_tail
            # A full step may have left output inside zlib although all input was taken.
            waiting = bool(data) or (not ended and len(piece) == _STEP_BYTES)

    def _new_inflater(self, first_byte: int) -> Any:
        if self._encoding == "deflate":
            is_zlib = first_byte & 0x0F == _ZLIB_METHOD
            return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else _RAW_DEFLATE_BITS)
        return zlib.decompressobj(_GZIP_BITS)

    def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self._max_bytes:
            self._pieces.clear()
            raise self.too_large()
        self._pieces.append(piece)


# Addresses at which a cloud keeps the secrets of the machine: no agent and no model answers there, and a
# manifest that names one, or a name that leads to one, must not be able to fetch them.

ALLOWED_HOSTS = "RAG_EVAL_ALLOWED_HOSTS"
"""The environment variable with the hosts that are allowed all the same, separated by commas."""

_METADATA_HOSTS = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "instance-data"}
    | {"instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com"}
)
# Beside the link-local ones: AWS over IPv6, Azure, Alibaba, Oracle.
_METADATA_ADDRESSES = frozenset({"fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"})
_NAT64 = ip_network("64:ff9b::/96")


def check_host(host: str) -> None:
    """Raise a :class:`TargetError` where a host, by name or address, keeps a machine's secrets."""
    name = _plain_host(host)
    if (name in _METADATA_HOSTS or _is_forbidden(name)) and not _is_allowed(host):
        message = f"{name} is a link-local or metadata address. To allow it, add --allow-host {name}"
        raise TargetError("forbidden-address", message)


def _is_allowed(host: str) -> bool:
    return _plain_host(host) in map(_plain_host, os.environ.get(ALLOWED_HOSTS, "").split(","))


def _plain_host(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").lower()


@lru_cache(maxsize=256)
def _is_forbidden(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        try:
            found = IPv4Address(socket.inet_aton(address))  # 0xA9FEA9FE, 2852039166, 169.254.43518
        except OSError:  # a name
            return False
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = IPv4Address(found.packed[-4:])
        found = inner or found
    return found.is_link_local or str(found) in _METADATA_ADDRESSES


def _check_addresses(host: str, addresses: Sequence[str]) -> None:
    """Refuse a name that leads where none may."""
    if not _is_allowed(host):
        for each in addresses:
            check_host(each)


JSON_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "User-Agent": f"rag-evaluation-framework/{__version__}",
}
MAX_BODY_BYTES = 10_000_000
CONNECT_TIMEOUT = 10.0

# Replies beyond this size are read a few at a time: with hundreds in flight, memory stays within
# _LARGE_AT_ONCE times the limit of a body.
_LARGE_BODY_BYTES = 1 << 20
_LARGE_AT_ONCE = 4
# Of a reply that is no answer only the beginning is read, to quote it.
_ERROR_EXCERPT_BYTES = 1 << 12


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP reply: the status, headers by lower-case name, and the unpacked body.

    Of a reply with an error status the body is only its first bytes, as they came. ``latency_ms`` is the time
    from sending the request to the end of the body; starting the client up is not in it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_ms: float = 0.0


class HttpClient:
    """Sends requests over connections that are kept open; belongs to the event loop that first uses it."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._connections = Connections(_check_addresses)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._large_bodies = asyncio.Semaphore(_LARGE_AT_ONCE)

    def __reduce__(self) -> tuple[Any, ...]:
        return HttpClient, (self._max_body_bytes,)  # another process opens connections of its own

    async def request(
        self,
        url: str,
        body: bytes | None,
        *,
        headers: Mapping[str, str],
        timeout: float,
        method: str = "POST",
    ) -> Reply:
        """Send a body and return the whole reply for any status; a failure is a ``TargetError``."""
        try:
            place = place_of(url)
            check_host(place.host)
            async with asyncio.timeout(timeout):
                connections = self._of_this_loop()
                sent = time.monotonic()
                connection = await connections.exchange(
                    method, place, headers, body, connect_timeout=min(CONNECT_TIMEOUT, timeout)
                )
                try:
                    return Reply(
                        status=connection.status,
                        headers=connection.headers,
                        body=await self._body_of(connection),
                        latency_ms=(time.monotonic() - sent) * 1000,
                    )
                finally:
                    connections.release(connection)
        except TimeoutError:
            raise TargetError("timeout", "timed out before the reply was complete", retry=True) from None
        except ValueError as error:
            message = f"cannot send the request ({type(error).__name__})"
            raise TargetError("invalid-request", message) from None

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._loop is asyncio.get_running_loop():
            self._connections.close()
            await asyncio.sleep(0)  # what was closed is let go of in the loop's next turn

    def _of_this_loop(self) -> Connections:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            self._large_bodies = asyncio.Semaphore(_LARGE_AT_ONCE)
            self._connections = Connections(_check_addresses)
        return self._connections

    async def _body_of(self, connection: Connection) -> bytes:
        """Read the body as far as the limits allow; leaving early closes the connection."""
        if connection.status >= 300:
            return (await connection.piece())[:_ERROR_EXCERPT_BYTES]
        unpacker = Unpacker(connection.headers.get("content-encoding", ""), self._max_body_bytes)
        if int(connection.headers.get("content-length", 0)) > self._max_body_bytes:
            raise unpacker.too_large()
        while unpacker.size <= _LARGE_BODY_BYTES:
            if not (piece := await connection.piece()):
                return unpacker.finished()
            unpacker.add(piece)
        async with self._large_bodies:
            while piece := await connection.piece():
                unpacker.add(piece)
            return unpacker.finished()


# What a status means for a run: the published table of what is tried again, and ``Retry-After``.
#
# ==============================================================  ==========================================
# 408, 425, 429, 500, 502, 503, 504                               tried again
# 429, and 503 with ``Retry-After``                               and the system asks for less
# a reset, a timeout, a truncated or damaged body                 tried again
# a connection that cannot be made                                tried again
# malformed JSON                                                  tried again once
# 400, 401, 403, 404, 413, 422 and every other status             final
# a redirect                                                      final: it is never followed
# a body over the limit, no body, no answer in it, wrong charset  final
# ==============================================================  ==========================================
#
# The engine does the trying; here a failure is only named.

RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})

_QUOTED_CHARACTERS = 300
_LOOKED_AT_BYTES = 8_192
_MAX_DIGITS = 300  # beyond them a float is infinite


def status_failure(reply: Reply, *, url: str, mask: Callable[[str], str]) -> TargetError | None:
    """Return the failure that a reply's status stands for, or ``None`` for a status of success.

    ``mask`` hides secrets in what is quoted of the body.
    """
    if 200 <= reply.status < 300:
        return None
    kind = f"http-{reply.status}"
    if 300 <= reply.status < 400:
        return TargetError(kind, _redirect(reply, url, mask))
    wait = retry_after(reply.headers.get("retry-after", ""), datetime.now(UTC))
    return TargetError(
        kind,
        _described(reply, mask),
        retry=reply.status in RETRIED_STATUSES,
        throttled=reply.status == 429 or (reply.status == 503 and wait is not None),
        retry_after=wait if reply.status in RETRIED_STATUSES else None,
    )


def vendor_failure(
    status: int, headers: Mapping[str, str], body: bytes, *, url: str, mask: Callable[[str], str]
) -> TargetError | None:
    """Return the failure that a reply stands for which a vendor's package read and unpacked."""
    named = {name.lower(): value for name, value in headers.items()}
    named.pop("content-encoding", None)
    return status_failure(Reply(status=status, headers=named, body=body), url=url, mask=mask)


def retry_after(header: str, now: datetime) -> float | None:
    """Read ``Retry-After``, seconds or a date, as seconds from now, at most 60.

    A negative or unreadable value is no value; a date that has passed is 0.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> retry_after("1.5", noon), retry_after("99999", noon), retry_after("soon", noon)
    (1.5, 60.0, None)
    >>> retry_after("Thu, 01 Jan 2026 12:00:20 GMT", noon)
    20.0
    """
    text = header.strip()
    if not text or len(text) > _MAX_DIGITS:
        return None
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return min(float(text), LONGEST_RETRY_AFTER)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER)


def quoted(body: bytes, mask: Callable[[str], str]) -> str:
    """Return the beginning of a body on one line, for a message to people, with secrets hidden."""
    # Hidden before the text is cut, so that no half of a secret is left over.
    text = " ".join(mask(body[:_LOOKED_AT_BYTES].decode("utf-8", errors="replace")).split())
    return text if len(text) <= _QUOTED_CHARACTERS else text[: _QUOTED_CHARACTERS - 1] + "…"


def _described(reply: Reply, mask: Callable[[str], str]) -> str:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "unregistered status"
    body = quoted(reply.body, mask)
    is_text = "content-encoding" not in reply.headers and "\0" not in body
    return f"{phrase}: {body}" if body and is_text else phrase


def _redirect(reply: Reply, url: str, mask: Callable[[str], str]) -> str:
    place = reply.headers.get("location", "")
    try:
        old, new = urlsplit(url), urlsplit(urljoin(url, place))
        same = (old.scheme, old.hostname, old.port) == (new.scheme, new.hostname, new.port)
        named = f"{new.scheme}://{new.netloc.rpartition('@')[2]}{new.path}"
    except ValueError:
        return "redirects are not followed; this one has an invalid address"
    if not place:
        return "redirects are not followed; this one has no address"
    where = "another path on the same origin" if same else "another origin"
    return mask(f"redirects are not followed; this one leads to {where}: {named}")


# Hiding what a target sends as a secret, wherever the system under test sends it back.


def unmasked(text: str) -> str:
    """Return the text as it is: the mask of a target that has no secrets."""
    return text


def header_mask(values: Iterable[str]) -> Callable[[str], str]:
    """Return a function that hides these header values, and their last words, in a text."""
    secrets = Secrets()
    for value in values:
        secrets.add(value)
    return secrets.mask if secrets else unmasked


# From a reply's bytes to the JSON value it holds, or to the failure that says why there is none.

_decoder = msgspec.json.Decoder()

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)


# JSON is UTF-8 (RFC 8259). Where the bytes are not, a character set that was declared is believed, if it
# is one of those in use on the web; others of Python's codecs take quadratic time or do more than decode.
_KNOWN_CHARSETS = re.compile(
    r"(utf-?16(le|be)?|utf-?32(le|be)?|iso-?8859-?\d+|latin-?1|windows-?125\d|cp125\d|gbk|gb2312|gb18030|big5"
    r"|shift[_-]?jis|euc-?jp|euc-?kr|koi8-?[ru])\Z",
    re.IGNORECASE,
)


def reply_value(reply: Reply, *, url: str, mask: Callable[[str], str], takes_streams: bool = False) -> Any:
    """Return the JSON value of a reply; any other reply raises a :class:`TargetError` that says what it was.

    ``mask`` hides secrets, in what an error quotes and in every string of the value. With ``takes_streams``
    server-sent events and lines of JSON are :class:`Events`, and plain text is a string.
    """
    failure = status_failure(reply, url=url, mask=mask)
    if failure is not None:
        raise failure
    body = reply.body.removeprefix(_BYTE_ORDER_MARK)
    if not body.strip():
        raise TargetError("empty-reply", f"expected JSON, got status {reply.status} with an empty body")
    if body.lstrip()[:1] == b"<":
        raise TargetError("html-page", f"expected JSON, got an HTML page: {quoted(body, mask)}")
    try:
        written = _utf8(body, reply.headers.get("content-type", ""))
        stream = _stream(written, reply.headers.get("content-type", "").lower()) if takes_streams else None
        value = _decoded(written) if stream is None else stream
        return masked(value, mask)
    except _StreamError as error:
        told = quoted(str(error).encode("utf-8"), mask)
        raise TargetError("stream-error", f"the stream ended with an error: {told}") from None
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        reason = type(error).__name__ if isinstance(error, RecursionError | UnicodeError) else str(error)
        message = f"expected JSON, got {quoted(body, mask)} ({reason})"
        raise TargetError("malformed-json", message, retry=True) from None


def _decoded(written: bytes) -> Any:
    value = _decoder.decode(written)
    if strict_json.repeats_a_key(written, value):
        raise ValueError("duplicate key in an object")
    return value


# Replies in events: what is no JSON in them is a piece of text, as is all of a reply of plain text.

_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_PLAIN_TYPES = ("text/plain", "text/markdown")
_WITHOUT_CONTENT, _MOST_EVENTS = ("[DONE]", "null"), 100_000
Piece = TypeVar("Piece", str, bytes)


def _stream(body: bytes, content_type: str) -> Events | str | None:
    """Return the events of a reply, or its plain text; ``None`` of any other, which is one JSON value."""
    is_stream = content_type.startswith("text/event-stream")
    if is_stream or body.lstrip().startswith(_STREAM_STARTS):
        return Events(_server_sent(body.decode("utf-8")))
    lines = [line for line in body.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
        return Events(map(_decoded, _few(lines)))
    if content_type.startswith(_PLAIN_TYPES):
        try:
            return None if isinstance(_decoder.decode(body), dict | list | str) else body.decode("utf-8")
        except msgspec.DecodeError:
            return body.decode("utf-8")
    return None


def _server_sent(text: str) -> Iterator[Any]:
    """Yield what each event says, as the HTML standard reads streams; an error is a failure."""
    pieces: list[str] = []
    kind, data = "", list[str]()
    # Only these three end a line of a stream; Python's splitlines knows more.
    for line in [*re.split(r"\r\n|\n|\r", text), ""]:
        name, _, value = line.partition(":")
        if name == "event":
            kind = value.strip()
        elif name == "data":
            data.append(value.removeprefix(" "))
        elif not line:
            if kind == "error":
                raise _StreamError("\n".join(data))
            if data and "\n".join(data).strip() not in _WITHOUT_CONTENT:
                pieces.append("\n".join(data))
            kind, data = "", []
    values = [_event_value(piece) for piece in _few(pieces)]
    # Where some pieces are no JSON, those that look like a text or a number in JSON are pieces as well.
    is_json = all(value is not None for value in values)
    for piece, value in zip(pieces, values, strict=True):
        yield value if isinstance(value, dict | list) or (is_json and isinstance(value, str)) else piece


def _few(pieces: list[Piece]) -> list[Piece]:
    if len(pieces) > _MOST_EVENTS:
        message = f"expected a stream of at most {_MOST_EVENTS:,} events, got {len(pieces):,}"
        raise TargetError("body-too-large", message)
    return pieces


def _event_value(piece: str) -> Any:
    try:
        value = _decoded(piece.encode("utf-8"))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if isinstance(value, dict) and (
        "error" in (value.get("event"), value.get("type")) or set(value) == {"error"}
    ):
        raise _StreamError(piece)
    return value


class _StreamError(Exception):
    """An error that a stream reports."""


def masked(value: Any, mask: Callable[[str], str]) -> Any:
    """Return a JSON value with secrets hidden in each of its strings."""
    if mask is unmasked or not getattr(mask, "__self__", True):  # the mask of no secrets
        return value
    if isinstance(value, Events):
        return Events(masked_value(event, mask) for event in value.values)
    return masked_value(value, mask)


def _utf8(body: bytes, content_type: str) -> bytes:
    """Return the body as UTF-8, or raise a ``TargetError`` when no character set fits."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        declared = _CHARSET.search(content_type)
        name = declared[1] if declared else "utf-8"
        with suppress(UnicodeError, LookupError):
            if _KNOWN_CHARSETS.match(name):
                return body.decode(name).encode("utf-8")
        found = f"byte 0x{body[error.start]:02x} at {error.start} (declared: {name})"
        raise TargetError("wrong-charset", f"expected UTF-8, got {found}") from None
    return body
