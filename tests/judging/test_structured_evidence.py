"""Records as evidence: facts with their characters, and what they do not support."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.structured_evidence import decoded, facts_of, is_structured
from rag_evaluation_framework.records.scores import Claim

TABLES = tables_beside(__file__)

CAFE = TABLES["cafe"]


def test_a_fact_has_the_words_of_its_key_its_meaning_and_its_characters() -> None:
    text = json.dumps(
        {"OutdoorSeating": False, "parking": {"valet": True}, "Music": None, "tags": ["old", "big"]}
    )
    found = [(fact.around, fact.key, fact.meaning, text[fact.start : fact.end]) for fact in facts_of(text)]
    assert found == [
        ((), ("outdoor", "seating"), "no", '"OutdoorSeating": false'),
        (("parking",), ("valet",), "yes", '"valet": true'),
        ((), ("music",), "nothing", '"Music": null'),
        ((), ("tags",), "text", '"old"'),
        ((), ("tags",), "text", '"big"'),
    ]
    lines = "WiFi: no\nParking:\n  street: yes"
    found = [(fact.around, fact.key, fact.meaning, lines[fact.start : fact.end]) for fact in facts_of(lines)]
    assert found == [((), ("wi", "fi"), "no", "WiFi: no"), (("parking",), ("street",), "yes", "street: yes")]


def test_json_python_and_lines_say_the_same() -> None:
    record = {"WiFi": False, "stars": 4.5, "city": "Bern"}
    lines = "WiFi: false\nstars: 4.5\ncity: Bern"
    read = [
        [(fact.key, fact.meaning, fact.value) for fact in facts_of(text)]
        for text in (json.dumps(record), lines)
    ]
    assert read[0] == read[1]
    python = [(fact.key, fact.meaning) for fact in facts_of(str(record))]
    assert python == [(key, meaning) for key, meaning, _ in read[0]]


def test_a_record_cut_off_is_read_as_far_as_it_goes() -> None:
    text = json.dumps(CAFE)[:60]
    assert is_structured(text)
    assert facts_of(text)[0].value == "Blue Door"


@pytest.mark.parametrize(
    "text",
    ["", "Rome is old.", "[1] Rome", "[Note: old] Rome", "He said: no.\nShe: yes, of course\nAll left."],
)
def test_prose_is_no_record(text: str) -> None:
    assert not is_structured(text)


@given(st.text())
def test_escapes_are_undone_and_every_character_keeps_its_place(text: str) -> None:
    written = json.dumps(text)[1:-1]
    characters, places = decoded(written)
    assert characters.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")
    if places is not None:
        assert len(places) == len(characters) + 1
        assert places == sorted(places)
        assert places[-1] == len(written)


@given(
    st.sampled_from(["", '{"a": ', "[{'a':", "a:1\nb: "]),
    st.text(alphabet=st.sampled_from("{}[]\"':,\\ aN1\n")),
)
def test_reading_never_fails_and_facts_stand_where_they_say(beginning: str, rest: str) -> None:
    text = beginning + rest
    for fact in facts_of(text):
        assert 0 <= fact.start <= fact.value_start <= fact.end <= len(text)
        assert text[fact.value_start : fact.value_start + len(fact.value)] == fact.value


@pytest.mark.parametrize(
    ("claim", "label"), TABLES["what_a_record_denies_or_leaves_open_is_not_supported_by_it"]
)
def test_what_a_record_denies_or_leaves_open_is_not_supported_by_it(claim: str, label: str) -> None:
    (verdict,) = LexicalSupport().decide([Claim(claim, 0, len(claim))], [json.dumps(CAFE)])
    assert verdict.label == label


def test_what_another_text_has_is_supported_though_a_record_leaves_it_open() -> None:
    claim = "Blue Door has live music."
    alone, beside = (
        LexicalSupport().decide([Claim(claim, 0, len(claim))], texts)[0].probability or 0.0
        for texts in ([json.dumps(CAFE)], [json.dumps(CAFE), "There is live music at the Blue Door."])
    )
    assert alone < 0.5 < beside


def test_lines_of_a_record_support_what_they_say_and_nothing_else() -> None:
    items = [
        (claim, entry["record"], label)
        for entry in TABLES["lines_of_records"]
        for label in ("supported", "unsupported")
        for claim in entry[label]
    ]
    found = [LexicalSupport().decide([Claim(claim, 0, len(claim))], [text])[0] for claim, text, _ in items]
    right = [verdict.label == label for verdict, (_, _, label) in zip(found, items, strict=True)]
    assert len(items) == 80
    assert sum(right) >= 70  # read as prose, 61 are right
