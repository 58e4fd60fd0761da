"""What was asked, expected and answered, and why there is no score, as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.records.responses import EXPECTED, Unread, UnreadPart
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.tables import one_line
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.summaries import Unscored

# The claims of an answer that its evidence does not support, as lines for people.

# The metrics whose claims are the answer's own, and what these were held against.
_HELD_AGAINST = {
    "faithfulness": "the contexts",
    "hallucination": "the contexts",
    "claim_precision": "the reference",
}


def doubtful_claims(result: SampleResult) -> Iterator[str]:
    """Yield each claim of the answer that is unsupported or contradicted, with its characters, once."""
    text = result.response.text or ""
    seen: set[tuple[int, int]] = set()
    for score in result.scores:
        against = _HELD_AGAINST.get(without_parameters(score.metric))
        if against is None:
            continue
        for claim in score.details.get("claims", ()):
            place = claim["start"], claim["end"]
            if claim["label"] == "supported" or place in seen:
                continue
            seen.add(place)
            why = f" ({'; '.join(claim['conflicts'])})" if claim.get("conflicts") else ""
            where = f"at {place[0]}–{place[1]}"
            yield f"{claim['label']} by {against} {where}: {one_line(text[slice(*place)])}{why}"


# What could not be read of what came with answers, in words: how much, and what was expected.


def unread_lines(unread: Sequence[Unread]) -> list[str]:
    """Say of a run: ``3 contexts of 2 samples could not be read: expected …``."""
    return [
        _line(each.part, f"{_counted(each.part, each.count)} of {counted(each.samples, 'sample')}")
        for each in unread
    ]


def unread_line(part: UnreadPart, count: int) -> str:
    """Say the same of one answer."""
    return _line(part, _counted(part, count))


def _counted(part: UnreadPart, count: int) -> str:
    return counted(count, part.removesuffix("s"))


def _line(part: UnreadPart, what: str) -> str:
    return f"{what} could not be read: expected {EXPECTED[part]}"


# Why samples have no score for a metric, as lines for people.


def unmeasured_lines(evaluation: Evaluation) -> list[str]:
    """Say which metrics failed wherever they apply; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in evaluation.not_measured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"nothing was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


def unscored_lines(evaluation: Evaluation) -> list[str]:
    """Say why samples have no score: metrics with the same reason and count share a line."""
    metrics: dict[Unscored, list[str]] = {}
    for name, figure in evaluation.metrics.items():
        for each in figure.reasons:
            metrics.setdefault(each, []).append(name)
    return [
        f"  {each.count:,} {each.status}, {one_line(each.reason, 120)}: {', '.join(names)}"
        for each, names in metrics.items()
    ]


# Notes on one run: what was repaired, what is left to do, what could be neither read nor scored.


def run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes on a run, one a line."""
    unread = unread_lines(evaluation.counts.unread)
    return [*evaluation.outcome.notes, *unread, *unmeasured_lines(evaluation)]


def named_run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes and, for a run that did not complete, how to resume it; each names its run.

    They are for reports that are read by others than those who ran it.
    """
    shortfall = shortfall_of(evaluation)
    notes = [*run_notes(evaluation), *([] if shortfall is None else [shortfall])]
    return [f"{evaluation.name}, run {evaluation.head.run_id}: {note}" for note in notes]


def shortfall_of(evaluation: Evaluation) -> str | None:
    """Say why a run did not complete, and how to resume it; ``None`` of one that did."""
    outcome = evaluation.outcome
    if outcome.completed:
        return None
    return f"not completed: {outcome.reason}; go on with --resume {evaluation.head.run_id}"


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
        return f"{self.blame.kind}: {self.blame.why}" if self.blame and self.blame.is_fault else None


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
