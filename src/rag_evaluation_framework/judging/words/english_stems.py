"""The stem of an English word: Snowball's, with the irregular forms that no rule leads to it.

Two words that people would call the same should meet (``citizens``, ``citizen``; ``took``, ``takes``), and a
stem need not be a word.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

from Stemmer import Stemmer

_IRREGULAR_FORMS = {
    "go": "went gone goes",
    "child": "children",
    "person": "people",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "begin": "began begun",
    "bring": "brought",
    "buy": "bought",
    "build": "built",
    "catch": "caught",
    "choose": "chose chosen choice choices",
    "come": "came",
    "die": "death dead deaths",
    "drive": "drove driven",
    "eat": "ate eaten",
    "fall": "fell fallen",
    "find": "found",
    "fly": "flew flown flight flights",
    "get": "got gotten",
    "give": "gave given",
    "grow": "grew grown growth",
    "hold": "held",
    "keep": "kept",
    "know": "knew known knowledge",
    "lead": "led",
    "leave": "left",
    "lose": "lost loss losses",
    "make": "made",
    "meet": "met",
    "pay": "paid",
    "rise": "rose risen",
    "run": "ran",
    "say": "said",
    "see": "saw seen",
    "sell": "sold sale sales",
    "send": "sent",
    "serve": "service services",
    "sing": "sang sung",
    "speak": "spoke spoken speech",
    "spend": "spent",
    "stand": "stood",
    "take": "took taken",
    "teach": "taught",
    "tell": "told",
    "think": "thought thoughts",
    "win": "won winner winners",
    "use": "user users usage",
    "write": "wrote written writer writers",
}
_KEPT_WORDS = 1 << 15
_SNOWBALL = Stemmer("english", 0)
_ONE_AT_A_TIME = Lock()


@lru_cache(maxsize=_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word.

    >>> [stem(word) for word in ("takes", "took", "taking", "cities", "city", "organized", "organization")]
    ['take', 'take', 'take', 'citi', 'citi', 'organiz', 'organiz']
    """
    return _IRREGULAR.get(word) or _regular_stem(word)


def _regular_stem(word: str) -> str:
    with _ONE_AT_A_TIME:
        return str(_SNOWBALL.stemWord(word))


_IRREGULAR = {
    form: _regular_stem(word) for word, forms in _IRREGULAR_FORMS.items() for form in forms.split()
} | {"business": "business", "businesses": "business"}  # which is not to be busy
