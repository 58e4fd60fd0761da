"""Every golden example scores as a reader of Chinese would expect, whatever way the answer is written.

The arithmetic stands beside each row. Right, wrong, partly right, refusing, in traditional characters, in
full width: each example has several answers.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from scripted_judge import Reading, entries, judged_by, judging

from rag_evaluation_framework.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1] / "datasets"))

from format_examples import (
    GOLDEN_BOUNDARY,
    GOLDEN_FACTUAL,
    GOLDEN_MULTITURN,
    GOLDEN_RELATIONSHIP,
    GOLDEN_TRACKING,
)

from cases import tables_beside
from rag_evaluation_framework import Entities, Response, Sample, Score, Turn
from rag_evaluation_framework.datasets.golden_sets import BOUNDARY, FACTUAL, MULTITURN, RELATIONSHIP, TRACKING
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.methods import Methods

TABLES = tables_beside(__file__)

FACT = FACTUAL.sample(GOLDEN_FACTUAL[0])
RELATION = RELATIONSHIP.sample(GOLDEN_RELATIONSHIP[0])
TRACK = TRACKING.sample(GOLDEN_TRACKING[0])
SESSION = MULTITURN.sample(GOLDEN_MULTITURN[0])
OUT_OF_SCOPE, UNSAFE = (BOUNDARY.sample(record) for record in GOLDEN_BOUNDARY)
SAMPLES = {"fact": FACT, "relation": RELATION, "track": TRACK, "out_of_scope": OUT_OF_SCOPE, "unsafe": UNSAFE}


def share(written: Any) -> float | None:
    """Return a value as the tables write it, such as ``2/3``."""
    return None if written is None else float(Fraction(written))


def scored(metric: str, sample: Sample, answer: str, **more: Any) -> Score:
    score = scorer_for(metric).score(sample, Response(text=answer, **more))
    assert score.metric == metric
    return score


def conversation(*answers: str) -> Response:
    turns = [{"question": "…", "answer": answer, "contexts": []} for answer in answers]
    return Response(text=answers[-1], metadata={"turns": turns})


@pytest.mark.parametrize(("answer", "coverage"), TABLES["a_fact"])
def test_a_fact(answer: str, coverage: Any) -> None:
    assert scored("entity_coverage", FACT, answer).value == share(coverage)


@pytest.mark.parametrize(("answer", "match"), TABLES["a_relation"])
def test_a_relation(answer: str, match: float) -> None:
    assert scored("relation_match", RELATION, answer).value == match


@pytest.mark.parametrize(("answer", "recall", "order"), TABLES["an_event_over_time"])
def test_an_event_over_time(answer: str, recall: Any, order: Any) -> None:
    assert scored("milestone_recall", TRACK, answer).value == share(recall)
    assert scored("milestone_order", TRACK, answer).value == share(order)


@pytest.mark.parametrize(("contexts", "coverage"), TABLES["places_of_an_event"])
def test_the_places_that_an_event_is_drawn_from(contexts: list[str], coverage: Any) -> None:
    assert scored("hop_coverage", TRACK, "…", contexts=tuple(contexts)).value == share(coverage)


@pytest.mark.parametrize(("first", "second", "turns", "needy"), TABLES["a_conversation"])
def test_a_conversation(first: str, second: str, turns: Any, needy: Any) -> None:
    response = conversation(first, second)
    assert scorer_for("turn_correctness").score(SESSION, response).value == share(turns)
    assert scorer_for("context_turn_correctness").score(SESSION, response).value == share(needy)


@pytest.mark.parametrize(("sample", "answer", "recall"), TABLES["a_question_to_decline"])
def test_a_question_to_decline(sample: str, answer: str, recall: float) -> None:
    assert scored("refusal_recall", SAMPLES[sample], answer).value == recall
    assert scored("over_refusal", SAMPLES[sample], answer).status == "skipped"


@pytest.mark.parametrize("metric", ["entity_coverage", "relation_match", "milestone_recall", "hop_coverage"])
def test_what_does_not_apply_is_skipped_whatever_the_answer(metric: str) -> None:
    assert scored(metric, OUT_OF_SCOPE, "无关").status == "skipped"
    assert scored(metric, SESSION, "无关").status == "skipped"
    assert scored(metric, SESSION, "  ").status == "skipped"


@pytest.mark.parametrize(
    ("metric", "sample"),
    [("entity_coverage", FACT), ("relation_match", RELATION), ("milestone_recall", TRACK)],
)
def test_an_empty_answer_has_nothing_of_what_is_expected(metric: str, sample: Sample) -> None:
    score = scored(metric, sample, "  ")
    assert (score.value, score.details) == (0.0, {"reason": "the answer is empty"})


@pytest.mark.parametrize(("metric", "sample", "answer", "kind"), TABLES["declines_or_asks_back"])
def test_an_answer_that_declines_or_asks_back_tells_nothing(
    metric: str, sample: str, answer: str, kind: str
) -> None:
    score = scored(metric, SAMPLES[sample], answer)
    assert (score.value, score.details["class"]) == (0.0, kind)
    assert score.details["reason"].startswith("the answer ")
    assert scored("over_refusal", SAMPLES[sample], answer).details["class"] == kind


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


@pytest.mark.parametrize("answer", TABLES["beside_it_in_chinese"])
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
    assert (score.status, score.reason) == ("skipped", "the agent does not report its answers turn by turn")


def test_an_empty_turn_is_wrong() -> None:
    score = scorer_for("turn_correctness").score(SESSION, conversation("", "阿尤"))
    assert score.details["turns"][0] == {"turn": 1, "value": 0.0, "reason": "the answer is empty"}
    assert score.value == 0.0


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


def test_a_judge_finds_a_turn_right_in_other_words() -> None:
    def judge(reading: Reading) -> str:
        (said,) = reading.several("evidence")
        found: dict[str, Any] = {"label": "unsupported", "evidence": 0, "quote": ""}
        if "打败" in said:
            found = {"label": "supported", "evidence": 1, "quote": said}
        return json.dumps({"claims": entries(*[found] * len(reading.several("claims")))})

    response = conversation("他叫阿贝多。", "阿尤帮助基尼奇打败了深渊魔物")
    by_words = scorer_for("context_turn_correctness").score(SESSION, response)
    assert by_words.value is not None
    assert by_words.value < 0.9
    with judged_by(judging(judge)) as (panel, server):
        scorer = scorer_for("turn_correctness", Methods(judge=panel))
        score = scorer.score(SESSION, response)
        needy = scorer_for("context_turn_correctness", Methods(judge=panel)).score(SESSION, response)
        asked = len(server.requests)
    assert (score.value, needy.value, score.method) == (0.5, 1.0, "judge:scripted")
    assert [turn["value"] for turn in score.details["turns"]] == [0.0, 1.0]
    assert asked <= 3  # one question a turn, whoever asks for it
