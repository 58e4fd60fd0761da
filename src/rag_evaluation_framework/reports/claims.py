"""The claims of an answer that its evidence does not bear out, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.reports.excerpts import one_line

# The metrics whose claims are the answer's own; the others judge the claims of the truth.
_OF_THE_ANSWER = ("faithfulness", "hallucination", "claim_precision")


def doubtful_claims(result: SampleResult) -> Iterator[str]:
    """Yield each claim of the answer that is unsupported or contradicted, with its characters, once."""
    text = result.response.text or ""
    seen: set[tuple[int, int]] = set()
    for score in result.scores:
        if not score.metric.startswith(_OF_THE_ANSWER):
            continue
        for claim in score.details.get("claims", ()):
            place = claim["start"], claim["end"]
            if claim["label"] == "supported" or place in seen:
                continue
            seen.add(place)
            why = f" ({'; '.join(claim['conflicts'])})" if claim.get("conflicts") else ""
            yield f"{claim['label']} at {place[0]}–{place[1]}: {one_line(text[slice(*place)])}{why}"
