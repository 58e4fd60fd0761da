"""A scripted model that writes questions about what it is shown, well or badly.

It reads a request as a model would: the texts between the marks, how many questions there are to be, and
whether passages, numbered passages or chunk ids are wanted.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rag_evaluation_framework import Corpus, Document, DocumentId

_SHOWN = re.compile(r"<<([0-9a-f]{16}) ([^<>\n]+)>>\n(.*?)\n<</\1 \2>>", re.DOTALL)
_COUNT = re.compile(r"^Write (one|\d+)\b", re.MULTILINE)
_PLAN = re.compile(r"^\d+\. (\w+), (\w+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.\n]+\.")

WORDS = "anchor bollard capstan davit ensign fender gangway hawser inlet jetty keel locker mast nozzle oar"
TOPICS = WORDS.split()


def corpus_of(documents: int, *, sentences: int = 8) -> Corpus:
    """Return documents in which every sentence is about something of its own."""
    return Corpus([_document(number, sentences) for number in range(1, documents + 1)])


def _topic(place: int) -> str:
    again, first = divmod(place, len(TOPICS))
    return f"{TOPICS[first]} {TOPICS[again]}" if again else TOPICS[first]


def _document(number: int, sentences: int) -> Document:
    written = [
        f"The {_topic(place)} of dock {number} was fitted by crew {number * 31 + place}."
        for place in range(sentences)
    ]
    return Document(DocumentId(f"part-{number:02}.md"), f"# Part {number}\n\n{' '.join(written)}")


class Request:
    """What a request to a model asks for."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.text = str(asked["messages"][-1]["content"])
        self.shown = {name: text for _, name, text in _SHOWN.findall(self.text) if name != "titles"}
        found = _COUNT.search(self.text.partition("<<")[0]) or _COUNT.search(self.text.rpartition(">>")[2])
        assert found is not None, self.text
        self.count = 1 if found[1] == "one" else int(found[1])
        self.plan = _PLAN.findall(self.text.rpartition(">>")[2])
        fields = asked["response_format"]["json_schema"]["schema"]["properties"]["questions"]["items"]
        self.fields = fields["properties"]

    @property
    def sentences(self) -> list[tuple[str, str]]:
        """The sentences that are shown, each after the name of its text."""
        return [
            (name, sentence.strip())
            for name, text in self.shown.items()
            for sentence in _SENTENCE.findall(re.sub(r"^#.*$", "", text, flags=re.MULTILINE))
        ]

    def questions(self, number: int | None = None) -> list[dict[str, Any]]:
        """Return good questions, as many as were asked for."""
        return [self.question(place) for place in range(self.count if number is None else number)]

    def question(self, place: int) -> dict[str, Any]:
        name, sentence = self.sentences[place % len(self.sentences)]
        topic = " ".join(sentence.split()[1:5])
        if "missing" in self.fields:
            return {
                "question": f"What colour has the {topic}, seen by lamp {place}?",
                "missing": "the colour",
            }
        kind, difficulty = self.plan[place % len(self.plan)]
        made = {
            "question": f"Who put in the {topic}?",
            "answer": sentence.rpartition(" by ")[2],
            "kind": kind,
            "difficulty": difficulty,
        }
        if "chunk_ids" in self.fields:
            others = [other for other in self.shown if self.shown[other] != self.shown[name]]
            is_across = "several documents" in self.text
            made["chunk_ids"] = [name, *(others[-1:] if is_across else [])]  # type: ignore[assignment]
        elif len(self.shown) > 1:
            numbers = {each: int(each.split()[1]) for each in self.shown}
            other = next(each for each in self.sentences if each[0] != name)
            made["excerpts"] = [  # type: ignore[assignment]
                {"document": numbers[each], "text": text} for each, text in ((name, sentence), other)
            ]
        else:
            made["excerpts"] = [sentence]  # type: ignore[assignment]
        return made


def well_behaved(asked: dict[str, Any]) -> str:
    """Reply as asked."""
    return json.dumps({"questions": Request(asked).questions()}, ensure_ascii=False)
