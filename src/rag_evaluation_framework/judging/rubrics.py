"""Rubrics: the criteria of an answer's score, the weight of each, and the passing score.

A judge scores each criterion by itself. The overall score and whether it passes are computed here from the
scores; the judge has no part in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import fsum, isclose
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.errors import invalid, shown
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.yaml_documents import YamlReader
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.metrics.claims import rubric as rubric_sum
from rag_evaluation_framework.metrics.claims import rubric_pass

PASS_AT = 0.65
FLOOR = 0.4

_KEYS = ("name", "version", "criteria", "pass_at", "floor")
_CRITERION_KEYS = ("name", "weight", "description")


class Criterion(msgspec.Struct, frozen=True):
    """One thing an answer is scored on."""

    name: str
    weight: float
    description: str


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria whose weights sum to 1; an answer passes at ``pass_at`` with no score below ``floor``."""

    name: str
    version: int
    criteria: tuple[Criterion, ...]
    pass_at: float = PASS_AT
    floor: float = FLOOR

    def __post_init__(self) -> None:
        names = [criterion.name for criterion in self.criteria]
        weights = [criterion.weight for criterion in self.criteria]
        if len(set(names)) < len(names) or not names:
            raise invalid("criteria", "one or more criteria, each with a name of its own", names)
        if not isclose(fsum(weights), 1, abs_tol=1e-6) or min(weights) <= 0:
            raise invalid("criteria", "weights above 0 that sum to 1", weights)
        for bound, value in (("pass_at", self.pass_at), ("floor", self.floor)):
            if not 0 <= value <= 1:
                raise invalid(bound, "a number from 0 to 1", value)

    def overall(self, scores: Mapping[str, float]) -> float:
        """Return the weighted mean of the scores, one for each criterion."""
        self._check(scores)
        return rubric_sum(scores, {criterion.name: criterion.weight for criterion in self.criteria})

    def passes(self, scores: Mapping[str, float]) -> bool:
        """Return True if an answer with these scores passes."""
        weights = {criterion.name: criterion.weight for criterion in self.criteria}
        return bool(rubric_pass(scores, weights, pass_at=self.pass_at, floor=self.floor))

    def _check(self, scores: Mapping[str, float]) -> None:
        names = {criterion.name for criterion in self.criteria}
        if set(scores) != names:
            raise invalid("scores", f"one for each of {', '.join(sorted(names))}", sorted(scores))
        for name, score in scores.items():
            if not 0 <= score <= 1:
                raise invalid(f"scores.{name}", "a number from 0 to 1", score)


class RubricVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one answer, and what follows from them."""

    scores: Mapping[str, float]
    overall: float
    passed: bool
    reasons: Mapping[str, str] = {}
    agreement: float | None = None
    details: Mapping[str, Any] = {}


@cache
def default_rubric() -> Rubric:
    """Return the rubric that answers are scored on where none is given."""
    return read_rubric(Path(__file__).parent / "data" / "rubric.yaml")


def read_rubric(path: str | Path) -> Rubric:
    """Read a rubric from YAML; all that is wrong with the file is in one error.

    ::

        name: support-answers
        version: 2
        pass_at: 0.7                 # 0.65 if left out
        floor: 0.5                   # 0.4 if left out
        criteria:
          - name: factuality
            weight: 0.6
            description: Every statement is true.
          - name: tone
            weight: 0.4
            description: Friendly, and to the point.
    """
    given = YamlReader(read_text(path), file=str(path))
    if not isinstance(given.value, dict):
        given.problem((), "a rubric with name, version and criteria", shown(given.value))
        given.raise_all()
    given.check_keys(_KEYS, strict=True)
    name, version = given.text("name"), given.whole_number("version")
    listed = given.items("criteria", expected="a list of criteria")
    criteria = [_criterion(given, index) for index in range(len(listed))]
    pass_at = given.share("pass_at", default=PASS_AT)
    floor = given.share("floor", default=FLOOR)
    for index, criterion in enumerate(criteria):
        if criterion.name and criterion.name in [earlier.name for earlier in criteria[:index]]:
            given.problem(("criteria", index, "name"), "a name of its own", criterion.name)
        if criterion.weight == 0 and given.at("criteria", index, "weight") == 0:
            given.problem(("criteria", index, "weight"), "a weight above 0", "0")
    total = fsum(criterion.weight for criterion in criteria)
    if criteria and not given.issues and not isclose(total, 1, abs_tol=1e-6):
        given.problem(("criteria",), "weights that sum to 1", f"{total:.6g}")
    given.raise_all()
    return Rubric(name=name, version=version, criteria=tuple(criteria), pass_at=pass_at, floor=floor)


def _criterion(given: YamlReader, index: int) -> Criterion:
    path = ("criteria", index)
    given.check_keys(_CRITERION_KEYS, *path, strict=True)
    return Criterion(
        given.text(*path, "name"), given.share(*path, "weight"), given.text(*path, "description")
    )


def judge_rubric(
    judge: Judge,
    rubric: Rubric,
    *,
    question: str,
    answer: str,
    reference: str | None = None,
    contexts: Sequence[str] = (),
) -> RubricVerdict:
    """Have an answer scored on each criterion; overall and passed are computed from the scores."""
    fields: dict[str, Any] = {
        "criteria": [f"{criterion.name}: {criterion.description}" for criterion in rubric.criteria],
        "question": question,
        "answer": answer,
        "reference": reference or "",
        "contexts": list(contexts),
    }
    verdict = judge.verdict("rubric", fields)
    entries = dict(zip((each.name for each in rubric.criteria), verdict.values["criteria"], strict=True))
    scores = {name: float(entry["score"]) for name, entry in entries.items()}
    return RubricVerdict(
        scores=scores,
        overall=rubric.overall(scores),
        passed=rubric.passes(scores),
        reasons={name: str(entry["reason"]) for name, entry in entries.items()},
        agreement=verdict.agreement,
        details=verdict.details,
    )
