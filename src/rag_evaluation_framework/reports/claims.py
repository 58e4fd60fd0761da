"""The claims of an answer that its evidence does not support, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.reports.excerpts import one_line

# The metrics whose claims are the answer's own, and what these were held against.
_HELD_AGAINST = {
    "faithfulness": "the contexts",
    "hallucination": "the contexts",
    "claim_precision": "the reference",
}


def doubtful_claims(result: SampleResult) -> Iterator[str]:
    """Yield each claim of the answer that is unsupported or contradicted, with its characters, once."""
    text = result.response.text or ""
    seen: set[tuple[int, int]] = set()
    for score in result.scores:
        against = _HELD_AGAINST.get(without_parameters(score.metric))
        if against is None:
            continue
        for claim in score.details.get("claims", ()):
            place = claim["start"], claim["end"]
            if claim["label"] == "supported" or place in seen:
                continue
            seen.add(place)
            why = f" ({'; '.join(claim['conflicts'])})" if claim.get("conflicts") else ""
            where = f"at {place[0]}–{place[1]}"
            yield f"{claim['label']} by {against} {where}: {one_line(text[slice(*place)])}{why}"
