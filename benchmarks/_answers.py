"""Answers against references: people's verdicts (EVOUNA), and pairs of our own. Figures: ``_similarity``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import filterfalse, product
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize

from benchmarks._auroc import auroc, figure
from benchmarks._figures import Figure, reached
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.text.vocabulary import stem

EVOUNA = "EVOUNA (its TriviaQA part)"
PAIRS = Path(__file__).parents[1] / "tests" / "judging" / "answer_pairs.yaml"

SYSTEMS = {"fid": "FiD", "gpt35": "GPT-3.5", "chatgpt": "ChatGPT", "gpt4": "GPT-4", "newbing": "Bing Chat"}
REFERENCES = {"all": "all references", "one": "one reference drawn at random"}

_JOINING = frozenset(
    """a an the of in on at to for and or is was were are be by with from as it its this that he she his her
    they their""".split()  # noqa: SIM905
)

Score = Callable[[str, str, Sequence[str]], float]
"""Of a question, an answer and its references."""


def questions(data: Path) -> list[dict[str, Any]]:
    """Return the questions of EVOUNA with the answers of its systems; none where it is absent."""
    path = data / "evouna" / "triviaqa.jsonl"
    return list(map(json.loads, path.read_bytes().splitlines())) if path.exists() else []


def one_reference_each(asked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions with one of their references, drawn at random: what users have."""
    drawn = generator(0)
    return [
        {**row, "references": [row["references"][drawn.integers(len(row["references"]))]]} for row in asked
    ]


def by_metric(name: str) -> Score:
    """Return a metric as a score; an answer without a value has 0."""
    scorer = scorer_for(name)

    def score(question: str, answer: str, references: Sequence[str]) -> float:
        first, *others = references
        turns = (Turn(role="user", content=question),)
        sample = Sample(id="q", turns=turns, reference=first, references=tuple(others))
        return scorer.score(sample, Response(text=answer)).value or 0.0

    return score


def plain_recall(_: str, answer: str, references: Sequence[str]) -> float:
    """Return the share of a reference's stemmed words that the answer has; of the best one."""
    said = set(_stems(answer))
    return max(sum(stem in said for stem in stems) / len(stems) for stems in map(_stems, references))


def plain_f1(_: str, answer: str, references: Sequence[str]) -> float:
    """Return the F1 of stemmed words; of the best reference."""
    said, wanted = set(_stems(answer)), [set(_stems(reference)) for reference in references]
    return max(2 * len(said & each) / (len(said) + len(each)) for each in wanted)


def _stems(text: str) -> list[str]:
    """Return the stems of all words but articles, prepositions and their like, accents and case apart."""
    plain = "".join(filterfalse(combining, normalize("NFKD", text))).casefold().replace("'s", "")
    words = re.findall(r"\w+", plain) or [plain]
    return [stem(word) for word in words if word not in _JOINING] or [stem(word) for word in words]


def verdicts(asked: Sequence[dict[str, Any]], system: str) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Yield the questions that a system answered, its answer, and whether people call it right."""
    for row in asked:
        if system in row["answers"]:
            yield row, row["answers"][system]["answer"], row["answers"][system]["correct"]


def agreement(asked: Sequence[dict[str, Any]], system: str, score: Score) -> float:
    """Return the AUROC of a score on the answers of one system."""
    kept = list(verdicts(asked, system))
    scores = [score(row["question"], answer, row["references"]) for row, answer, _ in kept]
    return auroc([right for _, _, right in kept], scores)


def ordered_pairs(score: Score) -> dict[str, tuple[int, int]]:
    """Return of each kind of pair how many are ordered right, and how many there are."""
    tables = yaml_documents.decode(PAIRS.read_text("utf-8"), file=PAIRS.name)
    counts = {}
    for kind, pairs in tables.items():
        right = sum(score(q, right, [key]) > score(q, wrong, [key]) for q, key, right, wrong in pairs)
        counts[kind] = right, len(pairs)
    return counts


def claim_rows(data: Path) -> list[Figure]:
    """Return AUROC of claim_f1 on the two systems whose answers are longest, by the weights in use."""
    asked, score = questions(data), by_metric("claim_f1")
    figures = []
    for references, kept in (("all", asked), ("one", one_reference_each(asked))) if asked else ():
        for system in ("gpt4", "newbing"):
            rows = list(verdicts(kept, system))
            figures.append(
                figure(
                    f"{EVOUNA}, {SYSTEMS[system]}, {REFERENCES[references]}: AUROC of claim_f1",
                    [right for _, _, right in rows],
                    [score(row["question"], answer, row["references"]) for row, answer, _ in rows],
                    [str(row["id"]) for row, _, _ in rows],
                    plain=[plain_recall("", answer, row["references"]) for row, answer, _ in rows],
                )
            )
    return figures


def reached_rows(data: Path, *metrics: str) -> list[Figure]:
    """Return what metrics are of right answers: of the systems whose answers are shortest and longest."""
    asked = questions(data)
    figures = []
    for references, kept in (("all", asked), ("one", one_reference_each(asked))) if asked else ():
        for system, metric in product(("fid", "newbing"), metrics):
            score, rows = by_metric(metric), [row for row in verdicts(kept, system) if row[2]]
            values = [score(row["question"], answer, row["references"]) for row, answer, _ in rows]
            name = f"{EVOUNA}, {SYSTEMS[system]}, {REFERENCES[references]}"
            figures.append(reached(name, metric, values, [str(row["id"]) for row, _, _ in rows]))
    return figures


def pair_rows(_: Path) -> list[Figure]:
    """Return how many of our pairs are ordered right, beside plain recall."""
    (right, total), (plain, _) = (
        (sum(column) for column in zip(*ordered_pairs(score).values(), strict=True))
        for score in (by_metric("answer_correctness"), plain_recall)
    )
    interval = wilson_interval(right, total)
    name = "pairs of our own, a right and a wrong answer each: ordered right by answer_correctness"
    note = f"plain F1 {sum(right for right, _ in ordered_pairs(plain_f1).values()) / total:.3f}"
    note += "; the rules were written with the pairs in view"
    return [Figure(name, total, right / total, interval.low, interval.high, note, plain / total)]
