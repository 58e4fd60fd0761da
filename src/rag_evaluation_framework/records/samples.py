"""Sample, Turn, Expectation and how one is written, Dataset, annotations, the seeds' ground truths."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, inf
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, Location, counted, invalid
from rag_evaluation_framework.records.citations import Citation, SpanCitation
from rag_evaluation_framework.records.documents import (
    ChunkId,
    Document,
    PositionAwareChunkId,
    QueryId,
    QueryText,
    require_unique,
)
from rag_evaluation_framework.records.steps import Trace
from rag_evaluation_framework.text.display import (
    display,
    element,
    labelled,
    people_text,
    short_repr,
    short_text,
)
from rag_evaluation_framework.text.normalisation import fold_text, folded

Role = Literal["user", "assistant", "system"]
Checks: TypeAlias = Sequence[Mapping[str, Any]] | Mapping[str, Any]

EXPECTED_TOOLS = "expected_tools"
"""Metadata key of a sample with the expected tool calls: names, or names with arguments."""

ROWS = "rows"
"""Name of the format of plain rows, and of rows in memory without another name."""

RECORDED_ROWS = "recorded rows"
"""Name of the target where the answers are in the data."""

MADE_ID, MADE_DIGITS = "sample-", 12
"""Prefix of generated ids, and the number of hexadecimal digits after it."""

_MADE = re.compile(r"sample-[0-9a-f]{12}(-[1-9][0-9]*)?\Z")


def is_made_id(sample_id: str) -> bool:
    """Return True if an id was generated, by this version or an earlier one, and is not the user's."""
    return _MADE.match(sample_id) is not None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation. The expected answer of an assistant's turn is its ``reference``.

    Args:
        role: ``user``, ``assistant`` or ``system``.
        content: Text of the turn.
        reference: Expected answer of an assistant's turn.
        needs: Items from earlier turns that the answer requires.
        expectation: A refusal, if the assistant should refuse.
        extra: Values without a field here, which are written back.

    Example:
        >>> from rag_evaluation_framework import Turn
        >>> Turn(role="assistant", reference="It is 4.").reference
        'It is 4.'
    """

    role: Role
    content: str | None = None
    reference: str | None = None
    needs: tuple[str, ...] = ()
    """Items from earlier turns that this answer requires, such as ``previous_turn_resolution``."""
    expectation: Refusal | None = None
    """Set where the assistant should decline instead of saying something."""
    extra: Mapping[str, Any] = {}
    """Values without a field here, and the ``checks`` of an assistant's turn."""

    __repr__ = short_repr

    @property
    def checks(self) -> Checks:
        """Return the checks that the answer of this turn must pass, as :attr:`Sample.checks`."""
        found: Checks = self.extra.get("checks") or ()
        return found if self.role == "assistant" else ()

    def __post_init__(self) -> None:
        _check_checks(self.checks)
        if self.role not in ("user", "assistant", "system"):
            raise invalid("role", "'user', 'assistant' or 'system'", self.role)
        if self.role == "user" and self.content is None:
            raise invalid("content", "the text of the user", self.content)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The expectation that the system refuses to answer.

    Args:
        reason: Reason for the refusal.
        pattern: Pattern of the expected answer.

    Example:
        >>> from rag_evaluation_framework import Refusal, Sample, Turn
        >>> turns = (Turn(role="user", content="What is my neighbor's salary?"),)
        >>> Sample(id="s1", turns=turns, expectation=Refusal(reason="private")).expectation.reason
        'private'
    """

    reason: str | None = None
    pattern: str | None = None


class Entities(msgspec.Struct, frozen=True, kw_only=True):
    """The names that the answer should have.

    Args:
        names: The names.

    Example:
        >>> from rag_evaluation_framework import Entities, Sample, Turn
        >>> turns = (Turn(role="user", content="Who founded Rome?"),)
        >>> Sample(id="s1", turns=turns, expectation=Entities(names=("Romulus",))).expectation.names
        ('Romulus',)
    """

    names: tuple[str, ...]

    __repr__ = short_repr


class Relation(msgspec.Struct, frozen=True, kw_only=True):
    """The relation of the subject to the object that the answer should state.

    Args:
        subject: Name of the first end.
        relation: Name of the relation.
        object: Name of the second end.

    Example:
        >>> from rag_evaluation_framework import Relation
        >>> Relation(subject="Romulus", relation="brother", object="Remus").relation
        'brother'
    """

    subject: str
    relation: str
    object: str


class Milestones(msgspec.Struct, frozen=True, kw_only=True):
    """The steps that the answer should state, in order.

    Args:
        steps: The steps.
        hops: Number of places in the documents that the answer combines.

    Example:
        >>> from rag_evaluation_framework import Milestones
        >>> len(Milestones(steps=("Open the case.", "Replace the battery.")).steps)
        2
    """

    steps: tuple[str, ...]
    hops: int | None = None

    __repr__ = short_repr


Expectation: TypeAlias = Refusal | Entities | Relation | Milestones


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of an answer, as far as the system reports it.

    Args:
        input_tokens: Number of tokens read.
        output_tokens: Number of tokens written.
        cost_usd: Cost in US dollars.

    Example:
        >>> from rag_evaluation_framework import Usage
        >>> Usage(input_tokens=1200, output_tokens=80).output_tokens
        80
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def plus(self, other: Usage | None) -> Usage:
        """Add what another cost; a part is unknown until one of them reports it."""
        if other is None:
            return self
        return Usage(
            input_tokens=known_sum(self.input_tokens, other.input_tokens),
            output_tokens=known_sum(self.output_tokens, other.output_tokens),
            cost_usd=known_sum(self.cost_usd, other.cost_usd),
        )


def known_sum(one: Any, other: Any, sign: int = 1) -> Any:
    """Add what is known, or take it away; ``None`` where neither is."""
    return one if other is None else (one or 0) + sign * other


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The response of a system when the dataset was made: its contexts and its answer.

    ``answer`` is ``None`` if the file has none; ``usage`` and ``latency_ms`` are its cost and time.
    ``retrieved_nothing`` is True if the file has an empty list of contexts, which is more than no list.
    """

    contexts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    retrieved: tuple[Mapping[str, Any], ...] = ()
    citations: tuple[Citation, ...] = ()
    prompt: str | None = None
    answer: str | None = None
    retrieved_nothing: bool = False
    usage: Usage | None = None
    latency_ms: float | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.retrieved_nothing and self.contexts:
            raise invalid("retrieved_nothing", "no contexts when it is true", len(self.contexts))
        if self.latency_ms is not None and not 0 <= self.latency_ms < inf:
            raise invalid("latency_ms", "a number of at least 0", self.latency_ms)
        if self.sources and len(self.sources) != len(self.contexts):
            raise invalid(
                "sources", f"one for each of the {counted(len(self.contexts), 'context')}", len(self.sources)
            )


class Origin(msgspec.Struct, frozen=True):
    """The origin of a sample: its dialect, file and line, from which it is named and saved again.

    ``number`` counts the samples of the file from 1, where several stand on one line.
    """

    dialect: str
    file: str | None = None
    line: int | None = None
    number: int | None = None


_SHOWN_TURNS = _SHOWN_CONTEXTS = 5


def _check_checks(checks: Checks) -> None:
    if checks:
        from rag_evaluation_framework.records.checks import read_checks  # few samples have any

        try:
            read_checks(checks)
        except InputError as error:
            raise error.located(within="checks") from None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its expected answer and passages, or a conversation.

    A field that the data do not have is empty, never made up.

    Args:
        id: Id of the sample, unique in its dataset.
        turns: Turns of the conversation, with at least one of the user.
        reference: Expected answer.
        references: Other answers that are as correct as ``reference``.
        recorded: Answer of a system that the data have.
        reference_contexts: Texts of the expected passages.
        relevant_documents: Grade of each expected document; 1 where the data have no grades.
        relevant_spans: Characters of the expected passages.
        relevant_chunk_ids: Ids of the expected chunks.
        expectation: Expected refusal, names, relation or steps.
        category: Category of the question.
        difficulty: Difficulty of the question.
        query_type: Type of the question.
        tags: Tags, by which samples can be selected.
        metadata: Any values.
        extra: Values without a field here, which are written back in the same format.
        origin: File and line of the sample.
        trace: Trace of the system's work on the answer.
        checks: Checks that the answer must pass.

    Raises:
        InputError: A field is wrong, or there is no turn of the user.

    Example:
        >>> from rag_evaluation_framework import Sample, Turn
        >>> Sample(id="s1", turns=(Turn(role="user", content="What is 2 + 2?"),), reference="4").question
        'What is 2 + 2?'
    """

    id: str
    turns: tuple[Turn, ...]
    reference: str | None = None
    references: tuple[str, ...] = ()
    """Other answers that are as right as ``reference``; metrics that compare take the best."""
    recorded: Recorded | None = None
    reference_contexts: tuple[str, ...] = ()
    relevant_documents: Mapping[str, int] = {}
    relevant_spans: tuple[SpanCitation, ...] = ()
    relevant_chunk_ids: tuple[str, ...] = ()
    expectation: Expectation | None = None
    category: str | None = None
    difficulty: str | None = None
    query_type: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}
    origin: Origin | None = None
    trace: Trace | None = None
    """Trace of the system's work on the answer, where one was recorded."""
    checks: Checks = ()
    """Checks that an answer must pass, as read by :mod:`.checks`; for a conversation, its last answer."""

    def __post_init__(self) -> None:
        _check_checks(self.checks)
        if not isinstance(self.id, str) or not self.id:
            raise invalid("id", "a sample id", self.id)
        if self.checks and any(turn.reference or turn.expectation or turn.checks for turn in self.turns):
            raise invalid(
                "checks", "checks in the turns, because the turns have expected answers", self.checks
            )
        if not any(turn.role == "user" for turn in self.turns):
            raise invalid("turns", "at least one turn of the user", [turn.role for turn in self.turns])
        if self.references and self.reference is None:
            raise invalid("reference", "one of the references", self.reference)

    @property
    def question(self) -> str:
        """Return the user's last message: the whole question, or the end of a conversation."""
        return next(turn.content or "" for turn in reversed(self.turns) if turn.role == "user")

    @property
    def name(self) -> str:
        """Return the name in messages: the line of its file, counted from 1, or its id; a row's own id.

        Samples that share a line are called by their ids too, else by their numbers: ``sample 3``.
        """
        origin = self.origin
        if origin is None or origin.line is None:
            return self.id
        has_own_id = not is_made_id(self.id)
        if has_own_id and (origin.dialect == ROWS or origin.number is not None):
            return self.id
        if origin.number is not None:
            return f"sample {origin.number}"
        return f"row {origin.line}" if origin.file is None else f"line {origin.line}"

    def __repr__(self) -> str:
        told = "; ".join(
            f"{label} {short_text(', '.join(texts), 60)}" for label, texts in self._truth() if any(texts)
        )
        first = f"Sample {short_text(self.name, 40)}: {short_text(self.question)}"
        return f"{first}\n  {told}" if told else first

    def _repr_html_(self) -> str:
        asked = [
            labelled(turn.role if len(self.turns) > 1 else "question", people_text(turn.content))
            for turn in self.turns[-_SHOWN_TURNS:]
            if turn.content
        ]
        known = [(label, ", ".join(texts)) for label, texts in self._truth() if any(texts)]
        truth = [labelled(label, people_text(text) if label == "expected" else text) for label, text in known]
        recorded = self.recorded or Recorded()
        got = [] if recorded.answer is None else [labelled("answered", people_text(recorded.answer))]
        contexts = [
            element("li", people_text(text, 300))
            for text in (recorded.contexts or self.reference_contexts)[:_SHOWN_CONTEXTS]
        ]
        read = [labelled("contexts", element("ol", *contexts))] if contexts else []
        steps = [] if self.trace is None else self.trace.html()
        head = element("p", f"Sample {short_text(self.name)}", class_="word")
        return display(head, element("dl", *asked, *truth, *got, *read, *steps))

    def _truth(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield what is known about the sample by its name: what is expected, which documents are needed."""
        declines = isinstance(self.expectation, Refusal)
        yield "expected", ("(a refusal)",) if declines else tuple(filter(None, [self.reference]))
        spans = (span.file for span in self.relevant_spans)
        yield "needs", list(dict.fromkeys([*self.relevant_documents, *spans]))[:_SHOWN_CONTEXTS]
        yield "tags", self.tags


def question_key(sample: Sample) -> str:
    """Return 32 digits of what is asked: the user's turns and the system's, in any case and spacing.

    Nothing of the answer, the contexts, the reference or the id is in it.
    """
    return key_of_texts(
        f"{turn.role} {turn.content or ''}" for turn in sample.turns if turn.role != "assistant"
    )


def asked_until(sample: Sample, number: int | None = None) -> tuple[str, ...]:
    """Return what the user asks, up to one of the turns, counted from 1."""
    return tuple(turn.content or "" for turn in sample.turns if turn.role == "user")[:number]


def question_numbers(sample: Sample) -> set[int]:
    """Return a number for each question of the user, the same in any case, spacing and punctuation."""
    return set(map(question_number, asked_until(sample)))


def question_number(question: str) -> int:
    """Return eight bytes of a question, as a number."""
    text = fold_text(question).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


def key_of_texts(texts: Iterable[str]) -> str:
    """Return 32 digits that texts share which differ in case, width and spacing alone."""
    return hashlib.sha256("\0".join(map(folded, texts)).encode(errors="surrogatepass")).hexdigest()[:32]


REFERENCE_HASH = "ground_truth_hash"
"""Key in results, and in ``extra`` of samples read from them, of the references' hashes."""


def reference_hash(sample: Sample) -> str:
    """Return 16 digits of each expected answer, in any case and spacing, parted by commas.

    The first is that of ``reference``, and empty without one; those of a conversation's turns come last.
    """
    if (known := sample.extra.get(REFERENCE_HASH)) is not None:
        return str(known)
    turns = (turn.reference for turn in sample.turns if turn.role == "assistant")
    return hash_of_references((sample.reference, *sample.references, *turns, *written_checks(sample)))


def written_checks(sample: Sample) -> list[str]:
    """Return the checks of a sample and of each turn as text; nothing of a sample without any."""
    checks = (sample.checks, *(turn.checks for turn in sample.turns))
    return [json.dumps(each, sort_keys=True) for each in checks if each]


def hash_of_references(texts: Iterable[str | None]) -> str:
    """Return 16 digits of each text, parted by commas; none of an empty one."""
    return ",".join(key_of_texts([text])[:16] if text else "" for text in texts)


# Samples that belong together, with what is known about them as a whole.


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset as read from one file or folder. Sample ids are unique; order is kept.

    Args:
        samples: The samples.
        dialect: Name of the format.
        dataset_id: Id of the dataset.
        name: Name of the dataset.
        version: Version of the dataset.
        description: Description of the dataset.
        created_at: Time at which it was made.
        documents: Documents in the file.
        metadata: Any values.
        extra: Values without a field here, which are written back in the same format.

    Raises:
        InputError: Two samples have the same id.

    Example:
        >>> from rag_evaluation_framework import Dataset, Sample, Turn
        >>> sample = Sample(id="s1", turns=(Turn(role="user", content="What is 2 + 2?"),), reference="4")
        >>> len(Dataset(samples=(sample,), dialect="agent-samples"))
        1
    """

    samples: tuple[Sample, ...]
    dialect: str
    dataset_id: str | None = None
    name: str | None = None
    version: str | None = None
    description: str | None = None
    created_at: str | None = None
    documents: tuple[Document, ...] = ()
    metadata: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        require_unique((sample.id for sample in self.samples), what="sample id", path="samples")

    def __len__(self) -> int:
        return len(self.samples)

    def __repr__(self) -> str:
        name = self.name or self.dataset_id
        called = "" if name is None else f" {short_text(name)}"
        with_them = f", {counted(len(self.documents), 'document')}" if self.documents else ""
        first = f"\n  samples[0]: {short_text(self.samples[0].question)}" if self.samples else ""
        return f"Dataset{called}: {counted(len(self), 'sample')}{with_them} ({self.dialect}){first}"


Layout = Literal["object", "array", "lines", "table", "folder"]
"""Layout of the records in a file: one object, an array, a record per line, a table, several files."""


class Preview(msgspec.Struct, frozen=True):
    """The beginning of a file, as far as needed to tell its dialect.

    ``record`` is the object itself, the first record of an array or of lines, a table's columns (with
    ``None`` for values), or the names in a folder.
    """

    path: Path
    layout: Layout
    record: Mapping[str, Any]


# Queries with what a retriever should find for them, and the shapes these take in LangSmith.


@dataclass(frozen=True, slots=True)
class Query:
    """A question for the retriever.

    Args:
        id: Id of the question.
        text: The question.
        metadata: Any values.

    Example:
        >>> from rag_evaluation_framework import Query
        >>> Query("q1", "Who founded Rome?").text
        'Who founded Rome?'
    """

    id: QueryId
    text: QueryText
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise invalid("id", "a query id", self.id)
        if not isinstance(self.text, str):
            raise invalid("text", "text", self.text)


class ChunkLevelGroundTruth(msgspec.Struct, frozen=True):
    """The chunks that are relevant to a query.

    Args:
        query: The question.
        relevant_chunk_ids: Ids of the relevant chunks.

    Example:
        >>> from rag_evaluation_framework import ChunkLevelGroundTruth, Query
        >>> ChunkLevelGroundTruth(Query("q1", "Who founded Rome?"), ["c1"]).relevant_chunk_ids
        ['c1']
    """

    query: Query
    relevant_chunk_ids: Sequence[ChunkId]

    __repr__ = short_repr


class TokenLevelGroundTruth(msgspec.Struct, frozen=True):
    """The position-aware chunks whose characters are relevant to a query.

    Args:
        query: The question.
        relevant_chunk_ids: Ids of the chunks, which a registry resolves to characters.
    """

    query: Query
    relevant_chunk_ids: Sequence[PositionAwareChunkId]

    __repr__ = short_repr


class ChunkLevelDatasetExample(TypedDict):
    """A chunk-level example as LangSmith stores it: ``{"inputs": {"query": …}, "outputs": {…}}``."""

    inputs: dict[str, QueryText]
    outputs: dict[str, list[ChunkId]]


class ChunkLevelRunOutput(TypedDict):
    """The result of a retriever for one query at chunk level."""

    retrieved_chunk_ids: list[ChunkId]


class TokenLevelDatasetExample(TypedDict):
    """A token-level example as LangSmith stores it; the ids resolve to characters in a registry."""

    inputs: dict[str, QueryText]
    outputs: dict[str, list[PositionAwareChunkId]]


class TokenLevelRunOutput(TypedDict):
    """The result of a retriever for one query at token level."""

    retrieved_chunk_ids: list[PositionAwareChunkId]


# What annotators say about a query: the spans that hold its answer, and how good an answer is.

QUALITY_SCORES = ("completeness", "accuracy", "relevance", "clarity", "conciseness")
"""The five scores whose mean is the overall score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationAnnotation:
    """The spans that one annotator marked as sources for one query; none means that nothing answers it.

    What a file does not say is ``None``. ``extra`` keeps the fields that have no place here, so that writing
    back loses nothing; ``place`` is where a file has the annotation.
    """

    annotation_id: str
    query_id: str
    annotator_id: str | None = None
    timestamp: str | None = None
    citations: tuple[SpanCitation, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    place: Location = field(default=Location(), compare=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        _check_ids(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerQualityAnnotation:
    """One annotator's scores (0 to 1) and ratings (words) of one answer, perhaps with citations."""

    annotation_id: str
    query_id: str
    annotator_id: str | None = None
    timestamp: str | None = None
    answer_text: str | None = None
    quality_scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    overall_score: float | None = None
    aspect_ratings: Mapping[str, str] = field(default_factory=dict, hash=False)
    citations: tuple[SpanCitation, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    place: Location = field(default=Location(), compare=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        _check_ids(self)
        for name, score in self.quality_scores.items():
            if not 0 <= score <= 1:
                raise invalid(f"quality_scores.{name}", "a number from 0 to 1", score)

    @property
    def mean_score(self) -> float | None:
        """The mean of the five quality scores; ``None`` unless all five are there."""
        scores = [self.quality_scores[name] for name in QUALITY_SCORES if name in self.quality_scores]
        return fsum(scores) / len(scores) if len(scores) == len(QUALITY_SCORES) else None


Annotation: TypeAlias = CitationAnnotation | AnswerQualityAnnotation


class AnnotationSet(msgspec.Struct, frozen=True):
    """The annotations of one dataset, in the order of the file; annotation ids are unique."""

    annotations: tuple[Annotation, ...]
    dataset_id: str | None = None
    extra: Mapping[str, Any] = {}

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.annotations)


class AnnotatedTruth(msgspec.Struct, frozen=True):
    """The spans that people say answer each query; none of a query of which they say that nothing does.

    ``files`` are those in which they say it.
    """

    spans: Mapping[str, tuple[SpanCitation, ...]] = {}
    files: tuple[Path, ...] = ()

    __repr__ = short_repr

    def __bool__(self) -> bool:
        return bool(self.spans)

    def applied(self, sample: Sample) -> Sample:
        """Return a sample with the spans that people marked in place of its own, if they marked any."""
        spans = self.spans.get(sample.id)
        return sample if spans is None else replace(sample, relevant_spans=spans)


NOTHING_ANNOTATED = AnnotatedTruth()


def _check_ids(annotation: Annotation) -> None:
    for name in ("annotation_id", "query_id"):
        value = getattr(annotation, name)
        if not isinstance(value, str) or not value:
            raise invalid(name, "an id", value)


# How a dataset says that a question should be declined: one rule for all dialects.
#
# The expected answer is the word ``Refusal``, in any case and width, or the metadata have
# ``{"expectation": "refusal"}``. A dialect writes the word where it needs an expected answer or has no
# metadata, and the mark elsewhere; a text that stands beside the mark is kept, and nothing is compared
# with it.
#
# In the golden set of questions to decline, the same in other words will do, or a reason to decline
# beside whatever the ground truth says. Elsewhere 拒绝 may be an answer like any other.

REFUSAL = "Refusal"
"""The expected answer, as a word, to a question that the system should refuse."""

_MARK, _LONGER_THAN_WORDS = {"expectation": "refusal"}, 64
_IN_OTHER_WORDS = frozenset({"refusal", "refuse", "refused", "拒绝", "拒絕", "拒答"})


class Expected(NamedTuple):
    """The expected text or refusal of a record, or both; ``metadata`` are without the mark."""

    reference: str | None
    refusal: Refusal | None
    metadata: Mapping[str, Any]


def read_expected(reference: str | None, metadata: Mapping[str, Any] | None = None) -> Expected:
    """Tell an expected answer from an expected refusal.

    >>> read_expected("REFUSAL", {"topic": "x"})
    Expected(reference=None, refusal=Refusal(reason=None, pattern=None), metadata={'topic': 'x'})
    >>> read_expected("I cannot tell.", {"expectation": "refusal"})
    Expected(reference='I cannot tell.', refusal=Refusal(reason=None, pattern=None), metadata={})
    """
    metadata = metadata or {}
    is_word, is_marked = is_refusal(reference), _MARK.items() <= metadata.items()
    if is_marked:
        metadata = {name: value for name, value in metadata.items() if name not in _MARK}
    return Expected(None if is_word else reference, Refusal() if is_word or is_marked else None, metadata)


def written_reference(sample: Sample) -> str | None:
    """Return the expected answer as a dialect writes it that has no other way to expect a refusal."""
    is_declined = sample.reference is None and isinstance(sample.expectation, Refusal)
    return REFUSAL if is_declined else sample.reference


def refusal_or_answer(sample: Sample, field: str) -> str | None:
    """Return the expected answer as a dialect writes it that cannot hold a refusal and an answer."""
    if sample.reference is not None and isinstance(sample.expectation, Refusal):
        raise invalid(field, "a refusal or an answer", "both", code="not-held")
    return written_reference(sample)


def marked_metadata(sample: Sample, *, is_told: bool = False) -> dict[str, Any]:
    """Return the metadata of a sample, with the mark if it expects a refusal that is not marked elsewhere."""
    is_marked = isinstance(sample.expectation, Refusal) and not is_told
    return {**sample.metadata, **(_MARK if is_marked else {})}


def is_refusal(truth: Any) -> bool:
    """Return True if an expected answer is the word ``Refusal``."""
    # To fold every answer whole takes longer than to make its sample.
    return isinstance(truth, str) and len(truth.strip()) < _LONGER_THAN_WORDS and _folded(truth) == "refusal"


def declines(record: Mapping[str, Any]) -> bool:
    """Return True if a record is marked as a question to refuse.

    >>> declines({"ground_truth": "拒答"}), declines({"ground_truth": "No.", "refusal_reason": "unsafe"})
    (True, True)
    """
    return _folded(record.get("ground_truth")) in _IN_OTHER_WORDS or bool(
        _folded(record.get("refusal_reason"))
    )


def _folded(text: Any) -> str:
    return folded(text) if isinstance(text, str) else ""
