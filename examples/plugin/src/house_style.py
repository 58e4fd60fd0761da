"""One component of each kind; keep what you need. ``docs/how-to/plugins.md`` explains them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluation_framework import (
    Dataset,
    Evaluation,
    PositionAwareChunk,
    Request,
    Response,
    Sample,
    Turn,
    UsageError,
    metric,
    read_dataset,
)
from rag_evaluation_framework.metrics.views import TEXTS


@metric("terseness", reads=TEXTS)
def terseness(answer: str, *, words: int = 30) -> float | None:
    """How little of an answer is beyond a number of words.

    Formula: words / words of the answer, at most 1.

    Empty: an answer without a word is skipped.

    Source: our house style.
    """
    said = len(answer.split())
    return min(1.0, words / said) if said else None


class Faq:
    """A page of questions, each a heading of the second level with its answer below it."""

    name = "faq"
    suffixes = (".faq.md",)
    holds = frozenset({"question", "reference"})

    def recognises(self, preview: Any) -> bool:
        return str(preview.path).endswith(self.suffixes)

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=self.name)

    def stream(self, path: Path) -> Iterator[Sample]:
        text = Path(path).read_text(encoding="utf-8")
        for number, part in enumerate(re.split(r"^## ", text, flags=re.MULTILINE)[1:], start=1):
            question, _, answer = part.partition("\n")
            asked = (Turn(role="user", content=question.strip()),)
            yield Sample(id=f"faq-{number}", turns=asked, reference=answer.strip() or None)

    def write(self, dataset: Dataset, path: Path) -> None:
        parts = [f"## {sample.question}\n\n{sample.reference or ''}\n" for sample in dataset.samples]
        Path(path).write_text("\n".join(parts), encoding="utf-8")


FAQ = Faq()


class Paragraphs:
    """Cuts a text at empty lines; longer paragraphs are cut after so many characters."""

    def __init__(self, longest: int = 1000) -> None:
        if longest < 1:
            raise UsageError(f"paragraphs: expected longest of at least 1, got {longest}")
        self.longest = longest

    def chunk(self, text: str) -> list[str]:
        parts = (part for part in re.split(r"\n\s*\n", text) if part.strip())
        return [part[at : at + self.longest] for part in parts for at in range(0, len(part), self.longest)]

    def __str__(self) -> str:  # what results record, and what reads back into the same
        return f"paragraphs(longest={self.longest})"


class Letters:
    """Counts the letters of a text, without accents."""

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[1 + text.lower().count(letter) for letter in letters] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(len(texts), len(letters))

    def __str__(self) -> str:
        return "letters"


class PlainStore:
    """Compares a query with every vector, by cosine."""

    def __init__(self) -> None:
        self.kept: list[tuple[PositionAwareChunk, Any]] = []

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        self.kept += zip(chunks, map(np.asarray, embeddings), strict=True)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        query = np.asarray(query_embedding)
        by_cosine = sorted(self.kept, key=lambda each: -float(each[1] @ query / np.linalg.norm(each[1])))
        return [chunk for chunk, _ in by_cosine[:k]]

    def __str__(self) -> str:
        return "plain"


class Shortest:
    """Prefers what is shortest."""

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        return sorted(chunks, key=lambda chunk: len(chunk.content))[:k]

    def __str__(self) -> str:
        return "shortest"


class LookedUp:
    """Answers with the reference of the same question in a dataset of any dialect."""

    def __init__(self, path: str) -> None:
        self.name = f"looked_up(path={path})"
        self._answers = {sample.question: sample.reference for sample in read_dataset(path).samples}

    async def answer(self, request: Request) -> Response:
        return Response(text=self._answers.get(request.sample.question) or "I do not know.")

    async def close(self) -> None:
        """It holds nothing."""


def line(evaluation: Evaluation) -> str:
    """Render the figures in one line, for a chat."""
    figures = {name: each.value for name, each in evaluation.metrics.items()}
    told = (f"{name} {value:.2f}" for name, value in figures.items() if value is not None)
    return f"{evaluation.name}: {', '.join(told)}"


def house_judge(model: str = "small", host: str = "http://localhost:8000/v1") -> Any:
    """Ask a model on our own machines; any object with complete(prompt) would do as well."""
    from rag_evaluation_framework.adapters.openai import OpenAIChatModel

    return OpenAIChatModel(model, base_url=host)
