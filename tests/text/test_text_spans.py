"""Spans: what two places have in common, told against the sets of their characters."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import CharacterSpan
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.spans import Span, joined

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
def test_whatever_has_a_start_and_an_end_is_asked_in_the_same_way(
    spanned: Span | Claim | CharacterSpan,
) -> None:
    assert (spanned.of("the cat sat"), spanned.size, spanned.span) == ("cat", 3, (4, 7))
    assert spanned.meets(Span(6, 9))


def test_spans_of_two_documents_share_no_character() -> None:
    assert not CharacterSpan("one", 4, 7).overlaps(CharacterSpan("two", 4, 7))
