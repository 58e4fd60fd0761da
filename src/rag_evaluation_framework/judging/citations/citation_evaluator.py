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
``reason`` says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.judging.citations.citation_inputs import (
    CitedSources,
    open_listed,
    read_query,
    read_sources,
)
from rag_evaluation_framework.judging.citations.citation_settings import read_settings
from rag_evaluation_framework.judging.citations.citation_support import (
    CitationReport,
    check_inline_citations,
    check_listed_citations,
    open_brackets,
)
from rag_evaluation_framework.judging.citations.cited_sentences import CitedAnswer, cited_answer
from rag_evaluation_framework.judging.citations.cited_texts import OpenedCitation, cited_kinds
from rag_evaluation_framework.judging.classes.answer_classes import classify_answer
from rag_evaluation_framework.judging.verdicts import ClaimVerdict
from rag_evaluation_framework.metrics.citation_claims import (
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
from rag_evaluation_framework.metrics.citations import evaluate_citation_spans
from rag_evaluation_framework.records.citations import SpanCitation

_NOTHING_CITED = "the answer cites nothing"
_NOTHING_CLAIMED = "the answer claims nothing"
_NOTHING_TO_HOLD_AGAINST = "there are no documents to hold the answer against"


class CitationEvaluator:
    """Evaluates citations; what may stand in ``config`` is told in :mod:`.citation_settings`.

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
        """Evaluate the citations of an answer, or those written in it where none are given.

        A citation that cannot be read or opened is counted as not valid, and says why. A judge's silence is a
        :class:`ModelError`.
        """
        if not isinstance(answer, str):
            raise invalid("answer", "text", answer)
        question, true = read_query(query)
        sources = read_sources(documents)
        listed = open_listed(citations, sources)
        cited = cited_answer(answer, has_contexts=bool(sources.contexts))
        if cited.sentences and classify_answer(answer, question).kind != "answered":
            cited = CitedAnswer((), cited.brackets)  # to refuse, not to know and to ask back claim nothing
        opened = listed or open_brackets(cited.brackets, sources.opened)
        support = self._settings.support
        report = (
            check_listed_citations(cited, support, listed=listed, question=question)
            if listed
            else check_inline_citations(cited, support, opened=sources.opened, question=question)
        )
        claims = [claim for sentence in cited.sentences for claim in sentence.claims]
        evidence = sources.evidence
        verdicts = support.supports(claims, evidence, question=question) if claims and evidence else []
        results = {
            "span_accuracy": self._span_accuracy(opened, true, sources),
            "citation_quality": _quality(report, opened, support.name),
            "answer_consistency": self._consistency(verdicts, answer),
            "hallucination_detection": self._hallucinations(verdicts, answer, claims=len(claims)),
        }
        return {**results, "overall_scores": self._overall(results, claims=len(claims))}

    def _span_accuracy(
        self, opened: Sequence[OpenedCitation], true: Sequence[SpanCitation], sources: CitedSources
    ) -> dict[str, Any]:
        """Compare the cited characters with the true ones; ``reason`` says why that cannot be done."""
        cited = [each.citation for each in opened if each.citation is not None]
        spans = [each for each in cited if isinstance(each, SpanCitation)]
        figures = evaluate_citation_spans(
            [sources.texts.placed(each) for each in true],
            [sources.texts.placed(each) for each in spans],
            self._settings.tolerance_chars,
            unreadable=len(opened) - len(cited),
        ).to_dict()
        reason = None
        if not true:
            reason = "the query has no true citations"
        elif len(spans) < len(cited):
            kinds = " and ".join(sorted(cited_kinds(cited)))
            reason = f"the answer cites {kinds}, and the true citations are characters of files"
        return figures if reason is None else {**dict.fromkeys(figures), "reason": reason}

    def _consistency(self, verdicts: Sequence[ClaimVerdict], answer: str) -> dict[str, Any]:
        scores = [_consistency_score(verdict) for verdict in verdicts]
        consistent = [self._is_consistent(verdict) for verdict in verdicts]
        figures = {
            "value": factual_consistency(consistent),
            "mean_consistency": math.fsum(scores) / len(scores) if scores else None,
            "consistency_scores": scores,
        }
        claims = [
            {**_claim(verdict, answer), "consistent": is_consistent, "score": score}
            for verdict, is_consistent, score in zip(verdicts, consistent, scores, strict=True)
        ]
        return {"factual_consistency": figures, "claims": claims, "method": self._settings.support.name}

    def _hallucinations(
        self, verdicts: Sequence[ClaimVerdict], answer: str, *, claims: int
    ) -> dict[str, Any]:
        """Return which claims nothing bears out; without documents, nobody can tell how many they are."""
        found = [_claim(verdict, answer) for verdict in verdicts if not self._is_consistent(verdict)]
        rate = {
            "value": hallucination_rate([self._is_consistent(verdict) for verdict in verdicts]),
            "total_claims": claims,
            "hallucinated_claims": len(found) if len(verdicts) == claims else None,
        }
        return {"hallucination_rate": rate, "claims": found, "method": self._settings.support.name}

    def _overall(self, results: Mapping[str, Any], *, claims: int) -> dict[str, Any]:
        consistency = results["answer_consistency"]["factual_consistency"]["mean_consistency"]
        rate = results["hallucination_detection"]["hallucination_rate"]["value"]
        validity = results["citation_quality"]["citation_validity"]["value"]
        parts = {
            "tolerance_jaccard": results["span_accuracy"]["mean_tolerance_jaccard"],
            # Missing citations count against an answer that claims something.
            "citation_validity": 0.0 if validity is None and claims else validity,
            "mean_consistency": consistency,
            "no_hallucination": None if rate is None else 1 - rate,
        }
        weights = self._settings.weights
        nothing_held = _NOTHING_TO_HOLD_AGAINST if claims else _NOTHING_CLAIMED
        because = {
            "tolerance_jaccard": results["span_accuracy"].get("reason", ""),
            "citation_validity": _NOTHING_CITED,
            "mean_consistency": nothing_held,
            "no_hallucination": nothing_held,
        }
        missing = [name for name, value in parts.items() if value is None and weights[name]]
        return {
            "overall_citation_accuracy": overall_citation_accuracy(parts, weights),
            "reason": "; ".join(dict.fromkeys(because[name] for name in missing)) or None,
            **parts,
            "weights": dict(weights),
        }

    def _is_consistent(self, verdict: ClaimVerdict) -> bool:
        threshold = self._settings.consistency_threshold
        if threshold is None or verdict.probability is None:
            return verdict.is_supported
        return verdict.probability >= threshold


def _quality(report: CitationReport, opened: Sequence[OpenedCitation], method: str) -> dict[str, Any]:
    supported, relevant, cited, correct = report.supported, report.relevant, report.cited, report.correct
    valid = [each.is_open for each in opened]
    citations = [each.to_dict() for each in report.citations or opened]
    return {
        "citation_completeness": {
            "value": citation_completeness(cited),
            "total_claims": len(cited),
            "cited_claims": sum(cited),
        },
        "citation_correctness": {
            "value": citation_correctness(correct),
            "total_citations": len(correct),
            "correct_citations": sum(correct),
        },
        "citation_validity": {
            "value": citation_validity(valid),
            "total_citations": len(valid),
            "valid_citations": sum(valid),
        },
        "citation_recall": {
            "value": citation_recall(supported),
            "total_sentences": len(supported),
            "supported_sentences": sum(supported),
        },
        "citation_precision": {
            "value": citation_precision(relevant) if supported else None,
            "total_citations": len(relevant),
            "relevant_citations": sum(relevant),
        },
        "citation_f1": {"value": citation_f1(supported, relevant)},
        "citations": citations,
        "sentences": [each.to_dict() for each in report.sentences],
        "method": method,
    }


def _consistency_score(verdict: ClaimVerdict) -> float:
    return float(verdict.is_supported) if verdict.probability is None else verdict.probability


def _claim(verdict: ClaimVerdict, answer: str) -> dict[str, Any]:
    start, end = verdict.claim.start, verdict.claim.end
    return {"text": answer[start:end], "start": start, "end": end, "label": verdict.label}
