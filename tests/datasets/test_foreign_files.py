"""Files that other tools wrote are read as they are, and what is written is read back the same.

The files are in ``tests/fixtures/tools``, made by the tools themselves (``make fixtures``); the table beside
this file says what must be read of each.
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError, Sample, UsageError, convert, read_dataset
from rag_evaluation_framework.datasets.dialect import RecordDialect, has_content_id
from rag_evaluation_framework.datasets.recognition import DIALECTS, recognise
from rag_evaluation_framework.datasets.validation import validate_file
from rag_evaluation_framework.records.samples import Recorded

FOLDER = Path(__file__).parents[1] / "fixtures" / "tools"
TABLES = tables_beside(__file__)
READ: dict[str, Any] = TABLES["what is read of each file"]


def told(sample: Sample) -> dict[str, Any]:
    """Return what a sample says, as the table writes it."""
    recorded = sample.recorded or Recorded()
    said = {
        "id": None if has_content_id(sample) else sample.id,
        "question": sample.question if len(sample.turns) == 1 else None,
        "turns": [f"{turn.role}: {turn.content}" for turn in sample.turns] if len(sample.turns) > 1 else None,
        "reference": sample.reference,
        "references": list(sample.references),
        "declines": sample.expectation is not None,
        "answer": recorded.answer,
        "contexts": list(recorded.contexts),
        "sources": list(recorded.sources),
        "reference_contexts": list(sample.reference_contexts),
        "spans": [f"{span.file} {span.start}–{span.end}" for span in sample.relevant_spans],
        "metadata": dict(sample.metadata),
    }
    return {name: value for name, value in said.items() if value}


def test_every_file_is_in_the_table_and_every_maker_in_the_versions() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(READ)
    versions = json.loads((FOLDER.parent / "versions.json").read_text())
    script = (FOLDER.parent / "make_fixtures.py").read_text()
    assert set(re.findall(r'^    "(\w+)": \(', script, re.MULTILINE)) == set(versions)


@pytest.mark.parametrize("name", READ)
def test_a_file_of_another_tool_is_read_to_the_samples_it_holds(name: str) -> None:
    dialect, expected = READ[name]["dialect"], READ[name]["samples"]
    dataset = read_dataset(FOLDER / name)
    assert dataset.dialect == dialect
    assert [told(sample) for sample in dataset.samples] == expected
    assert [issue for issue in validate_file(FOLDER / name) if issue.severity == "error"] == []


@pytest.mark.parametrize("name", READ)
def test_samples_written_in_the_dialect_of_their_file_are_read_back_the_same(
    name: str, tmp_path: Path
) -> None:
    dataset = read_dataset(FOLDER / name)
    copy = tmp_path / f"copy{DIALECTS.get(dataset.dialect).suffixes[0]}"
    convert(FOLDER / name, copy, to=dataset.dialect)
    again = read_dataset(copy, format=dataset.dialect)
    assert [replace(sample, origin=None) for sample in again.samples] == [
        replace(sample, origin=None) for sample in dataset.samples
    ]


ROWS = [name for name in READ if name.endswith(".jsonl") and not re.search("log|results|runs", name)]


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_written_back_as_they_were(name: str, tmp_path: Path) -> None:
    dialect = recognise(FOLDER / name)
    convert(FOLDER / name, tmp_path / "copy.jsonl", to=dialect.name)
    before, after = (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (FOLDER / name, tmp_path / "copy.jsonl")
    )
    assert after == before


@pytest.mark.parametrize(("dialect", "record", "problems"), TABLES["what is wrong with a record"])
def test_everything_wrong_with_a_record_is_told_with_its_place(
    dialect: str, record: Any, problems: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_dataset(path, format=dialect)
    assert [str(issue).removeprefix(f"{path}:1: ") for issue in caught.value.issues] == problems
    assert [
        str(issue).removeprefix(f"{path}:1: ") for issue in validate_file(path, format=dialect)
    ] == problems


@pytest.mark.parametrize(("dialect", "record", "expected"), TABLES["shapes of a record"])
def test_shapes_that_people_have_are_understood(
    dialect: str, record: dict[str, Any], expected: dict[str, Any]
) -> None:
    reader = DIALECTS.get(dialect)
    assert isinstance(reader, RecordDialect)
    sample = reader.sample(record)
    assert told(sample) == expected
    assert reader.record(sample) == record


def test_a_problem_within_a_document_has_the_line_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    tests = "tests:\n- vars:\n    question: When?\n- vars:\n    topic: [1]\n    colour: [2]\n"
    path.write_text("prompts: ['{{question}}']\n" + tests, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"promptfooconfig.yaml:5: tests\[1\].vars.question: expected a question"
    ):
        read_dataset(path)
    path.write_text("prompts: [a]\ntests: file://tests.csv\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"tests: expected the tests themselves .* got 'file://tests.csv'"):
        read_dataset(path)


def test_a_damaged_log_is_refused_with_the_sample_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    whole = (FOLDER / "inspect_log.eval").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError):
        read_dataset(path)
    with pytest.raises(InputError, match="an archive that can be read"):
        read_dataset(path, format="inspect")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", '{"input": 7}')
        archive.writestr("samples/2_epoch_1.json", "{")
        archive.writestr("samples/3_epoch_1.json", b"0" * (40 << 20))
    with pytest.raises(InputError) as caught:
        read_dataset(path)
    found = {issue.path: issue.code for issue in caught.value.issues}
    assert found["samples/1_epoch_1.json.input"] == "invalid-value"
    assert found["samples/3_epoch_1.json"] == "decompression-limit"
    assert len(found) == 3


def test_what_a_tool_has_no_place_for_is_named_before_it_is_lost(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        convert(FOLDER / "deepeval.json", tmp_path / "evals.jsonl", to="openai-evals")
    lost = {issue.path for issue in caught.value.issues}
    assert lost == {"recorded.contexts", "recorded.sources", "recorded.answer", "reference_contexts"}
    with pytest.raises(UsageError, match="openai-evals is written as lines, not as csv"):
        convert(FOLDER / "openai_evals.jsonl", tmp_path / "evals.csv", to="openai-evals")


def of_ragas(path: Path) -> list[Any]:
    from ragas import EvaluationDataset

    return [sample.model_dump() for sample in EvaluationDataset.from_jsonl(path).samples]


def of_deepeval(path: Path) -> list[Any]:
    from deepeval.dataset import EvaluationDataset

    dataset = EvaluationDataset()
    dataset.add_goldens_from_jsonl_file(str(path))
    return [golden.model_dump() for golden in dataset.goldens]


def of_inspect_ai(path: Path) -> list[Any]:
    from inspect_ai.dataset import json_dataset

    samples = [sample.model_dump() for sample in json_dataset(str(path))]
    for sample in samples:
        for message in sample["input"] if isinstance(sample["input"], list) else ():
            del message["id"]  # drawn anew each time
    return samples


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("read", "name", "dialect", "foreign"),
    [
        pytest.param(of_ragas, "ragas.jsonl", "ragas", "deepeval.jsonl", marks=pytest.mark.vendors("ragas")),
        pytest.param(
            of_deepeval, "deepeval.jsonl", "deepeval", "ragas.jsonl", marks=pytest.mark.vendors("deepeval")
        ),
        pytest.param(
            of_inspect_ai,
            "inspect.jsonl",
            "inspect",
            "openai_evals.jsonl",
            marks=pytest.mark.vendors("inspect_ai"),
        ),
    ],
)
def test_the_tool_itself_reads_what_is_written(
    read: Any, name: str, dialect: str, foreign: str, tmp_path: Path
) -> None:
    convert(FOLDER / name, tmp_path / "same.jsonl", to=dialect)
    assert read(tmp_path / "same.jsonl") == read(FOLDER / name)
    convert(FOLDER / foreign, tmp_path / "other.jsonl", to=dialect, lossy=True)
    questions = [sample.question for sample in read_dataset(FOLDER / foreign).samples]
    written = json.dumps(read(tmp_path / "other.jsonl"), ensure_ascii=False, default=str)
    assert [question for question in questions if question not in written] == []
