"""The system under test, from the options and the manifest of an evaluation."""

from __future__ import annotations

import os
from contextlib import suppress

from rag_evaluation_framework.cli.run_options import RunOptions
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.evaluation.manifests.manifest import Manifest
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.evaluation.runs.masked_target import MaskedTarget
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import History


def target_of(
    options: RunOptions, manifest: Manifest, secrets: Secrets, *, history: History = "own"
) -> Target:
    """Build the target; the references of the manifest's headers are resolved here and hidden from now on."""
    text = (options.url or options.target or "").strip()
    if text.startswith(("http://", "https://")) or options.url is not None:
        target = _agent(text, manifest, secrets)
    else:
        from rag_evaluation_framework.components import target_from

        _hide_what_is_there(manifest, secrets)
        target = target_from(text)
    if history == "reference":
        from rag_evaluation_framework.adapters.conversations import ReferenceHistory

        target = ReferenceHistory(target)
    return MaskedTarget(target, secrets)


def shown_target(options: RunOptions, target: Target) -> str:
    """Return what is told of the target: the URL as it was given, less what is secret in it, or its name."""
    if options.url is None:
        return target.name
    from rag_evaluation_framework.adapters.http_agent import shown_address

    return shown_address(options.url.strip())


def model_of(options: RunOptions, manifest: Manifest, target: Target) -> str | None:
    """Return the model that is asked, where it is known: that of a manifest's agent, or the target itself."""
    text = (options.url or options.target or "").strip()
    if options.url is not None or text.startswith(("http://", "https://")):
        return manifest.api.model
    return target.name if text.startswith("openai(") else None


def _agent(url: str, manifest: Manifest, secrets: Secrets) -> Target:
    from rag_evaluation_framework.adapters.http_agent import HttpAgent, secrets_in_address

    api = manifest.api
    for value in secrets_in_address(url):
        secrets.add(value)
    headers = api.resolved_headers(os.environ, secrets=secrets)
    return HttpAgent(
        url,
        path=api.path,
        protocol=api.protocol,
        model=api.model,
        headers=headers.plain,
        secret_headers=headers.secret,
        response_paths=api.response_paths,
        mask=secrets.mask,
    )


def _hide_what_is_there(manifest: Manifest, secrets: Secrets) -> None:
    """Hide the secrets of headers that this target does not send, where they are set: it may know them."""
    with suppress(InputError):
        manifest.api.resolved_headers(os.environ, secrets=secrets)
