"""Creating a dataset and evaluating with it, as the description of the data formats writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cases import tables_beside
from rag_evaluation_framework.datasets.project import create_layout

SEED = tables_beside(__file__)
IMPORTS = """
from rag_evaluation_framework import CitationEvaluator, EvaluationDatasetLoader, EvaluationResultsStorage
"""


@pytest.mark.parametrize("is_new_project", [False, True], ids=["empty folder", "new project"])
def test_creating_and_evaluating_run_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_new_project: bool
) -> None:
    if is_new_project:
        create_layout(tmp_path)  # what `rag-eval init` does; the annotations of sample_eval come with it
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + SEED["creating"] + SEED["evaluating"], names)
    assert names["create_sample_evaluation_dataset"]() == (  # type: ignore[operator]
        "data/evaluation/datasets/sample_eval_v1.0.0.eval.json"
    )
    with pytest.warns(UserWarning, match="ml_guide.pdf|own citations are used") as told:
        names["run_evaluation_example"]()  # type: ignore[operator]
    loaded, accuracy, saved = capsys.readouterr().out.splitlines()
    assert loaded == "Loaded dataset with 1 queries"
    label, _, value = accuracy.rpartition(" = ")
    assert label == "Query sample_query_001: Citation accuracy"
    # The spans are the true ones: 0.30. The citation cannot be opened, since no document is called
    # ml_guide.pdf: 0. What the answer adds to the document is left to the method: at most 0.25 + 0.15.
    assert 0.30 <= float(value) <= 0.70
    assert len(told) == (1 if is_new_project else 2)  # in an empty folder nobody has annotated either
    written = json.loads((tmp_path / saved.removeprefix("Results saved to: ")).read_text(encoding="utf-8"))
    assert written["evaluation_id"] == "sample_eval_001"


def test_the_sample_of_a_new_project_is_evaluated_with_its_own_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create_layout(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + SEED["evaluating"], names)
    names["run_evaluation_example"]()  # type: ignore[operator]
    for line in capsys.readouterr().out.splitlines()[1:-1]:
        # Its citations stand in its documents, and so does what it says: 0.30 + 0.30 + 0.25 × 0.9 + 0.15.
        assert float(line.rpartition(" = ")[2]) >= 0.95
