"""An answer's words against a reference's, without a model. Pure functions of two texts.

Where a reference is a sequence of texts, each is acceptable and the best counts. Both texts are taken as they
stand: a citation such as ``[1]`` is part of the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.metrics.bleu import sentence_bleu, sentence_chrf
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.rouge import f_measure, has_rouge_units, rouge_l, rouge_n
from rag_evaluation_framework.metrics.tokens import checked_references, folded, plain, plain_tokens
from rag_evaluation_framework.metrics.views import TEXTS

ROUGE_VARIANTS = ("rouge1", "rouge2", "rougeL")


@metric("string_match", reads=TEXTS)
def string_match(answer: str, reference: str | Sequence[str], *, alternatives: bool = False) -> float:
    """Whether the expected text stands in the answer.

    Formula: 1 if the reference is a substring of the answer, both after NFKC, case folding and with
    single spaces, else 0. With ``alternatives``, "A/B" in the reference means either.

    Empty: 0 for an empty answer, which has failed where a run is scored; an empty reference is an error.

    Source: the substring match of agent test suites; "A/B" as golden sets write it.
    """
    expected = [folded(text) for text in checked_references(reference)]
    if alternatives:
        expected += [part.strip() for text in expected for part in text.split("/")]
    said = folded(answer)
    return float(any(text in said for text in expected if text))


@metric("exact_match", reads=TEXTS)
def exact_match(answer: str, reference: str | Sequence[str]) -> float:
    """Whether the answer is the expected text, up to case, punctuation and English articles.

    Formula: 1 if both are equal after NFKC, case folding, and removing punctuation, "a", "an", "the" and
    surplus white space, else 0. A text that is nothing but these keeps them.

    Empty: 0 for an empty answer, which has failed where a run is scored; an empty reference is an error.

    Source: Rajpurkar et al., "SQuAD", EMNLP 2016.
    """
    return float(any(plain(answer) == plain(text) for text in checked_references(reference)))


@metric("token_f1", reads=TEXTS)
def token_f1(answer: str, reference: str | Sequence[str]) -> float:
    """How many tokens answer and reference share, as an F-measure.

    Formula: 2 × shared / (tokens of the answer + tokens of the reference); a token shared several times
    counts as often as it stands in both. Texts as in exact_match; Chinese and kana by the character.

    Empty: 0 for an empty answer, which has failed where a run is scored; an empty reference is an error.

    Source: Rajpurkar et al., "SQuAD", EMNLP 2016.
    """
    answered = Counter(plain_tokens(answer))
    return max(
        f_measure((answered & expected).total(), answered=answered.total(), expected=expected.total())
        for expected in (Counter(plain_tokens(text)) for text in checked_references(reference))
    )


def _no_units(reference: str | Sequence[str], *, variant: str = "rougeL") -> str | None:
    if any(has_rouge_units(text, variant=variant) for text in checked_references(reference)):
        return None
    return f"the reference has no units of {variant}: no answer could share one"


@metric("rouge", reads=TEXTS, unless=(_no_units,), allowed={"variant": ROUGE_VARIANTS})
def rouge(answer: str, reference: str | Sequence[str], *, variant: str = "rougeL") -> float:
    """How much of the reference's wording the answer has: n-grams or longest common subsequence.

    Formula: 2 × shared / (units of the answer + units of the reference). Shared and units are unigrams
    (``rouge1``), bigrams (``rouge2``), or the longest common subsequence and tokens (``rougeL``). Tokens
    are runs of letters and digits; Chinese and kana by the character; no stemming.

    Empty: 0 for an answer or a reference without units, such as one word for ``rouge2`` or "👍"; where a run
    is scored, such a reference is skipped and an empty answer has failed. An empty reference is an error.

    Source: Lin, "ROUGE", 2004; equal to the rouge-score package on English.
    """
    if variant not in ROUGE_VARIANTS:
        raise UnknownNameError("variant of rouge", variant, ROUGE_VARIANTS)
    references = checked_references(reference)
    if variant == "rougeL":
        return max(rouge_l(answer, text) for text in references)
    return max(rouge_n(answer, text, n=int(variant[-1])) for text in references)


@metric("bleu", reads=TEXTS)
def bleu(answer: str, reference: str | Sequence[str]) -> float:
    """How precisely the answer's n-grams follow the reference, short answers punished.

    Formula: brevity penalty × geometric mean of the precisions of 1- to 4-grams (fewer when the answer is
    shorter); the j-th order without a match has precision 1 / (2^j × n-grams). Tokens by mteval-v13a;
    where a reference has Chinese characters or kana, by sacreBLEU's "zh". Case counts.

    Empty: 0 for an answer without a matching token, and an empty one has failed where a run is scored; an
    empty reference is an error.

    Source: Papineni et al., ACL 2002; smoothing Chen and Cherry, WMT 2014; equal to sacreBLEU / 100.
    """
    return sentence_bleu(answer, checked_references(reference))


@metric("chrf", reads=TEXTS)
def chrf(answer: str, reference: str | Sequence[str]) -> float:
    """How many character n-grams answer and reference share, recall weighted twice.

    Formula: F2 of precision and recall, each averaged over the orders 1 to 6 that both texts have; white
    space is left out. Case counts.

    Empty: 0 for an empty answer, which has failed where a run is scored; an empty reference is an error.

    Source: Popović, "chrF", WMT 2015 and 2016; equal to sacreBLEU / 100.
    """
    return sentence_chrf(answer, checked_references(reference))
