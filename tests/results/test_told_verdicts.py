"""What verdicts and citations say to the letter: small faults in the code got past the other tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag_evaluation_framework import InputError, Options, SpanCitation, Threshold, evaluate, evaluate_ranking
from rag_evaluation_framework.metrics.citations import pair_citations, tolerance_jaccard
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.metrics.safety import _expects_a_refusal
from rag_evaluation_framework.metrics.spans import SpanColumns, count_characters
from rag_evaluation_framework.results.baselines import latest_of_branch
from rag_evaluation_framework.results.regressions import _largest_fall
from rag_evaluation_framework.results.run_store import DEFAULT_RUNS_DIRECTORY, in_runs, no_such_run
from rag_evaluation_framework.results.verdicts import Check, GatedMetric
from rag_evaluation_framework.statistics.paired import largest_drop
from rag_evaluation_framework.structs import replace


def test_thresholds_and_checks_are_written_with_their_dataset_only_where_there_is_one() -> None:
    assert str(Threshold("m", ">=", 0.5)) == "m >= 0.5"
    assert str(Threshold("m", "<=", 0.5, dataset="d")) == "d:m <= 0.5"
    told = {
        status: str(Check(dataset=None, metric="m", bound=0.5, value=0.25, status=status, reason="why"))
        for status in ("missed", "not evaluated", "worse")
    }
    assert told == {
        "missed": "m mean 0.25, not >= 0.5 (why)",
        "not evaluated": "m not evaluated: why",
        "worse": "m worse: why",
    }
    bare = Check(dataset="d", metric="m", status="missed")
    assert (str(bare), str(replace(bare, dataset=None))) == ("d: m mean no value", "m mean no value")


@pytest.mark.parametrize(
    ("before", "now", "difference"), [(0.25, 0.75, 0.5), (None, 0.5, None), (0.5, None, None)]
)
def test_a_gated_metric_says_how_far_it_moved(
    before: float | None, now: float | None, difference: float | None
) -> None:
    assert GatedMetric(dataset="d", metric="m", before=before, now=now).to_dict()["difference"] == difference


def test_runs_that_are_not_there_are_asked_for_where_they_are_kept(tmp_path: Path) -> None:
    assert in_runs(DEFAULT_RUNS_DIRECTORY) == ""
    assert in_runs(tmp_path) == f" --runs-dir {tmp_path}"
    rows = [{"id": "a", "question": "q", "answer": "x", "reference": "x"}]
    made = evaluate(rows, metrics=["string_match"], runs_directory=tmp_path, options=Options(workers=1))
    assert f"List all: rag-eval runs --runs-dir {tmp_path}" in str(no_such_run("zzz", tmp_path))
    assert f"The latest is {made.head.run_id}." in str(no_such_run("zzz", tmp_path))
    assert latest_of_branch("no such branch", tmp_path, []) is None


def test_documents_are_compared_as_exactly_as_the_rules_say_before_they_are_cut() -> None:
    """The scores differ in 64 bits and are equal in the 32 of trec_eval, which then takes the later id."""
    for rules, run, first in (
        (RankingRules(), {"a": 1.0, "b": 1.0 + 1e-12}, "b"),
        (RankingRules.trec_eval(), {"a": 1.0 + 1e-12, "b": 1.0}, "b"),
    ):
        found = evaluate_ranking({"q": {first: 1}}, {"q": run}, ["mrr"], max_depth=1, rules=rules)
        assert found.mean["mrr"] == 1.0


def test_citations_that_touch_share_nothing_and_of_equal_overlaps_the_tighter_is_taken() -> None:
    true = SpanCitation("f", 0, 10)
    assert tolerance_jaccard(true, SpanCitation("f", 10, 20), tolerance_chars=10) == 0.0
    loose, tight = SpanCitation("f", 0, 40), SpanCitation("f", 0, 12)
    (pair,) = pair_citations([true], [loose, tight], tolerance_chars=0)
    assert pair.predicted == tight


def test_spans_of_a_query_that_there_is_none_are_refused() -> None:
    one = np.array([3])
    spans = SpanColumns(one, np.array([0]), np.array([0]), np.array([5]))
    with pytest.raises(InputError, match="spans: expected a query below 3, got 3"):
        count_characters(spans, spans, queries=3)
    first = replace(spans, query=np.array([0]))
    for sides in ((first, spans), (spans, first)):
        with pytest.raises(InputError, match="spans: expected a query below 3, got 3"):
            count_characters(*sides, queries=3)


def test_a_reference_that_may_be_a_refusal_decides_nothing() -> None:
    assert _expects_a_refusal(should_decline=False, may_decline=False) is None
    assert _expects_a_refusal(should_decline=True, may_decline=False) == "the sample expects a refusal"
    assert "sounds like a refusal" in str(_expects_a_refusal(should_decline=False, may_decline=True))


def test_the_upper_end_of_a_mean_fall_is_that_of_students_t() -> None:
    """Falls of 0.0, 0.1 and 0.2: 0.1 + 2.919986 * 0.1 / sqrt(3) = 0.268585; equal ones tell no spread."""
    assert _largest_fall([0.0, 0.1, 0.2]) == pytest.approx(0.268585, abs=1e-6)
    assert _largest_fall([0.0, 0.2]) == pytest.approx(0.1 + 6.313752 * 0.1, abs=1e-6)
    assert _largest_fall([0.1, 0.1]) == 0.1 + largest_drop(0, 0, 2)
    assert _largest_fall([0.1]) == 0.1 + largest_drop(0, 0, 1)


def test_the_one_relevant_document_at_rank_two_is_too_late_for_r_precision() -> None:
    found = evaluate_ranking({"q": {"b": 1}}, {"q": ["a", "b"]}, ["r-precision", "mrr@1", "mrr@2"])
    assert found.mean == {"r-precision": 0.0, "mrr@1": 0.0, "mrr@2": 0.5}


def test_a_metric_of_which_nothing_was_scored_says_how_many_were_skipped_and_failed() -> None:
    rows = [{"id": "a", "question": "q", "answer": "x"}, {"id": "b", "question": "q", "answer": "y"}]
    made = evaluate(rows, metrics=["string_match"], gate={"string_match": 0.5}, options=Options(workers=1))
    assert made.verdict is not None
    assert [str(check) for check in made.verdict.checks if check.metric == "string_match"] == [
        "rows: string_match not evaluated: no answer was scored (2 skipped, 0 failed)"
    ]
