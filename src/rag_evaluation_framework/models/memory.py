"""Remembers completions on disk: the same question is put to the same model once, whichever run asks it.

One SQLite file in a folder, which many threads and processes read and write at once. A completion is
identified by the model, its endpoint and settings, the messages, the schema and the number of the draw.
Failures are not remembered.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.files.sqlite import opened, transaction
from rag_evaluation_framework.models.chat import ChatModel, Completion, Message, Schema, endpoint_of
from rag_evaluation_framework.models.spending import Spending, counted_in
from rag_evaluation_framework.records.samples import Usage
from rag_evaluation_framework.structs import asdict

FILE_NAME = "completions.sqlite3"

_TABLES = """
CREATE TABLE IF NOT EXISTS completions (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, completion TEXT NOT NULL
) WITHOUT ROWID;
"""
_WHAT = "remembered completions"


class RememberingModel:
    """Fulfils ``ChatModel``: asks the model it wraps only for what the folder does not hold.

    What several threads ask at the same time is asked once, and all of them get the completion or the error.
    """

    def __init__(self, model: ChatModel, folder: str | Path) -> None:
        self.name = model.name
        self.path = Path(folder) / FILE_NAME
        self.asked = 0
        """Number of completions requested from the wrapped model."""
        self.remembered = 0
        """Number of completions returned from the cache."""
        key: str | None = getattr(model, "cache_key", "")
        if key is None:
            raise UsageError(f"{_WHAT}: the model has no name. Set one: as_chat_model(…, name=…)")
        self._model = model
        self.cache_key = key
        """Key that identifies the endpoint and its settings."""
        self.endpoint = endpoint_of(model)
        self.prices = getattr(model, "prices", None)
        """Address and settings of the wrapped model."""
        self._lock = threading.Lock()
        self._under_way: dict[bytes, Future[Completion]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return RememberingModel, (self._model, self.path.parent)

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        """Return the remembered completion, or ask for it and remember it."""
        key = self._key(messages, schema, draw)
        with self._lock:
            other = self._under_way.get(key)
            future: Future[Completion] = other or self._under_way.setdefault(key, Future())
        if other is not None:
            return self._given(other.result())
        try:
            completion = self._read(key)
            if completion is not None:
                future.set_result(completion)
                return self._given(completion)
            with self._lock:
                self.asked += 1
            completion = self._model.chat(messages, schema=schema, draw=draw)
            self._write(key, completion)
            future.set_result(completion)
        except BaseException as error:  # whatever it is: raised again, here and where others wait
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return completion

    def counted_in(self, spending: Spending) -> RememberingModel:
        """Return the same model that counts and is capped by another total; what is remembered is free."""
        return RememberingModel(counted_in(self._model, spending), self.path.parent)

    def remembers(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> bool:
        """Return True if a completion is in the cache, without requesting it."""
        return self.path.exists() and self._read(self._key(messages, schema, draw)) is not None

    def replies(self, most: int) -> list[Completion]:
        """Return at most this many completions of this model, for any question."""
        if not self.path.exists():
            return []
        asked = "SELECT completion FROM completions WHERE model = ? LIMIT ?"
        with self._opened() as database:
            rows = database.execute(asked, (self.name, most)).fetchall()
        return [self._decoded(row[0]) for row in rows]

    @property
    def waiting(self) -> int:
        """Return the number of questions that wait for a retry."""
        waiting: int = getattr(self._model, "waiting", 0)
        return waiting

    def forget(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> None:
        """Ask for this completion again the next time."""
        with self._opened() as database, transaction(database):
            database.execute("DELETE FROM completions WHERE key = ?", (self._key(messages, schema, draw),))

    def _given(self, completion: Completion) -> Completion:
        with self._lock:
            self.remembered += 1
        return replace(completion, is_cached=True)

    def _key(self, messages: Sequence[Message], schema: Schema | None, draw: int) -> bytes:
        said = [
            (message.role, message.content if message.remembered_as is None else message.remembered_as)
            for message in messages
        ]
        asked = json.dumps([self.name, self.cache_key, said, schema, draw], sort_keys=True)
        return hashlib.blake2b(asked.encode("ascii"), digest_size=16).digest()

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        return opened(self.path, tables=_TABLES, what=_WHAT)

    def _read(self, key: bytes) -> Completion | None:
        with self._opened() as database:
            row = database.execute("SELECT completion FROM completions WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._decoded(row[0])

    def _decoded(self, text: str) -> Completion:
        try:
            kept = json.loads(text)
            usage = kept["usage"]
            return Completion(
                text=kept["text"],
                usage=None if usage is None else Usage(**usage),
                finish_reason=kept["finish_reason"],
            )
        except (ValueError, TypeError, KeyError) as error:
            raise StorageError(f"{_WHAT} {self.path}: expected a completion, got a damaged record") from error

    def _write(self, key: bytes, completion: Completion) -> None:
        usage = None if completion.usage is None else asdict(completion.usage)
        kept = {"text": completion.text, "usage": usage, "finish_reason": completion.finish_reason}
        with self._opened() as database, transaction(database):
            database.execute(
                "INSERT OR REPLACE INTO completions (key, model, completion) VALUES (?, ?, ?)",
                (key, self.name, json.dumps(kept)),
            )
