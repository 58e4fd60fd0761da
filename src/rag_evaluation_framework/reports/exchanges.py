"""What was asked, expected and answered in a sample, as reports show it: once, or turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.excerpts import one_line
from rag_evaluation_framework.results.blame_summaries import is_fault
from rag_evaluation_framework.results.evaluations import Row

_TO_DECLINE = "(to decline)"
_FAILING = "samples that do not pass"
_AT_FAULT = "samples at fault that miss no threshold"


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

    @property
    def fault(self) -> str | None:
        """Where it failed and how that is known; ``None`` if nothing did, or it is not known."""
        return f"{self.blame.kind}: {self.blame.why}" if self.blame and is_fault(self.blame) else None


@dataclass(frozen=True, slots=True)
class ListedSamples:
    """The first samples of a kind, and how many there are in all."""

    kind: str
    samples: list[Row]
    total: int

    @property
    def title(self) -> str:
        """What is listed, and whether it is all of it."""
        listed = len(self.samples)
        return self.kind if listed == self.total else f"first {listed:,} of {self.total:,} {self.kind}"


def samples_to_show(samples: Iterable[Row], *, limit: int) -> Iterator[ListedSamples]:
    """Yield what is worth a look, up to ``limit`` of each: samples that do not pass, and others at fault."""
    found: dict[str, list[Row]] = {_FAILING: [], _AT_FAULT: []}
    totals = dict.fromkeys(found, 0)
    for sample in samples:
        kind = _FAILING if sample.is_failing else _AT_FAULT if sample.is_at_fault else None
        if kind is not None:
            totals[kind] += 1
            found[kind] += [sample] if totals[kind] <= limit else []
    return (ListedSamples(kind, listed, totals[kind]) for kind, listed in found.items() if listed)


def sample_lines(sample: Row, place: str) -> Iterator[str]:
    """Yield a sample that does not pass or is at fault, for a terminal; ``place`` says which it is."""
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


def exchanges(sample: Row) -> list[Exchange]:
    """Return what to show of a sample: of a conversation the turns at fault, if there are any."""
    if not sample.turns:
        expected = _TO_DECLINE if sample.expects_refusal else sample.expected
        answer = sample.result.response.text
        return [Exchange(None, sample.question, expected, answer, sample.blame)]
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


def expected_and_got(sample: Row) -> str:
    """Say in one line which bounds are missed, what was expected, what came, and where it failed."""
    told = list(sample.misses)
    for each in exchanges(sample):
        turn = "" if each.turn is None else f"{one_line(each.asked)}: "
        fault = "" if each.fault is None else f" ({each.fault})"
        told.append(f"{turn}expected {each.expected}, got {each.answer}{fault}")
    return "; ".join(told)


def _lines(exchange: Exchange) -> Iterator[str]:
    if exchange.expected is not None:
        yield f"expected  {one_line(exchange.expected)}"
    if exchange.answer is not None:
        yield f"got       {one_line(exchange.answer)}"
    if exchange.fault is not None:
        yield f"fails in  {one_line(exchange.fault)}"
