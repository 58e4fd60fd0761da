"""Offline scoring of samples with five contexts each, on one core: screening, faithfulness, eight metrics."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.judging.lexical_support import screen_answer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn

SAMPLES = 10_000
CONTEXTS = 5
SENTENCES_IN_CONTEXT = 6
SENTENCES_IN_ANSWER = 5
WORDS = 20_000
REQUIRED = 500
TOGETHER = (
    "faithfulness",
    "grounded_fraction",
    "answer_relevancy",
    "answer_correctness",
    "context_precision",
    "over_refusal",
    "toxicity",
    "citation_f1",
)


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


def screen_all() -> tuple[float, int, int]:
    """Return the CPU seconds that screening took, the characters read, and the claims not supported."""
    took, characters, unsupported = 0.0, 0, 0
    for answer, contexts, question in samples(random.Random(0), SAMPLES):
        characters += len(answer) + sum(map(len, contexts))
        start = time.process_time()
        screening = screen_answer(answer, contexts, question=question)
        took += time.process_time() - start
        unsupported += len(screening.unsupported)
    return took, characters, unsupported


def score_all(metrics: Sequence[str], count: int, *, is_cited: bool = False) -> float:
    """Return the CPU seconds that scoring took, all metrics of an answer one after the other, as in a run.

    With ``is_cited`` the answers cite, and there is a reference: what some metrics need.
    """
    scorers = scorers_for(metrics)
    took = 0.0
    for answer, contexts, question in samples(random.Random(0), count):
        turns = (Turn(role="user", content=question),)
        sample = Sample(id="1", turns=turns, reference=contexts[0] if is_cited else None)
        response = Response(text=cited(answer) if is_cited else answer, contexts=tuple(contexts))
        start = time.process_time()
        for scorer in scorers:
            scorer.score(sample, response)
        took += time.process_time() - start
    return took


def cited(answer: str) -> str:
    """Let every sentence but the last cite a context, whether it comes from it or not."""
    first, *others = answer.split(". ")
    return first + "".join(f" [{1 + number % CONTEXTS}]. {other}" for number, other in enumerate(others))


def main() -> None:
    screened, characters, unsupported = screen_all()
    scored = score_all(["faithfulness"], SAMPLES)
    together = score_all(TOGETHER, SAMPLES // 5, is_cited=True)
    each = characters / SAMPLES
    print(f"{SAMPLES:,} samples of {CONTEXTS} contexts, all different; {each:,.0f} characters each")
    print(f"{'screened a CPU second':<28}{SAMPLES / screened:>10,.0f}   at least {REQUIRED} asked for")
    print(f"{'faithfulness a CPU second':<28}{SAMPLES / scored:>10,.0f}   at least {REQUIRED} asked for")
    title = f"{len(TOGETHER)} metrics a CPU second"
    print(f"{title:<28}{SAMPLES // 5 / together:>10,.0f}   {', '.join(TOGETHER)}")
    print(f"{'characters a CPU second':<28}{characters / screened:>10,.0f}")
    print(f"{'claims not supported':<28}{unsupported:>10,}")
    print(f"{'peak memory':<28}{peak_megabytes():>10,.0f} MB")


if __name__ == "__main__":
    main()
