"""The configuration files of a project: each value with its line.

::

    data/config/evaluation_defaults.config.yaml           how evaluations run, unless an option says otherwise
    data/config/performance_benchmark_config.config.yaml  how ``rag-eval benchmark`` measures
    data/config/ab_testing_config.config.yaml             an experiment (see :mod:`.results.experiments`)

Paths in them are relative to the project's folder. An unknown key is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rag_evaluation_framework.errors import shown
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.project_root import (
    configuration_file,
    in_project,
    is_runs_directory,
    project_root,
)

if TYPE_CHECKING:
    from rag_evaluation_framework.files.json_scanner import ValuePath
    from rag_evaluation_framework.files.yaml_documents import YamlReader

EVALUATION_DEFAULTS = "evaluation_defaults"
PERFORMANCE = "performance_benchmark_config"
AB_TESTING = "ab_testing_config"

COMPONENTS = ("chunker", "embedder", "retriever", "store", "index", "reranker")
"""The parts of a retrieval, of which one or several may be named."""


class Setting(msgspec.Struct, frozen=True):
    """A value of a configuration file, and where it stands."""

    key: str
    value: Any
    file: Path
    line: int | None = None

    @property
    def origin(self) -> str:
        """File and line."""
        return str(self.file) if self.line is None else f"{self.file}:{self.line}"


Settings = Mapping[str, Setting]
"""The settings of a file by key; those of a section by ``section.key``."""

_Read = Callable[["YamlReader", "ValuePath"], Any]


def project_settings(name: str = EVALUATION_DEFAULTS) -> Settings:
    """Read one of a project's configurations; nothing outside of a project, or where the file is missing.

    Everything that is wrong with the file is in one error.
    """
    root = project_root()
    path = None if root is None else configuration_file(root / "data" / "config", name)
    return {} if path is None else read_settings(path, name)


def read_settings(path: Path, name: str) -> Settings:
    """Read a configuration file of a project."""
    from rag_evaluation_framework.files.yaml_documents import YamlReader

    keys = _keys(name)
    reader = YamlReader(read_text(path), file=str(path))
    reader.mapping()
    sections = {key.partition(".")[0] for key in keys if "." in key}
    reader.check_keys([*dict.fromkeys(key.partition(".")[0] for key in keys)], strict=True)
    for section in sections:
        reader.mapping(section)
        known = [key.partition(".")[2] for key in keys if key.startswith(f"{section}.")]
        reader.check_keys(known, section, strict=True)
    found = {}
    for key, read in keys.items():
        place: ValuePath = tuple(key.split("."))
        if reader.at(*place) is not None:
            found[key] = Setting(key, read(reader, place), path, reader.line(place))
    reader.raise_all()
    return found


def results_directory() -> Path:
    """Return where results documents are kept: in the project's ``output``, by default its results folder."""
    setting = project_settings().get("output")
    return in_project("data", "evaluation", "results") if setting is None else in_project(setting.value)


def kept_results(runs: Path) -> Path | None:
    """Return where a project keeps the results documents of the runs in a folder; ``None`` if in none."""
    return results_directory() if is_runs_directory(runs) else None


def kept_names(runs: Path) -> list[str]:
    """Return the names under which a project keeps results, in which the runs of a folder share."""
    folder = kept_results(runs)
    if folder is None or not folder.is_dir():
        return []
    return [path.name.partition(".")[0] for path in folder.iterdir()]


# How each key is read.


def _text(reader: YamlReader, place: ValuePath) -> str:
    return reader.text(*place)


def _texts(reader: YamlReader, place: ValuePath) -> tuple[str, ...]:
    if isinstance(reader.at(*place), str):
        return (reader.text(*place),)
    return reader.texts(*place, expected="a name or a list of names")


def _whole(least: int) -> _Read:
    def read(reader: YamlReader, place: ValuePath) -> int:
        found = reader.at(*place)
        if isinstance(found, int) and not isinstance(found, bool) and found >= least:
            return found
        reader.problem(place, f"a whole number of at least {least}", shown(found))
        return least

    return read


def _wholes(reader: YamlReader, place: ValuePath) -> tuple[int, ...]:
    found = reader.at(*place)
    listed = found if isinstance(found, list) and found else [found]
    if all(isinstance(each, int) and not isinstance(each, bool) and each >= 1 for each in listed):
        return tuple(listed)
    reader.problem(place, "a whole number of at least 1, or a list of them", shown(found))
    return (1,)


def _between(least: float, most: float) -> _Read:
    def read(reader: YamlReader, place: ValuePath) -> float:
        found = reader.at(*place)
        if isinstance(found, int | float) and not isinstance(found, bool) and least <= found <= most:
            return float(found)
        reader.problem(place, f"a number from {least:g} to {most:g}", shown(found))
        return least

    return read


def _percentiles(reader: YamlReader, place: ValuePath) -> tuple[float, ...]:
    found = reader.at(*place)
    listed = found if isinstance(found, list) else []
    numbers = [each for each in listed if isinstance(each, int | float) and not isinstance(each, bool)]
    if numbers and len(numbers) == len(listed) and all(0 < each < 100 for each in numbers):
        return tuple(dict.fromkeys(sorted(numbers)))
    reader.problem(place, "a list of numbers between 0 and 100", shown(found))
    return (50,)


def _keys(name: str) -> dict[str, _Read]:
    """Return how each key of a configuration is read."""
    seconds = _between(0.1, 3600)
    if name == PERFORMANCE:
        return {
            "dataset": _text,
            "warmup_queries": _whole(0),
            "repetitions": _whole(1),
            "concurrency": _whole(1),
            "percentiles": _percentiles,
            "timeout_seconds": seconds,
            "output": _text,
        }
    return {
        "dataset": _text,
        "metrics": _texts,
        **{f"retrieval.{each}": _text for each in ("corpus", "glob", "level", "rank_by", "cache")},
        **{f"retrieval.{each}": _texts for each in COMPONENTS},
        "retrieval.k": _wholes,
        "retrieval.fetch_k": _whole(1),
        "citations.tolerance_chars": _whole(0),
        "confidence_level": _between(0.5, 0.9999),
        "timeout_seconds": seconds,
        "max_retries": _whole(0),
        "concurrency": _whole(1),
        "seed": _whole(0),
        "output": _text,
    }
