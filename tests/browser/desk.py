"""A small help desk over the handbook: BM25 finds passages; what it needs and finds, it answers as it should.

Else the answer is the nearest sentence that was found. Every seventh answer adds a charge that nothing says,
every ninth declines. It stands in for the system under test where pages are looked at.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from rag_evaluation_framework import Evaluation, evaluate
from rag_evaluation_framework.components import chunker_from, retriever_from
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Hit, Request, Response
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.retrieval.sweep import Grid
from rag_evaluation_framework.structs import replace

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Where the browser is, if there is one."""
METRICS = ("claim_recall", "faithfulness", "span_recall", "hit@1")
_WORDS = re.compile(r"\w+")
_ENDS = re.compile(r"(?<=[.!?。！？])\s*")


class Desk:
    """Fulfils ``extensions.Target``; ``without`` are documents that its index lacks."""

    name = "desk"

    def __init__(self, *without: str) -> None:
        corpus = Corpus.from_folder(HANDBOOK / "documents", "**/*.md")
        known = tuple(document for document in corpus if document.id not in without)
        self._pipeline = RetrievalPipeline(
            chunker_from("sentence(chunk_size=400)"), retriever=retriever_from("bm25")
        )
        self._pipeline.index(Corpus(known))

    async def answer(self, request: Request) -> Response:
        question = request.sample.question
        [chunks] = self._pipeline.retrieve([question], 4)
        hits = tuple(Hit(id=chunk.id, span=chunk.to_span(), text=chunk.content) for chunk in chunks)
        number = sum(map(ord, request.sample.id))
        needed = request.sample.relevant_spans
        is_found = any(
            each.file == hit.span.doc_id and each.start < hit.span.end and hit.span.start < each.end
            for each in needed
            for hit in hits
            if hit.span is not None
        )
        text = _nearest(question, [chunk.content for chunk in chunks])
        if is_found and request.sample.reference:
            text = f"{request.sample.reference} [1]"
        if number % 9 == 0:
            text = "I cannot find that in the handbook."
        elif number % 7 == 0:
            text += " A handling charge of 3.50 is kept back."
        contexts = tuple(chunk.content for chunk in chunks)
        return Response(text=text, hits=hits, contexts=contexts, context_origin="system")

    async def close(self) -> None:
        """Nothing is open."""


def _nearest(question: str, texts: list[str]) -> str:
    asked = set(_tokens(question))
    sentences = [
        (sentence, rank)
        for rank, text in enumerate(texts, 1)
        for sentence in _ENDS.split(text)
        if sentence.strip()
    ]
    best, rank = max(sentences, key=lambda each: len(asked & set(_tokens(each[0]))) - each[1] / 10)
    return f"{best.strip()} [{rank}]"


def _tokens(text: str) -> list[str]:
    return [
        each for word in _WORDS.findall(text.lower()) for each in (word if ord(word[0]) > 0x2E80 else [word])
    ]


def desk_run(folder: Path, *without: str, questions: int = 40) -> Evaluation:
    """Evaluate the desk on some questions of the handbook, English and Chinese; the folder keeps the run."""
    dataset = read_dataset(HANDBOOK / "questions.eval.json")
    step = max(1, len(dataset.samples) // questions)
    return evaluate(
        list(dataset.samples[::step]),
        target=Desk(*without),
        metrics=METRICS,
        gate={"claim_recall": 0.8, "faithfulness": 0.9, "span_recall": 0.5},
        documents=HANDBOOK / "documents",
        runs_directory=folder,
        options=Options(allow_missing=True),
    )


def desk_sweep(folder: Path, *, questions: int = 40) -> Evaluation:
    """Sweep two chunkers and two retrievers over the handbook at two k."""
    dataset = read_dataset(HANDBOOK / "questions.eval.json")
    some = replace(dataset, samples=dataset.samples[:: max(1, len(dataset.samples) // questions)])
    grid = Grid(
        chunkers=[chunker_from("sentence(chunk_size=400)"), chunker_from("markdown(chunk_size=1000)")],
        retrievers=[retriever_from("bm25"), retriever_from("dense(embedder=hashing, store=exact)")],
        ks=(1, 5),
    )
    documents = Corpus.from_folder(HANDBOOK / "documents", "**/*.md")
    return evaluate(some, target=grid, documents=documents, runs_directory=folder)
