"""A local model that was calibrated on labels decides answers outside of its band (line 8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_lines import rag_eval
from rag_evaluation_framework import UsageError, evaluate
from rag_evaluation_framework.components import METHODS
from rag_evaluation_framework.judging.entailment import Chances, EntailmentSupport, Pair
from tiny_models import write_counting_model, write_pair_tokenizer

REFERENCE = "Anna Berg runs the museum. It was founded by her uncle in spring."


class ByCode:
    """Says of each claim what a code in the answer says: two digits for each of the reference's claims."""

    name, device = "code", "cpu"

    def room(self, claim: str, question: str) -> int:
        return 500

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(0, len(text), 5)]

    def chances(self, pairs: list[Pair]) -> list[Chances]:
        return [self._chance(*pair) for pair in pairs]

    def _chance(self, evidence: str, claim: str, _: str) -> Chances:
        first, second, denied = evidence.split()[1:4]
        code = first if "Anna" in claim else second
        return Chances(int(code) / 100, 0.9 if denied == "denied" else 0.0)


@pytest.mark.parametrize(
    ("answer", "state", "by"),
    [
        ("Says 95 91 things", "correct", "local_model"),
        ("Says 95 05 things", "partly_correct", "local_model"),
        ("Says 04 05 things", "wrong", "local_model"),
        ("Says 95 05 denied", "wrong", "local_model"),
        ("Says 95 50 things", "not_judged", "words"),
        ("Says 05 50 things", "not_judged", "words"),
    ],
)
def test_calibrated_model_decides_outside_its_band(answer: str, state: str, by: str) -> None:
    rows = [{"question": "Who runs the museum?", "reference": REFERENCE, "answer": answer}]
    support = EntailmentSupport(ByCode(), band=(0.1, 0.9))
    (row,) = evaluate(rows, metrics=["claim_recall"], support=support).rows
    assert row.verdict is not None
    assert (row.verdict.state, row.verdict.by) == (state, by)


def test_model_without_calibration_decides_nothing() -> None:
    rows: list[dict[str, Any]] = [
        {"question": "Who runs it?", "reference": REFERENCE, "answer": "Says 95 95 things"}
    ]
    (row,) = evaluate(rows, metrics=["claim_recall"], support=EntailmentSupport(ByCode())).rows
    assert row.verdict is not None
    assert row.verdict.state == "not_judged"


def test_manifest_names_the_calibrated_model(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_pair_tokenizer(folder, REFERENCE)
    write_counting_model(folder, "two")
    sample = {"input": "Who built it?", "expectedOutput": "Clara Weiss built the bridge."}
    (tmp_path / "rows.jsonl").write_text(json.dumps(sample) + "\n")
    answer = {"question": "Who built it?", "answer": "Anna Berg did not."}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    (tmp_path / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n      - {name: rows, path: $file:rows.jsonl}\n"
        f"    metrics: [claim_recall]\n    support: entailment(path={folder}, low=0.4, high=0.9)\n"
    )
    given = ("--target", tmp_path / "answers.jsonl", "--json", "--runs-dir", tmp_path / "runs")
    ended = rag_eval("evaluate", tmp_path / "agent.yaml", *given)
    assert ended.exception is None, ended.exception
    found = json.loads(ended.stdout)
    assert found["answers"]["by"] == {"local_model": 1}


@pytest.mark.parametrize("given", [{"low": 0.2}, {"high": 0.8}, {"low": 0.9, "high": 0.1}])
def test_band_needs_both_ends_in_order(tmp_path: Path, given: dict[str, float]) -> None:
    write_pair_tokenizer(tmp_path, REFERENCE)
    write_counting_model(tmp_path, "two")
    with pytest.raises(UsageError, match="low"):
        METHODS.get("entailment")(path=str(tmp_path), **given)


def test_calibrate_finds_the_band_from_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny model counts the words of the claim that the answer has; here people say the same."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "model"
    write_pair_tokenizer(folder, REFERENCE)
    write_counting_model(folder, "two")
    given = ("-m", "claim_recall", "--support", f"entailment(path={folder})")
    rows = [
        {
            "id": f"q{number}",
            "question": f"Who runs museum {number}?",
            "reference": "Anna Berg runs the museum.",
            "answer": f"{number}: the museum, Anna Berg runs it."
            if number % 2
            else f"{number}: spring uncle.",
        }
        for number in range(120)
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rag_eval("score", file, *given).exception is None
    unlabeled = rag_eval("calibrate")
    assert "rag-eval label RUN" in str(unlabeled.exception)
    labels = "".join(
        f"{row['id']},{'correct' if number % 2 else 'wrong'}\n" for number, row in enumerate(rows)
    )
    (tmp_path / "labels.csv").write_text(f"id,label\n{labels}")
    assert rag_eval("label", "--from", "labels.csv").exception is None
    screen = rag_eval("calibrate").stdout
    found = json.loads(rag_eval("calibrate", "--json").stdout)["model"]
    assert (found["labeled"], found["decided"]) == (120, 120)
    assert f"support: entailment(path=…, low={found['low']:g}, high={found['high']:g})" in screen
    (tmp_path / "answers" / "labels.jsonl").unlink()
    banded = f"entailment(path={folder}, low={found['low']}, high={found['high']})"
    again = json.loads(rag_eval("score", file, "-m", "claim_recall", "--support", banded, "--json").stdout)
    assert again["answers"]["by"]["local_model"] >= 60
    assert again["answers"]["states"]["correct"] == again["answers"]["states"]["wrong"] == 60


def test_few_labels_calibrate_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pair_tokenizer(tmp_path / "model", REFERENCE)
    write_counting_model(tmp_path / "model", "two")
    row = {"id": "q", "question": "Who runs it?", "reference": "Anna Berg runs it.", "answer": "Anna does."}
    (tmp_path / "answers.jsonl").write_text(json.dumps(row) + "\n")
    support = ("--support", f"entailment(path={tmp_path / 'model'})")
    assert rag_eval("score", "answers.jsonl", "-m", "claim_recall", *support).exception is None
    (tmp_path / "labels.csv").write_text("id,label\nq,correct\n")
    assert rag_eval("label", "--from", "labels.csv").exception is None
    assert "at least 50 are required" in " ".join(rag_eval("calibrate").stdout.split())
