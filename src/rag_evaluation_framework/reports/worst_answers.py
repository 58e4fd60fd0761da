"""The answers that a report lists, the wrong ones first, each with the reason for its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from rag_evaluation_framework.judging.verdict import AnswerCounts, AnswerVerdict
from rag_evaluation_framework.records.responses import expected_turns
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.cases import (
    TO_DECLINE,
    Exchange,
    exchanges,
    rows_of_runs,
    show_answers,
    show_question,
    unsupported_words,
    why,
)
from rag_evaluation_framework.reports.screen import Screen, one_line
from rag_evaluation_framework.results.evaluations import Evaluation, Row

_KEPT = 30
_FOUND: WeakKeyDictionary[Evaluation, tuple[list[tuple[str, Row]], int]] = WeakKeyDictionary()


def worst_answers(evaluation: Evaluation, count: int) -> tuple[list[tuple[str, Row]], int]:
    """Return the first answers to look at, by part, and how many more samples have one.

    Wrong answers come first, then partly correct ones, those that look wrong, and those that were flagged.
    """
    answers = AnswerCounts.together(part.answers for part in evaluation.runs)
    if not answers.wrong + answers.partly_correct + answers.looks_wrong + answers.flagged:
        return [], 0
    if evaluation not in _FOUND:  # the rows are read once for all reports
        ranks: tuple[list[tuple[str, Row]], ...] = ([], [], [], [])
        total = 0
        for part, row in rows_of_runs(evaluation):
            if row.verdict is not None and (rank := _rank(row.verdict)) is not None:
                total += 1
                ranks[rank].extend([(part, row)] if len(ranks[rank]) < _KEPT else [])
        _FOUND[evaluation] = [each for found in ranks for each in found], total
    rows, total = _FOUND[evaluation]
    return rows[:count], max(0, total - count)


def answer_counts(evaluation: Evaluation) -> Iterator[str]:
    """Yield the counts by grade; of systems those of each."""
    counts = {"": evaluation.answers}
    if evaluation.parts_are == "systems":
        counts = {f"{name}: ": part.answers for name, part in evaluation.named_runs.items()}
    yield from (f"{one_line(name)}{each}" for name, each in counts.items() if each.total)


def _rank(verdict: AnswerVerdict) -> int | None:
    signs = (verdict.is_wrong, verdict.is_partly_correct, verdict.looks_wrong, verdict.is_flagged)
    return signs.index(True) if any(signs) else None


def verdict_name(row: Row) -> str:
    """Return the state of an answer in words, or that it was flagged."""
    verdict = row.verdict
    if verdict is None:
        return ""
    return "flagged" if verdict.is_flagged and _rank(verdict) == 3 else verdict.name


def listed_exchanges(row: Row) -> Iterator[tuple[Exchange, str | None]]:
    """Yield what was asked and answered, with the reason; of a conversation the turns to look at."""
    verdict, blame = row.verdict, row.blame
    if verdict is None or not verdict.turns or row.sample is None or not row.turns:
        reason = None if verdict is None else _reason(row, verdict, blame)
        yield from ((each, reason) for each in exchanges(row))
        return
    verdicts = dict(zip(expected_turns(row.sample), verdict.turns, strict=False))
    for turn in row.turns:
        found = verdicts.get(turn.number)
        if found is not None and (found.deserves_attention or not verdict.deserves_attention):
            expected = TO_DECLINE if turn.expects_refusal else turn.expected
            each = Exchange(turn.number, turn.question, expected, turn.answer, turn.blame)
            yield each, _reason(row, found, turn.blame)


def _reason(row: Row, verdict: AnswerVerdict, blame: Blame | None) -> str | None:
    if not verdict.deserves_attention:
        return None
    if _rank(verdict) == 3:
        return verdict.flag_names
    found = why(row, blame) if verdict.cause and blame is not None else verdict.why
    if verdict.is_unanswered and row.error is not None:
        found = row.error
    return f"{verdict.name}: {found}" if found else verdict.name


def describe_answer(row: Row) -> str:
    """Return in one line what was expected, what was answered and why it is not correct."""
    told = []
    for each, reason in listed_exchanges(row):
        turn = "" if each.turn is None else f"{one_line(each.asked)}: "
        expected = "" if each.expected is None else f"expected {each.expected}, "
        told.append(f"{turn}{expected}got {each.answer or 'no answer'}{f' ({reason})' if reason else ''}")
    return "; ".join(told)


def show_answer(screen: Screen, name: str, row: Row) -> None:
    """Add the question, both answers and the reason, of a conversation those of the turns at fault."""
    hang = len(name) + 4
    for place, (each, reason) in enumerate(listed_exchanges(row)):
        show_question(screen, "" if place else name, each.asked, hang=hang)
        marks = unsupported_words(row) if each.turn is None else ()
        texts = {"expected": each.expected, "got": each.answer}
        show_answers(screen, texts, hang=hang, marks=marks, reason=reason)
