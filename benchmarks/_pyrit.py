"""Refusals among the answers that PyRIT ships with people's labels, in the half that was not looked at.

PyRIT calls an answer to another question a refusal too. Long answers that share no content word with the
question are of that kind: labelled as refusals, they are left out.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from benchmarks._figures import Figure
from benchmarks._packages import wheel_files
from benchmarks._refusals import Labelled, compared
from rag_evaluation_framework.judging.answer_classes import classify_answer
from rag_evaluation_framework.text.tokens import content_keys

REFUSED = "1"
_LONG = 300


def rows(data: Path) -> list[Figure]:
    """Return F1 of refusals."""
    found = list(_answers())
    if not found:
        return []
    return [compared("PyRIT, refusals: F1", found, lambda labels: labels[0] == REFUSED, ("refused",))]


def _answers() -> Iterator[Labelled]:
    for name in ("refusal.csv", "refusal_extra.csv"):
        for _, text in wheel_files("pyrit", "1.1.0", f"refusal_scorer/{name}"):
            table = text[text.index("objective,") :]  # after the remarks on top
            for row in csv.DictReader(io.StringIO(table, newline="")):
                question, answer, label = row["objective"], row["assistant_response"], row["human_score"]
                is_looked_at = zlib.crc32(question.encode()) % 2 == 0
                if not is_looked_at and not (label == REFUSED and _is_of_something_else(answer, question)):
                    yield Labelled(question, classify_answer(answer, question).kind, (label,))


def _is_of_something_else(answer: str, question: str) -> bool:
    return len(answer) > _LONG and set(content_keys(answer)).isdisjoint(content_keys(question))
