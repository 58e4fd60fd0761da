"""From one dialect into another, saying beforehand what the target cannot hold.

What a file says is counted by the names of :mod:`.dialect`; what the target does not hold would be
lost, and is refused unless that is allowed. Between two dialects of records it goes sample by sample: memory
does not grow with the file. Within one dialect (from CSV to JSON, say) nothing is ever lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag_evaluation_framework.datasets.dialect import RecordDialect, dataset_fields, is_held, sample_fields
from rag_evaluation_framework.datasets.recognition import DIALECTS, recognise
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import DocumentNames
from rag_evaluation_framework.records.samples import Dataset, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What was converted. ``lost`` counts, by field, the samples (or the dataset, once) that said it."""

    source: str
    target: str
    samples: int
    lost: dict[str, int] = field(default_factory=dict, hash=False)


def convert(
    source: str | Path,
    target: str | Path,
    *,
    from_: str | None = None,
    to: str | None = None,
    lossy: bool = False,
) -> Conversion:
    """Read ``source``, write ``target``; the dialects are told from content and name unless they are given.

    Raises :class:`InputError` with an issue for each field that would be lost, unless ``lossy``; nothing is
    written then.
    """
    source, target = Path(source), Path(target)
    if target.exists() and source.resolve() == target.resolve():
        raise UsageError(f"{target} is the file to be read; write to another")
    reader = recognise(source, format=from_)
    writer = DIALECTS.get(to) if to is not None else _named_dialect(target, reader)
    losses = _Losses(reader, writer)
    if isinstance(reader, RecordDialect) and isinstance(writer, RecordDialect):
        # The target appears only once all is written; a loss found on the way keeps it from appearing.
        writer.write_samples(losses.counted(reader.stream(source), lossy=lossy, file=source), target)
    else:
        dataset = reader.read(source)
        losses.count_dataset(dataset)
        for _ in losses.counted(dataset.samples, lossy=lossy, file=source):
            pass
        writer.write(_held(dataset, reader, writer), target)
    return Conversion(source=reader.name, target=writer.name, samples=losses.samples, lost=dict(losses.lost))


class _Losses:
    """Counts what the target does not hold."""

    def __init__(self, reader: Dialect, writer: Dialect) -> None:
        self.reader, self.writer = reader, writer
        self.is_same = reader.name == writer.name
        self.samples = 0
        self.lost: Counter[str] = Counter()

    def counted(self, samples: Iterable[Sample], *, lossy: bool, file: Path) -> Iterator[Sample]:
        """Pass samples on, and refuse at the end what would be lost unless that is allowed."""
        for sample in samples:
            self.samples += 1
            if not self.is_same:
                self.lost.update(self._unheld(sample_fields(sample)))
            yield sample
        if self.lost and not lossy:
            expected = f"nothing that {self.writer.name} cannot hold (--lossy drops it)"
            raise InputError(
                Issue("would-be-lost", expected, _counted(name, count), name, file=str(file))
                for name, count in self.lost.items()
            )

    def count_dataset(self, dataset: Dataset) -> None:
        if not self.is_same:
            self.lost.update(self._unheld(dataset_fields(dataset)))

    def _unheld(self, names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if not is_held(name, self.writer.holds))


def _counted(name: str, count: int) -> str:
    if name.startswith("dataset."):
        return "it in the dataset"
    return f"it in {counted(count, 'sample')}"


def _held(dataset: Dataset, reader: Dialect, writer: Dialect) -> Dataset:
    """Return the dataset for another dialect: without the documents' own fields, which only theirs holds."""
    if reader.name == writer.name:
        return dataset
    dataset = _cited_by_id(dataset)
    if "dataset.documents.extra" in writer.holds:
        return dataset
    return replace(dataset, documents=tuple(replace(document, extra={}) for document in dataset.documents))


def _cited_by_id(dataset: Dataset) -> Dataset:
    """Return the dataset with its spans in documents by their ids: other dialects know no file names.

    A name that means no document, or several, is left as it is.
    """
    documents = dataset.documents
    names = DocumentNames(
        [{**each.extra, "document_id": each.id, "metadata": each.metadata} for each in documents]
    )

    def by_id(span: SpanCitation) -> SpanCitation:
        position = names.position(span.file)
        return span if position is None else replace(span, file=documents[position].id)

    return replace(
        dataset,
        samples=tuple(
            replace(sample, relevant_spans=tuple(map(by_id, sample.relevant_spans)))
            for sample in dataset.samples
        ),
    )


def _named_dialect(target: Path, reader: Dialect) -> Dialect:
    """Tell from the name which dialect to write: the longest ending decides, then what is read already."""
    name = plain_name(target)
    fitting: dict[str, int] = {}
    for known in DIALECTS.names():
        lengths = [len(suffix) for suffix in DIALECTS.get(known).suffixes if name.endswith(suffix)]
        if lengths:
            fitting[known] = max(lengths)
    best = [known for known, length in fitting.items() if length == max(fitting.values())]
    if reader.name in best:
        return reader
    if not best:
        raise UsageError(f"{target}: its name does not tell the dialect to write; say it with --to")
    if len(best) > 1:
        raise UsageError(f"{target}: its name fits {' and '.join(best)}; say which with --to")
    return DIALECTS.get(best[0])
