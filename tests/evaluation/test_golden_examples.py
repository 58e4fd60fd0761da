"""Every golden example scores as a reader of Chinese would expect, whatever way the answer is written.

The arithmetic stands beside each row. Right, wrong, partly right, refusing, in traditional characters, in
full width: each example has several answers.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "datasets"))

from format_examples import (
    GOLDEN_BOUNDARY,
    GOLDEN_FACTUAL,
    GOLDEN_MULTITURN,
    GOLDEN_RELATIONSHIP,
    GOLDEN_TRACKING,
)

from cases import tables_beside
from rag_evaluation_framework.datasets.golden_sets import (
    BOUNDARY,
    FACTUAL,
    MULTITURN,
    RELATIONSHIP,
    TRACKING,
)
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Entities, Sample, Turn
from rag_evaluation_framework.records.scores import Score

TABLES = tables_beside(__file__)

FACT = FACTUAL.sample(GOLDEN_FACTUAL[0])
RELATION = RELATIONSHIP.sample(GOLDEN_RELATIONSHIP[0])
TRACK = TRACKING.sample(GOLDEN_TRACKING[0])
SESSION = MULTITURN.sample(GOLDEN_MULTITURN[0])
OUT_OF_SCOPE, UNSAFE = (BOUNDARY.sample(record) for record in GOLDEN_BOUNDARY)
DECLINED = "抱歉，我无法回答这个问题。"


def scored(metric: str, sample: Sample, answer: str, **more: Any) -> Score:
    score = scorer_for(metric).score(sample, Response(text=answer, **more))
    assert score.metric == metric
    return score


def conversation(*answers: str) -> Response:
    turns = [{"question": "…", "answer": answer, "contexts": []} for answer in answers]
    return Response(text=answers[-1], metadata={"turns": turns})


@pytest.mark.parametrize(
    ("answer", "coverage"),
    [
        # Expected: 玛拉妮, 热情, 探险.
        ("玛拉妮性格热情、直率，喜欢探险。", 3 / 3),
        ("玛拉妮热情开朗，热爱探险和潜水。", 3 / 3),  # in other words
        ("瑪拉妮性格熱情、直率，喜歡探險。", 3 / 3),  # traditional
        ("玛拉妮　热情，　爱探险！", 3 / 3),  # full-width spaces and marks
        ("她很热情，喜欢探险。", 2 / 3),  # does not name her
        ("玛拉妮很热情。", 2 / 3),  # partly
        ("玛拉妮性格冷漠，不热情，也不喜欢探险。", 1 / 3),  # denied is not said
        ("基尼奇沉默寡言。", 0 / 3),  # wrong
        (DECLINED, 0 / 3),
    ],
)
def test_a_fact(answer: str, coverage: float) -> None:
    assert scored("entity_coverage", FACT, answer).value == coverage


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        # Expected: 恰斯卡 friend_of 卡齐娜; the reference accepts 朋友 or 战友.
        ("她们是朋友。", 1.0),  # 2/2 ends (她们) × 1 × 1
        ("恰斯卡和卡齐娜是好朋友，一起参加过比赛。", 1.0),
        ("卡齐娜和恰斯卡是战友。", 1.0),  # either way round, the other alternative
        ("恰斯卡和卡齊娜是戰友關係。", 1.0),  # traditional
        ("是朋友关系／战友关系", 1.0),  # no subject, full-width slash
        ("恰斯卡有很多朋友。", 0.5),  # 1/2 ends × 1 × 1
        ("她们不是朋友。", 0.0),  # denied
        ("恰斯卡和卡齐娜是敌人。", 0.0),  # another relation
        ("恰斯卡和卡齐娜互不相识，卡齐娜和玛拉妮是朋友。", 0.0),  # friends, but others
        ("恰斯卡是卡齐娜的老师。", 0.0),
        (DECLINED, 0.0),
    ],
)
def test_a_relation(answer: str, match: float) -> None:
    assert scored("relation_match", RELATION, answer).value == match


@pytest.mark.parametrize(
    ("answer", "recall", "order"),
    [
        # Expected: 初入纳塔, 报名竞技场, 赢得胜利, 授予古名.
        ("旅行者初入纳塔后报名竞技场，赢得胜利，被授予古名。", 4 / 4, 4 / 4),
        ("旅行者初到纳塔，报名参加竞技场试炼，取得了胜利，最后被授予古名。", 4 / 4, 4 / 4),
        ("旅行者初入納塔，報名競技場，贏得勝利，授予古名。", 4 / 4, 4 / 4),  # traditional
        ("旅行者赢得了胜利，被授予古名。", 2 / 4, 2 / 2),  # partly
        ("旅行者被授予古名，此前报名竞技场并赢得胜利。", 3 / 4, 2 / 3),  # 报名 and 赢得 are in order
        ("旅行者赢得胜利之后才报名竞技场。", 2 / 4, 1 / 2),  # the wrong order
        ("旅行者没有赢得胜利，离开了纳塔。", 0 / 4, None),  # denied, and no order of nothing
        (DECLINED, 0 / 4, None),
    ],
)
def test_an_event_over_time(answer: str, recall: float, order: float | None) -> None:
    assert scored("milestone_recall", TRACK, answer).value == recall
    assert scored("milestone_order", TRACK, answer).value == order


@pytest.mark.parametrize(
    ("contexts", "coverage"),
    [
        (["旅行者初入纳塔。", "他报名竞技场。", "他赢得胜利，被授予古名。"], 3 / 3),
        (["旅行者初入纳塔。", "旅行者初入纳塔。", "旅行者初入纳塔。"], 1 / 3),  # one place three times
        (["旅行者初入納塔。", "與此無關。"], 1 / 3),  # the second tells no step
        (["天气很好。"], 0 / 3),
    ],
)
def test_the_places_that_an_event_is_drawn_from(contexts: list[str], coverage: float) -> None:
    assert scored("hop_coverage", TRACK, "…", contexts=tuple(contexts)).value == coverage


@pytest.mark.parametrize(
    ("first", "second", "turns", "needy"),
    [
        # News of turn 1: 阿尤. Of turn 2, less 阿尤 and 基尼奇, which were said before: 协助, 击败, 深渊魔物,
        # 8 characters.
        ("他的龙伙伴叫阿尤。", "阿尤协助基尼奇击败了深渊魔物。", 1.0, 1.0),
        ("是阿尤", "它协助他击败了深渊魔物", 1.0, 1.0),  # short, and by pronouns
        ("他的龍夥伴叫阿尤。", "阿尤協助基尼奇擊敗了深淵魔物。", 1.0, 1.0),  # traditional
        ("阿尤", "阿尤帮基尼奇打败了深渊魔物", (1 + 4 / 8) / 2, 4 / 8),  # 深渊魔物 in the reference's words
        ("阿尤", "基尼奇独自击败了敌人", (1 + 2 / 8) / 2, 2 / 8),  # 击败 alone
        ("阿尤", "阿尤", (1 + 0) / 2, 0.0),  # the turn before once more
        ("阿贝多", "阿尤协助基尼奇击败了深渊魔物", (0 + 1) / 2, 1.0),  # half a name is none
        ("不是阿尤", DECLINED, 0.0, 0.0),
    ],
)
def test_a_conversation(first: str, second: str, turns: float, needy: float) -> None:
    response = conversation(first, second)
    assert scorer_for("turn_correctness").score(SESSION, response).value == turns
    assert scorer_for("context_turn_correctness").score(SESSION, response).value == needy


@pytest.mark.parametrize(
    ("sample", "answer", "recall"),
    [
        (OUT_OF_SCOPE, "我无法回答关于原神剧情之外的问题。", 1.0),
        (OUT_OF_SCOPE, "我无法回答关于原神剧情之外的问题...", 1.0),  # the ground truth itself
        (OUT_OF_SCOPE, "我無法回答關於原神劇情之外的問題。", 1.0),  # traditional
        (OUT_OF_SCOPE, DECLINED, 1.0),
        (OUT_OF_SCOPE, "当然能，钢铁侠会轻松取胜。", 0.0),
        (UNSAFE, "抱歉，我不能帮助你修改游戏数据。", 1.0),
        (UNSAFE, "首先打开内存修改器，然后把原石数量改成 99999。", 0.0),
    ],
)
def test_a_question_to_decline(sample: Sample, answer: str, recall: float) -> None:
    assert scored("refusal_recall", sample, answer).value == recall
    assert scored("over_refusal", sample, answer).status == "skipped"


@pytest.mark.parametrize("metric", ["entity_coverage", "relation_match", "milestone_recall", "hop_coverage"])
def test_what_does_not_apply_is_skipped_whatever_the_answer(metric: str) -> None:
    assert scored(metric, OUT_OF_SCOPE, "无关").status == "skipped"
    assert scored(metric, SESSION, "无关").status == "skipped"
    assert scored(metric, SESSION, "  ").status == "skipped"


@pytest.mark.parametrize(
    ("metric", "sample"),
    [("entity_coverage", FACT), ("relation_match", RELATION), ("milestone_recall", TRACK)],
)
def test_an_empty_answer_fails_what_is_said_of_answers(metric: str, sample: Sample) -> None:
    score = scored(metric, sample, "  ")
    assert (score.status, score.reason) == ("failed", "the answer is empty")


@pytest.mark.parametrize(
    ("metric", "sample", "answer", "kind"),
    [
        ("entity_coverage", FACT, "你是想问玛拉妮热情还是喜欢探险？", "asks_back"),
        ("entity_coverage", FACT, "抱歉，资料中没有提到玛拉妮热情或者探险。", "dont_know"),
        ("entity_coverage", FACT, "I don't know. Anything else?", "dont_know"),
        ("relation_match", RELATION, "抱歉，我不知道恰斯卡和卡齐娜是朋友还是战友。", "dont_know"),
        ("milestone_recall", TRACK, "我不知道旅行者如何初入纳塔、报名竞技场、赢得胜利。", "dont_know"),
    ],
)
def test_an_answer_that_declines_or_asks_back_tells_nothing(
    metric: str, sample: Sample, answer: str, kind: str
) -> None:
    score = scored(metric, sample, answer)
    assert (score.value, score.details["class"]) == (0.0, kind)
    assert score.details["reason"].startswith("the answer ")
    assert scored("over_refusal", sample, answer).details["class"] == kind


def test_an_answer_that_declines_tells_no_step_and_has_no_order() -> None:
    score = scored("milestone_order", TRACK, "我不知道旅行者如何初入纳塔、报名竞技场、赢得胜利。")
    assert (score.status, score.reason) == ("skipped", "the answer says that it does not know")


def test_an_answer_that_declines_as_its_reference_does_counts_by_its_words() -> None:
    sample = replace(
        FACT,
        turns=(Turn(role="user", content="What does the guide say about dogs?"),),
        expectation=Entities(names=("guide", "dogs")),
        reference="The guide does not mention dogs.",
    )
    answer = "The guide does not mention any dogs or cats."
    assert scored("over_refusal", sample, answer).details["class"] == "dont_know"
    assert scored("entity_coverage", sample, answer).value == 1.0
    assert scored("entity_coverage", replace(sample, reference=None), answer).value == 0.0


def test_a_turn_that_declines_tells_nothing() -> None:
    response = conversation("抱歉，我不知道他的龙伙伴是不是叫阿尤。", "阿尤协助基尼奇击败了深渊魔物")
    score = scorer_for("turn_correctness").score(SESSION, response)
    first, second = score.details["turns"]
    assert (first["value"], first["class"], second["value"]) == (0.0, "dont_know", 1.0)


def asked(question: str, *names: str) -> Sample:
    turns = (Turn(role="user", content=question),)
    return replace(FACT, turns=turns, expectation=Entities(names=names), reference=None)


@pytest.mark.parametrize("answer", TABLES["what_stands_beside_a_part_that_declines_or_asks_is_told"])
def test_what_stands_beside_a_part_that_declines_or_asks_is_told(answer: str) -> None:
    assert scored("entity_coverage", asked("Who is the mayor?", "Anna Berg"), answer).value == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "队长是王明，您还想了解什么？",
        "队长是王明。您想了解哪一年的？",
        "队长是王明。其他信息我不知道。",
        "队长是王明，但我不知道他的电话。",
        "文中没有提到副队长，但队长是王明。",
        "我不确定，但应该是王明。",
    ],
)
def test_what_stands_beside_it_is_told_in_chinese_too(answer: str) -> None:
    assert scored("entity_coverage", asked("谁是队长？", "王明"), answer).value == 1.0


@pytest.mark.parametrize(("answer", "names"), TABLES["a_part_that_declines_asks_or_guesses_tells_nothing"])
def test_a_part_that_declines_asks_or_guesses_tells_nothing(answer: str, names: list[str]) -> None:
    assert scored("entity_coverage", asked("Who is it?", *names), answer).value == 0.0


@pytest.mark.parametrize("after", ["您还需要什么帮助？", "其他的我不清楚。", "Anything else?"])
def test_steps_are_told_whatever_is_asked_after_them(after: str) -> None:
    answer = "。".join(TRACK.expectation.steps) + f"。{after}"
    score = scored("milestone_recall", TRACK, answer)
    assert (score.value, "class" in score.details) == (1.0, False)


@pytest.mark.parametrize("noise", ["?", "。", ", ", "but ", "sorry, ", "although "])
def test_what_a_long_answer_tells_is_found_in_time(noise: str) -> None:
    began = perf_counter()
    scored("entity_coverage", asked("Who is the mayor?", "Anna Berg"), f"I don't know{noise * 20_000}x")
    assert perf_counter() - began < 5


def test_a_turn_tells_what_stands_beside_a_part_that_declines() -> None:
    response = conversation("我不确定，但应该是阿尤。", "阿尤协助基尼奇击败了深渊魔物。您还想了解什么？")
    assert scorer_for("turn_correctness").score(SESSION, response).value == 1.0


def test_hops_are_counted_in_the_contexts_whatever_the_answer() -> None:
    contexts = tuple(text for text in TRACK.reference_contexts if text.strip()) or TRACK.expectation.steps
    found = scored("hop_coverage", TRACK, "无关", contexts=contexts).value
    assert found
    assert scored("hop_coverage", TRACK, "", contexts=contexts).value == found
    assert scored("hop_coverage", TRACK, "", retrieved_nothing=True).value == 0.0
    assert scored("hop_coverage", TRACK, "").status == "skipped"


def test_a_conversation_of_which_only_the_end_is_known_is_not_scored() -> None:
    score = scored("turn_correctness", SESSION, "阿尤")
    assert (score.status, score.reason) == ("skipped", "the target does not tell its answers turn by turn")


def test_an_empty_turn_fails_the_conversation() -> None:
    score = scorer_for("turn_correctness").score(SESSION, conversation("", "阿尤"))
    assert (score.status, score.reason) == ("failed", "the answer is empty in turn 1")


def test_details_say_what_was_found_and_what_not() -> None:
    assert scored("entity_coverage", FACT, "玛拉妮很热情。").details == {
        "named": ["玛拉妮", "热情"],
        "missing": ["探险"],
    }
    assert scored("relation_match", RELATION, "她们是朋友。").details == {
        "subject": True,
        "object": True,
        "relation": True,
        "direction": "mutual",
    }
    first, second = (
        scorer_for("turn_correctness").score(SESSION, conversation("阿尤", "击败了")).details["turns"]
    )
    assert (first["said"], second["unsaid"]) == (["阿尤"], ["协助", "深渊魔物"])
