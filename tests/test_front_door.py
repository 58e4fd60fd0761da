"""The package's own names: promised, importable, typed, documented, and cheap until touched."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rag_evaluation_framework as front_door

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", front_door.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(front_door, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        front_door.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z_]\w*)", page))
    assert set(front_door.__all__) <= named


@pytest.mark.parametrize(
    "command",
    [
        "import rag_evaluation_framework",
        "from rag_evaluation_framework.cli.main import program; program(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(command: str) -> None:
    names = "('numpy', 'yaml', 'msgspec')"
    program = f"{command}\nimport sys; print(*(name in sys.modules for name in {names}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False False"
