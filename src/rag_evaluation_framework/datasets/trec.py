"""Dialect: TREC qrels, runs and topics, distinguished by content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from rag_evaluation_framework.datasets.dialect import SIGNATURES
from rag_evaluation_framework.datasets.ranking_tables import read_table
from rag_evaluation_framework.datasets.trec_tables import (
    BEIR_QRELS,
    BYTE_ORDER_MARK,
    TREC_QRELS,
    TREC_RUN,
    Format,
    Table,
    finite_number,
    is_table,
    told_format,
    whole_number,
)
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, Problems, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, open_reading, read_text
from rag_evaluation_framework.files.atomic import atomic_group
from rag_evaluation_framework.files.json_scanner import has_lone_surrogate
from rag_evaluation_framework.records.samples import Dataset, Origin, Sample, Turn

# Relevance judgements and retrieval runs: TREC files, BEIR files and JSON, told apart by content.
#
# ======  ===========================================================  ====================================
# format  judgements (qrels)                                           run
# ======  ===========================================================  ====================================
# trec    ``query iteration document grade`` per line                  ``query Q0 document rank score tag``
# beir    tab-separated ``query-id corpus-id score``, header first     as json
# json    ``{query: {document: grade}}`` or ``{query: [document]}``    ``{query: {document: score}}`` or
#                                                                      ``{query: [document, best first]}``
# table   Parquet or Arrow: ``query_id``, ``doc_id``, ``relevance``    the same with ``score``
# ======  ===========================================================  ====================================
#
# Files may be compressed with gzip or Zstandard. Every problem of a file is reported, with its line. As in
# trec_eval, lines of TREC files that begin with # are comments, and words after a run's tag are passed over.

Qrels: TypeAlias = dict[str, dict[str, int]]
RetrievalRun: TypeAlias = dict[str, dict[str, float]] | dict[str, list[str]]

Number = TypeVar("Number", int, float)


def read_qrels(path: str | Path, *, format: Format | None = None, may_be_empty: bool = False) -> Qrels:
    """Read relevance judgements: grade by document by query. The format is detected from the content."""
    file = str(path)
    if format is None and is_table(Path(path)):
        return read_table(Path(path), graded=True)
    with open_reading(path, pipe=True) as stream:
        told, lines = told_format(stream, file) if format is None else (format, stream)
        if told == "json":
            return _graded(_read_json(lines, file), file)
        table = Table(file, BEIR_QRELS if told == "beir" else TREC_QRELS, whole_number)
        return table.read(lines, may_be_empty=may_be_empty)


def read_iterations(path: str | Path) -> dict[str, dict[str, str]]:
    """Read the second column of TREC judgements, by document by query, where it is not the usual 0."""
    iterations: dict[str, dict[str, str]] = {}
    problems = FileProblems(str(path))
    with open_reading(path) as stream:
        for line, fields in Table(str(path), TREC_QRELS, whole_number).rows(stream):
            if fields[1] != b"0":
                try:
                    query, iteration, document = (field.decode() for field in fields[:3])
                except UnicodeDecodeError as error:
                    problems.add(Issue("not-utf8", "UTF-8 text", shown(error.object), line=line))
                    continue
                iterations.setdefault(query, {})[document] = iteration
    problems.raise_if_any()
    return iterations


def read_run(path: str | Path, *, format: Format | None = None) -> RetrievalRun:
    """Read a retrieval run: score by document by query, or ranked lists where the file has no scores.

    BEIR keeps runs as JSON. A run of three columns is nobody's, and refused for its columns.
    """
    file = str(path)
    if format is None and is_table(Path(path)):
        return read_table(Path(path), graded=False)
    with open_reading(path, pipe=True) as stream:
        told, lines = told_format(stream, file) if format is None else (format, stream)
        if told == "json" or format == "beir":
            return _scored(_read_json(lines, file), file)
        return Table(file, TREC_RUN, finite_number).read(lines)


def qrels_lines(
    qrels: Qrels,
    *,
    format: Literal["trec", "beir"] = "trec",
    iterations: Mapping[str, Mapping[str, str]] | None = None,
) -> Iterator[bytes]:
    """Yield the lines of a file of judgements, whose ids its columns can hold."""
    if format == "beir":
        yield b"query-id\tcorpus-id\tscore\n"
    said = iterations or {}
    for query, documents in qrels.items():
        for document, grade in documents.items():
            if format == "beir":
                yield f"{query}\t{document}\t{grade}\n".encode()
            else:
                yield f"{query} {said.get(query, {}).get(document, '0')} {document} {grade}\n".encode()


def fits_column(identifier: str, *, format: Literal["trec", "beir"]) -> bool:
    """Return True if an id fits a column: TREC's end at white space, BEIR's at tabs.

    One that starts with U+FEFF cannot: at the start of a file it would be taken for a byte order mark.
    """
    try:
        raw = identifier.encode()
    except UnicodeEncodeError:
        return False
    if raw.startswith(BYTE_ORDER_MARK):
        return False
    if format == "beir":
        return bool(raw) and not any(mark in raw for mark in (b"\t", b"\r", b"\n"))
    return raw.split() == [raw]


def _read_json(lines: Iterable[bytes], file: str) -> dict[str, Any]:
    value = strict_json.decode(b"".join(lines), file=file)
    if not isinstance(value, dict) or not value:
        found = "an empty object" if value == {} else shown(value)
        raise InputError([Issue("wrong-type", "an object with a key per query", found, file=file)])
    return value


def _graded(value: dict[str, Any], file: str) -> Qrels:
    """Check judgements read from JSON; a list of relevant documents gives each the grade 1."""
    problems = FileProblems(file)
    qrels: Qrels = {}
    for query, documents in value.items():
        if isinstance(documents, list):
            qrels[query] = dict.fromkeys(_documents(query, documents, problems), 1)
        else:
            qrels[query] = _numbers(query, documents, int, "a whole number", problems)
    problems.raise_if_any()
    return qrels


def _scored(value: dict[str, Any], file: str) -> RetrievalRun:
    """Check a run read from JSON: scores for every query, or ranked lists for every query."""
    problems = FileProblems(file)
    read: RetrievalRun
    if all(isinstance(documents, list) for documents in value.values()):
        read = {query: _documents(query, documents, problems) for query, documents in value.items()}
    else:
        read = {query: _numbers(query, each, float, "a number", problems) for query, each in value.items()}
    problems.raise_if_any()
    return read


def _documents(query: str, documents: Sequence[Any], problems: FileProblems) -> list[str]:
    seen: dict[str, None] = {}
    for index, document in enumerate(documents):
        path = f"{query}[{index}]"
        if not isinstance(document, str):
            problems.add(Issue("wrong-type", "a document id", shown(document), path))
        elif document in seen:
            problems.add(
                Issue(
                    "duplicate-document", "unique documents per query", f"duplicate {shown(document)}", path
                )
            )
        else:
            seen[document] = None
    return list(seen)


def _numbers(
    query: str, documents: Any, kind: type[Number], expected: str, problems: FileProblems
) -> dict[str, Number]:
    if not isinstance(documents, dict):
        problems.add(Issue("wrong-type", f"{expected} per document", shown(documents), query))
        return {}
    accepted = (int,) if kind is int else (int, float)
    numbers: dict[str, Number] = {}
    for document, number in documents.items():
        if not isinstance(number, accepted) or strict_json.finite_number(number) is None:
            problems.add(Issue("wrong-number", expected, shown(number), f"{query}.{document}"))
        else:
            numbers[document] = kind(number)
    return numbers


# TREC judgements as samples: ``query iteration document grade`` a line, with the questions beside them.
#
# Judgements name queries by id alone. The questions of ``web.qrels`` are read from ``web.topics.tsv`` where
# that file exists, ``id<tab>question`` a line; without it the samples have ids and relevant documents, and no
# words. Both files are written together, the second only where there is something to say in it.

NAME = "trec"

_ITERATIONS = "iterations"


class Trec:
    """The dialect of TREC judgements, with or without topics."""

    name = NAME
    suffixes = SIGNATURES[name].suffixes
    holds = frozenset({"id", "question", "relevant_documents", "grades"})

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
            problems.add(Issue("duplicate-id", "unique queries", f"duplicate {query!r}", line=number))
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
