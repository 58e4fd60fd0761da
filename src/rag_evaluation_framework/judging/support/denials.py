"""What a sentence denies: the word that a *not* belongs to, in English and Chinese.

A claim and a sentence contradict each other where one denies a word that the other affirms, and nothing in
either sets a condition that the other does not have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.words.folded_text import folded_with_places
from rag_evaluation_framework.judging.words.negation import CHINESE_NEGATIONS, NEGATIONS
from rag_evaluation_framework.judging.words.sentence_words import Word, sentence_words
from rag_evaluation_framework.judging.words.stop_words import STOP_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CUES = frozenset((*NEGATIONS, "none", "nobody", "unable", "hardly"))
# "not only", "no more than", "not until": these deny nothing, or not the whole.
_NO_DENIAL_BEFORE = _words(
    "only just merely simply necessarily least limited until more less fewer later sooner matter doubt all "
    "every"
)
_ADVERBS = _words("ever really currently")
_CLAUSE_WORDS = _words("but because although though so since while whereas")
_FURTHEST = 5  # words between a cue and what it denies
# Words by which a sentence says when it holds.
_CONDITIONS = _words(
    "if unless when whenever after before until except only within without beyond other else while during"
)
_CHINESE_CUE = re.compile(
    r"(?:没有|并非|不是|不能|不可以|不可|无法|不会|不得|不许|不准|不再|不要|从未|从不|尚未|未能|未曾|未|没|不|非)"
)
_CHINESE_WORDS = re.compile(
    r"不同|不仅|不但|不过|不断|不久|不少|不错|不管|不论|不锈|不得不|无论|未来|非常|非洲|非遗|是非|除非|并不仅|不只|不止|不足|不满"
)
_CHINESE_MODAL = frozenset("能可以会得要应该许准被有再曾去把将")
_CHINESE_DENIAL = _CHINESE_MODAL.union(CHINESE_NEGATIONS)
_CHINESE_CONDITION = re.compile(
    r"如果|除非|除了|只有|只要|之前|之后|以前|以后|以内|的时候|[若仅]|时(?=[,，])"
)


def denial_conflict(claim: str, sentence: str) -> str:
    """Return how the two disagree on a word: who denies it and who affirms it; nothing where they do not.

    >>> denial_conflict("You can return it.", "You cannot return it.")
    'affirmed, evidence denies'
    """
    if HAN_CHARACTER.search(claim) and HAN_CHARACTER.search(sentence):
        denies, is_denied = _chinese_disagreement(claim, sentence)
    else:
        denies, is_denied = _disagreement(sentence_words(claim), sentence_words(sentence))
    if denies == is_denied:
        return ""
    return "denied, evidence affirms" if denies else "affirmed, evidence denies"


def is_of_denial(token: str) -> bool:
    """Tell whether a new token of a claim is there only because the claim denies, or says that one may."""
    return token.lower() in _CUES or not _CHINESE_DENIAL.isdisjoint(token)


def denies_oddly(text: str, *, besides: Collection[str]) -> bool:
    """Tell whether a text denies an odd number of times, and so on the whole, besides by these words."""
    words = sentence_words(text)
    cues = [words[place].form for place in _cues(words)]
    cues += [match[0] for match in _chinese_cues(folded_with_places(text)[0])]
    return sum(cue not in besides for cue in cues) % 2 == 1


def _disagreement(said: Sequence[Word], written: Sequence[Word]) -> tuple[bool, bool]:
    """Tell whether the claim denies a word that the sentence affirms, and the other way round."""
    ours, theirs = _cues(said), _cues(written)
    if bool(ours) == bool(theirs) or _conditions(said) != _conditions(written):
        return False, False
    return _denies(said, ours, written), _denies(written, theirs, said)


def _denies(words: Sequence[Word], cues: Sequence[int], others: Sequence[Word]) -> bool:
    affirmed = {word.key for word in others}
    for cue in cues:
        denied = _denied(words, cue)
        elsewhere = {word.key for place, word in enumerate(words) if place != denied}
        if denied is not None and words[denied].key in affirmed and words[denied].key not in elsewhere:
            return True
    return False


def _cues(words: Sequence[Word]) -> list[int]:
    return [
        place
        for place, word in enumerate(words)
        if (word.form in _CUES or word.form.endswith("n't"))
        and not (place + 1 < len(words) and words[place + 1].form in _NO_DENIAL_BEFORE)
        and not (place > 0 and words[place - 1].form == "or")
        and not _is_answer(words, place)
    ]


def _is_answer(words: Sequence[Word], place: int) -> bool:
    """Tell whether it is the *no* of "No, you can"."""
    if place > 0 or words[0].form != "no" or len(words) == 1:
        return False
    return words[1].is_after_break or words[1].form in _CLAUSE_WORDS


def _denied(words: Sequence[Word], cue: int) -> int | None:
    """Return the place of the word that a cue denies: the first with content in the same clause."""
    for place in range(cue + 1, min(cue + 1 + _FURTHEST, len(words))):
        word = words[place]
        if word.is_after_break or word.form in _CLAUSE_WORDS:
            return None
        if word.form not in STOP_WORDS and word.form not in _ADVERBS:
            return place
    return None


def _conditions(words: Sequence[Word]) -> set[str]:
    return {word.form for word in words if word.form in _CONDITIONS}


def _chinese_disagreement(claim: str, sentence: str) -> tuple[bool, bool]:
    said, written = folded_with_places(claim)[0], folded_with_places(sentence)[0]
    ours, theirs = _chinese_cues(said), _chinese_cues(written)
    if bool(ours) == bool(theirs):
        return False, False
    if _CHINESE_CONDITION.findall(said) != _CHINESE_CONDITION.findall(written):
        return False, False
    return _chinese_denies(said, ours, written), _chinese_denies(written, theirs, said)


def _chinese_cues(text: str) -> list[re.Match[str]]:
    words = [match.span() for match in _CHINESE_WORDS.finditer(text)]
    return [
        match
        for match in _CHINESE_CUE.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in words)
    ]


def _chinese_denies(text: str, cues: Sequence[re.Match[str]], other: str) -> bool:
    for cue in cues:
        begin = cue.end()
        while text[begin : begin + 1] in _CHINESE_MODAL:
            begin += 1
        denied = "".join(character for character in text[begin : begin + 2] if HAN_CHARACTER.match(character))
        if denied and denied in other:
            return True
    return False
