"""A Python function as the system under test: what it gets, what it may return, and how it may fail."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asked_targets import answer_of
from rag_evaluation_framework import Response, Sample, Turn, Usage, UsageError
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.targets import PythonCallable
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.samples import Recorded

SAMPLE = Sample(
    id="s1", turns=(Turn(role="user", content="Who?"),), recorded=Recorded(contexts=("from the file",))
)


def failure_of(function: Callable[..., Any], **options: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        answer_of(PythonCallable(function), **options)
    return caught.value


def test_a_function_gets_the_question_and_returns_the_answer() -> None:
    target = PythonCallable(lambda question: question.upper())
    assert isinstance(target, Target)
    response = answer_of(target, sample=SAMPLE)
    assert (response.text, response.contexts, response.context_origin) == (
        "WHO?",
        ("from the file",),
        "dataset",
    )


def test_a_coroutine_and_what_returns_an_awaitable_are_awaited() -> None:
    async def answer(question: str) -> str:
        return question + "!"

    for function in (answer, lambda question: answer(question)):
        assert answer_of(PythonCallable(function), "q").text == "q!"


def test_a_dictionary_is_read_like_an_http_reply() -> None:
    def answer(question: str) -> dict[str, Any]:
        return {"answer": "A", "contexts": ["own"], "usage": {"input_tokens": 1}}

    response = answer_of(PythonCallable(answer), sample=SAMPLE)
    assert (response.text, response.contexts, response.context_origin) == ("A", ("own",), "system")
    assert response.usage == Usage(input_tokens=1)


def test_a_parameter_named_or_annotated_sample_gets_the_sample() -> None:
    def by_name(sample):  # type: ignore[no-untyped-def]
        return sample.id

    def by_annotation(item: Sample) -> Response:
        return Response(text=item.id, metadata={"own": True})

    assert answer_of(PythonCallable(by_name), sample=SAMPLE).text == "s1"
    assert answer_of(PythonCallable(by_annotation), sample=SAMPLE).metadata == {"own": True}


def test_a_conversation_is_asked_turn_by_turn_with_its_history() -> None:
    def answer(question: str, *, thread_id: str, history: list[dict[str, str]]) -> str:
        return f"{thread_id} {question} after {len(history)}"

    sample = Sample(id="c", turns=(Turn(role="user", content="a"), Turn(role="user", content="b")))
    response = answer_of(PythonCallable(answer), sample=sample, thread_id="t")
    assert [turn["answer"] for turn in response.metadata["turns"]] == ["t a after 0", "t b after 2"]


def test_an_exception_is_named_by_type_and_message_without_its_traceback() -> None:
    def answer(question: str) -> str:
        raise KeyError("no such\nkey")

    error = failure_of(answer)
    assert (error.kind, error.retry) == ("callable-error", False)
    assert error.message == "KeyError: 'no such\\nkey'"


def test_an_exit_is_a_failure_of_one_sample_and_does_not_end_the_run() -> None:
    def leave(question: str) -> str:
        sys.exit(3)

    async def leave_too(question: str) -> str:
        sys.exit(3)

    assert failure_of(leave).message == "SystemExit: 3"
    assert failure_of(leave_too).message == "SystemExit: 3"


def test_a_function_may_say_itself_that_another_attempt_helps() -> None:
    def busy(question: str) -> str:
        raise TargetError("busy", "later", retry=True, retry_after=2)

    error = failure_of(busy)
    assert (error.kind, error.retry, error.retry_after) == ("busy", True, 2)


@pytest.mark.parametrize("result", [None, 7, [], b"bytes"])
def test_what_is_no_answer_is_a_failure(result: Any) -> None:
    assert failure_of(lambda question: result).kind == "no-answer"


def test_a_function_that_hangs_ends_with_the_timeout() -> None:
    def sleep(question: str) -> str:
        time.sleep(1)
        return "late"

    assert failure_of(sleep, timeout=0.05).kind == "timeout"


def test_a_module_in_the_current_directory_is_found_and_a_hanging_thread_does_not_keep_the_program(
    tmp_path: Path,
) -> None:
    (tmp_path / "my_agent.py").write_text(
        "import time\ndef answer(q):\n    time.sleep(3600)\n", encoding="utf-8"
    )
    program = """
import asyncio
from rag_evaluation_framework.components import target_from
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.records.responses import Request
from rag_evaluation_framework.records.samples import Sample, Turn
target = target_from("my_agent:answer")
sample = Sample(id="s", turns=(Turn(role="user", content="q"),))
try:
    asyncio.run(target.answer(Request(sample=sample, key="k", thread_id="t", timeout=0.1)))
except TargetError as error:
    print(target.name, error.kind)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "my_agent:answer timeout\n", done.stderr


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_module_here:f", "cannot import no_such_module_here"),
        ("json:no_such_function", "json has no function no_such_function"),
        ("json:__name__", "json has no function __name__"),
        ("json", "expected module:function"),
        (":f", "expected module:function"),
    ],
)
def test_a_function_that_cannot_be_found_is_wrong_usage(place: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PythonCallable(place)


def test_a_module_that_ends_the_program_when_it_is_imported_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quitting_agent.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"cannot import quitting_agent \(SystemExit: 0\)"):
        PythonCallable("quitting_agent:answer")


def test_every_folder_has_its_own_module_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "our_agent.py").write_text(
            f"def answer(q):\n    return {name!r}\n", encoding="utf-8"
        )
        monkeypatch.chdir(tmp_path / name)
        assert answer_of(PythonCallable("our_agent:answer"), "q").text == name


def test_a_method_is_found_by_its_dotted_name() -> None:
    assert answer_of(PythonCallable("builtins:str.upper"), "q").text == "Q"
