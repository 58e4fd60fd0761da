"""What an annotator says becomes records of their own file: truth, labels, and nothing of anybody else's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, evaluate, load
from rag_evaluation_framework.cli.annotate import open_desk
from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.results.calibration import Telling, in_telling_order, telling

TABLES = tables_beside(__file__)

TEXT = "The ferry leaves at noon. Dogs travel free. 狗免费乘船。"
ANSWER = "Dogs travel free [boats.md:1:26-43]. Cats pay 2 pounds [1]."
ALLOWED = Options(allow_missing=True)
METRICS = ["faithfulness", "citation_exact_jaccard", "citation_correctness"]


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    queries = [
        {
            "query_id": f"q{n}",
            "query_text": question,
            "relevant_documents": ["d1"],
            "ground_truth_answer": "Dogs travel free.",
            "citations": [{"file_name": "boats.md", "start_char": 0, "end_char": 25}],
        }
        for n, question in enumerate(("What do dogs pay?", "狗多少钱？"), start=1)
    ]
    document = {"document_id": "d1", "content": TEXT, "metadata": {"file_name": "boats.md"}}
    head = {"dataset_id": "boats", "name": "Boats", "version": "1.0.0"}
    path = tmp_path / "boats.eval.json"
    path.write_text(json.dumps({**head, "queries": queries, "documents": [document]}), encoding="utf-8")
    return path


def answered(question: str) -> dict[str, Any]:
    return {"answer": ANSWER, "contexts": [{"id": "d1", "text": TEXT[:43]}]}


@pytest.fixture
def run(dataset: Path) -> str:
    result = evaluate(dataset, target=answered, metrics=METRICS, runs_directory="runs", options=ALLOWED)
    return str(result.head.run_id)


def said(key: str = "q1", **fields: Any) -> dict[str, Any]:
    return {"key": key, "spans": [[0, 26, 43]], "seconds": 3.0, **fields}


WHOLE = TABLES["whole"]


def records(annotator: str = "anna") -> dict[str, Any]:
    written = json.loads(Path("annotations", annotator, "boats.gt.json").read_text(encoding="utf-8"))
    assert written["dataset_id"] == "boats"
    return {each["annotation_id"]: each for each in written["annotations"]}


def test_two_records_as_the_seed_writes_them(run: str) -> None:
    desk = open_desk(run, annotator="anna")
    desk._clock = lambda: datetime(2026, 11, 16, 12, tzinfo=UTC)
    desk.save(said(part="passage"))
    desk.save(said(**WHOLE, part="answer"))
    marks, judgement = records().values()
    assert marks == TABLES["marks"]
    assert judgement["answer_text"] == ANSWER
    assert judgement["overall_score"] == 0.8
    assert judgement["unsupported_sentences"] == [
        {"start_char": 37, "end_char": 59, "text": "Cats pay 2 pounds [1]."}
    ]
    assert [each["supports"] for each in judgement["citation_verdicts"]] == ["yes", "no"]
    assert (judgement["faithfulness"], judgement["citation_correctness"]) == (0.5, 0.5)
    assert rag_eval("validate", "annotations/anna/boats.gt.json").exit_code == 0


def test_what_was_said_is_there_when_the_desk_is_opened_again(run: str) -> None:
    open_desk(run, annotator="anna").save(said(**WHOLE))
    again = open_desk(run, annotator="anna")
    mine = again.item("q1")["mine"]
    assert mine["spans"] == [(0, 26, 43)]
    assert mine["scores"] == WHOLE["scores"]
    assert mine["unsupported"] == [[37, 59]]
    assert mine["verdicts"] == {0: "yes", 1: "no"}
    assert (mine["note"], mine["finished"]) == ("Cats are not in it.", True)
    assert [each["finished"] for each in again.head()["items"] if each["key"] == "q1"] == [True]


def test_a_citation_metric_before_and_after_annotating(dataset: Path) -> None:
    metric = "citation_exact_jaccard"

    def evaluated() -> Evaluation:
        return evaluate(
            dataset,
            target=lambda question: "Dogs travel free [boats.md:1:26-43].",
            metrics=[metric],
            runs_directory="runs",
        )

    before = evaluated()
    assert before.metrics[metric].value == 0.0
    desk = open_desk(before.head.run_id, annotator="anna")
    for key in ("q1", "q2"):
        desk.save(said(key))
    after = evaluated()
    assert after.metrics[metric].value == 1.0
    desk.save(said("q1", spans=[[0, 0, 25]]))  # annotated once more, after both runs
    for run in (before, after):
        assert evaluate(run, metrics=[metric]).metrics[metric].value == 0.5


def test_calibrate_and_agreement_read_what_was_written(run: str) -> None:
    for who, span in (("anna", [0, 26, 43]), ("ben", [0, 30, 43])):
        desk = open_desk(run, annotator=who)
        for key in ("q1", "q2"):
            desk.save(said(key, **{**WHOLE, "spans": [span]}))
    agreed = rag_eval("agreement", "annotations")
    assert agreed.exit_code == 0, agreed.output
    assert "2 annotators" in agreed.output
    found = rag_eval("calibrate", run, "--runs-dir", "runs", "--json")  # finds the files by itself
    assert found.exit_code == 0, (found.output, found.exception)
    paired = {each["metric"]: each["field"] for each in json.loads(found.output)["metrics"]}
    assert paired["faithfulness"] == "faithfulness"  # a person's own figure of the same name


def test_annotators_never_touch_each_others_files(run: str) -> None:
    open_desk(run, annotator="anna").save(said(**WHOLE))
    before = Path("annotations/anna/boats.gt.json").read_bytes()
    desk = open_desk(run, annotator="ben")
    shown = desk.item("q1")
    assert shown["mine"]["spans"] is None
    assert shown["others"]["anna"]["spans"] == [(0, 26, 43)]
    desk.save(said(spans=[]))
    assert Path("annotations/anna/boats.gt.json").read_bytes() == before
    assert records("ben")["citation_q1_ben"]["citations"] == []


def test_blind_hides_others_and_metrics_until_an_item_is_finished(run: str) -> None:
    open_desk(run, annotator="anna").save(said(**WHOLE))
    desk = open_desk(run, annotator="ben", is_blind=True)
    assert not {"others", "scores", "why", "verdict"} & desk.item("q1").keys()
    assert all(not each["why"] for each in desk.head()["items"])
    assert "anna" not in desk.page().text
    assert "others" not in desk.save(said())["item"]
    item = desk.save(said(finished=True))["item"]
    assert "anna" in item["others"]
    verdict = load(Path("runs", run)).rows[0].verdict
    assert verdict is not None
    assert item["verdict"]["v"][0] == verdict.name
    assert (item["verdict"]["by"], verdict.by) == ("word overlap", "words")


def test_taking_everything_back_leaves_no_record(run: str) -> None:
    desk = open_desk(run, annotator="anna")
    desk.save(said(**WHOLE))
    assert len(records()) == 2
    desk.save({"key": "q1", "spans": None})
    assert records() == {}


def test_what_others_wrote_into_the_file_by_hand_is_kept(run: str) -> None:
    by_hand = TABLES["written_by_hand"]
    path = Path("annotations/anna/boats.gt.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"dataset_id": "boats", "annotations": [by_hand]}), encoding="utf-8")
    open_desk(run, annotator="anna").save(said(**WHOLE))
    found = records()
    assert found["both_001"]["feedback"] == {"strengths": ["short"]}
    assert "citations" not in found["both_001"]  # one record has the marks of a query
    assert [each["file_name"] for each in found["citation_q1_anna"]["citations"]] == ["boats.md", "lost.pdf"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "q9"},
        {"key": 1},
        {"spans": [[0, 26, 60]]},
        {"spans": [[0, 5, 5]]},
        {"spans": [[7, 0, 1]]},
        {"spans": [[0, True, 3]]},
        {"spans": "all"},
        {"spans": [[0, 0, 1]] * 501},
        {"scores": {"beauty": 1}},
        {"scores": {"clarity": 1.5}},
        {"scores": {"clarity": "good"}},
        {"unsupported": [[0, 999]]},
        {"verdicts": {"7": "yes"}},
        {"verdicts": {"0": "maybe"}},
        {"note": 5},
        {"note": "x" * 10_001},
        {"seconds": -1},
        {"seconds": "long"},
    ],
)
def test_what_no_page_sends_is_refused_and_nothing_written(run: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        open_desk(run, annotator="anna").save({**said(), **wrong})
    assert not Path("annotations").exists()


def test_a_dataset_without_answers_is_annotated_by_its_documents(dataset: Path) -> None:
    desk = open_desk(str(dataset), annotator="anna")
    assert [each["key"] for each in desk.head()["items"]] == ["q1", "q2"]
    assert desk.item("q1")["answer"] is None
    desk.save(said(finished=True))
    assert list(records()) == ["citation_q1_anna"]


def test_where_there_is_nothing_to_annotate_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rag.jsonl"
    path.write_text('{"input": "Why?", "expected": "So."}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="--corpus"):
        open_desk(str(path), annotator="anna")
    with pytest.raises(UsageError, match="annotator"):
        open_desk(str(path), annotator="../anna", corpus=tmp_path, glob="*.jsonl")


# The order of the queue.


@pytest.mark.parametrize(("scores", "value", "why"), TABLES["how_much_a_label_tells"])
def test_how_much_a_label_tells(scores: dict[str, float], value: float, why: str) -> None:
    assert telling(scores, {"hallucination": False}) == Telling(value, why)


def test_two_of_three_tell_much_and_none_is_lost() -> None:
    items = [(Telling(1.0 if n % 4 == 0 else 0.0), f"q{n}") for n in range(40)]
    order = in_telling_order(items, lambda item: item)
    assert sorted(order, key=lambda item: item[1]) == sorted(items, key=lambda item: item[1])
    assert [item[0].is_telling for item in order[:6]] == [True, True, False] * 2
    assert order == in_telling_order(items[::-1], lambda item: item)  # whatever the order of the file
    assert [item[1] for item in order[:15:3]] != sorted(item[1] for item in order[:15:3])
