"""Evaluates the citations of one answer from every side, in the fields that results of evaluations have.

::

    span_accuracy            mean_exact_jaccard, mean_tolerance_jaccard, perfect_matches, good_matches …
    citation_quality         citation_completeness, citation_correctness, citation_validity, citation_recall,
                             citation_precision, citation_f1; each citation with what is wrong with it
    answer_consistency       factual_consistency: value, mean_consistency, consistency_scores; each claim
    hallucination_detection  hallucination_rate: value, total_claims, hallucinated_claims; which they are
    overall_scores           overall_citation_accuracy, its parts and their weights; ``because`` says what
                             each part that falls short of 1 lacks

``overall_citation_accuracy`` = 0.30 · tolerance Jaccard + 0.30 · citation validity + 0.25 · mean consistency
+ 0.15 · (1 − hallucination rate). Where a part that counts has no value there is no overall value either, and
``reason`` says why. Where the true citations of a query name what is not among the documents, that is
warned about. The figures are those of the scorers of the same names: both lay out the same
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
contexts, which answers cite as ``[1]``, ``[2]`` … Citations: records, and all that :func:`.citations_in`
reads. The query: a text, a record of an evaluation dataset, or a sample.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
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
from rag_evaluation_framework.records.citations import citations_in, span_citations
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.records.scores import ClaimVerdict, SupportMethod
from rag_evaluation_framework.structs import replace

_KEYS = ("weights", "tolerance_chars", "support", "judge", "consistency_threshold")


class CitationEvaluator:
    """An evaluator of citations; the module lists the settings of ``config``.

    Args:
        config: Settings by name.

    Raises:
        InputError: A setting is wrong; the error has every problem.

    Example:
        >>> from rag_evaluation_framework import CitationEvaluator
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
        config = {} if config is None else config
        if not isinstance(config, Mapping):
            raise invalid("config", "a mapping of settings", config)
        problems = Problems()
        for key in config:
            if key not in _KEYS:
                with problems.collected():
                    raise UnknownNameError("setting of a CitationEvaluator", str(key), _KEYS)
        with problems.collected():
            self._weights = _weights(config.get("weights", OVERALL_WEIGHTS))
        self._tolerance = config.get("tolerance_chars", DEFAULT_TOLERANCE)
        with problems.collected():
            if type(self._tolerance) is not int or self._tolerance < 0:
                raise invalid("tolerance_chars", "a whole number of at least 0", self._tolerance)
        self._threshold = config.get("consistency_threshold")
        with problems.collected():
            if self._threshold is not None and not _is_share(self._threshold):
                raise invalid("consistency_threshold", "a number from 0 to 1", self._threshold)
        with problems.collected():
            self._support = _support(config.get("support"), config.get("judge"))
        problems.raise_all()

    def evaluate_answer_citations(
        self, answer: str, citations: Any, documents: Any, query: Any = None
    ) -> dict[str, Any]:
        """Evaluate the citations written in an answer; where none can be used, those that are given.

        A citation that cannot be read or opened is counted as not valid, and says why; one whose file is
        none of the documents is not scored. Words decide nothing in a language that they were not measured
        on: what they would decide is ``None``, and ``reason`` says so. A judge's silence is a
        :class:`ModelError`.
        """
        if not isinstance(answer, str):
            raise invalid("answer", "text", answer)
        read, contexts = _sources(documents)
        texts, sample = CitableTexts(read), _sample(query)
        _warn_of_unopened(sample, texts)
        verdicts = CitationVerdicts(
            Reading(sample, Response(text=answer, contexts=contexts), self._support),
            texts=texts,
            beside=_opened(citations, texts, contexts),
            sources=contexts or [document.content for document in read],
        )
        method = {"method": self._support.name}
        consistent = [self._is_consistent(verdict) for verdict in verdicts.consistency]
        return {
            "span_accuracy": self._span_accuracy(verdicts),
            "citation_quality": _quality(verdicts) | method,
            "answer_consistency": _consistency(verdicts, consistent) | method,
            "hallucination_detection": _hallucinations(verdicts, consistent) | method,
            "overall_scores": self._overall(verdicts, consistent),
        }

    def _is_consistent(self, verdict: ClaimVerdict) -> bool:
        if self._threshold is None or verdict.probability is None:
            return verdict.is_supported
        return bool(verdict.probability >= self._threshold)

    def _span_accuracy(self, verdicts: CitationVerdicts) -> dict[str, Any]:
        """Compare the cited characters with the true ones; ``reason`` says why that cannot be done."""
        figures = verdicts.spans(self._tolerance).to_dict()
        reason = verdicts.no_spans_because
        return figures if reason is None else {**dict.fromkeys(figures), "reason": reason}

    def _overall(self, verdicts: CitationVerdicts, consistent: list[bool]) -> dict[str, Any]:
        weights = self._weights
        parts = verdicts.overall_parts(tolerance_chars=self._tolerance, consistent=consistent)
        missing = dict.fromkeys(reason for part, reason in verdicts.missing_parts.items() if weights[part])
        return {
            "overall_citation_accuracy": overall_citation_accuracy(parts, weights),
            "reason": "; ".join(missing) or None,
            **dict.fromkeys(OVERALL_WEIGHTS),
            **parts,
            "weights": dict(weights),
            "because": [
                f"{part} is {value:.3f} (weight {weights[part]:.2f}): "
                + self._lacking(part, verdicts, consistent)
                for part, value in parts.items()
                if value is not None and value < 1 and weights[part]
            ],
        }

    def _lacking(self, part: str, verdicts: CitationVerdicts, consistent: list[bool]) -> str:
        """Return the reason why a part of the overall score is less than 1."""
        if part == "tolerance_jaccard":
            spans = verdicts.spans(self._tolerance)
            alone = (
                f"{spans.unpaired_true} true and {spans.unpaired_predicted} cited spans have no counterpart"
            )
            return (
                alone
                if spans.unpaired_true or spans.unpaired_predicted
                else ("the spans have different ends")
            )
        if part == "citation_validity":
            issues = [each.issue for each in verdicts.compared.opened if each.issue is not None]
            return "; ".join(map(str, issues)) or "the answer has no citations"
        answer, is_rate = verdicts.response.text or "", part == "no_hallucination"
        doubted = [
            each
            for each, holds in zip(verdicts.consistency, consistent, strict=True)
            if (not holds if is_rate else each.score < 1)
        ]
        claims = "; ".join(shown(each.shown_in(answer)["text"]) for each in doubted)
        return f"the documents do not {'support' if is_rate else 'fully cover'} {claims}"


def _warn_of_unopened(sample: Sample, texts: CitableTexts) -> None:
    """Warn where none of what the truth cites is in the documents."""
    issues = [texts.opened(each).issue for each in sample.relevant_spans] if texts else []
    if issues and None not in issues:
        problems = "; ".join(map(str, issues))
        warnings.warn(f"the documents do not contain the query's true citations: {problems}", stacklevel=3)


def _quality(verdicts: CitationVerdicts) -> dict[str, Any]:
    """Lay out what the citations are worth; ``reason`` says why figures are missing."""
    counted = verdicts.counted
    reason = verdicts.unmeasured_because or verdicts.nothing_claimed_because or counted.unusable_because
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
        "reason": verdicts.not_held_because,
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
    return {"hallucination_rate": rate, "claims": found, "reason": verdicts.not_held_because}


def _weights(given: Any) -> dict[str, float]:
    """Read the weights; a part that is not named counts nothing."""
    if not isinstance(given, Mapping):
        raise invalid("weights", f"weights by name ({', '.join(OVERALL_WEIGHTS)})", given)
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
            raise invalid("support", "no support method if a judge is given", given)
        return JudgeSupport(judge)
    if given is None or given == "lexical":
        return LexicalSupport()
    if isinstance(given, SupportMethod):
        return given
    raise invalid("support", "'lexical' or a support method", given)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _sources(given: Any) -> tuple[Sequence[Document], tuple[str, ...]]:
    """Return the documents that may be cited by name, or the contexts that may be cited by number."""
    if given is None or isinstance(given, Corpus):
        return (() if given is None else tuple(given.documents)), ()
    if isinstance(given, Mapping):
        return [_document(name, value, f"documents[{shown(name)}]") for name, value in given.items()], ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise invalid("documents", "documents by id, a list of documents or a corpus", given)
    if all(isinstance(each, str) for each in given):
        return (), tuple(given)
    return [_document(None, value, f"documents[{n}]") for n, value in enumerate(given)], ()


def _document(name: Any, value: Any, path: str) -> Document:
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


def _sample(given: Any) -> Sample:
    """Read a query as a sample; what it does not say, such as its true citations, is left out."""
    if isinstance(given, Sample):
        return given
    query = {"query_text": given} if given is None or isinstance(given, str) else given
    if not isinstance(query, Mapping):
        raise invalid("query", "a question, a query or a sample", given)
    question, reference = query.get("query_text"), query.get("ground_truth_answer")
    citations: Any = query.get("citations") or []
    return Sample(
        id="query",
        turns=(Turn(role="user", content=question if isinstance(question, str) else ""),),
        reference=reference if isinstance(reference, str) else None,
        relevant_spans=tuple(span_citations(citations, "query.citations")),
    )


def _opened(given: Any, texts: CitableTexts, contexts: Sequence[str]) -> list[OpenedCitation]:
    """Open citations of any form; what cannot be read is a citation that cannot be opened."""
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise invalid("citations", "a list of citations", given)
    opened: list[OpenedCitation] = []
    for number, item in enumerate(given):
        try:
            opened += [texts.opened(citation, contexts) for citation in citations_in(item)]
        except InputError as error:
            located = error.issues[0].located(within=f"citations[{number}]")
            issue = replace(located, code="unreadable-citation")
            opened.append(OpenedCitation(citation=None, issue=issue))
    return opened
