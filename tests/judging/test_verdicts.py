"""The verdict on one answer: every line of the decision table, every pair of lines, and the counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import evaluate, metric
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.files.yaml_documents import decode
from rag_evaluation_framework.judging.answer_classes import classify_answer
from rag_evaluation_framework.judging.verdict import (
    GRADES,
    STATES,
    AnswerCounts,
    AnswerVerdict,
    decide,
    decide_result,
    read_verdict,
)
from rag_evaluation_framework.metrics.declaration import DECIDES
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.metrics.views import TEXTS
from rag_evaluation_framework.records.responses import TURNS, Failure, Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Entities, Milestones, Refusal, Relation, Sample, Turn
from rag_evaluation_framework.records.scores import NOT_DRAWN, Score
from rag_evaluation_framework.structs import replace

TABLE: dict[str, Any] = decode(Path(__file__).with_name("verdict_table.yaml").read_text(encoding="utf-8"))
DEFAULTS = TABLE.pop("defaults")
ROWS = [(line, row) for line, rows in TABLE.items() for row in rows]


def sample_of(row: Mapping[str, Any]) -> Sample:
    expectation: Any = None
    if refuse := row.get("refuse"):
        expectation = Refusal(pattern=None if refuse is True else refuse)
    elif names := row.get("names"):
        expectation = Entities(names=tuple(names))
    elif events := row.get("events"):
        expectation = Milestones(steps=tuple(events))
    elif relation := row.get("relation"):
        subject, name, object_ = relation
        expectation = Relation(subject=subject, relation=name, object=object_)
    turns = (Turn(role="user", content=row.get("q", DEFAULTS["q"])),)
    references = tuple(row.get("refs", ()))
    return Sample(
        id="s", turns=turns, reference=row.get("ref"), references=references, expectation=expectation
    )


def response_of(row: Mapping[str, Any]) -> Response:
    if failure := row.get("failure"):
        return Response(failure=Failure(kind=failure, message="no answer"))
    text = followed(row.get("a", DEFAULTS["a"]), *row.get("beside", ()))
    passages = [followed(text, *row["passage"])] if "passage" in row else []
    return Response(text=text, contexts=(*row.get("contexts", ()), *passages))


def followed(text: str, sentence: str = "", times: int = 0) -> str:
    """Return a text with a sentence behind it so many times."""
    return " ".join([text, *[sentence] * times])


def scores_of(row: Mapping[str, Any]) -> Iterator[Score]:
    for name, state in row.get("own", {}).items():
        if state is None:
            score = Score.failed(name, "it broke", method="own", details={DECIDES: None})
        else:
            score = Score.scored(name, 1.0, method="own", details={DECIDES: state})
        yield score
    if "flagged" in row:
        label = "unsupported" if row["flagged"] else "supported"
        yield claims_score("faithfulness", label, "lexical support, screening")
    judge = row.get("judge", {})
    if "class" in judge:
        for name in ("refusal_recall", "over_refusal"):
            yield Score.scored(name, 1.0, method="judge:m", details={"class": judge["class"]})
    if "claims" in judge:
        yield claims_score(judge.get("metric", "claim_recall"), judge["claims"])
    if "contexts" in judge:
        yield claims_score("faithfulness", judge["contexts"])
    if "silent" in judge:
        yield Score.failed(judge["silent"], "no verdict: quota", method="judge:m")
    if "undrawn" in judge:
        yield Score.skipped(judge["undrawn"], NOT_DRAWN, method="judge:m")


def claims_score(name: str, labels: str, method: str = "judge:m") -> Score:
    key = "reference_claims" if name == "answer_correctness" else "claims"
    claims = [{"start": 0, "end": 1, "label": label} for label in labels.split()]
    return Score.scored(name, 0.5, method=method, details={key: claims})


def decide_row(row: Mapping[str, Any]) -> AnswerVerdict:
    checks = list(row.get("checks", {}).items())
    return decide(sample_of(row), response_of(row), list(scores_of(row)), row.get("label"), checks)


@pytest.mark.parametrize(("line", "row"), ROWS, ids=[f"{line}: {row['why']}" for line, row in ROWS])
def test_decision_table_row_gives_its_verdict(line: str, row: Mapping[str, Any]) -> None:
    verdict = decide_row(row)
    assert verdict.state == row["is"], verdict
    if "by" in row:
        assert verdict.by == row["by"], verdict
    if "leaning" in row:
        assert verdict.leaning == row["leaning"], verdict
    assert verdict.flags == tuple(row.get("flags", ())), verdict
    assert (verdict.leaning is None) or verdict.state == "not_judged"


# One kind of evidence for each line, in the order of the lines; each alone gives its state.
EVIDENCE: dict[int, tuple[dict[str, Any], str]] = {
    1: ({"a": ""}, "no_answer"),
    2: ({"label": "partly_correct"}, "partly_correct"),
    3: ({"checks": {"max_words 2": False}}, "wrong"),
    4: ({"own": {"tone": "unsupported"}}, "unsupported"),
    5: ({"refuse": True, "judge": {"class": "answered"}}, "missed_refusal"),
    6: ({"ref": "at 7:30", "judge": {"silent": "claim_recall"}}, "not_judged"),
    7: ({"ref": "at 7:30", "judge": {"claims": "supported unsupported"}}, "partly_correct"),
    9: ({"ref": "at 7:30", "a": "I don't know."}, "wrong_refusal"),
    10: ({"names": ["office"]}, "correct"),
    11: ({"ref": "at 7:30"}, "correct"),
    12: ({"contexts": ["x"], "judge": {"contexts": "unsupported"}}, "unsupported"),
}


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the evidence of two lines together; where both set a field, the first has it."""
    judge = {**second.get("judge", {}), **first.get("judge", {})}
    return {**second, **first, **({"judge": judge} if judge else {})}


@pytest.mark.parametrize(("first", "second"), [*combinations(EVIDENCE, 2)])
def test_earlier_line_of_the_table_decides(first: int, second: int) -> None:
    (evidence, state), (other, _) = EVIDENCE[first], EVIDENCE[second]
    overruled = {
        (7, 12),
        (10, 12),
        (11, 12),
    }  # an unsupported claim overrules what lines 7 to 14 leave correct
    expected = "unsupported" if (first, second) in overruled else state
    if (first, second) == (7, 9):  # a judge's claims do not decide about a refusal
        expected = "wrong_refusal"
    assert decide_row(merged(evidence, other)).state == expected


EVIDENCES = st.fixed_dictionaries(
    {},
    optional={
        "failure": st.just("timeout"),
        "label": st.sampled_from([*STATES, "disputed"]),
        "checks": st.dictionaries(st.sampled_from(["one", "two"]), st.booleans(), min_size=1),
        "own": st.dictionaries(
            st.sampled_from(["tone", "facts"]), st.sampled_from(["correct", "wrong"]), min_size=1
        ),
        "refuse": st.just(True),
        "ref": st.just("at 7:30"),
        "judge": st.fixed_dictionaries(
            {},
            optional={
                "class": st.sampled_from(["answered", "refused"]),
                "silent": st.just("hallucination"),
                "claims": st.sampled_from(["supported", "contradicted", "supported unsupported"]),
                "contexts": st.sampled_from(["supported", "unsupported"]),
            },
        ),
    },
)


def oracle(row: Mapping[str, Any]) -> str:
    """Return the state by the table's own words, for answers that state the reference."""
    judge, refuses = row.get("judge", {}), row.get("judge", {}).get("class") == "refused"
    of_claims = {"supported": "correct", "contradicted": "wrong", "supported unsupported": "partly_correct"}
    if "failure" in row:
        return "no_answer"
    if "label" in row:
        return "not_judged" if row["label"] == "disputed" else row["label"]  # type: ignore[no-any-return]
    if not all(row.get("checks", {}).values()):
        return "wrong"
    if "own" in row:
        return "wrong" if "wrong" in row["own"].values() else "correct"
    if "refuse" in row:
        return {None: "missed_refusal", "answered": "missed_refusal"}.get(
            judge.get("class"), "correct_refusal"
        )
    if "checks" in row and "ref" not in row:
        return "correct"
    if "silent" in judge:
        return "not_judged"
    if refuses:
        found = "not_judged"  # it refuses and has the expected words, or nothing says that it should answer
    elif "claims" in judge:
        found = of_claims[judge["claims"]]
    else:
        found = "correct" if "ref" in row else "not_judged"
    return "unsupported" if judge.get("contexts") == "unsupported" and found != "wrong" else found


@given(EVIDENCES)
def test_combinations_of_evidence_follow_the_oracle(row: dict[str, Any]) -> None:
    row = {"a": "Sure, the office opens at 7:30.", **row}
    assert decide_row(row).state == oracle(row)


@given(EVIDENCES, st.sampled_from(["faithfulness", "claim_recall", "answer_correctness"]))
def test_lost_evidence_never_makes_an_answer_correct(row: dict[str, Any], metric: str) -> None:
    before = decide_row(row)
    scores = [
        Score.failed(each.metric, "quota", method=each.method, details={}) if each.metric == metric else each
        for each in scores_of(row)
    ]
    checks = list(row.get("checks", {}).items())
    after = decide(sample_of(row), response_of(row), scores, row.get("label"), checks)
    assert before.is_correct or not after.is_correct or before.by == "judge"


def conversation(*answers: str, failure: str | None = None) -> AnswerVerdict:
    turns = []
    for question, reference in (("When does it open?", "at 7:30"), ("And when does it close?", "at 18:00")):
        turns += [Turn(role="user", content=question), Turn(role="assistant", reference=reference)]
    response = Response(
        text=answers[-1] if failure is None else None,
        failure=None if failure is None else Failure(kind=failure, message="no answer"),
        metadata={TURNS: [{"answer": each} for each in answers]},
    )
    verdict = decide_result(Sample(id="c", turns=tuple(turns)), SampleResult("c", response))
    assert verdict is not None
    return verdict


def test_conversation_has_the_state_of_its_worst_turn() -> None:
    assert conversation("It opens at 7:30.", "It closes at 18:00.").state == "correct"
    verdict = conversation("It opens at 7:30.", "I don't know.")
    assert verdict.state == "wrong_refusal"
    assert [turn.state for turn in verdict.turns] == ["correct", "wrong_refusal"]


def test_turn_that_was_not_asked_is_unanswered() -> None:
    verdict = conversation("It opens at 7:30.", failure="timeout")
    assert [turn.state for turn in verdict.turns] == ["correct", "no_answer"]
    assert verdict.state == "no_answer"


def test_retrieved_documents_alone_have_no_verdict() -> None:
    sample = sample_of({"ref": "at 7:30"})
    response = Response(metadata={"recorded": "retrieval"}, contexts=("x",))
    assert decide_result(sample, SampleResult("s", response)) is None


def row_of(name: str, state: Any, sample: Sample | None = None) -> SimpleNamespace:
    return SimpleNamespace(id=name, split=None, sample=sample, verdict=AnswerVerdict(state))


@given(st.lists(st.sampled_from(STATES)))
def test_counts_add_up_and_do_not_depend_on_the_order(states: list[Any]) -> None:
    rows = [row_of(str(n), state) for n, state in enumerate(states)]
    counts = AnswerCounts.of(rows)
    assert counts.total == len(states) == sum(counts.count(grade) for grade in GRADES)
    again = AnswerCounts.of(rows[::-1])
    assert again.to_dict()["states"] == counts.to_dict()["states"]
    assert AnswerCounts.together([counts, AnswerCounts()]) == counts


def test_repeats_of_other_grades_are_unstable() -> None:
    states = {"a": "correct", "a~2": "wrong", "b": "correct", "b~2": "correct_refusal"}
    rows = [row_of(name, state) for name, state in states.items()]
    counts = AnswerCounts.of(rows)
    assert (counts.unstable, counts.questions, counts.total) == (("a",), 2, 4)


ASKED = Sample(id="s", turns=(Turn(role="user", content="When does it open?"),), reference="at 7:30")


@pytest.mark.parametrize(
    ("other", "questions"),
    [
        (ASKED, 1),
        (replace(ASKED, id="t", turns=(Turn(role="user", content="WHEN does  it open?"),)), 1),
        (replace(ASKED, reference="at 8:00"), 2),
        (replace(ASKED, turns=(Turn(role="user", content="When does it close?"),)), 2),
        (replace(ASKED, reference=None, expectation=Refusal()), 2),
    ],
)
def test_rows_that_ask_and_expect_the_same_are_one_question(other: Sample, questions: int) -> None:
    rows = [row_of("a", "correct", ASKED), row_of("b", "wrong", other), row_of("c", "wrong", other)]
    counts = AnswerCounts.of(rows)
    assert (counts.questions, counts.total) == (questions, 3)
    assert counts.unstable == (("a",) if questions == 1 else ())


def test_rows_without_a_question_are_questions_of_their_own() -> None:
    silent = replace(ASKED, turns=(Turn(role="user", content=" "),))
    counts = AnswerCounts.of([row_of("a", "correct", silent), row_of("b", "wrong", silent)])
    assert (counts.questions, counts.unstable) == (2, ())


@pytest.mark.parametrize("state", STATES)
def test_every_answer_that_should_refuse_is_counted_whatever_its_state(state: Any) -> None:
    refusing = replace(ASKED, reference=None, expectation=Refusal())
    counts = AnswerCounts.of([row_of("a", state, refusing), row_of("b", "correct", ASKED)])
    assert counts.refusals_expected == 1
    assert AnswerCounts.together([counts, counts]).refusals_expected == 2


def test_turns_that_should_refuse_are_counted_one_by_one() -> None:
    turns = [Turn(role="user", content="Tell me."), Turn(role="assistant", expectation=Refusal())] * 2
    verdict = AnswerVerdict(
        "not_judged", turns=(AnswerVerdict("missed_refusal"), AnswerVerdict("not_judged"))
    )
    row = row_of("c", "correct", Sample(id="c", turns=tuple(turns)))
    row.verdict = verdict
    assert AnswerCounts.of([row]).refusals_expected == 2


@pytest.mark.parametrize("state", STATES)
def test_verdict_reads_back_from_results(state: Any) -> None:
    verdict = AnswerVerdict(state, "words", "why", flags=("unsupported_text",), cause="not_used")
    assert read_verdict(verdict.to_dict()) == verdict
    of_turns = AnswerVerdict(state, turns=(verdict, verdict))
    assert read_verdict(of_turns.to_dict()) == of_turns


@pytest.mark.usefixtures("own_metrics")
def test_own_metric_decides_and_one_that_breaks_leaves_open() -> None:
    @metric("is_short", reads=TEXTS, decides=True)
    def is_short(answer: str) -> bool:
        """Return True if the answer is short.

        Formula: fewer than 20 characters.

        Empty: never.

        Source: our style guide.
        """
        if answer.startswith("!"):
            raise ValueError("no words")
        return len(answer) < 20

    rows = [
        {"question": "When?", "answer": answer, "reference": "at 7:30"}
        for answer in ("Early.", "The office opens at 7:30.", "!")
    ]
    evaluation = evaluate(rows, metrics=["is_short"])
    verdicts = [row.verdict for row in evaluation.rows]
    assert [(each.state, each.by) for each in verdicts if each] == [
        ("correct", "metric"),
        ("wrong", "metric"),
        ("not_judged", "metric"),
    ]
    assert (evaluation.answers.correct, evaluation.answers.wrong, evaluation.answers.not_judged) == (1, 1, 1)


@pytest.mark.usefixtures("own_metrics")
def test_deciding_metric_that_returns_a_number_is_refused() -> None:
    with pytest.raises(UsageError, match="got a number"):

        @metric("length", reads=TEXTS, decides=True)
        def length(answer: str) -> float:
            return len(answer)


REPLIES = decode(Path(__file__).with_name("compliances.yaml").read_text(encoding="utf-8"))
INDIRECT = REPLIES.pop("indirect")
COMPLIANCES = [row for rows in REPLIES.values() for row in rows]


@pytest.mark.parametrize(("question", "answer"), COMPLIANCES)
def test_short_compliance_is_never_a_refusal(question: str, answer: str) -> None:
    assert classify_answer(answer, question).kind not in DECLINED
    verdict = decide_row({"q": question, "a": answer, "refuse": True})
    assert not verdict.is_correct, verdict


def test_compliances_are_120_of_each_language() -> None:
    assert {name: len(rows) for name, rows in REPLIES.items()} == {"en": 120, "zh": 120}
    assert len(INDIRECT) == 40


@pytest.mark.parametrize(("question", "answer"), INDIRECT)
def test_indirect_refusal_is_never_missed(question: str, answer: str) -> None:
    assert not decide_row({"q": question, "a": answer, "refuse": True}).is_wrong


SENTENCES = decode(Path(__file__).with_name("sentence_answers.yaml").read_text(encoding="utf-8"))
_GRADE_OF = {"correct_refusal": "correct", "wrong_refusal": "wrong", "missed_refusal": "wrong"}


@pytest.mark.parametrize("row", SENTENCES, ids=[row["answer"][:40] for row in SENTENCES])
def test_sentence_answer_has_its_label_or_is_not_judged(row: Mapping[str, Any]) -> None:
    asked = {"q": row["question"], "ref": row["reference"], "refuse": row.get("expects_refusal")}
    verdict = decide_row({**asked, "a": row["answer"], "contexts": [row["context"]]})
    label = row["label"]
    assert verdict.grade in ("not_judged", _GRADE_OF.get(label, label)), verdict


def test_sentences_labeled_correct_and_wrong_are_both_judged() -> None:
    grades = [
        (row["label"], decide_row({"q": row["question"], "ref": row["reference"], "a": row["answer"]}).grade)
        for row in SENTENCES
        if row["reference"]
    ]
    assert sum(pair == ("correct", "correct") for pair in grades) >= 5
    assert sum(pair == ("wrong", "wrong") for pair in grades) >= 2
