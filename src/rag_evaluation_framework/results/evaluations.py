"""What came of an evaluation: figures, scores by sample, parts, a comparison, the gate's verdict.

An :class:`Evaluation` is the same whatever was evaluated. A single run has rows and no parts; a *suite* (a
manifest's datasets, the splits of golden sets) is the conjunction of its parts; *systems* (ranked runs,
models, cells of a sweep) are alternatives over the same samples, with a comparison. Figures and scores are
in memory, nine bytes a score; rows are read again from where they are kept each time they are asked for.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError, counted
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.files.atomic import write_text_atomically
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.responses import TURNS, Response, Unread, expected_turns, told_answers
from rag_evaluation_framework.records.runs import (
    JudgeUsage,
    ResourceUsage,
    RunHead,
    RunOutcome,
    SampleResult,
    Timing,
)
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import Blame, Score, Status
from rag_evaluation_framework.results.breakdowns import BlameSummary, RefusalTable, is_fault
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.gate import Threshold, Verdict
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.statistics.intervals import mean_interval
from rag_evaluation_framework.statistics.resampling import exact_mean

# A conversation turn by turn: what was asked, expected and answered, and how it scored.

_CORRECTNESS = "turn_correctness"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedTurn:
    """One of the user's turns; ``answer`` is ``None`` if there is none or it is unknown.

    ``scores`` are those of the metrics that score turn by turn.
    """

    number: int
    question: str
    expected: str | None
    expects_refusal: bool
    answer: str | None
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    blame: Blame | None = None

    @property
    def value(self) -> float | None:
        """How much of what it should say the answer says."""
        return self.scores.get(_CORRECTNESS)

    @property
    def is_at_fault(self) -> bool:
        """Whether the turn has no answer, lacks something that was expected, or is blamed for something."""
        lacks_something = self.value is not None and self.value < 1
        return self.answer is None or lacks_something or is_fault(self.blame)

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
    sample: Sample, result: SampleResult, blames: Mapping[int, Blame] | None = None
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

STATUSES: tuple[Status, ...] = ("scored", "skipped", "failed")
"""What the numbers of a column's statuses stand for; :data:`ABSENT` where a sample has no such score."""
ABSENT = len(STATUSES)

_STATUS_NUMBERS = {status: number for number, status in enumerate(STATUSES)}
_NAN = float("nan")

_RENDERED_ENDINGS = {".md": "markdown", ".xml": "junit", ".html": "html", ".txt": "terminal"}


@dataclass(frozen=True, slots=True)
class Columns:
    """Scores by metric: float64 values (NaN where there is none) and statuses, in the order of the data."""

    ids: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]] = field(hash=False)
    statuses: Mapping[str, npt.NDArray[np.uint8]] = field(hash=False)

    def __len__(self) -> int:
        return len(self.ids)

    def scored(self, metric: str) -> dict[str, float]:
        """Return one metric's values by sample id, where there are any."""
        if metric not in self.values:
            raise UnknownNameError("metric", metric, list(self.values))
        found = zip(self.ids, self.values[metric].tolist(), self.statuses[metric].tolist(), strict=True)
        return {sample_id: value for sample_id, value, status in found if status == 0}

    @classmethod
    def of(cls, ids: Sequence[str], values: Mapping[str, Mapping[str, float]]) -> Columns:
        """Return columns of values by metric and id; a sample without a value is *skipped*."""
        arrays = {
            metric: np.array([scored.get(each, np.nan) for each in ids], dtype=np.float64)
            for metric, scored in values.items()
        }
        statuses = {metric: np.isnan(column).astype(np.uint8) for metric, column in arrays.items()}
        return cls(tuple(ids), arrays, statuses)


NO_COLUMNS = Columns((), {}, {})


class ColumnsBuilder:
    """Takes the results of a run one by one, in the order of the data."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._columns: dict[str, tuple[array[float], bytearray]] = {}

    def add(self, result: SampleResult) -> None:
        place = len(self._ids)
        self._ids.append(result.sample_id)
        for score in result.scores:
            values, statuses = self._columns.setdefault(score.metric, (array("d"), bytearray()))
            if len(values) < place:
                self._fill(values, statuses, place)
            values.append(_NAN if score.value is None else score.value)
            statuses.append(_STATUS_NUMBERS[score.status])

    def columns(self) -> Columns:
        """Return what was taken."""
        for values, statuses in self._columns.values():
            self._fill(values, statuses, len(self._ids))
        return Columns(
            tuple(self._ids),
            {name: np.array(values, dtype=np.float64) for name, (values, _) in self._columns.items()},
            {
                name: np.frombuffer(bytes(statuses), dtype=np.uint8)
                for name, (_, statuses) in self._columns.items()
            },
        )

    @staticmethod
    def _fill(values: array[float], statuses: bytearray, size: int) -> None:
        missing = size - len(values)
        values.extend([float("nan")] * missing)
        statuses.extend([ABSENT] * missing)


@dataclass(frozen=True, slots=True)
class Row:
    """One finished sample: what was asked, answered and scored. Without the sample its truth is not known.

    ``index`` is its place in the data, from 0. ``passes`` is ``None`` where nothing decides it; ``misses``
    are the scores that miss their bounds, in words; ``turns`` are those of a conversation.
    """

    index: int
    result: SampleResult
    sample: Sample | None = None
    timing: Timing | None = None
    passes: bool | None = None
    misses: tuple[str, ...] = ()
    blame: Blame | None = None
    turns: tuple[EvaluatedTurn, ...] = ()

    @property
    def id(self) -> str:
        return self.result.sample_id

    @property
    def question(self) -> str:
        """What was asked last; the sample's id where it is not known."""
        return self.id if self.sample is None else self.sample.question

    @property
    def response(self) -> Response:
        return self.result.response

    @property
    def scores(self) -> tuple[Score, ...]:
        return self.result.scores

    @property
    def expected(self) -> str | None:
        """What the last answer should say; ``None`` if no words are expected."""
        if self.turns:
            return self.turns[-1].expected
        return None if self.sample is None else self.sample.reference

    @property
    def expects_refusal(self) -> bool:
        """Whether the last answer should decline."""
        if self.turns:
            return self.turns[-1].expects_refusal
        return self.sample is not None and isinstance(self.sample.expectation, Refusal)

    @property
    def is_failing(self) -> bool:
        """Whether the sample does not pass, or has an error."""
        return self.passes is False or self.error is not None

    @property
    def is_at_fault(self) -> bool:
        """Whether the answer, or a turn of the conversation, is wrong, even if no threshold counts it."""
        return any(turn.is_at_fault for turn in self.turns) if self.turns else is_fault(self.blame)

    @property
    def error(self) -> str | None:
        """Why there is no answer, or why an answer has no score."""
        failure = self.response.failure
        if failure is not None:
            return f"{failure.kind}: {failure.message}"
        failed = [f"{score.metric}: {score.reason}" for score in self.scores if score.status == "failed"]
        return "; ".join(failed) or None


Rows: TypeAlias = Callable[[], Iterable[Row]]
"""A function that starts again at the first row each time it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Samples to ask, those finished (failures included), those without an answer, and those with an error.

    ``failures`` are by kind, ``origins`` say whose contexts the answers were scored with, ``unread`` what the
    target returned in a shape that could not be read.
    """

    total: int
    finished: int
    failed: int = 0
    errors: int = 0
    failures: Mapping[str, int] = field(default_factory=dict, hash=False)
    origins: Mapping[str, int] = field(default_factory=dict, hash=False)
    unread: tuple[Unread, ...] = ()

    @property
    def unfinished(self) -> int:
        return self.total - self.finished


@dataclass(frozen=True, slots=True)
class Performance:
    """What a run took: times, latencies, tokens and cost of the target; memory and processor; the judge."""

    figures: Mapping[str, Any] = field(default_factory=dict, hash=False)
    resources: ResourceUsage | None = None
    judge_usage: JudgeUsage | None = None


def _no_rows() -> Iterable[Row]:
    return ()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Evaluation:
    """What came of an evaluation; see the module for what is where.

    ``metrics`` are in the order in which they were asked for; ``pass_rate`` is the last, where samples pass
    or fail. ``thresholds`` are those that hold here, ``unmeasured`` the metrics that were asked for and
    cannot be measured, and why. ``folder`` is where the run is kept, if it is.
    """

    kind: Kind
    head: RunHead
    metrics: Mapping[str, Figure]
    counts: Counts
    outcome: RunOutcome
    columns: Columns = NO_COLUMNS
    parts: Mapping[str, Evaluation] = field(default_factory=dict)
    parts_are: PartsAre | None = None
    comparison: Comparison | None = None
    verdict: Verdict | None = None
    blame: BlameSummary | None = None
    refusals: RefusalTable | None = None
    performance: Performance = field(default_factory=Performance)
    warnings: tuple[str, ...] = ()
    target: str | None = None
    """What is told of the system under test: its address without secrets, or its name."""
    missing: tuple[str, ...] = ()
    """Parts that could be there and are not: splits that a folder of golden sets does not have."""
    thresholds: tuple[Threshold, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    read_rows: Rows = _no_rows
    kept: Any = None
    """What has to live as long as the evaluation: the folder of a run that is not to be kept."""
    write_document: Callable[[Path], None] | None = None
    """Writes the results document as a stream."""
    document: Callable[[], dict[str, Any]] | None = None
    """Returns the results document."""

    @property
    def name(self) -> str:
        """What was evaluated on: the id of the data."""
        return self.head.dataset_id

    @property
    def is_begun(self) -> bool:
        """Whether anything was done; a part that an interrupted suite did not reach is not."""
        return bool(self.parts) or self.folder is not None or bool(self.counts.finished)

    @property
    def runs(self) -> tuple[Evaluation, ...]:
        """The parts that were begun, or this itself where there are none."""
        return tuple(part for part in self.parts.values() if part.is_begun) if self.parts else (self,)

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
            return f"not completed: {self.outcome.reason}"
        if self.counts.failed < self.counts.finished:
            return None
        failure = next((row.response.failure for row in self.rows), None)
        told = f" ({failure.kind}: {failure.message})" if failure else ""
        return f"not one of {counted(self.counts.finished, 'sample')} got an answer{told}"

    @property
    def rows(self) -> Iterator[Row]:
        """The finished samples in the order of the data, those of parts one after another."""
        if self.parts:
            return (row for part in self.parts.values() for row in part.rows)
        return iter(self.read_rows())

    @cached_property
    def slices(self) -> Mapping[str, Mapping[str, Mapping[str, Figure]]]:
        """Every metric by tag, category, difficulty and query type, where samples have them."""
        groups: dict[str, dict[str, dict[str, list[Score]]]] = {}
        for row in self.rows:
            for kind, value in _groups_of(row.sample):
                metrics = groups.setdefault(kind, {}).setdefault(value, {})
                for score in row.scores:
                    metrics.setdefault(score.metric, []).append(score)
        return {
            kind: {
                value: {name: self._figure(name, scores) for name, scores in metrics.items()}
                for value, metrics in values.items()
            }
            for kind, values in groups.items()
        }

    def failed(self) -> list[Row]:
        """Return the rows that do not pass, or have an error."""
        return [row for row in self.rows if row.is_failing]

    def worst(self, n: int = 10, metric: str | None = None) -> list[Row]:
        """Return the n rows with the least favourable score of a metric, by default of the first there is."""
        name = metric or next(iter(self.metrics), None)
        if name is None:
            return []
        if name not in self.metrics:
            raise UnknownNameError("metric", name, list(self.metrics))
        sign = 1.0 if self.metrics[name].higher_is_better else -1.0
        placed = (
            (sign * score.value, place, row)
            for place, row in enumerate(self.rows)
            for score in row.scores
            if score.metric == name and score.value is not None
        )
        return [row for _, _, row in nsmallest(n, placed, key=lambda each: each[:2])]

    def render(self, format: str = "terminal", **wish: Any) -> str:  # noqa: A002  # as the door calls it
        """Render it by the name of a renderer: ``terminal``, ``json``, ``markdown``, ``junit`` …"""
        return RENDERERS.get(format)(self, **wish)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        word = "no gate" if self.verdict is None else self.verdict.word
        return f"<Evaluation {self.head.run_id} of {self.name}: {self.counts.finished:,} samples, {word}>"

    def _repr_html_(self) -> str:
        return self.render("notebook")

    def to_dict(self) -> dict[str, Any]:
        """Return the results document as plain values; of several parts, the document of each by name."""
        if self.document is not None:
            return self.document()
        return {
            "evaluation_id": self.head.run_id,
            "kind": self.kind,
            "dataset_id": self.head.dataset_id,
            "metrics": {name: figure.to_dict() for name, figure in self.metrics.items()},
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "gate": None if self.verdict is None else self.verdict.to_dict(),
            "warnings": list(self.warnings),
        }

    def to_pandas(self) -> Any:
        """Return a frame with a row a sample: part, id, question, answer, whether it passes, scores."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("to_pandas", "pandas") from error
        return pandas.DataFrame(list(self._table()))

    def save(self, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002  # as the door calls it
        """Write it atomically: rendered as ``format`` or the ending says, else as the results document."""
        path = Path(path)
        rendered = format or _RENDERED_ENDINGS.get(path.suffix, "results")
        if rendered != "results":
            write_text_atomically(path, self.render(rendered))
        elif self.write_document is not None:
            self.write_document(path)
        else:
            write_text_atomically(path, self.render("json"))
        return path

    def _figure(self, metric: str, scores: Sequence[Score]) -> Figure:
        values = [score.value for score in scores if score.value is not None]
        counts = Counter(score.status for score in scores)
        return Figure(
            metric=metric,
            value=exact_mean(values) if values else None,
            interval=mean_interval(values, seed=self.head.seed) if values else None,
            n_scored=counts["scored"],
            n_skipped=counts["skipped"],
            n_failed=counts["failed"],
            higher_is_better=metric not in self.metrics or self.metrics[metric].higher_is_better,
            method=" + ".join(sorted({score.method for score in scores})),
        )

    def _table(self) -> Iterator[dict[str, Any]]:
        for name, part in self.parts.items() or {"": self}.items():
            for row in part.rows:
                yield {
                    **({"part": name} if name else {}),
                    "id": row.id,
                    "question": row.question,
                    "answer": row.response.text,
                    "passes": row.passes,
                    "error": row.error,
                    **{score.metric: score.value for score in row.scores},
                }


def _groups_of(sample: Sample | None) -> Iterator[tuple[str, str]]:
    if sample is None:
        return
    for tag in sample.tags:
        yield "tag", tag
    for kind in ("category", "difficulty", "query_type"):
        value = getattr(sample, kind)
        if value is not None:
            yield kind, str(value)
