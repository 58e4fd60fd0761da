"""A Python function as the system under test: ``module:function``.

It gets the text of the question; or the whole :class:`Sample`, if its first parameter is called
``sample`` or annotated so. Parameters called ``thread_id`` and ``history`` (the messages before this one)
are filled where it has them. It returns a text, a dictionary of the shape an HTTP agent would reply with,
or a :class:`Response`; it may be a coroutine function. A plain function runs in a thread of its own,
which a timeout leaves behind: Python cannot end it.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from rag_evaluation_framework.adapters.answer_fields import AnswerReader, ReadAnswer
from rag_evaluation_framework.adapters.conversations import Ask, replay, response_of
from rag_evaluation_framework.errors import TargetError, UsageError, in_full, shown
from rag_evaluation_framework.evaluation.engine import in_own_thread
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.samples import Sample

_FILLED = ("thread_id", "history")


class PythonCallable:
    """Fulfils ``extensions.Target``. ``function`` is the place to import it from, or the function itself."""

    def __init__(
        self, function: str | Callable[..., Any], *, response_paths: dict[str, str] | None = None
    ) -> None:
        self._function = imported_function(function) if isinstance(function, str) else function
        self.name = function if isinstance(function, str) else _place_of(function)
        self._reader = AnswerReader(response_paths)
        self._wants_sample, self._filled = _parameters(self._function)
        self.takes_history = not self._wants_sample and "history" in self._filled

    async def answer(self, request: Request) -> Response:
        """Call the function, once for a sample or once for each of the user's turns."""
        deadline = time.monotonic() + request.timeout
        if not self._wants_sample:
            return await self._replayed(request, deadline)
        given = {"thread_id": request.thread_id, "history": []}
        result = await self._called(request.sample, given, deadline)
        if isinstance(result, Response):
            return result
        return response_of(request.sample, [self._read(result)])

    async def close(self) -> None:
        """Nothing is held."""

    async def _replayed(self, request: Request, deadline: float) -> Response:
        whole: Response | None = None

        async def read(ask: Ask) -> ReadAnswer:
            nonlocal whole
            given = {"thread_id": request.thread_id, "history": list(ask.messages[:-1])}
            result = await self._called(ask.text, given, deadline)
            whole = result if isinstance(result, Response) else None
            if whole is not None:
                return ReadAnswer(
                    text=whole.text or "",
                    contexts=whole.contexts,
                    retrieved_nothing=whole.retrieved_nothing,
                )
            return self._read(result)

        response = await replay(request.sample, read, history=request.history)
        if whole is None:
            return response
        return replace(whole, metadata={**response.metadata, **whole.metadata})

    async def _called(self, question: str | Sample, given: dict[str, Any], deadline: float) -> Any:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await self._returned(question, given)
        except TimeoutError:
            raise TargetError("timeout", "no answer in time", retry=True) from None

    async def _returned(self, question: str | Sample, given: dict[str, Any]) -> Any:
        filled = {name: given[name] for name in self._filled}
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(question, **filled)
            result = await in_own_thread(lambda: self._function(question, **filled), name="target")
            return await result if inspect.isawaitable(result) else result
        except TargetError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's function may raise anything
            raise TargetError("callable-error", in_full(error)) from None

    def _read(self, result: Any) -> ReadAnswer:
        if not isinstance(result, str | dict):
            raise TargetError(
                "no-answer", f"expected a text, a dictionary or a Response, got {type(result).__name__}"
            )
        return self._reader.read(result)


def imported_function(place: str) -> Callable[..., Any]:
    """Import ``module:function``, from the current directory too; what goes wrong is a ``UsageError``."""
    module_name, _, attributes = place.partition(":")
    if not module_name or not attributes:
        raise UsageError(f"target: expected module:function, got {shown(place)}")
    folder = os.getcwd()  # noqa: PTH109 - sys.path has plain texts
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's module may raise anything
        raise UsageError(f"target {shown(place)}: cannot import {module_name} ({in_full(error)})") from None
    for attribute in attributes.split("."):
        found = getattr(found, attribute, None)
    if not callable(found):
        raise UsageError(
            f"target {shown(place)}: expected a function {attributes} in {module_name}, got none"
        )
    function: Callable[..., Any] = found
    return function


def _parameters(function: Callable[..., Any]) -> tuple[bool, tuple[str, ...]]:
    """Tell whether a function wants the sample, and which of the other things it has a parameter for."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins may have no signature
        return False, ()
    first = parameters[0] if parameters else None
    wants_sample = first is not None and (
        first.name == "sample" or first.annotation in (Sample, "Sample") or _names_sample(first.annotation)
    )
    names = {parameter.name for parameter in parameters[1:]}
    return wants_sample, tuple(name for name in _FILLED if name in names)


def _names_sample(annotation: object) -> bool:
    return isinstance(annotation, str) and annotation.rpartition(".")[2] == "Sample"


def _place_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{name}"
