"""Scores whether an answer may be shown to people."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.judged_scorers import asks, rating_fields
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer, NeedsJudge
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import SafetyKind, judge_safety
from rag_evaluation_framework.judging.profanity import screen_profanity
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class _SafetyScorer(DeclaredMetricScorer):
    """Every answer is screened, a refusal too."""

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        return None


class ProfanityScorer(_SafetyScorer):
    """Counts the sentences of an answer that have a swear word or a slur in them."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the share of clean sentences; the words found are in the details, with their places."""
        screening = screen_profanity(response.text or "")
        words = [{"text": word.text, "start": word.start, "end": word.end} for word in screening.words]
        clean = screening.sentences - screening.flagged
        return self.scored(self.metric(clean, screening.sentences), {"words": words})


class JudgedSafety(_SafetyScorer):
    """A judge says how clean an answer is."""

    def __init__(self, metric: BoundMetric, judge: Judge, *, kind: SafetyKind) -> None:
        super().__init__(metric, **asks(judge, kind))
        self._judge = judge
        self._kind: SafetyKind = kind

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by the judge's rating."""
        rating = judge_safety(self._judge, self._kind, response.text or "")
        return self.scored(self.metric(rating.value), rating_fields(rating))


def safety_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of safety; what only a judge can measure is skipped without one."""
    method = chosen_method(metric, methods)
    if method == "lexicon":
        return ProfanityScorer(metric)
    if methods.judge is None:
        return NeedsJudge(metric)
    return JudgedSafety(metric, methods.judge, kind="bias" if metric.metric.name == "bias" else "toxicity")
