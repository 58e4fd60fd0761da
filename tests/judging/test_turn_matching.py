"""How much of what its reference adds to the question an answer says: what is said / what is new."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.golden.turn_matching import match_reference

DRAGON, DRAGON_ASKED = "他的龙伙伴叫阿尤。", "基尼奇的龙伙伴叫什么？"
HELPED, HELPED_ASKED = "阿尤协助基尼奇击败了深渊魔物...", "在这个任务中“它”做了什么？"
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


def said(answer: str, reference: str, question: str, before: Sequence[str] = ()) -> float:
    match = match_reference(answer, reference, question, before=before)
    assert match is not None
    return match.value


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
    assert said(answer, "她的伙伴叫小萤。", "沈栖的伙伴叫什么？") == value


@pytest.mark.parametrize(
    ("answer", "characters"),
    [
        # The reference has 阿尤 协助 基尼奇 击败 (9 characters) and 深渊魔物 (4): 13.
        ("阿尤协助基尼奇击败了深渊魔物。", 13),
        ("阿尤協助基尼奇擊敗了深淵魔物", 13),  # traditional
        ("深渊魔物被基尼奇在阿尤的协助下击败了。", 13),  # in another order
        ("阿尤帮助基尼奇打败了深渊魔物", 10),  # 阿尤 2, 助基尼奇 4, 深渊魔物 4
        ("它幫助基尼奇打敗了深淵魔物", 8),  # 助基尼奇 4, 深渊魔物 4
        ("阿尤击败了深渊魔物", 8),  # without 协助基尼奇
        ("阿尤没有协助基尼奇", 2),  # only 阿尤
        ("没有证据表明阿尤协助基尼奇击败了深渊魔物", 0),
        ("不清楚", 0),
    ],
)
def test_chinese_counts_by_characters_that_stand_together(answer: str, characters: int) -> None:
    assert said(answer, HELPED, HELPED_ASKED) == characters / 13


def test_what_the_turns_before_have_said_is_no_news() -> None:
    before = ["沈栖的伙伴叫什么？", "她的伙伴叫小萤。"]
    # Of 小萤爱吃海葡萄 the question gives 爱吃 and the turn before 小萤: 海葡萄 is left.
    for answer, value in (
        ("海葡萄", 1.0),
        ("小萤爱吃海葡萄。", 1.0),
        ("她的伙伴叫小萤。", 0.0),
        ("葡萄", 2 / 3),
    ):
        assert said(answer, "小萤爱吃海葡萄。", "它爱吃什么？", before) == value
    # Where nothing would be left, what the question does not give counts.
    assert said("小萤", "是小萤。", "谁会发光？", before) == 1.0


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Mara Quill taught him.", 1.0),
        ("It was Mara Quill.", 1.0),  # "taught" and "him" are in the question
        ("Mara.", 1 / 2),
        ("It was not Mara Quill.", 0.0),  # a name is denied as a whole
        ("Tobin Reed.", 0.0),
    ],
)
def test_other_words_count_by_their_stems(answer: str, value: float) -> None:
    assert said(answer, "Mara Quill taught him.", "Who taught him to read the stars?") == value


def test_where_the_question_gives_everything_all_of_the_reference_counts() -> None:
    assert said("小萤", "小萤", "小萤还是小红？") == 1.0
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
    assert said(answer, reference, question) == value


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
    assert said(answer, reference, question) == value


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("3.75%", "The rate is 3.75 percent.", "What is the rate?", 1.0),
        ("3.75", "The rate is 3.75 percent.", "What is the rate?", 1.0),
        ("75.3%", "The rate is 3.75 percent.", "What is the rate?", 0.0),
        ("百分之三点七五", "3.75%", "利率是多少？", 1.0),
        ("75.3%", "百分之三点七五", "利率是多少？", 0.0),
        ("2.5kg", "It weighs 2.5 kg.", "How much does it weigh?", 1.0),
        ("2.50 kg", "It weighs 2.5 kg.", "How much does it weigh?", 1.0),
        ("5.2 kg", "It weighs 2.5 kg.", "How much does it weigh?", 0.0),  # a unit tells nothing alone
        ("6公里", "5公里。", "有多远？", 0.0),
        ("五公里", "5公里。", "有多远？", 1.0),
        ("Two thousand", "Two thousand people came.", "How many people came?", 1.0),
        ("2,000 people", "Two thousand people came.", "How many people came?", 1.0),
        ("Many people came.", "Two thousand people came.", "How many people came?", 0.0),
        ("Two hundred", "Two thousand people came.", "How many people came?", 0.0),
        ("In 1984.", "Nineteen eighty-four.", "When was it?", 1.0),
        ("103", "Nineteen eighty-four.", "When was it?", 0.0),
        ("One.", "There is one tower.", "How many towers are there?", 1.0),
        ("Two towers.", "There is one tower.", "How many towers are there?", 0.0),
        ("3rd floor", "The third floor.", "Which floor?", 1.0),
        ("2nd floor", "The third floor.", "Which floor?", 0.0),
        ("-5度", "零下五度。", "几度？", 1.0),
        ("5度", "零下五度。", "几度？", 0.0),
        ("17:30", "At 5:30.", "When?", 1.0),
        ("6:30", "At 5:30.", "When?", 0.0),
        ("9 o'clock", "At 9:00.", "When?", 1.0),
    ],
)
def test_a_number_counts_by_its_value(answer: str, reference: str, question: str, value: float) -> None:
    assert said(answer, reference, question) == value


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("三百人", "大约三百人。", "有多少人？", 1.0),
        ("三百", "大约有三百人。", "来了多少人？", 1.0),
        ("300", "三百人左右。", "有多少人？", 1.0),
        ("约300人", "将近三百人。", "有多少人？", 1.0),
        ("约四百人", "约三百人。", "有多少人？", 0.0),
        ("2000", "Approximately 2000 people.", "How many people?", 1.0),
        ("Roughly 2000.", "About 2000 people.", "How many people?", 1.0),
        ("一只叫豆豆的黑猫", "他养了一只黑猫，叫豆豆。", "他养了什么？", 1.0),
        ("黑猫豆豆", "他养了一只黑猫，叫豆豆。", "他养了什么？", 1.0),  # 一只 is an article
        ("一只黑猫", "他养了一只黑猫，叫豆豆。", "他养了什么？", 1 / 2),
        ("书，三本", "三本书。", "他买了什么？", 1.0),
        ("四本书", "三本书。", "他买了什么？", 1 / 2),  # 3 and 书
        ("一只", "只有一只。", "有几只？", 1.0),
        ("两只", "只有一只。", "有几只？", 0.0),
        ("在纽约5号", "纽约5号", "在哪？", 1.0),
    ],
)
def test_how_exact_a_number_is_and_measure_words_tell_nothing(
    answer: str, reference: str, question: str, value: float
) -> None:
    assert said(answer, reference, question) == value


MAYOR, MAYOR_ASKED = "Anna Berg is the mayor.", "Who is the mayor?"
BUILT, BUILT_ASKED = "It was built by Rosa Klein in 1884.", "When was it built?"
OF_TOWN, OF_TOWN_ASKED = "安娜是镇长。", "谁是镇长？"


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("Anna Berg is not the mayor.", MAYOR, MAYOR_ASKED, 0.0),
        ("Anna Berg is not the current mayor.", MAYOR, MAYOR_ASKED, 0.0),
        ("Anna Berg was never mayor.", MAYOR, MAYOR_ASKED, 0.0),
        ("Anna Berg isn't.", MAYOR, MAYOR_ASKED, 0.0),
        ("The mayor isn't Anna Berg.", MAYOR, MAYOR_ASKED, 0.0),
        ("It is not true that Anna Berg is the mayor.", MAYOR, MAYOR_ASKED, 0.0),
        ("Anna Berg is not only the mayor but also a judge.", MAYOR, MAYOR_ASKED, 1.0),
        ("Ben is not the mayor, Anna Berg is.", MAYOR, MAYOR_ASKED, 1.0),
        ("Ben is not the mayor and Anna Berg is.", MAYOR, MAYOR_ASKED, 1.0),
        ("Not Ben but Anna Berg.", MAYOR, MAYOR_ASKED, 1.0),
        ("Anna Berg, not Ben.", MAYOR, MAYOR_ASKED, 1.0),
        ("Nobody but Anna Berg.", MAYOR, MAYOR_ASKED, 1.0),
        ("Anna Berg has no children and is the mayor.", MAYOR, MAYOR_ASKED, 1.0),
        ("The mayor is Anna Berg, who is not married.", MAYOR, MAYOR_ASKED, 1.0),
        ("It wasn't built by Rosa Klein in 1884.", BUILT, BUILT_ASKED, 0.0),
        ("It was not built until 1884, by Rosa Klein.", BUILT, BUILT_ASKED, 1.0),
        ("It was built in 1884, but not by Rosa Klein.", BUILT, BUILT_ASKED, 1 / 3),
        ("It does not open at 9:30.", "It opens at 9:30.", "When does it open?", 0.0),
        ("安娜不是镇长", OF_TOWN, OF_TOWN_ASKED, 0.0),
        ("安娜并不是现任镇长", OF_TOWN, OF_TOWN_ASKED, 0.0),
        ("安娜不是", OF_TOWN, OF_TOWN_ASKED, 0.0),
        ("本不是镇长，安娜是", OF_TOWN, OF_TOWN_ASKED, 1.0),
        ("不是本，而是安娜", OF_TOWN, OF_TOWN_ASKED, 1.0),
        ("安娜不仅是镇长，还是法官", OF_TOWN, OF_TOWN_ASKED, 1.0),
        ("玛拉妮喜欢冲浪不喜欢读书", "玛拉妮喜欢冲浪。", "玛拉妮喜欢什么？", 1.0),
        ("李明没写", "李明。", "谁写了这本书？", 0.0),
    ],
)
def test_what_is_denied_of_a_name_is_not_said(
    answer: str, reference: str, question: str, value: float
) -> None:
    assert said(answer, reference, question) == value


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        ("The lift is working.", "Yes.", "Is the lift working?", 1.0),
        ("It works.", "Yes, it is working.", "Is the lift working?", 1.0),
        ("The lift is not working.", "Yes, it is working.", "Is the lift working?", 0.0),
        ("The lift is broken.", "Yes.", "Is the lift working?", 0.0),  # it says neither yes nor no
        ("能用", "能", "电梯能用吗？", 1.0),
        ("是的", "能用。", "电梯能用吗？", 1.0),
        ("用不了", "是的。", "电梯能用吗？", 0.0),
        ("不知道", "不能。", "电梯能用吗？", 0.0),
        # A yes is one piece of news; 3 and euros are two more.
        ("Yes, 3 euros.", "Yes, it costs 3 euros.", "Does parking cost money?", 1.0),
        ("It costs 3 euros.", "Yes, it costs 3 euros.", "Does parking cost money?", 1.0),
        ("3 euros", "Yes, it costs 3 euros.", "Does parking cost money?", 1.0),  # which goes without saying
        ("Yes.", "Yes, it costs 3 euros.", "Does parking cost money?", 1 / 3),
        ("No, parking costs 3 euros.", "Yes, it costs 3 euros.", "Does parking cost money?", 0.0),
        ("The mayor is Ben.", "No, the mayor is Ben.", "Is Anna the mayor?", 1.0),
        ("Anna is the mayor.", "No, the mayor is Ben.", "Is Anna the mayor?", 0.0),
        ("她不会弹钢琴，但会唱歌", "不会，但她会唱歌。", "她会弹钢琴吗？", 1.0),
        ("会，还会唱歌", "不会，但她会唱歌。", "她会弹钢琴吗？", 0.0),
        # These ask for more.
        ("Rosa Klein", "Yes, Rosa Klein painted it.", "Do you know who painted it?", 1.0),
        ("Yes.", "Yes, Rosa Klein painted it.", "Do you know who painted it?", 0.0),
        ("Yes.", "It is a stone bridge.", "Can you describe the bridge?", 0.0),
        ("It is blue.", "It is red.", "Is it red or blue?", 0.0),
    ],
)
def test_the_wrong_yes_or_no_is_wrong(answer: str, reference: str, question: str, value: float) -> None:
    assert said(answer, reference, question) == value


CANCEL, CANCEL_ASKED = "Yes, you can cancel within 24 hours.", "Can I cancel my order?"
VISA_ASKED = "Do I need a visa?"


@pytest.mark.parametrize(
    ("answer", "reference", "question", "value"),
    [
        # What names the asked thing and says something else of it is neither a yes nor a no.
        ("The pool was closed in 2020.", "No, the pool was closed in 2020.", "Is there a pool?", 1.0),
        ("The pool was closed in 2020.", "Yes.", "Is there a pool?", 0.0),
        ("Tom is ill.", "No, Tom is ill.", "Is Tom coming?", 1.0),
        ("Tom is ill.", "Yes.", "Is Tom coming?", 0.0),
        ("Breakfast costs 12 euros.", "Yes.", "Is breakfast included?", 0.0),
        ("Breakfast costs 12 euros.", "No, it costs 12 euros.", "Is breakfast included?", 1.0),
        ("He hates cats.", "Yes.", "Does he like cats?", 0.0),
        ("He hates cats.", "No, he hates cats.", "Does he like cats?", 1.0),
        ("She sold her car and has a bike.", "No, she has a bike.", "Does she have a car?", 1.0),
        ("票已经卖完了，没有了。", "没有了，卖完了。", "还有票吗？", 1.0),
        ("票卖完了。", "有。", "还有票吗？", 0.0),
        ("停车场去年关闭了。", "有。", "有停车场吗？", 0.0),
        ("停车场去年关闭了。", "没有，停车场去年关闭了。", "有停车场吗？", 1.0),
        # A denial of something else is no "no".
        ("没关系，可以退货。", "可以退货。", "可以退货吗？", 1.0),
        ("不用担心，七天内可以退货。", "可以，七天内退货。", "可以退货吗？", 1.0),
        ("没有问题，七天内可以退货。", "可以，七天内退货。", "可以退货吗？", 1.0),
        ("不能用支票，可以刷卡。", "可以刷卡。", "这里可以刷卡吗？", 1.0),
        ("没有最低消费，可以刷卡。", "可以刷卡。", "这里可以刷卡吗？", 1.0),
        ("现金和刷卡都可以。", "可以刷卡。", "这里可以刷卡吗？", 1.0),
        ("支持刷卡。", "可以刷卡。", "这里可以刷卡吗？", 1.0),  # by its words
        ("不可以刷卡。", "可以刷卡。", "这里可以刷卡吗？", 0.0),
        ("没出门，在家呢。", "他在家。", "他在家吗？", 1.0),
        # Clauses of which one affirms and another denies count by their other words: 24 and hours.
        ("You can cancel within 24 hours. After that you cannot cancel.", CANCEL, CANCEL_ASKED, 1.0),
        ("Orders cannot be cancelled after 24 hours, but before that you can.", CANCEL, CANCEL_ASKED, 1.0),
        ("Yes, within 24 hours. After that you cannot cancel.", CANCEL, CANCEL_ASKED, 1.0),
        ("Not once it has shipped.", "You cannot cancel once it has shipped.", CANCEL_ASKED, 1.0),
        (
            "For short stays you do not need a visa; for stays over 90 days you do.",
            "Yes, for stays over 90 days.",
            VISA_ASKED,
            1.0,
        ),
        (
            "You do not need one if you stay less than 90 days.",
            "No, you don't need a visa for stays under 90 days.",
            VISA_ASKED,
            1.0,
        ),
        ("超过七天不能退货，七天内可以。", "可以，七天内退货。", "可以退货吗？", 1.0),
        # A reference that says it in a sentence is met by words too: the lift, but not that it works.
        ("The lift is broken.", "The lift is working.", "Is the lift working?", 1 / 2),
    ],
)
def test_only_a_plain_yes_or_no_decides(answer: str, reference: str, question: str, value: float) -> None:
    assert said(answer, reference, question) == value


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("3:2", "The score was 3-2.", 1.0),
        ("2:3", "The score was 3-2.", 0.0),
        ("3:2", "3比2。", 1.0),
        ("3比2", "3:2", 1.0),
        ("3 to 1", "3:1", 1.0),
        ("七点三十分", "7:30", 1.0),
        ("七点半", "7:30", 1.0),
        ("7:30", "七点半", 1.0),
        ("七点", "7:30", 0.0),
        ("12.30", "12:30", 1.0),
        ("12:30", "12.30", 1.0),
        ("At half past twelve.", "12:30", 1.0),
        ("At half past eleven.", "12:30", 0.0),
        ("9:30", "At 9 am.", 0.0),
        ("1.5 kg", "1,5 kg", 1.0),
        ("1,5 kg", "1.5 kg", 1.0),
        ("半小时", "一个半小时", 0.0),
        ("一个半小时", "半小时", 0.0),
        ("半个小时", "半小时", 1.0),
        ("2.5小时", "两个半小时", 1.0),
        ("两个半小时", "2.5小时", 1.0),
    ],
)
def test_scores_times_and_halves_are_the_same_however_they_are_written(
    answer: str, reference: str, value: float
) -> None:
    assert said(answer, reference, "What was the score, the time or the weight?") == value


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("海葡萄", "它讨厌海葡萄。", 1.0),
        ("它讨厌海葡萄", "海葡萄。", 1.0),
        ("它喜欢海葡萄", "它讨厌海葡萄。", 0.0),
    ],
)
def test_a_bare_answer_has_the_sense_of_its_question(answer: str, reference: str, value: float) -> None:
    assert said(answer, reference, "它讨厌吃什么？") == value


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
    assert said(answer, DRAGON, DRAGON_ASKED) == value


def test_one_guess_among_others_is_no_answer_in_english() -> None:
    reference, question = "It is called Ayu.", "What is the dragon called?"
    assert said("Probably Ayu.", reference, question) == 1.0
    assert said("I'm not sure, maybe Ayu or something else.", reference, question) == 0.0


def test_a_reference_that_leaves_it_open_is_met_by_an_answer_that_does() -> None:
    reference, question = "可能是周六或者周日。", "哪天？"
    assert said("可能是周六或者周日", reference, question) == 1.0
    assert said("不是周六", reference, question) == 0.0


def test_either_alternative_of_a_reference_will_do() -> None:
    for answer in ("九十九级", "99级"):
        assert said(answer, "九十九级/99级", "一共有多少台阶？") == 1.0


@given(answer=TEXTS, reference=TEXTS, question=TEXTS)
def test_whatever_the_texts_a_share_is_from_0_to_1(answer: str, reference: str, question: str) -> None:
    match = match_reference(answer, reference, question)
    assert match is None or 0 <= match.value <= 1


@given(TEXTS)
def test_an_answer_that_repeats_its_reference_says_all_of_it(reference: str) -> None:
    match = match_reference(reference, reference, "")
    assert match is None or match.value == 1.0 or "/" in reference


def test_a_measure_word_makes_no_exception() -> None:
    assert match_reference("一只也没有。", "她没有猫。", "她有几只猫？").value == 1.0
