"""Reads the steps of a trace: what each retrieval found of what is relevant, which tools should be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import shown
from rag_evaluation_framework.evaluation.scoring import Reader
from rag_evaluation_framework.judging.answer_verdicts import found_once
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.steps import Hop, ToolCall, matched, needless
from rag_evaluation_framework.metrics.views import NO_TRUTH, NoValueError
from rag_evaluation_framework.records.samples import EXPECTED_TOOLS
from rag_evaluation_framework.records.steps import Found, Step

_NO_STEPS = "the sample has no trace"
_ARGUMENTS = ("arguments", "args", "input_parameters", "input")


class StepsReader(Reader):
    """The steps of the trace that a sample was read from."""

    @property
    def steps(self) -> Sequence[Step]:
        if self.sample.trace is None:
            raise NoValueError(_NO_STEPS)
        return self.sample.trace.steps

    @found_once
    def hops(self) -> list[Hop]:
        """Return the finds of each retrieval, in order; without relevant documents there is no value."""
        documents = self.methods.documents.texts
        relevant = {
            documents.id_of(name) for name, grade in self.sample.relevant_documents.items() if grade > 0
        }
        relevant |= set(self.sample.relevant_chunk_ids)
        retrievals = self._retrievals
        if not relevant:
            raise NoValueError(NO_TRUTH.format("documents"))
        hops: list[Hop] = []
        before: set[str] = set()
        for step, found in retrievals:
            if any(not each.names for each in found):
                raise NoValueError("a retrieved document has no name")
            names = [{documents.id_of(name) for name in each.names} for each in found]
            hit = {name for each in names for name in each & relevant}
            # Several pieces of one document count once.
            listed = {min(each & relevant or each) for each in names}
            hops.append(Hop(step.query, len(listed), len(hit), len(hit - before), len(relevant)))
            before |= hit
        return hops

    @found_once
    def useful_hops(self) -> list[bool]:
        if not (self.sample.reference or "").strip():
            raise NoValueError("the sample expects no text")
        retrievals = self._retrievals
        useful = self.methods.reading(self.sample, self.response, self.method).useful_contexts
        places = [[each.context for each in found if each.context is not None] for _, found in retrievals]
        return [any(useful[place] for place in each) for each in places]

    @property
    def _retrievals(self) -> list[tuple[Step, tuple[Found, ...]]]:
        """The retrievals with what they found; one of which that is not known makes the rest worthless."""
        retrievals = [step for step in self.steps if step.kind == "retrieval"]
        known = [(step, step.found) for step in retrievals if step.found is not None]
        if len(known) < len(retrievals):
            raise NoValueError("the trace does not contain the documents of a retrieval")
        return known

    @found_once
    def expected_tools(self) -> list[ToolCall]:
        expected = self.sample.metadata.get(EXPECTED_TOOLS)
        if expected in (None, []):
            raise NoValueError("the sample expects no tools")
        calls = [_call(each) for each in (expected if isinstance(expected, list) else [expected])]
        wrong = next((given for given, call in zip(expected, calls, strict=False) if call is None), None)
        if wrong is not None:
            told = f"{EXPECTED_TOOLS}: expected names, or objects with name and arguments, got {shown(wrong)}"
            raise NoValueError(told, failed=True)
        return [call for call in calls if call is not None]

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return what each hop found, which steps were needless and why, or which calls were made."""
        if "hops" in shows:
            return {"hops": [hop._asdict() for hop in self.hops]}
        if "expected_tools" in shows:
            made = matched(self.steps, self.expected_tools)
            return {
                "tools": [
                    {"name": call.name, "span": None if match is None else match[1].span}
                    for call, match in zip(self.expected_tools, made, strict=True)
                ]
            }
        return {"needless": needless(self.steps)}


def _call(given: Any) -> ToolCall | None:
    if isinstance(given, str) and given:
        return ToolCall(given)
    if not isinstance(given, Mapping) or not isinstance(name := given.get("name"), str):
        return None
    arguments = next((given[each] for each in _ARGUMENTS if given.get(each) is not None), None)
    return ToolCall(name, arguments) if arguments is None or isinstance(arguments, Mapping) else None
