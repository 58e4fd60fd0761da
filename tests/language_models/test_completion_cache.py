"""Remembered completions: asked once whoever asks, told apart by all that matters, failures left out."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Usage, UsageError
from rag_evaluation_framework.errors import ModelError, StorageError
from rag_evaluation_framework.models.chat import Completion, Message
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.memory import FILE_NAME, RememberingModel
from rag_evaluation_framework.models.spending import CountedModel, Spending
from rag_evaluation_framework.structs import replace

HELLO = [Message("user", "hello")]


class Numbering:
    """Answers with the number of the call; fails as told; waits for ``gate`` where there is one."""

    def __init__(self, name: str = "numbering", cache_key: str = "", *, failures: int = 0) -> None:
        self.name, self.cache_key = name, cache_key
        self.calls = 0
        self.failures = failures
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        with self._lock:
            self.calls += 1
            number = self.calls
        assert self.gate.wait(10)
        if number <= self.failures:
            raise ModelError("http-500", "as told")
        usage = Usage(input_tokens=5, output_tokens=number, cost_usd=0.25)
        return Completion(text=f"{messages[-1].content} {number} \ud800", usage=usage, finish_reason="stop")


def test_a_question_is_asked_once_and_comes_back_equal(tmp_path: Path) -> None:
    model = Numbering()
    first = RememberingModel(model, tmp_path).chat(HELLO)
    remembering = RememberingModel(model, tmp_path / ".." / tmp_path.name)
    second = remembering.chat(HELLO)
    assert second == replace(first, is_cached=True)
    assert (model.calls, remembering.asked, remembering.remembered) == (1, 0, 1)


@pytest.mark.parametrize(
    ("messages", "schema", "draw", "name", "endpoint"),
    [
        ([Message("user", "hello!")], None, 0, "numbering", ""),
        ([Message("system", "hello")], None, 0, "numbering", ""),
        ([Message("user", "hel"), Message("user", "lo")], None, 0, "numbering", ""),
        (HELLO, {"type": "object"}, 0, "numbering", ""),
        (HELLO, None, 1, "numbering", ""),
        (HELLO, None, 0, "another", ""),
        (HELLO, None, 0, "numbering", "http://localhost temperature=1"),
    ],
)
def test_everything_that_may_change_the_reply_tells_questions_apart(
    tmp_path: Path,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    draw: int,
    name: str,
    endpoint: str,
) -> None:
    RememberingModel(Numbering(), tmp_path).chat(HELLO)
    other = RememberingModel(Numbering(name, endpoint), tmp_path)
    assert not other.chat(messages, schema=schema, draw=draw).is_cached


def test_what_stands_for_the_content_is_what_is_remembered(tmp_path: Path) -> None:
    remembering = RememberingModel(Numbering(), tmp_path)
    remembering.chat([Message("user", "<a1b2> text </a1b2>", remembered_as="<> text </>")])
    again = [Message("user", "<c3d4> text </c3d4>", remembered_as="<> text </>")]
    assert remembering.chat(again).is_cached
    assert not remembering.chat([again[0].followed_by("Once more.")]).is_cached


def test_failures_are_not_remembered(tmp_path: Path) -> None:
    model = Numbering(failures=2)
    remembering = RememberingModel(model, tmp_path)
    for _ in range(2):
        with pytest.raises(ModelError, match="as told"):
            remembering.chat(HELLO)
    assert remembering.chat(HELLO).text.startswith("hello 3")
    assert remembering.chat(HELLO).is_cached


@pytest.mark.parametrize("failures", [0, 1])
def test_threads_that_ask_the_same_at_once_share_one_call(tmp_path: Path, failures: int) -> None:
    model = Numbering(failures=failures)
    model.gate.clear()
    remembering = RememberingModel(model, tmp_path)
    together = threading.Barrier(9)

    def ask() -> str:
        together.wait()
        try:
            return "cached" if remembering.chat(HELLO).is_cached else "asked"
        except ModelError as error:
            return error.kind

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ask) for _ in range(8)]
        together.wait()
        model.gate.set()
        outcomes = [future.result() for future in waiting]
    # Who came while the call that failed was under way shares the failure; the first one after it asks anew.
    assert outcomes.count("http-500") >= failures
    assert outcomes.count("asked") <= 1
    assert model.calls == failures + outcomes.count("asked")


def test_what_is_forgotten_is_asked_anew(tmp_path: Path) -> None:
    model = Numbering()
    remembering = RememberingModel(model, tmp_path)
    remembering.chat(HELLO, draw=3)
    remembering.forget(HELLO, draw=2)
    assert remembering.chat(HELLO, draw=3).is_cached
    remembering.forget(HELLO, draw=3)
    assert remembering.chat(HELLO, draw=3).text.startswith("hello 2")


def ask_in_process(folder: Path, number: int, count: int) -> tuple[int, int]:
    """Ask questions, half of which every process asks, from four threads."""
    remembering = RememberingModel(Numbering(), folder)
    questions = [f"shared {(offset + 7 * number) % count}" for offset in range(count)]
    questions += [f"{offset} of process {number}" for offset in range(count)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: remembering.chat([Message("user", text)]), questions))
    return remembering.asked, remembering.remembered


def test_four_processes_share_one_file(tmp_path: Path) -> None:
    count = 40
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.starmap(ask_in_process, [(tmp_path, number, count) for number in range(4)])
    assert all(asked + remembered == 2 * count for asked, remembered in results)
    with sqlite3.connect(tmp_path / FILE_NAME) as database:
        assert database.execute("SELECT count(*) FROM completions").fetchone() == (5 * count,)
    database.close()
    again = RememberingModel(Numbering(), tmp_path)
    assert again.chat([Message("user", "shared 7")]).is_cached


def test_a_file_that_is_none_or_is_damaged_is_one_clear_error(tmp_path: Path) -> None:
    remembering = RememberingModel(Numbering(), tmp_path)
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(
        StorageError, match=r"remembered completions .*completions\.sqlite3: file is not a data"
    ):
        remembering.chat(HELLO)
    with pytest.raises(StorageError, match="remembered completions"):
        RememberingModel(Numbering(), tmp_path / FILE_NAME).chat(HELLO)
    (tmp_path / FILE_NAME).unlink()
    remembering.chat(HELLO)
    with sqlite3.connect(tmp_path / FILE_NAME) as database:
        database.execute("UPDATE completions SET completion = '{\"text\": '")
    database.close()
    with pytest.raises(StorageError, match="expected a completion, got a damaged record"):
        remembering.chat(HELLO)


def test_a_function_without_a_name_is_not_remembered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the model has no name"):
        RememberingModel(as_chat_model(lambda prompt: prompt), tmp_path)
    RememberingModel(as_chat_model(lambda prompt: prompt, name="echo"), tmp_path)


def test_only_what_was_asked_is_spent(tmp_path: Path) -> None:
    spending = Spending()
    remembering = RememberingModel(CountedModel(Numbering(), spending), tmp_path)
    for text in ("a", "b", "a", "a"):
        remembering.chat([Message("user", text)])
    # Two calls of 5 tokens in, 1 and 2 out, at a quarter dollar each.
    assert spending.calls == 2
    assert spending.usage == Usage(input_tokens=10, output_tokens=3, cost_usd=0.5)
