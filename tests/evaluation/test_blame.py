"""Where an answer failed, on samples small enough to check by hand."""

from __future__ import annotations

from typing import Any

import pytest

from blaming import blame
from cases import tables_beside
from rag_evaluation_framework import (
    CharacterSpan,
    ContextCitation,
    Corpus,
    Document,
    DocumentId,
    Entities,
    Hit,
    Milestones,
    Refusal,
    Relation,
    Response,
    Sample,
    SpanCitation,
    Turn,
    evaluate,
)
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.verdict import CONTRADICTS, AnswerVerdict, State
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.samples import Expectation, Origin
from rag_evaluation_framework.records.scores import Blame, BlameEvidence
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

SHIP = "The ferry is green."
HARBOUR = "The harbour is deep."
NOT_SHIP = "The ferry is not green."
WEATHER = "The weather is fine."
GOLDEN = Origin("golden-factual")


def sample(**fields: Any) -> Sample:
    return Sample(**{"id": "q1", "turns": (Turn(role="user", content="What about it?"),), **fields})


def blamed(asked: Sample, answer: str, *, documents: CitableTexts | None = None, **fields: Any) -> Blame:
    """Return the blame of an answer that is known to be wrong."""
    found = blame(asked, Response(text=answer, **fields), AnswerVerdict("wrong"), documents=documents)
    assert found is not None
    return found


def expectation(written: dict[str, Any] | None) -> Expectation | None:
    match written:
        case {"names": names}:
            return Entities(names=tuple(names))
        case {"relation": [subject, relation, other]}:
            return Relation(subject=subject, relation=relation, object=other)
        case {"refusal": _}:
            return Refusal()
    return None


@pytest.mark.parametrize(("asked", "answer", "contexts", "kind", "why"), TABLES["blame_of_an_answer"])
def test_blame_of_an_answer(
    asked: dict[str, Any], answer: str, contexts: list[str], kind: str, why: str
) -> None:
    found = blamed(
        sample(
            turns=(Turn(role="user", content=asked.get("question", "What about it?")),),
            reference=asked.get("reference"),
            reference_contexts=tuple(asked.get("reference_contexts", ())),
            expectation=expectation(asked.get("expectation")),
            origin=GOLDEN if "golden" in asked else None,
        ),
        answer,
        contexts=tuple(contexts),
    )
    assert (found.kind, why in found.why) == (kind, True), found


def test_the_evidence_is_what_is_missing_or_denied() -> None:
    asked = sample(reference=f"{SHIP} {HARBOUR}")
    missed = blamed(asked, SHIP, contexts=(SHIP,))
    assert missed.evidence == (BlameEvidence(HARBOUR),)
    assert (
        missed.why
        == "the answer is missing 1 of 2 claims of the reference; 0 of 1 missing statements retrieved"
    )
    unused = blamed(asked, SHIP, contexts=(SHIP, HARBOUR))
    assert [each.claim for each in unused.evidence] == [HARBOUR]
    assert unused.to_dict()["evidence"] == [{"claim": HARBOUR, "passage": HARBOUR}]


def hit(start: int, end: int, document: str = "a.md", **fields: Any) -> Hit:
    return Hit(id=f"c{start}", span=CharacterSpan(DocumentId(document), start, end), **fields)


@pytest.mark.parametrize(
    ("hits", "kind"),
    [
        ([hit(0, 50), hit(40, 80)], "not_used"),  # 20-60 is covered whole, counted once
        ([hit(0, 52)], "not_used"),  # 32 of 40 characters: a fifth may be cut off
        ([hit(0, 51)], "cut_passage"),  # 31 of 40
        ([hit(59, 80)], "cut_passage"),
        ([hit(20, 60, "b.md"), hit(90, 99)], "retrieval_missed"),  # another document
    ],
)
def test_blame_by_relevant_characters(hits: list[Hit], kind: str) -> None:
    asked = sample(reference=SHIP, relevant_spans=(SpanCitation("a.md", 20, 60),))
    found = blamed(asked, WEATHER, hits=tuple(hits), contexts=(WEATHER,))
    assert found.kind == kind


BOATS = Document(DocumentId("doc_1"), "The boat leaves at noon.", extra={"file_path": "docs/boats.md"})


@pytest.mark.parametrize("told", ["doc_1", "boats.md", "docs/boats.md"])
@pytest.mark.parametrize("relevant", ["doc_1", "boats.md"])
def test_documents_are_known_by_any_of_their_names_to_blame_as_to_the_ranking(
    relevant: str, told: str
) -> None:
    asked = sample(relevant_documents={relevant: 1})
    response = Response(text="I don't know.", hits=(Hit(id=told),))
    found = blamed(asked, "I don't know.", hits=response.hits, documents=CitableTexts([BOATS]))
    assert (found.kind, found.why) == (
        "unknown",
        "the answer says that it does not know; the agent reported documents without passages",
    )
    ranking = scorer_for("hit@3", Methods(corpus=Corpus([BOATS])))
    assert ranking.score(asked, response).value == 1.0


def test_the_documents_of_hits_with_a_place_are_known_by_any_of_their_names() -> None:
    asked = sample(relevant_spans=(SpanCitation("boats.md", 0, 24),))
    hit = Hit(id="c", span=CharacterSpan(DocumentId("docs/boats.md"), 0, 20))
    found = blamed(asked, "I don't know.", hits=(hit,), documents=CitableTexts([BOATS]))
    # 20 of 24 characters are more than half of the passage.
    assert found.why == "the answer says that it does not know; 1 of 1 relevant passages retrieved"


@pytest.mark.parametrize(
    ("told", "documents", "why"),
    [
        ("chunk_00000000000a", (), "the hits are chunks without document names"),
        ("77", (BOATS,), "no hit has the name of a document in the dataset"),
    ],
)
def test_hits_that_name_no_document_do_not_tell_what_was_retrieved(
    told: str, documents: tuple[Document, ...], why: str
) -> None:
    asked = sample(relevant_documents={"doc_1": 1})
    found = blamed(asked, "I don't know.", hits=(Hit(id=told),), documents=CitableTexts(documents))
    assert (found.kind, found.why) == ("unknown", f"the answer says that it does not know; {why}")


@pytest.mark.parametrize(
    ("truth", "ids", "kind"),
    [
        ({"relevant_documents": {"a.md": 1, "b.md": 1, "c.md": 0}}, ["b.md", "z.md"], "unknown"),
        ({"relevant_documents": {"a.md": 1, "c.md": 0}}, ["c.md"], "retrieval_missed"),
        ({"relevant_chunk_ids": ("k1", "k2")}, ["k2", "k1"], "not_used"),
        ({"relevant_chunk_ids": ("k1", "k2")}, ["k2"], "retrieval_missed"),
    ],
)
def test_of_documents_one_is_enough_and_of_chunks_all_are_needed(
    truth: dict[str, Any], ids: list[str], kind: str
) -> None:
    hits = tuple(Hit(id=each) for each in ids)
    assert blamed(sample(reference=SHIP, **truth), "I don't know.", hits=hits).kind == kind


CONTRADICTED = AnswerVerdict("wrong", "judge", CONTRADICTS)


@pytest.mark.parametrize(("contexts", "kind"), [((SHIP,), "contradicted"), ((WEATHER,), "retrieval_missed")])
def test_contradiction_of_what_was_retrieved_is_one_that_a_judge_found(
    contexts: tuple[str, ...], kind: str
) -> None:
    found = blame(sample(reference=SHIP), Response(text=NOT_SHIP, contexts=contexts), CONTRADICTED)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("state", ["correct", "unsupported", "missed_refusal", "no_answer"])
def test_cause_is_not_sought_where_the_state_tells_it(state: State) -> None:
    assert blame(sample(reference=SHIP), Response(text=WEATHER), AnswerVerdict(state)) is None


def test_hits_without_texts_leave_it_unknown() -> None:
    textless = blamed(sample(reference=SHIP), WEATHER, hits=(Hit(id="k1"),))
    assert (textless.kind, "the hits have no texts" in textless.why) == ("unknown", True)


DOCUMENTS = CitableTexts([Document(DocumentId("ship.md"), f"{SHIP} {HARBOUR}")])


@pytest.mark.parametrize(
    ("citation", "kind"),
    [
        (SpanCitation("ship.md", 0, 19), None),
        (SpanCitation("ship.md", 20, 40), "wrong_citation"),  # the harbour
        (SpanCitation("ship.md", 20, 400), "wrong_citation"),  # beyond the end
        (SpanCitation("boat.md", 0, 19), None),  # no such document: not scored
    ],
)
def test_a_right_answer_with_citations_of_characters_is_held_against_the_documents(
    citation: SpanCitation, kind: str | None
) -> None:
    response = Response(text=SHIP, contexts=(SHIP,), citations=(citation,))
    found = blame(sample(reference=SHIP), response, documents=DOCUMENTS)
    assert (found and found.kind) == kind


def test_citations_that_nobody_can_open_are_said_not_blamed() -> None:
    response = Response(text=SHIP, contexts=(SHIP,), citations=(SpanCitation("ship.md", 0, 19),))
    assert blame(sample(reference=SHIP), response) is None


def test_citations_beside_the_answer_need_to_bear_out_one_sentence() -> None:
    asked = sample(reference=SHIP)
    answer = f"{SHIP} {HARBOUR}"
    sources = Response(text=answer, contexts=(SHIP, WEATHER, HARBOUR))
    assert blame(asked, replace(sources, citations=(ContextCitation(1),))) is None
    wrong = blame(asked, replace(sources, citations=(ContextCitation(2),)))
    assert wrong is not None
    assert wrong.kind == "wrong_citation"
    assert [each.claim for each in wrong.evidence] == [SHIP, HARBOUR]


@pytest.mark.parametrize("answer", [WEATHER, "I don't know."])
def test_a_system_that_says_it_retrieved_nothing_missed_it(answer: str) -> None:
    found = blamed(sample(reference=SHIP), answer, retrieved_nothing=True)
    assert (found.kind, "nothing was retrieved" in found.why) == ("retrieval_missed", True)


FRIENDS = Relation(subject="恰斯卡", relation="friend_of", object="卡齐娜")
MENTOR = Relation(subject="闻伯", relation="mentor_of", object="陆远舟")
NAMES = Entities(names=("玛拉妮", "热情/直率", "探险"))
STEPS = Milestones(steps=("灯火熄灭", "修好小船", "点亮灯火"))
STORY = "灯火熄灭了。她修好小船。她点亮了灯火。"


@pytest.mark.parametrize(
    ("expected", "metric", "answer", "context", "value", "kind"),
    [
        # The reference is worded otherwise than every answer: what counts is what the metric reads.
        (FRIENDS, "relation_match", "恰斯卡和卡齐娜住在城里。", "今天下雨。", 0.0, "retrieval_missed"),
        (FRIENDS, "relation_match", "恰斯卡和卡齐娜住在城里。", "恰斯卡是卡齐娜的朋友。", 0.0, "not_used"),
        (MENTOR, "relation_match", "陆远舟是闻伯的师父。", "闻伯是陆远舟的师父。", 0.0, "not_used"),
        (FRIENDS, "relation_match", "恰斯卡的朋友不是卡齐娜。", "恰斯卡是卡齐娜的朋友。", 0.0, "not_used"),
        # Declining and asking back tell nothing, whatever words they have.
        (
            NAMES,
            "entity_coverage",
            "你是想问玛拉妮热情还是喜欢探险？",
            "玛拉妮热情，爱探险。",
            0.0,
            "not_used",
        ),
        (STEPS, "milestone_recall", "我不知道灯火为何熄灭、她怎样修好小船。", STORY, 0.0, "not_used"),
        # Two names of three; the third stands in what was retrieved, or does not.
        (NAMES, "entity_coverage", "玛拉妮很直率。", "她喜爱探险。", 2 / 3, "not_used"),
        (NAMES, "entity_coverage", "玛拉妮很直率。", "今天下雨。", 2 / 3, "retrieval_missed"),
        (STEPS, "milestone_recall", "她修好小船。她点亮了灯火。", STORY, 2 / 3, "not_used"),
        # All three are told, the second before the first: two of three are in order.
        (STEPS, "milestone_order", "她修好小船。灯火熄灭了。她点亮了灯火。", STORY, 2 / 3, "not_used"),
    ],
)
def test_blame_agrees_with_the_metric_of_what_is_expected(
    expected: Expectation, metric: str, answer: str, context: str, value: float, kind: str
) -> None:
    asked = sample(expectation=expected, reference="这里写的是别的话，共同参与了...", origin=GOLDEN)
    response = Response(text=answer, contexts=(context,))
    assert scorer_for(metric).score(asked, response).value == value
    assert blamed(asked, answer, contexts=(context,)).kind == kind


MAYOR = Entities(names=("Anna Berg", "Room 12"))
HALL = "Anna Berg is the mayor. Her office is in Room 12."


@pytest.mark.parametrize(
    ("answer", "value", "kind", "otherwise"),
    TABLES["an_answer_that_declines_a_part_is_blamed_by_what_it_tells"],
)
def test_an_answer_that_declines_a_part_is_blamed_by_what_it_tells(
    answer: str, value: float, kind: str, otherwise: str
) -> None:
    """``otherwise`` is the kind where nothing relevant was retrieved."""
    turns = (Turn(role="user", content="Who is the mayor, and where is her office?"),)
    asked = sample(turns=turns, expectation=MAYOR)
    assert scorer_for("entity_coverage").score(asked, Response(text=answer)).value == value
    assert blamed(asked, answer, contexts=(HALL,)).kind == kind
    assert blamed(asked, answer, contexts=(WEATHER,)).kind == otherwise


def test_blame_says_which_names_are_missing_and_which_step_comes_too_early() -> None:
    named = blamed(sample(expectation=NAMES), "玛拉妮很直率。", contexts=("她喜爱探险。",))
    assert named.why == "the answer is missing 1 of 3 expected names; 1 of 1 missing statements retrieved"
    assert named.evidence == (BlameEvidence("探险", "她喜爱探险。"),)
    told = blamed(sample(expectation=STEPS), "她修好小船。灯火熄灭了。她点亮了灯火。", contexts=(STORY,))
    assert told.why == (
        "the answer is missing 1 of 3 expected steps, 1 stated too early; 1 of 1 missing statements retrieved"
    )
    assert told.evidence == (BlameEvidence("修好小船", STORY),)


CONVERSATION = Sample(
    id="c",
    turns=(
        Turn(role="user", content="基尼奇的龙伙伴叫什么？"),
        Turn(role="assistant", reference="他的龙伙伴叫阿尤。"),
        Turn(role="user", content="它爱吃什么？"),
        Turn(role="assistant", reference="阿尤爱吃海葡萄。"),
        Turn(role="user", content="它的银行密码是多少？"),
        Turn(role="assistant", expectation=Refusal()),
    ),
)


def conversation(*answers: tuple[str, str], failure: Failure | None = None) -> Response:
    turns = [{"question": "?", "answer": answer, "contexts": [context]} for answer, context in answers]
    text = None if failure else answers[-1][0]
    return Response(text=text, metadata={"turns": turns}, failure=failure)


def test_a_conversation_is_blamed_turn_by_turn() -> None:
    food = "阿尤爱吃海葡萄。"
    whole = blame(CONVERSATION, conversation(("是阿尤", food), ("不爱吃鱼", food), ("密码是 1234。", food)))
    assert whole is not None
    (told,) = whole.answers
    assert (told.kind, whole.turns) == ("not_used", {1: None, 2: told, 3: None})  # 海葡萄 was retrieved
    assert (whole.kind, whole.why) == ("not_used", f"turn 2: {told.why}")
    elsewhere = conversation(("是阿尤", food), ("爱吃鱼", "今天下雨。"), ("抱歉，我无法回答。", food))
    missed = blame(CONVERSATION, elsewhere)
    assert missed is not None
    assert missed.kind == "retrieval_missed"
    right = conversation(("是阿尤", food), (food, food), ("抱歉，我无法回答这个问题。", food))
    assert blame(CONVERSATION, right) is None


@pytest.mark.parametrize(
    ("context", "kind"), [("The lift is working since May.", "not_used"), ("It rains.", "retrieval_missed")]
)
def test_a_yes_is_retrieved_where_a_text_says_what_was_asked(context: str, kind: str) -> None:
    turns = (
        Turn(role="user", content="Is the lift working?"),
        Turn(role="assistant", reference="Yes, it works."),
    )
    told = blame(Sample(id="c", turns=turns), conversation(("No.", context)))
    assert told is not None
    assert told.kind == kind


def test_the_turns_before_a_failure_are_blamed() -> None:
    failed = conversation(
        ("我不知道。", "他的龙伙伴叫阿尤。"), failure=Failure(kind="http-400", message="no")
    )
    found = blame(CONVERSATION, failed)
    assert found is not None
    assert [each and each.kind for each in found.turns.values()] == ["not_used", None, None]
    assert blame(CONVERSATION, Response(text="海葡萄")) is None  # not told turn by turn


def test_what_breaks_while_a_cause_is_sought_costs_the_cause_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_evaluation_framework.evaluation.blame.readings_of", lambda _: 1 / 0)
    row = {"question": "Is it?", "answer": SHIP, "contexts": [SHIP], "reference": "It costs 24.00."}
    (found,) = evaluate([row], metrics=["faithfulness"]).rows
    assert found.blame is not None
    assert (found.result.scores[0].value, found.blame.kind) == (1.0, "unknown")
    assert found.blame.why == "finding the cause failed: ZeroDivisionError: division by zero"
