"""The numbers and names of an expected answer: what a passage must state for it to be seen there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.mentions import phrase, says, telling, word_keys
from rag_evaluation_framework.text.normalisation import cache_texts, comparable
from rag_evaluation_framework.text.numbers import Number, number_set, quantities, readings
from rag_evaluation_framework.text.sentences import kept_sentence_spans
from rag_evaluation_framework.text.tokens import content_keys, content_tokens, pieces

_TITLE = re.compile(r"[《「『]([^》」』]{1,40})[》」』]")
_KEPT = 256
# "The tower built" of a question: the second word may be its verb, which is said of other things too.
_AFTER_NOUN = re.compile(
    r"\b(?:the|an?|this|that|its|his|her|their|my|your|our|each)\s+\w+\s+(\w+)", re.IGNORECASE
)
# What has a subject of its own, which is not in the sentences before; Chinese often leaves it out.
_OWN_SUBJECT = re.compile(
    r"\W*(?:(?i:the|an?|each|every)\s"
    r"|(?!(?:It|They|He|She|Th[ie]se?|Those|There|Here|You|We|I)\b)[A-Z][\w-]*\s+(?:[A-Z]|(?:is|was|are|were|has|had)\b))"
)
_POINTS_BACK = re.compile(r"\b(?:it|they|he|she|its|his|her|their|this|these)\b|[它他她其]", re.IGNORECASE)
_NAMES_A_SUBJECT = re.compile(r"\b(?:the|an?)\s|(?<=[a-z,]\s)[A-Z]\w")
_FURTHEST_BACK = 12
# A claim of more words of its own than are brief tells of whom it is said.
_BRIEF = 3


class Detail(msgspec.Struct, frozen=True):
    """A number by its values, or a name by its key: that of a capitalized word, or a Chinese title."""

    text: str
    numbers: frozenset[Number] = frozenset()
    key: str = ""

    def is_in(self, text: str) -> bool:
        """Return True if a text has the number or name, in any spelling."""
        if self.numbers:
            return not self.numbers.isdisjoint(_numbers(text))
        return self.key in _keys(text) or (not self.key.isascii() and self.key in comparable(text))


# The claims of one answer are held against the same few passages.
_numbers = cache_texts(_KEPT)(number_set)


@cache_texts(_KEPT)
def _keys(text: str) -> frozenset[str]:
    return frozenset(content_keys(text))


def find_details(claim: str) -> list[Detail]:
    """Return the numbers and names of a claim; the first word of a sentence is no name by its capital.

    >>> [detail.text for detail in find_details("The fare to Sund is 24.00.")]
    ['24.00', 'Sund']
    """
    numbers = [each for each in quantities(claim) if not each.is_vague]
    taken = {at for each in numbers for at in range(each.start, each.end)}
    words = [token for token in content_tokens(claim) if token.start not in taken]
    is_name_alone = all(claim[token.start].isupper() for token in words)
    return [
        *(Detail(claim[each.start : each.end], frozenset(readings(each))) for each in numbers),
        *(
            Detail(claim[token.start : token.end], key=token.text)
            for token in words
            if claim[token.start].isupper() and (token.start or is_name_alone)
        ),
        *(Detail(found[1], key=comparable(found[1])) for found in _TITLE.finditer(claim)),
    ]


def lacking_details(claim: str, *texts: str) -> list[Detail]:
    """Return the numbers and names of a claim that none of the texts has."""
    return [each for each in find_details(claim) if not any(each.is_in(text) for text in texts)]


def is_stated(claim: str, text: str, question: str, answer: str) -> bool:
    """Return True if sentences of a text state what an answer lacks of a claim, and of what was asked.

    >>> claim, question = "1450", "When was the tower built?"
    >>> is_stated(claim, "The tower is old. It was built in 1450.", question, "In 1500.")
    True
    >>> is_stated(claim, "The tower was not built in 1450.", question, "In 1500.")
    False
    >>> is_stated(claim, "The tower is old. The bridge was built in 1450.", question, "In 1500.")
    False
    """
    own = _keys(claim) - _keys(question)
    details = lacking_details(claim, question, answer) or [Detail(key, key=key) for key in own]
    about = _asked_about(question, claim) if len(own) <= _BRIEF else frozenset()
    sentences = [text[start:end] for start, end in kept_sentence_spans(text)]
    may_deny = says("negation", comparable(claim)) or says("denies", comparable(question))
    for detail in details:
        places = [place for place, sentence in enumerate(sentences) if detail.is_in(sentence)]
        if places and not any(
            (may_deny or not _denies(sentences[place], detail, question))
            and (not about or not about.isdisjoint(_words(_with_subject(sentences, place))))
            for place in places
        ):
            return False
    return True


def _asked_about(question: str, claim: str) -> frozenset[str]:
    """Return the words of a question of which one stands where it is answered; none if it points back."""
    if _POINTS_BACK.search(question) and not _NAMES_A_SUBJECT.search(question):
        return frozenset()
    asked, said = word_keys(telling(comparable(question), comparable(question))), _words(claim)
    about = asked - _words(" ".join(_AFTER_NOUN.findall(question))) or asked
    return about if _POINTS_BACK.search(claim) else about & said or about


def _words(text: str) -> frozenset[str]:
    return word_keys(pieces(comparable(text)))


def _with_subject(sentences: Sequence[str], place: int) -> str:
    first = place
    while first and place - first < _FURTHEST_BACK and not _OWN_SUBJECT.match(sentences[first]):
        first -= 1
    return " ".join(sentences[first : place + 1])


def _denies(sentence: str, detail: Detail, question: str) -> bool:
    """Return True if every clause of a sentence that has a detail denies it, or of it what was asked."""
    clauses = [each for each in phrase("clause_mark").split(comparable(sentence)) if detail.is_in(each)]
    for clause in clauses:
        _, *denied = phrase("plain_denial").split(clause, maxsplit=1)
        if not denied or says("measured", clause):
            return False
        if not detail.is_in(denied[0]) and _keys(denied[0]).isdisjoint(_keys(question)):
            return False
    return bool(clauses)


def word_share(claim: str, text: str, question: str) -> float:
    """Return the share of the words of a claim, less those of the question, that a text has."""
    words = set(content_keys(claim)) - _keys(question)
    return len(words & _keys(text)) / len(words) if words else 1.0


def format_details(details: Iterable[Detail]) -> str:
    """Name details: ``number 24.00``, ``names Anna, Sund``."""
    parts = []
    for noun, is_number in (("number", True), ("name", False)):
        if texts := list(dict.fromkeys(each.text for each in details if bool(each.numbers) == is_number)):
            parts.append(f"{counted(len(texts), noun).split(' ', 1)[1]} {', '.join(texts[:3])}")
    return " and ".join(parts)
