"""The phrases of golden answers: each is an expression, and each is used."""

from __future__ import annotations

import re
from pathlib import Path

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import mentions

PACKAGE = Path(mentions.__file__).parents[1]
DATA = PACKAGE / "judging" / "data" / "phrases.yaml"
NAMES = list(yaml_documents.decode(DATA.read_text(encoding="utf-8")))


def test_each_phrase_is_used_by_another_or_by_the_code() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in DATA.parents[1].glob("*.py"))
    in_code, in_data = re.findall(r'"([a-z_]+)"', code), re.findall(r"\{([a-z_]+)\}", DATA.read_text("utf-8"))
    assert set(NAMES) <= {*in_code, *in_data}


def test_a_phrase_stands_for_its_lines_wherever_it_is_named() -> None:
    assert all(mentions.phrase(name) for name in NAMES)
    assert mentions.phrase("left_out").search("he is not.")  # one of the words of {auxiliary}
    assert mentions.phrase("not_shown").search("there is no evidence, that")
