"""What metrics are computed with, what their scorers share, and how a metric's method is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.scorers.found_once import LatestOf
from rag_evaluation_framework.evaluation.scorers.searched_documents import SearchedDocuments
from rag_evaluation_framework.evaluation.scorers.shared_verdicts import SharedVerdicts
from rag_evaluation_framework.evaluation.scorers.turn_by_turn import Turns, turns_of
from rag_evaluation_framework.extensions import Dialect, Embedder
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.rubrics import Rubric
from rag_evaluation_framework.metrics.declaration import AUTO, BoundMetric, Method, parse_metric
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.records.documents import Corpus

HOW_TO_JUDGE = "give --judge-model MODEL, and --judge-url URL for an endpoint of your own"
HOW_TO_EMBED = "give --embedder EMBEDDER"

# Citations are opened in documents, and claims held against them; what was retrieved is looked up in them by
# name and by text.
_FAMILIES_WITH_DOCUMENTS = frozenset({"citations", "consistency", "ranking", "spans"})


@dataclass(frozen=True, kw_only=True)
class ScoringMethods:
    """The judge, its rubric, the embedder and the documents to score with; ``None`` for what is not there.

    The scorers that are built with one of these share what they find out about an answer.
    """

    judge: Judge | None = None
    rubric: Rubric | None = None
    embedder: Embedder | None = None
    corpus: Corpus | None = None
    spending: Spending | None = None
    """What the judge has cost so far."""
    threads: int = 16
    """How many samples may wait for a judge or an embedder at once."""

    @cached_property
    def documents(self) -> SearchedDocuments:
        """The documents, for looking things up; without a corpus there are none."""
        return SearchedDocuments(() if self.corpus is None else self.corpus.documents)

    @cached_property
    def turns(self) -> LatestOf[Turns | None]:
        """The turns of the latest conversations."""
        return LatestOf(turns_of)

    def verdicts_by(self, method: Method | None) -> SharedVerdicts:
        """Return the verdicts of the judge if that is the method, else those by words."""
        judged = self._judged if method == "judge" else None
        return judged or self._lexical

    @cached_property
    def _lexical(self) -> SharedVerdicts:
        return SharedVerdicts(LexicalSupport(), self.documents.texts)

    @cached_property
    def _judged(self) -> SharedVerdicts | None:
        return None if self.judge is None else SharedVerdicts(JudgeSupport(self.judge), self.documents.texts)


def with_documents(
    methods: ScoringMethods, metrics: Iterable[str], *, dialect: Dialect, path: Path
) -> ScoringMethods:
    """Return the methods with the dataset's own documents, if a metric looks something up in documents.

    Documents that were given take precedence.
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
        return False  # if that is a mistake, building its scorer reports it
