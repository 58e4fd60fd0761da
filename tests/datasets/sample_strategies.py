"""Generators of texts, JSON values, records and samples that try what files find hard."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Document, DocumentId, Refusal, Sample, SpanCitation, Turn
from rag_evaluation_framework.datasets.consistency import says_nothing
from rag_evaluation_framework.datasets.conversion import is_supported
from rag_evaluation_framework.records.samples import Recorded

TABLES = tables_beside(__file__)

AWKWARD = TABLES["awkward"]
texts = st.one_of(st.sampled_from(AWKWARD), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
words = st.text("abcXYZ019-_玛é", min_size=1, max_size=6)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
text_lists = st.lists(texts, max_size=3)


def with_unknown_fields(known: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Add fields that no schema knows; a known name keeps its known value."""
    unknown = st.dictionaries(words.map(lambda word: f"x{word}"), values, max_size=2)
    return st.builds(lambda fields, others: {**others, **fields}, known, unknown)


def record(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return with_unknown_fields(st.fixed_dictionaries(required, optional=optional))


_check = st.one_of(
    st.builds(lambda text, flag: {"contains": text, "negate": flag}, words, st.booleans()),
    st.builds(
        lambda value: {"json_path": "$.a", "equals": value}, scalars.filter(lambda each: each is not None)
    ),
    st.builds(lambda count, text: {"max_words": count, "regex": f"^{text}"}, st.integers(1, 99), words),
)
written_checks = st.one_of(_check, st.lists(_check, max_size=3))
agent_records = record(
    {"input": texts, "expected": texts},
    {
        "id": st.one_of(words.map(lambda word: f"own {word}"), st.none(), st.integers()),
        "context": text_lists,
        "reference_contexts": text_lists,
        "relevant_documents": st.one_of(
            text_lists, st.dictionaries(texts, st.one_of(st.integers(-2, 3), st.just(1.0)), max_size=3)
        ),
        "relevant_chunk_ids": text_lists,
        "checks": written_checks,
        "tags": text_lists,
        "metadata": objects,
    },
)
ragas_records = record(
    {
        "user_input": st.one_of(
            texts,
            st.lists(
                record({"content": texts, "type": st.sampled_from(["human", "ai", "tool"])}, {}), max_size=3
            ).map(lambda messages: [{"content": "hello", "type": "human"}, *messages]),
        )
    },
    {
        "retrieved_contexts": st.one_of(st.none(), text_lists),
        "response": st.one_of(st.none(), texts),
        "reference": st.one_of(st.none(), texts),
        "reference_contexts": st.one_of(st.none(), text_lists),
        "reference_context_ids": st.lists(st.one_of(texts, st.integers(0, 9)), max_size=3),
        "retrieved_context_ids": st.lists(st.integers(0, 9), max_size=2),
        "rubrics": st.one_of(st.none(), objects),
    },
)
_spans = st.integers(0, 50).flatmap(
    lambda start: record(
        {"doc_id": words, "start": st.just(start), "end": st.integers(start + 1, 99)}, {"text": texts}
    )
)
_langsmith_metadata = st.one_of(
    objects, st.fixed_dictionaries({"source_docs": text_lists}, optional={"generation_model": texts})
)
langsmith_records = record(
    {
        "inputs": record({"query": texts}, {}),
        "outputs": record(
            {"relevant_chunk_ids": text_lists},
            {"spans": st.lists(_spans, max_size=2), "metadata": _langsmith_metadata},
        ),
    },
    {"metadata": st.one_of(st.none(), _langsmith_metadata), "id": st.one_of(st.none(), words)},
)
_citations = st.integers(0, 50).flatmap(
    lambda start: record(
        {"file_name": words, "start_char": st.just(start), "end_char": st.integers(start + 1, 99)},
        {
            "page_number": st.integers(0, 9),
            "confidence_score": st.floats(0, 1),
            "context_text": texts,
            "text": st.one_of(texts, st.integers()),
        },
    )
)
_queries = record(
    {"query_id": words, "query_text": texts, "relevant_documents": text_lists},
    {
        "query_type": st.sampled_from(["factual", "analytical", "comparative", "temporal"]),
        "difficulty": st.sampled_from(["easy", "medium", "hard"]),
        "ground_truth_answer": texts,
        "checks": written_checks,
        "citations": st.lists(_citations, max_size=2),
        "metadata": objects,
        "documents": values,
        "extra_fields": values,
        "name": values,
    },
)
_documents = record(
    {"document_id": words, "content": texts}, {"title": texts, "file_path": texts, "metadata": objects}
)
evaluation_datasets = record(
    {
        "dataset_id": texts.filter(bool),
        "name": texts,
        "version": texts,
        "queries": st.lists(_queries, max_size=3, unique_by=lambda query: query["query_id"]),
    },
    {
        "description": texts,
        "created_at": st.just("2025-08-30T12:00:00Z"),
        "metadata": st.dictionaries(words.map(lambda word: f"x{word}"), values, max_size=2),
        "documents": st.lists(_documents, max_size=2, unique_by=lambda document: document["document_id"]),
    },
)


@st.composite
def squad_files(draw: st.DrawFn) -> dict[str, Any]:
    """A SQuAD file whose answers stand in their paragraphs and whose question ids are unique."""
    number = iter(range(1000))

    def paragraph() -> dict[str, Any]:
        context = draw(texts) + "some words"
        return {**draw(unknown), "context": context, "qas": [question(context) for _ in range(draw(few))]}

    def question(context: str) -> dict[str, Any]:
        answers = [answer(context) for _ in range(draw(few))]
        fields: dict[str, Any] = {"id": f"q{next(number)}", "question": draw(texts), "answers": answers}
        if draw(st.booleans()):
            fields["is_impossible"] = draw(st.booleans())
            fields["plausible_answers"] = [answer(context)]
        return {**draw(unknown), **fields}

    def answer(context: str) -> dict[str, Any]:
        start = draw(st.integers(0, len(context) - 1))
        end = draw(st.integers(start + 1, len(context)))
        return {**draw(unknown), "text": context[start:end], "answer_start": start}

    few = st.integers(0, 2)
    unknown = st.dictionaries(words.map(lambda word: f"x{word}"), values, max_size=1)
    titles = st.sampled_from(["Normans", "Normans#1", "Normans (2)", "", "纳塔"])
    articles = []
    for _ in range(draw(few)):
        article = {**draw(unknown), "paragraphs": [paragraph() for _ in range(draw(few))]}
        if draw(st.booleans()):
            article["title"] = draw(titles)
        articles.append(article)
    version = draw(st.sampled_from([{}, {"version": "v2.0"}, {"version": 1.1}]))
    return {**draw(unknown), **version, "data": articles}


# "Refusal" and dots alone mean something else in golden sets.
references = texts.filter(lambda text: text.strip().strip(" .…") not in ("", "Refusal"))
DOCUMENT = Document(DocumentId("doc-1"), "The quick 玛拉妮 🦖 jumps\r\nover the lazy dog.", {}, "A title")


@st.composite
def samples_for(draw: st.DrawFn, holds: frozenset[str], *, index: int = 0) -> Sample:
    """A sample that says only what ``holds`` allows, about :data:`DOCUMENT`."""

    def held(name: str, strategy: st.SearchStrategy[Any], empty: Any) -> Any:
        return draw(strategy) if is_supported(name, holds) else empty

    contexts = held("recorded.contexts", text_lists.map(tuple), ())
    answer = held("recorded.answer", st.one_of(st.none(), texts), None)
    has_span = is_supported("relevant_spans", holds) and draw(st.booleans())
    spans = ()
    if has_span:
        start = draw(st.integers(0, 20))
        end = draw(st.integers(start + 1, len(DOCUMENT.content)))
        text = DOCUMENT.content[start:end] if is_supported("relevant_spans.text", holds) else None
        spans = (SpanCitation(DOCUMENT.id, start, end, text=text),)
    # What holds refusals and no references is made of refusals.
    may_answer = is_supported("reference", holds)
    is_refusal = is_supported("expectation.refusal", holds) and (not may_answer or draw(st.booleans()))
    question = draw(texts.filter(lambda text: not says_nothing(text)))
    return Sample(
        id=f"{draw(words)}-{index}",
        turns=(Turn(role="user", content=question),),
        reference=None if is_refusal else held("reference", references, None),
        recorded=Recorded(contexts=contexts, answer=answer) if contexts or answer is not None else None,
        reference_contexts=held("reference_contexts", st.just(("some words",)), ()),
        relevant_documents=held("relevant_documents", st.just({DOCUMENT.id: 1}), {}),
        relevant_spans=spans,
        relevant_chunk_ids=held("relevant_chunk_ids", text_lists.map(tuple), ()),
        expectation=Refusal() if is_refusal else None,
        checks=held("checks", written_checks, ()) or (),
        difficulty=held("difficulty", st.sampled_from(["easy", "hard"]), None),
        query_type=held("query_type", st.sampled_from(["factual", "temporal"]), None),
        tags=held("tags", text_lists.map(tuple), ()),
        metadata=held("metadata", objects.filter(lambda value: "source_docs" not in value), {}),
    )
