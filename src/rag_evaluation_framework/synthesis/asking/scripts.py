"""In which script a text is written: enough to see that a question is in another language than its source.

Languages that share a script, such as English and French, are not told apart.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

# Below this a text holds names and little else.
_LEAST_LETTERS = 4
# A script that has this share of a source is one in which it may be asked about.
_SHARE = 0.1
_SAMPLED_CHARACTERS = 4000

_TOGETHER = {"CJK": "HAN", "HIRAGANA": "HAN", "KATAKANA": "HAN", "FULLWIDTH": "LATIN"}


def writes_another_script(question: str, sources: Iterable[str]) -> bool:
    """Tell whether most of a question is in a script that hardly occurs in its sources.

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
