"""``rag-eval aa``: how often the gate fails an agent that did not change, and the unstable questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli import evaluate, options
from rag_evaluation_framework.cli.configuration import DATASET_FILE
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.results.evaluations import Evaluation
    from rag_evaluation_framework.results.gate import Gate

_EXAMPLES = """\b
Examples:
  rag-eval aa agent.yaml --url http://localhost:4000
  rag-eval aa agent.yaml --url http://localhost:4000 --repeats 20
  rag-eval aa 003                               reuse a run with --repeats
  rag-eval aa 003 004 005 006 007               reuse several runs"""
_REPEATS = 10
# What is about one run, or about another one that it is compared with.
_UNUSED = frozenset(
    ("baseline", "save_baseline", "force", "max_drop", "out", "junit", "markdown", "everything", "details")
)


@click.command(
    "aa", cls=LongCommand, common=("url", "target", "repeats", "dry_run", "as_json"), epilog=_EXAMPLES
)
@click.argument("manifest", nargs=-1, metavar="[AGENT.YAML | RUN...]")
@options.with_all(evaluate.OPTIONS)
@options.scoring_options
@click.pass_context
def command(context: click.Context, /, manifest: tuple[str, ...], **given: Any) -> int:
    """Ask each question --repeats times (10) and measure how often the gate fails an unchanged agent.

    The answers are resampled into pairs of runs, each with the other as its baseline, and the gate decides
    every pair by thresholds, regressions and repeated questions. Pass runs with --repeats, or several runs
    of one agent, to reuse their answers without asking the agent.

    Exit code 0: measured; 2: wrong usage or data; 3: the run is incomplete.
    """
    given |= {**dict.fromkeys(_UNUSED), "scoring": options.scoring_of(given)}
    is_asked = any(given[name] is not None for name in ("url", "target", "resume"))
    if not is_asked and manifest and not (len(manifest) == 1 and Path(manifest[0]).is_file()):
        return _of_runs(manifest, given)
    if len(manifest) > 1:
        raise UsageError(f"expected one manifest or dataset, got {', '.join(manifest)}")
    if given["repeats"] == 1:
        raise UsageError("--repeats: expected at least 2, got 1")
    from rag_evaluation_framework.cli.evaluation_output import check_run, measure_run

    choices = {name: given[option] for name, option in evaluate.CHOICES}
    check_run(given, choices, is_compared=False)
    given["repeats"] = given["repeats"] or (None if given["resume"] else _REPEATS)
    parameter = context.command.params[0]
    data = DATASET_FILE.convert(manifest[0] if manifest else evaluate.default_manifest(), parameter, context)
    return measure_run(data, given, tell=tell)


command.params = [each for each in command.params if each.name not in _UNUSED]
for _each in command.params:
    if isinstance(_each, click.Option) and _each.name == "repeats":
        _each.help = f"Ask each sample N times.  [default: {_REPEATS}]"


def _of_runs(runs: tuple[str, ...], given: dict[str, Any]) -> int:
    """Measure the noise of saved runs, by the gate of the first of them or the one that is given."""
    from msgspec.structs import replace

    from rag_evaluation_framework.cli.evaluation_output import demands_of
    from rag_evaluation_framework.results.gate import Gate
    from rag_evaluation_framework.results.run_store import RunFolder
    from rag_evaluation_framework.results.stored_runs import load_run

    evaluations = [load_run(RunFolder.open(run, given["runs_dir"])) for run in runs]
    first, demands = evaluations[0], demands_of(given)
    gate = replace(Gate() if first.verdict is None else Gate.of_verdict(first.verdict), **demands)
    if gate.thresholds:
        parts = {name: replace(part, thresholds=gate.thresholds) for name, part in first.parts.items()}
        evaluations[0] = replace(first, parts=parts)
    tell(evaluations, gate, given)
    return 0


def tell(evaluations: list[Evaluation], gate: Gate, given: dict[str, Any]) -> None:
    """Print the noise of a gate on these runs."""
    from rag_evaluation_framework.cli.output import tell as tell_document
    from rag_evaluation_framework.reports.noise_blocks import describe_noise
    from rag_evaluation_framework.results.noise import measure_noise

    noise = measure_noise(evaluations, gate, seed=given["seed"] or 0)
    tell_document(noise.to_dict(), describe_noise(noise, runs=given["runs_dir"]), as_json=given["as_json"])
