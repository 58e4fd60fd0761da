"""Relations between two ends: whether an answer states one, of whom, and in which direction.

A match is ends / 2 × relation × direction.
"""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.relations import Direction, read_relation
from rag_evaluation_framework.metrics.golden import relation_match

TABLES = tables_beside(__file__)

FRIENDS = ("恰斯卡", "friend_of", "卡齐娜")
FRIENDS_ASKED = "恰斯卡和卡齐娜是什么关系？"
FRIENDS_REFERENCE = "她们是朋友关系/战友关系，共同参与了..."
MENTOR = ("闻伯", "mentor_of", "陆远舟")
ENGLISH = ("Mara", "mentor_of", "Tobin")
DIRECTIONS: dict[Direction, float] = {"right": 1.0, "mutual": 1.0, "not told": 0.5, "wrong": 0.0}
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


def relation(answer: str, triple: tuple[str, str, str], question: str, reference: str = "") -> float:
    reading = read_relation(answer, triple, question=question, reference=reference)
    assert reading.relation is not None
    return relation_match(reading.ends, reading.relation, DIRECTIONS[reading.direction])


@pytest.mark.parametrize(
    ("answer", "direction"), TABLES["the_direction_of_a_relation_is_read_from_roles_and_verbs"]
)
def test_the_direction_of_a_relation_is_read_from_roles_and_verbs(answer: str, direction: str) -> None:
    reading = read_relation(answer, MENTOR, question="闻伯和陆远舟是什么关系？")
    assert (reading.relation, reading.direction) == (True, direction)
    assert reading.ends == (True, True)


@pytest.mark.parametrize(("answer", "direction"), TABLES["the_direction_is_read_in_english_too"])
def test_the_direction_is_read_in_english_too(answer: str, direction: str) -> None:
    reading = read_relation(answer, ENGLISH)
    assert (reading.relation, reading.direction) == (True, direction)


@pytest.mark.parametrize(
    "answer", ["闻伯是陆远舟的朋友", "闻伯不是陆远舟的师父", "闻伯和陆远舟不是师徒", "我不知道", "闻伯是船匠"]
)
def test_another_relation_or_a_denied_one_is_not_expressed(answer: str) -> None:
    assert read_relation(answer, MENTOR).relation is False


def test_a_relation_between_others_is_not_one_between_the_ends() -> None:
    answer = "闻伯和陆远舟是同事，陆远舟和沈栖是好友。"
    assert read_relation(answer, ("闻伯", "friend_of", "陆远舟")).relation is False


def test_an_end_that_only_the_question_names_counts_where_the_answer_points_back() -> None:
    friends = ("沈栖", "friend_of", "陆远舟")
    question = "沈栖和陆远舟是什么关系？"
    for answer in ("他们是好友。", "是好友。", "两人是朋友", "是从小一起长大的朋友。"):
        assert read_relation(answer, friends, question=question).ends == (True, True)
        assert read_relation(answer, friends).ends == (False, False)
    assert read_relation("小萤有一个朋友。", friends, question=question).ends == (False, False)


def test_a_bare_relation_needs_a_question_that_names_the_ends() -> None:
    assert relation("朋友", FRIENDS, "她们是什么关系？") == 0.0


@pytest.mark.parametrize(
    "relation", ["friend_of", "friends_with", "is_friend_of", "friendOf", "Friend", "朋友", "friend-of"]
)
def test_a_relation_may_be_spelt_in_several_ways(relation: str) -> None:
    assert read_relation("沈栖和陆远舟是好友", ("沈栖", relation, "陆远舟")).relation is True


@pytest.mark.parametrize("name", ["girlfriend_of", "lover_of", "in_love_with", "dating"])
def test_lovers_are_one_relation_whatever_the_triple_calls_it(name: str) -> None:
    for answer in (
        "Mara and Tobin are dating.",
        "Mara is Tobin's girlfriend.",
        "Mara and Tobin are in love.",
    ):
        assert read_relation(answer, ("Mara", name, "Tobin")).relation


def test_a_relation_that_is_not_known_is_expressed_by_its_own_words_or_cannot_be_told() -> None:
    assert read_relation("A is B's sworn sister.", ("A", "sworn_sister_of", "B")).relation is True
    assert read_relation("A is B's cook.", ("A", "sworn_sister_of", "B")).relation is False
    assert read_relation("甲和乙是结义姐妹", ("甲", "结义姐妹", "乙")).relation is True
    assert read_relation("甲和乙是结义姐妹", ("甲", "sworn_sister_of", "乙")).relation is None
    either = ("甲", "sworn_sister_of/结义姐妹", "乙")
    assert read_relation("甲和乙是结义姐妹", either).relation is True


def test_a_reference_with_a_slash_accepts_the_other_relation_too() -> None:
    friends = ("恰斯卡", "friend_of", "卡齐娜")
    reference = "她们是朋友关系/战友关系，共同参与了..."
    assert read_relation("她们是战友", friends).relation is False
    assert read_relation("她们是战友", friends, reference=reference).relation is True
    assert read_relation("她们是敌人", friends, reference=reference).relation is False


@pytest.mark.parametrize(("answer", "match"), TABLES["a_friendship_is_said_of_both_ends_and_stated"])
def test_a_friendship_is_said_of_both_ends_and_stated(answer: str, match: float) -> None:
    assert relation(answer, FRIENDS, FRIENDS_ASKED, FRIENDS_REFERENCE) == match


def test_the_clause_about_the_other_end_has_its_own_relation() -> None:
    answer = "恰斯卡和玛拉妮是朋友，和卡齐娜是敌人。"
    assert relation(answer, ("恰斯卡", "enemy_of", "卡齐娜"), FRIENDS_ASKED) == 1.0


@pytest.mark.parametrize(("answer", "match"), TABLES["a_word_in_a_clause_with_one_end_is_tied_to_it"])
def test_a_word_in_a_clause_with_one_end_is_tied_to_it(answer: str, match: float) -> None:
    assert relation(answer, MENTOR, "闻伯和陆远舟是什么关系？") == match


@pytest.mark.parametrize(("answer", "match"), TABLES["english_relations_are_stated_or_not"])
def test_english_relations_are_stated_or_not(answer: str, match: float) -> None:
    assert relation(answer, ("Mara", "mentor_of", "Tobin"), "How are Mara and Tobin related?") == match


KIN = ("Ann", "mother_of", "Bob")
KIN_ASKED = "How are Ann and Bob related?"


@pytest.mark.parametrize(("answer", "match"), TABLES["a_role_is_that_of_the_one_end_for_the_other"])
def test_a_role_is_that_of_the_one_end_for_the_other(answer: str, match: float) -> None:
    assert relation(answer, KIN, KIN_ASKED) == match


@pytest.mark.parametrize(("answer", "match"), TABLES["a_chinese_role_is_that_of_the_one_end_for_the_other"])
def test_a_chinese_role_is_that_of_the_one_end_for_the_other(answer: str, match: float) -> None:
    assert relation(answer, ("吉姆", "father_of", "汤姆"), "吉姆和汤姆是什么关系？") == match


@pytest.mark.parametrize(("answer", "match"), TABLES["a_verb_may_have_its_object_inside"])
def test_a_verb_may_have_its_object_inside(answer: str, match: float) -> None:
    assert relation(answer, ("周岩", "mentor_of", "林月"), "周岩和林月是什么关系？") == match


@pytest.mark.parametrize(("answer", "match"), TABLES["who_marries_whom_makes_no_difference"])
def test_who_marries_whom_makes_no_difference(answer: str, match: float) -> None:
    assert relation(answer, ("王强", "spouse_of", "李丽"), "王强和李丽是什么关系？") == match


@pytest.mark.parametrize(("answer", "match"), TABLES["an_english_friendship_is_said_of_both_ends"])
def test_an_english_friendship_is_said_of_both_ends(answer: str, match: float) -> None:
    assert relation(answer, ("Ann", "friend_of", "Bob"), KIN_ASKED) == match


@pytest.mark.parametrize(
    ("answer", "triple", "match"), TABLES["a_relation_that_is_in_no_table_has_the_direction_of_its_verb"]
)
def test_a_relation_that_is_in_no_table_has_the_direction_of_its_verb(
    answer: str, triple: tuple[str, str, str], match: float
) -> None:
    assert relation(answer, triple, "") == match


@pytest.mark.parametrize(
    ("answer", "match"), TABLES["a_relative_clause_or_a_participle_tells_of_whom_it_follows"]
)
def test_a_relative_clause_or_a_participle_tells_of_whom_it_follows(answer: str, match: float) -> None:
    assert relation(answer, ("Wen", "mentor_of", "Lu"), "How are Wen and Lu related?") == match


@pytest.mark.parametrize(
    ("answer", "triple", "match"), TABLES["what_stands_between_an_end_and_the_relation_does_not_hide_it"]
)
def test_what_stands_between_an_end_and_the_relation_does_not_hide_it(
    answer: str, triple: tuple[str, str, str], match: float
) -> None:
    assert relation(answer, triple, f"How are {triple[0]} and {triple[2]} related?") == match


def test_characters_that_mean_nothing_are_no_words_of_a_relation() -> None:
    marks = "".join(map(chr, range(0xE000, 0xE020)))
    assert read_relation(f"Ann {marks} Bob", KIN).relation is False
    assert read_relation("Ann met Bob. \ue000 is \ue001's mother.", KIN).relation is False


def test_reading_a_long_answer_takes_no_longer_than_its_length() -> None:
    answer = "恰斯卡和玛拉妮是朋友，和卡齐娜是敌人，" * 1000
    began = perf_counter()
    assert read_relation(answer, FRIENDS).relation is False
    assert read_relation("朋友" * 10_000, FRIENDS).relation is False
    assert read_relation(f"Mara {'only and ' * 40}taught {'not only ' * 20}Tobin", ENGLISH).relation is False
    assert read_relation(f"恰斯卡{'不仅也' * 90}朋友{'曾经' * 20}卡齐娜", FRIENDS).relation is False
    assert perf_counter() - began < 10


@given(answer=TEXTS, end=TEXTS, question=TEXTS)
def test_whatever_the_texts_a_relation_has_a_direction(answer: str, end: str, question: str) -> None:
    reading = read_relation(answer, (end or "a", "mentor_of", "沈栖"), question=question)
    assert reading.direction in DIRECTIONS
