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

or, of golden sets::

    evaluation/
    ├── datasets/             factual_qa.json, relationship_qa.json, tracking_qa.json, multiturn_qa.json,
    │                         boundary_qa.json
    ├── golden_contexts/      the texts that hold the truth
    └── README.md
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


def create_layout(folder: str | Path, *, golden: bool = False) -> Created:
    """Create the folders and the files of a new project; what is there already is left as it is.

    ``golden`` makes one of golden sets instead, with a small function to put them to.
    """
    root = Path(folder)
    made = dict(starter_files(golden=golden))
    for name in (*(() if golden else FOLDERS), *(Path(name).parent for name in made)):
        try:
            (root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("create", root / name, error) from error
    created, kept = [], []
    for name, content in made.items():
        try:
            write_bytes_atomically(root / name, content, overwrite=False)
        except UsageError:  # the file is there already
            kept.append(name)
        else:
            created.append(name)
    return Created(root, tuple(created), tuple(kept))


def starter_files(*, golden: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a new project: path relative to its folder, and content."""
    yield from _files(files(__package__) / ("starter_golden" if golden else "starter"), "")


def _files(folder: Traversable, within: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{within}{item.name}/")
        else:
            # Code of the user's is none of the package's modules.
            yield f"{within}{item.name.removesuffix('.starter')}", item.read_bytes()
