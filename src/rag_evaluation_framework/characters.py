"""Characters by what they are: each name stands between the brackets of a regular expression.

>>> re.findall(f"[{HAN}]+", "東京タワー, 333 m 高")
['東京', '高']
"""

from __future__ import annotations

import re

HAN = r"\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters with their extensions and compatibility forms, and 々, which repeats one."""

KANA = r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
"""The letters of Japanese, and the marks that belong to one."""

UNSPACED = rf"{HAN}{KANA}\u3007\u3021-\u3029"
"""What Chinese and Japanese are written with, without spaces: also 〇 and the old numerals 〡 to 〩."""

OTHER_UNSPACED = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Tibetan, Burmese and Khmer, which have no spaces between words either."""

EMOJI = r"\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff"
"""Pictures, and what joins several into one."""

ONE_TO_TEN = "一二三四五六七八九十"
"""By which Chinese lists are numbered."""

CLOSERS = r"\"'”’»)\]）】」』》*_"
"""What may close after the end of a sentence: quotation marks, brackets, emphasis."""

HAN_CHARACTER = re.compile(f"[{HAN}]")
"""One Chinese character."""
