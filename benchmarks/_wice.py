"""WiCE: claims of Wikipedia against the sentences of the page they cite; supported, partially, or not.

No label of WiCE has a say in the order of claims, so all of them count. Features were chosen on BEGIN, MTRAG,
half of RAGTruth, and the half of WiCE's articles that also set how far odds are spread; so the other half is
told apart.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict


@dataclass(frozen=True, slots=True)
class WikipediaClaim:
    """A claim, the sentences of its source, which of them support it, and the label people gave."""

    article: str
    claim: str
    evidence: tuple[str, ...]
    supporting: frozenset[int]
    label: str


def is_for_fitting(source: str) -> bool:
    """Tell the half that guides from the half that only reports, by a hash of where an item comes from."""
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
    """Return AUROC of three readings of "not supported", on all claims and the half that guided nothing."""
    if not (data / "wice").exists():
        return []
    everything = [(each, verdict_of(each)) for each in claims(data)]
    unguided = [pair for pair in everything if not is_for_fitting(pair[0].article)]
    return [
        *_readings("all claims", everything),
        *_readings("the half of the articles that guided nothing", unguided),
    ]


def _readings(part: str, told: Sequence[tuple[WikipediaClaim, ClaimVerdict]]) -> Iterator[Figure]:
    for name, (positive, negative) in READINGS.items():
        kept = [pair for pair in told if pair[0].label in positive + negative]
        labels = [each.label in positive for each, _ in kept]
        articles = [each.article for each, _ in kept]
        odds = [1.0 - (verdict.probability or 0.0) for _, verdict in kept]
        control = [new_word_share(verdict) for _, verdict in kept]
        yield figure(
            f"WiCE, {part}: AUROC, {name}",
            labels,
            odds,
            articles,
            published="no label of WiCE has a say in the order of claims",
            plain=control,
        )
