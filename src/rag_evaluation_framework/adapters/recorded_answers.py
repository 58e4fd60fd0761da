"""Answers that a system gave earlier, as the system under test: a JSON object a line.

``{"id": …, "answer": …, "contexts": […], "citations": […]}``: everything but the pairing is read as an
HTTP agent's reply is. A line pairs with the sample of its ``id`` (``sample_id``, ``query_id``,
``task_id``), else with the one sample that asks exactly its ``input`` (``question``, ``query``,
``query_text``, ``user_input``). A line with an ``error`` instead of an answer is a failure that was
recorded. The latency is what the line tells as ``latency_ms`` (``latencyMs``), else it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from rag_evaluation_framework.adapters.answer_fields import AnswerReader, ReadAnswer, shape
from rag_evaluation_framework.adapters.conversations import response_of
from rag_evaluation_framework.errors import InputError, Issue, TargetError, shown
from rag_evaluation_framework.files.strict_json import read_lines
from rag_evaluation_framework.records.responses import Request, Response

_IDS = ("id", "sample_id", "query_id", "task_id")
_QUESTIONS = ("input", "question", "query", "query_text", "user_input")
_LATENCIES = ("latency_ms", "latencyMs")


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What one line of the file says."""

    line: int
    answer: ReadAnswer | TargetError
    latency_ms: float | None = None


class RecordedAnswers:
    """Fulfils ``extensions.Target``. The file is read whole, and all of its problems are in one error."""

    is_live = False

    def __init__(self, path: str | Path, *, response_paths: Mapping[str, str] | None = None) -> None:
        self.name = str(path)
        self._reader = AnswerReader(response_paths)
        self._by_id: dict[str, _Recorded] = {}
        self._by_question: dict[str, list[_Recorded]] = {}
        issues: list[Issue] = []
        for line, record in read_lines(path, on_error=lambda error: issues.extend(error.issues)):
            try:
                self._take(line, record)
            except InputError as error:
                issues.extend(error.located(self.name, line).issues)
        if issues:
            raise InputError(issues)

    async def answer(self, request: Request) -> Response:
        """Return the recorded answer; a sample that has none is a failure."""
        found = self._found(request)
        if isinstance(found.answer, TargetError):
            raise TargetError(found.answer.kind, found.answer.message)
        return replace(response_of(request.sample, [found.answer]), latency_ms=found.latency_ms)

    async def close(self) -> None:
        """Nothing is held."""

    def _take(self, line: int, record: Any) -> None:
        if not isinstance(record, dict):
            raise _problem("an object with an answer", shape(record))
        identifier = _first_text(record, _IDS)
        question = _first_text(record, _QUESTIONS)
        if identifier is None and question is None:
            raise _problem("an id or an input to pair the answer by", "neither")
        recorded = _Recorded(line, self._answer(record), _latency(record))
        if identifier is not None:
            earlier = self._by_id.setdefault(identifier, recorded)
            if earlier is not recorded:
                raise _problem("each id once", f"{identifier!r} again, first on line {earlier.line}")
        if question is not None:
            self._by_question.setdefault(question, []).append(recorded)

    def _answer(self, record: Mapping[str, Any]) -> ReadAnswer | TargetError:
        try:
            return self._reader.read(
                {name: value for name, value in record.items() if name not in _QUESTIONS}
            )
        except TargetError:
            if record.get("error"):
                return TargetError("recorded-failure", str(record["error"]))
            raise _problem(self._reader.expected, shape(record)) from None

    def _found(self, request: Request) -> _Recorded:
        sample = request.sample
        if sample.id in self._by_id:
            return self._by_id[sample.id]
        found = self._by_question.get(sample.question, [])
        if len(found) == 1:
            return found[0]
        if found:
            lines = ", ".join(str(each.line) for each in found[:5])
            raise TargetError("ambiguous-answer", f"{self.name}: the question stands on lines {lines}")
        raise TargetError("no-recorded-answer", f"{self.name}: neither the id nor the question is there")


def _first_text(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    values = (record.get(name) for name in names)
    return next((str(value) for value in values if type(value) in (str, int) and str(value)), None)


def _latency(record: Mapping[str, Any]) -> float | None:
    written = next((record[name] for name in _LATENCIES if record.get(name) is not None), None)
    if written is None:
        return None
    if type(written) not in (int, float) or not isfinite(written) or written < 0:
        raise _problem("a latency of 0 or more milliseconds", shown(written))
    return float(written)


def _problem(expected: str, found: str) -> InputError:
    return InputError([Issue("invalid-recorded-answer", expected, found)])
