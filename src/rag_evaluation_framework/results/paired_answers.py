"""The answers of two evaluations that pair, in one table: how each stood before and now, and how it moved.

The gate against a baseline and the comparison of runs both read it. A question that was asked several times
is one row of it. Answers pair as ``pairing`` says; of edited samples the old answers are decided again.

Answers are read once, into columns of numbers and hashes; those that are shown are read again.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from rag_evaluation_framework.judging.verdict import (
    CORRECT,
    GRADES,
    NOT_JUDGED,
    UNSTABLE,
    WRONG,
    AnswerVerdict,
    original_sample_id,
    verdict_as_read,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.samples import is_made_id
from rag_evaluation_framework.records.scores import CHEAP_SCORE, TIMING_METHOD
from rag_evaluation_framework.results.comparison import ScoredMetric
from rag_evaluation_framework.results.evaluations import Evaluation, Row, groups_of
from rag_evaluation_framework.results.pairing import (
    AskedRows,
    are_other_questions,
    hash_expected,
    hash_question,
    is_left_out,
    knowledge_of,
    pair_rows,
)
from rag_evaluation_framework.results.run_evaluations import rows_at
from rag_evaluation_framework.results.run_store import labels_beside
from rag_evaluation_framework.results.verdicts import Threshold, Trait
from rag_evaluation_framework.statistics.paired import flips_p_value, repeated_flips_p_value
from rag_evaluation_framework.statistics.resampling import Bools, Floats, exact_mean
from rag_evaluation_framework.text.normalisation import plain

Key = tuple[str, str]
"""A sample: its dataset and its id."""

SLICES: Mapping[str, Trait] = {
    "tag": "tag",
    "category": "category",
    "difficulty": "difficulty",
    "query_type": "query_type",
    "document": "needed",
}
"""The fields that answers are grouped by, by the name in a request: a document groups those that need it."""

NO_GRADE = len(GRADES)
"""Stands for the grade of a row that has no verdict."""
STAND_INS = tuple(AnswerVerdict(grade) for grade in GRADES)
"""A verdict of each grade."""


class AnswerColumns:
    """The rows of an evaluation in columns; those of one sample that was asked several times share a key.

    A single dataset is ``called`` as that of the other run is. ``unstable`` rows were not correct at least
    once; ``judged_in_part`` are the metrics of which samples were drawn to be judged.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        called: str | None,
        metrics: Iterable[str],
        knowledge: int,
        *,
        is_baseline: bool = False,
    ) -> None:
        self.evaluation, self._knowledge = evaluation, knowledge
        self.keys: list[Key] = []
        self.asked = defaultdict[str, AskedRows](AskedRows)
        self.key_of_row, self.texts, self.grades = array("q"), array("q"), array("b")
        self.unstable: set[int] = set()
        self.failed: set[int] = set()
        self.values = {metric: array("d") for metric in metrics}
        self.undrawn: dict[str, set[int]] = {}
        self.judged_in_part: set[str] = set()
        self.traits: dict[tuple[Trait, str], int] = {}
        self.trait_rows, self.trait_codes = array("q"), array("q")
        self._parts: list[Evaluation] = []
        self._starts: list[int] = []
        self._places = array("q")
        known: dict[Key, int] = {}
        for part in evaluation.runs:
            self._parts.append(part)
            self._starts.append(len(self.key_of_row))
            dataset, unstable = called or part.name, part.answers.unstable if is_baseline else ()
            self._is_repeated = part.head.repeats > 1
            for row in part.rows:
                self._add(row, known, row.split or dataset)
                self._places.append(row.index)
                if unstable and self.key_at(len(self) - 1)[1] in unstable:
                    self.unstable.add(len(self) - 1)

    def _add(self, row: Any, known: dict[Key, int], dataset: str) -> None:
        number, sample, response = len(self.key_of_row), row.sample, row.response
        id_ = row.id if row.split is None else row.id.removeprefix(f"{row.split}/")
        key = dataset, original_sample_id(id_) if self._is_repeated else id_
        if (found := known.get(key)) is None:
            found = known[key] = len(self.keys)
            self.keys.append(key)
            asked = self.asked[dataset]
            asked.keys.append(found)
            asked.ids.append(key[1])
            asked.asked.append(hash_question(sample, self._knowledge))
            asked.expected.append(hash_expected(sample, self._knowledge))
        self.key_of_row.append(found)
        self.texts.append(hash(plain(response.text or "")))
        verdict = row.verdict
        if row.has_failed:
            self.failed.add(number)
        self.grades.append(NO_GRADE if verdict is None else GRADES.index(verdict.grade))
        for score in row.scores:
            if (column := self.values.get(score.metric)) is None:
                continue
            if score.value is not None:
                column.extend([np.nan] * (number - len(column)))
                column.append(score.value)
            elif score.is_undrawn:
                self.undrawn.setdefault(score.metric, set()).add(number)
            if CHEAP_SCORE in score.details:
                self.judged_in_part.add(score.metric)
        for hit in response.hits:
            self._add_trait(number, "document", hit.id if hit.span is None else hit.span.doc_id)
        if sample is not None:
            for name, grade in sample.relevant_documents.items():
                if grade > 0:
                    self._add_trait(number, "needed", name)
            for span in sample.relevant_spans:
                self._add_trait(number, "needed", span.file)
            for kind, value in groups_of(sample):
                if kind in SLICES:
                    self._add_trait(number, SLICES[kind], value)
        if verdict is not None and verdict.has_failed and verdict.failure_kind not in GRADES:
            self._add_trait(number, "why", verdict.failure_kind)

    def _add_trait(self, number: int, kind: Trait, value: str) -> None:
        self.trait_rows.append(number)
        self.trait_codes.append(self.traits.setdefault((kind, value), len(self.traits)))

    def __len__(self) -> int:
        return len(self.key_of_row)

    def key_at(self, row: int) -> Key:
        """Return the key of a row."""
        return self.keys[self.key_of_row[row]]

    def rows_at(self, numbers: Iterable[int]) -> Iterator[tuple[int, Row]]:
        """Read some rows again, in their order, and yield each with its number."""
        wanted = np.unique(np.fromiter(numbers, np.int64))
        for part, first, last in zip(self._parts, self._starts, [*self._starts[1:], len(self)], strict=True):
            here = wanted[(wanted >= first) & (wanted < last)].tolist()
            yield from zip(here, rows_at(part, [self._places[each] for each in here]), strict=True)


def label_of(row: Row) -> str:
    """Return the name of a row for people: its line where the id was generated."""
    if row.sample is None:
        return ""
    return row.sample.name if is_made_id(row.sample.id) else row.sample.id


def knowledge_of_run(evaluation: Evaluation) -> int:
    """Return how much is known of every sample of an evaluation: of a run, of all as of the first."""
    found = 0
    for part in evaluation.runs:
        is_whole = evaluation.document is part.document is None
        rows = islice(part.rows, 1 if is_whole else None)
        found = max(found, *(knowledge_of(row.sample, is_whole=is_whole) for row in rows), 0)
    return found


Flip = Literal["worse", "better", "same", "new", "gone", "left out", "unpaired", "nothing"]
"""The movement of one sample; ``unpaired``: only one run judges its answer; ``nothing``: neither does."""

_RANKS = np.array([np.nan if each.rank is None else each.rank for each in STAND_INS] + [np.nan])
_CORRECT, _WRONG, _NOT_JUDGED = map(GRADES.index, (CORRECT, WRONG, NOT_JUDGED))


class Demand(NamedTuple):
    """The basis of a dataset's comparison with a baseline: metrics, their better directions, and bounds."""

    metrics: Mapping[str, bool]
    thresholds: Sequence[Threshold]

    @property
    def gated(self) -> list[str]:
        """The metrics that have a threshold, in their order."""
        declared = {threshold.metric for threshold in self.thresholds}
        return [metric for metric in self.metrics if metric in declared]


class Standings:
    """The standing of each question of the table in one run: its rows, ranks and values."""

    def __init__(self, columns: AnswerColumns, number_of_key: Sequence[int], size: int) -> None:
        self.columns = columns
        keys = np.frombuffer(columns.key_of_row, np.int64)
        numbers = np.asarray(number_of_key, dtype=np.int64)[keys] if len(keys) else keys
        self._numbers, self._order = numbers, np.lexsort((keys, numbers))
        self._starts = np.searchsorted(numbers[self._order], np.arange(size + 1))
        self.counts = np.diff(self._starts)
        self.is_there: Bools = self.counts > 0
        self._first = self._order[self._starts[:-1][self.is_there]]
        self._several = np.flatnonzero(self.counts > 1).tolist()
        self._values: dict[str, Floats] = {}
        self.count_grades()

    def count_grades(self) -> None:
        """Take the grades of the rows, which may have been decided again."""
        self._grades = np.frombuffer(self.columns.grades, np.int8)
        has_verdict, is_judged = self._grades != NO_GRADE, self._grades < _NOT_JUDGED
        self.has_verdict = self._any_of(has_verdict)
        self.is_judged = self._any_of(is_judged)
        ranks = _RANKS[self._grades]
        if self.columns.unstable:
            ranks[list(self.columns.unstable)] = np.nan
        self.ranks = self._of_first(ranks)
        for number in self._several:
            rows = self.rows(number)
            known = ranks[rows[has_verdict[rows]]]
            self.ranks[number] = exact_mean(known) if len(known) and not np.isnan(known).any() else np.nan

    def rows(self, number: int) -> npt.NDArray[np.int64]:
        """Return the rows of a question."""
        found: npt.NDArray[np.int64] = self._order[self._starts[number] : self._starts[number + 1]]
        return found

    def all_rows(self) -> Iterator[tuple[int, str, Row]]:
        """Read every row, and yield it with the number of its question and the name of its part."""
        runs = self.columns.evaluation.named_runs
        rows = ((name, row) for name, part in runs.items() for row in part.rows)
        return ((number, *each) for number, each in zip(self._numbers.tolist(), rows, strict=True))

    def read(self, numbers: Iterable[int], *, is_one_enough: bool = False) -> Iterator[tuple[int, int, Row]]:
        """Read the rows of some questions again, and yield each with their numbers.

        If one answer is enough, it is the first that failed.
        """
        found = (self.rows(number).tolist() for number in numbers)
        if is_one_enough:
            failed = self.columns.failed
            found = ([next((row for row in rows if row in failed), rows[0])] for rows in found if rows)
        for row, read in self.columns.rows_at(row for rows in found for row in rows):
            yield int(self._numbers[row]), row, read

    def verdicts(self, number: int) -> list[AnswerVerdict]:
        """Return a verdict of the grade of each of its answers, and of asking again where it is unstable."""
        found = []
        for row in self.rows(number).tolist():
            if (grade := self._grades[row]) != NO_GRADE:
                found += [STAND_INS[grade], UNSTABLE] if row in self.columns.unstable else [STAND_INS[grade]]
        return found

    def decided(self) -> tuple[Any, Any]:
        """Return how many answers to each question are correct, and how many are correct or wrong."""
        correct, wrong = (self._sum_of(self._grades == grade) for grade in (_CORRECT, _WRONG))
        return correct, correct + wrong

    @cached_property
    def texts(self) -> Any:
        """A hash of the answers' texts, in no order."""
        texts = np.frombuffer(self.columns.texts, np.int64)
        found = np.zeros(len(self.counts), np.int64)
        found[self.is_there] = texts[self._first]
        for number in self._several:
            found[number] = hash(tuple(sorted(texts[self.rows(number)].tolist())))
        return found

    @cached_property
    def traits(self) -> tuple[Any, Any]:
        """The questions that have a trait, and the number of the trait, each pair once."""
        columns, size = self.columns, max(len(self.columns.traits), 1)
        rows, codes = (np.frombuffer(each, np.int64) for each in (columns.trait_rows, columns.trait_codes))
        numbers, codes = np.divmod(np.unique(self._numbers[rows] * size + codes), size)
        return numbers, codes

    def values(self, metric: str) -> Floats:
        """Return the value of each question by a metric, NaN where there is none."""
        if metric not in self._values:
            numbers = self.columns.values[metric]
            numbers.extend([np.nan] * (len(self.columns) - len(numbers)))
            column = np.frombuffer(numbers)
            found = self._of_first(column)
            for number in self._several:
                known = column[self.rows(number)]
                known = known[~np.isnan(known)]
                found[number] = exact_mean(known) if len(known) else np.nan
            self._values[metric] = found
        return self._values[metric]

    def scored(self, metric: str, figures: ScoredMetric, names: Sequence[str]) -> ScoredMetric:
        """Return a metric by the questions of the table; of repeats, the first says how they were drawn."""
        draws = None
        if figures.draws is not None:
            draws = np.nan_to_num(self._of_first(figures.draws)).astype(np.int16)
        return replace(figures, ids=names, values=self.values(metric), draws=draws)

    def undrawn(self, metric: str) -> Bools:
        """Tell which questions, asked once, were not drawn to be judged."""
        is_undrawn = np.zeros(len(self.columns), dtype=bool)
        is_undrawn[list(self.columns.undrawn.get(metric, ()))] = True
        found: Bools = self._any_of(is_undrawn) & (self.counts == 1)
        return found

    def _of_first(self, column: Any) -> Floats:
        found = np.full(len(self.counts), np.nan)
        found[self.is_there] = column[self._first]
        return found

    def _any_of(self, column: Bools) -> Bools:
        found: Bools = self._sum_of(column) > 0
        return found

    def _sum_of(self, column: Bools) -> Any:
        sums = np.concatenate([[0], np.cumsum(column[self._order])])
        return np.diff(sums[self._starts])


class PairedAnswers:
    """Two evaluations whose answers pair, or that asked different questions.

    The earlier one is a baseline where something is ``demanded`` of the later one, by dataset. An answer of a
    baseline that is unstable was not correct at least once. ``names`` are the questions of the table, those
    of the earlier run first, as the later run calls them.
    """

    def __init__(
        self, before: Evaluation, after: Evaluation, demanded: Mapping[str, Demand] | None = None
    ) -> None:
        is_single = len(before.runs) == len(after.runs) == 1
        called = after.runs[0].name if is_single else None
        wanted = [each.metrics for each in (demanded or {}).values()] or [_metrics(before, after)]
        self.metrics = {name: higher for each in wanted for name, higher in each.items()}
        knowledge = max(map(knowledge_of_run, (before, after)))
        is_baseline = demanded is not None
        old = AnswerColumns(before, called, self.metrics, knowledge, is_baseline=is_baseline)
        new = AnswerColumns(after, called, self.metrics, knowledge)
        self.pairings = {
            dataset: pair_rows(old.asked[dataset], new.asked[dataset])
            for dataset in dict.fromkeys([*old.asked, *new.asked])
        }
        self.demands = demanded or dict.fromkeys(self.pairings, Demand(self.metrics, ()))
        self.names: list[Key] = []
        self.edited: dict[str, list[int]] = {}
        self.questions: dict[str, slice] = {}
        """Where the questions of each dataset are in the table."""
        self.number_of_key = [0] * len(old.keys), [0] * len(new.keys)
        for dataset in self.pairings:
            self._number(dataset, old, new)
        self.old, self.new = (
            Standings(columns, numbers, len(self.names))
            for columns, numbers in zip((old, new), self.number_of_key, strict=True)
        )
        self.are_other = are_other_questions(self.pairings.values())
        self._decide_edited_again()

    def _number(self, dataset: str, old: AnswerColumns, new: AnswerColumns) -> None:
        """Number the questions of a dataset, and name them."""
        pairing, first = self.pairings[dataset], len(self.names)
        keys = [columns.asked[dataset].keys for columns in (old, new)]
        numbers: dict[int, int] = {}
        for of_key, pairs, own in zip(self.number_of_key, (pairing.before, pairing.after), keys, strict=True):
            for key, pair in zip(own, pairs, strict=True):
                of_key[key] = numbers.setdefault(pair, first + len(numbers))
        names = {self.number_of_key[1][key]: new.keys[key] for key in reversed(keys[1])}
        taken = set(names.values())
        for key in keys[0]:
            _, id_ = name = old.keys[key]
            names.setdefault(
                self.number_of_key[0][key], (dataset, f"{id_} (before)") if name in taken else name
            )
        self.names += [names[number] for number in numbers.values()]
        self.edited[dataset] = sorted(numbers[pair] for pair in pairing.edited)
        self.questions[dataset] = slice(first, len(self.names))

    def _decide_edited_again(self) -> None:
        """Decide old answers by what is expected now of the samples that were edited."""
        edited = [number for numbers in self.edited.values() for number in numbers]
        if not edited:
            return
        old, samples = self.old.columns, {}
        for number, row, found in self.new.read(edited):
            if self.new.columns.key_at(row) == self.names[number] and found.sample is not None:
                samples[number] = found.sample
        folder = old.evaluation.folder
        labels = labels_beside(None if folder is None else folder.parent)
        for number, row, found in self.old.read(samples):
            verdict = verdict_as_read(samples[number], found.result, None, labels)
            old.grades[row] = NO_GRADE if verdict is None else GRADES.index(verdict.grade)
            old.unstable.discard(row)
        self.old.count_grades()

    @property
    def notice(self) -> str | None:
        """Why ids of the data were not gone by."""
        return next((each.notice for each in self.pairings.values() if each.notice), None)

    def rows(self) -> Iterator[tuple[str, Row, Row]]:
        """Yield the rows of the later run that pair, each with the name of its part and the row of the
        earlier run; of repeats the first with the first.
        """
        old: dict[int, deque[Row]] = {}
        for number, _, row in () if self.are_other else self.old.all_rows():
            old.setdefault(number, deque()).append(row)
        for number, part_name, row in self.new.all_rows():
            if left := old.get(number):
                yield part_name, left.popleft(), row

    @cached_property
    def both(self) -> Bools:
        """Which questions are in both runs."""
        return self.old.is_there & self.new.is_there

    @cached_property
    def is_judged(self) -> bool:
        """Return True if any answer to a question of both runs was judged, in either."""
        chosen = self._in_demand & self.both
        return bool(((self.old.is_judged | self.new.is_judged) & chosen).any())

    @cached_property
    def _in_demand(self) -> Bools:
        chosen = np.zeros(len(self.names), dtype=bool)
        for dataset in self.demands:
            chosen[self.questions[dataset]] = True
        return chosen

    @cached_property
    def is_changed(self) -> Bools:
        """Which questions of both have other answers now, in more than case and punctuation."""
        found: Bools = self.both & (self.old.texts != self.new.texts)
        return found

    @cached_property
    def flips(self) -> dict[Flip, list[int]]:
        """The questions of the datasets in demand by the kind of their movement, in order."""
        found: dict[Flip, list[int]] = {}
        old, new = self.old, self.new
        heads = old.columns.evaluation.head, new.columns.evaluation.head
        judged = self.both & old.has_verdict & new.has_verdict
        for dataset, (metrics, _) in self.demands.items():
            here = self.questions[dataset]
            primary = next(iter(metrics), None)
            sign = 1 if primary is None or metrics[primary] else -1
            first, second = (
                np.where(judged, each.ranks, np.nan if primary is None else sign * each.values(primary))[here]
                for each in (old, new)
            )
            are_known = ~np.isnan(first), ~np.isnan(second)
            kinds = np.full(len(first), "worse", dtype=object)
            kinds[second > first] = "better"
            kinds[(judged & ~self.is_changed)[here] | (first == second)] = "same"
            kinds[are_known[0] != are_known[1]] = "unpaired"
            kinds[~(are_known[0] | are_known[1])] = "nothing"
            kinds[~old.is_there[here]] = "left out" if is_left_out(heads[0], dataset) else "new"
            kinds[~new.is_there[here]] = "left out" if is_left_out(heads[1], dataset) else "gone"
            for kind in get_args(Flip):
                found.setdefault(kind, []).extend((np.flatnonzero(kinds == kind) + here.start).tolist())
        return found

    def flipped(self, kind: Flip) -> list[int]:
        """Return the questions that moved in one way."""
        return self.flips.get(kind, [])

    @property
    def paired(self) -> int:
        """The number of questions that are known to have moved or stayed the same."""
        return sum(len(self.flipped(kind)) for kind in ("worse", "better", "same"))

    @cached_property
    def p_worse(self) -> float:
        """The p-value of answers that moved between correct and wrong, looking at the worse alone.

        Looking both ways, p is twice the smaller of it and its complement, since it is a mid-p.
        """
        changed = self.is_changed & self._in_demand
        answers = np.array([*self.old.decided(), *self.new.decided()]).T[changed]
        if (answers[:, [1, 3]] > 1).any():
            return repeated_flips_p_value([tuple(each) for each in answers.tolist()])
        worse, better = ((answers == each).all(axis=1).sum() for each in ((1, 1, 0, 1), (0, 1, 1, 1)))
        return flips_p_value(int(worse), int(better))

    def labels(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the names of questions for people, by number."""
        found = {number: self.names[number][1] for number in numbers}
        for each in (self.old, self.new):
            for number, _, row in each.read(numbers):
                found[number] = label_of(row) or found[number]
        return found


def _metrics(before: Evaluation, after: Evaluation) -> dict[str, bool]:
    """Return the metrics that both have, with whether higher is better, times left out."""
    old = {metric for part in before.runs for metric in part.metrics}
    return {
        metric: figure.higher_is_better
        for part in after.runs
        for metric, figure in part.metrics.items()
        if metric in old and metric != PASS_RATE and figure.method != TIMING_METHOD
    }
