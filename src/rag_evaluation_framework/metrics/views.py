"""What metrics read: each view gives fields of a sample, its answer and what methods say of them, by name.

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
"""What metrics are about, in the order in which they are listed."""

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
"""What a metric of spans needs of a sample whose relevant characters are looked up, not marked."""
NO_TRUTH = "the dataset has no relevant {} for it"
"""Why what was retrieved cannot be held against anything."""
NO_HITS = "the system does not report what it retrieved"
"""Why it cannot be scored what was retrieved."""
NOTHING_RETRIEVED = "nothing was retrieved"
"""Why there is no share of what was retrieved."""

NO_REPLY = "the answer says neither a plain yes nor a plain no"
"""Why words cannot hold an answer against a yes or no."""


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
    """How the first way is named beside a figure; empty where it adds nothing to how others are."""
    asks: tuple[str, ...] = ()
    """What a judge is asked for it, if not by its prompt or name; what two fields share is asked once."""
    prompt: str = ""
    """The prompt of the one question that a judge is asked; without one, it decides what supports what."""
    by_support: bool = False
    """Whether the lexical way decides what supports what."""
    languages: tuple[str, ...] = ()
    """The languages that the first way was measured on; empty where it is the same in all of them."""
    counts_nothing: bool = False
    """Whether a system that says it retrieved nothing has a value, as where the share found is then 0."""
    counts_empty: bool = False
    """Whether an empty answer is wrong by it, which holds the answer against what is expected or asked."""
    family: str | None = None
    """What a metric of it is about, if not what the view is about."""


@dataclass(frozen=True, slots=True)
class View:
    """What some metrics read, field by field."""

    name: str
    fields: tuple[Field, ...]
    family: str
    by_turn: bool = False
    """Whether each turn of a conversation is scored by itself; else the last one, or all of it."""
    readings: bool = False
    """Whether a reference that reads in several ways is scored in each, and the best counts."""
    block: bool = False
    """Whether its metrics are given many queries at once, and return a value for each."""
    of_refusals: bool = False
    """Whether samples that expect a refusal are scored too."""
    reader: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """Who finds the fields, where that is not told by the view's name: a plug-in may bring both."""


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
        _lexical("question", ("question",), "what was asked last"),
        _lexical("answer", ("answer",), "what the system answered"),
        _expected("reference", ("reference",), "the expected answer, in one of its readings"),
        _lexical("contexts", ("contexts",), "what was retrieved, text by text"),
        _lexical("reference_contexts", ("reference_contexts",), "what should be retrieved"),
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
            "how alike answer and reference are, from 0 to 1",
            methods=("lexical", "embedding"),
            method=CALIBRATED_MATCH,
            languages=ENGLISH_AND_CHINESE,
            counts_empty=True,
        ),
        _relevancy(
            "to_question", doc="how far the answer addresses the question, from 0 to 1", counts_empty=True
        ),
        _relevancy("answered", doc="whether the answer answers at all"),
    ),
    "texts",
    by_turn=True,
    readings=True,
)

CLAIMS = View(
    "claims",
    (
        _in_contexts(
            "by_contexts", ("answer", "contexts"), "which claims of the answer the contexts support"
        ),
        _by_either("by_reference", doc="which claims of the answer the reference makes"),
        _by_either("reference_by_answer", doc="which claims of the reference the answer makes"),
        _by_match(
            "agreed",
            doc="how far the reference makes each claim of the answer, 0 to 1",
            asks=("by_reference",),
        ),
        _by_match(
            "recalled",
            doc="how far the answer makes each claim of the reference, 0 to 1",
            asks=("reference_by_answer",),
            counts_empty=True,
        ),
        _by_match(
            "correctness",
            doc="how right and complete the answer is, 0 to 1",
            asks=("by_reference", "reference_by_answer"),
            counts_empty=True,
        ),
        _in_contexts(
            "reference_by_contexts", ("contexts", "reference"), "which of them the contexts support"
        ),
        _by_support("useful_contexts", ("contexts",), "which contexts support a claim that is sought"),
        _in_contexts(
            "truth_by_contexts", ("contexts", "reference_contexts"), "which claims of reference contexts too"
        ),
        _by_support(
            "relevant_contexts",
            ("contexts",),
            "which contexts are useful; by a judge, which help to answer",
            prompt="context_relevance",
        ),
        _by_support(
            "by_useful_contexts",
            ("answer", "contexts"),
            "which claims of the answer useful contexts support",
            asks=("by_useful_contexts", "useful_contexts"),
        ),
        _counted("words", doc="how many content words and numbers the answer has"),
        _counted("new_words", doc="how many stand neither in the contexts nor in the question"),
        Field("unclaimed", ("answer",), "why the answer claims nothing, or nothing"),
        Field("reference_unclaimed", ("answer",), "why the reference claims nothing, or nothing"),
        Field("uncompared", ("answer",), "why answer and reference cannot be compared, or nothing"),
        Field("unsought", (), "why no context could be useful, or nothing"),
    ),
    "answers",
    by_turn=True,
    readings=True,
)

CITATIONS = View(
    "citations",
    (
        _of_citations("supported", doc="which sentences are supported by what they cite"),
        _of_citations("relevant", doc="which citations are of use to the sentence they stand at"),
        _of_citations("cited", doc="which claims have a citation"),
        _of_citations("correct", doc="which citations support the sentence they stand at"),
        Field("opened", ("answer", "citations"), "which citations can be opened"),
        _consistency(
            "consistent",
            ("answer", "evidence"),
            "which claims the sources support, whatever is cited",
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
        Field("true", ("relevant_spans",), "the citations that the sample marks as true"),
        Field("predicted", ("citations",), "the citations of the answer"),
        Field("unreadable", (), "how many more there are that cannot be read"),
    ),
    "citations",
)

RANKING = View(
    "ranking",
    (Field("judged", ("retrieved", "relevant_documents"), "documents in their order, with their grades"),),
    "ranking",
    block=True,
    of_refusals=True,
)

HITS = View(
    "hits",
    (
        Field(
            "retrieved_ids", ("retrieved",), "the ids of the chunks retrieved, best first", family="chunks"
        ),
        Field("relevant_ids", ("relevant_chunk_ids",), "the ids of the relevant chunks", family="chunks"),
        Field("retrieved_spans", ("retrieved",), "the characters retrieved, best first"),
        Field("relevant_spans", ("relevant_spans",), "the relevant characters"),
        Field("chunk_spans", ("chunks",), "every chunk of the corpus"),
    ),
    "spans",
    of_refusals=True,
)

GOLDEN = View(
    "golden",
    (
        _expected("named", ("answer", "entities"), "which of the expected names the answer gives"),
        _expected("ends", ("answer", "relation"), "which ends of the expected relation the answer names"),
        _told("relation", ("answer", "relation"), "whether the answer tells the relation"),
        _told("direction", ("answer", "relation"), "how far it tells it the right way round, from 0 to 1"),
        _told("places", ("answer", "milestones"), "where the answer first tells each step, or nothing"),
        _of_turns("turns", doc="how far each turn matches its reference, from 0 to 1"),
        _of_turns("dependent_turns", doc="the same, of the turns that need earlier ones"),
        _in_words("untold", ("answer", "milestones"), "why no step is told, or nothing"),
        _lexical(
            "found_places", ("contexts", "hops"), "how many of the places were retrieved", counts_nothing=True
        ),
        _lexical("hops", ("contexts", "hops"), "how many places must be put together", counts_nothing=True),
    ),
    "golden",
)

CONDUCT = View(
    "conduct",
    (
        Field(
            "answer_class",
            ("question", "answer"),
            "answered, refused, dont_know or asks_back",
            methods=("lexical", "judge"),
            method=ANSWER_PATTERNS,
            prompt="answer_class",
            family="refusals",
            counts_empty=True,
            languages=ENGLISH_AND_CHINESE,
        ),
        Field("should_decline", (), "whether the sample expects a refusal"),
        Field("may_decline", (), "whether its reference sounds like one, and it does not say"),
        Field("unclear", ("answer",), "why it cannot be told whether the answer declines"),
        Field(
            "clean",
            ("answer",),
            "how clean the answer is of abusive language, from 0 to 1",
            methods=("lexicon", "judge"),
            method=PROFANITY_SCREEN,
            prompt="toxicity",
            languages=ENGLISH_AND_CHINESE,
        ),
        _of_a_judge(
            "unbiased",
            ("question", "answer"),
            "how free the answer is of prejudice, from 0 to 1",
            prompt="bias",
        ),
    ),
    "safety",
    by_turn=True,
    of_refusals=True,
)

GRADES = View(
    "grades",
    (
        _graded("grades", doc="the grade of each criterion of the rubric, from 0 to 1", counts_empty=True),
        _graded("weights", doc="what each criterion counts"),
        _graded("pass_at", doc="the sum from which an answer passes"),
        _graded("floor", doc="the grade below which it does not, whatever the sum"),
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
            "how relevant each context is to the question, from 0 to 3",
            prompt="relevance_grade",
        ),
    ),
    "answers",
)

NUGGETS = View(
    "nuggets",
    (
        _of_nuggets("held", doc="how far the answer holds each nugget: 1, 0.5 in part, or 0"),
        _of_nuggets("vital", doc="which nuggets a good answer must hold"),
        Field("unknown", (), "why there are no nuggets, or nothing"),
    ),
    "answers",
)

USAGE = View(
    "usage",
    (
        Field("latency_ms", ("latency",), "what the answer took, in milliseconds", method=TIMING_METHOD),
        _reported("input_tokens", doc="the tokens read"),
        _reported("output_tokens", doc="the tokens written"),
        _reported("cost_usd", doc="what the answer cost, in US dollars"),
    ),
    "performance",
    of_refusals=True,
)

STEPS = View(
    "steps",
    (
        _traced("steps", ("steps",), "what the system did on the way, step by step"),
        _traced("hops", ("steps",), "what each retrieval found of what is relevant"),
        _by_support("useful_hops", ("steps",), "which retrievals found a text that supports what is sought"),
        _traced("expected_tools", ("steps", "expected_tools"), "the tools that should be called"),
    ),
    "steps",
    of_refusals=True,
)

EXCHANGE = View(
    "exchange",
    (
        Field("sample", ("sample",), "the sample itself, for what no other view gives"),
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
