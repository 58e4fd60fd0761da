"""The input of metrics: each view gives fields of a sample, its answer and its verdicts, by name.

A metric names the view it reads, and its parameters are fields of it. A view is declared here, as plain data;
how its fields are found is its reader's business, which stands in ``evaluation`` under the same name
(:data:`~rag_evaluation_framework.evaluation.scoring.READERS`). A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.records.scores import TIMING_METHOD

FAMILIES = (
    *("ranking", "chunks", "spans", "citations", "consistency", "texts", "answers", "refusals", "safety"),
    *("golden", "steps", "performance"),
)
"""Families of metrics, in the order in which they are listed."""

Method = Literal["lexical", "embedding", "lexicon", "judge"]
"""A way to come by what a field says, where there are several."""

NEEDS = (
    *("question", "answer", "contexts", "evidence", "reference", "reference_contexts", "citations"),
    *("retrieved", "chunks", "relevant_documents", "relevant_chunk_ids", "relevant_spans"),
    *("entities", "relation", "milestones", "hops", "turns", "latency", "usage", "sample", "response"),
    *("steps", "expected_tools"),
)
"""The parts of a sample and of a response without which there is nothing to score."""

LEXICAL_SUPPORT = "lexical support, screening"
"""The default method of what holds claims against texts, as it stands beside a figure."""
LEXICAL_MATCH = "lexical match, screening"
"""The default method of what holds an answer against its reference."""
CALIBRATED_MATCH = "lexical match, calibrated"
"""The default method of how alike an answer and its reference are."""
ANSWER_PATTERNS = "lexical, answer patterns"
"""The default method of the class of an answer."""
PROFANITY_SCREEN = "lexicon, profanity screen"
"""The default method of how clean an answer is."""

ENGLISH_AND_CHINESE = ("en", "zh")
"""The languages that methods by words were measured on."""

LOCATED = "golden_context"
"""Need of a metric of spans whose relevant characters are looked up in the sample, not marked."""
NO_TRUTH = "the dataset has no relevant {} for this sample"
"""Reason why the retrieved passages cannot be compared."""
NO_HITS = "the system does not report what it retrieved"
"""Reason why retrieval cannot be scored."""
NOTHING_RETRIEVED = "nothing was retrieved"
"""Reason why there is no share of the retrieved passages."""

NO_REPLY = "the answer says neither a plain yes nor a plain no"
"""Reason why words cannot compare an answer with a yes or no."""


class NoValueError(Exception):
    """Raised by a reader, or by a metric, where there is nothing to score: the reason is the score's.

    The score is then skipped, or has ``failed`` where something broke that should have worked.
    """

    def __init__(
        self, reason: str, *, failed: bool = False, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.failed, self.details = reason, failed, details or {}


class Field(msgspec.Struct, frozen=True):
    """Something that a view gives under a name."""

    name: str
    needs: tuple[str, ...] = ()
    doc: str = ""
    methods: tuple[Method, ...] = ()
    """The ways to come by it, where a metric's text may choose; the first is the one it is listed with."""
    method: str = "exact"
    """Printed name of the first way; empty if it adds nothing to the names of the others."""
    asks: tuple[str, ...] = ()
    """Questions to a judge, if not its prompt or name; a question that two fields share is asked once."""
    prompt: str = ""
    """The prompt of the one question that a judge is asked; without one, it decides what supports what."""
    by_support: bool = False
    """True if the lexical way decides support."""
    languages: tuple[str, ...] = ()
    """The languages that the first way was measured on; empty where it is the same in all of them."""
    counts_nothing: bool = False
    """True if a system that reports no retrieved passages has a value, such as a recall of 0."""
    counts_empty: bool = False
    """True if an empty answer is wrong by it."""
    family: str | None = None
    """Family of its metrics, if not that of the view."""


@dataclass(frozen=True, slots=True)
class View:
    """The fields that a group of metrics reads."""

    name: str
    fields: tuple[Field, ...]
    family: str
    by_turn: bool = False
    """True if each turn of a conversation is scored by itself; else the last one, or all of it."""
    readings: bool = False
    """True if a reference with several readings is scored in each, and the best counts."""
    block: bool = False
    """True if its metrics are given many queries at once, and return a value for each."""
    of_refusals: bool = False
    """True if samples that expect a refusal are scored too."""
    reader: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """Function that finds the fields, if not the one of the view's name: a plug-in may bring both."""


# Fields that are found in the same way, and count the same where there is nothing.
_lexical = partial(Field, method="lexical")
_expected = partial(_lexical, counts_empty=True)
_in_words = partial(Field, method="lexical", languages=ENGLISH_AND_CHINESE)
_told = partial(_in_words, counts_empty=True)
_counted = partial(_in_words, needs=("answer", "contexts"), methods=("lexical",), counts_nothing=True)
_of_turns = partial(_told, needs=("turns",), methods=("lexical", "judge"), asks=("reference_by_answer",))
_by_support = partial(
    Field,
    methods=("lexical", "judge"),
    method=LEXICAL_SUPPORT,
    by_support=True,
    languages=ENGLISH_AND_CHINESE,
)
_in_contexts = partial(_by_support, counts_nothing=True)
_by_either = partial(_by_support, needs=("answer", "reference"), method="")
_by_match = partial(_by_support, needs=("answer", "reference"), method=LEXICAL_MATCH)
_of_citations = partial(_by_support, needs=("answer", "citations"), asks=("citations",))
_consistency = partial(_by_support, asks=("consistency",))
_relevancy = partial(
    Field,
    needs=("question", "answer"),
    methods=("embedding", "judge"),
    method="embedding",
    prompt="relevancy",
    family="answers",
)
_of_a_judge = partial(Field, methods=("judge",), method="judge")
_graded = partial(_of_a_judge, needs=("question", "answer"), prompt="rubric")
_of_nuggets = partial(
    _of_a_judge,
    needs=("question", "answer"),
    prompt="nugget_assignment",
    asks=("nuggets", "nugget_importance", "nugget_assignment"),
    counts_empty=True,
)
_reported = partial(Field, needs=("usage",), method="reported usage")
_traced = partial(Field, method="trace")

TEXTS = View(
    "texts",
    (
        _lexical("question", ("question",), "the last question of the user"),
        _lexical("answer", ("answer",), "the answer of the system"),
        _expected("reference", ("reference",), "the expected answer; of several, one at a time"),
        _lexical("contexts", ("contexts",), "the retrieved passages"),
        _lexical("reference_contexts", ("reference_contexts",), "the expected passages"),
    ),
    "texts",
    by_turn=True,
    readings=True,
)

LIKENESS = View(
    "likeness",
    (
        Field(
            "to_reference",
            ("answer", "reference"),
            "similarity of the answer and the reference, from 0 to 1",
            methods=("lexical", "embedding"),
            method=CALIBRATED_MATCH,
            languages=ENGLISH_AND_CHINESE,
            counts_empty=True,
        ),
        _relevancy(
            "to_question", doc="relevance of the answer to the question, from 0 to 1", counts_empty=True
        ),
        _relevancy("answered", doc="true if the answer is an answer, not a refusal"),
    ),
    "texts",
    by_turn=True,
    readings=True,
)

CLAIMS = View(
    "claims",
    (
        _in_contexts(
            "by_contexts", ("answer", "contexts"), "per claim of the answer: true if the contexts support it"
        ),
        _by_either("by_reference", doc="per claim of the answer: true if the reference makes it"),
        _by_either("reference_by_answer", doc="per claim of the reference: true if the answer makes it"),
        _by_match(
            "agreed",
            doc="per claim of the answer: match with the reference, from 0 to 1",
            asks=("by_reference",),
        ),
        _by_match(
            "recalled",
            doc="per claim of the reference: match with the answer, from 0 to 1",
            asks=("reference_by_answer",),
            counts_empty=True,
        ),
        _by_match(
            "correctness",
            doc="correctness and completeness of the answer, from 0 to 1",
            asks=("by_reference", "reference_by_answer"),
            counts_empty=True,
        ),
        _in_contexts(
            "reference_by_contexts",
            ("contexts", "reference"),
            "per claim of the reference: true if the contexts support it",
        ),
        _by_support(
            "useful_contexts", ("contexts",), "per context: true if it supports a claim of the reference"
        ),
        _in_contexts(
            "truth_by_contexts",
            ("contexts", "reference_contexts"),
            "per claim of the reference contexts: true if the contexts support it",
        ),
        _by_support(
            "relevant_contexts",
            ("contexts",),
            "per context: true if it is useful; a judge decides if it helps to answer",
            prompt="context_relevance",
        ),
        _by_support(
            "by_useful_contexts",
            ("answer", "contexts"),
            "per claim of the answer: true if a useful context supports it",
            asks=("by_useful_contexts", "useful_contexts"),
        ),
        _counted("words", doc="number of content words and numbers in the answer"),
        _counted("new_words", doc="number of these that are neither in the contexts nor in the question"),
        Field("unclaimed", ("answer",), "the reason why the answer makes no claim, or None"),
        Field("reference_unclaimed", ("answer",), "the reason why the reference makes no claim, or None"),
        Field(
            "uncompared",
            ("answer",),
            "the reason why the answer and the reference cannot be compared, or None",
        ),
        Field("unsought", (), "the reason why no context could be useful, or None"),
    ),
    "answers",
    by_turn=True,
    readings=True,
)

CITATIONS = View(
    "citations",
    (
        _of_citations("supported", doc="per sentence: true if its citations support it"),
        _of_citations("relevant", doc="per citation: true if it helps to support its sentence"),
        _of_citations("cited", doc="per claim: true if it has a citation"),
        _of_citations("correct", doc="per citation: true if it supports its sentence"),
        Field("opened", ("answer", "citations"), "per citation: true if it can be opened"),
        _consistency(
            "consistent",
            ("answer", "evidence"),
            "per claim: true if the sources support it, cited or not",
            family="consistency",
        ),
        _consistency(
            "parts",
            ("answer", "citations", "relevant_spans"),
            "the parts of overall_citation_accuracy by name",
        ),
    ),
    "citations",
)

CITED_SPANS = View(
    "cited_spans",
    (
        Field("true", ("relevant_spans",), "the expected citations of the sample"),
        Field("predicted", ("citations",), "the citations of the answer"),
        Field("unreadable", (), "number of citations that cannot be read"),
    ),
    "citations",
)

RANKING = View(
    "ranking",
    (
        Field(
            "judged",
            ("retrieved", "relevant_documents"),
            "retrieved documents in rank order, with their grades",
        ),
    ),
    "ranking",
    block=True,
    of_refusals=True,
)

HITS = View(
    "hits",
    (
        Field("retrieved_ids", ("retrieved",), "ids of the retrieved chunks, best first", family="chunks"),
        Field("relevant_ids", ("relevant_chunk_ids",), "ids of the relevant chunks", family="chunks"),
        Field("retrieved_spans", ("retrieved",), "retrieved characters, best first"),
        Field("relevant_spans", ("relevant_spans",), "characters of the expected passages"),
        Field("chunk_spans", ("chunks",), "all chunks of the corpus"),
    ),
    "spans",
    of_refusals=True,
)

GOLDEN = View(
    "golden",
    (
        _expected("named", ("answer", "entities"), "per expected name: true if the answer contains it"),
        _expected(
            "ends", ("answer", "relation"), "per end of the expected relation: true if the answer names it"
        ),
        _told("relation", ("answer", "relation"), "true if the answer states the relation"),
        _told(
            "direction", ("answer", "relation"), "correctness of the direction of the relation, from 0 to 1"
        ),
        _told(
            "places", ("answer", "milestones"), "per step: position where the answer first covers it, or None"
        ),
        _of_turns("turns", doc="per turn: match with its reference, from 0 to 1"),
        _of_turns("dependent_turns", doc="the same, for the turns that depend on earlier turns"),
        _in_words("untold", ("answer", "milestones"), "the reason why no step is covered, or None"),
        _lexical(
            "found_places",
            ("contexts", "hops"),
            "number of the places that were retrieved",
            counts_nothing=True,
        ),
        _lexical("hops", ("contexts", "hops"), "number of places that must be combined", counts_nothing=True),
    ),
    "golden",
)

CONDUCT = View(
    "conduct",
    (
        Field(
            "answer_class",
            ("question", "answer"),
            "class of the answer: answered, refused, dont_know or asks_back",
            methods=("lexical", "judge"),
            method=ANSWER_PATTERNS,
            prompt="answer_class",
            family="refusals",
            counts_empty=True,
            languages=ENGLISH_AND_CHINESE,
        ),
        Field("should_decline", (), "true if the sample expects a refusal"),
        Field(
            "may_decline",
            (),
            "true if the reference sounds like a refusal, but the sample does not declare one",
        ),
        Field("unclear", ("answer",), "the reason why it is unclear if the answer is a refusal, or None"),
        Field(
            "clean",
            ("answer",),
            "absence of abusive language, from 0 to 1",
            methods=("lexicon", "judge"),
            method=PROFANITY_SCREEN,
            prompt="toxicity",
            languages=ENGLISH_AND_CHINESE,
        ),
        _of_a_judge("unbiased", ("question", "answer"), "absence of prejudice, from 0 to 1", prompt="bias"),
    ),
    "safety",
    by_turn=True,
    of_refusals=True,
)

GRADES = View(
    "grades",
    (
        _graded("grades", doc="the grade of each criterion of the rubric, from 0 to 1", counts_empty=True),
        _graded("weights", doc="weight of each criterion"),
        _graded("pass_at", doc="lowest weighted sum with which an answer passes"),
        _graded("floor", doc="lowest grade with which an answer passes"),
    ),
    "answers",
    by_turn=True,
)

RELEVANCE = View(
    "relevance",
    (
        _of_a_judge(
            "context_grades",
            ("question", "contexts"),
            "per context: relevance to the question, from 0 to 3",
            prompt="relevance_grade",
        ),
    ),
    "answers",
)

NUGGETS = View(
    "nuggets",
    (
        _of_nuggets("held", doc="per nugget: 1 if the answer contains it, 0.5 in part, else 0"),
        _of_nuggets("vital", doc="per nugget: true if a good answer must contain it"),
        Field("unknown", (), "the reason why there are no nuggets, or None"),
    ),
    "answers",
)

USAGE = View(
    "usage",
    (
        Field("latency_ms", ("latency",), "latency of the answer, in milliseconds", method=TIMING_METHOD),
        _reported("input_tokens", doc="number of input tokens"),
        _reported("output_tokens", doc="number of output tokens"),
        _reported("cost_usd", doc="cost of the answer, in US dollars"),
    ),
    "performance",
    of_refusals=True,
)

STEPS = View(
    "steps",
    (
        _traced("steps", ("steps",), "the steps of the system, in order"),
        _traced("hops", ("steps",), "per retrieval: the relevant documents that it found"),
        _by_support(
            "useful_hops", ("steps",), "per retrieval: true if it found text that supports the reference"
        ),
        _traced("expected_tools", ("steps", "expected_tools"), "the expected tool calls"),
    ),
    "steps",
    of_refusals=True,
)

EXCHANGE = View(
    "exchange",
    (
        Field("sample", ("sample",), "the sample itself, for fields that no other view has"),
        Field("response", ("response",), "the response itself"),
    ),
    "answers",
    of_refusals=True,
)

VIEWS = (
    *(TEXTS, LIKENESS, CLAIMS, CITATIONS, CITED_SPANS, RANKING),
    *(HITS, GOLDEN, CONDUCT, GRADES, RELEVANCE, NUGGETS, USAGE, STEPS, EXCHANGE),
)
"""Every view of our own; a plug-in may bring its own, with a reader of the same name."""
