"""Which samples a run is over: tags first, then a seeded draw that keeps the order of the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, Sample, Turn, UsageError
from rag_evaluation_framework.evaluation.preflight import Selection, select_samples


def samples(number: int) -> list[Sample]:
    return [
        Sample(
            id=f"s{n}",
            turns=(Turn(role="user", content=f"q{n}"),),
            tags=tuple(tag for tag, every in (("even", 2), ("third", 3)) if n % every == 0),
        )
        for n in range(number)
    ]


def chosen(selection: Selection) -> list[str]:
    return [sample.id for sample in selection()]


def test_any_of_several_tags_is_enough() -> None:
    selection = select_samples(lambda: iter(samples(8)), tags=["even", "third"])
    assert chosen(selection) == chosen(selection) == ["s0", "s2", "s3", "s4", "s6"]
    assert (selection.n_in_file, selection.n_matching) == (8, 5)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 5), st.booleans())
def test_a_draw_is_of_the_size_without_replacement_in_file_order_and_among_the_tagged(
    number: int, size: int, seed: int, tagged: bool
) -> None:
    tags = ["even"] if tagged else []
    candidates = [sample.id for sample in samples(number) if not tagged or "even" in sample.tags]
    selection = select_samples(lambda: iter(samples(number)), tags=tags, sample_size=size, seed=seed)
    drawn = chosen(selection)
    assert len(drawn) == len(selection) == min(size, len(candidates))
    assert drawn == [identifier for identifier in candidates if identifier in set(drawn)]


def test_the_seed_decides_the_draw_and_the_order_of_the_file_does_not() -> None:
    draws = {
        seed: chosen(select_samples(lambda: iter(samples(100)), sample_size=20, seed=seed)) for seed in (0, 1)
    }
    assert draws[0] != draws[1]
    again = select_samples(lambda: iter(samples(100)), sample_size=20)
    backwards = select_samples(lambda: iter(samples(100)[::-1]), sample_size=20)
    assert chosen(again) == draws[0]
    assert set(chosen(backwards)) == set(draws[0])


def test_a_larger_draw_holds_the_smaller_one() -> None:
    small = chosen(select_samples(lambda: iter(samples(50)), sample_size=5))
    large = chosen(select_samples(lambda: iter(samples(50)), sample_size=25))
    assert set(small) < set(large)


def test_every_sample_is_drawn_about_as_often_as_any_other() -> None:
    counts = dict.fromkeys((f"s{n}" for n in range(20)), 0)
    for seed in range(1000):
        for identifier in chosen(select_samples(lambda: iter(samples(20)), sample_size=5, seed=seed)):
            counts[identifier] += 1
    # 1,000 draws of a quarter: 250 each, with a standard deviation of 13.7.
    assert all(190 < count < 310 for count in counts.values())


def test_choosing_nothing_is_an_error_that_names_the_tags_there_are() -> None:
    with pytest.raises(UsageError, match="with the tag odd, got none of 8; tags there: even, third"):
        select_samples(lambda: iter(samples(8)), tags=["odd"])
    with pytest.raises(InputError, match="expected at least one sample, got none"):
        select_samples(lambda: iter([]))
