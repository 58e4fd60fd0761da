"""Lexical relevancy on the answers of ALCE: does it tell the question asked, and what people found useful?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.statistics.classification import spearman
from rag_evaluation_framework.statistics.resampling import generator

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
        figures += [_own_question(part, answers), _usefulness(part, answers)]
    return figures


def _own_question(part: str, answers: Answers) -> Figure:
    others = generator(0).permutation(len(answers))
    kept = [
        (question, answers[other][0], answer)
        for (question, answer, _), other in zip(answers, others.tolist(), strict=True)
        if answers[other][0] != question
    ]
    scores = [_relevancy(question, answer) for question, _, answer in kept]
    scores += [_relevancy(other, answer) for _, other, answer in kept]
    return figure(
        f"ALCE {part}, its own question against another: AUROC",
        [True] * len(kept) + [False] * len(kept),
        scores,
        [question for question, _, _ in kept] * 2,
    )


def _usefulness(part: str, answers: Answers) -> Figure:
    scores = np.array([_relevancy(question, answer) for question, answer, _ in answers])
    useful = np.array([score for _, _, score in answers])
    found = spearman(scores, useful)
    if found.value is None or found.interval is None:
        raise ValueError(f"{part}: the correlation is not defined")
    low, high = found.interval.low, found.interval.high
    return Figure(f"ALCE {part}, usefulness (1 to 5): Spearman", len(answers), found.value, low, high)


def _relevancy(question: str, answer: str) -> float:
    sample = Sample(id="q", turns=(Turn(role="user", content=question),))
    score = scorer_for("answer_relevancy").score(sample, Response(text=answer))
    return score.value or 0.0
