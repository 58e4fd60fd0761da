"""Whether a text plainly says yes or no to a question that asks for it.

It does by a word that stands by itself, "No, …" or 可以; by a verb alone, "it does"; or by saying again what
was asked, as it is or denied. Whatever is less plain is neither: 没关系 denies nothing, and "it is broken"
says something else than "it does not work".
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from rag_evaluation_framework.judging.golden.phrases import phrase, says, words_of
from rag_evaluation_framework.judging.golden.said_again import NEGATING, said_again
from rag_evaluation_framework.judging.golden.stances import stance_at

Polarity = Literal["yes", "no"]


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
    if not question or says("asks_for_more", question):
        return False
    if phrase("said").match(reference):
        return True
    return _can_be_said_again(question) and not says("or", question)


def reply_to(question: str, text: str) -> Reply | None:
    """Return what a comparable text plainly replies to such a question; ``None`` where that is not plain.

    >>> reply_to("is the lift working?", "it works.")
    Reply(polarity='yes', words='it works', end=0)
    """
    if said := phrase("said").match(text):
        if said.lastgroup == "untold" or stance_at(text, said.end()) == "open":
            return None
        return Reply(_polarity(said.lastgroup, question), said[0].strip(), said.end())
    if not _can_be_said_again(question):
        return None
    again = said_again(phrase("verb_first").sub("", question, count=1), _with_leave(question, text))
    return Reply("no" if again.is_denied else "yes", again.clause) if again else None


def _with_leave(question: str, text: str) -> str:
    """Return what a text says to "Can I …?": that pets are not allowed says that they are not."""
    if not phrase("asks_leave").match(question):
        return text
    return phrase("leave").sub(lambda word: "not" if word[0] in words_of("no_leave") else "", text)


def _can_be_said_again(question: str) -> bool:
    """Tell whether a question has the form of a statement, which "And the stairs?" has not."""
    return phrase("verb_first").match(question) is not None or says("asks_at_its_end", question)


def _polarity(said: str | None, question: str) -> Polarity:
    """Return what a word says; 是的 to 他没来吗？ says that he did not."""
    is_yes = said in ("yes", "assent")
    if said in ("assent", "dissent") and not NEGATING.isdisjoint(phrase("choice").sub("", question)):
        is_yes = not is_yes
    return "yes" if is_yes else "no"
