"""All of WiCE's claims, told by models that lack one choice of the shipped one: the worst and the best.

None is fitted on a label of WiCE. Which features there are and what the data weigh was chosen with some of it
in view, so each of these choices is undone, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import _support_fit, _wice
from benchmarks._auroc import auroc, figure
from benchmarks._figures import Figure
from benchmarks._support_fit import Row
from rag_evaluation_framework.judging.lexical_support import SupportModel


def rows(data: Path) -> list[Figure]:
    """Return AUROC of claims that are not supported against the rest."""
    if not (data / "wice").exists():
        return []
    asked = [each for each in _support_fit.wice_rows(_wice.claims(data)) if each.kind == "wice"]
    labels = [each.target == _support_fit.TARGETS["not_supported"] for each in asked]
    articles = [each.source for each in asked]
    undone = {
        choice: [model.claim_odds(*each.claims[0]) for each in asked]
        for choice, model in choices_undone([*_support_fit.begin_rows(), *_support_fit.mtrag_rows()])
    }
    worst, *_, best = sorted(undone, key=lambda choice: auroc(labels, undone[choice]))
    return [
        figure(
            f"WiCE, all claims, not supported: AUROC, {title} of {len(undone)}: {choice}",
            labels,
            undone[choice],
            articles,
        )
        for title, choice in (("lowest", worst), ("highest", best))
    ]


def choices_undone(fitted_on: Sequence[Row]) -> Iterator[tuple[str, SupportModel]]:
    """Yield models that lack one feature, one kind of data, or the weights of either, and what they lack."""
    model = _support_fit.claim_model
    yield "slope and bias not set", model(fitted_on)
    yield "equal shares", model(fitted_on, shares=dict.fromkeys(_support_fit.SHARES, 1.0))
    for ridge in (_support_fit.RIDGE / 4, _support_fit.RIDGE * 4):
        yield f"ridge {ridge:g}", model(fitted_on, ridge=ridge)
    for only in ("begin", "mtrag"):
        yield f"only {only}", model([each for each in fitted_on if each.kind.startswith(only)])
    for name in model(fitted_on).weights.keys() - {"of_record"}:  # set by hand, and WiCE has no records
        yield f"without {name}", model(fitted_on, without=name)
