"""The page's figures on bad questions are those of the readers, and what they found is mended."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from rag_evaluation_framework import Document
from rag_evaluation_framework.records.documents import DocumentId
from rag_evaluation_framework.synthesis.extractive import structure_questions
from rag_evaluation_framework.synthesis.passages import passages_of

READ = [
    json.loads(line)
    for line in Path(__file__).with_name("read_questions.jsonl").read_text(encoding="utf-8").splitlines()
]
PAGE = Path(__file__).parents[2] / "docs" / "synthesis.md"


def test_the_page_has_the_counts_of_the_readers() -> None:
    rows = [line.split("|")[2:4] for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line]
    printed = {(questions.strip(), bad.strip().split(" ")[0]) for questions, bad in rows}
    asked = Counter(each["kind"] for each in READ)
    bad = Counter(each["kind"] for each in READ if set(each["readers"]) != {"good"})
    assert {(str(asked[kind]), str(bad[kind])) for kind in asked} <= printed
    assert (str(asked.total()), str(bad.total())) in printed


def test_at_most_one_in_twenty_is_bad_by_either_reader() -> None:
    assert sum(set(each["readers"]) != {"good"} for each in READ) <= len(READ) / 20


def test_the_one_truth_turned_round_is_not_asked_about_any_more() -> None:
    (turned,) = (each for each in READ if "inverted" in each["readers"])
    assert turned["question"] == "What does the option -am of term do?"
    page = f"NAME\n  term - conventions for naming terminal types\n\nDESCRIPTION\n  {turned['passage']}\n"
    document = Document(DocumentId("term.7"), page)
    assert not [made.text for made in structure_questions(passages_of(document), page) if "-am" in made.text]
