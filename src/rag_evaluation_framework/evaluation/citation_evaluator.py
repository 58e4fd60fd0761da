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

Settings are read from a plain configuration:

=========================  ================================================================================
``weights``                what each part counts in ``overall_citation_accuracy``; they sum to 1
``tolerance_chars``        how far an end of a span may be off in the tolerance Jaccard; 10
``support``                ``"lexical"``, or any :class:`SupportMethod`
``judge``                  a :class:`Judge`, whose verdicts are then used instead
``consistency_threshold``  the probability from which a claim is consistent; by default the method decides
=========================  ================================================================================

What it is given comes in any of the forms in which people have it. Documents: a corpus, ``{id: text}``,
``{id: {content, file_path, metadata}}``, or a list of document records. A list of plain texts are numbered
contexts, which answers cite as ``[1]``, ``[2]`` … Citations: records, and whatever :func:`.citations_in`
reads. The query: a text, a record of an evaluation dataset, or a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag_evaluation_framework.datasets.evaluation_sets import decode_document
from rag_evaluation_framework.errors import InputError, Problems, UnknownNameError, invalid, shown
from rag_evaluation_framework.evaluation.claim_views import flag_counts
from rag_evaluation_framework.judging.answer_verdicts import Reading
from rag_evaluation_framework.judging.citation_support import CitationReport
from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.judging.cited_texts import CitableTexts, OpenedCitation
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.metrics.citations import (
    DEFAULT_TOLERANCE,
    OVERALL_WEIGHTS,
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
from rag_evaluation_framework.records.citations import Citation, citations_in, span_citations
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.records.scores import ClaimVerdict, SupportMethod

_KEYS = ("weights", "tolerance_chars", "support", "judge", "consistency_threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationSettings:
    """How citations are evaluated."""

    support: SupportMethod
    weights: Mapping[str, float] = field(hash=False)
    tolerance_chars: int
    consistency_threshold: float | None


class CitedSources:
    """The documents that may be cited by name, or the contexts that may be cited by number."""

    def __init__(self, documents: Sequence[Document] = (), contexts: Sequence[str] = ()) -> None:
        self.texts = CitableTexts(documents)
        self.contexts = contexts
        self.evidence = contexts or [document.content for document in documents]

    def opened(self, citation: Citation) -> OpenedCitation:
        """Return what a citation means."""
        return self.texts.opened(citation, self.contexts)


class CitationEvaluator:
    """Evaluates citations; the settings of ``config`` are listed at the top of this module.

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
        response = Response(text=answer, contexts=tuple(sources.contexts))
        verdicts = CitationVerdicts(
            Reading(sample, response, self._settings.support),
            texts=sources.texts,
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


def read_settings(config: Mapping[str, Any]) -> CitationSettings:
    """Read a configuration; what is not in it has its default, and all that is wrong is in one error."""
    if not isinstance(config, Mapping):
        raise invalid("config", "a mapping of settings", config)
    problems = Problems()
    for key in config:
        if key not in _KEYS:
            with problems.collected():
                raise UnknownNameError("setting of a CitationEvaluator", str(key), _KEYS)
    with problems.collected():
        weights = _weights(config.get("weights", OVERALL_WEIGHTS))
    with problems.collected():
        tolerance = config.get("tolerance_chars", DEFAULT_TOLERANCE)
        if type(tolerance) is not int or tolerance < 0:
            raise invalid("tolerance_chars", "a whole number of at least 0", tolerance)
    with problems.collected():
        threshold = config.get("consistency_threshold")
        if threshold is not None and not _is_share(threshold):
            raise invalid("consistency_threshold", "a number from 0 to 1", threshold)
    with problems.collected():
        support = _support(config.get("support"), config.get("judge"))
    problems.raise_all()
    return CitationSettings(
        support=support, weights=weights, tolerance_chars=tolerance, consistency_threshold=threshold
    )


def _weights(given: Any) -> dict[str, float]:
    """Read the weights; a part that is not named counts nothing."""
    if not isinstance(given, Mapping):
        raise invalid("weights", f"a weight for each of {', '.join(OVERALL_WEIGHTS)}", given)
    for name, weight in given.items():
        if name not in OVERALL_WEIGHTS:
            raise UnknownNameError("weight", str(name), list(OVERALL_WEIGHTS))
        if not _is_share(weight):
            raise invalid(f"weights.{name}", "a number from 0 to 1", weight)
    weights = {name: float(given.get(name, 0.0)) for name in OVERALL_WEIGHTS}
    if not math.isclose(total := math.fsum(weights.values()), 1.0, abs_tol=1e-9):
        raise invalid("weights", "weights that sum to 1", total)
    return weights


def _support(given: Any, judge: Any) -> SupportMethod:
    if judge is not None:
        if not isinstance(judge, Judge):
            raise invalid("judge", "a Judge", judge)
        if given is not None:
            raise invalid("support", "none beside a judge", given)
        return JudgeSupport(judge)
    if given is None or given == "lexical":
        return LexicalSupport()
    if isinstance(given, SupportMethod):
        return given
    raise invalid("support", "'lexical' or an object that supports claims", given)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def read_sources(given: Any) -> CitedSources:
    """Read documents or contexts."""
    if given is None:
        return CitedSources()
    if isinstance(given, Corpus):
        return CitedSources(tuple(given.documents))
    if isinstance(given, Mapping):
        return CitedSources(tuple(_document(name, value) for name, value in given.items()))
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise invalid("documents", "documents by id, a list of them or a corpus", given)
    if all(isinstance(each, str) for each in given):
        return CitedSources(contexts=tuple(given))
    return CitedSources(tuple(_document(None, value, f"documents[{n}]") for n, value in enumerate(given)))


def _document(name: Any, value: Any, path: str = "") -> Document:
    path = path or f"documents[{shown(name)}]"
    if isinstance(value, Document):
        return value
    if isinstance(value, str) and isinstance(name, str) and name:
        return Document(DocumentId(name), value)
    if not isinstance(value, Mapping):
        raise invalid(path, "a document", value)
    record = {"document_id": name, **value} if name is not None else dict(value)
    for name in ("document_id", "content"):
        if not isinstance(record.get(name), str):
            raise invalid(f"{path}.{name}", "text", record.get(name))
    if not isinstance(record.setdefault("metadata", {}), Mapping):
        raise invalid(f"{path}.metadata", "a mapping", record["metadata"])
    return decode_document(record)


def read_query(given: Any) -> Sample:
    """Read a query as a sample; what it does not say, such as its true citations, is left out."""
    if isinstance(given, Sample):
        return given
    query = {"query_text": given} if given is None or isinstance(given, str) else given
    if not isinstance(query, Mapping):
        raise invalid("query", "a question, a query of a dataset or a sample", given)
    question, reference = query.get("query_text"), query.get("ground_truth_answer")
    citations: Any = query.get("citations") or []
    return Sample(
        id="query",
        turns=(Turn(role="user", content=question if isinstance(question, str) else ""),),
        reference=reference if isinstance(reference, str) else None,
        relevant_spans=tuple(span_citations(citations, "query.citations")),
    )


def open_listed(given: Any, sources: CitedSources) -> list[OpenedCitation]:
    """Open citations of any form; what cannot be read is a citation that cannot be opened."""
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise invalid("citations", "a list of citations", given)
    opened: list[OpenedCitation] = []
    for number, item in enumerate(given):
        try:
            opened += [sources.opened(citation) for citation in citations_in(item)]
        except InputError as error:
            located = error.issues[0].located(within=f"citations[{number}]")
            issue = replace(located, code="unreadable-citation")
            opened.append(OpenedCitation(citation=None, issue=issue))
    return opened
