"""Rules on trial: what each hand-written rule gains on labelled sets that its author did not look at.

A rule is switched off by putting a form that does nothing in the place of a function. Its gain on a set is
the set's figure with the rule less the figure without it, on the same items, with the interval of a paired
bootstrap over sources. A rule stays while its mean gain over every set of the kinds it can touch is at least
.01 and no set loses more than .01. Choose rules by name: ``python -m benchmarks.ablations courtesies``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks._labelled_data import DATA
from benchmarks._refusals import SYSTEMS, completion_rows
from benchmarks._trial_sets import Scored, TrialSet, trial_sets
from rag_evaluation_framework.judging.answer_classes import AnswerPatterns, answer_patterns, classify_answer
from rag_evaluation_framework.judging.answer_verdicts import Told
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


def _plain_telling(text: str, question: str) -> list[Token]:
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


RULES = (
    Rule("said text", {"said_in": without_citations}, ("support",)),
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
    Rule("stances", {"stance_at": _always("stated"), "asks_for_denied": _always(False)}, GOLDEN),
    Rule("clause denials", {"denies_asked": _always(False), "is_denied": _always(False)}, NAMED_AND_TOLD),
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


def _function(name: str) -> Any:
    """Return the function of this name where it is written; one with a point before it tells the module."""
    place, _, last = name.rpartition(".")
    (found,) = [
        vars(module)[last]
        for module in _modules()
        if module.__name__.startswith(PACKAGE)
        and module.__name__.endswith(place)
        and getattr(vars(module).get(last), "__module__", None) == module.__name__
    ]
    return found


@contextmanager
def switched_off(off: Mapping[str, Any]) -> Iterator[None]:
    """Put other functions in the place of those named, wherever they were imported to."""
    changed: list[tuple[ModuleType, str, Any]] = []
    for name, other in off.items():
        rule = _function(name)
        for module in _modules():
            for found, value in list(vars(module).items()):
                if value is rule:
                    changed.append((module, found, value))
                    setattr(module, found, other)
    _forget()
    try:
        yield
    finally:
        for module, found, value in changed:
            setattr(module, found, value)
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
