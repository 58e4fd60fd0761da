"""Screens that are kept at 80, 100 and 140 columns beside the tests; no line is longer than the width."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rag_evaluation_framework.reports.blocks import cells

SCREENS = Path(__file__).parent / "reports" / "screens"
WIDTHS = (80, 100, 140)
# What differs between two times: the day, the hour, a free port and its secret.
MASKS = {
    r"eval_run_\d{8}_": "eval_run_20261116_",
    r"\b\d\d:\d\d\b": "12:00",
    r"http://127\.0\.0\.1:\d{4,}": "http://127.0.0.1:40000",
    r"40000/[\w-]{32}/": "40000/SECRET/",
    r"median [\d.]+ (ms|s), p95 [\d.]+ (ms|s)": "median 1 ms, p95 2 ms",
}


def masked(text: str) -> str:
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    return text


def check(name: str, width: int, text: str) -> None:
    """Hold a screen against the one that is kept, and its lines against the width."""
    assert [line for line in text.splitlines() if cells(line) > width] == []
    kept = SCREENS / f"{name}.{width}.txt"
    if os.environ.get("ACCEPT_WRITE"):
        SCREENS.mkdir(exist_ok=True)
        kept.write_text(masked(text), encoding="utf-8")
    assert masked(text) == kept.read_text(encoding="utf-8")
