"""The page's figures on bad questions are those of the readers, and what they found is mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_evaluation_framework import Corpus, Document
from rag_evaluation_framework.records.documents import DocumentId
from rag_evaluation_framework.synthesis.extractive import extractive_drafts

READ = [
    json.loads(line)
    for line in Path(__file__).with_name("read_questions.jsonl").read_text(encoding="utf-8").splitlines()
]
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "synthesis.md"


def test_the_page_has_the_counts_of_the_reviewers() -> None:
    rejected = sum(set(each["readers"]) != {"good"} for each in READ)
    assert f"Reviewers rejected {rejected} of {len(READ)} " in PAGE.read_text(encoding="utf-8")


def test_at_most_one_in_twenty_is_bad_by_either_reader() -> None:
    assert sum(set(each["readers"]) != {"good"} for each in READ) <= len(READ) / 20


def test_no_truth_is_turned_round() -> None:
    assert not [each["id"] for each in READ if "inverted" in each["readers"]]


TERM = "NAME\n  term - conventions for naming terminal types\n\nDESCRIPTION\n  -am  Has auto-margins.\n"
RIGHTS = """Upstream-Name: dhcpcd

Files: compat/md5.c
Copyright: 1993 Colin Plumb
License: public-domain
"""


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("term.7", TERM, "-am"),
        ("copyright", RIGHTS, "who holds"),
        ("opus.md", "# OPUS\n\nOPUS requires 2 frequency observation files.\n", "how many"),
        ("炉.md", "# 鹤鸣电炉\n\n收货七天内出现性能故障，可以退货或换货。\n", "多长时间"),
        ("机.md", "# 除湿机\n\n机器四周应留出20厘米以上的空隙。\n", "多长时间"),
        ("台.md", "# 天文台\n\n白天参观在每周六10:00至15:00进行。\n", "星期几10"),
    ],
)
def test_what_earlier_readers_found_is_not_asked_any_more(name: str, text: str, wrong: str) -> None:
    """A name that is no option, a holder of nothing, a count that is none, a condition as a fact."""
    asked = extractive_drafts(Corpus([Document(DocumentId(name), text)])).kept
    assert not [draft.question for draft in asked if wrong.casefold() in draft.question.casefold()]
