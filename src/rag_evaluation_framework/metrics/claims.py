"""Metrics of claims, contexts, words and nuggets; the rubric.

Each metric is a function of verdicts, one for each claim; who gives the verdicts is the metric's method. A
claim of the answer is *supported* when the contexts bear it out and *correct* when the reference does; one of
the reference is *recalled* when the answer makes it. By words, how far one side makes a claim of the other is
the share of its words; a judge says 1 or 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, log2

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CLAIMS, GRADES, NUGGETS, RELEVANCE

CORRECTNESS_WEIGHTS = (0.75, 0.25)
"""Weights of the claims and of the similarity in ``answer_correctness``: the defaults of ragas."""


@metric("faithfulness", reads=CLAIMS, shows=("by_contexts",), unless=("unclaimed",))
def faithfulness(by_contexts: Sequence[bool]) -> float | None:
    """The share of the answer's claims that the contexts support.

    Formula: supported claims / claims of the answer.

    Empty: no value for an answer that claims nothing, such as one that refuses, does not know or asks back;
    such a sample is skipped.

    Source: Es et al., "RAGAS", EACL 2024; Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(by_contexts)


@metric("hallucination", reads=CLAIMS, higher_is_better=False, shows=("by_contexts",), unless=("unclaimed",))
def hallucination(by_contexts: Sequence[bool]) -> float | None:
    """The share of the answer's claims that the contexts do not support.

    Formula: claims that are not supported / claims of the answer = 1 − faithfulness.

    Empty: no value for an answer that claims nothing, such as one that refuses, does not know or asks back;
    such a sample is skipped.

    Source: the hallucination rate of answer-quality annotations; claims as in faithfulness.
    """
    return share([not each for each in by_contexts])


@metric(
    "claim_precision",
    reads=CLAIMS,
    version=3,
    shows=("by_reference",),
    unless=("unclaimed", "reference_unclaimed"),
)
def claim_precision(agreed: Sequence[float]) -> float | None:
    """The share of the answer's claims that the reference makes too.

    Formula: correct claims / claims of the answer; by words, the mean share of a claim's words that the
    reference has, those of the question left out.

    Empty: no value where answer or reference claims nothing, such as an answer that refuses, does not know or
    asks back, or the reference "Yes"; such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(agreed)


@metric(
    "claim_recall", reads=CLAIMS, version=3, shows=("reference_by_answer",), unless=("reference_unclaimed",)
)
def claim_recall(recalled: Sequence[float]) -> float | None:
    """The share of the reference's claims that the answer makes.

    Formula: recalled claims / claims of the reference; by words, the mean share of a claim's words that the
    answer has. Of several references the best counts.

    Empty: no value for a reference that claims nothing; such a sample is skipped. Answers that are empty,
    refuse, do not know or ask back count: they recall nothing.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(recalled)


@metric("claim_f1", reads=CLAIMS, version=3, unless=("reference_unclaimed",))
def claim_f1(agreed: Sequence[float], recalled: Sequence[float]) -> float | None:
    """The harmonic mean of claim precision and claim recall.

    Formula: 2 × precision × recall / (precision + recall); 0 when both are 0. Of several references the best
    counts.

    Empty: no value for a reference that claims nothing; such a sample is skipped. An answer that claims
    nothing, such as one that is empty, refuses, does not know or asks back, has 0.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    precision, recall = share(agreed) or 0.0, share(recalled)
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@metric("claim_hallucination", reads=CLAIMS, higher_is_better=False, unless=("unclaimed",))
def claim_hallucination(by_reference: Sequence[bool], by_contexts: Sequence[bool]) -> float | None:
    """The share of the answer's claims that neither the contexts nor the reference support.

    Formula: claims neither supported nor correct / claims. With faithfulness and self_knowledge it adds up
    to 1.

    Empty: no value for an answer that claims nothing, such as one that refuses, does not know or asks back;
    such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024, where it is called hallucination.
    """
    return share([not (right or borne) for right, borne in _paired(by_reference, by_contexts)])


@metric("self_knowledge", reads=CLAIMS, unless=("unclaimed",))
def self_knowledge(by_reference: Sequence[bool], by_contexts: Sequence[bool]) -> float | None:
    """The share of the answer's claims that is correct but not supported by any context.

    Formula: claims that are correct and not supported / claims. With faithfulness and claim_hallucination
    it adds up to 1.

    Empty: no value for an answer that claims nothing, such as one that refuses, does not know or asks back;
    such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([right and not borne for right, borne in _paired(by_reference, by_contexts)])


@metric("context_utilization", reads=CLAIMS, unless=("reference_unclaimed",))
def context_utilization(
    reference_by_answer: Sequence[bool], reference_by_contexts: Sequence[bool]
) -> float | None:
    """The share of the reference's claims in the contexts that the answer makes.

    Formula: claims of the reference both retrieved and recalled / claims of the reference retrieved.

    Empty: no value where the contexts hold no claim of the reference; such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([told for told, held in _paired(reference_by_answer, reference_by_contexts) if held])


@metric(
    "noise_sensitivity", reads=CLAIMS, higher_is_better=False, unless=("unclaimed", "reference_unclaimed")
)
def noise_sensitivity(by_reference: Sequence[bool], by_useful_contexts: Sequence[bool]) -> float | None:
    """The share of the answer's claims that is wrong and comes from a relevant context.

    Formula: claims that are not correct and that a relevant context supports (``misled``) / claims. A
    context is relevant when it supports a claim of the reference.

    Empty: no value where answer or reference claims nothing, such as an answer that refuses, does not know or
    asks back, or the reference "Yes"; such a sample is skipped.

    Source: ragas, noise sensitivity in its "relevant" mode; Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([not right and led for right, led in _paired(by_reference, by_useful_contexts)])


@metric("answer_correctness", reads=CLAIMS, version=3, shows=("by_reference",), unless=("uncompared",))
def answer_correctness(correctness: float) -> float:
    """The correctness and completeness of the answer, compared with the reference.

    Formula: by words, recall^(1 − w) × precision^w, over stems, Chinese pairs and values of numbers. Recall
    is the share of the reference's words that the answer says, those of the question at a quarter; precision
    the share of the answer's other words that the reference has; w = n / (2n + 20) for a reference of n
    words, so that recall leads where the reference is short. A third of it is left where another number or
    date stands in the place of the reference's, a word of it is denied, or yes and no are reversed; a
    reference that is a yes or no is compared with the answer's own, 1 or 0. By a judge, 0.75 × TP /
    (TP + (FP + FN) / 2) + 0.25 × chrF; TP are the correct claims of the answer, FP its others, FN the claims
    of the reference that it does not make. Of several references the best counts.

    Empty: no value where the reference claims nothing, or is a yes or no and the answer plainly says neither;
    such a sample is skipped. An answer that claims nothing, such as one that is empty, refuses, does not know
    or asks back, recalls nothing.

    Source: ours by words; by a judge ragas, answer correctness with its default weights.
    """
    return correctness


def correctness_by_claims(
    by_reference: Sequence[bool], reference_by_answer: Sequence[bool], *, similarity: float
) -> float:
    """Weigh verdicts on claims and the likeness of the wording as ragas does."""
    hits, missed = sum(by_reference), reference_by_answer.count(False)
    wrong = len(by_reference) - hits
    claims, likeness = CORRECTNESS_WEIGHTS
    return claims * hits / (hits + (wrong + missed) / 2 or 1) + likeness * similarity


def share(flags: Sequence[float]) -> float | None:
    """Return the share of the flags that are set, some in part; ``None`` without any."""
    return sum(flags) / len(flags) if flags else None


def _paired(first: Sequence[bool], second: Sequence[bool]) -> list[tuple[bool, bool]]:
    if len(first) != len(second):
        raise UsageError(f"expected one verdict of each kind per claim, got {len(first)} and {len(second)}")
    return list(zip(first, second, strict=True))


# How good the contexts of an answer are, verdict by verdict: were they useful, and did they hold it all.


@metric("context_precision", reads=CLAIMS, shows=("relevant_contexts",), unless=("unsought",))
def context_precision(relevant_contexts: Sequence[bool]) -> float | None:
    """The precision of the ranking: high if the useful contexts come first.

    Formula: the mean of precision@k over the ranks k that hold a useful context; 0 when none is useful. A
    context is useful when it supports a claim of the reference, or of the answer where the reference makes
    none; a judge is asked whether it helps to answer the question.

    Empty: no value without contexts, nor, unless a judge is asked, where neither reference nor answer claims
    anything; such a sample is skipped.

    Source: Es et al., "RAGAS", EACL 2024.
    """
    if not relevant_contexts:
        return None
    hits, total = 0, 0.0
    for rank, is_useful in enumerate(relevant_contexts, 1):
        hits += is_useful
        total += hits / rank if is_useful else 0.0
    return total / hits if hits else 0.0


@metric("context_recall", reads=CLAIMS, shows=("truth_by_contexts",))
def context_recall(truth_by_contexts: Sequence[bool]) -> float | None:
    """The share of the reference contexts' claims that the contexts support.

    Formula: claims of the reference contexts that the contexts support / claims of the reference contexts.

    Empty: no value where the reference contexts claim nothing, nor where no contexts are known; such a sample
    is skipped. For a system that reports an empty list of contexts it is 0.

    Source: Es et al., "RAGAS", EACL 2024, with reference contexts as the truth.
    """
    return sum(truth_by_contexts) / len(truth_by_contexts) if truth_by_contexts else None


@metric("context_claim_recall", reads=CLAIMS, shows=("reference_by_contexts",))
def context_claim_recall(reference_by_contexts: Sequence[bool]) -> float | None:
    """The share of the reference's claims that the contexts support.

    Formula: claims of the reference that the contexts support / claims of the reference.

    Empty: no value for a reference that claims nothing, nor where no contexts are known; such a sample is
    skipped. For a system that reports an empty list of contexts it is 0.

    Source: ragas, where it is called context recall; Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(reference_by_contexts)


# Answers word by word: which content words and numbers stand in the contexts or the question.


@metric("grounded_fraction", reads=CLAIMS, version=2, shows=("new_words",))
def grounded_fraction(words: int, new_words: int) -> float | None:
    """The share of the answer's content words and numbers that is in the contexts or the question.

    Formula: 1 − new / all, over content words and numbers, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: the simplest screen for additions; the page on offline scoring says how good it is.
    """
    if not 0 <= new_words <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new_words}")
    return 1 - new_words / words if words else None


@metric(
    "unsupported_tokens",
    reads=CLAIMS,
    higher_is_better=False,
    version=2,
    is_share=False,
    shows=("new_words",),
)
def unsupported_tokens(words: int, new_words: int) -> float | None:
    """The number of content words and numbers of the answer that are not in the contexts or the question.

    Formula: how many content words and numbers are new, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: as grounded_fraction; as a count it tells long answers with additions from short ones.
    """
    if not 0 <= new_words <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new_words}")
    return float(new_words) if words else None


# An answer graded by a judge on weighted criteria; the sum is ours, never the judge's.


@metric("rubric", reads=GRADES, shows=("grades",))
def rubric(grades: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted mean of a judge's grades on the criteria of a rubric.

    Formula: Σ weight × grade. By default factuality 0.40, grounding 0.30, completeness 0.20, communication
    0.10; grades are from 0 to 1.

    Empty: an answer that the judge gave no grades for has failed.

    Source: the rubric of answer-quality pipelines; Zheng et al., "Judging LLM-as-a-judge", NeurIPS 2023.
    """
    if grades.keys() != weights.keys():
        raise UsageError(f"expected grades for {', '.join(weights)}, got {', '.join(grades)}")
    # Sums of products of decimal numbers miss what they are by a last digit: 0.65 must not fail for that.
    return round(fsum(weights[name] * grade for name, grade in grades.items()), 9)


@metric("rubric_pass", reads=GRADES, shows=("grades",))
def rubric_pass(
    grades: Mapping[str, float], weights: Mapping[str, float], *, pass_at: float = 0.65, floor: float = 0.4
) -> float:
    """1 if the weighted grade and each single grade of a rubric reach their minimum, else 0.

    Formula: 1 if rubric ≥ 0.65 and every grade ≥ 0.4, else 0; a rubric file may set both bounds.

    Empty: an answer that the judge gave no grades for has failed.

    Source: as rubric.
    """
    return float(rubric(grades, weights) >= pass_at and min(grades.values(), default=0.0) >= floor)


# How relevant what was retrieved is, graded by a judge from 0 to 3 without any reference.


@metric("relevance_grade", reads=RELEVANCE, is_share=False, shows=("context_grades",))
def relevance_grade(context_grades: Sequence[float], *, k: int | None = None) -> float | None:
    """The mean relevance of the contexts to the question, graded by a judge from 0 to 3.

    Formula: Σ grade / contexts, over the first k where there is a cut-off. 3: dedicated to the question, with
    the exact answer; 2: some answer, perhaps unclear or hidden amongst other things; 1: related, no answer;
    0: nothing to do with it. A blank context has 0, and nobody is asked.

    Empty: no value without contexts; such a sample is skipped.

    Source: Upadhyay et al., "UMBRELA", 2024, with the scale of TREC's deep learning tracks.
    """
    graded = context_grades[:k]
    return fsum(graded) / len(graded) if graded else None


@metric("judged_ndcg", reads=RELEVANCE, shows=("context_grades",))
def judged_ndcg(context_grades: Sequence[float], *, k: int | None = None) -> float | None:
    """The gain of the ranking of the contexts, by a judge's grades.

    Formula: DCG / ideal DCG with the gain grade / log2(rank + 1), over the first k. The ideal is the best
    order of what was retrieved: what was not retrieved has no grade. 0 where every grade is 0.

    Empty: no value without contexts; such a sample is skipped.

    Source: Järvelin and Kekäläinen, 2002; grades as in relevance_grade.
    """
    if not context_grades:
        return None
    ideal = _gain(sorted(context_grades, reverse=True)[:k])
    return _gain(context_grades[:k]) / ideal if ideal else 0.0


def _gain(grades: Sequence[float]) -> float:
    return fsum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


# What share of the facts that an answer should hold it does hold.


@metric("nugget_recall", reads=NUGGETS, shows=("held",), unless=("unknown",))
def nugget_recall(held: Sequence[float]) -> float | None:
    """The share of the nuggets that the answer contains; partly contained nuggets count half.

    Formula: (supported + 0.5 × partly supported nuggets) / nuggets, vital and okay alike ("all, lenient").

    Empty: no value where there is no nugget; such a sample is skipped. An empty answer has 0.

    Source: Pradeep et al., "The Great Nugget Recall", 2025 (AutoNuggetizer, TREC 2024 RAG).
    """
    return share(held)


@metric("nugget_recall_strict", reads=NUGGETS, shows=("held",), unless=("unknown",))
def nugget_recall_strict(held: Sequence[float]) -> float | None:
    """The share of the nuggets that the answer contains in full.

    Formula: supported nuggets / nuggets, vital and okay alike ("all, strict").

    Empty: no value where there is no nugget; such a sample is skipped. An empty answer has 0.

    Source: as nugget_recall.
    """
    return share([each == 1 for each in held])


@metric("vital_nugget_recall", reads=NUGGETS, shows=("held",), unless=("unknown",))
def vital_nugget_recall(held: Sequence[float], vital: Sequence[bool]) -> float | None:
    """The share of the vital nuggets that the answer contains; partly contained nuggets count half.

    Formula: (supported + 0.5 × partly supported vital nuggets) / vital nuggets ("vital, lenient").

    Empty: no value where no nugget is vital; such a sample is skipped. An empty answer has 0.

    Source: as nugget_recall.
    """
    return share([each for each, must in zip(held, vital, strict=True) if must])


@metric("vital_nugget_recall_strict", reads=NUGGETS, shows=("held",), unless=("unknown",))
def vital_nugget_recall_strict(held: Sequence[float], vital: Sequence[bool]) -> float | None:
    """The share of the vital nuggets that the answer contains in full.

    Formula: supported vital nuggets / vital nuggets ("vital, strict"): what systems are ranked by in TREC.

    Empty: no value where no nugget is vital; such a sample is skipped. An empty answer has 0.

    Source: as nugget_recall.
    """
    return share([each == 1 for each, must in zip(held, vital, strict=True) if must])
