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

    agent.yaml                what to ask, measure and require
    evals/first.jsonl         the first questions
    test_rag.py               the same as a pytest test
    .github/workflows/        the same on every pull request

or, of the example of golden sets::

    evaluation/
    ├── datasets/             factual_qa.json, relationship_qa.json, tracking_qa.json, multiturn_qa.json,
    │                         boundary_qa.json
    ├── golden_contexts/      the texts that hold the truth
    └── README.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from rag_evaluation_framework.errors import UnknownNameError, UsageError, refused
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

EXAMPLES = {
    "first-evaluation": "starter_first_evaluation",
    "choose-a-chunker": "starter_choose_a_chunker",
    "golden-set": "starter_golden",
}
"""The examples of the tutorials, and the folder of each one's files."""


class Created(msgspec.Struct, frozen=True):
    """The result of starting a project: paths relative to its folder, in order; ``kept`` existed before."""

    folder: Path
    created: tuple[str, ...]
    kept: tuple[str, ...]


def create_layout(
    folder: str | Path, *, example: str | None = None, files: Mapping[str, bytes] | None = None
) -> Created:
    """Create the folders and the files of a new project; existing files are never overwritten.

    ``files`` are its own, by path; by default those of the starter, or of an ``example`` in ``EXAMPLES``.
    """
    root = Path(folder)
    made = dict(starter_files(example)) if files is None else files
    for name in (*(() if example else FOLDERS), *(Path(name).parent for name in made)):
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


def starter_files(example: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a new project or of an example: path relative to its folder, and content."""
    if example is not None and example not in EXAMPLES:
        raise UnknownNameError("example", example, list(EXAMPLES))
    yield from _files(resources(__package__) / (EXAMPLES[example] if example else "starter"), "")


def workflow_file(service: str) -> tuple[str, bytes]:
    """Return where the workflow of GitHub or GitLab stands in a repository, and what is in it."""
    path = {"github": ".github/workflows/rag-eval.yml", "gitlab": ".gitlab-ci.yml"}[service]
    return path, (resources(__package__) / "starter_workflows" / f"{service}.yml").read_bytes()


def _files(folder: Traversable, within: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{within}{item.name}/")
        else:
            # Code of the user's is none of the package's modules.
            yield f"{within}{item.name.removesuffix('.starter')}", item.read_bytes()
