"""``rag-eval compare``: what changed between runs, answer by answer and metric by metric."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.configuration import is_given
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.options import (
    AS_JSON,
    DETAILS,
    FILE,
    RUNS_DIR,
    SEED,
    WORKERS,
    flag,
    metrics_option,
    new_screen,
    option,
    scoring_of,
    scoring_options,
    show,
)
from rag_evaluation_framework.cli.output import check_metrics, print_json
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.option_table import declared

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.methods import Scoring
    from rag_evaluation_framework.results.comparison import Comparison
    from rag_evaluation_framework.results.evaluations import Evaluation

EXAMPLES = """\b
Examples:
  rag-eval compare                            compare the latest 2 runs
  rag-eval compare 001 003                    compare two runs
  rag-eval compare main 003 --fail-on worse   fail the job if worse than main
  rag-eval compare old.results.json new.results.json --slice tag
  rag-eval compare 001 002 003 -m faithfulness --json
  rag-eval compare 001 002 -m faithfulness --judge-model gpt-4o-mini \\
    --judge-budget 200
  rag-eval compare --ab data/config/ab_testing_config.config.yaml"""
# A judge that only the configuration names is not asked: to compare what is stored costs nothing.
_ASKS_A_JUDGE = ("judge_models", "judge_budget", "precision")
_SLICES = ("tag", "category", "difficulty", "query_type", "document")


_COMMON = (
    *("metrics", "slice_by", "everything", "details", "force", "fail_on", "as_markdown", "experiment"),
    *("judge_models", "judge_budget", "runs_dir", "seed", "as_json"),
)


@click.command("compare", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("runs", nargs=-1, metavar="[BASE [CANDIDATE]...]")
@metrics_option("Metric to compare; may be repeated.")
@option("--slice", "Also compare each group of answers.", called="slice_by", type=click.Choice(_SLICES))
@flag("--all", "Show every changed answer, before and now.", called="everything")
@DETAILS
@flag("--force", "Allow runs scored by different methods.")
@option("--fail-on", "Exit with 1 if the verdict is worse.", type=click.Choice(["worse"]))
@flag("--markdown", "Print Markdown for a pull request.", called="as_markdown")
@option(
    "--ab CONFIG",
    "Evaluate the A/B experiment of CONFIG, and save its results as ab_test_….",
    called="experiment",
    type=FILE,
)
@RUNS_DIR
@SEED
@WORKERS
@AS_JSON
@scoring_options
def command(runs: tuple[str, ...], runs_dir: Path, **given: Any) -> int:
    """Compare runs with BASE, answer by answer, and show which answers got worse or better.

    Name a run by its id or the end of its id, a folder, a results file, a saved baseline or a branch. With
    one name, the latest run is compared with it; without names, the latest run with the run before. A sweep
    is compared by its recommended setup; alone, by all its setups.

    With --judge-model, the judge compares pairs of answers of two runs; --judge-budget limits its calls, and
    the pairs are drawn at random, more often where word overlap is least certain.

    Exit code 0: compared; 1: worse, with --fail-on worse; 2: wrong usage or data, or runs that are not
    comparable.
    """
    from rag_evaluation_framework.records.runs import Options
    from rag_evaluation_framework.reports.comparison_blocks import describe_comparison
    from rag_evaluation_framework.results.changes import compare_evaluations

    options = Options(**{name: given[name] for name in ("workers", "engine", "address")})
    options.reach()
    if given["experiment"] is not None:
        if runs:
            raise UsageError(f"--ab: expected the runs in {given['experiment']}, got {' '.join(runs)}")
        return _experiment(given["experiment"], runs_dir, as_json=given["as_json"])
    systems, asked = _systems(runs, runs_dir), {name: given[name] for name in ("metrics", "seed")}
    if given["judge_models"] and any(map(is_given, _ASKS_A_JUDGE)):
        comparison = _judged(systems, scoring_of(given), silent=given["as_json"], **asked)
    else:
        _refuse_options_of_a_judge()
        if given["metrics"]:
            check_metrics(given["metrics"], [run for each in systems.values() for run in each.runs])
        comparison = compare_evaluations(systems, force=given["force"], workers=lambda: options.crew, **asked)
    if given["as_json"]:
        print_json(comparison.to_dict())
    elif given["as_markdown"]:
        click.echo(comparison.render("markdown"), nl=False)
    else:
        shown = {name: given[name] for name in ("details", "everything", "slice_by")}
        show(new_screen().draw(describe_comparison(comparison, runs=runs_dir, **shown)))
    return 1 if given["fail_on"] == comparison.verdict else 0


_OF_THE_JUDGE = (*(each.name for each in declared("judge", "scoring")), "corpus")


def _refuse_options_of_a_judge() -> None:
    for name in _OF_THE_JUDGE:
        if is_given(name):
            raise UsageError(f"--{name.replace('_', '-')}: --judge-model is missing")


def _judged(
    systems: dict[str, Evaluation], scoring: Scoring, *, metrics: tuple[str, ...], seed: int, silent: bool
) -> Comparison:
    """Compare two runs by what a judge says of pairs of their answers."""
    from rag_evaluation_framework.cli.evaluation_output import show_progress
    from rag_evaluation_framework.evaluation.judged_pairs import compare_judged
    from rag_evaluation_framework.judging.methods import opened_methods

    if not metrics:
        raise click.MissingParameter(param_hint="'-m' / '--metric'", param_type="option")
    with opened_methods(scoring) as methods, show_progress(methods, silent=silent) as progress:
        return compare_judged(systems, metrics, methods, seed=seed, on_progress=progress)


def _experiment(path: Path, runs: Path, *, as_json: bool) -> int:
    from rag_evaluation_framework.reports.experiment_blocks import describe_experiment
    from rag_evaluation_framework.results.experiments import read_experiment, run_experiment
    from rag_evaluation_framework.results.stored_runs import find_evaluation

    result = run_experiment(read_experiment(path), partial(find_evaluation, runs_directory=runs))
    kept = None if result.latest is None else result.save()
    if as_json:
        print_json(result.to_dict())
        return 0
    screen = new_screen().draw(describe_experiment(result))
    if kept is not None:
        screen.gap()
        screen.say(f"saved in {kept}")
    show(screen)
    return 0


def _systems(names: tuple[str, ...], runs: Path) -> dict[str, Evaluation]:
    """Return the evaluations to compare by name, the baseline first."""
    from rag_evaluation_framework.results.stored_runs import find_evaluation, latest_evaluations

    if not names:
        return _named(latest_evaluations(2, runs_directory=runs))
    if len(names) == 1:
        alone = find_evaluation(names[0], runs_directory=runs)
        if alone.kind == "systems":
            return dict(alone.parts)
        (latest,) = latest_evaluations(1, runs_directory=runs)
        if latest.head.run_id == alone.head.run_id:
            raise UsageError(f"expected two runs, got {names[0]}, which is the latest run")
        return _named([alone, latest])
    later = [find_evaluation(name, runs_directory=runs) for name in names[1:]]
    datasets = [part.name for part in later[0].runs]
    return _named([find_evaluation(names[0], runs_directory=runs, datasets=datasets), *later])


def _named(evaluations: list[Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations by the ids of their runs; a sweep stands for its best combination."""
    named: dict[str, Evaluation] = {}
    for each in evaluations:
        name = each.head.run_id
        if each.kind == "systems":
            best, each = next(iter(each.parts.items()))
            name = f"{name}, {best}"
        number, unique = 2, name
        while unique in named:
            unique, number = f"{name} ({number})", number + 1
        named[unique] = each
    return named
