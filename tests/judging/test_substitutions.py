"""One thing said in the place of another, denials, and units: each rule by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.support.chinese_substitutions import (
    chinese_exclusive_substitutions,
    chinese_name_substitutions,
)
from rag_evaluation_framework.judging.support.denials import denial_conflict
from rag_evaluation_framework.judging.support.substitutions import exclusive_substitutions, name_substitutions
from rag_evaluation_framework.judging.words.exclusive_words import exclusive_words
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.tokens import content_tokens, sentence_words, without_junctures


def names(claim: str, sentence: str) -> list[tuple[str, str]]:
    known = {token.key for token in content_tokens(sentence)}
    new = frozenset(token.start for token in content_tokens(claim) if token.key not in known)
    return [(each.said, each.evidence) for each in name_substitutions(claim, sentence, new=new)]


def verdict(claim: str, *evidence: str) -> ClaimVerdict:
    (found,) = LexicalSupport().decide([Claim(claim, 0, len(claim))], evidence)
    return found


@pytest.mark.parametrize(
    ("claim", "sentence", "found"),
    [
        # Two neighbours before: "Australia is".
        (
            "The capital of Australia is Sydney.",
            "The capital of Australia is Canberra.",
            ("Sydney", "Canberra"),
        ),
        # Two after: "is capital"; articles do not count.
        ("Sydney is the capital.", "Canberra is a capital.", ("Sydney", "Canberra")),
        # One before and one after.
        ("We met Anna Keller.", "Yesterday we met Maria Keller.", ("Anna", "Maria")),
        # A single name in each, and one neighbour.
        ("In Lyon the workshop is closed.", "The workshop in Paris is closed.", ("Lyon", "Paris")),
        # Whole runs of capitals.
        ("It lies in New York.", "It lies in Los Angeles.", ("New York", "Los Angeles")),
        # A day is no place, and the same may be written in two ways.
        ("It was sold in Vienna.", "It was sold in March.", None),
        ("It was sold in March.", "It was sold in April.", ("March", "April")),
        ("The plan of the WHO failed.", "The plan of the World Health Organization failed.", None),
        ("We met J. Keller.", "We met John Keller.", None),
        ("We met Mr. Keller.", "We met Dr. Keller.", None),
        # A common noun has a capital only where it begins a sentence.
        ("Visitors are welcome here.", "Guests are welcome here.", None),
        # Lower-case words may be paraphrases.
        ("The car is fast.", "The car is quick.", None),
    ],
)
def test_a_new_name_in_the_place_of_another_is_a_substitution(
    claim: str, sentence: str, found: tuple[str, str] | None
) -> None:
    assert names(claim, sentence) == ([found] if found else [])


@pytest.mark.parametrize(
    ("claim", "sentence", "found"),
    [
        ("Call us before noon.", "Call us after noon.", ("before", "after")),
        ("The doors open early.", "The doors open late.", ("early", "late")),
        ("It costs $5.", "It costs €5.", ("dollar", "euro")),
        ("It is 5 km away.", "It is 5 miles away.", ("km", "miles")),
        ("It is 5 km away.", "It is 5,000 m away.", None),  # another number: not the same place
        ("Trams are faster than cars.", "Cars are slower than trams.", None),
        ("Trams are faster than cars.", "Trams are slower than cars.", ("faster", "slower")),
        ("The pool is open.", "The pool is open and the sauna is closed.", None),
        ("Ships go north in May.", "The south is where ships winter.", None),
    ],
)
def test_words_that_exclude_each_other_conflict_in_the_same_place(
    claim: str, sentence: str, found: tuple[str, str] | None
) -> None:
    assert [tuple(each) for each in exclusive_substitutions(claim, sentence)] == ([found] if found else [])


@pytest.mark.parametrize(
    ("claim", "sentence", "found"),
    [
        ("会议在上海举行。", "会议在北京举行。", ("上海", "北京")),
        ("會議在上海舉行。", "会议在北京举行。", ("上海", "北京")),
        ("他的龙伙伴叫阿尤。", "他的龙伙伴叫阿贝多。", ("阿尤", "阿贝多")),
        ("他在京写。", "他在沪写。", ("京", "沪")),  # both end with the same verb
        ("会议在北京召开。", "会议在北京举行。", None),  # a verb, not a place
        ("会议在上午举行。", "会议在北京举行。", None),  # a time, not a place
        ("玛拉妮性格热情。", "玛拉妮是一个很热情的人。", None),
    ],
)
def test_a_short_chinese_run_after_what_introduces_a_name_is_a_substitution(
    claim: str, sentence: str, found: tuple[str, str] | None
) -> None:
    assert [tuple(each) for each in chinese_name_substitutions(claim, sentence)] == ([found] if found else [])


def test_chinese_words_that_exclude_each_other_conflict() -> None:
    assert [tuple(each) for each in chinese_exclusive_substitutions("商店上午开放。", "商店下午开放。")] == [
        ("上午", "下午")
    ]
    assert list(chinese_exclusive_substitutions("商店上午开放。", "商店上午和下午都开放。")) == []
    # Beside the same character before them, the same after them, or neither.
    assert len(list(chinese_exclusive_substitutions("商店上午安静。", "商店下午开放。"))) == 1
    assert len(list(chinese_exclusive_substitutions("周末上午开放。", "商店下午开放。"))) == 1
    assert list(chinese_exclusive_substitutions("公园上午安静。", "商店下午开放。")) == []


AFFIRMED, DENIED = "affirmed, evidence denies", "denied, evidence affirms"


@pytest.mark.parametrize(
    ("claim", "sentence", "conflict"),
    [
        ("You can return it.", "You cannot return it.", AFFIRMED),
        ("You can't return it.", "You can return it.", DENIED),
        ("You can’t return it.", "You can return it.", DENIED),
        ("He never smokes.", "He smokes.", DENIED),
        ("There is parking.", "There is no parking.", AFFIRMED),
        ("You can return it.", "You can return it.", ""),
        ("You cannot return it.", "You can not return it.", ""),
        ("Not only members vote.", "Members vote.", ""),
        ("Not just members vote.", "Members vote.", ""),
        ("No, you can return it.", "You can return it.", ""),
        ("Return it, whether or not it is used.", "Return it.", ""),
        # What is denied is something else, not said again, or under another condition.
        ("They may smoke, guests may not.", "They may smoke.", ""),
        ("The pass covers trams.", "The pass covers trams but does not cover ferries.", ""),
        ("You cannot return it after May.", "You can return it within May.", ""),
        ("五月以后不能退货。", "五月以前可以退货。", ""),
        # The clause that has more of the claim decides; what it leaves out it takes from before it.
        ("Cash is accepted.", "Cards are accepted, cash is not accepted.", AFFIRMED),
        ("Cards are accepted.", "Cards are accepted, cash is not accepted.", ""),
        ("Cash is not accepted.", "Cash is accepted; cards are not.", DENIED),
        ("Dinner is included.", "Breakfast is included, but dinner is not.", AFFIRMED),
        ("Breakfast is included, but dinner is not.", "Breakfast and dinner are included.", DENIED),
        ("The shop accepts cash.", "The shop accepts cards but does not accept cash.", AFFIRMED),
        ("The pool for guests is open.", "The pool, which is for guests, is not open.", AFFIRMED),
        ("Cash is accepted.", "Cash, cheques and cards are not accepted.", AFFIRMED),
        ("Theft is covered.", "Not covered: water damage, theft.", AFFIRMED),
        ("A座有电梯。", "A座有电梯，B座没有。", ""),
        ("B座有电梯。", "A座有电梯，B座没有。", AFFIRMED),
        ("本店周末营业。", "本店周一至周五营业，周末不营业。", AFFIRMED),
        ("支援现金。", "支援信用卡；但不支援現金。", AFFIRMED),
        ("您可以退货。", "您不能退货。", AFFIRMED),
        ("他没有参加比赛。", "他参加了比赛。", DENIED),
        ("無法退貨。", "可以退货。", DENIED),
        ("他非常喜欢苹果。", "他喜欢苹果。", ""),
        ("未来可以退货。", "可以退货。", ""),
    ],
)
def test_a_denial_belongs_to_a_word(claim: str, sentence: str, conflict: str) -> None:
    assert denial_conflict(claim, sentence) == conflict


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("You cannot enter without a ticket.", "You can enter with a ticket."),
        ("The shop is not open on Sundays.", "The shop is closed on Sundays."),
        ("The hotel is closed in winter.", "The hotel is open in summer and closed in winter."),
        ("Prices rose in May.", "Prices rose in May after they fell in April."),
        ("Keller leads the team in Zurich.", "Anna Keller leads the team in Zurich."),
        (
            "The museum, designed by Otto Braun, opened in May.",
            "Otto Braun designed the museum. It opened in May.",
        ),
        ("未成年人不能购买酒类。", "酒类不能卖给未成年人。"),
        ("非会员可以入场。", "会员和非会员都可以入场。"),
    ],
)
def test_what_agrees_in_other_words_is_never_contradicted(claim: str, evidence: str) -> None:
    assert verdict(claim, evidence).conflicts == ()


def test_of_sentences_as_close_one_that_agrees_is_attached() -> None:
    found = verdict(
        "Call the office before noon.", "Call the office after noon.", "Call the office before noon, please."
    )
    assert (found.label, found.conflicts) == ("supported", ())
    assert found.evidence is not None
    assert found.evidence.number == 1


def test_a_conflict_outweighs_any_number_of_words_that_agree() -> None:
    rest = (
        "is the town where the old stone bridge over the river was built by the guild of the masons in 1890"
    )
    assert verdict(f"Grenoble {rest}.", f"Winterthur {rest}.").label == "contradicted"


def test_words_keep_their_order_and_a_sign_of_money_follows_its_number() -> None:
    keys = [word.key for word in sentence_words("The fee is $5 for seven days，不贵")]
    assert keys == ["fee", "is", "5", "dollar", "for", "7", "day", "不", "贵"]


def test_exclusion_goes_both_ways() -> None:
    excluded = exclusive_words()
    assert all(word in excluded[other] for word, others in excluded.items() for other in others)
    assert all(word not in others for word, others in excluded.items())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 hours", "120 minutes"),
        ("5 km", "5,000 metres"),
        ("5 m", "500 cm"),
        ("1.5 kg", "1500克"),
        ("两小时", "120分钟"),
    ],
)
def test_the_same_measure_in_another_unit_is_the_same(one: str, other: str) -> None:
    assert quantities(one)[0].measure == quantities(other)[0].measure is not None


def test_pairs_that_only_join_known_and_new_characters_are_left_out() -> None:
    # 玛拉 and 拉妮 are known, and 热情; between them only 性格 is a word.
    tokens = content_tokens("玛拉妮性格热情")
    known = {"玛拉", "拉妮", "热情"}
    assert [token.key for token in without_junctures(tokens, known)] == ["玛拉", "拉妮", "性格", "热情"]
    # One new character alone is told by the pair it ends.
    assert [
        token.key for token in without_junctures(content_tokens("伙伴叫阿尤"), {"伙伴", "伴叫", "叫阿"})
    ] == [*("伙伴", "伴叫", "叫阿", "阿尤")]


SENTENCES = st.lists(
    st.sampled_from(
        [
            "Anna",
            "Rome",
            "the",
            "is",
            "not",
            "in",
            "open",
            "closed",
            "5",
            "km",
            "$5",
            "than",
            "会议",
            "在北京",
            "不",
            "。",
        ]
    ),
    max_size=9,
).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(sentence=SENTENCES)
def test_a_sentence_never_conflicts_with_itself(sentence: str) -> None:
    assert verdict(sentence, sentence).conflicts == ()
    assert denial_conflict(sentence, sentence) == ""
    assert names(sentence, sentence) == []
    assert list(exclusive_substitutions(sentence, sentence)) == []


@settings(max_examples=60, deadline=None)
@given(claim=st.text(max_size=40), sentence=st.text(max_size=40))
def test_any_two_texts_can_be_laid_beside_each_other(claim: str, sentence: str) -> None:
    for said, found in [
        *names(claim, sentence),
        *chinese_name_substitutions(claim, sentence),
    ]:
        assert said in claim
        assert found in sentence
