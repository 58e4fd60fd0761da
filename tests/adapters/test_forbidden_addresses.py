"""Link-local and metadata addresses are refused, however they are written, unless allowed by name."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from command_lines import rag_eval
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.adapters.http_agent import HttpAgent
from rag_evaluation_framework.adapters.http_client import ALLOWED_HOSTS, HttpClient, check_host
from rag_evaluation_framework.errors import TargetError

FORBIDDEN = [
    *("169.254.169.254", "169.254.1.1", "[fe80::1]", "[fe80::1%eth0]", "[::ffff:169.254.169.254]"),
    *("[2002:a9fe:a9fe::1]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200"),
    *("metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"),
]
FREE = ["127.0.0.1", "localhost", "10.0.0.1", "192.168.1.5", "[::1]", "8.8.8.8", "metadata.example.org"]


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_HOSTS, "")


@pytest.mark.parametrize("host", FORBIDDEN)
def test_the_address_of_an_agent_may_not_be_one_of_them(host: str) -> None:
    with pytest.raises(UsageError, match=r"is a link-local or metadata address; --allow-host"):
        HttpAgent(f"http://{host}/latest")


@pytest.mark.parametrize("host", FREE)
def test_others_are_free(host: str) -> None:
    check_host(host)
    HttpAgent(f"http://{host}:4000")


@pytest.mark.parametrize("written", ["0xA9FEA9FE", "harmless.example"])
def test_a_name_that_leads_to_one_is_refused_when_it_is_looked_up(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    async def asked() -> Any:
        client = HttpClient()
        try:
            return await client.request(f"http://{written}/", b"{}", headers={}, timeout=5)
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
    assert "--allow-host 169.254.77.77 allows it" in str(refused.exception)
    allowed = rag_eval(*command, "--allow-host", "169.254.77.77")
    assert not isinstance(allowed.exception, UsageError)
