"""Where a snippet stands in a text, whatever its white space."""

from __future__ import annotations

import sys
from itertools import pairwise
from unicodedata import east_asian_width

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.text.search import WHITE_SPACE, SqueezedText
from rag_evaluation_framework.text.spans import Span

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
def test_a_snippet_stands_where_a_search_by_characters_finds_it(
    snippet: str, text: str, start: int, end: int
) -> None:
    for inside, wanted in ((Span(start, end), snippet[:3]), (Span(0, len(text)), snippet)):
        if wanted.strip():
            assert SqueezedText(text).places(wanted, inside) == searched(wanted, text, inside)


@given(texts, texts.filter(str.strip), texts)
def test_a_snippet_is_found_in_a_text_around_it(before: str, snippet: str, after: str) -> None:
    text = f"{before} {snippet} {after}"
    found = SqueezedText(text).places(snippet, Span(0, len(text)))
    assert found == searched(snippet, text, Span(0, len(text)))
