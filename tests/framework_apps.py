"""Small assistants built with the real frameworks, what they return as JSON, and look-alikes made of that.

``python tests/framework_apps.py`` calls each of them as its users do and writes ``fixtures/frameworks.json``:
the methods it has, what it says that it takes, what it was given and what it returned. A look-alike has that.
"""

import hashlib
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"ANONYMIZED_TELEMETRY": "False", "HAYSTACK_TELEMETRY_ENABLED": "False"}

FIXTURE = Path(__file__).parent / "fixtures" / "frameworks.json"
DOCUMENTS = {
    "ferry.md": "# Ferry\n\nThe last ferry leaves at 18:45 from the north pier. A single costs 14.00.",
    "museum.md": "# Museum\n\nThe museum opens at ten. The lighthouse was built from 1861 to 1864.",
    "pool.md": "# Pool\n\nThe pool is closed on Mondays. Towels cost 3.00 to rent.",
}
QUESTIONS = ("When does the last ferry leave?", "When was the lighthouse built?")
ANSWERS = {QUESTIONS[0]: "The last ferry leaves at 18:45.", QUESTIONS[1]: "From 1861 to 1864."}
PACKAGES = ("langchain-core", "langchain-classic", "llama-index-core", "haystack-ai", "dspy", "chromadb")
METHODS = re.findall(
    r"\w+",
    "invoke ainvoke _get_relevant_documents get_input_jsonschema get_output_jsonschema query aquery retrieve "
    "aretrieve as_retriever as_query_engine similarity_search similarity_search_with_score count upsert peek "
    "run inputs outputs add_component forward named_predictors achat stream_chat reset query_points "
    "list_collections get_or_create_collection get_collections embed_documents embed_query",
)
ATTRIBUTES = re.findall(
    r"\w+",
    "page_content metadata id node score text content meta type role value response source_nodes data query "
    "documents document ref_doc_id id_ node_id usage_metadata",
)


def vector(text: str) -> list[float]:
    numbers = [0.0] * 64
    for word in re.findall(r"\w+", text.lower()):
        numbers[int(hashlib.md5(word.encode()).hexdigest(), 16) % 64] += 1.0
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


def answer_in(prompt: str) -> str:
    return next(answer for question, answer in ANSWERS.items() if question in prompt)


# The assistants, and how their users call them.


def langchain_apps() -> dict[str, Any]:
    from operator import itemgetter

    from langchain_classic.chains import RetrievalQA, create_retrieval_chain
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough
    from langchain_core.vectorstores import InMemoryVectorStore

    class Words(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    model = RunnableLambda(lambda prompt: AIMessage(answer_in(prompt.to_string()), usage_metadata=usage))
    store = InMemoryVectorStore(Words())
    store.add_documents([Document(text, metadata={"source": name}) for name, text in DOCUMENTS.items()])
    retriever = store.as_retriever(search_kwargs={"k": 2})
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    told = {"context": itemgetter("question") | retriever, "question": itemgetter("question")}

    async def later(question: str) -> dict[str, Any]:
        return {"answer": ANSWERS[question], "source_documents": await retriever.ainvoke(question)}

    over_input = ChatPromptTemplate.from_template("{context} {input}")
    return {
        "langchain_retriever": retriever,
        "langchain_store": store,
        "langchain_chain": {"context": retriever, "question": RunnablePassthrough()} | prompt | model,
        "langchain_sourced_chain": told | RunnablePassthrough.assign(answer=prompt | model),
        "langchain_retrieval_chain": create_retrieval_chain(
            retriever, create_stuff_documents_chain(model, over_input)
        ),
        "langchain_retrieval_qa": RetrievalQA.from_chain_type(
            _langchain_model(), retriever=retriever, return_source_documents=True
        ),
        "langchain_async": RunnableLambda(later),
        "langchain_unasked": prompt | model,
    }


def _langchain_model() -> Any:
    from langchain_core.language_models.llms import LLM

    class Known(LLM):
        _llm_type = "known"

        def _call(self, prompt: str, *args: Any, **settings: Any) -> str:
            return answer_in(prompt)

    return Known()


def llama_index_apps() -> dict[str, Any]:
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    class Words(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vector(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

    class Known(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def complete(self, prompt: str, *args: Any, **settings: Any) -> CompletionResponse:
            return CompletionResponse(text=answer_in(prompt))

        def stream_complete(self, prompt: str, *args: Any, **settings: Any) -> Any:
            for word in re.findall(r"\s*\S+", answer_in(prompt)):
                yield CompletionResponse(text="", delta=word)

    documents = [Document(text=text, metadata={"file_name": name}) for name, text in DOCUMENTS.items()]
    index = VectorStoreIndex.from_documents(documents, embed_model=Words())
    return {
        "llama_index_engine": index.as_query_engine(llm=Known(), similarity_top_k=2),
        "llama_index_stream": index.as_query_engine(llm=Known(), similarity_top_k=2, streaming=True),
        "llama_index_retriever": index.as_retriever(similarity_top_k=2),
        "llama_index_index": index,
        "llama_index_chat": index.as_chat_engine(llm=Known(), chat_mode="context"),
    }


def haystack_apps() -> dict[str, Any]:
    from haystack import Document, Pipeline, component
    from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.dataclasses import ChatMessage
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @component
    class Known:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
            return {"replies": [ChatMessage.from_assistant(answer_in(messages[-1].text))]}

    @component
    class First:
        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document]) -> dict[str, Any]:
            return {"documents": documents[:1]}

    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(content=text, meta={"file_path": name}) for name, text in DOCUMENTS.items()]
    )
    prompt = [ChatMessage.from_user("{{ documents }} {{ question }}")]

    def pipeline(*, is_built: bool) -> Any:
        made = Pipeline()
        made.add_component("first", First())
        made.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
        made.add_component("prompt", ChatPromptBuilder(prompt, required_variables="*"))
        made.add_component("llm", Known())
        made.connect("retriever", "first")
        made.connect("first", "prompt.documents")
        made.connect("prompt.prompt", "llm.messages")
        if is_built:
            made.add_component("answers", AnswerBuilder())
            made.connect("llm.replies", "answers.replies")
            made.connect("retriever", "answers.documents")
        return made

    return {"haystack_pipeline": pipeline(is_built=False), "haystack_answers": pipeline(is_built=True)}


def dspy_apps() -> dict[str, Any]:
    import dspy

    class Known(dspy.Module):
        def forward(self, question: str) -> Any:
            context = [DOCUMENTS["ferry.md"], DOCUMENTS["museum.md"]]
            return dspy.Prediction(context=context, answer=ANSWERS[question])

    return {"dspy_module": Known(), "dspy_signature": dspy.ChainOfThought("context, question -> answer")}


def chroma_apps() -> dict[str, Any]:
    import chromadb
    from chromadb import EmbeddingFunction

    class Words(EmbeddingFunction):
        def __init__(self) -> None: ...

        def __call__(self, input: Any) -> Any:  # noqa: A002 - Chroma's own name
            return [vector(text) for text in input]

    client = chromadb.EphemeralClient()
    collection = client.get_or_create_collection("frameworks", embedding_function=Words())
    sources = [{"source": name} for name in DOCUMENTS]
    collection.upsert(ids=list("abc"), documents=list(DOCUMENTS.values()), metadatas=sources)
    return {"chroma_collection": collection, "chroma_client": client}


FRAMEWORKS: dict[str, tuple[Callable[[], dict[str, Any]], tuple[str, ...]]] = {
    "langchain": (langchain_apps, ("langchain_core", "langchain_classic")),
    "llama_index": (llama_index_apps, ("llama_index.core",)),
    "haystack": (haystack_apps, ("haystack",)),
    "dspy": (dspy_apps, ("dspy",)),
    "chroma": (chroma_apps, ("chromadb",)),
}


def user_call(name: str, question: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the method by which its users call an assistant, with positional and named arguments."""
    inputs: dict[str, Any] = {
        "langchain_sourced_chain": {"question": question},
        "langchain_retrieval_chain": {"input": question},
        "langchain_retrieval_qa": {"query": question},
    }
    haystack = {"retriever": {"query": question}, "prompt": {"question": question}}
    outputs = ["first", "llm", "retriever"]
    match name:
        case "langchain_store":
            return "similarity_search_with_score", [question], {"k": 5}
        case "langchain_async":
            return "ainvoke", [question], {}
        case "llama_index_engine" | "llama_index_stream":
            return "query", [question], {}
        case "llama_index_retriever" | "llama_index_index":
            return "retrieve", [question], {}
        case "haystack_pipeline":
            return "run", [haystack], {"include_outputs_from": outputs}
        case "haystack_answers":
            both = {**haystack, "answers": {"query": question}}
            return "run", [both], {"include_outputs_from": ["answers", *outputs]}
        case "dspy_module":
            return "__call__", [], {"question": question}
        case "chroma_collection":
            return "query", [], {"query_texts": [question], "n_results": 5}
    return "invoke", [inputs.get(name, question)], {}


NOT_ASKED = ("langchain_unasked", "llama_index_chat", "dspy_signature", "chroma_client")


# What they return, as JSON and back.


def recorded(name: str, app: Any) -> dict[str, Any]:
    """Call an assistant and return all that its look-alike needs."""
    import asyncio

    kept: dict[str, Any] = {
        "class": type(app).__name__,
        "methods": [each for each in METHODS if callable(getattr(type(app), each, None))],
    }
    for each in ("get_input_jsonschema", "get_output_jsonschema", "inputs"):
        if each in kept["methods"]:
            kept[each] = json.loads(json.dumps(getattr(app, each)(), default=str))
    if "outputs" in kept["methods"]:
        told = app.outputs(include_components_with_connected_outputs=True)
        kept["outputs"] = json.loads(json.dumps(told, default=str))
        kept["edges"] = [list(edge[:2]) for edge in app.graph.edges]
    if "forward" in kept["methods"]:
        parameters = inspect.signature(type(app).forward).parameters.values()
        kept["parameters"] = [str(each.replace(annotation=each.empty)) for each in parameters]
        kept["inputs_of_predictors"] = [
            list(part.signature.input_fields) for _, part in app.named_predictors()
        ]
    kept["calls"] = []
    for question in () if name in NOT_ASKED else QUESTIONS:
        method, given, named = user_call(name, question)
        asked = app.as_retriever(similarity_top_k=5) if name == "llama_index_index" else app
        real = {key: set(value) if key == "include_outputs_from" else value for key, value in named.items()}
        result = getattr(asked, method)(*given, **real)
        result = asyncio.run(result) if inspect.isawaitable(result) else result
        if callable(whole := getattr(result, "get_response", None)):
            result = whole()  # a stream, read to its end
        kept["calls"].append({"method": method, "given": given, "named": named, "result": dumped(result)})
    return kept


def dumped(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple):
        return {"!": "tuple", "items": [dumped(each) for each in value]}
    if isinstance(value, list):
        return [dumped(each) for each in value]
    if type(value) is dict:
        return {str(name): dumped(each) for name, each in value.items()}
    if callable(getattr(value, "toDict", None)):
        return {"!": type(value).__name__, "keyed": {name: dumped(value[name]) for name in value.keys()}}  # noqa: SIM118
    if callable(getattr(value, "item", None)):  # a number of numpy's
        return value.item()
    told = {name: getattr(value, name, None) for name in ATTRIBUTES}
    has = {name: dumped(each) for name, each in told.items() if each is not None and not callable(each)}
    return {"!": type(value).__name__, "has": has}


def rebuilt(value: Any) -> Any:
    if isinstance(value, list):
        return [rebuilt(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "!" not in value:
        return {name: rebuilt(each) for name, each in value.items()}
    if value["!"] == "tuple":
        return tuple(rebuilt(each) for each in value["items"])
    if "keyed" in value:
        return _Keyed({name: rebuilt(each) for name, each in value["keyed"].items()})
    made = type(value["!"], (), {})()
    for name, each in value["has"].items():
        setattr(made, name, rebuilt(each))
    return made


class _Keyed:
    """What DSPy calls a prediction: fields by key, and no mapping."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def keys(self) -> Any:
        return self._fields.keys()

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def toDict(self) -> dict[str, Any]:
        return dict(self._fields)


def look_alike(kept: Mapping[str, Any]) -> Any:
    """Return an object with the recorded methods, which answers just the recorded calls."""

    def method(name: str) -> Callable[..., Any]:
        def called(self: Any, *given: Any, **named: Any) -> Any:
            if name in kept:
                return kept[name]
            if name == "as_retriever":
                return self
            plain = {key: sorted(value) if isinstance(value, set) else value for key, value in named.items()}
            for call in kept["calls"]:
                if (call["method"], call["given"]) == (name, list(given)) and (
                    call["named"] == plain or name == "retrieve"
                ):
                    return rebuilt(call["result"])
            if name == "invoke" and any(call["method"] == "ainvoke" for call in kept["calls"]):
                raise TypeError("Cannot invoke a coroutine function synchronously.")
            raise AssertionError(f"{kept['class']}.{name} was not called like this: {given} {named}")

        return called

    async def later(self: Any, *given: Any, **named: Any) -> Any:
        return method("ainvoke")(self, *given, **named)

    names = [*kept["methods"], *({"retrieve"} if "as_retriever" in kept["methods"] else ())]
    methods: dict[str, Any] = {name: method(name) for name in names}
    methods |= {"ainvoke": later} if "ainvoke" in methods else {}
    if "forward" in methods:
        parameters = "".join(f", {each}" for each in kept["parameters"][1:])
        methods["forward"] = eval(f"lambda self{parameters}: None")
        fields = [{"input_fields": dict.fromkeys(names)} for names in kept["inputs_of_predictors"]]
        parts = [type("Part", (), {"signature": type("Signature", (), each)}) for each in fields]
        methods["named_predictors"] = lambda self: [(str(at), part) for at, part in enumerate(parts)]
        methods["__call__"] = method("__call__")
    if "edges" in kept:
        leads = [[end for start, end in kept["edges"] if start == name] for name in kept["outputs"]]
        after = dict(zip(kept["outputs"], leads, strict=True))
        methods["graph"] = type("Graph", (), {"successors": lambda self, name: after[name]})()
        methods["outputs"] = lambda self, **settings: kept["outputs"]
    if "retrieve" in names and "as_retriever" in names and "similarity_search" in names:
        del methods["retrieve"]
    return type(kept["class"], (), methods)()


def main() -> None:
    """Record all of them."""
    made = {
        "versions": {name: version(name) for name in PACKAGES},
        "apps": {
            name: recorded(name, app) for build, _ in FRAMEWORKS.values() for name, app in build().items()
        },
    }
    FIXTURE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
