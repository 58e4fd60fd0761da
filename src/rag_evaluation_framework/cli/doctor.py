"""``rag-eval doctor``: what is installed, and what is wrong with the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rag_evaluation_framework.cli.options import AS_JSON, flag, new_screen, show
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.diagnosis import Finding
    from rag_evaluation_framework.reports.blocks import Screen

EXAMPLES = """\b
Examples:
  rag-eval doctor
  rag-eval doctor --details          list the missing extras
  rag-eval doctor --offline          send no question to the agent"""

_MARKS = {"right": "✓", "note": "–", "problem": "✗", "unreachable": "✗"}
_LABEL = 9


@click.command("doctor", epilog=EXAMPLES)
@flag("--offline", "Send no question to the agent.")
@flag("--details", "Also show every missing extra.")
@AS_JSON
def command(offline: bool, details: bool, as_json: bool) -> int:
    """Check the installation, the agent and the project around this folder.

    Checks agent.yaml and its datasets, the agent (with one question), the folder of runs and the free space,
    the judge's key, the extras, every file of data/config and every dataset. Changes no file.

    Exit code 0: no problem; 2: a problem with files, settings or permissions; 3: no connection to the agent,
    or no free space.
    """
    from rag_evaluation_framework.evaluation.diagnosis import diagnosis, exit_code

    findings = list(diagnosis(ask=not offline, details=details or as_json))
    document = {"problems": problems_of(findings), "findings": [each.to_dict() for each in findings]}
    if as_json:
        print_json(document)
    else:
        screen = new_screen()
        show_findings(screen, findings)
        show(screen)
    return exit_code(findings)


def show_findings(screen: Screen, findings: Sequence[Finding]) -> None:
    """Add a line for each finding, and how many have to be mended."""
    wide = max((len(each.about) for each in findings if each.status == "note"), default=0)
    for finding in findings:
        _show(screen, finding, max(wide, _LABEL))
    problems = problems_of(findings)
    screen.say(counted(problems, "problem") if problems else "No problems.")


def _show(screen: Screen, finding: Finding, wide: int) -> None:
    from rag_evaluation_framework.reports.blocks import BAD, DIM, GOOD, Styled, cells

    mark = _MARKS[finding.status]
    style = {"✓": GOOD, "✗": BAD}.get(mark, DIM)
    label = f"{finding.about:<{wide}}  " if finding.status == "note" else ""
    hang = 4 + len(label)
    beside = bool(finding.fix) and cells(finding.text) + 5 + cells(finding.fix) <= screen.width - hang
    text = f"{label}{finding.text}" + (f"     {finding.fix}" if beside else "")
    # A plain screen drops the marks, so it is given letters.
    plain = {"✓": "+", "✗": "x"}.get(mark, "-")
    screen.say("  ", Styled(plain if screen.plain else mark, style), f" {text}", hang=hang)
    if finding.fix and not beside:
        screen.say(finding.fix, indent=hang)


def problems_of(findings: Sequence[Finding]) -> int:
    """Count what has to be mended."""
    return sum(each.status in ("problem", "unreachable") for each in findings)
