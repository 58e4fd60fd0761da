"""Traces of systems that answer: spans → samples with their steps, in one pass and bounded memory.

A trace is finished when all the files are read, or when its root has come and, since then, so many other
spans that no more room is left; it becomes a sample with what was asked, answered and retrieved, and with its
steps. The traces of a conversation are its turns: each is a sample that knows those before it. Problems
are reported with file, line and span, and a trace that was not understood as a whole is left out.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, cast

import msgspec

from rag_evaluation_framework.datasets.otlp import OnIssue, Span, Unreadable, read_spans
from rag_evaluation_framework.datasets.span_contents import Content, Retrieved, content_of
from rag_evaluation_framework.datasets.trace_joins import Conversations, Expectations, conditions_met
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, UsageError, counted
from rag_evaluation_framework.records.samples import Dataset, Origin, Recorded, Sample, Turn
from rag_evaluation_framework.records.steps import Found, Step, StepKind, Trace, TraceChoice

DIALECT = "traces"

MOST_OPEN_CHARACTERS = 32 << 20
"""So much of traces that are not finished is held in memory."""
MOST_OPEN_TRACES = 20_000
_REMEMBERED = 500_000
"""Number of finished traces that are remembered, to detect spans that come too late."""
_TOLERANCE = 1_000_000
"""Clocks that differ by a millisecond, in nanoseconds, are the same."""
_SHOWN_DOUBTS = 10


class _Node(msgspec.Struct):
    """A span with what it says, and its place in the tree of its trace."""

    span: Span
    content: Content
    service: str
    holds: int
    """Bits of the conditions that it meets."""
    children: list[_Node] = []
    start: int = 0
    """Start by the clock of its trace."""


class _Open(msgspec.Struct):
    """The spans of a trace so far; ``damaged`` where a piece of it could not be understood."""

    nodes: dict[str, _Node] = {}
    size: int = 0
    has_root: bool = False
    damaged: bool = False


class ReadTraces:
    """The traces of a file or a folder; ``stream`` reads them, and afterwards the rest says what there was.

    >>> traces = ReadTraces("traces/", TraceChoice(services=("assistant",)))  # doctest: +SKIP
    >>> samples = list(traces.stream())  # doctest: +SKIP
    >>> traces.doubts  # doctest: +SKIP
    """

    def __init__(
        self, path: str | Path, choice: TraceChoice | None = None, *, on_issue: OnIssue | None = None
    ) -> None:
        self.path = Path(path)
        self.choice = choice or TraceChoice()
        self._conditions = self.choice.conditions
        self.problems = FileProblems(str(path))
        self.counts: Counter[str] = Counter()
        self._on_issue = on_issue or self.problems.add

    def stream(self) -> Iterator[Sample]:
        """Read the traces that are chosen; may be called once."""
        expected = None if self.choice.expected is None else Expectations.read(self.choice.expected)
        conversations = Conversations()
        for trace in self._assembled():
            self.counts["traces"] += 1
            for sample in self._samples(trace):
                sample = conversations.joined(sample)
                self.counts["samples"] += 1
                if expected is not None:
                    sample, is_known = expected.of(sample)
                    self.counts["expected"] += is_known
                yield sample

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return the warnings about the traces that were read, as lines."""
        return tuple(self._doubts())

    def _doubts(self) -> Iterator[str]:
        issues = self.problems.issues
        if left := self.counts["left out"]:
            yield f"Skipped {counted(left, 'incomplete or invalid trace')}"
        yield from map(str, issues[:_SHOWN_DOUBTS])
        if len(issues) > _SHOWN_DOUBTS:
            more = counted(self.counts["issues"] - _SHOWN_DOUBTS, "more problem")
            yield f"{more}: rag-eval validate {self.path}"
        if other := self.counts["other"]:
            what = "without a model call, a retrieval or a tool call"
            yield f"Skipped {counted(other, 'trace')} {what}"
        if self.choice.expected is not None:
            known, total = self.counts["expected"], self.counts["samples"]
            yield f"{known:,} of {counted(total, 'trace')} match a question in {self.choice.expected}"

    def _tell(self, issue: Issue) -> None:
        self.counts["issues"] += 1
        self._on_issue(issue)

    # From spans to whole traces.

    def _assembled(self) -> Iterator[list[_Node]]:
        """Yield the spans of one trace after the other."""
        open_: OrderedDict[str, _Open] = OrderedDict()
        finished: OrderedDict[str, None] = OrderedDict()
        size = 0
        for span in read_spans(self.path, self._tell):
            if span.trace_id in finished:
                if isinstance(span, Span):
                    self._tell(span.issue("late-span", "the spans of a trace close together", "a late span"))
                continue
            trace = open_.setdefault(span.trace_id, _Open())
            open_.move_to_end(span.trace_id)
            size += self._added(trace, span)
            while size > MOST_OPEN_CHARACTERS or len(open_) > MOST_OPEN_TRACES:
                for identifier in _to_finish(open_):
                    trace = open_.pop(identifier)
                    size -= trace.size
                    finished[identifier] = None
                    if len(finished) > _REMEMBERED:
                        finished.popitem(last=False)
                    yield from self._finished(trace, is_early=True)
        whole = sorted(open_.values(), key=_beginning)
        for trace in whole:
            yield from self._finished(trace)

    def _added(self, trace: _Open, span: Span | Unreadable) -> int:
        """Take a span into its trace; return how much larger that is."""
        if isinstance(span, Unreadable):
            trace.damaged = True
            return 0
        known = trace.nodes.get(span.span_id)
        if known is not None:
            # A batch that was sent twice is all the same in both; any other is something else.
            if _is_same(known, span):
                self.counts["twice"] += 1
                return 0
            self._tell(span.issue("duplicate-span", "unique span ids in a trace", "a different span"))
            trace.damaged = True
            return 0
        content = content_of(span)
        trace.nodes[span.span_id] = _Node(
            span, content, _service(span), conditions_met(self._conditions, span)
        )
        trace.has_root = trace.has_root or span.parent_id is None
        # What is used of the attributes is in the content now.
        span.attributes, span.events = {}, []
        grown = content.size + 300
        trace.size += grown
        return grown

    def _finished(self, trace: _Open, *, is_early: bool = False) -> Iterator[list[_Node]]:
        """Yield the spans of a trace, unless it is not chosen or not whole."""
        nodes = list(trace.nodes.values())
        if not nodes or not any(node.content.is_telling for node in nodes):
            self.counts["left out" if trace.damaged else "other"] += 1
            return
        if not self._is_chosen(nodes):
            self.counts["not chosen"] += 1
            return
        if not trace.damaged and is_early and not trace.has_root and len(_tops(nodes)) > 1:
            some = nodes[0].span
            room = f"{MOST_OPEN_CHARACTERS >> 20} MB of traces"
            self._tell(some.issue("no-root", f"the root of the trace within {room}", "no root"))
            trace.damaged = True
        if trace.damaged or not self._is_tree(nodes):
            self.counts["left out"] += 1
            return
        yield nodes

    def _is_chosen(self, nodes: Sequence[_Node]) -> bool:
        choice = self.choice
        if choice.services and not any(node.service in choice.services for node in nodes):
            return False
        held = 0
        for node in nodes:
            held |= node.holds
        if held != (1 << len(choice.where)) - 1:
            return False
        if not choice.is_by_time:
            return True
        began = [node.span.start for node in nodes if node.span.start is not None]
        if not began:
            self._tell(nodes[0].span.issue("no-time", "a start time to select the trace by", "no time"))
            return False
        return choice.nanoseconds("since") <= min(began) < choice.nanoseconds("until")

    # From spans to trees.

    def _is_tree(self, nodes: Sequence[_Node]) -> bool:
        """Tie the spans to their parents; tell where one is missing or leads in circles, and return false."""
        by_id = {node.span.span_id: node for node in nodes}
        tops = _tops(nodes)
        is_whole = True
        for node in tops:
            span = node.span
            # One span that hangs on nothing was called from elsewhere; of several, or where it is known
            # that the parent was in this process, something was lost.
            if span.parent_id is not None and (
                span.is_remote is False or (span.is_remote is None and len(tops) > 1)
            ):
                found = f"span {span.parent_id}, which is missing"
                self._tell(span.issue("missing-parent", "the parent span in the files", found))
                is_whole = False
        for node in nodes:
            if (parent := by_id.get(node.span.parent_id or "")) is not None:
                parent.children.append(node)
        reached = set[str]()
        for top in tops:
            for node in _walked(top):
                reached.add(node.span.span_id)
        if circling := [node for node in nodes if node.span.span_id not in reached]:
            span = circling[0].span
            found = counted(len(circling), "span in a cycle", "spans in a cycle")
            self._tell(span.issue("cycle", "parents that lead to a root", found))
            is_whole = False
        return is_whole

    # From trees to samples.

    def _samples(self, nodes: Sequence[_Node]) -> Iterator[Sample]:
        tops = _tops(nodes)
        for top in tops:
            tree = list(_walked(top))
            if not any(node.content.is_telling for node in tree):
                continue
            self._set_clocks(top)
            sample = self._sample(top, tree, is_only=len(tops) == 1)
            if sample is not None:
                yield sample

    def _sample(self, top: _Node, tree: Sequence[_Node], *, is_only: bool) -> Sample | None:
        """Return a tree as a sample; report it and return ``None`` if its question is unknown."""
        nodes = _of_steps(top)
        question, answer = _exchange(tree, nodes)
        span = top.span
        if question is None:
            if nodes:
                expected = "the question, as input.value, gen_ai.input.messages or a query"
                self._tell(span.issue("no-question", expected, "no such attribute in the trace"))
                self.counts["left out"] += 1
            else:
                self.counts["other"] += 1
            return None
        given = _Given.of(nodes)
        if given.unknown is not None:
            expected = "the retrieved documents"
            self._tell(given.unknown.issue("no-documents", expected, "no documents", severity="warning"))
        trace = Trace(
            steps=tuple(given.step(node, top.start) for node in nodes),
            took_ms=_took(span),
            error=span.error if answer is None else None,
            service=top.service,
            started_at=_moment(span.start),
            conversation=next(filter(None, (each.content.conversation for each in tree)), None),
            id=span.trace_id,
            span=span.span_id,
        )
        known = next((each.content.sample_id for each in tree if each.content.sample_id), None)
        return Sample(
            id=span.trace_id if is_only else f"{span.trace_id}-{span.span_id}",
            turns=(Turn(role="user", content=question),),
            recorded=Recorded(
                contexts=tuple(given.contexts),
                retrieved=given.retrieved,
                answer=answer,
                retrieved_nothing=given.is_nothing,
            ),
            tags=(top.service,) if top.service else (),
            metadata={} if known is None else {"sample_id": known},
            origin=Origin(DIALECT, span.file),  # a line may hold many traces
            trace=trace,
        )

    def _set_clocks(self, top: _Node) -> None:
        """Set the start of each span by one clock: none begins before its parent."""
        top.start = top.span.start or 0
        for node in _walked(top):
            span = node.span
            if span.start is not None and span.end is not None and span.end < span.start:
                found = f"an end {(span.start - span.end) / 1e6:,.0f} ms before the start"
                self._tell(span.issue("other-clock", "an end after the start", found, severity="warning"))
            for child in node.children:
                child.start = node.start if child.span.start is None else child.span.start
                early = node.start - child.start
                late = child.start - (span.end or child.start) if child.service != node.service else 0
                if early > _TOLERANCE or late > 1000 * _TOLERANCE:
                    off = f"{max(early, late) / 1e6:,.0f} ms {'before' if early > 0 else 'after'} the parent"
                    self._tell(
                        child.span.issue(
                            "other-clock",
                            "a start within the time of the parent span",
                            off,
                            severity="warning",
                        )
                    )
                if early > 0 or late > 1000 * _TOLERANCE:
                    child.start = node.start


def _to_finish(open_: OrderedDict[str, _Open]) -> list[str]:
    """Return the traces to be finished to make room: those that nothing came of for longest, half of all.

    Those whose root has come go first.
    """
    half = max(1, len(open_) // 2)
    oldest = [identifier for _, identifier in zip(range(half), open_, strict=False)]
    rooted = [identifier for identifier in oldest if open_[identifier].has_root]
    return rooted or oldest


def _beginning(trace: _Open) -> int:
    return min((node.span.start for node in trace.nodes.values() if node.span.start), default=0)


def _is_same(known: _Node, span: Span) -> bool:
    """Return True if a span says the same as one that is known."""
    one, other = known.span, span
    alike = (one.name, one.parent_id, one.start, one.end, one.error)
    return alike == (other.name, other.parent_id, other.start, other.end, other.error) and (
        known.content == content_of(span)
    )


def _service(span: Span) -> str:
    value = span.resource.get("service.name", "")
    return value if isinstance(value, str) else ""


def _tops(nodes: Sequence[_Node]) -> list[_Node]:
    """Return the spans whose parent is not among them."""
    known = {node.span.span_id for node in nodes}
    return [node for node in nodes if node.span.parent_id not in known]


def _walked(top: _Node) -> Iterator[_Node]:
    """Yield a span and all below it, level by level."""
    level = [top]
    while level:
        yield from level
        level = [child for node in level for child in node.children]


def _of_steps(top: _Node) -> list[_Node]:
    """Return the spans that are steps, in the order of time; of one within another of its kind, the outer."""
    found: list[_Node] = []
    waiting: list[tuple[_Node, frozenset[str]]] = [(top, frozenset())]
    while waiting:
        node, above = waiting.pop()
        kind = node.content.kind
        if kind is not None and kind not in above:
            found.append(node)
            above = above | {kind}
        waiting += [(child, above) for child in node.children]
    return sorted(found, key=lambda node: (node.start, node.span.span_id))


def _exchange(tree: Iterable[_Node], steps: Sequence[_Node]) -> tuple[str | None, str | None]:
    """Return what was asked and answered: as the outermost spans say, else the models, else the query."""
    outer = [node.content for node in tree if node.content.kind is None]
    both = next((each for each in outer if each.question and each.answer), None)
    if both is not None:
        return both.question, both.answer
    models = [node.content for node in steps if node.content.kind == "model"]
    queries = (node.content.query for node in steps if node.content.kind == "retrieval")
    asked = (each.question for each in (*outer, *models))
    answered = (each.answer for each in (*outer, *reversed(models)))
    question = next(filter(None, asked), None) or next(filter(None, queries), None)
    return question, next(filter(None, answered), None)


def _moment(start: int | None) -> str | None:
    return None if start is None else datetime.fromtimestamp(start / 1e9, UTC).isoformat("T", "milliseconds")


def _took(span: Span) -> float | None:
    if span.start is None or span.end is None or span.end < span.start:
        return None
    return (span.end - span.start) / 1e6


class _Given(msgspec.Struct):
    """The input of a system's answer: the documents left by reranking, or the results of tools."""

    documents: list[Retrieved] = []
    contexts: list[str] = []
    places: dict[str, int] = {}
    unknown: Span | None = None
    has_retrieved: bool = False

    @classmethod
    def of(cls, steps: Sequence[_Node]) -> _Given:
        given, waiting = cls(), list[Retrieved]()
        lost: Span | None = None
        for node in steps:
            content = node.content
            found = [] if content.documents is None and node.span.error else content.documents
            if content.kind == "retrieval":
                given.has_retrieved = True
                lost = lost or (node.span if found is None else None)
                waiting += found or ()
            elif content.kind == "rerank" and found is not None:
                texts = {name: each.text for each in waiting for name in each.names}
                given.documents += [
                    each if each.text else each._replace(text=next(map(texts.get, each.names), None))
                    for each in found
                ]
                waiting, lost = [], None
                given.has_retrieved = True
        given.documents += waiting
        given.unknown = lost
        if lost is not None:
            given.documents = []
        given._take(each.text for each in given.documents)
        if not given.has_retrieved:
            given._take(node.content.result for node in steps if node.content.kind == "tool")
        return given

    def _take(self, texts: Iterable[str | None]) -> None:
        for text in texts:
            if text and text.strip() and text not in self.places:
                self.places[text] = len(self.contexts)
                self.contexts.append(text)

    @property
    def is_nothing(self) -> bool:
        return self.has_retrieved and self.unknown is None and not self.documents

    @property
    def retrieved(self) -> tuple[Mapping[str, Any], ...]:
        """The documents in their order, each once; nothing where one of them has no name."""
        if not all(each.names for each in self.documents):
            return ()
        unique: dict[object, Retrieved] = {}
        for each in self.documents:
            unique.setdefault((each.names, each.text), each)
        return tuple(map(_hit, unique.values()))

    def step(self, node: _Node, began: int) -> Step:
        """Return a span as a step."""
        content, span = node.content, node.span
        documents = [] if content.documents is None and span.error else content.documents
        found = None
        if content.kind in ("retrieval", "rerank") and documents is not None:
            found = tuple(
                Found(names=each.names, score=each.score, context=self.places.get(each.text or ""))
                for each in documents
            )
        return Step(
            kind=cast("StepKind", content.kind),  # only such spans are steps
            name=content.name,
            query=content.query,
            arguments=content.arguments,
            found=found,
            started_ms=(node.start - began) / 1e6 if span.start is not None and began else None,
            took_ms=_took(span),
            input_tokens=content.input_tokens,
            output_tokens=content.output_tokens,
            cost_usd=content.cost_usd,
            error=span.error,
            span=span.span_id,
        )


def _hit(document: Retrieved) -> dict[str, Any]:
    hit: dict[str, Any] = {"id": document.names[0], "names": list(document.names)}
    if document.score is not None:
        hit["score"] = document.score
    if document.start is not None and document.text:
        hit |= {"file": document.names[0], "start": document.start}
        hit["end"] = document.start + len(document.text)
    return hit


# Traces as a dialect: read, recognised and validated like the others, and never written.


class TraceDialect:
    """The dialect of traces; fulfils ``extensions.Dialect``."""

    name = DIALECT
    suffixes = ("traces.jsonl", "traces.json", ".otlp.jsonl", ".otlp.json")
    holds: frozenset[str] = frozenset()

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=self.name)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield what was understood; what is wrong with the rest is raised together at the end."""
        traces = ReadTraces(path)
        yield from traces.stream()
        errors = [issue for issue in traces.problems.issues if issue.severity == "error"]
        if errors:
            raise InputError(errors)

    def chosen(self, path: Path, choice: TraceChoice | None) -> ReadTraces:
        """Return the traces of a choice, to be read so that what is wrong with some does not end it."""
        return ReadTraces(path, choice)

    def issues(self, path: Path) -> Iterator[Issue]:
        """Yield every issue of a file or a folder."""
        found: list[Issue] = []
        count = 0
        for _ in ReadTraces(path, on_issue=found.append).stream():
            count += 1
            yield from found
            found.clear()
        yield from found
        if not count and not found:
            yield Issue("empty-file", "at least one trace of an answer", "no such trace", file=str(path))

    def write(self, dataset: Dataset, path: Path) -> NoReturn:
        raise UsageError(f"{path}: cannot write traces. Set the output format with --to")


TRACES = TraceDialect()
