"""LangSmith as its SDK reaches it: what reading, uploading and experiments share.

The SDK knows the server (``LANGSMITH_ENDPOINT``), the workspace and how to sign in; nothing is traced. It
retries nothing: that is done here, request by request, by the rules that hold for every request. What it
raises becomes an error of ours, in which the key is hidden.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
from rag_evaluation_framework.errors import InputError, TargetError, UsageError
from rag_evaluation_framework.evaluation.hosted_datasets import API_KEYS
from rag_evaluation_framework.files import strict_json

EXTRA = "langsmith"
EXAMPLES_AT_ONCE = 100  # the most that LangSmith gives
CONFLICT = "http-409"
_NOT_FOUND = "not-found"  # said by the SDK of an empty list; a server's 404 is another failure
TIMEOUT_MS = (10_000, 90_000)  # to connect, and between two parts of a reply

# The SDK meets replies that are not LangSmith's unprepared: with the errors that Python has for that.
_UNPREPARED = (ValueError, TypeError, KeyError, AttributeError)

T = TypeVar("T")


@contextmanager
def connected(feature: str, *, to_upload: bool = False) -> Iterator[LangSmith]:
    """Open a connection for as long as the block lasts; ``feature`` is what needs it.

    How a server takes examples is asked for here ``to_upload`` them: the SDK, which would do so by itself,
    takes no answer for an old server.
    """
    extra = partial(extra_module, feature=feature, extra=EXTRA)
    sdk, errors, requests = extra("langsmith"), extra("langsmith.utils"), extra("requests")
    key_variable = next((name for name in API_KEYS if os.environ.get(name)), API_KEYS[0])
    key = os.environ.get(key_variable, "").strip()
    if not key:
        raise UsageError(f"{feature} needs a key in the environment variable {API_KEYS[0]}")
    checked_headers({"x-api-key": key})
    with requests.Session() as session:
        session.max_redirects = 0  # a redirect would take the key along
        client_of = partial(
            sdk.Client,
            api_key=key,
            session=session,
            timeout_ms=TIMEOUT_MS,
            retry_config=extra("urllib3.util").Retry(0, read=False),
            auto_batch_tracing=False,
        )
        try:
            server = LangSmith(client_of(), key, key_variable, errors, requests)
            joined_address(server.client.api_url, "")
        except (errors.LangSmithError, ValueError) as error:
            told = " ".join(header_mask([key])(str(error)).split())
            raise UsageError(f"{feature}: the settings of its SDK in the environment: {told}") from None
        yield replace(server, client=client_of(info=server.abilities())) if to_upload else server


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

    def asked(self, call: Callable[[], T]) -> T:
        """Make a call of the SDK's, again where that may help; its failure is an error of ours."""
        return attempted(lambda: self._asked_once(call), str(self))

    def dataset(self, name: str) -> Any | None:
        """Return the SDK's record of the dataset of this name, or ``None`` where there is none."""
        try:
            found = self.asked(partial(self.client.read_dataset, dataset_name=name))
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
        while page := self.asked(partial(self._page, dataset_id, offset)):
            yield from page
            offset += len(page)
            if len(page) < EXAMPLES_AT_ONCE:
                return

    def abilities(self) -> dict[str, Any]:
        """Return what a server says of itself; old ones say nothing."""
        try:
            told = self.asked(lambda: self.client.request_with_retries("GET", "/info").json())
        except TargetError as error:
            if error.kind != "http-404":
                raise
            return {}
        return told if isinstance(told, dict) else {}

    def send(self, method: str, path: str, **request: Any) -> None:
        """Send what the SDK has no call for."""
        self.asked(partial(self.client.request_with_retries, method, path, request_kwargs=request))

    def _page(self, dataset_id: str, offset: int) -> list[dict[str, Any]]:
        window = {"offset": offset, "limit": EXAMPLES_AT_ONCE}
        asked = {"dataset": dataset_id, "inline_s3_urls": True, **window}
        body = self.client.request_with_retries("GET", "/examples", params=asked).content
        page = strict_json.decode(body, file=f"{self}: /examples")
        if not isinstance(page, list) or not all(isinstance(example, dict) for example in page):
            raise ValueError("not a page of examples")
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
        if isinstance(error, self.errors.LangSmithNotFoundError):
            return TargetError(_NOT_FOUND, f"{self}: it has nothing of this name")
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
        told = (self.requests.HTTPError, self.requests.TooManyRedirects)
        replies = (cause.response for cause in _causes(error) if isinstance(cause, told))
        return next((reply for reply in replies if reply is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it, the nearest first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
