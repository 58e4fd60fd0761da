"""Metrics of the steps of a trace: what each retrieval adds, the tools that are called, what was needless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import STEPS, NoValueError
from rag_evaluation_framework.records.steps import STEP_KINDS, Step
from rag_evaluation_framework.statistics.resampling import exact_mean


class Hop(NamedTuple):
    """The numbers of documents of one retrieval of a trace."""

    query: str | None
    documents: int
    """Number of documents that it returned, each counted once."""
    relevant: int
    """Number of relevant documents among them."""
    new: int
    """Number of these that no earlier retrieval had returned."""
    known: int
    """Number of all relevant documents."""


class ToolCall(NamedTuple):
    """A tool that should be called; ``arguments`` is ``None`` where any will do."""

    name: str
    arguments: Mapping[str, Any] | None = None


@metric("hop_recall", reads=STEPS, shows=("hops",))
def hop_recall(hops: Sequence[Hop]) -> float | None:
    """The mean recall of the single retrievals of a trace.

    Formula: mean over the retrievals of relevant documents that it found / relevant documents. What all of
    them find together is recall.

    Empty: no value for a trace without a retrieval; such a sample is skipped.

    Source: the spans of retrievers in a trace, against the relevant documents of the sample.
    """
    return exact_mean([hop.relevant / hop.known for hop in hops]) if hops else None


@metric("hop_precision", reads=STEPS, shows=("hops",))
def hop_precision(hops: Sequence[Hop]) -> float | None:
    """The mean precision of the single retrievals of a trace.

    Formula: mean over the retrievals that returned anything of relevant documents / documents returned.

    Empty: no value where no retrieval returned anything; such a sample is skipped.

    Source: the spans of retrievers in a trace, against the relevant documents of the sample.
    """
    shares = [hop.relevant / hop.documents for hop in hops if hop.documents]
    return exact_mean(shares) if shares else None


@metric("hop_gain", reads=STEPS, shows=("hops",))
def hop_gain(hops: Sequence[Hop]) -> float | None:
    """The share of the retrievals of a trace that find a new relevant document.

    Formula: retrievals that found a new relevant document / retrievals.

    Empty: no value for a trace without a retrieval; such a sample is skipped.

    Source: the spans of retrievers in a trace, against the relevant documents of the sample.
    """
    return sum(hop.new > 0 for hop in hops) / len(hops) if hops else None


@metric("hop_usefulness", reads=STEPS)
def hop_usefulness(useful_hops: Sequence[bool]) -> float | None:
    """The share of the retrievals of a trace that find text that supports the reference.

    Formula: retrievals one of whose texts supports a claim of the reference / retrievals.

    Empty: no value for a trace without a retrieval; such a sample is skipped.

    Source: the spans of retrievers in a trace, against the reference of the sample.
    """
    return sum(useful_hops) / len(useful_hops) if useful_hops else None


def needless(steps: Sequence[Step]) -> dict[str, str]:
    """Return the retrievals and calls of tools that added nothing, by the ids of their spans, and why.

    What is repeated after it failed is not needless.
    """
    found: dict[str, str] = {}
    done: list[tuple[str, str, str | None, Any]] = []
    seen: set[object] = set()
    for step in steps:
        if step.kind not in ("retrieval", "tool"):
            continue
        asked = (step.kind, step.name, step.query, step.arguments)
        # Without what was asked, two steps cannot be told to be the same.
        if asked in done and (step.query or step.arguments is not None):
            found[step.span] = "repeats an earlier step"
        elif step.kind == "retrieval" and step.found is not None and step.error is None:
            documents = {each.names or each.context for each in step.found}
            if seen and documents <= seen:
                found[step.span] = "finds nothing new"
            seen |= documents
        if step.error is None:
            done.append(asked)
    return found


@metric("needless_steps", reads=STEPS, higher_is_better=False, shows=("steps",))
def needless_steps(steps: Sequence[Step]) -> float | None:
    """The share of the retrievals and tool calls that repeat an earlier step or find nothing new.

    Formula: (those that repeat an earlier one that did not fail + retrievals that return no new document) /
    retrievals and tool calls.

    Empty: no value for a trace without a retrieval or a tool call; such a sample is skipped.

    Source: the spans of retrievers and tools in a trace.
    """
    counted = sum(step.kind in ("retrieval", "tool") for step in steps)
    return len(needless(steps)) / counted if counted else None


@metric("failed_steps", reads=STEPS, higher_is_better=False)
def failed_steps(steps: Sequence[Step]) -> float | None:
    """The share of the steps of a trace that end in an error.

    Formula: steps whose span has the status error / steps.

    Empty: no value for a trace without steps; such a sample is skipped.

    Source: the status of the spans in a trace.
    """
    return sum(step.error is not None for step in steps) / len(steps) if steps else None


@metric("tool_called", reads=STEPS, shows=("expected_tools",))
def tool_called(steps: Sequence[Step], expected_tools: Sequence[ToolCall]) -> float:
    """The share of the expected tool calls that the system made.

    Formula: expected calls that are matched, by name, to a call of their own / expected calls.

    Empty: where no tools are expected there is nothing to call; such a sample is skipped.

    Source: the spans of tools in a trace, against expected_tools in the sample's metadata.
    """
    return sum(match is not None for match in matched(steps, expected_tools)) / len(expected_tools)


@metric("tool_arguments", reads=STEPS, shows=("expected_tools",))
def tool_arguments(steps: Sequence[Step], expected_tools: Sequence[ToolCall]) -> float | None:
    """The share of the expected tool calls that have the expected arguments.

    Formula: expected calls with arguments for which a call of that name has these arguments, with or
    without others / expected calls with arguments. Numbers count by their value, texts as they are.

    Empty: no value where no arguments are expected; such a sample is skipped.

    Source: the spans of tools in a trace, against expected_tools in the sample's metadata.
    """
    wanted = [each for each in expected_tools if each.arguments is not None]
    if not wanted:
        return None
    made = [each for each in matched(steps, expected_tools) if each is not None]
    return sum(_has(step.arguments, call) for call, step in made if call.arguments is not None) / len(wanted)


def matched(steps: Sequence[Step], expected: Sequence[ToolCall]) -> list[tuple[ToolCall, Step] | None]:
    """Return for each expected call the call that was made, with its arguments if there is one; each once."""
    left = [step for step in steps if step.kind == "tool"]
    found: dict[int, tuple[ToolCall, Step]] = {}
    for exactly in (True, False):
        for place, call in enumerate(expected):
            fitting = (step for step in left if step.name == call.name)
            if place not in found:
                step = next((each for each in fitting if not exactly or _has(each.arguments, call)), None)
                if step is not None:
                    left = [each for each in left if each is not step]
                    found[place] = (call, step)
    return [found.get(place) for place in range(len(expected))]


def _has(given: Any, call: ToolCall) -> bool:
    if call.arguments is None:
        return True
    return isinstance(given, Mapping) and all(
        name in given and given[name] == value for name, value in call.arguments.items()
    )


_OF_KIND = {"kind": STEP_KINDS}


def _of(steps: Sequence[Step], kind: str) -> list[Step]:
    of_kind = [step for step in steps if step.kind == kind]
    if not of_kind:
        raise NoValueError(f"the trace has no {kind} step")
    return of_kind


@metric("step_time", reads=STEPS, higher_is_better=False, is_share=False, allowed=_OF_KIND)
def step_time(steps: Sequence[Step], *, kind: str = "model") -> float | None:
    """The total time of the steps of a kind, in milliseconds.

    Formula: the sum over the steps of the kind (retrieval, rerank, tool, model, embedding) of end - beginning
    of their spans; steps that run side by side count in full.

    Empty: no value where the trace has no such step, or one of unknown time; such a sample is skipped.

    Source: the times of the spans in a trace.
    """
    times = [step.took_ms for step in _of(steps, kind)]
    known = [each for each in times if each is not None]
    return sum(known) if len(known) == len(times) else None


@metric("step_tokens", reads=STEPS, higher_is_better=False, is_share=False, allowed=_OF_KIND)
def step_tokens(steps: Sequence[Step], *, kind: str = "model") -> float | None:
    """The total of input and output tokens of the steps of a kind.

    Formula: the sum over the steps of the kind of input tokens + output tokens.

    Empty: no value where the trace has no such step, or one that reports no tokens; such a sample is skipped.

    Source: llm.token_count.* and gen_ai.usage.* of the spans in a trace.
    """
    counts = [(step.input_tokens, step.output_tokens) for step in _of(steps, kind)]
    if any(told == (None, None) for told in counts):
        return None
    return float(sum((read or 0) + (written or 0) for read, written in counts))


@metric("step_count", reads=STEPS, higher_is_better=False, is_share=False, allowed=_OF_KIND)
def step_count(steps: Sequence[Step], *, kind: str = "retrieval") -> float:
    """The number of steps of a kind in a trace: retrieval (hops), rerank, tool, model or embedding.

    Formula: the number of spans of the kind; of one within another of its kind, the outer one counts.

    Empty: a trace without such a step has 0.

    Source: the spans of a trace.
    """
    return float(sum(step.kind == kind for step in steps))
