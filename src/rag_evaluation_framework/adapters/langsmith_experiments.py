"""Runs of a LangSmith dataset as experiments at LangSmith: a run for each query, with feedback per metric.

Only ids and places of what was retrieved are sent, never a document's text. Runs and feedback go many in one
request, as LangSmith takes them; its SDK would send them one by one, or in the background, where a failure
is only logged. Their ids follow from the experiment and the sample, so that a request whose reply was lost
can be sent again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID, uuid4, uuid5

from rag_evaluation_framework.adapters.langsmith_connection import CONFLICT, LangSmith, connected
from rag_evaluation_framework.errors import TargetError, UsageError
from rag_evaluation_framework.evaluation.hosted_datasets import HostedDataset
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.responses import Hit
from rag_evaluation_framework.records.runs import Run, SampleResult
from rag_evaluation_framework.records.scores import Score

Part: TypeAlias = tuple[str, tuple[None, bytes, str, dict[str, str]]]
"""A part of a form as ``requests`` sends it: its name, no file name, its content, type and headers."""

QUERIES_A_REQUEST = 100

_DECIMALS = 4  # as many as LangSmith keeps of a score; its SDK rounds so too
_RUN_NAME = "retrieval"


def upload_experiment(run: Run, dataset: HostedDataset, *, seconds: float) -> str:
    """Record a run as an experiment and return the address of its page.

    Queries are searched together: each run lasts the mean of the ``seconds`` that all of them took.
    """
    with connected("recording an experiment at LangSmith") as server:
        project = _project(server, run, dataset)
        url = _address(project, dataset)
        try:
            experiment = _Experiment(run, dataset, project.id, seconds=seconds)
            for begin in range(0, len(run.results), QUERIES_A_REQUEST):
                _send(server, list(experiment.parts(begin, begin + QUERIES_A_REQUEST)))
            ended = {"end_time": datetime.now(UTC), "metadata": _described(run)}
            server.asked(partial(server.client.update_project, project.id, **ended))
        except TargetError as error:
            raise TargetError(error.kind, f"{error.message}; {url} is incomplete") from error
        except UsageError as error:
            raise UsageError(f"{error}; {url} is incomplete") from error
    return url


def _project(server: LangSmith, run: Run, dataset: HostedDataset) -> Any:
    """Make the project of LangSmith's that holds the experiment, under a name that is there once."""
    name = f"{run.head.run_id.partition('_')[2] or run.head.run_id}-{uuid4().hex[:8]}"
    create = partial(
        server.client.create_project,
        name,
        description=run.head.target,
        metadata=_described(run),
        reference_dataset_id=dataset.host_id,
    )
    try:
        return server.asked(create)
    except TargetError as error:
        if error.kind != CONFLICT:  # it is there already: a reply was lost
            raise
        return server.asked(partial(server.client.read_project, project_name=name))


def _address(project: Any, dataset: HostedDataset) -> str:
    base = str(project.url).partition("/projects/p/")[0]
    return f"{base}/datasets/{dataset.host_id}/compare?selectedSessions={project.id}"


def _described(run: Run) -> dict[str, Any]:
    head = run.head
    return {
        **head.configuration,
        "dataset_hash": head.dataset_hash,
        "metric_versions": dict(head.metric_versions),
        "packages": dict(head.packages),
        "seed": head.seed,
    }


def _send(server: LangSmith, parts: Sequence[Part]) -> None:
    try:
        server.send("POST", "/runs/multipart", files=parts)
    except TargetError as error:
        if error.kind != CONFLICT:  # they are there already: a reply was lost
            raise


class _Experiment:
    """Writes results down as LangSmith takes them."""

    def __init__(self, run: Run, dataset: HostedDataset, project_id: UUID, *, seconds: float) -> None:
        self._results, self._example_ids = run.results, dataset.example_ids
        self._questions = {sample.id: sample.question for sample in dataset.samples}
        self._project_id = project_id
        began = run.head.started_at
        self._begin = datetime.fromisoformat(began) if began else datetime.now(UTC)
        self._duration = timedelta(seconds=seconds) / len(run.results)

    def parts(self, begin: int, end: int) -> Iterator[Part]:
        """Yield the runs and the feedback of some of the queries."""
        for number, result in enumerate(self._results[begin:end], start=begin):
            run_id = uuid5(self._project_id, result.sample_id)
            started = self._begin + number * self._duration
            yield from self._run_parts(run_id, result, started)
            for score in result.scores:
                yield _part(*self._feedback(run_id, score, started))

    def _run_parts(self, run_id: UUID, result: SampleResult, started: datetime) -> Iterator[Part]:
        head = {
            "id": str(run_id),
            "trace_id": str(run_id),
            "dotted_order": f"{started.astimezone(UTC):%Y%m%dT%H%M%S%fZ}{run_id}",
            "name": _RUN_NAME,
            "run_type": "chain",
            "start_time": started.isoformat(),
            "end_time": (started + self._duration).isoformat(),
            "session_id": str(self._project_id),
            "reference_example_id": self._example_ids[result.sample_id],
        }
        yield _part(f"post.{run_id}", head)
        yield _part(f"post.{run_id}.inputs", {"query": self._questions[result.sample_id]})
        yield _part(f"post.{run_id}.outputs", _outputs(result.response.hits))
        yield _part(f"post.{run_id}.extra", {"metadata": {"sample_id": result.sample_id}})

    def _feedback(self, run_id: UUID, score: Score, started: datetime) -> tuple[str, Mapping[str, Any]]:
        feedback_id = uuid5(run_id, score.metric)
        now = datetime.now(UTC).isoformat()
        written: dict[str, Any] = {
            "id": str(feedback_id),
            "run_id": str(run_id),
            "trace_id": str(run_id),
            "session_id": str(self._project_id),
            "start_time": started.isoformat(),
            "key": score.metric,
            "created_at": now,
            "modified_at": now,
            "feedback_source": {"type": "api", "metadata": {"method": score.method}},
        }
        if score.value is not None:
            written["score"] = round(score.value, _DECIMALS)
        else:
            written["comment"] = f"{score.status}: {score.reason}"
        return f"feedback.{feedback_id}", written


def _outputs(hits: Sequence[Hit]) -> dict[str, Any]:
    outputs: dict[str, Any] = {"retrieved_chunk_ids": [hit.id for hit in hits]}
    spans = [
        {"doc_id": hit.span.doc_id, "start": hit.span.start, "end": hit.span.end}
        for hit in hits
        if hit.span is not None
    ]
    return {**outputs, "spans": spans} if spans else outputs


def _part(name: str, value: Mapping[str, Any]) -> Part:
    content = strict_json.encode(value)
    return name, (None, content, "application/json", {"Content-Length": str(len(content))})
