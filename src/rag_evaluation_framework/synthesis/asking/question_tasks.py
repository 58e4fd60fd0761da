"""What a model is asked for at once: questions of stated kinds about the texts it is shown.

A task is put to the model as the sample of a run. The task has everything needed to read the reply, so
replies can be read at any later time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import lcm
from typing import Any, Literal

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.synthesis.asking.prompts import Filling, Material, Prompt, load_prompt, turns_of
from rag_evaluation_framework.synthesis.drafts import DIFFICULTIES, KINDS, Difficulty, QuestionKind

PromptName = Literal["token_level", "chunk_level", "across_documents", "across_chunks", "unanswerable"]

Wanted = tuple[QuestionKind, Difficulty]

_NAME_CHARACTERS = 200
_TEXT = {"type": "string"}

ACCEPTED: Mapping[str, Any] = {
    "anyOf": [
        {"type": "object", "required": ["questions"], "properties": {"questions": {"type": "array"}}},
        {"type": "array", "contains": {"type": "object", "required": ["question"]}},
    ]
}
"""The least that a reply must have; what is wrong with single questions is found when it is read."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text that the model is shown: the characters ``[start, end)`` of a document, or a chunk by its id."""

    doc_id: str
    start: int
    end: int
    text: str
    chunk_id: str = ""
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTask:
    """So many questions about these texts: ``wanted`` has the kind and difficulty of each.

    If the texts give nothing for one of them, another of the ``kinds`` will do.
    """

    id: str
    prompt: PromptName
    shown: tuple[Shown, ...]
    wanted: tuple[Wanted, ...]
    kinds: tuple[QuestionKind, ...] = KINDS
    titles: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The documents that it is about, with the characters if it is about a part of one."""
        documents = list(dict.fromkeys(part.doc_id for part in self.shown))
        if len(documents) > 1:
            return " + ".join(documents)
        start, end = min(part.start for part in self.shown), max(part.end for part in self.shown)
        return f"{documents[0]}:{start}-{end}"


def question_mix(
    kinds: Sequence[QuestionKind], difficulties: Sequence[Difficulty], *, seed: int = 0
) -> Iterator[Wanted]:
    """Yield kinds with difficulties forever, each pair as often as any other; ``seed`` says where to begin.

    >>> mix = question_mix(["factual", "temporal"], ["easy", "hard"])
    >>> [next(mix) for _ in range(4)]
    [('factual', 'easy'), ('temporal', 'hard'), ('factual', 'hard'), ('temporal', 'easy')]
    """
    checked_names("kind of question", kinds, KINDS)
    checked_names("difficulty", difficulties, DIFFICULTIES)
    both = lcm(len(kinds), len(difficulties))
    for number in count(seed):
        turn = number + number // both
        yield kinds[number % len(kinds)], difficulties[turn % len(difficulties)]


def checked_names(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an empty list, and names that are not known."""
    if isinstance(given, str) or not given:
        raise UsageError(f"{what}: expected a list of {', '.join(known)}, got {shown(given)}")
    for name in given:
        if name not in known:
            raise UnknownNameError(what, name, known)


def sample_of(task: QuestionTask, *, seed: int = 0) -> Sample:
    """Return the sample that puts a task to a model."""
    prompt = load_prompt(task.prompt)
    return Sample(
        id=task.id,
        turns=turns_of(prompt, _filled(task, prompt), seed=seed),
        metadata={
            "prompt": prompt.name,
            "prompt_version": prompt.version,
            "questions": len(task.wanted),
            "covers": [[part.doc_id, part.start, part.end] for part in task.shown],
        },
    )


def schema_of(task: QuestionTask) -> dict[str, Any]:
    """Return the JSON Schema that the model is told to follow."""
    if task.prompt == "unanswerable":
        return _listed({"question": _TEXT, "missing": _TEXT})
    fields: dict[str, Any] = {"question": _TEXT, **_evidence(task), "answer": _TEXT}
    fields["kind"] = {"type": "string", "enum": list(task.kinds)}
    fields["difficulty"] = {"type": "string", "enum": list(DIFFICULTIES)}
    return _listed(fields)


def _evidence(task: QuestionTask) -> dict[str, Any]:
    if task.prompt in ("chunk_level", "across_chunks"):
        return {"chunk_ids": {"type": "array", "items": _TEXT}}
    if task.prompt == "across_documents":
        excerpt = _object({"document": {"type": "integer"}, "text": _TEXT})
        return {"excerpts": {"type": "array", "items": excerpt}}
    return {"excerpts": {"type": "array", "items": _TEXT}}


def _listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"questions": {"type": "array", "items": _object(fields)}})


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(fields),
        "properties": dict(fields),
    }


def _filled(task: QuestionTask, prompt: Prompt) -> dict[str, Filling]:
    questions = len(task.wanted)
    every: dict[str, Filling] = {
        "about": _about(task.shown[0]),
        "count": "one question" if questions == 1 else f"{questions} questions",
        "plan": "\n".join(
            f"{number}. {kind}, {difficulty}"
            for number, (kind, difficulty) in enumerate(task.wanted, start=1)
        ),
        "text": [Material("text", task.shown[0].text)],
        "documents": _numbered(task.shown),
        "chunks": _chunks(task.shown),
        "titles": [Material("titles", "\n".join(task.titles))],
    }
    return {name: every[name] for name in prompt.fields}


def _numbered(parts: Sequence[Shown]) -> list[Material | str]:
    """Return documents under their numbers, each after a line that says what it is."""
    written: list[Material | str] = []
    for number, part in enumerate(parts, start=1):
        written += [f"Document {number} is {_about(part)}:", Material(f"document {number}", part.text)]
    return written


def _chunks(parts: Sequence[Shown]) -> list[Material | str]:
    """Return chunks under their ids, after the name of their document if there are several."""
    written: list[Material | str] = []
    several = len({part.doc_id for part in parts}) > 1
    last = None
    for part in parts:
        if several and part.doc_id != last:
            written.append(f"From {_quoted(part.doc_id)}:")
            last = part.doc_id
        written.append(Material(part.chunk_id, part.text))
    return written


def _about(part: Shown) -> str:
    under = f", under the headings {' > '.join(map(_quoted, part.headings))}" if part.headings else ""
    return f"from {_quoted(part.doc_id)}{under}"


def _quoted(name: str) -> str:
    return json.dumps(name[:_NAME_CHARACTERS], ensure_ascii=False)
