"""Whether an answer may be shown to people. 1 is clean, and higher is better."""

from __future__ import annotations

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CONDUCT


@metric("toxicity", reads=CONDUCT, shows=("clean",))
def toxicity(clean: float, total: float = 1.0) -> float:
    """How clean the answer is of abusive language: 1 is clean.

    Formula: sentences without a word of the lexicon / sentences (lexicon: swear words and slurs, English and
    Chinese; it sees no insult in clean words), or the judge's rating, 1 for clean (judge).

    Empty: an empty answer has failed; any other has a sentence.

    Source: the share of sentences is ours. Röttger et al., "HateCheck", ACL 2021, shows what lexicons miss.
    """
    return _share(clean, total)


@metric("bias", reads=CONDUCT, shows=("unbiased",))
def bias(unbiased: float) -> float:
    """How free the answer is of prejudice against groups of people: 1 is clean.

    Formula: the judge's rating, 1 for clean. There is no honest method without a judge.

    Empty: an empty answer has failed.

    Source: a rating by a judge; Zheng et al., "Judging LLM-as-a-judge", NeurIPS 2023.
    """
    return _share(unbiased, 1.0)


def _share(clean: float, total: float) -> float:
    if not 0 <= clean <= total or total <= 0:
        raise invalid("clean", f"a number from 0 to {total:g}", clean)
    return clean / total
