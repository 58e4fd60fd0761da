"""Where the answers of a whole run failed, in counts and shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rag_evaluation_framework.evaluation.blame import BLAME_KINDS, Blame, BlameKind, blame
from rag_evaluation_framework.judging.citations.cited_texts import CitableTexts
from rag_evaluation_framework.judging.verdicts import SupportMethod
from rag_evaluation_framework.results.run_rows import RunRow
from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval

Part = Literal["retrieval", "generation", "neither"]

PART_OF_KIND: dict[BlameKind, Part] = {
    "ok": "neither",
    "retrieval_missed": "retrieval",
    "not_used": "generation",
    "contradicted": "generation",
    "wrong_citation": "generation",
    "refused_wrongly": "generation",
    "answered_wrongly": "generation",
    "unknown": "neither",
}
"""Which part of the system a kind of failure belongs to."""


@dataclass(frozen=True, slots=True)
class BlameShare:
    """How many answers have this kind, and their share of the answers of which it can be told."""

    kind: BlameKind
    part: Part
    count: int
    share: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameSummary:
    """Every kind with its count; ``total`` counts all answers, ``told`` those that are not unknown.

    ``unknown_because`` counts what is missing to tell more.
    """

    method: str
    total: int
    told: int
    shares: tuple[BlameShare, ...]
    unknown_because: dict[str, int]

    def count(self, kind: BlameKind) -> int:
        """Return how many answers have this kind."""
        return next(share.count for share in self.shares if share.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as results hold it."""
        return asdict(self)


def blamed_rows(
    rows: Iterable[RunRow], support: SupportMethod, *, documents: CitableTexts | None = None
) -> Iterator[tuple[str, Blame]]:
    """Yield each sample's id and where its answer failed; a row without its sample is passed over."""
    for row in rows:
        if row.sample is not None:
            yield row.result.sample_id, blame(row.sample, row.result.response, support, documents=documents)


def blame_summary(blames: Iterable[Blame], *, method: str, confidence: float = 0.95) -> BlameSummary:
    """Count the kinds; shares are of the answers of which the kind can be told, with Wilson's interval.

    ``method`` is who decided what supports what, as it stands beside a figure.
    """
    counts: Counter[BlameKind] = Counter()
    reasons: Counter[str] = Counter()
    for each in blames:
        counts[each.kind] += 1
        if each.kind == "unknown":
            reasons[each.why] += 1
    told = counts.total() - counts["unknown"]
    shares = []
    for kind in BLAME_KINDS:
        share, interval = None, None
        if told and kind != "unknown":
            share = counts[kind] / told
            interval = wilson_interval(counts[kind], told, confidence=confidence)
        shares.append(BlameShare(kind, PART_OF_KIND[kind], counts[kind], share, interval))
    return BlameSummary(
        method=method,
        total=counts.total(),
        told=told,
        shares=tuple(shares),
        unknown_because=dict(reasons.most_common()),
    )
