"""The framework as its users meet it: commands run to their end, what they said compared with what is kept.

Nothing here knows an inner module. Commands are found through the entry points of the installed package and
run in this process (``in_process``) or in one of their own (``start``). ``kept`` compares a value with its
file under ``expected/``; ``ACCEPT_WRITE=1 pytest tests/acceptance`` writes those files anew, so that a change
shows as a diff.

``settled`` is the one place that says what may differ between two runs of the same program: times, places,
ids by date, ports, versions of packages, and figures that rest on rules which are on trial (``ON_TRIAL``).
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLES = ROOT / "examples"
HANDBOOK = EXAMPLES / "handbook"
GOLDEN = EXAMPLES / "golden"
DATA = HERE / "data"
EXPECTED = HERE / "expected"
PATIENCE = 300.0
"""Seconds that anything may take on a busy machine before a test gives it up."""

Argument = str | Path

# Figures that rest on verdicts about claims; what these verdicts say is measured elsewhere, against people.
_NAMES = (
    "faithfulness hallucination hallucination_rate factual_consistency answer_correctness noise_sensitivity"
    " claim_precision claim_recall claim_f1 claim_hallucination self_knowledge context_utilization"
    " context_precision context_recall context_claim_recall grounded_fraction unsupported_tokens"
    " citation_recall citation_precision citation_f1 citation_completeness citation_correctness"
    " overall_citation_accuracy"
)
ON_TRIAL = frozenset(_NAMES.split())
_FIGURE = frozenset({"value", "confidence_interval", "interval_method"})
_MEASURED = re.compile(
    r"latency_?ms|elapsed_?ms|.*_seconds|stage_seconds|latency_stats|resource_usage|timestamp|.*_at"
    r"|average_latency_ms|packages|environment|evaluation_environment|owner|dataset_hash|throughput.*",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:eval|gen|generate|offline|synthesis)_run_\d{8}_\d{3,}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert "NaN" not in self.out, "NaN is no JSON"
        return json.loads(self.out)

    def ok(self) -> Ended:
        assert self.code == 0, self
        return self

    def refused(self, *parts: str) -> None:
        """Hold that the input was wrong, and that the message names each of the parts."""
        assert (self.code, self.out) == (2, ""), self
        assert "Traceback" not in self.err, self.err
        for part in parts:
            assert part in self.err, self.err

    def shows(self, *parts: str) -> Ended:
        """Hold that each of the parts is printed for people to read."""
        for part in parts:
            assert part in self.out, self.out
        assert "Traceback" not in self.err, self.err
        return self


Commands = Callable[..., Ended]


def console_command(name: str) -> EntryPoint:
    """Return where the function behind a console command is."""
    (found,) = entry_points(group="console_scripts", name=name)
    return found


def in_process(main: Callable[[list[str]], object], capfd: pytest.CaptureFixture[str]) -> Commands:
    """Return a function that runs a program in this process, as a shell would."""

    def run(*arguments: Argument) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return run


def start(*arguments: Argument, folder: Path) -> subprocess.Popen[str]:
    """Start ``rag-eval`` in a process of its own."""
    module, _, function = console_command("rag-eval").value.partition(":")
    # What was started in the background may have been told to ignore Ctrl-C.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}\nfrom {module} import {function}; {function}()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(it, ensure_ascii=False) + "\n" for it in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def text_of(path: Path) -> str:
    """Return the text of a file, compressed or not."""
    content = path.read_bytes()
    if path.suffix == ".zst":
        zstd: Any = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        content = zstd.decompress(content)
    return content.decode()


def read_tables(name: str) -> Any:
    """Return the tables of cases that lie beside a test."""
    return yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def kept(name: str, value: Any, folder: Path | None = None) -> None:
    """Hold that the value is, once settled, the one in ``expected/``."""
    path = EXPECTED / f"{name}.json"
    text = json.dumps(settled(value, folder), ensure_ascii=False, indent=1) + "\n"
    if os.environ.get("ACCEPT_WRITE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def settled(value: Any, folder: Path | None = None) -> Any:
    """Return a value without what may differ between two runs of the same program."""
    places = {str(ROOT): "<root>"} | ({str(folder): "<folder>"} if folder else {})
    return _settled(value, places)


def _settled(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        on_trial = value.get("metric") in ON_TRIAL
        return {
            _text(name, places): _field(name, field, places, on_trial=on_trial and name in _FIGURE)
            for name, field in value.items()
        }
    if isinstance(value, list):
        return [_settled(each, places) for each in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else f"<{value}>"
    return _text(value, places) if isinstance(value, str) else value


def _field(name: str, value: Any, places: Mapping[str, str], *, on_trial: bool) -> Any:
    if value is None or (value == {} and name != "blame"):
        return value
    if on_trial or _MEASURED.fullmatch(name):
        return "<measured>"
    if name == "blame":
        return sorted(value) if isinstance(value, dict) else f"<{len(value)}>"
    if name in ("metric_details", "details"):
        return sorted(value)
    if name in ON_TRIAL and isinstance(value, dict):
        return {key: _field(key, each, places, on_trial=key in _FIGURE) for key, each in value.items()}
    if name in ON_TRIAL and isinstance(value, int | float):
        return "<measured>"
    return _settled(value, places)


def _text(text: str, places: Mapping[str, str]) -> str:
    for place, name in places.items():
        text = text.replace(place, name)
    return _PORT.sub("<port>", _TIME.sub("<time>", _ID.sub("<run>", text)))
