"""The sentences of verdicts, word for word."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.reports.messages import verdict_sentences as of

SENTENCES = [
    (of.all_correct(total=30), "all 30 answers are correct."),
    (
        of.some_wrong(total=30, wrong=3, kinds={"retrieval_missed": 2, "wrong_refusal": 1}),
        "3 of 30 answers are wrong: 2 retrieval misses, 1 wrong refusal.",
    ),
    (of.wrong_allowed(total=30, wrong=1, gate="allows 2"), "1 of 30 answers is wrong; the gate allows 2."),
    (
        of.few_unjudged(total=30, correct=28, partly=0, unjudged=2),
        "28 of 30 answers are correct; 2 were not judged.",
    ),
    (
        of.correctness_not_judged(total=30),
        "every threshold is met; the correctness of 30 answers was not judged.",
    ),
    (
        of.too_few_correct(total=30, correct=21, partly=9, gate="requires 27"),
        "21 of 30 answers are correct, 9 partly correct; the gate requires 27.",
    ),
    (
        of.too_many_unjudged(total=30, unjudged=10, wrong=0),
        "10 of 30 answers were not judged; none is known to be wrong.",
    ),
    (of.nothing_to_judge_by(), "the answers have no reference, label or judge."),
    (of.other_questions(), "the baseline has other questions."),
    (
        of.some_wrong(total=14, wrong=2, kinds={"wrong": 2}, conversations=5),
        "2 of 14 answers in 5 conversations are wrong.",
    ),
    (
        of.incomplete(total=30, answered=18, reason="rag-eval cannot connect to the agent"),
        "18 of 30 questions were answered; rag-eval cannot connect to the agent.",
    ),
    (
        of.flagged_answers(flagged=34, total=500),
        "34 of 500 answers were flagged: they state things that no retrieved passage contains.",
    ),
    (of.wrong_uncovered(total=30, wrong=15), "15 of 30 answers are wrong; no threshold covers them."),
    (
        of.mean_missed(metric="faithfulness", value="0.74", threshold="0.80", wrong=0),
        "faithfulness is 0.74, the threshold is 0.80; no answer is known to be wrong.",
    ),
    (
        of.became_wrong(worse=3, baseline="main", is_confirmed=True),
        "3 answers that were correct in main are now wrong, also when asked again.",
    ),
    (of.became_wrong(worse=3, baseline="main"), "3 answers that were correct in main are now wrong."),
    (
        of.none_got_worse(baseline="main", better=0, unstable=2),
        "no answer got worse than in main; 2 are unstable.",
    ),
    (
        of.none_got_worse(baseline="main", better=2, unsure=3),
        "no answer became wrong since main; 3 are partly correct or were not confirmed.",
    ),
    (
        of.became_wrong(worse=3, partly=1, baseline="main"),
        "3 answers that were correct or partly correct in main are now wrong.",
    ),
    (
        of.no_longer_confirmed(count=2, baseline="main", were_judged=True),
        "2 answers are no longer as good as in main, but not wrong every time.",
    ),
    (of.none_got_worse(baseline="main", better=2), "no answer got worse than in main; 2 got better."),
    (
        of.no_longer_confirmed(count=4, baseline="main"),
        "4 answers that were correct in main could not be judged this time.",
    ),
    (
        of.different_samples(
            word="Worse",
            share=0.26,
            total=200,
            share_before=0.09,
            before=200,
            low=10,
            high=25,
            what="flagged",
        ),
        "Worse: 26% of 200 answers were flagged, 9% of 200 before (+10 to +25 points).",
    ),
    (of.refusals_missed(missed=4, expected=5), "4 of 5 questions that should be refused were answered."),
    (
        of.judge_failed(silent=28, asked=30, reason="quota exceeded"),
        "the judge gave no verdict on 28 of 30 answers (quota exceeded).",
    ),
    (
        of.agent_failed(total=30, failed=5, kinds={"timeout": 4, "http-500": 1}),
        "5 of 30 questions got no answer (4 timeouts, 1 server error).",
    ),
    (
        of.off_topic(count=17, total=17),
        "17 of 17 answers contain none of the expected words; none was judged.",
    ),
    (
        of.without_gate(correct=24, partly=4, wrong=2, unjudged=0),
        "24 of 30 answers are correct, 4 partly correct, 2 wrong.",
    ),
    (of.no_problems(total=500, unjudged=480), "No problems found in 500 answers; 480 were not judged."),
    (of.compared(word="Worse", worse=3, better=1), "Worse: 3 answers got worse, 1 got better."),
]
OF_ONE = [
    (of.all_correct(total=1), "the only answer is correct."),
    (of.some_wrong(wrong=1, total=1, kinds={"wrong": 1}), "1 of 1 answer is wrong."),
    (of.became_wrong(worse=1, baseline="b"), "1 answer that was correct in b is now wrong."),
    (of.off_topic(count=1, total=3), "1 of 3 answers contains none of the expected words; none was judged."),
    (
        of.flagged_answers(flagged=1, total=9),
        "1 of 9 answers was flagged: it states things that no retrieved passage contains.",
    ),
    (of.wrong_uncovered(wrong=1, total=9), "1 of 9 answers is wrong; no threshold covers it."),
    (
        of.few_unjudged(correct=1, total=3, partly=1, unjudged=1),
        "1 of 3 answers is correct, 1 partly correct; 1 was not judged.",
    ),
    (of.without_gate(correct=0, partly=0, wrong=0, unjudged=4), "4 of 4 answers were not judged."),
    (
        of.mean_missed(metric="m", value="1", threshold="2", wrong=1),
        "m is 1, the threshold is 2; 1 answer is wrong.",
    ),
    (of.too_many_unjudged(unjudged=9, total=10, wrong=1), "9 of 10 answers were not judged; 1 is wrong."),
]


@pytest.mark.parametrize(("said", "expected"), [*SENTENCES, *OF_ONE])
def test_sentence_of_a_situation_is_as_designed(said: str, expected: str) -> None:
    assert said == expected
    assert len(expected) <= 90


def test_some_wrong_with_many_kinds_stays_short() -> None:
    kinds = {"not_used": 9, "retrieval_missed": 8, "contradicted": 7, "missed_refusal": 6, "wrong": 5}
    said = of.some_wrong(wrong=35, total=400, kinds=kinds)
    assert said == "35 of 400 answers are wrong: 9 retrieved but not used, 26 other."
    assert len(f"✗ FAILED: {said}") <= 90
