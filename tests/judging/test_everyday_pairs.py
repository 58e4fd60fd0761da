"""Short everyday pairs: what a reader tries first. What the method gets wrong stands in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "trust.md"
PAIRS = yaml.safe_load((Path(__file__).parent / "everyday_pairs.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("meant", "found", "count"),
    # The rest of the sound ones has a number or a time that is said otherwise; most contradictions are made
    # of the evidence's own words, which words alone cannot tell.
    [("supported", "supported", 49), ("unsupported", "unsupported", 11), ("contradicted", "unsupported", 93)],
)
def test_as_many_everyday_pairs_are_told_as_the_page_says(meant: str, found: str, count: int) -> None:
    labels = [_label(claim, evidence) for claim, evidence in PAIRS[meant]]
    assert labels.count(found) == count
    assert f"{count} of {len(labels)} {meant}" in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_words_alone_never_say_contradicted() -> None:
    pairs = [pair for pairs in PAIRS.values() for pair in pairs]
    assert {_label(claim, evidence) for claim, evidence in pairs} == {"supported", "unsupported"}


@pytest.mark.parametrize("opening", ["Yes", "**Yes**", "Actually", "Certainly"])
def test_what_begins_an_answer_is_no_part_of_what_it_claims(opening: str) -> None:
    claims = claims_of(f"{opening}, water damage is covered.")
    (verdict,) = LexicalSupport().decide(claims, ["Water damage is covered by it."])
    assert (verdict.label, verdict.new_tokens) == ("supported", ())


def _label(claim: str, evidence: str) -> str:
    (verdict,) = LexicalSupport().decide([Claim(claim, 0, len(claim))], [evidence])
    return verdict.label


def known_faults() -> list[tuple[str, str, str, str]]:
    """Return the table of the page: claim, evidence, what it should be and what it is."""
    table = PAGE.read_text(encoding="utf-8").partition("| claim | evidence | should be | is |\n")[2]
    lines = table.partition("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(claim, evidence, should, found) for claim, evidence, should, found in rows]


@pytest.mark.parametrize(("claim", "evidence", "should", "found"), known_faults())
def test_the_faults_that_the_page_tells_are_faults_still(
    claim: str, evidence: str, should: str, found: str
) -> None:
    assert _label(claim, evidence) == found != should
