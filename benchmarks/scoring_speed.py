"""Offline scoring of 10,000 samples with five contexts each, on one core: screening, and faithfulness."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.evaluation.scorers.named_scorers import scorers_for
from rag_evaluation_framework.judging.support.evidence_texts import evidence_text
from rag_evaluation_framework.judging.support.screening import screen_answer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn

SAMPLES = 10_000
CONTEXTS = 5
SENTENCES_IN_CONTEXT = 6
SENTENCES_IN_ANSWER = 5
WORDS = 20_000
REQUIRED = 500


def vocabulary(rng: random.Random) -> list[str]:
    """Make words up; how often each is used falls as in natural text, so that the caches help no more."""
    syllables = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
    return ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(WORDS)]


def samples(rng: random.Random, count: int) -> Iterator[tuple[str, list[str], str]]:
    """Yield an answer, its contexts and its question; half the answer's sentences come from a context."""
    words = vocabulary(rng)
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    pool = rng.choices(words, weights, k=1_000_000)
    grammar = ("the", "of", "and", "in", "is", "was", "with", "for")

    def sentence() -> str:
        chosen = [rng.choice(grammar if rng.random() < 0.4 else pool) for _ in range(rng.randint(10, 24))]
        if rng.random() < 0.3:
            chosen.insert(rng.randrange(len(chosen)), f"{rng.randrange(1, 5000):,}")
        return " ".join(chosen).capitalize() + "."

    for _ in range(count):
        contexts = [[sentence() for _ in range(SENTENCES_IN_CONTEXT)] for _ in range(CONTEXTS)]
        answer = [
            rng.choice(rng.choice(contexts)) if rng.random() < 0.5 else sentence()
            for _ in range(SENTENCES_IN_ANSWER)
        ]
        yield " ".join(answer), [" ".join(context) for context in contexts], sentence()


def main() -> None:
    (faithfulness,) = scorers_for(["faithfulness"])
    screened = scored = 0.0
    characters = unsupported = 0
    for answer, contexts, question in samples(random.Random(0), SAMPLES):
        characters += len(answer) + sum(map(len, contexts))
        start = time.process_time()
        screening = screen_answer(answer, contexts, question=question)
        screened += time.process_time() - start
        unsupported += len(screening.unsupported)
        evidence_text.cache_clear()  # or the second would find the contexts read
        sample = Sample(id="1", turns=(Turn(role="user", content=question),))
        start = time.process_time()
        faithfulness.score(sample, Response(text=answer, contexts=tuple(contexts)))
        scored += time.process_time() - start
    each = characters / SAMPLES
    print(f"{SAMPLES:,} samples of {CONTEXTS} contexts, all different; {each:,.0f} characters each")
    print(f"{'screened a CPU second':<28}{SAMPLES / screened:>10,.0f}   at least {REQUIRED} asked for")
    print(f"{'faithfulness a CPU second':<28}{SAMPLES / scored:>10,.0f}   at least {REQUIRED} asked for")
    print(f"{'characters a CPU second':<28}{characters / screened:>10,.0f}")
    print(f"{'claims not supported':<28}{unsupported:>10,}")
    print(f"{'peak memory':<28}{peak_megabytes():>10,.0f} MB")


if __name__ == "__main__":
    main()
