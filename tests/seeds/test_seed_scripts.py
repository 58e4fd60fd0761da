"""Each seed followed from top to bottom, as its author would in an empty folder; what is said is kept.

``ACCEPT_WRITE=1 pytest tests/seeds/test_seed_scripts.py`` writes the kept files anew, so that a change shows
as a diff.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "scripts"
PLACES = [TESTS.parent / "src", TESTS, TESTS / "servers", TESTS / "datasets"]
# What differs between two times: where it ran, when, on which port, and the addresses of objects.
MASKS = {
    r"(?<=127\.0\.0\.1:)\d+": "<port>",
    r"\w+_run_(?!202508)\d{8}_\d{3}": "<run>",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*": "<time>",
    r"(?<= at )0x[0-9a-f]+": "<address>",
    r"(?<=\.py:)\d+(?=: \w*Warning)": "<line>",
    r"(?:(?<=accuracy = )|(?<=consistency is ))\d\.\d{3}": "<figure>",  # rests on rules that are on trial
}


def masked(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "<folder>").replace(str(SCRIPTS), "<scripts>").replace("\r\n", "\n")
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    return text


@pytest.mark.parametrize("seed", ["000", "001", "002", "003", "004"])
def test_a_seed_is_followed_from_top_to_bottom(seed: str, tmp_path: Path) -> None:
    keys = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "CO_API")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(keys)}
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, PLACES)),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        [sys.executable, "-u", str(SCRIPTS / f"seed_{seed}.py")],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = masked(done.stdout.decode(), tmp_path)
    assert done.returncode == 0, said
    kept = SCRIPTS / f"seed_{seed}.txt"
    if os.environ.get("ACCEPT_WRITE"):
        kept.write_text(said, encoding="utf-8")
    assert said.splitlines() == kept.read_text(encoding="utf-8").splitlines()
