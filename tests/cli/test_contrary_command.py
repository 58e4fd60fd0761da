"""Contrary answers, whole words and relevancy from the command line, with a gate on each metric."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from command_lines import rag_eval_ended

ENGLISH = (
    "The guided tour of the old harbor, which begins at the north quay and passes the museum, the mill and "
    "both lighthouses before it comes back to the market square, {} and can be booked by letter or by phone, "
    "or in person at the office beside the town hall, where visitors also find maps, charts and hotel lists."
)
CHINESE = (
    "从北码头出发、经过博物馆和磨坊、最后回到集市广场的老港口导游团{}，"
    "可以写信、打电话或者到市政厅旁边的办公室预订。"
)
YES, NO = "Yes, dogs may travel on the open deck.", "No, dogs may not travel on the open deck."


def score(
    folder: Path, rows: Sequence[tuple[str, str, str]], *options: str
) -> subprocess.CompletedProcess[str]:
    lines = [dict(zip(("question", "reference", "answer"), row, strict=True)) for row in rows]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    return rag_eval_ended("score", "rows.jsonl", *options, folder=folder)


@pytest.mark.parametrize("metric", ["answer_correctness", "answer_similarity"])
@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        ("How long is it?", ENGLISH.format("takes 90 minutes"), ENGLISH.format("takes 40 minutes")),
        ("When is it?", ENGLISH.format("starts on 3 May 1987"), ENGLISH.format("starts on 3 May 1989")),
        ("多久？", CHINESE.format("历时90分钟"), CHINESE.format("历时40分钟")),
        ("哪天？", CHINESE.format("在5月3日出发"), CHINESE.format("在6月3日出发")),
        ("May dogs travel?", YES, NO),
        ("May dogs travel?", "No", "Dogs may travel on the open deck."),
    ],
)
def test_a_contrary_answer_fails_a_gate_at_even_odds_and_the_reference_passes_it(
    metric: str, question: str, reference: str, answer: str, tmp_path: Path
) -> None:
    gate = ("-m", metric, "--threshold", f"{metric}=0.5")
    assert score(tmp_path, [(question, reference, answer)], *gate).returncode == 1
    assert score(tmp_path, [(question, reference, reference)], *gate).returncode == 0


def test_a_number_inside_another_is_no_match(tmp_path: Path) -> None:
    gate = ("-m", "string_match", "--threshold", "string_match=1.0")
    assert score(tmp_path, [("How many?", "5", "There are 15.")], *gate).returncode == 1
    assert score(tmp_path, [("How many?", "5", "There are 5.")], *gate).returncode == 0


def test_relevancy_is_not_scored_by_words_and_a_gate_on_it_says_what_to_add(tmp_path: Path) -> None:
    rows = [("Who runs the office?", "Anna Berg", "Anna Berg")]
    done = score(tmp_path, rows, "-m", "answer_relevancy")
    assert done.returncode == 0
    reason = "not measurable by word overlap: needs an embedding model or a judge"
    assert reason in " ".join(done.stdout.split())
    gated = score(tmp_path, rows, "-m", "answer_relevancy", "--threshold", "answer_relevancy=0.5")
    assert gated.returncode == 2
    assert "--embedder" in gated.stderr
    assert "--judge-model" in gated.stderr
