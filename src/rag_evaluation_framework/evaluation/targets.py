"""The system under test, from what people have: an address, a function, a file, an object, or nothing.

================================================  =====================================================
``http://localhost:4000``                         an agent, asked as the manifest's ``spec.api`` says
``module:function``, or the function itself       a Python function
``answers.jsonl``                                 recorded answers
``openai(model="m", base_url="http://host/v1")``  a model; any component text of a target
an object with ``answer`` and ``close``           itself
``None``                                          the rows hold the answers: nobody is asked
================================================  =====================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import InputError, TargetError, UsageError, shown
from rag_evaluation_framework.evaluation.manifest import Manifest
from rag_evaluation_framework.evaluation.secrets import MaskedTarget, Secrets
from rag_evaluation_framework.extensions import Registry, Target
from rag_evaluation_framework.records.responses import History, Request, Response
from rag_evaluation_framework.records.samples import Sample

TargetLike: TypeAlias = str | Path | Callable[..., Any] | Target

# What is asked over a network, and how a text is read, stand in the room of networks and vendors.
_MAKERS: Registry[Callable[..., Any]] = Registry("target")
_MAKERS.register("http", "rag_evaluation_framework.adapters.http_agent:HttpAgent")
_MAKERS.register("address", "rag_evaluation_framework.adapters.http_agent:shown_address")
_MAKERS.register("secrets", "rag_evaluation_framework.adapters.http_agent:secrets_in_address")
_MAKERS.register("text", "rag_evaluation_framework.components:target_from")
_MAKERS.register("function", "rag_evaluation_framework.adapters.python_callable:PythonCallable")
_MAKERS.register("history", "rag_evaluation_framework.adapters.conversations:ReferenceHistory")


class Address(str):
    """A text that is meant as the address of an agent, however it is written."""

    __slots__ = ()


class RecordedRows:
    """The answers that the samples themselves hold, as a target; fulfils ``extensions.Target``."""

    name = "recorded rows"
    is_live = False

    async def answer(self, request: Request) -> Response:
        """Return what the sample holds; one without an answer is a failure."""
        return recorded_response(request.sample)

    async def close(self) -> None:
        """Nothing is held."""


def recorded_response(sample: Sample) -> Response:
    """Return the answer that a sample holds; :class:`TargetError` where it holds none."""
    recorded = sample.recorded
    if recorded is None or recorded.answer is None:
        raise TargetError("no-recorded-answer", "the row holds no answer, and there is no target to ask")
    return Response(
        text=recorded.answer,
        contexts=recorded.contexts,
        context_origin="dataset" if recorded.contexts else None,
        citations=recorded.citations,
    )


def target_of(
    given: TargetLike | None, manifest: Manifest, secrets: Secrets, *, history: History = "own"
) -> Target:
    """Build the target; the references of the manifest's headers are resolved here and hidden from now on."""
    target: Target
    if given is None:
        target = RecordedRows()
    elif isinstance(given, str | Path):
        text = str(given).strip()
        if is_address(given):
            target = _agent(text, manifest, secrets)
        else:
            _hide_what_is_there(manifest, secrets)
            target = _MAKERS.get("text")(text)
    elif isinstance(given, Target):
        _hide_what_is_there(manifest, secrets)
        target = given
    elif callable(given):
        _hide_what_is_there(manifest, secrets)
        target = _MAKERS.get("function")(given)
    else:
        expected = "an address, module:function, a file of answers, a function or a target"
        raise UsageError(f"target: expected {expected}, got {shown(given)}")
    if history == "reference":
        target = _MAKERS.get("history")(target)
    return MaskedTarget(target, secrets)


def shown_target(given: TargetLike | None, target: Target) -> str:
    """Return what is told of the target: the address given, less what is secret in it, or its name."""
    if isinstance(given, str) and is_address(given):
        return str(_MAKERS.get("address")(given.strip()))
    return target.name


def model_of(given: TargetLike | None, manifest: Manifest, target: Target) -> str | None:
    """Return the model that is asked, where it is known: that of a manifest's agent, or the target itself."""
    text = given.strip() if isinstance(given, str) else ""
    if is_address(given):
        return manifest.api.model
    return target.name if text.startswith("openai(") else None


def is_address(given: object) -> bool:
    """Tell whether what is given is the address of an agent."""
    if not isinstance(given, str):
        return False
    return isinstance(given, Address) or given.strip().startswith(("http://", "https://"))


def _agent(url: str, manifest: Manifest, secrets: Secrets) -> Target:
    api = manifest.api
    for value in _MAKERS.get("secrets")(url):
        secrets.add(value)
    headers = api.resolved_headers(os.environ, secrets=secrets)
    agent: Target = _MAKERS.get("http")(
        url,
        path=api.path,
        protocol=api.protocol,
        model=api.model,
        headers=headers.plain,
        secret_headers=headers.secret,
        response_paths=api.response_paths,
        mask=secrets.mask,
    )
    return agent


def _hide_what_is_there(manifest: Manifest, secrets: Secrets) -> None:
    """Hide the secrets of headers that this target does not send, where they are set: it may know them."""
    with suppress(InputError):
        manifest.api.resolved_headers(os.environ, secrets=secrets)
