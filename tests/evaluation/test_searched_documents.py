"""Looking up texts in documents finds what a search through all of them finds, and searches few."""

from __future__ import annotations

from benchmarks.located_contexts import plain_search
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import Document, DocumentId
from rag_evaluation_framework.judging.cited_texts import SearchedDocuments

# Few words, so that texts are in several documents and several times in one.
words = st.sampled_from(
    ["boat", "the", "leaves", "at noon", "船在正午离开码头", "Ｂｏａｔ", "...", "…", "", "\u3000", "\ud800"]
)
sentences = st.lists(words, max_size=12).map(" ".join)
contents = st.lists(sentences, max_size=6).map("\n".join)


def documents_of(texts: list[str]) -> list[Document]:
    return [Document(DocumentId(f"doc_{number}"), text) for number, text in enumerate(texts)]


@given(st.lists(contents, max_size=6), st.data())
def test_a_text_is_found_where_a_search_through_all_documents_finds_it(
    texts: list[str], data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from([*texts, "the boat leaves at noon"]))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    excerpt = text[start:end]
    documents = documents_of(texts)
    searched, plain = SearchedDocuments(documents), plain_search(documents)
    for wanted in (
        excerpt,
        "\n".join(excerpt.split()),
        "".join(excerpt.split()),
        f"...{excerpt} …",
        f"{excerpt} {data.draw(words)}",
    ):
        assert searched.places_of(wanted, None) == plain(wanted)
        assert searched.places_of(wanted, "no document's name") == plain(wanted)
