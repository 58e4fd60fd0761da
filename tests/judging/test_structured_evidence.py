"""Records as evidence: facts with their characters, and what claims say against them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.claim_features import evidence_text
from rag_evaluation_framework.judging.structured_evidence import decoded, facts_of, is_structured
from rag_evaluation_framework.judging.support.conflicts import Conflict, record_conflicts
from rag_evaluation_framework.judging.support.opening_hours import hour_conflicts, week_of
from rag_evaluation_framework.judging.support.record_conflicts import polar_conflicts, polar_facts

CAFE = {
    "name": "Blue Door",
    "hours": {"Monday": "9:0-17:0", "Tuesday": "9:0-17:0", "Saturday": "10:0-14:30", "Sunday": "closed"},
    "features": {
        "OutdoorSeating": False,
        "WiFi": "no",
        "TakeOut": True,
        "Parking": {"garage": False, "street": True},
    },
    "Music": None,
    "stars": 4.5,
}


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
    ("claim", "conflicts"),
    [
        ("It offers outdoor seating.", ["outdoor seating"]),  # the record says no
        ("It does not offer outdoor seating.", []),
        ("Outdoor seating is not available.", []),
        ("There is no outdoor seating, but it has Wi-Fi.", ["wi fi"]),
        ("There is no garage or wifi.", []),
        ("Guests can park in a garage.", ["garage"]),
        ("It does not do take-out.", ["take out"]),  # the record says yes
        ("Takeout is offered.", []),
        ("There is live music.", ["music"]),  # the record leaves it open
        ("The record does not mention music.", []),
        ("Whether there is music is not said.", []),
    ],
)
def test_a_claim_conflicts_with_a_fact_of_the_opposite_meaning_or_left_open(
    claim: str, conflicts: list[str]
) -> None:
    facts = polar_facts(facts_of(json.dumps(CAFE)))
    assert [fact.name for fact in polar_conflicts(claim, facts, said=frozenset())] == conflicts


def test_a_word_used_elsewhere_in_the_record_is_a_mention_only_beside_what_it_belongs_to() -> None:
    facts = polar_facts(facts_of('{"Parking": {"street": false}}'))
    said = frozenset({"street"})
    assert polar_conflicts("It is in Main Street.", facts, said=said) == []
    assert len(polar_conflicts("Street parking is easy.", facts, said=said)) == 1


@pytest.mark.parametrize(
    ("claim", "is_right"),
    [
        ("It is open from 9 am to 5 pm on Monday and Tuesday.", True),
        ("Monday and Tuesday from 9:00 to 17:00, Saturday from 10:00 to 14:30.", True),
        ("It opens Monday to Tuesday, 9:00 AM to 5:00 PM, and is closed on Sundays.", True),
        ("It is open from 9 am to 6 pm.", False),  # such hours are on no day
        ("It is open from 9 am to 5 pm on Saturday.", False),  # 10:00 to 14:30
        ("It is open every day from 9 am to 5 pm.", False),
        ("It is open seven days a week.", False),  # closed on Sunday
        ("It is closed on Monday.", False),
        ("It is a café.", True),
    ],
)
def test_days_and_hours_of_a_claim_are_held_against_the_week(claim: str, is_right: bool) -> None:
    week = week_of(facts_of(json.dumps(CAFE)))
    assert (hour_conflicts(claim, week) == []) is is_right


@pytest.mark.parametrize(
    ("claim", "otherwise"),
    [
        ("It is open Tuesday to Thursday from 9:00 to 17:00.", None),
        ("It is open Saturday to Monday from 10:00 to 14:30.", "Monday, Sunday"),
        ("On weekdays it is open from 9:00 to 17:00.", "Friday"),
        ("On weekends it is open from 9:00 to 20:00.", "Saturday, Sunday"),
        (
            "It is open from 9:00 to 17:00 on Monday and from 9:00 to 20:00 on Thursday and Friday.",
            "Thursday",
        ),
    ],
)
def test_the_days_of_a_range_and_of_a_group_are_held_against_the_week_one_by_one(
    claim: str, otherwise: str | None
) -> None:
    working = dict.fromkeys(("Monday", "Tuesday", "Wednesday", "Thursday"), "9:0-17:0")
    hours = {**working, "Friday": "9:0-20:0", "Saturday": "10:0-14:30", "Sunday": "closed"}
    found = hour_conflicts(claim, week_of(facts_of(json.dumps({"hours": hours}))))
    assert [each.partition(" for ")[2] for each in found] == ([otherwise] if otherwise else [])


@pytest.mark.parametrize(
    ("claim", "phrase"),
    [
        ("It offers outdoor seating.", "outdoor seating, evidence says no"),
        ("It does not do take-out.", "take out, evidence says yes"),
        ("There is live music.", "music, evidence says nothing"),
    ],
)
def test_a_conflict_shows_what_the_record_says(claim: str, phrase: str) -> None:
    record = evidence_text(json.dumps(CAFE)).record
    assert record is not None
    assert list(record_conflicts(claim, record, ())) == [Conflict("record", phrase)]
