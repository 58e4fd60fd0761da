"""Notices that a model's endpoint is gone, so that a run stops instead of failing question by question.

- An endpoint that has never answered and cannot be reached, or turns the caller away (401, 403, 404, 405,
  407), has a wrong address or a wrong key: the first question that ends so is enough.
- One that fails ten questions in a row, whatever the reason, is down.
"""

from __future__ import annotations

import threading

from rag_evaluation_framework.errors import ModelError, ModelOutageError

IN_A_ROW = 10

_TURNED_AWAY = frozenset({"connection-failed", "http-401", "http-403", "http-404", "http-405", "http-407"})
# What is wrong with one question says nothing of the others.
_OF_ONE_QUESTION = frozenset({"http-400", "http-413", "http-414", "http-422"})


class EndpointWatch:
    """Listens to how the questions to one endpoint end; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered = False
        self._failed = 0

    def answered(self) -> None:
        """Take note of a reply."""
        with self._lock:
            self._answered, self._failed = True, 0

    def failed(self, error: ModelError) -> ModelError:
        """Take note of a question that failed for good; return the error to raise: an outage if it is one."""
        if error.kind in _OF_ONE_QUESTION:
            return error
        with self._lock:
            self._failed += 1
            is_down = self._failed >= IN_A_ROW or (not self._answered and error.kind in _TURNED_AWAY)
        return ModelOutageError(error.kind, error.message) if is_down else error
