"""An evaluation as JUnit XML: a suite of the gate's checks, and a suite of samples for each dataset
or system.

It agrees with the exit code: there are failures or errors exactly where that is not 0. What fails the gate is
a *failure*, a check that was not evaluated too, unless it is excused: those, and a sample that neither passes
nor fails, are *skipped*. A sample that does not pass is a failure, one without an answer or a score an
*error*, only where the gate fails; else what is wrong with it is its output. Notes on a run, and how to
resume it, are the output of its suite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from rag_evaluation_framework.reports.cases import expected_and_got, sample_name
from rag_evaluation_framework.reports.screen import one_line
from rag_evaluation_framework.reports.terminal import named_run_notes
from rag_evaluation_framework.reports.verdict_lines import explanation, headline, verdict_of
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.verdicts import Check, Verdict

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(evaluation: Evaluation) -> str:
    """Render an evaluation as JUnit XML."""
    verdict = verdict_of(evaluation)
    suites = []
    if verdict.enabled or verdict.exit_code:
        checks = [_check(check, verdict) for check in verdict.checks if verdict.enabled]
        suites.append(_suite("gate", [*checks, _verdict(evaluation, verdict)]))
    moved = frozenset(() if verdict.regressions is None else verdict.regressions.worse)
    fails = verdict.exit_code == 1
    suites += [
        _suite(
            name,
            [_sample(name, row, fails=fails, worse=(each.name, row.id) in moved) for row in each.rows],
            named_run_notes(name, each),
        )
        for name, each in evaluation.named_runs.items()
    ]
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _suite(name: str, cases: Sequence[str], notes: Sequence[str] = ()) -> str:
    counts = {
        "tests": len(cases),
        "failures": sum("<failure" in case for case in cases),
        "errors": sum("<error" in case for case in cases),
        "skipped": sum("<skipped" in case for case in cases),
    }
    written = " ".join(f'{key}="{count}"' for key, count in counts.items())
    said = _text("\n".join(notes))
    output = f"    <system-out>{said}</system-out>\n" if notes else ""
    return f"  <testsuite name={_attribute(name)} {written}>\n{''.join(cases)}{output}  </testsuite>\n"


def _check(row: Check, verdict: Verdict) -> str:
    bound = "" if row.bound is None else f" {row.operator} {row.bound:g}"
    method = f", {row.method}" if row.method else ""
    name = f"{row.metric}{bound} ({row.held}{method})"
    value = "no value" if row.value is None else f"{row.value:.6g}"
    message = f"{value}: {row.told}" if row.bound is not None else row.told
    undecided = row.status == "undecided"
    if row.fails or row.is_open or (undecided and verdict.fails_undecided):
        kind = "failure"
    else:
        kind = "skipped" if undecided or row.excuse is not None else ""
    return _case(f"gate.{row.dataset or 'none'}", name, kind, message)


def _verdict(evaluation: Evaluation, verdict: Verdict) -> str:
    """Return the verdict itself, so that a gate that failed by a rule alone is not a green suite."""
    told = "; ".join([str(headline(evaluation)), *explanation(evaluation)])
    kind = "error" if verdict.stopped else "failure" if verdict.exit_code else ""
    return _case("gate", "verdict", kind, told, output="" if kind else told)


def _sample(suite: str, sample: Row, *, fails: bool, worse: bool) -> str:
    response = sample.result.response
    kind, message = "", ""
    fault = expected_and_got(sample) if sample.is_at_fault else ""
    if sample.error is not None:
        kind, message = "error", sample.error
    elif worse:
        kind, message = "failure", f"got worse: {expected_and_got(sample)}"
    elif sample.passes is None:
        kind, message = "skipped", "nothing that counts was scored"
    elif not sample.passes:
        kind, message, fault = "failure", expected_and_got(sample), ""
    if kind in ("error", "failure") and not fails:
        kind, fault = "", message
    name = f"{sample_name(sample)}: {one_line(sample.question)}"
    seconds = None if response.latency_ms is None else response.latency_ms / 1000
    return _case(suite, name, kind, one_line(message, 1000), seconds=seconds, output=one_line(fault, 1000))


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
