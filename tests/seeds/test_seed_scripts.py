"""Each seed followed from top to bottom, as its author would in an empty folder; what is said is kept.

``ACCEPT_WRITE=1 pytest tests/seeds/test_seed_scripts.py`` writes the kept files anew, so that a change shows
as a diff.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import pytest

from command_lines import file_ended

TESTS = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "scripts"
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
def test_a_seed_is_followed_to_its_end(seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "CO_API")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(keys)}
    monkeypatch.syspath_prepend(TESTS / "datasets")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        # Where it happens, as in a process of its own, whose screen has both streams.
        warnings.showwarning = lambda *told, **_: print(warnings.formatwarning(*told[:4]), end="")
        done = file_ended(
            SCRIPTS / f"seed_{seed}.py", folder=tmp_path, environment={**environment, "COLUMNS": "100"}
        )
    said = masked(done.stdout + done.stderr, tmp_path)
    assert done.returncode == 0, said
    kept = SCRIPTS / f"seed_{seed}.txt"
    if os.environ.get("ACCEPT_WRITE"):
        kept.write_text(said, encoding="utf-8")
    assert said.splitlines() == kept.read_text(encoding="utf-8").splitlines()
