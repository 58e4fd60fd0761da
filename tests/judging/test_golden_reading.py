"""What is read in an answer for golden sets: names, denials, steps, relations, what a turn says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.golden.mentions import names_in
from rag_evaluation_framework.judging.golden.milestones import first_tellings
from rag_evaluation_framework.judging.golden.relations import read_relation
from rag_evaluation_framework.judging.golden.retrieved_places import golden_places, telling_places
from rag_evaluation_framework.judging.golden.turn_matching import match_reference

STEPS = ["初入纳塔", "报名竞技场", "赢得胜利", "授予古名"]
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
    ("answer", "expected"),
    [
        ("旅行者初入纳塔，报名竞技场，赢得胜利，被授予古名。", [True, True, True, True]),
        ("旅行者初到纳塔，报名参加竞技场试炼，取得了胜利，最后被授予古名。", [True, True, True, True]),
        ("旅行者進入納塔後報名參加競技場，贏得勝利，獲授予古名。", [True, True, True, True]),
        ("旅行者离开了纳塔，也离开了竞技场。", [False, False, False, False]),
        ("旅行者没有赢得胜利。", [False, False, False, False]),
        ("旅行者报名了厨艺赛。他去看竞技场。", [False, False, False, False]),  # not in one sentence
        ("纳塔授予旅行者古名", [False, False, False, True]),
        ("我不知道。", [False, False, False, False]),
    ],
)
def test_a_step_is_told_in_the_words_of_a_sentence_or_most_of_them(answer: str, expected: list[bool]) -> None:
    assert [place is not None for place in first_tellings(answer, STEPS)] == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("He dropped the small lens.", True),
        ("The lens was dropped by him.", False),  # the units in another order
        ("He drops the lens.", True),  # stems
        ("He did not drop the lens.", False),
        ("He dropped a cup. The lens was whole.", False),
    ],
)
def test_an_english_step_is_told_by_its_words_in_order(answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, ["dropped the lens"])
    assert (place is not None) == expected


def test_the_place_of_a_step_is_where_it_is_first_told() -> None:
    # 授予古名 begins at 0, 初入纳塔 at 8 and again later.
    assert first_tellings("授予古名之前他曾初入纳塔。他初入纳塔。", ["初入纳塔", "授予古名"]) == [8, 0]


MENTOR = ("闻伯", "mentor_of", "陆远舟")
ENGLISH = ("Mara", "mentor_of", "Tobin")


@pytest.mark.parametrize(
    ("answer", "direction"),
    [
        ("闻伯是陆远舟的师父。", "right"),
        ("陆远舟的师父是闻伯。", "right"),
        ("陆远舟的老师叫闻伯", "right"),
        ("陆远舟是闻伯的徒弟", "right"),
        ("闻伯教导过陆远舟", "right"),
        ("陆远舟由闻伯教导", "right"),
        ("陆远舟师从闻伯", "right"),  # what the object does
        ("闻伯师从陆远舟", "wrong"),
        ("陸遠舟是聞伯的學生", "right"),
        ("他是陆远舟的师父", "right"),
        ("闻伯是他的师父", "right"),
        ("陆远舟是闻伯的师父", "wrong"),
        ("闻伯是陆远舟的徒弟", "wrong"),
        ("陆远舟教导闻伯", "wrong"),
        ("闻伯被陆远舟教导", "wrong"),
        ("闻伯和陆远舟是师徒", "not told"),
        ("闻伯和陆远舟是师父和徒弟", "not told"),
    ],
)
def test_the_direction_of_a_relation_is_read_from_roles_and_verbs(answer: str, direction: str) -> None:
    reading = read_relation(answer, MENTOR, question="闻伯和陆远舟是什么关系？")
    assert (reading.relation, reading.direction) == (True, direction)
    assert reading.ends == (True, True)


@pytest.mark.parametrize(
    ("answer", "direction"),
    [
        ("Mara is Tobin's mentor.", "right"),
        ("Mara is the mentor of Tobin.", "right"),
        ("Tobin's teacher is Mara.", "right"),
        ("Tobin is Mara's apprentice.", "right"),
        ("Tobin was taught by Mara.", "right"),
        ("Mara taught Tobin.", "right"),
        ("Tobin learned from Mara.", "right"),
        ("Tobin is the mentor of Mara.", "wrong"),
        ("Tobin taught Mara.", "wrong"),
        ("Mara was taught by Tobin.", "wrong"),
    ],
)
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
    for answer in ("他们是好友。", "是好友。", "两人是朋友"):
        assert read_relation(answer, friends, question=question).ends == (True, True)
        assert read_relation(answer, friends).ends == (False, False)
    assert read_relation("小萤有一个朋友。", friends, question=question).ends == (False, False)


@pytest.mark.parametrize(
    "relation", ["friend_of", "friends_with", "is_friend_of", "friendOf", "Friend", "朋友", "friend-of"]
)
def test_a_relation_may_be_spelt_in_several_ways(relation: str) -> None:
    assert read_relation("沈栖和陆远舟是好友", ("沈栖", relation, "陆远舟")).relation is True


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


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("她的伙伴叫小萤。", 1.0),  # 小萤 is all that the question does not give
        ("小萤", 1.0),
        ("是小螢", 1.0),  # traditional
        ("叫作「小 萤」。", 1.0),
        ("不是小萤", 0.0),
        ("小红", 0.0),  # half a name is no name
        ("她的伙伴叫什么，我不知道。", 0.0),
    ],
)
def test_a_turn_says_what_its_reference_adds_to_the_question(answer: str, value: float) -> None:
    match = match_reference(answer, "她的伙伴叫小萤。", "沈栖的伙伴叫什么？")
    assert match is not None
    assert match.value == value


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        # The reference has 阿尤 协助 基尼奇 击败 (9 characters) and 深渊魔物 (4): 13.
        ("阿尤协助基尼奇击败了深渊魔物。", 13),
        ("深渊魔物被基尼奇在阿尤的协助下击败了。", 13),  # in another order
        ("阿尤帮助基尼奇打败了深渊魔物", 10),  # 阿尤 2, 助基尼奇 4, 深渊魔物 4
        ("它幫助基尼奇打敗了深淵魔物", 8),  # 助基尼奇 4, 深渊魔物 4
        ("阿尤没有协助基尼奇", 2),  # only 阿尤
        ("不清楚", 0),
    ],
)
def test_chinese_counts_by_characters_that_stand_together(answer: str, said: int) -> None:
    match = match_reference(answer, "阿尤协助基尼奇击败了深渊魔物...", "在这个任务中“它”做了什么？")
    assert match is not None
    assert match.value == said / 13


def test_what_the_turns_before_have_said_is_no_news() -> None:
    before = ["沈栖的伙伴叫什么？", "她的伙伴叫小萤。"]
    # Of 小萤爱吃海葡萄 the question gives 爱吃 and the turn before 小萤: 海葡萄 is left.
    for answer, value in (
        ("海葡萄", 1.0),
        ("小萤爱吃海葡萄。", 1.0),
        ("她的伙伴叫小萤。", 0.0),
        ("葡萄", 2 / 3),
    ):
        match = match_reference(answer, "小萤爱吃海葡萄。", "它爱吃什么？", before=before)
        assert match is not None
        assert match.value == value
    # Where nothing would be left, what the question does not give counts.
    match = match_reference("小萤", "是小萤。", "谁会发光？", before=before)
    assert match is not None
    assert match.value == 1.0


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Mara Quill taught him.", 1.0),
        ("It was Mara Quill.", 1.0),  # "taught" and "him" are in the question
        ("Mara.", 1 / 2),
        ("It was not Mara Quill.", 1 / 2),  # the negation is before Mara; Quill is a name of its own
        ("Tobin Reed.", 0.0),
    ],
)
def test_other_words_count_by_their_stems(answer: str, value: float) -> None:
    match = match_reference(answer, "Mara Quill taught him.", "Who taught him to read the stars?")
    assert match is not None
    assert match.value == value


def test_where_the_question_gives_everything_all_of_the_reference_counts() -> None:
    match = match_reference("小萤", "小萤", "小萤还是小红？")
    assert match is not None
    assert match.value == 1.0
    assert match_reference("是的", "是的。", "是吗？") is not None
    assert match_reference("x", "。。。", "?") is None


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("是的", "是的，他赢了。", "他赢了吗？", 1.0),
        ("是的，赢了", "是的，他赢了。", "他赢了吗？", 1.0),
        ("不，他输了", "是的，他赢了。", "他赢了吗？", 0.0),
        ("他没有赢", "他没有赢。", "他赢了吗？", 1.0),
        ("他赢了", "他没有赢。", "他赢了吗？", 0.0),
        ("Yes, he did.", "Yes.", "Did he win?", 1.0),
        ("No, he didn't.", "Yes, he won.", "Did he win?", 0.0),
        ("3", "There are three towers.", "How many towers are there?", 1.0),
        ("Four.", "There are three towers.", "How many towers are there?", 0.0),
        ("第三章", "在第三章。", "在第几章？", 1.0),
        ("第五章", "在第三章。", "在第几章？", 0.0),
    ],
)
def test_a_yes_a_no_and_a_number_are_answers(
    answer: str, reference: str, question: str, value: float
) -> None:
    match = match_reference(answer, reference, question)
    assert match is not None
    assert match.value == value


def test_either_alternative_of_a_reference_will_do() -> None:
    for answer in ("九十九级", "99级"):
        match = match_reference(answer, "九十九级/99级", "一共有多少台阶？")
        assert match is not None
        assert match.value == 1.0


@pytest.mark.parametrize(
    ("contexts", "places"),
    [
        (["前文。沈栖发现雾礁的灯火熄灭了，于是决定出海。后文。"], 1),
        (["沈栖发现雾礁的灯火熄灭了，于是", "沈栖和陆远舟连夜修好小船，冒着大雾出发。"], 2),  # cut by a chunk
        (["出海。"], 0),
        ([], 0),
    ],
)
def test_a_golden_place_is_found_with_half_of_its_snippet(contexts: list[str], places: int) -> None:
    snippets = ["沈栖发现雾礁的灯火熄灭了，于是决定出海。", "沈栖和陆远舟连夜修好小船，冒着大雾出发。"]
    assert golden_places(contexts, snippets) == places


def test_a_context_inside_another_is_no_place_of_its_own() -> None:
    contexts = ["她修好小船。", "夜里她修好小船。出发了。", "她点亮灯火。", "别的故事。"]
    assert telling_places(contexts, ["修好小船", "点亮灯火"]) == 2


@given(answer=TEXTS, name=TEXTS, question=TEXTS)
def test_whatever_the_texts_reading_them_ends_in_a_verdict(answer: str, name: str, question: str) -> None:
    assert len(names_in(answer, [name])) == 1
    assert len(first_tellings(answer, [name])) == 1
    match = match_reference(answer, name, question)
    assert match is None or 0 <= match.value <= 1
    reading = read_relation(answer, (name or "a", "mentor_of", "沈栖"), question=question)
    assert reading.direction in ("right", "wrong", "not told", "mutual")


@given(TEXTS)
def test_an_answer_that_repeats_its_reference_says_all_of_it(reference: str) -> None:
    match = match_reference(reference, reference, "")
    assert match is None or match.value == 1.0 or "/" in reference
