"""The command that goes on with a run: the one that began it, with what its head tells of the arguments.

What the head does not tell, as where the documents are, stands in capitals as in the command's help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import join, quote
from typing import TypeAlias

from rag_evaluation_framework.evaluation.resources import JUDGE
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_folder import CELLS, DEFAULT_RUNS_DIRECTORY

_Words: TypeAlias = Callable[[RunHead], Iterator[str]]


def resuming_command(head: RunHead, path: Path) -> str | None:
    """Return the command that goes on with the run in this folder; ``None`` if no command began it."""
    words = next((words for kind, words in _COMMANDS.items() if kind in head.configuration), None)
    if words is None:
        return None
    run = head.run_id if path.parent == DEFAULT_RUNS_DIRECTORY else str(path)
    return " ".join([*words(head), *_judges(head), "--resume", quote(run)])


def _golden(head: RunHead) -> Iterator[str]:
    yield f"rag-eval golden {quote(str(head.configuration['golden']))} {_target(head)}"
    if head.configuration.get("history") == "reference":
        yield "--history reference"


def _evaluate(head: RunHead) -> Iterator[str]:
    yield f"rag-eval evaluate {quote(str(head.configuration.get('manifest', 'MANIFEST')))} {_target(head)}"


def _generate(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    usual = f"CORPUS -o FILE --model {quote(str(head.target))}"
    yield "rag-eval generate " + (join(map(str, given)) if isinstance(given, list) else usual)


def _retrieval(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    yield "rag-eval retrieval " + (join(map(str, given)) if isinstance(given, list) else "CORPUS")


def _evaluate_models(head: RunHead) -> Iterator[str]:
    yield "python scripts/evaluate_models.py"
    yield f"--base-url {quote(str(head.configuration.get('base_url', 'URL')))}"


# By the field that only heads of this kind have; those of golden sets have what those of manifests have too.
_COMMANDS: Mapping[str, _Words] = {
    "golden": _golden,
    "selection": _evaluate,
    "generation": _generate,
    "models": _evaluate_models,
    CELLS: _retrieval,
}


def _target(head: RunHead) -> str:
    """Name the option; the target's own name is not always what was given."""
    return "--url URL" if str(head.target).startswith(("http://", "https://")) else "--target TARGET"


def _judges(head: RunHead) -> Iterator[str]:
    for judge in head.configuration.get(JUDGE) or ():
        yield f"--judge-model {quote(str(judge['model'] if isinstance(judge, Mapping) else judge))}"
