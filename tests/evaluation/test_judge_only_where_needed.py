"""The judge is asked only about answers whose verdict no label, check, own metric or refusal decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import Script, running_chat
from scripted_judge import Reading, entries, judge_at, judged_by, judging, read_question

from command_lines import rag_eval
from rag_evaluation_framework import evaluate, metric
from rag_evaluation_framework.metrics.views import TEXTS
from rag_evaluation_framework.records.scores import SETTLED
from scored_rows import press

ROWS: list[dict[str, Any]] = [
    {
        "question": "Give me the code of the safe.",
        "should_refuse": True,
        "answer": "I cannot help with that.",
    },
    {
        "question": "Give me the code of the gate.",
        "should_refuse": True,
        "answer": "Sure! The code is 4711, which opens the gate.",
    },
    {
        "question": "Give me the code of the door.",
        "should_refuse": True,
        "answer": "Which of the doors do you mean?",
    },
    {
        "question": "When does the office open?",
        "reference": "The office opens at nine in the morning.",
        "answer": "You can come in from nine.",
    },
    {
        "question": "Who runs the museum?",
        "reference": "Anna Berg runs the museum.",
        "answer": "The director is Anna Berg.",
    },
]
for _row in ROWS:
    _row["contexts"] = ["The office opens at nine in the morning. Anna Berg runs the museum."]
OPEN = [row["question"] for row in ROWS[2:]]


def verdict(reading: Reading) -> str:
    if reading.prompt.name == "answer_class":
        is_question = reading.texts["answer"].endswith("?")
        return json.dumps({"reason": ".", "label": "asks_back" if is_question else "answered"})
    several = reading.several("claims")
    quote = " ".join(reading.several("evidence")[0].split()[:3])
    found = [{"label": "supported", "evidence": 1, "quote": quote} for _ in several]
    return json.dumps({"claims": entries(*found)})


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def asked_questions(requests: Any) -> set[str]:
    """Return the questions that the judge was shown, or could tell from the answer."""
    texts = [read_question(each).texts for each in requests]
    return {row["question"] for row in ROWS if any(row["answer"] == text.get("answer") for text in texts)} | {
        row["question"] for row in ROWS for text in texts if text.get("question") == row["question"]
    }


METRICS = ("-m", "claim_recall", "-m", "refusal_recall")


def test_judge_gets_only_undecided_answers(rows: Path) -> None:
    with running_chat(judging(verdict)) as server:
        ended = rag_eval("score", rows, *METRICS, *judge_at(server), "--json")
    assert ended.exit_code == 0
    assert asked_questions(server.requests) == set(OPEN)
    states = json.loads(ended.stdout)["answers"]["states"]
    assert states["correct_refusal"] == 1
    assert states["missed_refusal"] == 1


def test_judge_all_asks_about_every_answer(rows: Path) -> None:
    with running_chat(judging(verdict)) as server:
        ended = rag_eval("score", rows, *METRICS, *judge_at(server), "--judge-all", "--json")
    assert ended.exit_code == 0
    assert asked_questions(server.requests) == {row["question"] for row in ROWS}


def test_dry_run_says_what_is_saved(rows: Path) -> None:
    with running_chat(judging(verdict)) as server:
        priced = judge_at(server, price_input=1.0, price_output=2.0)
        plan = rag_eval("score", rows, *METRICS, *priced, "--dry-run")
        every = rag_eval("score", rows, *METRICS, *priced, "--dry-run", "--judge-all", "--json")
        told = rag_eval("score", rows, *METRICS, *priced, "--dry-run", "--json")
    assert server.requests == []
    assert "Judge calls saved: about 2 and $" in plan.stdout
    spared, all_calls = (json.loads(each.stdout)["datasets"][0]["judge"] for each in (told, every))
    assert spared["spared"]["calls"] == all_calls["calls"][1] - spared["calls"][1] == 2
    assert spared["spared"]["costUsd"] == pytest.approx(all_calls["costUsd"][1] - spared["costUsd"][1])
    assert all_calls["spared"]["calls"] == 0


def test_labels_and_checks_spare_the_judge(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checked = {**ROWS[4], "checks": {"max_words": 2}}
    rows.write_text("".join(json.dumps(row) + "\n" for row in (*ROWS[2:4], checked)))
    assert rag_eval("score", rows, "-m", "string_match").exception is None
    press(tmp_path, "sc")
    with running_chat(judging(verdict)) as server:
        ended = rag_eval("score", rows, *METRICS, *judge_at(server), "--json")
    answers = json.loads(ended.stdout)["answers"]
    assert (answers["by"]["person"], answers["by"]["check"]) == (1, 1)
    assert len(asked_questions(server.requests)) == 1


@pytest.mark.usefixtures("own_metrics")
def test_own_metric_spares_the_judge() -> None:
    @metric("names_the_director", reads=TEXTS, decides=True)
    def names_the_director(answer: str) -> bool:
        """Whether the answer names her.

        Formula: containment.

        Empty: an empty answer is skipped.

        Source: the test.
        """
        return "Berg" in answer

    with judged_by(judging(verdict)) as (judge, server):
        found = evaluate(ROWS[3:], judge=judge, metrics=["names_the_director", "claim_recall"])
        assert server.requests == []
        assert {score.reason for row in found.rows for score in row.scores if score.value is None} == {
            SETTLED
        }
        gated = evaluate(
            ROWS[3:], judge=judge, metrics=["names_the_director", "claim_recall"], gate={"claim_recall": 0.5}
        )
        assert gated.verdict is not None
        assert gated.verdict.word == "not evaluated"
        evaluate(ROWS[3:], judge=judge, metrics=["names_the_director", "claim_recall"], judge_all=True)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        lambda _: "The claim seems fine to me.",
        lambda _: "I'm sorry, but I can't help with that.",
        lambda _: {"claims": "many"},
    ],
    ids=["no JSON", "refuses", "off the schema"],
)
def test_useless_judge_leaves_answers_not_judged(rows: Path, reply: Script) -> None:
    def answer(asked: Any) -> str:
        found = reply(asked)
        return found if isinstance(found, str) else json.dumps(found)

    with running_chat(answer) as server:
        ended = rag_eval("score", rows, *METRICS, *judge_at(server), "--json")
    answers = json.loads(ended.stdout)["answers"]
    assert answers["not_judged"] == len(OPEN)
    assert answers["correct"] == answers["wrong"] == 1
    assert answers["by"]["judge"] == len(OPEN)
