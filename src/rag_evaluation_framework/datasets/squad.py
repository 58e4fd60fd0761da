"""Dialect: SQuAD."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.dialect import SIGNATURES, residue, with_residue
from rag_evaluation_framework.datasets.record_files import read_records, write_records
from rag_evaluation_framework.datasets.schemas import decoded_issues, schema_issues
from rag_evaluation_framework.datasets.value_files import read_document
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document, DocumentId
from rag_evaluation_framework.records.samples import (
    MADE_DIGITS,
    MADE_ID,
    Dataset,
    Origin,
    Refusal,
    Sample,
    Turn,
    key_of_texts,
)

# The articles, paragraphs, questions and answers of SQuAD, as documents and samples.

NAME = "squad"

Value = dict[str, Any]

_DOCUMENT_ID = "document_id"
_PARAGRAPH_ID = re.compile(r"(?P<article>.*)#[0-9]+\Z", re.DOTALL)


def decode_articles(
    data: Sequence[Mapping[str, Any]], file: str
) -> tuple[list[Document], list[Sample], list[Value]]:
    """Read articles that schema and rules allow.

    Returns the documents, the samples, and what the articles say beyond what their documents tell (nothing,
    in a plain file).
    """
    documents: list[Document] = []
    samples: list[Sample] = []
    issues: list[Issue] = []
    seen: set[str] = set()
    for at, name in enumerate(_article_names(data)):
        for number, paragraph in enumerate(data[at]["paragraphs"]):
            document = _document(name, number, data[at], paragraph)
            documents.append(document)
            if document.id in seen:
                place = f"data[{at}].paragraphs[{number}].{_DOCUMENT_ID}"
                issues.append(Issue("duplicate-id", "unique ids", f"duplicate {document.id!r}", place))
            seen.add(document.id)
            for question in paragraph["qas"]:
                sample = _known(question, document.id)
                rest = residue(question, _encode_known(sample, None))
                samples.append(replace(sample, extra=rest, origin=Origin(NAME, file)))
    if issues:
        raise InputError(issues)
    return documents, samples, _article_extras(data, documents)


def encode_articles(dataset: Dataset, problems: FileProblems) -> list[Value]:
    """Write articles with their paragraphs and questions; what cannot be written is raised together."""
    contents = {document.id: document.content for document in dataset.documents}
    questions: dict[str, list[Value]] = defaultdict(list)
    for sample in dataset.samples:
        try:
            home = _home(sample, contents)
            questions[home].append(_encode_question(sample, contents[DocumentId(home)]))
        except InputError as error:
            problems.extend(error.located(within=f"sample {sample.id!r}").issues)
    problems.raise_if_any()
    articles = _articles(dataset)
    documents = {document.id: document for document in dataset.documents}
    data = []
    for article, name in zip(articles, _article_names(articles), strict=True):
        paragraphs = [
            _paragraph(documents[id_], f"{name}#{number}", questions[id_], is_own=dataset.dialect == NAME)
            for number, id_ in enumerate(article["paragraphs"])
        ]
        data.append({**article, "paragraphs": paragraphs})
    return data


def _article_names(data: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a name for each article, no two the same."""
    titles = {article.get("title") for article in data}
    counts: Counter[str] = Counter()
    for number, article in enumerate(data):
        title = article.get("title") or f"article {number}"
        counts[title] += 1
        name = title
        while counts[title] > 1 and (name == title or name in titles):
            name = f"{title} ({counts[title]})"
            counts[title] += name in titles
        yield name


def _document(
    article_name: str, number: int, article: Mapping[str, Any], paragraph: Mapping[str, Any]
) -> Document:
    known = {"context", "qas"}
    id_ = f"{article_name}#{number}"
    if isinstance(paragraph.get(_DOCUMENT_ID), str) and paragraph[_DOCUMENT_ID] not in ("", id_):
        id_ = paragraph[_DOCUMENT_ID]
        known.add(_DOCUMENT_ID)
    extra = {name: item for name, item in paragraph.items() if name not in known}
    return Document(DocumentId(id_), paragraph["context"], {}, article.get("title"), extra)


def _known(question: Mapping[str, Any], document: str) -> Sample:
    spans = tuple(_span(answer, document) for answer in question["answers"])
    reference = question.get("reference")
    if not isinstance(reference, str):
        reference = spans[0].text if spans else None
    others = dict.fromkeys(span.text for span in spans if span.text and span.text != reference)
    return Sample(
        id=question["id"],
        turns=(Turn(role="user", content=question["question"]),),
        reference=reference,
        references=tuple(others),
        relevant_documents={document: 1},
        relevant_spans=spans,
        expectation=Refusal() if question.get("is_impossible") else None,
    )


def _span(answer: Mapping[str, Any], document: str) -> SpanCitation:
    text, start = answer["text"], int(answer["answer_start"])
    extra = {name: item for name, item in answer.items() if name not in ("text", "answer_start")}
    return SpanCitation(document, start, start + len(text), text=text, extra=extra)


def _encode_question(sample: Sample, content: str) -> Value:
    document = next(iter(sample.relevant_documents), "")
    decode = partial(_known, document=document)
    return with_residue(_encode_known(sample, content), sample, dialect=NAME, decode=decode)


def _encode_known(sample: Sample, content: str | None) -> Value:
    answers = [_answer(span, content) for span in sample.relevant_spans]
    question: Value = {"id": sample.id, "question": sample.question, "answers": answers}
    if sample.reference is not None and (not answers or answers[0]["text"] != sample.reference):
        question["reference"] = sample.reference
    if isinstance(sample.expectation, Refusal):
        question["is_impossible"] = True
    return question


def _answer(span: SpanCitation, content: str | None) -> Value:
    text = span.text if span.text is not None else (content or "")[span.start : span.end]
    return {**span.extra, "text": text, "answer_start": span.start}


def _home(sample: Sample, contents: Mapping[Any, str]) -> str:
    """Return the one paragraph that a sample asks about."""
    names = {*sample.relevant_documents, *(span.file for span in sample.relevant_spans)}
    if len(names) != 1:
        found = ", ".join(sorted(names)) or "no document"
        raise InputError([Issue("not-one-document", "one relevant document", found, "relevant_documents")])
    name = names.pop()
    if name not in contents:
        issue = Issue("missing-document", "a document of the dataset", shown(name), "relevant_documents")
        raise InputError([issue])
    return name


def _paragraph(document: Document, told_id: str, questions: list[Value], *, is_own: bool) -> Value:
    extra = document.extra if is_own else {}
    id_ = {} if document.id == told_id else {_DOCUMENT_ID: document.id}
    return {**extra, **id_, "context": document.content, "qas": questions}


def _article_extras(data: Sequence[Mapping[str, Any]], documents: Sequence[Document]) -> list[Value]:
    """Return the articles with the ids of their paragraphs, unless the documents tell all of it."""
    ids = iter([document.id for document in documents])
    said = [{**article, "paragraphs": [next(ids) for _ in article["paragraphs"]]} for article in data]
    return [] if said == _told_articles(documents) else said


def _told_articles(documents: Sequence[Document]) -> list[Value]:
    """Tell from the documents which articles they make up."""
    articles: list[Value] = []
    previous = None
    for document in documents:
        match = _PARAGRAPH_ID.match(document.id)
        name = match["article"] if match else None
        if name is None or name != previous or articles[-1].get("title") != document.title:
            articles.append({} if document.title is None else {"title": document.title})
            articles[-1]["paragraphs"] = []
        articles[-1]["paragraphs"].append(document.id)
        previous = name
    return articles


def _articles(dataset: Dataset) -> list[Value]:
    """Return the articles as they were read, if their paragraphs are still the dataset's documents."""
    said = dataset.extra.get("data") if dataset.dialect == NAME else None
    if said is not None:
        ids = [name for article in said for name in article["paragraphs"]]
        if ids == [document.id for document in dataset.documents]:
            return list(said)
    return _told_articles(dataset.documents)


# SQuAD 1.1 and 2.0: articles of paragraphs, questions on each paragraph, answers as characters of it.
#
# A paragraph becomes a document, ``<title>#<number>`` (of a second article of that title ``<title> (2)#0``
# …). A question is a sample whose relevant document is its paragraph; its answers are the relevant spans, the
# first one the reference. A question that cannot be answered expects a refusal. What SQuAD has no field for
# is written in one that other readers pass over: ``reference`` of a question, where it is not the first
# answer, and ``document_id`` of a paragraph, where the document has another id than that above.


_HOLDS = (
    "id question reference references relevant_documents relevant_spans relevant_spans.text "
    "relevant_spans.extra expectation.refusal dataset.version dataset.documents "
    "dataset.documents.title"
)


class Squad:
    """The dialect of SQuAD files."""

    name = NAME
    suffixes = SIGNATURES[name].suffixes
    holds = frozenset(_HOLDS.split())

    def read(self, path: Path) -> Dataset:
        document = read_document(path)
        try:
            return _decoded(document.value, str(path))
        except InputError as error:
            raise InputError(document.place(error.issues)).located(str(path)) from None

    def stream(self, path: Path) -> Iterator[Sample]:
        yield from self.read(path).samples

    def write(self, dataset: Dataset, path: Path) -> None:
        problems = FileProblems(str(path))
        value: dict[str, Any] = {} if dataset.version is None else {"version": dataset.version}
        value["data"] = encode_articles(dataset, problems)
        if dataset.dialect == NAME:
            value.update({name: item for name, item in dataset.extra.items() if name not in value})
        problems.extend(schema_issues(NAME, value))
        problems.raise_if_any()
        with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
            stream.write(strict_json.encode(value) + b"\n")


SQUAD = Squad()


def _decoded(value: Any, file: str) -> Dataset:
    """Return the dataset, or raise every issue with its path."""
    if issues := decoded_issues(NAME, value):
        raise InputError(issues)
    documents, samples, articles = decode_articles(value["data"], file)
    version = value.get("version")
    known = {"data", "version"} if isinstance(version, str) else {"data"}
    extra = {name: item for name, item in value.items() if name not in known}
    if articles:
        extra["data"] = articles
    return Dataset(
        samples=tuple(samples),
        dialect=NAME,
        version=version if isinstance(version, str) else None,
        documents=tuple(documents),
        extra=extra,
    )


# SQuAD as Hugging Face has it: a question a row, with its context and answers beside it.


class SquadRows(Squad):
    """The dialect of flattened SQuAD: ``id, title, context, question, answers: {text, answer_start}``."""

    name = "squad-rows"
    suffixes = SIGNATURES[name].suffixes
    holds = Squad.holds - {"dataset.version", "relevant_spans.extra"}

    def read(self, path: Path) -> Dataset:
        problems = FileProblems(str(path))
        articles: dict[str, dict[str, Value]] = {}
        seen: set[str] = set()
        for placed in read_records(path, columns=lambda: _ROW_CELLS, on_error=problems.take):
            try:
                title, context, question = _row(placed.value)
                if question["id"] in seen:
                    raise InputError(
                        [Issue("duplicate-id", "unique ids", f"duplicate {question['id']!r}", "id")]
                    )
            except InputError as error:
                problems.extend(error.issues, place=placed.place)
                continue
            seen.add(question["id"])
            paragraph = {"context": context, "qas": [], **_picked(placed.value, (_DOCUMENT_ID,))}
            articles.setdefault(title, {}).setdefault(context, paragraph)["qas"].append(question)
        problems.raise_if_any()
        data = [
            {"title": title, "paragraphs": list(paragraphs.values())}
            for title, paragraphs in articles.items()
        ]
        dataset = _decoded({"data": data}, str(path))
        samples = (replace(sample, origin=Origin(self.name, str(path))) for sample in dataset.samples)
        return replace(dataset, samples=tuple(samples), dialect=self.name, extra={})

    def write(self, dataset: Dataset, path: Path) -> None:
        rows = [
            {
                "id": question["id"],
                "title": article.get("title", ""),
                "context": paragraph["context"],
                "question": question["question"],
                "answers": {name: [each[name] for each in question["answers"]] for name in _ROW_ANSWER},
                **_picked(question, ("reference",)),
                **_picked(paragraph, (_DOCUMENT_ID,)),
                **_impossible(question),
            }
            for article in encode_articles(dataset, FileProblems(str(path)))
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
        write_records(path, rows, columns=lambda: _ROW_CELLS)


SQUAD_ROWS = SquadRows()
_ROW_ANSWER = ("text", "answer_start")
_ROW_TEXTS = ("id", "title", "context", "question", "reference", _DOCUMENT_ID)
_ROW_CELLS = Columns({**dict.fromkeys(_ROW_TEXTS, "text"), "answers": "json", "is_impossible": "json"})


def _picked(value: Mapping[str, Any], names: tuple[str, ...]) -> Value:
    return {name: value[name] for name in names if isinstance(value.get(name), str)}


def _impossible(question: Value) -> Value:
    """Return ``is_impossible`` if it differs from the default: True without answers."""
    is_impossible = bool(question.get("is_impossible"))
    return {} if is_impossible == (not question["answers"]) else {"is_impossible": is_impossible}


def _row(row: Any) -> tuple[str, str, Value]:
    """Return the title and context of a row, and its question as SQuAD's own files have it."""
    if not isinstance(row, Mapping):
        raise InputError([Issue("wrong-type", "an object", shown(row))])
    issues = [
        Issue(
            "wrong-type" if name in row else "missing-field",
            "text",
            shown(row[name]) if name in row else "nothing",
            name,
        )
        for name in ("context", "question")
        if not isinstance(row.get(name), str)
    ]
    answers = row.get("answers")
    texts, starts = (answers.get(name) if isinstance(answers, Mapping) else None for name in _ROW_ANSWER)
    if (
        not (isinstance(texts, list) and isinstance(starts, list))
        or len(texts) != len(starts)
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(start, int) for start in starts)
    ):
        expected = "an object with as many texts in text as whole numbers in answer_start"
        issues.append(Issue("wrong-type", expected, shown(answers), "answers"))
    elif not issues:
        issues += [
            Issue(
                "answer-not-there", f"{shown(text)} at this character of the context", shown(start), "answers"
            )
            for text, start in zip(texts, starts, strict=True)
            if row["context"][start : start + len(text)] != text or start < 0
        ]
    if issues or texts is None or starts is None:
        raise InputError(issues)
    found = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    identity = row.get("id")
    if identity in (None, ""):
        # Questions such as "Who was king?" are asked of many contexts, and every id must be another.
        identity = MADE_ID + key_of_texts((row["question"], row["context"]))[:MADE_DIGITS]
    question: Value = {"id": str(identity), "question": row["question"], "answers": found}
    question |= _picked(row, ("reference",))
    if row.get("is_impossible", not found) is True:
        question["is_impossible"] = True
    title = row.get("title")
    return (title if isinstance(title, str) else ""), row["context"], question
