"""The offline dataset from documents to figures: splits are what their schemas say, wherever it is run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cases import FERRIES
from command_lines import rag_eval_ended as rag_eval
from command_lines import script_ended as script
from rag_evaluation_framework import evaluate
from rag_evaluation_framework.datasets.split_build import EvaluationConfig

ROOT = Path(__file__).parents[1]
KINDS = {"qa": "qa-pair", "summaries": "summary", "citations": "qa-pair", "retrieval": "retrieval-case"}
DATASETS = Path("evaluation", "datasets")
RAG = {"contexts": ["Dogs pay 2 pounds."], "sources": ["a.md"], "retrieved": [{"chunk_id": "c1"}]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with documents and a configuration, and a folder that is no part of it."""
    root = tmp_path / "project"
    (root / "documents").mkdir(parents=True)
    (root / "documents" / "ferries.md").write_text(FERRIES, encoding="utf-8")
    (root / "configs").mkdir()
    settings = "evaluation:\n  corpus: documents\n  qa_output: evaluation/datasets/qa_pairs.jsonl\n"
    (root / "configs" / "default.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    return root


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def write_raw(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "raw.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def raw(task_id: str, task_type: str = "qa", **fields: Any) -> dict[str, Any]:
    return {"task_id": task_id, "task_type": task_type, "instruction": "q", **fields}


def test_nobody_is_asked_about_retrieval_diagnostics(project: Path) -> None:
    for name in ("generate_offline_dataset", "build_evaluation_dataset"):
        assert script(name, folder=project).returncode == 0
    refused = script("evaluate_models", "--dataset-type", "retrieval", "--model", "m", folder=project)
    assert (refused.returncode, "no model is asked" in refused.stderr) == (2, True)


def test_retrieval_diagnostics_are_scored_by_what_was_retrieved(tmp_path: Path) -> None:
    truth = {"relevant_chunk_ids": ["c1"], "rag": RAG}
    path = write_raw(
        tmp_path,
        raw("found", "retrieval", **truth),
        raw("lost", "retrieval", **(truth | {"relevant_chunk_ids": ["c2"]})),
        raw("of metadata", "retrieval", rag=RAG, metadata={"selected_chunk_ids": ["c1", "c2"]}),
    )
    assert rag_eval("build", "--offline-dataset", str(path), folder=tmp_path).returncode == 0
    result = evaluate(tmp_path / DATASETS / "retrieval.jsonl")
    # found: 1 of 1; lost: 0 of 1; of metadata: 1 of 2.
    assert result.metrics["chunk_recall"].value == pytest.approx(0.5)
    assert result.metrics["chunk_precision"].value == pytest.approx(2 / 3)


def test_a_citation_task_without_a_text_expects_the_numbers_of_its_citations(tmp_path: Path) -> None:
    cited = {**RAG, "citations": [{"index": 2}, {"index": 1}]}
    path = write_raw(tmp_path, raw("a", "citations", rag=cited), raw("b", "citations", rag=RAG), raw("c"))
    built = rag_eval("build", "--offline-dataset", str(path), "--json", folder=tmp_path)
    manifest = json.loads(built.stdout)
    assert manifest["splits"]["citations"]["count"] == 1
    assert manifest["dropped"]["citations"] == {"missing_reference": 1}
    record = json.loads((tmp_path / DATASETS / "citations.jsonl").read_text(encoding="utf-8"))
    assert record["reference_answer"] == "[2][1]"
    assert record["answer_citations"] == cited["citations"]


@pytest.mark.parametrize(
    ("fields", "reference"),
    [
        ({"reference_answer": "a"}, "a"),
        ({"reference_summary": "s"}, "s"),
        ({"expected_response": "e", "reference_answer": "a"}, "e"),
        ({"reference_answer": " ", "answer": "b"}, "b"),
    ],
)
def test_raw_records_may_name_references_as_splits_do(
    fields: dict[str, str], reference: str, tmp_path: Path
) -> None:
    path = write_raw(tmp_path, raw("1", **fields), raw("2", "summaries", **fields))
    run = rag_eval("build", "--offline-dataset", str(path), folder=tmp_path)
    assert run.returncode == 0, run.stderr
    read = [
        json.loads((tmp_path / DATASETS / name).read_text())[field]
        for name, field in (("qa_pairs.jsonl", "reference_answer"), ("summaries.jsonl", "reference_summary"))
    ]
    assert read == [reference, reference]


def test_scores_beside_what_was_retrieved_are_put_into_it(tmp_path: Path) -> None:
    path = write_raw(tmp_path, raw("1", answer="a", rag={**RAG, "scores": [0.5]}))
    assert rag_eval("build", "--offline-dataset", str(path), folder=tmp_path).returncode == 0
    record = json.loads((tmp_path / DATASETS / "qa_pairs.jsonl").read_text())
    assert record["retrieved"] == [{"chunk_id": "c1", "score": 0.5}]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (
            [raw("1"), raw("2", "chats")],
            "no split for task type 'chats' (1); qa: 1 dropped (missing reference)",
        ),
        ([raw("1", "retrieval", rag=RAG)], "retrieval: 1 dropped (missing relevant chunks)"),
        ([], "the file contains no records"),
    ],
)
def test_a_build_of_which_nothing_is_left_is_refused_and_leaves_nothing_behind(
    records: list[dict[str, Any]], told: str, tmp_path: Path
) -> None:
    path = write_raw(tmp_path, *records)
    run = rag_eval("build", "--offline-dataset", str(path), folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"nothing to build: {told}" in run.stderr
    assert files_in(tmp_path) == {"raw.jsonl"}


def test_a_build_that_fails_leaves_nothing_behind_but_what_was_there(tmp_path: Path) -> None:
    for arguments in ([], ["--qa-output", "new/deep/qa.jsonl"]):
        assert rag_eval("build", *arguments, folder=tmp_path).returncode == 2
        assert files_in(tmp_path) == set()
    path = write_raw(tmp_path, raw("1", answer="a"), {"task_id": 5})
    (tmp_path / "kept").mkdir()
    run = rag_eval(
        "build", "--offline-dataset", str(path), "--manifest-output", "kept/m.json", folder=tmp_path
    )
    assert run.returncode == 2
    assert files_in(tmp_path) == {"raw.jsonl", "kept"}


def test_an_older_file_of_a_split_that_has_no_records_any_more_is_emptied(tmp_path: Path) -> None:
    path = write_raw(tmp_path, raw("1", answer="a"), raw("2", "citations", answer="[1]", rag=RAG))
    assert rag_eval("build", "--offline-dataset", str(path), folder=tmp_path).returncode == 0
    write_raw(tmp_path, raw("1", answer="a"))
    again = rag_eval("build", "--offline-dataset", str(path), "--force", "--json", folder=tmp_path)
    assert set(json.loads(again.stdout)["splits"]) == {"qa", "summaries"}
    assert (tmp_path / DATASETS / "citations.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("config", "root"),
    [
        ("configs/default.yaml", "."),
        ("config/a.yaml", "."),
        ("data/config/a.config.yaml", "."),
        ("settings.yaml", "."),
        ("deep/settings.yaml", "deep"),
    ],
)
def test_the_project_of_a_configuration_is_told_by_where_it_lies(
    config: str, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "project" / config
    path.parent.mkdir(parents=True)
    path.write_text("evaluation:\n  qa_output: a/qa.jsonl\n  summary_output: /b/s.jsonl\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = EvaluationConfig.from_file(path)
    assert settings.root == Path("project", root)
    assert settings.qa_output == Path("project", root, "a", "qa.jsonl")
    assert settings.summaries_output == Path("/b/s.jsonl")
    assert settings.splits["citations"] == Path("project", root, "a", "citations.jsonl")
    path.write_text("evaluation:\n  root: ../over\n", encoding="utf-8")
    over = Path(os.path.normpath(path.parent / "../over"))
    assert EvaluationConfig.from_file(path).offline_dataset == (
        over.relative_to(tmp_path) / DATASETS / "offline_dataset.jsonl"
    )


def test_documents_are_the_configurations_unless_others_are_given(project: Path) -> None:
    (project / "configs" / "default.yaml").write_text("evaluation:\n  corpus: gone\n", encoding="utf-8")
    run = script("generate_offline_dataset", folder=project)
    assert run.returncode == 2
    told = "evaluation.corpus in configs/default.yaml: there is no folder gone"
    assert told in run.stderr
    assert script("generate_offline_dataset", "documents", folder=project).returncode == 0
    (project / "configs" / "default.yaml").unlink()
    run = script("generate_offline_dataset", "--force", folder=project)
    assert "Pass CORPUS, or set evaluation.corpus in configs/default.yaml" in run.stderr


def test_records_are_drawn_at_random_to_be_read(tmp_path: Path) -> None:
    records = [raw(f"t{number}", answer=f"answer {number}", rag=RAG) for number in range(40)]
    path = str(write_raw(tmp_path, *records))
    shown = rag_eval("sample", path, "-n", "5", "--seed", "1", folder=tmp_path).stdout
    assert shown.startswith("5 of 40 samples of")
    assert "Dogs pay 2 pounds." in shown
    first, other, few = (
        json.loads(rag_eval("sample", path, "-n", count, "--seed", seed, "--json", folder=tmp_path).stdout)
        for count, seed in (("5", "1"), ("5", "2"), ("99", "1"))
    )
    ids = [[each["id"] for each in told["samples"]] for told in (first, other, few)]
    assert [len(set(each)) for each in ids] == [5, 5, 40]
    assert ids[0] != ids[1]
    assert ids[2] == [record["task_id"] for record in records]
    lines = [each["line"] for each in first["samples"]]
    assert lines == sorted(lines)
