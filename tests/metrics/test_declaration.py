"""A metric's name with its parameters parses back into the metric."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import UsageError, metric
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.metrics.declaration import (
    BoundMetric,
    KnownMetric,
    Metric,
    Within,
    all_metrics,
    available_metrics,
    check_known,
    check_metric,
    known_metric,
    metric_name,
    parse_metric,
    parse_metrics,
    without_parameters,
)
from rag_evaluation_framework.metrics.views import FAMILIES, RANKING, TEXTS, Field

TABLES = tables_beside(__file__)

METRICS = all_metrics()


@pytest.mark.parametrize(("written", "canonical", "k"), TABLES["names_are_read_and_written_canonically"])
def test_names_are_read_and_written_canonically(written: str, canonical: str, k: int | None) -> None:
    bound = parse_metric(written)
    assert (str(bound), bound.k) == (canonical, k)


@pytest.mark.parametrize("declared", METRICS, ids=lambda each: each.name)
def test_every_metrics_name_round_trips(declared: Metric) -> None:
    for k in (None, 1, 10, 10**9) if "k" in declared.parameters else (None,):
        given_k = {} if k is None else {"k": k}
        bound = BoundMetric(declared, {**declared.parameters, **given_k})
        assert parse_metric(str(bound)) == bound


@given(k=st.integers(1, 10**9))
def test_every_cut_off_round_trips(k: int) -> None:
    assert (parse_metric(f"ndcg@{k}").k, str(parse_metric(f"ndcg@{k}"))) == (k, f"ndcg@{k}")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        *TABLES["a_wrong_name_says_what_is_wrong"],
        ("ndcg@" + "1" * 5000, "whole number from 1 to 1,000,000,000, got"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(written: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_metric(written)


def test_all_wrong_names_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_metrics(["ncdg@10", "mrr", "recal@5"])
    assert len(str(caught.value).splitlines()) == 2


def test_one_wrong_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "recall'):
        parse_metrics(["recal@5"])


def test_the_same_metric_twice_is_measured_once() -> None:
    assert [str(each) for each in parse_metrics(["mrr", "recip_rank", "ndcg@5"])] == ["mrr", "ndcg@5"]


@pytest.mark.parametrize("declared", METRICS, ids=lambda each: each.name)
def test_every_metric_says_what_it_measures_how_and_from_where(declared: Metric) -> None:
    assert declared.summary
    assert declared.formula
    assert declared.empty
    assert declared.source
    assert declared.needs
    assert declared.version >= 1


def test_a_name_is_declared_once() -> None:
    with pytest.raises(UsageError, match="metric 'ndcg' is already declared"):
        metric("ndcg", reads=TEXTS)
    with pytest.raises(UsageError, match="metric 'RR' is already declared"):
        metric("own", reads=TEXTS, aliases=("RR",))


FIELDS = "Available: question, answer, reference, contexts, reference_contexts"


def of_words(answer: str, *, most: int = 10) -> float:
    return min(1.0, most / len(answer.split()))


def of_flags(supported: list[bool]) -> float:
    return sum(supported) / len(supported)


def of_anything(*texts: str) -> float:
    return float(len(texts))


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (of_flags, {}, f"unknown field 'supported' of texts. {FIELDS}"),
        (of_words, {"shows": ("words",)}, f"unknown field 'words' of texts. {FIELDS}"),
        (of_words, {"unless": ("unclaimed",)}, f"unknown field 'unclaimed' of texts. {FIELDS}"),
        (of_words, {"unless": (of_flags,)}, f"unknown field 'supported' of texts. {FIELDS}"),
        (of_words, {"allowed": {"least": Within(1)}}, "allowed: the function has no parameter least"),
        (of_words, {"reads": RANKING}, "unknown field 'answer' of ranking. Available: judged"),
        (of_words, {"reads": "texts"}, "expected a view to read, one of TEXTS, LIKENESS, .*, got 'texts'"),
        (of_words, {"reads": None}, "expected a view to read, one of TEXTS"),
        (of_anything, {}, "expected named parameters"),
        (lambda answer, **more: 0.0, {}, "expected named parameters"),
        (lambda answer, /: 0.0, {}, "expected named parameters"),
        (lambda: 0.0, {}, "the function reads no field of texts. Available: question, answer"),
    ],
)
@pytest.mark.usefixtures("own_metrics")
def test_a_metric_that_does_not_fit_its_view_is_an_error_that_names_the_fields(
    function: Callable[..., float], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=f"metric 'own': {message}"):
        metric("own", **{"reads": TEXTS, **options})(function)
    with pytest.raises(UnknownNameError):
        parse_metric("own")


def test_a_metric_without_a_view_is_an_error() -> None:
    with pytest.raises(TypeError, match="reads"):
        metric("own")  # type: ignore[call-arg]


def test_the_needs_methods_and_parameters_of_a_metric_follow_from_what_its_function_takes() -> None:
    declared = parse_metric("claim_hallucination").metric
    assert declared.needs == ("answer", "contexts", "reference")
    assert declared.methods == ("lexical", "judge")
    assert parse_metric("answer_correctness").metric.method == "lexical match, screening"
    assert parse_metric("err").metric.parameters == {"k": None, "max_grade": 4}


def test_a_docstring_that_lacks_a_part_says_which() -> None:
    def undocumented() -> float:
        """Formula: 1."""
        return 1.0

    declared = Metric("own", TEXTS, undocumented)
    with pytest.raises(UsageError, match="undocumented: the docstring lacks a first line, Empty, Source"):
        _ = declared.summary


@pytest.mark.parametrize(
    ("within", "inside", "outside", "told"),
    [
        (Within(0), [0, 0.5, 1e9], [-0.1], "of at least 0"),
        (Within(1, 3), [1, 2, 3], [0.9, 3.1], "from 1 to 3"),
        (Within(0, 1, is_open=True), [0.1, 0.9], [0, 1, -1], "above 0 and below 1"),
    ],
)
def test_a_range_holds_its_ends_unless_it_is_open(
    within: Within, inside: list[float], outside: list[float], told: str
) -> None:
    assert all(each in within for each in inside)
    assert not any(each in within for each in outside)
    assert str(within) == told


def test_signatures_methods_and_languages_are_told_for_people() -> None:
    told = {
        name: [declared.signature, declared.method, [*declared.languages()]]
        for name in ("rbp", "ndcg", "span_iou", "claim_f1", "answer_relevancy", "relation_match", "rubric")
        for declared in [parse_metric(name).metric]
    }
    assert told == TABLES["signatures_methods_and_languages"]
    # Where another decides what supports what, or reads the texts, they are not limited to what ours knows.
    faithful = parse_metric("faithfulness").metric
    assert faithful.languages("lexical") == ("en", "zh")
    assert faithful.languages("judge") == faithful.languages(own_support=True) == ()
    assert parse_metric("answer_similarity").metric.languages(own_support=True) == ("en", "zh")


def test_a_field_in_two_languages_and_one_in_a_third_have_those_of_both() -> None:
    fields = (
        Field("a", methods=("lexical",), method="by words", languages=("zh", "en", "de")),
        Field("b", methods=("lexical", "judge"), method="by rules", languages=("en", "de")),
        Field("c", method=""),
    )
    declared = Metric("own", TEXTS, of_words, fields)
    assert (declared.languages(), declared.method) == (("en", "de"), "by words + by rules")
    assert declared.languages("judge") == ("zh", "en", "de")
    assert (declared.methods, declared.family, declared.needs) == (("lexical", "judge"), "texts", ())


def test_metrics_come_family_by_family_and_those_of_a_sample_are_told_from_those_of_a_corpus() -> None:
    families = [each.family for each in METRICS]
    assert list(dict.fromkeys(families)) == sorted(set(families), key=FAMILIES.index)
    assert families == sorted(families, key=FAMILIES.index)
    names = available_metrics()
    assert set(names) == {each.name for each in METRICS} - {"precision_omega"}
    assert names == sorted(names)
    assert str(check_metric("recall_5")) == "recall@5"
    for wrong, message in [
        ("precision_omega", "needs all chunks of a corpus. Use rag-eval retrieval"),
        ("precision_omga", 'unknown metric "precision_omga"'),
        ("faithfulness(method=embedding)", 'unknown method of faithfulness "embedding"'),
        ("rouge(variant=rougeX)", "unknown variant of rouge"),
    ]:
        with pytest.raises(UsageError, match=message):
            check_metric(wrong)
    assert pickle.loads(pickle.dumps(METRICS[0])) is METRICS[0]


def test_what_a_threshold_needs_to_know_of_a_metric_is_known_by_any_of_its_names() -> None:
    assert known_metric(" pass_rate ") == KnownMetric(higher_is_better=True, is_share=True)
    assert known_metric("latency") == KnownMetric(higher_is_better=False, is_share=False)
    assert known_metric("success_1") == KnownMetric()
    assert known_metric("nobody's") is None
    for written, name in [
        (" pass_rate ", "pass_rate"),
        ("hit(k=1)", "hit@1"),
        ("success_1", "hit@1"),
        (" nobody's ", "nobody's"),
    ]:
        assert metric_name(written) == name
    assert [without_parameters(name) for name in ("rbp(p=0.5)@10", "mrr")] == ["rbp", "mrr"]
    for known in ("pass_rate", "mrr", "own"):
        check_known(known, ["own"])
    with pytest.raises(UnknownNameError, match=r'unknown metric "pass_rat"\. Did you mean "pass_rate'):
        check_known("pass_rat", ["own"])


def with_default(answer: str, reference: str = "x") -> float:
    """Whether both are the same.

    Formula: 1: the same, 0: not.

    Empty: never.

    Empty: not read.

    Source: ours.
    """
    return float(answer == reference)


def of_size(answer: str, size: int = 3) -> float:
    return float(len(answer) == size)


def too_short(answer: str, *, most: int = 10) -> str | None:
    return None if len(answer) > most else "too short"


@pytest.mark.usefixtures("own_metrics")
def test_a_declared_metric_is_what_was_said_of_it() -> None:
    assert (
        metric("own", reads=TEXTS, aliases=("mine",), shows=("answer",), unless=(too_short,))(of_words)
        is of_words
    )
    metric("other", reads=TEXTS, higher_is_better=False, is_share=False, version=3)(with_default)
    own, other = parse_metric("mine").metric, parse_metric("other").metric
    assert (own.name, own.parameters, own.shows, own.unless) == (
        "own",
        {"most": 10},
        ("answer",),
        (too_short,),
    )
    assert (own.higher_is_better, own.is_share, own.version, own.allowed) == (True, True, 1, {})
    assert (other.higher_is_better, other.is_share, other.version, other.parameters) == (False, False, 3, {})
    assert [each.name for each in other.fields] == ["answer", "reference"]
    assert (other.summary, other.formula, other.empty) == (
        "Whether both are the same.",
        "1: the same, 0: not.",
        "never.",
    )
    assert parse_metric("own(most=2)")("a b c") == 2 / 3
    metric("sized", reads=TEXTS)(of_size)
    assert parse_metric("sized").metric.parameters == {}  # only what is named is its own
    for taken in ("own", "mine"):
        with pytest.raises(UsageError, match=f"metric '{taken}' is already declared"):
            metric(taken, reads=TEXTS)
    with pytest.raises(UsageError, match="unknown field 'most' of texts"):
        metric("third", reads=TEXTS, unless=(too_short,))(with_default)
