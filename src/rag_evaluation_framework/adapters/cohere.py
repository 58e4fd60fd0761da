"""Embeddings and reranking by Cohere's endpoints, through its SDK.

The key is read from the environment when something is asked; embedders and rerankers are built without one.
The SDK retries nothing: that is done here, by the rules that hold for every request.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from rag_evaluation_framework.adapters.calls import attempted
from rag_evaluation_framework.adapters.extras import require_extra
from rag_evaluation_framework.adapters.http_agent import joined_address
from rag_evaluation_framework.adapters.http_client import header_mask, vendor_failure
from rag_evaluation_framework.errors import MissingKeyError, TargetError, UsageError, counted, shown
from rag_evaluation_framework.evaluation.secrets import shown_address
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import EmbedderByRole, Role, check_texts
from rag_evaluation_framework.retrieval.stores import (
    Matrix,
    batches,
    check_k,
    checked_price,
    checked_vectors,
    unit_vectors,
)

MODEL = "rerank-v3.5"
EMBEDDING_MODEL = "embed-v4.0"
BASE_URL = "https://api.cohere.com"
KEY_VARIABLES = ("CO_API_KEY", "COHERE_API_KEY")
ADDRESS_VARIABLE = "CO_API_URL"
"""Environment variable in which the SDK looks for another address than Cohere's."""
EXTRA = "cohere"

# https://cohere.com/pricing: a search is one query with up to so many documents to be ranked.
_DOCUMENTS_A_SEARCH = 100
# https://docs.cohere.com/reference/embed: so many texts at most in one request.
_TEXTS_A_REQUEST = 96
_INPUT_TYPES: dict[Role, str] = {"query": "search_query", "document": "search_document"}


class _CohereEndpoint:
    """A model of Cohere's, and the connection that all calls share.

    Key and address are those of the SDK's environment, ``CO_API_KEY`` and ``CO_API_URL``, unless
    ``base_url`` says otherwise.
    """

    role: str

    def __init__(self, model: str, base_url: str | None, *, timeout: float, price: float | None) -> None:
        require_extra("cohere", feature=type(self).__name__, extra=EXTRA)
        base_url = base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
        joined_address(base_url, "")
        if timeout <= 0:
            raise UsageError(f"cohere: timeout: expected a number above 0, got {shown(timeout)}")
        self.model, self.base_url = model, base_url
        self.price = checked_price(price, "cohere")
        self._timeout = timeout

    def __repr__(self) -> str:
        given: dict[str, Any] = {"model": self.model}
        given |= {"base_url": shown_address(self.base_url)} if self.base_url != BASE_URL else {}
        return str(Specification("cohere", given))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connection behind: a copy in another process opens its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_connection"}

    @cached_property
    def _connection(self) -> Any:
        """The connection that all calls share; it closes when the object goes."""
        httpx = extra_module("httpx", feature=type(self).__name__, extra=EXTRA)
        connection = httpx.Client(timeout=self._timeout)
        weakref.finalize(self, connection.close)
        return connection

    def _reply(self, method: str, text: str, **asked: Any) -> Any:
        """Call a method of the SDK, again where it fails in passing; what remains says where."""
        key = next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")
        if not key:
            raise MissingKeyError("cohere", KEY_VARIABLES[0], None)
        try:
            return attempted(lambda: self._called(method, key, asked), text)
        except TargetError as error:
            raise self._failed(error) from error

    def _failed(self, error: TargetError) -> TargetError:
        where = f"{self.role} {self} at {shown_address(self.base_url)}"
        return TargetError(error.kind, f"{where}: {error.message}")

    def _called(self, method: str, key: str, asked: dict[str, Any]) -> Any:
        feature = type(self).__name__
        cohere = extra_module("cohere", feature=feature, extra=EXTRA)
        httpx = extra_module("httpx", feature=feature, extra=EXTRA)
        errors = extra_module("cohere.core.api_error", feature=feature, extra=EXTRA)
        try:
            client = cohere.ClientV2(api_key=key, base_url=self.base_url, httpx_client=self._connection)
            return getattr(client, method)(model=self.model, **asked, request_options={"max_retries": 0})
        except errors.ApiError as error:
            body, status = str(error.body or "").encode(), error.status_code or 0
            mask = header_mask([key])
            failure = vendor_failure(status, error.headers or {}, body, url=self.base_url, mask=mask)
            expected = "expected a reply of the Cohere API, got another reply"
            raise failure or TargetError("malformed-json", expected, retry=True) from None
        except httpx.TimeoutException:
            raise TargetError("timeout", "timed out before the reply was complete", retry=True) from None
        except httpx.HTTPError as error:
            raise TargetError("connection-failed", f"cannot connect: {error}", retry=True) from None


class CohereEmbedder(EmbedderByRole, _CohereEndpoint):
    """A model of Cohere's: queries as ``search_query``, documents as ``search_document``.

    ``tokens_used`` is what Cohere billed, ``None`` once it did not say; ``characters_used`` is what was sent.
    ``price``, in US dollars for a million tokens, is for reports; it is no part of the name.
    """

    role = "embedder"
    roles: Mapping[str, str] = {role: f"input_type {name}" for role, name in _INPUT_TYPES.items()}

    def __init__(
        self,
        model: str = EMBEDDING_MODEL,
        base_url: str | None = None,
        *,
        timeout: float = 60.0,
        price: float | None = None,
    ) -> None:
        super().__init__(model, base_url, timeout=timeout, price=price)
        self.tokens_used: int | None = 0
        self.characters_used = 0

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        rows: list[Any] = []
        for batch in batches(texts, _TEXTS_A_REQUEST):
            reply = self._reply(
                "embed",
                batch[0],
                texts=[text or " " for text in batch],
                input_type=_INPUT_TYPES[role],
                embedding_types=["float"],
            )
            vectors = getattr(reply.embeddings, "float_", None) or []
            if len(vectors) != len(batch):
                expected = f"expected {counted(len(batch), 'embedding')}, one per text, got {len(vectors)}"
                raise self._failed(TargetError("no-embeddings", expected))
            rows += vectors
            self.characters_used += sum(map(len, batch))
            tokens = getattr(getattr(reply.meta, "billed_units", None), "input_tokens", None)
            if self.tokens_used is not None:
                self.tokens_used = None if tokens is None else self.tokens_used + int(tokens)
        return unit_vectors(checked_vectors(rows, f"embedder {self}", rows=len(texts)))


class CohereReranker(_CohereEndpoint):
    """A reranking model of Cohere's.

    Args:
        model: Name of the model.
        base_url: Address of the API.
        timeout: Time limit of a request, in seconds.
        price: US dollars per search, for reports.
    """

    role = "reranker"

    def __init__(
        self,
        model: str = MODEL,
        base_url: str | None = None,
        *,
        timeout: float = 60.0,
        price: float | None = None,
    ) -> None:
        super().__init__(model, base_url, timeout=timeout, price=price)
        self._searches: list[int] = []

    @property
    def searches_used(self) -> int:
        """Return the number of searches billed by Cohere, estimated if it reports none."""
        return sum(self._searches)

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        """Return the best k of the candidates by Cohere's score; ties keep the order they came in."""
        check_k(k)
        check_texts([query])
        if not chunks:
            return []
        documents = [chunk.content for chunk in chunks]
        reply = self._reply("rerank", query, query=query, documents=documents, top_n=len(chunks))
        units = getattr(getattr(reply.meta, "billed_units", None), "search_units", None)
        self._searches.append(-(-len(chunks) // _DOCUMENTS_A_SEARCH) if units is None else int(units))
        scores = {it.index: it.relevance_score for it in reply.results}
        if sorted(scores) != list(range(len(chunks))):
            expected = f"expected {counted(len(chunks), 'score')}, one per candidate, got {len(scores)}"
            raise self._failed(TargetError("wrong-scores", expected))
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [chunks[number] for number in best[:k]]
