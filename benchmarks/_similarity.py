"""The scale of ``answer_similarity`` and the weights of ``answer_correctness``, each system by the others.

People's verdicts (EVOUNA) on five systems. The answers of each are scored by weights that were searched on
the other four, one after the other from a start where no rule has any weight; and, for similarity, by the
weights in use and a scale that was fitted on the other four. The scale has two places, where the odds of
being right are even and where they are nine to one, right and wrong answers weighted to be equally frequent.
Each answer counts twice: held against one reference drawn at random, and against all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks._answers import (
    EVOUNA,
    REFERENCES,
    SYSTEMS,
    by_metric,
    one_reference_each,
    plain_recall,
    questions,
)
from benchmarks._auroc import Floats, auroc, figure
from benchmarks._figures import Figure, reached
from benchmarks._labelled_data import DATA
from benchmarks._support_fit import logistic
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import reference_match
from rag_evaluation_framework.judging.answer_verdicts import Reading
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.reference_match import match_claims
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.statistics.intervals import wilson_interval

CHINESE = Path(__file__).parents[1] / "tests" / "judging" / "chinese_pairs.yaml"
USABLE = 0.8
OUR_CHINESE = "Chinese pairs of our own, a right and a wrong answer each"

# What each weight may be; the first is where the rule has no weight.
WEIGHTS: dict[str, tuple[float, ...]] = {
    "_ASKED": (1.0, 0.5, 0.25, 0.1),
    "_FULL_ANSWER": (1000.0, 40.0, 20.0, 10.0, 5.0),
    "_NEAR": (0.0, 0.6, 0.8, 1.0),
}
SEARCHED_ON_EVERY = 3  # questions: to save time
Chosen = tuple[tuple[str, float], ...]


class Answer(NamedTuple):
    """An answer as read: what it claims, what each reference does, and what people say of it."""

    system: str
    is_right: bool
    source: str
    question: str
    claims: list[str]
    references: list[list[str]]
    drawn: int
    """Which of the references is the one drawn."""
    plain: tuple[float, float]
    """Plain stemmed recall, with all references and with one."""


@cache
def answers(step: int = 1) -> list[Answer]:
    """Return the answers of EVOUNA, if asked to some of its questions; none where it is absent."""
    asked = questions(DATA)
    return [
        _read(row, system, drawn["references"][0])
        for row, drawn in list(zip(asked, one_reference_each(asked), strict=True))[::step]
        for system in row["answers"]  # one after the other, so that each reference is read once
    ]


def _read(row: dict[str, Any], system: str, drawn: str) -> Answer:
    turns, text = (Turn(role="user", content=row["question"]),), row["answers"][system]["answer"]
    readings = [
        Reading(Sample(id="q", turns=turns, reference=key), Response(text=text), LexicalSupport())
        for key in row["references"]
    ]
    return Answer(
        system,
        row["answers"][system]["correct"],
        str(row["id"]),
        row["question"],
        [claim.text for claim in readings[0].answer_claims],
        [[claim.text for claim in each.reference_claims] for each in readings],
        row["references"].index(drawn),
        (plain_recall("", text, row["references"]), plain_recall("", text, [drawn])),
    )


class Scores(NamedTuple):
    """The correctness of answers with all references and with one, in the order of :func:`answers`."""

    every: Floats
    one: Floats

    def of(self, kept: Any) -> Scores:
        return Scores(self.every[kept], self.one[kept])


@cache
def scores(weights: Chosen, *, step: int = 1) -> Scores:
    """Return the correctness of every answer, or of those to some questions, by these weights."""
    chosen: dict[str, Any] = dict(weights)
    with patch.multiple(reference_match, **chosen):
        found = [
            [match_claims(each.claims, key, each.question).correctness for key in each.references]
            for each in answers(step)
        ]
    one = [values[each.drawn] for values, each in zip(found, answers(step), strict=True)]
    return Scores(np.array([max(values) for values in found]), np.array(one))


def labels(step: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return of each answer whether it is right, and its system."""
    kept = answers(step)
    return np.array([each.is_right for each in kept]), np.array([each.system for each in kept])


def weights_in_use() -> Chosen:
    """Return the weights as the package has them."""
    return tuple((name, getattr(reference_match, name)) for name in WEIGHTS)


@cache
def chosen_weights(without: str = "") -> Chosen:
    """Search the weights one after the other on all systems but one, by their mean AUROC."""
    weights: Mapping[str, float] = {name: values[0] for name, values in WEIGHTS.items()}
    for name, values in WEIGHTS.items():
        tried = [{**weights, name: value} for value in values]
        weights = max(tried, key=lambda each: _goodness(tuple(each.items()), without))
    return tuple(weights.items())


def _goodness(weights: Chosen, without: str) -> float:
    is_right, systems = labels(SEARCHED_ON_EVERY)
    found = scores(weights, step=SEARCHED_ON_EVERY)
    parts = [systems == system for system in dict.fromkeys(systems) if system != without]
    return float(np.mean([auroc(is_right[part], column[part]) for part in parts for column in found]))


def fitted_scale(found: Scores, is_right: np.ndarray) -> tuple[float, float]:
    """Return the correctness with even odds, and with odds of nine to one.

    Each by a logistic curve through the half of the scores that it lies in; none in common and all of them
    are the ends of the scale, and are left out.
    """
    values, right = np.concatenate(found), np.concatenate([is_right, is_right])
    weights = np.where(right, 0.5 / right.mean(), 0.5 / (1 - right.mean()))
    places = []
    for half, odds in (((values > 0) & (values < 0.5), 1.0), ((values >= 0.5) & (values < 1), 9.0)):
        x = np.column_stack([np.ones(half.sum()), values[half]])
        bias, slope = logistic(x, right[half].astype(float), weights[half], free=(True, True))
        places.append(round(float((np.log(odds) - bias) / slope), 3))
    return places[0], places[1]


def on_scale(values: Sequence[float], scale: tuple[float, float]) -> Floats:
    """Return similarities by a scale."""
    with patch.object(reference_match, "_SCALE", (0.0, *scale, 1.0)):
        return np.array([reference_match.similarity(float(value)) for value in values])


def shipped_scale() -> tuple[float, float]:
    """Fit the scale on all systems, for the weights in use."""
    return fitted_scale(scores(weights_in_use()), labels()[0])


class HeldOut(NamedTuple):
    """One system's answers as scored by what the others chose and fitted."""

    system: str
    is_right: np.ndarray
    sources: list[str]
    correctness: Scores
    similarity: Scores
    plain: Scores


@cache
def held_out(system: str) -> HeldOut:
    """Score a system's answers: correctness by weights that the others chose, similarity by their scale."""
    is_right, systems = labels()
    mine = systems == system
    in_use = scores(weights_in_use())
    scale = fitted_scale(in_use.of(~mine), is_right[~mine])
    kept = [each for each in answers() if each.system == system]
    plain = zip(*(each.plain for each in kept), strict=True)
    return HeldOut(
        system,
        is_right[mine],
        [each.source for each in kept],
        scores(chosen_weights(system)).of(mine),
        Scores(*(on_scale(column.tolist(), scale) for column in in_use.of(mine))),
        Scores(*map(np.array, plain)),
    )


def correctness_rows(_: Path) -> list[Figure]:
    """Return the AUROC of answer_correctness by system, by weights chosen on the others; and the means."""
    if not answers():
        return []
    return _rows(
        "correctness",
        "AUROC of answer_correctness, right against wrong answers",
        "weights that the other four chose",
    )


def rows(_: Path) -> list[Figure]:
    """Return the figures of answer_similarity: AUROC, medians, and what a threshold of 0.8 lets through."""
    if not answers():
        return []
    figures = _rows(
        "similarity", "AUROC of answer_similarity, right against wrong answers", "the scale of the other four"
    )
    for place, references in enumerate(REFERENCES.values()):
        for system in dict.fromkeys(each.system for each in answers()):
            held = held_out(system)
            of = f"{EVOUNA}, {SYSTEMS[system]}, {references}"
            figures += _thresholds(of, held.is_right, held.similarity[place])
            figures.append(_below(of, held.is_right, held.similarity[place], held.plain[place]))
    return figures


def _rows(name: str, title: str, by: str) -> list[Figure]:
    figures: list[Figure] = []
    for place, references in enumerate(REFERENCES.values()):
        found = []
        for system in dict.fromkeys(each.system for each in answers()):
            held = held_out(system)
            found.append(
                figure(
                    f"{EVOUNA}, {SYSTEMS[system]}, {references}: {title}",
                    held.is_right.tolist(),
                    getattr(held, name)[place].tolist(),
                    held.sources,
                    plain=held.plain[place].tolist(),
                )
            )
        mean, low, high, plain = (
            float(np.mean([getattr(row, column) for row in found]))
            for column in ("value", "low", "high", "plain")
        )
        of = f"{EVOUNA}, mean of five systems, {references}: {title}"
        note = f"each system by {by}"
        figures += [Figure(of, len(answers()), mean, low, high, note, plain), *found]
    return figures


def _below(of: str, is_right: np.ndarray, values: Floats, plain: Floats) -> Figure:
    """Return how many answers a threshold of 0.8 flags where they come as they do."""
    hits, n = int((values < USABLE).sum()), len(values)
    interval = wilson_interval(hits, n)
    note = f"people call {(~is_right).mean():.3f} of them wrong"
    name = f"{of}: below 0.8, of all answers as they come"
    return Figure(name, n, hits / n, interval.low, interval.high, note, float((plain < USABLE).mean()))


def _thresholds(of: str, is_right: np.ndarray, values: Floats) -> list[Figure]:
    figures = []
    for title, part in (("right", values[is_right]), ("wrong", values[~is_right])):
        ordered, reach = np.sort(part), 0.98 * np.sqrt(len(part))  # 1.96 deviations of a rank
        first, last = int(len(part) / 2 - reach), int(np.ceil(len(part) / 2 + reach)) - 1
        name = f"{of}: median of {title} answers"
        figures.append(Figure(name, len(part), float(np.median(part)), ordered[first], ordered[last]))
    shares = []
    for title, part in (("right", values[is_right]), ("wrong", values[~is_right])):
        hits = int((part >= USABLE).sum())
        shares.append(hits / len(part))
        interval = wilson_interval(hits, len(part))
        name = f"{of}: {title} answers that reach 0.8"
        figures.append(Figure(name, len(part), shares[-1], interval.low, interval.high))
    return figures


def chinese_pairs() -> Iterator[tuple[str, str, str, str]]:
    """Yield question, reference, right and wrong answer of the Chinese pairs of our own."""
    for pairs in yaml_documents.decode(CHINESE.read_text("utf-8"), file=CHINESE.name).values():
        yield from map(tuple, pairs)


def chinese_rows(_: Path) -> list[Figure]:
    """Return the figures of answer_similarity on Chinese pairs, which had no say in its scale."""
    score = by_metric("answer_similarity")
    values = [
        (score(asked, right, [key]), score(asked, wrong, [key]))
        for asked, key, right, wrong in chinese_pairs()
    ]
    right, wrong = np.array(values).T
    is_right = np.concatenate([np.ones(len(right), dtype=bool), np.zeros(len(wrong), dtype=bool)])
    return [
        _chinese_row("answer_similarity"),
        reached(OUR_CHINESE, "answer_similarity", right.tolist(), [asked for asked, *_ in chinese_pairs()]),
        *_thresholds(OUR_CHINESE, is_right, np.concatenate([right, wrong])),
    ]


def chinese_correctness_rows(_: Path) -> list[Figure]:
    """Return the figures of answer_correctness on the Chinese pairs, with which no rule was written."""
    score, pairs = by_metric("answer_correctness"), list(chinese_pairs())
    values = [score(asked, right, [key]) for asked, key, right, _ in pairs]
    own = reached(OUR_CHINESE, "answer_correctness", values, [asked for asked, *_ in pairs])
    return [_chinese_row("answer_correctness"), own]


def _chinese_row(metric: str) -> Figure:
    score = by_metric(metric)
    told = [
        (is_right, score(asked, said, [key]), asked + key, _shared_characters(said, key))
        for asked, key, right, wrong in chinese_pairs()
        for said, is_right in ((right, True), (wrong, False))
    ]
    labels, scores, sources, plain = (list(column) for column in zip(*told, strict=True))
    name = f"{OUR_CHINESE}: AUROC of {metric}, right against wrong answers"
    return figure(name, labels, scores, sources, published="written before any was scored", plain=plain)


def _shared_characters(answer: str, reference: str) -> float:
    """Return the share of a reference's characters that the answer has: the plain recall of Chinese."""
    wanted = set(re.findall(r"\w", reference))
    return len(wanted & set(answer)) / len(wanted)
