"""Whether a text plainly says yes or no to a question that asks for it.

It does by a word that stands by itself, "No, …" or 可以; by a verb alone, "it does"; or by saying again what
was asked, as it is or denied. Whatever is less plain is neither: 没关系 denies nothing, and "it is broken"
says something else than "it does not work".
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from rag_evaluation_framework.judging.golden.clause_denials import AUXILIARY
from rag_evaluation_framework.judging.golden.said_again import MANNER, NEGATING, PRONOUN, said_again
from rag_evaluation_framework.judging.golden.stances import stance_at
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
_REPEATED = re.compile(r"(\w)[不没]\1")

_ALONE = rf"(?!\w|\. ?\d| (?!(?:{PRONOUN}|the)\b)\w)"
_UNTOLD = (
    r"不(?:太|大|是很)?能?(?:确定|肯定|清楚|知道|晓得|记得|一定|见得|好说)"
    r"|没有?(?:提|说|写|记载|证据|资料|信息)|not (?:sure|certain|clear|known|necessarily)\b"
)
_WORDS = {
    "untold": _UNTOLD,
    "dissent": r"(?:不是?的?|不对|错[误了]?|否)(?!\w)",
    "assent": r"(?:没错|是的?|对的?|不错|正确|嗯|当然)(?!\w)",
    "no": rf"(?:no|nope|nah|never|wrong|incorrect|false){_ALONE}"
    r"|(?:(?:certainly|definitely|absolutely|of course) )?"
    rf"not(?: (?:really|yet|at all|quite|any ?more))?{_ALONE}"
    r"|(?:当然|还|并|尚|从来?|暂时)?(?:[不没未]|无法)(?:能|可以|会|行|有|需?要|用|必)?[的了啊哦呀呢]?(?!\w)",
    "yes": rf"(?:yes|yeah|yep|yup|of course|certainly|absolutely|definitely|indeed){_ALONE}"
    rf"|(?:(?:that|it)(?:'s| is) )?(?:sure|right|correct|true){_ALONE}"
    r"|(?:当然)?(?:能|可以|会|行|需?要|有|在|好)[的了啊哦呀呢]?(?!\w)",
}
_BEFORE_WORD = (
    rf"{MANNER}|well|oh|ah|so|i think|i believe|i'm afraid"
    "|哦|噢|恐怕|我想|我觉得|很?抱歉|很?遗憾的?是?|不好意思"
)
_SAID = re.compile(
    rf"\W*(?:(?:{_BEFORE_WORD})[\s,]*)*(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _WORDS.items())
    + ")"
)


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
    """Return what a comparable text plainly replies to such a question; ``None`` where that is not plain.

    >>> reply_to("is the lift working?", "it works.")
    Reply(polarity='yes', words='it works', end=0)
    """
    if said := _SAID.match(text):
        if said.lastgroup == "untold" or stance_at(text, said.end()) == "open":
            return None
        return Reply(_polarity(said.lastgroup, question), said[0].strip(), said.end())
    if not _can_be_said_again(question):
        return None
    statement = _VERB_FIRST.sub("", _REPEATED.sub(r"\1", question), count=1)
    again = said_again(statement, text)
    return Reply("no" if again.is_denied else "yes", again.clause) if again else None


def _can_be_said_again(question: str) -> bool:
    """Tell whether a question has the form of a statement, which "And the stairs?" has not."""
    return bool(_VERB_FIRST.match(question) or _ASKS_AT_ITS_END.search(question))


def _polarity(said: str | None, question: str) -> Polarity:
    """Return what a word says; 是的 to 他没来吗？ says that he did not."""
    is_yes = said in ("yes", "assent")
    if said in ("assent", "dissent") and not NEGATING.isdisjoint(_CHOICE.sub("", question)):
        is_yes = not is_yes
    return "yes" if is_yes else "no"
