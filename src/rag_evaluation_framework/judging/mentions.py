"""Mentions in an answer: the names in it, and if it states, denies or doubts them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Literal

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.text.normalisation import alternatives, comparable
from rag_evaluation_framework.text.numbers import even_text
from rag_evaluation_framework.text.scripts import HAN, has_unspaced_script
from rag_evaluation_framework.text.sentences import SENTENCE_END
from rag_evaluation_framework.text.spans import Span
from rag_evaluation_framework.text.tokens import Token, pieces
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_NEGATIONS,
    COMMON_ORDINALS,
    NEGATIONS,
    NUMERALS,
    ORDINALS,
    PARTICLES,
    STOP_WORDS,
    stem,
)

# The phrases by which answers to golden sets are read, compiled from ``data/phrases.yaml``.

_NAME = re.compile(r"\{([a-z_]+)\}")
_GIVEN = {"not": "|".join(NEGATIONS), "numerals": NUMERALS, "han": f"[{HAN}]"}
_GIVEN["sentence_end"] = SENTENCE_END.pattern


@cache
def phrase(name: str) -> re.Pattern[str]:
    """Return the expression of a phrase, for comparable texts.

    >>> phrase("negation").findall("it did not rain here, nor there")
    ['not']
    """
    return re.compile(_phrases()[name].replace("\n", "|"))


def says(name: str, text: str) -> bool:
    """Return True if a comparable text has a phrase."""
    return phrase(name).search(text) is not None


@cache
def _words_of(name: str) -> frozenset[str]:
    """Return the words of a phrase that is a list of words."""
    return frozenset(_phrases()[name].replace("\n", "|").split("|"))


@cache
def _phrases() -> dict[str, str]:
    return written_out("phrases.yaml", _GIVEN)


def written_out(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the expressions of a data file, one a line, with what ``{name}`` stands for in its place.

    That is one that is given, or one above.
    """
    expressions = dict(given)

    def expression(named: re.Match[str]) -> str:
        found = expressions[named[1]].replace("\n", "|")
        return f"(?:{found})" if "|" in found else found

    for key, lines in data_file(name).items():
        written = lines if isinstance(lines, str) else "\n".join(lines)
        expressions[key] = _NAME.sub(expression, written)
    return expressions


def data_file(name: str) -> Any:
    """Return what a YAML file of ``data/`` holds."""
    return yaml_documents.decode((files(__package__) / "data" / name).read_bytes(), file=name)


# Whether a text states what stands at one of its places, denies it, or leaves it open.
#
# - *Denied*: a negation or a verb of lack or dislike comes directly before it, or with only light words
#   between: ``不喜欢探险``, ``缺乏热情``, ``did not win``. Two negations cancel out. Instead of what
#   it names something else, it denies too.
# - *Open*: the clause says that it is not shown or not known, ``没有证据表明她们是朋友``, ``hard to say``.
#   A guess is a statement: ``可能是阿尤``.
#
# What is denied further away, by irony or by a later sentence, is not seen.

Stance = Literal["stated", "denied", "open"]

_BEHIND = 48  # characters: light words do not go on for longer
_HEAD, _TAIL = 160, 80


def stance_at(text: str, start: int, *, through: tuple[str, ...] = ()) -> Stance:
    """Return the stance of a comparable text on what begins at a place; ``through`` are more light words.

    >>> [stance_at(text, text.index("热情")) for text in ("很热情", "缺乏热情", "没有证据表明她热情")]
    ['stated', 'denied', 'open']
    """
    head, tail = _around(text, start)
    if says("not_shown", head) or says("not_so", tail):
        return "open"
    is_denied = _is_negated(text, start, through) or says("lacked_too", head) or says("dismissed", head)
    return "denied" if is_denied else "stated"


def asks_for_name(question: str) -> bool:
    """Return True if a comparable question asks who or what, and not for yes or no."""
    return says("asks_for", question)


def asks_for_denied(question: str) -> bool:
    """Return True if a question asks for a denial: 她讨厌什么？, "What did he not see?"."""
    return asks_for_name(question) and says("denies", question)


def _around(text: str, start: int) -> tuple[str, str]:
    """Return the sentence before a place and the rest of the clause after it, as far as they matter."""
    head = text[max(0, start - _HEAD) : start]
    ends = [found.end() for found in SENTENCE_END.finditer(head)]
    tail = text[start : start + _TAIL]
    end = phrase("comma_or_end").search(tail)
    return head[ends[-1] if ends else 0 :], tail[: end.start()] if end else tail


def _is_negated(text: str, start: int, through: tuple[str, ...]) -> bool:
    floor = max(0, start - _BEHIND)
    at, negations = start, 0
    while (step := _step_back(text, at, floor, through)) is not None:
        at, is_negation = step
        negations += is_negation
    return negations % 2 == 1


@cache
def _chinese_steps() -> dict[str, dict[str, bool]]:
    """Return the words to step over by their last character, the longest first; true are negations."""
    negations = _words_of("lack_zh").union(("没有", "没法", "无法"), CHINESE_NEGATIONS)
    steps: dict[str, dict[str, bool]] = {}
    for word in sorted(negations | _words_of("light_zh"), key=lambda word: (-len(word), word)):
        steps.setdefault(word[-1], {})[word] = word in negations
    return steps


def _step_back(text: str, at: int, floor: int, through: tuple[str, ...]) -> tuple[int, bool] | None:
    """Return where the light word or negation before a place begins, and whether it is a negation."""
    if at > floor:
        for word, is_negation in _chinese_steps().get(text[at - 1], {}).items():
            if text.endswith(word, floor, at):
                return at - len(word), is_negation
    before = text[floor:at].rstrip(" ")
    end = floor + len(before)
    if before.endswith(through):  # of very many, all at once
        return end - next(len(name) for name in through if before.endswith(name)), False
    word = before.rpartition(" ")[2]
    if end == at or not word:  # words of spaced scripts are parted from what they deny
        return None
    if word in NEGATIONS or word in _words_of("lack") or word.endswith("n't"):
        return end - len(word), True
    owner = word.removesuffix("'s")
    return (end - len(word), False) if owner in _words_of("light") or owner in through else None


# What two texts of a conversation share: words by their stems, characters that stand together, numbers.
#
# Chinese characters and kana count where at least two neighbours stand together in both texts, so that
# half a name is no name; other words count by their stems. Words of grammar and words that ask tell
# nothing, and *one* only counts where a number is asked for.

# With Chinese characters that tell nothing by themselves.
_GRAMMAR = (STOP_WORDS - COMMON_ORDINALS).union(PARTICLES, "而但也都就还又对到向由以为此过很有叫")

_TIME = re.compile(r"(\d\d?):([0-5]\d)")
_ORDINAL_FIGURE = re.compile(r"(\d+)(?:st|nd|rd|th)")
# Stems of verbs by which rules are asked for and told: "Do I need a visa?", "A visa is required."
_SAME = {"requir": "need", "necessari": "need", "permit": "allow"}

Agreement = Callable[[int, int], bool]
"""True if a place of one text and one of another have the same meaning."""


def telling(text: str, question: str) -> list[Token]:
    """Return the pieces of a comparable text with figures that tell something, where a question was asked.

    >>> [piece.text for piece in telling("there is one of the cats", "how many?")]
    ['one', 'cats']
    """
    grammar = _GRAMMAR - {"one"} if says("asks_for_number", question) else _GRAMMAR
    idle = places_in(text, "idle")
    return [piece for piece in pieces(text) if piece.text not in grammar and piece.start not in idle]


def places_in(text: str, name: str) -> frozenset[int]:
    """Return the places of the characters of a phrase."""
    return frozenset(place for found in phrase(name).finditer(text) for place in range(*found.span()))


def _anywhere(here: int, there: int) -> bool:
    return True


def shared(wanted: Sequence[Token], text: str, agrees: Agreement = _anywhere) -> set[Token]:
    """Return the pieces that a text has too, and in the same sense."""
    words = [piece for piece in wanted if not piece.is_unspaced]
    found = set(_shared_words(words, text, agrees))
    for run in _runs(piece for piece in wanted if piece.is_unspaced):
        found |= _shared_characters(run, text, agrees)
    return found


def with_numbers(found: set[Token], wanted: Sequence[Token], text: str) -> set[Token]:
    """Leave out the units of numbers that are not found: of 2.5 kg, kilograms alone tell nothing."""
    missing = (piece for piece in wanted if piece not in found and piece.text[-1].isdigit())
    units = (unit.span() for number in missing if (unit := phrase("unit").match(text, number.end)))
    idle = {place for span in units for place in range(*span)}
    return {piece for piece in found if piece.start not in idle}


def stretches(wanted: Iterable[Token]) -> Iterator[str]:
    """Yield words, and characters that stand side by side as one text."""
    for unspaced, group in groupby(wanted, key=lambda piece: piece.is_unspaced):
        if unspaced:
            yield from ("".join(piece.text for piece in run) for run in _runs(group))
        else:
            yield from (piece.text for piece in group)


def _shared_words(words: Sequence[Token], text: str, agrees: Agreement) -> Iterator[Token]:
    places: dict[str, list[int]] = {}
    for piece in pieces(text) if words else ():
        places.setdefault(_key(piece.text), []).append(piece.start)
    for word in words:
        if any(agrees(word.start, there) for there in places.get(_key(word.text), ())):
            yield word


def _shared_characters(run: Sequence[Token], text: str, agrees: Agreement) -> set[Token]:
    """Return the characters of a run that stand in the text with a neighbour; a single one needs none."""
    characters = "".join(piece.text for piece in run)
    shortest = min(2, len(run))
    found: set[Token] = set()
    for first in range(len(run) - shortest + 1):
        there = text.find(characters[first : first + shortest])
        while there >= 0 and len(found) < len(run):
            begins = first == 0 or there == 0 or characters[first - 1] != text[there - 1]
            if begins and agrees(run[first].start, there):
                last = first + shortest
                while last < len(run) and text.startswith(characters[last], there + last - first):
                    last += 1
                found.update(run[first:last])
            there = text.find(characters[first : first + shortest], there + 1)
    return found


def _runs(characters: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the characters that stand side by side."""
    numbered = enumerate(characters)
    for _, group in groupby(numbered, key=lambda each: each[1].start - each[0]):
        yield [piece for _, piece in group]


def _key(word: str) -> str:
    """Return what words are compared by: stems, and values of numbers; 17:30 may be 5:30, and 5:00 is 5."""
    bare = word.removesuffix("'s")
    if time := _TIME.fullmatch(bare):
        hour = int(time[1]) % 12 or 12
        return f"{hour}" if time[2] == "00" else f"{hour}:{time[2]}"
    if ordinal := _ORDINAL_FIGURE.fullmatch(bare):
        return f"{ordinal[1]}th"
    if bare in ORDINALS:
        return f"{ORDINALS[bare]}th"
    return "1" if bare == "one" else _SAME.get(stem(bare), stem(bare))


# Whether the clause around a place denies what was asked: "Anna Berg is not the mayor", 安娜不是镇长.
#
# A negation reaches to the end of its clause. What it denies there may be the name itself, which is read
# among the stances, or what the question asked of it, which is read here. Only a plain denial is one:
# not where the clause makes an exception, "nobody except Anna".

_DENIED_BEHIND, _AHEAD = 160, 400  # characters: clauses are shorter


def is_negated(clause: str) -> bool:
    """Return True if a clause denies something; two negations cancel out."""
    return len(phrase("negation").findall(clause)) % 2 == 1


def is_denied(clause: str) -> bool:
    """Return True if a clause denies its statement: it does not happen, stops, or fails."""
    return is_negated(clause) != says("ceased", clause)


def denies_key(text: str, start: int, asked: Sequence[Token]) -> bool:
    """Return True if the clause around a place of a comparable text denies one of the pieces of the question.

    >>> denies_key("anna is not the mayor.", 0, [Token("mayor", 11, 16)])
    True
    """
    begin, end = _clause_around(text, start)
    clause = text[begin:end]
    if not is_negated(clause) or says("exception", clause):
        return False
    stated, rest = phrase("negation").split(clause, maxsplit=1)
    denied = phrase("clause_begin").split(rest, maxsplit=1)[0]
    return not shared(asked, denied) <= shared(asked, stated) or says("left_out", clause)


def _clause_around(text: str, start: int) -> tuple[int, int]:
    floor = max(0, start - _DENIED_BEHIND)
    ends = (found.end() for found in phrase("clause_begin").finditer(text, floor, start + 1))
    begin = max((end for end in ends if end <= start), default=floor)
    mark = phrase("clause_end").search(text, start, start + _AHEAD)
    return begin, mark.start() if mark else min(start + _AHEAD, len(text))


def without_denial(answer: str, key: str, question: str) -> list[str]:
    """Return the clauses in which an answer may plainly deny a key, as they read without their "not".

    Beside words of the key and of the question nothing but grammar stands there. The sentence is the
    first, or has a word of the question.

    >>> without_denial("It was not by Anna, nor by Ben.", "Anna", "Who wrote it?")
    ['it was  by anna']
    >>> without_denial("It was not by Anna's brother.", "Anna", "Who wrote it?")
    []
    """
    said, asked, found = comparable(answer), comparable(question), list[str]()
    if says("not_meant", said) or says("denies", asked) or not asks_for_name(asked):
        return found
    told, known = word_keys(telling(asked, asked)), word_keys(pieces(f"{asked} {comparable(key)}"))
    for number, sentence in enumerate(SENTENCE_END.split(said)):
        is_about = not number or not told.isdisjoint(word_keys(pieces(sentence)))
        for clause in phrase("clause_mark").split(sentence) if is_about else ():
            affirmed, denials = phrase("plain_denial").subn("", clause)
            words = (each for each in pieces(affirmed) if each.text not in _words_of("beside_denial"))
            if denials == 1 and not says("left_out", clause) and word_keys(words) <= known:
                found.append(affirmed)
    return found


def word_keys(words: Iterable[Token]) -> frozenset[str]:
    """Return what words are compared by."""
    return frozenset([_key(each.text) for each in words])


# Where a text names something.
#
# Chinese names are found anywhere, since nothing separates words; others stand between the edges of words
# and may carry a plural's ending. A name counts where the text states it, and where it
# does not deny of it what was asked.

_IN_NUMBER = re.compile(r"\d[.:]\d")  # 2.5 is not named by 5
_ENDINGS = ("", "s", "es")


def mentions(text: str, name: str) -> Iterator[Span]:
    """Yield where a comparable text has a comparable name.

    >>> [each.of(text) for text in ("two cities",) for each in mentions(text, "city")]
    ['cities']
    """
    yield from _with_endings(text, name, _ENDINGS)
    if name.endswith("y"):
        yield from _with_endings(text, name[:-1], ("ies",))


def is_stated(answer: str, name: str, *, asked: Sequence[Token] = (), even_denied: bool = False) -> bool:
    """Return True if a comparable answer states or denies a name; "A/B" is either.

    ``asked`` is what a question asks of the name: who is not the mayor was not named as the mayor. A name
    that is a denial itself, "no pets", is not denied by its own words.
    """
    accepted = ("stated", "denied") if even_denied else ("stated",)
    return any(
        stance_at(answer, mention.start) in accepted
        and (even_denied or is_negated(each) or not denies_key(answer, mention.start, asked))
        for each in alternatives(name)
        for mention in mentions(answer, each)
    )


def names_in(answer: str, names: Sequence[str], *, question: str = "") -> list[bool]:
    """Tell of each name whether the answer has it; a question may ask for what is denied, 她讨厌什么？.

    A name that the question has, or that it does not ask for, is named wherever the answer speaks of it. One
    with a number in it may be written in another way: twelve, 十二, 12.

    >>> names_in("玛拉妮很熱情，但不喜欢探险。", ["玛拉妮", "热情/直率", "探险"])
    [True, True, False]
    >>> names_in("Anna is not the mayor.", ["Anna"], question="Who is the mayor?")
    [False]
    """
    said, asked = comparable(answer), comparable(question)
    in_figures = even_text(answer).lower()
    even_denied, wanted = asks_for_denied(asked), telling(asked, asked) if asks_for_name(asked) else []

    def is_named(name: str) -> bool:
        of_name = () if is_stated(asked, name) else wanted
        return any(
            is_stated(text, each, asked=of_name, even_denied=even_denied)
            for text, each in ((said, name), (in_figures, even_text(name)))
        )

    return list(map(is_named, names))


def _with_endings(text: str, name: str, endings: Sequence[str]) -> Iterator[Span]:
    start = text.find(name) if name else -1
    while start >= 0:
        end = _word_end(text, start + len(name), endings) if _begins_a_word(text, start) else None
        if end is not None:
            yield Span(start, end)
        start = text.find(name, start + 1)


def _begins_a_word(text: str, start: int) -> bool:
    if start == 0 or not _is_spaced_letter(text[start]):
        return True
    return not _is_spaced_letter(text[start - 1]) and not _IN_NUMBER.match(text, start - 2)


def _word_end(text: str, end: int, endings: Sequence[str]) -> int | None:
    """Return where the word ends that a name ends in; ``None`` where the name is only a part of a word."""
    if not _is_spaced_letter(text[end - 1]):
        return end
    ends = (end + len(ending) for ending in endings if text.startswith(ending, end))
    return next((each for each in ends if _is_edge(text, each)), None)


def _is_edge(text: str, end: int) -> bool:
    return not _is_spaced_letter(text[end : end + 1]) and not _IN_NUMBER.match(text, end - 1)


def _is_spaced_letter(character: str) -> bool:
    return character.isalnum() and not has_unspaced_script(character)
