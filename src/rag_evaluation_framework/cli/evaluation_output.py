"""Code shared by ``rag-eval evaluate`` and ``rag-eval golden``: the call, and its printed and written output.

Everything passes the secrets' mask on its way out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.configuration import in_force, is_given
from rag_evaluation_framework.cli.main import drop_output
from rag_evaluation_framework.cli.options import (
    NOT_RESUMED,
    check_resumed_alone,
    given_again,
    mend_journals,
    new_screen,
    show,
    told_how_to_resume,
)
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.datasets.project_settings import kept_results
from rag_evaluation_framework.errors import (
    MAX_COST,
    ModelOutageError,
    StorageError,
    UsageError,
    counted,
    refused,
)
from rag_evaluation_framework.evaluation.jobs import Job, prepared
from rag_evaluation_framework.evaluation.manifest import Manifest
from rag_evaluation_framework.evaluation.option_table import fields_of
from rag_evaluation_framework.evaluation.plan import Plan
from rag_evaluation_framework.evaluation.run import run
from rag_evaluation_framework.evaluation.targets import Address
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.files.atomic import check_writable, write_text_atomically
from rag_evaluation_framework.files.project_root import project_root
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.records.runs import Options, SampleChoice
from rag_evaluation_framework.reports.evaluation_blocks import describe_evaluation
from rag_evaluation_framework.reports.json_report import evaluation_document, plan_document
from rag_evaluation_framework.reports.messages.verdict_sentences import no_longer_confirmed
from rag_evaluation_framework.reports.progress import ProgressLine
from rag_evaluation_framework.results.baselines import baseline_of_file, baseline_path, save_baseline
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.pairing import is_left_out
from rag_evaluation_framework.results.verdicts import Regressions

Given = Mapping[str, Any]
"""The options of a command by name."""

_OF_OPTIONS = ("datasets", "history", "traces")
_OF_JOB = ("scoring", "resume", "blame", "baseline")
"""The options that are fields of a job or of its options, under the same name."""


def check_run(given: Mapping[str, Any], choices: Mapping[str, Any], *, is_compared: bool = True) -> None:
    """Refuse options that contradict each other; ``choices`` are those a run begins with, by name."""
    if given["url"] is not None and given["target"] is not None:
        raise UsageError("expected --url or --target, got both")
    for option in ("max_drop", "max_regressions", "ask_again"):
        if is_compared and given[option] is not None and given["baseline"] is None:
            raise UsageError(f"--{option.replace('_', '-')}: --baseline is missing")
    chosen = {**choices, "--sample-size": given["sample_size"], "--repeats": given["repeats"]}
    check_resumed_alone(given, chosen | ({"--seed": given["seed"]} if is_given("seed") else {}))


def evaluated(data: Path | Manifest, given: Given) -> int:
    """Evaluate what the options say, tell what came of it, and return the exit code."""
    given = mend_journals(given)
    with told_how_to_resume(given["runs_dir"], given["resume"]), prepared(job_of(data, given)) as plan:
        return _run_and_print(plan, given)


def job_of(data: Path | Manifest, given: Given) -> Job:
    """Return what is to be evaluated, by those options that the command has."""
    options = fields_of("options", given) | {name: given[name] for name in _OF_OPTIONS if name in given}
    target, url = given.get("target"), given.get("url")
    return Job(
        data=data,
        target=target if url is None else Address(url),
        metrics=tuple(given.get("metrics", ())) or None,
        default_metrics=in_force("metrics") or (),
        tolerance_chars=in_force("citations.tolerance_chars"),
        map=dict(given.get("mapped", ())) or None,
        gate=demands_of(given),
        choice=SampleChoice(tags=tuple(given.get("tags", ())), **fields_of("choice", given)),
        runs_directory=given["runs_dir"],
        # The head of a run has the name of a component, which does not tell how it was made.
        given=given_again(NOT_RESUMED - {"target" if "(" in (target or "") else ""}),
        options=Options(
            confidence=in_force("confidence_level") or 0.95, format=given.get("format_"), **options
        ),
        prices=_prices(given),
        needs_target="target" in given,
        **{name: given[name] for name in _OF_JOB if name in given},
    )


def demands_of(given: Given) -> dict[str, Any]:
    """Return the fields of the gate that options set; thresholds switch it on."""
    demands = fields_of("gate", given)
    if given.get("thresholds"):
        from rag_evaluation_framework.evaluation.golden_runs import parse_thresholds

        demands |= {"thresholds": parse_thresholds(given["thresholds"]), "enabled": True}
    return demands


def measure_run(data: Path | Manifest, given: Given, tell: Callable[..., None]) -> int:
    """Ask what the options say, tell of a complete run with its gate, and return the exit code."""
    given = mend_journals(given)
    with told_how_to_resume(given["runs_dir"], given["resume"]), prepared(job_of(data, given)) as plan:
        if (evaluation := _carried_out(plan, given)) is None:
            return 0
        if not evaluation.outcome.completed:
            print_evaluation(evaluation, plan, given)
            return 3
        tell([evaluation], plan.gate, given)
        return 0


def _carried_out(plan: Plan, given: Given) -> Evaluation | None:
    """Run a plan with its progress shown and return the evaluation; print a dry run and return ``None``."""
    _check(plan, given)
    if given["dry_run"]:
        asked = plan.shown_target or "" if getattr(plan.target, "is_live", True) else None
        print_plan(plan, target=asked, prices=_prices(given), as_json=given["as_json"])
        return None
    with show_progress(
        plan.methods, silent=given["as_json"], mask=plan.secrets.mask, names=_people_call(plan)
    ) as progress:
        return run(plan, progress)


def _run_and_print(plan: Plan, given: Given) -> int:
    if (evaluation := _carried_out(plan, given)) is None:
        return 0
    try:
        _tell(evaluation, plan, given)
    except BrokenPipeError:
        # Whoever was reading went away, as with `| head`; the verdict stands.
        drop_output()
    return 0 if evaluation.verdict is None else evaluation.verdict.exit_code


def _people_call(plan: Plan) -> Mapping[str, str]:
    """Return what people call the datasets, where files call them otherwise: the splits of golden sets."""
    if plan.manifest.kind != "golden":
        return {}
    from rag_evaluation_framework.reports.messages.run_sentences import KINDS_OF_GOLDEN

    return KINDS_OF_GOLDEN


def _check(plan: Plan, given: Given) -> None:
    """Make sure, before the first request, that everything can be written."""
    if given["save_baseline"] is not None:
        check_writable([baseline_path(given["save_baseline"]).parent])
    out, names = given["out"], [dataset.name for dataset in plan.datasets]
    if out is not None and _is_split(plan) and len(names) > 1 and not out.is_dir():
        raise UsageError(f"--out: expected an existing folder for {', '.join(names)}; got {out}")
    if out is not None and out.suffix == ".shards" and out.exists():
        raise UsageError(f"--out: the folder {out} already exists. Choose another name.")
    files = [given[name] for name in ("out", "junit", "markdown") if given[name] is not None]
    check_writable(path if path.is_dir() else path.parent for path in files)
    check_writable([given["runs_dir"]], option="--runs-dir")


def _is_split(plan: Plan) -> bool:
    """Return True if each dataset has a results document of its own; golden sets have one for all."""
    return plan.manifest.kind != "golden"


def _prices(given: Given) -> Prices | None:
    questions, answers = given.get("price_input"), given.get("price_output")
    return None if questions is None or answers is None else Prices(questions, answers)


def print_plan(plan: Plan, *, target: str | None, prices: Prices | None, as_json: bool) -> None:
    """Print what a run would do, and what it would cost; without a target nobody but a judge is asked."""
    from rag_evaluation_framework.evaluation.judge_forecast import judge_forecasts, summed
    from rag_evaluation_framework.reports.plan_blocks import Outlook, describe_plan

    forecasts = judge_forecasts(plan, plan.target, seed=plan.choice.seed)
    outlook = Outlook(
        plan=plan,
        target=target,
        prices=prices,
        forecasts=forecasts,
        judging=summed(forecasts.values()),
        ask_again=0 if plan.baseline is None else plan.gate.ask_again,
    )
    if as_json:
        print_json(plan.secrets.mask_value(plan_document(outlook)))
    else:
        show(new_screen(plan.secrets.mask).draw(describe_plan(outlook)))


def _tell(evaluation: Evaluation, plan: Plan, given: Given) -> None:
    """Print the evaluation, then write the files that were asked for, that a full disk hides nothing."""
    mask = plan.secrets.mask
    try:
        print_evaluation(evaluation, plan, given, everything=given["everything"])
    finally:  # Whoever was reading may go away, as with `| head`; the files are written all the same.
        keep_results(evaluation, given["runs_dir"])
        _write_results(evaluation, plan, given["out"])
        if given["save_baseline"] is not None:
            _save_baseline(evaluation, given["save_baseline"], force=given["force"])
        for option, renderer in (("junit", "junit"), ("markdown", "markdown")):
            if given[option] is not None:
                _write(given[option], mask(evaluation.render(renderer)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _append(Path(summary), mask(evaluation.render("markdown")))
    is_at_github = os.environ.get("GITHUB_ACTIONS")
    if is_at_github and (lines := evaluation.render("github", manifest=plan.manifest.file)):
        # On standard error, which GitHub reads as well, so that --json stays JSON.
        click.echo(mask(lines), err=True)


def print_evaluation(evaluation: Evaluation, plan: Plan, given: Given, **shown: Any) -> None:
    """Print an evaluation as JSON where that is wanted, else on a screen."""
    if given["as_json"]:
        print_json(plan.secrets.mask_value(evaluation_document(evaluation)))
    else:
        described = describe_evaluation(evaluation, details=given["details"], **shown)
        show(new_screen(plan.secrets.mask).draw(described))


def _save_baseline(evaluation: Evaluation, name: str, *, force: bool) -> None:
    """Save a complete run that asked every question and in which no answer became wrong."""
    moved, narrowed = evaluation.regressions, any(is_left_out(run.head, run.name) for run in evaluation.runs)
    if moved is None and not force and baseline_path(name).is_file():
        moved = _moved_since(evaluation, name)
    worse, lost = (0, 0) if moved is None else (len(moved.worse), len(moved.unconfirmed))
    reasons = {
        "the run is not complete": not evaluation.outcome.completed,
        "the run did not ask all questions": narrowed,
        f"{counted(worse, 'answer')} became wrong": worse > 0,
    }
    against = [reason for reason, holds in reasons.items() if holds]
    if not against or (force and evaluation.outcome.completed):
        save_baseline(evaluation, name)
        if lost:
            click.echo(
                f"baseline {name}: {no_longer_confirmed(count=lost, baseline='the last one')}", err=True
            )
    else:
        said = f"baseline {name} was not saved: {' and '.join(against)}. Save it anyway with --force."
        click.echo(said, err=True)


def _moved_since(evaluation: Evaluation, name: str) -> Regressions:
    """Return which answers moved since the saved baseline of this name."""
    from rag_evaluation_framework.results.regressions import regressions

    return regressions(name, baseline_of_file(baseline_path(name)).pair_with(evaluation, {}))


def keep_results(evaluation: Evaluation, runs: Path) -> None:
    """Keep the results of finished runs in the project, if there is one: whole, and as figures of quality."""
    from rag_evaluation_framework.results.benchmark_history import keep_quality
    from rag_evaluation_framework.results.results_document import results_document

    folder = None if project_root() is None else kept_results(runs)
    if folder is None:
        return
    whole = evaluation.kind == "golden"
    for part in (evaluation,) if whole else evaluation.runs:
        if part.outcome.completed:
            _make_folder_of(folder / "results")
            part.save(folder / f"{part.head.run_id}.results.json", format="results")
            keep_quality(results_document(part, queries=False))


def _write_results(evaluation: Evaluation, plan: Plan, out: Path | None) -> None:
    if out is None:
        return
    _make_folder_of(out)
    if not _is_split(plan):
        if evaluation.outcome.completed:
            evaluation.save(out, format="results")
        return
    for part in evaluation.runs:
        part.save(out / f"{part.head.run_id}.results.json" if out.is_dir() else out, format="results")


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", path, error) from error


def _write(path: Path, text: str) -> None:
    _make_folder_of(path)
    # What an agent sends may hold half a surrogate pair, which no file can.
    write_text_atomically(path, text.encode("utf-8", "replace").decode("utf-8"))


def _append(path: Path, text: str) -> None:
    """Add to the summary of a job, which other steps write to as well; without it the verdict stands."""
    with suppress(StorageError):
        before = read_bytes(path).decode("utf-8", "replace") if path.is_file() else ""
        _write(path, f"{before}{text}\n")


@contextmanager
def show_progress(
    methods: Methods,
    *,
    silent: bool,
    mask: Callable[[str], str] = str,
    names: Mapping[str, str] | None = None,
) -> Iterator[ProgressLine | None]:
    """Tell on standard error how far the work is, unless ``silent``, then what the judge has cost.

    ``names`` are what people call datasets.
    """

    def waiting() -> str:
        """Say how many questions wait because the judge fails or is overloaded; nothing where none does."""
        models = () if methods.judge is None else methods.judge.models
        number = sum(getattr(model, "waiting", 0) for model in models)
        questions = counted(number, "question waits", "questions wait")
        return f"{questions} to be judged again" if number else ""

    def spent() -> float | None:
        usage = None if methods.spending is None else methods.spending.usage
        return None if usage is None else usage.cost_usd

    line = ProgressLine(
        sys.stderr, live=sys.stderr.isatty(), mask=mask, names=names or {}, notice=waiting, spent=spent
    )
    judge, spending, is_gone = methods.judge, methods.spending, False
    try:
        yield None if silent else line
    except ModelOutageError as error:
        is_gone = True
        is_paid = spending is not None and spending.calls
        kept = "Finished judgments are saved." if is_paid else "Nothing was judged or spent."
        mend = "Fix the error" if error.kind.startswith("http-4") else "Start the judge"
        mend = "Raise --max-cost" if error.kind == MAX_COST else mend
        told = f"{error.describe_role('judge')}.\n  {kept} {mend}, then run the same command again."
        raise ModelOutageError(error.kind, told) from None
    finally:
        line.finish()
        if judge is not None and spending is not None and (spending.calls or not is_gone):
            from rag_evaluation_framework.reports.messages.dataset_sentences import spending_text

            click.echo(spending_text(judge.name, spending, failed_votes=judge.failed_votes), err=True)
        if any((decided := getattr(methods.support, "decided", {})).values()):
            from rag_evaluation_framework.reports.messages.dataset_sentences import stages_text

            click.echo(stages_text(decided), err=True)
