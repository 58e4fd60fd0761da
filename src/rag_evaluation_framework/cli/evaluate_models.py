"""The program of ``scripts/evaluate_models.py``: asks models the samples of a split and compares them.

Each model is an evaluation of its own, kept as a run; the head of every run lists the models and names the
run of the first, by which one run finds the others again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec.structs import replace

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.configuration import DATASET_OR_NOTHING
from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import UnknownNameError, UsageError, counted, shown

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifest import Manifest
    from rag_evaluation_framework.evaluation.plan import Plan
    from rag_evaluation_framework.evaluation.secrets import Secrets
    from rag_evaluation_framework.extensions import Target
    from rag_evaluation_framework.models.spending import Prices
    from rag_evaluation_framework.records.runs import Progress, RunHead
    from rag_evaluation_framework.reports.blocks import Screen
    from rag_evaluation_framework.results.evaluations import Evaluation
    from rag_evaluation_framework.results.run_store import RunFolder

EXAMPLES = """\b
Examples:
  python scripts/evaluate_models.py --model gpt-4o-mini --model gpt-4o
  python scripts/evaluate_models.py --model llama3:8b \\
    --base-url http://localhost:11434/v1
  python scripts/evaluate_models.py --model small -m rouge --limit 20
  python scripts/evaluate_models.py --dataset-type retrieval
  python scripts/evaluate_models.py --model a --output a.results.json
  python scripts/evaluate_models.py --resume eval_run_20261115_001"""

DEFAULT_METRICS = ("token_f1", "rouge", "answer_similarity")
# What other splits are scored by where nothing is asked for.
_SPLIT_METRICS = {
    "citations": ("cited_context_f1", "cited_context_precision", "cited_context_recall"),
    "retrieval": ("chunk_recall", "chunk_precision", "chunk_f1"),
}
MODEL_IN_NAME = "{model}"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"

_DIALECTS = {
    "qa": "qa-pairs",
    "summaries": "summaries",
    "citations": "qa-pairs",
    "retrieval": "retrieval-cases",
}
_MODELS, _FIRST_RUN = "models", "first_run"
_INCOMPLETE, _INTERRUPTED = 3, 130

_OPTIONS: tuple[options.Option[Any], ...] = (
    options.repeated(
        "--model NAME",
        "Model to evaluate; may be repeated to compare models with the first.",
        called="models",
    ),
    options.option(
        "--config",
        "Configuration file with the paths of the splits.  [default: configs/default.yaml, if it exists]",
        type=options.EXISTING_FILE,
    ),
    options.option("--dataset-type", "Split to evaluate.  [default: qa]", type=click.Choice(list(_DIALECTS))),
    options.option("--dataset", "Dataset to evaluate instead of a split.", type=DATASET_OR_NOTHING),
    options.option(
        "--base-url URL", f"URL of the models' endpoint.  [default: ${ADDRESS_VARIABLE}, else OpenAI]"
    ),
    options.option(
        "--api-key-env NAME",
        "Environment variable with the API key.  [default: OPENAI_API_KEY, if it is set]",
    ),
    options.option(
        "--temperature", "Sampling temperature of new runs; none uses the endpoint's default.", default="0"
    ),
    options.option("--max-tokens", "Maximum length of an answer in new runs.", type=click.IntRange(1)),
    options.metrics_option(f"Metric to compute; may be repeated.  [default: {', '.join(DEFAULT_METRICS)}]"),
    options.ALLOW_MISSING,
    options.option("--limit N", "Number of samples to use, from the first.", type=click.IntRange(1)),
    options.option("--seed", "Random seed; the same seed gives the same results.  [default: 0]", type=int),
    options.concurrency(),
    options.TIMEOUT,
    options.repeated(
        "--resume [RUN]",
        "Resume this run (default: the latest) and its group; answered samples are not asked again. "
        "May be repeated.",
        is_flag=False,
        flag_value=options.LATEST,
    ),
    options.ASK_DAMAGED,
    options.RUNS_DIR,
    options.repeated(
        "--price MODEL=IN,OUT", "US dollars per million input and output tokens of a model; may be repeated."
    ),
    options.option(
        "--output",
        f"File for the results of each model; {MODEL_IN_NAME} stands for the model's name.",
        type=click.Path(path_type=Path),
    ),
    options.AS_JSON,
)


@click.command("evaluate-models", epilog=EXAMPLES, context_settings=options.CONTEXT)
@options.with_all(_OPTIONS)
@options.scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Evaluate models at an OpenAI-compatible endpoint on a split, and compare them with the first.

    Each model gets the recorded prompt of the sample (rag_prompt) or, without one, the recorded contexts and
    the question. Each model is a separate run that you can resume. Retrieval diagnostics contain the
    retrieved passages: they are scored without asking a model.

    Exit code 0: all models were measured; 2: wrong usage or data; 3: a run is incomplete, or a model gave no
    answer at all; 130: interrupted.
    """
    if given["dataset_type"] == "retrieval" and not given["resume"]:
        context.exit(_diagnosed(given))
    if not given["models"] and not given["resume"]:
        raise UsageError("No model given. Pass --model NAME or --resume RUN.")
    if any(not model.strip() for model in given["models"]):
        raise UsageError("--model: the name is empty")
    begun_with = {"--metric": given["metrics"], "--allow-missing": given["allow_missing"] or None}
    begun_with |= {"--dataset-type": given["dataset_type"] and _DIALECTS[given["dataset_type"]]}
    begun_with |= {"--limit": given["limit"], "--seed": given["seed"]}
    given = options.mend_journals(given)
    options.check_resumed_alone(given, begun_with)
    context.exit(_evaluated(given))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="evaluate-models")


def _evaluated(given: dict[str, Any]) -> int:
    """Evaluate the models one after another, tell what came of it, and return the exit code."""
    from rag_evaluation_framework.evaluation.evaluate import systems_of
    from rag_evaluation_framework.evaluation.jobs import Job, prepared, restore_ground_truth
    from rag_evaluation_framework.evaluation.targets import RecordedRows
    from rag_evaluation_framework.files.atomic import check_writable
    from rag_evaluation_framework.judging.methods import kinship_warnings
    from rag_evaluation_framework.records.runs import Options, SampleChoice
    from rag_evaluation_framework.results.run_store import RunGroup

    scoring, runs = options.scoring_of(given), _resumed_runs(given["resume"], given["runs_dir"])
    listed = [model for run in runs.values() for model in run.head.configuration[_MODELS]]
    models = list(dict.fromkeys([*listed, *given["models"]]))
    leader = next((runs[model] for model in models if model in runs), None)
    began = RunGroup(leader) if leader else None
    manifest, warnings = _data(given, leader)
    prices, paths = _prices(given["price"], models), output_paths(given["output"], models)
    folder = leader.path.parent if leader else given["runs_dir"]
    job = Job(
        data=manifest,
        target=RecordedRows(),  # each of the models takes its place
        metrics=began.metrics if began else _metrics(given),
        choice=SampleChoice(seed=began.choice.seed if began else given["seed"] or 0),
        runs_directory=folder,
        prices=next(iter(prices.values()), None),
        options=Options(
            concurrency=given["concurrency"],
            attempt_timeout=given["timeout"],
            allow_missing=began.choice.allow_missing if began else given["allow_missing"],
        ),
        scoring=scoring,
    )
    with prepared(job) as plan:
        if leader:
            plan = restore_ground_truth(plan, {leader.head.dataset_id: leader})
        check_writable([folder, *(path.parent for path in paths.values())])
        systems = _systems(plan, models, runs, {**given, "prices": prices})
        warnings += (*plan.warnings, *kinship_warnings(plan.methods, models))
        whole = replace(systems_of(systems), warnings=warnings)
        document = _document(whole, plan, models, prices)
        if given["as_json"]:
            print_json(plan.secrets.mask_value(document))
        else:
            screen = options.new_screen(plan.secrets.mask)
            _show(screen, whole, document)
            options.show(screen)
        # After the figures, that a full disk does not hide them.
        for model, evaluation in systems.items() if paths else ():
            paths[model].parent.mkdir(parents=True, exist_ok=True)
            evaluation.save(paths[model], format="results")
    if any(each.outcome.interrupted for each in systems.values()):
        return _INTERRUPTED
    return 0 if all(each.shortfall is None for each in systems.values()) else _INCOMPLETE


def _metrics(given: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(given["metrics"]) or _SPLIT_METRICS.get(given["dataset_type"], DEFAULT_METRICS)


def _diagnosed(given: Mapping[str, Any]) -> int:
    """Score what the records of the split say was retrieved, and tell it."""
    from rag_evaluation_framework.evaluation.evaluate import evaluate
    from rag_evaluation_framework.records.runs import Options

    if given["models"]:
        raise UsageError("--dataset-type retrieval: no model is asked. Remove --model.")
    paths = output_paths(given["output"], ["retrieval"])
    manifest, warnings = _data(given, None, metrics=_metrics(given))
    wish = Options(allow_missing=given["allow_missing"])
    result = evaluate(manifest, seed=given["seed"] or 0, options=wish)
    for warning in warnings:
        click.echo(f"evaluate-models: {warning}", err=True)
    click.echo(result.render("json" if given["as_json"] else "terminal"))
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        result.save(path, format="results")
    return 0 if result.shortfall is None else _INCOMPLETE


def _systems(
    planned: Plan, models: Sequence[str], runs: Mapping[str, RunFolder], given: Mapping[str, Any]
) -> dict[str, Evaluation]:
    """Ask every model what is left to ask; only an interrupt ends it before the last."""
    from rag_evaluation_framework.cli.evaluation_output import show_progress
    from rag_evaluation_framework.evaluation import run as runs_of
    from rag_evaluation_framework.results.run_store import RunGroup

    (dataset,) = planned.datasets
    for each in runs.values():
        runs_of.check_scored_alike(each, dataset.scorers, planned.methods)
        price = given["prices"].get(each.head.configuration.get("model"))
        runs_of.charge_earlier(replace(planned, prices=price), [each])
    parameters, targets = _targets(models, runs, given, planned.secrets)
    parameters |= {"dataset_format": dataset.entry.format, "limit": given["limit"], _MODELS: list(models)}
    if runs:
        first = next(iter(runs.values())).head
        parameters["limit"] = first.configuration.get("limit")
        parameters[_FIRST_RUN] = first.configuration.get(_FIRST_RUN) or first.run_id
    found: dict[str, Evaluation] = {}
    mask, silent = planned.secrets.mask, given["as_json"]
    with show_progress(planned.methods, silent=silent, mask=mask) as line:
        for model in models:
            run = runs.get(model)
            if run is not None and model not in targets:
                found[model] = runs_of.evaluation_as_it_stands(dataset, run, planned.methods)
                continue

            def tell(_dataset: str, progress: Progress, model: str = model) -> None:
                if line is not None:
                    line(model, progress)

            plan = replace(
                planned,
                manifest=replace(planned.manifest, configuration={"model": model, **parameters}),
                target=targets[model],
                prices=given["prices"].get(model),
                resumed=None if run is None else RunGroup(run),
                shown_target=model,
            )
            whole = runs_of.run(plan, tell)
            (found[model],) = whole.parts.values()
            parameters.setdefault(_FIRST_RUN, whole.head.run_id)
            if whole.outcome.interrupted:
                break
    return found


def _targets(
    models: Sequence[str], runs: Mapping[str, RunFolder], given: Mapping[str, Any], secrets: Secrets
) -> tuple[dict[str, Any], dict[str, Target]]:
    """Return how new runs ask, and the models to be asked: those of which a resume has something left to do.

    Samples that failed for want of the endpoint are left to do only where that endpoint is asked.
    """
    from rag_evaluation_framework.adapters.openai import BASE_URL, KEY_VARIABLE, OpenAIModel
    from rag_evaluation_framework.evaluation.secrets import MaskedTarget, secrets_in_address, shown_address

    address = given["base_url"] or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
    if secrets_in_address(address):  # it is written down and shown
        raise UsageError(
            "--base-url contains a password or a key. Put the key into an environment variable and "
            "pass its name with --api-key-env."
        )
    secrets.add(os.environ.get(given["api_key_env"] or KEY_VARIABLE, ""))
    new = {
        "base_url": shown_address(address),
        "temperature": _temperature(given["temperature"]),
        "max_tokens": given["max_tokens"],
    }
    targets: dict[str, Target] = {}
    for model in models:
        run = runs.get(model)
        parameters = new if run is None else run.head.configuration
        is_elsewhere = parameters["base_url"] != new["base_url"]
        is_done = run is not None and run.state == "complete" and not run.counts.rescorable
        if run is not None and is_done and (is_elsewhere or not run.counts.reaskable):
            continue
        if is_elsewhere:
            # Where to ask is never taken from a file alone: the key goes only where the user says.
            raise UsageError(
                f"cannot resume {runs[model].head.run_id} at another URL: expected --base-url "
                f"{parameters['base_url']}, got {new['base_url']}"
            )
        target = OpenAIModel(
            model,
            base_url=address,
            key_env=given["api_key_env"],
            temperature=parameters["temperature"],
            max_tokens=parameters["max_tokens"],
            mask=secrets.mask,
        )
        targets[model] = MaskedTarget(target, secrets)
    return new, targets


def _resumed_runs(run_ids: Sequence[str], runs_directory: Path) -> dict[str, RunFolder]:
    """Return the runs that are tied to those named, by model; all are of the same data, metrics and seed."""
    from rag_evaluation_framework.results.run_store import RunFolder, tied_runs

    runs: dict[str, RunFolder] = {}
    for run_id in run_ids:
        for run in tied_runs(RunFolder.open(run_id, runs_directory), _FIRST_RUN):
            head = run.head
            if not isinstance(head.configuration.get(_MODELS), list):
                raise UsageError(f"run {head.run_id} does not belong to a comparison of models")
            there = runs.setdefault(str(head.target), run)
            if there.path != run.path:
                raise UsageError(
                    f"expected one run of {head.target}, got {there.head.run_id} and {head.run_id}"
                )
            first = next(iter(runs.values())).head
            for what, expected in _compared(first).items():
                if (got := _compared(head)[what]) != expected:
                    raise UsageError(
                        f"run {head.run_id} is not comparable with {first.run_id}: "
                        f"{what}: expected {expected}, got {got}"
                    )
    return runs


def _compared(head: RunHead) -> dict[str, Any]:
    return {
        "dataset": head.dataset_id,
        "content of the dataset": head.dataset_hash,
        "metrics": ", ".join(head.configuration.get("metrics", ())),
        "seed": head.seed,
    }


def _data(
    given: Mapping[str, Any], leader: RunFolder | None, *, metrics: tuple[str, ...] = ()
) -> tuple[Manifest, tuple[str, ...]]:
    """Return what the models are asked, and what there is to warn about.

    The whole file is read and checked, also where only its first samples are asked.
    """
    from rag_evaluation_framework.datasets.recognition import read_dataset
    from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest
    from rag_evaluation_framework.evaluation.rescoring import recorded_dataset
    from rag_evaluation_framework.files.access import plain_name

    path, began = given["dataset"], {} if leader is None else leader.head.configuration
    warnings: tuple[str, ...] = ()
    format_, version = began.get("dataset_format"), None if leader is None else leader.head.dataset_version
    if path is not None and not path.exists():
        raise UsageError(f"--dataset: there is no file {path}")
    if path is None and leader is not None:
        path = recorded_dataset(leader)
    elif path is None:
        format_ = _DIALECTS[given["dataset_type"] or "qa"]
        path, version, warnings = _split(given)
    name = plain_name(path).partition(".")[0] or plain_name(path)
    name = name if leader is None else leader.head.dataset_id
    entry = DatasetEntry(name=name, path=path, metrics=metrics, format=format_, version=version)
    limit = given["limit"] if leader is None else began.get("limit")
    if limit is not None:
        dataset = read_dataset(path, format=format_)
        entry = replace(entry, dataset=replace(dataset, samples=dataset.samples[:limit]))
    return Manifest(file=Path(path), datasets=(entry,)), warnings


def _split(given: Mapping[str, Any]) -> tuple[Path, str | None, tuple[str, ...]]:
    """Return a split's file, its version if the manifest vouches for it, and what there is to warn about."""
    from rag_evaluation_framework.datasets.split_build import EvaluationConfig, split_version

    paths, split = EvaluationConfig.of_project(given["config"]), given["dataset_type"] or "qa"
    path = paths.splits[split]
    if not path.is_file():
        raise UsageError(
            f"There is no {split} split at {path}. Build it with `rag-eval build`, or pass a file with "
            "--dataset."
        )
    version = split_version(path, paths.manifest_output)
    is_other = version is None and paths.manifest_output.is_file()
    warning = f"{path} does not match {paths.manifest_output}: no version recorded"
    return path, version, (warning,) if is_other else ()


def output_paths(output: Path | None, models: Sequence[str]) -> dict[str, Path]:
    """Return where each model's results document goes; two models never share a file."""
    if output is None:
        return {}
    pattern = str(output / f"{MODEL_IN_NAME}.results.json") if output.is_dir() else str(output)
    if len(models) > 1 and MODEL_IN_NAME not in pattern:
        raise UsageError(
            f"--output: expected {MODEL_IN_NAME} in the name, or an existing folder, for {len(models)} "
            f"models; got {output}"
        )
    # A name that cannot leave its folder: org_model-7b.
    names = {model: re.sub(r"[^\w.+-]", "_", model).lstrip(".") or "_" for model in models}
    if len(set(names.values())) < len(names):
        raise UsageError("--output: two models have the same file name")
    return {model: Path(pattern.replace(MODEL_IN_NAME, name)) for model, name in names.items()}


def _amounts(text: str) -> list[float]:
    """Return the numbers between commas, none of them negative; nothing where there is anything else."""
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        return []
    return found if all(isfinite(number) and number >= 0 for number in found) else []


def _temperature(text: str) -> float | None:
    """Return the temperature to send; ``None`` to send none."""
    if text.strip().lower() == "none":
        return None
    if len(amounts := _amounts(text)) == 1:
        return amounts[0]
    raise UsageError(f"--temperature: expected a number or none, got {shown(text)}")


def _prices(texts: Sequence[str], models: Sequence[str]) -> dict[str, Prices]:
    """Return the prices by model."""
    from rag_evaluation_framework.models.spending import Prices

    found: dict[str, Prices] = {}
    for text in texts:
        model, _, numbers = text.rpartition("=")
        amounts = _amounts(numbers)
        if not model or len(amounts) != 2:
            raise UsageError(
                f"--price: expected MODEL=INPUT,OUTPUT, such as small=0.15,0.6, got {shown(text)}"
            )
        if model not in models:
            raise UnknownNameError("model in --price", model, models)
        found[model] = Prices(*amounts)
    return found


def _document(
    whole: Evaluation, plan: Plan, models: Sequence[str], prices: Mapping[str, Prices]
) -> dict[str, Any]:
    """Return everything as plain values."""
    (dataset,) = plan.datasets
    prompts = (sample.recorded.prompt for sample in dataset.selection() if sample.recorded)
    return {
        "dataset_id": dataset.name,
        "dataset_version": dataset.entry.version,
        "dataset_path": str(dataset.entry.path),
        "total": len(dataset.selection),
        "with_recorded_prompt": sum(1 for prompt in prompts if prompt),
        "models": [_model(model, each, prices.get(model)) for model, each in whole.parts.items()],
        "not_begun": [model for model in models if model not in whole.parts],
        "comparisons": [each.to_dict() for each in whole.comparison.metrics] if whole.comparison else [],
        "warnings": list(whole.warnings),
    }


def _model(model: str, evaluation: Evaluation, prices: Prices | None) -> dict[str, Any]:
    """Return a model's run; its cost is from the price given, else what the endpoint reported."""
    from rag_evaluation_framework.metrics.declaration import PASS_RATE
    from rag_evaluation_framework.records.samples import Usage

    counts, usage = evaluation.counts, evaluation.performance.judge_usage
    told = evaluation.performance.figures.get("api_usage", {})
    tokens = Usage(**{name: told.get(name) for name in ("input_tokens", "output_tokens")})
    return {
        "model": model,
        "base_url": evaluation.head.configuration.get("base_url"),
        "run_id": evaluation.head.run_id,
        "folder": str(evaluation.folder),
        "completed": evaluation.outcome.completed,
        "reason": evaluation.shortfall,
        "notes": list(evaluation.outcome.notes),
        "finished": counts.finished,
        "failed": counts.failed,
        "failures": dict(counts.failures),
        "metrics": {name: each.to_dict() for name, each in evaluation.metrics.items() if name != PASS_RATE},
        "performance": dict(evaluation.performance.figures),
        "cost_usd": prices.cost(tokens) if prices else told.get("estimated_cost_usd"),
        "judge_usage": None if usage is None else usage.to_dict(),
    }


def _show(screen: Screen, whole: Evaluation, document: Mapping[str, Any]) -> None:
    """Show the data, the evaluation, what each run took, and what is left to do."""
    from rag_evaluation_framework.reports.blocks import NOTHING, Column, money, one_line, right
    from rag_evaluation_framework.results.run_store import RunFolder

    version = f" {document['dataset_version']}" if document["dataset_version"] else ""
    samples = counted(document["total"], "sample")
    prompts = f"{document['with_recorded_prompt']:,} with a recorded prompt"
    rows = []
    for each in document["models"]:
        usage, latency = (each["performance"].get(name, {}) for name in ("api_usage", "latency_stats"))
        amounts = [*map(usage.get, ("input_tokens", "output_tokens")), *map(latency.get, ("p50", "p95"))]
        cells = [NOTHING if amount is None else f"{amount:,.0f}" for amount in amounts]
        rows.append([each["model"], *cells[:2], money(each["cost_usd"]), *cells[2:]])
    screen.say(f"{document['dataset_id']}{version}: {samples}, {prompts}", hang=2)
    screen.gap()
    whole.render(screen=screen)
    screen.gap()
    figures = ("tokens in", "tokens out", "cost", "p50 ms", "p95 ms")
    screen.table([Column("model", flexible=True), *(right(name) for name in figures)], rows)
    for model, evaluation in whole.parts.items():
        if evaluation.shortfall is None or not evaluation.outcome.completed or evaluation.folder is None:
            continue
        advice = "Fix it, then start again without --resume."
        if RunFolder.open(evaluation.folder).counts.reaskable:
            advice = f"Resume with --resume {evaluation.head.run_id}."
        screen.say(f"{one_line(model)}: {one_line(evaluation.shortfall, 400)}. {advice}", hang=2)
    if document["not_begun"]:
        left = ", ".join(map(one_line, document["not_begun"]))
        screen.say(f"Not started: {left}. A resumed run starts them too.", hang=2)
