"""Characters by class, and which script a text is in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from rag_evaluation_framework.startup import late_pattern

# Characters by what they are: each name stands between the brackets of a regular expression.
#
# >>> re.findall(f"[{HAN}]+", "東京タワー, 333 m 高")
# ['東京', '高']

HAN = r"\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters with their extensions and compatibility forms, and 々, which repeats one."""

KANA = r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
"""The letters of Japanese, and the marks that belong to one."""

UNSPACED = rf"{HAN}{KANA}\u3007\u3021-\u3029"
"""Characters of Chinese and Japanese, which have no spaces: also 〇 and the old numerals 〡 to 〩."""

OTHER_UNSPACED = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Tibetan, Burmese and Khmer, which have no spaces between words either."""

EMOJI = r"\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff"
"""Pictures, and what joins several into one."""

ONE_TO_TEN = "一二三四五六七八九十"
"""Characters that number Chinese lists."""

CLOSERS = r"\"'”’»)\]）】」』》*_"
"""Characters that may close after the end of a sentence: quotation marks, brackets, emphasis."""

HAN_CHARACTER = late_pattern(f"[{HAN}]")
"""One Chinese character."""

CHARACTERS_OF_A_WORD = 1.6
"""Mean characters per Chinese word, from a treebank (UD Chinese GSD), to count words without a segmenter."""

_UNSPACED_CHARACTER = late_pattern(f"[{UNSPACED}]")


def count_words(text: str) -> int:
    """Return the number of words, parted by spaces; of Chinese, as many as its characters usually are.

    >>> count_words("Open - from 7:30."), count_words("办公室七点半开门。")
    (3, 5)
    """
    unspaced = 0 if text.isascii() else len(_UNSPACED_CHARACTER.findall(text))
    words = (_UNSPACED_CHARACTER.sub(" ", text) if unspaced else text).split()
    return sum(any(map(str.isalnum, word)) for word in words) + round(unspaced / CHARACTERS_OF_A_WORD)


# In which script a text is written: enough to see that a question is in another language than its source.
#
# Languages that share a script, such as English and French, are not told apart.

# Below this a text holds names and little else.
_LEAST_LETTERS = 4
# A script that has this share of a source is one in which it may be asked about.
_SHARE = 0.1
_SAMPLED_CHARACTERS = 4000

_TOGETHER = {"CJK": "HAN", "HIRAGANA": "HAN", "KATAKANA": "HAN", "FULLWIDTH": "LATIN"}


def writes_another_script(question: str, sources: Iterable[str]) -> bool:
    """Return True if most of a question is in a script that hardly occurs in its sources.

    >>> writes_another_script("什么时候开船？", ["The ferry leaves at noon."])
    True
    """
    asked = _letters(question)
    if asked.total() < _LEAST_LETTERS:
        return False
    script, number = asked.most_common(1)[0]
    if number * 2 <= asked.total():
        return False
    read: Counter[str] = Counter()
    for source in sources:
        read += _letters(source[:_SAMPLED_CHARACTERS])
    return read.total() >= _LEAST_LETTERS and read[script] < _SHARE * read.total()


def _letters(text: str) -> Counter[str]:
    return Counter(script for character in text if (script := _script(character)))


@lru_cache(maxsize=1 << 14)
def _script(character: str) -> str:
    """Return the script of a letter, which is the first word of its name; nothing for other characters."""
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    return _TOGETHER.get(first, first)


UNSPACED_CHARACTER = late_pattern(f"([{UNSPACED}])")


def has_unspaced_script(text: str) -> bool:
    """Return True if a text has Chinese characters or kana."""
    return UNSPACED_CHARACTER.search(text) is not None
