"""An agent that answers at once, or after a delay, over HTTP: the other end of ``benchmarks.agent``.

Replies have the shape of OpenAI's API, so that every tool can read them. Run as a process of its own.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BODY = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":'
    b'"stop","message":{"role":"assistant","content":"Paris is the capital of France."}}],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":7,"total_tokens":14}}'
)
_REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_BODY),
    _BODY,
)


class _Connection(asyncio.Protocol):
    """Answers each request that has arrived whole."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            length = 0
            if b"content-length:" in head:
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            asyncio.get_running_loop().call_later(self._delay, self._reply)

    def _reply(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_REPLY)


@contextmanager
def running_agent(delay: float = 0.0) -> Iterator[str]:
    """Run the agent for as long as the block lasts; yields its URL."""
    command = [sys.executable, "-m", "benchmarks._instant_agent", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def _serve(delay: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(delay), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
