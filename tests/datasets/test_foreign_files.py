"""Files that other tools wrote are read as they are, and what is written is read back the same.

The files are in ``tests/fixtures/tools``, made by the tools themselves (``make fixtures``); the table beside
this file says what must be read of each.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from recorded_servers import PACKAGES

from cases import tables_beside
from command_lines import rag_eval_ended
from rag_evaluation_framework import InputError, Sample, UsageError, convert, evaluate, read_dataset
from rag_evaluation_framework.datasets.dialect import RecordDialect, needs_no_id
from rag_evaluation_framework.datasets.recognition import DIALECTS, recognise
from rag_evaluation_framework.datasets.validation import validate_file
from rag_evaluation_framework.records.samples import Recorded
from rag_evaluation_framework.structs import replace

FOLDER = Path(__file__).parents[1] / "fixtures" / "tools"
TABLES = tables_beside(__file__)
READ: dict[str, Any] = TABLES["what is read of each file"]


def told(sample: Sample) -> dict[str, Any]:
    """Return what a sample says, as the table writes it."""
    recorded = sample.recorded or Recorded()
    said = {
        "id": None if needs_no_id(sample) else sample.id,
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
    made = set(re.findall(r'^    "(\w+)": \(', script, re.MULTILINE))
    assert made | set(PACKAGES) == set(versions)


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
        replace(without_time(sample), origin=None) for sample in dataset.samples
    ]


def without_time(sample: Sample) -> Sample:
    """Return a sample without what a log says its answer took: no sample is written with that."""
    recorded = sample.recorded
    return replace(sample, recorded=recorded and replace(recorded, usage=None, latency_ms=None))


LOGGED: dict[str, Any] = TABLES["what a log says an answer took"]


@pytest.mark.parametrize("name", LOGGED)
def test_what_a_log_says_an_answer_took_is_scored(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(LOGGED[name]), encoding="utf-8")
    result = evaluate(path, metrics=["latency", "tokens"])
    assert [result.metrics[metric].value for metric in ("latency", "tokens")] == [1500.0, 34.0]
    timed = evaluate(FOLDER / "promptfoo_results.jsonl", metrics=["latency", "tokens"])
    assert (timed.metrics["latency"].value, timed.metrics["tokens"].value) == (11.25, None)


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
    with pytest.raises(InputError, match=r"tests: expected a list of tests .* got 'file://tests.csv'"):
        read_dataset(path)


def test_a_damaged_log_is_refused_with_the_sample_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    whole = (FOLDER / "inspect_log.eval").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError):
        read_dataset(path)
    with pytest.raises(InputError, match="a readable archive"):
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
    with pytest.raises(UsageError, match=r"cannot write openai-evals as csv\. Use lines"):
        convert(FOLDER / "openai_evals.jsonl", tmp_path / "evals.csv", to="openai-evals")


@pytest.mark.parametrize("target", ["tests.csv", "tests.yaml", "promptfooconfig.yaml"])
@pytest.mark.parametrize(
    "name", ["promptfooconfig.yaml", "promptfoo_results.json", "promptfoo.csv", "ragas.jsonl"]
)
def test_tests_of_promptfoo_are_written_as_it_takes_them(name: str, target: str, tmp_path: Path) -> None:
    convert(FOLDER / name, tmp_path / target, to="promptfoo")
    before, after = read_dataset(FOLDER / name), read_dataset(tmp_path / target)
    assert after.dialect == "promptfoo"
    assert [told(sample) for sample in after.samples] == [told(sample) for sample in before.samples]


def test_what_promptfoo_has_no_place_for_in_a_table_is_named(tmp_path: Path) -> None:
    test = {
        "vars": {"question": "When?", "context": ["[At noon.]"]},
        "assert": [{"type": "icontains-any", "value": ['noon, "sharp"', "12:00"]}],
        "metadata": {"tags": ["a,b", "c"]},
    }
    (tmp_path / "tests.json").write_text(json.dumps([test]))
    convert(tmp_path / "tests.json", tmp_path / "tests.csv", to="promptfoo", from_="promptfoo")
    (sample,) = read_dataset(tmp_path / "tests.csv").samples
    assert told(sample) == {
        "question": "When?",
        "reference": 'noon, "sharp"',
        "references": ["12:00"],
        "contexts": ["[At noon.]"],
        "metadata": {"tags": ["a,b", "c"]},
    }
    wrong = {
        "metadata": {"rank": 3},
        "threshold": 0.5,
        "assert": [{"type": "equals", "value": "x", "weight": 2}],
    }
    (tmp_path / "tests.json").write_text(json.dumps([{**test, **wrong}]))
    with pytest.raises(InputError) as caught:
        convert(tmp_path / "tests.json", tmp_path / "other.csv", to="promptfoo", from_="promptfoo")
    assert [issue.path for issue in caught.value.issues] == [
        "[0].threshold",
        "[0].assert.weight",
        "[0].metadata.rank",
    ]
    assert not (tmp_path / "other.csv").exists()


def test_someone_from_ragas_is_led_from_its_context_recall_to_ours(tmp_path: Path) -> None:
    row = {"user_input": "Who runs it?", "response": "Anna.", "retrieved_contexts": ["Anna runs the office."]}
    rows = [{**row, "reference": "Anna runs the office."}, {**row, "user_input": "Who?"}]
    (tmp_path / "ragas.json").write_text(json.dumps(rows))  # in one line
    (tmp_path / "asked.json").write_text(json.dumps([{"user_input": "Who?", "reference": "Anna."}]))

    def score(name: str, *options: str) -> subprocess.CompletedProcess[str]:
        return rag_eval_ended("score", name, *options, folder=tmp_path)

    refused = score("ragas.json", "-m", "context_recall")
    assert refused.returncode == 2
    assert "got 2 of 2 without: sample 1, sample 2;" in refused.stderr
    (ours,) = re.findall(r"-m (\w+)", refused.stderr)
    refused = score("ragas.json", "-m", ours)
    told = f"a reference answer in every sample for {ours}, got 1 of 2 without: sample 2; "
    assert f"{told}to score the others, add --allow-missing\n" in refused.stderr
    scored = score("ragas.json", "-m", ours, "--allow-missing", "--json")
    assert json.loads(scored.stdout)["metrics"][ours] == 1.0
    refused = score("asked.json", "-m", "token_f1")
    assert "  rag-eval evaluate asked.json --url URL" in refused.stderr


def read_by(tool: str, path: Path) -> Any:
    """Return what the tool itself reads of a file, in the environment that it has for itself."""
    python = Path(sys.prefix) / "fixtures" / tool / "bin" / "python"
    script = FOLDER.parent / "make_fixtures.py"
    done = subprocess.run([python, script, "read", tool, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("tool", "name", "dialect", "foreign", "written"),
    [
        pytest.param(*case, marks=pytest.mark.vendors(f"fixtures/{case[0]}"))
        for case in (
            ("ragas", "ragas.jsonl", "ragas", "deepeval.jsonl", "tests.jsonl"),
            ("deepeval", "deepeval.jsonl", "deepeval", "ragas.jsonl", "tests.jsonl"),
            ("inspect_ai", "inspect.jsonl", "inspect", "openai_evals.jsonl", "tests.jsonl"),
            ("promptfoo", "promptfooconfig.yaml", "promptfoo", "ragas.jsonl", "promptfooconfig.yaml"),
            ("promptfoo", "promptfoo.csv", "promptfoo", "ragas.jsonl", "tests.csv"),
        )
    ],
)
def test_the_tool_itself_reads_what_is_written(
    tool: str, name: str, dialect: str, foreign: str, written: str, tmp_path: Path
) -> None:
    (tmp_path / "same").mkdir()
    convert(FOLDER / name, tmp_path / "same" / written, to=dialect)
    assert read_by(tool, tmp_path / "same" / written) == read_by(tool, FOLDER / name)
    convert(FOLDER / foreign, tmp_path / written, to=dialect, lossy=True)
    questions = [sample.question for sample in read_dataset(FOLDER / foreign).samples]
    read = json.dumps(read_by(tool, tmp_path / written), ensure_ascii=False)
    assert [question for question in questions if question not in read] == []
