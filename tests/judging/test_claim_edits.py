"""What a claim changes in a sentence that it copies: found with its place, and no more than that."""

from __future__ import annotations

import time

import pytest

from cases import tables_beside
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict

TABLES = tables_beside(__file__)
BRIDGE = [
    "The old bridge was built in 1890 by Clara Weiss. Trams cross the river every ten minutes.",
    "这座老桥由克拉拉建于1890年。电车每十分钟过河一次。",
]


def verdict(text: str, evidence: list[str], start: int = 0) -> ClaimVerdict:
    (found,) = LexicalSupport().decide([Claim(text, start, start + len(text))], evidence)
    return found


@pytest.mark.parametrize(
    ("claim", "evidence", "kind", "said", "instead"), TABLES["what_a_claim_changes_in_a_sentence_is_found"]
)
def test_a_change_in_a_copied_sentence_is_found_and_unsupported(
    claim: str, evidence: str, kind: str, said: str, instead: str
) -> None:
    found = verdict(claim, [evidence])
    changes = [(edit.kind, claim[edit.start : edit.end], edit.instead_of) for edit in found.edits]
    assert (found.label, changes) == ("unsupported", [(kind, said, instead)])


@pytest.mark.parametrize(("claim", "evidence"), TABLES["what_only_says_the_same_in_another_way_is_no_change"])
def test_the_same_in_another_way_is_no_change(claim: str, evidence: str) -> None:
    assert verdict(claim, [evidence]).edits == ()


@pytest.mark.parametrize("claim", TABLES["what_no_evidence_has_leaves_a_long_claim_unsupported"])
def test_what_no_evidence_has_leaves_a_long_claim_unsupported(claim: str) -> None:
    assert verdict(claim, BRIDGE).label == "unsupported"


def test_changes_stand_in_the_answers_characters() -> None:
    answer = "Well. The ferry to the islands leaves Westport at nine."
    (edit,) = verdict(answer[6:], ["The ferry to the islands leaves Eastham at nine."], start=6).edits
    assert answer[edit.start : edit.end] == "Westport"


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("from a " * 60, "a from " * 60),
        ("The tower closes at 9 " * 60, "The tower closes at 6. " * 60),
        ("一" * 380, "二" * 190 + "一" * 190),
    ],
    ids=["repeated words", "repeated numbers", "one character"],
)
def test_time_does_not_grow_faster_than_the_evidence(claim: str, evidence: str) -> None:
    def seconds(times: int) -> float:
        """Return the least time of three texts: one may collect the memory of another test."""
        found = []
        for text in [f"{evidence} {number}" * times for number in range(3)]:
            began = time.process_time()
            verdict(claim, [text])
            found.append(time.process_time() - began)
        return min(found)

    seconds(1)
    assert seconds(40) < 8 * max(seconds(10), 0.003)
