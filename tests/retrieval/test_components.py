"""Components from specifications."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.components import chunker_from

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("text", "message"), TABLES["arguments_a_chunker_does_not_have_are_named"])
def test_arguments_a_chunker_does_not_have_are_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chunker_from(text)
