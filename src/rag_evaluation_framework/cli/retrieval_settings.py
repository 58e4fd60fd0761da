"""What ``rag-eval retrieval`` is asked for: options, and below them a ``.config.yaml``.

::

    dataset: questions.eval.json         # paths are relative to the file itself
    retrieval:
      corpus: documents
      chunker: ["recursive(chunk_size=200, overlap=50)", sentence]
      retriever: [dense, bm25]
      reranker: [none, lexical]
      k: [5, 10]
    output: results
    seed: 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.value_files import read_configuration
from rag_evaluation_framework.errors import UnknownNameError, UsageError, invalid, shown

DEFAULT_CHUNKER = "recursive(chunk_size=1000, overlap=200)"
DEFAULT_GLOB = "**/*.md"
NONE = "none"

_KEYS = (
    "corpus",
    "glob",
    "level",
    "chunker",
    "embedder",
    "retriever",
    "store",
    "reranker",
    "k",
    "fetch_k",
    "rank_by",
    "cache",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """Everything that a sweep needs; parts are specifications, ``none`` among the rerankers is none."""

    corpus: Path
    dataset: Path | None
    glob: str
    level: str | None
    chunkers: tuple[str, ...]
    embedders: tuple[str, ...]
    retrievers: tuple[str, ...]
    stores: tuple[str | None, ...]
    rerankers: tuple[str | None, ...]
    ks: tuple[int, ...]
    fetch_k: int | None
    rank_by: str | None
    cache: Path | None
    out: Path | None
    seed: int


def settings_of(given: Mapping[str, Any], config: Path | None) -> RetrievalSettings:
    """Join options, which come first, with a configuration file; what neither says has its default.

    ``given`` has the keys of the file's ``retrieval`` section, and ``dataset``, ``output`` and ``seed``.
    """
    stated = _stated(config) if config is not None else {}
    values = {**stated, **{name: value for name, value in given.items() if value not in (None, ())}}
    if "corpus" not in values:
        raise UsageError("corpus: expected a folder of documents or a dataset that holds some, got none")
    try:
        return RetrievalSettings(
            corpus=Path(values["corpus"]),
            dataset=_path(values.get("dataset")),
            glob=str(values.get("glob", DEFAULT_GLOB)),
            level=values.get("level"),
            chunkers=_texts("chunker", values) or (DEFAULT_CHUNKER,),
            embedders=_texts("embedder", values) or ("hashing",),
            retrievers=_texts("retriever", values) or ("dense",),
            stores=_texts("store", values) or (None,),
            rerankers=tuple(None if each == NONE else each for each in _texts("reranker", values)) or (None,),
            ks=_whole_numbers("k", values) or (5,),
            fetch_k=next(iter(_whole_numbers("fetch_k", values)), None),
            rank_by=values.get("rank_by"),
            cache=_path(values.get("cache")),
            out=_path(values.get("output")),
            seed=next(iter(_whole_numbers("seed", values)), 0),
        )
    except UsageError as error:
        raise UsageError(f"{config}: {error}" if config is not None else str(error)) from None


def _stated(config: Path) -> dict[str, Any]:
    """Return what the file says, its paths made relative to where the command runs."""
    whole = read_configuration(config)
    section = whole.get("retrieval", {})
    if not isinstance(section, Mapping):
        raise invalid("retrieval", "chunker, k and so on by name", section).located(str(config))
    if unknown := next((name for name in section if name not in _KEYS), None):
        raise UnknownNameError("setting of retrieval", str(unknown), _KEYS)
    values = {**section, **{name: whole[name] for name in ("dataset", "output", "seed") if name in whole}}
    for name in ("corpus", "dataset", "output", "cache"):
        if name in values:
            values[name] = config.parent / str(values[name])
    return values


def _path(value: Any) -> Path | None:
    return None if value is None else Path(value)


def _texts(name: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one text or several; YAML's empty value among them is ``none``."""
    value = values.get(name, ())
    listed = value if isinstance(value, list | tuple) else [value]
    texts = [NONE if each is None else each for each in listed]
    if wrong := next((each for each in texts if not isinstance(each, str)), None):
        example = "recursive(chunk_size=200)"
        raise UsageError(f"{name}: expected specifications such as {example}, got {shown(wrong)}")
    return tuple(texts)


def _whole_numbers(name: str, values: Mapping[str, Any]) -> tuple[int, ...]:
    value = values.get(name, ())
    listed = value if isinstance(value, list | tuple) else [value]
    for each in listed:
        if not isinstance(each, int) or isinstance(each, bool):
            raise UsageError(f"{name}: expected a whole number, got {shown(each)}")
    return tuple(listed)
