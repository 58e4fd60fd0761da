"""Texts on which chunkers go wrong, for the tests of all of them."""

from __future__ import annotations

from hypothesis import strategies as st

REPEATED = "The same paragraph, twice and more. It says nothing new.\n\n"

TEXTS = {
    "english": "Retrieval finds passages. Dr. Wu paid $3.50 for one! Was it worth it? Nobody knows.\n\n"
    "A second paragraph follows; it is longer than the first one, and has a list:\n- one\n- two\n" * 3,
    "chinese": "检索增强生成把检索和生成结合起来。它能减少幻觉吗？能！\n\n"
    "第二段讲的是分块：每一块都有自己的位置。" * 4,
    "emoji": "👩‍👩‍👧 family 😀😀😀 flags 🇩🇪🇨🇳 and e\u0301 accents 👍🏽. " * 8,
    "crlf": "First line.\r\nSecond line.\r\n\r\nNew paragraph here.\r\n" * 6,
    "repeated": REPEATED * 12,
    "markdown": "---\ntitle: x\n---\n# Guide\n\nIntro.\n\n## Setup\n\n```\n# not a heading\n```\n\n"
    "| a | b |\n| - | - |\n| 1 | 2 |\n\n## Use\n\nSome text about use.\n\nTitle\n=====\n\nThe end.\n" * 2,
    "no separators": "x" * 700,
    "spaces inside": "word" + " " * 300 + "word" + "\n" * 50 + "end",
    "one word": "word",
}
BLANK = {"empty": "", "spaces": "   \n\t\r\n  ", "wide space": "\u3000\u2028"}

# Paragraphs of few words, so that texts repeat themselves.
paragraphs = st.lists(
    st.sampled_from(["a b c.", "分块。", "😀!", "xyz", "a b c.", "Long word-like-this here?", "\t", ""]),
    max_size=8,
)
repetitive_texts = st.lists(
    st.tuples(paragraphs.map(" ".join), st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n\n\n", " "])),
    max_size=8,
).map(lambda parts: "".join(paragraph + gap for paragraph, gap in parts))
