"""Targets from text; Python functions, recorded answers, conversations replayed."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.components import TARGETS, target_from
from rag_evaluation_framework.datasets.framework_results import read_result
from rag_evaluation_framework.datasets.row_sources import plain_row
from rag_evaluation_framework.errors import (
    FileProblems,
    InputError,
    Issue,
    TargetError,
    UsageError,
    in_full,
    shown,
)
from rag_evaluation_framework.evaluation.agent_shapes import (
    AnswerReader,
    ReadAnswer,
    hits_of,
    resolve_names,
    shape,
)
from rag_evaluation_framework.evaluation.frameworks import (
    FrameworkSystem,
    existing_index,
    found_response,
    imported_object,
    is_index,
    not_a_system,
    system_of,
)
from rag_evaluation_framework.evaluation.manifest import Manifest
from rag_evaluation_framework.evaluation.secrets import (
    MaskedTarget,
    Secrets,
    secrets_in_address,
    shown_address,
)
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.files.access import check_expansion
from rag_evaluation_framework.files.strict_json import finite_number, read_lines
from rag_evaluation_framework.records.responses import (
    RECORDED,
    RETRIEVAL,
    TURNS,
    History,
    Hit,
    Request,
    Response,
    unread_field,
)
from rag_evaluation_framework.records.samples import RECORDED_ROWS, Recorded, Sample, Usage
from rag_evaluation_framework.workers import in_own_thread

if TYPE_CHECKING:
    from rag_evaluation_framework.records.steps import Trace

TargetLike: TypeAlias = str | Path | Callable[..., Any] | Target

_RETRIEVAL = {RECORDED: RETRIEVAL}


class Address(str):
    """A text that is meant as the address of an agent, in any notation."""

    __slots__ = ()


class _Held:
    """A target that holds its answers; fulfils ``extensions.Target``."""

    is_live = False

    def held_by(self, sample: Sample) -> Response:
        """Return the answer that is held for a sample; :class:`TargetError` where there is none."""
        raise NotImplementedError

    async def answer(self, request: Request) -> Response:
        """Return what is held; a sample for which that is nothing is a failure."""
        return self.held_by(request.sample)

    async def close(self) -> None:
        """Nothing is held open."""


class RecordedRows(_Held):
    """The answers that the samples themselves hold, as a target.

    ``retrieval`` are rows none of which has an answer: what was retrieved is all there is to score.
    """

    name = RECORDED_ROWS

    def __init__(self, *, retrieval: bool = False) -> None:
        self._retrieval = retrieval

    def held_by(self, sample: Sample) -> Response:
        """Return what a sample holds; one without an answer is a failure, unless it only retrieves."""
        recorded = sample.recorded
        if recorded is not None and sample.trace is not None:
            return _traced(sample, recorded, sample.trace)
        is_answered = recorded is not None and (
            recorded.answer is not None or (not self._retrieval and is_retrieval_only(sample))
        )
        if recorded is None or not (is_answered or (self._retrieval and holds_retrieval(sample))):
            raise TargetError("no-recorded-answer", "the row has no answer, and no agent is given")
        return Response(
            text=recorded.answer or ("" if is_answered else None),
            metadata={} if is_answered else _RETRIEVAL,
            contexts=recorded.contexts,
            context_origin="dataset" if recorded.contexts else None,
            retrieved_nothing=recorded.retrieved_nothing and not recorded.retrieved,
            hits=_known_hits(sample, hits_of(recorded.retrieved)),
            citations=recorded.citations,
            usage=recorded.usage,
            latency_ms=recorded.latency_ms,
        )


def _traced(sample: Sample, recorded: Recorded, trace: Trace) -> Response:
    """Return what a trace recorded; one that failed, or neither answers nor retrieves, is a failure."""
    if recorded.answer is None and trace.error is not None:
        raise TargetError("recorded-error", trace.error)
    hits = _known_hits(sample, hits_of(recorded.retrieved))
    if recorded.answer is None and not (hits or recorded.contexts or recorded.retrieved_nothing):
        raise TargetError("no-recorded-answer", "the trace has no answer and no retrieved passages")
    told = {name: trace.total(name) for name in ("input_tokens", "output_tokens", "cost_usd")}
    return Response(
        text=recorded.answer,
        contexts=recorded.contexts,
        context_origin="system" if recorded.contexts else None,
        retrieved_nothing=recorded.retrieved_nothing and not hits,
        hits=hits,
        usage=None if set(told.values()) == {None} else Usage(**told),  # type: ignore[arg-type]
        latency_ms=trace.took_ms,
        metadata=_RETRIEVAL if recorded.answer is None else {},
    )


def _known_hits(sample: Sample, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return hits under the names by which a sample knows what is relevant."""
    if not any(hit.names for hit in hits):
        return hits
    return resolve_names(hits, {*sample.relevant_documents, *sample.relevant_chunk_ids}.__contains__)


def holds_retrieval(sample: Sample) -> bool:
    """Return True if a sample says what was retrieved for it, be it nothing."""
    recorded = sample.recorded
    return recorded is not None and bool(
        recorded.contexts or recorded.retrieved or recorded.retrieved_nothing
    )


def is_retrieval_only(sample: Sample) -> bool:
    """Tell a retrieval diagnostic: what is relevant and what was retrieved is known, no answer expected."""
    recorded = sample.recorded
    is_judged = sample.relevant_chunk_ids or (
        sample.relevant_documents and recorded and recorded.answer is None
    )
    return bool(sample.reference is None and is_judged and recorded is not None and recorded.retrieved)


def target_of(
    given: TargetLike | None, manifest: Manifest, secrets: Secrets, *, history: History = "own"
) -> Target:
    """Build the target; the references of the manifest's headers are resolved here and hidden from now on.

    Only a target that is sent the whole conversation, which it says with ``takes_history``, can be asked upon
    the answers that the dataset expects.
    """
    target: Target
    if given is None:
        target = RecordedRows()
    elif is_address(given):
        target = _agent(str(given).strip(), manifest, secrets)
    else:
        with suppress(InputError):  # it does not send the headers, but may know their secrets
            manifest.api.resolved_headers(os.environ, secrets=secrets)
        target = _other_than_agent(given)
    if history == "reference" and not getattr(target, "takes_history", False):
        raise UsageError(
            f"history reference: {target.name} does not take the earlier turns. Use a model, an agent "
            "with protocol openai-compatible, or a function with a parameter history"
        )
    return MaskedTarget(target, secrets)


def _other_than_agent(given: TargetLike) -> Target:
    if isinstance(given, str) and is_index(given):
        return PythonCallable(existing_index(given).system)
    if isinstance(given, str | Path):
        return target_from(str(given))
    if isinstance(given, Target):
        return given
    return PythonCallable(given)


def shown_target(given: TargetLike | None, target: Target) -> str:
    """Return the shown name of the target: the address given without its secrets, or the target's name."""
    if isinstance(given, str) and is_address(given):
        return shown_address(given.strip())
    return target.name


def model_of(given: TargetLike | None, manifest: Manifest, target: Target) -> str | None:
    """Return the model that is asked, where it is known: that of a manifest's agent, or the target itself."""
    text = given.strip() if isinstance(given, str) else ""
    if is_address(given):
        return manifest.api.model
    return target.name if text.startswith("openai(") else None


def is_address(given: object) -> bool:
    """Return True if what is given is the address of an agent."""
    if not isinstance(given, str):
        return False
    return isinstance(given, Address) or given.strip().startswith(("http://", "https://"))


def _agent(url: str, manifest: Manifest, secrets: Secrets) -> Target:
    api = manifest.api
    for value in secrets_in_address(url):
        secrets.add(value)
    plain, secret = api.resolved_headers(os.environ, secrets=secrets)
    return TARGETS.get("http")(
        url,
        path=api.path,
        protocol=api.protocol,
        model=api.model,
        method=api.method,
        headers=plain,
        secret_headers=secret,
        body=api.resolved_body(os.environ, secrets=secrets),
        response_paths=api.response_paths,
        mask=secrets.mask,
    )


# A sample put to a system turn by turn, and the response made of what it answered.
#
# The user's turns are replayed in order, each after the answer to the one before. What the system itself
# said is the history, unless the request asks for the answers that the dataset expects: then a mistake in
# one turn does not spoil the next.

Message = dict[str, str]


class Ask(msgspec.Struct, frozen=True):
    """One turn to be answered: the messages so far, the user's last, and its place among the user's turns."""

    messages: tuple[Message, ...]
    turn: int
    turns: int

    @property
    def text(self) -> str:
        return self.messages[-1]["content"]

    def key(self, key: str) -> str:
        """Return the idempotency key of this turn, which is the sample's own where there is one turn only."""
        return key if self.turns == 1 else f"{key}-{self.turn}"


async def replay(
    sample: Sample, answer: Callable[[Ask], Awaitable[ReadAnswer]], *, history: History = "own"
) -> Response:
    """Ask every turn of the user's and return the response to the last; all of them are in its metadata.

    A turn that fails, fails the conversation: the error names it and has the turns answered before.
    With ``history="reference"`` each turn is asked after the answers that the dataset expects; where it
    expects none, or a refusal, after the system's own.
    """
    turns = sum(turn.role == "user" for turn in sample.turns)
    messages: list[Message] = []
    answers: list[ReadAnswer] = []
    for turn in sample.turns:
        if turn.role == "system" and turn.content is not None:
            messages.append({"role": "system", "content": turn.content})
        if turn.role == "user":
            messages.append({"role": "user", "content": turn.content or ""})
            try:
                answers.append(await answer(Ask(tuple(messages), len(answers) + 1, turns)))
            except TargetError as error:
                if turns == 1:
                    raise
                where = f"turn {len(answers) + 1} of {turns}: {error.message}"
                raise error.reworded(where, answered=_format_turns(messages, answers)) from error
            messages.append({"role": "assistant", "content": answers[-1].text})
        if turn.role == "assistant" and turn.reference and history == "reference" and answers:
            messages[-1] = {"role": "assistant", "content": turn.reference}
    return response_of(sample, answers, _format_turns(messages, answers))


def response_of(
    sample: Sample, answers: Sequence[ReadAnswer], turns: Sequence[Mapping[str, Any]] = ()
) -> Response:
    """Build the response of a sample from its answers, the last of which counts.

    The contexts are the system's where it returned any, else the dataset's, and the response says which.
    """
    last = answers[-1]
    row = sample.recorded or Recorded()
    metadata: dict[str, Any] = {}
    if len(turns) > 1:
        metadata[TURNS] = list(turns)
    if unread := sum(answer.unread_contexts for answer in answers):
        metadata[unread_field("contexts")] = unread
    if last.unread_citations:
        metadata[unread_field("citations")] = last.unread_citations
    return Response(
        text=last.text,
        hits=_known_hits(sample, last.hits),
        retrieved_nothing=last.retrieved_nothing
        or (row.retrieved_nothing and not last.contexts and not last.hits),
        contexts=last.contexts or row.contexts,
        context_origin="system" if last.contexts else "dataset" if row.contexts else None,
        citations=last.citations,
        usage=_total([answer.usage for answer in answers]),
        metadata=metadata,
    )


def _format_turns(messages: Sequence[Message], answers: Sequence[ReadAnswer]) -> list[dict[str, Any]]:
    """Return the turns that have an answer as a response's metadata have them."""
    questions = [message["content"] for message in messages if message["role"] == "user"]
    return [
        {
            "question": question,
            "answer": answer.text,
            "contexts": list(answer.contexts),
            **({"retrieved_nothing": True} if answer.retrieved_nothing else {}),
        }
        for question, answer in zip(questions, answers, strict=False)
    ]


def _total(usages: Sequence[Usage | None]) -> Usage | None:
    """Add up what the turns cost; a part that one turn does not tell is not known for all."""
    if None in usages:
        return None
    if len(usages) == 1:
        return usages[0]
    told = {name: [getattr(usage, name) for usage in usages] for name in Usage.__struct_fields__}
    return Usage(**{name: None if None in parts else sum(parts) for name, parts in told.items()})


# A Python function as the system under test: ``module:function``.
#
# It gets the text of the question; or the whole :class:`Sample`, if its first parameter is called
# ``sample`` or annotated so. Parameters called ``thread_id`` and ``history`` (the messages before this
# one) are filled where it has them. It returns a text, a dictionary of the shape an HTTP agent would
# reply with, or a :class:`Response`; it may be a coroutine function. A plain function runs in a thread of
# its own, which a timeout leaves behind: Python cannot end it.

_FILLED = ("thread_id", "history")


class PythonCallable:
    """A function of yours. ``function`` is the place to import it from, or the function itself."""

    is_local = True

    def __init__(
        self,
        function: str | Callable[..., Any] | FrameworkSystem,
        *,
        response_paths: dict[str, str] | None = None,
    ) -> None:
        found: Any = imported_object(function) if isinstance(function, str) else function
        system = _framework_system(found)
        self._function = found if system is None else system.function()
        self.name = function if isinstance(function, str) else system.name if system else _place_of(found)
        module = sys.modules.get(getattr(found, "__module__", None) or "")
        version = getattr(module, "__version__", None)
        self.version = f"{self.name} {version}" if isinstance(version, str) else system and system.version
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
                    text=whole.text or "", contexts=whole.contexts, retrieved_nothing=whole.retrieved_nothing
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
                return _understood(await self._function(question, **filled))
            result = await in_own_thread(lambda: self._function(question, **filled), name="target")
            return _understood(await result if inspect.isawaitable(result) else result)
        except TargetError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's function may raise anything
            raise TargetError("callable-error", in_full(error)) from None

    def _read(self, result: Any) -> ReadAnswer:
        if isinstance(result, str):
            return self._reader.read(result)
        if not isinstance(result, dict):
            raise TargetError(
                "no-answer", f"expected text, a dictionary or a Response, got {type(result).__name__}"
            )
        try:
            return self._reader.read(plain_row(result))
        except TargetError:
            row = read_result(result) or {}
            if "answer" not in row:
                raise
            return self._reader.read(row)


def _understood(result: Any) -> Any:
    """Return what a framework returned, passed on by a function, as a dictionary or a response."""
    if not result or isinstance(result, str | dict | Response):
        return result
    row = read_result(result)
    if row is None:
        return result
    return row if "answer" in row else found_response(row["contexts"])


def _framework_system(found: Any) -> FrameworkSystem | None:
    """Return an object of a framework that can be asked; ``None`` for a function, and what else is called."""
    if inspect.isroutine(found):
        return None
    system = system_of(found)
    if system is None and not callable(found):
        otherwise = "an address, module:function, a file of answers, a function, a target, or "
        raise UsageError(f"target: expected {not_a_system(found, otherwise)}")
    return system


def _parameters(function: Callable[..., Any]) -> tuple[bool, tuple[str, ...]]:
    """Return whether a function takes the sample, and which of the other things it takes."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins may have no signature
        return False, ()
    first = parameters[0] if parameters else None
    wants_sample = first is not None and (
        first.name == "sample"
        or first.annotation is Sample
        or (isinstance(first.annotation, str) and first.annotation.rpartition(".")[2] == "Sample")
    )
    names = {parameter.name for parameter in parameters[1:]}
    return wants_sample, tuple(name for name in _FILLED if name in names)


def _place_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{name}"


# Answers that a system gave earlier, as the system under test: a JSON object a line.
#
# ``{"id": …, "answer": …, "contexts": […], "citations": […]}``: everything but the pairing is read as an
# HTTP agent's reply is. A line pairs with the sample of its ``id`` (``sample_id``, ``query_id``,
# ``task_id``), else with the one sample that asks exactly its ``input`` (``question``, ``query``,
# ``query_text``, ``user_input``). A line with an ``error`` instead of an answer is a failure that was
# recorded. The latency is what the line tells as ``latency_ms`` (``latencyMs``), else it is not known.

_IDS = ("id", "sample_id", "query_id", "task_id")
_QUESTIONS = ("input", "question", "query", "query_text", "user_input")
_LATENCIES = ("latency_ms", "latencyMs")


class _Recorded(msgspec.Struct, frozen=True):
    """The content of one line of the file."""

    line: int
    answer: ReadAnswer | TargetError
    latency_ms: float | None = None


class RecordedAnswers(_Held):
    """Answers that were recorded. The file is read whole, and all of its problems are in one error."""

    def __init__(self, path: str | Path, *, response_paths: Mapping[str, str] | None = None) -> None:
        self.name = str(path)
        self._reader = AnswerReader(response_paths)
        self._by_id: dict[str, _Recorded] = {}
        self._by_question: dict[str, list[_Recorded]] = {}
        problems = FileProblems(self.name)
        check_expansion(path)
        for line, record in read_lines(path, on_error=problems.take):
            try:
                self._take(line, record)
            except InputError as error:
                problems.take(error.located(self.name, line))
        if not (self._by_id or self._by_question or problems.issues):
            problems.add(Issue("empty", "one answer per line", "an empty file"))
        problems.raise_if_any()

    def held_by(self, sample: Sample) -> Response:
        """Return the answer that is recorded for a sample; :class:`TargetError` where there is none."""
        found = self._found(sample)
        if isinstance(found.answer, TargetError):
            raise TargetError(found.answer.kind, found.answer.message)
        return replace(response_of(sample, [found.answer]), latency_ms=found.latency_ms)

    def _take(self, line: int, record: Any) -> None:
        if not isinstance(record, dict):
            raise _problem("an object with an answer", shape(record))
        identifier, question = _first_text(record, _IDS), _first_text(record, _QUESTIONS)
        if identifier is None and question is None:
            raise _problem("an id or an input", "neither")
        recorded = _Recorded(line, self._answer(record), _latency(record))
        if identifier is not None:
            earlier = self._by_id.setdefault(identifier, recorded)
            if earlier is not recorded:
                raise _problem("a unique id", f"{identifier!r}, already on line {earlier.line}")
        if question is not None:
            self._by_question.setdefault(question, []).append(recorded)

    def _answer(self, record: Mapping[str, Any]) -> ReadAnswer | TargetError:
        told = {name: value for name, value in record.items() if name not in _QUESTIONS}
        try:
            return self._reader.read(told)
        except TargetError:
            if record.get("error"):
                return TargetError("recorded-failure", str(record["error"]))
            raise _problem(self._reader.expected, shape(record)) from None

    def _found(self, sample: Sample) -> _Recorded:
        if sample.id in self._by_id:
            return self._by_id[sample.id]
        found = self._by_question.get(sample.question, [])
        if len(found) == 1:
            return found[0]
        if found:
            lines = ", ".join(str(each.line) for each in found[:5])
            raise TargetError("ambiguous-answer", f"{self.name}: the question occurs on lines {lines}")
        raise TargetError("no-recorded-answer", f"{self.name} does not contain the id or the question")


def _first_text(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    values = (record.get(name) for name in names)
    return next((str(value) for value in values if type(value) in (str, int) and str(value)), None)


def _latency(record: Mapping[str, Any]) -> float | None:
    written = next((record[name] for name in _LATENCIES if record.get(name) is not None), None)
    if written is None:
        return None
    latency = finite_number(written)
    if latency is None or latency < 0:
        raise _problem("a latency of 0 or more milliseconds", shown(written))
    return latency


def _problem(expected: str, found: str) -> InputError:
    return InputError([Issue("invalid-recorded-answer", expected, found)])
