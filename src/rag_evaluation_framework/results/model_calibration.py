"""The labels of a run's answers, and the score from which on a local model is as sure as people are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.human_labels import LABEL, HumanLabel
from rag_evaluation_framework.judging.answer_evidence import LOCAL_MODEL
from rag_evaluation_framework.judging.cascade import TARGET, Band, fitted_band
from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.records.samples import asked_until
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_store import labels_beside

_OF_REFERENCE = "claim_recall"


class ModelBand(msgspec.Struct, frozen=True):
    """The probabilities up to which and from which a local model decides an answer like people do.

    At most one in ten of the labeled answers that it decides so is decided otherwise, by a bound at 95%.
    """

    model: str
    labeled: int
    low: float | None = None
    high: float | None = None
    decided: int = 0


def labels_of_people(run: Evaluation) -> list[HumanLabel]:
    """Return what each annotator labeled: 1 for correct, 0.5 for partly correct, 0 for wrong."""
    labels = labels_beside(None if run.folder is None else run.folder.parent)
    found = []
    for row in run.rows if labels is not None else ():
        if labels is None or row.sample is None:
            continue
        text = row.response.text or ""
        for who, label in labels.find_deciding(asked_until(row.sample), row.sample, text).items():
            rank = None if label.state is None else AnswerVerdict(label.state).rank
            if rank is not None:
                found.append(HumanLabel(row.id, who, text, {LABEL: rank}))
    return found


def calibrate_model(run: Evaluation) -> ModelBand | None:
    """Return when the local model that scored a run decides like people; ``None`` if none did."""
    scored = list(_labeled_scores(run.rows))
    if not scored:
        return None
    model, least = scored[0][0], [(low, is_correct) for _, low, is_correct in scored]
    band = fitted_band((("", low, is_correct) for low, is_correct in least), 1 - TARGET)
    if band == Band() or not 0 <= band.low <= band.high <= 1:
        return ModelBand(model, len(least))
    decided = sum(not band.low < low < band.high for low, _ in least)
    return ModelBand(model, len(least), round(band.low, 4), round(band.high, 4), decided)


def _labeled_scores(rows: Iterable[Row]) -> Iterator[tuple[str, float, bool]]:
    """Yield the model, how sure it is that every claim of the reference is stated, and what people say."""
    for row in rows:
        if row.verdict is None or row.verdict.by != "person" or row.verdict.rank is None:
            continue
        for score in row.scores:
            if score.metric != _OF_REFERENCE or not score.method.startswith(LOCAL_MODEL):
                continue
            claims: list[dict[str, Any]] = score.details.get("claims", [])
            if claims and all("probability" in claim for claim in claims):
                least = min(claim["probability"] for claim in claims)
                yield score.method.removeprefix(LOCAL_MODEL), least, row.verdict.is_correct
