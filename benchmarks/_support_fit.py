"""Fits the coefficients of lexical support: ``python -m benchmarks._support_fit``.

The weights are fitted on BEGIN and MTRAG. Besides the answers as labelled, evidence is taken away from
supported claims: what stood only in the sentences removed is then unsupported, and on the same topic, as
hallucinations are. Weights of features that grow with what is missing are kept from becoming negative, so
that more evidence cannot count against a claim. How far the odds of claims and of answers are spread, a slope
and a bias each, is set with half of WiCE's articles as well, for its claims are more like those of answers;
no label of WiCE has a say in which of two claims is the worse.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from benchmarks import _begin, _wice
from benchmarks._auroc import figure
from benchmarks._figures import Figure
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.judging import lexical_support
from rag_evaluation_framework.judging.claim_features import ClaimFeatures, EvidenceBody, evidence_text
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import SupportModel, feature_values, screen_answer
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.text.tokens import content_keys

Floats = npt.NDArray[np.float64]

# How far a claim is from being supported: a partially supported one has an unsupported part.
TARGETS = {"supported": 0.0, "partially_supported": 0.5, "not_supported": 1.0}
# What each kind of data weighs in all, however many rows it has: which evidence MTRAG's claims lose is told
# by the very words that are then counted.
SHARES = {"mtrag": 1.0, "mtrag, evidence removed": 0.3, "begin": 0.9}
SCALE_SHARES = {**SHARES, "wice": 2.0, "wice, evidence removed": 1.0}
ANSWER_SHARES = {"wice": 1.0, "mtrag": 1.0, "mtrag answers, evidence removed": 1.0, "begin": 1.0}
FREE = ("length",)
# Of records, which the data do not have: what single facts cannot cover as one sentence of prose can, and
# what a record denies or leaves open.
BY_HAND = {"of_record": -1.75, "withheld": 3.0}
RIDGE = 2.0
# A sentence supports a claim when it has a third of its content; below that, removing it changes nothing.
SUPPORTING_SHARE = 1 / 3
FEWEST_TOKENS = 4
# Set by hand, for none of the data has them in number: see the card. With these odds, an answer of one claim
# is as likely to be unsupported as not.
LEAST_ODDS = 0.15
POOLING_EXPONENT = 0.5
FILE = Path(lexical_support.__file__).parent / "data" / "lexical_support.json"


@dataclass(frozen=True, slots=True)
class Row:
    """The claims of an answer, and how far the answer is from being supported throughout."""

    kind: str
    source: str
    claims: tuple[ClaimFeatures, ...]
    target: float


def row(
    kind: str,
    claims: Sequence[str],
    evidence: Sequence[str],
    target: float,
    *,
    question: str = "",
    source: str = "",
) -> Row:
    body = EvidenceBody([evidence_text(text) for text in evidence], question)
    return Row(kind, source, tuple(body.features(claim) for claim in claims), target)


def wice_rows(claims: Iterable[_wice.WikipediaClaim]) -> Iterator[Row]:
    for each in claims:
        yield row("wice", [each.claim], each.evidence, TARGETS[each.label], source=each.article)
        if each.label == "supported":
            left = [text for number, text in enumerate(each.evidence) if number not in each.supporting]
            yield row("wice, evidence removed", [each.claim], left, 1.0, source=each.article)


def begin_rows() -> Iterator[Row]:
    for part in _begin.PARTS:
        for knowledge, response, positive in _begin.answers(DATA, part):
            claims = [claim.text for claim in claims_of(response)]
            if claims and _wice.is_for_fitting(knowledge):
                yield row("begin", claims, [knowledge], float(positive), source=part)


def mtrag_rows() -> Iterator[Row]:
    with gzip.open(DATA / "mtrag" / "mtragun_reference.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        contexts = [context["text"] for context in record["contexts"]]
        claims = [claim.text for claim in claims_of(record["targets"][0]["text"])]
        if record["answerability"] != ["ANSWERABLE"] or not contexts or not claims:
            continue
        question = record["input"][-1]["text"]
        yield row("mtrag", claims, contexts, 0.0, question=question)
        for claim in claims:
            left = without_support(claim, contexts)
            if left is not None:
                yield row("mtrag, evidence removed", [claim], left, 1.0, question=question)
                yield row("mtrag answers, evidence removed", claims, left, 1.0, question=question)


def without_support(claim: str, contexts: Sequence[str]) -> list[str] | None:
    """Return the contexts without the sentences that share much with the claim; None where few words tell."""
    body = EvidenceBody([evidence_text(context) for context in contexts])
    keys = set(body.features(claim).keys)
    if len(keys) < FEWEST_TOKENS:
        return None
    left = [
        "\n\n".join(
            text.text[start:end]
            for start, end in text.units
            if len(keys.intersection(content_keys(text.text[start:end]))) < SUPPORTING_SHARE * len(keys)
        )
        for text in body.texts
    ]
    return left if left != list(contexts) else None


def logistic(x: Floats, y: Floats, weights: Floats, *, free: Sequence[bool]) -> Floats:
    """Fit by Newton's method with a ridge; what may not be negative and would be is left out and set to 0."""
    active = np.ones(x.shape[1], dtype=bool)
    while True:
        full: Floats = np.zeros(x.shape[1])
        full[active] = _newton(x[:, active], y, weights)
        wrong = (full < 0) & ~np.asarray(free)
        if not wrong.any():
            return full
        active &= ~wrong


def _newton(x: Floats, y: Floats, weights: Floats) -> Floats:
    penalty = np.eye(x.shape[1]) * RIDGE
    penalty[0, 0] = 1e-6  # the bias is free
    beta: Floats = np.zeros(x.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weights * (p - y)) + penalty @ beta
        beta = beta - np.linalg.solve((x.T * (weights * p * (1 - p))) @ x + penalty, gradient)
    return beta


def balanced(kinds: Sequence[str], shares: Mapping[str, float]) -> Floats:
    weights = np.array([shares[kind] / kinds.count(kind) for kind in kinds])
    scaled: Floats = weights / weights.mean()
    return scaled


class SingleClaims(NamedTuple):
    """Claims of answers whose every claim has the answer's label."""

    features: list[ClaimFeatures]
    targets: Floats
    weights: Floats


def single_claims(rows: Sequence[Row], shares: Mapping[str, float]) -> SingleClaims:
    kept = [each for each in rows if each.kind in shares and (len(each.claims) == 1 or each.target == 0.0)]
    claims = [(each, features) for each in kept for features in each.claims]
    return SingleClaims(
        [features for _, features in claims],
        np.array([each.target for each, _ in claims]),
        balanced([each.kind for each, _ in claims], shares),
    )


def claim_model(rows: Sequence[Row]) -> SupportModel:
    """Fit the odds of single claims."""
    single = single_claims(rows, SHARES)
    values = [feature_values(features) for features in single.features]
    names = list(values[0])
    x = np.array([[1.0, *(each[name] for name in names)] for each in values])
    free = [True, *(name in FREE for name in names)]
    beta = logistic(x, single.targets, single.weights, free=free)
    return SupportModel(
        bias=round(float(beta[0]), 3),
        weights={name: round(float(weight), 3) for name, weight in zip(names, beta[1:], strict=True)}
        | BY_HAND,
        least_odds=LEAST_ODDS,
        threshold=0.5,
        pooling_exponent=POOLING_EXPONENT,
        answer_slope=1.0,
        answer_bias=0.0,
    )


def scaled(model: SupportModel, rows: Sequence[Row]) -> SupportModel:
    """Fit slope and bias that turn the odds of claims into probabilities."""
    single = single_claims(rows, SCALE_SHARES)
    odds = [model.claim_odds(features) for features in single.features]
    bias, slope = bias_and_slope(odds, single.targets, single.weights)
    weights = {name: round(slope * weight, 3) for name, weight in model.weights.items()}
    return replace(model, bias=round(bias + slope * model.bias, 3), weights=weights | BY_HAND)


def calibrated(model: SupportModel, rows: Sequence[Row]) -> SupportModel:
    """Fit slope and bias that turn the pooled odds of an answer into a probability."""
    answers = [each for each in rows if each.kind in ANSWER_SHARES]
    pooled = [model.pooled_odds([model.claim_odds(claim) for claim in each.claims]) for each in answers]
    targets = np.array([each.target for each in answers])
    weights = balanced([each.kind for each in answers], ANSWER_SHARES)
    bias, slope = bias_and_slope(pooled, targets, weights)
    return replace(model, answer_slope=round(slope, 3), answer_bias=round(bias, 3))


def bias_and_slope(odds: Sequence[float], targets: Floats, weights: Floats) -> tuple[float, float]:
    x = np.column_stack([np.ones(len(odds)), odds])
    bias, slope = logistic(x, targets, weights, free=[True, True]).tolist()
    return bias, slope


@cache
def training() -> list[Row]:
    """Return all that coefficients are fitted on."""
    claims = [each for each in _wice.claims(DATA) if _wice.is_for_fitting(each.article)]
    return [*wice_rows(claims), *begin_rows(), *mtrag_rows()]


def fitted(without: str = "") -> SupportModel:
    """Fit the model, if asked without one part of BEGIN."""
    kept = [each for each in training() if each.source != without]
    return calibrated(scaled(claim_model(kept), kept), kept)


def held_out_rows(data: Path) -> list[Figure]:
    """Return AUROC on the answers of each part of BEGIN, by a model that was fitted without any of them."""
    if not all((data / name).exists() for name in ("begin", "mtrag", "wice")):
        return []
    found = []
    for part, title in _begin.PARTS.items():
        model = fitted(part)
        told = [
            (positive, screen_answer(response, [knowledge], model=model), knowledge)
            for knowledge, response, positive in _begin.answers(data, part)
        ]
        kept = [each for each in told if each[1].probability_unsupported is not None]
        found.append(
            figure(
                f"BEGIN, {title}, by a model fitted without them: AUROC, not attributable",
                [positive for positive, _, _ in kept],
                [screening.probability_unsupported or 0.0 for _, screening, _ in kept],
                [knowledge for _, _, knowledge in kept],
                plain=[
                    float(sum(len(verdict.new_tokens) for verdict in screening.verdicts))
                    for _, screening, _ in kept
                ],
            )
        )
    return found


def main() -> None:
    model = fitted()
    FILE.write_text(json.dumps({"model": asdict(model)}, indent=2) + "\n", encoding="utf-8")
    print(f"{len(training()):,} rows")
    print(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
