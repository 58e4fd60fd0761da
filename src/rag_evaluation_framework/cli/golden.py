"""``rag-eval golden``: evaluate a system on a folder of golden sets, split by split, and decide the gate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.golden_options import GoldenOptions, golden_options
from rag_evaluation_framework.cli.scoring_options import ScoringOptions, scoring_options
from rag_evaluation_framework.errors import Problems, UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.golden.golden_settings import GoldenSettings
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
    from rag_evaluation_framework.results.run_groups import RunGroup

EXAMPLES = """\b
Examples:
  rag-eval golden examples/golden --target examples.golden.assistant:answer
  rag-eval golden evaluation --url http://localhost:4000 --threshold entity_coverage=0.8
  rag-eval golden evaluation --url http://localhost:4000 --split multiturn --json > multiturn.json
  rag-eval golden evaluation --target my_agent:answer --history reference"""


@click.command("golden", epilog=EXAMPLES)
@golden_options
@scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Evaluate a system on the golden sets in DIR, each split by metrics of its own, and decide the gate.

    factual_qa.json, relationship_qa.json, tracking_qa.json, multiturn_qa.json and boundary_qa.json, or some
    of them, are in DIR/evaluation/datasets, DIR/datasets or DIR. Conversations are replayed turn by turn.
    Each split is a run of its own that can be resumed after any interruption; the results of all are in one
    file, golden.results.json in the folder of the first.

    Exit code 0: passed, or no gate (no --threshold, no --baseline, ciGate is not true); 1: the gate failed;
    2: wrong usage, settings or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

    scoring = ScoringOptions.taken_from(given)
    options = GoldenOptions(**given)
    secrets = Secrets()
    with secrets.masked_errors():
        code = _evaluate(options, scoring, secrets)
    context.exit(code)


def _evaluate(options: GoldenOptions, scoring: ScoringOptions, secrets: Secrets) -> int:
    """Run a golden evaluation from the folder to the exit code."""
    from rag_evaluation_framework.cli.evaluation_command import EvaluationCommand
    from rag_evaluation_framework.cli.golden_output import GoldenOutput
    from rag_evaluation_framework.evaluation.golden.golden_runs import golden_manifest, plan_golden
    from rag_evaluation_framework.records.runs import SampleChoice

    manifest = golden_manifest(options.folder, _settings(options))
    choice = SampleChoice(sample_size=options.sample_size, seed=options.seed or 0, allow_missing=True)
    asked = EvaluationCommand(options, manifest, scoring=scoring, secrets=secrets, choice=choice)
    _check_history(options, asked.resumed)
    plan = plan_golden(manifest, splits=asked.datasets, choice=asked.choice, methods=asked.methods)
    return asked.run(
        plan,
        configuration={"golden": str(options.folder), "history": options.history},
        output_to=partial(GoldenOutput, folder=options.folder),
        history=options.history,
    )


def _settings(options: GoldenOptions) -> GoldenSettings:
    """Read the settings from file and command line; all that is wrong with either is in one error."""
    from rag_evaluation_framework.evaluation.golden.golden_settings import (
        GoldenSettings,
        read_golden_settings,
        with_thresholds,
    )

    settings, problems = GoldenSettings(), Problems()
    with problems.collected():
        settings = settings if options.config is None else read_golden_settings(options.config)
    with problems.collected():
        settings = with_thresholds(settings, options.thresholds)
    problems.raise_all()
    return settings


def _check_history(options: GoldenOptions, resumed: RunGroup | None) -> None:
    """Refuse to go on with conversations on another history than they began with."""
    began = resumed.leader.head.configuration.get("history") if resumed else options.history
    if began != options.history:
        expected = "a run of golden sets" if began is None else f"--history {began}"
        raise UsageError(f"cannot resume: expected {expected}, got --history {options.history}")
