"""Datasets and ground truth are found by what is in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from format_examples import SAMPLE_DATASET as SAMPLE

from rag_evaluation_framework import EvaluationDatasetLoader, InputError, RagEvalError
from rag_evaluation_framework.errors import MissingDatasetError
from rag_evaluation_framework.files import yaml_documents


def dataset(dataset_id: str, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    query = {"query_id": "q1", "query_text": "问题 ❓", "relevant_documents": ["d"]}
    return {"dataset_id": dataset_id, "name": "N", "version": version, "queries": [query], **more}


def folder_with(folder: Path, **files: Any) -> EvaluationDatasetLoader:
    """Write datasets under names that say nothing of what is in them."""
    (folder / "datasets").mkdir(exist_ok=True)
    for name, value in files.items():
        (folder / "datasets" / f"{name}.eval.json").write_text(json.dumps(value), encoding="utf-8")
    return EvaluationDatasetLoader(str(folder))


@pytest.mark.parametrize(
    "asked",
    [
        ("sample_eval_v1.0.0",),
        ("sample_eval",),
        ("sample_eval", "1.0.0"),
        ("sample_eval", "v1.0.0"),
        ("sample_eval", "1.0"),
        ("sample_eval_1.0.0",),
        ("sample_eval_v1.0.0", "1.0.0"),
    ],
)
@pytest.mark.parametrize("kept_id", ["sample_eval_v1.0.0", "sample_eval"])
def test_the_seeds_sample_is_found_however_it_is_asked_for(
    tmp_path: Path, asked: tuple[str, ...], kept_id: str
) -> None:
    value = {**SAMPLE, "dataset_id": kept_id}
    assert folder_with(tmp_path, anything=value).load_dataset(*asked) == value


def test_without_a_version_the_latest_by_precedence_is_loaded(tmp_path: Path) -> None:
    versions = ["1.9.0", "1.10.0-rc.1", "1.10.0", "0.20.0"]
    loader = folder_with(
        tmp_path, **{f"f{index}": dataset("e", version) for index, version in enumerate(versions)}
    )
    assert loader.load_dataset("e")["version"] == "1.10.0"
    assert loader.load_dataset("e", "1.9.0")["version"] == "1.9.0"
    assert loader.load_dataset("e_v1.10.0-rc.1")["version"] == "1.10.0-rc.1"
    assert [entry["version"] for entry in loader.get_available_datasets()] == [
        "0.20.0", "1.9.0", "1.10.0-rc.1", "1.10.0"
    ]  # fmt: skip


def test_an_exact_id_comes_before_an_id_without_its_version(tmp_path: Path) -> None:
    loader = folder_with(tmp_path, a=dataset("e", "1.0.0"), b=dataset("e_v2.0.0", "2.0.0"))
    assert loader.load_dataset("e")["version"] == "1.0.0"
    assert loader.load_dataset("e", "2.0.0")["dataset_id"] == "e_v2.0.0"


def test_two_files_with_one_id_and_version_are_an_error_that_names_both(tmp_path: Path) -> None:
    loader = folder_with(
        tmp_path, one=dataset("e", "1.0.0"), two=dataset("e", "v1.0"), newer=dataset("e", "2.0.0")
    )
    with pytest.raises(InputError, match=r"got .*one\.eval\.json and .*two\.eval\.json"):
        loader.load_dataset("e", "1.0.0")
    assert loader.load_dataset("e")["version"] == "2.0.0"
    errors = {Path(entry["file_path"]).name: entry["error"] for entry in loader.get_available_datasets()}
    assert errors["newer.eval.json"] is None
    assert "two.eval.json" in errors["one.eval.json"]


def test_builds_of_one_version_are_loaded_by_their_own_names(tmp_path: Path) -> None:
    loader = folder_with(tmp_path, a=dataset("e", "1.0.0+a"), b=dataset("e", "1.0.0+b"))
    assert loader.load_dataset("e", "1.0.0+b")["version"] == "1.0.0+b"
    with pytest.raises(InputError, match="one file"):
        loader.load_dataset("e")
    assert [entry["error"] for entry in loader.get_available_datasets()] == [None, None]


def test_a_dataset_that_is_not_valid_is_refused_with_all_its_errors_and_lines(tmp_path: Path) -> None:
    loader = folder_with(tmp_path)
    text = json.dumps(dataset("e", name=5), indent=1).replace('"relevant_documents"', '"relevant"')
    (tmp_path / "datasets" / "e.eval.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"e\.eval\.json:3: name: expected text") as caught:
        loader.load_dataset("e")
    assert isinstance(caught.value, InputError)
    assert [issue.path for issue in caught.value.issues] == ["name", "queries[0].relevant_documents"]


def test_what_cannot_be_loaded_is_listed_with_its_reason_and_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = folder_with(tmp_path, good=dataset("good"), bad={**dataset("bad"), "queries": 7})
    folder = tmp_path / "datasets"
    (folder / "cut.eval.json").write_text('{"dataset_id": "cut",\n "queries": [')
    (folder / "binary.eval.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "README.md").write_text("no dataset")
    listed = {Path(entry["file_path"]).name: entry for entry in loader.get_available_datasets()}
    assert set(listed) == {"good.eval.json", "bad.eval.json", "cut.eval.json", "binary.eval.yaml"}
    assert listed["good.eval.json"] == {
        "dataset_id": "good",
        "name": "N",
        "version": "1.0.0",
        "description": None,
        "size": 1,
        "file_path": str(folder / "good.eval.json"),
        "error": None,
    }
    assert listed["bad.eval.json"]["dataset_id"] == "bad"
    assert "queries: expected a list, got 7" in listed["bad.eval.json"]["error"]
    assert "cut.eval.json:2" in listed["cut.eval.json"]["error"]
    assert "UTF-8" in listed["binary.eval.yaml"]["error"]
    assert all("\n" not in entry["error"] for entry in listed.values() if entry["error"])
    assert capsys.readouterr() == ("", "")


def test_what_is_missing_is_a_file_not_found_that_says_what_there_is(tmp_path: Path) -> None:
    loader = folder_with(tmp_path, a=dataset("sample_eval", "1.0.0"), b=dataset("other", "2.0.0"))
    (tmp_path / "datasets" / "cut.eval.json").write_text("{")
    with pytest.raises(FileNotFoundError, match=r"no dataset 'sample_eval' of version 3 .* \(1\.0\.0\)"):
        loader.load_dataset("sample_eval", "3")
    with pytest.raises(MissingDatasetError, match=r"cannot read: .*cut\.eval\.json") as caught:
        loader.load_dataset("nothing")
    assert isinstance(caught.value, RagEvalError)
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        EvaluationDatasetLoader(tmp_path / "absent").load_dataset("e")
    assert EvaluationDatasetLoader(tmp_path / "absent").get_available_datasets() == []


@pytest.mark.parametrize(
    "asked", ["../outside", "../../etc/passwd", "/etc/passwd", "a/../../outside", "..", "\0", "*", ""]
)
def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path, asked: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    loader = folder_with(inner, e=dataset("e"))
    (tmp_path / "outside.eval.json").write_text(json.dumps(dataset("outside")))
    with pytest.raises(MissingDatasetError):
        loader.load_dataset(asked)
    with pytest.raises(MissingDatasetError):
        loader.load_ground_truth(asked)


def test_a_link_out_of_the_folder_is_refused_and_one_within_it_counts_once(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    loader = folder_with(inner, e=dataset("e"))
    (inner / "ground_truth").mkdir()
    secret = tmp_path / "secret.eval.json"
    secret.write_text(json.dumps(dataset("secret")))
    (inner / "datasets" / "link.eval.json").symlink_to(secret)
    (inner / "datasets" / "latest.eval.json").symlink_to("e.eval.json")
    (inner / "datasets" / "gone.eval.json").symlink_to("nothing")
    (inner / "datasets" / "round.eval.json").symlink_to("round.eval.json")
    (inner / "ground_truth" / "secret.gt.json").symlink_to(secret)
    with pytest.raises(MissingDatasetError, match="a link to a file outside it"):
        loader.load_dataset("secret")
    with pytest.raises(MissingDatasetError, match="a link to a file outside it"):
        loader.load_ground_truth("secret")
    assert loader.load_dataset("e")["dataset_id"] == "e"
    listed = loader.get_available_datasets()
    assert [entry["error"] is None for entry in listed] == [False, False, False, True]


ANNOTATION = {
    "annotation_id": "a1",
    "query_id": "q1",
    "annotator_id": "x",
    "timestamp": "2025-08-30T12:00:00Z",
    "citations": [],
}


@pytest.mark.parametrize(
    ("name", "content", "loaded"),
    [
        ("any.gt.json", {"dataset_id": "e_v1.0.0", "annotations": [ANNOTATION]}, None),
        ("any.gt.json", {"dataset_id": "e", "version": "1.0.0", "annotations": [ANNOTATION]}, None),
        ("e_v1.0.0.gt.json", ANNOTATION, None),
        ("e_v1.0.0.gt.json", [ANNOTATION], {"dataset_id": "e_v1.0.0", "annotations": [ANNOTATION]}),
        ("e_v1.0.0.gt.yaml", {"annotations": [ANNOTATION]}, None),
    ],
)
def test_ground_truth_is_found_in_the_same_ways(tmp_path: Path, name: str, content: Any, loaded: Any) -> None:
    (tmp_path / "ground_truth").mkdir()
    text = yaml_documents.encode(content) if name.endswith("yaml") else json.dumps(content)
    (tmp_path / "ground_truth" / name).write_text(text, encoding="utf-8")
    loader = EvaluationDatasetLoader(tmp_path)
    for asked in (("e_v1.0.0",), ("e",), ("e", "1.0.0"), ("e", "v1.0.0")):
        assert loader.load_ground_truth(*asked) == (loaded or content)
    with pytest.raises(FileNotFoundError, match=r"no ground truth 'e' of version 2\.0\.0"):
        loader.load_ground_truth("e", "2.0.0")


def test_without_a_file_of_ground_truth_the_citations_of_the_dataset_are_it(tmp_path: Path) -> None:
    cited = {"file_name": "a.pdf", "page_number": 1, "start_char": 100, "end_char": 200}
    queries = [
        {
            "query_id": "q1",
            "query_text": "?",
            "relevant_documents": [],
            "citations": [{**cited, "confidence_score": 0.95}],
        },
        {"query_id": "q2", "query_text": "?", "relevant_documents": []},
    ]
    loader = folder_with(tmp_path, e={**dataset("e_v1.0.0"), "queries": queries}, bare=dataset("bare"))
    with pytest.warns(UserWarning, match="no ground truth 'e' in .*; using the citations in the dataset"):
        truth = loader.load_ground_truth("e")
    (annotation,) = truth["annotations"]
    assert (truth["dataset_id"], truth["source"]) == ("e_v1.0.0", "dataset")
    assert (annotation["query_id"], annotation["annotator_id"]) == ("q1", "dataset")
    assert annotation["citations"] == [{**cited, "annotation_confidence": 0.95}]
    for asked in (("bare",), ("e", "2.0.0"), ("f",)):
        with pytest.raises(MissingDatasetError, match="no ground truth"):
            loader.load_ground_truth(*asked)
    # What is made is what a file of annotations holds.
    (tmp_path / "ground_truth").mkdir()
    (tmp_path / "ground_truth" / "written.gt.json").write_text(json.dumps(truth))
    assert loader.load_ground_truth("e") == truth
