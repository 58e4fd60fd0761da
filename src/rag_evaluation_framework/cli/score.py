"""``rag-eval score``: score a file of answers, or a saved run anew; nobody is asked."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.configuration import DATASET, is_given
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.output import MAP, NO_BLAME, print_json
from rag_evaluation_framework.errors import UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.plan import Plan
    from rag_evaluation_framework.records.steps import TraceChoice
    from rag_evaluation_framework.results.evaluations import Evaluation

INCOMPLETE, INTERRUPTED = 3, 130
_OF_FILES = ("since", "until", "services", "where", "sample_size", "thresholds")

EXAMPLES = """\b
Examples:
  rag-eval score answers.jsonl
  rag-eval score answers.csv -m faithfulness --map answer=reply \\
    --map contexts=passages
  rag-eval score traces/ -m needless_steps --since 2026-11-15 \\
    --service assistant --sample 200
  rag-eval score eval_run_20261115_001 -m token_f1 -m exact_match
  rag-eval score eval_run_20261115_001 -m faithfulness \\
    --judge-model gpt-4o-mini
  rag-eval score runs/eval_run_20261115_001 -m chrf --out chrf.results.json"""


_COMMON = (
    *("metrics", "mapped", "thresholds", "judge_models", "judge_url", "sample_size", "format_", "out"),
    *("resume", "details", "as_json"),
)


@click.command("score", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("answers", required=False, metavar="[FILE|RUN]", shell_complete=options.completed_as_file)
@options.metrics_option(
    "Metric to compute; may be repeated.  [default for a file: all that its fields allow]"
)
@MAP
@options.repeated(
    "--threshold METRIC=NUMBER",
    "Threshold of a file's metric, e.g. faithfulness=0.9; exit 1 if missed; may be repeated.",
    called="thresholds",
)
@options.option(
    "--dataset FILE",
    "Dataset of the run, or of the traces.  [default: the file recorded in the run]",
    type=DATASET,
)
@options.option("--since TIME", "Earliest start of the traces, e.g. 2026-11-16.")
@options.option("--until TIME", "End of the period of the traces, e.g. 2026-11-16T08:30Z.")
@options.repeated("--service NAME", "Service of the traces; may be repeated.", called="services")
@options.repeated("--where ATTRIBUTE=VALUE", "Span attribute of the traces; if repeated, all must match.")
@options.whole_number("--sample", "Number of traces or rows to use, drawn at random.", called="sample_size")
@options.DIALECT
@options.RUNS_DIR
@options.option(
    "--out FILE",
    "File for the results (.json, .yaml, .csv, .parquet); .shards writes Parquet files of 20,000 samples.",
    type=options.FILE,
)
@options.RESUME
@options.ASK_DAMAGED
@options.DRY_RUN
@options.SEED
@options.WORKERS
@NO_BLAME
@options.ALLOW_MISSING
@options.DETAILS
@options.AS_JSON
@options.scoring_options
def command(answers: str | None, out: Path | None, **given: Any) -> int:
    """Score the answers in FILE or of RUN (default: the latest run).

    FILE is JSON, JSON lines, CSV, Parquet, Excel, traces in OTLP JSON, or a folder of these. Fields are
    guessed and reported first; the scores are saved as a run. RUN is an id, the end of an id, or a path. It
    is not changed: references come from its dataset, which may have new samples, but must contain the
    samples of the run unchanged.

    Exit code 0: scored; 1: a --threshold is missed; 2: wrong usage or data; 3: the run is incomplete, or a
    metric has no score because scoring failed; 130: interrupted.
    """
    from rag_evaluation_framework.files.atomic import check_writable

    if out is not None:
        check_writable([out.parent])
    given["scoring"] = options.scoring_of(given)
    if answers is not None and _is_data(Path(answers)):
        scored = _score_file(Path(answers), given)
        if scored is None:
            return 0
        evaluation = scored
    else:
        _check_there(answers, given["runs_dir"])
        if given["resume"] or given["ask_damaged"]:
            raise UsageError("--resume needs the file of answers: rag-eval score FILE --resume [RUN]")
        if given["dry_run"]:
            raise UsageError("--dry-run: expected a file of answers, got a run")
        if given["mapped"]:
            raise UsageError("--map: expected a file of answers, got a run")
        if chosen := [name for name in _OF_FILES if given[name]]:
            names = {"services": "service", "sample_size": "sample", "thresholds": "threshold"}
            option = "--" + names.get(chosen[0], chosen[0])
            raise UsageError(f"{option}: expected a file of answers or traces, got a run")
        evaluation = _score_run(answers, given)
    if out is not None:  # after the figures are shown: a full disk must not hide them
        out.parent.mkdir(parents=True, exist_ok=True)
        evaluation.save(out, format="results")
    counts = evaluation.counts
    if evaluation.outcome.interrupted:
        return INTERRUPTED
    if evaluation.is_gated and evaluation.verdict is not None:
        return evaluation.verdict.exit_code
    return INCOMPLETE if counts.unfinished or not counts.total or evaluation.not_measured else 0


def _traces_of(given: dict[str, Any]) -> TraceChoice | None:
    """Return which traces are to be scored, where that is said."""
    from rag_evaluation_framework.records.steps import TraceChoice

    names = ("since", "until", "services", "where")
    choice = TraceChoice(**{name: given[name] for name in names}, expected=given["dataset"])
    return choice if choice.to_dict() else None


def _is_data(path: Path) -> bool:
    """Tell a file or folder of data from a run, the files of its folder and a results file."""
    if not path.exists() or (path / "head.json").is_file():
        return False
    return path.is_dir() or not ((path.parent / "head.json").is_file() or _is_results(path))


def _is_results(path: Path) -> bool:
    from rag_evaluation_framework.datasets.recognition import previews
    from rag_evaluation_framework.files.access import plain_name
    from rag_evaluation_framework.results.results_document import SUFFIXES

    if plain_name(path).endswith(SUFFIXES):
        return True
    preview = next(previews(path), None) if plain_name(path).endswith(".json") else None
    return preview is not None and preview.layout == "object" and "evaluation_id" in preview.record


def _check_there(answers: str | None, runs: Path) -> None:
    """Refuse a path at which nothing is, and that no run is called by, with the nearest there is."""
    path = Path(answers or "")
    if not path.suffix or path.exists() or (runs / path / "head.json").is_file():
        return
    beside = [str(each) for each in path.parent.iterdir()] if path.parent.is_dir() else []
    nearest = get_close_matches(str(path), beside, n=1, cutoff=0.5)
    raise UsageError(f"there is no file {path}." + (f' Did you mean "{nearest[0]}"?' if nearest else ""))


def _score_file(path: Path, given: dict[str, Any]) -> Evaluation | None:
    """Score a file and return the evaluation; in a dry run only print the plan and return ``None``."""
    from rag_evaluation_framework.cli.evaluation_output import (
        job_of,
        keep_results,
        print_evaluation,
        print_plan,
        show_progress,
    )
    from rag_evaluation_framework.evaluation.jobs import prepared
    from rag_evaluation_framework.evaluation.run import run
    from rag_evaluation_framework.files.atomic import check_writable

    chosen = {"--metric": given["metrics"], "--sample": given["sample_size"]}
    given = options.mend_journals(given)
    options.check_resumed_alone(given, chosen | ({"--seed": given["seed"]} if is_given("seed") else {}))
    check_writable([given["runs_dir"]], option="--runs-dir")
    job = job_of(path, {**given, "traces": _traces_of(given)})
    with options.told_how_to_resume(given["runs_dir"], given["resume"]), prepared(job) as plan:
        if not given["as_json"]:
            _say_reading(plan)
        if given["dry_run"]:
            print_plan(plan, target=None, prices=None, as_json=given["as_json"])
            return None
        with show_progress(plan.methods, silent=given["as_json"], mask=plan.secrets.mask) as progress:
            evaluation = run(plan, progress)
        keep_results(evaluation, given["runs_dir"])
        print_evaluation(evaluation, plan, given, reading=False)
    return evaluation


def _say_reading(plan: Plan) -> None:
    """Print the fields or the format to be read before anything is scored, so a wrong guess costs nothing."""
    from rag_evaluation_framework.datasets.recognition import recognise
    from rag_evaluation_framework.reports.evaluation_blocks import describe_format, describe_reading

    for dataset in plan.datasets:
        entry, screen = dataset.entry, options.new_screen(plan.secrets.mask)
        if dataset.reading is not None:
            screen.draw(describe_reading(dataset.reading))
        elif entry.path is not None:
            format_ = entry.format or recognise(entry.path).name
            screen.draw(describe_format(entry.path.name, format_, dataset.selection.n_in_file))
        options.show(screen)
        click.echo()


def _score_run(run: str | None, given: dict[str, Any]) -> Evaluation:
    from rag_evaluation_framework.cli.evaluation_output import show_progress
    from rag_evaluation_framework.evaluation.rescoring import scored_again
    from rag_evaluation_framework.judging.methods import opened_methods
    from rag_evaluation_framework.records.runs import Options
    from rag_evaluation_framework.results.run_store import RunFolder, latest_run

    if not given["metrics"]:
        raise click.MissingParameter(param_hint="'-m' / '--metric'", param_type="option")
    folder = latest_run(given["runs_dir"]) if run is None else RunFolder.open(run, given["runs_dir"])
    with (
        opened_methods(given["scoring"]) as methods,
        show_progress(methods, silent=given["as_json"]) as progress,
    ):
        evaluation = scored_again(
            folder,
            given["metrics"],
            methods,
            dataset=given["dataset"],
            format=given["format_"],
            seed=given["seed"],
            options=Options(workers=given["workers"], engine=given["engine"], address=given["address"]),
            blame=given["blame"],
            on_progress=progress,
        )
    _show(evaluation, as_json=given["as_json"], details=given["details"])
    return evaluation


def _show(evaluation: Evaluation, *, as_json: bool, details: bool) -> None:
    from rag_evaluation_framework.reports.evaluation_blocks import describe_evaluation
    from rag_evaluation_framework.reports.json_report import scored_document
    from rag_evaluation_framework.reports.messages.run_sentences import unmeasured_lines

    if as_json:
        print_json(scored_document(evaluation))
        return
    options.show(options.new_screen().draw(describe_evaluation(evaluation, samples=False, details=details)))
    if evaluation.counts.unfinished:
        unasked = counted(evaluation.counts.unfinished, "sample was", "samples were")
        click.echo(f"\nThe run is incomplete: {unasked} not asked yet.", err=True)
    for line in unmeasured_lines(evaluation):
        click.echo(f"warning: {line}", err=True)
