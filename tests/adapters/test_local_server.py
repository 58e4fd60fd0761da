"""The server of pages answers one person on this machine, and survives everybody else."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rag_evaluation_framework.adapters.local_server import TOKEN_HEADER, LocalServer, Reply
from rag_evaluation_framework.errors import StorageError, UsageError


class Served:
    """A server that counts what is written, and speaks to it in bytes."""

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.server = LocalServer(self.read, self.write)

    def read(self, path: str, given: Mapping[str, str]) -> Reply | None:
        if path == "broken":
            raise StorageError("the disk is full")
        return Reply.of_json({"path": path, **given}) if path != "missing" else None

    def write(self, path: str, sent: Any) -> Reply | None:
        if sent == "wrong":
            raise UsageError("expected something else")
        self.written.append(sent)
        return Reply.of_json({"written": sent})

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def say(self, request: bytes, *, ends: bool = True) -> bytes:
        """Send bytes, and return what is answered."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
            connection.sendall(request)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while piece := connection.recv(1 << 16):
                    answer += piece
            except ConnectionError:
                pass  # the server hangs up on what it does not want to read to its end
            return answer

    def get(
        self, path: str = "", *, host: str | None = None, token: str | None = None, **headers: str
    ) -> bytes:
        place = f"/{self.server.token if token is None else token}/{path}"
        lines = [f"GET {place} HTTP/1.1", f"Host: {host or self.host}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.say(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def post(self, body: bytes, *, length: str | None = None, **headers: str) -> bytes:
        given = {
            "Host": self.host,
            "Content-Type": "application/json",
            "Content-Length": length or str(len(body)),
            TOKEN_HEADER: self.server.token,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"POST /{self.server.token}/save HTTP/1.1", *(f"{n}: {v}" for n, v in given.items() if v)]
        return self.say(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    with served.server.running():
        yield served


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def test_the_page_is_answered_under_a_strict_policy(served: Served) -> None:
    answer = served.get("a/%E7%8B%97?b=%3C")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert status(answer) == 200
    assert json.loads(body) == {"path": "a/狗", "b": "<"}
    assert b"Content-Security-Policy: default-src 'none'" in head
    assert b"frame-ancestors 'none'" in head
    assert b"nosniff" in head
    assert b"no-store" in head
    assert b"Access-Control" not in head
    assert status(served.get("missing")) == 404
    assert b"the disk is full" in served.get("broken")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", "[::1]"]
)
def test_another_name_is_not_answered(served: Served, host: str) -> None:
    assert status(served.get(host=host)) == 421


def test_a_request_without_a_host_or_with_two_is_not_answered(served: Served) -> None:
    path = f"/{served.server.token}/"
    assert status(served.say(f"GET {path} HTTP/1.0\r\n\r\n".encode())) == 421
    twice = f"GET {path} HTTP/1.1\r\nHost: {served.host}\r\nHost: evil.example\r\n\r\n"
    assert status(served.say(twice.encode())) == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", ""]
)
def test_another_origin_is_refused(served: Served, origin: str) -> None:
    before = len(served.written)
    assert status(served.get(Origin=origin)) == 403
    assert status(served.post(b'{"a": 1}', Origin=origin or "x")) == 403
    assert status(served.get(Sec_Fetch_Site="cross-site")) == 403
    assert status(served.get(Sec_Fetch_Site="same-site")) == 403
    assert len(served.written) == before


@pytest.mark.parametrize("token", ["", "x", "..", "%00", "\xff"])
def test_without_the_secret_nothing_is_answered(served: Served, token: str) -> None:
    answer = served.get(token=token)
    assert status(answer) in (400, 403)
    assert served.server.token.encode() not in answer


def test_a_change_needs_the_secret_in_a_header_as_well(served: Served) -> None:
    before = list(served.written)
    assert status(served.post(b"1", **{TOKEN_HEADER: ""})) == 403
    assert status(served.post(b"1", **{TOKEN_HEADER: "wrong"})) == 403
    assert status(served.post(b"1", Content_Type="text/plain")) == 415
    assert status(served.post(b"1", length="x")) == 411
    assert status(served.post(b"1", length="99999999999")) == 413
    assert status(served.post(b"1", length="5")) == 400
    assert status(served.post(b"{")) == 400
    assert status(served.post(b'"wrong"')) == 400
    assert status(served.post(b'{"a": 1, "a": 2}')) == 400
    assert served.written == before
    assert status(served.post(b'{"a": 1}', Origin=f"http://{served.host}")) == 200
    assert served.written == [*before, {"a": 1}]


def test_a_server_that_only_shows_takes_nothing() -> None:
    server = LocalServer(lambda path, given: Reply(b"shown"))
    with server.running():
        request = (
            f"POST /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 0\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(request.encode())
            assert status(connection.recv(100)) == 405


def test_a_thousand_malformed_requests_change_nothing(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(7)
    good = f"GET /{served.server.token}/ HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode()
    before = list(served.written)

    def malformed(number: int) -> bytes:
        match number % 8:
            case 0:
                return chance.randbytes(chance.randrange(1, 400))
            case 1:
                return good[: chance.randrange(1, len(good) - 4)]
            case 2:
                return bytes(byte ^ (chance.random() < 0.1) * chance.randrange(256) for byte in good)
            case 3:
                return b"GET http://[::1 HTTP/1.1\r\n\r\n"
            case 4:
                return b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"
            case 5:
                return b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(200)) + b"\r\n"
            case 6:
                return b"A" * chance.randrange(1, 70_000)
            case _:
                return b"GET /" + b"%00../" * 50 + b" HTTP/9.9\r\nHost: \x00\r\n\r\n"

    for number in range(1000):
        answer = served.say(malformed(number))
        assert b" 200 " not in answer[:20] or number % 8 == 2
    assert status(served.get("still")) == 200
    assert served.written == before
    assert "Traceback" not in capfd.readouterr().err
