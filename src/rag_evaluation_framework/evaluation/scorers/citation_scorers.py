"""Scores what an answer cites: against what it says, and against what it should cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rag_evaluation_framework.evaluation.scorers.consistency_scorers import ConsistencyScorer, OverallScorer
from rag_evaluation_framework.evaluation.scorers.flag_counts import flag_counts
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.evaluation.scorers.shared_verdicts import SupportScorer
from rag_evaluation_framework.metrics.citations import DEFAULT_TOLERANCE
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class _Cited(NamedTuple):
    """What of a :class:`CitationReport` a metric is computed from, and what is shown beside the value.

    ``counts`` names, for each list of flags, how many of them are set.
    """

    flags: tuple[str, ...]
    counts: tuple[str, ...]
    shown: str = "citations"


_METRICS: Mapping[str, _Cited] = {
    "citation_recall": _Cited(("supported",), ("supported_sentences",), "sentences"),
    "citation_precision": _Cited(("relevant",), ("relevant_citations",)),
    "citation_f1": _Cited(("supported", "relevant"), ("supported_sentences", "relevant_citations")),
    "citation_completeness": _Cited(("cited",), ("cited_claims",), "sentences"),
    "citation_correctness": _Cited(("correct",), ("correct_citations",)),
}
_NOTHING_CITED = "the answer cites nothing"
_NOTHING_READ = "the answer cites nothing that can be read"
# Which figure of the comparison each metric of spans is.
_FIGURES: Mapping[str, str] = {
    "citation_exact_jaccard": "mean_exact_jaccard",
    "citation_tolerance_jaccard": "mean_tolerance_jaccard",
    "citation_span_precision": "character_precision",
    "citation_span_recall": "character_recall",
    "citation_span_f1": "character_f1",
}


def citation_scorer(metric: BoundMetric, methods: ScoringMethods) -> SupportScorer:
    """Return the scorer of a metric of citations; files are opened in the documents of ``methods.corpus``."""
    scorers: dict[str, type[SupportScorer]] = {
        **dict.fromkeys(_METRICS, CitedClaimScorer),
        **dict.fromkeys(_FIGURES, CitedSpanScorer),
        "citation_validity": CitationValidityScorer,
        "overall_citation_accuracy": OverallScorer,
    }
    scorer = scorers.get(metric.metric.name, ConsistencyScorer)
    return scorer(metric, methods.verdicts_by(chosen_method(metric, methods)))


class CitedClaimScorer(SupportScorer):
    """Scores citations by whether they support the sentences they belong to."""

    asks = ("citations",)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the citations; without claims, or without texts to open them in, the sample is skipped."""
        verdicts = self.verdicts.citations.of(sample, response)
        if reason := verdicts.nothing_claimed_because or verdicts.counted.unusable_because:
            return self.skipped(reason)
        report, (names, counts, shown) = verdicts.report, _METRICS[self.metric.metric.name]
        flags = [getattr(report, name) for name in names]
        value = self.metric(*flags)
        if value is None:
            return self.skipped(_NOTHING_CITED)
        details: dict[str, Any] = {
            "citations_from": verdicts.counted.source,
            shown: [each.to_dict() for each in getattr(report, shown)],
        }
        for own, counted in zip(flags, counts, strict=True):
            details |= flag_counts(own, counted)
        return self.scored(value, details)


class CitationValidityScorer(SupportScorer):
    """Scores citations by whether they can be opened. Nobody is asked."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the citations; where there are none, or no texts to open them in, the sample is skipped."""
        counted = self.verdicts.citations.of(sample, response).counted
        if reason := counted.unusable_because:
            return self.skipped(reason)
        value = self.metric(counted.are_open)
        if value is None:
            return self.skipped(_NOTHING_CITED)
        shown = [each.to_dict() for each in counted.opened]
        return self.scored(value, {"citations": shown, **flag_counts(counted.are_open, "valid_citations")})


class CitedSpanScorer(SupportScorer):
    """Scores the cited characters against the relevant ones."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the spans; a sample without relevant ones is skipped, and citations of another kind too."""
        verdicts = self.verdicts.citations.of(sample, response)
        if reason := verdicts.no_spans_because:
            return self.skipped(reason)
        report = verdicts.spans(self.metric.parameters.get("tolerance_chars", DEFAULT_TOLERANCE))
        value = report[_FIGURES[self.metric.metric.name]]
        if value is None:
            return self.skipped(_NOTHING_READ if verdicts.compared.opened else _NOTHING_CITED)
        return self.scored(value, report.to_dict())
