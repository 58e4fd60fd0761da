"""Converting says what would be lost, field by field, and loses nothing unasked."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from format_examples import ANSWER_QUALITY_ANNOTATION, CITATION_ANNOTATION, RESULTS

from rag_evaluation_framework import (
    InputError,
    UsageError,
    convert,
    read_dataset,
    read_results,
    write_results,
)

RICH = (
    '{"input": "What is RAG?", "expected": "Retrieval …", "context": ["c"], "tags": ["basics"], "by": "me"}\n'
    '{"input": "问题", "expected": "答案", "metadata": {"difficulty": "hard"}, "notes": []}\n'
)


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    path = tmp_path / "rag.jsonl"
    path.write_text(RICH, encoding="utf-8")
    return path


def test_what_the_target_cannot_hold_is_named_and_counted_and_nothing_is_written(rich: Path) -> None:
    target = rich.with_name("rag.eval.json")
    with pytest.raises(InputError) as caught:
        convert(rich, target)
    assert {issue.path: issue.found for issue in caught.value.issues} == {
        "recorded.contexts": "this field in 1 sample",
        "tags": "this field in 1 sample",
        "extra.by": "this field in 1 sample",
    }
    assert not target.exists()


def test_lossy_drops_it_and_says_so(rich: Path) -> None:
    target = rich.with_name("rag.eval.json")
    done = convert(rich, target, lossy=True)
    assert (done.source, done.target, done.samples) == ("agent-samples", "evaluation-dataset", 2)
    assert done.lost == {"recorded.contexts": 1, "tags": 1, "extra.by": 1}
    dataset = read_dataset(target)
    assert (dataset.dataset_id, dataset.version) == ("rag", "1.0.0")
    assert [sample.reference for sample in dataset.samples] == ["Retrieval …", "答案"]


def test_the_id_of_a_sample_survives_a_dialect_without_ids(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"input": "a", "expected": "b"}\n{"id": "mine", "input": "c", "expected": "d"}\n')
    convert(source, tmp_path / "b.parquet", to="ragas")
    convert(tmp_path / "b.parquet", tmp_path / "c.jsonl", to="agent-samples")
    assert (tmp_path / "c.jsonl").read_text().splitlines() == [
        '{"input":"a","expected":"b"}',
        '{"id":"mine","input":"c","expected":"d"}',
    ]


@pytest.mark.parametrize(("to", "field"), [("golden-factual", "id"), ("qa-pairs", "task_id")])
def test_samples_without_ids_get_different_ones_where_the_target_needs_them(
    to: str, field: str, rich: Path
) -> None:
    target = rich.with_name("target.json")
    convert(rich, target, to=to, lossy=True)
    ids = [record[field] for record in json.loads(target.read_text(encoding="utf-8"))]
    assert ids == [sample.id for sample in read_dataset(rich).samples]
    assert len(set(ids)) == 2


def test_a_citation_by_file_name_becomes_one_by_the_id_of_its_document(tmp_path: Path) -> None:
    source = tmp_path / "a.eval.json"
    cited = [("guide.md", 0, 4), ("docs/guide.md", 5, 7), ("unknown.md", 0, 1)]
    citations = [{"file_name": name, "start_char": start, "end_char": end} for name, start, end in cited]
    query = {"query_id": "q", "query_text": "When?", "relevant_documents": ["d1"], "citations": citations}
    document = {"document_id": "d1", "content": "Noon or later.", "file_path": "docs/guide.md"}
    head = {"dataset_id": "a", "name": "a", "version": "1.0.0"}
    source.write_text(json.dumps({**head, "queries": [query], "documents": [document]}))
    convert(source, tmp_path / "a.langsmith.jsonl", lossy=True)
    (sample,) = read_dataset(tmp_path / "a.langsmith.jsonl").samples
    assert [span.file for span in sample.relevant_spans] == ["d1", "d1", "unknown.md"]
    query["citations"] = citations[:2]
    source.write_text(json.dumps({**head, "queries": [query], "documents": [document]}))
    convert(source, tmp_path / "a.squad.json", lossy=True)
    (sample,) = read_dataset(tmp_path / "a.squad.json").samples
    assert [span.text for span in sample.relevant_spans] == ["Noon", "or"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_name_that_ends_in_gz_or_zst_is_compressed(rich: Path, suffix: str) -> None:
    target = rich.with_name(f"out.jsonl{suffix}")
    convert(rich, target)
    assert not target.read_bytes().startswith(b"{")
    assert len(read_dataset(target)) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "cannot tell the output format"),
        ("rag.jsonl", "is the input file"),
        ("out.yaml", "cannot tell"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(rich: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        convert(rich, rich.with_name(name))


def test_a_name_that_fits_two_dialects_asks_which(tmp_path: Path) -> None:
    path = tmp_path / "x.eval.json"
    path.write_text('{"dataset_id": "a", "name": "a", "version": "1", "queries": []}')
    with pytest.raises(UsageError, match="matches agent-samples and ragas"):
        convert(path, tmp_path / "x.jsonl")


def test_a_broken_source_leaves_the_old_target(rich: Path) -> None:
    target = rich.with_name("out.jsonl")
    target.write_text("old")
    rich.write_text(RICH + '{"input": 5}\n')
    with pytest.raises(InputError, match=r"rag\.jsonl:3"):
        convert(rich, target)
    assert target.read_text() == "old"


BENCHMARK = {"benchmark_id": "weekly", "machine": "m", "records": [{"p95": 2.5, "n": 3}, {"p95": 1.0}]}
ANNOTATIONS = {
    "dataset_id": "d",
    "by": ["us"],
    "annotations": [CITATION_ANNOTATION, ANSWER_QUALITY_ANNOTATION],
}


@pytest.mark.parametrize(
    ("value", "names", "told"),
    [
        (RESULTS, "a.results.json b.results.yaml c.results.csv d.results.parquet e.results.json", "results"),
        (ANNOTATIONS, "a.gt.json b.gt.yaml c.gt.json.gz d.gt.yml e.gt.json", "annotations"),
        (BENCHMARK, "a.benchmark.json b.benchmark.parquet c.benchmark.h5 d.benchmark.json", "benchmark"),
        ({"defaults": {"k": 5}}, "a.config.json b.config.yaml c.config.json", "configuration"),
    ],
    ids=["results", "annotations", "benchmark", "configuration"],
)
def test_files_without_samples_go_through_all_their_formats_without_loss(
    value: dict[str, object], names: str, told: str, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in names.split()]
    paths[0].write_text(json.dumps(value), encoding="utf-8")
    for source, target in pairwise(paths):
        done = convert(source, target)
        assert (done.source, done.target, done.lost) == (told, told, {})
    assert json.loads(paths[-1].read_text(encoding="utf-8")) == value


def test_results_are_read_and_written_by_the_format_of_their_name(tmp_path: Path) -> None:
    for name in ("a.results.json", "a.results.yaml", "a.results.csv.gz", "a.results.parquet"):
        write_results(RESULTS, tmp_path / name)
        assert read_results(tmp_path / name) == RESULTS


@pytest.mark.parametrize(
    ("name", "to", "message"),
    [
        ("out.eval.json", None, "cannot write results as evaluation-dataset. Use .json, .yaml"),
        ("out.results.json", "ragas", "cannot write results as ragas"),
        ("out.h5", None, "expected a name that ends in .json, .yaml, .yml, .csv, .parquet for results"),
    ],
)
def test_results_are_written_as_nothing_else(tmp_path: Path, name: str, to: str | None, message: str) -> None:
    write_results(RESULTS, tmp_path / "a.results.json")
    with pytest.raises(UsageError, match=message):
        convert(tmp_path / "a.results.json", tmp_path / name, to=to)
    assert not (tmp_path / name).exists()


def test_results_with_a_mistake_are_not_converted(tmp_path: Path) -> None:
    path = tmp_path / "a.results.json"
    path.write_text(json.dumps({**RESULTS, "timestamp": "noon"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.results\.json: timestamp: expected a date-time"):
        convert(path, tmp_path / "a.results.csv")
