"""``rag-eval agreement`` from the outside: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rag_evaluation_framework import InputError
from rag_evaluation_framework.cli.agreement import command


def marked(query: str, who: str, start: int, end: int) -> dict[str, Any]:
    return {
        "annotation_id": f"{query}_{who}",
        "query_id": query,
        "annotator_id": who,
        "citations": [{"file_name": "手册.md", "start_char": start, "end_char": end}],
    }


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["--resamples", "200", *arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    annotations = [
        marked("q1", "ann", 0, 100),
        marked("q1", "bob", 0, 90),
        marked("q2", "ann", 0, 100),
        marked("q2", "bob", 80, 180),
    ]
    path = tmp_path / "demo.gt.json"
    path.write_text(json.dumps({"dataset_id": "demo", "annotations": annotations}), encoding="utf-8")
    return path


def test_figures_stand_beside_their_intervals_and_the_target(file: Path) -> None:
    done = run(str(file))
    assert done.exit_code == 0
    assert "2 annotators (ann, bob), 2 queries, 2 annotated by at least 2" in done.output
    # q1: 90 of 100; q2: 20 of 180
    assert f"{(0.9 + 20 / 180) / 2:.2f}" in done.output
    assert ">= 0.85 missed" in done.output
    assert done.output.index("q2") < done.output.index("q1 ")


def test_annotators_who_always_agree_get_no_interval_of_no_width(tmp_path: Path) -> None:
    spans = {"q1": (0, 100), "q2": (0, 90), "q3": (50, 60)}
    annotations = [marked(query, who, *span) for query, span in spans.items() for who in ("ann", "bob")]
    for each in annotations[:2]:
        each["citations"][0]["file_name"] = "other.md"
    path = tmp_path / "agreed.gt.json"
    path.write_text(json.dumps({"dataset_id": "demo", "annotations": annotations}), encoding="utf-8")
    characters, documents = json.loads(run(str(path), "--json").output)["figures"]
    assert (documents["value"], documents["interval"]) == (1.0, None)
    # Wilson: three of three is from 3 / (3 + 3.841459) = 0.438503 to 1.
    assert (characters["interval"]["low"], characters["interval"]["high"]) == pytest.approx(
        (0.438503, 1.0), abs=1e-6
    )
    assert "no 95% CI: too few queries, or their values are too similar" in run(str(path)).output


def test_files_of_several_annotators_are_one(tmp_path: Path) -> None:
    for who, end in (("ann", 10), ("bob", 10), ("cem", 5)):
        (tmp_path / f"{who}.gt.json").write_text(json.dumps(marked("q", who, 0, end)), encoding="utf-8")
    done = run(*(str(tmp_path / f"{who}.gt.json") for who in ("ann", "bob", "cem")))
    assert "3 annotators" in done.output
    assert "0.67" in done.output  # (1 + 1/2 + 1/2) / 3


def test_warnings_stand_apart_and_the_rest_of_them_is_counted(tmp_path: Path) -> None:
    scores = dict.fromkeys(("completeness", "accuracy", "relevance", "clarity", "conciseness"), 0.9)
    annotations = [
        {
            "annotation_id": str(number),
            "query_id": "q",
            "annotator_id": str(number),
            "quality_scores": scores,
            "overall_score": 0.1,
        }
        for number in range(8)
    ]
    path = tmp_path / "x.gt.json"
    path.write_text(json.dumps(annotations), encoding="utf-8")
    done = run(str(path), "--json")
    assert done.stderr.count("rag-eval: warning:") == 5
    assert "3 more warnings" in done.stderr
    assert json.loads(done.stdout)["n_queries"] == 1


def test_one_annotator_alone_leaves_nothing_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "one.gt.json"
    path.write_text(json.dumps(marked("q", "ann", 0, 5)), encoding="utf-8")
    done = run(str(path))
    assert done.exit_code == 0
    assert "no agreement to compute" in done.output


def test_a_wrong_file_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "bad.gt.json"
    path.write_text('{"annotation_id": "a"}', encoding="utf-8")
    done = run(str(path), "--output", str(tmp_path / "out.gt.json"))
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "out.gt.json").exists()
