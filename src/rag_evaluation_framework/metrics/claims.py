"""Answers claim by claim: what the contexts support, what the reference says too, what was left out.

Each metric is a function of verdicts, one for each claim; who gives the verdicts is the metric's method. A
claim of the answer is *supported* when the contexts bear it out and *correct* when the reference does; one of
the reference is *recalled* when the answer makes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CLAIMS

CORRECTNESS_WEIGHTS = (0.75, 0.25)
"""What the claims and the likeness of the wording count in ``answer_correctness``: the defaults of ragas."""


@metric("faithfulness", reads=CLAIMS, shows=("by_contexts",), unless=("unclaimed",))
def faithfulness(by_contexts: Sequence[bool]) -> float | None:
    """What share of the answer's claims the contexts support.

    Formula: supported claims / claims of the answer.

    Empty: no value for an answer that claims nothing, as those that refuse, do not know or ask back; such a
    sample is skipped.

    Source: Es et al., "RAGAS", EACL 2024; Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(by_contexts)


@metric("hallucination", reads=CLAIMS, higher_is_better=False, shows=("by_contexts",), unless=("unclaimed",))
def hallucination(by_contexts: Sequence[bool]) -> float | None:
    """What share of the answer's claims the contexts do not support.

    Formula: claims that are not supported / claims of the answer = 1 − faithfulness.

    Empty: no value for an answer that claims nothing, as those that refuse, do not know or ask back; such a
    sample is skipped.

    Source: the hallucination rate of answer-quality annotations; claims as in faithfulness.
    """
    return share([not each for each in by_contexts])


@metric("claim_precision", reads=CLAIMS, shows=("by_reference",), unless=("unclaimed", "reference_unclaimed"))
def claim_precision(by_reference: Sequence[bool]) -> float | None:
    """What share of the answer's claims the reference makes too.

    Formula: correct claims / claims of the answer.

    Empty: no value where answer or reference claims nothing, as answers that refuse, do not know or ask back,
    and the reference "Yes"; such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(by_reference)


@metric("claim_recall", reads=CLAIMS, shows=("reference_by_answer",), unless=("reference_unclaimed",))
def claim_recall(reference_by_answer: Sequence[bool]) -> float | None:
    """What share of the reference's claims the answer makes.

    Formula: recalled claims / claims of the reference.

    Empty: no value for a reference that claims nothing; such a sample is skipped. Answers that refuse, do
    not know or ask back count: they recall nothing.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share(reference_by_answer)


@metric("claim_f1", reads=CLAIMS, unless=("unclaimed", "reference_unclaimed"))
def claim_f1(by_reference: Sequence[bool], reference_by_answer: Sequence[bool]) -> float | None:
    """The harmonic mean of claim precision and claim recall.

    Formula: 2 × precision × recall / (precision + recall); 0 when both are 0.

    Empty: no value where answer or reference claims nothing, as answers that refuse, do not know or ask back;
    such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    precision, recall = share(by_reference), share(reference_by_answer)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@metric("claim_hallucination", reads=CLAIMS, higher_is_better=False, unless=("unclaimed",))
def claim_hallucination(by_reference: Sequence[bool], by_contexts: Sequence[bool]) -> float | None:
    """What share of the answer's claims neither the contexts nor the reference bear out.

    Formula: claims neither supported nor correct / claims. With faithfulness and self_knowledge it adds up
    to 1.

    Empty: no value for an answer that claims nothing, as those that refuse, do not know or ask back; such a
    sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024, where it is called hallucination.
    """
    return share([not (right or borne) for right, borne in _paired(by_reference, by_contexts)])


@metric("self_knowledge", reads=CLAIMS, unless=("unclaimed",))
def self_knowledge(by_reference: Sequence[bool], by_contexts: Sequence[bool]) -> float | None:
    """What share of the answer's claims is right although no context says so.

    Formula: claims that are correct and not supported / claims. With faithfulness and claim_hallucination
    it adds up to 1.

    Empty: no value for an answer that claims nothing, as those that refuse, do not know or ask back; such a
    sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([right and not borne for right, borne in _paired(by_reference, by_contexts)])


@metric("context_utilization", reads=CLAIMS, unless=("reference_unclaimed",))
def context_utilization(
    reference_by_answer: Sequence[bool], reference_by_contexts: Sequence[bool]
) -> float | None:
    """What share of the reference's claims that stand in the contexts the answer makes.

    Formula: claims of the reference both retrieved and recalled / claims of the reference retrieved.

    Empty: no value where the contexts hold no claim of the reference; such a sample is skipped.

    Source: Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([told for told, held in _paired(reference_by_answer, reference_by_contexts) if held])


@metric(
    "noise_sensitivity", reads=CLAIMS, higher_is_better=False, unless=("unclaimed", "reference_unclaimed")
)
def noise_sensitivity(by_reference: Sequence[bool], by_useful_contexts: Sequence[bool]) -> float | None:
    """What share of the answer's claims is wrong and taken from a context that is relevant otherwise.

    Formula: claims that are not correct and that a relevant context supports (``misled``) / claims. A
    context is relevant when it supports a claim of the reference.

    Empty: no value where answer or reference claims nothing, as answers that refuse, do not know or ask back,
    and the reference "Yes"; such a sample is skipped.

    Source: ragas, noise sensitivity in its "relevant" mode; Ru et al., "RAGChecker", NeurIPS 2024.
    """
    return share([not right and led for right, led in _paired(by_reference, by_useful_contexts)])


@metric("answer_correctness", reads=CLAIMS, shows=("by_reference",), unless=("reference_unclaimed",))
def answer_correctness(
    by_reference: Sequence[bool], reference_by_answer: Sequence[bool], *, similarity: float
) -> float | None:
    """How right and complete the answer is: its claims against the reference's, and the likeness of both.

    Formula: 0.75 × TP / (TP + (FP + FN) / 2) + 0.25 × answer_similarity; TP are the correct claims of the
    answer, FP its others, FN the claims of the reference that it does not make. The answer_similarity is that
    of the lexical method (chrF), of both texts without citations and lists of sources.

    Empty: no value where the reference claims nothing; such a sample is skipped. An answer that claims
    nothing, as those that refuse, do not know or ask back, has TP = 0.

    Source: ragas, answer correctness with its default weights.
    """
    if not reference_by_answer:
        return None
    hits, missed = sum(by_reference), reference_by_answer.count(False)
    wrong = len(by_reference) - hits
    claims, likeness = CORRECTNESS_WEIGHTS
    return claims * hits / (hits + (wrong + missed) / 2 or 1) + likeness * similarity


def share(flags: Sequence[bool]) -> float | None:
    """Return the share of the flags that are set; ``None`` without any."""
    return sum(flags) / len(flags) if flags else None


def _paired(first: Sequence[bool], second: Sequence[bool]) -> list[tuple[bool, bool]]:
    if len(first) != len(second):
        raise UsageError(f"expected verdicts on the same claims, got {len(first)} and {len(second)}")
    return list(zip(first, second, strict=True))
