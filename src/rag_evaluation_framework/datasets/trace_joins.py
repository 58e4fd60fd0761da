"""The filters of traces, and the data joined to them: earlier turns, and a dataset's expectations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.otlp import Span
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.records.samples import Recorded, Sample
from rag_evaluation_framework.text.normalisation import folded

_CONVERSATIONS, _TURNS_BEFORE = 5_000, 20
_CONVERSATION_CHARACTERS = 16 << 20


def conditions_met(conditions: Sequence[tuple[str, str]], span: Span) -> int:
    """Return which attributes a span, or its resource, has with the value asked for: a bit for each."""
    met = 0
    for bit, (name, value) in enumerate(conditions):
        for attributes in (span.attributes, span.resource):
            if name in attributes and _as_text(attributes[name]) == value:
                met |= 1 << bit
    return met


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Conversations:
    """The turns of the conversations that traces belong to, the latest of so many.

    A turn is answered from what was retrieved for it and for the turns before; of a conversation that was let
    go to make room, the next turn is the first.
    """

    def __init__(self) -> None:
        self._turns: OrderedDict[str, list[Sample]] = OrderedDict()
        self._size = 0

    def joined(self, sample: Sample) -> Sample:
        """Return a sample with the turns before it, and remember it for those after."""
        name = sample.trace.conversation if sample.trace else None
        if name is None or sample.recorded is None or sample.trace is None:
            return sample
        turns = self._turns.setdefault(name, [])
        self._turns.move_to_end(name)
        earlier = [each for each in turns if _started(each) <= _started(sample)]
        turns.append(sample)
        self._size += _weight(sample)
        while len(turns) > _TURNS_BEFORE:
            self._size -= _weight(turns.pop(0))
        while len(self._turns) > _CONVERSATIONS or self._size > _CONVERSATION_CHARACTERS:
            _, gone = self._turns.popitem(last=False)
            self._size -= sum(map(_weight, gone))
        if not earlier:
            return sample
        before = tuple((each.question, _answer(each)) for each in earlier)
        contexts = dict.fromkeys(sample.recorded.contexts)
        for each in reversed(earlier):
            contexts |= dict.fromkeys(each.recorded.contexts if each.recorded else ())
        # That a turn retrieved nothing is said only where there are no contexts at all.
        nothing = sample.recorded.retrieved_nothing and not contexts
        recorded = replace(sample.recorded, contexts=tuple(contexts), retrieved_nothing=nothing)
        return replace(sample, recorded=recorded, trace=replace(sample.trace, before=before))


def _answer(sample: Sample) -> str | None:
    return None if sample.recorded is None else sample.recorded.answer


def _started(sample: Sample) -> str:
    return (sample.trace.started_at if sample.trace else None) or ""


def _weight(sample: Sample) -> int:
    recorded = sample.recorded or Recorded()
    return 200 + sum(map(len, recorded.contexts)) + len(recorded.answer or "") + len(sample.question)


class Expectations:
    """The expectations of a dataset, by the ids of its samples and by their questions."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_id: dict[str, Sample] = {}
        self._by_question: dict[str, Sample | None] = {}
        for sample in samples:
            self._by_id[sample.id] = sample
            key = folded(sample.question)
            # Where two samples ask the same, it is not known which of them is meant.
            self._by_question[key] = None if key in self._by_question else sample

    @classmethod
    def read(cls, path: str | Path) -> Expectations:
        return cls(read_dataset(path).samples)

    def of(self, sample: Sample) -> tuple[Sample, bool]:
        """Return a sample with what is expected of it, and whether that is known."""
        named = sample.metadata.get("sample_id")
        truth = self._by_id.get(named) if isinstance(named, str) else None
        if truth is None:
            truth = self._by_question.get(folded(sample.question))
        if truth is None:
            return sample, False
        known = (
            *("reference", "references", "reference_contexts", "relevant_documents", "relevant_spans"),
            *("relevant_chunk_ids", "expectation", "checks", "category", "difficulty", "query_type"),
        )
        return replace(
            sample,
            tags=tuple(dict.fromkeys((*sample.tags, *truth.tags))),
            metadata={**truth.metadata, **sample.metadata, "sample_id": truth.id},
            **{name: getattr(truth, name) for name in known},
        ), True
