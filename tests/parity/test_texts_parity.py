"""Text metrics against the tools whose numbers people know: rouge-score and sacreBLEU."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from sacrebleu import sentence_bleu, sentence_chrf
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from rag_evaluation_framework.metrics.texts import bleu, chrf, mteval_tokens, rouge, zh_tokens
from rag_evaluation_framework.text.scripts import has_unspaced_script
from sizes import loaded_on_use

rouge_scorer = loaded_on_use("rouge_score.rouge_scorer", reason="rouge-score is not installed")

ENGLISH_WORDS = (
    "the a of and to in is was Paris paris capital France river Seine 1889 3.14 1,000 2-3 -5 10% $5 U.S. "
    "don't it's state-of-the-art (approximately) [sic] e.g. i.e., well; yes: no! \"quoted\" &amp; &lt;b&gt; "
    "x_y <skipped> half-\n next\nline \t tab … — ’tis “so” , . ."
)
ENGLISH = ENGLISH_WORDS.split(" ")
CHINESE = list("北京是中国的首都，也是政治中心。《红楼梦》（1791）、２０２４年：！？①→々〇")
MIXED = [*ENGLISH, *CHINESE, "GPT-4", "RAG", "カタカナ", "한국어", "naïve", "Straße", "😀", "\u20ac5", "𠀀"]


def random_pairs(words: list[str], separators: Sequence[str], count: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of texts; the second is often an edited copy of the first, so that orders match."""
    rng = random.Random(seed)

    def text(length: int) -> list[str]:
        return [rng.choice(words) + rng.choice(separators) for _ in range(length)]

    pairs = []
    for _ in range(count):
        reference = text(rng.randint(1, 25))
        answer = (
            [word for word in reference if rng.random() > 0.2]
            if rng.random() < 0.7
            else text(rng.randint(0, 25))
        )
        if rng.random() < 0.3:
            rng.shuffle(answer)
        pairs.append(("".join(answer), "".join(reference)))
    return [pair for pair in pairs if pair[1].strip()]


ENGLISH_PAIRS = random_pairs(ENGLISH, "   \n", 1500, seed=1)
CHINESE_PAIRS = random_pairs(CHINESE, ["", "", "", " "], 1000, seed=2)
MIXED_PAIRS = random_pairs(MIXED, ["", " ", " "], 1500, seed=3)


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL"])
def test_rouge_equals_rouge_score_on_english(variant: str) -> None:
    scorer = rouge_scorer.RougeScorer([variant], use_stemmer=False)
    for answer, reference in ENGLISH_PAIRS:
        expected = scorer.score(reference, answer)[variant].fmeasure
        assert rouge(answer, reference, variant=variant) == pytest.approx(expected, abs=1e-9)


def test_rouge_of_chinese_equals_rouge_score_given_our_tokens() -> None:
    """rouge-score drops Chinese; given words that stand for its characters it must agree with ours."""
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    characters = "北京是中国首都也政治心"
    words = {character: f"w{number}" for number, character in enumerate(characters)}
    for answer, reference in random_pairs(list(characters), [""], 300, seed=4):
        spelled = [" ".join(words[character] for character in text) for text in (reference, answer)]
        for variant, score in scorer.score(*spelled).items():
            assert rouge(answer, reference, variant=variant) == pytest.approx(score.fmeasure, abs=1e-9)


@pytest.mark.parametrize(
    "pairs", [ENGLISH_PAIRS, CHINESE_PAIRS, MIXED_PAIRS], ids=["english", "chinese", "mixed"]
)
def test_bleu_equals_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    for answer, reference in pairs:
        tokenizer = "zh" if has_unspaced_script(reference) else "13a"
        expected = sentence_bleu(answer, [reference], tokenize=tokenizer).score / 100
        assert bleu(answer, reference) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "pairs", [ENGLISH_PAIRS, CHINESE_PAIRS, MIXED_PAIRS], ids=["english", "chinese", "mixed"]
)
def test_chrf_equals_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    for answer, reference in pairs:
        assert chrf(answer, reference) == pytest.approx(
            sentence_chrf(answer, [reference]).score / 100, abs=1e-9
        )


def test_several_references_equal_sacrebleu_and_rouge_score() -> None:
    scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=False)
    for (answer, first), (_, second) in zip(ENGLISH_PAIRS[:300], ENGLISH_PAIRS[300:600], strict=True):
        references = [first, second]
        assert bleu(answer, references) == pytest.approx(
            sentence_bleu(answer, references).score / 100, abs=1e-9
        )
        assert chrf(answer, references) == pytest.approx(
            sentence_chrf(answer, references).score / 100, abs=1e-9
        )
        for variant, score in scorer.score_multi(references, answer).items():
            assert rouge(answer, references, variant=variant) == pytest.approx(score.fmeasure, abs=1e-9)


def test_tokenizers_equal_sacrebleu_on_every_character() -> None:
    """Every character of the basic plane, and some beyond, beside a letter and a digit."""
    western, chinese = Tokenizer13a(), TokenizerZh()
    for block in (*range(0, 0xD800, 256), *range(0xE000, 0x10000, 256), 0x20000, 0x1F600):
        text = " ".join(f"a{chr(code)}b 1{chr(code)}2" for code in range(block, block + 256))
        assert mteval_tokens(text) == western(text).split()
        assert zh_tokens(text) == chinese(text).split()
