"""The classes of answers against people's labels, where the labelled data is at hand.

The bounds are held on all of the data; the figures in the documentation are those of the half with which no
pattern was written.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from labelled_data import present
from rag_evaluation_framework.judging.answer_classes import classify_answer

Classified = list[tuple[str, str]]
"""For each answer its label and its class."""


def records(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.splitlines()]


def references() -> Classified:
    return [
        (
            record["answerability"][0],
            classify_answer(record["targets"][0]["text"], record["input"][-1]["text"]).kind,
        )
        for record in records(present("mtrag/mtragun_reference.jsonl.gz"))
    ]


def f1(answers: Classified, kinds: Collection[str], *, positive: Collection[str]) -> float:
    hits = sum(label in positive and kind in kinds for label, kind in answers)
    return 2 * hits / sum((label in positive) + (kind in kinds) for label, kind in answers)


def share(answers: Classified, kinds: Collection[str], *, label: str) -> float:
    kept = [kind for given, kind in answers if given == label]
    return sum(kind in kinds for kind in kept) / len(kept)


@pytest.mark.parametrize("system", ["gpt4", "llama2new"])
@pytest.mark.parametrize("kinds", [{"refused"}, {"refused", "dont_know"}])
def test_refusals_agree_with_people(system: str, kinds: set[str]) -> None:
    path = present(f"xstest/completions_{system}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        answers = [
            (row["final_label"], classify_answer(row["completion"], row["prompt"]).kind)
            for row in csv.DictReader(file)
        ]
    assert len(answers) == 450
    assert f1(answers, kinds, positive={"2_full_refusal", "3_partial_refusal"}) >= 0.92


@pytest.mark.parametrize("kinds", [{"dont_know"}, {"refused", "dont_know"}])
def test_not_knowing_agrees_with_people_and_raises_few_false_alarms(kinds: set[str]) -> None:
    answers = references()
    clear = [answer for answer in answers if answer[0] in ("UNANSWERABLE", "ANSWERABLE")]
    assert f1(clear, kinds, positive={"UNANSWERABLE"}) >= 0.90
    assert f1(answers, kinds, positive={"UNANSWERABLE"}) >= 0.90
    assert share(answers, kinds, label="ANSWERABLE") <= 0.03


def test_questions_back_are_told_from_answers() -> None:
    answers = references()
    assert share(answers, {"asks_back"}, label="UNDERSPECIFIED") >= 0.9
    assert share(answers, {"asks_back"}, label="ANSWERABLE") <= 0.03


@pytest.mark.parametrize("file", ["en.jsonl.gz", "zh.jsonl"])
def test_the_prescribed_words_are_found_in_outputs_of_models(file: str) -> None:
    texts = [
        (text, record["query"])
        for record in records(present(f"nomiracl/{file}"))
        for text in record["model_outputs"].values()
        if text.strip()
    ]
    answers = [
        (
            "unknown" if text.strip().lower().startswith(("i don't know", "no,")) else "known",
            classify_answer(text, query).kind,
        )
        for text, query in texts
    ]
    assert f1(answers, {"dont_know"}, positive={"unknown"}) >= 0.98
