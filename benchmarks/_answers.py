"""Answers against references: people's verdicts (EVOUNA), and pairs of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize

from benchmarks._auroc import auroc, figure
from benchmarks._figures import Figure
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.statistics.resampling import generator
from rag_evaluation_framework.text.vocabulary import stem

PAIRS = Path(__file__).parents[1] / "tests" / "judging" / "answer_pairs.yaml"

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


def rows(data: Path) -> list[Figure]:
    """Return the agreement with people by system, with all references and with one; and on our pairs."""
    ours = {name: by_metric(name) for name in ("answer_correctness", "claim_f1")}
    asked = questions(data)
    figures = []
    for references, kept in (("all references", asked), ("one reference", one_reference_each(asked))):
        for name, score in ours.items():
            figures += [_figure(kept, system, references, name, score) for system in _systems(asked)]
    for name, score in {**ours, "plain recall": plain_recall, "plain F1": plain_f1}.items():
        counts = ordered_pairs(score).values()
        right, total = (sum(column) for column in zip(*counts, strict=True))
        share = right / total
        figures.append(Figure(f"pairs of our own ordered right: {name}", total, share, share, share))
    return figures


def _systems(asked: Sequence[dict[str, Any]]) -> list[str]:
    return list(asked[0]["answers"]) if asked else []


def _figure(asked: Sequence[dict[str, Any]], system: str, references: str, name: str, score: Score) -> Figure:
    kept = list(verdicts(asked, system))
    return figure(
        f"EVOUNA, {system}, {references}, {name}: AUROC",
        [right for _, _, right in kept],
        [score(row["question"], answer, row["references"]) for row, answer, _ in kept],
        [str(row["id"]) for row, _, _ in kept],
        published=f"plain stemmed recall {agreement(asked, system, plain_recall):.3f}",
    )
