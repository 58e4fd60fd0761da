"""A retrieval pipeline as the system under test: it answers a question with what it finds.

Questions that come together are searched for together. There is one search at a time, in a thread; what is
asked meanwhile waits for the next. A batch that fails is searched for again question by question, so that
an error falls on the question that caused it, whatever else was asked beside it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from typing import Protocol, TypeAlias

from rag_evaluation_framework.errors import TargetError, UsageError, counted, in_full, shown
from rag_evaluation_framework.extensions import Specification
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.responses import Hit, Request, Response
from rag_evaluation_framework.retrieval.pipeline import UNPLACED, RetrievalPipeline
from rag_evaluation_framework.retrieval.stores import check_k

BATCH_SIZE = 256
"""At most so many questions are searched for at once."""

_Outcome: TypeAlias = Response | TargetError
_Asked: TypeAlias = tuple[str, asyncio.Future[_Outcome]]


class SearchesMany(Protocol):
    """What a pipeline must have to be a target, ours or somebody else's."""

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
        """Return for each query at most k chunks, best first."""


class PipelineTarget:
    """Fulfils ``extensions.Target``. The pipeline has indexed its corpus already.

    A response has the chunks as hits, with their characters and texts, the texts as contexts, and no text of
    its own. Of a pipeline with ``distinct`` texts a hit's id is that of the text, else that of the chunk.
    """

    def __init__(self, pipeline: SearchesMany, k: int = 5, *, batch_size: int = BATCH_SIZE) -> None:
        check_k(k)
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
            raise UsageError(f"batch_size: expected a whole number of at least 1, got {shown(batch_size)}")
        self.name = _name_of(pipeline, k)
        self._search = _Search(pipeline, k)
        self._batch_size = batch_size
        self._waiting: list[_Asked] = []
        self._searching = False

    async def answer(self, request: Request) -> Response:
        """Return what the pipeline finds for the question; of a conversation, for the last one."""
        answered: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request.sample.question, answered))
        if len(self._waiting) == 1:
            # Runs after everything that is ready now, so that all who ask in this turn of the loop are in.
            asyncio.get_running_loop().call_soon(self._search_next)
        try:
            async with asyncio.timeout(request.timeout):
                outcome = await answered
        except TimeoutError:
            raise TargetError("timeout", "no answer in time", retry=True) from None
        if isinstance(outcome, TargetError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Forget who still waits; a search that is under way ends by itself."""
        self._waiting, self._searching = [], False

    def _search_next(self) -> None:
        if self._searching:
            return
        # Who ran out of time while waiting wants no answer any more.
        waiting = [asked for asked in self._waiting if not asked[1].done()]
        batch, self._waiting = waiting[: self._batch_size], waiting[self._batch_size :]
        if batch:
            self._searching = True
            loop = asyncio.get_running_loop()
            # A thread of its own, unlike a pool's, keeps neither the run nor the interpreter from ending.
            threading.Thread(
                target=self._search_in_thread, args=(batch, loop), name="pipeline", daemon=True
            ).start()

    def _search_in_thread(self, batch: list[_Asked], loop: asyncio.AbstractEventLoop) -> None:
        outcomes = self._search.outcomes([query for query, _ in batch])
        # A run that has ended meanwhile wants no answers any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._settle, batch, outcomes)

    def _settle(self, batch: list[_Asked], outcomes: list[_Outcome]) -> None:
        self._searching = False
        for (_, answered), outcome in zip(batch, outcomes, strict=True):
            if not answered.done():
                answered.set_result(outcome)
        self._search_next()


class _Search:
    """Searches for a batch of questions; each has an outcome of its own."""

    def __init__(self, pipeline: SearchesMany, k: int) -> None:
        self._pipeline, self._k = pipeline, k
        self._by_text = isinstance(pipeline, RetrievalPipeline) and pipeline.distinct
        # A search that outlived its run must not meet that of the next: models are seldom safe to share.
        self._one_at_a_time = threading.Lock()

    def outcomes(self, queries: Sequence[str]) -> list[_Outcome]:
        with self._one_at_a_time:
            return self._outcomes(queries)

    def _outcomes(self, queries: Sequence[str]) -> list[_Outcome]:
        try:
            return [*self._responses(queries)]
        except TargetError as error:
            failure = error
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
        return [
            Response(
                hits=tuple(self._hit(chunk) for chunk in chunks),
                retrieved_nothing=not chunks,
                contexts=tuple(chunk.content for chunk in chunks),
                context_origin="system",
            )
            for chunks in found
        ]

    def _hit(self, chunk: PositionAwareChunk) -> Hit:
        identifier = generate_chunk_id(chunk.content) if self._by_text else chunk.id
        span = None if chunk.metadata.get(UNPLACED) else chunk.to_span()
        return Hit(id=identifier, span=span, text=chunk.content)


def _name_of(pipeline: SearchesMany, k: int) -> str:
    if not isinstance(pipeline, RetrievalPipeline):
        return str(Specification("pipeline", {"pipeline": type(pipeline).__qualname__, "k": k}))
    if pipeline.chunking is None:
        raise UsageError("pipeline: expected index(corpus) before it is a target")
    return str(Specification("pipeline", {"chunker": pipeline.chunking.chunker, "k": k}))
