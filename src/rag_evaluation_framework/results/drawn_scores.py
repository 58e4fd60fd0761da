"""Scores of which only some were judged: which were drawn, and the estimate for all that they give.

A cheap method scores every sample, and its value is in the details of each score. The strata of a run are
made of these scores alone, so that whoever reads the run finds the same ones that its samples were drawn by.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.records.scores import CHEAP_SCORE, Score
from rag_evaluation_framework.statistics.partly_judged import Judging, PartlyJudgedMean, strata_of
from rag_evaluation_framework.statistics.resampling import Floats

Draws = npt.NDArray[np.int8]
"""For each sample the number of its stratum, from 1 on; below 0 where it was not drawn, 0 if it is in none.

What has no verdict because its judging failed counts as not drawn.
"""

JoinedDraws = npt.NDArray[np.int16]
"""The draws of several runs: the strata of each are others."""

PARTLY = ", partly judged"
"""The ending of the method of a figure that covers more samples than were judged."""


class JudgedPart(msgspec.Struct, frozen=True):
    """Of how many samples a mean tells, though not all were judged.

    ``n`` are those that the metric applies to, as far as the verdicts tell; ``drawn`` were to be judged, and
    ``failed`` of them have no verdict because judging failed. ``effective`` is how many verdicts of a plain
    random sample would tell the mean as well.
    """

    n: int
    drawn: int
    failed: int
    effective: float

    def to_dict(self) -> dict[str, float]:
        """Return what results files store of it."""
        return {
            "n_population": self.n,
            "n_drawn": self.drawn,
            "n_drawn_failed": self.failed,
            "n_effective": round(self.effective, 1),
        }


class CheapScores:
    """The scores of a cheap method for the samples of one metric, and which samples were drawn."""

    def __init__(self) -> None:
        self._values = array("d")
        self._states = bytearray()

    def add(self, score: Score, *, place: int) -> None:
        """Take the score of a sample; one that no draw is about is passed over."""
        if CHEAP_SCORE not in score.details:
            return
        self.fill(place)
        cheap = score.details[CHEAP_SCORE]
        self._values.append(np.nan if cheap is None else float(cheap))
        state = 1 if score.is_undrawn else 3 if score.status == "failed" else 2
        self._states.append(state)

    def fill(self, size: int) -> None:
        """Say that the samples up to a place are in no draw."""
        missing = size - len(self._states)
        self._values.extend([np.nan] * missing)
        self._states.extend([0] * missing)

    def __bool__(self) -> bool:
        return bool(self._states)

    @property
    def values(self) -> Floats:
        return np.array(self._values)

    @property
    def states(self) -> npt.NDArray[np.uint8]:
        """0 in no draw, 1 not drawn, 2 drawn, 3 drawn and failed."""
        return np.frombuffer(bytes(self._states), dtype=np.uint8)


def screening_scores(cheap: Sequence[Floats], *, higher_is_better: Sequence[bool]) -> Floats:
    """Return what several metrics' cheap scores say of each sample together, NaN where none says anything.

    Each counts from its lowest to its highest, those of which lower is better turned about.
    """
    if len(cheap) == 1:
        return cheap[0]
    total, told = np.zeros(len(cheap[0])), np.zeros(len(cheap[0]))
    for values, is_higher in zip(cheap, higher_is_better, strict=True):
        known = ~np.isnan(values)
        low, high = (values[known].min(), values[known].max()) if known.any() else (0.0, 0.0)
        scaled = (values - low) / (high - low) if high > low else np.where(known, 0.5, np.nan)
        total += np.where(known, scaled if is_higher else 1.0 - scaled, 0.0)
        told += known
    return np.where(told > 0, total / np.maximum(told, 1), np.nan)


def draws_of(
    scores: Mapping[str, CheapScores], *, higher_is_better: Mapping[str, bool], size: int
) -> dict[str, Draws]:
    """Return the draw of each metric that was judged in part."""
    drawn = {name: each for name, each in scores.items() if each}
    if not drawn:
        return {}
    for each in drawn.values():
        each.fill(size)
    population = np.any([each.states > 0 for each in drawn.values()], axis=0)
    screened = screening_scores(
        [each.values[population] for each in drawn.values()],
        higher_is_better=[higher_is_better[name] for name in drawn],
    )
    strata = np.zeros(size, dtype=np.int8)
    strata[population] = strata_of(screened) + 1
    return {
        name: np.where(each.states == 0, 0, np.where(each.states == 2, strata, -strata)).astype(np.int8)
        for name, each in drawn.items()
    }


def judging_of(draws: Draws | JoinedDraws, values: Floats) -> Judging:
    """Return what was judged of the samples of a draw; others are left out."""
    inside = draws != 0
    return Judging(np.abs(draws[inside]).astype(np.int64) - 1, draws[inside] > 0, values[inside])


def paired_judgings(*runs: tuple[Floats, JoinedDraws | None]) -> tuple[Judging, ...]:
    """Return what was judged of two runs, over the samples of both; one without a draw judged all it scored.

    Each has values and draws of the same samples.
    """
    draws = [np.where(np.isnan(values), 0, 1) if drawn is None else drawn for values, drawn in runs]
    shared = np.logical_and.reduce([drawn != 0 for drawn in draws])
    return tuple(judging_of(drawn[shared], run[0][shared]) for drawn, run in zip(draws, runs, strict=True))


def estimated(
    draws: Draws, values: Floats, *, is_share: bool, confidence: float, failed: int = 0
) -> tuple[PartlyJudgedMean | None, JudgedPart]:
    """Return the mean of all samples of a draw, and of how many it tells; ``failed`` ones have no verdict."""
    found = judging_of(draws, values).mean(is_share=is_share, confidence=confidence)
    drawn = int((draws > 0).sum()) + failed
    if found is None:
        return None, JudgedPart(int((draws != 0).sum()), drawn, failed, 0.0)
    return found, JudgedPart(found.n, drawn, failed, found.effective)
