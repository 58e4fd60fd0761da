"""The words and patterns by which sentences and documents are read, kept as data: ``data/*.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_NAME_OF_A_PART = re.compile(r"\{([a-z_]+)\}")


def load_words(file: str) -> dict[str, Any]:
    """Return the lists of a file by name; words that stand in one text are a set."""
    lists = _decoded(file)
    return {name: frozenset(each.split()) if isinstance(each, str) else each for name, each in lists.items()}


def load_patterns(file: str, **parts: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a file by name; ``{name}`` stands for a part, or for a pattern above."""
    texts = dict(parts)
    for name, lines in _decoded(file).items():
        texts[name] = _NAME_OF_A_PART.sub(lambda found: texts[found[1]], lines.replace("\n", ""))
    return {name: re.compile(text) for name, text in texts.items()}


def _decoded(file: str) -> dict[str, Any]:
    from rag_evaluation_framework.files.yaml_documents import decode  # slow to import

    lists: dict[str, Any] = decode((files(__package__) / "data" / file).read_bytes())
    return lists
