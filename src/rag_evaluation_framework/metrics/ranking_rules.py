"""The rules that ranking metrics leave open, written down: ties, missing queries, nothing relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.errors import UsageError, shown

Ties = Literal["document_ascending", "trec_eval"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "ties": ("document_ascending", "trec_eval"),
    "missing_queries": ("zero", "skip"),
    "no_relevant": ("skip", "zero"),
}


@dataclass(frozen=True, slots=True)
class RankingRules:
    """How rankings are read where tools differ. The defaults are ours; :meth:`trec_eval` is the other set.

    ``ties``
        Documents with equal scores: ``document_ascending`` puts the smaller document id first;
        ``trec_eval`` compares scores as 32-bit floats and puts the larger document id first, in byte order.
        A ranked list has no ties.
    ``missing_queries``
        A judged query that the run lacks: ``zero`` scores it as a query that retrieved nothing; ``skip``
        leaves it out and says so.
    ``no_relevant``
        A query whose judgements hold nothing relevant: ``skip`` leaves it out and says so, since no ranking
        could score; ``zero`` keeps it, as trec_eval does.
    ``relevance_level``
        The lowest grade that counts as relevant, trec_eval's ``-l``. Gains (ndcg, err) use every grade.

    A query of the run without judgements is never scored, only listed.
    """

    ties: Ties = "document_ascending"
    missing_queries: Literal["zero", "skip"] = "zero"
    no_relevant: Literal["skip", "zero"] = "skip"
    relevance_level: int = 1

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise UsageError(
                    f"ranking rules: expected {field} to be {' or '.join(choices)}, "
                    f"got {shown(getattr(self, field))}"
                )
        level = self.relevance_level
        if isinstance(level, bool) or not isinstance(level, int) or level < 1:
            raise UsageError(f"ranking rules: expected relevance_level to be 1 or more, got {shown(level)}")

    @classmethod
    def trec_eval(cls, *, relevance_level: int = 1) -> RankingRules:
        """Return the rules of trec_eval (and pytrec_eval), under which the figures agree with it."""
        return cls("trec_eval", missing_queries="skip", no_relevant="zero", relevance_level=relevance_level)
