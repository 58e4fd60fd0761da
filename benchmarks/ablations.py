"""Rules on trial: what each hand-written rule gains on labelled sets that its author did not look at.

A rule is switched off by putting a form that does nothing in the place of a function. Its gain on a set is
the set's figure with the rule less the figure without it, on the same items, with the interval of a paired
bootstrap over sources. A rule stays while its mean gain over every set of the kinds it can touch is at least
.01 and no set loses more than .01. Choose rules by name: ``python -m benchmarks.ablations courtesies``.
"""

from __future__ import annotations

import math
import re
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace

from benchmarks._labelled_data import DATA
from benchmarks._refusals import SYSTEMS, completion_rows
from benchmarks._trial_sets import VALUES, Scored, TrialSet, trial_sets
from rag_evaluation_framework.judging import mentions, reference_words, relations
from rag_evaluation_framework.judging.answer_classes import (
    AnswerPattern,
    AnswerPatterns,
    answer_patterns,
    besides,
    classify_answer,
)
from rag_evaluation_framework.judging.answer_verdicts import Told
from rag_evaluation_framework.judging.claim_features import Record
from rag_evaluation_framework.judging.lexical_support import _FEATURES, SupportModel, shipped_model
from rag_evaluation_framework.judging.mentions import is_negated, is_stated
from rag_evaluation_framework.judging.relations import RelationReading, words_of_relation
from rag_evaluation_framework.judging.turn_matching import TurnMatch
from rag_evaluation_framework.records.citations import without_citations
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.text.normalisation import comparable, variants
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.sentences import SENTENCE_END
from rag_evaluation_framework.text.tokens import Token, content_keys, pieces
from rag_evaluation_framework.text.vocabulary import PARTICLES, STOP_WORDS, stem

PACKAGE = "rag_evaluation_framework"
LEAST_GAIN = MOST_LOSS = 0.01
RESAMPLES = 500

TURNS = ("turns", "replies")
NAMED_AND_TOLD = ("entities", "milestones", *TURNS)
GOLDEN = (*NAMED_AND_TOLD, "relations")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its functions by name, what does nothing in the place of each, and what it can touch."""

    name: str
    off: Mapping[str, Any]
    kinds: tuple[str, ...]


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _told_as_said(sample: Any, answer: str) -> Told:
    return Told(answer)


def _key(word: str) -> str:
    return stem(word.removesuffix("'s"))


def _plain_telling(text: str) -> list[Token]:
    return [piece for piece in pieces(text) if piece.text not in STOP_WORDS and piece.text not in PARTICLES]


def _plain_shared(wanted: Sequence[Token], text: str, agrees: Any = None) -> set[Token]:
    known = {_key(piece.text) for piece in pieces(text)}
    return {piece for piece in wanted if _key(piece.text) in known}


def _keys(text: str) -> set[str]:
    numbers = {f"{value:g}" for number in quantities(text) for value in number.values}
    return {*content_keys(text), *numbers}


def _plain_match(
    answer: str, reference: str, question: str = "", *, before: Sequence[str] = ()
) -> TurnMatch | None:
    """Match by the share of a reference's stems, pairs of characters and numbers beyond the question's."""
    said, found = _keys(answer), []
    for text in variants(reference):
        every = _keys(text)
        known = _keys(question).union(*map(_keys, before))
        if wanted := every - known or every - _keys(question) or every:
            found.append(TurnMatch(len(wanted & said) / len(wanted), (), ()))
    return max(found, key=lambda match: match.value, default=None)


def _plain_relation(
    answer: str, triple: tuple[str, str, str], *, question: str = "", reference: str = ""
) -> RelationReading:
    """Read a relation where a sentence that denies nothing has one of its words; neither way round."""
    said, asked = comparable(answer), comparable(question)
    ends = [is_stated(said, name) or is_stated(asked, name) for name in (triple[0], triple[2])]
    ways = words_of_relation(triple[1])
    expressed = any(
        next(way.found_in(sentence), None) is not None
        for sentence in SENTENCE_END.split(said)
        if not is_negated(sentence)
        for way in ways
    )
    return RelationReading(ends[0], ends[1], expressed, "mutual" if expressed else "not told")


NEVER = re.compile("(?!)")
SUPPORT = ("support", "claims", "plants", "citations")
WORDS = ("correctness", *VALUES)
VALUE_VERDICTS = tuple(f"{each}: verdicts" for each in VALUES)
VERDICTS = ("verdicts", *VALUE_VERDICTS)
REFUSALS = ("refusals",)
CLASSES = ("classes", "refusals")
CITATIONS, PROFANITY = ("citations",), ("profanity",)


def _same(text: str) -> str:
    return text


def _one_unit(self: Any, held: Sequence[int], counts: Sequence[int], found: int) -> int:
    return max(counts)


def _withholds_nothing(facts: Any) -> Record:
    return Record(frozenset(), frozenset())


def _compared_as_words(said: str, reference: str, question: str, contexts: Sequence[str]) -> Any:
    return reference_words._compare(said, [reference], question, contexts)


def _without(name: str) -> Callable[[], SupportModel]:
    """Return the model without the weight of a feature, or without least odds."""
    model = shipped_model()
    other = (
        replace(model, least_odds=-math.inf)
        if name == "least_odds"
        else replace(model, weights={**model.weights, name: 0.0})
    )
    return lambda: other


def _besides_but(name: str) -> Callable[[str], re.Pattern[str]]:
    kept = {each: besides(each) for each in answer_patterns().besides} | {name: NEVER}
    return kept.__getitem__


def _patterns_but(pattern: AnswerPattern) -> Callable[[], AnswerPatterns]:
    """Return the patterns, none of whose expressions is tried of one pattern."""
    known = answer_patterns()
    dropped = set(pattern.expressions)
    by_cue = {cue: tried - dropped for cue, tried in known.by_cue.items()}
    kept = replace(known, by_cue=by_cue, always=known.always - dropped)
    return lambda: kept


def _phrases_but(name: str) -> Callable[[], dict[str, str]]:
    """Return the phrases, of which one stands for nothing."""
    written = mentions.data_file

    def read() -> dict[str, str]:
        with patch.object(mentions, "data_file", lambda file: {**written(file), name: "(?!)"}):
            return mentions.written_out("phrases.yaml", mentions._GIVEN)

    return read


def _plainly_standing(brackets: Sequence[Any], sentences: Sequence[Any], answer: str) -> Iterator[Any]:
    """Yield each bracket with the last sentence that begins before it."""
    for each in brackets:
        yield each, max(bisect_right([one.begin for one in sentences], each.start) - 1, 0)


def _share_of(total: int, allowed: float) -> int:
    return int(total * allowed)


def _frames_but(name: str, left_out: int) -> Callable[[str], list[re.Pattern[str]]]:
    known = {each: list(relations._frames(each)) for each in FRAMES}
    known[name][left_out] = NEVER
    return known.__getitem__


def _relations_but(left_out: str) -> Callable[[str], Any]:
    """Return the relations without a word, in whatever list it stands but the names."""
    written = mentions.data_file

    def read(file: str) -> Any:
        entries = written(file)
        if file == "relations.yaml":
            for words in (words for each in entries for key, words in each.items() if "names" not in key):
                words[:] = [word for word in words if word != left_out]
        return entries

    return read


FRAMES = ("frames", "frames_of_both")


def _relation_words() -> list[str]:
    entries = mentions.data_file("relations.yaml")
    lists = (words for entry in entries for key, words in entry.items() if "names" not in key)
    return list(dict.fromkeys(chain.from_iterable(lists)))


RULES = (
    Rule("said text", {"said_in": without_citations}, ("support", "citations")),
    Rule(
        "answers besides: all of it",
        {
            "goes_on_to_answer": _always(False),
            "answers_before": _always(False),
            "takes_up_the_question": _always(True),
        },
        ("classes",),
    ),
    Rule("… goes on to answer", {"goes_on_to_answer": _always(False)}, ("classes",)),
    Rule("… answers before", {"answers_before": _always(False)}, ("classes",)),
    Rule("… takes up the question", {"takes_up_the_question": _always(True)}, ("classes",)),
    Rule("… takes up the question (never)", {"takes_up_the_question": _always(False)}, ("classes",)),
    Rule("stances", {"denies_at": _always(False), "asks_for_denied": _always(False)}, GOLDEN),
    Rule("clause denials", {"denies_key": _always(False)}, NAMED_AND_TOLD),
    Rule("yes or no", {"asks_yes_or_no": _always(False), "reply_in": _always(None)}, ("replies",)),
    Rule(
        "shared pieces",
        {
            "telling": _plain_telling,
            "shared": _plain_shared,
            "with_numbers": lambda found, wanted, text: found,
        },
        ("entities", *TURNS),
    ),
    Rule("turn matching: plain recall", {"match_reference": _plain_match}, TURNS),
    Rule("relation frames, relation clauses", {"read_relation": _plain_relation}, ("relations",)),
    Rule("relation words", {"relations._table": _always(({}, []))}, ("relations",)),
    Rule("told answers", {"told_in": _told_as_said}, GOLDEN),
    Rule("numbers as values", {"even_text": comparable}, NAMED_AND_TOLD),
    Rule("clock times", {"with_clock_times": lambda found, text: found}, ("support", "claims", *TURNS)),
    Rule("a source list is no claim", {"claims.without_source_list": _same}, SUPPORT),
    Rule("grammar and courtesies claim nothing", {"claims._has_content": _always(True)}, SUPPORT),
    Rule("announcements claim nothing", {"claims._ANNOUNCEMENT": NEVER}, SUPPORT),
    Rule("list markers are no claim", {"claims._LEAD": NEVER}, SUPPORT),
    Rule("questions claim nothing", {"claims._ENDS_AS_QUESTION": NEVER}, SUPPORT),
    Rule("records are read", {"structured_evidence.is_structured": _always(False)}, SUPPORT),
    Rule("lines of keys are read", {"structured_evidence._is_lines": _always(False)}, SUPPORT),
    Rule("records withhold", {"claim_features._withheld": _withholds_nothing}, SUPPORT),
    *(Rule(f"weight of {name}", {"shipped_model": _without(name)}, SUPPORT) for name in _FEATURES),
    Rule("additions have least odds", {"shipped_model": _without("least_odds")}, SUPPORT),
    Rule("a second unit", {"key_places.KeyPlaces._most_of_two": _one_unit}, SUPPORT),
    Rule(
        "names and words that are added",
        {"claim_features.EvidenceBody._adds_a_name_or_words": _always(False)},
        SUPPORT,
    ),
    Rule("numbers of others", {"claim_features.EvidenceBody.numbers_of_others": _always(())}, SUPPORT),
    Rule("edits", {"claim_features.EvidenceBody.edits": _always(())}, SUPPORT),
    Rule("Chinese junctures", {"claim_features.without_junctures": lambda tokens, known: tokens}, SUPPORT),
    Rule("fractions and spellings", {"reference_match._FRACTIONS": []}, WORDS),
    Rule("written in one way", {"reference_match._REWRITTEN": []}, WORDS),
    Rule("Chinese digits", {"reference_match._DIGIT": NEVER}, WORDS),
    Rule("joining words", {"reference_match._JOINING": frozenset()}, WORDS),
    Rule("near spellings", {"reference_match._shortened": _always(frozenset())}, WORDS),
    Rule("amounts with units", {"reference_match._amount": _always((None, 1))}, WORDS),
    Rule("denials of one claim", {"reference_match._DENIAL": NEVER}, WORDS),
    Rule("with and without", {"reference_match._Told.denies": _always(False)}, WORDS),
    Rule("contrary numbers", {"reference_match._has_contrary": _always(False)}, WORDS),
    Rule("dates", {"reference_match._DATES": {}}, WORDS),
    Rule("Chinese parts", {"reference_match._HAN_PART": NEVER}, WORDS),
    Rule("own yes or no of answers", {"compare_replies": _always(None)}, WORDS),
    Rule("either of A/B", {"variants": lambda text: [text]}, (*WORDS, *GOLDEN)),
    Rule("the reference itself", {"is_the_reference": _always(False)}, WORDS),
    Rule("verdicts: doubt", {"reference_words._find_doubt": _always(None)}, VERDICTS),
    Rule("verdicts: left open", {"reference_words._LEFT_OPEN": NEVER}, VERDICTS),
    Rule("verdicts: reserves", {"reference_words._find_reserve": _always(None)}, VERDICTS),
    Rule("verdicts: without takes nothing back", {"reference_words._WITHOUT": NEVER}, VERDICTS),
    Rule("verdicts: limits", {"exceeds_limits": _always(None)}, VERDICTS),
    Rule("verdicts: copied passages", {"reference_words._is_copied": _always(False)}, VERDICTS),
    Rule("verdicts: second values", {"reference_words._find_second_value": _always(None)}, VERDICTS),
    Rule("verdicts: joined values", {"reference_words._joined_values": _always(())}, VERDICTS),
    Rule("verdicts: words of every claim", {"reference_words._has_words": _always(False)}, VERDICTS),
    Rule("verdicts: contradictions", {"reference_words._find_contradiction": _always(None)}, VERDICTS),
    Rule("verdicts: contrary numbers", {"reference_words._find_contrary_number": _always(None)}, VERDICTS),
    Rule("verdicts: reverses", {"reference_words._is_reverse": _always(False)}, VERDICTS),
    Rule("verdicts: parts", {"reference_words._is_part": _always(False)}, VERDICTS),
    Rule("verdicts: near numbers", {"reference_words._is_near": _always(False)}, VERDICTS),
    Rule("verdicts: numerals go on", {"reference_words._NUMERAL_GOES_ON": NEVER}, VERDICTS),
    Rule("verdicts: replies", {"reference_words._compare_reply": _compared_as_words}, VERDICTS),
    Rule("verdicts: numbers by value", {"reference_words._even": lambda text: text}, VERDICTS),
    Rule("complies by its beginning", {"besides": _besides_but("complies")}, REFUSALS),
    *(
        Rule(f"besides: {name}", {"besides": _besides_but(name)}, (*REFUSALS, "classes"))
        for name in answer_patterns().besides
    ),
    Rule("plainly complies", {"answer_evidence.AnswerEvidence._plainly_complies": False}, REFUSALS),
    Rule(
        "answers without support",
        {"answer_evidence.AnswerEvidence._answers_without_support": False},
        REFUSALS,
    ),
    Rule("new numbers", {"answer_evidence.AnswerEvidence._has_new_number": _always(False)}, REFUSALS),
    Rule("told besides refusing", {"told_besides_refusing": _always(())}, REFUSALS),
    Rule("begins with the answer", {"answer_classes._begins_with_the_answer": _always(False)}, CLASSES),
    Rule("words before", {"answer_classes._words_before": _always(0)}, CLASSES),
    Rule("quotations", {"answer_classes._FoldedAnswer.quotes": _always(False)}, CLASSES),
    *(
        Rule(f"pattern: {pattern.name}", {"answer_classes._read_patterns": _patterns_but(pattern)}, CLASSES)
        for pattern in answer_patterns().patterns
    ),
    *(
        Rule(f"phrase: {name}", {"mentions._phrases": _phrases_but(name)}, (*GOLDEN, *VERDICTS))
        for name in mentions.data_file("phrases.yaml")
    ),
    Rule("citations: lines", {"citation_support._standing_at": _plainly_standing}, CITATIONS),
    Rule("citations: no sentence", {"citation_support._NO_SENTENCE": NEVER}, CITATIONS),
    Rule("citations: announcements", {"citation_support._ANNOUNCES": NEVER}, CITATIONS),
    Rule("citations: each place once", {"each_once": list}, CITATIONS),
    Rule("cascade: holds on a source left out", {"cascade._holds": _always(True)}, ("cascade",)),
    Rule("cascade: upper bounds", {"cascade._most_wrong": _share_of}, ("cascade",)),
    Rule("swear words: endings", {"profanity._ENDINGS": ()}, PROFANITY),
    Rule("swear words: letters", {"profanity._LETTERS": {}}, PROFANITY),
    Rule("swear words: stars", {"profanity._is_masked": _always(False)}, PROFANITY),
    Rule("swear words: spelled out", {"profanity._SPELT_OUT": NEVER}, PROFANITY),
    Rule("swear words: Chinese in their place", {"profanity._IN_THEIR_PLACE": NEVER}, PROFANITY),
    *(
        Rule(f"{name} {place}", {"relations._frames": _frames_but(name, place)}, ("relations",))
        for name in FRAMES
        for place in range(len(relations._frames(name)))
    ),
    *(
        Rule(f"relation word: {word}", {"relations.data_file": _relations_but(word)}, ("relations",))
        for word in _relation_words()
    ),
)


def _modules() -> list[ModuleType]:
    prefixes = (PACKAGE, "benchmarks")
    return [module for name, module in sys.modules.items() if name.startswith(prefixes)]


def _forget() -> None:
    """Empty what functions of the package have remembered."""
    for module in _modules():
        for value in list(vars(module).values()):
            if callable(forget := getattr(value, "cache_clear", None)):
                forget()


def _place(name: str) -> tuple[Any, str]:
    """Return where something is written: ``function``, ``module.function``, ``module.CONSTANT``,
    ``module.Class.method``.
    """
    *path, last = name.split(".")
    ours = [each for each in _modules() if each.__name__.startswith(PACKAGE)]
    if path:
        (holder,) = [each for each in ours if each.__name__.endswith(f".judging.{path[0]}")]
        return (getattr(holder, path[1]) if path[1:] else holder), last
    (holder,) = [each for each in ours if getattr(vars(each).get(last), "__module__", None) == each.__name__]
    return holder, last


@contextmanager
def switched_off(off: Mapping[str, Any]) -> Iterator[None]:
    """Put other functions in the place of those named, wherever they were imported to."""
    changed: list[tuple[Any, str, Any]] = []
    for name, other in off.items():
        holder, last = _place(name)
        rule = vars(holder)[last]
        holders = _modules() if isinstance(holder, ModuleType) else [holder]
        for each in holders:
            for found, value in list(vars(each).items()):
                if value is rule and (callable(rule) or found == last):
                    changed.append((each, found, value))
                    setattr(each, found, other)
    _forget()
    try:
        yield
    finally:
        for each, found, value in changed:
            setattr(each, found, value)
        _forget()


@dataclass(frozen=True, slots=True)
class Gain:
    """What a rule gains on a set, drawn again and again for the interval."""

    set_name: str
    n: int
    on: float
    off: float
    changed: int
    drawn: np.ndarray

    @property
    def value(self) -> float:
        return self.on - self.off


def gain(each: TrialSet, on: Sequence[Scored], off: Sequence[Scored]) -> Gain:
    """Compare a set's figures on the same items, resampling whole sources."""
    labels = [item.label for item in on]
    with_rule, without = ([item.score for item in items] for items in (on, off))
    changed = sum(one != other for one, other in zip(with_rule, without, strict=True))
    values = each.measure(labels, with_rule), each.measure(labels, without)
    if not changed:
        return Gain(each.name, len(on), *values, 0, np.zeros(RESAMPLES))
    rng, positive = generator(0), np.asarray(labels, dtype=bool)
    _, source_of = np.unique(np.asarray([item.source for item in on]), return_inverse=True)
    count = int(source_of.max()) + 1
    drawn: list[float] = []
    while len(drawn) < RESAMPLES:
        weights = np.bincount(rng.integers(0, count, count), minlength=count)[source_of].astype(np.float64)
        if weights[positive].any() and weights[~positive].any():
            difference = each.measure(labels, with_rule, weights) - each.measure(labels, without, weights)
            drawn.append(difference)
    return Gain(each.name, len(on), *values, changed, np.asarray(drawn))


def gains_of(
    off: Mapping[str, Any], sets: Sequence[TrialSet], scored: Mapping[str, list[Scored]]
) -> list[Gain]:
    """Return what a rule gains on each set."""
    with switched_off(off):
        without = {each.name: each.scored() for each in sets}
    return [gain(each, scored[each.name], without[each.name]) for each in sets]


def verdict(gains: Sequence[Gain]) -> str:
    """Say whether a rule stays."""
    mean = float(np.mean([each.value for each in gains]))
    return "stays" if mean >= LEAST_GAIN and min(each.value for each in gains) >= -MOST_LOSS else "goes"


def row(name: str, gains: Sequence[Gain]) -> str:
    """Return the line of the table for a rule."""
    mean = float(np.mean([each.value for each in gains]))
    low, high = np.quantile(np.mean([each.drawn for each in gains], axis=0), [0.025, 0.975]).tolist()
    worst, best = (choose(gains, key=lambda each: each.value) for choose in (min, max))
    changed = sum(each.changed > 0 for each in gains)
    return (
        f"{name:<36}{len(gains):>4}{changed:>9}{mean:>+8.3f}  {f'{low:+.3f} to {high:+.3f}':<18}"
        f"{worst.value:>+7.3f} {worst.set_name:<40}{best.value:>+7.3f} {best.set_name:<40}{verdict(gains)}"
    )


def tried(rules: Iterable[Rule], sets: Sequence[TrialSet]) -> Iterator[tuple[Rule, list[Gain]]]:
    """Yield each rule with its gains on the sets that it can touch."""
    rules = list(rules)
    kinds = set(chain.from_iterable(rule.kinds for rule in rules))
    scored = {each.name: each.scored() for each in sets if each.kind in kinds}
    for rule in rules:
        yield rule, gains_of(rule.off, [each for each in sets if each.kind in rule.kinds], scored)


def cues_speed_up() -> float | None:
    """Return how many times faster answers are classified by trying only patterns whose cue they have."""
    if not (DATA / "xstest").exists():
        return None
    answers = [
        (row["completion"], row["prompt"]) for system in SYSTEMS for row in completion_rows(DATA, system)
    ]

    def seconds() -> float:
        began = time.process_time()
        for answer, question in answers:
            classify_answer(answer, question)
        return time.process_time() - began

    every = {each for pattern in answer_patterns().patterns for each in pattern.expressions}
    with_cues = min(seconds() for _ in range(3))
    worth_trying = AnswerPatterns.worth_trying
    AnswerPatterns.worth_trying = lambda self, text: every  # type: ignore[method-assign]
    try:
        return min(seconds() for _ in range(3)) / with_cues
    finally:
        AnswerPatterns.worth_trying = worth_trying  # type: ignore[method-assign]


def main(chosen: Sequence[str] = ()) -> None:
    sets = trial_sets(DATA)
    rules = [rule for rule in RULES if not chosen or any(name in rule.name for name in chosen)]
    print(f"{'rule':<36}{'sets':>4}{'changed':>9}{'mean':>8}  {'95 % interval':<18}{'worst set':<48}best set")
    if not chosen and (times := cues_speed_up()):
        print(f"{'pattern cues':<36}classification is {times:.1f} times as fast with them")
    for rule, gains in tried(rules, sets):
        print(row(rule.name, gains), flush=True)
        if chosen:
            for each in gains:
                if each.changed:
                    print(
                        f"    {each.set_name:<44}{each.n:>6}{each.changed:>6}{each.on:>8.3f}{each.off:>8.3f}"
                        f"{each.value:>+8.3f}"
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
