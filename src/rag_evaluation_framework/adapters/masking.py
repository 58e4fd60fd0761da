"""Hiding what a target sends as a secret, wherever the system under test sends it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rag_evaluation_framework.evaluation.manifests.secrets import Secrets


def unmasked(text: str) -> str:
    """Return the text as it is: the mask of a target that has no secrets."""
    return text


def header_mask(values: Iterable[str]) -> Callable[[str], str]:
    """Return a function that hides these header values, and their last words, in a text."""
    secrets = Secrets()
    for value in values:
        secrets.add(value)
    return secrets.mask if secrets else unmasked
