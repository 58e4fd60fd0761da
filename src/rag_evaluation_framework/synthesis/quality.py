"""Quality control: questions that would make an evaluation easier, vaguer or more lopsided than it should be.

In this order: what copies its passage or gives its answer away; what does not lead back to its own passage;
what repeats an earlier question; and what is beyond the number asked for. Each is rejected with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.synthesis.checks.balance import Balance, harder_first
from rag_evaluation_framework.synthesis.checks.leakage import Leakage
from rag_evaluation_framework.synthesis.checks.question_likeness import NearDuplicates
from rag_evaluation_framework.synthesis.checks.round_trip import RoundTrip
from rag_evaluation_framework.synthesis.drafts import Drafts

REASONS: dict[str, str] = {
    "copies-passage": "repeats its passage word by word",
    "gives-answer-away": "says its own answer",
    "passage-not-found": "does not lead back to its passage",
    "many-passages-fit": "fits many passages as well",
    "near-duplicate": "asks what an earlier question asks",
    "more-than-asked-for": "good, but more than were asked for",
}
"""The reasons given here, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityControl:
    """Checks questions by each part that is not ``None``."""

    leakage: Leakage | None = field(default_factory=Leakage)
    round_trip: RoundTrip | None = field(default_factory=RoundTrip)
    near_duplicates: NearDuplicates | None = field(default_factory=NearDuplicates)
    balance: Balance | None = None

    def checked(self, drafts: Drafts, corpus: Corpus) -> Drafts:
        """Return the drafts without those that are rejected, each of them counted with its reason."""
        if self.leakage is not None:
            drafts = drafts.sifted(map(self.leakage.rejection, drafts.kept))
        if self.round_trip is not None:
            returned = self.round_trip.judged(drafts.kept, corpus)
            if self.balance is not None and self.balance.harder_first:
                order = harder_first(drafts.kept, [each.rivalry for each in returned])
                drafts = Drafts(tuple(drafts.kept[number] for number in order), drafts.rejected)
                returned = [returned[number] for number in order]
            drafts = drafts.sifted(each.rejection for each in returned)
        if self.near_duplicates is not None:
            drafts = drafts.sifted(self.near_duplicates.rejections(drafts.kept))
        if self.balance is not None:
            drafts = self.balance.applied(drafts)
        return drafts


__all__: Sequence[str] = ("REASONS", "Balance", "Leakage", "NearDuplicates", "QualityControl", "RoundTrip")
