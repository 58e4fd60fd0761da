"""The result of an evaluation: figures, scores by sample, parts, a comparison, the gate's verdict.

An :class:`Evaluation` is the same for all that is evaluated. One run has rows and no parts. A *suite* (a
manifest's datasets, the splits of golden sets) is the conjunction of its parts; what ``evaluate`` returns
of one dataset is a suite too, with one part, and has its figures. *Systems* (ranked runs, models, cells of a
sweep) are alternatives over the same samples, with a comparison. Figures and scores are in memory, nine
bytes a score; rows are read again from where they are kept each time they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import RagEvalError, UnknownNameError, UsageError, counted
from rag_evaluation_framework.extensions import RENDERERS, extra_module, import_on_call
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, plain_name
from rag_evaluation_framework.files.atomic import atomic_writer, write_text_atomically
from rag_evaluation_framework.judging.verdict import (
    AnswerCounter,
    AnswerCounts,
    AnswerVerdict,
    verdict_as_read,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.responses import TURNS, Response, expected_turns, told_answers
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult, Timing
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import Blame, Score
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.run_data import (
    DOCUMENTS_FILE,
    NO_DOCUMENTS,
    KeptDocuments,
    Samples,
    read_documents,
    together,
)
from rag_evaluation_framework.results.run_store import RunFolder, labels_beside, read_object
from rag_evaluation_framework.results.summaries import (
    INTERVALS,
    NO_COLUMNS,
    Columns,
    Counts,
    Figure,
    Performance,
    RunTotals,
    intervals_of,
)
from rag_evaluation_framework.results.verdicts import Regressions, Threshold, Verdict

T = TypeVar("T")


class Listed(Generic[T]):
    """A sequence that is read anew each time it is iterated, like a list: ``rows[0]``, ``len(rows)``."""

    def __init__(self, read: Callable[[], Iterable[T]], size: int) -> None:
        self._read, self._size = read, size

    def __iter__(self) -> Iterator[T]:
        return iter(self._read())

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice) or place < 0:
            return list(self)[place]
        for each in islice(self, place, None):
            return each
        raise IndexError(f"there are {self._size:,} rows; got {place}")

    def __repr__(self) -> str:
        return f"{counted(self._size, 'row')}: rows[0], for row in rows"


# These modules stand above this one, or are imported late for the sake of the start.
_compare: Callable[..., Comparison] = import_on_call(
    "rag_evaluation_framework.evaluation.judged_pairs:compare"
)
_merge: Callable[..., Evaluation] = import_on_call(
    "rag_evaluation_framework.results.shards:merge_evaluations"
)
_plot = import_on_call("rag_evaluation_framework.reports.notebook:plot")
_export: Callable[..., str] = import_on_call("rag_evaluation_framework.reports.exports:export")
_CORRECTNESS = "turn_correctness"


class EvaluatedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One of the user's turns; ``answer`` is ``None`` if there is none or it is unknown.

    ``scores`` are those of the metrics that score turn by turn.
    """

    number: int
    question: str
    expected: str | None
    expects_refusal: bool
    answer: str | None
    scores: Mapping[str, float] = {}
    blame: Blame | None = None
    verdict: AnswerVerdict | None = None

    @property
    def value(self) -> float | None:
        """The correctness of the answer: the share of the expected content that it has."""
        return self.scores.get(_CORRECTNESS)

    def to_dict(self) -> dict[str, Any]:
        """Return the turn as results files store it."""
        return {
            "turn": self.number,
            "question": self.question,
            "expected": self.expected,
            "expects_refusal": self.expects_refusal,
            "answer": self.answer,
            "value": self.value,
            "scores": dict(self.scores),
            **({} if self.blame is None else {"blame": self.blame.to_dict()}),
        }


def evaluated_turns(
    sample: Sample,
    result: SampleResult,
    blames: Mapping[int, Blame | None] | None = None,
    verdict: AnswerVerdict | None = None,
) -> tuple[EvaluatedTurn, ...]:
    """Return the turns of a conversation with the outcome of each; none for a single question."""
    asked = [turn.content or "" for turn in sample.turns if turn.role == "user"]
    expected = expected_turns(sample)
    if len(asked) == 1 and not expected:
        return ()
    answers: dict[int, str] = {}
    told = told_answers(result.response)
    if len(told) == len(asked) or result.response.failure is not None:
        answers = {number: answer.text for number, answer in enumerate(told, start=1)}
    elif result.response.text is not None:
        answers = {len(asked): result.response.text}
    scores = _scores_by_turn(result)
    verdicts = dict(zip(expected, () if verdict is None else verdict.turns, strict=False))
    found = []
    for number, question in enumerate(asked, start=1):
        turn = expected.get(number)
        last = sample.reference if number == len(asked) else None
        found.append(
            EvaluatedTurn(
                number=number,
                question=question,
                expected=last if turn is None else turn.reference,
                expects_refusal=turn is not None and turn.expectation is not None,
                answer=answers.get(number),
                scores=scores.get(number, {}),
                blame=(blames or {}).get(number),
                verdict=verdicts.get(number),
            )
        )
    return tuple(found)


def _scores_by_turn(result: SampleResult) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for score in result.scores:
        turns = score.details.get(TURNS)
        for turn in turns if isinstance(turns, list) else ():
            found.setdefault(turn["turn"], {})[score.metric] = turn["value"]
    return found


Kind = Literal["answers", "golden", "retrieval", "ranking", "systems", "suite"]
PartsAre = Literal["datasets", "splits", "systems"]

_RENDERED_ENDINGS = {".md": "markdown", ".xml": "junit", ".html": "page", ".txt": "terminal"}
_OF_ONE_RUN = (".csv", ".parquet", ".yaml", ".yml", ".shards")


class Row(msgspec.Struct, frozen=True):
    """One finished sample: what was asked, answered and scored. Without the sample its truth is not known.

    ``index`` is its place in the data, from 0. ``passes`` says whether its scores meet every threshold, and
    is ``None`` where nothing decides it; ``split`` is that of golden sets it is from; there is no ``verdict``
    where nothing was answered because only retrieval is measured.
    """

    index: int
    result: SampleResult
    sample: Sample | None = None
    timing: Timing | None = None
    passes: bool | None = None
    blame: Blame | None = None
    split: str | None = None
    verdict: AnswerVerdict | None = None

    @property
    def id(self) -> str:
        return self.result.sample_id

    @property
    def question(self) -> str:
        """The last question; the sample's id where it is not known."""
        return self.id if self.sample is None else self.sample.question

    @property
    def response(self) -> Response:
        return self.result.response

    @property
    def scores(self) -> tuple[Score, ...]:
        return self.result.scores

    @property
    def values(self) -> dict[str, float]:
        """The scores that have a value, by metric."""
        return {score.metric: score.value for score in self.scores if score.value is not None}

    @property
    def turns(self) -> tuple[EvaluatedTurn, ...]:
        """The turns of a conversation with the outcome of each; none of a single question."""
        if self.sample is None:
            return ()
        blames = None if self.blame is None else self.blame.turns
        return evaluated_turns(self.sample, self.result, blames, self.verdict)

    @property
    def expected(self) -> str | None:
        """The expected text of the last answer; ``None`` if no words are expected."""
        if turns := self.turns:
            return turns[-1].expected
        return None if self.sample is None else self.sample.reference

    @property
    def expects_refusal(self) -> bool:
        """Return True if the last answer should decline."""
        if turns := self.turns:
            return turns[-1].expects_refusal
        return self.sample is not None and isinstance(self.sample.expectation, Refusal)

    @property
    def verdicts(self) -> tuple[AnswerVerdict, ...]:
        """The verdict on every single answer, where something was answered: one for each turn."""
        return () if self.verdict is None else self.verdict.answers

    @property
    def has_failed(self) -> bool:
        """Return True if the answer is wrong or partly correct, or there is none to judge."""
        return self.response.failure is not None if self.verdict is None else self.verdict.has_failed

    @property
    def error(self) -> str | None:
        """Why there is no answer, or why an answer has no score."""
        failure = self.response.failure
        if failure is not None:
            return f"{failure.kind}: {failure.message}"
        failed = [f"{score.metric}: {score.reason}" for score in self.scores if score.status == "failed"]
        return "; ".join(failed) or None

    def __repr__(self) -> str:
        return RENDERERS.get("notebook")(self, as_text=True)

    def _repr_html_(self) -> str:
        return RENDERERS.get("notebook")(self)


Rows: TypeAlias = Callable[[], Iterable[Row]]
"""A function that starts again at the first row each time it is called."""


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True, weakref=True):
    """The result of an evaluation; the module explains every part.

    Attributes:
        metrics: Means by metric, in the order of the request; ``pass_rate`` is the last, if samples pass or
            fail.
        thresholds: Thresholds that were checked.
        left_out: Thresholds that were not checked because only a part of the data was evaluated.
        unmeasured: Requested metrics that cannot be measured, with the reasons.
        regressions: Answers that got worse since a baseline.
        folder: Folder of the run, if it is saved.

    Example:
        >>> from rag_evaluation_framework import evaluate
        >>> evaluation = evaluate([{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}])
        >>> evaluation.answers.correct, len(evaluation.rows)
        (1, 1)
    """

    kind: Kind
    head: RunHead
    metrics: Mapping[str, Figure]
    counts: Counts
    outcome: RunOutcome
    answers: AnswerCounts = AnswerCounts()
    """The number of answers that are correct, partly correct, wrong and not judged."""
    columns: Columns = NO_COLUMNS
    parts: Mapping[str, Evaluation] = {}
    parts_are: PartsAre | None = None
    comparison: Comparison | None = None
    verdict: Verdict | None = None
    performance: Performance = msgspec.field(default_factory=Performance)
    warnings: tuple[str, ...] = ()
    target: str | None = None
    """The label of the system under test: its address without secrets, or its name."""
    missing: tuple[str, ...] = ()
    """Parts that could be there and are not: splits that a folder of golden sets does not have."""
    thresholds: tuple[Threshold, ...] = ()
    left_out: tuple[Threshold, ...] = ()
    regressions: Regressions | None = None
    unmeasured: Mapping[str, str] = {}
    folder: Path | None = None
    read_rows: Rows = tuple
    read_documents: Callable[[], KeptDocuments] | None = None
    """The function that reads the documents of a run whose folder does not keep them."""
    intervals: Mapping[str, Any] = msgspec.field(default_factory=partial(dict, INTERVALS))
    """The settings of the intervals of the figures."""
    kept: Any = None
    """An object that has to live as long as the evaluation: the folder of a run that is not to be kept."""
    document: Mapping[str, Any] | None = None
    """The document that stands for the evaluation where that is not the results document of one run."""

    @property
    def name(self) -> str:
        """The id of the data that was evaluated."""
        return self.head.dataset_id

    @property
    def has_started(self) -> bool:
        """Return True if anything was done, unlike a part that an interrupted run did not reach."""
        return bool(self.parts) or self.folder is not None or bool(self.counts.finished)

    is_begun = has_started
    """The name until 3.0."""

    @property
    def is_ranking(self) -> bool:
        """Return True if it is of ranked runs, whose tables have a row for each query."""
        return self.kind == "systems" and all(part.kind == "ranking" for part in self.parts.values())

    @property
    def named_runs(self) -> dict[str, Evaluation]:
        """The runs that were begun, by part (of systems over several datasets by both), or itself."""
        if not self.parts:
            return {self.name: self}
        found: dict[str, Evaluation] = {}
        for name, part in self.parts.items():
            for dataset, run in part.named_runs.items() if part.has_started else ():
                found[f"{name}, {dataset}" if len(part.parts) > 1 else name] = run
        return found

    @property
    def runs(self) -> tuple[Evaluation, ...]:
        """The runs that were begun."""
        return tuple(self.named_runs.values())

    @property
    def not_measured(self) -> tuple[Figure, ...]:
        """The metrics that have no score at all, and not only because they do not apply: some failed."""
        return tuple(
            each
            for each in self.metrics.values()
            if each.n_failed and not each.n_scored and each.metric != PASS_RATE
        )

    @property
    def shortfall(self) -> str | None:
        """Why it was not measured as asked: it did not complete, or not one sample got an answer."""
        if not self.outcome.completed:
            return f"incomplete: {self.outcome.reason}"
        if self.counts.failed < self.counts.finished:
            return None
        failure = next((row.response.failure for row in self.rows), None)
        told = f" ({failure.kind}: {failure.message})" if failure else ""
        return f"not one of {counted(self.counts.finished, 'sample')} got an answer{told}"

    @property
    def rows(self) -> Listed[Row]:
        """The finished samples in the order of the data, those of parts one after another."""
        parts = self.parts.values()
        read = (lambda: (row for part in parts for row in part.rows)) if parts else self.read_rows
        return Listed(read, self.counts.finished)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples in the order of the data, as far as they are known: rows have the answers."""
        return tuple(row.sample for row in self.rows if row.sample is not None)

    @cached_property
    def documents(self) -> KeptDocuments:
        """The documents that the samples need or that were retrieved, as far as they were kept."""
        if self.read_documents is not None:
            return self.read_documents()
        found = [part.documents for part in self.parts.values() if part.has_started]
        if self.folder is not None and (not found or self.parts_are == "systems"):
            is_kept = any((each / DOCUMENTS_FILE).is_file() for each in (self.folder, self.folder.parent))
            return read_documents(self.folder) if is_kept else NO_DOCUMENTS
        return NO_DOCUMENTS if not found else found[0] if len(found) == 1 else together(found)

    @cached_property
    def slices(self) -> Mapping[str, Mapping[str, Mapping[str, Figure]]]:
        """Every metric by tag, category, difficulty, query type and refusal reason, where there are any."""
        groups: dict[str, dict[str, RunTotals]] = {}
        for row in self.rows:
            for kind, value in groups_of(row.sample):
                groups.setdefault(kind, {}).setdefault(value, RunTotals()).add(row.result)
        directions = {name: figure.higher_is_better for name, figure in self.metrics.items()}
        intervals, whole = intervals_of(self.head), self.columns
        return {
            kind: {
                value: totals.figures(intervals=intervals, directions=directions, whole=whole)
                for value, totals in values.items()
            }
            for kind, values in groups.items()
        }

    @property
    def is_gated(self) -> bool:
        """Return True if a gate says which answers fail."""
        return bool(self.verdict and self.verdict.enabled)

    def failed(self) -> list[Row]:
        """Return the rows that are wrong or partly correct; of retrieval, those that miss a threshold."""
        return [row for row in self.rows if row.has_failed]

    def worst(self, n: int = 10, metric: str | None = None) -> list[Row]:
        """Return the n rows that are worst by a metric, by default the first there is.

        By word overlap, ``faithfulness`` orders by the probability that an answer contains unsupported text.
        """
        figures = {name: each for part in self.runs for name, each in part.metrics.items()}
        name = metric or next(iter(figures), None)
        if name is None:
            return []
        if name not in figures:
            raise UnknownNameError("metric", name, list(figures))
        is_better = figures[name].higher_is_better
        placed = (
            (goodness, place, row)
            for place, row in enumerate(self.rows)
            for score in row.scores
            if score.metric == name and (goodness := score.goodness(higher_is_better=is_better)) is not None
        )
        return [row for _, _, row in nsmallest(n, placed, key=lambda each: each[:2])]

    def render(self, format: str = "terminal", **wish: Any) -> str:  # noqa: A002  # as the door calls it
        """Render it by a renderer's name (``terminal``, ``json`` …); ``wish`` are its own arguments."""
        return RENDERERS.get(format)(self, **wish)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        try:
            return self.render("notebook", as_text=True)
        except (RagEvalError, OSError):  # a debugger asks too, after the run's folder is gone
            return f"Evaluation {self.head.run_id} of {self.name}: {counted(self.counts.finished, 'answer')}"

    def _repr_html_(self) -> str:
        return self.render("notebook")

    def to_dict(self) -> dict[str, Any]:
        """Return the results document as plain values; of several parts, the document of each by name."""
        if self.document is not None:
            return dict(self.document)
        if not self._is_several:
            found: dict[str, Any] = strict_json.decode(self.render("results"))
            return found
        return {
            "evaluation_id": self.head.run_id,
            "kind": self.kind,
            "dataset_id": self.head.dataset_id,
            "metrics": {name: figure.to_dict() for name, figure in self.metrics.items()},
            "answers": self.answers.to_dict(),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            **(
                {"statistical_analysis": {"significance_tests": self.comparison.significance_tests()}}
                if self.comparison
                else {}
            ),
            "gate": None if self.verdict is None else self.verdict.to_dict(),
            "warnings": list(self.warnings),
        }

    def compare(self, *others: Evaluation, **wish: Any) -> Comparison:
        """Compare others with this one, answer by answer; ``wish`` is that of ``compare``."""
        return _compare(self, *others, **wish)

    def merge(self, *others: Evaluation) -> Evaluation:
        """Join the shards of a run: other samples of a dataset, or its parts, asked of the same system."""
        return _merge(self, *others)

    def to_pandas(self) -> Any:
        """Return a frame with one row per sample: part, id, question, answer, verdict, scores."""
        return extra_module("pandas", feature="to_pandas", extra="pandas").DataFrame(list(self._table()))

    def to_polars(self) -> Any:
        """Return the same as a frame of polars."""
        polars = extra_module("polars", feature="to_polars", extra="polars")
        return polars.DataFrame(list(self._table()), infer_schema_length=None)

    def plot(self) -> Any:
        """Draw every figure with its interval and return the figure of matplotlib."""
        return _plot(self)

    def save(self, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002  # as the door calls it
        """Write it atomically: rendered as ``format`` or the ending says, else as the results document."""
        path = Path(path)
        rendered = format or _RENDERED_ENDINGS.get(path.suffix, "results")
        is_table = plain_name(path).endswith((".csv", ".parquet"))
        if rendered != "results":
            write_text_atomically(path, self.render(rendered))
        elif self.is_ranking and path.suffix == ".parquet":
            self.render("results", path=path)
        elif (self.kind == "systems" and is_table) or (self._is_several and self.document is None):
            if plain_name(path).endswith(_OF_ONE_RUN):
                got = f"{path}, which is for one run: save each of the parts by itself"
                raise UsageError(f"expected a file that holds several runs, such as .json or .md, got {got}")
            with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
                stream.write(self.render("json").encode())
        else:
            self.render("results", path=path)
        return path

    def export(self, to: str, path: str | Path | None = None) -> str:
        """Write it for another program (``xlsx``, ``latex`` …), or record it in a tracker (``mlflow`` …).

        Returns the sentence that says where it is; ``path`` is a file, or a tracker's place.
        """
        return _export(self, to, path)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write it as one HTML page that needs nothing but itself, and return the path."""
        return self.save(path, format="page")

    @property
    def _is_several(self) -> bool:
        return self.kind == "systems" or len(self.parts) > 1

    def _table(self) -> Iterator[dict[str, Any]]:
        for name, part in self.parts.items() or {"": self}.items():
            for row in part.rows:
                yield {
                    **({"part": name} if name else {}),
                    "id": row.id,
                    "question": row.question,
                    "answer": row.response.text,
                    **({} if row.verdict is None else row.verdict.to_cells()),
                    "meets_thresholds": row.passes,
                    "error": row.error,
                    **{score.metric: score.value for score in row.scores},
                }


def groups_of(sample: Sample | None) -> Iterator[tuple[str, str]]:
    """Yield the groups a sample is in: its tags, category, difficulty, query type and refusal reason."""
    if sample is None:
        return
    for tag in sample.tags:
        yield "tag", tag
    for kind in ("category", "difficulty", "query_type"):
        value = getattr(sample, kind)
        if value is not None:
            yield kind, str(value)
    if isinstance(sample.expectation, Refusal) and sample.expectation.reason is not None:
        yield "refusal_reason", sample.expectation.reason


def rows_of_folder(folder: RunFolder, samples: Samples | None = None) -> Iterator[Row]:
    """Yield the rows of a run in the order of its dataset; ``samples`` as :meth:`RunFolder.answers` says."""
    labels = labels_beside(folder.path.parent)
    for entry, sample in folder.answers(samples):
        verdict = verdict_as_read(sample, entry.result, entry.verdict, labels)
        yield Row(entry.index, entry.result, sample, entry.timing, verdict=verdict)


def summed_up(
    head: RunHead,
    counted: Iterable[Row],
    *,
    kind: Kind,
    outcome: RunOutcome,
    rows: Rows,
    total: int | None = None,
    order: Sequence[str] = (),
    directions: Mapping[str, bool] | None = None,
    intervals: Mapping[str, Any] | None = None,
    performance: Performance | None = None,
    **more: Any,
) -> Evaluation:
    """Sum up a run: its rows are ``counted`` once, and read by ``rows`` when they are asked for.

    ``total`` is how many samples were to be asked, where that is more than there are rows; ``order`` is that
    of the metrics. What ``performance`` has no figures of is taken from the rows.
    """
    totals, answers = RunTotals(), AnswerCounter()
    for row in counted:
        totals.add(row.result, row.timing)
        answers.add(row)
    more = {"answers": answers.counts(), **more}
    intervals = {**intervals_of(head), **(intervals or {})}
    figures = totals.figures(intervals=intervals, directions=directions)
    performance = performance or Performance()
    finished, failed = len(totals.ids), totals.failures.total()
    return Evaluation(
        kind=kind,
        head=head,
        metrics={name: figures[name] for name in dict.fromkeys([*order, *figures]) if name in figures},
        counts=Counts(
            total=finished if total is None else total,
            finished=finished,
            failed=failed,
            errors=failed,
            retries=totals.retries,
            failures=dict(sorted(totals.failures.items())),
            origins=dict(sorted(totals.origins.items())),
            unread=totals.unread.totals(),
        ),
        outcome=outcome,
        columns=totals.columns(),
        performance=replace(performance, figures=performance.figures or totals.performance.figures()),
        intervals=intervals,
        read_rows=rows,
        **more,
    )


PERFORMANCE_FILE = "performance.json"
"""The file with the performance figures of a complete cell of a sweep."""


def evaluation_of_cell(
    folder: RunFolder, intervals: Mapping[str, Any], outcome: RunOutcome | None = None
) -> Evaluation:
    """Sum up the run of a cell of a sweep."""
    found = summed_up(
        folder.head,
        (Row(entry.index, entry.result, timing=entry.timing) for entry in folder.entries()),
        kind="retrieval",
        outcome=outcome or folder.counts.outcome,
        rows=partial(rows_of_folder, folder),
        total=folder.counts.total,
        intervals=intervals,
        folder=folder.path,
    )
    return replace(found, performance=Performance(read_object(folder.path / PERFORMANCE_FILE)))


def unscored(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """Return by split and metric the commonest reason why a metric has no score at all."""
    return {
        split: dict(part.unmeasured)
        | {
            each.metric: each.reasons[0].reason
            for each in part.metrics.values()
            if not each.n_scored and not each.n_failed and each.reasons
        }
        for split, part in evaluation.parts.items()
        if part.has_started
    }


_SUMMED = ("total", "finished", "failed", "errors", "retries")


def suite(head: RunHead, parts: Mapping[str, Evaluation], **more: Any) -> Evaluation:
    """Return runs as one evaluation; of a single one its figures are those of the whole."""
    first, several = next(iter(parts.values())), len(parts) > 1
    summed = {name: sum(getattr(part.counts, name) for part in parts.values()) for name in _SUMMED}
    return Evaluation(
        head=head,
        metrics={} if several else first.metrics,
        counts=Counts(**summed) if several else first.counts,
        answers=AnswerCounts.together(part.answers for part in parts.values()),
        outcome=next((part.outcome for part in parts.values() if not part.outcome.completed), first.outcome),
        columns=NO_COLUMNS if several else first.columns,
        parts=parts,
        **more,
    )
