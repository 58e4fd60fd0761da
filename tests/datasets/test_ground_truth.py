"""What people annotated is truth wherever the dataset is evaluated."""

from __future__ import annotations

import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import evaluate, read_dataset
from rag_evaluation_framework.datasets.annotations import read_annotations, save_annotations
from rag_evaluation_framework.datasets.recognition import annotated_truth, ground_truth_files
from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.records.samples import CitationAnnotation
from rag_evaluation_framework.structs import replace

TEXT = "The ferry leaves at noon. Dogs travel free. 狗免费乘船。"
ANSWER = "Dogs travel free [boats.md:1:26-43]."


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def dataset(folder: Path, *, name: str = "boats.eval.json", **fields: Any) -> Path:
    query = {
        "query_id": "q1",
        "query_text": "What do dogs pay?",
        "relevant_documents": ["boats.md"],
        **fields,
    }
    document = {"document_id": "boats.md", "content": TEXT, "metadata": {"file_name": "boats.md"}}
    value = {"dataset_id": "boats", "name": "Boats", "version": "1.0.0", "queries": [query]}
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**value, "documents": [document]}), encoding="utf-8")
    return path


def marked(who: str, *spans: tuple[int, int], query: str = "q1", when: str | None = None) -> dict[str, Any]:
    citations = [{"file_name": "boats.md", "start_char": a, "end_char": b} for a, b in spans]
    record = {"annotation_id": f"{query}_{who}", "query_id": query, "annotator_id": who}
    return {**record, "citations": citations, **({} if when is None else {"timestamp": when})}


def write(path: Path, *annotations: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"dataset_id": "boats", "annotations": annotations}), encoding="utf-8")
    return path


def cited(path: Path) -> float | None:
    result = evaluate(path, target=lambda question: ANSWER, metrics=["citation_exact_jaccard"])
    return result.metrics["citation_exact_jaccard"].value


def test_a_citation_metric_before_and_after_annotating(tmp_path: Path) -> None:
    path = dataset(tmp_path, citations=[{"file_name": "boats.md", "start_char": 0, "end_char": 25}])
    assert cited(path) == 0.0  # the dataset holds the wrong sentence for the true one
    write(tmp_path / "annotations" / "anna" / "boats.gt.json", marked("anna", (26, 43)))
    result = evaluate(path, target=lambda question: ANSWER, metrics=["citation_exact_jaccard"])
    assert result.metrics["citation_exact_jaccard"].value == 1.0
    assert result.head.configuration["annotations"] == [
        str(tmp_path / "annotations" / "anna" / "boats.gt.json")
    ]


def test_a_run_goes_on_with_the_truth_it_began_with_when_its_dataset_is_annotated_midway(
    tmp_path: Path,
) -> None:
    path, metric = dataset(tmp_path), "citation_exact_jaccard"
    written = json.loads(path.read_text(encoding="utf-8"))
    wrong = [{"file_name": "boats.md", "start_char": 0, "end_char": 25}]
    written["queries"] = [{**written["queries"][0], "query_id": f"q{n}", "citations": wrong} for n in (1, 2)]
    path.write_text(json.dumps(written), encoding="utf-8")
    asked: list[str] = []

    def agent(question: str) -> str:
        asked.append(question)
        if len(asked) == 2:
            time.sleep(1)  # beyond the deadline
        return ANSWER

    given: dict[str, Any] = {"target": agent, "runs_directory": "runs"}
    begun = evaluate(path, metrics=[metric], options=Options(concurrency=1, run_timeout=0.4), **given)
    assert (begun.counts.finished, begun.outcome.completed) == (1, False)
    write(tmp_path / "annotations" / "anna" / "boats.gt.json", marked("anna", (26, 43)))
    run = begun.head.run_id
    ended = evaluate(path, resume=run, **given)
    assert (ended.outcome.completed, len(asked)) == (True, 3)
    assert ended.metrics[metric].value == 0.0  # by the sentence that the dataset holds for the true one
    assert ended.warnings == (
        "boats: 1 annotated sample changed since the run started. It uses the old ground truth; "
        f"to use the new one: rag-eval score {run[-3:]} -m {metric}",
    )
    assert evaluate(ended, metrics=[metric]).metrics[metric].value == 0.5  # q1 as anna says
    # Anything else that was edited is refused as before.
    path.write_text(path.read_text(encoding="utf-8").replace("What do dogs", "What may dogs"))
    with pytest.raises(UsageError, match=r"cannot resume over other data: .* got 2 changed"):
        evaluate(path, resume=run, **given)


def test_a_run_is_scored_again_by_what_was_annotated_since(tmp_path: Path) -> None:
    path = dataset(tmp_path, citations=[{"file_name": "boats.md", "start_char": 0, "end_char": 25}])
    own = tmp_path / "annotations" / "anna" / "boats.gt.json"
    metric = "citation_exact_jaccard"
    before = evaluate(path, target=lambda question: ANSWER, metrics=[metric])
    write(own, marked("anna", (26, 43)))
    assert evaluate(before, metrics=[metric]).metrics[metric].value == 1.0
    after = evaluate(path, target=lambda question: ANSWER, metrics=[metric])
    assert evaluate(after, metrics=[metric]).metrics[metric].value == 1.0
    assert [row.sample.relevant_spans[0].start for row in after.rows if row.sample] == [26]


def test_samples_without_citations_get_them(tmp_path: Path) -> None:
    path = dataset(tmp_path)
    with pytest.raises(InputError, match="relevant_spans"):
        cited(path)
    write(tmp_path / "annotations" / "anna" / "boats.gt.json", marked("anna", (26, 43)))
    assert cited(path) == 1.0


def test_the_layout_of_a_project_and_files_beside_the_dataset(tmp_path: Path) -> None:
    path = dataset(tmp_path / "data" / "evaluation" / "datasets")
    truth = tmp_path / "data" / "evaluation" / "ground_truth"
    files = ground_truth_files(path)
    assert not list(files)
    assert files.of("anna") == truth / "annotations" / "anna" / "boats.gt.json"
    agreed = write(truth / "boats.gt.json", marked("majority", (0, 25)))
    own = write(truth / "annotations" / "anna" / "boats.gt.json", marked("anna", (0, 25)))
    write(truth / "annotations" / "ben" / "other.gt.json", marked("ben", (0, 5)))
    files = ground_truth_files(path)
    assert (files.agreed, files.annotators) == (agreed, {"anna": own})
    lines = ground_truth_files(tmp_path / "evals" / "rag.jsonl.gz")
    assert lines.of("anna") == tmp_path / "evals" / "annotations" / "anna" / "rag.gt.json"


def test_most_of_several_annotators(tmp_path: Path) -> None:
    path = dataset(tmp_path)
    for who, span in (("anna", (26, 43)), ("ben", (30, 43)), ("carl", (0, 43))):
        write(tmp_path / "annotations" / who / "boats.gt.json", marked(who, span))
    (span,) = annotated_truth(path).spans["q1"]
    assert (span.start, span.end) == (26, 43)  # two of three marked 26 to 30, all 30 to 43


def test_what_was_agreed_upon_holds_until_somebody_annotates_again(tmp_path: Path) -> None:
    path = dataset(tmp_path)
    own = tmp_path / "annotations" / "anna" / "boats.gt.json"
    write(tmp_path / "boats.gt.json", marked("majority", (0, 25), when="2026-01-02T00:00:00Z"))
    write(own, marked("anna", (26, 43), when="2026-01-01T00:00:00Z"))
    assert annotated_truth(path).spans["q1"][0].start == 0
    write(own, marked("anna", (26, 43), when="2026-01-03T00:00:00Z"))
    assert annotated_truth(path).spans["q1"][0].start == 26


def test_a_query_that_nothing_answers_has_no_true_citation(tmp_path: Path) -> None:
    path = dataset(tmp_path, citations=[{"file_name": "boats.md", "start_char": 0, "end_char": 25}])
    write(tmp_path / "annotations" / "anna" / "boats.gt.json", marked("anna"))
    (sample,) = find_dataset(path).samples
    assert sample.relevant_spans == ()
    assert read_dataset(path).samples[0].relevant_spans  # what the file says, when it is only read


def test_errors_of_annotation_files_are_told_with_their_place(tmp_path: Path) -> None:
    path = dataset(tmp_path)
    wrong = write(tmp_path / "annotations" / "anna" / "boats.gt.json", marked("anna", (9, 3)))
    with pytest.raises(InputError) as error:
        cited(path)
    assert str(wrong) in str(error.value)
    assert "end_char" in str(error.value)


@pytest.mark.parametrize("name", ["", "..", "../anna", "a/b", ".hidden", " anna", "a\x00b", "x" * 65])
def test_an_annotator_is_never_a_way_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="annotator"):
        ground_truth_files(dataset(tmp_path)).of(name)


def test_names_of_people_are_taken_as_they_are(tmp_path: Path) -> None:
    files = ground_truth_files(dataset(tmp_path))
    for name in ("annotator_001", "Anna Müller", "王小明", "a.b@example.org"):
        assert files.of(name).parent.name == name


def _save(path: Path, number: int) -> None:
    query = f"q{number:02}"
    annotation = CitationAnnotation(
        annotation_id=query, query_id=query, annotator_id="anna", citations=(SpanCitation("a.md", 0, 1),)
    )
    save_annotations(path, query, [annotation], dataset_id="boats")


def test_several_processes_write_to_one_file_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "annotations" / "anna" / "boats.gt.json"
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(_save, [path] * 24, range(24)))
    assert {each.query_id for each in read_annotations(path).annotations} == {f"q{n:02}" for n in range(24)}


def test_an_annotation_is_replaced_in_its_place_and_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "boats.gt.json"
    for number in range(3):
        _save(path, number)
    changed = replace(read_annotations(path).annotations[1], citations=())
    save_annotations(path, "q01", [changed])
    assert [len(each.citations or ()) for each in read_annotations(path).annotations] == [1, 0, 1]
    save_annotations(path, "q00", [])
    assert [each.query_id for each in read_annotations(path).annotations] == ["q01", "q02"]
