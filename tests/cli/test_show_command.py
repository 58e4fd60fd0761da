"""``rag-eval show`` and the screen of a run: every state of an answer, by its verdict alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_lines import rag_eval
from every_state import ANSWERS, evaluate_every_state
from rag_evaluation_framework import Evaluation, load
from rag_evaluation_framework.reports.blocks import Screen

FAILED = {"no_answer", "missed_refusal", "wrong", "talk", "unsupported", "wrong_refusal", "partly_correct"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Evaluation]:
    folder = tmp_path_factory.mktemp("runs")
    return folder, evaluate_every_state(folder)


def show(runs: tuple[Path, Evaluation], *options: str) -> str:
    ended = rag_eval("show", "001", *options, "--runs-dir", str(runs[0]))
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def ids_in(text: str) -> set[str]:
    return set(re.findall(r"^(\w+)  \S", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("options", "title", "ids"),
    [
        (["--failed"], "7 of 13 answers are wrong or partly correct", FAILED),
        ([], "7 of 13 answers are wrong or partly correct", FAILED),
        (["--not-judged"], "2 of 13 answers are not judged", {"not_judged", "looks_wrong"}),
        (["--flagged"], "1 of 13 answers is flagged", {"flagged"}),
    ],
)
def test_show_lists_by_verdict(
    runs: tuple[Path, Evaluation], options: list[str], title: str, ids: set[str]
) -> None:
    text = show(runs, *options)
    assert text.splitlines()[0].endswith(f": {title}")
    assert ids_in(text) == ids
    told = json.loads(show(runs, *options, "--json"))
    assert {each["id"] for each in told} == ids


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        ("correct", "correct: states 1 of 1 claims of the reference (LLM judge)"),
        ("unsupported", "unsupported claim: makes a claim that no retrieved passage supports (LLM judge)"),
        ("no_answer", "no answer: timeout: no answer within 5 s"),
        ("looks_wrong", "not judged (looks wrong): asks back (LLM judge)"),
        ("flagged", "correct: states 1 of 1 claims of the reference (LLM judge); wrong citation"),
    ],
)
def test_show_names_verdict_and_decider(runs: tuple[Path, Evaluation], sample: str, verdict: str) -> None:
    text = show(runs, "--sample", sample, "--width", "140")
    assert f"\n  verdict    {verdict}\n" in text


def test_show_has_the_failed_turns_of_a_conversation_alone(runs: tuple[Path, Evaluation]) -> None:
    text = show(runs, "--sample", "talk")
    assert "turn 2     And what does a ticket cost?" in text
    assert "turn 1 " not in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_screen_counts_answers_worst_first(runs: tuple[Path, Evaluation], width: int) -> None:
    found = load(runs[1].folder)  # type: ignore[arg-type]
    assert isinstance(found, Evaluation)
    text = found.render(screen=Screen(width=width))
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    counts = "4 correct, 1 partly correct, 6 wrong, 2 not judged (1 looks wrong); 1 flagged: wrong citation"
    assert f"13 answers to 12 questions: {counts}" in words
    names = re.findall(rf"^  ({'|'.join([*ANSWERS, 'talk'])})  ", text, re.MULTILINE)
    assert names[:2] == ["no_answer", "missed_refusal"]
    assert "3 more: partly_correct, looks_wrong, flagged" in words
    assert {row.id for row in found.failed()} == FAILED


def test_a_threshold_on_a_mean_changes_no_answer(tmp_path: Path, runs: tuple[Path, Evaluation]) -> None:
    gated = evaluate_every_state(tmp_path, gate={"faithfulness": 1.0, "claim_recall": 1.0})
    assert gated.answers == runs[1].answers
    assert [row.id for row in gated.failed()] == [row.id for row in runs[1].failed()]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Answers that copy a sentence but for a name, twenty right claims before one, and one that is right."""
    folder = tmp_path_factory.mktemp("changed")
    said = "The ferry to the islands leaves {} at nine every morning."
    texts = {"changed": said.format("Westport"), "right": said.format("Eastham")}
    rows = [
        {"id": name, "question": "Where?", "answer": text, "contexts": [said.format("Eastham")]}
        for name, text in texts.items()
    ]
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    ended = rag_eval("score", str(path), "-m", "faithfulness", "--runs-dir", str(folder / "runs"))
    assert ended.exit_code == 0, ended.output
    return folder / "runs", ended.stdout


def test_the_terminal_and_show_say_what_an_answer_changes(changed: tuple[Path, str]) -> None:
    runs, told = changed
    assert 'differs   "Westport" → "Eastham"' in told
    ended = rag_eval("show", "--sample", "changed", "--runs-dir", str(runs))
    assert '  differs    "Westport" → "Eastham"\n' in ended.stdout
    assert "faithfulness 0.00 (probability of unsupported text 0.50)" in ended.stdout
    ended = rag_eval("show", "--sample", "right", "--runs-dir", str(runs))
    assert "differs" not in ended.stdout


def test_the_probability_of_unsupported_text_flags_and_orders(changed: tuple[Path, str]) -> None:
    runs, _ = changed
    assert ids_in(rag_eval("show", "--flagged", "--runs-dir", str(runs)).stdout) == {"changed"}
    listed = rag_eval("show", "--worst", "2", "--runs-dir", str(runs)).stdout
    assert re.findall(r"^(changed|right)  ", listed, re.MULTILINE) == ["changed", "right"]


def test_results_and_the_report_page_say_what_an_answer_changes(changed: tuple[Path, str]) -> None:
    runs, _ = changed
    (run,) = runs.glob("eval_run_*")
    text = json.dumps(load(run).to_dict())  # type: ignore[union-attr]
    assert '{"kind": "name", "start": 32, "end": 40, "instead_of": "Eastham"}' in text
    ended = rag_eval("report", "--runs-dir", str(runs), "-o", str(run / "page.html"))
    assert ended.exit_code == 0, ended.output
    page = (run / "page.html").read_text(encoding="utf-8")
    assert "Westport" in page
    assert "\\u2192" in page or "→" in page
