"""References in a manifest: ``$file:path``, ``$env:NAME`` and ``$secret:name``.

- ``$file:`` is a path from the manifest's folder and stays inside it, links followed.
- ``$env:NAME`` is the environment variable of that name.
- ``$secret:name`` is the file of that name in the folder that ``RAG_EVAL_SECRETS_DIR`` names; else the
  environment variable of that name; else, of ``agent-key``, the variable ``AGENT_KEY``.

``$env:`` and ``$secret:`` may stand within a text: ``Bearer $secret:agent-key``. They are resolved when a
request is about to be made and not before, so a manifest can be read where its secrets are not. What is
missing or empty is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rag_evaluation_framework.errors import InputError, Issue, StorageError, shown
from rag_evaluation_framework.evaluation.manifests.secrets import SHORTEST, Secrets
from rag_evaluation_framework.files.access import read_text

SECRETS_FOLDER = "RAG_EVAL_SECRETS_DIR"
FILE_MARK = "$file:"

_REFERENCE = re.compile(r"\$(?:env:(?P<variable>\w*)|secret:(?P<secret>(?:\w(?:[\w.-]*\w)?)?))", re.ASCII)


def file_inside(text: str, folder: Path) -> Path:
    """Return the path of a ``$file:`` reference, or of a plain path, which must lie inside the folder."""
    written = text.removeprefix(FILE_MARK).strip()
    if not written or "\0" in written:
        raise InputError([Issue("invalid-reference", "the path of a file", shown(text))])
    path = folder / written
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a circle of links
        inside = False
    if not inside:
        expected = "a path that stays inside the manifest's folder"
        raise InputError([Issue("reference-outside", expected, shown(text))])
    return path


def has_reference(text: str) -> bool:
    """Tell whether a text refers to an environment variable or a secret."""
    return _REFERENCE.search(text) is not None


def resolved(text: str, environment: Mapping[str, str], *, secrets: Secrets) -> str:
    """Return a text with its references filled in; what ``$secret:`` stands for is hidden from now on.

    Every missing reference of the text is in one error, which never shows a value.
    """
    issues: list[Issue] = []

    def value_of(match: re.Match[str]) -> str:
        variable, secret = match["variable"], match["secret"]
        try:
            if not variable and not secret:
                raise InputError([Issue("invalid-reference", f"a name after {match[0]}", "none")])
            return _variable(variable, environment) if variable else _secret(secret, environment, secrets)
        except InputError as error:
            issues.extend(error.issues)
            return ""

    filled = _REFERENCE.sub(value_of, text)
    if issues:
        raise InputError(issues)
    return filled


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        found = "none" if name not in environment else "an empty one"
        raise InputError([Issue("missing-reference", f"the environment variable {name}", found)])
    return value


def _secret(name: str, environment: Mapping[str, str], secrets: Secrets) -> str:
    given = _secret_file(name, environment) or environment.get(name) or environment.get(_as_variable(name))
    value = (given or "").strip()
    if not value:
        places = f"a file {name} in {SECRETS_FOLDER}, or the environment variable {_as_variable(name)}"
        raise InputError([Issue("missing-reference", f"the secret {name}: {places}", "neither")])
    if len(value) < SHORTEST:
        expected = f"a secret {name} of at least {SHORTEST} characters ($env: is for what is no secret)"
        raise InputError([Issue("short-secret", expected, "a shorter one, which could not be hidden")])
    secrets.add(value)
    return value


def _secret_file(name: str, environment: Mapping[str, str]) -> str | None:
    folder = environment.get(SECRETS_FOLDER)
    if not folder:
        return None
    path = Path(folder) / name
    try:
        return read_text(path) if path.is_file() else None
    except (StorageError, InputError):
        # What cannot be read is no secret; its text must not be in the message.
        found = "a file that cannot be read"
        raise InputError([Issue("missing-reference", f"the secret {name}", found)]) from None


def _as_variable(name: str) -> str:
    return re.sub(r"[.-]", "_", name).upper()
