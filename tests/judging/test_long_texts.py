"""Every metric and the verdict take time and memory in proportion to a text, whatever stands in it.

Four times as long a text takes about four times as long. Thirteen shapes of text are tried here, all of them
in every role by ``make soak``.
"""

from __future__ import annotations

import contextlib
import gc
import math
import random
import string
import subprocess
import sys
from collections.abc import Callable
from itertools import count, product
from time import process_time
from typing import Any

import pytest

from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import Entities, InputError, Milestones, Relation, Sample, Turn, evaluate
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.records.samples import Recorded
from sizes import LONG

SHORT, MOST_TIMES, LEAST_SECONDS, TRIES = 20_000, 6, 0.05, 3
MOST_MIB = 200

QUESTION, REFERENCE = "Who is the mayor of Kell?", "The mayor of Kell is Mara Tobin, and 12 boats are there."
CONTEXTS = (
    "The mayor of Kell is Mara Tobin [1]. There are 12 boats.",
    "Kell is a town by the sea. 闻伯是师父。",
)

Shape = Callable[[random.Random, int], str]
"""One piece of a text; those of another number are other ones."""


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 9)))


def _sentence(chance: random.Random) -> str:
    return " ".join(_word(chance) for _ in range(9)).capitalize()


def _chinese(chance: random.Random) -> str:
    return "".join(chr(chance.randint(0x4E00, 0x5DFF)) for _ in range(12))


def _same(piece: str) -> Shape:
    return lambda chance, number: piece


def _any_of(letters: str) -> Shape:
    return lambda chance, number: "".join(chance.choices(letters, k=50))


SHAPES: dict[str, Shape] = {
    "one letter": _same("a"),
    "random letters": _any_of(string.ascii_lowercase),
    "ACGT": _any_of("ACGT"),
    "aBaB": _same("aB"),
    "digits": _any_of(string.digits),
    "numbers": _same("1, "),
    "spaces": _same(" "),
    "line ends": _same("\n"),
    "punctuation": _any_of(".,;:!?-—…()'"),
    "full stops": _same("."),
    "brackets": _same("[1"),
    "citations": _same("[1]"),
    "quotes": _same('"'),
    "from a": _same("from a "),
    "one Chinese character": _same("的"),
    "Chinese sentences": lambda chance, number: f"{_chinese(chance)}。",
    "Chinese without an end": lambda chance, number: _chinese(chance),
    "distinct sentences": lambda chance, number: f"{_sentence(chance)}. ",
    "distinct words": lambda chance, number: f"{_word(chance)} ",
    "one sentence": _same("The mayor of Kell opened the bridge. "),
    "cited sentences": lambda chance, number: f"{_sentence(chance)} [1]. ",
    "numbered citations": lambda chance, number: f"{_sentence(chance)} [{number}]. ",
    "table": lambda chance, number: f"| {_word(chance)} | {number} |\n",
    "rule of a table": _same("|---"),
    "JSON": lambda chance, number: f'{{"{_word(chance)}": "{_word(chance)}", "n": {number}}}, ',
    "open JSON": _same('{"a":'),
    "addresses": lambda chance, number: f"https://{_word(chance)}.org/{_word(chance)}?q={number} ",
    "long address": _same("a.org/"),
    "emoji": _same("👨\u200d👩\u200d👧😀"),
    "right to left": lambda chance, number: "".join(chance.choices("ابتثجحخدذرز", k=6)) + " ",
    "combining marks": _same("\u0301"),
    "accents": _same("e\u0301"),
    "list": lambda chance, number: f"- {_sentence(chance)}\n",
    "numbered list": lambda chance, number: f"{number}. {_sentence(chance)}\n",
    "fields": lambda chance, number: f"{_word(chance)}: {number}\n",
    "names": lambda chance, number: f"{_word(chance).capitalize()} ",
    "alternatives": lambda chance, number: f"{_word(chance)} or ",
    "denials": lambda chance, number: f"{_word(chance)} not ",
    "dates": _same("2020-01-01 "),
    "sums": _same("5 % $5 10:30 "),
    "Chinese numbers": _same("三点五"),  # a unit may follow each
    "nothing between ends": _same("1; "),
    "clauses": _same("that cats and dogs are "),
    "words of numbers": _same("3 one "),
    "known characters": _same("师父"),
    "other numbers": _same("10 "),
    "a clause without an end": _same("mayor of one of the towns by the sea with "),
    "words that tell nothing": _same("谁"),
}


def _text(shape: str, length: int, seed: int) -> str:
    chance, pieces, size = random.Random(seed), [], 0
    for number in count(1):
        pieces.append(SHAPES[shape](chance, number))
        size += len(pieces[-1])
        if size >= length:
            break
    return "".join(pieces)[:length]


def _sample(
    answer: str, reference: str = REFERENCE, contexts: tuple[str, ...] = CONTEXTS, **given: Any
) -> Sample:
    turns = given.pop("turns", (Turn(role="user", content=QUESTION),))
    return Sample(
        id="long",
        turns=turns,
        reference=reference,
        recorded=Recorded(answer=answer, contexts=contexts),
        reference_contexts=CONTEXTS[:1],
        **given,
    )


def _turns(answer: str) -> tuple[Turn, ...]:
    asked = Turn(role="user", content=QUESTION)
    return asked, Turn(role="assistant", content=answer, reference=REFERENCE), asked


MAYOR = Relation(subject="Mara", relation="is the mayor of", object="a")
STEPPED, STEPS = "milestones", Milestones(steps=("Mara goes to a harbor.", "She meets 12 men."))

Role = Callable[[str, str], Sample]
"""Where long texts stand: one, and another of the same shape."""

ROLES: dict[str, tuple[Role, str]] = {
    "answer": (lambda one, other: _sample(f"Mara {one} Tobin!"), ""),
    "reference": (lambda one, other: _sample("Mara Tobin.", f"Mara {one}, Tobin."), ""),
    "answer and reference": (lambda one, other: _sample(one, f"{other} Mara."), ""),
    "answer with the reference": (lambda one, other: _sample(f"Mara {other} {one}", f"Mara {one}"), ""),
    "answer with a short reference": (lambda one, other: _sample(f"{one} Mara", f"{one[:6]} Mara"), ""),
    "answer and contexts": (lambda one, other: _sample(f"Mara {one}", contexts=(one, other)), ""),
    "reference and contexts": (lambda one, other: _sample("Mara.", f"Mara {one}", (other,)), ""),
    "names": (lambda one, other: _sample(one, expectation=Entities(names=("Mara Tobin", "a"))), "entities"),
    "relation": (lambda one, other: _sample(f"Mara is the mayor. {one} Mara", expectation=MAYOR), "relation"),
    "steps": (lambda one, other: _sample(one, expectation=STEPS), STEPPED),
    "long step": (lambda one, other: _sample(one, expectation=Milestones(steps=(f"{other}!",))), STEPPED),
    "turns": (lambda one, other: _sample(one, turns=_turns(one)), "turns"),
}
USUAL = (
    ("one letter", "answer and reference"),
    ("random letters", "answer"),
    ("aBaB", "answer with a short reference"),
    ("digits", "steps"),
    ("numbers", "names"),
    ("spaces", "answer"),
    ("brackets", "answer and reference"),
    ("from a", "answer and reference"),
    ("one Chinese character", "turns"),
    ("Chinese sentences", "long step"),
    ("distinct sentences", "answer and reference"),
    ("cited sentences", "answer"),
    ("rule of a table", "relation"),
)
PAIRS = list(product(SHAPES, ROLES)) if LONG else USUAL


def _metrics(need: str) -> list[str]:
    """Return the metrics without a judge that need this, or nothing but the texts."""
    texts = {"question", "answer", "reference", "contexts", "reference_contexts", "evidence", "citations"}
    return [
        each.name
        for each in all_metrics()
        if each.method != "judge" and (need in each.needs if need else texts.issuperset(each.needs))
    ]


def _seconds(shape: str, role: str, length: int, attempt: int) -> float:
    make, need = ROLES[role]
    sample = make(_text(shape, length - attempt, seed=attempt), _text(shape, length - attempt, seed=-1))
    gc.collect()
    gc.disable()  # or a full collection falls into one of the times
    began = process_time()
    with contextlib.suppress(InputError):  # as of a reference of nothing but spaces
        evaluate([sample], metrics=_metrics(need))
    seconds = process_time() - began
    gc.enable()
    return seconds


@pytest.mark.parametrize(("shape", "role"), PAIRS)
def test_four_times_as_long_a_text_takes_about_four_times_as_long(shape: str, role: str) -> None:
    _seconds(shape, role, 100, attempt=0)  # what is loaded on first use is loaded
    short = long = math.inf
    for attempt in range(TRIES):
        long = min(long, _seconds(shape, role, 4 * SHORT, attempt))
        if long < LEAST_SECONDS:
            pytest.skip("too fast to tell")
        short = min(short, _seconds(shape, role, SHORT, attempt))
        if long < MOST_TIMES * short:
            return
    pytest.fail(f"{short:.2f} s for {SHORT:,} characters, {long:.2f} s for four times as many")


_LONG_WORD = """
import random, sys
from rag_evaluation_framework import evaluate
answer = "".join(random.Random(0).choices(sys.argv[1], k=120_000))
row = {"question": "Who is it?", "answer": answer, "reference": answer[::-1], "contexts": ["It is Mara."]}
evaluate([row], metrics=sys.argv[2:])
print(peak_kib() // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("letters", ["a", string.ascii_lowercase])
def test_an_answer_of_one_long_word_takes_little_memory(letters: str) -> None:
    metrics = [
        each for each in _metrics("") if each != "context_recall"
    ]  # for which nothing is expected here
    command = [sys.executable, "-c", PEAK_SOURCE + _LONG_WORD, letters, *metrics]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(result.stdout) < MOST_MIB
