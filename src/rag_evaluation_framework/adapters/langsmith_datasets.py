"""Datasets at LangSmith, read by name with its SDK.

The SDK knows the server (``LANGSMITH_ENDPOINT``), the workspace and how to sign in; nothing is traced. It
retries nothing: that is done here, page by page, by the rules that hold for every request. Examples are read
by LangSmith's dialect, as if they stood in a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from rag_evaluation_framework.adapters.attempts import attempted
from rag_evaluation_framework.adapters.extras import extra_module
from rag_evaluation_framework.adapters.http_agent import checked_headers, joined_address, shown_address
from rag_evaluation_framework.adapters.http_client import Reply
from rag_evaluation_framework.adapters.http_status import status_failure
from rag_evaluation_framework.adapters.masking import header_mask
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.dialects.langsmith import LANGSMITH
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    MissingDatasetError,
    TargetError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.retrieval_datasets import API_KEYS
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.samples import Origin, Sample

EXTRA = "langsmith"
EXAMPLES_AT_ONCE = 100  # the most that LangSmith gives

T = TypeVar("T")


def read_langsmith_dataset(name: str) -> Dataset:
    """Read the dataset of this name; all problems of its examples are in one ``InputError``."""
    with _connected(f"reading the dataset {shown(name)} from LangSmith") as server:
        dataset_id, description = server.dataset(name)
        problems = FileProblems(f"LangSmith dataset {shown(name)}")
        samples = tuple(_samples(server.examples(dataset_id), problems))
    return Dataset(samples=samples, dialect=LANGSMITH.name, name=name, description=description)


@dataclass(frozen=True, slots=True)
class _Server:
    """LangSmith as the SDK's client reaches it; what the client raises becomes an error of ours."""

    client: Any
    key: str = field(repr=False)
    key_variable: str
    errors: Any
    """The SDK's exceptions; those of :attr:`requests`, on which it stands, come through it as well."""
    requests: Any

    def __str__(self) -> str:
        return f"LangSmith at {shown_address(self.client.api_url)}"

    def dataset(self, name: str) -> tuple[str, str | None]:
        """Return the id and the description of a dataset."""
        missing = MissingDatasetError(f"no dataset {shown(name)}: {self} has none of this name")
        try:
            found = self._asked(partial(self.client.read_dataset, dataset_name=name))
        except self.errors.LangSmithNotFoundError:
            raise missing from None
        if found.name != name:
            raise missing
        return str(found.id), found.description

    def examples(self, dataset_id: str) -> Iterator[Mapping[str, Any]]:
        """Yield the examples, page by page.

        The SDK's own list is not used: where a workspace has no projects, it asks for one again with every
        single example.
        """
        offset = 0
        while page := self._asked(partial(self._page, dataset_id, offset)):
            yield from page
            offset += len(page)
            if len(page) < EXAMPLES_AT_ONCE:
                return

    def _page(self, dataset_id: str, offset: int) -> list[Mapping[str, Any]]:
        window = {"offset": offset, "limit": EXAMPLES_AT_ONCE}
        asked = {"dataset": dataset_id, "inline_s3_urls": True, **window}
        body = self.client.request_with_retries("GET", "/examples", params=asked).content
        page = strict_json.decode(body, file=f"{self}: /examples")
        if not isinstance(page, list) or not all(isinstance(example, dict) for example in page):
            raise ValueError("not a page of examples")
        return page

    def _asked(self, call: Callable[[], T]) -> T:
        return attempted(lambda: self._asked_once(call), str(self))

    def _asked_once(self, call: Callable[[], T]) -> T:
        # The SDK meets replies that are not LangSmith's unprepared: with the errors that Python has for that.
        unprepared = (ValueError, TypeError, KeyError, AttributeError)
        try:
            return call()
        except InputError:
            raise
        except (self.errors.LangSmithError, self.requests.RequestException, *unprepared) as error:
            if isinstance(error, self.errors.LangSmithNotFoundError) and self._response(error) is None:
                raise
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> TargetError | UsageError:
        """Return what went wrong in a line of ours: the SDK's own would show the key, or parts of it."""
        response = self._response(error)
        if response is None:
            return self._failure_without_reply(error)
        headers = {name.lower(): value for name, value in response.headers.items()}
        headers.pop("content-encoding", None)  # the SDK has unpacked the body
        reply = Reply(status=response.status_code, headers=headers, body=response.content)
        failure = status_failure(reply, url=self.client.api_url, mask=header_mask([self.key]))
        if failure is None:
            return self._failure_without_reply(error)
        if response.status_code in (401, 403):
            told = f"expected a key that it accepts in {self.key_variable}, got one that it refuses"
            return UsageError(f"{self}: {told}: {failure.message}")
        return TargetError(
            failure.kind,
            f"{self}: {failure.message}",
            retry=failure.retry,
            throttled=failure.throttled,
            retry_after=failure.retry_after,
        )

    def _failure_without_reply(self, error: Exception) -> TargetError:
        causes = list(_causes(error))
        if any(isinstance(cause, self.requests.Timeout) for cause in causes):
            return TargetError("timeout", f"{self}: no complete reply in time", retry=True)
        lost = (self.requests.ConnectionError, self.requests.exceptions.ChunkedEncodingError)
        if any(isinstance(cause, lost) for cause in causes):
            return TargetError(
                "connection-failed", f"{self}: cannot connect, or lost the connection", retry=True
            )
        if isinstance(error, self.errors.LangSmithError):
            return TargetError("request-failed", f"{self}: its SDK failed with {type(causes[-1]).__name__}")
        return TargetError("wrong-reply", f"{self}: expected a reply of LangSmith's, got another")

    def _response(self, error: BaseException) -> Any:
        """Return the reply that an error is about, or ``None`` where there was none."""
        replies = (cause.response for cause in _causes(error) if isinstance(cause, self.requests.HTTPError))
        return next((reply for reply in replies if reply is not None), None)


@contextmanager
def _connected(feature: str) -> Iterator[_Server]:
    """Open a connection for as long as the block lasts."""
    extra = partial(extra_module, feature=feature, extra=EXTRA)
    sdk, errors, requests = extra("langsmith"), extra("langsmith.utils"), extra("requests")
    key_variable = next((name for name in API_KEYS if os.environ.get(name)), API_KEYS[0])
    key = os.environ.get(key_variable, "").strip()
    if not key:
        raise UsageError(f"{feature} needs a key in the environment variable {API_KEYS[0]}")
    checked_headers({"x-api-key": key})
    with requests.Session() as session:
        try:
            client = sdk.Client(
                api_key=key,
                session=session,
                retry_config=extra("urllib3.util").Retry(0),
                auto_batch_tracing=False,
            )
            joined_address(client.api_url, "")
        except (errors.LangSmithError, ValueError) as error:
            told = " ".join(header_mask([key])(str(error)).split())
            raise UsageError(f"{feature}: the settings of its SDK in the environment: {told}") from None
        yield _Server(client, key, key_variable, errors, requests)


def _samples(examples: Iterable[Mapping[str, Any]], problems: FileProblems) -> Iterator[Sample]:
    """Yield the good samples; the problems of all the others are raised together at the end."""
    seen: set[str] = set()
    for example in examples:
        record = _record(example)
        within = f"example {record['id']!r}"
        issues = schema_issues(LANGSMITH.kind, record)
        try:
            sample = None if issues else LANGSMITH.sample(record)
        except InputError as error:
            sample, issues = None, list(error.issues)
        if sample is None:
            problems.extend(issue.located(within=within) for issue in issues)
        elif sample.id in seen:
            problems.add(Issue("duplicate-id", "each example once", f"{sample.id!r} again"))
        else:
            seen.add(sample.id)
            yield replace(sample, origin=Origin(LANGSMITH.name))
    problems.raise_if_any()


def _record(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example as a file would have it, without what the server says about its keeping."""
    outputs, metadata = example.get("outputs"), example.get("metadata") or {}
    record = {"id": example.get("id"), "inputs": example.get("inputs"), "outputs": outputs}
    if not metadata:
        return record
    within = outputs.get("metadata") if isinstance(outputs, dict) else None
    # LangSmith adds metadata of its own (the split), also where an example has them within the outputs.
    if isinstance(outputs, dict) and isinstance(within, dict) and not metadata.keys() & within.keys():
        metadata = {**within, **metadata}
        record["outputs"] = {name: value for name, value in outputs.items() if name != "metadata"}
    return {**record, "metadata": metadata}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it, the nearest first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
