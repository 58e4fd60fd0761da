"""Looks up texts in documents: where are the contexts that came without a position?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache

from rag_evaluation_framework.judging.citations.shingle_index import ShingleIndex
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.records.documents import CharacterSpan, Document
from rag_evaluation_framework.text.search import (
    SqueezedText,
    Stretch,
    exact_places,
    without_dots,
    without_spaces,
)


class SearchedDocuments:
    """Documents in which texts without a position are searched for; without any, a name is an id.

    ``are_all`` is false where the system may have retrieved from other documents too.
    """

    def __init__(self, documents: Sequence[Document], *, are_all: bool = True) -> None:
        self._documents, self.are_all = documents, are_all
        self.texts = CitableTexts(documents)
        # Documents that cannot hold a text are ruled out by their characters alone, which take less memory.
        self._characters = cache(without_spaces)
        self._squeezed = lru_cache(maxsize=64)(SqueezedText)
        self._places_of = lru_cache(maxsize=256)(self._searched)  # several metrics ask about the same texts

    def places_of(self, text: str, name: str | None) -> Sequence[CharacterSpan]:
        """Return where a text is: in the document of that name, or in any if no document has the name.

        Only if it is nowhere to the letter may white space differ, and dots at its ends be left out.
        """
        return self._places_of(text, name)

    def _searched(self, text: str, name: str | None) -> Sequence[CharacterSpan]:
        document = None if name is None else self.texts.document(name)
        for wanted in filter(str.strip, dict.fromkeys((text, without_dots(text)))):
            among = self._that_may_hold(wanted) if document is None else [document]
            for search in (_to_the_letter, self._with_other_spaces):
                if found := [
                    CharacterSpan(each.id, place.start, place.end)
                    for each in among
                    for place in search(wanted, each.content)
                ]:
                    return found
        return []

    def _that_may_hold(self, wanted: str) -> list[Document]:
        return [self._documents[number] for number in self._index.may_hold(wanted)]

    @cached_property
    def _index(self) -> ShingleIndex:
        return ShingleIndex(document.content for document in self._documents)

    def _with_other_spaces(self, wanted: str, text: str) -> list[Stretch]:
        if without_spaces(wanted) not in self._characters(text):
            return []
        return self._squeezed(text).places(wanted, Stretch(0, len(text)))


def _to_the_letter(wanted: str, text: str) -> list[Stretch]:
    return exact_places(wanted, text, Stretch(0, len(text)))
