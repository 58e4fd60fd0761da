"""Places in texts: excerpts, snippets, shingles and spans, found exactly or not at all."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutated_excerpts import Mutated, mutated_excerpts

from cases import tables_beside
from rag_evaluation_framework import CharacterSpan
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.normalisation import FoldedText
from rag_evaluation_framework.text.search import (
    WHITE_SPACE,
    ExcerptFinder,
    Located,
    Place,
    SqueezedText,
    Unlocated,
    approximate_places,
)
from rag_evaluation_framework.text.shingles import ROW, ShingleIndex
from rag_evaluation_framework.text.spans import Span, joined
from sizes import size

TABLES = tables_beside(__file__)

TEXT = (
    "# Fares\n\nA single ticket costs **£4.50** for adults and “half price” for children under 12.\r\n"
    "Dogs travel free — on a lead. Bicycles are carried if there is room.\n\n"
    "## Season tickets\n\nThose who cross every day may prefer a ticket for the whole season, which the "
    "office on the quay sells from the first of March.\n\n"
    "A season ticket costs £120 and is valid from 1 April to 31 October.\n"
    "Bicycles are carried if there is room.\n\n"
    "# 票价\n\n单程票价为四英镑五十便士，\n儿童半价。狗可以免费乘船。\n"
)


finder = lru_cache(maxsize=16)(ExcerptFinder)


def locate(excerpt: str, text: str, near: Sequence[tuple[int, int]] = ()) -> Located | str:
    return finder(text).locate(excerpt, near=near)


@pytest.mark.parametrize(
    ("excerpt", "manner", "passage"),
    TABLES["an_excerpt_is_found_as_it_was_copied"],
)  # fmt: skip
def test_an_excerpt_is_found_as_it_was_copied(excerpt: str, manner: str, passage: str) -> None:
    found = locate(excerpt, TEXT)
    assert isinstance(found, Located), found
    assert (found.manner, TEXT[found.start : found.end]) == (manner, passage)


@pytest.mark.parametrize(("excerpt", "reason"), TABLES["an_excerpt_without_one_place_has_a_reason"])
def test_an_excerpt_without_one_place_has_a_reason(excerpt: str, reason: str) -> None:
    assert locate(excerpt, TEXT) == reason


def test_of_several_places_the_one_beside_the_other_excerpts_is_taken_if_it_is_clearly_the_nearest() -> None:
    twice = "Bicycles are carried if there is room."
    first, second = TEXT.index(twice), TEXT.rindex(twice)
    season = TEXT.index("A season ticket")
    for excerpt in (twice, twice.upper(), "Bicycles are carryed if there is room."):
        found = locate(excerpt, TEXT, near=[(season, second - 1)])
        assert isinstance(found, Located)
        assert found.start == second
    # 50 characters are no clear difference.
    middle = (first + second) // 2
    assert locate(twice, TEXT, near=[(middle, middle + 1)]) == "ambiguous-excerpt"


def test_copies_that_differ_in_white_space_alone_are_not_told_apart_by_it() -> None:
    text = "The gate opens at six.\n\nThe gate\nopens at six."
    assert locate("The gate opens at six.", text) == "ambiguous-excerpt"
    assert locate("The gate\nopens at six.", text) == "ambiguous-excerpt"


def test_copies_that_differ_in_case_are_told_apart_by_a_copy_to_the_letter() -> None:
    text = "NO SMOKING ON DECK\n\nThere is no smoking on deck."
    found = locate("no smoking on deck", text)
    assert isinstance(found, Located)
    assert text[found.start : found.end] == "no smoking on deck"
    assert locate("No smoking on deck", text) == "ambiguous-excerpt"


def test_rows_that_differ_in_a_number_are_not_taken_for_each_other() -> None:
    rows = "".join(f"Room {number} opens at 8 and closes at 18 in the winter.\n" for number in range(10, 99))
    found = locate("Room 47 opens at 8 and closes at 18 in the wintr.", rows)
    assert isinstance(found, Located)
    assert rows[found.start : found.end] == "Room 47 opens at 8 and closes at 18 in the winter."


def test_excerpts_of_a_question_are_located_together_in_the_order_of_the_text() -> None:
    finder = ExcerptFinder(TEXT)
    found = finder.locate_together(
        ["Bicycles are carried if there is room.", "valid from 1 April to 31 October."]
    )
    assert not isinstance(found, Unlocated)
    assert [TEXT[place.start : place.end] for place in found] == [
        "valid from 1 April to 31 October.",
        "Bicycles are carried if there is room.",
    ]
    assert found[1].start == TEXT.rindex("Bicycles")
    failed = finder.locate_together(["Dogs travel free", "Cats travel free of charge"])
    assert failed == Unlocated("excerpt-not-found", "Cats travel free of charge")


def test_overlapping_excerpts_of_a_question_are_one() -> None:
    found = ExcerptFinder(TEXT).locate_together(["costs £120 and is valid", "is valid from 1 April", "£120"])
    assert [TEXT[place.start : place.end] for place in found] == ["costs £120 and is valid from 1 April"]  # type: ignore[union-attr]


def test_where_something_is_left_out_the_parts_are_excerpts() -> None:
    found = ExcerptFinder(TEXT).locate_together(["A single ticket costs … for children under 12."])
    assert not isinstance(found, Unlocated)
    assert [TEXT[place.start : place.end] for place in found] == [
        "A single ticket costs",
        "for children under 12.",
    ]


def edits(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for count, one in enumerate(first, start=1):
        diagonal, row[0] = row[0], count
        for place, other in enumerate(second, start=1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (one != other)),
            )
    return row[-1]


def words_within(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out the marks at both ends, which may be folded away."""
    while start < end - 1 and not text[start].isalnum():
        start += 1
    while end > start + 1 and not text[end - 1].isalnum():
        end -= 1
    return start, end


def is_another_passage(mutated: Mutated, found: Located) -> bool:
    """Tell whether the changes made the excerpt a better copy of another passage than of its own."""
    bare = mutated.excerpt.strip(' \n\t"“”….')
    passage, own = mutated.text[found.start : found.end], mutated.text[mutated.start : mutated.end]
    if passage.strip(' "“”….') == bare and "".join(own.split()) != "".join(passage.split()):
        return True
    return edits(FoldedText(bare).folded, FoldedText(passage).folded) < edits(
        FoldedText(bare).folded, FoldedText(own).folded
    )


MUTATED = size(3_000, 10_000)


def test_of_thousands_of_mutated_excerpts_each_is_found_where_it_was_copied_or_turned_away() -> None:
    outcomes: Counter[str] = Counter()
    for mutated in mutated_excerpts(MUTATED, seed=20261115):
        found = locate(mutated.excerpt, mutated.text, near=mutated.near)
        if not isinstance(found, Located):
            outcomes[found] += 1
            continue
        outcomes[found.manner] += 1
        assert 0 <= found.start < found.end <= len(mutated.text)
        start, end = words_within(mutated.text, found.start, found.end)
        own_start, own_end = words_within(mutated.text, mutated.start, mutated.end)
        shared = min(end, own_end) - max(start, own_start)
        either = max(end, own_end) - min(start, own_start)
        if shared < 0.8 * either:
            assert is_another_passage(mutated, found), (mutated, found)
            outcomes["another passage"] += 1
        elif mutated.words_kept and found.manner != "aligned":
            own = mutated.text[mutated.start : mutated.end]
            bare = own.strip(" \"“”‘’'….*_`\n")
            assert bare in mutated.text[found.start : found.end] in own, (mutated, found)
    # Most survive, every manner and reason occurs, and hardly any became another passage.
    assert outcomes["exact"] + outcomes["folded"] + outcomes["aligned"] > 0.7 * MUTATED
    assert min(outcomes["folded"], outcomes["aligned"], outcomes["ambiguous-excerpt"]) > 0.03 * MUTATED
    assert outcomes["another passage"] < 0.01 * MUTATED


@pytest.mark.parametrize("unit", ["a", "ab ", "na na ", "的"])
def test_a_text_that_repeats_itself_without_end_is_ambiguous_and_soon_given_up(unit: str) -> None:
    times = 3_000 // len(unit)
    text = unit * times
    half, most = unit * (times // 4), unit * (times * 9 // 20)
    for excerpt in (unit.strip(), unit * 7, f"{half}x{half}", f"x{most}"):
        found = locate(excerpt, text, near=[(10, 20)])
        assert found in ("ambiguous-excerpt", "excerpt-not-found")


words = st.text(alphabet="ab c", min_size=6, max_size=24)


@given(wanted=words, text=st.text(alphabet="ab c", max_size=60), most_edits=st.integers(0, 2))
def test_every_place_of_an_approximate_copy_is_found(wanted: str, text: str, most_edits: int) -> None:
    found = approximate_places(wanted, text, most_edits=most_edits)
    for place in found:
        assert edits(wanted, text[place.start : place.end]) == place.edits <= most_edits
    if len(wanted) // (most_edits + 1) < 3:
        return
    for end in range(1, len(text) + 1):
        closest = min(edits(wanted, text[start:end]) for start in range(end))
        if closest <= most_edits:
            assert any(abs(place.end - end) <= place.edits + closest for place in found)


def test_of_equally_close_copies_the_longest_with_the_same_ends_is_taken() -> None:
    # "the last fer", "the last ferr" and "the last ferry" are all one edit away.
    assert approximate_places("the last fery", "Take the last ferry home.", most_edits=1) == [Place(5, 19, 1)]


@given(st.text(max_size=60))
def test_folded_text_leads_back_to_the_characters_it_comes_from(text: str) -> None:
    even = FoldedText(text)
    assert len(even.folded) == len(even.places)
    assert even.places == sorted(even.places)
    for at in range(len(even.folded)):
        span = even.span(at, at + 1)
        if span is not None and even.folded[at] != " ":
            assert even.folded[at] in FoldedText(text[slice(*span)]).folded or text[span[0]] in "*_`"


@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(text: str) -> None:
    once = FoldedText(text).folded
    assert FoldedText(once).folded == once


# Few characters, so that snippets repeat, overlap themselves, and differ in nothing but white space.
texts = st.text("ab中Ａ\ud800 \n\u3000\x1c", max_size=40)


def test_white_space_is_what_python_takes_for_it() -> None:
    assert [*WHITE_SPACE] == [char for char in map(chr, range(sys.maxunicode + 1)) if char.isspace()]


def searched(snippet: str, text: str, within: Span) -> list[Span]:
    """Search character by character."""
    kept = [place for place in range(within.start, min(within.end, len(text))) if not text[place].isspace()]
    own = [place for place, char in enumerate(snippet) if not char.isspace()]
    found, at = [], 0
    while at + len(own) <= len(kept):
        here = kept[at : at + len(own)]
        if [text[place] for place in here] != [snippet[place] for place in own]:
            at += 1
            continue
        at += len(own)
        if all(
            (there[1] - there[0] > 1) == (ours[1] - ours[0] > 1)
            or any(east_asian_width(snippet[place]) in "WF" for place in ours)
            for there, ours in zip(pairwise(here), pairwise(own), strict=True)
        ):
            found.append(Span(here[0], here[-1] + 1))
    return found


@given(texts.filter(str.strip), texts, st.integers(0, 40), st.integers(0, 40))
def test_a_snippet_stands_where_characters_match(snippet: str, text: str, start: int, end: int) -> None:
    for inside, wanted in ((Span(start, end), snippet[:3]), (Span(0, len(text)), snippet)):
        if wanted.strip():
            assert SqueezedText(text).places(wanted, inside) == searched(wanted, text, inside)


@given(texts, texts.filter(str.strip), texts)
def test_a_snippet_is_found_in_a_text_around_it(before: str, snippet: str, after: str) -> None:
    text = f"{before} {snippet} {after}"
    found = SqueezedText(text).places(snippet, Span(0, len(text)))
    assert found == searched(snippet, text, Span(0, len(text)))


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def random_text(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=length))


@given(st.lists(st.text("ab中\ud800 \n", max_size=120), max_size=5), st.data())
def test_no_text_that_holds_a_text_is_left_out(texts: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.sampled_from([*texts, "nothing"])).split())
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    numbers = ShingleIndex(texts).may_hold(text[start:end])
    holding = {number for number, each in enumerate(texts) if text[start:end] in "".join(each.split())}
    assert holding <= {*numbers}
    assert [*numbers] == sorted({*numbers})


def test_of_many_texts_the_one_that_holds_a_text_is_told() -> None:
    texts = [random_text(number, 500) for number in range(200)]
    index = ShingleIndex(texts)
    for number, text in enumerate(texts):
        assert index.may_hold("\n".join(text[100 : 100 + ROW])) == [number]
    assert index.may_hold(random_text(200, ROW)) == []


def test_the_rarest_shingle_tells_a_text_from_those_that_share_the_others() -> None:
    shared = random_text(200, 500)
    index = ShingleIndex(2 * (shared + random_text(number, 100)) for number in range(20))
    assert index.may_hold(shared) == [*range(20)]
    assert index.may_hold(shared + random_text(7, 100)) == [7]


def test_a_text_shorter_than_a_row_of_shingles_may_be_anywhere() -> None:
    index = ShingleIndex(["some text", "", "another"])
    assert [*index.may_hold(" ".join("x" * (ROW - 1)))] == [0, 1, 2]
    assert [*index.may_hold("x" * ROW)] == []
    assert [*ShingleIndex([]).may_hold("x")] == [*ShingleIndex([]).may_hold("x" * ROW)] == []


def test_a_long_text_is_read_in_blocks_that_tear_no_row_apart() -> None:
    block = 1 << 20
    text = random_text(0, block + 100)
    index = ShingleIndex(["", text])
    for start in range(block - ROW - 1, block + 2):
        assert index.may_hold(text[start : start + ROW]) == [1]


def test_an_index_takes_about_a_byte_for_each_character() -> None:
    index = ShingleIndex([random_text(0, 100_000), "repeated " * 10_000])
    # Two of seventeen shingles, in eight bytes each: 94,118; of the repeated text, one again and again.
    assert 90_000 < index._entries.nbytes < 100_000


places = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: Span(pair[0], sum(pair)))


def characters(span: Span) -> set[int]:
    return set(range(span.start, span.end))


@given(places, places)
def test_two_spans_are_compared_by_their_characters(one: Span, other: Span) -> None:
    ours, theirs = characters(one), characters(other)
    assert one.size == len(ours)
    assert one.meets(other) == other.meets(one) == bool(ours & theirs)
    assert one.holds(other) == (theirs <= ours)
    between = set(range(min(one.end, other.end), max(one.start, other.start)))
    assert one.gap(other) == other.gap(one) == (0 if ours & theirs else len(between) + 1)


@given(st.lists(places, max_size=8), st.booleans())
def test_joined_spans_have_the_same_characters_and_none_twice(spans: list[Span], touching: bool) -> None:
    found = joined(spans, touching=touching)
    assert found == sorted(found)
    assert sum(span.size for span in found) == len(set().union(*map(characters, spans)))
    gaps = [later.start - earlier.end for earlier, later in pairwise(found)]
    assert all(gap >= (1 if touching else 0) for gap in gaps)


@pytest.mark.parametrize("spanned", [Span(4, 7), Claim("cat", 4, 7), CharacterSpan("pets", 4, 7)])
def test_whatever_has_a_start_and_an_end_is_a_span(spanned: Span | Claim | CharacterSpan) -> None:
    assert (spanned.of("the cat sat"), spanned.size, spanned.span) == ("cat", 3, (4, 7))
    assert spanned.meets(Span(6, 9))


def test_spans_of_two_documents_share_no_character() -> None:
    assert not CharacterSpan("one", 4, 7).overlaps(CharacterSpan("two", 4, 7))
