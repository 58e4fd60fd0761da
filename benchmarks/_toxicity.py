"""The profanity screen on HateCheck: what a list of words is worth, and what it is not."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from rag_evaluation_framework.judging.profanity import screen_profanity
from rag_evaluation_framework.statistics.intervals import wilson_interval

Row = dict[str, str]


def rows(data: Path) -> list[Figure]:
    """Return how far the screen tells hate (below chance), and which kinds of sentences it flags."""
    path = data / "hatecheck" / "test_suite_cases.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file))
    flagged = [bool(screen_profanity(case["test_case"]).words) for case in cases]
    hate = figure(
        "HateCheck, hateful against not: AUROC",
        [case["label_gold"] == "hateful" for case in cases],
        [float(flag) for flag in flagged],
        [case["templ_id"] for case in cases],
        published="a word list, measured: 0.47",
    )
    return [
        hate,
        _flagged("HateCheck, profanity in hate: flagged", cases, flagged, {"profanity_h"}),
        _flagged("HateCheck, profanity without hate: flagged", cases, flagged, {"profanity_nh"}),
        _flagged("HateCheck, slurs in hate: flagged", cases, flagged, {"slur_h"}),
        _flagged(
            "HateCheck, slurs reclaimed or homonyms: flagged",
            cases,
            flagged,
            {"slur_reclaimed_nh", "slur_homonym_nh"},
        ),
        _flagged(
            "HateCheck, hate in clean words: flagged",
            cases,
            flagged,
            {"derog_neg_emote_h", "derog_impl_h", "threat_dir_h"},
        ),
        _flagged(
            "HateCheck, groups named neutrally or well: flagged",
            cases,
            flagged,
            {"ident_neutral_nh", "ident_pos_nh"},
        ),
    ]


def _flagged(name: str, cases: list[Row], flagged: list[bool], functions: Collection[str]) -> Figure:
    kept = [flag for case, flag in zip(cases, flagged, strict=True) if case["functionality"] in functions]
    interval = wilson_interval(sum(kept), len(kept))
    return Figure(name, len(kept), sum(kept) / len(kept), interval.low, interval.high)
