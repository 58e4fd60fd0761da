"""WiCE: claims of Wikipedia against the sentences of the page they cite; supported, partially, or not.

Claims are split in two by the article they come from: one half fits, the other reports. Features and targets
were chosen on the fitting half (``_support_fit`` prints its figure across folds), after earlier models had
been measured on the other.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from rag_evaluation_framework.judging.support.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict


@dataclass(frozen=True, slots=True)
class WikipediaClaim:
    """A claim, the sentences of its source, which of them support it, and the label people gave."""

    article: str
    claim: str
    evidence: tuple[str, ...]
    supporting: frozenset[int]
    label: str


def is_for_fitting(source: str) -> bool:
    """Tell the half that fits from the half that reports, by a hash of where an item comes from."""
    return hashlib.sha256(source.encode()).digest()[0] % 2 == 0


def claims(data: Path) -> list[WikipediaClaim]:
    with gzip.open(data / "wice" / "claim_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [
        WikipediaClaim(
            record["meta"]["claim_title"],
            record["claim"],
            tuple(record["evidence"]),
            frozenset(number for group in record["supporting_sentences"] for number in group),
            record["label"],
        )
        for record in records
    ]


def verdict_of(each: WikipediaClaim) -> ClaimVerdict:
    return LexicalSupport().decide([Claim(each.claim, 0, len(each.claim))], each.evidence)[0]


def new_word_share(verdict: ClaimVerdict) -> float:
    """Return the plain share of a claim's words that stand nowhere in the evidence."""
    return len(verdict.new_tokens) / len(verdict.claim.text.split())


READINGS = {
    "not supported against the rest": (("not_supported",), ("supported", "partially_supported")),
    "not supported against supported": (("not_supported",), ("supported",)),
    "not or partially against supported": (("not_supported", "partially_supported"), ("supported",)),
}


def rows(data: Path) -> list[Figure]:
    """Return AUROC of the three readings of "not supported", on the half that fitted nothing."""
    if not (data / "wice").exists():
        return []
    reported = [each for each in claims(data) if not is_for_fitting(each.article)]
    verdicts = [verdict_of(each) for each in reported]
    scores = [1.0 - (verdict.probability or 0.0) for verdict in verdicts]
    controls = [new_word_share(verdict) for verdict in verdicts]
    found: list[Figure] = []
    for name, (positive, negative) in READINGS.items():
        kept = [place for place, each in enumerate(reported) if each.label in positive + negative]
        labels = [reported[place].label in positive for place in kept]
        articles = [reported[place].article for place in kept]
        for title, values in (("AUROC", scores), ("AUROC, control: new words", controls)):
            found.append(
                figure(f"WiCE, {name}: {title}", labels, [values[place] for place in kept], articles)
            )
    return found
