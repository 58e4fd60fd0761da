"""An evaluation as JUnit XML: the gate as one case, and a suite of answers for each dataset or system.

The case ``gate`` fails exactly when the exit code is 1, and is an *error* where the run did not complete. An
answer's case fails where the gate fails because of answers like it; else a wrong or partly correct answer is
*skipped*, as is one that was not judged. The properties of a suite are its counts by grade; notes on a run,
and how to resume it, are its output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from rag_evaluation_framework.judging.verdict import (
    CORRECT,
    GRADES,
    PARTLY_CORRECT,
    WRONG,
    AnswerCounts,
    name_of_state,
    original_sample_id,
)
from rag_evaluation_framework.reports.blocks import one_line
from rag_evaluation_framework.reports.evaluation_blocks import headline, named_run_notes
from rag_evaluation_framework.reports.facts import (
    cases_of,
    cases_sentence,
    sample_name,
    verdict_of,
    verdict_sentence,
)
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.summaries import RELIABILITY
from rag_evaluation_framework.results.verdicts import Check, Verdict

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(evaluation: Evaluation) -> str:
    """Render an evaluation as JUnit XML."""
    verdict = verdict_of(evaluation)
    suites = [_suite("gate", [_gate(evaluation, verdict)], evaluation.answers)]
    for name, part in evaluation.named_runs.items():
        covers = _Coverage.of(verdict, part)
        cases = [_answer(name, row, covers) for row in part.rows]
        figures = part.performance.figures.get(RELIABILITY)
        suites.append(_suite(name, cases, part.answers, named_run_notes(name, part), figures))
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _suite(
    name: str,
    cases: Sequence[str],
    answers: AnswerCounts,
    notes: Sequence[str] = (),
    reliability: Mapping[str, Any] | None = None,
) -> str:
    counts = {
        "tests": len(cases),
        "failures": sum("<failure" in case for case in cases),
        "errors": sum("<error" in case for case in cases),
        "skipped": sum("<skipped" in case for case in cases),
    }
    written = " ".join(f'{key}="{count}"' for key, count in counts.items())
    said = _text("\n".join(notes))
    output = f"    <system-out>{said}</system-out>\n" if notes else ""
    values: dict[str, Any] = {grade: answers.count(grade) for grade in GRADES} if answers.total else {}
    for key, value in (reliability or {}).items():
        by_kind = isinstance(value, Mapping)
        values |= {f"{key}_{kind}": each for kind, each in value.items()} if by_kind else {key: value}
    each = "".join(f'<property name="{grade}" value="{count}"/>' for grade, count in values.items())
    properties = f"    <properties>{each}</properties>\n" if each else ""
    opening = f"  <testsuite name={_attribute(name)} {written}>\n{properties}"
    return f"{opening}{''.join(cases)}{output}  </testsuite>\n"


def _gate(evaluation: Evaluation, verdict: Verdict) -> str:
    """Return the case that carries the verdict, with its sentence and every check."""
    said = headline(evaluation)
    details = "\n".join([*said.lines, *map(_describe_check, verdict.checks)])
    kind = "error" if verdict.stopped else "failure" if verdict.exit_code else ""
    return _case("gate", "gate", kind or ("" if verdict.enabled else "skipped"), str(said), output=details)


def _describe_check(check: Check) -> str:
    of = "" if check.dataset is None else f"{check.dataset}: "
    bound = "" if check.bound is None else f" {check.operator} {check.bound:g}"
    value = "" if check.value is None else f"{check.value:.6g}, "
    method = "" if check.method is None else f", {check.method}"
    return f"{of}{check.metric}{bound} ({check.held}{method}): {value}{check.status_text}"


class _Coverage(msgspec.Struct, frozen=True):
    """Which answers of a run the gate fails on, and which of their grades have a threshold."""

    failing: frozenset[str]
    """The grades whose answers fail the gate."""
    covered: frozenset[str]
    worse: frozenset[str]
    """The samples that got worse and fail the gate."""
    unanswered: bool

    @classmethod
    def of(cls, verdict: Verdict, run: Evaluation) -> _Coverage:
        fails, enabled = verdict.exit_code == 1, verdict.enabled
        checks = [check for check in verdict.checks if enabled and check.dataset in (None, run.name)]
        missed = {check.metric for check in checks if fails and check.fails}
        demanded, moved = {check.metric for check in checks}, verdict.regressions
        return cls(
            failing=frozenset(grade for grade in (PARTLY_CORRECT, WRONG) if missed & {grade, CORRECT}),
            covered=frozenset(grade for grade in (PARTLY_CORRECT, WRONG) if demanded & {grade, CORRECT}),
            worse=frozenset(
                name for part, name in (moved.worse if fails and moved else ()) if part == run.name
            ),
            unanswered=fails and run.answers.unanswered > verdict.max_errors,
        )


def _answer(suite: str, row: Row, gate: _Coverage) -> str:
    response, verdict = row.result.response, row.verdict
    kind, message = "", ""
    details = cases_sentence(cases_of(row)) if verdict is not None and verdict.deserves_attention else ""
    is_worse = not gate.worse.isdisjoint((row.id, original_sample_id(row.id)))
    if verdict is None:
        kind, message = "skipped", "no answer: only retrieval was measured"
    elif not verdict.is_judged and not is_worse:
        kind, message = "skipped", verdict_sentence(row, verdict)
    elif not verdict.is_correct:
        grade = name_of_state(verdict.grade)
        if is_worse:
            kind, message = "failure", f"got worse: {details}"
        elif verdict.grade in gate.failing or (verdict.is_unanswered and gate.unanswered):
            kind, message = "failure", details
        else:
            is_covered = verdict.grade in gate.covered
            kind = "skipped"
            message = f"{grade}, allowed by the gate" if is_covered else f"{grade}, no threshold covers it"
    name = f"{sample_name(row)}: {one_line(row.question)}"
    seconds = None if response.latency_ms is None else response.latency_ms / 1000
    output = "" if kind == "failure" else one_line(details, 1000)
    return _case(suite, name, kind, one_line(message, 1000), seconds=seconds, output=output)


def _case(
    suite: str, name: str, kind: str, message: str, *, seconds: float | None = None, output: str = ""
) -> str:
    time = "" if seconds is None else f' time="{seconds:.3f}"'
    opening = f"    <testcase classname={_attribute(suite)} name={_attribute(name)}{time}"
    verdict = f"<{kind} message={_attribute(message)}>{_text(message)}</{kind}>" if kind else ""
    said = f"<system-out>{_text(output)}</system-out>" if output else ""
    return f"{opening}>{verdict}{said}</testcase>\n" if verdict or said else f"{opening}/>\n"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
