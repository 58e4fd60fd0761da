"""TREC judgements as samples: ``query iteration document grade`` a line, with the questions beside them.

Judgements name queries by id alone. The questions of ``web.qrels`` are read from ``web.topics.tsv`` where
that file exists, ``id<tab>question`` a line; without it the samples have ids and relevant documents, and no
words.
Both files are written together, the second only where there is something to say in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.dialects.rankings import (
    Qrels,
    fits_column,
    qrels_lines,
    read_iterations,
    read_qrels,
)
from rag_evaluation_framework.errors import Issue, Problems, shown
from rag_evaluation_framework.files.atomic_group import atomic_group
from rag_evaluation_framework.files.compression import compressing, named_compression
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.files.values import has_lone_surrogate
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.samples import Origin, Sample, Turn

NAME = "trec"
COLUMNS = ("query", "iteration", "document", "grade")

_ITERATIONS = "iterations"


class Trec:
    """The dialect of TREC judgements, with or without topics."""

    name = NAME
    suffixes = (".qrels", ".trec")
    holds = frozenset({"id", "question", "relevant_documents", "grades"})

    def recognises(self, preview: Preview) -> bool:
        return preview.layout == "table" and tuple(preview.record) == COLUMNS

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=NAME)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield the queries: those of the topics in their order, then those that are only judged."""
        topics: dict[str, str] = {}
        qrels: Qrels = {}
        problems = Problems()
        with problems.collected():
            topics = _read_topics(topics_path(path))
        with problems.collected():
            qrels = read_qrels(path, format="trec", may_be_empty=bool(topics))
        problems.raise_all()
        iterations = read_iterations(path)
        for query in dict.fromkeys((*topics, *qrels)):
            said = iterations.get(query)
            yield Sample(
                id=query,
                turns=(Turn(role="user", content=topics.get(query, "")),),
                relevant_documents=qrels.get(query, {}),
                extra={_ITERATIONS: said} if said else {},
                origin=Origin(NAME, str(path)),
            )

    def write(self, dataset: Dataset, path: Path) -> None:
        problems = FileProblems(str(path))
        problems.extend(_unwritable(dataset))
        problems.raise_if_any()
        qrels = {sample.id: dict(sample.relevant_documents) for sample in dataset.samples}
        iterations = {sample.id: _iterations(sample) for sample in dataset.samples}
        beside = topics_path(path)
        has_topics = beside.exists() or any(
            sample.question or not sample.relevant_documents for sample in dataset.samples
        )
        with atomic_group([path, beside] if has_topics else [path]) as (file, *topics):
            with compressing(file, named_compression(path)) as stream:
                for line in qrels_lines(qrels, iterations=iterations):
                    stream.write(line)
            for stream in topics:
                for sample in dataset.samples:
                    stream.write(f"{sample.id}\t{sample.question}\n".encode())


TREC = Trec()


def topics_path(path: Path) -> Path:
    """Return where the questions of a file of judgements stand."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    stem = name.rpartition(".")[0] or name
    return path.with_name(f"{stem}.topics.tsv")


def _iterations(sample: Sample) -> Mapping[str, str]:
    is_own = sample.origin is None or sample.origin.dialect == NAME
    said: Mapping[str, str] = sample.extra.get(_ITERATIONS, {}) if is_own else {}
    return said


def _read_topics(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    problems = FileProblems(str(path))
    topics: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line:
            continue
        query, tab, question = line.partition("\t")
        if not tab or not query.strip():
            problems.add(Issue("wrong-columns", "a query id, a tab and a question", shown(line), line=number))
        elif query in topics:
            problems.add(Issue("duplicate-id", "each query once", f"{query!r} again", line=number))
        else:
            topics[query] = question.removesuffix("\r")
    problems.raise_if_any()
    return topics


def _unwritable(dataset: Dataset) -> Iterator[Issue]:
    """Yield what lines and columns cannot hold."""
    for sample in dataset.samples:
        where = f"sample {sample.id!r}"
        for name in (sample.id, *sample.relevant_documents):
            if not fits_column(name, format="trec"):
                yield Issue("unwritable-id", "an id without white space", shown(name), where)
        question = sample.question
        if "\n" in question or question.endswith("\r") or has_lone_surrogate(question):
            yield Issue("unwritable-text", "a question on one line", shown(question), where)
