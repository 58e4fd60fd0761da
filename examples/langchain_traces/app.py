"""A LangChain assistant over the handbook whose every step is recorded as OpenTelemetry spans.

``python examples/langchain_traces/app.py traces.jsonl`` answers six questions and writes their traces, one
export a line, with OpenTelemetry's own file exporter. The language model is a script and the retriever counts
words, so that nothing has to be asked and the traces are the same each time; everything else is what an
assistant in production has.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

HANDBOOK = Path(__file__).parents[1] / "handbook" / "documents"
FARES = {("adult", "return"): 24.0, ("child", "return"): 12.0}


class Plan(NamedTuple):
    """What the script of the model does with a question."""

    question: str
    searches: tuple[str, ...]
    answer: str
    fares: tuple[tuple[str, str], ...] = ()
    session: str = ""


PLANS = (
    Plan(
        "On which weekday are there no passenger boats in winter, and what is the day used for instead?",
        ("winter timetable Tuesdays kept free maintenance",),
        "Tuesday. It is kept free for maintenance and for freight that cannot travel with passengers.",
    ),
    Plan(
        "How much freight can one piece weigh, and which boats carry freight?",
        ("freight single piece weigh kilograms crane limit", "vessels freight deck Kittiwake Guillemot"),
        "A single piece may not weigh more than 400 kilograms. Kittiwake and Guillemot carry freight.",
    ),
    Plan(
        "Do islander card holders pay less?",
        ("islander card holder fare", "islander card holder fare"),  # asks the same again
        "Yes. With an islander card a single costs 6.00.",
    ),
    Plan(
        "What do two adults pay for a return?",
        ("adult return fare",),
        "Two adults pay 48.00 for a return.",
        fares=(("adult", "return"), ("senior", "return")),  # there is no such fare: the tool fails
    ),
    Plan(
        "How long is the ten-trip card valid?",
        ("ten-trip card valid months",),
        "The ten-trip card is valid for twelve months from the day of purchase.",
        session="visit-7",
    ),
    Plan("And what does it cost?", (), "The ten-trip card costs 105.00.", session="visit-7"),
)


class WordRetriever(BaseRetriever):
    """Returns the paragraphs that share most words with the query."""

    paragraphs: list[Document]
    k: int = 3

    def _get_relevant_documents(self, query: str, *, run_manager: object = None) -> list[Document]:
        asked = set(re.findall(r"\w+", query.lower()))

        def score(paragraph: Document) -> float:
            return len(asked & set(re.findall(r"\w+", paragraph.page_content.lower()))) / len(asked)

        best = sorted(self.paragraphs, key=score, reverse=True)[: self.k]
        return [
            Document(
                id=each.id, page_content=each.page_content, metadata={**each.metadata, "score": score(each)}
            )
            for each in best
        ]


def paragraphs(folder: Path) -> list[Document]:
    """Return the paragraphs of the handbook, each with its file and its place in it."""
    found = []
    for path in (
        folder / "timetable.md",
        folder / "fares.md",
        folder / "freight.md",
        folder / "accessibility.md",
    ):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"(?:[^\n]|\n(?!\n))+", text):
            metadata = {"source": path.name, "start_index": match.start()}
            found.append(
                Document(id=f"{path.stem}-{match.start()}", page_content=match[0], metadata=metadata)
            )
    return found


@tool
def fare(passenger: str, ticket: str) -> str:
    """Return what a ticket costs."""
    return f"{FARES[passenger, ticket]:.2f}"


def answer(plan: Plan, retriever: BaseRetriever) -> str:
    """Answer a question as the plan says: search, call tools, and ask the model."""
    found = [document for query in plan.searches for document in retriever.invoke(query)]
    prices = []
    for passenger, ticket in plan.fares:
        try:
            prices.append(fare.invoke({"passenger": passenger, "ticket": ticket}))
        except KeyError:
            continue
    contexts = "\n\n".join([*(document.page_content for document in found), *prices])
    usage = {"input_tokens": len(contexts.split()), "output_tokens": len(plan.answer.split())}
    usage["total_tokens"] = sum(usage.values())
    model = GenericFakeChatModel(messages=iter([AIMessage(plan.answer, usage_metadata=usage)]))
    told = model.invoke([SystemMessage(f"Answer from this:\n{contexts}"), HumanMessage(plan.question)])
    return str(told.content)


def main(path: str) -> None:
    """Answer every question, and write what was recorded on the way."""
    provider = TracerProvider(resource=Resource.create({"service.name": "handbook-assistant"}))
    provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(path)))
    LangChainInstrumentor().instrument(tracer_provider=provider)
    try:
        retriever = WordRetriever(paragraphs=paragraphs(HANDBOOK))
        for number, plan in enumerate(PLANS, start=1):
            by_question = {plan.question: plan}
            assistant = RunnableLambda(
                lambda question, plans=by_question: answer(plans[question], retriever)
            ).with_config(run_name="assistant")
            with using_attributes(
                session_id=plan.session, metadata={"channel": "web" if number % 2 else "desk"}
            ):
                assistant.invoke(plan.question)
    finally:
        LangChainInstrumentor().uninstrument()
        provider.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
