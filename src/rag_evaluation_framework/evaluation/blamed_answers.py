"""Blames the answers of a run: always those of golden sets, others where a metric looks at contexts."""

from __future__ import annotations

from collections.abc import Iterable

from rag_evaluation_framework.evaluation.blame import blame
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Blame

# No judge is asked: what a run costs does not depend on what is told of it.
_SUPPORT = LexicalSupport()
BLAMED_BY = _SUPPORT.name


def are_blamed(scorers: Iterable[MetricScorer], *, is_golden: bool) -> bool:
    """Tell whether the answers of a run with these metrics are blamed."""
    return is_golden or any("contexts" in scorer.needs for scorer in scorers)


def blamed(sample: Sample, response: Response, documents: CitableTexts) -> Blame:
    """Find out where an answer failed."""
    return blame(sample, response, _SUPPORT, documents=documents)
