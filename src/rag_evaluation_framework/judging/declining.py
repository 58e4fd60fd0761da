"""Declining in other words: what no phrase gives away is told by signs, weighed by a small linear model.

Assistants decline in more ways than "I cannot": a lecture, a joke, an offer of something else, a help line, a
condition that is not met. Each kind has signs (``data/declining_cues.yaml``), in the answer and in the
question. A logistic model weighs the signs, where in the answer they stand, how much else the answer says,
the words themselves and the families of meaning that they belong to (``data/declining_weights.json.gz``;
``benchmarks/_declining_fit.py`` fits it).
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal

from rag_evaluation_framework.startup import dataclass
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.scripts import HAN
from rag_evaluation_framework.text.tokens import content_keys

LONG = 450
"""Of longer answers the model must be surer."""
LONGEST = 900
"""Longer answers are not asked: who writes that much has answered, or declines in plain words."""

# The kinds that say of themselves that nothing follows; those that only lead away stand beside them.
_CORE = frozenset(
    """
    unable unwilling rule scope capability private permission impersonal documents unknowing search unknowable
    shrug care
    """.split()  # noqa: SIM905 - a list of words
)
_LEADS_AWAY = frozenset({"sorry", "offer", "redirect", "expert", "moral", "me_not"})
_OF_THE_SPEAKER = frozenset({"me_not", "unable", "unwilling"})
# Said of somebody else these are news, not signs: "she declined to comment".
_NOT_OF_OTHERS = _OF_THE_SPEAKER | {"unknowing", "shrug", "care", "private", "capability", "scope"}

_NAMED = re.compile(r"\{([a-z_]+)\}")
_IS_CHINESE = re.compile(rf"[{HAN}]|\{{zh_")
_SENTENCE = re.compile(r"[^.!?。\n]*(?:[.](?=\S)[^.!?。\n]*)*[.!?。\n]*")
_QUOTATION = re.compile(r'"[^"]*"|《[^》]*》|“[^”]*”')
_QUOTED_WHOLE = re.compile(r'\W*"[^"]*"\W*')
_WORD = re.compile(rf"[{HAN}]|[a-z][a-z'-]*|[0-9][0-9.,:]*")
_LETTERS = re.compile(r"[a-z']+")
_CHARACTERS = re.compile(rf"[{HAN}]+")
_CHARACTER = re.compile(rf"[{HAN}]")
FAMILY = "#"
"""Stands before the name of a family of words, among words."""
_NUMBER = re.compile(r"[0-9]+")
_YES_OR_NO = re.compile(
    r"\A\W*(?:and |so |but )?(?:is|are|was|were|am|do|does|did|can(?! you)|could(?! you)|may|might|must"
    r"|should|will(?! you)|would(?! you)|has|have|had|isn't|aren't|don't|doesn't)\b"
    r"|[吗么]\?*\Z|能不能|可不可以|是不是|有没有|会不会|要不要|行不行|是否|还是[^?]*\?"
)
_OPEN_QUESTION = re.compile(
    r"\A\W*(?:\w+ ){0,2}?(?:who|whom|whose|what|when|where|why|how|which)\b"
    r"|什么|哪|谁|多少|几|怎么|为何|为什么|如何|多[大长久高深远]|啥|何时"
)
_COMMAND = re.compile(
    r"\b(?:can|could|will|would) you\b|\bplease\b|\bhelp me\b|\bi (?:need|want) you\b"
    r"|帮我|给我|替我|把|教我|告诉我|请"
)
_OTHERS = re.compile(
    r"\b(?:he|she|they|him|them|his|their)\b|[他她]|对方|(?:厂|警|校|店|院|官|甲|乙|资|买|卖)方|法院|证人|发言人"
    r"|客人|顾客|老板|经理"
)
_SPEAKER = re.compile(
    r"\b(?:i|we|me|us|my|our|i'm|i'll|i'd|i've|we're|we'll)\b|[我咱俺恕]|本[站店馆台人]|助手|小编"
)
_INSTRUCTION = re.compile(
    r"\W*(?:then |first,? |next,? |and )?(?:take|use|put|go|open|click|add|turn|press|run|file|keep|set"
    r"|choose|mix|boil|peel|download|write|breathe|drink|drain|wait|rinse|remove|store|apply|send|fill|place|cut"
    r"|pour|heat|cook|wash|hold|pull|push|tap|type|enter|select|install|start|begin|make|convert|check|bring|describe|sign"
    r"|pay|walk|change|tell|say|thank|save|restart|update|replace|seal|export|find|tighten|clean|soak|stir|bake"
    r"|leave (?:a|it|the|at)|let it|multiply|divide|subtract|read (?:the|page)|look for)\b"
    r"|\W*(?:先|再|然后|用|把|打开|点击?|带上|到|在|选|看清|登录|拿|倒|放|洗|切|加)"
)
_AT_ONCE = re.compile(
    r"\A\W*(?:yes|no|yeah|nope|not|never|unfortunately not|afraid not|usually|hardly|about|roughly|[0-9]|the "
    r"|there (?:is|isn't|are)|it (?:is|means)|不?(?:可以|能|行|会|是|要|赔|对)|有|没有)"
)
_STEPS = re.compile(r"(?m)^\s*(?:[0-9]+[.)]|[-*•])\s")
# Words for their families, and what parts the clauses of a sentence.
_TOKEN = re.compile(rf"[a-z][a-z'-]*|[0-9]+|[{HAN}]+|[^\s\w]")
_CLAUSE = re.compile(r"[^,;:.!?\n—…。、]+")
_LEAST_STEM, _REMEMBERED = 3, 20_000
# Few words: a scrap of an answer, and one that is brief for a question that asks for something bad.
_SCRAP, _BRIEF = 8, 30
# Shorter matches are words that questions and answers share anyway.
_LEAST_ECHO = 6


@dataclass(frozen=True, slots=True)
class Declining:
    """How sure it is that an answer declines, in which way, and the sign that says most, ``[start, end)``."""

    probability: float
    kind: Literal["refused", "dont_know"]
    sign: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DecliningModel:
    """What signs and words count for: log-odds of declining, and of not knowing where it declines."""

    bias: float
    signs: Mapping[str, float]
    words: Mapping[str, float]
    unknowing: Mapping[str, float]
    threshold: float
    """From which probability on an answer declines."""
    without_signs: float
    """The same of an answer without any sign, whose words alone must show it."""
    of_questions: float
    """The same of an answer that seems to ask back."""
    of_answers: float
    """The same of an answer that tells something besides, as patterns see it."""
    of_patterns: float
    """The same of an answer that declines as patterns see it."""
    of_long_answers: float
    """At least that of an answer of more than ``LONG`` characters."""


class _Families:
    """Words by meaning: which families the words of a folded text belong to, clause by clause."""

    def __init__(self, families: Mapping[str, str]) -> None:
        self._of: dict[str, set[str]] = {}
        self._of_stems: dict[str, set[str]] = {}
        for name, text in families.items():
            for word in folded_with_places(text)[0].replace("|", " ").split():
                found = self._of_stems if word.endswith("*") else self._of
                found.setdefault(word.rstrip("*").replace("_", " "), set()).add(name)
        self._longest_stem = max(map(len, self._of_stems))
        self._longest_run = max(len(word) for word in self._of if _CHARACTERS.match(word))
        self._of_word = lru_cache(maxsize=_REMEMBERED)(self._looked_up)

    def _looked_up(self, word: str) -> frozenset[str]:
        ends = range(_LEAST_STEM, min(len(word), self._longest_stem) + 1)
        return frozenset(self._of.get(word, ())).union(*(self._of_stems.get(word[:end], ()) for end in ends))

    def in_clause(self, clause: str) -> list[frozenset[str]]:
        """Return the families of each word, Chinese or not, in its order."""
        found: list[frozenset[str]] = []
        before, farther = "", ""
        for token in _TOKEN.findall(clause):
            if _CHARACTERS.match(token):
                found += self._in_run(token)
                before = farther = ""
                continue
            phrases = (token, f"{before} {token}", f"{farther} {before} {token}")
            found.append(self._of_word(token).union(*(self._of.get(each, ()) for each in phrases[1:])))
            before, farther = token, before
        return found

    def _in_run(self, run: str) -> Iterator[frozenset[str]]:
        """Yield the families of the longest words that follow each other in a run of Chinese characters."""
        at = 0
        while at < len(run):
            lengths = range(min(self._longest_run, len(run) - at), 0, -1)
            length = next((n for n in lengths if run[at : at + n] in self._of), 0)
            yield frozenset(self._of.get(run[at : at + length], ()))
            at += length or 1


class _Cues:
    """The signs, compiled for each language when a text of it comes."""

    def __init__(self) -> None:
        from rag_evaluation_framework.files.yaml_documents import decode  # only who classifies waits for it

        data = decode(files(__package__).joinpath("data", "declining_cues.yaml").read_bytes())
        self.version: int = data["version"]
        self._words: dict[str, str] = {}
        for name, text in data["words"].items():
            self._words[name] = self._written_out(text)
        self._lines = {part: data[part] for part in ("answer", "question")}
        self.families = _Families(data["families"])

    def _written_out(self, text: str) -> str:
        return _NAMED.sub(lambda match: self._words[match[1]], text)

    @cache  # noqa: B019 - there is one of these
    def of(self, part: str, chinese: bool) -> dict[str, re.Pattern[str]]:
        """Return the signs of answers or of questions in one language, by kind."""
        found = {}
        for name, lines in self._lines[part].items():
            own = [line for line in lines.split("\n") if bool(_IS_CHINESE.search(line)) == chinese]
            if own:
                found[name] = re.compile("|".join(f"(?:{self._written_out(line)})" for line in own))
        return found

    def names(self, part: str) -> tuple[str, ...]:
        return tuple(self._lines[part])

    def matches(self, part: str, text: str) -> dict[str, re.Match[str]]:
        """Return the first match of every sign that a text has."""
        found: dict[str, re.Match[str]] = {}
        for chinese in (False, True):
            if (_CHARACTERS if chinese else _LETTERS).search(text):
                for name, expression in self.of(part, chinese).items():
                    if name not in found and (match := expression.search(text)):
                        found[name] = match
        return found


@cache
def cues() -> _Cues:
    """Return the signs; they are read once."""
    return _Cues()


@cache
def declining_model() -> DecliningModel:
    """Return the model that ships; it is read once."""
    packed = files(__package__).joinpath("data", "declining_weights.json.gz").read_bytes()
    return DecliningModel(**json.loads(gzip.decompress(packed)))


@dataclass(frozen=True, slots=True)
class Signs:
    """What a folded answer to a folded question shows: numbers by name, and where the signs stand in it."""

    values: Mapping[str, float]
    places: Mapping[str, tuple[int, int]]


def signs_of(answer: str, question: str) -> Signs:
    """Return the signs of a folded answer to a folded question."""
    text = answer
    if not _QUOTED_WHOLE.fullmatch(answer):
        text = _QUOTATION.sub(lambda match: " " * len(match[0]), answer)
    spans = [match.span() for match in _SENTENCE.finditer(text) if _WORD.search(match[0])] or [(0, len(text))]
    sentences = [text[start:end].strip() for start, end in spans]
    found, places = [], dict[str, tuple[int, int]]()
    for (start, end), sentence in zip(spans, sentences, strict=True):
        matches = cues().matches("answer", text[start:end])
        if _OTHERS.search(sentence) and not _SPEAKER.search(sentence):
            matches = {name: match for name, match in matches.items() if name not in _NOT_OF_OTHERS}
        matches = {name: each for name, each in matches.items() if not _is_asked(each[0], question)}
        found.append(frozenset(matches))
        for name, match in matches.items():
            places.setdefault(name, (start + match.start(), start + match.end()))
    values = _of_sentences(sentences, found)
    values |= _of_whole(answer, text, question, sentences)
    values["third"] = float(any(map(_OTHERS.search, sentences)))
    values |= _of_question(text, question, sentences, values)
    bare = 1 - values["plain_share"]
    values["expert*bare"], values["redirect*bare"] = values["expert"] * bare, values["redirect"] * bare
    return Signs(values, places)


def _is_asked(text: str, question: str) -> bool:
    """Tell whether words stand in the question too, and so prove nothing; a mere "not" is common to all."""
    return len(text) >= _LEAST_ECHO and text.strip() in question


def _of_sentences(sentences: Sequence[str], found: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return which signs there are, in which sentence, and how much is said without any."""
    every = frozenset[str]().union(*found)
    values: dict[str, float] = {}
    for name in cues().names("answer"):
        values[name] = float(name in every)
        values[f"{name}@first"] = float(name in found[0])
        values[f"{name}@last"] = float(len(found) > 1 and name in found[-1])
    core = [not _CORE.isdisjoint(each) for each in found]
    own = [not _OF_THE_SPEAKER.isdisjoint(each) for each in found]
    counts = [len(_WORD.findall(sentence)) for sentence in sentences]
    first = core.index(True) if any(core) else len(core)
    plain = sum(
        count
        for sentence, each, count in zip(sentences, found, counts, strict=True)
        if _CORE.isdisjoint(each) and _LEADS_AWAY.isdisjoint(each) and "?" not in sentence
    )
    total = max(sum(counts), 1)
    return {
        **values,
        "before": math.log1p(sum(counts[:first])) / 3 if any(core) else 0.0,
        "after": math.log1p(
            sum(n for n, is_core in list(zip(counts, core, strict=True))[first + 1 :] if not is_core)
        )
        / 3,
        "first_core": float(core[0]),
        "last_core": float(core[-1]),
        "core_share": sum(core) / len(core),
        "kinds": math.log1p(len(every & _CORE)),
        "me_share": sum(own) / len(own),
        "first_me": float(own[0]),
        "last_me": float(own[-1]),
        "not_share": sum("negated" in each for each in found) / len(found),
        "length": math.log1p(total) / 3,
        "plain": math.log1p(plain) / 3,
        "plain_share": plain / total,
        "short": float(total <= _SCRAP),
        "brief": float(total <= _BRIEF),
    }


def _of_whole(answer: str, text: str, question: str, sentences: Sequence[str]) -> dict[str, float]:
    """Return what shows that something is told: figures, steps, a yes or a no at once, code, quotations."""
    numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(question))
    instructions = [float(_INSTRUCTION.match(sentence) is not None) for sentence in sentences]
    return {
        "numbers": math.log1p(len(numbers)),
        "asks_at_end": float(sentences[-1].endswith("?")),
        "answers_at_once": float(_AT_ONCE.match(text) is not None),
        "quotes": float(text != answer),
        "code": float("`" in answer),
        "imperative": sum(instructions) / len(instructions),
        "imperative@first": instructions[0],
        "steps": float(_STEPS.search(answer) is not None),
    }


def _of_question(
    text: str, question: str, sentences: Sequence[str], values: Mapping[str, float]
) -> dict[str, float]:
    """Return what the question asks for, and what a sign counts as a reply to that."""
    if not question:
        return {}
    asked = cues().matches("question", question)
    yes_or_no, is_open = _YES_OR_NO.search(question), _OPEN_QUESTION.search(question)
    is_command = bool(_COMMAND.search(question)) or not (
        yes_or_no or is_open or question.rstrip().endswith("?")
    )
    command, yes_no = float(is_command), float(yes_or_no is not None and not is_command)
    found = {f"q_{name}": float(name in asked) for name in cues().names("question")}
    bad = float(any(name in asked for name in ("harm", "self_harm", "misuse")))
    keys, first_keys = set(content_keys(question)), set(content_keys(sentences[0]))
    leads_away = values["moral"] + values["offer"] + values["care"] + values["shrug"] > 0
    return {
        **found,
        "asked": 1.0,
        "q_command": command,
        "q_yes_no": yes_no,
        "q_bad": bad,
        "q_wrong": float(bool(bad) or "private" in asked or "opinion" in asked),
        "overlap": len(keys.intersection(content_keys(text))) / max(len(keys), 1),
        "first_overlap": len(keys & first_keys) / max(len(keys), 1),
        "bad*moral": bad * values["moral"],
        "bad*offer": bad * values["offer"],
        "bad*soft": bad * float(leads_away),
        "bad*short": bad * values["brief"],
        "bad*plain": bad * values["plain"],
        "self*care": found["q_self_harm"] * values["care"],
        "command*not": command * values["negated"],
        "command*offer": command * values["offer"],
        "command*core": command * values["core_share"],
        "command*me": command * values["me_not"],
        "command*plain": command * values["plain_share"],
        "yes_no*not": yes_no * values["negated"],
        "yes_no*core": yes_no * values["core_share"],
        "advice*expert": found["q_advice"] * values["expert"] * (1 - values["plain_share"]),
        "live*capability": found["q_live"] * values["capability"],
        "private*private": found["q_private"] * values["private"],
        "opinion*me": found["q_opinion"] * values["me_share"],
        "future*unknowable": found["q_future"] * values["unknowable"],
        "denial*core": found["q_denial"] * values["core_share"],
        "denial*me": found["q_denial"] * values["me_not"],
        "document*search": found["q_document"] * values["search"],
    }


def words_of(answer: str, question: str) -> set[str]:
    """Return the words of a folded answer, with neighbours and families, and those of the question."""
    words = _LETTERS.findall(answer)
    asked = (*_LETTERS.findall(question), *_pairs(question), *_CHARACTER.findall(question))
    return {
        *words,
        *map("_".join, pairwise(words)),
        *_pairs(answer),
        *_CHARACTER.findall(answer),
        *(f"?{word}" for word in asked),
        *_families_of(answer),
        *(f"?{name}" for name in _families_of(question)),
    }


def _families_of(text: str) -> set[str]:
    """Return the families that the words of a text belong to; a phrase does not go beyond its clause."""
    clauses = _CLAUSE.findall(text)
    return {
        f"{FAMILY}{name}" for clause in clauses for each in cues().families.in_clause(clause) for name in each
    }


def _pairs(text: str) -> list[str]:
    """Return the pairs of neighbouring Chinese characters."""
    return [run[at : at + 2] for run in _CHARACTERS.findall(text) for at in range(len(run) - 1)]


def declining(answer: str, question: str) -> Declining:
    """Return how sure it is that a folded answer to a folded question declines.

    >>> declining("next question?", "who will win?").probability > 0.5
    True
    """
    model, signs = declining_model(), signs_of(answer, question)
    odds = model.bias + sum(model.signs.get(name, 0.0) * value for name, value in signs.values.items())
    odds += sum(model.words.get(word, 0.0) for word in words_of(answer, question))
    unknowing = sum(model.unknowing.get(name, 0.0) * value for name, value in signs.values.items())
    unknowing += model.unknowing.get("bias", 0.0)
    weights = {name: _weight(model, name, signs.values) for name in signs.places if name != "negated"}
    sign = max(weights, key=weights.__getitem__, default="")
    start, end = signs.places.get(sign, (0, len(answer.rstrip())))
    return Declining(
        1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))),
        "dont_know" if unknowing > 0 else "refused",
        sign,
        start,
        end,
    )


def _weight(model: DecliningModel, name: str, values: Mapping[str, float]) -> float:
    return sum(model.signs.get(each, 0.0) * values[each] for each in (name, f"{name}@first", f"{name}@last"))
