"""``rag-eval probe``: find out how an agent is asked, and show what would be read from its reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.options import (
    ALLOW_HOST,
    AS_JSON,
    FILE,
    Amount,
    flag,
    new_screen,
    option,
    repeated,
    show,
)
from rag_evaluation_framework.cli.output import check_free, print_json
from rag_evaluation_framework.errors import UsageError, counted, shown
from rag_evaluation_framework.reports.blocks import one_line
from rag_evaluation_framework.structs import asdict

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.agent_probe import Candidate, Probe
    from rag_evaluation_framework.reports.blocks import Screen

_UNREACHABLE = 3
_TEXT_CHARACTERS = 300
_TRIED_CHARACTERS = 100
_QUESTIONS = "evals/first.jsonl"
_PARTS = ("answer", "contexts", "retrieved", "citations", "usage", "thread")
PLAINLY: Mapping[str, Any] = {
    **dict.fromkeys(("path", "protocol", "model", "body")),
    **{f"{part}_path": None for part in _PARTS},
    "headers": (),
    "timeout": 60.0,
}
"""The options of a probe that says nothing of the agent."""

EXAMPLES = """\b
Examples:
  rag-eval probe http://localhost:8000
  rag-eval probe http://localhost:8000/ask --write agent.yaml
  rag-eval probe http://localhost:8000 --path /v1/chat/completions \\
    --protocol openai-compatible
  rag-eval probe https://agent.example \\
    --header 'Authorization: Bearer ${AGENT_KEY}'
  rag-eval probe http://localhost:8000/ask \\
    --body '{"q": "{{question}}", "top_k": 5}'
  rag-eval probe http://localhost:4000 --answer-path result.text --json"""


_COMMON = (
    *("path", "protocol", "model", "body", "headers", "message", "answer_path", "contexts_path", "write"),
    "as_json",
)


@click.command("probe", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("address", required=False, metavar="[URL]")
@option("--url URL", "URL of the agent, as an option.")
@ALLOW_HOST
@option("--path", "Only path to try.")
@option(
    "--protocol NAME",
    "Only protocol to try: simple, openai-compatible, openai-responses, langserve, langgraph, gradio "
    "or dify.",
)
@option("--model NAME", "Model or assistant in the request.")
@option("--body JSON", "Request body with {{question}}, {{history}}, {{messages}} or {{thread}}.")
@repeated(
    "--header 'NAME: VALUE'",
    "Header to send; ${NAME} is an environment variable. May be repeated.",
    called="headers",
)
@option("--message", "Question to send.", default="Hello, who are you?")
@option("--answer-path PATH", "Path of the answer in the reply, e.g. result.items[0].text.")
@option("--contexts-path PATH", "Path of the contexts in the reply, e.g. result.sources[*].text.")
@option("--retrieved-path PATH", "Path of the retrieved document ids in the reply, e.g. hits[*].doc.")
@option("--citations-path PATH", "Path of the citations in the reply.")
@option("--usage-path PATH", "Path of the token counts in the reply.")
@option("--thread-path PATH", "Path of the conversation id in the reply.")
@option("--timeout", "Seconds to wait per reply.", type=Amount(0.1, 3600), default=60.0)
@option("--write FILE", "Write a manifest for this agent to FILE, e.g. agent.yaml.", type=FILE)
@flag("--force", "Replace an existing FILE; needs --write.")
@AS_JSON
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Ask an agent one question by common protocols, and show the fields of its reply.

    Stops at the first protocol with an answer, and prints its manifest lines. Shows the status, the time, and
    the answer, contexts, citations and token counts with their fields, and a hint for each missing part.
    Exit code 3: no answer.
    """
    if (given["address"] is None) == (given["url"] is None):
        raise UsageError(f"expected one URL, got {'none' if given['url'] is None else 'two'}")
    url = (given["address"] or given["url"]).strip()
    if given["force"] and given["write"] is None:
        raise UsageError("--force needs --write FILE")
    if given["write"] is not None:
        check_free(given["write"], force=given["force"])
    outcome, lines = probed(url, given)
    if lines is not None and given["write"] is not None:
        _write(given["write"], lines, outcome, given["message"])
    if given["as_json"]:
        print_json(_document(outcome, lines))
    else:
        _show(outcome, lines, url, given["write"])
    context.exit(_UNREACHABLE if outcome.failure else 0)


def probed(url: str, given: Mapping[str, Any]) -> tuple[Probe, dict[str, Any] | None]:
    """Ask an agent as the options say; return what came of it, and the lines of a manifest that ask so."""
    # Imported here, not above: the HTTP client should not slow down --help.
    import asyncio
    import os

    from rag_evaluation_framework.adapters.agent_probe import probe
    from rag_evaluation_framework.adapters.http_agent import HttpAgent
    from rag_evaluation_framework.evaluation.secrets import Secrets, resolved

    written = dict(_header(text) for text in given["headers"])
    secrets = Secrets()
    headers = {name: resolved(value, os.environ, secrets=secrets) for name, value in written.items()}
    paths = {part: given[f"{part}_path"] for part in _PARTS if given[f"{part}_path"] is not None}

    def agent(candidate: Candidate) -> HttpAgent:
        return HttpAgent(
            url,
            path=candidate.path,
            protocol=candidate.protocol,
            model=given["model"],
            method=candidate.method,
            secret_headers=headers,
            body=candidate.body,
            response_paths={**candidate.paths, **paths},
        )

    only = _candidate(given, url)
    outcome = asyncio.run(probe(url, given["message"], given=only, agent=agent, timeout=given["timeout"]))
    lines = None if outcome.failure else _api(outcome, url, given["model"], written, paths)
    return outcome, lines


def _candidate(given: Mapping[str, Any], url: str) -> Candidate | None:
    """Return the one way to ask that the options name; ``None`` where all are to be tried."""
    from urllib.parse import urlsplit

    from rag_evaluation_framework.adapters.agent_probe import Candidate
    from rag_evaluation_framework.evaluation.agent_shapes import has_question

    if given["path"] is None and given["protocol"] is None and given["body"] is None:
        return None
    body = None
    if given["body"] is not None:
        try:
            body = json.loads(given["body"])
        except ValueError as error:
            raise UsageError(f"--body: expected JSON, got {shown(given['body'])} ({error})") from None
        if not isinstance(body, dict) or not (has_question(body) or given["protocol"]):
            raise UsageError("--body: expected an object with {{question}} in it, got a different value")
    is_whole = given["protocol"] is None and urlsplit(url).path.rstrip("/")
    path = "" if given["path"] is None and is_whole else given["path"]
    return Candidate(protocol=given["protocol"] or "simple", path=path, body=body)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("--header: expected 'Name: value', got text without a colon")
    return name.strip(), value.strip()


# The manifest.


def _api(
    outcome: Probe, url: str, model: str | None, headers: dict[str, str], paths: dict[str, str]
) -> dict[str, Any]:
    """Return the lines of ``spec.api``; of a secret there is only the name of the variable that holds it."""
    from rag_evaluation_framework.evaluation.secrets import has_reference

    lines = outcome.manifest_lines(url)
    if paths:
        lines["responsePaths"] = {**lines.get("responsePaths", {}), **paths}
    if model is not None:
        lines["model"] = model
    for name, value in headers.items():
        if not has_reference(value):
            value = "Bearer ${AGENT_KEY}" if value.lower().startswith("bearer ") else "${AGENT_KEY}"
        lines.setdefault("headers", {})[name] = value
    return lines


def _write(path: Path, api: dict[str, Any], outcome: Probe, question: str) -> None:
    """Write a manifest that runs as it is: the agent, and a first dataset with the question asked here."""
    from rag_evaluation_framework.files.atomic import write_text_atomically
    from rag_evaluation_framework.files.yaml_documents import encode

    metrics = ["latency", *(["faithfulness"] if outcome.answer and outcome.answer.contexts else [])]
    dataset = {"name": "first", "path": f"$file:{_QUESTIONS}", "metrics": metrics}
    questions = path.parent / _QUESTIONS
    if not questions.exists():
        questions.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(questions, json.dumps({"user_input": question}, ensure_ascii=False) + "\n")
    manifest = {"spec": {"evaluation": {"datasets": [dataset]}, "api": api}}
    write_text_atomically(path, encode(manifest))


# What is shown.


def _document(outcome: Probe, lines: dict[str, Any] | None) -> dict[str, Any]:
    from rag_evaluation_framework.adapters.agent_probe import describe_reply

    answer, failure = outcome.answer, outcome.failure
    read = None
    if answer is not None:
        read = {
            "text": answer.text,
            "contexts": list(answer.contexts),
            "unread_contexts": answer.unread_contexts,
            **({"retrieved": [hit.id for hit in answer.hits]} if answer.hits else {}),
            "citations": [asdict(citation) for citation in answer.citations],
            "unread_citations": answer.unread_citations,
            "usage": asdict(answer.usage) if answer.usage else None,
        }
    return {
        "address": outcome.address,
        "protocol": outcome.candidate.label,
        "status": outcome.status,
        "elapsed_ms": round(outcome.elapsed_ms, 1),
        "answer": read,
        "found": dict(answer.found) if answer else {},
        "error": {"kind": failure.kind, "message": failure.message} if failure else None,
        "hints": outcome.hints(),
        "tried": [
            {"address": each.address, "protocol": each.candidate.label, "outcome": describe_reply(each)}
            for each in outcome.tried
        ],
        "manifest": None if lines is None else {"spec": {"api": lines}},
        "body": outcome.body,
    }


def _unescaped(body: str) -> str:
    """Return a reply with the characters unescaped that its server escapes, in any language."""
    return re.sub(
        r"\\u(?!d[89a-f])([0-9a-f]{4})",
        lambda match: chr(int(match[1], 16)) if int(match[1], 16) > 0xA0 else match[0],
        body,
    )


def _show(outcome: Probe, lines: dict[str, Any] | None, url: str, file: Path | None) -> None:
    from rag_evaluation_framework.evaluation.secrets import shown_address
    from rag_evaluation_framework.files.yaml_documents import encode

    screen = new_screen()
    status = "no reply" if outcome.status is None else f"status {outcome.status}"
    method, label = outcome.candidate.method, outcome.candidate.label
    screen.say(f"{method} {outcome.address}: {status}, {outcome.elapsed_ms:.0f} ms, protocol {label}", hang=2)
    screen.gap()
    if outcome.failure is not None:
        screen.say(f"no answer   {outcome.failure}", hang=12)
    for part, value in _parts(outcome):
        screen.say(f"{part:<11} {value}", hang=12)
    screen.gap()
    for hint in outcome.hints():
        screen.say(f"hint: {hint}", hang=6)
    _show_others(screen, outcome)
    if lines is not None:
        screen.gap()
        screen.say("Manifest:")
        for line in encode({"spec": {"api": lines}}).rstrip().splitlines():
            screen.say(line, indent=2, hang=len(line) - len(line.lstrip()) + 6)
    if outcome.body:
        screen.gap()
        screen.say("Reply:")
        for line in _unescaped(outcome.body).splitlines():
            screen.say(line)
    if lines is not None:
        screen.gap()
        if file is not None:
            screen.say(f"wrote {file}")
        free = "agent-2.yaml" if Path("agent.yaml").exists() else "agent.yaml"
        written = f"rag-eval probe {shown_address(url)} --write {free}"
        screen.steps([(f"rag-eval evaluate {file}" if file else written, "")])
    show(screen)


def _show_others(screen: Screen, outcome: Probe) -> None:
    """Add a line for each request but the one that is shown, where there were several."""
    from rag_evaluation_framework.adapters.agent_probe import describe_reply

    others = [each for each in outcome.tried if each.candidate is not outcome.candidate]
    if not others:
        return
    screen.gap()
    screen.say(f"{counted(len(outcome.tried), 'request')} sent. Other attempts:")
    for each in others:
        asked = f"{each.candidate.method} {each.address} {each.candidate.label}"
        screen.say(f"{asked}: {one_line(describe_reply(each), _TRIED_CHARACTERS)}", indent=2, hang=4)


def _parts(outcome: Probe) -> list[tuple[str, str]]:
    """Return what was read, each with the field it came from."""
    answer = outcome.answer
    if answer is None:
        return []
    usage = answer.usage
    spent = f"{usage.input_tokens} in, {usage.output_tokens} out" if usage else ""
    contexts = [one_line(context, _TEXT_CHARACTERS) for context in answer.contexts]
    ids = [hit.id for hit in answer.hits]
    values = {
        "answer": one_line(answer.text, _TEXT_CHARACTERS),
        "contexts": f"{len(contexts)}: {contexts[0]}" if contexts else "none retrieved",
        **({"retrieved": one_line(f"{len(ids)}: {', '.join(ids)}", _TEXT_CHARACTERS)} if ids else {}),
        "citations": f"{len(answer.citations)}" if answer.citations else "",
        "usage": spent,
    }
    return [
        (part, f"{value}  ← {answer.found[part]}" if part in answer.found else "not found")
        for part, value in values.items()
    ]
