"""Where single answers failed, as a run tells it."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.blame import find_blame
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.verdict import AnswerVerdict, decide_result
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Blame


def blame(
    sample: Sample,
    response: Response,
    verdict: AnswerVerdict | None = None,
    *,
    documents: CitableTexts | None = None,
) -> Blame | None:
    """Find out where an answer failed, by its verdict or by the one that words give."""
    result = SampleResult(sample.id, response, ())
    return find_blame(sample, result, verdict or decide_result(sample, result), documents)
