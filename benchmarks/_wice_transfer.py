"""All of WiCE's claims, told by models that were fitted without them.

The first model is fitted on BEGIN and MTRAG alone: no label of WiCE speaks in it. Which features it has and
what its data weigh was chosen with WiCE in view, so each of these choices is also undone, one at a time. The
second kind is fitted as the shipped model is, on WiCE too, but never on the article it is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import _support_fit, _wice
from benchmarks._auroc import auroc, figure
from benchmarks._figures import Figure
from benchmarks._support_fit import Row
from rag_evaluation_framework.judging.support.support_model import SupportModel

NAME = "WiCE, all claims, not supported: AUROC"


def rows(data: Path) -> list[Figure]:
    """Return AUROC of claims that are not supported against the rest."""
    if not (data / "wice").exists():
        return []
    claims = _wice.claims(data)
    wice_rows = list(_support_fit.wice_rows(claims))
    other_rows = [*_support_fit.begin_rows(), *_support_fit.mtrag_rows()]
    asked = [each for each in wice_rows if each.kind == "wice"]
    labels = [each.target == _support_fit.TARGETS["not_supported"] for each in asked]
    articles = [each.source for each in asked]

    def told_by(model: SupportModel) -> list[float]:
        return [model.claim_odds(*each.claims[0]) for each in asked]

    undone = sorted(
        ((choice, told_by(model)) for choice, model in choices_undone(other_rows)),
        key=lambda told: auroc(labels, told[1]),
    )
    across = {id(each): odds for each, odds in _support_fit.across_folds([*wice_rows, *other_rows])}
    return [
        figure(f"{NAME}, fitted elsewhere", labels, told_by(_support_fit.claim_model(other_rows)), articles),
        *(
            figure(f"  {extreme} of {len(undone)} with a choice undone: {choice}", labels, odds, articles)
            for extreme, (choice, odds) in (("lowest", undone[0]), ("highest", undone[-1]))
        ),
        figure(f"{NAME}, across folds", labels, [across[id(each)] for each in asked], articles),
        figure(
            f"{NAME}, control: new words",
            labels,
            [_wice.new_word_share(_wice.verdict_of(each)) for each in claims],
            articles,
        ),
    ]


def choices_undone(fitted_on: Sequence[Row]) -> Iterator[tuple[str, SupportModel]]:
    """Yield models that lack one feature, one kind of data, or the weights of either, and what they lack."""
    model = _support_fit.claim_model
    yield "equal shares", model(fitted_on, shares=dict.fromkeys(_support_fit.SHARES, 1.0))
    for ridge in (_support_fit.RIDGE / 4, _support_fit.RIDGE * 4):
        yield f"ridge {ridge:g}", model(fitted_on, ridge=ridge)
    for only in ("begin", "mtrag"):
        yield f"only {only}", model([each for each in fitted_on if each.kind.startswith(only)])
    for name in model(fitted_on).weights.keys() - {"of_records"}:  # set by hand, and WiCE has no records
        yield f"without {name}", model(fitted_on, without=name)
