"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and judgements in ``qrels/<split>.tsv``.

All splits are read together. A query judged in another split than ``test`` remembers it in its ``extra``, so
that it returns to that split. Queries that no split judges are kept, with no relevant documents. Each file
may be compressed (``corpus.jsonl.gz``). Writing replaces the files all together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import SIGNATURES, overlaid, residue
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.trec import Qrels, fits_column, qrels_lines, read_qrels
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, Problems, UsageError, refused
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import check_expansion
from rag_evaluation_framework.files.atomic import atomic_group
from rag_evaluation_framework.files.strict_json import read_lines
from rag_evaluation_framework.records.documents import Document, DocumentId
from rag_evaluation_framework.records.samples import Dataset, Origin, Sample, Turn

NAME = "beir"
DEFAULT_SPLIT = "test"

_COMPRESSIONS = ("", ".gz", ".zst")
# No field of a query is named so: it is where the judgements stand.
_SPLITS = "qrels/"


_HOLDS = (
    "id question relevant_documents grades metadata dataset.documents dataset.documents.title "
    "dataset.documents.metadata"
)


class Beir:
    """BEIR folders: corpus.jsonl, queries.jsonl and qrels."""

    name = NAME
    suffixes = SIGNATURES[name].suffixes
    holds = frozenset(_HOLDS.split())

    def read(self, path: Path) -> Dataset:
        problems = Problems()
        documents: tuple[Document, ...] = ()
        samples: tuple[Sample, ...] = ()
        with problems.collected():
            documents = tuple(_read_documents(path))
        with problems.collected():
            samples = tuple(self.stream(path))
        problems.raise_all()
        return Dataset(samples=samples, dialect=NAME, documents=documents)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield the queries with their judgements, which are held in memory; the corpus is not read."""
        judged = _read_splits(path)
        file = _member(path, "queries.jsonl")
        problems = FileProblems(str(file))
        seen: set[str] = set()
        for line, query in read_lines(file, on_error=problems.take):
            if _is_wrong("beir-query", query, line, seen, problems):
                continue
            splits = {split: qrels[query["_id"]] for split, qrels in judged.items() if query["_id"] in qrels}
            problems.extend(issue.located(line=line) for issue in _contradictions(splits))
            yield _sample(query, splits, Origin(NAME, str(file), line))
        _check_judged_queries(judged, seen, problems, path)
        problems.raise_if_any()

    def write(self, dataset: Dataset, path: Path) -> None:
        issues = list(_unwritable(dataset))
        if issues:
            raise InputError(issue.located(str(path)) for issue in issues)
        splits = _splits(dataset.samples)
        names = [
            path / "corpus.jsonl",
            path / "queries.jsonl",
            *(path / "qrels" / f"{split}.tsv" for split in splits),
        ]
        _refuse_other_files(path, names)
        try:
            (path / "qrels").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("write", path, error) from error
        with atomic_group(names) as (corpus, queries, *qrels):
            for document in dataset.documents:
                corpus.write(strict_json.encode(_written_document(document, dataset)) + b"\n")
            for sample in dataset.samples:
                queries.write(strict_json.encode(_written_query(sample)) + b"\n")
            for stream, judgements in zip(qrels, splits.values(), strict=True):
                stream.writelines(qrels_lines(judgements, format="beir"))


BEIR = Beir()


def _read_documents(path: Path) -> Iterator[Document]:
    file = _member(path, "corpus.jsonl")
    problems = FileProblems(str(file))
    seen: set[str] = set()
    for line, value in read_lines(file, on_error=problems.take):
        if _is_wrong("beir-document", value, line, seen, problems):
            continue
        metadata, title = value.get("metadata", {}), value.get("title")
        known = {"_id": value["_id"], "text": value["text"], "title": title}
        rest = residue(value, {**known, "metadata": metadata} if metadata else known)
        yield Document(DocumentId(value["_id"]), value["text"], metadata, title, rest)
    problems.raise_if_any()


def _written_document(document: Document, dataset: Dataset) -> dict[str, Any]:
    # A document that comes from elsewhere has an empty title, because readers of BEIR expect the field.
    title = document.title if dataset.dialect == NAME else document.title or ""
    known = {"_id": document.id, "title": title, "text": document.content}
    written = strict_json.drop_nulls({**known, "metadata": dict(document.metadata) or None})
    return overlaid(written, document.extra, replace=False) if dataset.dialect == NAME else written


def _sample(query: Mapping[str, Any], splits: Mapping[str, Mapping[str, int]], origin: Origin) -> Sample:
    grades: dict[str, int] = {}
    for judgements in splits.values():
        grades.update(judgements)
    sample = Sample(
        id=query["_id"],
        turns=(Turn(role="user", content=query["text"]),),
        relevant_documents=grades,
        metadata=query.get("metadata", {}),
        origin=origin,
    )
    rest = residue(query, _encode_query(sample))
    if any(split != DEFAULT_SPLIT for split in splits):
        rest[_SPLITS] = {split: list(judgements) for split, judgements in splits.items()}
    return replace(sample, extra=rest)


def _contradictions(splits: Mapping[str, Mapping[str, int]]) -> Iterator[Issue]:
    grades: dict[str, int] = {}
    for split, judgements in splits.items():
        for document, grade in judgements.items():
            if grades.setdefault(document, grade) != grade:
                expected = f"the same grade of {document!r} in every split ({grades[document]})"
                yield Issue("contradiction", expected, f"{grade} in {split}")


def _encode_query(sample: Sample) -> dict[str, Any]:
    metadata = dict(sample.metadata) or None
    return strict_json.drop_nulls({"_id": sample.id, "text": sample.question, "metadata": metadata})


def _written_query(sample: Sample) -> dict[str, Any]:
    if sample.origin is not None and sample.origin.dialect != NAME:
        return _encode_query(sample)
    rest = {name: value for name, value in sample.extra.items() if name != _SPLITS}
    return overlaid(_encode_query(sample), rest, replace=False)


def _splits(samples: Sequence[Sample]) -> dict[str, Qrels]:
    """Return the judgements by split; those that do not say otherwise belong to the test split."""
    splits: dict[str, Qrels] = {}
    for sample in samples:
        is_own = sample.origin is None or sample.origin.dialect == NAME
        places = sample.extra.get(_SPLITS, {}) if is_own else {}
        by_document: dict[str, list[str]] = {}
        for split, documents in places.items():
            for document in documents:
                by_document.setdefault(document, []).append(split)
        for document, grade in sample.relevant_documents.items():
            for split in by_document.get(document, [next(iter(places), DEFAULT_SPLIT)]):
                splits.setdefault(split, {}).setdefault(sample.id, {})[document] = grade
    return splits or {DEFAULT_SPLIT: {}}


def _read_splits(path: Path) -> dict[str, Qrels]:
    """Read every file of judgements; one without judgements, which has a header alone, is nothing wrong."""
    judged: dict[str, Qrels] = {}
    problems = Problems()
    for file in sorted((path / "qrels").glob("*.tsv*")):
        split = file.name.partition(".tsv")[0]
        with problems.collected():
            judged[split] = read_qrels(file, format="beir", may_be_empty=True)
    problems.raise_all()
    return judged


def _check_judged_queries(
    judged: Mapping[str, Qrels], seen: set[str], problems: FileProblems, path: Path
) -> None:
    for split, qrels in judged.items():
        for query in qrels:
            if query not in seen:
                expected, file = "a query of queries.jsonl", str(path / "qrels" / f"{split}.tsv")
                problems.add(Issue("unknown-query", expected, repr(query), "query-id", file=file))


def _is_wrong(kind: str, value: Any, line: int, seen: set[str], problems: FileProblems) -> bool:
    issues = schema_issues(kind, value)
    if not issues and value["_id"] in seen:
        issues = [Issue("duplicate-id", "unique _ids", f"duplicate {value['_id']!r}", "_id")]
    if not issues:
        seen.add(value["_id"])
    problems.extend(issue.located(line=line) for issue in issues)
    return bool(issues)


def _unwritable(dataset: Dataset) -> Iterator[Issue]:
    """Yield the ids that a tab-separated line cannot hold."""
    for sample in dataset.samples:
        for name in (sample.id, *sample.relevant_documents):
            if not fits_column(name, format="beir"):
                where = f"sample {sample.id!r}"
                yield Issue("unwritable-id", "an id without tabs and line breaks", repr(name), where)


def _member(path: Path, name: str) -> Path:
    for suffix in _COMPRESSIONS:
        file = path / f"{name}{suffix}"
        if file.is_file():
            check_expansion(file)
            return file
    raise InputError([Issue("missing-file", f"a file {name}", "no such file", file=str(path))])


def _refuse_other_files(path: Path, names: Sequence[Path]) -> None:
    """Refuse a folder whose other files would be read together with the new ones."""
    old = [*path.glob("*.jsonl*"), *(path / "qrels").glob("*.tsv*")]
    strange = sorted(str(file) for file in set(old) - set(names))
    if strange:
        advice = "Remove them or choose another folder."
        raise UsageError(f"{path} contains other dataset files: {', '.join(strange)}. {advice}")
