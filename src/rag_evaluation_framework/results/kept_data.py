"""What a run keeps beside its journal, so that it can be shown without its dataset and its documents.

The samples are written when the run begins. The documents that they need or that were retrieved for them are
written once it is complete. Contexts that the system returned are in the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, overload

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import needs_no_id
from rag_evaluation_framework.errors import InputError, Issue, StorageError, counted, invalid
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import named_compression, open_reading, read_bytes
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.files.strict_json import read_lines, write_lines
from rag_evaluation_framework.records.documents import Document, DocumentId, DocumentNames
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import JudgeUsage
from rag_evaluation_framework.records.samples import (
    Entities,
    Expectation,
    Milestones,
    Origin,
    Recorded,
    Refusal,
    Relation,
    Sample,
    Turn,
    Usage,
    is_made_id,
)
from rag_evaluation_framework.records.steps import Trace
from rag_evaluation_framework.results.run_folder import (
    OWN_LIMITS,
    SAMPLES_FILE,
    RunFolder,
    Samples,
    fingerprint,
    read_list,
    streamed,
)
from rag_evaluation_framework.text.display import short_repr

T = TypeVar("T")

DOCUMENTS_FILE = "documents.jsonl.zst"
"""The documents that a run's samples need or that were retrieved, each text once; of a small corpus all."""

MOST_CHARACTERS = 16_000_000
"""So many characters of documents a run keeps at the most; those beyond are named."""

WHOLE_CHARACTERS = 1_000_000
"""A corpus of so many characters is kept whole: contexts without a name are found in it."""


class SamplesRead(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Samples that were read already, and can be again as they were.

    ``doubts`` are what people should know of the reading, ``configuration`` what heads of runs record of it.
    """

    stream: Callable[[], Iterator[Sample]]
    doubts: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = {}


# Files that are compressed say nothing by their size.
MOST_HELD, MOST_HELD_BYTES = 16_384, 1 << 26


class HeldSamples:
    """Reads the samples of a file each time it is called; those of a small one once.

    A plan counts them, and a run lists them, asks them and shows them.
    """

    def __init__(self, stream: Callable[[], Iterator[Sample]], path: Path) -> None:
        self._stream = stream
        self._may_hold = path.is_file() and named_compression(path) is None
        self._may_hold = self._may_hold and path.stat().st_size <= MOST_HELD_BYTES
        self._held: tuple[Sample, ...] | None = None

    @classmethod
    def of(cls, samples: tuple[Sample, ...]) -> HeldSamples:
        """Return samples that are in memory, however many."""
        held = cls(samples.__iter__, Path())
        held._held = samples
        return held

    @property
    def are_held(self) -> bool:
        return self._held is not None

    def __call__(self) -> Iterator[Sample]:
        if self._held is not None:
            return iter(self._held)
        return self._reading() if self._may_hold else self._stream()

    def _reading(self) -> Iterator[Sample]:
        held: list[Sample] = []
        for sample in self._stream():
            if len(held) <= MOST_HELD:
                held.append(sample)
            yield sample
        self._may_hold = len(held) <= MOST_HELD
        self._held = tuple(held) if self._may_hold else None


def kept_samples(folder: Path) -> Samples | None:
    """Return how to read the samples that a run's folder keeps; ``None`` if it keeps none."""
    path = folder / SAMPLES_FILE
    return partial(read_samples, path) if path.is_file() else None


def as_kept(samples: Samples, folder: Path) -> Samples:
    """Return samples that are not in memory as a run's folder keeps them: its own file is read faster."""
    are_held = not callable(samples) or getattr(samples, "are_held", False)
    return samples if are_held else kept_samples(folder) or samples


def as_they_were(samples: Samples, folder: RunFolder) -> Iterator[Sample]:
    """Yield the samples of a dataset with the relevant spans that a run had, which people may have marked."""
    digits, kept = dict(read_list(folder.samples_path)), kept_samples(folder.path) or ()
    spans = {sample.id: sample.relevant_spans for sample in streamed(kept)}
    for sample in streamed(samples):
        is_own = digits.get(sample.id) == fingerprint(sample) or sample.id not in spans
        yield sample if is_own else replace(sample, relevant_spans=spans[sample.id])


def may_be_called_otherwise(folder: RunFolder) -> bool:
    """Tell whether the ids of a run's samples may be other ones now: an earlier version generated them
    otherwise, and those of one question are numbered in the order of the file.
    """
    made = [id_ for id_, _ in read_list(folder.samples_path) if is_made_id(id_)]
    kept = next(iter(streamed(kept_samples(folder.path) or ())), None) if made else None
    return kept is not None and (not needs_no_id(kept) or any(id_.count("-") > 1 for id_ in made))


def as_they_were_called(
    stream: Callable[[], Iterable[Sample]], folder: RunFolder
) -> Iterator[tuple[Sample, bool]]:
    """Yield each sample of a dataset, and whether the run had it; generated ids are those of the run.

    Earlier versions generated them from the answers too. An alias for one release.
    """
    called: dict[str, deque[str]] = {}
    listed = dict(read_list(folder.samples_path))
    for id_, digits in listed.items():
        if is_made_id(id_):
            called.setdefault(digits, deque()).append(id_)
    for sample in stream():
        names = called.get(fingerprint(sample)) if called and is_made_id(sample.id) else None
        sample = replace(sample, id=names.popleft()) if names else sample
        yield sample, sample.id in listed


# Samples from their lines back to records.


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a file that :func:`keep_samples` wrote."""
    for number, written in read_lines(path, limits=OWN_LIMITS, is_own=True):
        try:
            yield _sample(written)
        except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
            raise invalid("", "a sample of a run", written).located(str(path), number) from None


def samples_at(folder: Path, places: frozenset[int]) -> dict[int, Sample]:
    """Return the samples at some places of those that a run's folder keeps."""
    path, last = folder / SAMPLES_FILE, max(places, default=-1)
    if not path.is_file():
        return {}
    with open_samples(path) as lines:
        found = enumerate(islice(lines, last + 1))
        return {place: sample_from(line) for place, line in found if place in places}


def open_samples(path: Path) -> BinaryIO:
    """Open the samples that a run keeps: a line for each."""
    return open_reading(path, limits=OWN_LIMITS, max_line_bytes=None)


def sample_from(line: bytes) -> Sample:
    """Return the sample in a line."""
    return _sample(msgspec.json.decode(line))


def _sample(written: Mapping[str, Any]) -> Sample:
    return Sample(id=written["id"], **_fields({"origin": written["origin"], **written["content"]}))


def _fields(written: Mapping[str, Any]) -> dict[str, Any]:
    known = _READ.keys() & written.keys() - {each for each in _OR_NONE if written.get(each) is None}
    return {**written, **{name: _READ[name](written[name]) for name in known}}


def _citation(written: Mapping[str, Any]) -> Any:
    from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation

    if "number" in written:
        return ContextCitation(**written)
    return (TokenSpanCitation if "tokenizer" in written else SpanCitation)(**written)


def _citations(written: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(map(_citation, written))


def _expectation(written: Mapping[str, Any]) -> Expectation:
    kinds = {"pattern": Refusal, "names": Entities, "subject": Relation, "steps": Milestones}
    kind = next(kind for name, kind in kinds.items() if name in written)
    found: Expectation = msgspec.convert(written, kind)
    return found


_LISTS = "references reference_contexts relevant_chunk_ids tags contexts sources retrieved"
_OR_NONE = ("origin", "expectation", "recorded", "usage")
_OF_RECORDED = ("contexts", "sources", "retrieved", "citations")
# How the fields of samples, and of what is recorded in them, are made from what JSON has.
_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_LISTS.split(), tuple),
    **dict.fromkeys(("relevant_spans", "citations"), _citations),
    "turns": partial(msgspec.convert, type=tuple[Turn, ...]),
    "trace": partial(msgspec.convert, type=Trace),
    "origin": lambda written: Origin(**written),
    "expectation": _expectation,
    "recorded": lambda written: Recorded(**_fields(written | {each: written[each] for each in _OF_RECORDED})),
    "usage": lambda written: Usage(**written),
}


# The documents of a run, each text once.


class KeptDocuments(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """Documents by any of their names; ``not_kept`` says of others why their text is not here.

    ``reason`` is why nothing at all was kept, where that is so.
    """

    documents: tuple[Document, ...] = ()
    not_kept: Mapping[str, str] = {}
    reason: str | None = None

    __repr__ = short_repr

    @cached_property
    def _names(self) -> DocumentNames:
        return DocumentNames.of_records(self.documents)

    def find(self, name: str) -> Document | None:
        """Return the one document that a name means; ``None`` if it is not here, or cannot be told."""
        position = self._names.position(name)
        return None if position is None else self.documents[position]


def together(several: Iterable[KeptDocuments]) -> KeptDocuments:
    """Return the documents of several runs, each once."""
    documents: dict[str, Document] = {}
    not_kept: dict[str, str] = {}
    reasons: list[str | None] = []
    for each in several:
        documents |= {document.id: document for document in each.documents}
        not_kept |= each.not_kept
        reasons.append(each.reason)
    reason = None if None in reasons else next(iter(reasons), None)
    return KeptDocuments(tuple(documents.values()), not_kept, reason)


NO_DOCUMENTS = KeptDocuments(reason="the run knew no documents: --corpus names their folder")


def named_documents(response: Response) -> Iterator[str]:
    """Yield the names of the documents that were retrieved or cited."""
    for hit in response.hits:
        yield hit.id if hit.span is None else hit.span.doc_id
    for cited in response.citations:
        if isinstance(name := getattr(cited, "file", None), str):
            yield name


def needed_documents(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the names of the documents that samples need."""
    for sample in samples:
        yield from (name for name, grade in sample.relevant_documents.items() if grade > 0)
        yield from (span.file for span in sample.relevant_spans)


def keep_documents(documents: Sequence[Document], names: Iterable[str], folder: Path) -> None:
    """Write those of the documents that are named, in that order and up to the most; all of a small one."""
    known = DocumentNames.of_records(documents)
    wanted = dict.fromkeys(place for name in names for place in known.positions(name))
    if sum(len(document.content) for document in documents) <= WHOLE_CHARACTERS:
        wanted |= dict.fromkeys(range(len(documents)))
    write_lines(folder / DOCUMENTS_FILE, _documents([documents[place] for place in wanted]))


def _documents(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    left, written = MOST_CHARACTERS, set[str]()
    for document in documents:
        digits = document.fingerprint
        named = (("file_path", document.extra), ("file_name", document.metadata))
        line: dict[str, Any] = {"id": document.id, "sha256": digits, "characters": len(document.content)}
        line |= {name: held[name] for name, held in named if isinstance(held.get(name), str)}
        if digits not in written and len(document.content) <= left:
            left -= len(document.content)
            written.add(digits)
            line["text"] = document.content
        yield line


def read_documents(folder: Path) -> KeptDocuments:
    """Return the documents that a run's folder keeps; a cell of a sweep has those of the sweep."""
    path = folder / DOCUMENTS_FILE
    if not path.is_file():
        path = folder.parent / DOCUMENTS_FILE
    if not path.is_file():
        return NO_DOCUMENTS
    texts: dict[str, str] = {}
    found: list[Document] = []
    not_kept: dict[str, str] = {}
    for number, line in read_lines(path, limits=OWN_LIMITS, is_own=True):
        try:
            texts.setdefault(line["sha256"], line.get("text"))
            text = texts[line["sha256"]]
            if text is None:
                beyond = f"a run keeps {MOST_CHARACTERS:,} characters of documents"
                not_kept[line["id"]] = f"{beyond}, and its {line['characters']:,} are beyond them"
            else:
                given = ({name: line[name]} if name in line else {} for name in ("file_name", "file_path"))
                metadata, extra = given
                found.append(Document(DocumentId(line["id"]), text, metadata=metadata, extra=extra))
        except (KeyError, TypeError, AttributeError):
            raise invalid("", "a document of a run", line).located(str(path), number) from None
    return KeptDocuments(tuple(found), not_kept)


# What a reading of the dataset told when the run began.


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What one reading of a dataset tells; a run keeps it, and a resume of it reads no unchanged file again.

    ``of`` stands for the bytes of the file and for what it was read by; without it nobody can tell whether
    the file is the same. ``content`` is the hash over the ids and fingerprints of the samples.
    """

    of: str | None = None
    content: str | None = None
    samples: int = 0
    calls: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    answers: int = 0
    references: int = 0
    incomplete: tuple[Issue, ...] = ()

    def keep(self, folder: Path) -> None:
        """Write it into the folder of a run; a disk that refuses it costs a later resume some time."""
        if self.of is not None:
            _keep(folder / COUNTED_FILE, msgspec.json.encode(self))


COUNTED_FILE = "counted.json"


def counted_in(folder: Path) -> Counted:
    """Return what was counted when a run began, as far as it was kept."""
    return _read_kept(folder / COUNTED_FILE, Counted) or Counted()


def _read_kept(path: Path, kind: type[T]) -> T | None:
    """Return what a file of a run holds; what cannot be read is not known."""
    with suppress(OSError, InputError, msgspec.MsgspecError):
        return msgspec.json.decode(read_bytes(path), type=kind)
    return None


def _keep(path: Path, data: bytes) -> None:
    """Write a file of a run; on a disk that refuses it, what was measured is reported all the same."""
    with suppress(StorageError):
        write_bytes_atomically(path, data)


# Which questions turned out to be unstable when they were asked again.

UNSTABLE_FILE = "unstable.json"


def read_unstable(folder: Path) -> frozenset[str]:
    """Return the ids of the questions of a run whose answers are correct only at times."""
    return _read_kept(folder / UNSTABLE_FILE, frozenset[str]) or frozenset()


def keep_unstable(folder: Path, names: Iterable[str]) -> None:
    """Keep which questions of a run are unstable."""
    _keep(folder / UNSTABLE_FILE, msgspec.json.encode(sorted(names)))


# Which of the answers that asking again brought are correct: a digit for each, 1 or 0, by question.

ASKINGS_FILE = "askings.json"


def read_askings(folder: Path) -> dict[str, str]:
    """Return which answers were correct when questions of a run were asked again, by question."""
    return _read_kept(folder / ASKINGS_FILE, dict[str, str]) or {}


def keep_askings(folder: Path, askings: Mapping[str, str]) -> None:
    """Keep which answers were correct when questions were asked again."""
    _keep(folder / ASKINGS_FILE, msgspec.json.encode(askings))


# What the judge of a run has cost so far.


def read_judge_usage(path: Path) -> JudgeUsage | None:
    """Return what a run's judge has cost, as its folder keeps it; what cannot be read is not known."""
    return _read_kept(path, JudgeUsage)


def keep_judge_usage(path: Path, usage: JudgeUsage) -> None:
    """Keep what a run's judge has cost."""
    _keep(path, strict_json.encode(usage.to_dict(), indent=2) + b"\n")


# What is kept on the disk, row by row, where people expect a list.


class Listed(Generic[T]):
    """What is read anew whenever somebody goes through it, like a list: ``rows[0]``, ``len(rows)``."""

    def __init__(self, read: Callable[[], Iterable[T]], size: int) -> None:
        self._read, self._size = read, size

    def __iter__(self) -> Iterator[T]:
        return iter(self._read())

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice) or place < 0:
            return list(self)[place]
        for each in islice(self, place, None):
            return each
        raise IndexError(f"there are {self._size:,} rows; got {place}")

    def __repr__(self) -> str:
        return f"{counted(self._size, 'row')}: rows[0], for row in rows"
