"""What kind of answer a text is: an answer, a refusal, "don't know", or a question back.

The patterns are data (``data/answer_patterns.yaml``). They are looked for where answers say such things, at
the beginning or the very end, since a text that complies may well refuse something later on. Only the first
800 characters are read, so the time taken does not grow with the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_evaluation_framework.characters import HAN
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.judging.classes.answer_patterns import (
    AnswerKind,
    AnswerPattern,
    Where,
    answer_patterns,
)
from rag_evaluation_framework.judging.classes.answers_besides import (
    answers_before,
    concludes,
    denies_what_was_asked,
    goes_on_to_answer,
    is_reported,
    takes_up_the_question,
)
from rag_evaluation_framework.judging.words.folded_text import folded_with_places

_READ = 800
# Patterns begin in the opening, or later as a conclusion; how much of it is read, for they go on.
_OPENING, _LAST_CONCLUSION, _READ_ON = 200, 400, 240
_BRIEF = 400
_ENDING = 350

# What may stand before an answer's first word: marks of Markdown, "Answer:".
_LEAD = re.compile(r"[\s*_#>~-]*+(?:(?:(?:(?:final|short) )?answer|response|回答|答案|答)\s*:[\s*_]*+)?")
_QUOTED = re.compile(r"(?:\"[^\"]*\"|'(?:[^'\"]|(?<=\w)')*')[\s.]*\Z")
# An apostrophe stands at a letter and opens no quotation: "don't", "guests'", "'90s", "'tis".
_LETTER = rf"[^\W{HAN}]"
_QUOTATION = re.compile(
    rf"""\"[^\"]*+\"?+
    |(?<!{_LETTER})'(?![\s\d]|(?:tis|twas|til|cause|em|n)\b)
      (?:[^'\"\n]|(?<={_LETTER})'(?={_LETTER}))+'(?!{_LETTER})""",
    re.VERBOSE,
)
_TITLE = re.compile(r"《[^《》]*》")
_BARE = " \t\r\n\"'*_.!。~"


@dataclass(frozen=True, slots=True)
class AnswerClass:
    """What kind of answer a text is, by which pattern, and the characters ``[start, end)`` that show it.

    Where no pattern holds, it is an answer: ``pattern`` is ``None`` and there are no characters to show.
    """

    kind: AnswerKind
    pattern: str | None = None
    start: int = 0
    end: int = 0


def classify_answer(text: str, question: str = "") -> AnswerClass:
    """Return the class of an answer.

    Words that stand in the question too, in quotation marks or in a title prove nothing and are passed over.
    A text without a word is no answer of any kind: an :class:`InputError`.

    >>> classify_answer("I’m sorry, the documents don’t mention a price.")
    AnswerClass(kind='dont_know', pattern='not in the documents', start=11, end=38)
    """
    if not text.strip():
        raise invalid("answer", "a text", text)
    known = answer_patterns()
    answer = _FoldedAnswer(text)
    asked = folded_with_places(question[:_READ])[0]
    ruled_out: set[AnswerKind] = set()
    for pattern in known.patterns:
        if pattern.kind in ruled_out:
            continue
        found = answer.matches(pattern)
        if not found or not _may_answer(pattern, asked):
            continue
        for match in found:
            if match[0].strip() in asked or answer.quotes(match):
                continue
            if pattern.denies and denies_what_was_asked(answer.text, match.span(), asked=asked):
                continue
            if not pattern.denies and is_reported(answer.text, match.start()):
                continue
            late_or_weak = pattern.on_the_question or answer.is_late(match, pattern)
            if late_or_weak and not takes_up_the_question(answer.text, match.span(), asked=asked):
                continue
            if pattern.unless_goes_on and goes_on_to_answer(answer.text, match.span(), asked=asked):
                ruled_out |= {"refused", "dont_know"}
                continue
            if answers_before(answer.text, match.span(), pattern=pattern, asked=asked):
                if pattern.unless_goes_on:  # it answers, so it does not refuse; it may still not know
                    ruled_out.add("refused")
                continue
            return AnswerClass(pattern.kind, pattern.name, *answer.original(match))
    return AnswerClass("answered")


def _may_answer(pattern: AnswerPattern, asked: str) -> bool:
    """Tell whether the pattern counts as a reply to what was asked."""
    if pattern.unless_asked is not None and pattern.unless_asked.compiled.search(asked):
        return False
    return pattern.when_asked is None or pattern.when_asked.compiled.search(asked) is not None


class _FoldedAnswer:
    """The beginning of an answer, folded for comparison, which remembers where its characters stood."""

    def __init__(self, text: str) -> None:
        folded, places = folded_with_places(text[:_READ])
        lead = _LEAD.match(folded)
        begin = lead.end() if lead is not None else 0
        begin += _QUOTED.match(folded, begin) is not None
        self.text = folded[begin:]
        self.places = places[begin:]
        self._quotations = [each.span() for each in _QUOTATION.finditer(self.text)]
        self._titles = [each.span() for each in _TITLE.finditer(self.text)]
        is_read_whole = len(text.rstrip()) <= _READ
        self.is_brief = is_read_whole and len(self.text) <= _BRIEF
        concluding = answer_patterns().besides["conclusion"].search(self.text, _OPENING, _LAST_CONCLUSION)
        opening = (_OPENING if concluding is None else _LAST_CONCLUSION) + _READ_ON
        self._parts: dict[Where, tuple[int, int]] = {"opening": (0, opening)}
        self._tried_in_opening = self._tried = answer_patterns().worth_trying(self.text[:opening])
        if is_read_whole:
            self._parts |= self._other_parts()
            if len(self.text) > opening:
                self._tried = answer_patterns().worth_trying(self.text)

    def _other_parts(self) -> dict[Where, tuple[int, int]]:
        """Return where the parts begin and end that only count in an answer that was read to its end."""
        length = len(self.text)
        parts: dict[Where, tuple[int, int]] = {"whole": (0, len(self.text.rstrip(_BARE)))}
        if self.is_brief:
            parts["brief"] = (0, length)
        if "?" in self.text:
            parts["ending"] = (max(length - _ENDING, 0), length)
        return parts

    def matches(self, pattern: AnswerPattern) -> list[re.Match[str]]:
        """Find the pattern in the part of the answer where it counts, in the order of the text."""
        part = self._parts.get(pattern.where)
        tried = self._tried_in_opening if pattern.where == "opening" else self._tried
        if part is None or tried.isdisjoint(pattern.expressions):
            return []
        expressions = [each.compiled for each in pattern.expressions if each in tried]
        if pattern.where == "whole":
            return [match for each in expressions if (match := each.fullmatch(self.text, *part))]
        found = [match for each in expressions for match in each.finditer(self.text, *part)]
        if pattern.where == "opening":
            found = [match for match in found if self._is_in_time(match.start(), pattern)]
        return sorted(found, key=re.Match.start)

    def _is_in_time(self, start: int, pattern: AnswerPattern) -> bool:
        if start < _OPENING or self._counts_late(pattern):
            return True
        return start < _LAST_CONCLUSION and concludes(self.text, start)

    def is_late(self, match: re.Match[str], pattern: AnswerPattern) -> bool:
        """Tell whether the match counts only if it speaks of what was asked: it is far from the beginning."""
        start = match.start()
        return start >= _OPENING and self._counts_late(pattern) and not concludes(self.text, start)

    def _counts_late(self, pattern: AnswerPattern) -> bool:
        return self.is_brief and pattern.unless_goes_on

    def quotes(self, match: re.Match[str]) -> bool:
        """Tell whether the match begins in quotation marks, or ends in a title: 书名是《我不知道》."""
        begins_quoted = any(start < match.start() < end for start, end in self._quotations)
        return begins_quoted or any(start < match.end() < end for start, end in self._titles)

    def original(self, match: re.Match[str]) -> tuple[int, int]:
        """Return where the match stands in the text as it was given."""
        return self.places[match.start()], self.places[match.end() - 1] + 1
