"""Assistants served by other people's servers, each run by the interpreter of an environment that has it.

``python vendor_servers.py langserve 8000`` serves one. The environments are those that ``make fixtures`` and
``make test-vendors`` make. Every assistant knows the same answer and, where its server has a place for it,
returns what it read.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shaped_agents import ANSWER, CONTEXT, PIECES

KEY = "sk-ferry-5f3a9c-0123456789abcdef"
ENVIRONMENTS = Path(sys.prefix) / "fixtures"
# Telemetry and updates are asked for nowhere; this says so to those who would.
QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_MASTER_KEY": KEY,
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HAYHOOKS_DISABLE_TELEMETRY": "True",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
}


def langserve(port: int) -> None:
    """Chains behind add_routes: one of a dictionary with documents, one of a text, one of another name."""
    from operator import itemgetter

    import uvicorn
    from fastapi import FastAPI
    from langchain_core.documents import Document
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
    from langserve import add_routes

    def find(question: str) -> list[Document]:
        return [Document(page_content=CONTEXT, metadata={"source": "boats.md"})]

    find_all = RunnableLambda(find).with_types(input_type=str, output_type=list[Document])
    model = FakeListChatModel(responses=[ANSWER])
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    told = prompt | model | StrOutputParser()
    question = itemgetter("question")
    rag = RunnableParallel(context=question | find_all, question=question).assign(answer=told)
    app = FastAPI()
    add_routes(app, rag.with_types(output_type=dict[str, Any]), path="/rag")
    text = RunnableParallel(context=RunnablePassthrough() | find, question=RunnablePassthrough()) | told
    add_routes(app, text, path="/text")
    add_routes(app, ChatPromptTemplate.from_template("Tell me about {topic}") | model, path="/topic")
    uvicorn.run(app, port=port, log_level="error")


def _chat(message: str, history: list[Any]) -> str:
    return f"{ANSWER} ({len(history)})" if history else ANSWER


def gradio(port: int) -> None:
    """A chat interface as ``launch`` serves it."""
    import gradio as gr

    gr.ChatInterface(_chat).launch(server_port=port, quiet=True)


def gradio_mounted(port: int) -> None:
    """Apps of three kinds below paths of a FastAPI server: an interface, a chat that streams, and blocks."""
    import gradio as gr
    import uvicorn
    from fastapi import FastAPI

    def look_up(question: str, top_k: float) -> tuple[str, list[dict[str, str]]]:
        return ANSWER, [{"text": CONTEXT, "source": "boats.md"}]

    def tell(message: str, history: list[Any]) -> Iterator[str]:
        for number in range(1, len(PIECES) + 1):
            yield "".join(PIECES[:number])

    def respond(message: str, history: list[Any]) -> tuple[str, list[Any]]:
        said = [{"role": "user", "content": message}, {"role": "assistant", "content": _chat("", history)}]
        return "", [*history, *said]

    with gr.Blocks() as blocks:
        talk, box = gr.Chatbot(), gr.Textbox()
        box.submit(respond, [box, talk], [box, talk])
        gr.ClearButton([box, talk])
    interface = gr.Interface(look_up, ["text", gr.Slider(1, 10, value=5)], ["text", "json"])
    app = FastAPI()
    for demo, path in ((interface, "/look"), (gr.ChatInterface(tell), "/tell"), (blocks, "/talk")):
        app = gr.mount_gradio_app(app, demo, path=path)
    uvicorn.run(app, port=port, log_level="error")


def agent_graph() -> Any:
    """Return a graph over messages."""
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    class State(MessagesState):
        """The messages, and what was found for the last."""

        documents: list[Any]

    def retrieve(state: State) -> dict[str, Any]:
        return {"documents": [Document(page_content=CONTEXT, metadata={"source": "boats.md"})]}

    def say(state: State) -> dict[str, Any]:
        usage = {"input_tokens": 12, "output_tokens": 9, "total_tokens": 21}
        text = _chat("", state["messages"][1:])
        return {"messages": [AIMessage(text, usage_metadata=usage)]}

    graph = StateGraph(State)
    graph.add_node(retrieve)
    graph.add_node(say)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "say")
    graph.add_edge("say", END)
    return graph.compile()


def rag_graph() -> Any:
    """Return a graph over a question, its context and the answer."""
    from typing import TypedDict

    from langchain_core.documents import Document
    from langgraph.graph import END, START, StateGraph

    class Asked(TypedDict):
        """What is asked, found and answered."""

        question: str
        context: list[Any]
        answer: str

    def tell(state: Asked) -> dict[str, Any]:
        found = [Document(page_content=CONTEXT, metadata={"source": "boats.md"})]
        return {"context": found, "answer": ANSWER}

    graph = StateGraph(Asked)
    graph.add_node(tell)
    graph.add_edge(START, "tell")
    graph.add_edge("tell", END)
    return graph.compile()


def langgraph(port: int) -> None:
    """Two graphs behind ``langgraph dev``, the server in memory."""
    for file in Path(__file__).parent.glob("*.py"):
        Path(file.name).write_bytes(file.read_bytes())
    graphs = {name: f"./{Path(__file__).name}:{name}_graph" for name in ("agent", "rag")}
    Path("langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    _become("langgraph", "dev", "--no-browser", "--no-reload", "--port", str(port))


def litellm(port: int) -> None:
    """LiteLLM's proxy, which answers in OpenAI's shapes and wants a key."""
    model = {"model": "openai/ferries", "api_key": "none", "mock_response": ANSWER}
    config = {"model_list": [{"model_name": "ferries", "litellm_params": model}]}
    Path("config.yaml").write_text(json.dumps(config))
    _become("litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port))


PIPELINE = f"""
from hayhooks import BasePipelineWrapper
from haystack import Document


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.pipeline = None

    def run_api(self, question: str) -> dict:
        found = Document(id="boats", content={CONTEXT!r}, meta={{"file_path": "boats.md"}})
        return {{"replies": [{ANSWER!r}], "documents": [found.to_dict()]}}

    def run_chat_completion(self, model: str, messages: list[dict], body: dict) -> str:
        return {ANSWER!r}
"""


def hayhooks(port: int) -> None:
    """Hayhooks, which serves Haystack's pipelines at a path of their own and as OpenAI's models."""
    wrapper = Path("pipelines/ferries/pipeline_wrapper.py")
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(PIPELINE)
    _become("hayhooks", "run", "--port", str(port), "--pipelines-dir", "pipelines")


def _become(program: str, *arguments: str) -> None:
    path = Path(sys.prefix) / "bin" / program
    os.execv(path, [str(path), *arguments])


SERVERS: dict[str, tuple[str, Callable[[int], None], str]] = {
    "langserve": ("langserve", langserve, "/openapi.json"),
    "gradio": ("gradio", gradio, "/gradio_api/info"),
    "gradio5": ("gradio5", gradio, "/gradio_api/info"),
    "gradio_mounted": ("gradio", gradio_mounted, "/talk/gradio_api/info"),
    "langgraph": ("langgraph", langgraph, "/ok"),
    "litellm": ("litellm", litellm, "/health/liveliness"),
    "hayhooks": ("hayhooks", hayhooks, "/status"),
}
"""The environment that each needs, what serves it, and the path that answers once it does."""


@contextmanager
def vendor_server(name: str, *, within: float = 300.0) -> Iterator[str]:
    """Serve an assistant in a process of its own for as long as the block lasts."""
    environment, _, ready = SERVERS[name]
    python = ENVIRONMENTS / environment / "bin" / "python"
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder, (said := Path(folder) / "log").open("w") as log:
        process = subprocess.Popen(
            [str(python), __file__, name, str(port)],
            cwd=folder,
            env={**variables, **QUIET},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + within
            while not answers(url + ready):
                assert process.poll() is None, said.read_text()[-3000:]
                assert time.monotonic() < deadline, said.read_text()[-3000:]
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def free_port() -> int:
    """Return a free port that is not given to whoever asks for any, so that nobody takes it meanwhile."""
    while True:
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", random.randrange(10_000, 30_000)))
            return int(free.getsockname()[1])


def answers(address: str) -> bool:
    """Tell whether somebody answers there, and without an error."""
    try:
        with urllib.request.urlopen(address, timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    SERVERS[sys.argv[1]][1](int(sys.argv[2]))
