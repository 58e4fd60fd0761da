"""The detection of a file's dialect or kind, or of the nearest one."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets import csv_tables, parquet_tables
from rag_evaluation_framework.datasets.dialect import SIGNATURES, FieldMap
from rag_evaluation_framework.datasets.record_files import layout_of
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    StorageError,
    UnknownNameError,
    UsageError,
    refused,
    shown,
)
from rag_evaluation_framework.extensions import Dialect, Registry
from rag_evaluation_framework.files import access, strict_json
from rag_evaluation_framework.files.json_scanner import after_space, without_comments
from rag_evaluation_framework.records.samples import NOTHING_ANNOTATED, ROWS, AnnotatedTruth, Dataset, Preview
from rag_evaluation_framework.structs import replace

# Which dialect a file or folder is in: told from its content, or by name when the user says so.
#
# A preview is taken from the beginning of the file: the keys of the object, the first record of an array
# or of lines, the columns of a table, the names in a folder. Where the first kilobytes do not tell, more
# are read. Our own dialects are told by the table of their signatures, without loading them; one that a
# package adds is asked whether it recognises the preview. If two do, the file's name may decide
# between them; if it does not, that is an error naming both. Golden sets differ by one field, which may
# be the one that is wrong, and so do the splits of a build: within such a family a name like
# ``boundary_qa.json`` decides, whatever the content.

DIALECTS: Registry[Dialect] = Registry("dialect")
"""Every dialect by name; installed packages add theirs as ``rag_evaluation_framework.dialects``."""

for _name, _signature in SIGNATURES.items():
    DIALECTS.register(_name, f"rag_evaluation_framework.datasets.{_signature.place}")

# Enough for the keys of most files; the last is as much as anybody's first record may need.
_PREVIEW_BYTES = (1 << 16, 1 << 20, 1 << 25)
_SEEN_DEPTH = 3
_MOST_RECORDS = 100
_LOOKED_INTO = 5
_SHOWN_START = 100
_YAML_KEY = re.compile(r"^([A-Za-z_][\w-]*):(?=\s|$)", re.MULTILINE)
_YAML_ITEM_KEY = re.compile(r"^(?:- |  )([A-Za-z_][\w-]*):(?=\s|$)", re.MULTILINE)
_scanner = json.JSONDecoder()
_ASKED: access.ReadOnce[Any] = access.ReadOnce()


def recognise(path: str | Path, *, format: str | None = None, map: FieldMap | None = None) -> Dialect:
    """Return the dialect of a file or folder; ``format`` names it and overrides the content.

    A file of rows that is in none of ours is plain rows: which field holds what is guessed, or said by
    ``map``.
    """
    path = Path(path)
    if format == ROWS or (map and format is None):
        rows: Any = DIALECTS.get(ROWS)
        return rows.at(path, map)  # type: ignore[no-any-return]
    if format is not None:
        return DIALECTS.get(format)
    return asked_once(path, _recognised)  # type: ignore[no-any-return]


def asked_once(path: Path, question: Callable[[Path], Any]) -> Any:
    """Return the answer to a question about a file, which is opened for it once while it stays the same."""
    return _ASKED.of(path, lambda: question(path), key=question)


def _recognised(path: Path) -> Dialect:
    named = _named_relative(path)
    for preview in previews(path):
        found = [name for name in DIALECTS.names() if _fits(name, preview)]
        if len(found) > 1:
            found = [name for name in found if is_named_for(path, name)] or found
        if len(found) == 1:
            return DIALECTS.get(named if named is not None and _are_related(named, found[0]) else found[0])
        if found:
            expected = "a file of one format (choose one with --format)"
            seen = f"a file that matches {' and '.join(found)}"
            raise InputError([Issue("ambiguous-dialect", expected, seen, file=str(path))])
    if named is None:
        named = _of_traces(path) if path.is_dir() else _of_later_records(path)
    if named is None and (path.is_file() or asked_once(path, parquet_tables.parts_of)):
        rows: Any = DIALECTS.get(ROWS)
        if (told := rows.at_sight(path)) is not None:
            return told  # type: ignore[no-any-return]
        named = _nearest(path)
    if named is not None:
        return DIALECTS.get(named)
    if path.is_file() and access.plain_name(path).endswith(_TEXTS):
        access.check_encoding(path, texts_only=True)
    expected = "a dataset in a known format (rag-eval list formats), or rows with a question"
    raise InputError([Issue("unknown-dialect", expected, described(path), file=str(path))])


def _of_traces(folder: Path) -> str | None:
    """Return the dialect of a folder of traces, detected from its first files."""
    for path in islice(access.data_files(folder), _LOOKED_INTO):
        try:
            if any(_fits("traces", preview) for preview in previews(path)):
                return "traces"
        except (InputError, StorageError):
            continue  # the others may tell, and what is wrong with this one is found when it is read
    return None


def _of_later_records(path: Path) -> str | None:
    """Return the dialect of a file whose first record is like none, but a later one is.

    What the first record lacks is then found when it is read, in its line, as in any other.
    """
    is_array = asked_once(path, layout_of) == "array"
    for record in beginning_records(path)[1:]:
        preview = Preview(path, "array" if is_array else "lines", record)
        found = [name for name in DIALECTS.names() if _fits(name, preview)]
        if len(found) == 1:
            return found[0]
    return None


def _nearest(path: Path) -> str | None:
    """Return the dialect that the first record of a file comes nearest to, if the file is named like one."""
    first = next(iter(beginning_records(path)), None)
    nearest = nearest_format(first) if first else None
    return nearest if nearest in DIALECTS.names() and is_named_for(path, nearest) else None


def beginning_records(path: Path) -> list[dict[str, Any]]:
    """Return the objects that stand whole at the beginning of a file of records."""
    layout = "folder" if path.is_dir() else asked_once(path, layout_of)
    if layout not in ("lines", "array"):
        return []
    return _whole_records(next(_beginnings(path)), is_array=layout == "array")


def _whole_records(text: str, *, is_array: bool) -> list[dict[str, Any]]:
    end, reads_comments, found = 0, True, list[dict[str, Any]]()
    while len(found) < _MOST_RECORDS:
        try:
            record, end = _next_value(text, end, is_array=is_array)
        except (ValueError, RecursionError):  # the end, a record that is cut off, or a comment
            if not reads_comments or "//" not in text[end:]:
                break
            text, reads_comments = text[:end] + without_comments(text[end:]), False
        else:
            found += [record] if isinstance(record, dict) else []
    return found


def _next_value(text: str, end: int, *, is_array: bool) -> tuple[Any, int]:
    """Return the value behind a place, beyond the bracket or comma of an array, and where it ends."""
    return _scanner.raw_decode(text, after_space(text, after_space(text, end) + is_array))


def read_dataset(path: str | Path, *, format: str | None = None, map: FieldMap | None = None) -> Dataset:
    r"""Return the dataset in a file or folder of any format.

    Args:
        path: File or folder; plain rows are allowed too.
        format: Format of the data; by default it is detected.
        map: Fields of plain rows by the part of a sample; by default they are guessed.

    Returns:
        The dataset.

    Raises:
        InputError: The file is wrong; the error has every problem.

    Example:
        >>> from pathlib import Path
        >>> from rag_evaluation_framework import read_dataset
        >>> _ = Path("rows.csv").write_text("question,reference\nWhat is 2 + 2?,4\n")
        >>> read_dataset("rows.csv").samples[0].reference
        '4'
    """
    return recognise(path, format=format, map=map).read(Path(path))


def previews(path: str | Path) -> Iterator[Preview]:
    """Yield previews of a file that see more and more of it; one of a folder or table."""
    path = Path(path)
    if path.is_dir():
        names = sorted(str(entry.relative_to(path).as_posix()) for entry in path.iterdir())
        yield Preview(path, "folder", dict.fromkeys(names))
        return
    if (members := asked_once(path, archive_names)) is not None:
        yield Preview(path, "folder", dict.fromkeys(members))
        return
    layout = asked_once(path, layout_of)
    if layout == "parquet":
        yield Preview(path, "table", dict.fromkeys(parquet_tables.column_names(path)))
    elif layout == "csv":
        yield from _text_previews(path)
    else:
        for text in _beginnings(path):
            with suppress(ValueError, RecursionError):
                record, _ = _next_value(text, 0, is_array=layout == "array")
                if isinstance(record, dict):  # it stands whole: a longer beginning says no more
                    yield Preview(path, layout, record)
                    return
            for record in _json_records(text, is_array=layout == "array"):
                yield Preview(path, layout, record)


def archive_names(path: Path) -> list[str] | None:
    """Return the names in a ZIP archive; ``None`` of what is none."""
    with access.open_stored(path) as stream, suppress(zipfile.BadZipFile, NotImplementedError, ValueError):
        if stream.read(4) == b"PK\x03\x04":
            return zipfile.ZipFile(stream).namelist()
    return None


def _text_previews(path: Path) -> Iterator[Preview]:
    """Yield what a text that is not JSON may be: TREC judgements, YAML, or a table with a header."""
    text = next(_beginnings(path))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return
    judgements = SIGNATURES["trec"].columns[0].split()
    cells = lines[0].split()
    if len(cells) == len(judgements) and re.fullmatch(r"[+-]?[0-9]+", cells[-1]):
        yield Preview(path, "table", dict.fromkeys(judgements))
    elif lines[0].startswith("- ") and access.plain_name(path).endswith((".yaml", ".yml")):
        yield Preview(path, "array", dict.fromkeys(_YAML_ITEM_KEY.findall(text)))
    elif _YAML_KEY.match(lines[0]) or lines[0].startswith("---"):
        for text in _beginnings(path):
            yield Preview(path, "object", dict.fromkeys(_YAML_KEY.findall(text)))
    else:
        with access.open_reading(path) as stream:
            header = csv_tables.header_of(stream)
        yield Preview(path, "table", dict.fromkeys(header or ()))


def _beginnings(path: Path) -> Iterator[str]:
    """Yield the beginning of a file, then longer ones as long as there is more of it."""
    for size in _PREVIEW_BYTES:
        data = asked_once(path, _beginning) if size == _PREVIEW_BYTES[0] else _beginning(path, size)
        yield data.decode(errors="replace").removeprefix("\ufeff")
        if len(data) < size:
            return


def _beginning(path: Path, size: int = _PREVIEW_BYTES[0]) -> bytes:
    with access.open_reading(path) as stream:
        return stream.read(size)


def _json_records(text: str, *, is_array: bool) -> Iterator[dict[str, Any]]:
    """Yield the first record of a JSON text that may be cut off, as far as it can be read."""
    value = _seen(without_comments(text), 0, depth=0)
    if is_array and isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        yield value


def _seen(text: str, position: int, *, depth: int) -> Any:
    """Return what a cut-off text says of a value: the keys so far of an object, the first item of a list."""
    position = after_space(text, position)
    if depth > _SEEN_DEPTH:
        return None
    if text.startswith("[", position):
        inner = after_space(text, position + 1)
        return [] if text.startswith("]", inner) else [_seen(text, inner, depth=depth + 1)]
    if not text.startswith("{", position):
        return None
    record: dict[str, Any] = {}
    try:
        while text[position] in "{,":
            key, position = _scanner.raw_decode(text, after_space(text, position + 1))
            begins = after_space(text, after_space(text, position) + 1)
            record[str(key)] = None
            try:
                record[str(key)], position = _scanner.raw_decode(text, begins)
            except (ValueError, RecursionError):
                record[str(key)] = _seen(text, begins, depth=depth + 1)
                break
            position = after_space(text, position)
    except (ValueError, IndexError, RecursionError):
        pass  # cut off within a key, or one that is no text but nests without end
    return record


def _fits(name: str, preview: Preview) -> bool:
    if name in SIGNATURES:
        return SIGNATURES[name].fits(preview)
    # A dialect of another package that cannot tell its files is read only when it is named.
    recognises = getattr(DIALECTS.get(name), "recognises", None)
    return recognises is not None and recognises(preview)


def is_named_for(path: Path, dialect: str) -> bool:
    """Return True if a file has a name that is usual for a dialect."""
    return access.plain_name(path).endswith(usual_endings(dialect))


def usual_endings(dialect: str) -> tuple[str, ...]:
    """Return the endings of file names that are usual for a dialect."""
    return SIGNATURES[dialect].suffixes if dialect in SIGNATURES else DIALECTS.get(dialect).suffixes


def _named_relative(path: Path) -> str | None:
    """Return the dialect of a family that a file is named for."""
    relatives = (name for name, signature in SIGNATURES.items() if signature.family)
    return next((name for name in relatives if is_named_for(path, name)), None)


def _are_related(first: str, second: str) -> bool:
    return second in SIGNATURES and SIGNATURES[first].family == SIGNATURES[second].family


def described(path: Path) -> str:
    """Return a description of the content that was found instead."""
    try:
        preview = next(iter(previews(path)), None)
        start = "" if path.is_dir() else next(_beginnings(path)).strip()[:_SHOWN_START]
    except (InputError, StorageError):
        return "another type of file"
    # A table of one column is mostly no table at all, but some text.
    if preview is None or len(preview.record) < (2 if preview.layout == "table" else 1):
        nothing = "an empty folder" if path.is_dir() else "an empty file"
        return f"a file that begins with {shown(start)}" if start else nothing
    what = {"folder": "a folder of", "table": "columns"}.get(preview.layout, "fields")
    return f"{what} {', '.join(list(preview.record)[:6])}"


# Which format a record comes nearest to, when a mistake in it keeps it from being recognised.
#
# Every field that a schema knows speaks for that schema, the more so the fewer schemas know it. A record that
# lacks one required field, or has it misspelt, is thus still taken for what it is, and the mistake is found.

FORMAT_OF_KIND: Mapping[str, str] = {
    **{kind: kind for kind in ("evaluation-dataset", "results", "benchmark", "manifest", "squad")},
    **{name: name for name in SIGNATURES if name.startswith("golden-")},
    "annotation": "annotations",
    "agent-sample": "agent-samples",
    "offline-record": "offline-records",
    "qa-pair": "qa-pairs",
    "summary": "summaries",
    "retrieval-case": "retrieval-cases",
    "langsmith-example": "langsmith",
    "ragas-record": "ragas",
}
"""The formats that the fields of a record distinguish, by the kind of the record."""

# Fields that files of every kind have, ours and others'.
_SAYING_NOTHING = frozenset(
    {"id", "name", "version", "description", "created_at", "timestamp", "metadata", "data"}
)
# A field that two schemas share is worth half; less than that says too little.
_LEAST_EVIDENCE = 0.5


def nearest_format(names: Iterable[str]) -> str | None:
    """Return the format whose schema knows the fields of a record best; ``None`` where none does.

    Of schemas that know them equally well, the one that misses the fewest required fields is taken. One that
    misses more than half of them is not meant: a ``query_id`` alone does not make an annotation.
    """
    present = frozenset(names)
    telling = present - _SAYING_NOTHING
    kinds = {kind: _fields(kind) for kind in FORMAT_OF_KIND}
    shared = Counter(name for known, _ in kinds.values() for name in known)
    evidence = {kind: sum(1 / shared[name] for name in known & telling) for kind, (known, _) in kinds.items()}
    missing = {kind: len(required - present) for kind, (_, required) in kinds.items()}
    meant = [kind for kind, (_, required) in kinds.items() if missing[kind] <= max(1, len(required) // 2)]
    best = max(meant, key=lambda kind: (evidence[kind], -missing[kind]), default=None)
    return FORMAT_OF_KIND[best] if best is not None and evidence[best] >= _LEAST_EVIDENCE else None


def lacking_fields(record: Mapping[str, Any]) -> set[str]:
    """Return the fields that a record lacks or misspells, if it has no others than those of one format."""
    nearest = nearest_format(record)
    if nearest is None:
        return set()
    known, required = _fields(next(kind for kind, name in FORMAT_OF_KIND.items() if name == nearest))
    lacking = required - record.keys()
    misspelt = {each for name in lacking for each in get_close_matches(name, record, n=1)}
    return set(lacking) if record.keys() - misspelt <= known else set()


@cache
def _fields(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the fields of a kind's record, known and required; it may be defined below the schema's top."""
    document = schema(kind)
    definitions = document.get("$defs", {})
    record = definitions.get("Record", definitions.get("Annotation", document))
    required = [*record["required"], *record.get("else", {}).get("required", ())]
    return frozenset(record["properties"]), frozenset(required)


# What a file is: a dialect of samples, annotations, results, benchmark data, a configuration, a manifest.
#
# The content decides. A file whose content is too broken to tell is taken for what its name says, else
# for what its fields come nearest to, so that it is reported what is wrong with it, not only that
# something is. A configuration may hold anything, so only its name (or the user) can say that it is one.

DOCUMENT_FORMATS = ("annotations", "results", "benchmark", "configuration", "manifest")
"""Formats that are validated without being dialects of samples."""

_CHECKED_BYTES = 4 << 20
_TEXTS = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".yaml", ".yml")
_TEXT_ENDINGS = (".json", ".yaml", ".yml", ".jsonl")
_NAMED: Mapping[str, str] = {
    **{f".eval.{ending}": "evaluation-dataset" for ending in ("json", "yaml", "yml", "csv")},
    **{f".gt.{ending}": "annotations" for ending in ("json", "yaml", "yml", "jsonl")},
    **{f".results.{ending}": "results" for ending in ("json", "yaml", "yml", "csv", "parquet")},
    **{f".benchmark.{ending}": "benchmark" for ending in ("json", "parquet", "h5")},
    **{f".config.{ending}": "configuration" for ending in ("yaml", "yml", "json")},
    "manifest.json": "manifest",
}


def formats() -> list[str]:
    """Return every name that ``--format`` takes, sorted."""
    return sorted({*DIALECTS.names(), *DOCUMENT_FORMATS})


def check_format(name: str) -> None:
    """Raise unless there is a format of this name."""
    if name not in formats():
        raise UnknownNameError("format", name, formats())


def told_format(path: Path, format: str | None = None) -> str:
    """Return the format of a file or folder: as given, else by content, else by name."""
    if format is not None:
        check_format(format)
        return format
    named = named_format(path)
    # A configuration may have the fields of any other kind, and columns say too little.
    if named == "configuration" or (
        named in DOCUMENT_FORMATS and not access.plain_name(path).endswith(_TEXT_ENDINGS)
    ):
        return named
    preview = next(previews(path), None)
    begins = None if preview is None or preview.layout in ("table", "folder") else preview
    if begins is not None and (document := _document_format(begins)) is not None:
        return document
    try:
        found = recognise(path).name
        # What has the name of another kind is rather a broken one of that kind than rows.
        return named if found == ROWS and named is not None else found
    except InputError as error:
        if all(issue.code not in ("unknown-dialect", "invalid-utf8") for issue in error.issues):
            raise
        nearest = named or (None if begins is None else nearest_format(begins.record))
        if nearest is None:
            _check_syntax(path)
            expected = "a file in a known format (rag-eval list formats)"
            raise InputError(
                replace(issue, expected=expected) if issue.code == "unknown-dialect" else issue
                for issue in error.issues
            ) from None
        return nearest


def _document_format(preview: Preview) -> str | None:
    """Return which of the documents that hold no samples a file is, if any."""
    record: Mapping[str, Any] = preview.record
    if "annotation_id" in record or ("annotations" in record and "queries" not in record):
        return "annotations"
    if preview.layout == "array":
        return None
    if "evaluation_id" in record:
        return "results"
    if "benchmark_id" in record:
        return "benchmark"
    if "splits" in record and ("source_offline_dataset" in record or "generated_at_utc" in record):
        return "manifest"
    return None


def _check_syntax(path: Path) -> None:
    """Raise what is wrong with the JSON of a file that could not be recognised, if anything is."""
    if path.is_dir():
        return
    data = _beginning(path, _CHECKED_BYTES + 1)
    if len(data) > _CHECKED_BYTES or not data.lstrip().startswith((b"{", b"[")):
        return
    text = without_comments(access.decode_text(data, file=str(path)))
    try:
        strict_json.decode(text.lstrip().partition("\n")[0])  # lines of an unknown kind are not at fault
    except InputError:
        strict_json.decode(text, file=str(path))


def named_format(path: Path) -> str | None:
    """Return what a file's name says it is, if it says so."""
    name = access.plain_name(path)
    return next((format_ for ending, format_ in _NAMED.items() if name.endswith(ending)), None)


# Where people's annotations of a dataset are kept, and the truth that they give.
#
# ``data/evaluation/datasets/rag_v1.0.0.eval.json`` has what was agreed upon in
# ``data/evaluation/ground_truth/rag_v1.0.0.gt.json`` and what each annotator says in
# ``data/evaluation/ground_truth/annotations/anna/rag_v1.0.0.gt.json``. A dataset that lies elsewhere has the
# same files beside it: ``evals/rag.gt.json`` and ``evals/annotations/anna/rag.gt.json`` belong to
# ``evals/rag.jsonl``. The citations in them are truth wherever the dataset is evaluated.

ANNOTATIONS = "annotations"
"""The folder that has one of its own for each annotator."""

GROUND_TRUTH_SUFFIXES = (".gt.json", ".gt.yaml", ".gt.yml", ".gt.jsonl")
_ENDING = re.compile(r"(\.eval)?\.(jsonl?|ya?ml|csv|tsv|parquet|trec|qrels)(\.(gz|zst))?\Z", re.IGNORECASE)
_PERSON = re.compile(r"\w[\w .@+-]{0,63}")


class GroundTruthFiles(msgspec.Struct, frozen=True):
    """The files of a dataset's annotations: ``agreed`` if there is one, and those of each annotator."""

    folder: Path
    name: str
    agreed: Path | None = None
    annotators: Mapping[str, Path] = {}

    def __iter__(self) -> Iterator[Path]:
        yield from () if self.agreed is None else (self.agreed,)
        yield from self.annotators.values()

    def of(self, annotator: str) -> Path:
        """Return the file of an annotator, which need not be there yet."""
        if not _PERSON.fullmatch(annotator) or annotator != annotator.strip():
            expected = "at most 64 letters, digits, spaces and . @ + - _, a letter or digit first"
            raise UsageError(f"annotator: expected {expected}, got {shown(annotator)}")
        new = self.folder / ANNOTATIONS / annotator / f"{self.name}.gt.json"
        return self.annotators.get(annotator, new)


def ground_truth_files(dataset: str | Path) -> GroundTruthFiles:
    """Find the annotations that belong to the file or folder of a dataset."""
    path = Path(dataset)
    name = path.name if path.is_dir() else _ENDING.sub("", path.name)
    beside = path.parent
    return _annotations_in(beside.parent / "ground_truth" if beside.name == "datasets" else beside, name)


def annotations_of_run(dataset: object, run_folder: Path, dataset_id: str) -> GroundTruthFiles:
    """Find the annotations of a run: beside its dataset or, where that is no file any more, in its folder."""
    if isinstance(dataset, str) and Path(dataset).exists():
        return ground_truth_files(dataset)
    return _annotations_in(run_folder, dataset_id)


def _annotations_in(folder: Path, name: str) -> GroundTruthFiles:
    annotators = {
        place.name: found
        for place in _folders(folder / ANNOTATIONS)
        if (found := _truth_named(place, name)) is not None
    }
    return GroundTruthFiles(folder, name, _truth_named(folder, name), annotators)


def annotated_truth(dataset: str | Path) -> AnnotatedTruth:
    """Return the truth that the annotations of a dataset give; every error in their files at once."""
    files = ground_truth_files(dataset)
    if not any(files):
        return NOTHING_ANNOTATED
    from rag_evaluation_framework.datasets.annotator_agreement import truth_in

    return truth_in(files.agreed, list(files.annotators.values()))


def with_annotated_truth(dataset: Dataset, path: str | Path) -> Dataset:
    """Return a dataset that was read from a path with the truth that people annotated."""
    truth = annotated_truth(path)
    return replace(dataset, samples=tuple(map(truth.applied, dataset.samples))) if truth else dataset


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
    except OSError as error:
        raise refused("read", path, error) from error


def _truth_named(folder: Path, name: str) -> Path | None:
    return next((path for end in GROUND_TRUTH_SUFFIXES if (path := folder / f"{name}{end}").is_file()), None)
