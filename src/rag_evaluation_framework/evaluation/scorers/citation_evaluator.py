"""Evaluates the citations of one answer from every side, in the fields that results of evaluations have.

::

    span_accuracy            mean_exact_jaccard, mean_tolerance_jaccard, perfect_matches, good_matches …
    citation_quality         citation_completeness, citation_correctness, citation_validity, citation_recall,
                             citation_precision, citation_f1; each citation with what is wrong with it
    answer_consistency       factual_consistency: value, mean_consistency, consistency_scores; each claim
    hallucination_detection  hallucination_rate: value, total_claims, hallucinated_claims; which they are
    overall_scores           overall_citation_accuracy, its parts and their weights

``overall_citation_accuracy`` = 0.30 · tolerance Jaccard + 0.30 · citation validity + 0.25 · mean consistency
+ 0.15 · (1 − hallucination rate). Where a part that counts has no value there is no overall value either, and
``reason`` says why. The figures are those of the scorers of the same names: both lay out the same
:class:`CitationVerdicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.evaluation.scorers.citation_inputs import open_listed, read_query, read_sources
from rag_evaluation_framework.evaluation.scorers.citation_settings import CitationSettings, read_settings
from rag_evaluation_framework.evaluation.scorers.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.evaluation.scorers.flag_counts import flag_counts
from rag_evaluation_framework.judging.citation_support import CitationReport
from rag_evaluation_framework.metrics.citations import (
    citation_completeness,
    citation_correctness,
    citation_f1,
    citation_precision,
    citation_recall,
    citation_validity,
    factual_consistency,
    hallucination_rate,
    overall_citation_accuracy,
)
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.scores import ClaimVerdict


class CitationEvaluator:
    """Evaluates citations; the settings of ``config`` are listed in :mod:`.citation_settings`.

    >>> evaluator = CitationEvaluator({})
    >>> results = evaluator.evaluate_answer_citations(
    ...     "Rome is old.",
    ...     [{"file_name": "rome.md", "start_char": 0, "end_char": 12}],
    ...     {"rome.md": "Rome is old. It was never a port."},
    ...     {"query_text": "?", "citations": [{"file_name": "rome.md", "start_char": 0, "end_char": 12}]},
    ... )
    >>> results["span_accuracy"]["mean_exact_jaccard"]
    1.0
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._settings = read_settings({} if config is None else config)

    def evaluate_answer_citations(
        self, answer: str, citations: Any, documents: Any, query: Any = None
    ) -> dict[str, Any]:
        """Evaluate the citations written in an answer; where none can be used, those that are given.

        A citation that cannot be read or opened is counted as not valid, and says why. A judge's silence is a
        :class:`ModelError`.
        """
        if not isinstance(answer, str):
            raise invalid("answer", "text", answer)
        sample, sources = read_query(query), read_sources(documents)
        verdicts = CitationVerdicts(
            sample,
            Response(text=answer, contexts=tuple(sources.contexts)),
            texts=sources.texts,
            support=self._settings.support,
            beside=open_listed(citations, sources),
            sources=sources.evidence,
        )
        method = {"method": self._settings.support.name}
        consistent = [_is_consistent(verdict, self._settings) for verdict in verdicts.consistency]
        return {
            "span_accuracy": _span_accuracy(verdicts, self._settings),
            "citation_quality": _quality(verdicts) | method,
            "answer_consistency": _consistency(verdicts, consistent) | method,
            "hallucination_detection": _hallucinations(verdicts, consistent) | method,
            "overall_scores": _overall(verdicts, consistent, self._settings),
        }


def _is_consistent(verdict: ClaimVerdict, settings: CitationSettings) -> bool:
    threshold = settings.consistency_threshold
    if threshold is None or verdict.probability is None:
        return verdict.is_supported
    return verdict.probability >= threshold


def _span_accuracy(verdicts: CitationVerdicts, settings: CitationSettings) -> dict[str, Any]:
    """Compare the cited characters with the true ones; ``reason`` says why that cannot be done."""
    figures = verdicts.spans(settings.tolerance_chars).to_dict()
    reason = verdicts.no_spans_because
    return figures if reason is None else {**dict.fromkeys(figures), "reason": reason}


def _quality(verdicts: CitationVerdicts) -> dict[str, Any]:
    """Lay out what the citations are worth; ``reason`` says why figures are missing."""
    counted = verdicts.counted
    reason = verdicts.nothing_claimed_because or counted.unusable_because
    report = CitationReport((), ()) if reason else verdicts.report
    supported, relevant = report.supported, report.relevant
    valid = [] if counted.unusable_because else counted.are_open
    return {
        "citation_completeness": _share(citation_completeness, report.cited, "cited_claims"),
        "citation_correctness": _share(citation_correctness, report.correct, "correct_citations"),
        "citation_validity": _share(citation_validity, valid, "valid_citations"),
        "citation_recall": _share(citation_recall, supported, "supported_sentences"),
        "citation_precision": {
            **_share(citation_precision, relevant, "relevant_citations"),
            "value": citation_precision(relevant) if supported else None,
        },
        "citation_f1": {"value": citation_f1(supported, relevant)},
        "citations_from": counted.source,
        "citations": [each.to_dict() for each in report.citations or counted.opened],
        "sentences": [each.to_dict() for each in report.sentences],
        "reason": reason,
    }


def _share(
    metric: Callable[[Sequence[bool]], float | None], flags: Sequence[bool], counted: str
) -> dict[str, Any]:
    """Return a share with its counts; ``counted`` names those that count, such as ``cited_claims``."""
    return {"value": metric(flags), **flag_counts(flags, counted)}


def _consistency(verdicts: CitationVerdicts, consistent: list[bool]) -> dict[str, Any]:
    answer, found = verdicts.response.text or "", verdicts.consistency
    return {
        "factual_consistency": {
            "value": factual_consistency(consistent),
            "mean_consistency": verdicts.mean_consistency,
            "consistency_scores": [verdict.score for verdict in found],
        },
        "claims": [
            {**verdict.shown_in(answer), "consistent": is_consistent, "score": verdict.score}
            for verdict, is_consistent in zip(found, consistent, strict=True)
        ],
    }


def _hallucinations(verdicts: CitationVerdicts, consistent: list[bool]) -> dict[str, Any]:
    """Lay out which claims nothing supports; without documents, nobody can tell how many they are."""
    answer, pairs = verdicts.response.text or "", zip(verdicts.consistency, consistent, strict=True)
    found = [verdict.shown_in(answer) for verdict, is_consistent in pairs if not is_consistent]
    total = len(verdicts.claims)
    rate = {
        "value": hallucination_rate(consistent),
        "total_claims": total,
        "hallucinated_claims": len(found) if len(consistent) == total else None,
    }
    return {"hallucination_rate": rate, "claims": found}


def _overall(
    verdicts: CitationVerdicts, consistent: list[bool], settings: CitationSettings
) -> dict[str, Any]:
    weights = settings.weights
    parts = verdicts.overall_parts(tolerance_chars=settings.tolerance_chars, consistent=consistent)
    missing = dict.fromkeys(reason for part, reason in verdicts.missing_parts.items() if weights[part])
    return {
        "overall_citation_accuracy": overall_citation_accuracy(parts, weights),
        "reason": "; ".join(missing) or None,
        **parts,
        "weights": dict(weights),
    }
