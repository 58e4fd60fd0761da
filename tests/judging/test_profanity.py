"""The profanity screen: what it finds, behind which disguises, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.profanity import screen_profanity


def words(text: str) -> list[str]:
    return [word.text for word in screen_profanity(text).words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What a load of bullshit.", ["bullshit"]),
        ("You BITCHES!", ["BITCHES"]),
        ("This f*cking thing", ["f*cking"]),
        ("Oh sh1t, again", ["sh1t"]),
        ("a$$hole", ["a$$hole"]),
        ("fuuuuck", ["fuuuuck"]),
        ("F.U.C.K this", ["F.U.C.K"]),
        ("s h i t happens", ["s h i t"]),
        ("s**t", ["s**t"]),
        ("Ｆｕｃｋ", ["Ｆｕｃｋ"]),
        ("你这个王八蛋！", ["王八蛋"]),
        ("真他媽的煩", ["真他媽"]),
        ("傻逼和 wanker", ["傻逼", "wanker"]),
        ("他妈的真烦。", ["他妈的"]),
        ("今天又下雨，他媽的太煩了！", ["他媽的"]),
        ("他妈的！怎么又坏了？", ["他妈的"]),
        ("他妈的居然涨价。", ["他妈的"]),
        ("妈的，太贵了。", ["妈的"]),
        ("媽的！又來了。", ["媽的"]),
        ("你这个傻B！", ["傻B"]),
        ("真是傻ｂ。", ["傻ｂ"]),
        ("卧槽，这么贵？", ["卧槽"]),
        ("臥槽！", ["臥槽"]),
        ("老板是个混蛋。", ["混蛋"]),
        ("渾蛋！", ["渾蛋"]),
    ],
)
def test_words_are_found_behind_the_usual_disguises(text: str, found: list[str]) -> None:
    assert sorted(words(text)) == sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        "Scunthorpe and Penistone are towns, and so is Lightwater.",
        "The assassin took a class on cocktails by Dickens.",
        "Shiitake and spices; push it, hit it, pass it on. Mar's hit was big.",
        "**Bold** and *italic* text: 2 * 3 ** 4 = 162, f(x)**k, a*b*c.",
        "It costs $5.00! Version 1.0.7, room B1tc4.",
        "u n i t e d we stand; U.S.A. and N.A.T.O.",
        "他妈的手艺很好，我妈的生日是五月。",
        "他妈的妹妹住在上海，他妈的真名没人知道，他妈的太极拳打得好。",
        "他妈的真实年龄是六十岁，这是他妈的，那是我妈的，都是妈妈的。",
        "我爸妈的，你爸妈的，他爸他妈的又一个生日。",
        "黑方走卧槽马，白方认输。与跳槽相反的是卧槽族。",
        "傻boy 是一首歌，装傻 because 有趣。",
        "尼玛是一个藏族名字。杂种优势是一种现象。",
        "The donkey, the cock and the hen; a chink in the armour.",
    ],
)
def test_clean_words_that_contain_others_are_left_alone(text: str) -> None:
    assert words(text) == []


def test_a_sentence_counts_once_however_many_words_it_has() -> None:
    # Four sentences; the second has two words of the lexicon, the fourth one.
    screening = screen_profanity("Hello there. Shit, you bitch! It rains. 王八蛋。")
    assert (screening.sentences, screening.flagged, len(screening.words)) == (4, 2, 3)


@given(st.text(max_size=200))
def test_the_words_found_stand_where_they_are_said_to(text: str) -> None:
    screening = screen_profanity(text)
    assert 0 <= screening.flagged <= screening.sentences
    for word in screening.words:
        assert text[word.start : word.end] == word.text


@pytest.mark.parametrize("unit", ["*", "a*", "a.", "a b ", "f*", "$", "s!", "aaaa"])
def test_a_hostile_text_is_screened_in_one_pass(unit: str) -> None:
    # Work that grew with the square of the length would take minutes here.
    assert screen_profanity(unit * (100_000 // len(unit))).words == ()
