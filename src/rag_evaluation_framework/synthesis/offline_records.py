"""Raw records with cited answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.answer_classes import classify_answer
from rag_evaluation_framework.models.chat import ChatModel, Message, with_paragraph
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.citations import ContextCitation, parse_citations
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.synthesis.drafts import Draft, Excerpt, Rejection
from rag_evaluation_framework.synthesis.passages import passages_of, plain
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import content_keys

# Answers that cite numbered contexts: asked for, enforced, and verified.
#
# Every statement must end in the number of the context it rests on, ``[2]``. A reply that cites nothing,
# or a number that no context has, or a context that says nothing of the kind, is asked for once more,
# with what was wrong; after that it is rejected.

PROMPT = """\
Answer from the numbered contexts and from nothing else. End every sentence with the number of the context \
it rests on, like [2]. If the contexts do not hold the answer, say so.

{contexts}

{instruction}"""

# Words of a cited sentence that its contexts must have at least: fewer, and it rests on something else.
_LEAST_SUPPORT = 0.4
_REPAIR = (
    "An earlier reply to this could not be used: {problem}. Write it again and cite the contexts as told."
)


class CitedAnswer(msgspec.Struct, frozen=True):
    """An answer with the numbers of the contexts that it cites; ``problem`` is why it cannot be used."""

    text: str
    numbers: tuple[int, ...]
    problem: str | None = None
    detail: str = ""


def prompt_of(instruction: str, contexts: Sequence[str]) -> str:
    """Return the prompt that an assistant is given: contexts with their numbers, then what is asked."""
    numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(contexts, start=1))
    return PROMPT.format(contexts=numbered, instruction=instruction)


def ask_with_citations(model: ChatModel, instruction: str, contexts: Sequence[str]) -> CitedAnswer:
    """Ask a model, at most twice; what it says is verified. A failing model is a problem of its kind."""
    messages = conversation = [Message("user", prompt_of(instruction, contexts))]
    answer = CitedAnswer("", (), "no-reply")
    for _ in range(2):
        try:
            completion = model.chat(conversation)
        except ModelError as error:
            return CitedAnswer("", (), error.kind, error.message)
        answer = verified(completion.text.strip(), contexts)
        if answer.problem is None:
            break
        note = _REPAIR.format(problem=f"{answer.problem.replace('-', ' ')} ({answer.detail})")
        conversation = with_paragraph(messages, note)
    return answer


def verified(text: str, contexts: Sequence[str]) -> CitedAnswer:
    """Check an answer's citations against the contexts.

    >>> verified("Four a day [3].", ["Four ferries a day."]).problem
    'citation-out-of-range'
    """
    numbers = cited_numbers(text)
    wrong = [number for number in numbers if not 1 <= number <= len(contexts)]
    if wrong:
        return CitedAnswer(
            text, numbers, "citation-out-of-range", f"[{wrong[0]}] of {len(contexts)} contexts"
        )
    if not numbers:
        is_answer = bool(text) and classify_answer(text).kind == "answered"
        return CitedAnswer(text, numbers, "no-citations" if is_answer else "not-answered", "nothing is cited")
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        cited = cited_numbers(sentence)
        if cited and _support(sentence, [contexts[number - 1] for number in cited]) < _LEAST_SUPPORT:
            return CitedAnswer(text, numbers, "citation-unsupported", sentence)
    return CitedAnswer(text, numbers)


def cited_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of the contexts that a text cites, each once, in order."""
    cited = (placed.citation for placed in parse_citations(text).citations)
    return tuple(dict.fromkeys(each.number for each in cited if isinstance(each, ContextCitation)))


def _support(sentence: str, contexts: Sequence[str]) -> float:
    """Return the share of a sentence's content words that the contexts have."""
    said = set(content_keys(sentence))
    told = {word for context in contexts for word in content_keys(context)}
    return len(said & told) / len(said) if said else 1.0


# Raw records of an offline dataset: what is asked, what was retrieved for it, and the answer that cites it.
#
# Four types of tasks: ``qa`` asks a question, ``summaries`` for a summary of a document, ``citations``
# for the passage that answers a question, and ``retrieval`` only whether that passage is found. Contexts
# are retrieved from the corpus, numbered, and put into the prompt. The expected response is a model's, or
# without one the passages themselves, word by word; both cite ``[n]``. If the passages that answer are not
# retrieved there is nothing to cite, and no record; this is counted. A retrieval diagnostic has no
# response, and is there whatever was retrieved.

TaskType = Literal["qa", "summaries", "citations", "retrieval"]
TASK_TYPES: tuple[TaskType, ...] = ("qa", "summaries", "citations", "retrieval")

_NAMESPACE = uuid.UUID("5e0f2a3c-8f2b-5d0e-9a54-6f4f0f3d7c11")
_SHARE_OF_EXCERPT = 0.8
_SUMMARY_SENTENCES = 5
_FEWEST_TO_SUMMARISE = 2
_SUMMARY_FACTOR = 4

Record = dict[str, Any]


class Task(msgspec.Struct, frozen=True):
    """Something to ask, with the chunks that were retrieved for it and the passages that answer it.

    ``scores`` are the retriever's, of each chunk; ``relevant`` are the chunks of the corpus that hold the
    passages, retrieved or not.
    """

    task_type: TaskType
    instruction: str
    chunks: tuple[PositionAwareChunk, ...]
    excerpts: tuple[Excerpt, ...]
    document: str
    labels: Mapping[str, Any]
    scores: tuple[float, ...] = ()
    relevant: tuple[PositionAwareChunk, ...] = ()


def offline_tasks(
    corpus: Corpus,
    drafts: Sequence[Draft],
    *,
    pipeline: RetrievalPipeline,
    k: int = 5,
    task_types: Sequence[TaskType] = TASK_TYPES,
) -> Iterator[Task]:
    """Yield the tasks: each document once for ``summaries``, each question once for every other type.

    The pipeline must have indexed the corpus.
    """
    answered = [draft for draft in drafts if draft.excerpts]
    found = pipeline.retrieve([draft.question for draft in answered], k)
    scores = [
        tuple(pipeline.scores(draft.question, chunks) or ())
        for draft, chunks in zip(answered, found, strict=True)
    ]
    holding = _Holding(pipeline)
    for task_type in task_types:
        if task_type == "summaries":
            yield from (_summary_task(document, pipeline, k) for document in corpus)
            continue
        for draft, chunks, scored in zip(answered, found, scores, strict=True):
            excerpts = draft.excerpts
            yield Task(
                task_type,
                _to_be_cited(draft.question) if task_type == "citations" else draft.question,
                tuple(chunks),
                excerpts,
                excerpts[0].doc_id,
                {"query_type": draft.kind, "difficulty": draft.difficulty},
                scored,
                holding.of(excerpts) if task_type == "retrieval" else (),
            )


def offline_records(
    tasks: Sequence[Task],
    *,
    run_id: str,
    folder: str = "",
    model: ChatModel | None = None,
    generator: Mapping[str, Any],
    concurrency: int = 8,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Record | Rejection]:
    """Yield the record of each task in order, or why there is none.

    ``folder`` is put before document ids in the sources. A model is asked several tasks at once.
    """
    with ThreadPoolExecutor(max_workers=concurrency if model is not None else 1) as executor:
        answers = executor.map(lambda task: _answered(task, model), tasks)
        for number, (task, answer) in enumerate(zip(tasks, answers, strict=True), start=1):
            if on_done is not None:
                on_done(number)
            if answer.problem is not None:
                yield Rejection(answer.problem, task.instruction, task.document, answer.detail)
            else:
                yield _record(task, answer, run_id=run_id, folder=folder, generator=generator)


def _answered(task: Task, model: ChatModel | None) -> CitedAnswer:
    contexts = [chunk.content for chunk in task.chunks]
    if task.task_type == "retrieval":
        return CitedAnswer("", ())
    if task.task_type == "summaries" and len(task.excerpts) < _FEWEST_TO_SUMMARISE:
        return CitedAnswer("", (), "nothing-to-summarise", f"{len(task.excerpts)} sentences retrieved")
    found = [_context_of(excerpt, task.chunks) for excerpt in task.excerpts]
    numbers = [number for number in found if number is not None]
    if len(numbers) < len(found):
        return CitedAnswer("", (), "answer-not-retrieved", f"{len(contexts)} contexts")
    if task.task_type == "citations":
        cited = tuple(dict.fromkeys(numbers))
        return CitedAnswer("".join(f"[{number}]" for number in cited), cited)
    if model is not None:
        return ask_with_citations(model, task.instruction, contexts)
    said = map(_with_number, (excerpt.text for excerpt in task.excerpts), numbers)
    return verified(" ".join(said), contexts)


def _record(
    task: Task, answer: CitedAnswer, *, run_id: str, folder: str, generator: Mapping[str, Any]
) -> Record:
    contexts = [chunk.content for chunk in task.chunks]
    sources = [f"{folder}{chunk.doc_id}#char={chunk.start},{chunk.end}" for chunk in task.chunks]
    name = "\n".join((task.task_type, task.instruction, task.document, *sources))
    cited = [task.chunks[number - 1] for number in answer.numbers]
    # Neither is there for a retriever that does not tell them.
    told = [{"score": score} for score in task.scores] or [{}] * len(contexts)
    return {
        "task_id": str(uuid.uuid5(_NAMESPACE, name)),
        "task_type": task.task_type,
        "instruction": task.instruction,
        **({"expected_response": answer.text} if task.task_type != "retrieval" else {}),
        "rag": {
            "prompt": prompt_of(task.instruction, contexts),
            "contexts": contexts,
            "sources": sources,
            **({"scores": list(task.scores)} if task.scores else {}),
            "citations": [
                {
                    "index": number,
                    "source": sources[number - 1],
                    "file_name": task.chunks[number - 1].doc_id,
                    "start_char": task.chunks[number - 1].start,
                    "end_char": task.chunks[number - 1].end,
                }
                for number in answer.numbers
            ],
            "retrieved": [
                {
                    "chunk_id": generate_chunk_id(chunk.content),
                    "document": chunk.doc_id,
                    "rank": rank,
                    **score,
                    "start_char": chunk.start,
                    "end_char": chunk.end,
                }
                for rank, (chunk, score) in enumerate(zip(task.chunks, told, strict=True), start=1)
            ],
        },
        "metadata": {
            "document": task.document,
            "run_id": run_id,
            "language": "zh" if has_unspaced_script(task.instruction) else "en",
            "generator": dict(generator),
            "selected_chunk_ids": [generate_chunk_id(chunk.content) for chunk in task.relevant or cited],
            **{name: value for name, value in task.labels.items() if value is not None},
        },
    }


def _summary_task(document: Document, pipeline: RetrievalPipeline, k: int) -> Task:
    """Return the task to summarise a document from the chunks of it that its headings lead to."""
    passages = passages_of(document)
    title = passages.title or document.id
    headings = dict.fromkeys(each.place.headings[-1] for each in passages.statements if each.place.headings)
    query = " ".join((title, *headings))
    found = [
        chunk for chunk in pipeline.retrieve([query], k * _SUMMARY_FACTOR)[0] if chunk.doc_id == document.id
    ]
    chunks = tuple(sorted(found[:k], key=lambda chunk: chunk.start))
    scores = tuple(pipeline.scores(query, chunks) or ())
    first_of: dict[int, Excerpt] = {}
    for statement in passages.statements:
        place = statement.place
        excerpt = Excerpt(document.id, place.start, place.end, document.content[place.start : place.end])
        number = _context_of(excerpt, chunks)
        if number is not None:
            first_of.setdefault(number, excerpt)
    excerpts = tuple(first_of[number] for number in sorted(first_of))[:_SUMMARY_SENTENCES]
    is_unspaced = has_unspaced_script(title)
    asked = f"概括“{title}”的主要内容。" if is_unspaced else f"Summarise “{title}” in a few sentences."
    return Task("summaries", asked, chunks, excerpts, document.id, {}, scores)


class _Holding:
    """Finds the chunks of an indexed corpus that hold a passage: nearly all of it, else any part of it."""

    def __init__(self, pipeline: RetrievalPipeline) -> None:
        self._by_document: dict[str, list[PositionAwareChunk]] = {}
        for chunk in pipeline.chunking.chunks if pipeline.chunking else ():
            self._by_document.setdefault(chunk.doc_id, []).append(chunk)

    def of(self, excerpts: Sequence[Excerpt]) -> tuple[PositionAwareChunk, ...]:
        """Return the chunks that hold the excerpts, each once."""
        found: dict[str, PositionAwareChunk] = {}
        for excerpt in excerpts:
            near = [(_shared(excerpt, chunk), chunk) for chunk in self._by_document.get(excerpt.doc_id, ())]
            whole = [chunk for shared, chunk in near if shared >= _SHARE_OF_EXCERPT * excerpt.size]
            for chunk in whole or [chunk for shared, chunk in near if shared > 0]:
                found.setdefault(chunk.content, chunk)
        return tuple(found.values())


def _context_of(excerpt: Excerpt, chunks: Sequence[PositionAwareChunk]) -> int | None:
    """Return the number of the first context that has nearly all of an excerpt."""
    least = _SHARE_OF_EXCERPT * excerpt.size
    for number, chunk in enumerate(chunks, start=1):
        if chunk.doc_id == excerpt.doc_id and _shared(excerpt, chunk) >= least:
            return number
    return None


def _shared(excerpt: Excerpt, chunk: PositionAwareChunk) -> int:
    """Return how many characters a chunk has of an excerpt of the same document."""
    return min(chunk.end, excerpt.end) - max(chunk.start, excerpt.start)


def _with_number(text: str, number: int) -> str:
    """Return a sentence with its citation before the mark that ends it."""
    bare = plain(text)
    for mark in ("。", ".", "！", "!"):
        if bare.endswith(mark):
            return f"{bare[: -len(mark)]} [{number}]{mark}"
    return f"{bare} [{number}]."


def _to_be_cited(question: str) -> str:
    if has_unspaced_script(question):
        return f"引用能回答这个问题的段落：{question}"
    return f"Cite the passage that answers this: {question}"
