"""Span metrics on columns of integers against one Python set of characters for each query.

Both sides of the comparison start from the same :class:`CharacterSpan` records and give the same numbers,
which is checked before anything is printed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from rag_evaluation_framework.metrics.spans import columns_of, count_characters, evaluate_spans, merge_spans
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId

Queries = Mapping[str, list[CharacterSpan]]
Result = TypeVar("Result")

DOCUMENTS = 200
DOCUMENT_CHARACTERS = 100_000
CHUNK_CHARACTERS = 1_000
REPETITIONS = 3


def main() -> None:
    """Print the CPU time of merging and scoring many spans, and the ratio to sets of characters."""
    rng = random.Random(0)
    print(f"{'task':<58}{'CPU s':>10}{'ratio':>9}")
    one_query = {"q": _spans(rng, 100_000)}, {"q": _spans(rng, 100_000)}
    _print_row("merge 100,000 spans", _cpu_seconds(lambda: merge_spans(one_query[0]["q"]))[0])
    _print_row("score 100,000 spans a side, records", _cpu_seconds(lambda: evaluate_spans(*one_query))[0])
    found, expected = columns_of([one_query[0]["q"]], [one_query[1]["q"]])
    seconds, _ = _cpu_seconds(lambda: count_characters(found, expected, queries=1))
    _print_row("score 100,000 spans a side, columns", seconds)

    retrieved = {f"q{number}": _spans(rng, 10) for number in range(10_000)}
    relevant = {query: _near(rng, spans) for query, spans in retrieved.items()}
    ours, report = _cpu_seconds(lambda: evaluate_spans(retrieved, relevant))
    theirs, scores = _cpu_seconds(lambda: _by_sets(retrieved, relevant), repetitions=1)
    for name, values in scores.items():
        assert report.per_query[name].tolist() == values, name
    _print_row("10,000 queries × 10 hits of 1,000 characters, ours", ours, theirs / ours)
    _print_row("the same, one set of characters a query", theirs, 1.0)


def _spans(rng: random.Random, count: int) -> list[CharacterSpan]:
    """Return hits of a retriever: chunks anywhere in the corpus."""
    starts = [rng.randrange(DOCUMENT_CHARACTERS - CHUNK_CHARACTERS) for _ in range(count)]
    return [
        CharacterSpan(DocumentId(f"doc{rng.randrange(DOCUMENTS)}"), start, start + CHUNK_CHARACTERS)
        for start in starts
    ]


def _near(rng: random.Random, spans: list[CharacterSpan]) -> list[CharacterSpan]:
    """Return two relevant passages, one of which lies across the edge of a hit."""
    hit = rng.choice(spans)
    return [CharacterSpan(hit.doc_id, hit.start + 500, hit.end + 200), *_spans(rng, 1)]


def _by_sets(retrieved: Queries, relevant: Queries) -> dict[str, list[float]]:
    """Compute recall, precision and IoU from one set of positions a side, as fast as sets allow."""
    scores: dict[str, list[float]] = {"span_recall": [], "span_precision": [], "span_iou": []}
    for query, truth in relevant.items():
        found, expected = _characters(retrieved[query]), _characters(truth)
        shared = len(found & expected)
        scores["span_recall"].append(shared / len(expected))
        scores["span_precision"].append(shared / len(found))
        scores["span_iou"].append(shared / (len(found) + len(expected) - shared))
    return scores


def _characters(spans: list[CharacterSpan]) -> set[int]:
    """Return the characters as integers, the documents laid end to end."""
    characters: set[int] = set()
    for span in spans:
        offset = int(span.doc_id.removeprefix("doc")) * (DOCUMENT_CHARACTERS + CHUNK_CHARACTERS)
        characters.update(range(offset + span.start, offset + span.end))
    return characters


def _cpu_seconds(task: Callable[[], Result], repetitions: int = REPETITIONS) -> tuple[float, Result]:
    """Return the least CPU time of several runs, and the last result."""
    least = float("inf")
    for _ in range(repetitions):
        begun = time.process_time()
        result = task()
        least = min(least, time.process_time() - begun)
    return least, result


def _print_row(task: str, seconds: float, ratio: float | None = None) -> None:
    print(f"{task:<58}{seconds:>10.3f}{'' if ratio is None else f'{ratio:8.1f}×':>9}")


if __name__ == "__main__":
    main()
