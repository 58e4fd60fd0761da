"""The request format of an agent: one question is sent in one format after another until one is answered.

The order: the user's format; AgentSpec's own path; the agent's self-description in its OpenAPI document, in
the lists of functions and graphs of Gradio and LangGraph, or in the rejection of a request; then the
paths of common servers. A rejection that no other format would change (no connection, no key, a forbidden
address) ends it.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.adapters.http_agent import HttpAgent, joined_address
from rag_evaluation_framework.adapters.http_client import Reply, quoted
from rag_evaluation_framework.datasets.field_names import part_named
from rag_evaluation_framework.errors import TargetError, counted
from rag_evaluation_framework.evaluation.agent_shapes import DEFAULT_PATH, SHAPES, ReadAnswer
from rag_evaluation_framework.evaluation.secrets import shown_address
from rag_evaluation_framework.evaluation.targets import Ask
from rag_evaluation_framework.files.strict_json import JsonPath
from rag_evaluation_framework.records.responses import EXPECTED

MOST_REQUESTS = 16
_MODELS = 8
_THREAD = "probe"
_SHOWN_CHARACTERS = 2_000

# The names that people give to the fields of a request, the surest first.
_QUESTIONS = (
    *("question", "query", "message", "input", "prompt", "text", "q"),
    *("user_input", "user_message", "user_query", "content", "msg", "问题"),
)
_FIELDS = {
    **dict.fromkeys(_QUESTIONS, "{{question}}"),
    **dict.fromkeys(("messages",), "{{messages}}"),
    **dict.fromkeys(("history", "chat_history", "previous_messages"), "{{history}}"),
    **dict.fromkeys(("thread_id", "threadId", "session_id", "sessionId"), "{{thread}}"),
    **dict.fromkeys(("conversation_id", "conversationId", "chat_id", "user_id", "user"), "{{thread}}"),
}
_LIKELY_PATH = re.compile(r"ask|chat|query|question|answer|invoke|completion|rag|generate|predict|search")
# A field that the words of a refusal name; the keys of its own JSON are no words of it.
_NAMED_FIELD = re.compile(rf"""\b({"|".join(map(re.escape, [*_QUESTIONS, "messages"]))})\b(?!["']?\s*:)""")

# A server known by how its path ends, the longest first.
_ENDS = {
    "/chat/completions": "openai-compatible",
    "/chat-messages": "dify",
    "/responses": "openai-responses",
    "/runs/wait": "langgraph",
    "/runs/stream": "langgraph",
    "/invoke": "langserve",
}
_FINAL = frozenset({"connection-failed", "connect-timeout", "timeout", "tls-error", "forbidden-address"})
_FINAL |= {"http-401", "http-403", "http-407", "http-429", "invalid-http", "body-too-large"}
_WRONG_INPUT = (400, 422, 500)
_REDIRECTS = (301, 302, 307, 308)
_PATH_IS_WRONG = frozenset({"http-404", "http-405", "http-501", "html-page"})
_NEARNESS = {**dict.fromkeys(_FINAL, 4), **dict.fromkeys(_PATH_IS_WRONG, 0)}
_NEARNESS |= {"no-answer": 3, "stream-error": 3, "http-400": 2, "http-422": 2}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One way to ask: a protocol, or a template, at a path."""

    protocol: str = "simple"
    path: str | None = None
    body: Mapping[str, Any] | None = None
    method: str = "POST"
    paths: Mapping[str, str] = {}
    """Paths of the parts in the reply, as far as the agent publishes them."""

    @property
    def label(self) -> str:
        """Return a short name of the format."""
        if self.method == "GET":
            return "question in the URL"
        if self.body is None:
            return self.protocol
        return json.dumps(dict(self.body), ensure_ascii=False)


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one question: a reply, what was read from it, or why nothing could be."""

    candidate: Candidate
    address: str
    elapsed_ms: float
    status: int | None = None
    body: str = ""
    answer: ReadAnswer | None = None
    failure: TargetError | None = None
    tried: tuple[Probe, ...] = ()
    """All that was asked, in order, this one among them."""
    models: tuple[str, ...] = ()
    """The models that the agent lists, if it needs the name of one."""

    @property
    def reached(self) -> bool:
        """Return True if the agent gave any reply."""
        return self.status is not None

    def hints(self) -> list[str]:
        """Return hints for the parts that were not found."""
        if self.failure is not None and self.wants_model:
            named = f" (available: {', '.join(self.models)})" if self.models else ""
            return [f"The agent needs a model. Set --model NAME{named}."]
        if self.failure is not None and len(self.tried) > 1 and self.failure.kind in _PATH_IS_WRONG:
            return [f"No known request format worked. Set the path and the body: --path /ask {_BODY}"]
        if self.failure is not None and self.status in _REDIRECTS:
            return ["If the redirect leads to the agent, use that URL."]
        if self.failure is not None:
            return [_HINTS[self.failure.kind]] if self.failure.kind in _HINTS else []
        found = self.answer.found if self.answer else {}
        hints = [
            f"No {part} found. If the reply has any, set --{part}-path {self._place_of(part)}"
            for part in ("contexts", "citations", "usage")
            if part not in found and not (part == "contexts" and self.answer and self.answer.unread_contexts)
        ]
        if self.answer and (count := self.answer.unread_contexts):
            hints.append(
                f"Could not read {counted(count, 'context')}: expected {EXPECTED['contexts']}. "
                "Set the path of the text: --contexts-path 'sources[*].FIELD'"
            )
        if self.answer and (count := self.answer.unread_citations):
            hints.append(f"Could not read {counted(count, 'citation')}: expected {EXPECTED['citations']}.")
        return hints

    def _place_of(self, part: str) -> str:
        """Return where a part may stand; of contexts, the first list of texts that nobody names so."""
        if part != "contexts":
            return "PATH"
        try:
            reply = json.loads(self.body)
        except ValueError:
            return "PATH"
        return shlex.quote(next(_lists_of_texts(reply), "PATH"))

    @property
    def ends_search(self) -> bool:
        """Return True if no other format would do better: answered, or rejected for good."""
        if self.failure is None or self.failure.kind in _FINAL or self.wants_model:
            return True
        if self.failure.kind == "no-answer":
            return True  # it takes the question: what is missing is where the answer stands
        return self.status in _REDIRECTS and "another origin" in self.failure.message

    @property
    def wants_model(self) -> bool:
        """Return True if the agent is such a server and only the name of a model is missing."""
        is_named = self.candidate.protocol.startswith("openai")
        return is_named and self.status in (400, 404, 422) and "model" in self.body

    def manifest_lines(self, url: str) -> dict[str, Any]:
        """Return the ``spec.api`` that asks the agent as it was asked here, secrets left out."""
        candidate, shape = self.candidate, SHAPES[self.candidate.protocol]
        endpoint: dict[str, Any] = {"path": shape.path if candidate.path is None else candidate.path}
        if candidate.protocol != "simple":
            endpoint["protocol"] = candidate.protocol
        request: dict[str, Any] = {} if candidate.method == "POST" else {"method": candidate.method}
        if candidate.body is not None:
            request["body"] = dict(candidate.body)
        found = self.answer.found if self.answer else {}
        # "The whole reply" is no path.
        paths = {part: place for part, place in found.items() if part != "retrieved" and " " not in place}
        if endpoint["path"] == "":
            # The address was asked as it is, so its path stands where a manifest has it.
            parts = urlsplit(url)
            endpoint["path"], url = parts.path or "/", f"{parts.scheme}://{parts.netloc}"
        lines: dict[str, Any] = {"url": shown_address(url), "chatEndpoint": endpoint}
        if request:
            lines["request"] = request
        return {**lines, "responsePaths": paths} if paths else lines


_BODY = '--body \'{"question": "{{question}}"}\''
_HINTS = {
    "connection-failed": "Check that the agent is running and listens on this port.",
    "connect-timeout": "Check the host name and the firewall.",
    "timeout": "The agent is slow. Allow more time with --timeout.",
    "no-answer": "If the reply contains the answer, set its path, for example --answer-path result.text",
    "stream-error": "The agent accepted the question and failed. Check the agent's log.",
    "html-page": "This URL is a web page. Set the path of the API with --path.",
    "malformed-json": "The reply is not JSON. Set the path of the chat endpoint with --path.",
    "http-400": f"The agent expects another body. Set it: {_BODY}",
    "http-401": "The agent needs a key. Set it: --header 'Authorization: Bearer ${AGENT_KEY}'",
    "http-403": "The key has no permission for this request.",
    "http-404": "No endpoint at this path. Set another with --path.",
    "http-405": "This path does not accept POST. Set another with --path.",
    "http-422": f"The agent expects another body. Set it: {_BODY}",
}


async def probe(
    url: str,
    message: str,
    *,
    given: Candidate | None,
    agent: Callable[[Candidate], HttpAgent],
    timeout: float,
) -> Probe:
    """Ask in one shape after another and return the first that was answered, or else the nearest to it.

    With a candidate ``given`` only that is asked. ``agent`` makes the agent that asks as a candidate says.
    """
    waiting = [given] if given is not None else list(_first(url))
    tried: list[Probe] = []
    seen: set[str] = set()
    looked = given is not None
    while waiting and len(tried) < MOST_REQUESTS:
        candidate = waiting.pop(0)
        if (key := f"{candidate.method} {candidate.path} {candidate.label}") in seen:
            continue
        seen.add(key)
        outcome = await ask_candidate(agent(candidate), candidate, message, timeout=timeout)
        if outcome.wants_model and candidate.body is None:
            outcome = replace(outcome, models=await _models(agent(candidate), url, candidate.path, timeout))
        tried.append(outcome)
        if len(outcome.models) == 1:
            waiting = [replace(candidate, body={"model": outcome.models[0]})]
        elif given is not None or outcome.ends_search:
            break
        if outcome.failure is not None and outcome.failure.kind in _PATH_IS_WRONG:
            place = (candidate.method, candidate.path)
            waiting = [each for each in waiting if (each.method, each.path) != place]
        wanted = list(_read_required_fields(outcome))
        if not looked and _says_little(outcome):
            looked = True
            wanted = [*await _described(agent(candidate), url, timeout), *wanted]
        waiting = [*wanted, *waiting]
    best = max(tried, key=_nearness)
    return replace(best, tried=tuple(tried))


async def _models(agent: HttpAgent, url: str, path: str | None, timeout: float) -> tuple[str, ...]:
    """Return the models that a server of OpenAI's shape lists, where it does."""
    address = re.sub(r"/(chat/completions|responses)/?$", "/models", joined_address(url, path or ""))
    try:
        told = await agent.look(address, timeout=timeout)
    finally:
        await agent.close()
    ids = [each.get("id") for each in _objects(told.get("data") if isinstance(told, dict) else None)]
    return tuple(each for each in ids if isinstance(each, str) and each.isprintable())[:_MODELS]


def _says_little(outcome: Probe) -> bool:
    """Return True if the agent's self-description may help: path or input shape is wrong."""
    is_path = outcome.failure is not None and outcome.failure.kind in _PATH_IS_WRONG
    return is_path or (outcome.candidate.protocol == "langserve" and outcome.status in _WRONG_INPUT)


async def ask_candidate(agent: HttpAgent, candidate: Candidate, message: str, *, timeout: float) -> Probe:
    """Send one question and read the reply as a run would."""
    ask = Ask(({"role": "user", "content": message},), 1, 1)
    started = time.perf_counter()
    reply: Reply | None = None
    answer: ReadAnswer | None = None
    failure: TargetError | None = None
    try:
        thread = agent.first_thread(_THREAD)
        reply = await agent.send(ask, key=_THREAD, thread_id=_THREAD, thread=thread, timeout=timeout)
        answer = agent.read(reply)
    except TargetError as error:
        failure = error
    finally:
        elapsed = (time.perf_counter() - started) * 1000
        await agent.close()
    text = agent.mask(reply.body.decode("utf-8", errors="replace")) if reply else ""
    return Probe(
        candidate=candidate,
        address=agent.name,
        elapsed_ms=reply.latency_ms if reply else elapsed,
        status=reply.status if reply else None,
        body=text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…",
        answer=answer,
        failure=failure,
    )


def _nearness(outcome: Probe) -> int:
    """Return a rank of an outcome: the higher, the nearer to an answer."""
    return 5 if outcome.failure is None else _NEARNESS.get(outcome.failure.kind, 1)


# Where to look, and in which order.


def _first(url: str) -> Iterator[Candidate]:
    path = urlsplit(url).path.rstrip("/")
    if not path:
        yield Candidate(path=DEFAULT_PATH)
    else:
        yield from _by_path(path, "")
    for end in ("/chat/completions", "/responses"):
        if not path.endswith(end):
            yield Candidate(protocol=_ENDS[end], path=end if path.endswith("/v1") else f"/v1{end}")
    if path:
        yield from (_of_field(name, "") for name in _QUESTIONS[:4])
        yield Candidate(path=DEFAULT_PATH)
    yield from (_of_field(name, place) for place, name in _COMMON)
    for protocol in ("langserve", "dify", "langgraph"):
        yield Candidate(protocol=protocol, path=SHAPES[protocol].path)


_COMMON = (("/ask", "question"), ("/chat", "message"), ("/query", "query"), ("/api/chat", "message"))


def _by_path(path: str, behind: str) -> Iterator[Candidate]:
    """Yield what a path says by how it ends; ``behind`` is what is to be put behind the URL."""
    if "/call/" in path:
        yield Candidate(protocol="gradio", path=behind)
    elif protocol := next((_ENDS[end] for end in _ENDS if path.endswith(end)), None):
        yield Candidate(protocol=protocol, path=behind)
    elif path.endswith("/stream"):
        yield Candidate(protocol="langserve", path=behind)
    else:
        yield Candidate(path=behind)


def _of_field(name: str, path: str) -> Candidate:
    return Candidate(path=path, body={name: _FIELDS[name]})


def _body_of(names: Sequence[str]) -> dict[str, Any] | None:
    """Return the template for these fields; nothing where one of them is not known, or none is a question."""
    body = {name: _FIELDS.get(name) for name in names}
    asks = any(value in ("{{question}}", "{{messages}}") for value in body.values())
    return body if asks and None not in body.values() else None


def _in_query(path: str, names: Sequence[str], method: str) -> Iterator[Candidate]:
    """Yield how these parameters of an address are asked, if one of them is a question."""
    if names and (body := _body_of(names)):
        asked_for = "&".join(f"{name}={value}" for name, value in body.items())
        yield Candidate(path=f"{path}?{asked_for}", method=method)


def _read_required_fields(outcome: Probe) -> Iterator[Candidate]:
    """Yield what a refused request says it should have been, as FastAPI and hand-written checks say it."""
    path, protocol = outcome.candidate.path, outcome.candidate.protocol
    if protocol == "langserve" and outcome.candidate.body is None and outcome.status in _WRONG_INPUT:
        for name in ("question", "input", "query", "messages"):
            yield Candidate(protocol=protocol, path=path, body={"input": {name: _FIELDS[name]}})
    if protocol == "gradio" and outcome.failure is not None:
        sent = {**SHAPES[protocol].body, **(outcome.candidate.body or {})}
        if sent.pop("session_hash", None) is not None:  # version 5 knows no session, and wants its states
            for data in (sent["data"], [*sent["data"], None]):
                yield replace(outcome.candidate, body={**sent, "data": data})
    if outcome.status in _REDIRECTS and path is not None and not path.endswith("/"):
        yield replace(outcome.candidate, path=f"{path}/")  # most often only this is missing
    if outcome.status not in (400, 422) or outcome.candidate.method == "GET":
        return
    try:
        detail = json.loads(outcome.body).get("detail")
    except (ValueError, AttributeError):
        detail = None
    places = (
        [each.get("loc") for each in detail if isinstance(each, dict)] if isinstance(detail, list) else []
    )
    missing = [place for place in places if isinstance(place, list) and len(place) > 1]
    yield from _in_query(path or "", [str(place[1]) for place in missing if place[0] == "query"], "POST")
    in_body = [str(place[1]) for place in missing if place[0] == "body" and len(place) == 2]
    if in_body and (body := _body_of(in_body)):
        yield Candidate(path=path, body=body)
    if not missing:
        for name in dict.fromkeys(_NAMED_FIELD.findall(outcome.body)):
            yield _of_field(name, path or "")


async def _described(agent: HttpAgent, url: str, timeout: float) -> list[Candidate]:
    """Read from what the agent says of itself what it takes; nothing where it says nothing."""

    async def look(path: str, body: Any = None, *, within: str = url) -> Any:
        return await agent.look(joined_address(within, path), body, timeout=timeout)

    parts = urlsplit(url)
    try:
        document = await look("/openapi.json", within=f"{parts.scheme}://{parts.netloc}")
        told = list(_operations(document))
        paths = {path for path, *_ in told}
        if {"/runs/wait", "/assistants/search"} <= paths:
            return await _graphs(look, agent.model)
        found = [] if "/gradio_api/info" in paths else _of_operations(told, parts.path.rstrip("/"), document)
        return found or await _gradio(look)
    finally:
        await agent.close()


Look = Callable[..., Awaitable[Any]]


async def _graphs(look: Look, wanted: str | None) -> list[Candidate]:
    """Return how the graphs of a LangGraph server are asked, each by its own name for the question."""
    assistants = _objects(await look("/assistants/search", {"limit": 100}))
    named = sorted({str(each.get("graph_id")): str(each.get("assistant_id")) for each in assistants}.items())
    found = []
    for name, known in [each for each in named if wanted in (None, *each)][:4]:
        schemas = await look(f"/assistants/{quote(known, safe='')}/schemas")
        schemas = schemas if isinstance(schemas, dict) else {}
        fields = next(
            (_fields(schemas.get(of)) for of in ("input_schema", "state_schema") if schemas.get(of)), {}
        )
        body = _body_of([_question_in(fields, "messages") or "messages"])
        if body is not None:
            is_usual = (name, *body) == ("agent", "messages")
            asked_by = None if is_usual else {"assistant_id": name, "input": body}
            found.append(Candidate(protocol="langgraph", path=SHAPES["langgraph"].path, body=asked_by))
    return found


async def _gradio(look: Look) -> list[Candidate]:
    """Return how the functions of a Gradio app are called: version 5 and later, or version 4."""
    for before in ("/gradio_api", ""):
        told = await look(f"{before}/info")
        named = told.get("named_endpoints") if isinstance(told, dict) else None
        found = [
            (not _LIKELY_PATH.search(name), order, candidate)
            for order, (name, function) in enumerate(named.items() if isinstance(named, dict) else ())
            if isinstance(function, dict)
            and (candidate := _of_function(f"{before}/call{name}", function)) is not None
        ]
        if found:
            return [candidate for *_, candidate in sorted(found, key=lambda each: each[:2])][:4]
    return []


def _of_function(path: str, function: Mapping[str, Any]) -> Candidate | None:
    """Return how a function of a Gradio app is called: beside the question with what its page starts with."""
    data: list[Any] = []
    asks = False
    for each in _objects(function.get("parameters")):
        component, kind = each.get("component"), each.get("type")
        is_text = component in _TEXT_COMPONENTS and not asks
        if component == "Chatbot":
            message = JsonPath.parse('["$defs"].Message.properties.content.type').find(kind)
            data.append("{{history_parts}}" if message == "array" else "{{history}}")
        elif is_text and isinstance(kind, dict) and kind.get("type") == "object":
            data.append({"text": "{{question}}", "files": []})  # text and files in one
        else:
            data.append("{{question}}" if is_text else each.get("parameter_default"))
        asks = asks or is_text
    if not asks:
        return None
    paths: dict[str, str] = {}
    for number, each in enumerate(_objects(function.get("returns"))):
        label = str(each.get("label")).strip().lower()
        if each.get("component") == "Chatbot":
            paths["answer"] = f"[{number}][-1].content"
        elif part_named(label) == "contexts" or (number and each.get("component", "").lower() == "json"):
            paths.setdefault("contexts", f"[{number}]")
    body = None if data == ["{{question}}"] else {**SHAPES["gradio"].body, "data": data}
    return Candidate(protocol="gradio", path=path, body=body, paths=paths)


_TEXT_COMPONENTS = ("Textbox", "MultimodalTextbox", "Multimodaltextbox", "Text", "TextArea")


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _operations(document: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    paths = document.get("paths") if isinstance(document, dict) else None
    for path, methods in paths.items() if isinstance(paths, dict) else ():
        for method in ("post", "get"):
            if isinstance(methods, dict) and isinstance(methods.get(method), dict):
                yield path, method, methods[method]


def _of_operations(
    told: Sequence[tuple[str, str, Mapping[str, Any]]], before: str, document: Mapping[str, Any]
) -> list[Candidate]:
    # Beside /invoke LangServe has six others that do the same in other ways.
    runnables = [each for each in told if each[0].endswith("/invoke")]
    found = [
        (candidate.protocol == "simple", not _LIKELY_PATH.search(path), len(path), order, candidate)
        for order, (path, method, operation) in enumerate(runnables or told)
        if path.startswith(before) and "{" not in path
        for candidate in _of_operation(path, path.removeprefix(before), method, operation, document)
    ]
    return [candidate for *_, candidate in sorted(found, key=lambda each: each[:4])][:4]


def _of_operation(
    path: str, behind: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Candidate]:
    names = [
        str(each.get("name"))
        for each in _objects(operation.get("parameters"))
        if each.get("in") == "query" and each.get("required")
    ]
    yield from _in_query(behind, names, method.upper())
    if method != "post":
        return
    schema = _schema(
        JsonPath.parse('requestBody.content["application/json"].schema').find(operation), document
    )
    if path.endswith("/invoke"):
        yield Candidate(protocol="langserve", path=behind, body=_runnable_body(schema, document))
    elif any(path.endswith(end) for end in _ENDS):
        yield from _by_path(path, behind)
    elif body := _asked_body(schema):
        yield Candidate(path=behind, body=body)


def _asked_body(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the template of an object that has a question among its fields, with what else it requires."""
    question = _question_in(_fields(schema), "messages")
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    wanted = [question, *(str(name) for name in required or () if name != question)]
    return None if question is None else _body_of([name for name in wanted if name is not None])


def _runnable_body(schema: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a runnable of LangServe takes; nothing where that is the bare question, or is not said."""
    wanted = _schema(_fields(schema).get("input"), document)
    if (body := _asked_body(wanted)) is None and len(only := list(_fields(wanted))) == 1:
        body = {only[0]: "{{question}}"}  # a field of any name, if it is the only one
    return None if body is None else {"input": body}


def _fields(schema: Any) -> Mapping[str, Any]:
    fields = schema.get("properties") if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else {}


def _question_in(fields: Mapping[str, Any], *others: str) -> str | None:
    return next((name for name in (*_QUESTIONS, *others) if name in fields), None)


def _schema(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema, or the one of the document that it refers to."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if isinstance(reference, str):
        for step in ("components", "schemas", reference.rpartition("/")[2]):
            document = document.get(step, {}) if isinstance(document, dict) else {}
        return document if isinstance(document, dict) else {}
    return schema if isinstance(schema, dict) else {}


def describe_reply(outcome: Probe) -> str:
    """Return a short description of a reply."""
    if outcome.failure is None:
        return "answered"
    status = f"{outcome.status} " if outcome.status else ""
    said = quoted(outcome.body.encode("utf-8"), str) or outcome.failure.message
    return f"{status}{said}"


_DEEPEST, _A_TEXT = 6, 20


def _lists_of_texts(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths in a reply that lead to the texts of a list: ``result.found[*].body``."""
    if isinstance(value, list) and path and value:
        first = value[0]
        fields = first.items() if isinstance(first, dict) else [("", first)]
        texts = [name for name, text in fields if isinstance(text, str) and len(text) >= _A_TEXT]
        yield from (f"{path}[*]{f'.{name}' if name else ''}" for name in texts)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, below in value.items():
            yield from _lists_of_texts(below, f"{path}.{name}" if path else name, depth + 1)
