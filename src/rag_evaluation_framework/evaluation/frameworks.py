"""Systems that people have built with LangChain, LlamaIndex, Haystack or DSPy, and indexes they have.

:func:`system_of` tells what an object is by its methods, so that no framework is imported, and returns it as
something that can be asked a question:

===============================  =====================================================================
LangChain runnable, LangGraph    ``invoke(question)``, or with the question under the name it takes
LlamaIndex query engine          ``query(question)``
retriever, of either             ``invoke`` or ``retrieve``: contexts and no answer
Haystack pipeline                ``run``, the question given to every input that takes one
DSPy module                      ``module(question=…)``, or by the name of its only input
vector store, index, collection  the nearest k, as they come out of the store; contexts and no answer
===============================  =====================================================================

What they return is read by :mod:`rag_evaluation_framework.datasets.framework_results`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, copy_context
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.components import INDEXES, component_from
from rag_evaluation_framework.datasets.framework_results import QUESTIONS, read_result
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    TargetError,
    UsageError,
    counted,
    in_full,
    shown,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Document, DocumentId
from rag_evaluation_framework.records.responses import Hit, Response

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.cited_texts import SearchedDocuments

NEAREST = 5
"""Number of results that an index is asked for by default."""

Message = dict[str, str]
Call = Callable[[str, Sequence[Message], int | None], Any]
"""Asks a question, after these messages, for so many contexts where that can be said."""

_DSPY = "DSPy"
_HISTORY = "chat_history"
_SHOWN_METHODS = 6


class FrameworkSystem(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a framework that can be asked; ``kind`` says in words what it is."""

    kind: str
    given: Any
    call: Call
    called: str | None = None
    """Its name in results; by default its kind and class."""
    exact: Call | None = None
    """The same by comparing every vector, of an index that is approximate."""
    effort: str | None = None
    """The setting that says how far such an index looks."""
    later: Call | None = None
    """The same as a coroutine, for what cannot be asked otherwise."""
    takes_history: bool = False
    answers: bool = True
    """True if it may answer; else it only finds contexts."""
    context: Context = msgspec.field(default_factory=copy_context)
    """The context variables in force where it was given, such as the model of ``dspy.context``."""

    @property
    def name(self) -> str:
        return self.called or f"{self.kind} {type(self.given).__name__}"

    @property
    def version(self) -> str | None:
        """The version of the package that the object comes from, where the package tells it."""
        parts = type(self.given).__module__.split(".")
        for length in range(1, len(parts) + 1):
            package = ".".join(parts[:length])
            version = getattr(sys.modules.get(package), "__version__", None)
            if isinstance(version, str):
                return f"{package} {version}"
        return None

    def found(self, question: str, k: int) -> list[dict[str, Any]]:
        """Return the first k contexts for a question."""
        contexts = self._row(self.context.copy().run(self.call, question, (), k)).get("contexts")
        if contexts is None:
            raise TargetError("no-contexts", f"{self.name} returned no contexts")
        return list(contexts[:k])

    def ask_framework(self, question: str, history: Sequence[Message] = ()) -> Any:
        """Return the reply as a dictionary that holds the answer, or a response of contexts alone."""
        try:
            result = self.context.copy().run(self.call, question, history, None)
        except (NotImplementedError, TypeError) as error:
            is_only_async = isinstance(error, NotImplementedError) or "coroutine" in str(error)
            if self.later is None or not is_only_async:
                raise
            return self._awaited(self.later(question, history, None))
        return self._reply(result)

    def asked_alone(self, question: str) -> Any:
        """Return the reply to a question that nothing came before."""
        return self.ask_framework(question)

    def function(self) -> Callable[..., Any]:
        """Return the method whose parameters are those that a target fills."""
        return self.ask_framework if self.takes_history else self.asked_alone

    def __reduce__(self) -> tuple[Any, ...]:
        if self.kind == _DSPY:
            told = "it uses the configured model of this process"
            raise UsageError(f"{self.name}: {told}; expected a function that configures it")
        return system_of, (self.given, self.called)

    async def _awaited(self, result: Awaitable[Any]) -> Any:
        return self._reply(await result)

    def _reply(self, result: Any) -> Any:
        row = self._row(result)
        return row if "answer" in row else found_response(row["contexts"])

    def _row(self, result: Any) -> dict[str, Any]:
        row = read_result(result)
        if row is None:
            expected = "an answer (answer, result, output, response …) or documents"
            raise TargetError(
                "no-answer",
                f"expected {expected} from {self.name}, got {_described(result)}; a function that returns "
                'the text, or {"answer": …, "contexts": […]}, can be the target instead',
            )
        return row


def system_of(given: Any, called: str | None = None) -> FrameworkSystem | None:
    """Return an object as a system, ``called`` so in results; ``None`` where no framework's shape fits.

    One that is of a framework and cannot be asked is refused, with what to give instead.
    """
    if isinstance(given, FrameworkSystem):
        return given
    if isinstance(given, type | str) or inspect.isroutine(given):
        return None
    for fits, refused in _REFUSED:
        if _has(given, *fits):
            raise UsageError(f"target: {refused}")
    system = next((made(given) for fits, made in _SHAPES if _has(given, *fits)), None)
    return system if system is None or called is None else replace(system, called=called)


def only_finds(given: Any) -> bool:
    """Return True if a target returns contexts and never an answer."""
    system = None if given is None or isinstance(given, str | Mapping) else system_of(given)
    return system is not None and not system.answers


def not_a_system(given: Any, otherwise: str = "") -> str:
    """Return the message about an object of no known shape: the accepted shapes, and the object given."""
    methods = [
        name for name in dir(given) if not name.startswith("_") and callable(getattr(given, name, None))
    ]
    has = f", with the methods {', '.join(methods[:_SHOWN_METHODS])}" if methods else ""
    return (
        f"{otherwise}an object that can be asked (LangChain: invoke; LlamaIndex: query or retrieve; "
        "Haystack: a Pipeline; DSPy: a module), "
        f"got {shown(given)}{has}"
    )


def _has(given: Any, *names: str) -> bool:
    # Its type is looked at: some frameworks warn when a method is touched, or make one up for any name.
    return all(callable(getattr(type(given), name, None)) for name in names)


def _described(result: Any) -> str:
    if isinstance(result, Mapping):
        return (
            f"a dictionary with {', '.join(map(str, list(result)[:8]))}" if result else "an empty dictionary"
        )
    return "a list" if isinstance(result, list) else type(result).__name__


def found_response(contexts: Sequence[Mapping[str, Any]]) -> Response:
    """Return what was found, without an answer."""
    hits = [Hit(id=each["source"], score=each.get("score")) for each in contexts if "source" in each]
    return Response(
        text=None,
        contexts=tuple(each["text"] for each in contexts),
        context_origin="system" if contexts else None,
        hits=tuple(hits) if len(hits) == len(contexts) else (),
        retrieved_nothing=not contexts,
    )


# LangChain.


def _runnable(given: Any) -> FrameworkSystem:
    filled, takes_history = _chain_input(given)
    return FrameworkSystem(
        kind="LangChain",
        given=given,
        call=lambda question, history, k: given.invoke(filled(question, history)),
        later=lambda question, history, k: given.ainvoke(filled(question, history)),
        takes_history=takes_history,
        answers=not _has(given, "_get_relevant_documents"),
    )


def _chain_input(given: Any) -> tuple[Callable[[str, Sequence[Message]], Any], bool]:
    """Return how a runnable is given the question, by what it says that it takes, and the history."""
    takes = _schema(given, "get_input_jsonschema")
    properties = takes.get("properties")
    if takes.get("type") != "object" or not properties:
        return lambda question, history: question, False
    if "messages" in properties:
        return lambda question, history: {"messages": [*history, {"role": "user", "content": question}]}, True
    required = [name for name in takes.get("required", ()) if name != _HISTORY]
    only = required[0] if len(required) == 1 else None
    name = next((name for name in QUESTIONS if name in properties), only)
    # The state of a graph is taken and given back as a whole: what it puts out need not be put in.
    made = _schema(given, "get_output_jsonschema").get("properties", {})
    more = [each for each in required if each != name and each not in made]
    if name is None or more:
        names = required or list(properties)
        filled = ", ".join(f'"{each}": {"question" if each == name else "…"}' for each in names)
        raise UsageError(
            f"target: this {type(given).__name__} takes {', '.join(names)}: expected a chain with the "
            "question as its only input. Pass a function: target=lambda question: "
            f"chain.invoke({{{filled}}})"
        )
    if _HISTORY in properties:
        return lambda question, history: {name: question, _HISTORY: list(history)}, True
    return lambda question, history: {name: question}, False


def _schema(given: Any, method: str) -> Mapping[str, Any]:
    try:
        schema = getattr(given, method)()
    except Exception:  # noqa: BLE001 - a chain of anyone's parts may not know what it takes
        return {}
    return schema if isinstance(schema, Mapping) else {}


# LlamaIndex.


def _asked_by(given: Any, *, method: str, answers: bool) -> FrameworkSystem:
    return FrameworkSystem(
        kind="LlamaIndex",
        given=given,
        call=lambda question, history, k: getattr(given, method)(question),
        later=lambda question, history, k: getattr(given, f"a{method}")(question),
        answers=answers,
    )


def _node_index(given: Any) -> FrameworkSystem:
    def nearest(question: str, history: Sequence[Message], k: int | None) -> Any:
        return given.as_retriever(similarity_top_k=k or NEAREST).retrieve(question)

    return FrameworkSystem(kind="LlamaIndex", given=given, call=nearest, answers=False)


# Haystack.


def _pipeline(given: Any) -> FrameworkSystem:
    inputs = _question_inputs(given)
    outputs = given.outputs(include_components_with_connected_outputs=True)
    told = {name for name, parts in outputs.items() if {"documents", "answers", "replies"} & set(parts)}
    order = _in_order(given, told)

    def run(question: str, history: Sequence[Message], k: int | None) -> Any:
        data = {name: dict.fromkeys(parts, question) for name, parts in inputs.items()}
        result = given.run(data, include_outputs_from=told)
        # A later component's documents are those that count, whichever ended first.
        return {name: result[name] for name in (*order, *(set(result) - set(order))) if name in result}

    return FrameworkSystem(kind="Haystack", given=given, call=run)


def _question_inputs(given: Any) -> dict[str, list[str]]:
    """Return the inputs of each component that take the question; what else must be given is refused."""
    inputs: dict[str, list[str]] = {}
    missing: list[str] = []
    for component, parts in given.inputs().items():
        for name, about in parts.items():
            if name in QUESTIONS and not (name == "prompt" and not about.get("is_mandatory")):
                inputs.setdefault(component, []).append(name)
            elif about.get("is_mandatory"):
                missing.append(f"{component}.{name}")
    if missing or not inputs:
        wanted = f"needs {', '.join(missing)}" if missing else "has no input named question, query or text"
        raise UsageError(
            f"target: this {type(given).__name__} {wanted}: expected the question as its only input. "
            f"Pass a function: target=lambda question: pipeline.run({{…}})"
        )
    return inputs


def _in_order(given: Any, names: set[str]) -> list[str]:
    """Return components so that each comes after those it is fed by."""
    graph, order, ahead = given.graph, [], sorted(names)
    while ahead:
        fed = [
            name for name in ahead if not any(_leads(graph, other, name) for other in ahead if other != name)
        ]
        order += fed or ahead  # in a loop none is first
        ahead = [name for name in ahead if fed and name not in fed]
    return order


def _leads(graph: Any, start: str, end: str) -> bool:
    seen, ahead = {start}, [start]
    while ahead:
        for name in graph.successors(ahead.pop()):
            if name == end:
                return True
            if name not in seen:
                seen.add(name)
                ahead.append(name)
    return False


# DSPy.


def _module(given: Any) -> FrameworkSystem:
    name = _module_input(given)
    return FrameworkSystem(
        kind=_DSPY,
        given=given,
        call=lambda question, history, k: given(**{name: question}),
        later=(lambda question, history, k: given.acall(**{name: question}))
        if _has(given, "acall")
        else None,
    )


def _module_input(given: Any) -> str:
    """Return the name of the input that takes the question: of ``forward``, or of its only signature."""
    parameters = list(inspect.signature(type(given).forward).parameters.values())[1:]
    plain = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    names = [each.name for each in plain]
    needed = [each.name for each in plain if each.default is each.empty]
    if not names:
        signatures = [getattr(part, "signature", None) for _, part in given.named_predictors()]
        fields = getattr(signatures[0], "input_fields", None) if len(signatures) == 1 else None
        names = needed = list(fields or QUESTIONS[:1])
    name = next((name for name in QUESTIONS if name in names), names[0] if len(names) == 1 else None)
    if name is None or set(needed) - {name}:
        raise UsageError(
            f"target: this {type(given).__name__} takes {', '.join(names)}: expected a module with the "
            "question as its only input. Pass a function: target=lambda question: "
            "module(question=question, …)"
        )
    return name


# Indexes: what is nearest to the question, with the index's own embedder.


def _vector_store(given: Any) -> FrameworkSystem:
    def nearest(question: str, history: Sequence[Message], k: int | None) -> Any:
        try:
            found = given.similarity_search_with_score(question, k=k or NEAREST)
        except NotImplementedError:
            return given.similarity_search(question, k=k or NEAREST)
        # The nearest comes first: where its number is the smallest, the numbers are distances.
        sign = -1 if found and found[0][1] < found[-1][1] else 1
        return [(document, sign * float(score)) for document, score in found]

    return FrameworkSystem(kind="LangChain", given=given, call=nearest, answers=False)


def _chroma_collection(given: Any) -> FrameworkSystem:
    def nearest(question: str, history: Sequence[Message], k: int | None) -> Any:
        return chroma_contexts(given.query(query_texts=[question], n_results=k or NEAREST))

    return FrameworkSystem(kind="Chroma", given=given, call=nearest, answers=False)


def chroma_contexts(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a Chroma collection found for one query; a greater score is nearer."""
    texts, distances = reply["documents"][0], (reply.get("distances") or [[]])[0]
    metadatas = (reply.get("metadatas") or [[]])[0]
    return [
        {
            "text": text or "",
            "metadata": {"id": id_, **((metadatas[at] if at < len(metadatas) else None) or {})},
            **({"score": -distances[at]} if at < len(distances) else {}),
        }
        for at, (id_, text) in enumerate(zip(reply["ids"][0], texts, strict=True))
    ]


_REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("list_collections", "get_or_create_collection"),
        "a Chroma client has many collections. Pass one: client.get_collection(NAME)",
    ),
    (
        ("query_points", "get_collections"),
        "a Qdrant client does not embed questions. Pass a LangChain or LlamaIndex vector store over it",
    ),
    (
        ("achat", "stream_chat", "reset"),
        "a LlamaIndex chat engine remembers earlier questions. Pass a query engine, or a function: "
        "target=lambda question: index.as_chat_engine().chat(question)",
    ),
    (
        ("embed_documents", "embed_query"),
        "a LangChain embedder cannot retrieve. Pass a vector store or a retriever",
    ),
)
_SHAPES: tuple[tuple[tuple[str, ...], Callable[[Any], FrameworkSystem]], ...] = (
    (("similarity_search", "as_retriever"), _vector_store),
    (("as_retriever", "as_query_engine"), _node_index),
    (("query", "count", "upsert", "peek"), _chroma_collection),
    (("query", "aquery"), partial(_asked_by, method="query", answers=True)),
    (("retrieve", "aretrieve"), partial(_asked_by, method="retrieve", answers=False)),
    (("run", "inputs", "outputs", "add_component"), _pipeline),
    (("invoke", "ainvoke"), _runnable),
    (("forward", "named_predictors"), _module),
)


# An index that exists already, as a part of a grid: searched, and judged by the characters it returns.

_ELSEWHERE, _FOLDERS = "not in the corpus", set[str]()  # where targets were looked for
_PLACE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*\Z")
# So many texts of which none is in the documents are those of another corpus.
_ENOUGH = 5


def _searched(documents: Sequence[Document]) -> SearchedDocuments:
    from rag_evaluation_framework.judging.cited_texts import SearchedDocuments

    return SearchedDocuments(documents)


class ExistingIndex:
    """Fulfils ``extensions.Retriever`` for an index that was made elsewhere; nothing is written to it.

    Each text it returns is looked up in the documents: under the source that it names, to the letter and then
    with other white space. A text in none of them counts as read for nothing, and is listed in ``doubts``.
    """

    def __init__(self, system: FrameworkSystem) -> None:
        self.system = system
        self._documents = _searched(())
        self._counts = {"texts": 0, "elsewhere": 0, "most": 0, "k": 0}

    def __str__(self) -> str:
        return self.system.name

    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Take whole documents, to look texts up in; the index stays as it is.

        It is searched once, so that a failure of every search is reported before the first question.
        """
        try:
            self.system.found("?", 1)
        except (Exception, SystemExit) as error:  # anyone's index may raise anything
            message = error.message if isinstance(error, TargetError) else in_full(error)
            raise UsageError(f"index {self}: cannot be searched: {message}") from error
        self._documents = _searched([Document(each.doc_id, each.content) for each in chunks])
        self._counts = dict.fromkeys(self._counts, 0)

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[PositionAwareChunk]]:
        """Return the first k texts for each query, best first, each where it stands in the documents."""
        found = [
            [self._chunk(each) for each in self.system.found(query, k) if each["text"]] for query in queries
        ]
        counts = self._counts
        counts["k"] = max(counts["k"], k)
        counts["most"] = max(counts["most"], *map(len, found), 0)
        if counts["elsewhere"] == counts["texts"] >= _ENOUGH:
            text = next(chunk.content for of_one in found for chunk in of_one)
            returned = (
                f"{counted(counts['texts'], 'text')}, none in the documents, such as {shown(text[:80])}"
            )
            raise InputError([Issue("foreign-texts", "an index of these documents", returned, str(self))])
        return found

    @property
    def effort(self) -> str | None:
        """Return the search effort of an approximate index, as ``ef_search=40``."""
        return self.system.effort

    def recall_against_exact(self, queries: Sequence[str], k: int) -> float | None:
        """Return the share of the true k nearest that is found; nothing where the index cannot tell.

        What is as near as the k-th counts as one of them.
        """
        if self.system.exact is None:
            return None
        by_all = replace(self.system, call=self.system.exact)
        found = true = 0
        for query in queries:
            truth = [each["score"] for each in by_all.found(query, k)]
            reached = [each["score"] >= truth[-1] for each in self.system.found(query, k)] if truth else []
            found, true = found + sum(reached), true + len(truth)
        return found / true if true else None

    @property
    def doubts(self) -> tuple[str, ...]:
        counts, said = self._counts, []
        if counts["elsewhere"]:
            of = f"{counts['elsewhere']:,} of {counted(counts['texts'], 'text')}"
            said.append(f"{self}: {of} are not in the documents; they count as not relevant")
        if 0 < counts["most"] < counts["k"]:
            said.append(f"{self}: returned at most {counts['most']} of {counts['k']} requested chunks")
        return tuple(said)

    def _chunk(self, context: Mapping[str, Any]) -> PositionAwareChunk:
        text, source = context["text"], context.get("source")
        places = self._documents.places_of(text, source)
        # Of several places it is the one that the index names.
        span = context.get("start"), context.get("end")
        named = [place for place in places if (place.start, place.end) == span]
        places = named if len(named) == 1 else places
        self._counts["texts"] += 1
        self._counts["elsewhere"] += not places
        if not places:
            place = (DocumentId(f"{_ELSEWHERE}: {source}" if source else _ELSEWHERE), 0, len(text))
        else:
            place = (places[0].doc_id, places[0].start, places[0].end)
        metadata = {"ambiguous": True} if len(places) > 1 else {}
        return PositionAwareChunk(generate_pa_chunk_id(text), text, *place, metadata)


def is_index(text: str) -> bool:
    """Return True if a text is the specification of an index that exists."""
    name, opened, _ = text.partition("(")
    return bool(opened) and name.strip() in INDEXES.names()


def existing_index(given: Any) -> ExistingIndex:
    """Return an index for a grid: an object of a framework, its place, or ``pgvector(table=…)``."""
    is_place = isinstance(given, str) and _PLACE.match(given)
    found = imported_object(given) if is_place else given
    if isinstance(given, str) and not is_place:
        found = component_from(INDEXES, given)
    if isinstance(found, ExistingIndex):
        return found
    if (system := system_of(found, given if isinstance(given, str) else None)) is None:
        raise UsageError(f"index: expected {not_a_system(found)}")
    return ExistingIndex(system)


def imported_object(place: str) -> Any:
    """Import ``module:name``, from the current directory too; what goes wrong is a ``UsageError``."""
    module_name, _, attributes = place.partition(":")
    if not module_name or not attributes:
        raise UsageError(f"target: expected module:function, got {shown(place)}")
    _look_here_for(module_name.partition(".")[0])
    try:
        found: Any = import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anyone's module may raise anything
        told = f"target {shown(place)}: cannot import {module_name} ({in_full(error)})"
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]:
            told += f"\n  Expected {error.name}.py in this folder, or an installed package of that name."
        raise UsageError(told) from None
    for attribute in attributes.split("."):
        found = getattr(found, attribute, None)
    if found is None or isinstance(found, str):
        told = f"{module_name} has no function {attributes}"
        raise UsageError(f"target {shown(place)}: {told}")
    return found


def _look_here_for(name: str) -> None:
    """Let a module be found in the current directory, also after one of its name in another was asked for."""
    folder, loaded = Path.cwd(), Path(getattr(sys.modules.get(name), "__file__", None) or "")
    home = loaded.parents[1] if loaded.stem == "__init__" else loaded.parent
    own = any((folder / each).is_file() for each in (f"{name}.py", f"{name}/__init__.py"))
    is_namesake = own and home != folder and str(home) in _FOLDERS
    for each in [each for each in sys.modules if is_namesake and f"{each}.".startswith(f"{name}.")]:
        del sys.modules[each]
    if is_namesake or (str(folder) not in sys.path and "" not in sys.path):
        sys.path.insert(0, str(folder))
    _FOLDERS.add(str(folder))
