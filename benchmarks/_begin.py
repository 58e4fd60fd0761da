"""BEGIN: dialogue answers that are fully attributable to what the speaker knew, or not.

Split in two by the text known, as WiCE is, and seen as WiCE was; generic answers, which say nothing to
attribute, are left out.
"""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from benchmarks._wice import is_for_fitting
from rag_evaluation_framework.judging.lexical_support import screen_answer

PARTS = ("cmu", "tc", "wow")
NOT_ATTRIBUTABLE = "Not fully attributable"
ATTRIBUTABLE = "Fully attributable"


def answers(data: Path, part: str) -> list[tuple[str, str, bool]]:
    """Return what was known, what was answered, and whether it is not attributable."""
    with (data / "begin" / f"begin_dev_{part}.tsv").open(encoding="utf-8", newline="") as lines:
        records = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        (record["knowledge"], record["response"], record["begin_label"] == NOT_ATTRIBUTABLE)
        for record in records
        if record["begin_label"] in (NOT_ATTRIBUTABLE, ATTRIBUTABLE)
    ]


def rows(data: Path) -> list[Figure]:
    """Return AUROC of screening answers that claim something, by where the dialogues come from."""
    if not (data / "begin").exists():
        return []
    found: list[Figure] = []
    for part in PARTS:
        labels: list[bool] = []
        scores: list[float] = []
        sources: list[str] = []
        for knowledge, response, positive in answers(data, part):
            score = screen_answer(response, [knowledge]).probability_unsupported
            if score is not None and not is_for_fitting(knowledge):
                labels.append(positive)
                scores.append(score)
                sources.append(knowledge)
        found.append(figure(f"BEGIN {part}, not attributable: AUROC", labels, scores, sources))
    return found
