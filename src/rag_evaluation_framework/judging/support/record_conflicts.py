"""Claims against records: what a record denies and the claim asserts, and the other way round.

A yes-or-no fact is mentioned when the words of its key stand together in the claim, whatever their form. The
claim asserts it unless something in the same clause denies it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.structured_evidence import Fact
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.text.vocabulary import DAYS, DENIAL, SAYS_UNTOLD, stem

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CLAUSE_END = re.compile(
    r"[;；。]|\b(?:but|however|although|though|while|whereas|yet|except)\b|\band\s(?:its?|they|their|there|the)\b"
    r"|,\s(?:it|they|there|the|which|with|offering|including)\b",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"\b(?:is|are|was|were|be)(?:\s+(?:currently|also|all|both))?"
    r"(?:\s+not\b|n['’]t\b|\s+(?:unavailable|closed|off)\b)",
    re.IGNORECASE,
)
_LEAVES_OPEN = re.compile(r"\bwhether\b|是否", re.IGNORECASE)
# Words in a key that say only that the thing is there.
_CARRIERS = frozenset(
    map(stem, ("good", "is", "has", "have", "accepts", "offers", "allows", "available", "provides", "serves"))
) | {"by", "for", "the", "of", "and", "with", "caters", "does"}
_GAP = 2  # words that may stand between those of a key
_LOOK_BACK = 400  # characters before a mention in which its clause begins


@dataclass(frozen=True, slots=True)
class PolarFact:
    """A matter that a record decides, or leaves open; ``stems`` stand in every claim that speaks of it."""

    stems: tuple[str, ...]
    joined: str
    """The stem of the key written as one word: ``takeout``."""
    around: frozenset[str]
    holds: bool | None
    """Whether the record says yes; ``None`` where it names the matter and leaves it open."""
    fact: Fact

    @property
    def name(self) -> str:
        return " ".join(self.fact.key)


def polar_facts(facts: Sequence[Fact]) -> tuple[PolarFact, ...]:
    """Return the facts of a record that say yes, no or nothing."""
    polar = [fact for fact in facts if fact.meaning != "text" and fact.key and fact.key[0] not in DAYS]
    first_words = Counter(
        fact.key[0] for fact in {fact.key: fact for fact in facts}.values() if len(fact.key) > 1
    )
    found: list[PolarFact] = []
    for fact in polar:
        words = fact.key[1:] if len(fact.key) > 1 and first_words[fact.key[0]] > 1 else fact.key
        stems = tuple(stem(word) for word in words if stem(word) not in _CARRIERS)
        if stems and sum(map(len, stems)) > 2:
            around = frozenset(content_keys(" ".join(fact.around)))
            holds = None if fact.meaning == "nothing" else fact.meaning == "yes"
            found.append(PolarFact(stems, stem("".join(words)), around, holds, fact))
    return tuple(found)


def polar_conflicts(claim: str, facts: Sequence[PolarFact], *, said: frozenset[str]) -> list[PolarFact]:
    """Return the facts that the claim speaks of with the opposite meaning, or that the record leaves open.

    ``said`` are the keys that stand elsewhere in the evidence: a word that is also used of something else is
    taken for a mention of the fact only where the claim names what the fact belongs to. That nothing is known
    of a matter may always be said.
    """
    if not facts or SAYS_UNTOLD.search(claim) or _LEAVES_OPEN.search(claim):
        return []
    words = [(stem(match[0].lower()), match.start(), match.end()) for match in _WORD.finditer(claim)]
    stems = [word for word, _, _ in words]
    present = set(stems)
    conflicts: list[PolarFact] = []
    for fact in facts:
        if fact.stems[0] not in present and fact.joined not in present:
            continue
        place = _mention(fact, stems)
        if place is None:
            continue
        if not fact.holds and said.issuperset(fact.stems):
            names_owner = not fact.around.isdisjoint(present)
            if fact.holds is None or not names_owner:
                continue
        if _is_asserted(claim, words[place[0]][1], words[place[1]][2]) != fact.holds:
            conflicts.append(fact)
    return conflicts


def _mention(fact: PolarFact, stems: Sequence[str]) -> tuple[int, int] | None:
    """Return the first and last word of a mention: the key's stems in order and near, or written as one."""
    for place, word in enumerate(stems):
        if word == fact.joined:
            return place, place
        if word != fact.stems[0]:
            continue
        last = place
        for wanted in fact.stems[1:]:
            near = stems[last + 1 : last + 2 + _GAP]
            if wanted not in near:
                break
            last += 1 + near.index(wanted)
        else:
            return place, last
    return None


def _is_asserted(claim: str, start: int, end: int) -> bool:
    begin = max(0, start - _LOOK_BACK)
    for boundary in _CLAUSE_END.finditer(claim, begin, start):
        begin = boundary.end()
    following = _CLAUSE_END.search(claim, end, end + _LOOK_BACK)
    last = following.start() if following is not None else end + _LOOK_BACK
    return DENIAL.search(claim, begin, start) is None and _DENIED_AFTER.search(claim, end, last) is None
