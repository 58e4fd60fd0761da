"""Two runs of the same samples, worked by hand: what moved, what is shown, and what would have been."""

from __future__ import annotations

from typing import Any

import pytest

from rag_evaluation_framework import Threshold
from rag_evaluation_framework.results.regressions import Side, Standing, flips_of, regressions

HALF = Threshold("token_f1", ">=", 0.5)


def standing(passes: str, value: float | None = None) -> Standing:
    """``P`` passes with 1, ``F`` fails with 0, ``n`` is not known, ``-`` was not answered."""
    scored = {"P": 1.0, "F": 0.0}.get(passes, value)
    values = {} if scored is None else {"token_f1": scored}
    return Standing(passes != "-", {"P": True, "F": False, "-": False}.get(passes), values)


def side(before: str, after: str, **given: Any) -> Side:
    """Samples 0, 1, … of two runs; a space is a sample that a run does not have."""
    runs = [
        {str(place): standing(each) for place, each in enumerate(run) if each != " "}
        for run in (before, after)
    ]
    wish = {"metrics": {"token_f1": True}, "thresholds": [HALF], **given}
    return Side(dataset="d", before=runs[0], after=runs[1], **wish)


@pytest.mark.parametrize(
    ("before", "after", "word", "counts", "would_fail"),
    [
        # Of n flips for the worse alone the mid-p is 1/2 ** (n + 1): 0.031 for four, the first below 0.04.
        ("PPPP", "FFFF", "worse", (4, 0, 0, 0, 0), 4),
        ("PPPPP", "FFFPP", "undecided", (3, 0, 0, 0, 0), 4),
        ("PPPP", "FPPP", "undecided", (1, 0, 0, 0, 0), 4),
        ("PPP", "FPP", "not evaluated", (1, 0, 0, 0, 0), None),
        ("PPFF", "PPFF", "no worse", (0, 0, 0, 0, 0), 4),
        # With one for the better six would show it, mid-p (1 + 7/2) / 128 = 0.035, if there were as many.
        ("FPPPPP", "PPPPPP", "no worse", (0, 1, 0, 0, 0), None),
        ("FPPPPPP", "PPPPPPP", "no worse", (0, 1, 0, 0, 0), 6),
        ("P", "P", "no worse", (0, 0, 0, 0, 0), None),
        ("FFFF", "PPPP", "better", (0, 4, 0, 0, 0), None),
        ("FFFP", "PPPP", "no worse", (0, 3, 0, 0, 0), None),
        # 1 worse of 5 that flipped: 1 - p = (1 + 5/2) / 32 = 0.109; of 8, (1 + 8/2) / 256 = 0.020.
        ("PFFFF", "FPPPP", "undecided", (1, 4, 0, 0, 0), None),
        ("PFFFFFFF", "FPPPPPPP", "better", (1, 7, 0, 0, 0), None),
        # What a run does not know pairs with nothing, and neither does what it does not have.
        ("PPPPn", "PPPPP", "no worse", (0, 0, 1, 0, 0), 4),
        ("PPPP P", "PPPPP ", "no worse", (0, 0, 0, 1, 1), 4),
        ("nn", "nn", "not evaluated", (0, 0, 0, 0, 0), None),
        ("P ", " P", "not evaluated", (0, 0, 0, 1, 1), None),
        ("PPPP-", "-PPP-", "undecided", (1, 0, 0, 0, 0), 4),
    ],
)
def test_flips_for_the_worse_are_held_against_those_for_the_better(
    before: str, after: str, word: str, counts: tuple[int, ...], would_fail: int | None
) -> None:
    found = regressions("b", [side(before, after)])
    told = (len(found.worse), len(found.better), len(found.unpaired), found.new, found.gone)
    assert (found.word, told, found.would_fail) == (word, counts, would_fail)
    assert found.answers_passed is None
    assert (found.drop is None) == (found.paired == 0)
    assert (found.reason is not None) == (word == "not evaluated")
    pairs = enumerate(zip(before, after, strict=True))
    worse = {("d", str(place)) for place, (one, other) in pairs if one + other in ("PF", "P-")}
    assert set(found.worse) == worse


def test_too_few_that_pair_decide_nothing_and_the_reason_says_how_many() -> None:
    half = side("PPnn", "PPPP")
    assert regressions("b", [half], min_paired=0.5).word == "no worse"
    found = regressions("b", [half], min_paired=0.51)
    assert (found.word, found.reason) == (
        "not evaluated",
        "only 2 of 4 answers can be compared: the others count in one of the two runs alone",
    )
    assert regressions("b", [side("nn", "nn")]).reason == "the two runs have no sample in common that counts"
    reason = "3 answers cannot show a drop, whatever they say"
    assert regressions("b", [side("PPP", "FFF")]).reason == reason
    # What is there and worse fails however few they are beside the others.
    assert regressions("b", [side("PPPPnnnnn", "FFFFPPPPP")], min_paired=0.9).word == "worse"


def test_too_few_flips_may_be_made_up_for_by_the_values_of_a_metric() -> None:
    """Three samples tell whether they pass; of a metric 1/2 ** 7 is within 1 %, and 1/2 ** 6 is not."""
    for valued, word in ((7, "undecided"), (6, "not evaluated")):
        runs = [
            {
                str(place): Standing(True, each if place < 3 else None, {"token_f1": 0.5})
                for place, each in enumerate([passes] * valued)
            }
            for passes in (True, False)
        ]
        runs[1] |= {place: runs[0][place] for place in "12"}
        given = Side(
            dataset="d", before=runs[0], after=runs[1], metrics={"token_f1": True}, thresholds=[HALF]
        )
        found = regressions("b", [given])
        assert (found.word, len(found.worse), found.paired) == (word, 1, 3)


def test_datasets_are_one_family_and_what_is_left_out_is_no_change() -> None:
    given = side("PPP ", "FF P", left_out=frozenset("23"))
    found = regressions("b", [side("PP", "FF"), given])
    assert (found.word, len(found.worse), found.new, found.gone) == ("worse", 4, 0, 0)
    assert found.left_out == (("d", "2"), ("d", "3"))
    assert [(each.metric, each.n, each.before, each.now, each.finding) for each in found.metrics] == [
        ("token_f1", 2, 1.0, 0.0, "undecided")
    ] * 2


@pytest.mark.parametrize(
    ("values", "higher", "finding", "drop"),
    [
        # Eight differences of one sign: 1/2 ** 8 = 0.0039 is below the 1 % of the metrics, 1/2 ** 6 is not.
        ([(0.9, 0.6)] * 4 + [(0.9, 0.7)] * 4, True, "worse", True),
        ([(0.9, 0.6)] * 4 + [(0.9, 0.7)] * 4, False, "better", False),
        ([(0.6, 0.9)] * 4 + [(0.7, 0.9)] * 4, True, "better", False),
        ([(0.6, 0.9)] * 4 + [(0.7, 0.9)] * 4, False, "worse", True),
        ([(0.9, 0.6)] * 3 + [(0.9, 0.7)] * 3, True, "undecided", True),
        ([(0.6, 0.9)] * 3 + [(0.7, 0.9)] * 3, True, "no worse", False),
        ([(0.6, 0.6)] * 8, True, "same", None),
        ([(0.6, 0.6)] * 8, False, "same", None),
        ([(0.25, 0.5), (0.5, 0.25)] * 4, True, "no worse", None),  # as far up as down
    ],
)
def test_a_gated_metric_is_tested_in_its_own_direction(
    values: list[tuple[float, float]], higher: bool, finding: str, drop: bool | None
) -> None:
    runs = [
        {str(place): Standing(True, True, {"m": pair[run]}) for place, pair in enumerate(values)}
        for run in (0, 1)
    ]
    bounds = [Threshold("m", ">=", 0.5)]
    given = Side(dataset="d", before=runs[0], after=runs[1], metrics={"m": higher}, thresholds=bounds)
    found = regressions("b", [given])
    (metric,) = found.metrics
    assert metric.finding == finding
    assert metric.before == pytest.approx(sum(before for before, _ in values) / len(values))
    assert metric.now == pytest.approx(sum(now for _, now in values) / len(values))
    assert metric.drop is not None
    assert drop is None or (metric.drop > 0.2) == drop
    word = {"same": "no worse", "better": "better", "no worse": "no worse"}.get(finding, finding)
    assert found.word == word


def test_without_a_threshold_that_can_be_missed_the_first_metric_moves_a_sample() -> None:
    values = [(0.2, 0.1), (0.1, 0.2), (0.3, 0.3), (None, 0.3), (0.3, None), (None, None)]
    runs = [
        {
            str(place): Standing(True, None, {} if pair[run] is None else {"latency": pair[run]})
            for place, pair in enumerate(values)
        }
        for run in (0, 1)
    ]
    runs[1]["2"] = Standing(False, None, {})
    moves = ["worse", "better", "worse", "unpaired", "unpaired", "nothing"]
    for higher in (True, False):
        given = Side(dataset="d", before=runs[0], after=runs[1], metrics={"latency": higher, "other": True})
        told = [move for _, move in given.movements()]
        assert told == (moves if higher else ["better", "worse", *moves[2:]])
        assert not given.decides
        assert flips_of([given]).paired == 3
    back = Side(dataset="d", before=runs[1], after=runs[0], metrics={"latency": True})
    assert dict(back.movements())["2"] == "better", "an answer is better than none"


@pytest.mark.parametrize(
    ("answers", "word", "would_fail"),
    [
        # Asked twice: two that pass turn with 1 of C(4, 2), so that two samples are shown: mid-p 1/72.
        ([(2, 2, 0, 2)] * 2, "worse", 2),
        ([(2, 2, 0, 2)], "not evaluated", None),
        ([(0, 2, 2, 2)] * 2, "better", 2),
        # One answer of five less, and one more: noise that falls, rises, or does both.
        ([(5, 5, 4, 5), (5, 5, 5, 5)], "undecided", 1),
        ([(4, 5, 5, 5), (5, 5, 5, 5)], "no worse", 1),
        ([(4, 5, 5, 5), (5, 5, 4, 5)], "no worse", 1),
        ([(2, 2, 1, 1)] * 4, "no worse", 3),  # twice before and once now: 1 of 3, three are a mid-p of 1/54
        # Asked once before and five times now: one that turns is 1 of 6, two are a mid-p of 1/72.
        ([(1, 1, 5, 5)] * 4, "no worse", 2),
    ],
)
def test_answers_to_samples_asked_again_are_exchanged_within_each(
    answers: list[tuple[int, int, int, int]], word: str, would_fail: int | None
) -> None:
    runs = [
        {
            str(place): Standing(True, 2 * each[run] > each[run + 1], {}, (each[run], each[run + 1]))
            for place, each in enumerate(answers)
        }
        for run in (0, 2)
    ]
    given = Side(dataset="d", before=runs[0], after=runs[1], metrics={"token_f1": True}, thresholds=[HALF])
    found = regressions("b", [given])
    assert (found.word, found.would_fail) == (word, would_fail)
    assert found.answers_passed == tuple(map(sum, zip(*answers, strict=True)))
