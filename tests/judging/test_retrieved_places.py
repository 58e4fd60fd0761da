"""How many different places of the source the retrieved texts come from."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.milestones import golden_places, telling_places


@pytest.mark.parametrize(
    ("contexts", "places"),
    [
        (["前文。沈栖发现雾礁的灯火熄灭了，于是决定出海。后文。"], 1),
        (["沈栖发现雾礁的灯火熄灭了，于是", "沈栖和陆远舟连夜修好小船，冒着大雾出发。"], 2),  # cut by a chunk
        (["出海。"], 0),
        ([], 0),
    ],
)
def test_a_golden_place_is_found_with_half_of_its_snippet(contexts: list[str], places: int) -> None:
    snippets = ["沈栖发现雾礁的灯火熄灭了，于是决定出海。", "沈栖和陆远舟连夜修好小船，冒着大雾出发。"]
    assert golden_places(contexts, snippets) == places


def test_a_context_inside_another_is_no_place_of_its_own() -> None:
    contexts = ["她修好小船。", "夜里她修好小船。出发了。", "她点亮灯火。", "别的故事。"]
    assert telling_places(contexts, ["修好小船", "点亮灯火"]) == 2
