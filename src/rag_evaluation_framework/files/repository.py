"""The branch and commit of a folder, read from the files of its repository.

Where machines that build check a commit out without its branch, they name the branch in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.files.access import read_bytes

_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH")
_HEADS = "ref: refs/heads/"


def repository_state(folder: Path, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return ``branch`` and ``commit``, as far as they are known; nothing outside of a repository."""
    here = folder.resolve()
    place = next((each / ".git" for each in (here, *here.parents) if (each / ".git").exists()), None)
    if place is None:
        return {}
    if place.is_file():  # of a work tree, or of a repository inside another
        place = place.parent / _first_line(place).removeprefix("gitdir: ")
    head = _first_line(place / "HEAD")
    if head.startswith(_HEADS):
        branch: str | None = head.removeprefix(_HEADS)
        commit = _commit_of(place, str(branch))
    else:
        given = os.environ if environment is None else environment
        branch, commit = next((given[name] for name in _BRANCHES if given.get(name)), None), head
    return {name: value for name, value in {"branch": branch, "commit": commit}.items() if value}


def _commit_of(directory: Path, branch: str) -> str:
    shared = _first_line(directory / "commondir")  # of a work tree
    for place in (directory, *([directory / shared] if shared else [])):
        if commit := _first_line(place / "refs" / "heads" / branch):
            return commit
        for line in _lines_of(place / "packed-refs"):
            if line.endswith(f" refs/heads/{branch}"):
                return line.partition(" ")[0]
    return ""


def _first_line(path: Path) -> str:
    return next(iter(_lines_of(path)), "").strip()


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a file; none of one that cannot be read."""
    try:
        return read_bytes(path).decode("utf-8", "replace").splitlines() if path.is_file() else []
    except (OSError, RagEvalError):
        return []
