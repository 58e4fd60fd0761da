"""A file written back in its own dialect keeps every field; another dialect keeps what it says it holds."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_strategies import (
    DOCUMENT,
    agent_records,
    evaluation_datasets,
    langsmith_records,
    ragas_records,
    samples_for,
    squad_files,
)

from rag_evaluation_framework import Dataset, InputError, Sample, Turn
from rag_evaluation_framework.datasets.agent_samples import AGENT_SAMPLES
from rag_evaluation_framework.datasets.conversion import dataset_fields, is_supported, sample_fields
from rag_evaluation_framework.datasets.dialect import SIGNATURES, RecordDialect
from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.datasets.langsmith_examples import LANGSMITH
from rag_evaluation_framework.datasets.ragas import RAGAS
from rag_evaluation_framework.datasets.recognition import DIALECTS
from rag_evaluation_framework.datasets.squad import SQUAD
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.samples import Origin
from rag_evaluation_framework.structs import replace

few_files = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
RECORDS = {AGENT_SAMPLES: agent_records, RAGAS: ragas_records, LANGSMITH: langsmith_records}


def exact(value: Any) -> str:
    """Tell values apart as JSON does: 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("dialect", RECORDS, ids=lambda dialect: dialect.name)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_encoding_a_decoded_record_gives_the_record_unknown_fields_included(
    dialect: RecordDialect, data: st.DataObject
) -> None:
    record = data.draw(RECORDS[dialect])
    assert exact(dialect.record(dialect.sample(record))) == exact(record)


LAYOUTS: dict[Dialect, list[str]] = {
    AGENT_SAMPLES: [".jsonl", ".json", ".jsonl.gz", ".jsonl.zst"],
    RAGAS: [".jsonl", ".json", ".csv", ".csv.gz", ".parquet"],
    LANGSMITH: [".jsonl", ".json"],
}


@pytest.mark.parametrize("dialect", LAYOUTS, ids=lambda dialect: dialect.name)
@few_files
@given(data=st.data())
def test_a_file_of_records_read_and_written_in_any_layout_keeps_every_field(
    dialect: RecordDialect, data: st.DataObject, tmp_path: Path
) -> None:
    records = data.draw(
        st.lists(RECORDS[dialect], max_size=4, unique_by=lambda record: exact(record.get("id")))
    )
    source, back = tmp_path / "source.jsonl", tmp_path / "back.jsonl"
    source.write_bytes(b"".join(strict_json.encode(record) + b"\n" for record in records))
    for copy in (tmp_path / f"copy{suffix}" for suffix in LAYOUTS[dialect]):
        dialect.write(dialect.read(source), copy)
        dialect.write(dialect.read(copy), back)
        written = [json.loads(line) for line in back.read_bytes().split(b"\n") if line]
        assert exact(written) == exact(records), copy.name


@few_files
@given(value=evaluation_datasets)
def test_an_evaluation_dataset_keeps_every_field_as_json_yaml_and_csv(
    value: dict[str, Any], tmp_path: Path
) -> None:
    source, back = tmp_path / "a.eval.json", tmp_path / "back.eval.json"
    source.write_bytes(strict_json.encode(value))
    for suffix in (".eval.json", ".eval.yaml", ".eval.csv", ".eval.csv.zst"):
        EVALUATION_SETS.write(EVALUATION_SETS.read(source), tmp_path / f"copy{suffix}")
        EVALUATION_SETS.write(EVALUATION_SETS.read(tmp_path / f"copy{suffix}"), back)
        assert exact(json.loads(back.read_bytes())) == exact(value), suffix


@few_files
@given(value=squad_files())
def test_a_squad_file_keeps_every_field(value: dict[str, Any], tmp_path: Path) -> None:
    source, back = tmp_path / "a.json", tmp_path / "b.json"
    source.write_bytes(strict_json.encode(value))
    SQUAD.write(SQUAD.read(source), back)
    assert exact(json.loads(back.read_bytes())) == exact(value)


def test_a_sample_changed_after_reading_is_written_as_changed() -> None:
    sample = AGENT_SAMPLES.sample({"input": "a", "expected": "b", "tags": [], "by": "me"})
    changed = replace(sample, reference="c", tags=("new",))
    assert AGENT_SAMPLES.record(changed) == {"input": "a", "expected": "c", "tags": ["new"], "by": "me"}
    tool = {"user_input": [{"content": "a", "type": "human"}, {"content": "t", "type": "tool"}]}
    sample = replace(RAGAS.sample(tool), turns=(Turn(role="user", content="z"),))
    assert RAGAS.record(sample) == {"user_input": "z"}


@pytest.mark.parametrize(
    ("written", "grades", "changed"),
    [
        (["a.md", "b.md"], {"a.md": 1, "b.md": 1}, ["c.md"]),
        ({"a.md": 1, "b.md": 1}, {"a.md": 1, "b.md": 1}, {"c.md": 1}),
        ({"a.md": 2, "b.md": 0}, {"a.md": 2, "b.md": 0}, ["c.md"]),
    ],
)
def test_relevant_documents_of_agent_samples_are_a_list_or_grades_and_stay_so(
    written: Any, grades: dict[str, int], changed: Any
) -> None:
    record = {"input": "a", "expected": "b", "relevant_documents": written, "relevant_chunk_ids": ["7", "8"]}
    sample = AGENT_SAMPLES.sample(record)
    assert (sample.relevant_documents, sample.relevant_chunk_ids) == (grades, ("7", "8"))
    assert AGENT_SAMPLES.record(sample) == record
    assert not [name for name in sample_fields(sample) if name.startswith("extra")]
    other = replace(sample, relevant_documents={"c.md": 1})
    assert AGENT_SAMPLES.record(other)["relevant_documents"] == changed


def test_relevant_documents_that_are_neither_are_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [
        {"relevant_documents": "a.md"},
        {"relevant_documents": [7]},
        {"relevant_documents": {"a": "x"}},
    ]
    lines = [json.dumps({"input": "a", "expected": "b", **record}) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        AGENT_SAMPLES.read(path)
    assert str(caught.value).splitlines() == [
        f"{path}:1: relevant_documents: expected an object or a list, got 'a.md'",
        f'{path}:2: relevant_documents[0]: expected text, got 7; write "7"',
        f"{path}:3: relevant_documents.a: expected a whole number, got 'x'",
    ]


def test_what_another_dialect_said_beyond_a_sample_is_not_written() -> None:
    origin = Origin("ragas", "x.jsonl", 1)
    sample = Sample(
        id="1", turns=(Turn(role="user", content="a"),), reference="b", extra={"c": 1}, origin=origin
    )
    assert AGENT_SAMPLES.record(sample) == {"id": "1", "input": "a", "expected": "b"}


# What a dialect cannot do without, and what others must therefore hold to be converted into it.
NEEDS = {
    "squad": {"dataset.documents", "relevant_documents"},
    "squad-rows": {"dataset.documents", "relevant_documents"},
    "agent-samples": {"reference"},
    "golden-factual": {"reference"},
    "golden-relationship": {"expectation.relation"},
    "golden-tracking": {"expectation.milestones"},
    "golden-boundary": {"expectation.refusal"},
    "offline-records": {"reference"},
    "qa-pairs": {"reference"},
    "retrieval-cases": {"relevant_chunk_ids"},
    "summaries": {"reference"},
}
# Files of other tools are read and written by one table: beside agent samples they show all of it.
FOREIGN = {name for name, signature in SIGNATURES.items() if signature.is_foreign} | {"squad-rows"}
FILE_NAMES = {"evaluation-dataset": "x.eval.json", "beir": "x", "trec": "x.qrels", "squad": "x.squad.json"}


def shared(first: Dialect, second: Dialect) -> frozenset[str]:
    names = {*first.holds, *second.holds}
    return frozenset(
        name for name in names if is_supported(name, first.holds) and is_supported(name, second.holds)
    )


def pairs() -> list[tuple[str, str]]:
    found = []
    for first, second in permutations(DIALECTS.names(), 2):
        if FOREIGN & {first, second} and not {"agent-samples", "squad"} & {first, second}:
            continue
        both = shared(DIALECTS.get(first), DIALECTS.get(second))
        needs = NEEDS.get(first, set()) | NEEDS.get(second, set())
        if "question" in both or "turns" in both:
            found += [(first, second)] if needs <= both else []
    return found


def written_and_read(dataset: Dataset, dialect: Dialect, folder: Path) -> Dataset:
    suffix = dialect.suffixes[0] if dialect.suffixes else ""
    path = folder / FILE_NAMES.get(dialect.name, f"x{suffix}")
    dialect.write(dataset, path)
    return dialect.read(path)


@pytest.mark.parametrize(("first", "second"), pairs())
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_pair_of_dialects_keeps_what_both_hold(
    first: str, second: str, data: st.DataObject, tmp_path: Path
) -> None:
    one, other = DIALECTS.get(first), DIALECTS.get(second)
    both = shared(one, other)
    samples = tuple(data.draw(samples_for(both, index=index)) for index in range(2))
    if "trec" in (first, second):
        samples = tuple(_on_one_line(sample) for sample in samples)
    documents = (DOCUMENT,) if is_supported("dataset.documents", both) else ()
    dataset = Dataset(samples=samples, dialect="made", documents=documents)
    there = written_and_read(dataset, one, Path(mkdtemp(dir=tmp_path)))
    back = written_and_read(there, other, Path(mkdtemp(dir=tmp_path)))
    for sample, read in zip(dataset.samples, back.samples, strict=True):
        for field in sample_fields(sample):
            if field == "id" and "id" not in both:
                continue  # every sample has one, whether a dialect has a place for it or not
            name = field.partition(".")[0]
            attribute = {"question": "turns", "grades": "relevant_documents"}.get(name, name)
            assert getattr(read, attribute) == getattr(sample, attribute), field
    assert (
        "dataset.documents" not in set(dataset_fields(dataset))
        or back.documents[0].content == DOCUMENT.content
    )


def _on_one_line(sample: Sample) -> Sample:
    question = sample.question.replace("\n", " ").rstrip("\r") or "?"
    return replace(sample, turns=(Turn(role="user", content=question),))


@pytest.mark.parametrize("name", sorted({*FILE_NAMES, "agent-samples", "ragas", "langsmith"}))
def test_half_a_surrogate_pair_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    dialect = DIALECTS.get(name)
    sample = Sample(
        id="1",
        turns=(Turn(role="user", content="half \ud83d"),),
        reference="a",
        relevant_documents={DOCUMENT.id: 1},
    )
    path = tmp_path / FILE_NAMES.get(name, f"x{dialect.suffixes[0] if dialect.suffixes else ''}")
    with pytest.raises(InputError):
        dialect.write(Dataset(samples=(sample,), dialect="made", documents=(DOCUMENT,)), path)
    assert not path.is_file()
    assert not list(path.glob("*.jsonl"))
