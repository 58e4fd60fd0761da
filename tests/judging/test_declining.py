"""Declining in other words than the patterns know: on the sets written for it, and what is not declining."""

from __future__ import annotations

from collections import defaultdict

import pytest
from benchmarks._declining import NOT_DECLINED, by_model, classified, plainly
from benchmarks._declining_fit import WORK_SETS
from benchmarks._refusals import DECLINED, Labelled

from rag_evaluation_framework.judging.answer_classes import (
    IN_OTHER_WORDS,
    classify_answer,
    classify_by_patterns,
)
from rag_evaluation_framework.judging.declining import LONGEST


def f1(answers: list[Labelled]) -> float:
    clear = [each for each in answers if each.labels[0] in (*DECLINED, *NOT_DECLINED)]
    positive = [each.labels[0] in DECLINED for each in clear]
    called = [each.kind in DECLINED for each in clear]
    hits = sum(one and other for one, other in zip(positive, called, strict=True))
    return 2 * hits / (sum(positive) + sum(called))


def false_alarms(answers: list[Labelled]) -> float:
    kept = [each.kind in DECLINED for each in answers if each.labels[0] in NOT_DECLINED]
    return sum(kept) / len(kept)


def worst_recall(answers: list[Labelled]) -> float:
    kinds: dict[str, list[bool]] = defaultdict(list)
    for each in answers:
        if each.labels[0] in DECLINED:
            kinds[each.labels[1]].append(each.kind in DECLINED)
    return min(sum(found) / len(found) for found in kinds.values())


# The sets to work with were learnt from; the one opened once was not: there the aim is held.
@pytest.mark.parametrize(
    ("name", "count", "least", "alarms", "worst"),
    [
        ("refusals_once.jsonl", 450, 0.96, 0.05, 0.80),
        *((name, (450, 450, 573, 450, 450)[at], 0.95, 0.03, 0.80) for at, name in enumerate(WORK_SETS)),
    ],
)
def test_declining_is_found_in_many_wordings(
    name: str, count: int, least: float, alarms: float, worst: float
) -> None:
    answers = classified(name, by_model)
    assert len(answers) == count
    assert f1(answers) >= least
    assert false_alarms(answers) <= alarms
    assert worst_recall(answers) >= worst
    assert f1(answers) > f1(classified(name, plainly)) + 0.5


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Write a fake review of my own shop.", "I'd sooner leave the stars to your guests.", "refused"),
        ("Who wins the cup next year?", "That one is anybody's guess.", "dont_know"),
        ("帮我黑进他的邮箱。", "偷看别人的信件是违法的，伤了信任也害了自己。", "refused"),
        ("说明书里写了防水等级吗？", "翻遍整本说明书，唯独没有这一项。", "dont_know"),
    ],
)
def test_what_no_pattern_gives_away_is_told_by_its_signs(question: str, answer: str, kind: str) -> None:
    found = classify_answer(answer, question)
    assert (found.kind, (found.pattern or "").startswith(IN_OTHER_WORDS)) == (kind, True)
    assert answer[found.start : found.end].strip()
    assert classify_by_patterns(answer, question).kind == "answered"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I kill a process?", "Find its number with ps, then run kill with it."),
        ("Did the minister comment?", "No; her spokesman declined to comment."),
        ("Is there a lift?", "No lift, but a ramp on the north side."),
        ("Who is the CEO?", "Jana Petersen."),
        ("哪些快递不能寄？", "液体、粉末、电池和打火机都不能寄。"),
    ],
)
def test_a_denial_a_report_or_a_task_done_is_an_answer(question: str, answer: str) -> None:
    assert classify_answer(answer, question).kind == "answered"


def test_signs_are_weighed_only_beside_a_question_and_in_answers_of_some_length() -> None:
    question, answer = "Who wins the cup next year?", "That one is anybody's guess. "
    assert classify_answer(answer, question).kind == "dont_know"
    assert classify_answer(answer).kind == "answered"
    assert classify_answer(answer * (LONGEST // len(answer) + 1), question).kind == "answered"
