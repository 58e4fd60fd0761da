"""One question to an agent, and what would be read from its reply."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rag_evaluation_framework.adapters.answer_fields import ReadAnswer
from rag_evaluation_framework.adapters.conversations import Ask
from rag_evaluation_framework.adapters.http_agent import HttpAgent
from rag_evaluation_framework.adapters.http_client import Reply
from rag_evaluation_framework.adapters.http_replies import reply_value
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.reports.unread import unread_line

_SHOWN_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The outcome of one question: a reply, what was read from it, or why nothing could be."""

    address: str
    elapsed_ms: float
    status: int | None = None
    body: str = ""
    answer: ReadAnswer | None = None
    failure: TargetError | None = None

    @property
    def reached(self) -> bool:
        """Tell whether the agent gave any reply at all."""
        return self.status is not None

    def hints(self) -> list[str]:
        """Say what to try where something was not found."""
        if self.failure is not None:
            return [_HINTS[self.failure.kind]] if self.failure.kind in _HINTS else []
        found = self.answer.found if self.answer else {}
        hints = [
            f"no {part} found; if the reply has them, name their place under spec.api.responsePaths.{part}"
            for part in ("contexts", "citations", "usage")
            if part not in found
        ]
        if self.answer and self.answer.unread_contexts:
            hints.append(unread_line("contexts", self.answer.unread_contexts))
        if self.answer and self.answer.unread_citations:
            hints.append(unread_line("citations", self.answer.unread_citations))
        return hints


_HINTS = {
    "connection-failed": "is the agent running, and is this its port?",
    "connect-timeout": "is the host right, and does a firewall stand between?",
    "timeout": "the agent is slow; --timeout gives it longer",
    "no-answer": "if the reply has the answer elsewhere, --answer-path names its place: result.text",
    "html-page": "this is a page for people; the API may have another path: --path",
    "malformed-json": "the reply should be JSON; this may not be the chat endpoint: --path",
    "http-400": "the agent expects another body; try --protocol openai-compatible",
    "http-401": "the agent wants a key: --header 'Authorization: Bearer …'",
    "http-403": "the key given is not allowed to do this",
    "http-404": "nothing listens at this path: --path",
    "http-405": "this path takes no POST: --path",
    "http-422": "the agent expects another body; try --protocol openai-compatible",
}


async def probe(agent: HttpAgent, message: str, *, timeout: float) -> Probe:
    """Send one question and read the reply as a run would."""
    ask = Ask(({"role": "user", "content": message},), 1, 1)
    started = time.perf_counter()
    reply: Reply | None = None
    answer: ReadAnswer | None = None
    failure: TargetError | None = None
    try:
        reply = await agent.send(ask, key="probe", thread_id="probe", timeout=timeout)
        answer = agent.reader.read(reply_value(reply, url=agent.address, mask=agent.mask))
    except TargetError as error:
        failure = error
    finally:
        elapsed = (time.perf_counter() - started) * 1000
        await agent.close()
    text = agent.mask(reply.body.decode("utf-8", errors="replace")) if reply else ""
    return Probe(
        address=agent.name,
        elapsed_ms=reply.latency_ms if reply else elapsed,
        status=reply.status if reply else None,
        body=text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…",
        answer=answer,
        failure=failure,
    )
