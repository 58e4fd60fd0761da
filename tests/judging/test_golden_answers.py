"""Plain answers to golden questions, read as a reader of Chinese reads them.

The figures are those of the metrics: names stated / names, ends / 2 × relation × direction, news said / news.
"""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.classes.answer_classes import classify_answer
from rag_evaluation_framework.judging.golden.mentions import names_in
from rag_evaluation_framework.judging.golden.milestones import first_tellings
from rag_evaluation_framework.judging.golden.relations import Direction, read_relation
from rag_evaluation_framework.judging.golden.stances import asks_for_denied, stance_at
from rag_evaluation_framework.judging.golden.turn_matching import match_reference
from rag_evaluation_framework.metrics.golden import entity_coverage, relation_match

NAMES = ["玛拉妮", "热情", "探险"]
FRIENDS = ("恰斯卡", "friend_of", "卡齐娜")
FRIENDS_ASKED = "恰斯卡和卡齐娜是什么关系？"
FRIENDS_REFERENCE = "她们是朋友关系/战友关系，共同参与了..."
MENTOR = ("闻伯", "mentor_of", "陆远舟")
STEPS = ["初入纳塔", "报名竞技场", "赢得胜利", "授予古名"]
DRAGON, DRAGON_ASKED = "他的龙伙伴叫阿尤。", "基尼奇的龙伙伴叫什么？"
HELPED, HELPED_ASKED = "阿尤协助基尼奇击败了深渊魔物...", "在这个任务中“它”做了什么？"
DIRECTIONS: dict[Direction, float] = {"right": 1.0, "mutual": 1.0, "not told": 0.5, "wrong": 0.0}


def relation(answer: str, triple: tuple[str, str, str], question: str, reference: str = "") -> float:
    reading = read_relation(answer, triple, question=question, reference=reference)
    assert reading.relation is not None
    return relation_match(reading.ends, reading.relation, DIRECTIONS[reading.direction])


def turn(answer: str, reference: str, question: str) -> float:
    match = match_reference(answer, reference, question)
    assert match is not None
    return match.value


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
    ],
)
def test_a_question_may_ask_for_what_is_denied(answer: str, name: str, question: str, expected: bool) -> None:
    assert names_in(answer, [name], question=question) == [expected]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("它讨厌什么？", True),
        ("谁没有来？", True),
        ("what did he not see?", True),
        ("他没有赢吗？", False),  # a yes or no
        ("她有什么不同？", False),  # 不同, "different", is no denial
        ("怎么获得无限原石？", False),
        ("非常热情的是谁？", False),
    ],
)
def test_a_question_asks_for_the_denied_where_it_denies_and_asks_what(question: str, expected: bool) -> None:
    assert asks_for_denied(question) is expected


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ("她们是朋友关系，共同参与了竞技场的战斗。", 1.0),
        ("她们是战友", 1.0),  # the other of the two
        ("恰斯卡與卡齊娜是好友", 1.0),
        ("朋友", 1.0),  # the question names both ends
        ("好朋友。", 1.0),
        ("朋友關係", 1.0),
        ("戰友", 1.0),
        ("朋友和战友", 1.0),
        ("ＦＲＩＥＮＤＳ", 1.0),
        ("是好朋友，也是战友。", 1.0),
        ("卡齐娜来自纳塔，是恰斯卡的朋友。", 1.0),  # its subject is that of the clause before
        ("恰斯卡有一个最好的朋友，那就是卡齐娜。", 1.0),
        ("恰斯卡有个好友。她叫卡齐娜。", 1.0),
        ("恰斯卡，卡齐娜的挚友", 1.0),
        ("不可否认，她们是朋友。", 1.0),
        ("毫无疑问她们是朋友", 1.0),
        ("她们不只是朋友，更是战友。", 1.0),
        ("答案是朋友。", 1.0),
        ("她俩是好朋友", 1.0),
        ("恰斯卡拒绝承认卡齐娜是朋友", 0.0),
        ("說她們是朋友並不準確", 0.0),
        ("难道她们不是朋友吗？", 1.0),
        ("恰斯卡是玛拉妮的朋友，而卡齐娜是她的对手。", 0.0),  # somebody else's
        ("她们之间并不存在友谊", 0.0),
        ("没有证据表明恰斯卡和卡齐娜是朋友。", 0.0),
        ("沒有證據表明，恰斯卡和卡齊娜是朋友。", 0.0),
        ("她们的关系很难说是朋友", 0.0),
        ("无法确定她们是否是朋友。", 0.0),
        ("我不认为她们是朋友", 0.0),
        ("资料中没有提到她们是朋友", 0.0),
        ("恰斯卡和卡齐娜是朋友的说法没有根据。", 0.0),
        ("她们可能是朋友，我不确定。", 0.0),
        ("她们谈不上是朋友", 0.0),
        ("不是朋友", 0.0),
        ("敌人", 0.0),
        ("朋友很多", 0.0),
        ("恰斯卡和玛拉妮是朋友，和卡齐娜是敌人。", 0.0),
        ("玛拉妮和恰斯卡是朋友，卡齐娜不认识玛拉妮。", 0.0),
        ("恰斯卡很友好。卡齐娜也很友好。", 0.0),  # each of them, to everybody
        ("恰斯卡很友好，卡齐娜也很友好。", 0.0),
        ("恰斯卡讨厌卡齐娜的朋友。", 0.0),
    ],
)
def test_a_friendship_is_said_of_both_ends_and_stated(answer: str, match: float) -> None:
    assert relation(answer, FRIENDS, FRIENDS_ASKED, FRIENDS_REFERENCE) == match


def test_a_bare_relation_needs_a_question_that_names_the_ends() -> None:
    assert relation("朋友", FRIENDS, "她们是什么关系？") == 0.0


def test_the_clause_about_the_other_end_has_its_own_relation() -> None:
    answer = "恰斯卡和玛拉妮是朋友，和卡齐娜是敌人。"
    assert relation(answer, ("恰斯卡", "enemy_of", "卡齐娜"), FRIENDS_ASKED) == 1.0


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ("师徒", 0.5),  # who is which is not told
        ("師徒關係", 0.5),
        ("闻伯是师父，陆远舟是徒弟。", 1.0),
        ("闻伯是船匠，曾教导陆远舟。", 1.0),
        ("陆远舟来自北方，师从闻伯。", 1.0),
        ("闻伯的徒弟，是陆远舟", 1.0),
        ("闻伯教导村民，陆远舟旁观。", 0.0),  # the villagers
        ("闻伯和沈栖是师徒，陆远舟是船匠。", 0.0),
    ],
)
def test_a_word_in_a_clause_with_one_end_is_tied_to_it(answer: str, match: float) -> None:
    assert relation(answer, MENTOR, "闻伯和陆远舟是什么关系？") == match


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ("Tobin, a student of Mara, left.", 1.0),
        ("Tobin came late. His mentor was Mara.", 1.0),
        ("No doubt Mara taught Tobin.", 1.0),
        ("There is no evidence that Mara taught Tobin.", 0.0),
        ("It is hard to say whether Mara taught Tobin.", 0.0),
        ("I don't think Mara taught Tobin.", 0.0),
    ],
)
def test_english_relations_are_stated_or_not(answer: str, match: float) -> None:
    assert relation(answer, ("Mara", "mentor_of", "Tobin"), "How are Mara and Tobin related?") == match


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("他的龙伙伴叫阿尤。", 1.0),
        ("是阿尤", 1.0),
        ("可能是阿尤", 1.0),
        ("应该是阿尤。", 1.0),
        ("我不确定，但应该是阿尤。", 1.0),  # it settles on one
        ("年龄我不清楚，名字叫阿尤。", 1.0),  # what is not known is something else
        ("我不确定，可能是阿尤或者别的", 0.0),
        ("我不確定，可能是阿尤或者別的", 0.0),
        ("可能是阿尤，但我不确定。", 0.0),
        ("也许叫阿尤，也许叫阿贝多", 0.0),
        ("不知道，阿尤吧", 0.0),
        ("资料没有提到，可能是阿尤", 0.0),
        ("阿尤或者阿贝多吧", 0.0),
        ("叫阿尤还是阿贝多，我记不清了", 0.0),
        ("不是阿尤", 0.0),
    ],
)
def test_one_guess_among_others_is_no_answer(answer: str, value: float) -> None:
    assert turn(answer, DRAGON, DRAGON_ASKED) == value


def test_one_guess_among_others_is_no_answer_in_english() -> None:
    reference, question = "It is called Ayu.", "What is the dragon called?"
    assert turn("Probably Ayu.", reference, question) == 1.0
    assert turn("I'm not sure, maybe Ayu or something else.", reference, question) == 0.0


def test_a_reference_that_leaves_it_open_is_met_by_an_answer_that_does() -> None:
    reference, question = "可能是周六或者周日。", "哪天？"
    assert turn("可能是周六或者周日", reference, question) == 1.0
    assert turn("不是周六", reference, question) == 0.0


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("阿尤协助基尼奇击败了深渊魔物。", 1.0),
        ("阿尤協助基尼奇擊敗了深淵魔物", 1.0),
        ("阿尤击败了深渊魔物", 8 / 13),  # without 协助基尼奇
        ("没有证据表明阿尤协助基尼奇击败了深渊魔物", 0.0),
    ],
)
def test_a_turn_that_points_back(answer: str, value: float) -> None:
    assert turn(answer, HELPED, HELPED_ASKED) == value


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("三只", "有3只。", "有几只？", 1.0),
        ("３只", "有三只。", "有几只？", 1.0),
        ("三隻", "有3只。", "有几只？", 1.0),
        ("三", "有3只。", "有几只？", 1.0),
        ("十只", "有10只。", "有几只？", 1.0),
        ("四只", "有3只。", "有几只？", 0.0),
        ("十三只", "有三只。", "有几只？", 0.0),
        ("不是三只", "三只。", "有几只？", 0.0),
        ("2024年", "二〇二四年。", "哪一年？", 1.0),
        ("二○二四年", "2024年。", "哪一年？", 1.0),
        ("二〇二五年", "2024年。", "哪一年？", 0.0),
        ("一九九五年三月", "1995年3月", "哪天？", 1.0),
        ("兩萬人", "20000人。", "有多少人？", 1.0),
        ("百分之二十五", "25%", "占多少？", 1.0),
        ("１，０００", "一千。", "多少？", 1.0),
        ("twenty-one", "There are 21 towers.", "How many towers are there?", 1.0),
        ("五郎", "他叫五郎。", "他叫什么？", 1.0),  # names with a numeral in them
        ("三月七", "她叫三月七。", "她叫什么？", 1.0),
    ],
)
def test_a_number_is_the_same_however_it_is_written(
    answer: str, reference: str, question: str, value: float
) -> None:
    assert turn(answer, reference, question) == value


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("海葡萄", "它讨厌海葡萄。", 1.0),
        ("它讨厌海葡萄", "海葡萄。", 1.0),
        ("它喜欢海葡萄", "它讨厌海葡萄。", 0.0),
    ],
)
def test_a_bare_answer_has_the_sense_of_its_question(answer: str, reference: str, value: float) -> None:
    assert turn(answer, reference, "它讨厌吃什么？") == value


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("旅行者初入纳塔，报名竞技场，赢得胜利，被授予古名。", 4),
        ("旅行者進入納塔後報名參加競技場，贏得勝利，獲授予古名。", 4),
        ("没有证据表明旅行者赢得胜利。", 0),
        ("旅行者初入纳塔，但很难说他赢得胜利。", 1),
    ],
)
def test_a_step_that_is_not_shown_is_not_told(answer: str, told: int) -> None:
    assert sum(place is not None for place in first_tellings(answer, STEPS)) == told


def test_the_expected_refusal_declines() -> None:
    answer = "我无法回答关于原神剧情之外的问题..."
    assert classify_answer(answer, "钢铁侠能在纳塔打赢火神吗？").kind == "refused"


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("很热情", "stated"),
        ("缺乏热情", "denied"),
        ("不是不热情", "stated"),
        ("没有人不知道她热情", "stated"),
        ("没有证据表明她不热情", "open"),  # no evidence against is none for
        ("她是否热情还不清楚", "open"),
        ("她热情的说法没有错", "stated"),
    ],
)
def test_a_text_states_denies_or_leaves_open(text: str, stance: str) -> None:
    assert stance_at(text, text.index("热情")) == stance
