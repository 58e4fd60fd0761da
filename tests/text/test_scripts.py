"""Each set of characters is defined once, and holds what its name says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rag_evaluation_framework
from rag_evaluation_framework.text.scripts import EMOJI, HAN, HAN_CHARACTER, KANA, OTHER_UNSPACED, UNSPACED

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
