"""All of WiCE's claims, each told by a model fitted without its article."""

from __future__ import annotations

from pathlib import Path

from benchmarks import _support_fit, _wice
from benchmarks._auroc import figure
from benchmarks._figures import Figure


def rows(data: Path) -> list[Figure]:
    """Return AUROC of claims that are not supported against the rest."""
    if not (data / "wice").exists():
        return []
    claims = _wice.claims(data)
    fitted_on = [*_support_fit.wice_rows(claims), *_support_fit.begin_rows(), *_support_fit.mtrag_rows()]
    told = list(_support_fit.across_folds(fitted_on))
    name = "WiCE, all claims, not supported against the rest: AUROC"
    return [
        figure(
            f"{name} across folds",
            [each.target == _support_fit.TARGETS["not_supported"] for each, _ in told],
            [odds for _, odds in told],
            [each.source for each, _ in told],
        ),
        figure(
            f"{name}, control: new words",
            [each.label == "not_supported" for each in claims],
            [_wice.new_word_share(_wice.verdict_of(each)) for each in claims],
            [each.article for each in claims],
        ),
    ]
