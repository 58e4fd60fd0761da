"""Figures of a dataset or a folder of documents: counts, lengths, and the share of documents with questions.

Line files are read as a stream; what is kept are counts by label, by length and by document.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.dialect import FieldMap
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError
from rag_evaluation_framework.files.extraction import extract_text
from rag_evaluation_framework.records.samples import Dataset, Sample

MOST_USED = 10
"""So many of the documents that most queries need are named."""

_LABELS = ("query_type", "difficulty", "category", "expectation", "tag")


class Lengths:
    """Lengths in characters, kept as how often each occurs: exact percentiles in little memory."""

    def __init__(self, lengths: Iterable[int] = ()) -> None:
        self.counts: Counter[int] = Counter(lengths)

    def add(self, length: int) -> None:
        self.counts[length] += 1

    def __len__(self) -> int:
        return self.counts.total()

    def percentile(self, percent: float) -> int:
        """Return the smallest length that at least so many percent do not exceed (the nearest rank)."""
        wanted = len(self) * percent / 100
        reached = 0
        for length in sorted(self.counts):
            reached += self.counts[length]
            if reached >= wanted:
                return length
        raise InputError([Issue("empty", "at least one length", "none")])

    def summary(self) -> dict[str, int]:
        """Return count, smallest, median, 95th percentile, largest and sum; only the count when it is 0."""
        if not self.counts:
            return {"count": 0}
        return {
            "count": len(self),
            "min": min(self.counts),
            "median": self.percentile(50),
            "p95": self.percentile(95),
            "max": max(self.counts),
            "total": sum(length * count for length, count in self.counts.items()),
        }

    def bins(self) -> list[tuple[int, int, int]]:
        """Return (from, to, count) in steps that double, from the shortest length to the longest."""
        grouped = Counter[int]()
        for length, count in self.counts.items():
            grouped[length.bit_length()] += count
        if not grouped:
            return []
        steps = range(min(grouped), max(grouped) + 1)
        return [(1 << step >> 1, max((1 << step) - 1, 0), grouped[step]) for step in steps]


class Coverage(msgspec.Struct, frozen=True):
    """The documents that the queries need. ``documents`` is ``None`` where the file does not have any."""

    relevant: int
    documents: int | None = None
    covered: int | None = None
    missing: int | None = None
    most_used: tuple[tuple[str, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a plain value."""
        used = [{"document": document, "queries": count} for document, count in self.most_used]
        return {**msgspec.to_builtins(self), "most_used": used}


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset, or a folder of documents, in figures."""

    path: str
    dialect: str | None
    dataset_id: str | None = None
    version: str | None = None
    samples: int | None = None
    having: Mapping[str, int] = {}
    """Number of samples that have a reference, relevant documents, spans, contexts, several questions."""
    labels: Mapping[str, Mapping[str, int]] = {}
    """Number of occurrences of each value of a label, most frequent first; absent labels are left out."""
    lengths: Mapping[str, Lengths] = {}
    coverage: Coverage | None = None
    files: Mapping[str, int] = {}
    """Number of files in a folder of documents, by suffix."""
    unreadable: tuple[str, ...] = ()
    """Files in a folder of documents whose text cannot be read."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a plain value."""
        figures = msgspec.structs.asdict(self)
        lengths = {name: lengths.summary() for name, lengths in self.lengths.items()}
        coverage = None if self.coverage is None else self.coverage.to_dict()
        return {**figures, "lengths": lengths, "coverage": coverage}


def overview(path: str | Path, *, format: str | None = None, map: FieldMap | None = None) -> Overview:
    """Count what is in a dataset of any dialect, in plain rows, or in a folder of documents."""
    path = Path(path)
    try:
        dialect = recognise(path, format=format, map=map)
    except InputError:
        if path.is_dir() and format is None:
            return _of_documents(path)
        raise
    tally, dataset = _Tally(), Dataset(samples=(), dialect=dialect.name)
    if is_read := "dataset.documents" in dialect.holds:
        dataset = dialect.read(path)
    for sample in dataset.samples if is_read else dialect.stream(path):
        tally.add(sample)
    return tally.overview(path, dataset)


class _Tally:
    """Counts samples one by one."""

    def __init__(self) -> None:
        self.samples = 0
        self.having: Counter[str] = Counter()
        self.labels: dict[str, Counter[str]] = {label: Counter() for label in _LABELS}
        self.lengths = {
            name: Lengths() for name in ("questions", "references", "contexts", "reference_contexts", "spans")
        }
        self.relevant: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        self.samples += 1
        questions = [turn.content for turn in sample.turns if turn.role == "user" and turn.content]
        references = [text for text in (sample.reference, *(turn.reference for turn in sample.turns)) if text]
        contexts = sample.recorded.contexts if sample.recorded else ()
        relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
        for name, texts in (
            ("questions", questions),
            ("references", references),
            ("contexts", contexts),
            ("reference_contexts", sample.reference_contexts),
        ):
            self.lengths[name].counts.update(map(len, texts))
        self.lengths["spans"].counts.update(span.size for span in sample.relevant_spans)
        self.relevant.update(relevant)
        for what, there in (
            ("reference", references),
            ("contexts", contexts),
            ("relevant_documents", relevant),
            ("relevant_spans", sample.relevant_spans),
            ("relevant_chunks", sample.relevant_chunk_ids),
            ("several_questions", questions[1:]),
        ):
            self.having[what] += bool(there)
        for label, value in _labelled(sample):
            self.labels[label][value] += 1

    def overview(self, path: Path, dataset: Dataset) -> Overview:
        """Return the figures; ``dataset`` has what a file says besides its samples."""
        sizes = {document.id: len(document.content) for document in dataset.documents}
        if sizes:
            self.lengths["documents"] = Lengths(sizes.values())
        return Overview(
            path=str(path),
            dialect=dataset.dialect,
            dataset_id=dataset.dataset_id,
            version=dataset.version,
            samples=self.samples,
            having={what: count for what, count in self.having.items() if count},
            labels={label: dict(counts.most_common()) for label, counts in self.labels.items() if counts},
            lengths={name: lengths for name, lengths in self.lengths.items() if lengths.counts},
            coverage=self._coverage(sizes) if self.relevant or sizes else None,
        )

    def _coverage(self, documents: Mapping[Any, int]) -> Coverage:
        # Equal counts in the order of the ids, so that the same data give the same list.
        ranked = sorted(self.relevant.items(), key=lambda item: (-item[1], item[0]))[:MOST_USED]
        if not documents:
            return Coverage(len(self.relevant), most_used=tuple(ranked))
        covered = sum(document in self.relevant for document in documents)
        missing = len(self.relevant) - covered
        return Coverage(len(self.relevant), len(documents), covered, missing, tuple(ranked))


def _labelled(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the labels a sample has."""
    for label in ("query_type", "difficulty", "category"):
        value = getattr(sample, label)
        if value is not None:
            yield label, value
    if sample.expectation is not None:
        yield "expectation", type(sample.expectation).__name__.lower()
    for tag in dict.fromkeys(sample.tags):
        yield "tag", tag


def _of_documents(folder: Path) -> Overview:
    """Count the documents of a folder, one in memory at a time; hidden ones are passed over."""
    lengths = Lengths()
    suffixes: Counter[str] = Counter()
    unreadable: list[str] = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        try:
            lengths.add(len(extract_text(path).text))
            suffixes[path.suffix or "(none)"] += 1
        except (InputError, MissingExtraError):
            unreadable.append(inside.as_posix())
    if not suffixes and not unreadable:
        expected = "a dataset, or a folder with documents"
        raise InputError([Issue("empty-folder", expected, "a folder without files", file=str(folder))])
    return Overview(
        path=str(folder),
        dialect=None,
        lengths={"documents": lengths} if lengths.counts else {},
        files=dict(suffixes.most_common()),
        unreadable=tuple(unreadable),
    )


# Some records of a file, drawn at random, for somebody to read.


class Drawn(msgspec.Struct, frozen=True):
    """Samples drawn from a file, in its order, and how many it has."""

    samples: tuple[Sample, ...]
    total: int


def draw_samples(
    path: str | Path, size: int, *, seed: int = 0, format: str | None = None, map: FieldMap | None = None
) -> Drawn:
    """Draw samples without replacement, each as likely as any other, in one pass over the file.

    The same seed draws the same ones. This is Vitter's algorithm R (1985), which keeps only what is drawn.
    """
    generator = random.Random(seed)  # noqa: S311  # repeatable, not secret
    kept: list[tuple[int, Sample]] = []
    total = 0
    for place, sample in enumerate(recognise(path, format=format, map=map).stream(Path(path))):
        total = place + 1
        if place < size:
            kept.append((place, sample))
        elif (replaced := generator.randrange(total)) < size:
            kept[replaced] = (place, sample)
    return Drawn(tuple(sample for _, sample in sorted(kept, key=lambda each: each[0])), total)
