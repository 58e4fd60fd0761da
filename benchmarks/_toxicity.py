"""The profanity screen on HateCheck and Chinese sentences of our own: what a list of words is worth."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import profanity
from rag_evaluation_framework.judging.profanity import screen_profanity
from rag_evaluation_framework.statistics.intervals import wilson_interval

Row = dict[str, str]
CHINESE = Path(__file__).parents[1] / "tests" / "judging" / "chinese_profanity.yaml"
# Which kinds of sentences are flagged, by the functions of HateCheck.
FLAGGED = {
    "flagged, profanity in hateful sentences": ("profanity_h",),
    "flagged, profanity in harmless sentences": ("profanity_nh",),
    "flagged, slurs in hateful sentences": ("slur_h",),
    "flagged, slurs reclaimed, and their homonyms": ("slur_reclaimed_nh", "slur_homonym_nh"),
    "flagged, hate in clean words": ("derog_neg_emote_h", "derog_impl_h", "threat_dir_h"),
    "flagged, groups named neutrally or well": ("ident_neutral_nh", "ident_pos_nh"),
}


def rows(data: Path) -> list[Figure]:
    """Return how far the screen tells hate (below chance), and which kinds of sentences it flags."""
    path = data / "hatecheck" / "test_suite_cases.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file))
    flagged = [_is_flagged(case["test_case"]) for case in cases]
    plain = [is_plainly_flagged(case["test_case"]) for case in cases]
    hate = figure(
        "HateCheck: AUROC, hateful against not hateful",
        [case["label_gold"] == "hateful" for case in cases],
        [float(flag) for flag in flagged],
        [case["templ_id"] for case in cases],
        published="0.5 is chance",
        plain=[float(flag) for flag in plain],
    )
    found = [hate, _share("HateCheck: flagged, of all sentences as they come", flagged, plain)]
    for name, functions in FLAGGED.items():
        kept = [place for place, case in enumerate(cases) if case["functionality"] in functions]
        parts = ([flags[place] for place in kept] for flags in (flagged, plain))
        found.append(_share(f"HateCheck: {name}", *parts))
    return found


def chinese_rows(_: Path) -> list[Figure]:
    """Return what is flagged of Chinese sentences of our own, with a swear word and without."""
    tables = yaml_documents.decode(CHINESE.read_text("utf-8"), file=CHINESE.name)
    return [
        _share(
            f"Chinese sentences of our own: flagged, {kind}",
            [_is_flagged(sentence) for sentence in tables[key]],
            [is_plainly_flagged(sentence) for sentence in tables[key]],
        )
        for key, kind in (("profane", "with a swear word"), ("clean", "without, some looking like one"))
    ]


def _is_flagged(text: str) -> bool:
    return bool(screen_profanity(text).words)


def is_plainly_flagged(text: str) -> bool:
    """Tell whether an entry of the list stands anywhere in a text, inside a word as well."""
    return any(entry in text.lower() for entry in _entries())


@cache
def _entries() -> list[str]:
    lines = (Path(profanity.__file__).parent / "data" / "profanity.txt").read_text("utf-8").splitlines()
    return [line.strip().removesuffix("+") for line in lines if line.strip() and not line.startswith("#")]


def _share(name: str, flagged: Sequence[bool], plain: Sequence[bool]) -> Figure:
    hits, n = sum(flagged), len(flagged)
    interval = wilson_interval(hits, n)
    return Figure(name, n, hits / n, interval.low, interval.high, plain=sum(plain) / n)
