"""The answers of a run for people to label, those first of which a label tells most; tables of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.annotations import read_annotation_files
from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.human_labels import is_same_answer, labels_of_annotations
from rag_evaluation_framework.datasets.row_sources import placed_rows
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, UsageError, shown
from rag_evaluation_framework.judging.verdict import (
    KEYS,
    STATES,
    AnswerVerdict,
    Key,
    decide_result,
    grade_of,
    state_of_key,
)
from rag_evaluation_framework.records.responses import Response, answered_turns, is_conversation
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample, asked_until, written_reference
from rag_evaluation_framework.results.answer_labels import AnswerLabel, AnswerLabels, append_labels
from rag_evaluation_framework.results.calibration import in_telling_order, telling
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_store import labels_beside, labels_file
from rag_evaluation_framework.text.normalisation import fold_text
from rag_evaluation_framework.text.tokens import content_keys

COLUMNS = ("id", "question", "before", "expected", "answer", "passage", "label")
"""The columns of a table of answers; people fill in the last."""
FROM_QUALITY: Mapping[str, Key] = {
    "fully_correct": "correct",
    "mostly_correct": "partly",
    "partially_correct": "partly",
}
"""The label for each value of a quality annotation's ``factual_correctness``; any other is wrong."""
FROM_WORDS: Mapping[str, Key] = {
    **dict.fromkeys(("correct", "c", "yes", "true", "1", "1.0", "right"), "correct"),
    **dict.fromkeys(("partly", "p", "partial", "partly correct", "0.5"), "partly"),
    **dict.fromkeys(("wrong", "w", "no", "false", "0", "0.0", "incorrect"), "wrong"),
}
"""The values that a cell of the column ``label`` may have beside the names of states."""
_IDS = ("id", "query_id", "sample_id")
_QUALITY = "factual_correctness"


class LabelItem(msgspec.Struct, frozen=True, kw_only=True, dict=True, weakref=True):
    """An answer to be labeled: a single reply, or a turn of a conversation as a sample of its own."""

    id: str
    row: Row
    sample: Sample
    asked: tuple[str, ...]
    response: Response
    verdict: AnswerVerdict
    number: int = 0

    @property
    def answer(self) -> str:
        return self.response.text or ""

    @property
    def expected(self) -> str | None:
        return written_reference(self.sample)

    @cached_property
    def passage(self) -> str:
        """The retrieved text that has most words of what is expected, else of the answer."""
        wanted = set(content_keys(self.sample.reference or self.answer))
        texts = self.response.contexts or [hit.text for hit in self.row.response.hits if hit.text]
        return max(texts, key=lambda text: len(wanted & set(content_keys(text))), default="")

    @cached_property
    def tool_verdict(self) -> AnswerVerdict:
        """The verdict of this answer without any label."""
        decided = None if self.row.sample is None else decide_result(self.row.sample, self.row.result)
        return self.verdict if decided is None else decided.answers[self.number]

    def label(self, key: Key, annotator: str) -> AnswerLabel:
        """Return the label that a key gives the answer."""
        state = state_of_key(key, self.sample, self.answer)
        return AnswerLabel.of(self.asked, self.sample, self.answer, state, annotator)


class LabelQueue:
    """The answers of a run, what one annotator has labeled of them, and what is left.

    Labels to confirm come first, then what is not judged, then all others.
    """

    def __init__(self, evaluation: Evaluation, annotator: str) -> None:
        self._runs_directory = evaluation.folder.parent if evaluation.folder else None
        self.path, self.annotator = labels_file(self._runs_directory), annotator
        higher = {
            name: figure.higher_is_better for run in evaluation.runs for name, figure in run.metrics.items()
        }
        found: dict[object, LabelItem] = {}
        for item in items_of(evaluation):
            folded = (tuple(map(fold_text, item.asked)), fold_text(item.answer), item.expected)
            found.setdefault(folded, item)
        ordered = in_telling_order(found.values(), lambda item: (telling(item.row.values, higher), item.id))
        self.items = sorted(ordered, key=lambda item: (not item.verdict.to_confirm, item.verdict.is_judged))
        self.read_labels()
        self._skipped: set[str] = set()
        self._done: list[tuple[LabelItem, AnswerLabel | None, AnswerLabel | None]] = []

    def read_labels(self) -> None:
        """Read what has been labeled by now, also by others."""
        self.labels = labels_beside(self._runs_directory) or AnswerLabels()

    def label_of(self, item: LabelItem) -> AnswerLabel | None:
        """Return the annotator's label of an answer that decides."""
        return self.labels.find_deciding(item.asked, item.sample, item.answer).get(self.annotator)

    def left(self) -> tuple[list[LabelItem], list[LabelItem]]:
        """Return what is neither labeled by the annotator nor skipped: what is not judged, and the others."""
        open_ones: list[LabelItem] = []
        others: list[LabelItem] = []
        for item in self.items:
            if item.id not in self._skipped and self.label_of(item) is None:
                is_judged = item.verdict.is_judged and not item.verdict.to_confirm
                (others if is_judged or _is_settled(item, self.labels) else open_ones).append(item)
        return open_ones, others

    def find_disputed(self) -> list[LabelItem]:
        """Return the answers on which annotators disagree."""
        found = ((item, self.labels.find(item.asked, item.sample, item.answer).label) for item in self.items)
        return [item for item, label in found if label is not None and grade_of(label) is None]

    def press(self, item: LabelItem, key: Key | None) -> AnswerLabel | None:
        """Label an answer, on the disk when this returns, or skip it."""
        before, label = self.label_of(item), None if key is None else item.label(key, self.annotator)
        if label is None:
            self._skipped.add(item.id)
        else:
            append_labels(self.path, [label])
            self.read_labels()
        self._done.append((item, before, label))
        return label

    def undo(self) -> LabelItem | None:
        """Take the last key back, and return the answer; ``None`` if there is none in this session."""
        if not self._done:
            return None
        item, before, label = self._done.pop()
        self._skipped.discard(item.id)
        if label is not None:
            state = None if before is None else before.state
            append_labels(
                self.path, [AnswerLabel.of(item.asked, item.sample, item.answer, state, self.annotator)]
            )
            self.read_labels()
        return item

    def agreement(self) -> dict[str, tuple[int, int]]:
        """Return of each method how many of its verdicts on labeled answers agree, and how many there are."""
        agreeing, judged = Counter[str](), Counter[str]()
        for item in self.items:
            label = self.labels.find(item.asked, item.sample, item.answer).label
            if label is None or (grade := grade_of(label)) is None or not item.tool_verdict.is_judged:
                continue
            method = (item.tool_verdict.by or "").replace("_", " ")
            judged[method] += 1
            agreeing[method] += item.tool_verdict.grade == grade
        return {method: (agreeing[method], count) for method, count in judged.most_common()}


def items_of(evaluation: Evaluation) -> Iterator[LabelItem]:
    """Yield every answer of a run that a person can label."""
    several = len(evaluation.named_runs) > 1
    for name, run in evaluation.named_runs.items():
        for row in run.rows:
            prefix = f"{name}/" if several else ""
            if row.sample is not None and row.verdict is not None:
                yield from _items_of_row(row, row.sample, row.verdict, f"{prefix}{row.id}")


def _items_of_row(row: Row, sample: Sample, verdict: AnswerVerdict, name: str) -> Iterator[LabelItem]:
    if not is_conversation(sample):
        if row.response.failure is None and not row.response.is_empty:
            asked = asked_until(sample)
            yield LabelItem(
                id=name, row=row, sample=sample, asked=asked, response=row.response, verdict=verdict
            )
        return
    turns = answered_turns(sample, row.response) or ()
    for place, (turn, decided) in enumerate(zip(turns, verdict.turns, strict=False)):
        if turn.answer.strip():
            yield LabelItem(
                id=f"{name}#{turn.number}",
                row=row,
                sample=turn.as_sample(sample),
                asked=asked_until(sample, turn.number),
                response=turn.as_response(row.response),
                verdict=decided,
                number=place,
            )


def _is_settled(item: LabelItem, labels: AnswerLabels) -> bool:
    """Return True if other labels of the question decide an answer that was not judged."""
    if not labels.concern(item.sample) or item.number:
        return False
    decided = decide_result(item.sample, SampleResult(item.id, item.response), labels)
    return decided is not None and decided.is_judged


# Tables of answers, and of what people or other tools say of them.


def table_of(queue: LabelQueue, most: int | None) -> list[dict[str, Any]]:
    """Return the rows of a table to be filled in: all answers, or the first of what is left."""
    items = queue.items if most is None else [*chain(*queue.left())][:most]
    return [_row_of(item, queue.label_of(item)) for item in items]


def _row_of(item: LabelItem, label: AnswerLabel | None) -> dict[str, str]:
    *before, question = item.asked
    said = "" if label is None else str(label.state)
    cells = (item.id, question, "\n".join(before), item.expected or "", item.answer, item.passage, said)
    return {name: cell for name, cell in zip(COLUMNS, cells, strict=True) if cell}


TABLE = Columns(dict.fromkeys(COLUMNS, "text"), required=COLUMNS)


class ReadTable(msgspec.Struct, frozen=True):
    """The labels that a file has for the answers of a run; ``mapping`` has the reading of each word."""

    labels: tuple[AnswerLabel, ...] = ()
    mapping: Mapping[str, str] = {}
    empty: int = 0
    others: int = 0
    """The numbers of rows without a label, and of annotations about something else than the run."""


def read_table(path: Path, queue: LabelQueue, *, clean: Callable[[str], str]) -> ReadTable:
    """Read the labels in a file; everything that is wrong with it is in one error.

    Texts beside a label have to be those of the run, as far as ``clean`` leaves them.
    """
    items = {item.id: item for item in queue.items}
    if path.name.endswith(".gt.json"):
        return _read_annotations(path, items)
    problems = FileProblems(str(path))
    labels: list[AnswerLabel] = []
    mapping: dict[str, str] = {}
    seen: dict[tuple[str, str], int | None] = {}
    empty = 0
    try:
        for record in placed_rows(path, lambda error: problems.extend(error.issues)):
            issues, found = _read_row(record.value, items, seen, record.line, queue.annotator, clean)
            problems.extend(record.place(each) for each in issues)
            empty += found is None and not issues
            if found is not None:
                mapping[found[0]] = str(found[1].state)
                labels.append(found[1])
    except InputError as error:
        problems.extend(error.issues)
    if not problems.has_issues and not labels:
        found_rows = f"{empty} rows without one" if empty else "no rows"
        problems.add(Issue("no-labels", "a label in at least one row", found_rows, "label"))
    problems.raise_if_any()
    return ReadTable(tuple(labels), mapping, empty)


def _read_row(
    row: Any,
    items: Mapping[str, LabelItem],
    seen: dict[tuple[str, str], int | None],
    line: int | None,
    annotator: str,
    clean: Callable[[str], str],
) -> tuple[list[Issue], tuple[str, AnswerLabel] | None]:
    """Return what is wrong with a row, else its word and label; neither where it has no label."""
    if not isinstance(row, dict):
        return [Issue("wrong-type", "a row of named columns", shown(row))], None
    cells = {name: "" if cell is None else str(cell).strip() for name, cell in row.items()}
    name = next((cells[each] for each in _IDS if cells.get(each)), "")
    word = cells.get("label") or cells.get(_QUALITY) or ""
    column = _QUALITY if not cells.get("label") and word else "label"
    if (item := items.get(name)) is None:
        known = "an id of an answer of the run"
        return [Issue("unknown-id", known, shown(name) if name else "an empty cell", "id")], None
    who = cells.get("annotator_id") or annotator
    if (name, who) in seen:
        found = f"{shown(name)} again, as in line {seen[name, who]}"
        return [Issue("repeated-id", "each answer once", found, "id")], None
    seen[name, who] = line
    if not word:
        return [], None
    issues: list[Issue] = []
    key = FROM_WORDS.get(word.casefold()) if column == "label" else FROM_QUALITY.get(word, "wrong")
    state = next((each for each in STATES if each == word.casefold().replace(" ", "_")), None)
    if key is None and (state is None or grade_of(state) is None):
        expected = f"{', '.join(KEYS[:-1])} or {KEYS[-1]}"
        issues.append(Issue("wrong-label", expected, shown(word), column))
    texts = {"question": item.asked[-1], "expected": item.expected or "", "answer": item.answer}
    for name, text in {**texts, "answer_text": item.answer}.items():
        if name in cells and fold_text(cells[name]) != fold_text(clean(text)):
            issues.append(Issue("other-text", f"the run's: {shown(text)}", shown(cells[name]), name))
    if issues:
        return issues, None
    given = state if key is None else state_of_key(key, item.sample, item.answer)
    return [], (word, AnswerLabel.of(item.asked, item.sample, item.answer, given, who))


def _read_annotations(path: Path, items: Mapping[str, LabelItem]) -> ReadTable:
    """Read what annotations of answer quality say of factual correctness."""
    labels: list[AnswerLabel] = []
    mapping: dict[str, str] = {}
    given = labels_of_annotations(read_annotation_files([path], on_warning=lambda _: None).annotations)
    rated = [each for each in given if each.fields.get(_QUALITY) is not None]
    for each in rated:
        item, word = items.get(each.query_id), str(each.fields[_QUALITY])
        if item is None or not is_same_answer(each, item.answer):
            continue
        label = item.label(FROM_QUALITY.get(word, "wrong"), each.annotator)
        mapping[word] = str(label.state)
        labels.append(label)
    if not labels:
        raise UsageError(
            f"{path}: expected {_QUALITY} of answers of the run, got {len(rated)} of other answers"
        )
    return ReadTable(tuple(labels), mapping, others=len(rated) - len(labels))
