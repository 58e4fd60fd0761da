"""What stands between a request and its reply: connections that are kept, and replies that are oddly put."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_lines import rag_eval
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.adapters.http_agent import HttpAgent
from rag_evaluation_framework.adapters.http_client import (
    ALLOWED_HOSTS,
    HttpClient,
    Reply,
    Unpacker,
    check_host,
)
from rag_evaluation_framework.adapters.http_connections import place_of
from rag_evaluation_framework.errors import TargetError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Use = Callable[[HttpClient, str], Awaitable[Any]]


def served(
    replies: Sequence[Sequence[bytes]], use: Use, *, tls: ssl.SSLContext | None = None
) -> tuple[Any, list[list[bytes]]]:
    """Return what is made of a server that sends these pieces for each request, and what each connection got.

    After an empty piece it closes the connection.
    """
    left, received = list(replies), list[list[bytes]]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(mine := [])
        with suppress(asyncio.IncompleteReadError, OSError), closing(writer):
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
                mine.append(head + await reader.readexactly(length))
                for piece in left.pop(0):
                    if not piece:
                        return
                    writer.write(piece)
                    await asyncio.sleep(0.01)
            await reader.read()

    async def run() -> Any:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
        client = HttpClient()
        try:
            port = server.sockets[0].getsockname()[1]
            return await use(client, f"{'https' if tls else 'http'}://localhost:{port}/v1")
        finally:
            await client.close()
            server.close()
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

    return asyncio.run(run()), received


async def asked(client: HttpClient, url: str, method: str = "POST", **headers: str) -> Reply:
    return await client.request(
        url, b"{}" if method == "POST" else None, headers=headers, timeout=5, method=method
    )


async def thrice(client: HttpClient, url: str) -> list[bytes]:
    return [(await asked(client, url)).body for _ in range(3)]


def test_a_connection_serves_one_request_after_another() -> None:
    bodies, received = served([[HEAD + b"01"], [HEAD, b"02"], [HEAD + b"0", b"3"]], thrice)
    assert bodies == [b"01", b"02", b"03"]
    assert [len(each) for each in received] == [3]


@pytest.mark.parametrize(
    "first",
    [
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n01"],
        [b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n01"],
        [HEAD + b"01", b""],  # it ends while nobody asks
        [HEAD + b"01" + HEAD + b"99"],  # an answer to nothing
        [HEAD + b"01", HEAD + b"99"],
        [b"HTTP/1.1 200 OK\r\n\r\n0", b"1", b""],  # the end of the connection is that of the body
    ],
)
def test_one_that_does_not_stay_is_not_used_again(first: Sequence[bytes]) -> None:
    async def twice(client: HttpClient, url: str) -> list[bytes]:
        before = (await asked(client, url)).body
        await asyncio.sleep(0.05)
        return [before, (await asked(client, url)).body]

    bodies, received = served([first, [HEAD + b"02"]], twice)
    assert bodies == [b"01", b"02"]
    assert [len(each) for each in received] == [1, 1]


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 100 Continue\r\nX-A: early\r\n\r\n", HEAD + b"{}"],
        [b"HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\n" + HEAD + b"{}"],
        [CHUNKED + b"1\r\n{\r\n", b"1;x=y\r\n}\r\n0\r\nX-A: late\r\n\r\n"],
        [b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}"],
        [b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}"],
    ],
)
def test_a_reply_may_be_oddly_put(pieces: Sequence[bytes]) -> None:
    reply, _ = served([pieces], asked)
    assert (reply.status, reply.body, reply.headers.get("x-a")) == (200, b"{}", None)


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-", b""], "connection-reset"),
        ([HEAD + b"0", b""], "truncated-body"),
        ([CHUNKED + b"1\r\n{\r\n", b""], "truncated-body"),
        ([CHUNKED + b"no\r\n"], "invalid-http"),
        ([b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "invalid-http"),
        ([b"HTTP/1.1 200 OK\r\nX: y\r\n", *[b"X: " + b"y" * 9_000 + b"\r\n"] * 8], "invalid-http"),
    ],
)
def test_what_ends_early_or_is_no_reply_is_a_failure(pieces: Sequence[bytes], kind: str) -> None:
    with pytest.raises(TargetError) as raised:
        served([pieces], asked)
    assert raised.value.kind == kind


def test_headers_of_the_caller_take_the_place_of_our_own() -> None:
    async def use(client: HttpClient, url: str) -> None:
        await asked(client, url, Host="elsewhere", **{"accept-encoding": "identity"})
        await asked(client, f"{url}/a b?q=é#part", "GET")

    _, [[given, bare]] = served([[HEAD + b"{}"]] * 2, use)
    assert given.startswith(b"POST /v1 HTTP/1.1\r\n")
    assert given.count(b"elsewhere") == given.lower().count(b"host:") == given.count(b"identity") == 1
    assert bare.startswith(b"GET /v1/a%20b?q=%C3%A9 HTTP/1.1\r\nhost: localhost:")
    assert b"content-length" not in bare.lower()


def test_an_address_is_put_as_it_is_sent() -> None:
    assert place_of("https://Bücher.example/").host == "xn--bcher-kva.example"
    assert place_of("http://[::1]:80/").headers["host"] == "[::1]"
    assert place_of("http://me:a%40b@h/").headers["authorization"] == "Basic bWU6YUBi"


def test_the_next_address_of_a_name_is_tried_where_the_first_is_silent_or_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookup = socket.getaddrinfo

    def several(host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:
        refusing, silent = ("127.0.0.1", 1), ("198.51.100.1", port)  # kept for examples: nobody is there
        found = lookup("127.0.0.1", port, type=socket.SOCK_STREAM)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in (refusing, silent)] + found

    monkeypatch.setattr(socket, "getaddrinfo", several)
    reply, _ = served([[HEAD + b"{}"]], asked)
    assert reply.body == b"{}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_connection_is_encrypted_and_its_certificate_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {key} -out {certificate}"
    command += " -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(command.split(), check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    with pytest.raises(TargetError, match="the TLS handshake failed"):
        served([[HEAD + b"01"]], asked, tls=tls)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    bodies, received = served([[HEAD + b"01"], [HEAD, b"02"], [HEAD + b"03"]], thrice, tls=tls)
    assert bodies == [b"01", b"02", b"03"]
    assert [len(each) for each in received] == [3]


# A body is unpacked whole however it arrives, and never beyond the limit.

LIMIT = 1_000_000


def packed(data: bytes, encoding: str) -> bytes:
    if encoding == "identity":
        return data
    bits = {"gzip": 31, "x-gzip": 31, "deflate": 15, "raw deflate": -15}[encoding]
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packer.compress(data) + packer.flush()


def unpacked(wire: bytes, encoding: str, cuts: list[int] | None = None, limit: int = LIMIT) -> bytes:
    unpacker = Unpacker(encoding, limit)
    edges = sorted({0, len(wire), *(cut % (len(wire) + 1) for cut in cuts or [])})
    for start, end in pairwise(edges):
        unpacker.add(wire[start:end])
    return unpacker.finished()


@given(
    data=st.one_of(
        st.binary(max_size=2000),
        st.builds(lambda byte, size: byte * size, st.binary(min_size=1, max_size=3), st.integers(0, 200_000)),
    ),
    encoding=st.sampled_from(["identity", "gzip", "x-gzip", "deflate", "raw deflate"]),
    cuts=st.lists(st.integers(0, 1 << 20), max_size=5),
)
def test_a_body_is_the_same_however_it_was_cut_into_pieces(
    data: bytes, encoding: str, cuts: list[int]
) -> None:
    named = encoding.removeprefix("raw ")
    assert unpacked(packed(data, encoding), named, cuts) == data


def test_gzip_of_several_members_is_one_body() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip", [3, 30]) == b"one two"


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not(encoding: str) -> None:
    assert len(unpacked(packed(b"0" * LIMIT, encoding), encoding)) == LIMIT
    with pytest.raises(TargetError, match="body-too-large"):
        unpacked(packed(b"0" * (LIMIT + 1), encoding), encoding)


def test_a_bomb_is_given_up_at_the_limit() -> None:
    unpacker = Unpacker("gzip", LIMIT)
    with pytest.raises(TargetError, match="body-too-large"):
        unpacker.add(packed(b"0" * 50_000_000, "gzip"))
    assert unpacker.size <= LIMIT + (1 << 16)


def test_a_compressed_body_that_ends_halfway_is_truncated() -> None:
    whole = packed(b"some text of some length", "gzip")
    with pytest.raises(TargetError, match="truncated-body"):
        unpacked(whole[:-9], "gzip")


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(TargetError, match="unsupported-encoding"):
        Unpacker("br", LIMIT)


# Link-local and metadata addresses are refused, however they are written, unless allowed by name.

FORBIDDEN = [
    *("169.254.169.254", "169.254.1.1", "[fe80::1]", "[fe80::1%eth0]", "[::ffff:169.254.169.254]"),
    *("[2002:a9fe:a9fe::1]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200"),
    *("metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"),
    "0xA9FEA9FE",
    "2852039166",
    "169.254.43518",
    "0251.0376.0251.0376",
]
FREE = [
    "127.0.0.1",
    "2130706433",
    "localhost",
    "10.0.0.1",
    "192.168.1.5",
    "[::1]",
    "8.8.8.8",
    "metadata.example.org",
]


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_HOSTS, "")


@pytest.mark.parametrize("host", FORBIDDEN)
def test_the_address_of_an_agent_may_not_be_one_of_them(host: str) -> None:
    with pytest.raises(
        UsageError, match=r"is a link-local or metadata address\. To allow it, add --allow-host"
    ):
        HttpAgent(f"http://{host}/latest")


@pytest.mark.parametrize("host", FREE)
def test_others_are_free(host: str) -> None:
    check_host(host)
    HttpAgent(f"http://{host}:4000")


def test_a_name_that_leads_to_one_is_refused_when_it_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    async def asked() -> Any:
        client = HttpClient()
        try:
            return await client.request("http://harmless.example/", b"{}", headers={}, timeout=5)
        finally:
            await client.close()

    with pytest.raises(TargetError) as raised:
        asyncio.run(asked())
    assert raised.value.kind == "forbidden-address"
    assert not raised.value.retry


def test_one_is_allowed_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_HOSTS, "169.254.10.20, metadata.google.internal")
    check_host("169.254.10.20")
    check_host("metadata.google.internal.")
    with pytest.raises(TargetError):
        check_host("169.254.169.254")


def test_the_command_line_refuses_and_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("probe", "--url", "http://169.254.77.77", "--timeout", "0.2")
    refused = rag_eval(*command)
    assert isinstance(refused.exception, UsageError)
    assert "To allow it, add --allow-host 169.254.77.77" in str(refused.exception)
    allowed = rag_eval(*command, "--allow-host", "169.254.77.77")
    assert not isinstance(allowed.exception, UsageError)
