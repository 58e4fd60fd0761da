"""Balance over documents: none has more questions than asked for, and a limit is shared out evenly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Rejection


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The most questions to keep: about each document, about several documents together, and in all.

    Earlier questions are kept; with ``harder_first``, those of each kind that other passages fit nearly as
    well (see the round trip). A total is filled by taking one question of each document in turn.
    """

    per_document: int | None = None
    across_documents: int | None = None
    total: int | None = None
    harder_first: bool = False

    def applied(self, drafts: Drafts) -> Drafts:
        """Return the drafts without those beyond the limits, in their order."""
        kept = self._taken_in_turn(self._capped(drafts.kept))
        places = set(kept)
        spare = [
            Rejection("more-than-asked-for", draft.question, draft.origin)
            for number, draft in enumerate(drafts.kept)
            if number not in places
        ]
        return Drafts(
            tuple(draft for number, draft in enumerate(drafts.kept) if number in places),
            (*drafts.rejected, *spare),
        )

    def _capped(self, drafts: Sequence[Draft]) -> dict[tuple[str, ...], list[int]]:
        """Return the numbers of the drafts within the caps, by the documents that they are about."""
        groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        counts: Counter[object] = Counter()
        for number, draft in enumerate(drafts):
            documents = tuple(sorted({excerpt.doc_id for excerpt in draft.excerpts}))
            cap = self.across_documents if len(documents) > 1 else self.per_document
            counted = "across" if len(documents) > 1 else documents
            # What cannot be answered is asked for by itself, and is about no document.
            if documents and cap is not None and counts[counted] >= cap:
                continue
            counts[counted] += 1
            groups[documents].append(number)
        return groups

    def _taken_in_turn(self, groups: dict[tuple[str, ...], list[int]]) -> list[int]:
        turns = [
            (turn, place, number)
            for place, numbers in enumerate(groups.values())
            for turn, number in enumerate(numbers)
        ]
        return [number for _, _, number in sorted(turns)[: self.total]]


def harder_first(drafts: Sequence[Draft], rivalry: Sequence[float]) -> list[int]:
    """Return the numbers of the drafts in a new order: kinds of questions in turn, of each the hardest first.

    ``rivalry`` is how well the best other passage fits each question. Documents stay in their order.
    """
    hardest = sorted(range(len(drafts)), key=lambda number: -rivalry[number])
    turns: Counter[object] = Counter()
    places: dict[str, int] = {}
    for draft in drafts:
        places.setdefault(draft.origin, len(places))
    keys: dict[int, tuple[int, int, float]] = {}
    for number in hardest:
        draft = drafts[number]
        turn = (draft.origin, draft.kind, len(draft.excerpts) > 1)
        keys[number] = (places[draft.origin], turns[turn], -rivalry[number])
        turns[turn] += 1
    return sorted(keys, key=lambda number: keys[number])
