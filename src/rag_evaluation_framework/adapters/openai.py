"""Chat, embeddings, model as target."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Self
from urllib.parse import urlsplit

from msgspec.structs import replace

from rag_evaluation_framework.adapters.calls import MAX_ATTEMPTS, BackgroundLoop, SharedAttempts
from rag_evaluation_framework.adapters.http_agent import HttpAgent, checked_headers, joined_address
from rag_evaluation_framework.adapters.http_client import (
    JSON_HEADERS,
    HttpClient,
    Reply,
    header_mask,
    reply_value,
)
from rag_evaluation_framework.errors import (
    InputError,
    MissingKeyError,
    ModelError,
    TargetError,
    UsageError,
    counted,
    shown,
)
from rag_evaluation_framework.evaluation.attempts import was_reached
from rag_evaluation_framework.evaluation.secrets import secrets_in_address, shown_address
from rag_evaluation_framework.extensions import Specification
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.models.chat import Completion, EndpointWatch, Message, Schema
from rag_evaluation_framework.models.clients import (
    NO_CONCESSIONS,
    REFUSED_STATUSES,
    ChatSettings,
    completion_of,
    concession,
    usage_of,
)
from rag_evaluation_framework.models.spending import Prices, Spending
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.samples import Sample, Turn, Usage
from rag_evaluation_framework.retrieval.embedders import EmbedderByRole, Role, given_prefixes, prompts_for
from rag_evaluation_framework.retrieval.stores import Matrix, checked_price, checked_vectors

# A language model behind an OpenAI-compatible endpoint as the system under test.
#
# What it is asked: the prompt that the dataset recorded (``rag_prompt``), else the recorded contexts with
# the question in :data:`TEMPLATE`, else the conversation as it stands.

BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

TEMPLATE = """\
Answer the question from the numbered contexts alone, and cite them as [1], [2].
If they do not hold the answer, say so.

Contexts:
{contexts}

Question: {question}"""


class OpenAIModel:
    """A model by itself, without retrieval. ``temperature=None`` leaves the endpoint's own, which some models
    require.

    The key is read from the environment variable ``key_env``. Only ``api.openai.com`` cannot do without one.
    """

    takes_history = True  # each turn is sent with those before it

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key_env: str | None = None,
        temperature: float | None = 0,
        max_tokens: int | None = None,
        mask: Callable[[str], str] | None = None,
    ) -> None:
        self._agent = HttpAgent(
            base_url,
            path="/chat/completions",
            protocol="openai-compatible",
            model=model,
            secret_headers=_bearer(model, key_env, needs_key=base_url == BASE_URL),
            body=strict_json.drop_nulls({"temperature": temperature, "max_tokens": max_tokens}),
            mask=mask,
        )
        self.name = model

    async def answer(self, request: Request) -> Response:
        """Ask the model once, or turn by turn where the sample is a conversation without contexts."""
        return await self._agent.answer(replace(request, sample=prompted(request.sample)))

    async def close(self) -> None:
        await self._agent.close()


def prompted(sample: Sample) -> Sample:
    """Return the sample as the model is asked it: one user turn, where there is a prompt to make."""
    recorded = sample.recorded
    if recorded is None or not (recorded.prompt or recorded.contexts):
        return sample
    prompt = recorded.prompt or TEMPLATE.format(
        contexts="\n".join(
            context if context.startswith(f"[{number}]") else f"[{number}] {context}"
            for number, context in enumerate(recorded.contexts, 1)
        ),
        question=sample.question,
    )
    return replace(sample, turns=(Turn(role="user", content=prompt),))


def _bearer(model: str, key_env: str | None, *, needs_key: bool) -> dict[str, str]:
    """Return the header with the key, or none where there is no key and the endpoint may do without."""
    variable = key_env or KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not key and (key_env or needs_key):
        raise MissingKeyError(model, variable, None if key_env else "key_env")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _address(base_url: str, path: str) -> str:
    address = joined_address(base_url, path)
    if urlsplit(address).username is not None:
        raise UsageError("openai: base_url: expected no user and password. Set the key with key_env")
    return address


def _headers(bearer: Mapping[str, str]) -> dict[str, str]:
    return {**JSON_HEADERS, **checked_headers(bearer)}


# Embeddings from OpenAI, or from any server that speaks its protocol: ``POST {base_url}/embeddings``.
#
# Texts go out in batches, a few at once. The key is read from the environment when a text is embedded; an
# embedder is built without one. Only ``api.openai.com`` cannot do without. The address is ``base_url``,
# else ``OPENAI_BASE_URL``, else OpenAI's.

MODEL = "text-embedding-3-small"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"

_BATCH_TEXTS = 64
# OpenAI takes 300,000 tokens a request; a character is hardly ever more than one.
_BATCH_CHARACTERS = 250_000
_MAX_BODY_BYTES = 100_000_000


class OpenAIEmbedder(EmbedderByRole):
    """A model behind an endpoint like OpenAI's.

    ``tokens_used`` is the number of tokens that the server reported, ``None`` if it did not;
    ``characters_used`` is the number of characters sent.

    Args:
        model: Name of the model.
        base_url: Address of the API.
        key_env: Environment variable with the API key.
        dimensions: Number of dimensions, for models that can shorten their vectors.
        concurrency: Maximum number of requests at a time.
        timeout: Time limit of a request, in seconds.
        price: US dollars per million tokens, for reports.
        query_prefix: Prefix of queries; by default the one of the model's training (E5, BGE, Nomic …), ``""``
            for none.
        document_prefix: Prefix of documents, likewise.
    """

    def __init__(
        self,
        model: str = MODEL,
        base_url: str | None = None,
        *,
        key_env: str = KEY_VARIABLE,
        dimensions: int | None = None,
        concurrency: int = 4,
        timeout: float = 60.0,
        price: float | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        base_url = base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
        self._url = _address(base_url, "/embeddings")
        self._given = given_prefixes(query_prefix, document_prefix)
        self._prompts = prompts_for(model, query_prefix=query_prefix, document_prefix=document_prefix)
        if concurrency < 1 or timeout <= 0:
            found = f"{shown(concurrency)} and {shown(timeout)}"
            raise UsageError(
                f"openai: expected a concurrency of at least 1 and a timeout above 0, got {found}"
            )
        self.model, self.base_url, self.key_env = model, base_url, key_env
        self.dimensions = dimensions
        self.price = checked_price(price, "openai")
        self.tokens_used: int | None = 0
        self.characters_used = 0
        self._concurrency, self._timeout = concurrency, timeout

    def __repr__(self) -> str:
        place = self.base_url if self.base_url != BASE_URL else None
        given = {"model": self.model, "base_url": place, "dimensions": self.dimensions, **self._given}
        return str(Specification("openai", strict_json.drop_nulls(given)))

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefix of each query and each document."""
        return self._prompts.roles

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        texts = [getattr(self._prompts, role) + text for text in texts]
        own_key = None if self.key_env == KEY_VARIABLE else self.key_env
        headers = _headers(_bearer(self.model, own_key, needs_key=self.base_url == BASE_URL))
        parts = self._all(list(_batches(texts)), headers) if texts else []
        self.characters_used += sum(map(len, texts))
        for _, tokens in parts:
            if self.tokens_used is not None:
                self.tokens_used = None if tokens is None else self.tokens_used + tokens
        rows = [row for vectors, _ in parts for row in vectors]
        return checked_vectors(rows, f"embedder {self}", rows=len(texts), dimensions=self.dimensions)

    def _all(
        self, parts: Sequence[Sequence[str]], headers: dict[str, str]
    ) -> list[tuple[Matrix, int | None]]:
        client = HttpClient(max_body_bytes=_MAX_BODY_BYTES)
        attempts = SharedAttempts(concurrency=self._concurrency, max_attempts=MAX_ATTEMPTS)

        async def ask() -> list[tuple[Matrix, int | None]]:
            work = [partial(self._embed_batch, client, texts, headers) for texts in parts]
            return await asyncio.gather(
                *(attempts.attempt(each, str(number)) for number, each in enumerate(work))
            )

        loop = BackgroundLoop(client.close)
        try:
            return loop.run(ask())
        except TargetError as error:
            where = f"embedder {self} at {shown_address(self._url)}"
            raise TargetError(error.kind, f"{where}: {error.message}") from error
        finally:
            loop.close()

    async def _embed_batch(
        self, client: HttpClient, texts: Sequence[str], headers: dict[str, str]
    ) -> tuple[Matrix, int | None]:
        """Send one batch and return its vectors, in order, and the tokens it took, if the server tells."""
        asked: dict[str, Any] = {
            "model": self.model,
            "input": [text or " " for text in texts],  # an empty text is refused by OpenAI
            "encoding_format": "float",
        }
        asked |= {"dimensions": self.dimensions} if self.dimensions is not None else {}
        reply = await client.request(
            self._url, strict_json.encode(asked), headers=headers, timeout=self._timeout
        )
        mask = header_mask([headers.get("Authorization", "")])
        rows, tokens = _rows_of(reply_value(reply, url=self._url, mask=mask), len(texts))
        return checked_vectors(rows, f"embedder {self}", dimensions=self.dimensions), tokens


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut texts into batches of bounded number and length, in order."""
    batch: list[str] = []
    length = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or length + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, length = [], 0
        batch.append(text)
        length += len(text)
    if batch:
        yield batch


def _rows_of(value: Any, count: int) -> tuple[list[Any], int | None]:
    """Read ``{"data": [{"index", "embedding"}…], "usage": …}``; anything else is a failure that says so."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list) or not all(isinstance(it, dict) and "embedding" in it for it in data):
        raise TargetError("no-embeddings", f"expected data with embeddings, got {shown(value)}")
    rows = dict(enumerate(it["embedding"] for it in data))
    if all(isinstance(it.get("index"), int) for it in data):
        rows = {it["index"]: it["embedding"] for it in data}
    if sorted(rows) != list(range(count)):
        raise TargetError(
            "no-embeddings", f"expected {counted(count, 'embedding')}, one per text, got {len(data)}"
        )
    usage = value.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return [rows[number] for number in range(count)], tokens if isinstance(tokens, int) else None


# A chat model behind an OpenAI-compatible endpoint: ``POST {base_url}/chat/completions``.
#
# It is asked from any number of threads, and from within an event loop, over connections that are kept open.


CAPPED_TOKENS = 4096
"""Maximum tokens of a reply where spending has a cap and the model no limit of its own."""
MISSING_PRICE = (
    "--max-cost: {name} has no price. Set its price in US dollars per million tokens: "
    "openai(model={name}, price_input=…, price_output=…)"
)

# What endpoints add to the messages by themselves: a few marks around each, and a few lines at the beginning.
_TEMPLATE_TOKENS = 200
_HOLD_SECONDS = 0.01
_OPENED = frozenset({"_attempts", "_client", "_outages", "_loop"})
_REFUSALS_FROM = 300


class OpenAIChatModel:
    """A chat model behind an endpoint like OpenAI's.

    The key is read from the environment variable ``key_env``; only ``api.openai.com`` cannot do without one.
    The address is ``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's. At most ``concurrency`` requests are
    with the endpoint at once, fewer while it asks for less; ``timeout`` is what one attempt may take.
    ``temperature=None`` leaves the endpoint's own; at 0, every ``draw`` but the first is asked for at
    :data:`DRAW_TEMPERATURE`, since it would be the first again. Prices are dollars for a million tokens.
    ``spending`` counts every reply that the endpoint was paid for, of those that cannot be used too. If it
    has a cap, the model needs prices; a reply then has at most ``max_tokens`` or :data:`CAPPED_TOKENS`, and
    an attempt that ends without a reply, as by a time-out, counts as what it may have cost.
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
            expected = "a concurrency and max_attempts of at least 1 and a timeout above 0"
            raise UsageError(f"openai: expected {expected}, got {found}")
        self.name = model
        self.spending = spending or Spending()
        if self.spending.cap is not None and (price_input is None or price_output is None):
            raise UsageError(MISSING_PRICE.format(name=model))
        self._url = _address(base_url, "/chat/completions")
        self._headers = _headers(_bearer(model, key_env, needs_key=base_url == BASE_URL))
        self._mask = header_mask([self._headers.get("Authorization", ""), *secrets_in_address(base_url)])
        self._settings = ChatSettings(model=model, temperature=temperature, max_tokens=max_tokens, seed=seed)
        self.prices = _prices(price_input, price_output)
        self._timeout, self._concurrency, self._max_attempts = timeout, concurrency, max_attempts
        self._conceded = NO_CONCESSIONS
        self._open()

    def _open(self) -> None:
        self._attempts = SharedAttempts(concurrency=self._concurrency, max_attempts=self._max_attempts)
        self._client = HttpClient()
        self._outages = EndpointWatch()
        self._loop = BackgroundLoop(self._client.close)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connections behind: a copy in another process opens its own, with the same key."""
        return {name: value for name, value in self.__dict__.items() if name not in _OPENED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cache_key(self) -> str:
        """Return a key that identifies this endpoint and its settings."""
        return f"{shown_address(self._url)} {self._settings}"

    @property
    def endpoint(self) -> dict[str, Any]:
        """Return the address and the settings of the model."""
        return {"url": shown_address(self._url), **self._settings.to_dict()}

    @property
    def waiting(self) -> int:
        """Return the number of questions that wait for a retry."""
        return self._attempts.waiting

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        """Ask the endpoint, again where it fails in passing; what remains is a :class:`ModelError`."""
        try:
            reply = self._loop.run(self._reply(tuple(messages), schema, draw))
        except TargetError as error:
            failure = self._failure(error.kind, error.message)
            raise self._outages.failed(failure) from error
        except InputError as error:
            raise self._failure("invalid-request", str(error)) from error
        except CancelledError:
            raise self._failure("closed", "the model was closed during the request") from None
        self._outages.answered()
        return completion_of(reply, self.prices)

    def counted_in(self, spending: Spending) -> OpenAIChatModel:
        """Return the same model, over the same connections, that counts and is capped by another total."""
        if spending.cap is not None and self.prices is None:
            raise UsageError(MISSING_PRICE.format(name=self.name))
        model = object.__new__(OpenAIChatModel)
        model.__dict__.update(self.__dict__, spending=spending)
        return model

    def close(self, *, for_good: bool = False) -> None:
        """Close the connections; whoever is waiting for a reply gets a ``ModelError``.

        Who asks later opens them again, unless they are closed ``for_good``: then he gets one too.
        """
        self._loop.close(for_good=for_good)

    async def _reply(self, messages: Sequence[Message], schema: Schema | None, draw: int) -> Any:
        key = f"{draw} {messages[-1].content if messages else ''}"
        return await self._attempts.attempt(lambda: self._attempt(messages, schema, draw), key)

    async def _attempt(self, messages: Sequence[Message], schema: Schema | None, draw: int) -> Any:
        """Make one attempt; what the endpoint refuses in the request is conceded and sent again at once."""
        conceded, settings = self._conceded, self._settings
        if self.spending.cap is not None and settings.max_tokens is None:
            settings = replace(settings, max_tokens=CAPPED_TOKENS)
        while True:
            body = settings.body(messages, schema=schema, draw=draw, conceded=conceded)
            reply, held = await self._sent(strict_json.encode(body), settings.max_tokens or 0)
            # What is refused costs nothing; what cannot be read may have cost all that it could.
            paid: float | None = held if reply.status < _REFUSALS_FROM else 0.0
            try:
                complaint = reply.body.decode("utf-8", "replace") if reply.status in REFUSED_STATUSES else ""
                granted = concession(body, complaint)
                if granted is None:
                    value, paid = reply_value(reply, url=self._url, mask=self._mask), None
                    self.spending.add(usage_of(value, self.prices), held=held)
                    self._conceded |= conceded
                    return value
            finally:
                if paid is not None:
                    self.spending.charge(paid, held=held)
            conceded |= {granted}

    async def _sent(self, body: bytes, max_tokens: int) -> tuple[Reply, float]:
        """Send a request once what it may cost at most is set aside; return that beside the reply."""
        most = 0.0
        if self.spending.cap is not None and self.prices is not None:
            # No tokeniser makes more tokens of a text than it has bytes.
            worst = Usage(input_tokens=len(body) + _TEMPLATE_TOKENS, output_tokens=max_tokens)
            most = self.prices.cost(worst) or 0.0
        while not self.spending.hold(most):
            await asyncio.sleep(_HOLD_SECONDS)
        paid: float | None = most  # a request that nobody answers may have been worked on
        try:
            reply = await self._client.request(self._url, body, headers=self._headers, timeout=self._timeout)
            paid = None
        except TargetError as error:
            paid = most if was_reached(error) else 0.0
            raise
        finally:
            if paid is not None:
                self.spending.charge(paid, held=most)
        return reply, most

    def _failure(self, kind: str, message: str) -> ModelError:
        return ModelError(kind, f"{self.name} at {shown_address(self._url)}: {message}")


def _prices(price_input: float | None, price_output: float | None) -> Prices | None:
    if price_input is None and price_output is None:
        return None
    if price_input is None or price_output is None:
        raise UsageError("openai: expected both price_input and price_output, got only one")
    return Prices(price_input, price_output)
