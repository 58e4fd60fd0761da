"""The server that the tests of targets ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_agent import RunningServer, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running
