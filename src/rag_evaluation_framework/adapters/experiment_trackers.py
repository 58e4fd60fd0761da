"""Evaluations where people keep their experiments: MLflow, LangSmith, OpenTelemetry, Weights & Biases.

Each function records every run of an evaluation by the tracker's own client, loaded on first use, and says
where it is. What has no score has none there either: a missing one is never a zero. Nothing leaves the
machine unless the tracker's own settings, or ``place``, name a server.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from time import time_ns
from typing import Any
from urllib.parse import unquote

from rag_evaluation_framework.adapters import langsmith
from rag_evaluation_framework.adapters.calls import MAX_ATTEMPTS, BackgroundLoop, SharedAttempts
from rag_evaluation_framework.adapters.http_agent import checked_headers, joined_address
from rag_evaluation_framework.adapters.http_client import HttpClient, header_mask, status_failure
from rag_evaluation_framework.errors import RagEvalError, TargetError, UsageError, counted, described
from rag_evaluation_framework.evaluation.secrets import shown_address
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.judging.verdict import GRADES, AnswerVerdict
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.reports.exports import answer_rows
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.version import __version__

_REPORT = "report.html"


def _named(evaluation: Evaluation) -> Iterator[tuple[str, Evaluation]]:
    """Yield each run with the name that it has at a tracker."""
    whole = evaluation.head.run_id
    runs = evaluation.named_runs
    for name, part in runs.items():
        yield (f"{whole}: {name}" if len(runs) > 1 else whole), part


def _settings(evaluation: Evaluation, part: Evaluation) -> dict[str, str]:
    """Return what was run, as the plain parameters of a run."""
    head, verdict = part.head, evaluation.verdict
    told = {
        "run": evaluation.head.run_id,
        "dataset": part.name,
        "dataset_version": head.dataset_version,
        "dataset_hash": head.dataset_hash,
        "target": part.target or head.target,
        "seed": head.seed,
        "gate": None if verdict is None else verdict.word,
        "rag_evaluation_framework": __version__,
        **dict(_flat("", head.configuration)),
    }
    return {name: str(value) for name, value in told.items() if value not in (None, "")}


def _flat(prefix: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _figures(part: Evaluation) -> dict[str, float]:
    """Return every figure that there is, the ends of its interval, and how many answers it is of."""
    found: dict[str, float] = {}
    for name, figure in part.metrics.items():
        if figure.value is not None:
            found[name] = figure.value
        if figure.value is not None and figure.interval is not None:
            found |= {f"{name}.low": figure.interval.low, f"{name}.high": figure.interval.high}
        if figure.value is not None or name != PASS_RATE:
            found[f"{name}.scored"] = figure.n_scored
    counts = part.answers if part.answers.total else None
    return found | ({} if counts is None else {f"answers.{name}": counts.count(name) for name in GRADES})


def _table(part: Evaluation) -> dict[str, list[Any]]:
    """Return the answers by column; a cell that has nothing is ``None``."""
    rows = list(answer_rows(part))
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@contextmanager
def _failures(tracker: str) -> Iterator[None]:
    """Turn any exception of a tracker's client into one clear line."""
    try:
        yield
    except RagEvalError:
        raise
    except Exception as error:  # a client and what it stands on raise anything: SQL, sockets, files
        raise UsageError(f"{tracker}: {described(error)}") from error


# MLflow: a run with parameters, metrics, the table of answers and the page.

_NOT_IN_NAMES = re.compile(r"[^\w\-. :/]+", re.ASCII)
_LONGEST_PARAMETER = 500  # of older servers; longer values are cut


def to_mlflow(evaluation: Evaluation, place: str | None = None) -> str:
    """Record runs in the experiment named after the data.

    ``place`` is a tracking URI or a folder; without one it is MLflow's own (``MLFLOW_TRACKING_URI``, or what
    ``mlflow ui`` shows here).
    """
    feature = partial(extra_module, feature="export to MLflow", extra="mlflow")
    feature("pandas")  # the table of answers is one
    client_of = feature("mlflow").MlflowClient
    if place is not None and "://" not in place:
        # MLflow asks that whoever still wants plain files says so; here they are asked for by name.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        place = Path(place).absolute().as_uri()
    with _failures("MLflow"):
        client = client_of(tracking_uri=place)
        names = [_mlflow_run(client, evaluation, name, part) for name, part in _named(evaluation)]
        uri = shown_address(client.tracking_uri)
    told = f"Recorded in MLflow at {uri}: {', '.join(names)}"
    if uri.startswith("http"):
        return told
    allowed = "MLFLOW_ALLOW_FILE_STORE=true " if uri.startswith("file:") else ""
    return f"{told}\n  View it: {allowed}mlflow ui --backend-store-uri {uri}"


def _mlflow_run(client: Any, evaluation: Evaluation, name: str, part: Evaluation) -> str:
    experiment = client.get_experiment_by_name(part.name)
    experiment_id = client.create_experiment(part.name) if experiment is None else experiment.experiment_id
    run_id = client.create_run(experiment_id, run_name=name).info.run_id
    try:
        for key, value in _settings(evaluation, part).items():
            client.log_param(run_id, _mlflow_name(key), value[:_LONGEST_PARAMETER])
        for key, figure in _figures(part).items():
            client.log_metric(run_id, _mlflow_name(key), figure)
        client.log_table(run_id, _table(part), "answers.json")
        client.log_text(run_id, part.render("page"), _REPORT)
    except BaseException:  # whatever ends it, Ctrl-C too: raised again
        client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id)
    return f"run {name} of experiment {part.name}"


def _mlflow_name(name: str) -> str:
    """Return the nearest name that MLflow takes: ``ndcg_at_10`` of ``ndcg@10``, as its own metrics."""
    return _NOT_IN_NAMES.sub("_", name.replace("@", "_at_").replace(")", "")).strip("_")


# Weights & Biases: the same, in a run that is kept offline unless WANDB_MODE says otherwise.


def to_wandb(evaluation: Evaluation, place: str | None = None) -> str:
    """Record runs in the project named after the data, below the folder ``place``; ``wandb sync`` sends them.

    With ``WANDB_MODE=online`` they are sent at once.
    """
    wandb = extra_module("wandb", feature="export to Weights & Biases", extra="wandb")
    mode = os.environ.get("WANDB_MODE") or "offline"
    with _failures("Weights & Biases"):
        folders = [
            _wandb_run(wandb, evaluation, name, part, place=place, mode=mode)
            for name, part in _named(evaluation)
        ]
    if mode != "offline":
        return f"Recorded in Weights & Biases: {' '.join(folders)}"
    return f"Recorded offline in {' '.join(folders)}\n  Upload it: wandb sync {' '.join(folders)}"


def _wandb_run(
    wandb: Any, evaluation: Evaluation, name: str, part: Evaluation, *, place: str | None, mode: str
) -> str:
    if place is not None:
        Path(place).mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=_NOT_IN_NAMES.sub("_", part.name).replace("/", "_").replace(":", "_")[:128],
        name=name,
        group=evaluation.head.run_id,
        job_type="evaluation",
        config=_settings(evaluation, part),
        dir=place,
        mode=mode,
        reinit="create_new",
        settings=wandb.Settings(silent=True, console="off"),
    )
    code = 1
    try:
        run.summary.update(_figures(part))
        table = _table(part)
        rows = [list(row) for row in zip(*table.values(), strict=True)]
        answers = wandb.Table(columns=list(table), data=rows, allow_mixed_types=True)
        run.log({"answers": answers, "report": wandb.Html(part.render("page"), inject=False)})
        code = 0
    finally:
        run.finish(exit_code=code)
    return str(Path(run.dir).parent if mode == "offline" else run.url)


# LangSmith: the samples as a dataset there, and each run as an experiment of it, with feedback.


def to_langsmith(evaluation: Evaluation, place: str | None = None) -> str:
    """Bring the samples to LangSmith, where they are not yet, and record runs as experiments of them.

    ``place`` is the name of the dataset there; without one it is that of the data.
    """
    urls = []
    for part in evaluation.runs:
        name = place or part.name
        rows = list(part.rows)
        if not rows:
            raise UsageError(f"{part.head.run_id} contains no answers to upload to LangSmith")
        samples = tuple(row.sample for row in rows if row.sample is not None)
        if len(samples) < len(rows):
            missing = counted(len(rows) - len(samples), "answer has", "answers have")
            raise UsageError(f"{part.head.run_id}: the dataset of the run is missing: {missing} no question")
        dialect = samples[0].origin.dialect if samples[0].origin else "rows"
        langsmith.upload_to_langsmith(Dataset(samples=samples, dialect=dialect), name)
        seconds = sum(row.response.latency_ms or 0.0 for row in rows) / 1000
        run = Run(part.head, tuple(row.result for row in rows))
        dataset = langsmith.read_langsmith_dataset(name)
        verdicts = {row.id: row.verdict for row in rows if row.verdict is not None}
        urls.append(langsmith.upload_experiment(run, dataset, seconds=seconds, verdicts=verdicts))
    return f"Recorded in LangSmith: {' '.join(urls)}"


# OpenTelemetry: an event for each score, by the conventions for generative AI, in OTLP's own JSON. Where the
# samples were read from traces, each belongs to the span that was scored. No package is needed for that.

_EVENT = "gen_ai.evaluation.result"
_ENDPOINTS = {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "v1/logs"}
_HEADERS = ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_AT_ONCE = 500
_SECONDS = 30.0
_INFO = 9  # the severity number of INFO


def to_opentelemetry(evaluation: Evaluation, place: str | None = None) -> str:
    """Send each verdict and score as an event to a collector, or write them to a file, one request per line.

    ``place`` is a file or the URL of a collector; without one it is that of ``OTEL_EXPORTER_OTLP_ENDPOINT``
    or, where that is not set, a file named after the run. Skipped scores are no events.
    """
    address = _collector(place)
    records = _records(evaluation)
    if address is not None:
        client = HttpClient()
        loop = BackgroundLoop(client.close)
        try:
            count = loop.run(_sent(client, records, address))
        finally:
            loop.close()
        return f"Sent {counted(count, 'event')} to {shown_address(address)}"
    path = Path(place or f"{evaluation.head.run_id}.events.jsonl")
    count = 0
    with atomic_writer(path) as file:
        for batch in _batches(records):
            file.write(strict_json.encode(_request(batch)) + b"\n")
            count += len(batch)
    return f"Wrote {counted(count, 'event')} to {path}"


def _collector(place: str | None) -> str | None:
    if place is not None:
        return joined_address(place, "v1/logs") if place.startswith(("http://", "https://")) else None
    for variable, path in _ENDPOINTS.items():
        if address := os.environ.get(variable, "").strip():
            return joined_address(address, path)
    return None


def _records(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    now = str(time_ns())
    for part in evaluation.runs:
        for row in part.rows:
            for verdict in row.verdicts:
                yield _record(part, row, _verdict_attributes(verdict), now)
            for score in row.scores:
                if score.status != "skipped":
                    yield _record(part, row, _score_attributes(score), now)


def _verdict_attributes(verdict: AnswerVerdict) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": "verdict",
        "gen_ai.evaluation.score.label": verdict.grade,
        "gen_ai.evaluation.explanation": verdict.why,
        "rag_eval.method": verdict.by,
        "rag_eval.state": verdict.state,
        "rag_eval.cause": verdict.cause,
    }


def _score_attributes(score: Score) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": score.metric,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.explanation": score.reason,
        "error.type": None if score.status == "scored" else score.status,
        "rag_eval.method": score.method,
    }


def _record(part: Evaluation, row: Row, found: Mapping[str, Any], now: str) -> dict[str, Any]:
    trace = None if row.sample is None else row.sample.trace
    said = {
        **found,
        "rag_eval.sample.id": row.id,
        "rag_eval.run.id": part.head.run_id,
        "rag_eval.dataset.id": part.name,
    }
    return {
        "timeUnixNano": now,
        "observedTimeUnixNano": now,
        "severityNumber": _INFO,
        "eventName": _EVENT,
        "attributes": _attributes(said),
        **({"traceId": trace.id, "spanId": trace.span, "flags": 1} if trace and trace.id else {}),
    }


def _attributes(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
        for name, value in said.items()
        if value is not None
    ]


def _request(records: list[dict[str, Any]]) -> dict[str, Any]:
    scope = {"name": "rag_evaluation_framework", "version": __version__}
    resource = {"attributes": _attributes({"service.name": "rag-eval", "service.version": __version__})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]}


def _batches(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    left = iter(records)
    while batch := list(islice(left, _AT_ONCE)):
        yield batch


async def _sent(client: HttpClient, records: Iterable[dict[str, Any]], address: str) -> int:
    given = next(filter(None, (os.environ.get(name) for name in _HEADERS)), "")
    pairs = (each.partition("=") for each in given.split(",") if each.strip())
    headers = checked_headers({name.strip(): unquote(value).strip() for name, _, value in pairs})
    attempts = SharedAttempts(concurrency=1, max_attempts=MAX_ATTEMPTS)
    count = 0

    async def post(body: bytes) -> None:
        sent = {**headers, "Content-Type": "application/json"}
        reply = await client.request(address, body, headers=sent, timeout=_SECONDS)
        if failure := status_failure(reply, url=address, mask=header_mask(headers.values())):
            raise failure

    for batch in _batches(records):
        try:
            await attempts.attempt(partial(post, strict_json.encode(_request(batch))), address)
        except TargetError as error:
            sent = f"; {counted(count, 'event was', 'events were')} already sent" if count else ""
            raise error.reworded(f"{shown_address(address)}: {error.message}{sent}") from None
        count += len(batch)
    return count
