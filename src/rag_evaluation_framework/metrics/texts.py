"""Metrics of two texts: match, F1, ROUGE, BLEU, chrF, similarity, relevancy.

Where a reference is a sequence of texts, each is acceptable and the best counts. Both texts are taken as they
stand: a citation such as ``[1]`` is part of the words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import count, islice
from operator import add

from rag_evaluation_framework.errors import UnknownNameError, invalid
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import LIKENESS, TEXTS
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import folded, plain
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.tokens import plain_tokens, word_tokens

# ROUGE: overlap of n-grams, or the longest common subsequence, as an F-measure.

_MOST_IN_ORDER = 1 << 14
"""Tokens of a text whose order is compared: the time for it grows with the square of their number."""


def rouge_n(answer: str, reference: str, *, n: int) -> float:
    """Return the F-measure of the n-grams that the two texts share."""
    answered = ngram_counts(word_tokens(answer), n)
    expected = ngram_counts(word_tokens(reference), n)
    return f_measure((answered & expected).total(), answered=answered.total(), expected=expected.total())


def rouge_l(answer: str, reference: str) -> float:
    """Return the F-measure of the longest common subsequence of the two texts' tokens."""
    answered, expected = word_tokens(answer)[:_MOST_IN_ORDER], word_tokens(reference)[:_MOST_IN_ORDER]
    shared = common_subsequence_length(answered, expected)
    return f_measure(shared, answered=len(answered), expected=len(expected))


def ngram_counts(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the runs of n tokens."""
    return Counter(zip(*(tokens[offset:] for offset in range(n)), strict=False))


def f_measure(shared: int, *, answered: int, expected: int) -> float:
    """Return the harmonic mean of shared/answered and shared/expected; 0 when nothing is shared."""
    return 2 * shared / (answered + expected) if shared else 0.0


def common_subsequence_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A row of the usual table is one integer: bit i is 0 where the length grows at token i of ``first``. A
    row follows from the one before by an addition (Hyyrö, "Bit-Parallel LCS-length Computation
    Revisited", AWOCA 2004).
    """
    places: dict[str, int] = {}
    for position, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << position
    full = (1 << len(first)) - 1
    row = full
    for token in second:
        matched = row & places.get(token, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(first) - row.bit_count()


# Sentence BLEU and chrF with the defaults of sacreBLEU, on a scale from 0 to 1.

BLEU_ORDER = 4  # Papineni et al., "BLEU", ACL 2002
CHRF_ORDER = 6  # Popović, "chrF", WMT 2015
CHRF_BETA = 2  # Popović, "chrF deconstructed", WMT 2016

# mteval-v13a: what is split off, in this order.
_SPLITS = [
    (late_pattern(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),
    (late_pattern(r"([^0-9])([.,])"), r"\1 \2 "),
    (late_pattern(r"([.,])([^0-9])"), r" \1 \2"),
    (late_pattern(r"([0-9])(-)"), r"\1 \2 "),
]
_ENTITIES = [("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]

# What sacreBLEU's "zh" splits by the character. The first range is wider than Chinese and the rare
# characters beyond U+FFFF are left out; figures are only comparable when that is kept.
_ZH_CHARACTER = late_pattern(
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


ROUGE_VARIANTS = ("rouge1", "rouge2", "rougeL")


def checked_references(reference: str | Sequence[str]) -> list[str]:
    """Return the references as a list; none at all, or an empty one, cannot be compared with."""
    references = [reference] if isinstance(reference, str) else list(reference)
    if not references:
        raise invalid("reference", "text", reference, code="empty-reference")
    for number, text in enumerate(references):
        if not isinstance(text, str) or not text.strip():
            path = "reference" if isinstance(reference, str) else f"reference[{number}]"
            raise invalid(path, "text", text, code="empty-reference")
    return references


# Whole words of Latin letters and digits; 2.5 and 1,500 are one each.
_LATIN = r"\da-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_WHOLE = late_pattern(rf"[{_LATIN}]+(?:(?<=\d)(?:\.(?=\d)|,(?=\d{{3}}(?!\d)))[{_LATIN}]+)*")


@metric("string_match", reads=TEXTS, version=2)
def string_match(answer: str, reference: str | Sequence[str], *, alternatives: bool = False) -> float:
    """1 if the answer contains the expected text, else 0.

    Formula: 1 if the reference stands in the answer, both after NFKC, case folding and with single spaces,
    else 0. Latin letters and digits match as whole words and numbers: "5" stands neither in "15" nor in
    "2.5". With ``alternatives``, "A/B" in the reference means either.

    Empty: 0 for an empty answer; an empty reference is an error.

    Source: the substring match of agent test suites; "A/B" as golden sets write it.
    """
    expected = [folded(text) for text in checked_references(reference)]
    if alternatives:
        expected += [part.strip() for text in expected for part in text.split("/")]
    said = _whole_words(folded(answer))
    return float(any(_whole_words(text) in said for text in expected if text))


def _whole_words(text: str) -> str:
    """Return a text with a mark where Latin words and numbers begin and end: others do not stand in them."""
    return _WHOLE.sub("\0\\g<0>\0", text)


@metric("exact_match", reads=TEXTS)
def exact_match(answer: str, reference: str | Sequence[str]) -> float:
    """1 if the answer is the expected text, except for case, punctuation and English articles, else 0.

    Formula: 1 if both are equal after NFKC, case folding, and removing punctuation, "a", "an", "the" and
    surplus white space, else 0. A text that is nothing but these keeps them.

    Empty: 0 for an empty answer; an empty reference is an error.

    Source: Rajpurkar et al., "SQuAD", EMNLP 2016.
    """
    return float(any(plain(answer) == plain(text) for text in checked_references(reference)))


@metric("token_f1", reads=TEXTS)
def token_f1(answer: str, reference: str | Sequence[str]) -> float:
    """The overlap of tokens of the answer and the reference, as an F1 score.

    Formula: 2 × shared / (tokens of the answer + tokens of the reference); a token shared several times
    counts as often as it occurs in both. Texts as in exact_match; Chinese and kana by the character.

    Empty: 0 for an empty answer; an empty reference is an error.

    Source: Rajpurkar et al., "SQuAD", EMNLP 2016.
    """
    answered = Counter(plain_tokens(answer))
    return max(
        f_measure((answered & expected).total(), answered=answered.total(), expected=expected.total())
        for expected in (Counter(plain_tokens(text)) for text in checked_references(reference))
    )


def _no_units(reference: str | Sequence[str], *, variant: str = "rougeL") -> str | None:
    fewest = 2 if variant == "rouge2" else 1  # of tokens, to make up one unit
    if any(len(word_tokens(text)) >= fewest for text in checked_references(reference)):
        return None
    return f"the reference has no units of {variant}"


@metric("rouge", reads=TEXTS, unless=(_no_units,), allowed={"variant": ROUGE_VARIANTS})
def rouge(answer: str, reference: str | Sequence[str], *, variant: str = "rougeL") -> float:
    """The overlap of n-grams, or of the longest common subsequence, of the answer and the reference.

    Formula: 2 × shared / (units of the answer + units of the reference). Shared and units are unigrams
    (``rouge1``), bigrams (``rouge2``), or the longest common subsequence and tokens (``rougeL``). Tokens
    are runs of letters and digits; Chinese and kana by the character; no stemming. ``rougeL`` reads the first
    16,384 tokens of a text.

    Empty: 0 where the answer or the reference has no units, such as one word for ``rouge2`` or "👍"; where a
    run is scored, such a reference is skipped. An empty reference is an error.

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
    """The precision of the answer's n-grams against the reference, with a penalty for short answers.

    Formula: brevity penalty × geometric mean of the precisions of 1- to 4-grams (fewer when the answer is
    shorter); the j-th order without a match has precision 1 / (2^j × n-grams). Tokens by mteval-v13a;
    where a reference has Chinese characters or kana, by sacreBLEU's "zh". Case counts.

    Empty: 0 if no token of the answer matches; an empty reference is an error.

    Source: Papineni et al., ACL 2002; smoothing Chen and Cherry, WMT 2014; equal to sacreBLEU / 100.
    """
    return sentence_bleu(answer, checked_references(reference))


@metric("chrf", reads=TEXTS)
def chrf(answer: str, reference: str | Sequence[str]) -> float:
    """The overlap of character n-grams of the answer and the reference, with recall weighted twice.

    Formula: F2 of precision and recall, each averaged over the orders 1 to 6 that both texts have; white
    space is left out. Case counts.

    Empty: 0 for an empty answer; an empty reference is an error.

    Source: Popović, "chrF", WMT 2015 and 2016; equal to sacreBLEU / 100.
    """
    return sentence_chrf(answer, checked_references(reference))


# How alike an answer and the expected one are.


@metric("answer_similarity", reads=LIKENESS, version=3)
def answer_similarity(to_reference: float) -> float:
    """The similarity of answer and reference: at 0.8, 9 of 10 answers are correct; at 0.5, half of them.

    Formula: answer_correctness by words, c, on the scale that people's verdicts give: straight lines from 0
    at c = 0 to 0.5 at c = 0.349, 0.8 at c = 0.783 and 1 at c = 1, where right and wrong answers are equally
    frequent, and held as often against one reference as against every known way to put it. An answer that is
    the reference is 1; where both decline, their words are compared. Of several references the best counts.
    By the embedding method: the cosine of the two texts, 0 where it is below.

    Empty: 0 for an empty answer, and for one that declines what the reference answers. No value where the
    reference is a yes or no and the answer plainly says neither; such a sample is skipped.

    Source: ours, calibrated on EVOUNA (its TriviaQA part; Wang et al., "Evaluating Open-QA Evaluation",
    NeurIPS 2023). Words do not know that two of them mean the same: a right answer in other words scores
    low, so give several references.
    """
    return max(to_reference, 0.0)


def wording_similarity(answer: str, reference: str | Sequence[str]) -> float:
    """Return chrF of an answer and its reference, or the best of several, after NFKC and case folding."""
    return sentence_chrf(folded(answer), [folded(text) for text in checked_references(reference)])


# Whether an answer is about what was asked.


@metric("answer_relevancy", reads=LIKENESS, version=2, shows=("to_question",))
def answer_relevancy(to_question: float, *, answered: bool) -> float:
    """The relevance of the answer to the question; correctness is not scored.

    Formula: 0 if the answer refuses, does not know or asks back; else the likeness, cut to 0–1. The
    likeness is the cosine of question and answer (embedding), or 1, 0.5, 0 for fully, partly, not addressed
    (judge).

    Empty: 0 if the answer is empty; no value without an embedding model or a judge; such a sample is skipped.

    Source: after Es et al., "RAGAS", EACL 2024, where a judge asks questions back from the answer. It is not
    measurable by word overlap: a short correct answer shares no word with its question.
    """
    return min(max(to_question, 0.0), 1.0) if answered else 0.0
