"""What the questions made without a model are worth, and how fast they are made.

Worth: do they put chunkers in the same order as questions with a truth that others made? Kendall's tau
between the two orders, by BM25 and by the hashing embedder, at token level with k = 5. Its interval resamples
the questions of both sets; beside it stands what the others' truth reaches against resamples of itself, which
is the most that can be asked for. Twice: on the handbook in ``examples/`` (truth by hand) and on the corpora
of Chroma's chunking report (``shared/data/chroma_chunking`` beside the repository, truth by a language model
and checked). The rules were settled on the first; the second was looked at along the way: neither is blind.

Speed: a thousand documents from templates, from files to a dataset, in a process of its own.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmarks._template_documents import write_documents
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.evaluation.evaluate import evaluate
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.records.samples import Dataset, Sample, Turn
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.synthesis.extractive import generate_extractively

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
REPORT = Path(__file__).parents[2] / "shared" / "data" / "chroma_chunking"
FIVE = (
    "recursive(chunk_size=200)",
    "recursive(chunk_size=200, overlap=50)",
    "recursive(chunk_size=500)",
    "fixed(tokens=100)",
    "semantic(embedder=hashing)",
)
MORE = (
    "sentence(chunk_size=400)",
    "sentence(chunk_size=200)",
    "recursive(chunk_size=1000, overlap=200)",
    "recursive(chunk_size=400, overlap=100)",
    "fixed(tokens=50)",
    "fixed(tokens=200, overlap=50)",
    "markdown(chunk_size=1000)",
)
METRICS = ("span_recall", "span_precision", "span_iou")
K = 5
RESAMPLES = 1000
DOCUMENTS = 1000

Floats = npt.NDArray[np.float64]
Scores = dict[str, dict[str, Floats]]
"""By retriever and metric: a row for each chunker, a column for each question."""


def main() -> None:
    """Print Kendall's tau with its interval on both corpora, and what a thousand documents take."""
    _print_head()
    corpus = Corpus.from_folder(HANDBOOK / "documents")
    _compare("handbook", corpus, read_dataset(HANDBOOK / "questions.eval.json"), queries_per_doc=10)
    if REPORT.is_dir():
        corpus = Corpus.from_folder(REPORT / "corpora")
        _compare("chroma report", corpus, _report_questions(), queries_per_doc=100)
    else:
        print(f"no {REPORT}: the second corpus is left out")
    _print_speed()


def _compare(name: str, corpus: Corpus, truth: Dataset, *, queries_per_doc: int) -> None:
    made = generate_extractively(corpus, queries_per_doc=queries_per_doc).dataset
    print(f"\n{name}: {len(truth)} questions with a truth, {len(made)} made without a model")
    theirs, ours = _scores(corpus, truth), _scores(corpus, made)
    for retriever, by_metric in theirs.items():
        for metric, table in by_metric.items():
            cells = []
            for chunkers in (len(FIVE), len(FIVE + MORE)):
                pair = table[:chunkers], ours[retriever][metric][:chunkers]
                low, high = _interval(*pair)
                cells.append(f"{_tau(*(each.mean(axis=1) for each in pair)):>6.2f} ({low:.2f} to {high:.2f})")
            low, high = _interval(table, table)
            print(f"{retriever:<7}{metric:<16}{cells[0]:<26}{cells[1]:<26}{low:.2f} to {high:.2f}")


def _scores(corpus: Corpus, dataset: Dataset) -> Scores:
    grid = grid_of(
        chunkers=FIVE + MORE,
        embedders=[HashingEmbedder()],
        retrievers=["bm25", "dense"],
        vector_stores=[ExactVectorStore()],
        k=[K],
    )
    rows: dict[str, dict[str, list[list[float]]]] = {}
    sweep = evaluate(dataset, target=grid, documents=corpus, options=Options(level="token"))
    for each in sorted(sweep.parts.values(), key=lambda part: part.head.run_id):  # as in the grid
        retriever = each.head.configuration["retriever"].partition("(")[0]
        for metric in METRICS:
            values = list(each.columns.scored(metric).values())
            rows.setdefault(retriever, {}).setdefault(metric, []).append(values)
    return {
        retriever: {metric: np.array(values) for metric, values in by_metric.items()}
        for retriever, by_metric in rows.items()
    }


def _interval(theirs: Floats, ours: Floats) -> tuple[float, float]:
    rng = generator(0)
    taus = []
    for _ in range(RESAMPLES):
        means = [
            each[:, rng.integers(0, each.shape[1], each.shape[1])].mean(axis=1) for each in (theirs, ours)
        ]
        taus.append(_tau(*means))
    low, high = np.quantile(taus, [0.025, 0.975]).tolist()
    return low, high


def _tau(first: Floats, second: Floats) -> float:
    """Return Kendall's tau-b of two orders; pairs that are equal in both count for neither."""
    one, other = np.triu_indices(len(first), 1)
    signs = [np.sign(np.round(each[one] - each[other], 12)) for each in (first, second)]
    untied = np.sqrt(np.count_nonzero(signs[0]) * np.count_nonzero(signs[1]))
    return float((signs[0] * signs[1]).sum() / untied) if untied else 0.0


def _report_questions() -> Dataset:
    with (REPORT / "questions.csv").open(encoding="utf-8", newline="") as file:
        samples = tuple(_report_samples(list(csv.DictReader(file))))
    return Dataset(samples=samples, dialect="chroma-report")


def _report_samples(rows: Sequence[dict[str, str]]) -> Iterator[Sample]:
    for number, row in enumerate(rows):
        yield Sample(
            id=str(number),
            turns=(Turn(role="user", content=row["question"]),),
            relevant_spans=tuple(
                SpanCitation(f"{row['corpus_id']}.md", each["start_index"], each["end_index"])
                for each in json.loads(row["references"])
            ),
        )


def _print_head() -> None:
    head = f"{'':<23}{'five chunkers':<26}{'twelve chunkers':<26}truth against itself"
    print(f"Kendall's tau with its 95 % interval\n{head}")


def _print_speed() -> None:
    with TemporaryDirectory() as name:
        characters = write_documents(Path(name) / "documents", DOCUMENTS)
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks._synthesis_run", name],
            capture_output=True,
            text=True,
            check=True,
        )
    questions, seconds, megabytes = run.stdout.split()
    took = f"{int(questions):,} questions, {float(seconds):.1f} s CPU, {float(megabytes):.0f} MB"
    print(f"\n{DOCUMENTS:,} documents, {characters / 1e6:.1f} million characters: {took}")


if __name__ == "__main__":
    main()
