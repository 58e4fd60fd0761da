"""Which row of one run is which of another: by the ids of the data, or by what was asked.

Ids of the data win if at least 80 % of the smaller run has them in the other, and at least half of the pairs
they make ask the same; else, and for the rows that they leave, what was asked decides. Rows that ask the same
pair by what is expected; those that are still equal are repeats: a group, in no order. Runs of which fewer
than 80 % of the smaller one pair are samples of different questions, and compared as such.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.samples import (
    REFERENCE_HASH,
    Expectation,
    is_made_id,
    reference_hash,
    written_checks,
)
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.text.normalisation import folded

OTHER_QUESTIONS = "the baseline has other questions"
"""Why a gate does not evaluate a baseline that is another sample."""

_ENOUGH_SHARED = 0.8
_ENOUGH_ALIKE = 0.5

WHOLE, HASHED, LAST = range(3)
"""The levels of knowledge of a sample: all of it, hashes of all references, or of the first alone."""


def knowledge_of(sample: Any, *, is_whole: bool) -> int:
    """Return how much is known of a sample; a results file does not have it as a whole."""
    if sample is None:
        return LAST
    return WHOLE if is_whole else HASHED if REFERENCE_HASH in sample.extra else LAST


def hash_question(sample: Any, knowledge: int) -> int:
    """Return a hash of what is asked, in any case and spacing; 0 where nothing is known."""
    if sample is None:
        return 0
    if knowledge != WHOLE:
        return hash(folded(sample.question)) or 1
    if len(sample.turns) == 1:
        return hash(folded(f"user {sample.turns[0].content or ''}")) or 1
    texts = (f"{turn.role} {turn.content or ''}" for turn in sample.turns if turn.role != "assistant")
    return hash("\0".join(map(folded, texts))) or 1


def hash_expected(sample: Any, knowledge: int) -> int:
    """Return a hash of what is expected of the answers; 0 where nothing is known."""
    if sample is None:
        return 0
    if knowledge != WHOLE:
        hashed = reference_hash(sample)
        return hash(hashed if knowledge == HASHED else hashed.partition(",")[0]) or 1
    found = [
        (sample.reference, *sample.references),
        _values(sample.expectation),
        sorted(sample.relevant_documents.items()),
        [(span.file, span.start, span.end, span.page) for span in sample.relevant_spans],
        tuple(sample.relevant_chunk_ids),
    ]
    if len(sample.turns) > 1 or sample.checks:
        turns = ((turn.reference, _values(turn.expectation)) for turn in sample.turns)
        found += [tuple(turns), written_checks(sample)]
    return hash(tuple(tuple(each) if isinstance(each, list) else each for each in found)) or 1


def _values(expectation: Expectation | None) -> bytes | None:
    if expectation is None:
        return None
    values = [type(expectation).__name__, asdict(expectation)]
    return strict_json.encode_unchecked(values, order="deterministic")


class AskedRows(msgspec.Struct):
    """The rows of a dataset in columns: keys, ids, and hashes of what was asked and is expected."""

    keys: list[int] = msgspec.field(default_factory=list)
    ids: list[str] = msgspec.field(default_factory=list)
    asked: Any = msgspec.field(default_factory=lambda: array("q"))
    expected: Any = msgspec.field(default_factory=lambda: array("q"))


class Pairing(msgspec.Struct):
    """The rows of two runs side by side: the number of the pair that each is in, another below 0 if in none.

    ``edited`` are pairs of which another answer is expected now, or something else is asked under the same
    id. ``notice`` says why ids of the data were not gone by.
    """

    before: list[int]
    after: list[int]
    edited: set[int] = msgspec.field(default_factory=set)
    notice: str | None = None
    count: int = 0

    def add(self, before: Iterable[int], after: Iterable[int], *, is_edited: bool = False) -> None:
        """Pair some rows of one run with some of the other."""
        for numbers, rows in ((self.before, before), (self.after, after)):
            for row in rows:
                numbers[row] = self.count
        if is_edited:
            self.edited.add(self.count)
        self.count += 1


def are_other_questions(pairings: Iterable[Pairing]) -> bool:
    """Return True if two runs, dataset by dataset, are samples of different questions."""
    sides, paired = [0, 0], [0, 0]
    for pairing in pairings:
        for place, numbers in enumerate((pairing.before, pairing.after)):
            sides[place] += len(numbers)
            paired[place] += sum(pair >= 0 for pair in numbers)
    size, found = min(zip(sides, paired, strict=True))
    return found < _ENOUGH_SHARED * size


def is_left_out(head: RunHead, dataset: str) -> bool:
    """Return True if a run was narrowed so that it need not have asked the samples of a dataset."""
    selection = head.configuration.get("selection")
    if not isinstance(selection, Mapping):
        return False
    chosen = selection.get("datasets") or [dataset]
    return bool(selection.get("tags") or selection.get("sample_size") or dataset not in chosen)


def pair_rows(before: AskedRows, after: AskedRows) -> Pairing:
    """Pair the rows of two runs of a dataset."""
    size = -len(before.ids)
    pairing = Pairing(list(range(-1, size - 1, -1)), list(range(size - 1, size - 1 - len(after.ids), -1)))
    places = {id_: place for place, id_ in enumerate(after.ids)}
    given = [place for place, id_ in enumerate(before.ids) if not is_made_id(id_)]
    smaller = min(len(given), sum(not is_made_id(id_) for id_ in after.ids))
    found = [(place, places[before.ids[place]]) for place in given if before.ids[place] in places]
    if smaller:
        shared = np.array(found, dtype=np.int64).reshape(-1, 2)
        asks_same, expects_same = (
            _are_alike(np.asarray(old)[shared[:, 0]], np.asarray(new)[shared[:, 1]])
            for old, new in ((before.asked, after.asked), (before.expected, after.expected))
        )
        alike = int(asks_same.sum())
        if len(shared) < _ENOUGH_SHARED * smaller:
            pairing.notice = f"{len(shared):,} of {smaller:,} ids are in both runs"
        elif alike < _ENOUGH_ALIKE * len(shared):
            told = (
                f"{len(shared) - alike:,} of {len(shared):,} ids in both runs have a different question now"
            )
            pairing.notice = told
        else:
            is_same = asks_same & expects_same
            for (old, new), same in zip(shared.tolist(), is_same.tolist(), strict=True):
                pairing.add((old,), (new,), is_edited=not same)
        if pairing.notice is not None:
            pairing.notice = f"paired by question, not by id: {pairing.notice}"
    _pair_by_question(before, after, pairing)
    return pairing


def _are_alike(before: Any, after: Any) -> Any:
    """Tell where two columns are the same; what is not known is the same."""
    return (before == after) | (before == 0) | (after == 0)


def _pair_by_question(old: AskedRows, new: AskedRows, pairing: Pairing) -> None:
    """Pair rows that ask the same: by what is expected, and what is left of a question as edited."""
    rest = [
        [place for place, pair in enumerate(each) if pair < 0] for each in (pairing.before, pairing.after)
    ]
    for olds, news in _grouped(rest, lambda side, row: side.asked[row] or ("id", side.ids[row]), (old, new)):
        left: tuple[list[int], list[int]] = ([], [])
        for first, second in _grouped((olds, news), lambda side, row: side.expected[row], (old, new)):
            if first and second:
                pairing.add(first, second)
            else:
                left[0].extend(first)
                left[1].extend(second)
        if left[0] and left[1]:
            pairing.add(*left, is_edited=True)


def _grouped(
    rows: Iterable[list[int]], by: Callable[[AskedRows, int], Hashable], sides: tuple[AskedRows, AskedRows]
) -> Iterable[tuple[list[int], list[int]]]:
    """Return the rows of both sides that are alike ``by`` something, in the order of their first."""
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for place, (side, own) in enumerate(zip(sides, rows, strict=True)):
        for row in own:
            groups.setdefault(by(side, row), ([], []))[place].append(row)
    return groups.values()
