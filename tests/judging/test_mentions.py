"""Names in an answer count where they are stated, not where they are denied, lacked or disliked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.metrics.golden import entity_coverage

NAMES = ["玛拉妮", "热情", "探险"]
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


@pytest.mark.parametrize(
    ("answer", "name", "expected"),
    [
        ("沈栖很细心", "沈栖", True),
        ("沈棲很細心", "沈栖", True),  # traditional characters
        ("她不细心", "细心", False),
        ("她不是不细心", "细心", True),  # two negations
        ("她不仅细心", "细心", True),  # "not only"
        ("她非常细心", "细心", True),  # 非常, "very", is no negation
        ("她特别细心", "细心", True),
        ("她无法出海", "出海", False),
        ("她毫无耐心", "耐心", False),
        ("她没有收集过海图", "收集", False),
        ("她不知疲倦地收集海图", "收集", True),  # what is denied is the tiring
        ("她不喜欢收集海图", "海图", True),  # denied is the collecting, further on
        ("他不是沈栖，是小萤", "沈栖", False),
        ("他不是沈栖，是小萤", "小萤", True),
        ("他不是沈栖吗？沈栖就是他", "沈栖", True),  # one that is not denied is enough
        ("Mara is patient", "mara", True),
        ("Maranatha is a word", "Mara", False),  # part of a word
        ("Two lighthouses", "lighthouse", True),  # a plural
        ("Mara's lens", "Mara", True),
        ("Mara is not patient", "patient", False),
        ("Mara isn't very patient", "patient", False),
        ("Mara is not only patient", "patient", True),
        ("It was not Mara but Tobin", "Mara", False),
        ("She never was patient", "patient", False),
        ("ＭＡＲＡ", "Mara", True),
        ("Mara的助手", "Mara", True),
        ("", "Mara", False),
    ],
)
def test_a_name_counts_where_it_stands_and_is_not_denied(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        ("玛拉妮性格热情、直率，喜欢探险...", 3),  # the ground truth itself
        ("瑪拉妮性格熱情，喜歡探險", 3),
        ("玛拉妮　热情，　爱探险！", 3),
        ("玛拉妮冷淡，缺乏热情，讨厌探险", 1),  # 玛拉妮 alone
        ("瑪拉妮缺少熱情，厭惡探險", 1),
        ("玛拉妮缺乏勇气和热情", 1),  # the lack goes on
        ("玛拉妮缺乏对探险的热情", 1),
        ("玛拉妮谈不上热情", 1),
        ("玛拉妮热情不足", 1),
        ("玛拉妮很热情，最讨厌的就是探险", 2),
        ("玛拉妮对探险没有兴趣，但很热情", 2),
        ("没有证据表明她热情，玛拉妮只爱探险", 2),
        ("玛拉妮并不讨厌探险，也不缺乏热情", 3),  # two denials
        ("玛拉妮从不缺乏热情", 2),
        ("玛拉妮很热情，讨厌的是无聊，最爱探险", 3),  # what she hates is boredom
        ("没有人比玛拉妮更热情、更爱探险", 3),
        ("不得不说玛拉妮很热情", 2),  # "I must say"
        ("玛拉妮可能很热情，喜欢探险", 3),  # a guess that it settles on
    ],
)
def test_a_name_that_is_lacked_or_disliked_is_not_stated(answer: str, stated: int) -> None:
    assert entity_coverage(names_in(answer, NAMES)) == stated / 3


@pytest.mark.parametrize(
    ("answer", "name", "question", "expected"),
    [
        ("小萤讨厌海葡萄", "海葡萄", "小萤讨厌吃什么？", True),  # the denial is what was asked for
        ("小萤讨厌海葡萄", "海葡萄", "小萤是谁？", False),
        ("小萤不喜欢海葡萄", "海葡萄", "小萤不喜欢吃什么？", True),
        ("Mara lacks patience", "patience", "What does Mara lack?", True),
        ("Mara lacks patience", "patience", "What is Mara like?", False),
        ("He hates swimming", "swimming", "", False),
        ("You may use salt or sugar", "salt", "", True),  # a choice is no guess
        ("吃海葡萄或其他水果", "海葡萄", "", True),
        ("不是安娜。", "安娜", "谁的手艺不错？", False),  # 不错, "good", denies nothing
        ("不是安娜。", "安娜", "谁的手艺没问题？", False),
        ("不喜欢探险。", "探险", "她没有任何爱好吗？", False),  # 任何, "any", asks for nothing
        ("安娜没有来。", "安娜", "谁未到场？", True),
    ],
)
def test_a_question_may_ask_for_what_is_denied(answer: str, name: str, question: str, expected: bool) -> None:
    assert names_in(answer, [name], question=question) == [expected]


@pytest.mark.parametrize(
    ("answer", "name", "question", "expected"),
    [
        ("Anna Berg is the mayor.", "Anna Berg", "Who is the mayor?", True),
        ("Anna Berg is not the mayor.", "Anna Berg", "Who is the mayor?", False),
        ("Anna Berg was never the mayor.", "Anna Berg", "Who is the mayor?", False),
        ("Carl is not the mayor; Anna Berg is.", "Anna Berg", "Who is the mayor?", True),
        ("The mayor is not Carl but Anna Berg.", "Anna Berg", "Who is the mayor?", True),
        ("It's Anna Berg, who was not born here.", "Anna Berg", "Who is the mayor?", True),
        ("It wasn't painted by Rosa Klein.", "Rosa Klein", "Who painted it?", False),
        ("It was painted by Rosa Klein, not by Carl.", "Rosa Klein", "Who painted it?", True),
        ("Anna Berg is not the mayor.", "Anna Berg", "Is Anna Berg the mayor?", True),  # she is spoken of
        ("It does not run after Saturday noon.", "Saturday", "Does the ferry run at weekends?", True),
        ("安娜不是镇长", "安娜", "谁是镇长？", False),
        ("安娜是镇长", "安娜", "谁是镇长？", True),
        ("贝拉不是镇长，安娜是", "安娜", "谁是镇长？", True),
        ("安娜不是镇长", "安娜", "安娜是镇长吗？", True),
        ("玛拉妮不喜欢探险", "玛拉妮", "玛拉妮喜欢什么？", True),
        ("Anna Berg isn't the mayor, Carl is.", "Anna Berg", "Who is the mayor?", False),  # another
        ("Anna Berg is not the mayor, she is a teacher.", "Anna Berg", "Who is the mayor?", False),
        ("Anna Berg is no longer the mayor.", "Anna Berg", "Who is the mayor?", False),
        ("Anna Berg is not.", "Anna Berg", "Who is the mayor?", False),
        ("Tom cannot.", "Tom", "Who can swim?", False),
        ("Anna Berg and not Carl is the mayor.", "Anna Berg", "Who is the mayor?", True),
        ("Tom had never won before but this time won the race.", "Tom", "Who won the race?", True),
        ("Tom was not captain last year, but he is now.", "Tom", "Who is the captain?", True),
        ("Tom, although he never wanted to be captain, is the captain.", "Tom", "Who is the captain?", True),
        ("王明以前不是队长，现在是。", "王明", "谁是队长？", True),
        ("王明以前不是队长，但现在是队长了。", "王明", "谁是队长？", True),
        ("王明不是队长，李强是。", "王明", "谁是队长？", False),
        ("王明不是队长，他是教练。", "王明", "谁是队长？", False),
    ],
)
def test_a_name_of_which_the_answer_denies_what_was_asked_is_not_named(
    answer: str, name: str, question: str, expected: bool
) -> None:
    assert names_in(answer, [name], question=question) == [expected]


@pytest.mark.parametrize(
    ("answer", "names", "question"),
    [
        ("He can't play anything except the piano.", ["piano"], "Which instruments can he play?"),
        ("He plays no instrument except the piano.", ["piano"], "Which instruments can he play?"),
        ("No instrument other than the piano.", ["piano"], "Which instruments can he play?"),
        ("It isn't sold anywhere except Berlin and Rome.", ["Berlin", "Rome"], "Where is it sold?"),
        ("It's not sold outside Berlin and Rome.", ["Berlin", "Rome"], "Where is it sold?"),
        ("Tom never wrote anything else.", ["Tom"], "Who wrote it?"),
        ("Tom could not have written it alone.", ["Tom"], "Who wrote it?"),
        ("除了王明没有人是队长。", ["王明"], "谁是队长？"),
        ("There are no pets allowed.", ["no pets"], "What is the policy on pets?"),  # itself a denial
    ],
)
def test_an_exception_or_a_denial_of_its_own_denies_no_name(
    answer: str, names: list[str], question: str
) -> None:
    assert all(names_in(answer, names, question=question))


@pytest.mark.parametrize(
    "conjunction", ["but", "while", "whereas", "although", "though", "because", "so", "and"]
)
def test_a_denial_in_another_clause_denies_no_name(conjunction: str) -> None:
    answer = f"Carl is not the mayor {conjunction} Anna Berg is the mayor."
    assert names_in(answer, ["Anna Berg", "Carl"], question="Who is the mayor?") == [True, False]


@pytest.mark.parametrize("but_for", ["except", "other than", "apart from", "aside from", "besides"])
def test_whoever_is_excepted_is_named(but_for: str) -> None:
    assert all(names_in(f"Nobody {but_for} Tom is the captain.", ["Tom"], question="Who is the captain?"))


@pytest.mark.parametrize("only", ["只有", "仅有", "其他人都不如", "别的人都不如"])
def test_whoever_alone_is_is_named_in_chinese(only: str) -> None:
    assert all(names_in(f"没有人是队长的料{only}王明是队长。", ["王明"], question="谁是队长？"))


@pytest.mark.parametrize(
    ("answer", "name", "expected"),
    [
        ("many cities", "city", True),
        ("two boxes", "box", True),
        ("apples", "apple", True),
        ("a citizen", "city", False),
        ("the citadels", "city", False),
    ],
)
def test_a_name_may_have_a_plurals_ending(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


@pytest.mark.parametrize(
    ("answer", "name", "expected"),
    [
        ("twelve of them", "12", True),
        ("12 of them", "twelve", True),
        ("有二百四十人", "240", True),
        ("有240人", "二百四十", True),
        ("有1240人", "240", False),
        ("2.5 kg", "5", False),
        ("5.2 kg", "5", False),
        ("It is 5.", "5", True),
        ("On May 3, 2024.", "2024-05-03", True),
        ("5 million dollars", "$5 million", True),
        ("是三月七。", "三月七", True),
    ],
)
def test_a_number_is_named_by_its_value(answer: str, name: str, expected: bool) -> None:
    assert names_in(answer, [name]) == [expected]


@pytest.mark.parametrize(
    "answer", ["Hamburg? No, Berlin.", "Berlin, rather than Hamburg.", "是汉堡吗？不是，是柏林。"]
)
def test_what_another_is_named_instead_of_is_not_named(answer: str) -> None:
    assert names_in(answer, ["Hamburg/汉堡", "Berlin/柏林"], question="Which city?") == [False, True]


@pytest.mark.parametrize(
    "written", ["Anna\u2011Maria", "Anna\u2010Maria", "An\u00adna-Maria", "Anna-\u200bMaria"]
)
def test_hyphens_that_look_alike_are_the_same(written: str) -> None:
    assert all(names_in(f"It was {written} Berg.", ["Anna-Maria"]))
    assert all(names_in("It was Anna-Maria Berg.", [written]))


@given(answer=TEXTS, name=TEXTS)
def test_whatever_the_texts_a_name_is_stated_or_not(answer: str, name: str) -> None:
    assert len(names_in(answer, [name])) == 1
