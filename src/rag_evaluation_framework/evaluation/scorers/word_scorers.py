"""Scores what answers claim word by word: which words and numbers the contexts or the question have."""

from __future__ import annotations

from functools import lru_cache

from rag_evaluation_framework.evaluation.scorers.shared_verdicts import SupportScorer
from rag_evaluation_framework.judging.claim_features import Number, number_set, readings
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Claim, Score
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.tokens import content_keys, content_tokens

_KEPT_TEXTS = 256


class WordScorer(SupportScorer):
    """Counts the content words and numbers of an answer's claims, and those that are new."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer, and say where its new words are; one that does not answer is skipped."""
        on = self.verdicts.answers.of(sample, response)
        if on.answer_class.kind != "answered":
            return self.skipped(on.no_claims_because)
        given = [_keys_and_numbers(text) for text in (sample.question, *response.contexts)]
        known = frozenset[str]().union(*(keys for keys, _ in given))
        known_numbers = frozenset[Number]().union(*(numbers for _, numbers in given))
        counted, new = 0, []
        # Courtesies and closing questions claim nothing. An answer without claims is taken as a whole.
        for claim in on.claims or [Claim(on.answer, 0, len(on.answer))]:
            words = content_tokens(claim.text)
            # "One" and "first" may not be meant as numbers.
            numbers = [quantity for quantity in quantities(claim.text) if not quantity.is_vague]
            added = [(word.start, word.end) for word in words if word.key not in known]
            added += [(each.start, each.end) for each in numbers if known_numbers.isdisjoint(readings(each))]
            counted += len(words) + len(numbers)
            new += [[claim.start + start, claim.start + end] for start, end in added]
        value = self.metric(counted, len(new))
        if value is None:
            return self.skipped("the answer has neither content words nor numbers")
        return self.scored(value, {"new_tokens": sorted(new)})


@lru_cache(maxsize=_KEPT_TEXTS)
def _keys_and_numbers(text: str) -> tuple[frozenset[str], frozenset[Number]]:
    """Read a context once for all metrics, and for all the answers that it was given for of late."""
    return frozenset(content_keys(text)), number_set(text)
