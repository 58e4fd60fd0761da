"""Embeddings from OpenAI, or from any server that speaks its protocol: ``POST {base_url}/embeddings``.

Texts go out in batches, a few at once. The key is read from the environment when a text is embedded; an
embedder is built without one. Only ``api.openai.com`` cannot do without. The address is ``base_url``, else
``OPENAI_BASE_URL``, else OpenAI's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from rag_evaluation_framework.adapters.attempts import attempted_async
from rag_evaluation_framework.adapters.event_loops import run_to_end
from rag_evaluation_framework.adapters.http_agent import checked_headers, joined_address, shown_address
from rag_evaluation_framework.adapters.http_client import HttpClient
from rag_evaluation_framework.adapters.http_replies import reply_value
from rag_evaluation_framework.adapters.masking import header_mask
from rag_evaluation_framework.adapters.openai_model import BASE_URL, KEY_VARIABLE
from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import TargetError, UsageError, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.retrieval.costs import checked_price
from rag_evaluation_framework.retrieval.embedding import check_texts
from rag_evaluation_framework.retrieval.vectors import Matrix, checked_vectors
from rag_evaluation_framework.specifications import Specification

MODEL = "text-embedding-3-small"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"

_BATCH_TEXTS = 64
# OpenAI takes 300,000 tokens a request; a character is hardly ever more than one.
_BATCH_CHARACTERS = 250_000
_MAX_BODY_BYTES = 100_000_000


class OpenAIEmbedder:
    """Fulfils ``extensions.Embedder``.

    ``tokens_used`` is what the server said it read, ``None`` once it did not say; ``characters_used`` is what
    was sent. ``price``, in US dollars for a million tokens, is for reports; it is no part of the name.
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
    ) -> None:
        base_url = base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
        self._url = joined_address(base_url, "/embeddings")
        if urlsplit(self._url).username is not None:
            raise UsageError("openai: base_url: expected no user and password; keys come from key_env")
        if concurrency < 1 or timeout <= 0:
            found = f"{shown(concurrency)} and {shown(timeout)}"
            raise UsageError(f"openai: expected concurrency of at least 1 and a timeout above 0, got {found}")
        self.model, self.base_url, self.key_env = model, base_url, key_env
        self.dimensions = dimensions
        self.price = checked_price(price, "openai")
        self.tokens_used: int | None = 0
        self.characters_used = 0
        self._concurrency, self._timeout = concurrency, timeout

    def __repr__(self) -> str:
        given: dict[str, Any] = {"model": self.model}
        given |= {"base_url": self.base_url} if self.base_url != BASE_URL else {}
        given |= {"dimensions": self.dimensions} if self.dimensions is not None else {}
        return str(Specification("openai", given))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text, in order."""
        check_texts(texts)
        headers = self._headers()
        parts = run_to_end(self._all(list(_batches(texts)), headers)) if texts else []
        self.characters_used += sum(map(len, texts))
        for _, tokens in parts:
            if self.tokens_used is not None:
                self.tokens_used = None if tokens is None else self.tokens_used + tokens
        rows = [row for vectors, _ in parts for row in vectors]
        return checked_vectors(rows, f"embedder {self}", rows=len(texts), dimensions=self.dimensions)

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self.key_env, "").strip()
        if not key and (self.base_url == BASE_URL or self.key_env != KEY_VARIABLE):
            raise UsageError(f"openai: expected a key in the environment variable {self.key_env}")
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        return {"Content-Type": "application/json", **checked_headers(bearer)}

    async def _all(
        self, parts: Sequence[Sequence[str]], headers: dict[str, str]
    ) -> list[tuple[Matrix, int | None]]:
        client = HttpClient(max_body_bytes=_MAX_BODY_BYTES)
        slots = asyncio.Semaphore(self._concurrency)

        async def one(number: int, texts: Sequence[str]) -> tuple[Matrix, int | None]:
            async with slots:
                return await attempted_async(lambda: self._asked(client, texts, headers), str(number))

        try:
            return await asyncio.gather(*(one(number, texts) for number, texts in enumerate(parts)))
        except TargetError as error:
            where = f"embedder {self} at {shown_address(self._url)}"
            raise TargetError(error.kind, f"{where}: {error.message}") from error
        finally:
            await client.close()

    async def _asked(
        self, client: HttpClient, texts: Sequence[str], headers: dict[str, str]
    ) -> tuple[Matrix, int | None]:
        """Send one batch and return its vectors, in order, and the tokens it took, if the server tells."""
        asked: dict[str, Any] = {
            "model": self.model,
            "input": [text or " " for text in texts],  # an empty text is refused by OpenAI
            "encoding_format": "float",
        }
        asked |= {"dimensions": self.dimensions} if self.dimensions is not None else {}
        reply = await client.post(
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
            "no-embeddings", f"expected {counted(count, 'embedding')}, one for each text, got {len(data)}"
        )
    usage = value.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return [rows[number] for number in range(count)], tokens if isinstance(tokens, int) else None
