"""Reranking by Cohere's rerank endpoint, through its SDK.

The key is read from the environment when something is reranked; a reranker is built without one. The SDK
retries nothing: that is done here, by the rules that hold for every request.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from rag_evaluation_framework.adapters.calls import attempted
from rag_evaluation_framework.adapters.extras import require_extra
from rag_evaluation_framework.adapters.http_agent import joined_address, shown_address
from rag_evaluation_framework.adapters.http_client import header_mask, vendor_failure
from rag_evaluation_framework.errors import TargetError, UsageError, counted, shown
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import check_texts
from rag_evaluation_framework.retrieval.stores import check_k, checked_price

MODEL = "rerank-v3.5"
BASE_URL = "https://api.cohere.com"
KEY_VARIABLES = ("CO_API_KEY", "COHERE_API_KEY")
ADDRESS_VARIABLE = "CO_API_URL"
"""Where the SDK itself looks for another address than Cohere's."""
EXTRA = "cohere"

_FEATURE = "CohereReranker"
# https://cohere.com/pricing: a search is one query with up to so many documents to be ranked.
_DOCUMENTS_A_SEARCH = 100


class CohereReranker:
    """Fulfils ``extensions.Reranker``.

    Key and address are those of the SDK's environment, ``CO_API_KEY`` and ``CO_API_URL``, unless
    ``base_url`` says otherwise. ``price``, in US dollars for one search, is for reports; it is no part of the
    name.
    """

    def __init__(
        self,
        model: str = MODEL,
        base_url: str | None = None,
        *,
        timeout: float = 60.0,
        price: float | None = None,
    ) -> None:
        require_extra("cohere", feature=_FEATURE, extra=EXTRA)
        base_url = base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
        joined_address(base_url, "")
        if timeout <= 0:
            raise UsageError(f"cohere: timeout: expected a number above 0, got {shown(timeout)}")
        self.model, self.base_url = model, base_url
        self.price = checked_price(price, "cohere")
        self._searches: list[int] = []
        self._timeout = timeout

    def __repr__(self) -> str:
        given = {"model": self.model}
        given |= {"base_url": shown_address(self.base_url)} if self.base_url != BASE_URL else {}
        return str(Specification("cohere", given))

    @property
    def searches_used(self) -> int:
        """How many searches Cohere has billed, or would have where it does not say."""
        return sum(self._searches)

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        """Return the best k of the candidates by Cohere's score; ties keep the order they came in."""
        check_k(k)
        check_texts([query])
        if not chunks:
            return []
        key = next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")
        if not key:
            raise UsageError(f"cohere: expected a key in the environment variable {KEY_VARIABLES[0]}")
        try:
            scores = attempted(lambda: self._scores(query, chunks, key), query)
        except TargetError as error:
            where = f"reranker {self} at {shown_address(self.base_url)}"
            raise TargetError(error.kind, f"{where}: {error.message}") from error
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [chunks[number] for number in best[:k]]

    def _scores(self, query: str, chunks: Sequence[PositionAwareChunk], key: str) -> dict[int, float]:
        """Ask once and return the score of each candidate, by its number."""
        cohere = extra_module("cohere", feature=_FEATURE, extra=EXTRA)
        httpx = extra_module("httpx", feature=_FEATURE, extra=EXTRA)
        errors = extra_module("cohere.core.api_error", feature=_FEATURE, extra=EXTRA)
        try:
            client = cohere.ClientV2(api_key=key, base_url=self.base_url, httpx_client=self._connection)
            reply = client.rerank(
                model=self.model,
                query=query,
                documents=[chunk.content for chunk in chunks],
                top_n=len(chunks),
                request_options={"max_retries": 0},
            )
        except errors.ApiError as error:
            raise _failure(error, url=self.base_url, mask=header_mask([key])) from None
        except httpx.TimeoutException:
            raise TargetError("timeout", "no complete reply in time", retry=True) from None
        except httpx.HTTPError as error:
            raise TargetError("connection-failed", f"cannot connect: {error}", retry=True) from None
        self._searches.append(_billed(reply, len(chunks)))
        return _checked({it.index: it.relevance_score for it in reply.results}, len(chunks))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connection behind: a copy in another process opens its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_connection"}

    @cached_property
    def _connection(self) -> Any:
        """The connection that all calls share; it closes when the reranker goes."""
        httpx = extra_module("httpx", feature=_FEATURE, extra=EXTRA)
        connection = httpx.Client(timeout=self._timeout)
        weakref.finalize(self, connection.close)
        return connection


def _billed(reply: Any, documents: int) -> int:
    """Return the searches of a reply; where it tells none, one for each hundred documents begun."""
    units = getattr(getattr(reply.meta, "billed_units", None), "search_units", None)
    return -(-documents // _DOCUMENTS_A_SEARCH) if units is None else int(units)


def _checked(scores: dict[int, float], count: int) -> dict[int, float]:
    if sorted(scores) != list(range(count)):
        raise TargetError(
            "wrong-scores", f"expected {counted(count, 'score')}, one a candidate, got {len(scores)}"
        )
    return scores


def _failure(error: Any, *, url: str, mask: Callable[[str], str]) -> TargetError:
    """Return what a status of Cohere's stands for: whether to try again, and after how long."""
    body = str(error.body or "").encode()
    failure = vendor_failure(error.status_code or 0, error.headers or {}, body, url=url, mask=mask)
    return failure or TargetError(
        "malformed-json", "expected a reply of Cohere's rerank, got another", retry=True
    )
