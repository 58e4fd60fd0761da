"""A cause says only what was seen: sources, single passages, chunk edges, documents without the passage."""

from __future__ import annotations

from typing import Any

import pytest

from blaming import blame
from rag_evaluation_framework import (
    CharacterSpan,
    Document,
    DocumentId,
    Hit,
    Response,
    Sample,
    SpanCitation,
    Turn,
)
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Recorded
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.facts import why
from rag_evaluation_framework.results.evaluations import Row

FARES = "A single ticket from Strath to the island of Sund costs 24.00 and is valid for 30 days."
WRONG = "A single ticket costs 19.50."
LOOKS = "not judged (looks wrong), "
OTHER = "The museum opens at nine in the morning and sells postcards of the lighthouse."
FILE = Document(DocumentId("fares.md"), f"{OTHER} {FARES} {OTHER}")
START = len(OTHER) + 1


def ticket(**fields: Any) -> Sample:
    question = Turn(role="user", content="What does a single ticket cost?")
    return Sample(**{"id": "q1", "turns": (question,), "reference": FARES, **fields})


def cause(asked: Sample, answer: str = WRONG, **fields: Any) -> Blame:
    response = Response(text=answer, **fields)
    found = blame(asked, response, AnswerVerdict("wrong"), documents=CitableTexts([FILE]))
    assert found is not None
    return found


def hit(start: int, end: int) -> Hit:
    return Hit(id="c", text=FILE.content[start:end], span=CharacterSpan(FILE.id, start, end))


def reason(asked: Sample, **fields: Any) -> str | None:
    result = SampleResult("q1", Response(text=WRONG, **fields), ())
    found = cause(asked, **fields)
    return why(Row(0, result, asked, verdict=AnswerVerdict("wrong").with_cause(found)), found)


@pytest.mark.parametrize(
    ("recorded", "fields", "kind"),
    [
        (None, {}, "unknown"),
        (None, {"contexts": (OTHER,), "context_origin": "dataset"}, "unknown"),
        (Recorded(contexts=(OTHER,)), {"contexts": (OTHER,), "context_origin": "dataset"}, "unknown"),
        (Recorded(retrieved_nothing=True), {"retrieved_nothing": True}, "unknown"),
        (None, {"retrieved_nothing": True}, "retrieval_missed"),
        (None, {"contexts": (OTHER,), "context_origin": "system"}, "retrieval_missed"),
        (
            Recorded(contexts=(OTHER,), answer=WRONG),
            {"contexts": (OTHER,), "context_origin": "dataset"},
            "retrieval_missed",
        ),
        (
            Recorded(contexts=(OTHER,)),
            {"contexts": (OTHER,), "context_origin": "dataset", "retrieved_nothing": True},
            "retrieval_missed",
        ),
    ],
)
def test_retrieval_miss_needs_sources_of_the_system(
    recorded: Recorded | None, fields: dict[str, Any], kind: str
) -> None:
    found = cause(ticket(recorded=recorded), **fields)
    assert found.kind == kind
    assert kind != "unknown" or found.why.endswith("the agent reported no retrieved passages")


def test_not_used_names_the_passage_that_has_every_number() -> None:
    found = cause(ticket(), contexts=(OTHER, FARES))
    assert (found.kind, found.evidence[0].passage) == ("not_used", FARES)


def test_not_used_is_not_said_of_shared_words() -> None:
    without = "A ticket from Strath to the island of Sund is a single ticket that is valid and costs little."
    asked = ticket(reference="A single ticket from Strath to Sund costs little and is valid (Friends).")
    found = cause(asked, "It is free.", contexts=(without,))
    assert (found.kind, found.why.rpartition("; ")[2]) == (
        "unknown",
        "the retrieved passages share words with the expected answer, but not its name Friends",
    )


def test_not_used_is_not_said_of_scattered_numbers() -> None:
    scattered = (
        "A single ticket from Strath to the island of Sund costs 24.00.",
        "A ticket is valid for 30 days.",
    )
    found = cause(ticket(), contexts=scattered)
    assert found.kind == "unknown"
    assert "no single passage states it with the numbers 24.00, 30 and names Strath, Sund" in found.why


@pytest.mark.parametrize(
    ("passage", "is_seen"),
    [
        ("The tower was built in 1450.", True),
        ("The tower, which is not open, was built in 1450.", True),
        ("The tower was not built by monks, but it was built in 1450.", True),
        ("The tower stands on a hill. It was built in 1450.", True),
        ("Of the tower. Built in 1450.", True),
        ("Tower: 1450", True),
        ("The tower was finished no earlier than 1450.", True),
        ("The tower was not built in 1450.", False),
        ("1450 was not the year in which the tower was built.", False),
        ("The bridge was built in 1450.", False),
        ("The tower is tall. The bridge was built in 1450.", False),
        ("Anna Holm was born in 1450.", False),
    ],
)
@pytest.mark.parametrize("reference", ["1450", "It was built in 1450."])
def test_not_used_needs_a_sentence_that_states_it_of_what_was_asked(
    passage: str, is_seen: bool, reference: str
) -> None:
    asked = ticket(turns=(Turn(role="user", content="When was the tower built?"),), reference=reference)
    assert (cause(asked, "I like trains.", contexts=(OTHER, passage)).kind == "not_used") is is_seen


@pytest.mark.parametrize(
    ("question", "reference", "passage", "is_seen"),
    [
        ("Who is the mayor?", "Anna Berg", "Anna Berg is the mayor.", True),
        ("Who is the mayor?", "Anna Berg", "Anna Berg is not the mayor.", False),
        ("Who is the mayor?", "Anna Berg", "Anna Berg is a baker.", False),
        ("How old was he?", "83", "Anna Berg died in Sund (aged 83).", True),  # it does not say of whom
        ("When did the tower open, and was it new?", "1450", "The bridge opened in 1450.", False),
        ("What color is the ferry?", "green", "The ferry is green.", True),
        ("What color is the ferry?", "green", "The ferry is not green.", False),
        ("What color is the ferry not?", "green", "The ferry is not green.", True),
        ("渡轮是什么颜色？", "绿色", "渡轮是绿色的。", True),
        ("渡轮是什么颜色？", "绿色", "渡轮不是绿色的。", False),
    ],
)
def test_not_used_is_not_said_of_what_is_denied_or_said_of_another(
    question: str, reference: str, passage: str, is_seen: bool
) -> None:
    asked = ticket(turns=(Turn(role="user", content=question),), reference=reference)
    assert (cause(asked, "I like trains.", contexts=(OTHER, passage)).kind == "not_used") is is_seen


def test_not_used_is_not_said_of_a_document_without_texts() -> None:
    found = cause(ticket(relevant_documents={"fares.md": 1}), hits=(Hit(id="fares.md"),))
    assert (found.kind, found.why.rpartition("; ")[2]) == (
        "unknown",
        "the agent reported documents without passages",
    )


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (FARES.index("24.00"), "cut_passage"),
        (FARES.index(" and is"), "cut_passage"),  # the 30 days are cut off
        (FARES.index(" days"), "not_used"),
        (len(FARES), "not_used"),
        (0, "retrieval_missed"),
    ],
)
@pytest.mark.parametrize("is_placed", [True, False])
def test_cut_passage_lacks_a_number_beyond_the_edge(end: int, kind: str, is_placed: bool) -> None:
    hits = (hit(0, START + end),)
    if is_placed:
        found = cause(
            ticket(relevant_spans=(SpanCitation("fares.md", START, START + len(FARES)),)), hits=hits
        )
    else:
        found = cause(ticket(reference_contexts=(FARES,)), contexts=(hits[0].text, OTHER))
    assert found.kind == kind


def test_cut_passage_counts_adjacent_chunks_as_one() -> None:
    asked, middle = ticket(reference_contexts=(FARES,)), FARES.index("Sund")
    assert cause(asked, contexts=(FARES[:middle], OTHER)).kind == "cut_passage"
    assert cause(asked, contexts=(FARES[middle:], OTHER)).kind == "cut_passage"
    assert cause(asked, contexts=(FARES[middle:], OTHER, FARES[:middle])).kind == "not_used"


def test_cut_passage_is_seen_in_chinese() -> None:
    passage = "从斯特拉斯到松德岛的单程票价格是二十四元，有效期为三十天。"
    asked = ticket(reference="二十四元", reference_contexts=(passage,))
    for chunk, kind in ((passage[:14], "cut_passage"), (passage, "not_used"), (OTHER, "retrieval_missed")):
        assert cause(asked, "十九元", contexts=(chunk,)).kind == kind


def test_expected_document_without_its_passage_is_named_so() -> None:
    spans = (SpanCitation("fares.md", START, START + len(FARES)),)
    asked, first = ticket(relevant_spans=spans), hit(0, START)
    assert reason(asked, hits=(first,)) == "retrieval miss: retrieved fares.md, but not the expected passage"
    half = reason(asked, hits=(hit(0, START + 40),))
    assert half == "cut passage: retrieved fares.md, but not the whole passage"
    by_document = ticket(relevant_documents={"fares.md": 1})
    elsewhere = Hit(id="fares.md", text=OTHER)
    found = reason(by_document, hits=(elsewhere,))
    assert found == "retrieval miss: retrieved fares.md, but not the expected passage"
    seen = reason(by_document, hits=(elsewhere, Hit(id="faq.md", text=FARES)))
    assert seen == "retrieved but not used: faq.md contains the expected answer"
