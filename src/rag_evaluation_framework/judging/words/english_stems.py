"""A light English stemmer: inflections and the commonest derivations fold together, nothing more.

Two words that people would call the same should meet (``citizens``, ``citizen``; ``operated``,
``operates``, ``operating``), and a stem need not be a word.
"""

from __future__ import annotations

from functools import lru_cache

_IRREGULAR = {
    form: stem
    for stem, forms in {
        "go": "went gone goes going",
        "child": "children",
        "person": "people persons",
        "man": "men",
        "woman": "women",
        "foot": "feet",
        "tooth": "teeth",
        "begin": "began begun beginning",
        "bring": "brought",
        "business": "businesses",
        "buy": "bought",
        "build": "built",
        "catch": "caught",
        "choose": "chose chosen choice choices",
        "come": "came",
        "die": "died dies dying death dead deaths",
        "drive": "drove driven driving",
        "eat": "ate eaten",
        "fall": "fell fallen",
        "find": "found",
        "fly": "flew flown flies flight flights",
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
        "rise": "rose risen rises rising",
        "run": "ran running",
        "say": "said",
        "see": "saw seen",
        "sell": "sold sale sales",
        "send": "sent",
        "serve": "service services served serving",
        "sing": "sang sung",
        "speak": "spoke spoken speech",
        "spend": "spent",
        "stand": "stood",
        "take": "took taken",
        "teach": "taught",
        "tell": "told",
        "think": "thought thoughts",
        "win": "won winning winner winners",
        "use": "used uses using user users useful usage",
        "write": "wrote written writer writers",
    }.items()
    for form in (stem, *forms.split())
}

# An inflection leaves a root of three letters, a derivation one of four, and a root has a vowel.
_INFLECTIONS = ("ingly", "edly", "ing", "ed", "ly")
_DERIVATIONS = (
    "ization", "isation", "fulness", "ousness", "ation", "ility", "ment", "ness", "ship", "ance", "ence",
    "ancy", "ency", "able", "ible", "ical", "ator", "ier", "iest", "ate", "ize", "ise", "ive", "ous", "ful",
    "ity", "ist", "ism", "ion", "est", "ary", "ory", "al", "er", "or", "ic",
)  # fmt: skip
_VOWELS = frozenset("aeiouy")
_KEPT_WORDS = 1 << 15


@lru_cache(maxsize=_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word.

    >>> [stem(word) for word in ("operates", "operating", "operation", "cities", "city", "went")]
    ['oper', 'oper', 'oper', 'cit', 'cit', 'go']
    """
    irregular = _IRREGULAR.get(word)
    if irregular is not None:
        return irregular
    root = _without(_singular(word), _INFLECTIONS, shortest=3)
    for _ in range(2):  # nation-al-ity
        root = _without(root, _DERIVATIONS, shortest=4)
    root = root[:-1] if len(root) > 3 and root[-1] in "eyi" else root
    return root[:-2] if len(root) > 5 and root.endswith("at") else root  # operat-ing, operat-ion


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without(word: str, suffixes: tuple[str, ...], *, shortest: int) -> str:
    if not word.endswith(suffixes):
        return word
    for suffix in suffixes:
        root = word.removesuffix(suffix)
        if len(root) < len(word) and len(root) >= shortest and not _VOWELS.isdisjoint(root):
            doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeioulsz"
            return root[:-1] if doubled else root  # stopp-ed
    return word
