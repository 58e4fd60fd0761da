"""What texts are compared by: width, case, scripts, numbers, stems, and what has no content."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_evaluation_framework
from cases import tables_beside
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.mentions import stance_at
from rag_evaluation_framework.judging.milestones import first_tellings
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.normalisation import (
    alternatives,
    comparable,
    simplified_characters,
    slash_groups,
    variants,
)
from rag_evaluation_framework.text.numbers import even_text, quantities
from rag_evaluation_framework.text.scripts import EMOJI, HAN, HAN_CHARACTER, KANA, OTHER_UNSPACED, UNSPACED
from rag_evaluation_framework.text.tokens import (
    content_keys,
    content_tokens,
    pieces,
    tokens_with,
    without_junctures,
    words_in,
    words_of_parts,
)
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_DIGITS,
    CHINESE_MYRIADS,
    CHINESE_NEGATIONS,
    CHINESE_SCALES,
    COUNTED,
    DENIAL,
    NEGATIONS,
    NUMERALS,
    PARTICLES,
    PLAIN_NUMERALS,
    STOP_CHARACTERS,
    STOP_WORDS,
    STRUCTURE,
    stem,
)

TABLES = tables_beside(__file__)

PAIRS = (
    (files("rag_evaluation_framework.text") / "data" / "traditional_simplified.txt")
    .read_text(encoding="utf-8")
    .split()
)


@pytest.mark.parametrize(
    ("text", "expected"), TABLES["texts_are_compared_without_width_case_and_way_of_writing"]
)
def test_texts_are_compared_without_width_case_and_way_of_writing(text: str, expected: str) -> None:
    assert comparable(text) == expected


def test_every_pair_has_a_traditional_and_a_simplified_character_and_none_comes_twice() -> None:
    assert len(PAIRS) > 1000
    assert len({pair[0] for pair in PAIRS}) == len(PAIRS)
    simplified = {pair[1] for pair in PAIRS}
    assert not simplified & {pair[0] for pair in PAIRS}  # so that folding twice changes nothing
    for pair in PAIRS:
        assert len(pair) == 2
        assert pair[0] != pair[1]
        # The national character set of the mainland has every simplified character.
        assert pair == "囉啰" or pair[1].encode("gb2312")


@given(st.text(max_size=40))
def test_a_comparable_text_stays_as_it_is(text: str) -> None:
    assert comparable(comparable(text)) == comparable(text)


@given(st.text(alphabet="龙伙伴阿尤ab1 ,。'", max_size=30))
def test_pieces_are_in_order_and_stand_where_they_say(text: str) -> None:
    even = comparable(text)
    found = list(pieces(even))
    assert all(even[piece.start : piece.end] == piece.text for piece in found)
    assert all(before.end <= after.start for before, after in pairwise(found))


@pytest.mark.parametrize(("name", "expected"), TABLES["a_slash_means_either_unless_between_figures"])
def test_a_slash_means_either_unless_between_figures(name: str, expected: list[str]) -> None:
    assert alternatives(name) == expected


def test_alternatives_in_a_sentence_are_the_words_that_the_slash_joins() -> None:
    assert slash_groups("她们是朋友关系/战友关系,共同参与了") == [["她们是朋友关系", "战友关系"]]
    assert variants("她们是朋友关系/战友关系，共同参与了...") == [
        "她们是朋友关系，共同参与了",
        "战友关系，共同参与了",
    ]
    assert variants("He is calm/quiet and tall／big.") == [
        "He is calm and tall.",
        "He is calm and big.",
        "He is quiet and tall.",
        "He is quiet and big.",
    ]
    assert variants("It opens 24/7.") == ["It opens 24/7."]
    assert variants("It is in /home.") == ["It is in /home."]  # a slash that joins nothing


@pytest.mark.parametrize("dots", ["...", "…", "……", "。。。"])
def test_dots_stand_for_what_is_not_written_yet(dots: str) -> None:
    assert variants(f"阿尤协助基尼奇击败了深渊魔物{dots}") == ["阿尤协助基尼奇击败了深渊魔物"]


def test_a_text_full_of_slashes_has_few_variants() -> None:
    assert len(variants(" ".join(f"a{n}/b{n}" for n in range(50)))) <= 16
    assert len(variants("/".join("ab" * 200))) <= 16


PACKAGE = Path(rag_evaluation_framework.__file__).parent
# What another tool's tokenizer takes for Chinese, for parity with it.
OTHERS_RANGES = {"metrics/texts.py"}


@pytest.mark.parametrize(
    ("held", "inside", "outside"),
    [
        (HAN, "一龥㐀豈𠮷々", "〇あアａA1、。䷀한"),
        (KANA, "あんアンーヽㇰ゛", "・゠一、"),
        (UNSPACED, "一々〇〡あア", "・、A한"),
        (OTHER_UNSPACED, "กລང်က្ខ", "一あA"),
        (EMOJI, "☀✂😀🚀\ufe0f\u200d", "一→A"),
    ],
)
def test_a_set_holds_what_its_name_says(held: str, inside: str, outside: str) -> None:
    assert re.fullmatch(f"[{held}]+", inside)
    assert not re.search(f"[{held}]", outside)
    assert HAN_CHARACTER.match("龥")


def test_chinese_characters_are_told_by_nothing_but_these_sets() -> None:
    """Not by a range, and not by a code point that a character is compared with."""
    spelt_out = re.compile(r"u(?:3005|3400|4e00|9fff|f900|faff)|U0002|[\u3400-\u9fff]-[\u3400-\u9fff]", re.I)
    told = {
        str(path.relative_to(PACKAGE))
        for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.yaml"))
        if spelt_out.search(path.read_text(encoding="utf-8"))
    }
    assert told == {"text/scripts.py", *OTHERS_RANGES}


@pytest.mark.parametrize(("text", "values"), TABLES["a_number_has_one_value_however_it_is_written"])
def test_a_number_has_one_value_however_it_is_written(text: str, values: list[float]) -> None:
    assert [quantity.values for quantity in quantities(text)] == [(float(value),) for value in values]


def test_an_m_is_a_million_or_a_metre() -> None:
    assert [quantity.values for quantity in quantities("2m")] == [(2_000_000.0, 2.0)]


def test_number_words_that_go_on_and_on_have_values_that_are_numbers() -> None:
    found = quantities("hundred " * 1000 + "million one " * 1000)
    assert found
    assert all(math.isfinite(value) for quantity in found for value in quantity.values)


@pytest.mark.parametrize(
    "text", ["25%", "25 %", "25 percent", "25 per cent", "twenty-five percent", "百分之二十五"]
)
def test_percentages_are_a_kind_of_their_own(text: str) -> None:
    assert [(quantity.values, quantity.kind) for quantity in quantities(text)] == [((25.0,), "percent")]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("5 pm", [(17 * 60,)]),
        ("5:30PM", [(17 * 60 + 30,)]),
        ("12 am", [(0,)]),
        ("12 p.m.", [(12 * 60,)]),
        ("17:0-21:0", [(17 * 60,), (21 * 60,)]),
        ("9:30", [(9 * 60 + 30, 21 * 60 + 30)]),  # morning or evening is not said
        ("19:18:59", [(19 * 60 + 18,)]),
    ],
)
def test_times_of_day_are_minutes_and_open_halves_read_twice(
    text: str, readings: list[tuple[int, ...]]
) -> None:
    found = quantities(text)
    assert [quantity.values for quantity in found] == readings
    assert {quantity.kind for quantity in found} == {"time"}


@pytest.mark.parametrize("text", ["[1]", "[1, 2]", "passage 3", "Passages 2 and 3", "step 4", "none", "万"])
def test_markers_and_numbers_of_passages_are_no_numbers(text: str) -> None:
    assert quantities(text) == []


@pytest.mark.parametrize("text", ["one", "First", "一"])
def test_words_that_may_not_be_meant_as_numbers_are_vague(text: str) -> None:
    assert [quantity.is_vague for quantity in quantities(text)] == [True]


@given(st.integers(0, 10**12))
def test_commas_do_not_change_a_number(number: int) -> None:
    assert quantities(f"{number:,}")[0].values == quantities(str(number))[0].values == (float(number),)


@given(st.text(alphabet=st.sampled_from("0159,.:-%apm kbnoe三百万亿第[] ２")))
def test_values_are_finite_and_places_exact(text: str) -> None:
    for quantity in quantities(text):
        assert all(math.isfinite(value) for value in quantity.values)
        assert 0 <= quantity.start < quantity.end <= len(text)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        *TABLES["chinese_hours_with_the_part_of_the_day_are_times"],
        ("下午3点", [15 * 60]),
        ("下午 3 点钟", [15 * 60]),
        ("晚上九点半", [21 * 60 + 30]),
        ("早上8点一刻", [8 * 60 + 15]),
        ("上午9点30分", [9 * 60 + 30]),
        ("下午三点五分", [15 * 60 + 5]),
        ("上午9点至下午6点", [9 * 60, 18 * 60]),
        ("下午3点20分到5点", [15 * 60 + 20, 17 * 60]),
        ("中午12点", [12 * 60]),
        ("中午1点", [13 * 60]),
        ("深夜两点", [2 * 60]),
        ("18時30分", [18 * 60 + 30]),
    ],
)
def test_chinese_hours_with_the_part_of_the_day_are_times(text: str, times: list[int]) -> None:
    found = [quantity for quantity in quantities(text) if quantity.kind == "time"]
    assert [quantity.values for quantity in found] == [(float(time),) for time in times]
    assert all(quantity.also and quantity.also[0] == "number" for quantity in found)


def test_a_chinese_time_has_all_its_characters_and_the_hour_that_is_written() -> None:
    (time,) = quantities("泳池下午3点20分开放")
    assert ((time.start, time.end), time.also) == ((2, 9), ("number", 3.0))


def test_chinese_hours_alone_are_numbers_that_may_be_times() -> None:
    assert [(each.kind, each.values, each.also) for each in quantities("3点10分")] == [
        ("number", (3.0,), ("time", 190.0)),
        ("number", (10.0,), ("time", 190.0)),
    ]


@pytest.mark.parametrize(("text", "expected"), TABLES["a_number_is_written_as_its_value"])
def test_a_number_is_written_as_its_value(text: str, expected: str) -> None:
    assert even_text(text) == expected


@given(st.text(alphabet="abc 。，是的"))
def test_a_text_without_numbers_is_only_made_comparable(text: str) -> None:
    assert even_text(text) == comparable(text)


@pytest.mark.parametrize("forms", TABLES["forms_of_a_word_have_one_stem"])
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("words", ["business bus", "castle cast", "planet plane", "seat sea", "horse horn"])
def test_different_words_keep_different_stems(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 2


@pytest.mark.parametrize(
    ("text", "expected"), TABLES["content_is_what_remains_without_grammar_talk_markers_and_numbers"]
)
def test_content_is_a_text_without_grammar_talk_markers_and_numbers(text: str, expected: list[str]) -> None:
    assert [text[token.start : token.end] for token in content_tokens(text)] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("ＡＢＣ Tower", "abc tower"), ("龍的國家", "龙的国家"), ("CITY’s", "city's"), ("Ｃａｔ", "cats")],
)
def test_width_case_and_the_two_ways_of_writing_chinese_do_not_count(one: str, other: str) -> None:
    assert content_keys(one) == content_keys(other) != []


@given(st.text(alphabet=st.sampled_from("aBé'’ 1[]th.罗马的龍Ａ２&;")))
def test_tokens_stand_where_they_say_and_agree_with_the_keys(text: str) -> None:
    tokens = content_tokens(text)
    assert [token.text for token in tokens] == content_keys(text)
    for token in tokens:
        assert content_keys(text[token.start : token.end]) == [token.text]


# Where an ASCII text is cut, what stands beside a mark, and what has marks inside.
ASCII = st.text(alphabet=st.sampled_from("abStT '1234[]&;#_.,-/\n\x1c(\"th"))


@given(ASCII)
def test_an_ascii_text_is_read_as_if_there_were_other_characters_beside_it(text: str) -> None:
    *tokens, last = content_tokens(f"{text} café")
    assert (tokens, last.text) == (content_tokens(text), "café")


@given(st.one_of(ASCII, st.text(alphabet=st.sampled_from("aé 罗马.[1]"))), st.data())
def test_the_words_of_parts_are_those_of_each_part_alone(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    parts = list(pairwise(cuts))
    assert words_of_parts(text, parts) == [words_in(text[start:end]) for start, end in parts]


@given(st.one_of(ASCII, st.text(alphabet=st.sampled_from("aé 罗马.[1]"))), st.data())
def test_tokens_of_some_keys_are_those_of_all(text: str, data: st.DataObject) -> None:
    tokens = content_tokens(text)
    keys = data.draw(st.sets(st.sampled_from([token.text for token in tokens] or ["rome"])))
    assert tokens_with(keys, text) == [token for token in tokens if token.text in keys]


def test_pairs_that_only_join_known_and_new_characters_are_left_out() -> None:
    # 玛拉 and 拉妮 are known, and 热情; between them only 性格 is a word.
    tokens = content_tokens("玛拉妮性格热情")
    known = {"玛拉", "拉妮", "热情"}
    assert [token.text for token in without_junctures(tokens, known)] == ["玛拉", "拉妮", "性格", "热情"]
    # One new character alone is told by the pair it ends.
    assert [
        token.text for token in without_junctures(content_tokens("伙伴叫阿尤"), {"伙伴", "伴叫", "叫阿"})
    ] == [*("伙伴", "伴叫", "叫阿", "阿尤")]


@pytest.mark.parametrize("negation", [*NEGATIONS, *CHINESE_NEGATIONS])
def test_a_negation_denies_wherever_denials_are_read(negation: str) -> None:
    assert DENIAL.search(f"she has {negation} luck")
    if negation.isascii():
        assert stance_at(f"she is {negation} tall", len(f"she is {negation} ")) == "denied"


def test_what_denies_nothing_is_no_denial() -> None:
    assert not DENIAL.search("It is not only cheap: Chinese Negations are HINTS")
    assert not DENIAL.search("她很热情")


def test_a_record_that_denies_supports_a_denial_in_chinese() -> None:
    evidence = ['{"WiFi": false, "Parking": true}']
    denying, affirming = "这里没有 WiFi。", "这里提供 WiFi。"
    denied, affirmed = LexicalSupport().decide(
        [Claim(text, 0, len(text)) for text in (denying, affirming)], evidence
    )
    assert denied.probability is not None
    assert affirmed.probability is not None
    assert denied.probability > affirmed.probability


@pytest.mark.parametrize("numeral", NUMERALS)
def test_every_numeral_is_read_as_a_number(numeral: str) -> None:
    scale = {**CHINESE_SCALES, **CHINESE_MYRIADS}.get(numeral)
    text, value = (f"二{numeral}次", 2 * scale) if scale else (f"{numeral}次", CHINESE_DIGITS[numeral])
    assert [quantity.values for quantity in quantities(text)] == [(value,)]
    assert content_keys(f"第{numeral}") == [] or numeral not in PLAIN_NUMERALS


@pytest.mark.parametrize("counted", sorted(set(COUNTED) - {chr(place) for place in simplified_characters()}))
def test_what_is_counted_makes_a_figure_of_the_numeral_before_it(counted: str) -> None:
    assert even_text(f"有三{counted}") == f"有3{counted}"
    assert not quantities(f"有三{counted}")[0].is_vague


def test_structure_is_grammar_and_grammar_has_no_content() -> None:
    assert STRUCTURE < PARTICLES < STOP_CHARACTERS
    assert {"nineteen", "ninety", "trillion", "third", "percent", "the", "according"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint(("fourth", "twice", "january", "monday"))
    assert first_tellings("她报名了竞技场。", ["报名竞技场"]) == [1]


def test_rare_chinese_characters_are_chinese_everywhere() -> None:
    """𠮷 lies beyond the first 65,536 characters, and 々 repeats the one before it."""
    assert content_keys("𠮷野家") == ["𠮷野", "野家"]
    assert content_keys("佐々木") == ["佐々", "々木"]
    assert [claim.text for claim in claims_of("𠮷野家很大。𠮷𠮷𠮷𠮷。")] == ["𠮷野家很大。", "𠮷𠮷𠮷𠮷。"]


@pytest.mark.parametrize("mark", ["_", "」", "*", "”"])
def test_what_closes_after_a_question_mark_leaves_it_a_question(mark: str) -> None:
    assert claims_of(f"Is the old harbour open?{mark}") == ()
