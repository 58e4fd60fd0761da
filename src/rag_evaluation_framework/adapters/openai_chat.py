"""A chat model behind an OpenAI-compatible endpoint: ``POST {base_url}/chat/completions``.

It is asked from any number of threads, and from within an event loop, over connections that are kept open.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from rag_evaluation_framework.adapters.background_loop import BackgroundLoop
from rag_evaluation_framework.adapters.http_agent import (
    checked_headers,
    joined_address,
    secrets_in_address,
    shown_address,
)
from rag_evaluation_framework.adapters.http_client import HttpClient
from rag_evaluation_framework.adapters.http_replies import reply_value
from rag_evaluation_framework.adapters.masking import header_mask
from rag_evaluation_framework.adapters.openai_embeddings import ADDRESS_VARIABLE
from rag_evaluation_framework.adapters.openai_model import BASE_URL, KEY_VARIABLE
from rag_evaluation_framework.adapters.shared_attempts import SharedAttempts
from rag_evaluation_framework.errors import InputError, ModelError, TargetError, UsageError, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.language_models.chat import Completion, Message
from rag_evaluation_framework.language_models.endpoint_watch import EndpointWatch
from rag_evaluation_framework.language_models.openai_protocol import (
    NO_CONCESSIONS,
    REFUSED_STATUSES,
    ChatSettings,
    completion_of,
    concession,
    usage_of,
)
from rag_evaluation_framework.language_models.spending import Prices, Spending
from rag_evaluation_framework.version import __version__


class OpenAIChatModel:
    """Fulfils ``ChatModel``.

    The key is read from the environment variable ``key_env``; only ``api.openai.com`` cannot do without one.
    The address is ``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's. At most ``concurrency`` requests are
    with the endpoint at once, fewer while it asks for less; ``timeout`` is what one attempt may take.
    ``temperature=None`` leaves the endpoint's own; at 0, every ``draw`` but the first is asked for at
    :data:`DRAW_TEMPERATURE`, since it would be the first again. Prices are dollars for a million tokens.
    ``spending`` counts every reply that the endpoint was paid for, of those that cannot be used too.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str | None = None,
        temperature: float | None = 0,
        max_tokens: int | None = None,
        seed: int | None = None,
        concurrency: int = 16,
        timeout: float = 60.0,
        max_attempts: int = 5,
        price_input: float | None = None,
        price_output: float | None = None,
        spending: Spending | None = None,
    ) -> None:
        base_url = base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
        if concurrency < 1 or max_attempts < 1 or timeout <= 0:
            found = f"{shown(concurrency)}, {shown(max_attempts)} and {shown(timeout)}"
            expected = "concurrency and max_attempts of at least 1 and a timeout above 0"
            raise UsageError(f"openai: expected {expected}, got {found}")
        self.name = model
        self.spending = spending or Spending()
        self._url = joined_address(base_url, "/chat/completions")
        self._headers = _headers(self._url, key_env, needs_key=base_url == BASE_URL)
        self._mask = header_mask([self._headers.get("Authorization", ""), *secrets_in_address(base_url)])
        self._settings = ChatSettings(model=model, temperature=temperature, max_tokens=max_tokens, seed=seed)
        self._prices = _prices(price_input, price_output)
        self._timeout = timeout
        self._attempts = SharedAttempts(concurrency=concurrency, max_attempts=max_attempts)
        self._client = HttpClient()
        self._conceded = NO_CONCESSIONS
        self._outages = EndpointWatch()
        self._loop = BackgroundLoop(self._client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def cache_key(self) -> str:
        """What tells this endpoint and its settings from others."""
        return f"{shown_address(self._url)} {self._settings}"

    @property
    def endpoint(self) -> dict[str, Any]:
        """Where the model is asked, and with which settings."""
        return {"url": shown_address(self._url), **self._settings.to_dict()}

    @property
    def waiting(self) -> int:
        """How many questions wait to be put again: the endpoint failed, or asked for less."""
        return self._attempts.waiting

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        """Ask the endpoint, again where it fails in passing; what remains is a :class:`ModelError`."""
        try:
            reply = self._loop.run(self._reply(tuple(messages), schema, draw))
        except TargetError as error:
            failure = self._failure(error.kind, error.message)
            raise self._outages.failed(failure) from error
        except InputError as error:
            raise self._failure("invalid-request", str(error)) from error
        except CancelledError:
            raise self._failure("closed", "the model was closed while it was asked") from None
        self._outages.answered()
        self.spending.add(usage_of(reply, self._prices))
        return completion_of(reply, self._prices)

    def close(self, *, for_good: bool = False) -> None:
        """Close the connections; whoever is waiting for a reply gets a ``ModelError``.

        Who asks later opens them again, unless they are closed ``for_good``: then he gets one too.
        """
        self._loop.close(for_good=for_good)

    async def _reply(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, draw: int) -> Any:
        key = f"{draw} {messages[-1].content if messages else ''}"
        return await self._attempts.attempt(lambda: self._attempt(messages, schema, draw), key)

    async def _attempt(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, draw: int) -> Any:
        """Make one attempt; what the endpoint refuses in the request is conceded and sent again at once."""
        conceded = self._conceded
        while True:
            body = self._settings.body(messages, schema=schema, draw=draw, conceded=conceded)
            reply = await self._client.post(
                self._url, strict_json.encode(body), headers=self._headers, timeout=self._timeout
            )
            complaint = reply.body.decode("utf-8", "replace") if reply.status in REFUSED_STATUSES else ""
            granted = concession(body, complaint)
            if granted is None:
                value = reply_value(reply, url=self._url, mask=self._mask)
                self._conceded |= conceded
                return value
            conceded |= {granted}

    def _failure(self, kind: str, message: str) -> ModelError:
        return ModelError(kind, f"{self.name} at {shown_address(self._url)}: {message}")


def _headers(url: str, key_env: str | None, *, needs_key: bool) -> dict[str, str]:
    if urlsplit(url).username is not None:
        raise UsageError("openai: base_url: expected no user and password; keys come from key_env")
    variable = key_env or KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not key and (key_env or needs_key):
        raise UsageError(f"openai: expected a key in the environment variable {variable}")
    return {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": f"rag-evaluation-framework/{__version__}",
        **checked_headers({"Authorization": f"Bearer {key}"} if key else {}),
    }


def _prices(price_input: float | None, price_output: float | None) -> Prices | None:
    if price_input is None and price_output is None:
        return None
    if price_input is None or price_output is None:
        raise UsageError("openai: expected price_input and price_output together, got one of them")
    return Prices(price_input, price_output)
