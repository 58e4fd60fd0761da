"""Cascades: how far words and a judge agree with the judge alone, and how many of its calls they need.

The judge is simulated: it says what people said, and errs at random at a known rate. Bands are set on what it
says of all sources but one, and tried on that one. A call is one question to the judge about the claims of
one answer, as it is really asked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _begin, _ragtruth, _wice
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.judging.cascade import Band, fitted_band, shipped_bands
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.structs import asdict

TARGETS = (0.85, 0.9, 0.95)
ERRORS = (0.0, 0.05, 0.1)
TASKS = ("qa", "summary", "data2txt")
FITTED_ON = ("WiCE", "BEGIN, film chats", "BEGIN, topical chats", "BEGIN, Wikipedia chats")
"""The sources whose licence allows that bands are shipped."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What lexical support says of the claims of one answer, and what people say."""

    chances: tuple[float, ...]
    supported: tuple[bool, ...]


def sources(data: Path, tasks: Sequence[str] = TASKS) -> dict[str, list[Answer]]:
    """Return the answers of each source; those whose data is absent are left out."""
    found: dict[str, list[Answer]] = {}
    if (data / "wice").exists():
        found["WiCE"] = [
            Answer((_wice.verdict_of(each).score,), (each.label == "supported",))
            for each in _wice.claims(data)
        ]
    if (data / "begin").exists():
        for part, name in _begin.PARTS.items():
            found[f"BEGIN, {name}"] = list(_of_begin(data, part))
    if (data / "ragtruth").exists():
        for task in tasks:
            found[f"RAGTruth, {task}"] = list(_of_ragtruth(data, task))
    return found


def _of_begin(data: Path, part: str) -> Iterator[Answer]:
    support = LexicalSupport()
    for known, answer, is_wrong in _begin.answers(data, part):
        (verdict,) = support.decide([Claim(answer, 0, len(answer))], [known])
        yield Answer((verdict.score,), (not is_wrong,))


def _of_ragtruth(data: Path, task: str) -> Iterator[Answer]:
    support = LexicalSupport()
    for each in _ragtruth.answers(data, task):
        verdicts = support.decide(claims_of(each.answer), each.contexts, question=each.question)
        if verdicts:
            truth = [
                not any(
                    start < verdict.claim.end and verdict.claim.start < end for start, end, _ in each.spans
                )
                for verdict in verdicts
            ]
            yield Answer(tuple(verdict.score for verdict in verdicts), tuple(truth))


def judged(answers: Sequence[Answer], error: float, seed: int) -> list[tuple[bool, ...]]:
    """Return what a judge says who errs at a rate."""
    draw = random.Random(seed)
    return [tuple(each != (draw.random() < error) for each in answer.supported) for answer in answers]


def is_sure(band: Band, chance: float) -> bool:
    return not band.low < chance < band.high


@dataclass(frozen=True, slots=True)
class Tried:
    """What a cascade came to on a source: claims, those that agree with the judge, calls and all calls."""

    claims: int
    agreed: int
    left: int
    calls: int
    answers: int
    right: int
    judge_right: int
    words_agreed: int


def tried(band: Band, answers: Sequence[Answer], verdicts: Sequence[tuple[bool, ...]]) -> Tried:
    """Hold a cascade with this band against the judge alone, and against people."""
    claims = agreed = left = calls = right = judge_right = words_agreed = 0
    for answer, said in zip(answers, verdicts, strict=True):
        unsure = [not is_sure(band, chance) for chance in answer.chances]
        calls += any(unsure)
        for chance, judge, truth, passed in zip(answer.chances, said, answer.supported, unsure, strict=True):
            final = judge if passed else chance >= band.high
            claims += 1
            left += passed
            agreed += final == judge
            right += final == truth
            judge_right += judge == truth
            words_agreed += (chance >= 0.5) == judge
    return Tried(claims, agreed, left, calls, len(answers), right, judge_right, words_agreed)


def band_without(found: dict[str, list[Answer]], without: str, target: float, error: float) -> Band:
    """Return the band that is set on what the judge says of all other sources."""
    labelled = [
        (name, chance, judge)
        for number, (name, answers) in enumerate(found.items())
        if name != without
        for answer, said in zip(answers, judged(answers, error, number), strict=True)
        for chance, judge in zip(answer.chances, said, strict=True)
    ]
    return fitted_band(labelled, 1 - target)


def table(data: Path) -> Iterator[tuple[str, float, float, Band, Tried]]:
    """Yield for each source, target and error of the judge what a cascade set on the others comes to."""
    found = sources(data)
    for error in ERRORS:
        for target in TARGETS:
            for name, answers in found.items():
                band = band_without(found, name, target, error)
                yield name, target, error, band, tried(band, answers, judged(answers, error, 99))


def main() -> None:
    if not sources(DATA):
        print(f"no labelled data in {DATA}")
        return
    head = f"{'source left out':<26}{'error':>6}{'target':>8}{'agrees':>8}  {'95 % interval':<15}{'words':>7}"
    print(f"{head}{'claims':>8}{'passed on':>11}{'calls':>7}{'right':>7}{'judge':>7}  band")
    for name, target, error, band, of in table(DATA):
        interval = wilson_interval(of.agreed, of.claims)
        print(
            f"{name:<26}{error:>6.2f}{target:>8.2f}{of.agreed / of.claims:>8.3f}"
            f"  {interval.low:.3f} to {interval.high:.3f} {of.words_agreed / of.claims:>7.3f}{of.claims:>8,}"
            f"{of.left / of.claims:>11.2f}{of.calls / of.answers:>7.2f}"
            f"{of.right / of.claims:>7.3f}{of.judge_right / of.claims:>7.3f}  {band}",
            flush=True,
        )
    found = {name: answers for name, answers in sources(DATA).items() if name in FITTED_ON}
    for target in TARGETS:
        band = band_without(found, "", target, 0.0)
        print(f"to ship for {target}: {asdict(band)}; shipped: {shipped_bands().get(target)}")
    print("\nthe shipped bands on a source of which nothing was used, the judge without error")
    for name, answers in sources(DATA).items():
        for target, band in shipped_bands().items() if name not in FITTED_ON else ():
            of = tried(band, answers, judged(answers, 0.0, 99))
            passed = f"passes on {of.left / of.claims:.2f} of the claims"
            print(f"{name:<26}{target:>6.2f}: agrees {of.agreed / of.claims:.3f}, {passed}")


if __name__ == "__main__":
    main()
