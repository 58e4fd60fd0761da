"""Datasets, uploads and experiments at LangSmith."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, TypeVar
from uuid import UUID, uuid4, uuid5

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.adapters.calls import attempted
from rag_evaluation_framework.adapters.http_agent import checked_headers, joined_address
from rag_evaluation_framework.adapters.http_client import header_mask, vendor_failure
from rag_evaluation_framework.datasets.langsmith_examples import LANGSMITH
from rag_evaluation_framework.datasets.schemas import decoded_issues
from rag_evaluation_framework.errors import (
    FileProblems,
    InputError,
    Issue,
    MissingDatasetError,
    TargetError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.data import API_KEYS, HostedDataset
from rag_evaluation_framework.evaluation.secrets import shown_address
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import Run, SampleResult
from rag_evaluation_framework.records.samples import Dataset, Origin, Sample
from rag_evaluation_framework.retrieval.stores import batches
from rag_evaluation_framework.synthesis.generated_datasets import Upload

# LangSmith as its SDK reaches it: what reading, uploading and experiments share.
#
# The SDK knows the server (``LANGSMITH_ENDPOINT``), the workspace and how to sign in; nothing is traced.
# It retries nothing: that is done here, request by request, by the rules that hold for every request.
# What it raises becomes an error of ours, in which the key is hidden.

EXTRA = "langsmith"
_AT_ONCE = 100  # the most examples that LangSmith gives or takes in a request
CONFLICT = "http-409"
_NOT_FOUND = "not-found"  # said by the SDK of an empty list; a server's 404 is another failure
TIMEOUT_MS = (10_000, 90_000)  # to connect, and between two parts of a reply

# The SDK meets replies that are not LangSmith's unprepared: with the errors that Python has for that.
_UNPREPARED = (ValueError, TypeError, KeyError, AttributeError)

T = TypeVar("T")


@contextmanager
def connected(feature: str) -> Iterator[LangSmith]:
    """Open a connection for as long as the block lasts; ``feature`` is what needs it."""
    extra = partial(extra_module, feature=feature, extra=EXTRA)
    sdk, errors, requests = extra("langsmith"), extra("langsmith.utils"), extra("requests")
    key_variable = next((name for name in API_KEYS if os.environ.get(name)), API_KEYS[0])
    key = os.environ.get(key_variable, "").strip()
    if not key:
        raise UsageError(f"{feature} needs an API key. Set {API_KEYS[0]}.")
    checked_headers({"x-api-key": key})
    with requests.Session() as session:
        session.max_redirects = 0  # a redirect would take the key along
        try:
            client = sdk.Client(
                api_key=key,
                session=session,
                timeout_ms=TIMEOUT_MS,
                retry_config=extra("urllib3.util").Retry(0, read=False),
                auto_batch_tracing=False,
            )
            server = LangSmith(client, key, key_variable, errors, requests)
            joined_address(server.client.api_url, "")
        except (errors.LangSmithError, ValueError) as error:
            told = " ".join(header_mask([key])(str(error)).split())
            raise UsageError(f"{feature}: invalid LangSmith settings in the environment: {told}") from None
        yield server


@dataclass(frozen=True, slots=True)
class LangSmith:
    """An open connection. ``asked`` is how every request is made."""

    client: Any
    key: str = field(repr=False)
    key_variable: str
    errors: Any
    """The SDK's exceptions; those of :attr:`requests`, on which it stands, come through it as well."""
    requests: Any

    def __str__(self) -> str:
        return f"LangSmith at {shown_address(self.client.api_url)}"

    def call_sdk(self, call: Callable[[], T]) -> T:
        """Make a call of the SDK's, again where that may help; its failure is an error of ours."""
        return attempted(lambda: self._asked_once(call), str(self))

    def dataset(self, name: str) -> Any | None:
        """Return the SDK's record of the dataset of this name, or ``None`` where there is none."""
        try:
            found = self.call_sdk(partial(self.client.read_dataset, dataset_name=name))
        except TargetError as error:
            if error.kind != _NOT_FOUND:
                raise
            return None
        return found if found.name == name else None

    def examples(self, dataset_id: str) -> Iterator[dict[str, Any]]:
        """Yield the examples, page by page.

        The SDK's own list is not used: where a workspace has no projects, it asks for one again with every
        single example.
        """
        offset = 0
        while page := self.call_sdk(partial(self._page, dataset_id, offset)):
            yield from page
            offset += len(page)
            if len(page) < _AT_ONCE:
                return

    def send(self, method: str, path: str, **request: Any) -> None:
        """Send what the SDK has no call for."""
        self.call_sdk(partial(self.client.request_with_retries, method, path, request_kwargs=request))

    def _page(self, dataset_id: str, offset: int) -> list[dict[str, Any]]:
        window = {"offset": offset, "limit": _AT_ONCE}
        asked = {"dataset": dataset_id, "inline_s3_urls": True, **window}
        body = self.client.request_with_retries("GET", "/examples", params=asked).content
        page = strict_json.decode(body, file=f"{self}: /examples")
        if not isinstance(page, list) or not all(isinstance(example, dict) for example in page):
            raise ValueError("expected a page of examples")
        return page

    def _asked_once(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except InputError:
            raise
        except (self.errors.LangSmithError, self.requests.RequestException, *_UNPREPARED) as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> TargetError | UsageError:
        """Return what went wrong in a line of ours: the SDK's own would show the key, or parts of it."""
        response = self._response(error)
        if response is None:
            return self._failure_without_reply(error)
        mask = header_mask([self.key])
        failure = vendor_failure(
            response.status_code, response.headers, response.content, url=self.client.api_url, mask=mask
        )
        if failure is None:
            return self._failure_without_reply(error)
        if response.status_code in (401, 403):
            told = f"the API key in {self.key_variable} was rejected"
            return UsageError(f"{self}: {told}: {failure.message}")
        return failure.reworded(f"{self}: {failure.message}")

    def _failure_without_reply(self, error: Exception) -> TargetError:
        if isinstance(error, self.errors.LangSmithNotFoundError):
            return TargetError(_NOT_FOUND, f"{self}: no such name")
        causes = list(_causes(error))
        if any(isinstance(cause, self.requests.Timeout) for cause in causes):
            return TargetError("timeout", f"{self}: timed out before the reply was complete", retry=True)
        lost = (self.requests.ConnectionError, self.requests.exceptions.ChunkedEncodingError)
        if any(isinstance(cause, lost) for cause in causes):
            return TargetError(
                "connection-failed", f"{self}: cannot connect, or the connection was lost", retry=True
            )
        if isinstance(error, self.errors.LangSmithError):
            return TargetError("request-failed", f"{self}: the SDK failed with {type(causes[-1]).__name__}")
        return TargetError("wrong-reply", f"{self}: expected a reply of the LangSmith API, got another reply")

    def _response(self, error: BaseException) -> Any:
        """Return the reply that an error is about, or ``None`` where there was none."""
        told = (self.requests.HTTPError, self.requests.TooManyRedirects)
        replies = (cause.response for cause in _causes(error) if isinstance(cause, told))
        return next((reply for reply in replies if reply is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it, the nearest first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


# A sample as an example at LangSmith, and back.
#
# An example there has an id of LangSmith's own kind, so the sample's own stands in its metadata. On
# reading, what LangSmith itself adds is taken out again: a sample comes back as it was uploaded.

SAMPLE_ID = "rag_eval_id"
"""Metadata key of an example with the id of its sample."""

SPLIT = "dataset_split"
_DEFAULT_SPLIT = ["base"]


def example_of(sample: Sample) -> dict[str, Any]:
    """Return the inputs, outputs and metadata of a sample, as they come back from LangSmith."""
    record = LANGSMITH.record(sample)
    example = {
        "inputs": record["inputs"],
        "outputs": record["outputs"],
        "metadata": {**record.get("metadata", {}), SAMPLE_ID: sample.id},
    }
    written: dict[str, Any] = strict_json.decode(strict_json.encode(example), file=f"sample {sample.id!r}")
    return written


def record_of(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example as a file would have it, without what the server says about its keeping."""
    metadata = dict(example.get("metadata") or {})
    if metadata.get(SPLIT) == _DEFAULT_SPLIT:
        del metadata[SPLIT]
    named = metadata.pop(SAMPLE_ID, None)
    outputs = example.get("outputs")
    record = {"id": named or example.get("id"), "inputs": example.get("inputs"), "outputs": outputs}
    if not metadata:
        return record
    within = outputs.get("metadata") if isinstance(outputs, dict) else None
    # LangSmith adds metadata of its own (a split), also where an example has them within the outputs.
    if isinstance(outputs, dict) and isinstance(within, dict) and not metadata.keys() & within.keys():
        metadata = {**within, **metadata}
        record["outputs"] = {name: value for name, value in outputs.items() if name != "metadata"}
    return {**record, "metadata": metadata}


def made_at(example: Mapping[str, Any]) -> datetime:
    """Return when an example was made: LangSmith promises no order, and examples are uploaded in theirs."""
    try:
        moment = datetime.fromisoformat(str(example.get("created_at")))
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Datasets at LangSmith, read by name with its SDK.
#
# Examples are read by LangSmith's dialect, as if they stood in a file, in the order in which they were made.

RUNTIME = "runtime"
"""Metadata key of a dataset with the machine that uploaded it; the SDK adds it."""


def read_langsmith_dataset(name: str) -> HostedDataset:
    """Read the dataset of this name; all problems of its examples are in one ``InputError``."""
    with connected(f"reading the dataset {shown(name)} from LangSmith") as server:
        found = server.dataset(name)
        if found is None:
            raise MissingDatasetError(f"there is no dataset {shown(name)} in {server}")
        examples = sorted(server.examples(str(found.id)), key=made_at)
    read = dict(_samples(examples, FileProblems(f"LangSmith dataset {shown(name)}")))
    return HostedDataset(
        samples=tuple(read.values()),
        dialect=LANGSMITH.name,
        name=name,
        description=found.description,
        metadata={key: value for key, value in (found.metadata or {}).items() if key != RUNTIME},
        host="langsmith",
        host_id=str(found.id),
        example_ids={sample.id: example_id for example_id, sample in read.items()},
    )


def _samples(examples: Iterable[Mapping[str, Any]], problems: FileProblems) -> Iterator[tuple[str, Sample]]:
    """Yield the good samples by their examples' ids; the problems of the others are raised at the end."""
    seen: set[str] = set()
    for example in examples:
        record = record_of(example)
        within = f"example {record['id']!r}"
        issues = [issue for issue in decoded_issues(LANGSMITH.kind, record) if issue.severity == "error"]
        try:
            sample = None if issues else LANGSMITH.sample(record)
        except InputError as error:
            sample, issues = None, list(error.issues)
        if sample is None:
            problems.extend(issue.located(within=within) for issue in issues)
        elif sample.id in seen:
            problems.add(Issue("duplicate-id", "unique examples", f"duplicate {sample.id!r}"))
        else:
            seen.add(sample.id)
            yield str(example.get("id")), replace(sample, origin=Origin(LANGSMITH.name))
    problems.raise_if_any()


# Runs of a LangSmith dataset as experiments at LangSmith: a run for each query, with feedback per metric.
#
# Only ids and places of what was retrieved are sent, never a document's text. Runs and feedback go many
# in one request, as LangSmith takes them; its SDK would send them one by one, or in the background, where
# a failure is only logged. Their ids follow from the experiment and the sample, so that a request whose
# reply was lost can be sent again.

Part: TypeAlias = tuple[str, tuple[None, bytes, str, dict[str, str]]]
"""A part of a form as ``requests`` sends it: its name, no file name, its content, type and headers."""

_DECIMALS = 4  # as many as LangSmith keeps of a score; its SDK rounds so too


def upload_experiment(
    run: Run, dataset: HostedDataset, *, seconds: float, verdicts: Mapping[str, AnswerVerdict] | None = None
) -> str:
    """Record a run as an experiment and return the address of its page.

    Queries are searched together: each run lasts the mean of the ``seconds`` that all of them took.
    """
    with connected("recording an experiment in LangSmith") as server:
        project = _project(server, run, dataset)
        base = str(project.url).partition("/projects/p/")[0]
        url = f"{base}/datasets/{dataset.host_id}/compare?selectedSessions={project.id}"
        try:
            experiment = _Experiment(run, dataset, verdicts or {}, project.id, seconds=seconds)
            for begin in range(0, len(run.results), _AT_ONCE):
                _send(server, list(experiment.parts(begin, begin + _AT_ONCE)))
            ended = {"end_time": datetime.now(UTC), "metadata": _described(run)}
            server.call_sdk(partial(server.client.update_project, project.id, **ended))
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
        return server.call_sdk(create)
    except TargetError as error:
        if error.kind != CONFLICT:  # it is there already: a reply was lost
            raise
        return server.call_sdk(partial(server.client.read_project, project_name=name))


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

    def __init__(
        self,
        run: Run,
        dataset: HostedDataset,
        verdicts: Mapping[str, AnswerVerdict],
        project_id: UUID,
        *,
        seconds: float,
    ) -> None:
        self._results, self._example_ids, self._verdicts = run.results, dataset.example_ids, verdicts
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
            now = datetime.now(UTC).isoformat()
            of_run = {"run_id": str(run_id), "trace_id": str(run_id), "session_id": str(self._project_id)}
            of_run |= {"start_time": started.isoformat(), "created_at": now, "modified_at": now}
            for name, feedback in self._feedback(result):
                feedback_id = uuid5(run_id, name)
                yield _part(f"feedback.{feedback_id}", {"id": str(feedback_id), **of_run, **feedback})

    def _run_parts(self, run_id: UUID, result: SampleResult, started: datetime) -> Iterator[Part]:
        head = {
            "id": str(run_id),
            "trace_id": str(run_id),
            "dotted_order": f"{started.astimezone(UTC):%Y%m%dT%H%M%S%fZ}{run_id}",
            "name": "retrieval" if result.response.text is None else "answer",
            "run_type": "chain",
            "start_time": started.isoformat(),
            "end_time": (started + self._duration).isoformat(),
            "session_id": str(self._project_id),
            "reference_example_id": self._example_ids[result.sample_id],
        }
        if (failure := result.response.failure) is not None:
            head["error"] = f"{failure.kind}: {failure.message}"
        yield _part(f"post.{run_id}", head)
        yield _part(f"post.{run_id}.inputs", {"query": self._questions[result.sample_id]})
        yield _part(f"post.{run_id}.outputs", _outputs(result.response))
        yield _part(f"post.{run_id}.extra", {"metadata": {"sample_id": result.sample_id}})

    def _feedback(self, result: SampleResult) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the verdicts and scores of an answer, each under a name of its own."""
        verdict = self._verdicts.get(result.sample_id)
        for place, each in enumerate(() if verdict is None else verdict.answers):
            told: dict[str, Any] = {"value": each.grade, "comment": f"{each.name}: {each.why}"}
            yield f"verdict {place}" if place else "verdict", _by("verdict", each.by, told)
        for score in result.scores:
            told = {"comment": f"{score.status}: {score.reason}"}
            if score.value is not None:
                told = {"score": round(score.value, _DECIMALS)}
            yield score.metric, _by(score.metric, score.method, told)


def _by(key: str, method: str | None, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": key, "feedback_source": {"type": "api", "metadata": {"method": method}}, **told}


def _outputs(response: Response) -> dict[str, Any]:
    hits = response.hits
    outputs: dict[str, Any] = {} if response.text is None else {"answer": response.text}
    if hits or not outputs:
        outputs["retrieved_chunk_ids"] = [hit.id for hit in hits]
    spans = [
        {"doc_id": hit.span.doc_id, "start": hit.span.start, "end": hit.span.end}
        for hit in hits
        if hit.span is not None
    ]
    return {**outputs, "spans": spans} if spans else outputs


def _part(name: str, value: Mapping[str, Any]) -> Part:
    content = strict_json.encode(value)
    return name, (None, content, "application/json", {"Content-Length": str(len(content))})


# Datasets uploaded to LangSmith with its SDK; a second upload of the same adds nothing.
#
# An example's id follows from its dataset and its sample, so that a request whose reply was lost can be sent
# again. What is there already is read first: only examples that are missing or have changed are sent, which
# is also how an interrupted upload is completed. Nothing is deleted, and metadata that others added stay.

Example: TypeAlias = dict[str, Any]

# Example ids are made in this namespace; another one would make every upload add everything again.
_NAMESPACE = UUID("7f7af79d-4471-47de-8d7f-56a21f67868e")


def upload_to_langsmith(dataset: Dataset, name: str) -> Upload:
    """Bring the dataset of this name at LangSmith to hold these samples; it is made where there is none."""
    examples = {sample.id: example_of(sample) for sample in dataset.samples}
    with connected(f"uploading the dataset {shown(name)} to LangSmith") as server:
        place = _place(server, dataset, name)
        dataset_id = str(place.id)
        work = _work(server, dataset_id, examples)
        try:
            _send_examples(server, dataset_id, work)
        except TargetError as error:
            if error.kind != CONFLICT:
                raise
            # Some came there meanwhile, or by a request whose reply was lost: the others are left to send.
            _send_examples(server, dataset_id, _work(server, dataset_id, examples))
    return Upload(
        url=place.url,
        added=len(work.missing),
        updated=len(work.changed),
        unchanged=len(examples) - len(work.missing) - len(work.changed),
        others=work.others,
    )


def check_langsmith(name: str) -> None:
    """Ask for a dataset, whether it is there or not, to see that LangSmith is and accepts the key."""
    with connected(f"uploading the dataset {shown(name)} to LangSmith") as server:
        server.dataset(name)


class _Work(msgspec.Struct, frozen=True):
    """The examples to send, and the number of LangSmith's examples outside the dataset."""

    missing: list[Example]
    changed: list[Example]
    others: int


def _place(server: LangSmith, dataset: Dataset, name: str) -> Any:
    """Return the SDK's record of the dataset, made or brought up to date."""
    found = server.dataset(name)
    if found is None:
        described = {"description": dataset.description, "metadata": dict(dataset.metadata)}
        try:
            return server.call_sdk(partial(server.client.create_dataset, name, **described))
        except TargetError as error:
            found = server.dataset(name) if error.kind == CONFLICT else None
            if found is None:
                raise
    there = found.metadata or {}
    changes: dict[str, Any] = {}
    if not _has(there, dataset.metadata):
        changes["metadata"] = {**there, **dataset.metadata}
    if dataset.description not in (None, found.description):
        changes["description"] = dataset.description
    if changes:
        server.send("PATCH", f"/datasets/{found.id}", data=strict_json.encode(changes))
    return found


def _work(server: LangSmith, dataset_id: str, examples: Mapping[str, Example]) -> _Work:
    """Compare the examples, by sample, with those that are at LangSmith."""
    there = {record_of(example)["id"]: example for example in server.examples(dataset_id)}
    now = datetime.now(UTC)
    missing = [
        {
            "id": uuid5(_NAMESPACE, f"{dataset_id}/{sample_id}"),
            "created_at": now + timedelta(microseconds=number),
            **example,
        }
        for number, (sample_id, example) in enumerate(examples.items())
        if sample_id not in there
    ]
    changed = [
        _update(there[sample_id], example)
        for sample_id, example in examples.items()
        if sample_id in there and not _is_same(there[sample_id], example)
    ]
    return _Work(missing, changed, others=len(there.keys() - examples.keys()))


def _is_same(there: Mapping[str, Any], example: Example) -> bool:
    if any(there.get(part) != example[part] for part in ("inputs", "outputs")):
        return False
    # Examples that others made need not have it: their samples are named after them.
    metadata = {name: value for name, value in example["metadata"].items() if name != SAMPLE_ID}
    return _has(there.get("metadata") or {}, metadata)


def _has(there: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    return all(name in there and there[name] == value for name, value in metadata.items())


def _update(there: Mapping[str, Any], example: Example) -> Example:
    metadata = {**(there.get("metadata") or {}), **example["metadata"]}
    # The split is a field of its own when written, and part of the metadata when read.
    return {**example, "id": there["id"], "metadata": metadata, "split": metadata.pop(SPLIT, None)}


def _send_examples(server: LangSmith, dataset_id: str, work: _Work) -> None:
    create = partial(server.client.create_examples, dataset_id=dataset_id)
    for part in batches([_as_created(example) for example in work.missing], _AT_ONCE):
        server.call_sdk(partial(create, examples=part))
    update = partial(server.client.update_examples, dataset_id=dataset_id)
    for part in batches(work.changed, _AT_ONCE):
        server.call_sdk(partial(update, updates=part))


def _as_created(example: Example) -> Example:
    """Return an example by the names that this version of the SDK has for what is created."""
    schemas = extra_module("langsmith.schemas", feature="uploading to LangSmith", extra=EXTRA)
    if "reference_outputs" not in schemas.ExampleCreate.__annotations__:
        return example
    return {"reference_outputs" if name == "outputs" else name: value for name, value in example.items()}
