"""Answered, refused, don't know, asks back; the patterns read from YAML."""

from __future__ import annotations

import gzip
import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal
from zlib import crc32

import msgspec

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.scripts import HAN
from rag_evaluation_framework.text.spans import Spanned
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.text.vocabulary import PLAIN_NUMERALS

# Reads the patterns by which answers are classified from the data file beside the code.

AnswerKind = Literal["answered", "refused", "dont_know", "asks_back"]
Where = Literal["opening", "brief", "ending", "whole"]

_PHRASE = re.compile(r"\{([a-z_]+)\}")
_BETWEEN = re.compile(r" \| |\n")
_READING = threading.Lock()
Cue = str | tuple[str, str]
"""A word, or two neighbours."""
PATTERNS, CUES = "answer_patterns.yaml", "answer_cues.txt.gz"
"""The data files: the patterns, and the cues of every expression."""


class Expression:
    """A line of the data file, compiled when it is first tried: few texts need many of them."""

    def __init__(self, line: str, phrases: _Phrases) -> None:
        self.line, self._phrases = line, phrases

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression, for folded texts."""
        return self._phrases.compiled(self.line)


class AnswerPattern(msgspec.Struct, frozen=True):
    """One way to say something, what it says, and in which part of an answer it counts."""

    name: str
    kind: AnswerKind
    where: Where
    expressions: tuple[Expression, ...]
    unless_goes_on: bool = False
    unless_asked: Expression | None = None
    when_asked: Expression | None = None
    on_the_question: bool = False


class AnswerPatterns(msgspec.Struct, frozen=True):
    """The patterns in the order in which they are tried, and what tells that an answer is given besides.

    Most expressions have cues, rare words of which a text must have one. They are kept in a data file, for it
    takes long to find them (``benchmarks/pattern_cues.py``).
    """

    version: int
    patterns: tuple[AnswerPattern, ...]
    besides: Mapping[str, Expression]
    phrases: Mapping[str, Sequence[str]]
    """The expressions that ``{name}`` stands for."""
    places: Mapping[Expression, int]
    """To which of the patterns an expression belongs."""
    by_cue: Mapping[Cue, Set[Expression]]
    """Patterns to try if a text has the cue."""
    always: Set[Expression]
    """Patterns without a cue."""

    def worth_trying(self, text: str) -> set[Expression]:
        """Return the expressions whose cues are in a folded text, and those that have none."""
        words = _words_for_cues(text)
        cues = self.by_cue.keys() & {*words, *pairwise(words)}
        return set(self.always).union(*[self.by_cue[cue] for cue in cues])


CUE_WORD = re.compile(r"[a-z0-9]+|\?|[^\W\x00-\x7f]")
"""A word, a question mark or a Chinese character: the tokens of which cues consist."""
_BETWEEN_CUES = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "?"}


def _words_for_cues(text: str) -> list[str]:
    if not text.isascii():
        return CUE_WORD.findall(text)
    # The same, and faster.
    return (text.replace("?", " ? ") if "?" in text else text).translate(_BETWEEN_CUES).split()


def answer_patterns() -> AnswerPatterns:
    """Return the patterns; they are read once, however many threads ask for them at the same time."""
    with _READING:
        return _read_patterns()


@cache
def _read_patterns() -> AnswerPatterns:
    from rag_evaluation_framework.files.yaml_documents import decode

    written, kept = (files(__package__).joinpath("data", name).read_bytes() for name in (PATTERNS, CUES))
    data, (of, *cues) = decode(written), gzip.decompress(kept).decode().split("\n")
    if of != f"{crc32(written)}":  # changed since: they may be wrong
        cues = []
    phrases = _Phrases({**_phrases_of_characters(), **data["phrases"]})
    patterns = tuple(_pattern(entry, phrases) for entry in data["patterns"])
    places = {each: place for place, pattern in enumerate(patterns) for each in pattern.expressions}
    by_cue: dict[Cue, set[Expression]] = defaultdict(set)
    for expression, line in zip(places, cues, strict=False):
        for cue in filter(None, line.split("|")):
            first, _, second = cue.partition(" ")
            by_cue[(first, second) if second else first].add(expression)
    return AnswerPatterns(
        data["version"],
        patterns,
        {name: Expression(lines.replace("\n", "|"), phrases) for name, lines in data["besides"].items()},
        phrases.alternatives,
        places,
        by_cue,
        places.keys() - set().union(*by_cue.values()),
    )


def _phrases_of_characters() -> dict[str, str]:
    """Return the phrases that the data file need not spell out, in the characters of folded texts."""
    numerals, _ = folded_with_places("".join(sorted(PLAIN_NUMERALS)))
    return {"han": f"[{HAN}]", "zh_numeral": f"[{numerals}]"}


def _pattern(entry: Mapping[str, Any], phrases: _Phrases) -> AnswerPattern:
    asked = {key: Expression(entry[key], phrases) for key in ("unless_asked", "when_asked") if key in entry}
    expressions = tuple(Expression(line, phrases) for line in entry["any"].splitlines())
    given = {key: value for key, value in entry.items() if key != "any"}
    return AnswerPattern(**{**given, **asked}, expressions=expressions)


class _Phrases:
    """The phrases that ``{name}`` stands for; a phrase may contain those above it."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self.alternatives = {name: _BETWEEN.split(phrase) for name, phrase in phrases.items()}
        self._texts: dict[str, str] = {}
        for name, alternatives in self.alternatives.items():
            self._texts[name] = f"(?:{self.written_out('|'.join(alternatives))})"

    def compiled(self, expression: str) -> re.Pattern[str]:
        """Compile an expression in which a space is any white space."""
        return re.compile(self.written_out(expression).replace(" ?", r"\s*").replace(" ", r"\s+"))

    def written_out(self, expression: str) -> str:
        """Return an expression with the phrases in place of their names."""
        return _PHRASE.sub(lambda match: self._texts[match[1]], expression)


# Whether a text answers after all, before or after it says that it cannot.

_CODE = late_pattern(rf"(?<=[{HAN}])[a-z0-9]+|[a-z0-9]+(?=[{HAN}])")
_WORD = late_pattern(rf"[{HAN}]{{2}}|[^\W{HAN}]+")
# How many words make an answer: beside a question, without one, after a contrast; and before a refusal that
# comes late.
_ENOUGH_BESIDE_A_QUESTION, _ENOUGH = 2, 6
_ENOUGH_TO_COMPLY, _ENOUGH_TO_COMPLY_BRIEFLY = 20, 9
# A first sentence of no more words than these is an answer in itself: "Eight kilos."
_FRAGMENT = 4
# So many Chinese characters are more than what leads up to a question back.
_ENOUGH_BEFORE_A_QUESTION = late_pattern(rf"(?:[^{HAN}]*+[{HAN}]){{60}}")


def besides(name: str) -> re.Pattern[str]:
    """Return one of the expressions that tell what stands beside a refusal or a question back."""
    return answer_patterns().besides[name].compiled


def goes_on_to_answer(text: str, found: tuple[int, int]) -> bool:
    """Return True if a folded text answers after the characters found in it.

    "I have no figures, but two thousand people came" does.
    """
    places = (contrast.end() for contrast in besides("contrast").finditer(text, found[1]))
    return any(
        not besides("elsewhere").match(text, place)
        and (besides("number").search(text, place) or len(_WORD.findall(text, place)) >= _ENOUGH)
        for place in places
    )


def answers_before(text: str, found: tuple[int, int], *, pattern: AnswerPattern, asked: str) -> bool:
    """Return True if a folded text answers, or complies, before the pattern's match.

    "Two thousand came; the documents do not say when" has. Words of the question do not count.
    """
    start = found[0]
    if pattern.unless_goes_on:
        if _begins_with_the_answer(text, start, asked):
            return True
        enough = _ENOUGH_BESIDE_A_QUESTION if asked else _ENOUGH
        is_answer = _words_before(text, start, asked) >= enough
        return is_answer and not takes_up_the_question(text, found, asked=asked)
    if pattern.kind == "asks_back":
        return _ENOUGH_BEFORE_A_QUESTION.match(text, 0, start) is not None
    if pattern.kind != "refused":
        return False
    enough = _ENOUGH_TO_COMPLY if pattern.where == "opening" else _ENOUGH_TO_COMPLY_BRIEFLY
    return _words_before(text, start, asked) >= enough


def takes_up_the_question(text: str, found: tuple[int, int], *, asked: str) -> bool:
    """Return True if the statement is about a topic of the question that is new in the text.

    "Encryption in transit is TLS. Encryption at rest is not discussed" does when encryption at rest was asked
    about: what stands before is beside the point.
    """
    begin = max((each.end() for each in besides("end_of_statement").finditer(text, 0, found[0])), default=0)
    stop = besides("end_of_sentence").search(text, found[1])
    keys = _question_keys(asked)
    not_yet = keys.difference(_text_keys(text[:begin]))
    if 3 * len(not_yet) < len(keys):
        return False
    return not not_yet.isdisjoint(_text_keys(text[begin : stop.start() if stop else len(text)]))


@lru_cache(maxsize=16)
def _question_keys(asked: str) -> frozenset[str]:
    """Return what the question is about, by the keys of its words; documents are not what it is about."""
    return frozenset(_text_keys(besides("documents").sub(" ", asked)))


def _text_keys(text: str) -> set[str]:
    """Return the keys of the words of a text, and the numbers and codes beside Chinese characters."""
    return {*content_keys(text), *_CODE.findall(text)}


def _begins_with_the_answer(text: str, start: int, asked: str) -> bool:
    """Return True if the text begins with a yes, a number or a brief answer: "Eight kilos."."""
    if besides("at_once").match(text, 0, start):
        return True
    if besides("no_at_once").match(text, 0, start) and besides("yes_or_no").match(asked):
        return True
    first = besides("end_of_sentence").search(text, 0, start)
    if first is None or besides("courtesy").search(text, 0, first.start()):
        return False
    return 0 < len(_WORD.findall(text, 0, first.start())) <= _FRAGMENT


def _words_before(text: str, start: int, asked: str) -> int:
    """Count the words stated before the start, unless they are a courtesy or only repeat the question."""
    ends = [end.start() for end in besides("end_of_statement").finditer(text, 0, start)]
    if not ends or besides("courtesy").search(text, 0, start):
        return 0
    repeated = set(_WORD.findall(asked))
    return sum(word not in repeated for word in _WORD.findall(text, 0, ends[-1]))


# What kind of answer a text is: an answer, a refusal, "don't know", or a question back.
#
# The patterns are data (``data/answer_patterns.yaml``). They are looked for where answers say such
# things, at the beginning or the very end, since a text that complies may well refuse something later on.
# Only the first 800 characters are read, so the time taken does not grow with the text.

_READ = 800
# Patterns begin in the opening; how much more of it is read, for they go on.
_OPENING, _READ_ON = 200, 240
_BRIEF = 400
_ENDING = 350

# An apostrophe stands at a letter and opens no quotation: "don't", "guests'", "'90s", "'tis".
_LETTER = rf"[^\W{HAN}]"
_QUOTATION = late_pattern(
    rf"""\"[^\"]*+\"?+
    |(?<!{_LETTER})'(?![\s\d]|(?:tis|twas|til|cause|em|n)\b)
      (?:[^'\"\n]|(?<={_LETTER})'(?={_LETTER}))+'(?!{_LETTER})""",
    re.VERBOSE,
)
_TITLE = re.compile(r"《[^《》]*》")
_BARE = " \t\r\n\"'*_.!。~"


class AnswerClass(msgspec.Struct, Spanned, frozen=True):
    """The kind of an answer, its pattern, and the characters ``[start, end)`` that match.

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
    asked = folded_with_places(question[:_READ])[0]
    if not text.strip():
        raise invalid("answer", "text", text)
    return _by_patterns(_FoldedAnswer(text), asked)


def _by_patterns(answer: _FoldedAnswer, asked: str) -> AnswerClass:
    """Return the class by the first pattern that holds."""
    ruled_out: set[AnswerKind] = set()
    for pattern in answer.patterns():
        if pattern.kind in ruled_out:
            continue
        found = answer.matches(pattern)
        if not found or not _may_answer(pattern, asked):
            continue
        for match in found:
            if match[0].strip() in asked or answer.quotes(match) or _is_supposed(answer.text, match, pattern):
                continue
            if pattern.on_the_question and not takes_up_the_question(answer.text, match.span(), asked=asked):
                continue
            if pattern.unless_goes_on and goes_on_to_answer(answer.text, match.span()):
                ruled_out |= {"refused", "dont_know"}
                continue
            if answers_before(answer.text, match.span(), pattern=pattern, asked=asked):
                if pattern.unless_goes_on:  # it answers, so it does not refuse; it may still not know
                    ruled_out.add("refused")
                continue
            return AnswerClass(pattern.kind, pattern.name, *answer.place(*match.span()))
    return AnswerClass("answered")


def _is_supposed(text: str, match: re.Match[str], pattern: AnswerPattern) -> bool:
    """Return True if the match stands in a condition: "If the date is missing, today's is taken"."""
    return pattern.kind == "dont_know" and besides("condition").search(text, 0, match.start()) is not None


def _may_answer(pattern: AnswerPattern, asked: str) -> bool:
    """Return True if the pattern counts as a reply to the question."""
    if pattern.unless_asked is not None and pattern.unless_asked.compiled.search(asked):
        return False
    return pattern.when_asked is None or pattern.when_asked.compiled.search(asked) is not None


class _FoldedAnswer:
    """The beginning of an answer, folded for comparison, which remembers where its characters stood."""

    def __init__(self, text: str) -> None:
        folded, places = folded_with_places(text[:_READ])
        self.text, self.places = folded, places
        is_read_whole = len(text.rstrip()) <= _READ
        opening = _OPENING + _READ_ON
        self._parts: dict[Where, tuple[int, int]] = {"opening": (0, opening)}
        tried = answer_patterns().worth_trying(self.text[:opening])
        self._tried: dict[Where, set[Expression]] = {"opening": tried}
        if is_read_whole:
            others = self._other_parts()
            if len(self.text) > opening:
                tried = answer_patterns().worth_trying(self.text)
            self._parts, self._tried = self._parts | others, self._tried | dict.fromkeys(others, tried)

    def _other_parts(self) -> dict[Where, tuple[int, int]]:
        """Return where the parts begin and end that only count in an answer that was read to its end."""
        length = len(self.text)
        parts: dict[Where, tuple[int, int]] = {"whole": (0, len(self.text.rstrip(_BARE)))}
        if length <= _BRIEF:
            parts["brief"] = (0, length)
        if "?" in self.text:
            parts["ending"] = (max(length - _ENDING, 0), length)
        return parts

    def patterns(self) -> list[AnswerPattern]:
        """Return the patterns that may match: the answer has the part where they count, and their words."""
        known = answer_patterns()
        numbers = {known.places[each] for tried in self._tried.values() for each in tried}
        found = [known.patterns[number] for number in sorted(numbers)]
        return [each for each in found if not self._tried.get(each.where, set()).isdisjoint(each.expressions)]

    def matches(self, pattern: AnswerPattern) -> list[re.Match[str]]:
        """Find a pattern that may match where it counts, in the order of the text."""
        part, tried = self._parts[pattern.where], self._tried[pattern.where]
        expressions = [each.compiled for each in pattern.expressions if each in tried]
        if pattern.where == "whole":
            return [match for each in expressions if (match := each.fullmatch(self.text, *part))]
        found = [match for each in expressions for match in each.finditer(self.text, *part)]
        if pattern.where == "opening":
            found = [match for match in found if match.start() < _OPENING]
        return sorted(found, key=re.Match.start)

    def quotes(self, match: re.Match[str]) -> bool:
        """Return True if the match begins in quotation marks, or ends in a title: 书名是《我不知道》."""
        quoted = any(each.start() < match.start() < each.end() for each in _QUOTATION.finditer(self.text))
        return quoted or any(each.start() < match.end() < each.end() for each in _TITLE.finditer(self.text))

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where characters stand in the text as it was given."""
        return self.places[start], self.places[end - 1] + 1
