"""``rag-eval probe``: send one question to an agent and show what would be read from its reply."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.options import ALLOW_HOST, AS_JSON
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.reports.screen import one_line

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.http_agent import Probe

_UNREACHABLE = 3
_TEXT_CHARACTERS = 300

EXAMPLES = """\b
Examples:
  rag-eval probe --url http://localhost:4000
  rag-eval probe --url http://localhost:8000 --path /v1/chat/completions --protocol openai-compatible
  rag-eval probe --url https://agent.example --header 'Authorization: Bearer …' --message 'What is RAG?'
  rag-eval probe --url http://localhost:4000 --answer-path result.text --json"""


@click.command("probe", epilog=EXAMPLES)
@click.option("--url", required=True, metavar="URL", help="URL of the agent, e.g. http://localhost:4000.")
@ALLOW_HOST
@click.option("--path", default="/v1/chat", help="Path of the agent's chat endpoint.")
@click.option(
    "--protocol",
    type=click.Choice(["simple", "openai-compatible"]),
    default="simple",
    help='What is sent: {"message": …} (simple) or {"messages": […]} (openai-compatible).',
)
@click.option("--model", metavar="NAME", help="Model to name in the request.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Header to send; its value is never shown. May be repeated.",
)
@click.option("--message", default="Hello, who are you?", help="Question to send.")
@click.option(
    "--answer-path", metavar="PATH", help="Where the reply has its answer, e.g. result.items[0].text."
)
@click.option(
    "--contexts-path", metavar="PATH", help="Where the reply has its contexts, e.g. result.sources[*].text."
)
@click.option("--citations-path", metavar="PATH", help="Where the reply has its citations.")
@click.option("--usage-path", metavar="PATH", help="Where the reply has its token counts.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=60.0, help="Seconds to wait for the reply."
)
@AS_JSON
@click.pass_context
def command(
    context: click.Context,
    url: str,
    path: str,
    protocol: str,
    model: str | None,
    headers: tuple[str, ...],
    message: str,
    answer_path: str | None,
    contexts_path: str | None,
    citations_path: str | None,
    usage_path: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Send one question to an agent and show what a run would read from its reply.

    Shows the status, the time, the answer, contexts, citations and token counts with the field each was
    found in, and what to try where something was not found. Exit code 3 when there is no answer.
    """
    # Imported here, not above: the HTTP client should not slow down --help.
    import asyncio

    from rag_evaluation_framework.adapters.http_agent import HttpAgent, probe

    given = {
        "answer": answer_path,
        "contexts": contexts_path,
        "citations": citations_path,
        "usage": usage_path,
    }
    agent = HttpAgent(
        url,
        path=path,
        protocol=protocol,
        model=model,
        secret_headers=dict(_header(text) for text in headers),
        response_paths={part: place for part, place in given.items() if place is not None},
    )
    outcome = asyncio.run(probe(agent, message, timeout=timeout))
    if as_json:
        print_json(_document(outcome))
    else:
        click.echo(_text(outcome))
    context.exit(_UNREACHABLE if outcome.failure else 0)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("--header: expected 'Name: value', got a text without a colon")
    return name.strip(), value.strip()


def _document(outcome: Probe) -> dict[str, Any]:
    answer, failure = outcome.answer, outcome.failure
    read = None
    if answer is not None:
        read = {
            "text": answer.text,
            "contexts": list(answer.contexts),
            "unread_contexts": answer.unread_contexts,
            "citations": [asdict(citation) for citation in answer.citations],
            "unread_citations": answer.unread_citations,
            "usage": asdict(answer.usage) if answer.usage else None,
        }
    return {
        "address": outcome.address,
        "status": outcome.status,
        "elapsed_ms": round(outcome.elapsed_ms, 1),
        "answer": read,
        "found": dict(answer.found) if answer else {},
        "error": {"kind": failure.kind, "message": failure.message} if failure else None,
        "hints": outcome.hints(),
        "body": outcome.body,
    }


def _text(outcome: Probe) -> str:
    status = "no reply" if outcome.status is None else f"status {outcome.status}"
    lines = [f"POST {outcome.address}: {status}, {outcome.elapsed_ms:.0f} ms", ""]
    if outcome.failure is not None:
        lines.append(f"no answer   {outcome.failure}")
    lines += [f"{part:<11} {value}" for part, value in _parts(outcome)]
    lines += ["", *(f"hint: {hint}" for hint in outcome.hints())] if outcome.hints() else []
    if outcome.body:
        lines += ["", "The reply:", *(one_line(line, len(line)) for line in outcome.body.splitlines())]
    return "\n".join(lines)


def _parts(outcome: Probe) -> list[tuple[str, str]]:
    """Return what was read, each with the field it came from."""
    answer = outcome.answer
    if answer is None:
        return []
    usage = answer.usage
    spent = f"{usage.input_tokens} in, {usage.output_tokens} out" if usage else ""
    contexts = [one_line(context, _TEXT_CHARACTERS) for context in answer.contexts]
    values = {
        "answer": one_line(answer.text, _TEXT_CHARACTERS),
        "contexts": f"{len(contexts)}: {contexts[0]}" if contexts else "none retrieved",
        "citations": f"{len(answer.citations)}" if answer.citations else "",
        "usage": spent,
    }
    return [
        (part, f"{value}  ← {answer.found[part]}" if part in answer.found else "not found")
        for part, value in values.items()
    ]
