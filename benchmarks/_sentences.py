"""Where sentences end, against the dev files of two treebanks: UD English EWT and UD Chinese GSDSimp.

``python -m benchmarks._sentences FILE.conllu …`` measures any other Chinese treebank.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._figures import Figure, print_figures
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.text.sentences import sentence_spans

Counts = npt.NDArray[np.signedinteger[Any]]

FINAL = ".!?…\"”')"
_PLAIN_CHINESE = re.compile("[。！？]+[”’」』）》】]*")
_BLOCK = 20
_RESAMPLES = 2_000


def treebank(path: Path) -> list[str]:
    """Return the sentences of a treebank, in order."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [line.removeprefix("# text = ") for line in text.splitlines() if line.startswith("# text = ")]


def rows(data: Path) -> list[Figure]:
    """Return F1 of the boundaries that are found when the sentences are joined into one text."""
    folder = data / "sentence_split"
    if not folder.exists():
        return []
    chinese = treebank(folder / "zh_gsdsimp-ud-dev.conllu")
    english = treebank(folder / "en_ewt-ud-dev.conllu.gz")
    punctuated = [sentence for sentence in english if sentence[-1] in FINAL]
    return [
        *chinese_rows("Chinese", chinese),
        boundaries(
            "English with final punctuation: F1", punctuated, gap=" ", published="sentencex, measured: 0.977"
        ),
        boundaries("English, all: F1", english, gap=" "),
    ]


def chinese_rows(name: str, sentences: Sequence[str]) -> list[Figure]:
    """Return F1 of Chinese sentences run together, and of the control."""
    return [
        boundaries(f"{name}: F1", sentences, gap=""),
        boundaries(f"{name}, control: after every 。！？: F1", sentences, gap="", ends_of=plain_chinese_ends),
    ]


def found_ends(text: str) -> list[int]:
    return [end for _, end in sentence_spans(text)]


def plain_chinese_ends(text: str) -> list[int]:
    """End a sentence after every 。！？ with what closes after it: a control with nothing to tune."""
    return sorted({match.end() for match in _PLAIN_CHINESE.finditer(text)} | {len(text)})


def boundaries(
    name: str,
    sentences: Sequence[str],
    *,
    gap: str,
    published: str = "",
    ends_of: Callable[[str], list[int]] = found_ends,
) -> Figure:
    """Return F1 of the ends that are found in the sentences joined by the gap.

    Neighbouring sentences are of one text: the interval draws blocks of them, not single ones.
    """
    lengths = np.cumsum([len(sentence) + len(gap) for sentence in sentences]) - len(gap)
    found = np.array(ends_of(gap.join(sentences)))
    block_of_found = np.searchsorted(lengths, found) // _BLOCK
    count = -(-len(sentences) // _BLOCK)
    hits = np.bincount(block_of_found[np.isin(found, lengths)], minlength=count)
    ends = np.bincount(np.arange(len(lengths)) // _BLOCK, minlength=count)
    sizes = ends + np.bincount(block_of_found, minlength=count)
    return _f1(name, len(sentences), hits, sizes, published)


def boundaries_of(name: str, texts: Sequence[tuple[str, set[int]]]) -> Figure:
    """Return F1 of the ends that are found in texts whose ends are known; the interval draws texts."""
    found = [set(found_ends(text)) for text, _ in texts]
    hits = np.array([len(ends & known) for ends, (_, known) in zip(found, texts, strict=True)])
    sizes = np.array([len(ends) + len(known) for ends, (_, known) in zip(found, texts, strict=True)])
    return _f1(name, sum(len(known) for _, known in texts), hits, sizes)


def _f1(name: str, n: int, hits: Counts, sizes: Counts, published: str = "") -> Figure:
    drawn = generator(0).integers(0, len(hits), (_RESAMPLES, len(hits)))
    resampled = 2 * hits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
    return Figure(name, n, float(2 * hits.sum() / sizes.sum()), low, high, published)


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        print_figures(path.name, chinese_rows("all sentences", treebank(path)))


if __name__ == "__main__":
    main()
