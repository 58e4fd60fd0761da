"""Retrieval pipelines as systems under test: they answer a question with what they find.

Questions are put to a pipeline in batches. There is one search at a time, in a thread of its own. A batch
that fails is searched for again question by question, so that an error falls on the question that caused it,
regardless of the others in the batch.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, Protocol

from rag_evaluation_framework.errors import InputError, TargetError, UsageError, counted, in_full, shown
from rag_evaluation_framework.evaluation.attempts import Outcome
from rag_evaluation_framework.extensions import Specification
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.responses import Hit, Request, Response
from rag_evaluation_framework.retrieval.pipeline import UNPLACED, RetrievalPipeline
from rag_evaluation_framework.retrieval.stores import check_k
from rag_evaluation_framework.workers import in_own_thread

BATCH_SIZE = 256
"""At most so many questions are searched for at once."""


class SearchesMany(Protocol):
    """The interface a pipeline needs to be a target, ours or somebody else's."""

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
        """Return for each query at most k chunks, best first."""


class PipelineTarget:
    """Fulfils ``extensions.Target``. The pipeline has indexed its corpus already.

    A response has the chunks as hits, with their characters and texts, the texts as contexts, and no text of
    its own; without ``texts`` it has ids and characters alone. Of a pipeline with ``distinct`` texts a hit's
    id is that of the text, else that of the chunk.
    """

    def __init__(
        self,
        pipeline: SearchesMany,
        k: int = 5,
        *,
        batch_size: int = BATCH_SIZE,
        texts: bool = True,
        name: str | None = None,
    ) -> None:
        check_k(k)
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
            raise UsageError(f"batch_size: expected a whole number of at least 1, got {shown(batch_size)}")
        self.name = name or _name_of(pipeline, k)
        self.batch_size = batch_size
        self._pipeline, self._k, self._texts = pipeline, k, texts
        self.embedding_roles: dict[str, str] = getattr(pipeline, "embedding_roles", {})
        self._by_text = getattr(pipeline, "distinct", False)
        # The same chunk is found for many questions: one record serves them all.
        self._hits: dict[int, tuple[PositionAwareChunk, Hit]] = {}
        # A search that outlived its run must not meet that of the next: models are seldom safe to share.
        self._one_at_a_time = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # Hits are known by where their chunks are in the memory of this process.
        made = partial(PipelineTarget, batch_size=self.batch_size, texts=self._texts, name=self.name)
        return made, (self._pipeline, self._k)

    async def answer(self, request: Request) -> Response:
        """Return what the pipeline finds for the question; of a conversation, for the last one."""
        [outcome] = await self.answer_many([request])
        if isinstance(outcome, TargetError):
            raise outcome
        return outcome

    async def answer_many(self, requests: Sequence[Request]) -> list[Outcome]:
        """Search for the questions of all requests at once; each has an outcome of its own."""
        queries = [request.sample.question for request in requests]
        try:
            async with asyncio.timeout(max((request.timeout for request in requests), default=None)):
                return await in_own_thread(lambda: self._searched(queries), name="pipeline")
        except TimeoutError:
            return [TargetError("timeout", "no answer in time", retry=True) for _ in requests]

    async def close(self) -> None:
        """Do nothing: a search that is under way ends by itself."""

    def _searched(self, queries: Sequence[str]) -> list[Outcome]:
        with self._one_at_a_time:
            return self._outcomes(queries)

    def _outcomes(self, queries: Sequence[str]) -> list[Outcome]:
        try:
            return [*self._responses(queries)]
        except TargetError as error:
            failure = error
        except (UsageError, InputError):  # what is wrong with the parts is wrong for every question
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a pipeline has plug-ins: they may raise anything
            failure = TargetError("pipeline-error", in_full(error))
        # What may pass by itself is the same for all of them; anything else may be the fault of one.
        if len(queries) == 1 or failure.retry:
            return [copy(failure) for _ in queries]
        return [self._outcomes([query])[0] for query in queries]

    def _responses(self, queries: Sequence[str]) -> list[Response]:
        found = self._pipeline.retrieve(queries, self._k)
        if len(found) != len(queries):
            asked = counted(len(queries), "query", "queries")
            message = f"expected the chunks of {asked}, got those of {len(found)}"
            raise TargetError("pipeline-error", message)
        return [self._response(chunks) for chunks in found]

    def _response(self, chunks: Sequence[PositionAwareChunk]) -> Response:
        hits, texts = tuple(map(self._hit, chunks)), tuple(chunk.content for chunk in chunks)
        read: dict[str, Any] = {"contexts": texts, "context_origin": "system"} if self._texts else {}
        return Response(hits=hits, retrieved_nothing=not hits, **read)

    def _hit(self, chunk: PositionAwareChunk) -> Hit:
        # The chunk is kept beside its hit, so that its address stays its own.
        known = self._hits.get(id(chunk))
        if known is not None:
            return known[1]
        identifier = generate_chunk_id(chunk.content) if self._by_text else chunk.id
        span = None if chunk.metadata.get(UNPLACED) else chunk.to_span()
        hit = Hit(id=identifier, span=span, text=chunk.content if self._texts else None)
        self._hits[id(chunk)] = chunk, hit
        return hit


def _name_of(pipeline: SearchesMany, k: int) -> str:
    if not isinstance(pipeline, RetrievalPipeline):
        return str(Specification("pipeline", {"pipeline": type(pipeline).__qualname__, "k": k}))
    if pipeline.chunking is None:
        raise UsageError("pipeline: expected index(corpus) before it is a target")
    return str(Specification("pipeline", {"chunker": pipeline.chunking.chunker, "k": k}))
