"""Whether a text says yes or no to a question that asks for it.

It says so by a word, "no" or 可以; by a verb alone, "it does"; or by saying again what was asked, as it is or
denied: asked 电梯能用吗？, 能用 is a yes and 用不了 a no. A clause says it again where it has all of the
question, or nothing but what the question has and more than its subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rag_evaluation_framework.judging.golden.clause_denials import AUXILIARY, clauses, is_negated
from rag_evaluation_framework.judging.golden.shared_pieces import places_in, shared, telling
from rag_evaluation_framework.judging.golden.stances import stance_at
from rag_evaluation_framework.judging.words.comparable_text import Piece
from rag_evaluation_framework.judging.words.negation import CHINESE_NOT
from rag_evaluation_framework.judging.words.question_words import CHINESE_QUESTION_WORDS, QUESTION_WORDS

Polarity = Literal["yes", "no"]

_OPENING = r"\W*(?:(?:and|so|but|then|well|ok|also)\b\W*)*"
# "Could you describe it?" asks for more than a yes.
_VERB_FIRST = re.compile(rf"{_OPENING}(?!(?:can|could|will|would) you\b)(?:{AUXILIARY})(?:n't)?\b ?")
_OR_NOT = r"(\w)[不没]\1|[是能可]否"  # 能不能, 有没有, 是否
_ASKS_AT_ITS_END = re.compile(rf"\b(?:right|correct|true)\?|n't \w+\?|[吗么吧]\W*\Z|{_OR_NOT}")
_ASKS_FOR_MORE = re.compile(
    rf"\A{_OPENING}(?:{QUESTION_WORDS})\b"
    rf"|\b(?:know|tell|say|remember|explain|show)(?: me| us)? (?:{QUESTION_WORDS})\b"
    rf"|{CHINESE_QUESTION_WORDS}"
)
_EITHER = re.compile(r"\bor\b|还是|或者")
_CHOICE = re.compile(f"{_OR_NOT}|不是")
_NEGATING = frozenset(("不", "没", "未", "never"))
_MODAL = "可以|能够?|会|要"
_MANNER = r"可能|应该|大概|也许|\b(?:actually|probably|maybe|perhaps|(?:un)?fortunately|sadly)\b"
_BESIDE_VERB = re.compile(f"{_MANNER}|{_MODAL}|[是能可]否")

_PRONOUN = "it|he|she|they|we|i|you|there|this|that"
_UNTOLD = (
    r"不(?:太|大|是很)?能?(?:确定|肯定|清楚|知道|晓得|记得|一定|见得|好说)"
    r"|没有?(?:提|说|写|记载|证据|资料|信息)|not (?:sure|certain|clear|known|necessarily)\b"
)
_WORDS = {
    "untold": _UNTOLD,
    "dissent": r"(?:不是?的?|不对|错[误了]?|否)(?!\w)",
    "assent": r"没错|是的|(?:是|对的?|不错|正确|嗯|当然)(?!\w)",
    "no": r"(?:no|not|wrong|incorrect|false)(?!\w| \w)|(?:nope|nah|never)\b"
    rf"|no(?= (?:{_PRONOUN}|the|not)\b)|not (?:really|yet|at all|quite|any ?more)\b"
    r"|(?:certainly|definitely|absolutely|of course) not\b"
    rf"|(?:当然|还|并|尚|从来?|暂时)?(?!不好意思|没事)(?:{CHINESE_NOT}|无法)(?:能|可以|会|行|有|要)?",
    "yes": r"(?:yes|yeah|yep|yup|of course|certainly|absolutely|definitely|indeed|no problem)\b|没问题"
    r"|(?:(?:that|it)(?:'s| is) )?(?:sure|right|correct|true)(?!\w| \w)"
    r"|当然(?=[能会有是可])|(?:能|可以|会|行|要|有|在|好)[的了啊哦呀]?(?!\w)",
}
_BEFORE_WORD = (
    f"{_MANNER}|well|oh|ah|so|i think|i believe|i'm afraid|哦|噢|我想|我觉得|抱歉|很?遗憾的?是?|不好意思"
)
_SAID = re.compile(
    rf"\W*(?:(?:{_BEFORE_WORD})[\s,]*)*(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _WORDS.items())
    + ")"
)
_VERB_ALONE = re.compile(
    rf"(?:\w+ ){{1,4}}(?:(?:{AUXILIARY}|ca|wo)(?:n't| not)?|cannot)"
    rf"|[你您我他她它们]+[不没]?(?:{_MODAL}|有|是)[的了]?"
)
_CEASED = re.compile(r"\b(?:stop|ceas|fail|refus)(?:p?ed|e?s|e|ing)?\b|停止|拒绝|禁止")


class Reply(NamedTuple):
    """A yes or a no, the words that say it, and where the word for it ends (0 where there is none)."""

    polarity: Polarity
    words: str
    end: int = 0


def asks_yes_or_no(question: str, reference: str) -> bool:
    """Tell whether a comparable question asks for a yes or a no; of a choice, its reference tells.

    >>> [asks_yes_or_no(question, "") for question in ("电梯能用吗?", "谁能用?", "is it a?", "is it a or b?")]
    [True, False, True, False]
    """
    if not question or _ASKS_FOR_MORE.search(question):
        return False
    is_choice = _EITHER.search(question) is not None
    return _SAID.match(reference) is not None or (_can_be_said_again(question) and not is_choice)


def reply_to(question: str, text: str) -> Reply | None:
    """Return what a comparable text replies to such a question; ``None`` where it is neither yes nor no.

    >>> reply_to("is the lift working?", "it works.")
    Reply(polarity='yes', words='it works', end=0)
    """
    if said := _SAID.match(text):
        if said.lastgroup == "untold" or stance_at(text, said.end()) == "open":
            return None
        return Reply(_polarity(said.lastgroup, question), said[0].strip(), said.end())
    if not _can_be_said_again(question):
        return None
    asked = _content(question, question)
    for start, clause in clauses(text):
        content = _content(clause, question)
        known = shared(content, question)
        is_again = _has_all(clause, asked) or (len(known) == len(content) and _has_verb(clause, question))
        if is_again and not any(stance_at(text, start + piece.start) == "open" for piece in known):
            has_ceased = _CEASED.search(clause) is not None and _CEASED.search(question) is None
            return Reply("no" if is_negated(clause) != has_ceased else "yes", clause)
    return None


def beside_reply(told: Sequence[Piece], text: str, *, begin: int = 0) -> list[Piece]:
    """Return those of the pieces of a text, from a place on, that do more than say yes or no."""
    idle = places_in(text, _BESIDE_VERB)
    return [
        piece
        for piece in told
        if piece.start >= begin and piece.text not in _NEGATING and piece.start not in idle
    ]


def _can_be_said_again(question: str) -> bool:
    """Tell whether a question has the form of a statement, which "And the stairs?" has not."""
    return bool(_VERB_FIRST.match(question) or _ASKS_AT_ITS_END.search(question))


def _polarity(said: str | None, question: str) -> Polarity:
    """Return what a word says; 是的 to 他没来吗？ says that he did not."""
    is_yes = said in ("yes", "assent")
    if said in ("assent", "dissent") and not _NEGATING.isdisjoint(_CHOICE.sub("", question)):
        is_yes = not is_yes
    return "yes" if is_yes else "no"


def _has_all(clause: str, asked: Sequence[Piece]) -> bool:
    return bool(asked) and len(shared(asked, clause)) == len(asked)


def _has_verb(clause: str, question: str) -> bool:
    """Tell whether a clause of the question's words is more than the subject with which it begins."""
    if _VERB_ALONE.fullmatch(clause):
        return True
    is_subject = _VERB_FIRST.sub("", question, count=1).startswith(clause)
    return bool(_content(clause, question)) and not is_subject


def _content(text: str, question: str) -> list[Piece]:
    return beside_reply(telling(text, question), text)
