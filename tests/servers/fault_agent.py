"""An agent that misbehaves on request: a real HTTP server, in a process of its own.

``POST /fault/NAME/…`` always replies with the fault of that name, any other path with the answer, or,
under a storm, with a share of faults drawn from a seeded generator. ``GET /log`` gives what was received.
A second origin listens beside it, so that a test can see what a redirect would have carried there.

    with running_server(fault_share=0.3) as server: …
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

HANG = 3600.0
LARGE = 200_000_000


@dataclass
class Asked:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Connection:
    """What a fault may do to the one who asked."""

    asked: Asked
    writer: asyncio.StreamWriter
    other_origin: str
    chance: random.Random

    async def send(
        self,
        body: bytes,
        *,
        status: int = 200,
        length: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        size = len(body) if length is None else length
        fields = {"Content-Type": "application/json", "Content-Length": str(size)} | (headers or {})
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self.writer.drain()

    async def answer(self) -> None:
        await self.send(json.dumps({"response": answer_to(question_of(self.asked.body))}).encode())

    def abort(self) -> None:
        self.writer.transport.abort()


def question_of(body: dict[str, Any]) -> str:
    if "messages" in body:
        return str(body["messages"][-1]["content"])
    return str(body.get("message"))


def answer_to(question: str) -> str:
    return f"The answer to {question} is café 42."


def _bomb(megabytes: int) -> bytes:
    """Build gzip that inflates to so many megabytes, from one block repeated: a kilobyte for each."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b'{"response": "') + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b"0" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * megabytes


BOMB = _bomb(1000)

Fault = Callable[[Connection], Awaitable[None]]


def _body(body: bytes, status: int = 200, **headers: str) -> Fault:
    async def fault(to: Connection) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        await to.send(body, status=status, headers=fields)

    return fault


def _status(status: int, **headers: str) -> Fault:
    return _body(b'{"error": "no"}', status, **headers)


def _throttled(retry_after: Callable[[], str]) -> Fault:
    async def fault(to: Connection) -> None:
        await to.send(b"slow down", status=429, headers={"Retry-After": retry_after()})

    return fault


async def _reset(to: Connection) -> None:
    to.abort()


async def _reset_midway(to: Connection) -> None:
    await to.send(b'{"resp', length=100)
    to.abort()


async def _hang(to: Connection) -> None:
    await asyncio.sleep(HANG)


async def _slow_drip(to: Connection) -> None:
    await to.send(b"", length=100_000)
    while True:
        to.writer.write(b" ")
        await to.writer.drain()
        await asyncio.sleep(0.2)


async def _truncated_body(to: Connection) -> None:
    await to.send(b'{"response": "The answer', length=500)
    to.writer.close()


async def _declared_charset(to: Connection) -> None:
    text = json.dumps({"response": answer_to(question_of(to.asked.body))}, ensure_ascii=False)
    await to.send(text.encode("latin-1"), headers={"Content-Type": "application/json; charset=iso-8859-1"})


async def _large_body(to: Connection) -> None:
    await to.send(b'{"response": "', length=LARGE)
    await _pour(to, b"0" * 65536)


async def _large_chunked(to: Connection) -> None:
    to.writer.write(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _pour(to, b"10000\r\n" + b"0" * 65536 + b"\r\n")


async def _pour(to: Connection, piece: bytes) -> None:
    for _ in range(LARGE // len(piece)):
        to.writer.write(piece)
        await to.writer.drain()
    to.writer.close()


async def _large_error(to: Connection) -> None:
    await to.send(b"", status=500, length=LARGE)
    await _pour(to, b"0" * 65536)


async def _gzip(to: Connection) -> None:
    text = json.dumps({"response": answer_to(question_of(to.asked.body))}).encode()
    packer = zlib.compressobj(wbits=31)
    await to.send(packer.compress(text) + packer.flush(), headers={"Content-Encoding": "gzip"})


async def _redirect(to: Connection) -> None:
    await to.send(b"", status=307, headers={"Location": f"{to.other_origin}/stolen?key=x"})


async def _empty(to: Connection) -> None:
    to.writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def _not_http(to: Connection) -> None:
    to.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    to.writer.close()


async def _echo_headers(to: Connection) -> None:
    echoed = json.dumps(to.asked.headers)
    await to.send(json.dumps({"response": echoed, "contexts": [echoed]}).encode())


async def _echo_headers_in_an_error(to: Connection) -> None:
    await to.send(json.dumps(to.asked.headers).encode(), status=400)


async def _echo_body(to: Connection) -> None:
    await to.send(json.dumps({"response": json.dumps(to.asked.body)}).encode())


FAULTS: dict[str, Fault] = {
    "429-seconds": _throttled(lambda: "1"),
    "429-zero": _throttled(lambda: "0"),
    "429-fraction": _throttled(lambda: "0.2"),
    "429-date": _throttled(lambda: formatdate(time.time() + 2, usegmt=True)),
    "429-past-date": _throttled(lambda: "Wed, 21 Oct 2015 07:28:00 GMT"),
    "429-negative": _throttled(lambda: "-5"),
    "429-garbage": _throttled(lambda: "soon"),
    "429-absurd": _throttled(lambda: "999999999"),
    "429-absurd-date": _throttled(lambda: "Fri, 31 Dec 9999 23:59:59 GMT"),
    "429-bare": _status(429),
    "408": _status(408),
    "425": _status(425),
    "500": _status(500),
    "502": _status(502),
    "503": _status(503),
    "503-later": _status(503, Retry_After="1"),
    "504": _status(504),
    "reset": _reset,
    "reset-midway": _reset_midway,
    "hang": _hang,
    "slow-drip": _slow_drip,
    "truncated-body": _truncated_body,
    "truncated-json": _body(b'{"response": "The answer'),
    "malformed-json": _body(b"{'response': None}"),
    "not-a-number": _body(b'{"response": NaN}'),
    "wrong-charset": _body('{"response": "café"}'.encode("latin-1")),
    "large-body": _large_body,
    "large-chunked": _large_chunked,
    "large-error": _large_error,
    "gzip-bomb": _body(BOMB, Content_Encoding="gzip"),
    "damaged-gzip": _body(b"not gzip at all", Content_Encoding="gzip"),
    "brotli": _body(b"\x0b\x02\x80[]\x03", Content_Encoding="br"),
    "redirect": _redirect,
    "empty-204": _empty,
    "empty-body": _body(b""),
    "html-page": _body(b"<!doctype html><h1>Welcome</h1>", Content_Type="text/html"),
    "no-answer": _body(b'{"status": "ok", "id": 7}'),
    "not-http": _not_http,
    "long-header": _body(b"{}", X_Long="0" * 1_000_000),
    "deep-json": _body(b'{"response": "x", "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
}
# Unusual, and yet an answer or for tests that ask by name.
OTHERS: dict[str, Fault] = {
    **{str(status): _status(status) for status in (400, 401, 403, 404, 413, 422, 418)},
    "declared-charset": _declared_charset,
    "gzip": _gzip,
    "echo-headers": _echo_headers,
    "echo-headers-in-an-error": _echo_headers_in_an_error,
    "echo-body": _echo_body,
    "odd-contexts": _body(b'{"response": "x", "contexts": ["a", {"leaf": "b"}]}'),
    "escaped": _body(b'{"response": "\\u516d\\u9551"}'),
    "no-contexts": _body(b'{"response": "x", "contexts": []}'),
}


@dataclass
class Agent:
    """The state of one server."""

    fault_share: float
    chance: random.Random
    delay: float = 0.0
    other_origin: str = ""
    log: list[Asked] = field(default_factory=list)
    received: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    stolen: list[dict[str, str]] = field(default_factory=list)
    keep_log: bool = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await read_request(reader)) is not None:
                await self.reply(asked, writer)
                await writer.drain()
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def reply(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        to = Connection(asked, writer, self.other_origin, self.chance)
        if asked.path == "/log":
            await to.send(json.dumps(self.summary()).encode())
            return
        self.received += 1
        if self.keep_log:
            self.log.append(asked)
        if self.delay:
            await asyncio.sleep(self.delay)
        name = self.chosen_fault(asked)
        if name is None:
            await to.answer()
        else:
            self.faults[name] = self.faults.get(name, 0) + 1
            await {**FAULTS, **OTHERS}[name](to)

    def chosen_fault(self, asked: Asked) -> str | None:
        if asked.path.startswith("/fault/"):
            return asked.path.split("/")[2]
        if self.chance.random() < self.fault_share:
            return self.chance.choice(list(FAULTS))
        return None

    def summary(self) -> dict[str, Any]:
        requests = [{"path": it.path, "headers": it.headers, "body": it.body} for it in self.log]
        return {"received": self.received, "faults": self.faults, "requests": requests, "stolen": self.stolen}

    async def steal(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await read_request(reader)
        if asked is not None:
            self.stolen.append(asked.headers)
        writer.close()


async def read_request(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    parted = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in parted}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(first.split(" ")[1], headers, json.loads(body) if body else {})


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault-share", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-log", action="store_true")
    options = parser.parse_args()
    agent = Agent(options.fault_share, random.Random(options.seed), delay=options.delay)
    agent.keep_log = not options.without_log
    other = await asyncio.start_server(agent.steal, "127.0.0.1", 0)
    agent.other_origin = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}"
    server = await asyncio.start_server(agent.serve, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class RunningServer:
    """A server that listens, as a test sees it."""

    url: str

    def fault(self, name: str) -> str:
        return f"{self.url}/fault/{name}"

    def log(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/log", timeout=30) as reply:
            summary: dict[str, Any] = json.load(reply)
        return summary


@contextmanager
def running_server(
    *, fault_share: float = 0.0, delay: float = 0.0, seed: int = 0, log: bool = True
) -> Iterator[RunningServer]:
    """Run a server in a process of its own for as long as the block lasts."""
    options = [f"--fault-share={fault_share}", f"--delay={delay}", f"--seed={seed}"]
    options += [] if log else ["--without-log"]
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), *options], stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            yield RunningServer(process.stdout.readline().strip())
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main())
