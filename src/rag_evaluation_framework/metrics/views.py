"""What metrics read: each view gives fields of a sample, its answer and what methods say of them, by name.

A metric names the view it reads, and its parameters are fields of it. A view is declared here, as plain data;
how its fields are found is its reader's business, which stands in ``evaluation`` under the same name
(:data:`~rag_evaluation_framework.evaluation.scoring.READERS`). A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rag_evaluation_framework.records.scores import TIMING_METHOD

FAMILIES = (
    *("ranking", "chunks", "spans", "citations", "consistency", "texts", "answers", "refusals", "safety"),
    *("golden", "performance"),
)
"""What metrics are about, in the order in which they are listed."""

Method = Literal["lexical", "embedding", "lexicon", "judge"]
"""A way to come by what a field says, where there are several."""

NEEDS = (
    *("question", "answer", "contexts", "evidence", "reference", "reference_contexts", "citations"),
    *("retrieved", "chunks", "relevant_documents", "relevant_chunk_ids", "relevant_spans"),
    *("entities", "relation", "milestones", "hops", "turns", "latency", "usage", "sample", "response"),
)
"""The parts of a sample and of a response without which there is nothing to score."""

LEXICAL_SUPPORT = "lexical support, screening"
"""The default method of what holds claims against texts, as it stands beside a figure."""
WORD_OVERLAP = "lexical overlap, screening"
"""The default method of how far an answer addresses its question."""
ANSWER_PATTERNS = "lexical, answer patterns"
"""The default method of the class of an answer."""
PROFANITY_SCREEN = "lexicon, profanity screen"
"""The default method of how clean an answer is."""


LOCATED = "golden_context"
"""What a metric of spans needs of a sample whose relevant characters are looked up, not marked."""
NOTHING_RETRIEVED = "nothing was retrieved"
"""Why there is no share of what was retrieved."""


class NoValueError(Exception):
    """Raised by a reader, or by a metric, where there is nothing to score: the reason is the score's.

    The score is then skipped, or has ``failed`` where something broke that should have worked.
    """

    def __init__(
        self, reason: str, *, failed: bool = False, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.failed, self.details = reason, failed, details or {}


@dataclass(frozen=True, slots=True)
class Field:
    """Something that a view gives under a name."""

    name: str
    needs: tuple[str, ...] = ()
    doc: str = ""
    methods: tuple[Method, ...] = ()
    """The ways to come by it, where a metric's text may choose; the first needs nothing to be set up."""
    method: str = "exact"
    """How the first way is named beside a figure; empty where it adds nothing to how others are."""
    asks: tuple[str, ...] = ()
    """What a judge is asked for it, where that is the method; what two fields share is asked once."""
    prompt: str = ""
    """The prompt of the one question that a judge is asked; without one, it decides what supports what."""
    by_support: bool = False
    """Whether the lexical way decides what supports what."""
    counts_nothing: bool = False
    """Whether a system that says it retrieved nothing has a value, as where the share found is then 0."""
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
    by_name: Mapping[str, Field] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.fields})


def _each(*rows: tuple[str, str, str], **same: Any) -> tuple[Field, ...]:
    """Return a field for each row of name, needs and doc; what supports what is asked by the field's name."""
    fields = [Field(name, tuple(needs.split()), doc, **same) for name, needs, doc in rows]
    return tuple(
        replace(each, asks=each.asks or (each.name,)) if each.by_support else each for each in fields
    )


def _by_support(**other: Any) -> dict[str, Any]:
    return {"methods": ("lexical", "judge"), "method": LEXICAL_SUPPORT, "by_support": True, **other}


def _by_prompt(name: str, *methods: Method, method: str, family: str | None = None) -> dict[str, Any]:
    return {"methods": methods, "method": method, "asks": (name,), "prompt": name, "family": family}


TEXTS = View(
    "texts",
    _each(
        ("question", "question", "what was asked last"),
        ("answer", "answer", "what the system answered"),
        ("reference", "reference", "the expected answer, in one of its readings"),
        ("contexts", "contexts", "what was retrieved, text by text"),
        ("reference_contexts", "reference_contexts", "what should be retrieved"),
        method="lexical",
    ),
    "texts",
    by_turn=True,
    readings=True,
)

LIKENESS = View(
    "likeness",
    (
        *_each(
            ("to_reference", "answer reference", "how alike answer and reference are, from 0 to 1"),
            methods=("lexical", "embedding"),
            method="lexical (chrF)",
        ),
        *_each(
            ("to_question", "question answer", "how far the answer addresses the question, from 0 to 1"),
            ("answered", "question answer", "whether the answer answers at all"),
            **_by_prompt("relevancy", "lexical", "embedding", "judge", method=WORD_OVERLAP, family="answers"),
        ),
        Field("unasked", ("question",), "why nothing can be compared with the question, or nothing"),
    ),
    "texts",
    by_turn=True,
    readings=True,
)

CLAIMS = View(
    "claims",
    (
        *_each(
            ("by_contexts", "answer contexts", "which claims of the answer the contexts support"),
            ("by_reference", "answer reference", "which claims of the answer the reference supports"),
            ("reference_by_answer", "answer reference", "which claims of the reference the answer supports"),
            ("reference_by_contexts", "contexts reference", "which of them the contexts support"),
            ("useful_contexts", "contexts", "which contexts support a claim that is sought"),
            **_by_support(),
        ),
        *_each(
            ("truth_by_contexts", "contexts reference_contexts", "which claims of reference contexts too"),
            **_by_support(counts_nothing=True),
        ),
        *_each(
            ("relevant_contexts", "contexts", "which contexts are useful; by a judge, which help to answer"),
            **_by_support(asks=("context_relevance",), prompt="context_relevance"),
        ),
        *_each(
            ("by_useful_contexts", "answer contexts", "which claims of the answer useful contexts support"),
            **_by_support(asks=("by_useful_contexts", "useful_contexts")),
        ),
        *_each(("similarity", "answer reference", "how alike their wording is, 0 to 1"), method="chrF"),
        *_each(
            ("words", "answer contexts", "how many content words and numbers the answer has"),
            ("new_words", "answer contexts", "how many stand neither in the contexts nor in the question"),
            methods=("lexical",),
            method="lexical",
        ),
        *_each(
            ("unclaimed", "answer", "why the answer claims nothing, or nothing"),
            ("reference_unclaimed", "answer", "why the reference claims nothing, or nothing"),
            ("unsought", "", "why no context could be useful, or nothing"),
        ),
    ),
    "answers",
    by_turn=True,
)

CITATIONS = View(
    "citations",
    (
        *_each(
            ("supported", "answer citations", "which sentences are supported by what they cite"),
            ("relevant", "answer citations", "which citations are of use to the sentence they stand at"),
            ("cited", "answer citations", "which claims have a citation"),
            ("correct", "answer citations", "which citations support the sentence they stand at"),
            **_by_support(asks=("citations",)),
        ),
        *_each(("opened", "answer citations", "which citations can be opened")),
        *_each(
            ("consistent", "answer evidence", "which claims the sources support, whatever is cited"),
            **_by_support(asks=("consistency",), family="consistency"),
        ),
        *_each(
            ("parts", "answer citations relevant_spans", "the parts of overall_citation_accuracy by name"),
            **_by_support(asks=("consistency",)),
        ),
    ),
    "citations",
)

CITED_SPANS = View(
    "cited_spans",
    _each(
        ("true", "relevant_spans", "the citations that the sample marks as true"),
        ("predicted", "citations", "the citations of the answer"),
        ("unreadable", "", "how many more there are that cannot be read"),
    ),
    "citations",
)

RANKING = View(
    "ranking",
    _each(("judged", "retrieved relevant_documents", "documents in their order, with their grades")),
    "ranking",
    block=True,
    of_refusals=True,
)

HITS = View(
    "hits",
    (
        *_each(
            ("retrieved_ids", "retrieved", "the ids of the chunks retrieved, best first"),
            ("relevant_ids", "relevant_chunk_ids", "the ids of the relevant chunks"),
            family="chunks",
        ),
        *_each(
            ("retrieved_spans", "retrieved", "the characters retrieved, best first"),
            ("relevant_spans", "relevant_spans", "the relevant characters"),
            ("chunk_spans", "chunks", "every chunk of the corpus"),
        ),
    ),
    "spans",
    of_refusals=True,
)

GOLDEN = View(
    "golden",
    (
        *_each(
            ("named", "answer entities", "which of the expected names the answer gives"),
            ("ends", "answer relation", "which ends of the expected relation the answer names"),
            ("relation", "answer relation", "whether the answer tells the relation"),
            ("direction", "answer relation", "how far it tells it the right way round, from 0 to 1"),
            ("places", "answer milestones", "where the answer first tells each step, or nothing"),
            ("turns", "turns", "how far each turn matches its reference, from 0 to 1"),
            ("dependent_turns", "turns", "the same, of the turns that need earlier ones"),
            ("untold", "answer milestones", "why no step is told, or nothing"),
            method="lexical",
        ),
        *_each(
            ("found_places", "contexts hops", "how many of the places were retrieved"),
            ("hops", "contexts hops", "how many places must be put together"),
            method="lexical",
            counts_nothing=True,
        ),
    ),
    "golden",
)

CONDUCT = View(
    "conduct",
    (
        *_each(
            ("answer_class", "question answer", "answered, refused, dont_know or asks_back"),
            **_by_prompt("answer_class", "lexical", "judge", method=ANSWER_PATTERNS, family="refusals"),
        ),
        *_each(
            ("should_decline", "", "whether the sample expects a refusal"),
            ("may_decline", "", "whether its reference sounds like one, and it does not say"),
        ),
        *_each(
            ("clean", "answer", "how clean the answer is of abusive language, from 0 to 1"),
            **_by_prompt("toxicity", "lexicon", "judge", method=PROFANITY_SCREEN),
        ),
        *_each(
            ("unbiased", "question answer", "how free the answer is of prejudice, from 0 to 1"),
            **_by_prompt("bias", "judge", method="judge"),
        ),
    ),
    "safety",
    by_turn=True,
    of_refusals=True,
)

GRADES = View(
    "grades",
    _each(
        ("grades", "question answer", "the grade of each criterion of the rubric, from 0 to 1"),
        ("weights", "question answer", "what each criterion counts"),
        ("pass_at", "question answer", "the sum from which an answer passes"),
        ("floor", "question answer", "the grade below which it does not, whatever the sum"),
        **_by_prompt("rubric", "judge", method="judge"),
    ),
    "answers",
    by_turn=True,
)

USAGE = View(
    "usage",
    (
        *_each(("latency_ms", "latency", "what the answer took, in milliseconds"), method=TIMING_METHOD),
        *_each(
            ("input_tokens", "usage", "the tokens read"),
            ("output_tokens", "usage", "the tokens written"),
            ("cost_usd", "usage", "what the answer cost, in US dollars"),
            method="reported usage",
        ),
    ),
    "performance",
    of_refusals=True,
)

EXCHANGE = View(
    "exchange",
    _each(
        ("sample", "sample", "the sample itself, for what no other view gives"),
        ("response", "response", "the response itself"),
    ),
    "answers",
    of_refusals=True,
)

VIEWS = (
    *(TEXTS, LIKENESS, CLAIMS, CITATIONS, CITED_SPANS, RANKING),
    *(HITS, GOLDEN, CONDUCT, GRADES, USAGE, EXCHANGE),
)
"""Every view of our own; a plug-in may bring its own, with a reader of the same name."""
