"""Sentence BLEU and chrF with the defaults of sacreBLEU, on a scale from 0 to 1."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import count, islice
from operator import add

from rag_evaluation_framework.metrics.rouge import ngram_counts
from rag_evaluation_framework.metrics.tokens import has_unspaced_script

BLEU_ORDER = 4  # Papineni et al., "BLEU", ACL 2002
CHRF_ORDER = 6  # Popović, "chrF", WMT 2015
CHRF_BETA = 2  # Popović, "chrF deconstructed", WMT 2016

# mteval-v13a: what is split off, in this order.
_SPLITS = [
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
]
_ENTITIES = [("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]

# What sacreBLEU's "zh" splits by the character. The first range is wider than Chinese and the rare
# characters beyond U+FFFF are left out; figures are only comparable when that is kept.
_ZH_CHARACTER = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef\u3200-\u4db5"
    "\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)


def sentence_bleu(answer: str, references: Sequence[str]) -> float:
    """Return BLEU of one answer: exponential smoothing, and orders only up to the answer's length."""
    tokenize = zh_tokens if any(map(has_unspaced_script, references)) else mteval_tokens
    answered = tokenize(answer)
    expected = [tokenize(reference) for reference in references]
    orders = min(BLEU_ORDER, len(answered))
    log_precision, smoothing = 0.0, 1
    matched_any = False
    for n in range(1, orders + 1):
        counts = ngram_counts(answered, n)
        allowed = reduce(Counter.__or__, (ngram_counts(tokens, n) for tokens in expected))
        matched = (counts & allowed).total()
        matched_any = matched_any or matched > 0
        if not matched:
            smoothing *= 2
        log_precision += math.log((matched or 1 / smoothing) / counts.total())
    if not matched_any:
        return 0.0
    return _brevity_penalty(len(answered), list(map(len, expected))) * math.exp(log_precision / orders)


def _brevity_penalty(answered: int, expected: Sequence[int]) -> float:
    """Punish an answer that is shorter than the reference nearest to it in length (the shorter of two)."""
    nearest = min(expected, key=lambda length: (abs(length - answered), length))
    return math.exp(1 - nearest / answered) if answered < nearest else 1.0


def mteval_tokens(text: str) -> list[str]:
    """Tokenize as mteval-v13a does, for languages that put spaces between words."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return _split(f" {text} ")


def zh_tokens(text: str) -> list[str]:
    """Tokenize Chinese by the character, and what stands between as mteval-v13a does."""
    return _split(_ZH_CHARACTER.sub(r" \1 ", text.strip()))


def _split(text: str) -> list[str]:
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    return text.split()


def sentence_chrf(answer: str, references: Sequence[str]) -> float:
    """Return the F2 of character n-grams, white space left out; of several references the best counts."""
    return max(_chrf("".join(answer.split()), "".join(reference.split())) for reference in references)


def _chrf(answer: str, reference: str) -> float:
    """Average precision and recall over the orders that both texts have, and take their F2."""
    orders = min(CHRF_ORDER, len(answer), len(reference))
    precision = recall = 0.0
    for answered, expected in islice(zip(_ngrams(answer), _ngrams(reference), strict=False), orders):
        matched = _matched(Counter(answered), Counter(expected))
        precision += matched / len(answered)
        recall += matched / len(expected)
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return (1 + CHRF_BETA**2) * precision * recall / (CHRF_BETA**2 * precision + recall)


def _ngrams(text: str) -> Iterator[list[str]]:
    """Yield the characters of a text, its pairs of neighbours, its runs of three and so on."""
    runs = list(text)
    for n in count(1):
        yield runs
        runs = list(map(add, runs, text[n:]))


def _matched(one: Counter[str], other: Counter[str]) -> int:
    """Count what two texts have in common, as often as both have it."""
    both = one.keys() & other.keys()
    return sum(map(min, map(one.__getitem__, both), map(other.__getitem__, both)))
