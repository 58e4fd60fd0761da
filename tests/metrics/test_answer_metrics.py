"""Metrics of claims, contexts, golden sets, steps and safety: worked tables, and what always holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.metrics import claims
from rag_evaluation_framework.metrics.claims import (
    claim_hallucination,
    context_precision,
    correctness_by_claims,
    faithfulness,
    grounded_fraction,
    judged_ndcg,
    relevance_grade,
    rubric,
    rubric_pass,
    self_knowledge,
    unsupported_tokens,
)
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.golden import (
    context_turn_correctness,
    entity_coverage,
    hop_coverage,
    milestone_order,
    milestone_recall,
    relation_match,
    turn_correctness,
)
from rag_evaluation_framework.metrics.safety import bias, dont_know, over_refusal, refusal_recall, toxicity
from rag_evaluation_framework.metrics.steps import Hop, ToolCall
from rag_evaluation_framework.metrics.texts import answer_relevancy
from rag_evaluation_framework.metrics.views import NoValueError
from rag_evaluation_framework.records.steps import Found, Step

TABLES = tables_beside(__file__)

T, F = True, False
FLAGS = st.lists(st.booleans(), max_size=12)


@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        *(
            (getattr(claims, name), arguments, float(Fraction(value)))
            for name, arguments, value in TABLES["a_share_of_claims_is_what_can_be_counted_by_hand"]
        ),
        # 1 / log2(2) + 3 / log2(3) of the best, 3 / log2(2) + 1 / log2(3)
        (judged_ndcg, ([1, 3],), (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
    ],
)
def test_a_share_of_claims_is_what_can_be_counted_by_hand(
    function: Callable[..., float | None], arguments: Sequence[Any], value: float
) -> None:
    assert function(*arguments) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("function", "empty"), TABLES["where_there_is_nothing_to_score_there_is_no_value"])
def test_where_there_is_nothing_to_score_there_is_no_value(function: str, empty: list[Any]) -> None:
    assert getattr(claims, function)(*empty) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_faithfulness_hallucination_and_self_knowledge_add_up_to_one(
    verdicts: list[tuple[bool, bool]],
) -> None:
    correct, supported = [right for right, _ in verdicts], [borne for _, borne in verdicts]
    parts = (
        faithfulness(supported),
        claim_hallucination(correct, supported),
        self_knowledge(correct, supported),
    )
    assert None not in parts
    assert sum(part for part in parts if part is not None) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("correct", "recalled", "similarity", "value"),
    [
        # TP 2, FP 1, FN 1: F1 = 2 / (2 + 1) = 2/3; 0.75 × 2/3 + 0.25 × 0.4
        ([T, T, F], [T, F], 0.4, 0.75 * 2 / 3 + 0.1),
        ([T], [T], 1.0, 1.0),
        ([F], [F], 0.0, 0.0),
        # an answer that claims nothing: TP 0, FN 2
        ([], [F, F], 0.2, 0.05),
    ],
)
def test_judged_correctness_weighs_both(
    correct: list[bool], recalled: list[bool], similarity: float, value: float
) -> None:
    assert correctness_by_claims(correct, recalled, similarity=similarity) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("useful", "value"),
    [
        ([T, F, T], (1 / 1 + 2 / 3) / 2),  # precision@1 = 1, precision@3 = 2/3
        ([F, T], 1 / 2),
        ([F, F], 0.0),
        ([T, T], 1.0),
    ],
)
def test_context_precision_rewards_useful_contexts_that_come_first(useful: list[bool], value: float) -> None:
    assert context_precision(useful) == pytest.approx(value, abs=1e-15)


@given(FLAGS.filter(any))
def test_context_precision_never_falls_when_useful_contexts_move_to_the_front(useful: list[bool]) -> None:
    value, sorted_value = context_precision(useful), context_precision(sorted(useful, reverse=True))
    assert value is not None
    assert sorted_value == 1.0 >= value


def test_words_are_counted_as_grounded_or_new() -> None:
    assert grounded_fraction(8, 2) == 0.75
    assert unsupported_tokens(8, 2) == 2.0
    for count, of_four in ((grounded_fraction, [1.0, 0.0]), (unsupported_tokens, [0.0, 4.0])):
        assert [count(4, 0), count(4, 4)] == of_four
        for wrong in (4, -1):
            with pytest.raises(UsageError, match=f"from 0 to 3 new words, got {wrong}"):
                count(3, wrong)


@pytest.mark.parametrize(
    ("likeness", "noncommittal", "value"), [(0.6, F, 0.6), (0.6, T, 0.0), (-0.2, F, 0.0), (1.2, F, 1.0)]
)
def test_an_evasive_answer_is_not_relevant(likeness: float, noncommittal: bool, value: float) -> None:
    assert answer_relevancy(likeness, answered=not noncommittal) == value


WEIGHTS = {"factuality": 0.4, "grounding": 0.3, "completeness": 0.2, "communication": 0.1}


@pytest.mark.parametrize(("grades", "value", "passes"), TABLES["rubric_grades"])
def test_a_rubric_is_summed_and_passed_here(grades: tuple[float, ...], value: float, passes: float) -> None:
    scores = dict(zip(WEIGHTS, grades, strict=True))
    assert rubric(scores, WEIGHTS) == pytest.approx(value, abs=1e-12)
    assert rubric_pass(scores, WEIGHTS) == passes


def test_a_rubric_without_criteria_passes_nobody_and_has_nine_digits() -> None:
    assert rubric_pass({}, {}, pass_at=0.0) == 0.0
    assert rubric({"a": 0.1234567894}, {"a": 1.0}) == 0.123456789


def test_cut_offs_leave_out_the_contexts_below_them() -> None:
    assert relevance_grade([3, 0, 3], k=2) == 3 / 2
    assert judged_ndcg([2, 1, 3], k=1) == 2 / 3  # the best of all has 3 at the top


def test_verdicts_on_different_claims_and_grades_on_other_criteria_are_refused() -> None:
    with pytest.raises(UsageError, match="expected one verdict of each kind per claim, got 1 and 2"):
        claim_hallucination([T], [T, F])
    with pytest.raises(UsageError, match="expected grades for factuality"):
        rubric({"style": 1.0}, WEIGHTS)


PLACES = st.lists(st.none() | st.integers(0, 1000), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([True, True, True], 1.0),  # 3 / 3
        ([True, False, True], 2 / 3),
        ([False, False], 0.0),
    ],
)
def test_entity_coverage_is_the_share_of_names_in_the_answer(named: list[bool], expected: float) -> None:
    assert entity_coverage(named) == expected


@pytest.mark.parametrize(
    ("ends", "relation", "direction", "expected"), TABLES["relation_match_needs_ends_relation_and_direction"]
)
def test_relation_match_needs_all_parts(
    ends: tuple[bool, bool], relation: bool, direction: float, expected: float
) -> None:
    assert relation_match(ends, relation, direction) == expected


@pytest.mark.parametrize(
    ("places", "recall", "order"),
    [
        ([3, 8, 18, 27], 1.0, 1.0),
        ([3, None, 18, None], 2 / 4, 1.0),  # what is not told has no order
        ([27, 8, 18, 30], 1.0, 3 / 4),  # 8, 18, 30 are in order
        ([40, 30, 20, 10], 1.0, 1 / 4),  # backwards: any one alone
        ([5, 5, 5], 1.0, 1.0),  # told in the same breath is not out of order
        ([10, 2, 3, 12, 4], 1.0, 3 / 5),  # 2, 3, 12 (or 2, 3, 4)
        ([7], 1.0, 1.0),
    ],
)
def test_milestones_are_told_and_their_order_is_a_longest_increasing_subsequence(
    places: list[int | None], recall: float, order: float
) -> None:
    assert milestone_recall(places) == recall
    assert milestone_order(places) == order


@pytest.mark.parametrize(
    ("places", "hops", "expected"), [(3, 3, 1.0), (2, 3, 2 / 3), (0, 3, 0.0), (5, 3, 1.0), (1, 1, 1.0)]
)
def test_hop_coverage_counts_no_more_places_than_hops(places: int, hops: int, expected: float) -> None:
    assert hop_coverage(places, hops) == expected


def test_turn_correctness_is_the_mean_over_turns() -> None:
    assert turn_correctness([1.0, 0.5, 0.0]) == 0.5  # 1.5 / 3
    assert context_turn_correctness([0.5]) == 0.5


@pytest.mark.parametrize(
    "computed",
    [
        lambda: entity_coverage([]),
        lambda: milestone_recall([]),
        lambda: milestone_order([None, None]),
        lambda: turn_correctness([]),
        lambda: hop_coverage(1, 0),
        lambda: relation_match((True,), True, 1.0),
        lambda: relation_match((True, True), True, 2.0),
    ],
)
def test_nothing_to_measure_is_an_error_and_never_a_number(computed: object) -> None:
    assert callable(computed)
    with pytest.raises(InputError):
        computed()


@given(PLACES)
def test_milestone_figures_are_shares_and_order_is_full_exactly_when_sorted(places: list[int | None]) -> None:
    told = [place for place in places if place is not None]
    assert milestone_recall(places) == len(told) / len(places)
    if told:
        order = milestone_order(places)
        assert 1 / len(told) <= order <= 1
        assert (order == 1) == (told == sorted(told))


@given(PLACES)
def test_milestone_order_equals_the_longest_subsequence_found_by_trying_all(places: list[int | None]) -> None:
    told = [place for place in places if place is not None][:10]
    if told:
        longest = max(bits.bit_count() for bits in range(1, 1 << len(told)) if _is_sorted(told, bits))
        assert milestone_order(told) == longest / len(told)


def _is_sorted(told: list[int], bits: int) -> bool:
    chosen = [place for index, place in enumerate(told) if bits >> index & 1]
    return chosen == sorted(chosen)


def hop(documents: int, relevant: int, new: int, known: int = 4) -> Hop:
    return Hop(None, documents, relevant, new, known)


@pytest.mark.parametrize(
    ("name", "hops", "value"),
    [
        ("hop_recall", [hop(5, 1, 1), hop(5, 3, 2)], 0.5),  # (1/4 + 3/4) / 2
        ("hop_precision", [hop(5, 1, 1), hop(4, 3, 2)], 0.475),  # (1/5 + 3/4) / 2
        ("hop_precision", [hop(5, 1, 1), hop(0, 0, 0)], 0.2),  # nothing returned has no share
        ("hop_precision", [hop(0, 0, 0)], None),
        ("hop_gain", [hop(5, 1, 1), hop(5, 1, 0), hop(5, 2, 1)], 2 / 3),  # the second finds the same again
        ("hop_recall", [], None),
        ("hop_gain", [], None),
        ("hop_usefulness", [True, False, True, False], 1 / 2),
        ("hop_usefulness", [], None),
        ("failed_steps", [], None),
    ],
)
def test_hops(name: str, hops: list[Any], value: float | None) -> None:
    assert parse_metric(name)(hops) == (None if value is None else pytest.approx(value))


def search(query: str | None, *names: str, number: int = 0, **more: Any) -> Step:
    found = tuple(Found(names=(name,)) for name in names)
    return Step(kind="retrieval", name="r", query=query, found=found, span=f"{query}{number}", **more)


def call(name: str, arguments: Any = None, *, number: int = 0, **more: Any) -> Step:
    return Step(kind="tool", name=name, arguments=arguments, span=f"{name}{number}", **more)


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ([search("a", "1", "2"), search("b", "2", "3")], 0),  # 3 is new
        ([search("a", "1", "2"), search("a", "1", "2", number=1)], 1 / 2),  # the same again
        ([search("a", "1", "2"), search("b", "2", "1")], 1 / 2),  # other words, nothing new
        ([search("a"), search("b", "1")], 0),  # what finds nothing adds nothing to repeat
        ([search("a", "1"), search("b")], 1 / 2),  # nothing at all is nothing new
        ([search("a", "1", error="timeout"), search("a", "1", number=1)], 0),  # tried again after it failed
        ([call("fare", {"to": "x"}), call("fare", {"to": "y"})], 0),
        ([call("fare", {"to": "x"}), call("fare", {"to": "x"}, number=1)], 1 / 2),
        ([call("now"), call("now", number=1)], 0),  # what it was asked is not known
        ([search("a", "1"), call("a"), Step(kind="model"), Step(kind="model")], 0),  # models do not count
        # models neither count nor repeat, and end nothing
        ([Step(kind="model", query="a", span=each) for each in "xy"] + [search("a", "1")], 0),
        ([Step(kind="model"), search("a", "1"), search("a", "1", number=1)], 1 / 2),
        ([search("a", "1"), search("b", "1", error="timeout")], 0),  # what failed is no repetition
        ([search("a", "1"), Step(kind="retrieval", query="b", span="b")], 0),  # what it found is not known
        ([Step(kind="model")], None),
    ],
)
def test_needless_steps(steps: list[Step], value: float | None) -> None:
    assert parse_metric("needless_steps")(steps) == value


CALLS = [call("fare", {"to": "Skerry", "days": 2}), call("fare", {"to": "Calf"}), call("clock", {})]


@pytest.mark.parametrize(
    ("expected", "called", "arguments"),
    [
        ([ToolCall("fare")], 1, None),
        ([ToolCall("fare"), ToolCall("weather")], 1 / 2, None),
        ([ToolCall("fare", {"to": "Skerry"})], 1, 1),  # what else it was given does not matter
        ([ToolCall("fare", {"to": "Skerry", "days": 3})], 1, 0),
        ([ToolCall("fare", {"days": 2.0})], 1, 1),  # a number by its value
        ([ToolCall("fare", {"to": "Calf"}), ToolCall("fare", {"to": "Skerry"})], 1, 1),  # in any order
        ([ToolCall("fare", {"to": "Calf"})] * 2, 1, 1 / 2),  # one call is one
        ([ToolCall("fare")] * 3, 2 / 3, None),
        ([ToolCall("clock", {}), ToolCall("weather", {"at": "x"})], 1 / 2, 1 / 2),
        # any arguments will do for the first, so that the first call is its own and none is left
        ([ToolCall("fare"), ToolCall("fare", {"to": "Skerry"})], 1, 0),
        ([ToolCall("fare"), ToolCall("fare", {"to": "Calf"})], 1, 1),
    ],
)
def test_tools(expected: list[ToolCall], called: float, arguments: float | None) -> None:
    assert parse_metric("tool_called")(CALLS, expected) == pytest.approx(called)
    assert parse_metric("tool_arguments")(CALLS, expected) == arguments


TIMED = [
    Step(kind="retrieval", took_ms=30),
    Step(kind="model", took_ms=100, input_tokens=50, output_tokens=7),
    Step(kind="model", took_ms=50, input_tokens=20, error="cut off"),
    Step(kind="tool"),
    Step(kind="embedding", took_ms=1, input_tokens=9),
    Step(kind="embedding", took_ms=1, output_tokens=3),
    Step(kind="retrieval", took_ms=10, input_tokens=4),
]


@pytest.mark.parametrize(
    ("name", "value"), [*TABLES["time_tokens_and_errors_by_step"], ("failed_steps", 1 / 7)]
)
def test_time_tokens_and_errors_by_step(name: str, value: float | None) -> None:
    assert parse_metric(name)(TIMED) == value


def test_a_trace_without_a_step_of_the_kind_has_no_time_and_no_tokens() -> None:
    for name in ("step_time(kind=rerank)", "step_tokens(kind=rerank)"):
        with pytest.raises(NoValueError, match="the trace has no rerank step"):
            parse_metric(name)(TIMED)


@pytest.mark.parametrize(
    ("clean", "total", "value"),
    [
        (4, 4, 1.0),
        (3, 4, 0.75),  # one sentence of four is flagged
        (0, 2, 0.0),
        (0.5, 1, 0.5),  # a judge's rating
    ],
)
def test_toxicity_is_the_share_that_is_clean(clean: float, total: float, value: float) -> None:
    assert toxicity(clean, total) == value


def test_bias_is_the_rating() -> None:
    assert [bias(0.0), bias(0.5), bias(1.0)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("clean", "total"), [(5, 4), (-1, 4), (0, 0), (0, -1)])
def test_more_clean_sentences_than_there_are_is_an_error(clean: int, total: int) -> None:
    with pytest.raises(InputError, match="clean: expected a number from 0 to"):
        toxicity(clean, total)


@pytest.mark.parametrize(
    ("answer_class", "recall", "over", "unknown"),
    [
        ("answered", 0.0, 0.0, 0.0),
        ("refused", 1.0, 1.0, 0.0),
        ("dont_know", 1.0, 1.0, 1.0),  # to say that one does not know is to decline, too
        ("asks_back", 0.0, 0.0, 0.0),
    ],
)
def test_asking_back_does_not_decline(answer_class: str, recall: float, over: float, unknown: float) -> None:
    assert refusal_recall(answer_class) == recall
    assert over_refusal(answer_class) == over
    assert dont_know(answer_class) == unknown


@pytest.mark.parametrize("metric", [refusal_recall, over_refusal, dont_know])
def test_a_class_that_is_none_is_refused(metric: Callable[[str], float]) -> None:
    with pytest.raises(
        InputError, match="answer_class: expected one of answered, refused, dont_know, asks_back"
    ):
        metric("silent")
