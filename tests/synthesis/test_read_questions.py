"""The page's figures on bad questions are those of the two readers, and no answer or truth was lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

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


def test_no_reader_found_an_answer_that_is_not_there_or_a_truth_turned_round() -> None:
    assert not {"absent", "inverted"} & {verdict for each in READ for verdict in each["readers"]}
