"""Which of two versions of a dataset is the later one."""

from __future__ import annotations

from itertools import product

import pytest

from cases import tables_beside
from rag_evaluation_framework.datasets.catalogue import parse_version, precedence, same_version, split_version

TABLES = tables_beside(__file__)

# The examples of the standard's sections 9 and 11 in ascending order, with a few between them.
ASCENDING = tables_beside(__file__)["ascending"]


def test_precedence_follows_the_standards_own_order() -> None:
    for index, text in enumerate(ASCENDING):
        for later in ASCENDING[index + 1 :]:
            assert precedence(text) < precedence(later), (text, later)


def test_builds_are_different_versions_of_equal_precedence() -> None:
    assert precedence("1.0.0+a") == precedence("1.0.0+b") == precedence("1.0.0")
    assert not same_version("1.0.0+a", "1.0.0+b")


@pytest.mark.parametrize(("one", "other"), list(product(["3", "v3", "V3.0", "3.0.0", "v3.0.0"], repeat=2)))
def test_a_leading_v_and_missing_parts_do_not_make_another_version(one: str, other: str) -> None:
    assert same_version(one, other)


@pytest.mark.parametrize(
    "text", ["", "v", "latest", "1.2.3.4", "1.0.0-", "1..0", "१.0.0", "1.0.0\n", "9" * 5000]
)
def test_what_is_no_version_is_told_and_equals_only_itself(text: str) -> None:
    assert parse_version(text) is None
    assert same_version(text, text)
    assert not same_version(text, "1.0.0")
    assert precedence(text) < precedence("0.0.0-0")


@pytest.mark.parametrize(("identifier", "parts"), TABLES["an_id_parts_from_the_version_at_its_end"])
def test_an_id_parts_from_the_version_at_its_end(identifier: str, parts: list[str | None]) -> None:
    assert list(split_version(identifier)) == parts
