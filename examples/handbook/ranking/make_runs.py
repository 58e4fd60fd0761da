"""Rank the handbook's documents for every question by three systems and write TREC run files.

Three small, honest systems whose strengths differ, so that there is something to compare:

    bm25.run    BM25 over words (k1 = 1.2, b = 0.75); Chinese by characters and pairs of characters
    ngrams.run  cosine of TF-IDF vectors over hashed character 3-, 4- and 5-grams
    fused.run   reciprocal-rank fusion of the two

Every line is `query Q0 document rank score tag`, and every document is ranked for every question. Tools
differ in how they order equal scores, so none are written: ties are ordered by document id and then set apart
in the last decimal, and every tool reads the same ranking.

    python examples/handbook/ranking/make_runs.py                  # writes beside this file
    python examples/handbook/ranking/make_runs.py --output another/folder

The output depends on the documents and questions alone: same input, same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

HANDBOOK = Path(__file__).resolve().parent.parent

BM25_K1 = 1.2
BM25_B = 0.75
NGRAM_LENGTHS = (3, 4, 5)
HASH_BUCKETS = 2**18
DECIMALS = 5  # of a written score: fine enough for fusion, coarse enough to survive 32-bit floats
FUSION_K = 60  # Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009

CHINESE = re.compile(r"[\u4e00-\u9fff]+")
WORD = re.compile(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+")

Vector = npt.NDArray[np.float64]
Ranking = list[tuple[str, float]]
Rankings = dict[str, Ranking]


def words(text: str) -> list[str]:
    """Case-folded words; a stretch of Chinese gives its characters and its pairs of neighbours."""
    found: list[str] = []
    for piece in WORD.findall(text.casefold()):
        if CHINESE.match(piece):
            found += [*piece, *(piece[i : i + 2] for i in range(len(piece) - 1))]
        else:
            found.append(piece)
    return found


def ranked(scores: dict[str, float]) -> Ranking:
    """Best first, equal scores by document id; the score after a tie is lowered until it differs."""
    # Nine decimals, so that the last bits of another machine's arithmetic cannot change the order.
    order = sorted(scores, key=lambda document: (-round(scores[document], 9), document))
    ranking: Ranking = []
    ceiling = math.inf
    for document in order:
        written = min(round(scores[document], DECIMALS), ceiling)
        ceiling = round(written - 10**-DECIMALS, DECIMALS)
        ranking.append((document, written))
    return ranking


def rank_by_bm25(documents: dict[str, str], questions: dict[str, str]) -> Rankings:
    """BM25 as Robertson and Zaragoza (2009) give it, with the idf that stays positive (log of 1 + odds)."""
    counts = {document: Counter(words(text)) for document, text in documents.items()}
    lengths = {document: sum(count.values()) for document, count in counts.items()}
    mean_length = sum(lengths.values()) / len(lengths)
    holders = Counter(word for count in counts.values() for word in count)

    def score(document: str, query_words: list[str]) -> float:
        total = 0.0
        norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths[document] / mean_length)
        for word in query_words:
            frequency = counts[document][word]
            if frequency:
                idf = np.log1p((len(documents) - holders[word] + 0.5) / (holders[word] + 0.5))
                total += float(idf) * frequency * (BM25_K1 + 1) / (frequency + norm)
        return total

    return {
        query: ranked({document: score(document, words(text)) for document in documents})
        for query, text in questions.items()
    }


def ngram_counts(text: str) -> Vector:
    """How often each hash bucket is hit by the character n-grams of the text, white space made single."""
    flat = " ".join(text.casefold().split())
    grams = [flat[i : i + n] for n in NGRAM_LENGTHS for i in range(len(flat) - n + 1)]
    # CRC-32 and not hash(), which differs from one Python process to the next.
    buckets = [zlib.crc32(gram.encode("utf-8")) % HASH_BUCKETS for gram in grams]
    return np.bincount(buckets, minlength=HASH_BUCKETS).astype(np.float64)


def rank_by_ngrams(documents: dict[str, str], questions: dict[str, str]) -> Rankings:
    """Cosine between vectors of (1 + log tf) × idf, with idf counted over the documents."""
    counts = np.stack([ngram_counts(text) for text in documents.values()])
    idf = np.log((1 + len(documents)) / (1 + (counts > 0).sum(axis=0))) + 1

    def weigh(count: Vector) -> Vector:
        weights = np.log1p(np.maximum(count - 1, 0)) + (count > 0)
        vector: Vector = weights * idf
        return vector / np.linalg.norm(vector)

    matrix = np.stack([weigh(count) for count in counts])
    return {
        query: ranked(dict(zip(documents, (matrix @ weigh(ngram_counts(text))).tolist(), strict=True)))
        for query, text in questions.items()
    }


def fuse(*systems: Rankings) -> Rankings:
    """Reciprocal-rank fusion: a document scores the sum of 1 / (60 + its rank) over the systems."""
    fused: Rankings = {}
    for query in systems[0]:
        totals = dict.fromkeys((document for document, _ in systems[0][query]), 0.0)
        for rankings in systems:
            for rank, (document, _) in enumerate(rankings[query], start=1):
                totals[document] += 1 / (FUSION_K + rank)
        fused[query] = ranked(totals)
    return fused


def write_run(path: Path, rankings: Rankings) -> None:
    lines = [
        f"{query} Q0 {document} {rank} {score:.{DECIMALS}f} {path.stem}\n"
        for query, ranking in rankings.items()
        for rank, (document, score) in enumerate(ranking, start=1)
    ]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Rank the handbook's documents for every question.")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).resolve().parent, help="folder to write to"
    )
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    documents = {
        path.name: path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("documents/*.md"))
    }
    dataset = json.loads((HANDBOOK / "questions.eval.json").read_text(encoding="utf-8"))
    questions = {query["query_id"]: query["query_text"] for query in dataset["queries"]}

    bm25 = rank_by_bm25(documents, questions)
    ngrams = rank_by_ngrams(documents, questions)
    write_run(output / "bm25.run", bm25)
    write_run(output / "ngrams.run", ngrams)
    write_run(output / "fused.run", fuse(bm25, ngrams))


if __name__ == "__main__":
    main()
