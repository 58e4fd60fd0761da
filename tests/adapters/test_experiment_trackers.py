"""An evaluation is recorded where people keep their experiments, by the trackers' own clients."""

from __future__ import annotations

import json
import re
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith_server import signed_in
from serving import QuietHandler, serving

from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, Options, UsageError, evaluate
from rag_evaluation_framework.errors import MissingExtraError, TargetError
from rag_evaluation_framework.evaluation import attempts

TRACES = Path(__file__).parents[2] / "examples" / "langchain_traces" / "traces.jsonl"
LENIENT = Options(allow_missing=True)
ROWS = [
    {"id": "a", "question": "Which day is free?", "answer": "Tuesday", "reference": "Tuesday"},
    {"id": "b", "question": "Which month?", "answer": "May", "reference": "June"},
    {"id": "c", "question": "Which year?", "answer": "1999"},
]


@pytest.fixture(scope="module")
def rows() -> Evaluation:
    """Two answers with a score and one without, for it has no reference."""
    return evaluate(ROWS, metrics=["exact_match", "rouge(variant=rouge1)"], options=LENIENT)


@pytest.fixture(scope="module")
def traces() -> Evaluation:
    return evaluate(TRACES, metrics=["faithfulness", "needless_steps"], options=LENIENT)


def event_values(record: Any) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in record["attributes"]}


def records_of(*requests: Any) -> list[Any]:
    return [
        record
        for request in requests
        for resource in request["resourceLogs"]
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]


def test_scores_are_events_on_the_spans_that_were_scored(traces: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    scored = [(row.id, score) for row in traces.rows for score in row.scores if score.status == "scored"]
    events = len(scored) + traces.answers.total
    assert traces.export("opentelemetry", path) == f"Wrote {events} events to {path}"
    records = records_of(*map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    assert {record["eventName"] for record in records} == {"gen_ai.evaluation.result"}
    told = [event_values(record) for record in records]
    assert [
        (each["rag_eval.sample.id"], each["gen_ai.evaluation.name"], each["gen_ai.evaluation.score.value"])
        for each in told
        if each["gen_ai.evaluation.name"] != "verdict"
    ] == [(sample, score.metric, score.value) for sample, score in scored]
    # The roots as they stand in the file of traces, whatever we read them as.
    roots = {
        (span["traceId"], span["spanId"])
        for line in TRACES.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
        if not span.get("parentSpanId")
    }
    assert {(record["traceId"], record["spanId"]) for record in records} == roots


def test_what_is_written_is_what_the_protocol_reads(rows: Evaluation, tmp_path: Path) -> None:
    logs = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    path = tmp_path / "events.jsonl"
    rows.export("opentelemetry", path)
    request = json.loads(path.read_text(encoding="utf-8"))
    for record in records_of(request):
        for name in ("traceId", "spanId"):
            if name in record:  # OTLP has hexadecimal digits where protobuf's own JSON has base64
                record[name] = b64encode(bytes.fromhex(record[name])).decode()
    read = json_format.ParseDict(request, logs.ExportLogsServiceRequest())
    assert len(read.resource_logs[0].scope_logs[0].log_records) == 7


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Any], list[int]]]:
    """A collector's address, what it was sent, and the statuses that it replies with before 200."""
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    received: list[Any] = []
    statuses: list[int] = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.sent())
            status = statuses.pop(0) if statuses else 200
            if status == 200:
                received.append((self.path, self.headers.get("x-key"), sent))
            self.reply(status, {"partialSuccess": {}} if status == 200 else {"message": "no secret-1"})

    with serving(Handler) as address:
        yield address, received, statuses


def test_a_collector_is_sent_the_events(
    rows: Evaluation, collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, received, statuses = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret-1")
    statuses += [503]
    assert rows.export("opentelemetry") == f"Sent 7 events to {address}/v1/logs"
    [(path, key, request)] = received
    assert (path, key) == ("/v1/logs", "secret-1")
    told = [event_values(each)["rag_eval.sample.id"] for each in records_of(request)]
    assert told == ["a", "a", "a", "b", "b", "b", "c"]
    statuses += [401]
    with pytest.raises(TargetError, match=r"http-401: .*/v1/logs: Unauthorized") as refused:
        rows.export("opentelemetry")
    assert "secret-1" not in str(refused.value)


def test_samples_and_an_experiment_with_feedback_are_at_langsmith(
    rows: Evaluation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")
    with signed_in(monkeypatch, tmp_path) as server:
        told = [rows.export("langsmith", "questions") for _ in range(2)]
    assert told[0].startswith("Recorded in LangSmith: http://localhost/")
    examples = {each["id"]: each["metadata"]["rag_eval_id"] for each in server.datasets["questions"]}
    assert sorted(examples.values()) == ["a", "b", "c"]  # once, though exported twice
    assert len(server.projects) == 2
    outputs = {examples[run["reference_example_id"]]: run["outputs"] for run in server.runs.values()}
    assert outputs == {
        name: {"answer": text} for name, text in zip("abc", ("Tuesday", "May", "1999"), strict=True)
    }
    feedback = {
        (examples[server.runs[each["run_id"]]["reference_example_id"]], each["key"]): each.get("score")
        for each in server.feedback.values()
        if each["key"] != "verdict"
    }
    names = list(rows.metrics)
    assert feedback == {
        (row.id, score.metric): score.value
        for row in rows.rows
        for score in row.scores
        if score.metric in names
    }
    assert feedback["c", "exact_match"] is None
    verdicts = [each["value"] for each in server.feedback.values() if each["key"] == "verdict"]
    assert sorted(verdicts) == sorted([row.verdict.grade for row in rows.rows if row.verdict] * 2)


@pytest.mark.parametrize(
    ("to", "module"), [("mlflow", "mlflow"), ("wandb", "wandb"), ("langsmith", "langsmith")]
)
def test_a_client_that_is_not_installed_is_one_line(
    rows: Evaluation, to: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'rag-evaluation-framework\[{to}\]'"):
        rows.export(to)


def test_the_command_says_where_it_is_or_which_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluate(ROWS[:2], metrics=["exact_match"], runs_directory="runs")
    ended = rag_eval("export", "--to", "opentelemetry", "-o", "scores.jsonl")
    assert (ended.exit_code, ended.output) == (0, "Wrote 4 events to scores.jsonl\n")
    ended = rag_eval("export", "--to", "wand")
    assert isinstance(ended.exception, UsageError)
    assert 'Did you mean "wandb"?' in str(ended.exception)


@pytest.mark.vendors("mlflow")
@pytest.mark.filterwarnings("ignore")
def test_a_run_of_mlflow_has_the_figures_the_answers_and_the_page(rows: Evaluation, tmp_path: Path) -> None:
    import mlflow

    rows.export("mlflow", tmp_path / "store")
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "store").as_uri())
    experiment = client.get_experiment_by_name(rows.name)
    [run] = client.search_runs([experiment.experiment_id])
    figure = rows.metrics["exact_match"]
    assert figure.interval is not None
    assert run.info.status == "FINISHED"
    assert {
        name: run.data.metrics[name] for name in ("exact_match", "exact_match.low", "exact_match.scored")
    } == {"exact_match": 0.5, "exact_match.low": figure.interval.low, "exact_match.scored": 2}
    assert "rouge_variant_rouge1" in run.data.metrics
    assert run.data.params["run"] == rows.head.run_id
    folder = Path(client.download_artifacts(run.info.run_id, "", str(tmp_path)))
    table = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    answers = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(each["answer"], each["exact_match"]) for each in answers] == [
        ("Tuesday", 1.0),
        ("May", 0.0),
        ("1999", None),
    ]
    assert "Which month?" in (folder / "report.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"^MLflow: "):
        rows.export("mlflow", "nowhere://at.all")


@pytest.mark.vendors("wandb")
@pytest.mark.filterwarnings("ignore")
def test_a_run_of_wandb_is_kept_offline(
    rows: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    told = rows.export("wandb", tmp_path / "kept")
    assert told.startswith("Recorded offline in ")
    [folder] = (tmp_path / "kept" / "wandb").glob("offline-run-*")
    [table] = folder.rglob("answers*.table.json")
    assert [row[0] for row in json.loads(table.read_text(encoding="utf-8"))["data"]] == ["a", "b", "c"]
    [page] = folder.rglob("report*.html")
    assert "Which month?" in page.read_text(encoding="utf-8")
    # A summary's values stand as JSON beside their names. A process of wandb's own writes them, soon.
    kept, until = next(folder.glob("*.wandb")), time.monotonic() + 10
    while not re.search(rb"exact_match.{1,4}0\.5", kept.read_bytes(), re.DOTALL):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.vendors("opentelemetry.exporter.otlp.json.file")
@pytest.mark.filterwarnings("ignore")
def test_the_events_are_those_that_opentelemetrys_own_exporter_writes(
    traces: Evaluation, tmp_path: Path
) -> None:
    from opentelemetry import trace
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    traces.export("opentelemetry", tmp_path / "ours.jsonl")
    [ours, *_] = records_of(json.loads((tmp_path / "ours.jsonl").read_text(encoding="utf-8")))
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(
        SimpleLogRecordProcessor(FileLogExporter(str(tmp_path / "theirs.jsonl")))
    )
    span = trace.SpanContext(
        int(ours["traceId"], 16), int(ours["spanId"], 16), is_remote=True, trace_flags=trace.TraceFlags(1)
    )
    record = LogRecord(
        timestamp=int(ours["timeUnixNano"]),
        observed_timestamp=int(ours["timeUnixNano"]),
        context=trace.set_span_in_context(trace.NonRecordingSpan(span)),
        severity_number=SeverityNumber.INFO,
        attributes=event_values(ours),
        event_name="gen_ai.evaluation.result",
    )
    provider.get_logger("rag_evaluation_framework").emit(record)
    provider.shutdown()
    [theirs] = records_of(json.loads((tmp_path / "theirs.jsonl").read_text(encoding="utf-8")))
    assert {name: value for name, value in theirs.items() if value} == ours
