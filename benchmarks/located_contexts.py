"""Looking up contexts that came as plain text, against searching every document for each of them.

Both find the same places, which is checked before the ratio is printed. Of ten contexts, four are excerpts of
a document to the letter, three have other white space, and three stand in no document: one has letters of
another width, two have a word too many. A tenth of the documents is in Chinese, and some paragraphs are in
many documents.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TypeVar

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.judging.cited_texts import SearchedDocuments
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentId
from rag_evaluation_framework.text.search import SqueezedText, exact_places, without_dots, without_spaces
from rag_evaluation_framework.text.shingles import ShingleIndex
from rag_evaluation_framework.text.spans import Span

DOCUMENTS = 5_000
WORDS = 20_000
SAMPLES = 200
CONTEXTS = 5
REQUIRED = 20

Places = Sequence[CharacterSpan]
Result = TypeVar("Result")


def main() -> None:
    """Print the CPU time of a sample by both, and the memory that looking up takes."""
    rng = random.Random(0)
    documents = list(_documents(rng))
    contexts = [_context(rng, documents, number) for number in range(SAMPLES * CONTEXTS)]
    millions = sum(len(document.content) for document in documents) / 1e6
    print(f"{DOCUMENTS:,} documents of {millions:.0f} million characters, {SAMPLES} samples of {CONTEXTS}")
    before = peak_megabytes()
    found = _looked_up(documents, contexts)
    memory = peak_megabytes() - before
    ours, _ = _cpu_seconds(lambda: _looked_up(documents, contexts), tries=3)
    index, _ = _cpu_seconds(lambda: ShingleIndex(document.content for document in documents), tries=3)
    plain, expected = _cpu_seconds(lambda: list(map(plain_search(documents), contexts)), tries=1)
    assert found == expected
    assert sum(map(bool, found)) / len(found) == 0.7
    print(f"{'the index, once':<28}{1000 * index:>10.0f} ms")
    print(f"{'looked up, index included':<28}{1000 * ours / SAMPLES:>10.1f} ms a sample, {memory:.0f} MB")
    print(f"{'every document searched':<28}{1000 * plain / SAMPLES:>10.1f} ms a sample")
    print(f"{'ratio':<28}{plain / ours:>10.0f}×   at least {REQUIRED}× asked for")


def vocabulary(rng: random.Random) -> list[str]:
    """Make words up."""
    syllables = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
    return ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(WORDS)]


def plain_search(documents: Sequence[Document]) -> Callable[[str], Places]:
    """Return a search through all documents, which keeps their characters without white space."""
    characters, squeezed = cache(without_spaces), lru_cache(maxsize=64)(SqueezedText)

    def to_the_letter(wanted: str, text: str) -> list[Span]:
        return exact_places(wanted, text, Span(0, len(text)))

    def with_other_spaces(wanted: str, text: str) -> list[Span]:
        if without_spaces(wanted) not in characters(text):
            return []
        return squeezed(text).places(wanted, Span(0, len(text)))

    def search(context: str) -> Places:
        for wanted in filter(str.strip, dict.fromkeys((context, without_dots(context)))):
            for places in (to_the_letter, with_other_spaces):
                if found := [
                    CharacterSpan(document.id, place.start, place.end)
                    for document in documents
                    for place in places(wanted, document.content)
                ]:
                    return found
        return []

    return search


def _looked_up(documents: Sequence[Document], contexts: Sequence[str]) -> list[Places]:
    searched = SearchedDocuments(documents)
    return [searched.places_of(context, None) for context in contexts]


def _documents(rng: random.Random) -> Iterator[Document]:
    """Yield documents of two to ten thousand characters."""
    words = vocabulary(rng)
    english = rng.choices(words, [1 / (rank + 1) for rank in range(len(words))], k=1_000_000)
    chinese = [chr(code) for code in range(0x4E00, 0x5400)]
    shared = [" ".join(rng.choices(english, k=80)) for _ in range(20)]
    for number in range(DOCUMENTS):
        length = rng.randint(2_000, 10_000)
        paragraphs: list[str] = []
        while sum(map(len, paragraphs)) < length:
            if rng.random() < 0.01:
                paragraphs.append(rng.choice(shared))
            elif number % 10:
                paragraphs.append(" ".join(rng.choices(english, k=80)).capitalize() + ".")
            else:
                paragraphs.append("".join(rng.choices(chinese, k=150)) + "。")
        yield Document(DocumentId(f"doc_{number}"), "\n\n".join(paragraphs)[:length])


def _context(rng: random.Random, documents: Sequence[Document], number: int) -> str:
    """Return an excerpt of a document; what is done to it depends on its number."""
    content = rng.choice(documents).content
    start = rng.randrange(len(content) - 1_000)
    excerpt = content[start : start + rng.randint(200, 1_000)].strip()
    match number % 10:
        case 0:
            return f"{excerpt} ｗｉｄｅ"
        case 1 | 2:
            return f"{excerpt[:100]} another {excerpt[100:]}"
        case 3 | 4 | 5:
            return "\n".join(excerpt.split())
        case _:
            return excerpt


def _cpu_seconds(task: Callable[[], Result], *, tries: int) -> tuple[float, Result]:
    """Return the least CPU time of several tries, and the last result."""
    least = float("inf")
    for _ in range(tries):
        begun = time.process_time()
        result = task()
        least = min(least, time.process_time() - begun)
    return least, result


if __name__ == "__main__":
    main()
