"""Dialects are told apart by content; the name is a hint, ``format`` overrides, ambiguity is an error."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cases import tables_beside
from rag_evaluation_framework import Dataset, InputError, Sample, Turn, read_dataset
from rag_evaluation_framework.datasets.dialect import SIGNATURES
from rag_evaluation_framework.datasets.recognition import DIALECTS, previews, recognise
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.records.samples import Preview

TABLES = tables_beside(__file__)

FILES: dict[str, str] = TABLES["files"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_each_dialect_is_told_from_its_content_whatever_the_file_is_called(
    name: str, compressed: bool, tmp_path: Path
) -> None:
    path = tmp_path / "nameless"
    data = FILES[name].encode()
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert recognise(path).name == name
    assert len(read_dataset(path)) in (0, 1, 2)


def test_every_registered_dialect_is_a_dialect_of_its_name_and_has_a_file_above() -> None:
    for name in DIALECTS.names():
        dialect = DIALECTS.get(name)
        assert isinstance(dialect, Dialect)
        assert dialect.name == name
    assert set(DIALECTS.names()) == {*FILES, "beir"}


class Notes:
    """A dialect of another package, which may leave it to the user to name it."""

    name = "notes"
    suffixes = (".notes",)
    holds = frozenset({"question"})

    def read(self, path: Path) -> Dataset:
        question = Turn(role="user", content=path.read_text())
        return Dataset(samples=(Sample(id="a", turns=(question,)),), dialect=self.name)


class RecognisedNotes(Notes):
    def recognises(self, preview: Preview) -> bool:
        return "note" in preview.record


@pytest.mark.parametrize("dialect", [Notes(), RecognisedNotes()])
def test_a_dialect_of_an_installed_package_is_asked_or_named(
    dialect: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (info := tmp_path / "notes-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: notes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rag_evaluation_framework.dialects]\nnotes = unused\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(EntryPoint, "load", lambda _: dialect)
    monkeypatch.setattr(DIALECTS, "_installed_read", False)
    monkeypatch.setattr(DIALECTS, "_entries", dict(DIALECTS._entries))
    path = tmp_path / "x"
    path.write_text('{"note": "What is RAG?"}')
    assert read_dataset(path, format="notes").dialect == "notes"
    if isinstance(dialect, RecognisedNotes):
        assert recognise(path) is dialect
        path.write_text('{"note": "What is RAG?", "user_input": "q"}')
        with pytest.raises(InputError, match="notes and ragas"):
            recognise(path)
        (tmp_path / "x.notes").write_text('{"note": "What is RAG?", "user_input": "q"}')
        assert recognise(tmp_path / "x.notes") is dialect
    else:
        with pytest.raises(InputError, match=r"a known format \(rag-eval list formats\)"):
            recognise(path)


@pytest.mark.parametrize(
    ("name", "content", "format_"), TABLES["rows are read as rows and a mistake in a record is not a row"]
)
def test_rows_are_read_as_rows_and_a_mistake_in_a_record_is_not_a_row(
    name: str, content: str, format_: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert recognise(path).name == format_
    if format_ == "rows":
        assert read_dataset(path).samples[0].question == "q"
        assert read_dataset(path, format="rows").dialect == "rows"


def test_reading_a_file_loads_its_dialect_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(FILES["agent-samples"])
    program = (
        "import sys; from rag_evaluation_framework import read_dataset; read_dataset(sys.argv[1]); "
        "print(*(name for name in sys.modules if name.startswith('rag_evaluation_framework.datasets.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    loaded = {name.rpartition(".")[2] for name in done.stdout.split()}
    dialects = {signature.place.partition(":")[0] for signature in SIGNATURES.values()}
    assert loaded & dialects == {"agent_samples"}


def test_a_folder_with_queries_is_beir(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text("")
    assert recognise(tmp_path).name == "beir"


@pytest.mark.parametrize(
    "text",
    [
        'dataset_id: a\nname: a\nversion: "1.0.0"\nqueries: []\n',
        "# a comment\n---\nqueries:\n- query_id: '1'\n",
        "query_id,query_text,relevant_documents\r\n1,q,[]\r\n",
    ],
)
def test_evaluation_datasets_are_recognised_as_yaml_and_csv(text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text, newline="")
    assert recognise(tmp_path / "x").name == "evaluation-dataset"


def test_a_document_whose_first_value_is_long_is_read_further_and_no_further_than_needed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps({"documents": [{"content": "x" * 200_000}], "queries": []}, indent=1))
    seen = list(previews(path))
    assert "queries" not in seen[0].record
    assert recognise(path).name == "evaluation-dataset"
    path.write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "x" * 200_000}]}]}, indent=1)
    )
    assert recognise(path).name == "squad"
    assert "data" in next(iter(previews(path))).record


def test_a_file_is_opened_as_often_however_long_and_not_again_to_be_told_again(tmp_path: Path) -> None:
    files = [str(tmp_path / "2.jsonl"), str(tmp_path / "90.jsonl")]
    for file in files:
        Path(file).write_text('{"query": "q", "answer": "a"}\n' * int(Path(file).stem))
    program = (
        "import sys; from rag_evaluation_framework.datasets.recognition import recognise; opened = []\n"
        "sys.addaudithook(lambda what, given: what == 'open' and given[1] and opened.append(str(given[0])))\n"
        "print(*((recognise(file).name, opened.count(file)) for file in sys.argv[1:]), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program, *files, *files], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["('rows', 9)"] * 4


def test_a_file_of_two_dialects_is_an_error_naming_both_unless_its_name_decides(tmp_path: Path) -> None:
    both = {"input": "a", "expected": "b", "inputs": {"query": "q"}, "outputs": {"relevant_chunk_ids": []}}
    path = tmp_path / "x"
    path.write_text(json.dumps(both))
    with pytest.raises(InputError, match="agent-samples and langsmith"):
        recognise(path)
    assert recognise(path, format="langsmith").name == "langsmith"
    named = tmp_path / "x.langsmith.json"
    named.write_text(json.dumps(both))
    assert recognise(named).name == "langsmith"


@pytest.mark.parametrize("content", TABLES["what is no dataset is one short error"])
def test_what_is_no_dataset_is_one_short_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(content, newline="")
    with pytest.raises(InputError, match=r"a known format \(rag-eval list formats\)") as caught:
        recognise(path)
    assert [issue.code for issue in caught.value.issues] == ["unknown-dialect"]


@pytest.mark.parametrize(("content", "found"), TABLES["what is no dataset is described"])
def test_what_is_no_dataset_is_described(content: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(content, newline="")
    with pytest.raises(InputError) as caught:
        recognise(path)
    assert [issue.found for issue in caught.value.issues] == [found]


@pytest.mark.parametrize(
    ("name", "content", "told"), TABLES["a_mistake_in_the_first_record_is_found_in_its_line_like_any_other"]
)
def test_a_mistake_in_the_first_record_is_found_in_its_line_like_any_other(
    name: str, content: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_dataset(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / told))


def test_an_unknown_format_offers_the_nearest_names(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "ragas'):
        recognise(tmp_path, format="raga")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "dialect"),
    [
        ("boundary_qa.json", FILES["golden-factual"], "golden-boundary"),
        ("my_boundary_qa.jsonl", '{"id": "1", "question": "q", "ground_truth": "no"}\n', "golden-boundary"),
        ("factual_qa.json", FILES["golden-boundary"], "golden-factual"),
        ("multiturn_qa.json", '[{"question": "q"}]', "golden-multiturn"),
        ("tracking_qa.json", '[{"id": ', "golden-tracking"),
        ("summaries.jsonl", FILES["qa-pairs"], "summaries"),
        # Something else altogether is what it is.
        ("boundary_qa.json", FILES["evaluation-dataset"], "evaluation-dataset"),
    ],
)
def test_within_a_family_the_name_decides(
    name: str, content: str, dialect: str, compressed: bool, tmp_path: Path
) -> None:
    path = tmp_path / (f"{name}.gz" if compressed else name)
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    assert recognise(path).name == dialect


@pytest.mark.parametrize(
    ("fields", "dialect"), TABLES["questions_to_decline_without_a_name_are_told_by_their_fields"]
)
def test_questions_to_decline_without_a_name_are_told_by_their_fields(
    fields: str, dialect: str, tmp_path: Path
) -> None:
    path = tmp_path / "nameless.json"
    path.write_text(f'[{{"id": "1", "question": "q", {fields}}}]', encoding="utf-8")
    assert recognise(path).name == dialect
