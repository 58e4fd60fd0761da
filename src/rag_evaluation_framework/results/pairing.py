"""Which row of one run is which of another: by the ids of the data, or by what was asked.

Ids of the data win if at least 80 % of the smaller run has them in the other, and at least half of the pairs
they make ask the same; else, and for the rows that they leave, what was asked decides. Rows that ask the same
pair by what is expected; those that are still equal are repeats: a group, in no order. Runs of which fewer
than 80 % of the smaller one pair are samples of different questions, and compared as such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.samples import (
    REFERENCE_HASH,
    Expectation,
    Sample,
    is_made_id,
    key_of_texts,
    question_key,
    reference_hash,
    written_checks,
)
from rag_evaluation_framework.structs import asdict

OTHER_QUESTIONS = "the baseline has other questions"
"""Why a gate does not evaluate a baseline that is another sample."""

_ENOUGH_SHARED = 0.8
_ENOUGH_ALIKE = 0.5


class AskedRow(msgspec.Struct, frozen=True):
    """What pairing needs of a row: its id, what was asked, what is expected.

    The first of ``asked`` is all of it, the others the last question; of ``expected`` they are the whole
    truth, the hashes of all references and that of the first. A saved baseline has not the first of each,
    and a results file without hashes only the last.
    """

    id: str
    asked: tuple[str | None, ...] = (None, None, None)
    expected: tuple[str | None, ...] = (None, None, None)
    label: str = ""
    """What people are told it is called: by its line where the id was generated."""

    @classmethod
    def of(cls, sample: Sample, *, is_whole: bool = True, id: str | None = None) -> AskedRow:  # noqa: A002
        """Return the row of a sample, which a results file has not as a whole."""
        last, hashed = key_of_texts([sample.question]), reference_hash(sample)
        are_all_known = is_whole or REFERENCE_HASH in sample.extra
        return cls(
            sample.id if id is None else id,
            (question_key(sample) if is_whole else None, last, last),
            (
                _truth_of(sample) if is_whole else None,
                hashed if are_all_known else None,
                hashed.partition(",")[0],
            ),
            sample.name if is_made_id(sample.id) else sample.id,
        )


def _truth_of(sample: Sample) -> str:
    """Return digits of all that is expected of the answers to a sample."""
    content = [
        [[turn.reference, _values(turn.expectation)] for turn in sample.turns],
        [sample.reference, *sample.references],
        _values(sample.expectation),
        dict(sample.relevant_documents),
        [[span.file, span.start, span.end, span.page] for span in sample.relevant_spans],
        sample.relevant_chunk_ids,
        *written_checks(sample),
    ]
    return hashlib.sha256(strict_json.encode_unchecked(content, order="deterministic")).hexdigest()[:32]


def _values(expectation: Expectation | None) -> list[object] | None:
    return None if expectation is None else [type(expectation).__name__, asdict(expectation)]


class RowPair(msgspec.Struct, frozen=True):
    """The rows of two runs that are the same, by id; several on a side are repeats.

    ``is_edited`` says that another answer is expected now, or something else is asked under the same id.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    is_edited: bool = False


class Pairing(msgspec.Struct, frozen=True, kw_only=True, dict=True, weakref=True):
    """The rows of two runs side by side. ``notice`` says why ids of the data were not gone by."""

    pairs: tuple[RowPair, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    notice: str | None = None
    labels: Mapping[str, str] = {}
    """What people are told rows are called, by their names, where it is not the name."""

    @cached_property
    def names_after(self) -> Mapping[str, str]:
        """What each row of the later run is called when the two are compared: the first of its group."""
        return {id_: pair.after[0] for pair in self.pairs for id_ in pair.after} | {
            each: each for each in self.new
        }

    @cached_property
    def names_before(self) -> Mapping[str, str]:
        """What each row of the earlier run is called: as the row of the later run that it pairs with."""
        taken = set(self.names_after.values())
        return {id_: pair.after[0] for pair in self.pairs for id_ in pair.before} | {
            each: f"{each} (before)" if each in taken else each for each in self.gone
        }

    @property
    def edited(self) -> tuple[str, ...]:
        """The names of the pairs that are edited."""
        return tuple(pair.after[0] for pair in self.pairs if pair.is_edited)


def are_other_questions(pairings: Iterable[Pairing]) -> bool:
    """Tell whether two runs, dataset by dataset, are samples of different questions."""
    sides = [0, 0]
    paired = [0, 0]
    for pairing in pairings:
        for place, (own, left) in enumerate((("before", pairing.gone), ("after", pairing.new))):
            found = sum(len(getattr(pair, own)) for pair in pairing.pairs)
            paired[place] += found
            sides[place] += found + len(left)
    size, found = min(zip(sides, paired, strict=True))
    return found < _ENOUGH_SHARED * size


def is_left_out(head: RunHead, dataset: str) -> bool:
    """Tell whether a run was narrowed so that it need not have asked the samples of a dataset."""
    selection = head.configuration.get("selection")
    if not isinstance(selection, Mapping):
        return False
    chosen = selection.get("datasets") or [dataset]
    return bool(selection.get("tags") or selection.get("sample_size") or dataset not in chosen)


def pair_rows(before: Iterable[AskedRow], after: Iterable[AskedRow]) -> Pairing:
    """Pair the rows of two runs of a dataset; rows of one id are one."""
    old, new = {row.id: row for row in before}, {row.id: row for row in after}
    # What one side does not know of all its rows, both go without.
    unknown = {row.expected.count(None) for side in (old, new) for row in side.values()}
    place = min(max(unknown, default=0), 2)
    by_id, notice = _shared_ids(old, new, place)
    pairs = [
        RowPair((id_,), (id_,), not _is_alike(old[id_], new[id_], place, is_whole=True)) for id_ in by_id
    ]
    rest = [[row for id_, row in side.items() if id_ not in by_id] for side in (old, new)]
    pairs += _pairs_by_question(rest[0], rest[1], place)
    paired = [{id_ for pair in pairs for id_ in getattr(pair, side)} for side in ("before", "after")]
    found = Pairing(
        pairs=tuple(pairs),
        gone=tuple(id_ for id_ in old if id_ not in paired[0]),
        new=tuple(id_ for id_ in new if id_ not in paired[1]),
        notice=notice,
    )
    sides = (old, found.names_before), (new, found.names_after)
    labels = {
        name: side[id_].label for side, names in sides for id_, name in names.items() if side[id_].label
    }
    return replace(found, labels=labels)


def _shared_ids(
    old: Mapping[str, AskedRow], new: Mapping[str, AskedRow], place: int
) -> tuple[dict[str, None], str | None]:
    """Return the ids of the data that both have, if they are to be gone by; else why they are not."""
    given = [[id_ for id_ in side if not is_made_id(id_)] for side in (old, new)]
    shared = dict.fromkeys(id_ for id_ in given[0] if id_ in new)
    smaller = min(map(len, given))
    if not smaller:
        return {}, None
    alike = sum(_is_alike(old[id_], new[id_], place) for id_ in shared)
    if len(shared) >= _ENOUGH_SHARED * smaller and alike >= _ENOUGH_ALIKE * len(shared):
        return shared, None
    why = f"{len(shared):,} of {smaller:,} ids are in both runs"
    if len(shared) >= _ENOUGH_SHARED * smaller:
        why = f"{len(shared) - alike:,} of {len(shared):,} ids that both runs have ask something else now"
    return {}, f"paired by question, not by id: {why}"


def _is_alike(before: AskedRow, after: AskedRow, place: int, *, is_whole: bool = False) -> bool:
    """Tell whether two rows ask the same, and expect the same if the ``whole`` is wanted.

    What is not known is the same.
    """
    asked = before.asked[place], after.asked[place]
    if None not in asked and asked[0] != asked[1]:
        return False
    return not is_whole or None in asked or before.expected[place] == after.expected[place]


def _pairs_by_question(old: Sequence[AskedRow], new: Sequence[AskedRow], place: int) -> list[RowPair]:
    """Pair rows that ask the same: by what is expected, and what is left of a question as edited."""
    pairs: list[RowPair] = []
    for olds, news in _grouped(old, new, lambda row: row.asked[place] or ("id", row.id)):
        left: tuple[list[AskedRow], list[AskedRow]] = ([], [])
        for first, second in _grouped(olds, news, lambda row: row.expected[place]):
            if first and second:
                pairs.append(_pair_of(first, second))
            else:
                left[0].extend(first)
                left[1].extend(second)
        if left[0] and left[1]:
            pairs.append(_pair_of(*left, is_edited=True))
    return pairs


def _pair_of(old: Sequence[AskedRow], new: Sequence[AskedRow], *, is_edited: bool = False) -> RowPair:
    return RowPair(tuple(row.id for row in old), tuple(row.id for row in new), is_edited)


def _grouped(
    old: Iterable[AskedRow], new: Iterable[AskedRow], by: Callable[[AskedRow], Hashable]
) -> Iterable[tuple[list[AskedRow], list[AskedRow]]]:
    """Return the rows of both sides that are alike ``by`` something, in the order of their first."""
    groups: dict[Hashable, tuple[list[AskedRow], list[AskedRow]]] = {}
    for place, rows in enumerate((old, new)):
        for row in rows:
            groups.setdefault(by(row), ([], []))[place].append(row)
    return groups.values()
