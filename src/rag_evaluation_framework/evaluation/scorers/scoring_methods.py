"""What metrics may be computed with beyond the machine's own means, and how a metric's method is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.extensions import Dialect, Embedder
from rag_evaluation_framework.metrics.declaration import AUTO, BoundMetric, Method, parse_metric
from rag_evaluation_framework.records.documents import Corpus

if TYPE_CHECKING:
    # A judge is seldom there; what it takes is imported with it.
    from rag_evaluation_framework.judging.judges.judge import Judge
    from rag_evaluation_framework.judging.judges.rubrics import Rubric
    from rag_evaluation_framework.language_models.spending import Spending

HOW_TO_JUDGE = "give --judge-model MODEL, and --judge-url URL for an endpoint of your own"
HOW_TO_EMBED = "give --embedder EMBEDDER"

# Citations are opened in documents; what was retrieved is looked up in them by name and by text.
_FAMILIES_WITH_DOCUMENTS = frozenset({"citations", "ranking", "spans"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringMethods:
    """The judge, its rubric, the embedder and the documents to score with; ``None`` for what is not there."""

    judge: Judge | None = None
    rubric: Rubric | None = None
    embedder: Embedder | None = None
    corpus: Corpus | None = None
    spending: Spending | None = None
    """What the judge has cost so far."""
    threads: int = 16
    """How many samples may wait for a judge or an embedder at once."""


def with_documents(
    methods: ScoringMethods, metrics: Iterable[str], *, dialect: Dialect, path: Path
) -> ScoringMethods:
    """Return the methods with the dataset's own documents, where a metric looks something up in documents.

    Those that were given stay.
    """
    if (
        methods.corpus is not None
        or not any(map(_looks_up, metrics))
        or "dataset.documents" not in dialect.holds
    ):
        return methods
    documents = dialect.read(path).documents
    return replace(methods, corpus=Corpus(documents)) if documents else methods


def chosen_method(metric: BoundMetric, methods: ScoringMethods) -> Method | None:
    """Return the method by which a metric is computed; ``None`` where only a judge could and there is none.

    Asking by name for a method that is not set up is a :class:`UsageError` that says how to set it up.
    """
    asked = metric.parameters.get("method", AUTO)
    if asked == "judge" and methods.judge is None:
        raise UsageError(f"metric {metric}: needs a judge: {HOW_TO_JUDGE}")
    if asked == "embedding" and methods.embedder is None:
        raise UsageError(f"metric {metric}: needs an embedder: {HOW_TO_EMBED}")
    offered = metric.metric.methods
    if asked != AUTO:
        return next(method for method in offered if method == asked)
    if "judge" in offered and methods.judge is not None:
        return "judge"
    if "embedding" in offered and methods.embedder is not None:
        return "embedding"
    return next((method for method in offered if method in ("lexical", "lexicon")), None)


def _looks_up(metric: str) -> bool:
    """Tell whether a metric looks something up in documents; one that is not declared does not."""
    try:
        return parse_metric(metric).metric.family in _FAMILIES_WITH_DOCUMENTS
    except UsageError:
        return False  # where it is a mistake, who builds its scorer says so
