"""``rag-eval calibrate`` from the outside, on a run made from recorded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from command_lines import invoked
from rag_evaluation_framework import InputError, UsageError, load, read_dataset, save
from rag_evaluation_framework.cli.calibrate import command
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.evaluation.targets import RecordedAnswers
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_store import RunFolder

QUESTIONS = 120
LABELLED = 80


def is_right(number: int) -> bool:
    return number % 4 != 0


def answer(number: int) -> str:
    """Every fourth answer is wrong; of the right ones every fifth is worded otherwise."""
    if not is_right(number):
        return "no idea of ports"
    return f"harbour number {number}" if number % 5 else f"it is harbour {number}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of recorded answers, its results file and annotations by two people."""
    path = tmp_path_factory.mktemp("calibrate")
    questions = [
        {"id": f"s{n}", "input": f"Which is port {n}?", "expected": f"harbour number {n}"}
        for n in range(QUESTIONS)
    ]
    write_lines(path / "ports.jsonl", questions)
    write_lines(path / "answers.jsonl", [{"id": f"s{n}", "answer": answer(n)} for n in range(QUESTIONS)])
    head = RunHead(run_id="ports_1", dataset_id="ports", target="recorded")
    run = RunFolder.create(path / "runs", head)
    run_samples(
        read_dataset(path / "ports.jsonl").samples,
        RecordedAnswers(path / "answers.jsonl"),
        scorers_for(["exact_match", "token_f1"]),
        folder=run,
    )
    save(load(run.path), path / "ports.results.json")
    for who, shift in (("anna", 0.0), ("ben", 0.1)):
        annotations = [annotation(n, who, shift) for n in range(LABELLED)]
        written = {"dataset_id": "ports", "annotations": annotations}
        (path / f"{who}.gt.json").write_text(json.dumps(written), encoding="utf-8")
    return path


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def annotation(number: int, who: str, shift: float) -> dict[str, Any]:
    accuracy = 0.9 if is_right(number) else 0.1 + shift
    scores = {"completeness": 0.5, "accuracy": accuracy, "relevance": 0.5, "clarity": 0.5, "conciseness": 0.5}
    return {
        "annotation_id": f"{who}_{number}",
        "query_id": f"s{number}",
        "annotator_id": who,
        "answer_text": answer(number),
        "quality_scores": scores,
        "overall_score": (accuracy + 2.0) / 5,
        "aspect_ratings": {"factual_correctness": "fully_correct" if is_right(number) else "wrong"},
    }


def calibrated(folder: Path, *arguments: str | Path) -> Result:
    return invoked(command, "ports_1", "--runs-dir", folder / "runs", "--resamples", "300", *arguments)


def test_a_run_is_calibrated_by_the_annotations_of_two(folder: Path) -> None:
    files = [folder / "anna.gt.json", folder / "ben.gt.json"]
    done = calibrated(folder, "--annotations", files[0], "--annotations", files[1])
    assert done.exception is None
    lines = done.stdout.splitlines()
    assert lines[0] == "ports_1: 80 answers of 120 labeled by 2 annotators (anna, ben)"
    assert any(line.startswith("exact_match: validated on 80 labels; mean of annotators") for line in lines)
    at = lines.index("To require this level of later runs, add these lines to agent.yaml:")
    manifest = yaml.safe_load("\n".join(lines[at + 1 :]))
    limits = manifest["spec"]["evaluation"]["thresholds"]
    assert limits["exact_match"].keys() == {"min"}
    assert any(line.split()[:1] == ["token_f1"] and " overall " in line for line in lines)
    assert "Estimated human rating of the whole run" in done.stdout


def test_json_has_every_figure(folder: Path) -> None:
    done = calibrated(folder, "--annotations", folder / "anna.gt.json", "-m", "exact_match", "--json")
    (metric,) = json.loads(done.stdout)["metrics"]
    # Of 80 labelled, 20 are wrong; of the 60 right ones 12 are worded otherwise, so 48 match exactly.
    assert metric["threshold"]["counts"] == {
        "true_positives": 48,
        "false_positives": 0,
        "false_negatives": 12,
        "true_negatives": 20,
    }
    assert metric["n_yes"] == 60
    assert metric["field"] == "accuracy"
    # In the whole run 72 of 120 match exactly; people would call 3 of 4 right.
    assert metric["metric_mean"] == pytest.approx(0.6)
    assert metric["share"]["interval"]["low"] < 0.75 < metric["share"]["interval"]["high"]


def test_a_results_file_gives_the_same_as_the_run_it_was_made_of(folder: Path) -> None:
    options = ("--annotations", folder / "anna.gt.json", "--resamples", "300", "--json")
    of_run = json.loads(invoked(command, "ports_1", "--runs-dir", folder / "runs", *options).stdout)
    of_file = json.loads(invoked(command, folder / "ports.results.json", *options).stdout)
    assert of_file["metrics"] == of_run["metrics"]
    assert of_file["labels"] == of_run["labels"]


def test_ratings_in_words_are_labels_when_the_good_ones_are_named(folder: Path) -> None:
    annotations = ("--annotations", folder / "anna.gt.json")
    done = calibrated(folder, *annotations, "--pair", "token_f1=factual_correctness:fully_correct")
    assert "share fully_correct" in done.stdout
    refused = calibrated(folder, *annotations, "--pair", "token_f1=factual_correctness")
    assert isinstance(refused.exception, UsageError)
    assert "('wrong', 'fully_correct'). Name the words that count as good" in str(refused.exception)


def test_a_plain_table_of_labels_will_do(folder: Path) -> None:
    table = folder / "labels.csv"
    rows = "".join(f"s{n},{int(is_right(n))}\n" for n in range(30))
    table.write_text(f"query_id,label\n{rows}", encoding="utf-8")
    done = calibrated(folder, "--labels", table, "-m", "token_f1")
    assert "token_f1: checked on 30 labels, too few to rely on; one annotator per answer" in done.stdout
    assert "validated" not in done.stdout
    assert done.stdout.rstrip().endswith("no metric is reliable enough for a threshold in agent.yaml.")


def test_two_tables_without_names_are_those_of_two_people(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"s{n},{int(is_right(n))}\n" for n in range(30))
    tables = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for table in tables:
        table.write_text(f"query_id,label\n{rows}", encoding="utf-8")
    done = calibrated(folder, "--labels", tables[0], "--labels", tables[1], "-m", "token_f1")
    names = f"(unnamed ({tables[0]}), unnamed ({tables[1]}))"
    assert f"30 answers of 120 labeled by 2 annotators {names}" in " ".join(done.stdout.split())
    assert done.stderr == ""


def test_a_row_that_stands_twice_is_warned_about(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("query_id,label\ns0,0\ns0,0\ns1,1\n", encoding="utf-8")
    done = calibrated(folder, "--labels", table, "-m", "token_f1")
    assert f"rag-eval: warning: {table}:3: expected unique rows" in done.stderr
    assert "checked on 2 labels" in done.stdout


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        ("s0,1\ns0,0\n", (), UsageError, "token_f1: not calibrated: .* but for 1 tied"),
        ("s0,0\ns1,nan\n", (), InputError, "labels.csv:3: label: expected a number, yes or no for 's1'"),
    ],
)
def test_labels_that_tell_nothing_are_an_error_that_says_why(
    folder: Path, tmp_path: Path, rows: str, options: tuple[str, ...], error: type[Exception], message: str
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(f"query_id,label\n{rows}", encoding="utf-8")
    refused = calibrated(folder, "--labels", table, *options)
    assert refused.stdout == ""
    with pytest.raises(error, match=message):
        raise refused.exception or AssertionError("not refused")


def test_a_threshold_may_be_given(folder: Path) -> None:
    done = calibrated(
        folder, "--annotations", folder / "anna.gt.json", "-m", "token_f1", "--threshold", "token_f1=0.6"
    )
    line = next(line for line in done.stdout.splitlines() if ">= 0.6 " in line)
    assert line.split()[:3] == ["token_f1", ">=", "0.6"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), UsageError, "pass --annotations FILE.gt.json or --labels FILE"),
        (("--annotations", "anna.gt.json", "-m", "faithfulness"), UnknownNameError, "exact_match"),
        (("--annotations", "anna.gt.json", "--pair", "token_f1"), UsageError, "METRIC=FIELD"),
        (("--annotations", "anna.gt.json", "--threshold", "token_f1=high"), UsageError, "METRIC=NUMBER"),
        (("--annotations", "anna.gt.json", "--threshold", "rouge=0.5"), UsageError, "calibrated"),
        (
            ("--annotations", "anna.gt.json", "--pair", "token_f1=factual_correctness:wrong,fully_corect"),
            UsageError,
            'unknown word of label factual_correctness "fully_corect". Did you mean "fully_correct"?',
        ),
    ],
)
def test_wrong_usage_names_what_to_do(
    folder: Path, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    placed = [folder / text if text.endswith(".json") else text for text in arguments]
    refused = calibrated(folder, *placed)
    assert isinstance(refused.exception, error)
    assert message in str(refused.exception)


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"dataset_id": "d", "annotations": []}', "one with annotations, dataset_id"), ("[1]", "[1]")],
)
def test_a_file_that_is_no_results_is_told_so(folder: Path, tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "anna.gt.json"
    path.write_text(text)
    refused = invoked(command, path, "--annotations", folder / "anna.gt.json")
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception).startswith(f"{path}: expected an object with the results of a run")
    assert str(refused.exception).endswith(f", got {found}")


def test_rows_without_id_and_wrong_labels_of_a_table_are_told_at_once(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("query_id,label,good\ns1,1,no\ns2,maybe,1\n,1,1\ns4,nan,x\n")
    for options, places in (
        ((), ["3: label", "4", "5: label"]),
        (("--pair", "token_f1=good"), ["4", "5: good"]),
    ):
        refused = calibrated(folder, "--labels", table, *options)
        assert isinstance(refused.exception, InputError)
        assert [str(issue.location) for issue in refused.exception.issues] == [
            f"{table}:{place}" for place in places
        ]


def test_all_wrong_labels_of_all_fields_are_named_with_their_places(folder: Path, tmp_path: Path) -> None:
    wrong = [annotation(n, "anna", 0.0) | {"good": n, "sound": 1} for n in range(1, 4)]
    wrong[0]["good"], wrong[2]["good"], wrong[2]["sound"] = "maybe", "hm", [1]
    path = tmp_path / "wrong.gt.json"
    path.write_text("[" + ",\n".join(map(json.dumps, wrong)) + "]")
    done = calibrated(folder, "--annotations", path, "--pair", "token_f1=good", "--pair", "exact_match=sound")
    assert isinstance(done.exception, InputError)
    assert [(issue.file, issue.line, issue.path) for issue in done.exception.issues] == [
        (str(path), 1, "[0].good"),
        (str(path), 3, "[2].good"),
        (str(path), 3, "[2].sound"),
    ]


def test_problems_of_several_files_and_options_are_told_at_once(folder: Path, tmp_path: Path) -> None:
    table, annotations = tmp_path / "labels.csv", tmp_path / "anna.gt.json"
    table.write_text("who,label\nanna,1\n")
    annotations.write_text(json.dumps(annotation(1, "anna", 0.0) | {"quality_scores": {"accuracy": 9}}))
    done = calibrated(folder, "--annotations", annotations, "--labels", table)
    assert isinstance(done.exception, InputError)
    assert {issue.file for issue in done.exception.issues} == {str(annotations), str(table)}
    wrong = ("token_f1=nan", "token_f1", "0.5")
    options = ("--pair", "token_f1", *(part for text in wrong for part in ("--threshold", text)))
    assert str(calibrated(folder, "--labels", table, *options).exception).splitlines() == [
        "--threshold: expected METRIC=NUMBER, got 'token_f1=nan'",
        "--threshold: expected METRIC=NUMBER, got 'token_f1'",
        "--threshold: expected METRIC=NUMBER, got '0.5'",
        "pair: expected METRIC=FIELD, got 'token_f1'",
    ]
