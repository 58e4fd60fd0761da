"""The one place where an embedder is asked: what it returns is checked before anything rests on it."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.retrieval.vectors import Matrix, checked_vectors


def embedded(embedder: Embedder, texts: Sequence[str], *, dimensions: int | None = None) -> Matrix:
    """Return one vector a text, in order; a wrong number, size or NaN is an error naming the embedder."""
    check_texts(texts)
    if not texts:
        return checked_vectors([], str(embedder), dimensions=dimensions)
    return checked_vectors(
        embedder.embed(list(texts)), f"embedder {embedder}", rows=len(texts), dimensions=dimensions
    )


def check_texts(texts: Sequence[str]) -> None:
    """Refuse one bare text where a list of texts belongs, and anything in the list that is no text."""
    if isinstance(texts, str):
        raise InputError([Issue("not-a-list", "a list of texts", shown(texts), "texts")])
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError([Issue("not-a-text", "a text", shown(text), f"texts[{number}]")])
