"""SQuAD, BEIR and TREC as samples, worked by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import Dataset, InputError, Refusal, Sample, Turn, UsageError
from rag_evaluation_framework.datasets.beir import BEIR
from rag_evaluation_framework.datasets.squad import SQUAD
from rag_evaluation_framework.datasets.trec import TREC
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

CONTEXT = "The Normans (诺曼人) gave their name to Normandy."
SQUAD_FILE = {
    "version": "v2.0",
    "data": [{"title": "Normans", "paragraphs": [{"context": CONTEXT, "qas": TABLES["squad_questions"]}]}],
}


def test_squad_answers_are_spans_of_the_paragraph_and_what_is_impossible_expects_a_refusal(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(SQUAD_FILE))
    dataset = SQUAD.read(path)
    (document,) = dataset.documents
    assert (document.id, document.title, dataset.version) == ("Normans#0", "Normans", "v2.0")
    answered, impossible = dataset.samples
    (span,) = answered.relevant_spans
    assert document.content[span.start : span.end] == span.text == answered.reference == "Normandy"
    assert answered.expectation is None
    assert impossible.expectation == Refusal()
    assert impossible.reference is None
    assert answered.relevant_documents == impossible.relevant_documents == {"Normans#0": 1}


def test_the_problems_of_a_squad_file_have_lines_and_paths(tmp_path: Path) -> None:
    wrong: dict[str, Any] = json.loads(json.dumps(SQUAD_FILE))
    questions = wrong["data"][0]["paragraphs"][0]["qas"]
    questions[0]["answers"][0]["text"] = ""
    questions[1]["id"] = "1"
    questions[1]["answers"] = [{"text": "Normandy", "answer_start": 36}]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(wrong, indent=1))
    with pytest.raises(InputError) as caught:
        SQUAD.read(path)
    lines = path.read_text().split("\n")
    first, second, third = caught.value.issues
    assert first.path == "data[0].paragraphs[0].qas[0].answers[0].text"
    assert '"text": ""' in lines[(first.line or 0) - 1]
    assert (second.code, second.path) == ("duplicate-id", "data[0].paragraphs[0].qas[1].id")
    assert (third.code, third.path) == ("text-differs", "data[0].paragraphs[0].qas[1].answers[0]")
    assert third.found == "' Normand'"


def test_a_sample_on_several_documents_or_none_does_not_fit_squad(tmp_path: Path) -> None:
    turns = (Turn(role="user", content="q"),)
    samples = (
        Sample(id="none", turns=turns),
        Sample(id="two", turns=turns, relevant_documents={"a": 1, "b": 1}),
        Sample(id="gone", turns=turns, relevant_documents={"a": 1}),
    )
    with pytest.raises(InputError) as caught:
        SQUAD.write(Dataset(samples=samples, dialect="made"), tmp_path / "x.json")
    codes = [issue.code for issue in caught.value.issues]
    assert codes == ["not-one-document", "not-one-document", "missing-document"]


def beir_folder(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "", "text": "one", "metadata": {}, "url": "u"}\n'
        '{"_id": "d 2", "text": "two"}\n'
    )
    queries = (
        '{"_id": "q1", "text": "first", "lang": "en"}\n'
        '{"_id": "q2", "text": "second", "metadata": {"a": 1}}\n'
    )
    (folder / "queries.jsonl.gz").write_bytes(
        gzip.compress((queries + '{"_id": "q3", "text": "third"}\n').encode())
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td 2\t0\n")
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\n")
    return folder


def test_a_beir_folder_is_read_with_all_its_splits_and_written_back_the_same(tmp_path: Path) -> None:
    dataset = BEIR.read(beir_folder(tmp_path / "in"))
    first, second, third = dataset.samples
    assert first.relevant_documents == {"d1": 2, "d 2": 0}
    assert second.relevant_documents == {"d1": 1}
    assert third.relevant_documents == {}
    assert [document.title for document in dataset.documents] == ["", None]
    out = tmp_path / "out"
    BEIR.write(dataset, out)
    for name in ("corpus.jsonl", "qrels/test.tsv", "qrels/train.tsv"):
        mine, theirs = (out / name).read_text(), (tmp_path / "in" / name).read_text()
        if name.endswith(".jsonl"):
            assert [*map(json.loads, mine.splitlines())] == [*map(json.loads, theirs.splitlines())]
        else:
            assert mine == theirs
    queries = gzip.decompress((tmp_path / "in" / "queries.jsonl.gz").read_bytes()).decode()
    written = (out / "queries.jsonl").read_text()
    assert [*map(json.loads, written.splitlines())] == [*map(json.loads, queries.splitlines())]


def test_every_problem_of_a_beir_folder_is_named_with_its_file(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in")
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1"}\n{"_id": "d2", "text": "b"}\n{"_id": "d2", "text": "b"}\n'
    )
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq9\td1\t1\nq1\td1\t1\n")
    with pytest.raises(InputError) as caught:
        BEIR.read(folder)
    found = [(Path(issue.file or "").name, issue.line, issue.code) for issue in caught.value.issues]
    assert found == [
        ("corpus.jsonl", 1, "missing-field"),
        ("corpus.jsonl", 3, "duplicate-id"),
        ("queries.jsonl.gz", 1, "contradiction"),
        ("dev.tsv", None, "unknown-query"),
    ]


def test_a_beir_folder_with_files_that_would_be_mixed_in_is_not_written_to(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in")
    with pytest.raises(UsageError, match=r"queries\.jsonl\.gz"):
        BEIR.write(BEIR.read(folder), folder)


def test_trec_judgements_are_samples_with_the_questions_of_the_topics_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "web.qrels"
    path.write_text("q1 0 d1 2\nq2 7 d1 0\n")
    (tmp_path / "web.topics.tsv").write_text("q0\twhat\twith tab\nq1\t问题\r\n")
    samples = {sample.id: sample for sample in TREC.stream(path)}
    assert [(name, sample.question) for name, sample in samples.items()] == [
        ("q0", "what\twith tab"),
        ("q1", "问题"),
        ("q2", ""),
    ]
    assert samples["q1"].relevant_documents == {"d1": 2}
    copy = tmp_path / "copy.qrels.gz"
    TREC.write(TREC.read(path), copy)
    assert gzip.decompress(copy.read_bytes()) == path.read_bytes()
    assert (tmp_path / "copy.topics.tsv").read_text() == "q0\twhat\twith tab\nq1\t问题\nq2\t\n"


def test_judgements_alone_are_written_without_topics(tmp_path: Path) -> None:
    sample = Sample(id="q1", turns=(Turn(role="user", content=""),), relevant_documents={"d": 1})
    TREC.write(Dataset(samples=(sample,), dialect="made"), tmp_path / "x.qrels")
    assert [path.name for path in tmp_path.iterdir()] == ["x.qrels"]


def test_what_columns_cannot_hold_is_refused(tmp_path: Path) -> None:
    sample = Sample(id="a b", turns=(Turn(role="user", content="two\nlines"),), relevant_documents={"": 1})
    dataset = Dataset(samples=(sample,), dialect="made")
    with pytest.raises(InputError) as caught:
        TREC.write(dataset, tmp_path / "x.qrels")
    assert [issue.code for issue in caught.value.issues] == [
        "unwritable-id",
        "unwritable-id",
        "unwritable-text",
    ]
    assert not list(tmp_path.iterdir())
    # At the start of a file it would be read as a byte order mark, and the id without it.
    marked = Dataset(samples=(replace(sample, id="\ufeffq", relevant_documents={"d": 1}),), dialect="made")
    for dialect, name in ((TREC, "x.qrels"), (BEIR, "folder")):
        with pytest.raises(InputError, match="feffq"):
            dialect.write(marked, tmp_path / name)
