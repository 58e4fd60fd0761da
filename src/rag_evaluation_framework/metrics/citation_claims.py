"""Citations against the claims they stand at: whether what is cited bears them out.

Each metric is a function of flags, one for each sentence, claim or citation. Who decides what a cited text
supports is the metric's method; how the flags are found is told in ``judging/citations/citation_support.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rag_evaluation_framework.metrics.claims import share
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CITATIONS

OVERALL_WEIGHTS: Mapping[str, float] = {
    "tolerance_jaccard": 0.30,
    "citation_validity": 0.30,
    "mean_consistency": 0.25,
    "no_hallucination": 0.15,
}
"""What each part counts in ``overall_citation_accuracy`` unless told otherwise."""


@metric("citation_recall", reads=CITATIONS, shows=("supported",))
def citation_recall(supported: Sequence[bool]) -> float | None:
    """What share of the answer's sentences is borne out by what they cite.

    Formula: supported sentences / sentences that claim something. A sentence is supported when all that it
    cites can be opened and, taken together, supports it. Of citations beside the answer, those that can be
    opened are taken together.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: Gao et al., "Enabling Large Language Models to Generate Text with Citations" (ALCE), EMNLP 2023.
    """
    return share(supported)


@metric("citation_precision", reads=CITATIONS, shows=("relevant",))
def citation_precision(relevant: Sequence[bool]) -> float:
    """What share of the answer's citations is of use to the sentence they stand at.

    Formula: relevant citations / citations, the same place in one sentence counted once. A citation is
    relevant when its sentence is supported by all that it cites, unless the citation does not support the
    sentence alone and the others do without it. What cannot be opened, or stands in a sentence that claims
    nothing, is not relevant.

    Empty: 0 for an answer that claims something and cites nothing.

    Source: Gao et al. (ALCE), EMNLP 2023. Its program leaves out the citations of a sentence that cites
    something out of range.
    """
    return share(relevant) or 0.0


@metric("citation_f1", reads=CITATIONS, shows=("supported", "relevant"))
def citation_f1(supported: Sequence[bool], relevant: Sequence[bool]) -> float | None:
    """The harmonic mean of citation recall and citation precision.

    Formula: 2 × precision × recall / (precision + recall).

    Empty: 0 when either is 0; no value for an answer that claims nothing.

    Source: Gao et al. (ALCE), EMNLP 2023; van Rijsbergen, "Information Retrieval", 1979.
    """
    recall, precision = citation_recall(supported), citation_precision(relevant)
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


@metric("citation_completeness", reads=CITATIONS, shows=("cited",))
def citation_completeness(cited: Sequence[bool]) -> float | None:
    """What share of the answer's claims is cited.

    Formula: cited claims / claims. A claim is cited when its sentence has a citation, right or wrong; where
    the citations come beside the answer, when one of them supports it.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: citation metrics of evaluation results, ``citation_completeness``.
    """
    return share(cited)


@metric("citation_correctness", reads=CITATIONS, shows=("correct",))
def citation_correctness(correct: Sequence[bool]) -> float | None:
    """What share of the citations supports a claim that they stand at.

    Formula: correct citations / citations, the same place in one sentence counted once. A citation is
    correct when it alone supports a claim of its sentence; where the citations come beside the answer, any
    claim.

    Empty: no value when nothing is cited; such a sample is skipped.

    Source: citation metrics of evaluation results, ``citation_correctness``.
    """
    return share(correct)


@metric("citation_validity", reads=CITATIONS, shows=("opened",))
def citation_validity(opened: Sequence[bool]) -> float | None:
    """What share of the citations can be opened.

    Formula: valid citations / citations, the same place in one sentence counted once. A citation is valid
    when there is one document of its name and the characters are inside it (inside the page where it has
    one), or a context of its number; and when the words that it quotes stand there.

    Empty: no value when nothing is cited; such a sample is skipped.

    Source: citation checks that open what is cited.
    """
    return share(opened)


@metric("overall_citation_accuracy", reads=CITATIONS, shows=("parts",))
def overall_citation_accuracy(
    parts: Mapping[str, float | None], weights: Mapping[str, float] = OVERALL_WEIGHTS
) -> float | None:
    """How good the citations of an answer are from every side, as one figure.

    Formula: 0.30 × citation_tolerance_jaccard + 0.30 × citation_validity + 0.25 × mean consistency + 0.15 ×
    (1 − hallucination_rate). The mean consistency is that of the claims' probabilities to be supported; an
    answer that claims something and cites nothing has validity 0.

    Empty: no value where a part that counts has none; such a sample is skipped.

    Source: citation metrics of evaluation results, ``overall_citation_accuracy``.
    """
    if any(parts[name] is None for name, weight in weights.items() if weight):
        return None
    return math.fsum(weight * (parts[name] or 0.0) for name, weight in weights.items())
