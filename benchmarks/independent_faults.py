"""Faults planted by someone who has not read the rules: how many does ``faithfulness`` find?

Every sentence comes from prose that is on the machine. A number, a date, a name, a negation or an invented
clause is planted in it with a fixed seed; the answer is scored with the passage the sentence was in. A fault
is found where faithfulness falls below 1. Run with ``python -m benchmarks.independent_faults``.
"""

import random
from collections import Counter, defaultdict
from itertools import chain, zip_longest

from benchmarks._independent_plants import PASSES, plants
from benchmarks._independent_sentences import Sentence, is_chinese, is_long, sentences
from rag_evaluation_framework import evaluate

SEED, MOST, BATCH, MISSES = 20250407, 240, 500, 12


def drawn(kind: str, pool: list[Sentence], rng: random.Random) -> list[tuple[Sentence, str]]:
    """Draw plants of a kind: sources take turns; no sentence has a second before each has had one."""
    turns: dict[tuple[int, str], list[tuple[Sentence, str]]] = defaultdict(list)
    for sentence in rng.sample(pool, len(pool)):
        for at, answer in enumerate(plants(kind, sentence, rng)):
            turns[at, sentence.source].append((sentence, answer))
    passes = [[pairs for (at, _), pairs in turns.items() if at == number] for number in range(PASSES)]
    return [pair for lists in passes for pair in chain(*zip_longest(*lists)) if pair][:MOST]


def main() -> None:
    pools = defaultdict(list)
    for sentence in sentences():
        pools["zh" if is_chinese(sentence.text) else "en", is_long(sentence.text)].append(sentence)
    for kind in ("number", "date", "name", "negation", "invention", "unchanged"):
        missed = []
        for (language, at_length), pool in sorted(pools.items()):
            pairs = drawn(kind, pool, random.Random(f"{SEED} {kind} {language} {at_length}"))
            values = [
                value for at in range(0, len(pairs), BATCH) for value in faithfulness(pairs[at : at + BATCH])
            ]
            found = [value is not None and value < 1 for value in values]
            missed += [
                pair for pair, is_found in zip(pairs, found, strict=True) if is_found == (kind == "unchanged")
            ]
            sources = Counter(sentence.source for sentence, _ in pairs)
            hits = Counter(
                sentence.source for (sentence, _), is_found in zip(pairs, found, strict=True) if is_found
            )
            by_source = ", ".join(f"{source} {hits[source]}/{n}" for source, n in sources.items())
            print(
                f"{kind:10} {language} {'>=15' if at_length else '<15':5} {len(pairs):4} {sum(found):4} "
                f"{sum(found) / max(1, len(found)):.2f} unscored {values.count(None)} ({by_source})"
            )
        for sentence, answer in random.Random(SEED).sample(missed, min(MISSES, len(missed))):
            print(f"    {sentence.source}: {sentence.text}\n      -> {answer}")


def faithfulness(pairs: list[tuple[Sentence, str]]) -> list[float | None]:
    rows = [
        {"question": "What does it say?", "answer": answer, "contexts": [s.context]} for s, answer in pairs
    ]
    return [row.scores[0].value for row in evaluate(rows, metrics=["faithfulness"]).rows]


if __name__ == "__main__":
    main()
