"""Lexical relevancy on the answers of ALCE: does it tell the question asked, and what people found useful?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from benchmarks._auroc import figure
from benchmarks._figures import Figure, reached
from benchmarks._similarity import chinese_pairs
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.statistics.classification import spearman
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.text.scripts import HAN

_PLAIN = re.compile(rf"[{HAN}]|[^\W{HAN}]+")
USEFUL = 4  # of 5, as people rated it
Answers = list[tuple[str, str, float]]


def rows(data: Path) -> list[Figure]:
    """Return how far relevancy tells an answer's own question from another, and follows usefulness."""
    path = data / "alce_human" / "human_eval_utility_completed.json"
    if not path.exists():
        return []
    figures: list[Figure] = []
    for part, systems in json.loads(path.read_text(encoding="utf-8")).items():
        answers = [
            (row["question"], row["output"], float(row["utility_score"]))
            for system in systems.values()
            for row in system.values()
            if row.get("output", "").strip() and "question" in row
        ]
        name = f"ALCE, answers to {part.upper()} questions"
        figures += [_own_question(name, answers), _usefulness(name, answers), _below(name, answers)]
        figures.append(_of_right_answers(name, [each for each in answers if each[2] >= USEFUL]))
    return figures


def chinese_rows(_: Path) -> list[Figure]:
    """Return the same for Chinese: the right answers of pairs of our own, to their question or another."""
    answers = [(question, right, 0.0) for question, _, right, _ in chinese_pairs()]
    name = "Chinese pairs of our own"
    return [_own_question(name, answers), _of_right_answers(name, answers)]


def _of_right_answers(part: str, answers: Answers) -> Figure:
    values = [_relevancy(question, answer) for question, answer, _ in answers]
    return reached(part, "answer_relevancy", values, [question for question, _, _ in answers])


def _own_question(part: str, answers: Answers) -> Figure:
    others = generator(0).permutation(len(answers))
    kept = [
        (question, answers[other][0], answer)
        for (question, answer, _), other in zip(answers, others.tolist(), strict=True)
        if answers[other][0] != question
    ]
    scores = [_relevancy(question, answer) for question, _, answer in kept]
    scores += [_relevancy(other, answer) for _, other, answer in kept]
    plain = [_plain(question, answer) for question, _, answer in kept]
    plain += [_plain(other, answer) for _, other, answer in kept]
    return figure(
        f"{part}: AUROC, an answer's own question against another",
        [True] * len(kept) + [False] * len(kept),
        scores,
        [question for question, _, _ in kept] * 2,
        published="no human label: the other question is drawn at random",
        plain=plain,
    )


def _usefulness(part: str, answers: Answers) -> Figure:
    scores = np.array([_relevancy(question, answer) for question, answer, _ in answers])
    useful = np.array([score for _, _, score in answers])
    found = spearman(scores, useful)
    if found.value is None or found.interval is None:
        raise ValueError(f"{part}: the correlation is not defined")
    low, high = found.interval.low, found.interval.high
    plain = spearman(np.array([_plain(question, answer) for question, answer, _ in answers]), useful).value
    name = f"{part}: Spearman, usefulness as people rated it (1 to 5)"
    return Figure(name, len(answers), found.value, low, high, plain=plain)


def _below(part: str, answers: Answers) -> Figure:
    """Return how many answers take up less than half of their question, where they come as they do."""
    pairs = [(question, answer) for question, answer, _ in answers]
    low, plain = (sum(score(*pair) < 0.5 for pair in pairs) for score in (_relevancy, _plain))
    interval = wilson_interval(low, len(pairs))
    name = f"{part}: below 0.5, of all answers as they come"
    shares = low / len(pairs), plain / len(pairs)
    return Figure(name, len(pairs), shares[0], interval.low, interval.high, plain=shares[1])


def _relevancy(question: str, answer: str) -> float:
    sample = Sample(id="q", turns=(Turn(role="user", content=question),))
    score = scorer_for("answer_relevancy").score(sample, Response(text=answer))
    return score.value or 0.0


def _plain(question: str, answer: str) -> float:
    """Return the share of a question's words, Chinese by the character, that the answer has."""
    asked, said = (set(_PLAIN.findall(text.lower())) for text in (question, answer))
    return len(asked & said) / len(asked) if asked else 0.0
