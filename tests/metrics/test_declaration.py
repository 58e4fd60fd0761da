"""A metric's name with its parameters parses back into the metric."""

from __future__ import annotations

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
    Metric,
    Within,
    all_metrics,
    parse_metric,
    parse_metrics,
)
from rag_evaluation_framework.metrics.views import RANKING, TEXTS

TABLES = tables_beside(__file__)

METRICS = all_metrics()


@pytest.mark.parametrize(
    ("written", "canonical", "k"),
    TABLES["names_are_read_and_written_canonically"],
)
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
        ("ncdg@10", 'there is no metric "ncdg". Did you mean ndcg'),
        ("ndcg@", "whole number from 1 to 1,000,000,000, got ''"),
        ("ndcg@0", "whole number from 1 to 1,000,000,000, got '0'"),
        ("ndcg@-3", "whole number from 1 to 1,000,000,000, got '-3'"),
        ("ndcg@ten", "whole number from 1 to 1,000,000,000, got 'ten'"),
        ("ndcg@１０", "whole number from 1 to 1,000,000,000, got"),
        ("ndcg@1000000001", "whole number from 1 to 1,000,000,000, got '1000000001'"),
        ("ndcg@10000000000", "whole number from 1 to 1,000,000,000, got"),
        ("ndcg@" + "1" * 5000, "whole number from 1 to 1,000,000,000, got"),
        ("P_0", "whole number from 1 to 1,000,000,000, got '0'"),
        ("ndcg(k=5)@10", "expected one cut-off, got two"),
        ("rbp(p=true)", "expected p to be like 0.8, got True"),
        ("citation_tolerance_jaccard(tolerance_chars=true)", "to be like 10, got True"),
        ("ndcg(q=1)", r"no parameter q; it is written ndcg"),
        ("span_iou@5", "no parameter k; it is written span_iou"),
        ("rbp(p=high)", "expected p to be like 0.8, got 'high'"),
        ("rbp(p=1)", "expected p above 0 and below 1, got 1.0"),
        ("rouge(variant=rougeX)", 'there is no variant of rouge "rougeX". Did you mean rouge'),
        ("rouge(variant=rougeLsum)", 'there is no variant of rouge "rougeLsum". Did you mean rouge'),
        ("ndcg(gain=square)", 'there is no gain of ndcg "square". There are exponential and linear'),
        ("err(max_grade=1001)", "expected max_grade from 1 to 1000, got 1001"),
        ("citation_tolerance_jaccard(tolerance_chars=-3)", "tolerance_chars of at least 0, got -3"),
        ("", "expected a name"),
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
    with pytest.raises(UnknownNameError, match="Did you mean recall"):
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
    with pytest.raises(UsageError, match="metric 'ndcg' is declared already"):
        metric("ndcg", reads=TEXTS)
    with pytest.raises(UsageError, match="metric 'RR' is declared already"):
        metric("own", reads=TEXTS, aliases=("RR",))


FIELDS = "it has question, answer, reference, contexts, reference_contexts"


def of_words(answer: str, *, most: int = 10) -> float:
    return min(1.0, most / len(answer.split()))


def of_flags(supported: list[bool]) -> float:
    return sum(supported) / len(supported)


def of_anything(*texts: str) -> float:
    return float(len(texts))


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (of_flags, {}, f"the view texts has no field 'supported'; {FIELDS}"),
        (of_words, {"shows": ("words",)}, f"the view texts has no field 'words'; {FIELDS}"),
        (of_words, {"unless": ("unclaimed",)}, f"the view texts has no field 'unclaimed'; {FIELDS}"),
        (of_words, {"unless": (of_flags,)}, f"the view texts has no field 'supported'; {FIELDS}"),
        (of_words, {"allowed": {"least": Within(1)}}, "no parameter least of its own"),
        (of_words, {"reads": RANKING}, "the view ranking has no field 'answer'; it has judged"),
        (of_words, {"reads": "texts"}, "expected a view to read, one of TEXTS, LIKENESS, .*, got 'texts'"),
        (of_words, {"reads": None}, "expected a view to read, one of TEXTS"),
        (of_anything, {}, "expected parameters that have a name"),
        (lambda: 0.0, {}, "it reads no field; texts has question, answer"),
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
    with pytest.raises(UsageError, match="undocumented: its docstring lacks a first line, Empty, Source"):
        _ = declared.summary
