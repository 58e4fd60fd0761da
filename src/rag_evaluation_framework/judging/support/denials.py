"""What a sentence denies: the word that a *not* belongs to, in English and Chinese.

A claim and a sentence contradict each other where one denies a word that the other affirms, in the clauses
that speak of the same, and nothing in either sets a condition that the other does not have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from rag_evaluation_framework.judging.support.chinese_denials import (
    chinese_clauses,
    chinese_conditions,
    chinese_cues,
    is_of_chinese_denial,
)
from rag_evaluation_framework.judging.support.clauses import (
    WHAT_WAS_SAID,
    Clause,
    deciding,
    denies,
    matter_of,
)
from rag_evaluation_framework.text.scripts import HAN_CHARACTER
from rag_evaluation_framework.text.tokens import Word, sentence_words
from rag_evaluation_framework.text.vocabulary import NEGATIONS, STOP_WORDS


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
_COMMA = re.compile("[,;，；]")
_FURTHEST = 5  # words between a cue and what it denies
# What has none of these, and denies nothing, is taken for a part of the clause beside it.
_VERBS = _words(
    "am is are was were be been has have had do does did can could may might must shall should will would"
)
# Words by which a sentence says when it holds.
_CONDITIONS = _words(
    "if unless when whenever after before until except only within without beyond other else while during"
)


def denial_conflict(claim: str, sentence: str) -> str:
    """Return how the two disagree on a word: who denies it and who affirms it; nothing where they do not.

    >>> denial_conflict("You can return it.", "You cannot return it.")
    'affirmed, evidence denies'
    """
    is_chinese = HAN_CHARACTER.search(claim) and HAN_CHARACTER.search(sentence)
    clauses, conditions = (chinese_clauses, chinese_conditions) if is_chinese else (_clauses, _conditions)
    said, written = clauses(claim), clauses(sentence)
    if not any(clause.cues for clause in (*said, *written)) or conditions(claim) != conditions(sentence):
        return ""
    theirs = deciding(written, matter_of(said))
    ours = deciding(said, matter_of(theirs))
    if any(clause.cues for clause in ours) == any(clause.cues for clause in theirs):
        return ""
    if denies(ours, theirs):
        return "denied, evidence affirms"
    return "affirmed, evidence denies" if denies(theirs, ours) else ""


def is_of_denial(token: str) -> bool:
    """Tell whether a new token of a claim is there only because the claim denies, or says that one may."""
    return token.lower() in _CUES or is_of_chinese_denial(token)


def denies_oddly(text: str, *, besides: Collection[str]) -> bool:
    """Tell whether a text denies an odd number of times, and so on the whole, besides by these words."""
    words = sentence_words(text)
    cues = [words[place].form for place in _cues(words)] + chinese_cues(text)
    return sum(cue not in besides for cue in cues) % 2 == 1


def _clauses(text: str) -> list[Clause]:
    words = sentence_words(text)
    cues = _cues(words)
    return [_clause(words, places, cues) for places in _parts(words, text, cues)]


def _parts(words: Sequence[Word], text: str, cues: Collection[int]) -> Iterator[range]:
    """Yield the places of the words of each clause. "Cash, cheques and cards are accepted" is one."""
    starts = [
        place
        for place, word in enumerate(words)
        if place
        and (
            word.form == "and"
            or word.form in _CLAUSE_WORDS
            or (word.is_after_break and _COMMA.search(text, words[place - 1].end, word.start))
        )
    ]
    first, has_verb = 0, False
    for start, end in pairwise([0, *starts, len(words)]):
        is_whole = any(words[place].form in _VERBS or place in cues for place in range(start, end))
        if is_whole and (has_verb or (start and words[start].form in _CLAUSE_WORDS)):
            yield range(first, start)
            first = start
        has_verb = has_verb or is_whole
    yield range(first, len(words))


def _clause(words: Sequence[Word], places: range, cues: Sequence[int]) -> Clause:
    content = [place for place in places if _has_content(words[place])]
    own = [cue for cue in cues if cue in places]
    denied: set[str] = set()
    for cue in own:
        place = _denied(words, cue)
        if place is not None:
            denied.add(words[place].key)
        elif not content or content[-1] < cue:
            denied.add(WHAT_WAS_SAID)
    leaves_out = any(not content or content[0] > cue or content[-1] < cue for cue in own)
    return Clause(
        tuple(words[place].key for place in places),
        frozenset(words[place].key for place in content),
        len(own),
        frozenset(denied),
        frozenset(word.key for word in words[: places.start] if leaves_out and _has_content(word)),
    )


def _has_content(word: Word) -> bool:
    return word.form not in STOP_WORDS and word.form not in _CUES


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


def _conditions(text: str) -> list[str]:
    return sorted({word.form for word in sentence_words(text) if word.form in _CONDITIONS})
