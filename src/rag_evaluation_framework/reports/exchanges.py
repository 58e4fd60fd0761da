"""What was asked, expected and answered in a sample, as reports show it: once, or turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag_evaluation_framework.evaluation.blame import Blame
from rag_evaluation_framework.records.samples import Refusal
from rag_evaluation_framework.reports.excerpts import one_line
from rag_evaluation_framework.results.evaluations import EvaluatedSample

_TO_DECLINE = "(to decline)"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, what was expected (``None``: nothing in words) and what was answered (``None``: nothing).

    ``turn`` is the place in a conversation, from 1, and ``None`` for a single question.
    """

    turn: int | None
    question: str
    expected: str | None
    answer: str | None
    blame: Blame | None

    @property
    def asked(self) -> str:
        """The question, with the turn it was asked in."""
        return self.question if self.turn is None else f"turn {self.turn}: {self.question}"


def sample_lines(sample: EvaluatedSample, place: str) -> Iterator[str]:
    """Yield a sample that does not pass, for a terminal; ``place`` says which it is."""
    shown = exchanges(sample)
    is_single = shown[0].turn is None
    yield f"  {place}: {one_line(shown[0].question)}" if is_single else f"  {place}:"
    if sample.error is not None:
        yield f"    error     {one_line(sample.error, 300)}"
    if sample.misses:
        yield f"    misses    {'; '.join(sample.misses)}"
    for exchange in shown:
        if not is_single:
            yield f"    {one_line(exchange.asked)}"
        indent = "    " if is_single else "      "
        yield from (f"{indent}{line}" for line in _lines(exchange))


def exchanges(sample: EvaluatedSample) -> list[Exchange]:
    """Return what to show of a sample that does not pass: the turns at fault of a conversation, else all."""
    if not sample.turns:
        to_decline = isinstance(sample.sample.expectation, Refusal)
        expected = _TO_DECLINE if to_decline else sample.sample.reference
        answer = sample.result.response.text
        return [Exchange(None, sample.sample.question, expected, answer, sample.blame)]
    at_fault = [turn for turn in sample.turns if turn.is_at_fault]
    return [
        Exchange(
            turn.number,
            turn.question,
            _TO_DECLINE if turn.expects_refusal else turn.expected,
            turn.answer,
            turn.blame,
        )
        for turn in at_fault or sample.turns
    ]


def expected_and_got(sample: EvaluatedSample) -> str:
    """Say in one line which bounds are missed, what was expected and what came."""
    told = list(sample.misses)
    for each in exchanges(sample):
        turn = "" if each.turn is None else f"{one_line(each.asked)}: "
        told.append(f"{turn}expected {each.expected}, got {each.answer}")
    return "; ".join(told)


def _lines(exchange: Exchange) -> Iterator[str]:
    if exchange.expected is not None:
        yield f"expected  {one_line(exchange.expected)}"
    if exchange.answer is not None:
        yield f"got       {one_line(exchange.answer)}"
    if exchange.blame is not None and exchange.blame.kind not in ("ok", "unknown"):
        yield f"fails in  {exchange.blame.kind}: {one_line(exchange.blame.why)}"
