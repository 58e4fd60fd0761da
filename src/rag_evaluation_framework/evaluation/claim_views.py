"""Readers of what an answer claims and cites: claims against texts, words, citations and cited spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from rag_evaluation_framework.evaluation.scoring import Reader
from rag_evaluation_framework.judging.answer_evidence import REFERENCE_CLAIMS
from rag_evaluation_framework.judging.answer_verdicts import Reading, found_once
from rag_evaluation_framework.judging.citation_support import CitationReport
from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import (
    ContextRatings,
    judge_context_relevance,
    panel_fields,
)
from rag_evaluation_framework.metrics.citations import DEFAULT_TOLERANCE
from rag_evaluation_framework.metrics.claims import correctness_by_claims
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.texts import wording_similarity
from rag_evaluation_framework.metrics.views import NO_REPLY, NoValueError
from rag_evaluation_framework.records.citations import without_citations
from rag_evaluation_framework.records.scores import BAND, PROBABILITY_UNSUPPORTED, Claim, ClaimVerdict
from rag_evaluation_framework.text.normalisation import cache_texts
from rag_evaluation_framework.text.numbers import Number, number_set, quantities, readings
from rag_evaluation_framework.text.tokens import content_keys, content_tokens

_NOTHING_CITED = "the answer has no citations"
_NOTHING_READ = "the answer has no readable citations"
_KEPT_TEXTS = 256

# Which flags of a report on citations are about its sentences, and under which name those set are counted.
_COUNTED: Mapping[str, str] = {
    "supported": "supported_sentences",
    "cited": "cited_claims",
    "relevant": "relevant_citations",
    "correct": "correct_citations",
}
_OF_SENTENCES = frozenset({"supported", "cited"})


class ClaimsReader(Reader):
    """The claims of an answer and of its reference, against the contexts and against each other."""

    by_contexts = property(lambda self: _flags(self.on.by_contexts))
    by_reference = property(lambda self: _flags(self.on.by_reference))
    reference_by_answer = property(lambda self: _flags(self.on.reference_by_answer))
    reference_by_contexts = property(lambda self: _flags(self.on.reference_by_contexts))
    truth_by_contexts = property(lambda self: _flags(self.on.truth_by_contexts))
    by_useful_contexts = property(lambda self: _flags(self.on.by_useful_contexts))
    useful_contexts = property(lambda self: self.on.useful_contexts)
    words = property(lambda self: self._counted[0])
    new_words = property(lambda self: len(self._counted[1]))

    @found_once
    def on(self) -> Reading:
        """Return the reading of the answer by the method."""
        return self.methods.reading(self.sample, self.response, self.method)

    @property
    def agreed(self) -> Sequence[float]:
        return self.on.match.agreed if self.on.match else [each.score for each in self.on.by_reference]

    @property
    def recalled(self) -> Sequence[float]:
        return (
            self.on.match.recalled if self.on.match else [each.score for each in self.on.reference_by_answer]
        )

    @property
    def relevant_contexts(self) -> Sequence[bool]:
        return self._ratings.useful if self.method == "judge" else self.on.useful_contexts

    @property
    def correctness(self) -> float:
        if self.on.match is not None:
            return self.on.correctness or 0.0
        likeness = wording_similarity(self.on.answer, self.on.reference)
        return correctness_by_claims(self.by_reference, self.reference_by_answer, similarity=likeness)

    @property
    def unclaimed(self) -> str | None:
        return None if self.on.claims else self.on.no_claims_because

    @property
    def reference_unclaimed(self) -> str | None:
        is_bare = not without_citations(self.sample.reference or "").strip()
        return "the reference has no claims" if is_bare or not self.on.reference_claims else None

    @property
    def uncompared(self) -> str | None:
        if self.on.match is None or self.on.replies is None:
            return self.reference_unclaimed
        return NO_REPLY if self.on.correctness is None else None

    @property
    def unsought(self) -> str | None:
        if self.method == "judge" or self.on.sought_claims:
            return None
        return f"no claims to check against the contexts: {self.on.no_claims_because}"

    @found_once
    def _ratings(self) -> ContextRatings:
        sample, judge = self.sample, cast("Judge", self.methods.judge)
        return judge_context_relevance(
            judge, sample.question, self.response.contexts, reference=sample.reference
        )

    @found_once
    def _counted(self) -> tuple[int, list[list[int]]]:
        """Return the number of words and numbers that the answer claims, and the places of the new ones."""
        if self.on.answer_class.kind != "answered":
            raise NoValueError(self.on.no_claims_because)
        given = [_keys_and_numbers(text) for text in (self.sample.question, *self.response.contexts)]
        known = frozenset[str]().union(*(keys for keys, _ in given))
        known_numbers = frozenset[Number]().union(*(numbers for _, numbers in given))
        counted, new = 0, []
        # Courtesies and closing questions claim nothing. An answer without claims is taken as a whole.
        for claim in self.on.claims or [Claim(self.on.answer, 0, len(self.on.answer))]:
            words = content_tokens(claim.text)
            # "One" and "first" may not be meant as numbers.
            numbers = [quantity for quantity in quantities(claim.text) if not quantity.is_vague]
            added = [(word.start, word.end) for word in words if word.text not in known]
            added += [(each.start, each.end) for each in numbers if known_numbers.isdisjoint(readings(each))]
            counted += len(words) + len(numbers)
            new += [[claim.start + start, claim.start + end] for start, end in added]
        if not counted:
            raise NoValueError("the answer has no content words or numbers")
        return counted, sorted(new)

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the verdicts on claims, the judge's on contexts, or where the new words are."""
        shown = shows[0]
        if shown == "new_words":
            return {"new_tokens": self._counted[1]}
        if shown == "relevant_contexts":
            if self.method != "judge":
                return {}
            ratings = self._ratings
            return {"useful": ratings.useful, **panel_fields(ratings.agreement, ratings.details)}
        found: dict[str, Any] = {
            "claims": [verdict_fields(each) for name in shows for each in getattr(self.on, name)]
        }
        if "by_contexts" in shows and (probability := self.on.probability_unsupported) is not None:
            found[PROBABILITY_UNSUPPORTED] = round(probability, 4)
        if metric.metric.name == "answer_correctness" and self.on.match is None:
            found[REFERENCE_CLAIMS] = [verdict_fields(each) for each in self.on.reference_by_answer]
        if (band := getattr(self.methods.support_by(self.method), "band", None)) is not None:
            found[BAND] = list(band)
        return found


def _flags(verdicts: Iterable[ClaimVerdict]) -> list[bool]:
    return [each.is_supported for each in verdicts]


@cache_texts(_KEPT_TEXTS)
def _keys_and_numbers(text: str) -> tuple[frozenset[str], frozenset[Number]]:
    """Read a context once for all metrics, and for all the answers that it was given for of late."""
    return frozenset(content_keys(text)), number_set(text)


def verdict_fields(verdict: ClaimVerdict) -> dict[str, Any]:
    """Return a verdict as plain values; texts are left out, since their characters are there."""
    found: dict[str, Any] = {"start": verdict.claim.start, "end": verdict.claim.end, "label": verdict.label}
    if verdict.probability is not None:
        found["probability"] = round(verdict.probability, 4)
    if verdict.agreement is not None:
        found["agreement"] = round(verdict.agreement, 4)
    if verdict.failed_votes:
        found["failed_votes"] = verdict.failed_votes
    if verdict.evidence is not None:
        evidence = verdict.evidence
        found["evidence"] = {"number": evidence.number, "start": evidence.start, "end": evidence.end}
    if verdict.new_tokens:
        found["new_tokens"] = [[token.start, token.end] for token in verdict.new_tokens]
    if verdict.edits:
        found["edits"] = [each._asdict() for each in verdict.edits]
    if verdict.conflicts:
        found["conflicts"] = list(verdict.conflicts)
    if verdict.by is not None:
        found["by"] = verdict.by
    return found


class CitationsReader(Reader):
    """The citations of an answer, opened and held against what it says; files are opened in the documents."""

    supported = property(lambda self: self._report.supported)
    relevant = property(lambda self: self._report.relevant)
    cited = property(lambda self: self._report.cited)
    correct = property(lambda self: self._report.correct)

    @property
    def nothing(self) -> str:
        """Why there is no share."""
        return _NOTHING_CITED

    @found_once
    def on(self) -> CitationVerdicts:
        """Return the verdicts of the method on the citations."""
        return self.methods.citations(self.sample, self.response, self.method)

    @property
    def opened(self) -> list[bool]:
        if reason := self.on.counted.unusable_because:
            raise NoValueError(reason)
        return self.on.counted.are_open

    @property
    def consistent(self) -> list[bool]:
        if reason := self.on.not_held_because:
            raise NoValueError(reason)
        return _flags(self.on.consistency)

    @found_once
    def parts(self) -> dict[str, float | None]:
        if missing := self.on.missing_parts:
            raise NoValueError("; ".join(dict.fromkeys(missing.values())))
        return self.on.overall_parts(
            tolerance_chars=DEFAULT_TOLERANCE, consistent=_flags(self.on.consistency)
        )

    @property
    def _report(self) -> CitationReport:
        if reason := self.on.nothing_claimed_because or self.on.counted.unusable_because:
            raise NoValueError(reason)
        return self.on.report

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the sentences or citations with what becomes of them, and the flags counted."""
        counted = self.on.counted
        if "parts" in shows:
            return dict(self.parts)
        if "consistent" in shows:
            found = self.on.consistency
            return {
                "claims": [each.shown_in(self.response.text or "") for each in found],
                **flag_counts([not each.is_supported for each in found], "hallucinated_claims"),
                "mean_consistency": self.on.mean_consistency,
            }
        if "opened" in shows:
            opened = [each.to_dict() for each in counted.opened]
            return {"citations": opened, **flag_counts(counted.are_open, "valid_citations")}
        listed = "sentences" if _OF_SENTENCES.issuperset(shows) else "citations"
        details: dict[str, Any] = {
            "citations_from": counted.source,
            listed: [each.to_dict() for each in getattr(self.on.report, listed)],
        }
        for name in shows:
            details |= flag_counts(getattr(self, name), _COUNTED[name])
        return details


def flag_counts(flags: Sequence[bool], counted: str) -> dict[str, int]:
    """Return how many flags there are and how many are set: ``total_claims`` beside ``cited_claims``."""
    _, _, things = counted.partition("_")
    return {f"total_{things}": len(flags), counted: sum(flags)}


class CitedSpansReader(Reader):
    """The cited characters, and those that should be cited."""

    true = property(lambda self: self.on.true_spans)
    predicted = property(lambda self: self.on.cited_spans)
    unreadable = property(lambda self: self.on.unreadable)

    @found_once
    def on(self) -> CitationVerdicts:
        """The citations that are compared; a sample without relevant ones is skipped."""
        verdicts = self.methods.citations(self.sample, self.response, self.method)
        if reason := verdicts.no_spans_because:
            raise NoValueError(reason)
        return verdicts

    @property
    def nothing(self) -> str:
        """Why there is no figure."""
        return _NOTHING_READ if self.on.compared.opened else _NOTHING_CITED

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return all figures of the comparison."""
        return self.on.spans(metric.parameters.get("tolerance_chars", DEFAULT_TOLERANCE)).to_dict()
