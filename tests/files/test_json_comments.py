"""``//`` comments in JSON: only they go, and nothing moves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.json_scanner import comment_issues, without_comments

COMMENTED = """[ // 第一
  {"url": "http://x//y", "quoted": "\\"// no\\\\"}, // it's "quoted" here
  //
  {"last": 1}
]//end"""


def test_comments_become_as_many_spaces_and_strings_stay() -> None:
    plain = without_comments(COMMENTED)
    assert json.loads(plain) == [{"url": "http://x//y", "quoted": '"// no\\'}, {"last": 1}]
    assert len(plain) == len(COMMENTED)
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in COMMENTED.split("\n")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_comment_ends_with_its_line_and_only_there(end: str) -> None:
    text = f"[1 // a \u2028 b \u0085 c{end}, 2]"
    assert json.loads(without_comments(text)) == [1, 2]


def test_one_warning_tells_the_first_line_and_the_number() -> None:
    (issue,) = comment_issues("[\n1, // a\n2 // b\n]")
    assert (issue.code, issue.severity, issue.line) == ("json-comment", "warning", 2)
    assert issue.found == "2 // comments"


def test_an_error_behind_comments_keeps_its_line() -> None:
    with pytest.raises(InputError) as caught:
        strict_json.decode(without_comments('[ // a\n  // b\n  {"x": nope}]'))
    assert caught.value.issues[0].line == 3


@given(
    st.recursive(
        st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
)
def test_any_value_reads_the_same_with_a_comment_on_every_line(value: object, comment: str) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=1)
    commented = "\n".join(f"{line} //{comment}" for line in written.split("\n"))
    assert json.loads(without_comments(commented)) == value


@pytest.mark.parametrize(
    "text", ['["//' + '\\"' * 200_000 + "\\", '"' * 400_000 + "[//", '//\n"' + "\\" * 400_001]
)
def test_a_hostile_text_ends_in_one_pass(text: str) -> None:
    assert len(without_comments(text)) == len(text)  # quadratic, this would take an hour
