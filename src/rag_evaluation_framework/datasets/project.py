"""The folders of a project, and starting one: with a small valid dataset, annotations and configurations.

::

    data/
    ├── evaluation/
    │   ├── datasets/         *.eval.json
    │   ├── ground_truth/     *.gt.json
    │   │   └── annotations/  a folder for each annotator
    │   └── results/          *.results.json
    ├── benchmarks/
    │   ├── performance/
    │   └── quality/
    └── config/               *.config.yaml
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rag_evaluation_framework.errors import UsageError, refused
from rag_evaluation_framework.files.atomic import write_bytes_atomically

FOLDERS = (
    "data/evaluation/datasets",
    "data/evaluation/ground_truth/annotations/annotator_001",
    "data/evaluation/ground_truth/annotations/annotator_002",
    "data/evaluation/results",
    "data/benchmarks/performance",
    "data/benchmarks/quality",
    "data/config",
)


@dataclass(frozen=True, slots=True)
class Created:
    """What starting a project did: paths relative to its folder, in order; ``kept`` was there before."""

    folder: Path
    created: tuple[str, ...]
    kept: tuple[str, ...]


def create_layout(folder: str | Path) -> Created:
    """Create the folders and the files of a new project; what is there already is left as it is."""
    root = Path(folder)
    created, kept = [], []
    for name in FOLDERS:
        try:
            (root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("create", root / name, error) from error
    for name, content in starter_files():
        try:
            write_bytes_atomically(root / name, content, overwrite=False)
        except UsageError:  # the file is there already
            kept.append(name)
        else:
            created.append(name)
    return Created(root, tuple(created), tuple(kept))


def starter_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of a new project: path relative to its folder, and content."""
    yield from _files(files(__package__) / "starter", "")


def _files(folder: Traversable, within: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{within}{item.name}/")
        else:
            yield f"{within}{item.name}", item.read_bytes()
