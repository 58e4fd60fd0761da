"""From one dialect or format into another, saying beforehand what the target cannot hold.

What a file says is counted by the names in the table below; what the target does not hold would be
lost, and is refused unless that is allowed. Between two dialects of records it goes sample by sample: memory
does not grow with the file. Within one dialect (from CSV to JSON, say) nothing is ever lost. Annotations,
results, benchmark data and configurations are no samples: each goes between the formats of its own kind,
whole and without loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets import recognition, value_files
from rag_evaluation_framework.datasets.annotations import read_annotations, write_annotations
from rag_evaluation_framework.datasets.dialect import FieldMap, RecordDialect, needs_no_id
from rag_evaluation_framework.datasets.schemas import value_issues
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document, DocumentNames
from rag_evaluation_framework.records.samples import Dataset, Recorded, Refusal, Sample, Turn
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.display import short_repr


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a conversion. ``lost`` counts, by field, the samples (or the dataset, once) that had it.

    ``unit`` names the counted items: samples, or the items of a file without samples.
    """

    source: str
    target: str
    samples: int
    unit: str = "sample"
    lost: dict[str, int] = {}

    __repr__ = short_repr


def convert(
    source: str | Path,
    target: str | Path,
    *,
    from_: str | None = None,
    to: str | None = None,
    lossy: bool = False,
    map: FieldMap | None = None,
) -> Conversion:
    r"""Convert a file to another format and return the counts of the conversion.

    Args:
        source: File or folder to read.
        target: File or folder to write.
        from_: Format of the source; by default it is detected.
        to: Format of the target; by default the name of the file decides.
        lossy: True to drop fields that the target's format cannot represent.
        map: Fields of plain rows by the part of a sample; by default they are guessed.

    Returns:
        The numbers of converted samples and of lost fields.

    Raises:
        InputError: The source is wrong, or a field would be lost. Nothing was written.

    Example:
        >>> from pathlib import Path
        >>> from rag_evaluation_framework import convert
        >>> _ = Path("rows.csv").write_text("question,reference\nWhat is 2 + 2?,4\n")
        >>> convert("rows.csv", "rows.jsonl", to="agent-samples").samples
        1
    """
    source, target = Path(source), Path(target)
    if target.exists() and source.resolve() == target.resolve():
        raise UsageError(f"{target} is the input file. Choose another output file")
    kind = None if map else _document_kind(source, from_)
    if kind is not None:
        return _converted_document(source, target, kind=kind, to=to)
    if source.is_file() and not source.stat().st_size:
        raise InputError([Issue("empty", "a dataset", "an empty file", file=str(source))])
    reader = recognition.recognise(source, format=from_, map=map)
    writer = recognition.DIALECTS.get(to) if to is not None else _named_dialect(target, reader)
    losses = _Losses(reader, writer)
    if isinstance(reader, RecordDialect) and isinstance(writer, RecordDialect):
        # The target appears only once all is written; a loss found on the way keeps it from appearing.
        writer.write_samples(losses.counted(reader.stream(source), lossy=lossy, file=source), target)
    else:
        dataset = reader.read(source)
        losses.count_dataset(dataset)
        for _ in losses.counted(dataset.samples, lossy=lossy, file=source):
            pass
        writer.write(_select_supported(dataset, reader, writer), target)
    return Conversion(source=reader.name, target=writer.name, samples=losses.samples, lost=dict(losses.lost))


# What holds no samples, and the endings of the formats that each kind is written in.
_ENDINGS = {
    "annotations": ("json", "yaml", "yml"),
    "results": ("json", "yaml", "yml", "csv", "parquet"),
    "benchmark": ("json", "yaml", "yml", "parquet", "h5", "hdf5"),
    "configuration": ("yaml", "yml", "json"),
}


def _document_kind(source: Path, from_: str | None) -> str | None:
    """Return the kind of a file without samples; ``None`` for a dataset or an unknown kind."""
    if from_ is None:
        try:
            from_ = recognition.told_format(source)
        except InputError:  # what it is not is said better by whoever looks for a dataset
            return None
    return from_ if from_ in _ENDINGS else None


def _converted_document(source: Path, target: Path, *, kind: str, to: str | None) -> Conversion:
    fitting = tuple(f".{ending}" for ending in _ENDINGS[kind])
    if to not in (None, kind) or recognition.named_format(target) not in (None, kind):
        meant = to or recognition.named_format(target)
        raise UsageError(f"{target}: cannot write {kind} as {meant}. Use {', '.join(fitting)}")
    if not plain_name(target).endswith(fitting):
        raise UsageError(f"{target}: expected a name that ends in {', '.join(fitting)} for {kind}")
    count, unit = _rewritten(source, target, kind)
    return Conversion(source=kind, target=kind, samples=count, unit=unit)


def _rewritten(source: Path, target: Path, kind: str) -> tuple[int, str]:
    """Read a file and write it anew; return how many it holds, and of what."""
    if kind == "annotations":
        annotations = read_annotations(source)
        write_annotations(annotations, target)
        return len(annotations.annotations), "annotation"
    if kind == "results":
        results = value_files.read_results(source)
        errors = [issue for issue in value_issues("results", results) if issue.severity == "error"]
        if errors:
            raise InputError(errors).located(str(source))
        if "query_results" not in results and (source.parent / "head.json").is_file():
            found = f"{source} has the summary of a run without its answers"
            raise UsageError(f"{found}. Use: rag-eval export {source.parent} --to csv")
        value_files.write_results(results, target)
        return len(results.get("query_results", ())), "query result"
    if kind == "benchmark":
        # numpy, only when needed
        from rag_evaluation_framework.datasets.benchmark_files import read_benchmark, write_benchmark

        benchmark = read_benchmark(source)
        write_benchmark(benchmark, target)
        return len(benchmark["records"]), "record"
    configuration = value_files.read_configuration(source)
    value_files.write_document(configuration, target)
    return len(configuration), "setting"


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
            expected = f"only fields that {self.writer.name} can store (to drop the others, add --lossy)"
            found = {
                name: "the dataset" if name.startswith("dataset.") else counted(count, "sample")
                for name, count in self.lost.items()
            }
            raise InputError(
                Issue("would-be-lost", expected, f"this field in {where}", name, file=str(file))
                for name, where in found.items()
            )

    def count_dataset(self, dataset: Dataset) -> None:
        if not self.is_same:
            self.lost.update(self._unheld(dataset_fields(dataset)))

    def _unheld(self, names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if not is_supported(name, self.writer.holds))


def _select_supported(dataset: Dataset, reader: Dialect, writer: Dialect) -> Dataset:
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
    for known in recognition.DIALECTS.names():
        lengths = [len(suffix) for suffix in recognition.usual_endings(known) if name.endswith(suffix)]
        if lengths:
            fitting[known] = max(lengths)
    best = [known for known, length in fitting.items() if length == max(fitting.values())]
    if reader.name in best:
        return reader
    if not best:
        raise UsageError(f"{target}: cannot tell the output format from the name. Set it with --to")
    if len(best) > 1:
        raise UsageError(f"{target}: the name matches {' and '.join(best)}. Choose one with --to")
    return recognition.DIALECTS.get(best[0])


# The names of what a sample or dataset says, so that a dialect can declare which of them it holds.
#
# =============================  ===========================================================================
# name                           present when
# =============================  ===========================================================================
# ``id``                         the sample has an id of its own, not one made from its content
# ``question``                   there is one turn, of the user, and it has words
# ``turns``                      there is more than that; who holds ``turns`` holds ``question`` too
# ``reference``                  there is an expected answer
# ``references``                 there are other answers as right as the reference
# ``recorded.contexts`` …        also ``.sources .retrieved .citations .prompt .answer``; ``recorded`` is all;
#                                what an answer took is told by a run, and written by no dialect
# ``reference_contexts``         there are contexts that hold the truth
# ``relevant_documents``         there are relevant documents
# ``grades``                     a relevant document has another grade than 1
# ``relevant_spans``             there are relevant characters: file, start, end
# ``relevant_spans.text`` …      also ``.page .confidence .extra``: a span says more than its place
# ``relevant_chunk_ids``         there are relevant chunks
# ``expectation.refusal`` …      also ``.entities .relation .milestones``; ``expectation`` is all
# ``expectation.reason`` …       also ``.pattern``: why and how the system refuses; in ``expectation`` too
# ``checks`` ``turns.checks``    the sample has checks, or a turn of it has
# ``category`` ``difficulty`` ``query_type`` ``tags`` ``metadata``
# ``trace``                      how the system came to its answer was recorded; no file holds it
# ``extra.<field>``              its file said what has no place in a sample; only its dialect holds it
# ``dataset.<field>``            of a dataset: ``dataset_id name version description created_at metadata``
# ``dataset.documents``          there are documents: id and content
# ``dataset.documents.title`` …  also ``.metadata .extra``: a document says more than its content
# =============================  ===========================================================================

_RECORDED = ("contexts", "sources", "retrieved", "citations", "prompt", "answer")
_SPAN = ("text", "page", "confidence", "extra")
_LABELS = ("category", "difficulty", "query_type", "tags", "metadata")
_HEAD = ("dataset_id", "name", "version", "description", "created_at", "metadata")
_COVERING = ("recorded", "expectation")


def is_supported(name: str, holds: frozenset[str]) -> bool:
    """Return True if a dialect that declares ``holds`` can represent a named field."""
    if name in holds or (name == "question" and "turns" in holds):
        return True
    first = name.partition(".")[0]
    return first in _COVERING and first in holds


def sample_fields(sample: Sample) -> Iterator[str]:
    """Yield the name of everything the sample says, each once, in the order of the table above."""
    if not needs_no_id(sample):
        yield "id"
    yield from _list_conversation_fields(sample.turns)
    yield from _said_in(sample, "reference", "references")
    yield from (f"recorded.{name}" for name in _said_in(sample.recorded or Recorded(), *_RECORDED))
    yield from _said_in(sample, "reference_contexts", "relevant_documents")
    if any(grade != 1 for grade in sample.relevant_documents.values()):
        yield "grades"
    yield from _said_in(sample, "relevant_spans")
    of_spans = {name for span in sample.relevant_spans for name in _said_in(span, *_SPAN)}
    yield from (f"relevant_spans.{name}" for name in _SPAN if name in of_spans)
    yield from _said_in(sample, "relevant_chunk_ids")
    yield from _expected_field(sample)
    yield from _said_in(sample, "checks", *_LABELS, "trace")
    yield from _extra_fields(sample.extra, "extra")


def dataset_fields(dataset: Dataset) -> Iterator[str]:
    """Yield the name of everything the dataset says beside its samples."""
    yield from (f"dataset.{name}" for name in _said_in(dataset, *_HEAD))
    if dataset.documents:
        yield "dataset.documents"
    names = {name: None for document in dataset.documents for name in _document_fields(document)}
    yield from (f"dataset.documents.{name}" for name in names)
    yield from _extra_fields(dataset.extra, "dataset.extra")


def _list_conversation_fields(turns: tuple[Turn, ...]) -> Iterator[str]:
    first = turns[0]
    if len(turns) > 1 or first != Turn(role="user", content=first.content):
        yield "turns"
        if any(turn.checks for turn in turns):
            yield "turns.checks"
    elif first.content:
        yield "question"


def _expected_field(sample: Sample) -> Iterator[str]:
    expectation = sample.expectation
    if expectation is None:
        return
    yield f"expectation.{type(expectation).__name__.lower()}"
    if isinstance(expectation, Refusal):
        yield from (f"expectation.{name}" for name in _said_in(expectation, "reason", "pattern"))


def _document_fields(document: Document) -> Iterator[str]:
    yield from _said_in(document, "title", "metadata")
    yield from _extra_fields(document.extra, "extra")


def _extra_fields(extra: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the fields that say something; one that is there but empty says nothing."""
    for name, value in extra.items():
        if isinstance(value, Mapping):
            yield from _extra_fields(value, f"{prefix}.{name}")
        elif _says(value):
            yield f"{prefix}.{name}"


def _said_in(record: Any, *names: str) -> Iterator[str]:
    """Yield the names of the fields that say something."""
    return (name for name in names if _says(getattr(record, name)))


def _says(value: Any) -> bool:
    """Return True if a value has content: text may be empty on purpose, containers not."""
    return value is not None and value != () and value != [] and value != {}
