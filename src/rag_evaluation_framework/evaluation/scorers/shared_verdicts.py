"""What one method of support says about answers, and the scorers that share it."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import AnswerVerdicts
from rag_evaluation_framework.evaluation.scorers.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.evaluation.scorers.found_once import LatestOf
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.scores import SupportMethod


class SharedVerdicts:
    """The verdicts of one method on the latest answers and on their citations, each found once.

    ``texts`` are the documents that answers may cite.
    """

    def __init__(self, support: SupportMethod, texts: CitableTexts) -> None:
        self.support = support
        self.answers = LatestOf(lambda sample, response: AnswerVerdicts(sample, response, support))
        self.citations = LatestOf(
            lambda sample, response: CitationVerdicts(sample, response, texts=texts, support=support)
        )


class SupportScorer(DeclaredMetricScorer):
    """A scorer that looks at shared verdicts.

    ``asks`` names the verdicts that the method of support has to give; a metric that takes none is computed
    by its own method.
    """

    asks: tuple[str, ...] = ()

    def __init__(self, metric: BoundMetric, verdicts: SharedVerdicts) -> None:
        support = verdicts.support
        super().__init__(
            metric,
            method=support.name if self.asks else None,
            method_version=support.version if self.asks else 1,
            questions=self.asks if isinstance(support, JudgeSupport) else (),
        )
        self.verdicts = verdicts
