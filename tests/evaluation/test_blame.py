"""Where an answer failed, on samples small enough to check by hand.

Support is exact containment: a text supports a claim that it contains, up to case and the final stop, and
contradicts one whose "is" it turns into "is not", or the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

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
    Score,
    SpanCitation,
    Turn,
    evaluate,
)
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation.blame import blame
from rag_evaluation_framework.evaluation.blame import blamed as blamed_in_run
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Expectation, Origin
from rag_evaluation_framework.records.scores import Blame, BlameEvidence, Claim, ClaimVerdict, Evidence, Label

TABLES = tables_beside(__file__)

SHIP = "The ferry is green."
HARBOUR = "The harbour is deep."
NOT_SHIP = "The ferry is not green."
WEATHER = "The weather is fine."
GOLDEN = Origin("golden-factual")


class Containment:
    """Supports what it contains, and contradicts what it negates."""

    name = "containment"
    version = 1

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        return [self._verdict(claim, evidence) for claim in claims]

    def _verdict(self, claim: Claim, evidence: Sequence[str]) -> ClaimVerdict:
        said = " ".join(claim.text.casefold().split()).strip(" .")
        negated = said.replace(" is not ", " is ") if " is not " in said else said.replace(" is ", " is not ")
        for sought, label in ((said, "supported"), (negated, "contradicted")):
            found = self._found(sought, evidence)
            if found is not None:
                return ClaimVerdict(claim=claim, label=_label(label), evidence=found)
        return ClaimVerdict(claim=claim, label="unsupported")

    def _found(self, sought: str, evidence: Sequence[str]) -> Evidence | None:
        for number, text in enumerate(evidence):
            start = text.casefold().find(sought)
            if start >= 0:
                end = start + len(sought)
                return Evidence(number, start, end, text[start:end])
        return None


def _label(text: str) -> Label:
    return "supported" if text == "supported" else "contradicted"


def sample(**fields: Any) -> Sample:
    return Sample(**{"id": "q1", "turns": (Turn(role="user", content="What about it?"),), **fields})


def blamed(asked: Sample, answer: str | None, **fields: Any) -> Blame:
    return blame(asked, Response(text=answer, **fields), Containment())


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


def test_a_failure_and_hits_without_texts_leave_it_unknown() -> None:
    failed = blamed(sample(), None, failure=Failure(kind="http-503", message="down"))
    assert (failed.kind, failed.why) == ("unknown", "no answer: http-503")
    textless = blamed(sample(reference=SHIP), WEATHER, hits=(Hit(id="k1"),))
    assert (textless.kind, "no texts came with the hits" in textless.why) == ("unknown", True)


def test_the_evidence_is_what_is_missing_or_denied() -> None:
    asked = sample(reference=f"{SHIP} {HARBOUR}")
    missed = blamed(asked, SHIP, contexts=(SHIP,))
    assert missed.evidence == (BlameEvidence(HARBOUR),)
    assert missed.why == "the answer lacks 1 of 2 claims of the reference; none of the 1 it lacks came"
    unused = blamed(asked, SHIP, contexts=(SHIP, HARBOUR))
    assert [each.claim for each in unused.evidence] == [HARBOUR]
    denied = blamed(sample(reference=SHIP), NOT_SHIP, contexts=(SHIP,))
    assert denied.evidence[0] == BlameEvidence(NOT_SHIP, "The ferry is green")
    assert denied.to_dict()["evidence"][0] == {"claim": NOT_SHIP, "passage": "The ferry is green"}


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
    found = blame(asked, response, Containment(), documents=CitableTexts([BOATS]))
    assert (found.kind, found.why) == (
        "refused_wrongly",
        "the answer says that it does not know; 1 of 1 relevant documents retrieved",
    )
    ranking = scorer_for("hit@3", Methods(corpus=Corpus([BOATS])))
    assert ranking.score(asked, response).value == 1.0


def test_the_documents_of_hits_with_a_place_are_known_by_any_of_their_names() -> None:
    asked = sample(relevant_spans=(SpanCitation("boats.md", 0, 24),))
    hit = Hit(id="c", span=CharacterSpan(DocumentId("docs/boats.md"), 0, 20))
    response = Response(text="I don't know.", hits=(hit,))
    found = blame(asked, response, Containment(), documents=CitableTexts([BOATS]))
    # 20 of 24 characters are more than half of the passage.
    assert found.why == "the answer says that it does not know; 1 of 1 relevant passages retrieved"


@pytest.mark.parametrize(
    ("told", "documents", "why"),
    [
        ("chunk_00000000000a", (), "its hits are chunks that do not tell their documents"),
        ("77", (BOATS,), "none of its hits names a document of the dataset"),
    ],
)
def test_hits_that_name_no_document_do_not_tell_what_was_retrieved(
    told: str, documents: tuple[Document, ...], why: str
) -> None:
    asked = sample(relevant_documents={"doc_1": 1})
    response = Response(text="I don't know.", hits=(Hit(id=told),))
    found = blame(asked, response, Containment(), documents=CitableTexts(documents))
    assert (found.kind, found.why) == ("unknown", f"the answer says that it does not know; {why}")


@pytest.mark.parametrize(
    ("truth", "ids", "kind"),
    [
        ({"relevant_documents": {"a.md": 1, "b.md": 1, "c.md": 0}}, ["b.md", "z.md"], "refused_wrongly"),
        ({"relevant_documents": {"a.md": 1, "c.md": 0}}, ["c.md"], "retrieval_missed"),
        ({"relevant_chunk_ids": ("k1", "k2")}, ["k2", "k1"], "refused_wrongly"),
        ({"relevant_chunk_ids": ("k1", "k2")}, ["k2"], "retrieval_missed"),
    ],
)
def test_of_documents_one_is_enough_and_of_chunks_all_are_needed(
    truth: dict[str, Any], ids: list[str], kind: str
) -> None:
    hits = tuple(Hit(id=each) for each in ids)
    assert blamed(sample(reference=SHIP, **truth), "I don't know.", hits=hits).kind == kind


DOCUMENTS = CitableTexts([Document(DocumentId("ship.md"), f"{SHIP} {HARBOUR}")])


@pytest.mark.parametrize(
    ("citation", "kind"),
    [
        (SpanCitation("ship.md", 0, 19), "ok"),
        (SpanCitation("ship.md", 20, 40), "wrong_citation"),  # the harbour
        (SpanCitation("ship.md", 20, 400), "wrong_citation"),  # beyond the end
        (SpanCitation("boat.md", 0, 19), "wrong_citation"),  # no such document
    ],
)
def test_a_right_answer_with_citations_of_characters_is_held_against_the_documents(
    citation: SpanCitation, kind: str
) -> None:
    response = Response(text=SHIP, contexts=(SHIP,), citations=(citation,))
    assert blame(sample(reference=SHIP), response, Containment(), documents=DOCUMENTS).kind == kind


def test_citations_that_nobody_can_open_are_said_not_blamed() -> None:
    found = blamed(
        sample(reference=SHIP), SHIP, contexts=(SHIP,), citations=(SpanCitation("ship.md", 0, 19),)
    )
    assert found.kind == "ok"
    assert "citations are not checked" in found.why


def test_citations_beside_the_answer_need_to_bear_out_one_sentence() -> None:
    asked = sample(reference=SHIP)
    answer = f"{SHIP} {HARBOUR}"
    right = blamed(asked, answer, contexts=(SHIP, WEATHER, HARBOUR), citations=(ContextCitation(1),))
    wrong = blamed(asked, answer, contexts=(SHIP, WEATHER, HARBOUR), citations=(ContextCitation(2),))
    assert (right.kind, wrong.kind) == ("ok", "wrong_citation")
    assert [each.claim for each in wrong.evidence] == [SHIP, HARBOUR]


@pytest.mark.parametrize(("label", "kind"), [("supported", "ok"), ("unsupported", "invented")])
def test_blame_says_nothing_else_of_the_claims_than_a_metric_did(label: str, kind: str) -> None:
    paraphrase = "Ships can moor there with ease."
    claims = [{"start": 0, "end": len(SHIP), "label": "supported"}]
    claims.append({"start": len(SHIP) + 1, "end": len(SHIP) + 1 + len(paraphrase), "label": label})
    judged = Score.scored("faithfulness", 1.0, method="judge:x", details={"claims": claims})
    response = Response(text=f"{SHIP} {paraphrase}", contexts=(SHIP, HARBOUR))
    found = blamed_in_run(sample(reference=SHIP), SampleResult("q1", response, (judged,)), None)
    assert (found.kind, [each.claim for each in found.evidence]) == (kind, [paraphrase] * (kind != "ok"))


def test_a_long_reference_is_matched_word_by_word_where_a_metric_did_so() -> None:
    """An answer with all its words but the number does not say it."""
    asked = sample(reference="The old ferry from Aberfeld crosses the deep northern harbour in 25 minutes.")
    told = "The old Aberfeld ferry slowly crosses that deep, cold northern harbour in"
    for answer, kind in ((f"{told} 25 minutes.", "ok"), (f"{told} 55 minutes.", "not_used")):
        response = Response(text=answer, contexts=(asked.reference or "", answer))
        scores = [scorer_for(each).score(asked, response) for each in ("faithfulness", "answer_correctness")]
        found = blamed_in_run(asked, SampleResult("q1", response, tuple(scores)), None)
        assert (found.kind, scores[0].value) == (kind, 1.0)
        assert [each.passage for each in found.evidence] == [asked.reference] * (kind != "ok")


def test_a_long_reference_is_left_alone_where_no_metric_reads_one_unless_the_answer_declines() -> None:
    answers = ("The ferry crosses the harbour.", "The ferry has a bar.", "I don't know.")
    ferry = "The ferry crosses the harbour at Aberfeld, and on Sundays it also calls at the island of Sund."
    rows = [
        {"question": "?", "answer": text, "contexts": [ferry], "reference": f"{ferry} " * 3}
        for text in answers
    ]
    known = [{**row, "reference_contexts": [ferry]} for row in rows]
    for given, metrics, kinds in (
        (rows, ["faithfulness"], ["unknown", "invented", "refused_wrongly"]),
        (known, ["faithfulness"], ["unknown", "invented", "refused_wrongly"]),
        (known, ["faithfulness", "context_recall"], ["not_used", "not_used", "refused_wrongly"]),
        (rows, ["faithfulness", "answer_correctness"], ["not_used", "not_used", "refused_wrongly"]),
    ):
        causes = [row.blame for row in evaluate(given, metrics=metrics).rows]
        assert [each.kind for each in causes if each] == kinds
        told = ["no metric compared the answer with its reference" in each.why for each in causes if each]
        assert told == [len(metrics) == 1] * 2 + [False]


@pytest.mark.parametrize("answer", [WEATHER, "I don't know."])
def test_a_system_that_says_it_retrieved_nothing_missed_it(answer: str) -> None:
    found = blamed(sample(reference=SHIP), answer, retrieved_nothing=True)
    assert (found.kind, "nothing was retrieved" in found.why) == ("retrieval_missed", True)


def test_a_judge_that_gives_no_verdict_leaves_it_unknown() -> None:
    class Silent(Containment):
        def decide(
            self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
        ) -> list[ClaimVerdict]:
            raise ModelError("not-json", "prose")

    found = blame(sample(reference=SHIP), Response(text=SHIP, contexts=(SHIP,)), Silent())
    assert (found.kind, found.why) == ("unknown", "no verdict: not-json: prose")


FRIENDS = Relation(subject="恰斯卡", relation="friend_of", object="卡齐娜")
MENTOR = Relation(subject="闻伯", relation="mentor_of", object="陆远舟")
NAMES = Entities(names=("玛拉妮", "热情/直率", "探险"))
STEPS = Milestones(steps=("灯火熄灭", "修好小船", "点亮灯火"))
STORY = "灯火熄灭了。她修好小船。她点亮了灯火。"


@pytest.mark.parametrize(
    ("expected", "metric", "answer", "context", "value", "kind"),
    [
        # The reference is worded otherwise than every answer: what counts is what the metric reads.
        (FRIENDS, "relation_match", "恰斯卡和卡齐娜是好朋友。", "今天下雨。", 1.0, "ok"),
        (FRIENDS, "relation_match", "恰斯卡和卡齐娜住在城里。", "今天下雨。", 0.0, "retrieval_missed"),
        (FRIENDS, "relation_match", "恰斯卡和卡齐娜住在城里。", "恰斯卡是卡齐娜的朋友。", 0.0, "not_used"),
        (MENTOR, "relation_match", "陆远舟是闻伯的师父。", "闻伯是陆远舟的师父。", 0.0, "not_used"),
        (FRIENDS, "relation_match", "恰斯卡的朋友不是卡齐娜。", "恰斯卡是卡齐娜的朋友。", 0.0, "not_used"),
        (NAMES, "entity_coverage", "玛拉妮很直率，喜爱探险。", "今天下雨。", 1.0, "ok"),
        # Declining and asking back tell nothing, whatever words they have.
        (
            NAMES,
            "entity_coverage",
            "你是想问玛拉妮热情还是喜欢探险？",
            "玛拉妮热情，爱探险。",
            0.0,
            "not_used",
        ),
        (STEPS, "milestone_recall", "我不知道灯火为何熄灭、她怎样修好小船。", STORY, 0.0, "refused_wrongly"),
        # Two names of three; the third stands in what was retrieved, or does not.
        (NAMES, "entity_coverage", "玛拉妮很直率。", "她喜爱探险。", 2 / 3, "not_used"),
        (NAMES, "entity_coverage", "玛拉妮很直率。", "今天下雨。", 2 / 3, "retrieval_missed"),
        (STEPS, "milestone_recall", STORY, "今天下雨。", 1.0, "ok"),
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
    found = blame(asked, response, LexicalSupport())
    assert (found.kind, found.kind == "ok") == (kind, value == 1)


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
    assert named.why == "the answer lacks 1 of 3 expected names; 1 of the 1 it lacks came"
    assert named.evidence == (BlameEvidence("探险", "她喜爱探险。"),)
    told = blamed(sample(expectation=STEPS), "她修好小船。灯火熄灭了。她点亮了灯火。", contexts=(STORY,))
    assert told.why == ("the answer lacks 1 of 3 expected steps, 1 told too early; 1 of the 1 it lacks came")
    assert told.evidence == (BlameEvidence("修好小船"),)


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
    response = conversation(("是阿尤", food), ("不爱吃鱼", food), ("密码是 1234。", food))
    whole = blame(CONVERSATION, response, LexicalSupport())
    turns = whole.turns
    assert {number: found.kind for number, found in turns.items()} == {
        1: "ok",
        2: "not_used",  # 海葡萄 was retrieved
        3: "answered_wrongly",
    }
    assert whole.answers == tuple(turns.values())
    assert (whole.kind, whole.why) == ("not_used", f"turn 2: {turns[2].why}")
    elsewhere = conversation(("是阿尤", food), ("爱吃鱼", "今天下雨。"), ("抱歉，我无法回答。", food))
    assert blame(CONVERSATION, elsewhere, LexicalSupport()).turns[2].kind == "retrieval_missed"
    right = conversation(("是阿尤", food), ("海葡萄", food), ("抱歉，我无法回答这个问题。", food))
    told = blame(CONVERSATION, right, LexicalSupport())
    assert (told.kind, told.why) == ("ok", "all 3 turns are right")


@pytest.mark.parametrize(
    ("context", "kind"), [("The lift is working since May.", "not_used"), ("It rains.", "retrieval_missed")]
)
def test_a_yes_is_retrieved_where_a_text_says_what_was_asked(context: str, kind: str) -> None:
    turns = (
        Turn(role="user", content="Is the lift working?"),
        Turn(role="assistant", reference="Yes, it works."),
    )
    told = blame(Sample(id="c", turns=turns), conversation(("No.", context)), LexicalSupport())
    assert told.turns[1].kind == kind


@pytest.mark.parametrize(
    ("answer", "value", "kind"),
    [("抱歉，书里没有写它多大。", 1.0, "ok"), ("它三百岁。", 0.0, "answered_wrongly")],
)
def test_a_turn_whose_reference_declines_may_be_declined(answer: str, value: float, kind: str) -> None:
    turns = (
        Turn(role="user", content="阿尤几岁？"),
        Turn(role="assistant", reference="资料中没有提到年龄。"),
    )
    asked, response = Sample(id="c", turns=turns), conversation((answer, "阿尤爱吃海葡萄。"))
    score = scorer_for("turn_correctness").score(asked, response)
    assert score.value == value
    assert "expects" not in score.details["turns"][0]
    assert blame(asked, response, LexicalSupport()).turns[1].kind == kind


def test_a_turn_may_also_say_what_a_reference_says_that_sounds_like_a_refusal() -> None:
    turns = (
        Turn(role="user", content="手册里有保修说明吗？"),
        Turn(role="assistant", reference="手册里没有保修说明。"),
    )
    asked, response = Sample(id="c", turns=turns), conversation(("没有，手册里没有保修说明。", "今天下雨。"))
    assert scorer_for("turn_correctness").score(asked, response).value == 1.0
    assert blame(asked, response, LexicalSupport()).turns[1].kind == "ok"


def test_the_turns_before_a_failure_are_blamed_and_the_others_are_unknown() -> None:
    failed = conversation(("叫阿贝多", "他的龙伙伴叫阿尤。"), failure=Failure(kind="http-400", message="no"))
    turns = blame(CONVERSATION, failed, LexicalSupport()).turns
    assert [found.kind for found in turns.values()] == ["not_used", "unknown", "unknown"]
    assert turns[2].why == "no answer: http-400"
    untold = blame(CONVERSATION, Response(text="海葡萄"), LexicalSupport())
    assert (untold.kind, untold.why) == ("unknown", "the target does not tell its answers turn by turn")
    assert untold.answers == (untold,)


def test_what_breaks_while_a_cause_is_sought_costs_the_cause_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_evaluation_framework.evaluation.blame.readings_of", lambda _: 1 / 0)
    row = {"question": "Is it?", "answer": SHIP, "contexts": [SHIP], "reference": SHIP}
    (found,) = evaluate([row], metrics=["faithfulness"]).rows
    assert (found.result.scores[0].value, found.blame.kind) == (1.0, "unknown")
    assert found.blame.why == "finding the cause broke: ZeroDivisionError: division by zero"
