"""Whether a text answers after all, before or after it says that it cannot."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from rag_evaluation_framework.characters import HAN
from rag_evaluation_framework.judging.classes.answer_patterns import AnswerPattern, answer_patterns
from rag_evaluation_framework.judging.words.content_tokens import content_keys

_CODE = re.compile(rf"(?<=[{HAN}])[a-z0-9]+|[a-z0-9]+(?=[{HAN}])")
_WORD = re.compile(rf"[{HAN}]{{2}}|[^\W{HAN}]+")
# How many words make an answer: after a contrast or before a full stop, right before a contrast, and before a
# refusal that comes late.
_ENOUGH, _ENOUGH_BEFORE_A_CONTRAST, _ENOUGH_TO_COMPLY = 6, 2, 20
_ENOUGH_BESIDE_A_QUESTION, _ENOUGH_TO_COMPLY_BRIEFLY = 2, 9
# A first sentence of no more words than these is an answer in itself: "Eight kilos."
_FRAGMENT = 4
# With fewer words in a question, a sentence that has most of them may be about something else.
_FEW_KEYS = 3
_NEAR, _REPORT = 20, 80
# So many Chinese characters are more than what leads up to a question back.
_ENOUGH_BEFORE_A_QUESTION = re.compile(rf"(?:[^{HAN}]*+[{HAN}]){{60}}")


def goes_on_to_answer(text: str, found: tuple[int, int], *, asked: str) -> bool:
    """Tell whether a folded text answers after the characters found in it.

    "I have no figures, but two thousand people came" does.
    """
    start, end = found
    return _goes_on(text, start, end, asked) or _answers_after(text, end, asked)


def answers_before(text: str, found: tuple[int, int], *, pattern: AnswerPattern, asked: str) -> bool:
    """Tell whether a folded text has answered, or complied, before the characters that the pattern found.

    "Two thousand came; the documents do not say when" has. Words of the question do not count.
    """
    start = found[0]
    if pattern.unless_goes_on:
        return _has_answered(text, found, asked)
    if pattern.kind == "asks_back":
        return _ENOUGH_BEFORE_A_QUESTION.match(text, 0, start) is not None
    if pattern.kind != "refused" or concludes(text, start):
        return False
    enough = _ENOUGH_TO_COMPLY if pattern.where == "opening" else _ENOUGH_TO_COMPLY_BRIEFLY
    return _words_before(text, start, asked) >= enough


def takes_up_the_question(text: str, found: tuple[int, int], *, asked: str) -> bool:
    """Tell whether the clause found speaks of something asked that the text before has not spoken of.

    "Encryption in transit is TLS. Encryption at rest is not discussed" does when encryption at rest was asked
    about: what stands before is beside the point.
    """
    known = answer_patterns()
    begin, stop = _clause_around(text, found)
    asked_keys = _keys_asked(asked)
    not_yet = asked_keys.difference(_keys_told(text[:begin]))
    if 3 * len(not_yet) < len(asked_keys):
        return False
    if not not_yet.isdisjoint(_keys_told(text[begin:stop])):
        return True
    return any(
        sought.asked.search(asked)
        and sought.named.search(text, begin, stop)
        and not (sought.answer is not None and sought.answer.search(text, 0, begin))
        for sought in known.sought
    )


def denies_what_was_asked(text: str, found: tuple[int, int], *, asked: str) -> bool:
    """Tell whether the denial found is the answer, since whether or what is not said was asked, or what is.

    "The contract does not mention overtime" answers "Does the contract mention overtime?", and "Part-time
    staff are not covered" answers "Who is not covered?". "The documents do not say who" answers neither.
    "Only adults are covered", which denies it of all others, answers "Who is covered?".
    In Chinese, a reason or a supposition belongs to an answer (因为没有登记); why not is told by a denial.
    """
    besides = answer_patterns().besides
    begin, stop = _clause_around(text, found)
    if besides["supposed"].match(text, begin, found[0]):
        return True
    is_untold = besides["told"].search(text, *found) and besides["documents"].search(text, begin, stop)
    if besides["asks_why_not"].match(asked) and not is_untold:
        return True
    of_others = any(word[1] not in asked for word in besides["these_documents"].finditer(text, begin, stop))
    same_verb = not _verbs_of_telling(asked).isdisjoint(_verbs_of_telling(text[slice(*found)]))
    if besides["only"].search(text, *found) and besides["asks_what_is"].search(asked):
        return same_verb and not of_others
    if any(word[0] not in asked for word in besides["undecided"].finditer(text, begin, stop)):
        return False
    asked_keys = _keys_to_the_point(asked)
    if besides["asks_what_is_not"].match(asked):
        told = besides["telling"].sub(" ", text[begin:stop])
        return not of_others and not asked_keys.issuperset(_keys_to_the_point(told))
    if of_others and besides["any_paper"].search(asked):
        return False
    told_keys = _keys_to_the_point(text[begin:stop])
    same_thing = not asked_keys.isdisjoint(told_keys)
    if besides["asks_whether_said"].match(asked):
        return same_thing or (same_verb and not told_keys)
    shown = besides["asks_whether_shown"].match(asked) is not None
    return shown and same_verb and (same_thing or not told_keys)


def concludes(text: str, start: int) -> bool:
    """Tell whether what starts here is a conclusion: what comes before it are reasons, not an answer."""
    words = answer_patterns().besides["conclusion"].finditer(text, max(start - _NEAR, 0), start)
    return any(word.end() == start for word in words)


def is_reported(text: str, start: int) -> bool:
    """Tell whether what starts here is what somebody else said of himself."""
    return answer_patterns().besides["reported"].search(text, max(start - _REPORT, 0), start) is not None


def _clause_around(text: str, found: tuple[int, int]) -> tuple[int, int]:
    """Return where the clause around the characters found begins and ends.

    A comma parts Chinese clauses, unless what the second speaks of is named before it alone.
    """
    besides = answer_patterns().besides
    start, end = found
    borders = (besides["end_of_statement"], besides["comma"])
    ends = {each.end() for border in borders for each in border.finditer(text, 0, start)}
    *before, begin = sorted({0, *ends})
    stops = (border.search(text, end) for border in (besides["end_of_sentence"], besides["comma"]))
    stop = min((each.start() for each in stops if each is not None), default=len(text))
    if text[begin - 1 : begin] != ",":
        return begin, stop
    is_named_before = besides["about"].match(text, before[-1]) or not _keys_to_the_point(text[begin:stop])
    return before[-1] if is_named_before else begin, stop


def _keys_to_the_point(text: str) -> set[str]:
    """Return what a text is about besides documents and what they leave out."""
    return set(content_keys(answer_patterns().besides["beside_the_point"].sub(" ", text)))


def _verbs_of_telling(text: str) -> set[str]:
    """Return the verbs of telling, by the beginnings that their forms have in common."""
    besides = answer_patterns().besides
    return {*besides["telling"].findall(text), *besides["told"].findall(text)}


def _goes_on(text: str, start: int, end: int, asked: str) -> bool:
    besides = answer_patterns().besides
    places = [contrast.end() for contrast in besides["contrast"].finditer(text, end)]
    if besides["concession"].search(text, 0, start):
        places.append(text.find(",", end) + 1)
    for place in places:
        if place <= 0 or besides["elsewhere"].match(text, place):
            continue
        has_number = besides["number"].search(text, place) is not None
        if besides["more_about_them"].match(text, place):
            if has_number and _has_what_is_sought(text, place, len(text), asked):
                return True
        elif has_number or len(_WORD.findall(text, place)) >= _ENOUGH:
            return True
    return False


def _has_what_is_sought(text: str, start: int, stop: int, asked: str) -> bool:
    """Tell whether a part of the text has the number, the day or the place that the question seeks."""
    return any(
        sought.answer is not None and sought.asked.search(asked) and sought.answer.search(text, start, stop)
        for sought in answer_patterns().sought
    )


def _has_answered(text: str, found: tuple[int, int], asked: str) -> bool:
    """Tell whether an answer stands before the characters found."""
    start = found[0]
    if _begins_with_the_answer(text, start, asked):
        return True
    enough = _enough_before(text, start) if not asked else _ENOUGH_BESIDE_A_QUESTION
    if _words_before(text, start, asked) < enough and not _states_before_a_comma(text, start, asked):
        return False
    return not takes_up_the_question(text, found, asked=asked)


def _answers_after(text: str, end: int, asked: str) -> bool:
    """Tell whether a later sentence states what was asked, and denies nothing.

    It repeats most of the question, or says of "it" what the question seeks.
    """
    keys = _keys_asked(asked)
    besides = answer_patterns().besides
    places = [each.end() for each in besides["end_of_sentence"].finditer(text, end)]
    for start, stop in pairwise([*places, len(text)]):
        if besides["no_statement"].search(text, start, stop):
            continue
        if besides["of_it"].match(text, start, stop) and _has_what_is_sought(text, start, stop, asked):
            return True
        stated = _keys_told(text[start:stop])
        if len(keys) < _FEW_KEYS or 3 * len(keys & stated) < 2 * len(keys):
            continue
        if stated - keys or besides["number"].search(text, start, stop):
            return True
    return False


@lru_cache(maxsize=16)
def _keys_asked(asked: str) -> frozenset[str]:
    """Return what the question is about, by the keys of its words; documents are not what it is about."""
    return frozenset(_keys_told(answer_patterns().besides["documents"].sub(" ", asked)))


def _keys_told(text: str) -> set[str]:
    """Return the keys of the words of a text, and the numbers and codes beside Chinese characters."""
    return {*content_keys(text), *_CODE.findall(text)}


def _begins_with_the_answer(text: str, start: int, asked: str) -> bool:
    """Tell whether the text begins with a yes, a number or a few words that are an answer: "Eight kilos."."""
    besides = answer_patterns().besides
    first = besides["end_of_sentence"].search(text, 0, start)
    if besides["at_once"].match(text, 0, start):
        return True
    if besides["no_at_once"].match(text, 0, start) and besides["yes_or_no"].match(asked):
        return True
    if first is None or besides["courtesy"].search(text, 0, first.start()):
        return False
    return 0 < len(_WORD.findall(text, 0, first.start())) <= _FRAGMENT


def _words_before(text: str, start: int, asked: str) -> int:
    """Count the words stated before the start, unless they are a courtesy or only repeat the question."""
    besides = answer_patterns().besides
    ends = [end.start() for end in besides["end_of_statement"].finditer(text, 0, start)]
    if not ends or besides["courtesy"].search(text, 0, start):
        return 0
    repeated = set(_WORD.findall(asked))
    return sum(word not in repeated for word in _WORD.findall(text, 0, ends[-1]))


def _states_before_a_comma(text: str, start: int, asked: str) -> bool:
    """Tell whether a Chinese clause before the start, a comma between, states something; a topic does not."""
    besides = answer_patterns().besides
    commas = [comma.end() for comma in besides["comma"].finditer(text, 0, start)]
    if not asked or not commas or besides["courtesy"].search(text, 0, start):
        return False
    stated = besides["topic"].sub(" ", text[: commas[-1]])
    repeated = set(_WORD.findall(asked))
    new = [word for word in _WORD.findall(stated) if word not in repeated]
    return len(new) >= _ENOUGH_BESIDE_A_QUESTION or any(map(str.isdecimal, new))


def _enough_before(text: str, start: int) -> int:
    before = answer_patterns().besides["contrast_before"].search(text, max(start - _NEAR, 0), start)
    return _ENOUGH if before is None else _ENOUGH_BEFORE_A_CONTRAST
