"""Lexical support: verdicts that a reader can check by hand, and rules that hold for all texts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.claim_features import EvidenceBody, evidence_text
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, SupportMethod

TABLES = tables_beside(__file__)

CONTEXTS = [
    "The old bridge was built in 1890 by Clara Weiss. It is 120 metres long.",
    "Trams cross the river every ten minutes. The fare is not included in the city pass.",
]


def verdict(text: str, evidence: list[str], question: str = "") -> ClaimVerdict:
    (found,) = LexicalSupport().decide([Claim(text, 0, len(text))], evidence, question=question)
    return found


def test_it_is_a_support_method() -> None:
    assert isinstance(LexicalSupport(), SupportMethod)
    assert (LexicalSupport().name, LexicalSupport().version) == ("lexical support, screening", 4)


def test_features_count_what_the_evidence_does_not_have() -> None:
    features = EvidenceBody([evidence_text(text) for text in CONTEXTS]).features(
        "Clara Weiss built the old bridge in Vienna in 1891."
    )
    # Content: Clara, Weiss, built, old, bridge, Vienna. Only Vienna, a name, is new, and the number 1891.
    assert [token.text for token in features.new] == ["vienna"]
    assert (features.new_names, len(features.new_numbers), len(features.keys)) == (1, 1, 6)
    # Neighbours: the first sentence has four of the five pairs, in any order; bridge-Vienna is in none.
    assert (features.parted_pairs, features.pairs) == (1, 5)
    # The first sentence has all but Vienna, and no second one has that.
    assert features.covered == pytest.approx(5 / 6)
    # Forms: clara weiss built the old bridge in vienna in; "vienna" alone is not written so in the evidence.
    assert (features.new_forms, features.words) == (1, 9)


@pytest.mark.parametrize("claim", TABLES["what_the_evidence_says_is_supported"])
def test_what_the_evidence_says_is_supported(claim: str) -> None:
    found = verdict(claim, CONTEXTS)
    assert (found.label, found.new_tokens) == ("supported", ())


@pytest.mark.parametrize(
    "claim",
    ["Submarines dock below the harbour museum.", "The mayor opened a school for deaf children in Lisbon."],
)
def test_what_the_evidence_does_not_say_is_unsupported(claim: str) -> None:
    assert verdict(claim, CONTEXTS).label == "unsupported"


def test_the_best_sentence_is_attached_with_its_characters() -> None:
    found = verdict("The bridge is 120 metres long.", CONTEXTS)
    assert found.evidence is not None
    assert (found.evidence.number, found.evidence.text) == (0, "It is 120 metres long.")
    assert CONTEXTS[0][found.evidence.start : found.evidence.end] == found.evidence.text


def test_new_tokens_stand_in_the_answers_characters() -> None:
    answer = "Well. The old bridge was built in Vienna in 1891."
    claim = Claim(answer[6:], 6, len(answer))
    (found,) = LexicalSupport().decide([claim], CONTEXTS)
    assert [token.text for token in found.new_tokens] == ["Vienna", "1891"]
    assert all(answer[token.start : token.end] == token.text for token in found.new_tokens)


def test_words_of_the_question_are_not_new() -> None:
    claim = "The tower of Pisa leans."
    assert [token.text for token in verdict(claim, ["It leans."]).new_tokens] == ["tower", "Pisa"]
    assert verdict(claim, ["It leans."], question="Why is the tower of Pisa known?").new_tokens == ()


@pytest.mark.parametrize("evidence", [[], [""], [" \n"]])
def test_without_evidence_nothing_with_content_is_supported(evidence: list[str]) -> None:
    found = verdict("The bridge is long and old.", evidence)
    assert (found.label, found.evidence) == ("unsupported", None)


def test_width_and_the_ways_of_writing_chinese_change_no_verdict() -> None:
    plain = verdict("2020年龙舟节有1000人参加。", ["2020年的龙舟节有1000人参加。"])
    wide = verdict("２０２０年龍舟節有１，０００人參加。", ["2020年的龙舟节有1000人参加。"])
    assert plain.label == wide.label == "supported"
    assert plain.probability == wide.probability


WORDS = st.sampled_from(
    ("bridge", "river", "old", "12", "120", "not", "Vienna", "rose", "fell,", "is.", "大桥", "很长。", "9:30")
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(claim=TEXTS, evidence=st.lists(TEXTS, max_size=3), question=TEXTS)
def test_adding_the_claim_to_the_evidence_never_lowers_its_probability(
    claim: str, evidence: list[str], question: str
) -> None:
    before = verdict(claim, evidence, question).probability
    after = verdict(claim, [*evidence, claim], question).probability
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12


@settings(max_examples=60, deadline=None)
@given(claim=TEXTS, evidence=st.lists(TEXTS, max_size=4), question=TEXTS)
def test_the_order_of_the_contexts_changes_nothing_but_their_numbers(
    claim: str, evidence: list[str], question: str
) -> None:
    one, other = verdict(claim, evidence, question), verdict(claim, evidence[::-1], question)
    assert (one.label, one.probability) == (other.label, other.probability)
    assert (one.evidence and one.evidence.text) == (other.evidence and other.evidence.text)


@settings(max_examples=60, deadline=None)
@given(claim=st.text(max_size=60), evidence=st.lists(st.text(max_size=80), max_size=3))
def test_any_text_gets_a_probability_and_exact_places(claim: str, evidence: list[str]) -> None:
    found = verdict(claim, evidence)
    assert found.probability is not None
    assert 0.0 < found.probability < 1.0
    assert all(claim[token.start : token.end] == token.text for token in found.new_tokens)
    if found.evidence is not None:
        place = found.evidence
        assert evidence[place.number][place.start : place.end] == place.text


@pytest.mark.parametrize("word", ["lorem ", "哈嘿"])
def test_endless_nonsense_is_not_supported_for_its_length(word: str) -> None:
    claim = word * 30_000
    (verdict,) = LexicalSupport().decide(
        [Claim(claim, 0, len(claim))], ["Refunds are paid within 14 days of the return."]
    )
    assert verdict.label == "unsupported"


@pytest.mark.parametrize(
    ("question", "evidence", "claim", "label"),
    TABLES["what_was_asked_counts_beside_something_that_the_evidence_has"],
)
def test_what_was_asked_counts_beside_something_that_the_evidence_has(
    question: str, evidence: str, claim: str, label: str
) -> None:
    assert verdict(claim, [evidence], question=question).label == label


@pytest.mark.parametrize(
    ("claim", "evidence", "label"), TABLES["the_letter_of_a_choice_is_compared_as_it_is"]
)
def test_the_letter_of_a_choice_is_compared_as_it_is(claim: str, evidence: str, label: str) -> None:
    assert verdict(claim, [evidence]).label == label


@pytest.mark.parametrize(("claim", "evidence"), TABLES["another_form_of_a_verb_supports_a_claim"])
def test_another_form_of_a_verb_supports_a_claim(claim: str, evidence: str) -> None:
    assert verdict(claim, [evidence]).label == "supported"


def test_a_claim_may_draw_on_two_sentences() -> None:
    evidence = ["The bridge was built in 1890.", "Clara Weiss designed it for the railway company."]
    claim = "Clara Weiss designed the bridge for the railway company in 1890."
    assert verdict(claim, evidence).label == "supported"
    assert verdict(claim, evidence[1:]).probability < verdict(claim, evidence).probability


_SAID = "clara weiss built the old bridge in Vienna 1890 1891 trams cross a river 河 北京 120 metres"
_WORDS = _SAID.split()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(" ".join), max_size=4),
    st.lists(st.lists(st.sampled_from(_WORDS), max_size=9).map(" ".join), min_size=1, max_size=3),
    st.sampled_from(["", "Who built the bridge?"]),
)
def test_what_is_supported_and_by_which_text_is_what_the_verdicts_say(
    texts: list[str], evidence: list[str], question: str
) -> None:
    claims, support = [Claim(text, 0, len(text)) for text in texts], LexicalSupport()
    found = support.are_supported(claims, evidence, question=question)
    useful = support.are_useful(evidence, claims, question=question)
    decided = [support.decide(claims, each, question=question) for each in (evidence, *zip(evidence))]
    whole, *alone = [[each.is_supported for each in verdicts] for verdicts in decided]
    assert (found, useful) == (whole, list(map(any, alone)))
