"""The labelled data is looked for in one place."""

from __future__ import annotations

from pathlib import Path

from benchmarks._labelled_data import labelled_data


def test_labelled_data_is_beside_the_checkout_unless_a_variable_names_another_folder() -> None:
    beside = Path(__file__).parents[2] / "shared" / "data"
    assert labelled_data({}) == labelled_data({"RAG_EVAL_LABELLED_DATA": ""}) == beside
    assert labelled_data({"RAG_EVAL_LABELLED_DATA": "elsewhere/labels"}) == Path("elsewhere/labels")
