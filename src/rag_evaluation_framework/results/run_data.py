"""The samples and documents of a run, kept so that it can be shown and resumed without its dataset.

The samples are written when the run begins, and guard a resume by their fingerprints. They pair by id; the
same samples in another order are the same data; anything added, removed or edited is refused with the counts.
Where a sample was read (its file and line) is not part of its fingerprint. The documents that the samples
need or that were retrieved for them are written once the run is complete. Contexts that the system returned
are in the journal.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, zip_longest
from operator import attrgetter
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import IdDigests, needs_no_id
from rag_evaluation_framework.errors import InputError, UsageError, counted, invalid
from rag_evaluation_framework.files.access import Limits, compressing, named_compression, open_reading
from rag_evaluation_framework.files.atomic import Aside, atomic_writer
from rag_evaluation_framework.files.strict_json import numbered_lines, read_lines, write_lines
from rag_evaluation_framework.records.documents import Document, DocumentId, DocumentNames, require_unique
from rag_evaluation_framework.records.responses import Response
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
from rag_evaluation_framework.text.display import short_repr

SAMPLES_FILE = "data.jsonl.zst"
"""The samples of a run as they were when it began."""

Samples: TypeAlias = Sequence[Sample] | Callable[[], Iterator[Sample]]
"""Samples in memory, or a function that begins reading them anew each time it is called."""


_FINGERPRINTED = tuple(name for name in Sample.__struct_fields__ if name not in ("id", "origin"))
_fingerprinted_values, _EMPTY = attrgetter(*_FINGERPRINTED), (None, (), dict[str, Any]())


def streamed(samples: Samples) -> Iterator[Sample]:
    """Start reading the samples."""
    return samples() if callable(samples) else iter(samples)


def fingerprint(sample: Sample) -> str:
    """Return 32 hexadecimal digits that identify the content of a sample, its id left out."""
    return _digits(_content(sample))


def _digits(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _content(sample: Sample) -> bytes:
    # Only what is filled in, so that a field that a later version adds changes nothing.
    values = zip(_FINGERPRINTED, _fingerprinted_values(sample), strict=True)
    content = {name: value for name, value in values if value or value not in _EMPTY}
    try:
        if sample.recorded is not None:
            written = _encoder.encode(sample.recorded)[:-1]
            for empty in (b',"latency_ms":null', b',"usage":null'):
                written = written.removesuffix(empty)
            content["recorded"] = msgspec.Raw(written + b"}")
        return _encoder.encode(content)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise invalid("", "a sample that can be written as JSON", str(error)).located(
            within=sample.id
        ) from None


class ContentHash:
    """The SHA-256 over ids and fingerprints, in order: what a run's head calls ``dataset_hash``."""

    def __init__(self, samples: Samples = ()) -> None:
        self._digest = hashlib.sha256()
        for identifier, digits in _listed(samples):
            self.add(identifier, digits)

    def add(self, identifier: str, digits: str) -> None:
        """Add the next sample."""
        self._digest.update(_list_line(identifier, digits))

    def __str__(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"


def _list_line(identifier: str, digits: str) -> bytes:
    return msgspec.json.encode((identifier, digits)) + b"\n"


def content_hash(samples: Samples) -> str:
    """Return the hash over all samples."""
    return str(ContentHash(samples))


def keep_samples(samples: Samples, folder: Path) -> None:
    """Write the samples of a new run, or those that the runs in a folder share; a repeated id is an error."""
    spooled: SpooledSamples | None = getattr(samples, "spooled", None)
    if spooled is not None and spooled.put(folder):
        return
    digests, path = IdDigests(), folder / SAMPLES_FILE
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        for sample in streamed(samples):
            digests.add(sample.id)
            stream.write(_kept_line(sample, _content(sample)))
        if digests.repeated():
            _refuse_repetitions(samples)


def _kept_line(sample: Sample, content: bytes) -> bytes:
    about = msgspec.json.encode({"id": sample.id, "origin": sample.origin})
    return b'%s,"content":%s}\n' % (about[:-1], content)


class SpooledSamples:
    """The samples of a run that has no folder yet, written while they are read to be counted.

    So a file that is too large to be held is read once. They wait in a file without a name in ``folder``, or
    above it where it is not there yet, and are given up where the disk refuses them or an id repeats.
    """

    def __init__(self, folder: Path) -> None:
        folder = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
        self._data, self._digests = Aside(folder), IdDigests()
        self._stream = compressing(cast("BinaryIO", self._data), named_compression(SAMPLES_FILE))

    def add(self, sample: Sample) -> str:
        """Take the next sample, and return its fingerprint."""
        content = _content(sample)
        self._stream.write(_kept_line(sample, content))
        self._digests.add(sample.id)
        return _digits(content)

    def put(self, folder: Path) -> bool:
        """Move them into the folder of a run; False if they were given up, or are in another run."""
        self._stream.close()
        data = self._data.read()
        if data is None or self._digests.repeated():
            return False
        with atomic_writer(folder / SAMPLES_FILE) as written:
            copyfileobj(data, written)
        self._data.give_up()
        return True


# What we wrote ourselves may repeat itself as often as it likes.
OWN_LIMITS = Limits(max_ratio=float("inf"))


class _KeptSample(msgspec.Struct):
    id: str
    content: msgspec.Raw


_kept_samples = msgspec.json.Decoder(_KeptSample)


def read_list(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and fingerprint of each sample of a run, in order."""
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as stream:
        for number, line in numbered_lines(stream, file=str(path)):
            if isinstance(line, InputError):
                raise line.located(str(path), number)
            try:
                found = _kept_samples.decode(line)
            except msgspec.DecodeError:
                raise invalid("", "a sample of a run", line).located(str(path), number) from None
            yield found.id, _digits(bytes(found.content))


def count_samples(path: Path) -> int:
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as stream:
        return sum(1 for _ in stream)


def listed_samples(samples: Samples, path: Path) -> Iterator[Sample]:
    """Yield the sample of each line of a run's list, in the order of the list."""
    stream, by_id = streamed(samples), dict[str, Sample]()
    for identifier, digits in read_list(path):
        sample = next((each for each in stream if each.id == identifier), None)
        if sample is None:  # the dataset is in another order now
            by_id = by_id or {sample.id: sample for sample in streamed(samples)}
            sample = by_id.get(identifier)
        if sample is None or fingerprint(sample) != digits:
            raise _other_data(samples, path)
        yield sample


def _other_data(samples: Samples, path: Path) -> UsageError:
    total, changes = _changes(samples, path)
    told = {"missing": changes["removed"], "edited since": changes["changed"]}
    found = ", ".join(f"{n:,} {what}" for what, n in told.items() if n)
    return UsageError(
        f"expected the dataset with the {counted(total, 'sample')} of the run as before, got {found}"
    )


def _changes(samples: Samples, path: Path) -> tuple[int, dict[str, int]]:
    """Return how many samples a run has, and how many were added, removed and changed since."""
    then = dict(read_list(path))
    now = {sample.id: fingerprint(sample) for sample in streamed(samples)}
    return len(then), {
        "added": len(now.keys() - then.keys()),
        "removed": len(then.keys() - now.keys()),
        "changed": sum(then[identifier] != now[identifier] for identifier in now.keys() & then.keys()),
    }


def check_unchanged(samples: Samples, path: Path) -> None:
    """Raise :class:`UsageError`, with the counts, if the samples are not those of the list."""
    if all(now == then for now, then in zip_longest(_listed(samples), read_list(path))):
        return
    total, counts = _changes(samples, path)
    if any(counts.values()):
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        raise UsageError(
            f"cannot resume over other data: expected the {counted(total, 'sample')} the run began with, "
            f"got {told}; start a new run, or bring the dataset back"
        )
    _refuse_repetitions(samples)


def _listed(samples: Samples) -> Iterable[tuple[str, str]]:
    return ((sample.id, fingerprint(sample)) for sample in streamed(samples))


def _refuse_repetitions(samples: Samples) -> None:
    require_unique((sample.id for sample in streamed(samples)), what="sample id", path="samples")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_plain, order="deterministic")

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


def as_they_were(samples: Samples, path: Path) -> Iterator[Sample]:
    """Yield the samples of a dataset with the relevant spans that a run had, which people may have marked."""
    digits = dict(read_list(path))
    spans = {sample.id: sample.relevant_spans for sample in read_samples(path)}
    for sample in streamed(samples):
        is_own = digits.get(sample.id) == fingerprint(sample) or sample.id not in spans
        yield sample if is_own else replace(sample, relevant_spans=spans[sample.id])


def may_be_called_otherwise(path: Path) -> bool:
    """Return True if the ids of a run's samples may be other ones now: an earlier version generated them
    otherwise, and those of one question are numbered in the order of the file.
    """
    made = [id_ for id_, _ in read_list(path) if is_made_id(id_)]
    kept = next(read_samples(path), None) if made else None
    return kept is not None and (not needs_no_id(kept) or any(id_.count("-") > 1 for id_ in made))


def as_they_were_called(stream: Callable[[], Iterable[Sample]], path: Path) -> Iterator[tuple[Sample, bool]]:
    """Yield each sample of a dataset, and whether the run had it; generated ids are those of the run.

    Earlier versions generated them from the answers too. An alias for one release.
    """
    called: dict[str, deque[str]] = {}
    listed = dict(read_list(path))
    for id_, digits in listed.items():
        if is_made_id(id_):
            called.setdefault(digits, deque()).append(id_)
    for sample in stream():
        names = called.get(fingerprint(sample)) if called and is_made_id(sample.id) else None
        sample = replace(sample, id=names.popleft()) if names else sample
        yield sample, sample.id in listed


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
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as lines:
        found = enumerate(islice(lines, last + 1))
        return {place: _sample(msgspec.json.decode(line)) for place, line in found if place in places}


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
        """Return the one document that a name refers to; ``None`` if it is not here or not certain."""
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


NO_DOCUMENTS = KeptDocuments(reason="the run has no documents. Set their folder with --corpus")


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
                beyond = f"a run saves at most {MOST_CHARACTERS:,} characters of documents"
                not_kept[line["id"]] = f"{beyond}, and this document has {line['characters']:,}"
            else:
                given = ({name: line[name]} if name in line else {} for name in ("file_name", "file_path"))
                metadata, extra = given
                found.append(Document(DocumentId(line["id"]), text, metadata=metadata, extra=extra))
        except (KeyError, TypeError, AttributeError):
            raise invalid("", "a document of a run", line).located(str(path), number) from None
    return KeptDocuments(tuple(found), not_kept)
