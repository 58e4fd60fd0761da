"""Files of records: every problem of a file in one error, with its line and path, in every layout."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError, Sample, Turn, UsageError, read_dataset
from rag_evaluation_framework.datasets import parquet_tables
from rag_evaluation_framework.datasets.agent_samples import AGENT_SAMPLES
from rag_evaluation_framework.datasets.dialect import made_id
from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.datasets.langsmith_examples import LANGSMITH
from rag_evaluation_framework.datasets.ragas import RAGAS
from rag_evaluation_framework.datasets.record_files import layout_of
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.records.samples import Origin, Recorded

TABLES = tables_beside(__file__)


def places(dialect: Dialect, path: Path) -> list[tuple[int | None, str, str]]:
    with pytest.raises(InputError) as caught:
        dialect.read(path)
    assert all(issue.file == str(path) for issue in caught.value.issues)
    return [(issue.line, issue.path, issue.code) for issue in caught.value.issues]


def test_all_problems_of_a_line_file_are_in_one_error_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "rag.jsonl"
    path.write_text(
        '{"input": "a", "expected": 5}\n'
        "\n"
        '{"input": "a", "expected": "b", "tags": ["x", 1]}\n'
        '{"input" "a"}\n'
        '{"input": "a", "expected": "b"}\n'
        "[]\n"
        '{"id": "1", "input": "a", "expected": "b"}\n'
        '{"id": "1", "input": "c", "expected": "d"}\n'
    )
    assert [(line, path_) for line, path_, _ in places(AGENT_SAMPLES, path)] == [
        (1, "expected"),
        (3, "tags[1]"),
        (4, "input"),
        (6, ""),
        (8, ""),
    ]


def test_all_problems_of_an_array_are_in_one_error_with_the_lines_of_the_values(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    records = TABLES["records"]
    path.write_text(json.dumps(records, indent=1))
    lines = path.read_text().split("\n")
    found = places(LANGSMITH, path)
    assert [path_ for _, path_, _ in found] == ["[1].inputs.query", "[2].outputs.spans[0].end"]
    assert '"query": 5' in lines[(found[0][0] or 0) - 1]
    assert '"end": 5' in lines[(found[1][0] or 0) - 1]


@pytest.mark.parametrize(
    "text", ["[", "[{}", '[{"a": 1},]', "[NaN]", '[{"a": 1, "a": 2}]', "[1] 2", "[" * 5000]
)
def test_an_array_that_is_not_strict_json_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("\n" + text)
    assert {line for line, _, _ in places(LANGSMITH, path)} <= {2, None}


def test_the_problems_of_a_table_have_the_line_on_which_the_row_begins(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        'user_input,retrieved_contexts\r\n"two\r\nlines",[]\r\nq,oops\r\n\r\nq,[5]\r\nq,[],too many\r\n',
        newline="",
    )
    assert places(RAGAS, path) == [
        (4, "retrieved_contexts", "not-json"),
        (6, "retrieved_contexts[0]", "wrong-type"),
        (7, "", "wrong-columns"),
    ]


@pytest.mark.parametrize("header", ["user_input|response", "Who sails?,The Razorbill"])
def test_a_table_whose_columns_are_all_unknown_is_one_problem(header: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\n" + "q,a\n" * 9)
    assert places(RAGAS, path) == [(1, "", "unknown-columns")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("above", ["", "\n\n"])
def test_a_table_is_cut_at_the_separator_that_its_header_has(
    separator: str, above: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    rows = [["user_input", "response", "reference"], ["Who; and, where?", "Ann\tin Rome", ""]]
    with path.open("w", newline="") as file:
        file.write(above)
        csv.writer(file, delimiter=separator).writerows(rows)
    (sample,) = read_dataset(path).samples
    assert (sample.question, sample.reference) == ("Who; and, where?", None)
    assert sample.recorded == Recorded(answer="Ann\tin Rome")
    assert sample.origin == Origin("ragas", str(path), above.count("\n") + 2)


def test_a_column_that_every_row_needs_is_missed_once_and_not_in_each_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("question;response\n" + "q;a\n" * 9)
    assert places(RAGAS, path) == [(1, "user_input", "missing-column")]
    with pytest.raises(
        InputError, match="user_input: expected a column of this name, got the columns question"
    ):
        RAGAS.read(path)
    path = tmp_path / "x.parquet"
    parquet_tables.write_rows(path, [{"question": "q", "response": "a"}] * 9)
    assert places(RAGAS, path) == [(None, "user_input", "missing-column")]
    path = tmp_path / "x.eval.csv"
    path.write_text("query_id,dataset_id,name,version\nq1,d,n,1.0.0\nq2,,,\n")
    assert places(EVALUATION_SETS, path) == [
        (1, "query_text", "missing-column"),
        (1, "relevant_documents", "missing-column"),
    ]


def test_what_is_wrong_with_the_text_of_a_table_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"user_input\nq\n\xff\n")
    assert places(RAGAS, path) == [(3, "", "invalid-utf8")]
    path.write_text('user_input,response\n\nq,a\nq,"never closed\nq,a\n')
    assert places(RAGAS, path) == [(4, "", "csv-syntax")]


def test_a_table_with_lists_as_python_writes_them_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, ["user_input", "retrieved_contexts", "response"])
        writer.writeheader()
        writer.writerow({"user_input": "q", "retrieved_contexts": ["it's", 'a "b"'], "response": "r"})
    (sample,) = RAGAS.read(path).samples
    assert sample.recorded.contexts == ("it's", 'a "b"')
    assert sample.recorded.answer == "r"


@pytest.mark.parametrize(("text", "layout"), TABLES["the layout is told from the content"])
def test_the_layout_is_told_from_the_content(text: str, layout: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text)
    assert layout_of(tmp_path / "x") == layout


def test_a_name_that_asks_for_a_layout_the_dialect_has_not_is_refused(tmp_path: Path) -> None:
    sample = Sample(id="1", turns=(Turn(role="user", content="q"),), reference="a")
    with pytest.raises(UsageError, match=r"cannot write agent-samples as csv\. Use lines, array"):
        AGENT_SAMPLES.write_samples([sample], tmp_path / "x.csv")


def test_a_sample_that_lacks_what_a_dialect_requires_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    samples = [Sample(id=name, turns=(Turn(role="user", content="q"),)) for name in ("one", "two")]
    with pytest.raises(InputError) as caught:
        AGENT_SAMPLES.write_samples(samples, tmp_path / "x.jsonl")
    assert [issue.path for issue in caught.value.issues] == ["sample 'one'.expected", "sample 'two'.expected"]
    assert not (tmp_path / "x.jsonl").exists()


def test_an_id_made_from_content_ignores_order_and_labels_and_numbers_equal_samples(tmp_path: Path) -> None:
    first, second = '{"input": "a", "expected": "b"}\n', '{"input": "c", "expected": "d"}\n'
    labelled = '{"input": "a", "expected": "b", "tags": ["x"], "metadata": {"y": 1}}\n'
    path = tmp_path / "x.jsonl"

    def ids(text: str) -> list[str]:
        path.write_text(text)
        return [sample.id for sample in AGENT_SAMPLES.stream(path)]

    one, two = ids(first + second)
    assert ids(second + first) == [two, one]
    assert ids(labelled) == [one]
    assert ids(first + second + labelled) == [one, two, f"{one}-2"]
    assert one.startswith("sample-")
    assert len(one) == 19


def test_generated_ids_depend_on_the_question_alone() -> None:
    agent = AGENT_SAMPLES.sample({"input": "Where is A?", "expected": "b", "context": ["c"]})
    ragas = RAGAS.sample({"user_input": " where IS  a?", "reference": "x", "response": "y"})
    assert made_id(agent) == made_id(ragas)
    assert made_id(agent) != made_id(AGENT_SAMPLES.sample({"input": "Where is B?", "expected": "b"}))


def test_the_head_of_an_evaluation_dataset_stands_in_the_first_row_of_its_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "x.eval.csv"
    path.write_text(
        "query_id,query_text,relevant_documents,dataset_id,name,version,dataset_metadata\r\n"
        '1,q,"[""d""]",set,Set,1.0.0,"{""language"": ""zh""}"\r\n'
        "2,r,[],,,,\r\n",
        newline="",
    )
    dataset = EVALUATION_SETS.read(path)
    assert (dataset.dataset_id, dataset.name, dataset.version) == ("set", "Set", "1.0.0")
    assert dataset.metadata == {"language": "zh"}
    assert [sample.id for sample in dataset.samples] == ["1", "2"]
    assert dataset.samples[1].origin.line == 3


def test_rows_that_contradict_the_head_are_an_error_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "x.eval.csv"
    path.write_text(
        "query_id,query_text,relevant_documents,dataset_id,name,version\r\n1,q,[],a,a,1\r\n2,q,[],b,a,1\r\n",
        newline="",
    )
    assert places(EVALUATION_SETS, path) == [(3, "dataset_id", "contradiction")]
