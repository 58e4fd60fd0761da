"""Qrels and runs as columns of bytes and numbers, brought into judged blocks without an object per row.

An id is a stretch of bytes. Ids are distinguished by a 64-bit hash, and matches are
compared byte by byte; so the figures are those of dictionaries of the same ids, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.metrics.judged_rankings import (
    GRADE_RANGE,
    NOT_JUDGED,
    NOT_RETRIEVED,
    UNJUDGED,
    Booleans,
    Floats,
    Integers,
    JudgedBlock,
    JudgedRankings,
    RankingRules,
    Reading,
    Ties,
    as_compared,
    blocks,
    count_grades,
    grade_table,
    rank_of_first,
    rows_that_rise,
)

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

WORD = 8
PADDING = bytes(WORD)
"""Padding after the bytes that ids stand in: a word is read whole, also the last."""

# Odd constants whose multiples spread over all 64 bits (Steele and others, Fast splittable generators, 2014).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
# The bytes of a word that belong to an id of which so many are left.
MASKS = np.array([(1 << 8 * left) - 1 for left in range(WORD + 1)], dtype=np.uint64)
# Slots for each judged document in the table that most other documents fall through.
_SLOTS = 8
# Keys of whole queries that are sorted at a time, about.
_SORTED_AT_A_TIME = 1024


class NotPlain(Exception):  # noqa: N818  # no error: another reader takes over
    """Columns cannot say this; the reader of lines can, or tells what is wrong."""


def words_at(data: npt.NDArray[np.uint8], starts: Places) -> Words:
    """Return the eight bytes from each place on, the first the lowest."""
    every = np.ndarray((len(data) - WORD + 1,), "<u8", data, strides=(1,))
    found: Words = every[starts]
    return found


class Ids(msgspec.Struct, frozen=True):
    """Ids in a stretch of bytes that ends in :data:`PADDING`: where each begins and how long it is.

    None is empty and none holds a zero byte.
    """

    data: npt.NDArray[np.uint8]
    starts: Places
    lengths: Places

    @classmethod
    def of(cls, ids: Iterable[bytes]) -> Ids:
        every = list(ids)
        joined = b"".join(every)
        lengths = np.fromiter(map(len, every), dtype=np.int64, count=len(every))
        if b"\0" in joined or not lengths.all():
            raise NotPlain
        data = np.frombuffer(joined + PADDING, dtype=np.uint8)
        return cls(data, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def joined(cls, several: Sequence[Ids]) -> Ids:
        """Return ids of several stretches one after another, in one stretch of what they use."""
        pieces, starts, offset = [], [], 0
        for ids in several:
            first = int(ids.starts.min(initial=len(ids.data)))
            last = int((ids.starts + ids.lengths).max(initial=first))
            pieces.append(ids.data[first:last])
            starts.append(ids.starts + (offset - first))
            offset += last - first
        pieces.append(np.zeros(len(PADDING), dtype=np.uint8))
        lengths = np.concatenate([ids.lengths for ids in several])
        return cls(np.concatenate(pieces), np.concatenate(starts), lengths)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: slice | Places | Booleans) -> Ids:
        return Ids(self.data, self.starts[rows], self.lengths[rows])

    def texts(self) -> list[str]:
        """Return the ids as text, which they have to be."""
        data, ends = self.data.data, self.starts + self.lengths
        pairs = zip(self.starts.tolist(), ends.tolist(), strict=True)
        return [str(data[start:end], "utf-8") for start, end in pairs]

    def word(self, number: int = 0) -> Words:
        """Return a word of each id, the first byte the lowest, with zeros after its end."""
        starts, left = self.starts, self.lengths
        if number:
            # What begins after an id's end is nothing; where it is read from does not matter.
            starts = np.minimum(starts + WORD * number, len(self.data) - WORD)
            left = np.maximum(left - WORD * number, 0)
        found = words_at(self.data, starts)
        least, most = int(left.min(initial=WORD)), int(left.max(initial=0))
        if least < WORD:
            # Ids are often of one length, for which there is one mask.
            found &= MASKS[least] if least == most else MASKS[np.minimum(left, WORD)]
        return found

    @property
    def words(self) -> int:
        """Return the number of words of the longest id."""
        return -(-int(self.lengths.max(initial=1)) // WORD)

    def hashes(self) -> Words:
        """Return 64 bits of each id; of ids of up to eight bytes, no two the same."""
        hashes = self.word() * _SPREAD
        for number in range(1, self.words):
            word = self.word(number)  # nothing, and adds nothing, where an id is shorter
            word ^= word >> _HALF
            word *= np.uint64((int(_MIX) + 2 * number * int(_SPREAD)) % (1 << 64))
            hashes += word
        return hashes

    def equal(self, others: Ids) -> Booleans:
        """Tell row by row whether the ids are the same."""
        same: Booleans = self.lengths == others.lengths
        for number in range(max(self.words, others.words)):
            same &= self.word(number) == others.word(number)
        return same

    def changes(self) -> Places:
        """Return the rows whose id is another than that of the row before; the first row is one of them."""
        changed = np.ones(len(self), dtype=np.bool_)
        changed[1:] = False
        for number in range(self.words):
            word = self.word(number)
            changed[1:] |= word[1:] != word[:-1]
        return np.flatnonzero(changed)

    def in_order(self, *keys: npt.NDArray[Any], descending: bool) -> Places:
        """Return the rows ordered by the keys, the last first, and then by the bytes of their ids."""
        words = [self.word(number).byteswap() for number in reversed(range(self.words))]
        return np.lexsort((*(~word if descending else word for word in words), *keys))


def _keys(documents: Ids, queries: Places, counts: Places) -> Words:
    """Return 64 bits of each document of each query, of which there are so many."""
    keys = documents.hashes()
    keys ^= np.repeat(queries.astype(np.uint64) * _SPREAD, counts)
    keys ^= keys >> _HALF
    keys *= _MIX
    return keys


class QrelColumns:
    """Judgements: queries by their number, and for each the documents and grades, one query after another."""

    def __init__(self, queries: Mapping[str, int], counts: Places, documents: Ids, grades: Places) -> None:
        """Take the queries numbered in their order, how many judgements each has, and all of these."""
        self.queries = queries
        self.counts = counts
        self.starts = np.cumsum(counts) - counts
        self.documents = documents
        least, most = int(grades.min(initial=0)), int(grades.max(initial=0))
        if least < GRADE_RANGE.min or most > GRADE_RANGE.max:
            raise NotPlain
        narrow = least >= 0 and most <= np.iinfo(np.int8).max
        self.grades: Integers = grades.astype(np.int8 if narrow else np.int32)
        self._keys = _keys(documents, np.arange(len(counts)), counts)
        if _are_alike(self._keys):
            raise NotPlain

    @classmethod
    def of(cls, qrels: Mapping[str, Mapping[str, int]]) -> QrelColumns:
        """Return judgements given as dictionaries."""
        counts = np.fromiter(map(len, qrels.values()), dtype=np.int64, count=len(qrels))
        try:
            documents = Ids.of(document.encode() for judged in qrels.values() for document in judged)
            grades = np.fromiter(
                chain.from_iterable(each.values() for each in qrels.values()), dtype=np.int64
            )
        except (UnicodeEncodeError, OverflowError):
            raise NotPlain from None
        return cls(dict(zip(qrels, range(len(qrels)), strict=True)), counts, documents, grades)

    def rows_of(self, queries: Places) -> Places:
        """Return the rows of the judgements of some queries, one query after another."""
        counts = self.counts[queries]
        before = np.cumsum(counts) - counts
        return np.repeat(self.starts[queries] - before, counts) + np.arange(int(counts.sum()))

    def find(self, keys: Words, documents: Ids, queries: Places) -> tuple[Places, Integers]:
        """Return the rows that hold a document judged for one of these queries, and their grades."""
        judged = self.rows_of(queries)
        own = self._keys[judged]
        order = np.argsort(own)
        judged, own = judged[order], own[order]
        # Most documents fall through a small table; what does not is searched for, and compared byte by byte.
        slots = max(1, (_SLOTS * len(own)).bit_length())
        shift = np.uint64(64 - slots)
        is_taken = np.zeros(1 << slots, dtype=np.bool_)
        is_taken[(own >> shift).view(np.int64)] = True
        rows = np.flatnonzero(is_taken[(keys >> shift).view(np.int64)])
        place = np.minimum(np.searchsorted(own, keys[rows]), len(own) - 1)
        met = own[place] == keys[rows]
        rows, judged = rows[met], judged[place[met]]
        same = documents[rows].equal(self.documents[judged])
        return rows[same], self.grades[judged[same]]

    def table(self, queries: Places) -> Integers:
        """Return ``grades[n, query]`` of the judgements of some queries, padded as unjudged."""
        return grade_table(self.grades[self.rows_of(queries)], self.counts[queries])


class RunBlock(msgspec.Struct, frozen=True):
    """The retrieved documents of some queries: a row per document, all rows of a query together.

    Scores need not be exact, but order as exact ones do, as 64 bits and as 32.
    """

    queries: Sequence[str]
    counts: Places
    documents: Ids
    scores: Floats


@runtime_checkable
class RunColumns(Protocol):
    """A run that is read in blocks, once for each evaluation."""

    def blocks(self) -> Iterator[RunBlock]:
        """Yield the blocks; raise :class:`NotPlain` if columns cannot represent the run."""

    @property
    def queries(self) -> Set[str]:
        """The queries that were met when the run was read."""


class _Judged(msgspec.Struct, frozen=True):
    """The judged documents of a block: row by row their query's place in the block, rank and grade."""

    query: Places
    rank: Places
    grade: Integers


def judge_columns(
    qrels: QrelColumns, run: RunColumns, *, rules: RankingRules, reading: Reading, max_depth: int | None
) -> Iterator[JudgedBlock]:
    """Yield the queries of the run and then those that it lacks, in blocks of judged rankings.

    With ``max_depth`` a run is what it has down to that rank. A query whose rows do not stand together, and
    a document that stands twice, are :class:`NotPlain`.
    """
    judge = _Judge(qrels, rules, reading, max_depth)
    unjudged: set[str] = set()
    seen = np.zeros(len(qrels.counts), dtype=np.bool_)
    for block in run.blocks():
        numbers = np.array([qrels.queries.get(query, -1) for query in block.queries], dtype=np.int64)
        is_known = numbers >= 0
        new = [query for query, known in zip(block.queries, is_known.tolist(), strict=True) if not known]
        known = numbers[is_known]
        before = len(unjudged) + len(new)
        unjudged.update(new)
        if seen[known].any() or len(set(known.tolist())) < len(known) or len(unjudged) < before:
            raise NotPlain
        seen[known] = True
        if new:
            yield new, NOT_JUDGED
        yield from judge.judged(block, numbers)
    missing = np.flatnonzero(~seen)
    if len(missing) == len(seen):  # nothing to compare
        raise NotPlain
    if len(missing):
        names = list(qrels.queries)
        lacking = [names[number] for number in missing.tolist()]
        if rules.missing_queries == "skip":
            yield lacking, NOT_RETRIEVED
        else:
            yield from judge.without_documents(lacking, missing)


class _Judge:
    def __init__(
        self, qrels: QrelColumns, rules: RankingRules, reading: Reading, max_depth: int | None
    ) -> None:
        self.qrels, self.rules, self.reading, self.max_depth = qrels, rules, reading, max_depth

    def judged(self, block: RunBlock, numbers: Places) -> Iterator[JudgedBlock]:
        """Yield the queries of a block that are judged; ``numbers`` are theirs, or below 0."""
        size = len(self.qrels.counts)
        own = np.where(numbers < 0, size + np.arange(len(numbers)), numbers)
        keys = _keys(block.documents, own, block.counts)
        ends = np.cumsum(block.counts)
        if _any_twice(keys, ends):
            raise NotPlain
        rows, grades = self.qrels.find(keys, block.documents, numbers[numbers >= 0])
        query = np.searchsorted(ends, rows, side="right")
        ranks = rows - (ends - block.counts)[query]
        sorted_rows, sorted_ranks = _sorted_ranks(block, self.rules.ties)
        if len(sorted_rows):
            place = np.minimum(np.searchsorted(sorted_rows, rows), len(sorted_rows) - 1)
            ranks = np.where(sorted_rows[place] == rows, sorted_ranks[place], ranks)
        found = _Judged(query, ranks, grades)
        known = np.flatnonzero(numbers >= 0)
        retrieved = block.counts[known]
        if self.max_depth is not None:
            retrieved = np.minimum(retrieved, self.max_depth)
        queries = [block.queries[place] for place in known.tolist()]
        for part in blocks(self._widths(retrieved, numbers[known])):
            chosen = known[part]
            first, last = (int(chosen[0]), int(chosen[-1])) if len(chosen) else (0, -1)
            within = slice(*np.searchsorted(found.query, (first, last + 1)).tolist())
            column = np.searchsorted(chosen, found.query[within])
            here = _Judged(column, found.rank[within], found.grade[within])
            yield queries[part], self._rankings(numbers[chosen], retrieved[part], here)

    def without_documents(self, names: list[str], numbers: Places) -> Iterator[JudgedBlock]:
        """Yield queries of the qrels that the run lacks."""
        nothing = np.zeros(0, dtype=np.int64)
        for part in blocks(self._widths(np.zeros(len(numbers), dtype=np.int64), numbers)):
            none = _Judged(nothing, nothing, self.qrels.grades[:0])
            yield (
                names[part],
                self._rankings(numbers[part], np.zeros(len(numbers[part]), dtype=np.int64), none),
            )

    def _widths(self, retrieved: Places, numbers: Places) -> Places:
        read = retrieved if self.reading.depth is None else np.minimum(retrieved, self.reading.depth)
        return np.maximum(read, self.qrels.counts[numbers] // WORD)

    def _rankings(self, numbers: Places, retrieved: Places, found: _Judged) -> JudgedRankings:
        level, depth = self.rules.relevance_level, self.reading.depth
        rows = int(retrieved.max(initial=0))
        rows = rows if depth is None else min(rows, depth)
        top = np.full((rows, len(numbers)), UNJUDGED, dtype=self.qrels.grades.dtype)
        read = found.rank < np.minimum(retrieved[found.query], rows)
        top[found.rank[read], found.query[read]] = found.grade[read]
        counts = count_grades(self.qrels.table(numbers), relevance_level=level, depth=depth)
        first_hit = None
        if self.reading.first_hit and depth is not None:
            first_hit = rank_of_first(top >= level)
            below = (found.grade >= level) & ~read & (found.rank < retrieved[found.query])
            best = np.full(len(numbers), np.iinfo(np.int64).max)
            np.minimum.at(best, found.query[below], found.rank[below] + 1)
            first_hit = np.where((first_hit == 0) & (best < np.iinfo(np.int64).max), best, first_hit)
        return JudgedRankings(top, retrieved, *counts, level, first_hit)


def _any_twice(keys: Words, ends: Places) -> bool:
    """Return True if a query, whose keys end there, has one twice.

    Few keys at a time are sorted in the cache; of those whose halves are all different, there is none twice.
    """
    cuts = ends[np.searchsorted(ends, np.arange(_SORTED_AT_A_TIME, len(keys), _SORTED_AT_A_TIME))]
    halves = np.split((keys >> _HALF).astype(np.uint32), cuts)
    pieces = zip(halves, np.split(keys, cuts), strict=True)
    return any(_are_alike(half) and _are_alike(whole) for half, whole in pieces)


def _are_alike(keys: npt.NDArray[np.unsignedinteger[Any]]) -> bool:
    """Return True if two keys are equal."""
    in_order = np.sort(keys)
    return bool((in_order[1:] == in_order[:-1]).any())


def _sorted_ranks(block: RunBlock, ties: Ties) -> tuple[Places, Places]:
    """Return the rows, in ascending order, of the queries whose scores do not fall, and their ranks from 0.

    Most runs come with falling scores: a row's rank is then its place.
    """
    scores = as_compared(block.scores, ties)
    chosen = np.flatnonzero(rows_that_rise(scores, block.counts))
    counts = block.counts[chosen]
    before = np.cumsum(counts) - counts
    starts = (np.cumsum(block.counts) - block.counts)[chosen]
    places = np.arange(int(counts.sum())) - np.repeat(before, counts)
    rows = places + np.repeat(starts, counts)
    query, falling = np.repeat(np.arange(len(chosen)), counts), -scores[rows]
    order = np.lexsort((falling, query))
    is_tied = (falling[order[1:]] == falling[order[:-1]]) & (query[order[1:]] == query[order[:-1]])
    if is_tied.any():
        documents = block.documents[rows]
        order = documents.in_order(falling, query, descending=ties == "trec_eval")
    # The rows of a query stand together in both orders, and so its ranks are the same numbers.
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = places
    return rows, ranks
