"""Calibration: which label goes with which metric, what matches, and what is said of a metric."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError, Response, Score, UsageError, calibrate
from rag_evaluation_framework.datasets.human_labels import HumanLabel, LabelField
from rag_evaluation_framework.errors import Location, UnknownNameError
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult
from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.calibration_blocks import describe_calibration
from rag_evaluation_framework.results.calibration import (
    AnsweredRun,
    Calibration,
    LabelPair,
    answered_run,
    chosen_pairs,
    match_labels,
    queue_for_people,
)
from rag_evaluation_framework.results.metric_calibration import CalibrationSettings
from rag_evaluation_framework.statistics.agreement import Resampling
from rag_evaluation_framework.statistics.classification import Confusion
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

FIELDS = ["completeness", "accuracy", "relevance", "clarity", "conciseness", "overall"]
FAST = CalibrationSettings(resampling=Resampling(resamples=300))


def calibration_text(report: Calibration) -> str:
    screen = Screen(width=1000)
    screen.draw(describe_calibration(report))
    return str(screen)


def run_of(values: dict[str, dict[str, float]], *, method: str = "exact") -> AnsweredRun:
    """Return a run with these values by metric and query; the answer to q1 is "answer q1"."""
    queries = dict.fromkeys(query for of_metric in values.values() for query in of_metric)
    results = tuple(
        SampleResult(
            query,
            Response(text=f"answer {query}"),
            tuple(
                Score.scored(metric, of_metric[query], method=method)
                for metric, of_metric in values.items()
                if query in of_metric
            ),
        )
        for query in queries
    )
    return answered_run(Run(RunHead(run_id="r1", dataset_id="d1"), results))


def labels_of(values: dict[str, float], field: str = "accuracy", who: str = "anna") -> list[HumanLabel]:
    return [HumanLabel(query, who, None, {field: value}) for query, value in values.items()]


def flagged(n: int, labelled: int, *, seed: int = 0) -> tuple[AnsweredRun, list[HumanLabel]]:
    """Return a run with a flag that says 49 % where the truth is 19 %, and labels of some of it."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.19
    flag = rng.random(n) < np.where(truth, 0.9, 0.319 / 0.81)
    run = run_of({"hallucination": {f"q{i}": float(value) for i, value in enumerate(flag)}})
    return run, labels_of({f"q{i}": float(truth[i]) for i in range(labelled)}, "hallucinated")


@pytest.mark.parametrize(("metric", "field"), TABLES["a_metric_goes_with_the_label_that_measures_the_same"])
def test_a_metric_goes_with_the_label_that_measures_the_same(metric: str, field: str | None) -> None:
    chosen, unpaired = chosen_pairs([metric], FIELDS)
    assert [str(pair.field) for pair in chosen] == ([] if field is None else [field])
    assert unpaired == ([metric] if field is None else [])


def test_a_pair_comes_before_a_label_for_all_and_that_before_the_default() -> None:
    metrics = ["faithfulness", "token_f1", "ndcg@5"]
    pair = LabelPair.parse("faithfulness=clarity")
    chosen, unpaired = chosen_pairs(metrics, FIELDS, label="relevance", pairs=[pair])
    assert [(each.metric, each.field.name) for each in chosen] == [
        ("faithfulness", "clarity"),
        ("token_f1", "relevance"),
        ("ndcg@5", "relevance"),
    ]
    assert unpaired == []
    assert chosen_pairs(metrics, FIELDS, pairs=[pair])[0] == [pair]
    plain, _ = chosen_pairs(metrics, ["label"])  # of a plain table the label goes with every metric
    assert [each.field.name for each in plain] == ["label", "label", "label"]


def test_a_pair_is_split_at_its_last_sign_of_equality() -> None:
    assert LabelPair.parse("faithfulness(method=judge)=-bad") == LabelPair(
        "faithfulness(method=judge)", LabelField("bad", is_reversed=True)
    )


def test_what_does_not_match_is_counted_on_both_sides() -> None:
    run = run_of({"faithfulness": {"q1": 1.0, "q2": 0.0, "q3": 0.5}})
    labels = [
        HumanLabel("q1", "anna", "answer  q1", {"accuracy": 1}),
        HumanLabel("q1", "ben", "an older answer", {"accuracy": 0}),
        HumanLabel("q2", "anna", "an older answer", {"accuracy": 0}),
        HumanLabel("q9", "anna", None, {"accuracy": 0}),
    ]
    matched, match = match_labels(run, labels)
    assert [(label.query_id, label.annotator) for label in matched] == [("q1", "anna")]
    assert (match.n_samples, match.n_annotated, match.n_matched) == (3, 3, 1)
    assert (match.n_other_answer, match.n_unknown, match.n_unlabelled) == (1, 1, 2)


def test_labels_of_other_answers_only_are_an_error_that_counts_them() -> None:
    run = run_of({"faithfulness": {"q1": 1.0}})
    labels = [HumanLabel("q1", "anna", "another", {"accuracy": 1}), *labels_of({"q9": 1.0})]
    with pytest.raises(
        UsageError, match="of 2 annotated queries 1 are not in the run, 1 are about a different answer"
    ):
        calibrate(run, labels, settings=FAST)


def test_a_sample_without_an_answer_is_not_labelled() -> None:
    failed = SampleResult("q1", Response(failure=Failure(kind="timeout", message="slow")))
    run = answered_run(Run(RunHead(run_id="r1", dataset_id="d1"), (failed,)))
    assert match_labels(run, labels_of({"q1": 1.0}))[1].n_unknown == 1


@pytest.mark.parametrize(
    ("dataset", "query", "written"),
    [
        ("golden", "facts/fact_001", "fact_001"),  # the results of all splits
        ("golden", "facts/fact_001", "facts/fact_001"),
        ("facts", "fact_001", "facts/fact_001"),  # the run of one split
        ("facts", "fact_001", "fact_001"),
    ],
)
def test_ids_of_golden_sets_match_with_and_without_their_split(
    dataset: str, query: str, written: str
) -> None:
    run = replace(run_of({"faithfulness": {query: 1.0}}), dataset_id=dataset)
    matched, match = match_labels(run, labels_of({written: 1.0}))
    assert [label.query_id for label in matched] == [query]
    assert (match.n_matched, match.n_unknown) == (1, 0)


def test_only_splits_of_golden_sets_are_left_out_of_ids() -> None:
    run = run_of({"faithfulness": {"books/q1": 1.0}})
    assert match_labels(run, labels_of({"q1": 1.0}))[1].n_unknown == 1


@pytest.mark.parametrize("unanswered", [False, True])
def test_an_id_that_two_splits_have_is_an_error_that_names_both(unanswered: bool) -> None:
    run = run_of({"faithfulness": {"facts/q1": 1.0, "relations/q1": 0.0}})
    if unanswered:  # the label may still be of the one that has no answer
        answers = {"facts/q1": run.answers["facts/q1"]}
        run = replace(run, answers=answers, unanswered=frozenset({"relations/q1"}))
    labels = [replace(label, place=Location("l.csv", 2)) for label in labels_of({"q1": 1.0})]
    with pytest.raises(InputError) as error:
        match_labels(run, labels + labels)
    expected = (
        "l.csv:2: query_id: expected the id of one sample, got 'q1', that of facts/q1 and relations/q1: "
        "write the split before it"
    )
    assert str(error.value).splitlines() == [expected, expected]


def test_labels_of_other_splits_are_told_where_all_splits_are() -> None:
    run = run_of({"faithfulness": {"fact_001": 1.0}})
    run = replace(run, dataset_id="facts", whole=Path("runs/r1/golden.results.json"))
    labels = labels_of({"fact_001": 1.0, "rel_001": 1.0})
    assert match_labels(run, labels)[1].whole_results == str(run.whole)
    assert match_labels(run, labels[:1])[1].whole_results is None
    with pytest.raises(UsageError, match=r"all splits are in runs.r1.golden\.results\.json"):
        calibrate(run, labels[1:], settings=FAST)


def test_a_biased_flag_is_corrected_to_the_true_rate() -> None:
    run, labels = flagged(4_000, 100)
    (found,) = calibrate(run, labels, pairs=[LabelPair.parse("hallucination=hallucinated")]).metrics
    assert found.metric_mean == pytest.approx(0.49, abs=0.03)
    share = found.share
    assert share.interval is not None
    assert share.labels_interval is not None
    assert share.interval.low < 0.19 < share.interval.high
    assert share.interval.high - share.interval.low < share.labels_interval.high - share.labels_interval.low
    assert found.rogan_gladen is not None
    assert found.rogan_gladen.interval.low < 0.19 < found.rogan_gladen.interval.high
    assert found.mean is None


def test_the_confusion_of_a_yes_or_no_metric_is_counted_as_it_is() -> None:
    values = {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 0.0, "q5": 1.0}
    truth = {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 1.0}
    (found,) = calibrate(run_of({"string_match": values}), labels_of(truth, "label"), settings=FAST).metrics
    assert found.threshold is not None
    assert found.threshold.threshold.source == "yes or no"
    assert found.threshold.counts == Confusion(1, 1, 1, 1)
    assert (found.n_labels, found.n_yes, found.share.n_unlabelled) == (4, 2, 1)


def test_a_metric_of_which_less_is_better_is_turned_round_for_quality_and_not_for_other_labels() -> None:
    values = {f"q{i}": i / 30 for i in range(30)}
    quality = {query: 1.0 - value for query, value in values.items()}
    run = run_of({"hallucination": values})
    (found,) = calibrate(run, labels_of(quality), settings=FAST).metrics
    assert found.is_turned_round
    assert found.spearman.value == pytest.approx(1.0)
    assert found.threshold is not None
    assert found.threshold.threshold.operator == "<="
    assert found.threshold.threshold.value == pytest.approx(0.5, abs=0.1)
    (same,) = calibrate(run, labels_of(values, "label"), settings=FAST).metrics
    assert not same.is_turned_round
    assert same.spearman.value == pytest.approx(1.0)
    reverse = [LabelPair.parse("hallucination=-label")]
    (reversed_,) = calibrate(run, labels_of(values, "label"), pairs=reverse, settings=FAST).metrics
    assert reversed_.spearman.value == pytest.approx(-1.0)


def test_a_suggested_threshold_is_judged_by_cross_validation_and_a_given_one_as_it_is() -> None:
    rng = np.random.default_rng(1)
    truth = {f"q{i}": float(i % 2) for i in range(40)}
    values = {query: float(np.clip(0.3 * value + 0.7 * rng.random(), 0, 1)) for query, value in truth.items()}
    run, labels = run_of({"faithfulness": values}), labels_of(truth)
    (suggested,) = calibrate(run, labels, settings=FAST).metrics
    (given,) = calibrate(run, labels, thresholds={"faithfulness": 0.5}, settings=FAST).metrics
    assert suggested.threshold is not None
    assert given.threshold is not None
    assert suggested.threshold.threshold.source == "suggested"
    assert suggested.threshold.counts.n == 40
    called = sum(values[query] >= 0.5 for query in truth)
    assert given.threshold.threshold.source == "given"
    assert given.threshold.counts.flagged == called


def test_a_metric_that_does_not_follow_the_labels_is_not_called_validated() -> None:
    rng = np.random.default_rng(6)
    values = {f"q{i}": float(rng.random()) for i in range(80)}
    truth = {query: float(rng.random() < 0.5) for query in values}
    (found,) = calibrate(run_of({"faithfulness": values}), labels_of(truth), settings=FAST).metrics
    assert found.verdict == "checked on 80 labels, no significant correlation with them"


def flag_with(
    sensitivity: float, specificity: float, *, of_each: int, n_no: int | None = None
) -> AnsweredRun:
    """Return a run with a flag that finds these shares of ``of_each`` yes and ``n_no`` no."""
    n_no = of_each if n_no is None else n_no
    found = {f"yes{i}": float(i < sensitivity * of_each) for i in range(of_each)}
    spared = {f"no{i}": float(i >= specificity * n_no) for i in range(n_no)}
    return run_of({"faithfulness": {**found, **spared}})


def verdict_of(run: AnsweredRun) -> str:
    truth = {query: float(query.startswith("yes")) for query in run.answers}
    (found,) = calibrate(run, labels_of(truth), settings=FAST).metrics
    return found.verdict


def test_a_metric_is_validated_if_it_surely_tells_two_pairs_of_three_apart() -> None:
    # AUROC of a flag is (sensitivity + specificity) / 2. With 100 of each its standard error is
    # sqrt(2 x 0.8 x 0.2 / 100) / 2 = 0.028 at 0.8, surely 0.745; at 0.7 it is 0.032, surely 0.635 < 2 / 3.
    assert verdict_of(flag_with(0.8, 0.8, of_each=100)) == "validated on 200 labels"
    assert verdict_of(flag_with(0.7, 0.7, of_each=100)).startswith(
        "checked on 200 labels, weak correlation with them: it ranks a yes above a no in 70% of pairs [6"
    )
    assert verdict_of(flag_with(1.0, 1.0, of_each=25)) == "validated on 50 labels"


def test_many_labels_do_not_validate_a_metric_that_hardly_follows_them() -> None:
    # The standard error is sqrt(2 x 0.56 x 0.44 / 1000) / 2 = 0.011: above chance, and yet next to nothing.
    assert verdict_of(flag_with(0.56, 0.56, of_each=1_000)) == (
        "checked on 2,000 labels, weak correlation with them: "
        "it ranks a yes above a no in 56% of pairs [54%, 58%]; chance: 50%"
    )


@pytest.mark.parametrize(
    ("n_yes", "n_no", "verdict"),
    [
        (60, 9, "checked on 69 labels, but too few of them are no (9) to rely on"),
        (0, 60, "checked on 60 labels, but too few of them are yes (0) to rely on"),
        (60, 10, "validated on 70 labels"),
    ],
)
def test_a_metric_is_not_validated_by_labels_of_one_kind(n_yes: int, n_no: int, verdict: str) -> None:
    assert verdict_of(flag_with(1.0, 1.0, of_each=n_yes, n_no=n_no)) == verdict


def test_a_metric_that_runs_against_the_label_is_told_how_to_turn_it() -> None:
    rng = np.random.default_rng(3)
    truth = {f"q{i}": float(i % 3 > 0) for i in range(90)}
    faithful = {query: 0.4 * value + 0.6 * float(rng.random()) for query, value in truth.items()}
    values = {
        "faithfulness": faithful,
        "hallucination": {query: 1 - value for query, value in faithful.items()},
    }
    run, labels = run_of(values), labels_of(truth, "label")
    report = calibrate(run, labels, settings=FAST)
    along, against = report.metrics
    assert along.against is None
    assert along.threshold is not None
    assert against.verdict == "checked on 90 labels, negatively correlated with them"
    assert (against.threshold, against.rogan_gladen) == (None, None)
    assert against.to_dict()["against"] == against.against
    text = calibration_text(report)
    assert "if the two are meant to run opposite ways, give --pair hallucination=-label" in text
    assert "hallucination: no threshold suggested: it is negatively correlated with the label" in text
    (turned,) = calibrate(run, labels, pairs=[LabelPair.parse("hallucination=-label")], settings=FAST).metrics
    assert turned.auroc == along.auroc
    assert turned.verdict == "validated on 90 labels"
    (back,) = calibrate(run, labels, pairs=[LabelPair.parse("faithfulness=-label")], settings=FAST).metrics
    assert back.against is not None
    assert back.against.endswith("are meant to run the same way, give --pair faithfulness=label")


def test_a_flag_that_is_always_the_opposite_runs_against_the_label_and_few_labels_do_not_tell() -> None:
    truth = {f"q{i}": float(i % 2) for i in range(12)}
    run = run_of({"hallucination": {query: 1 - value for query, value in truth.items()}})
    (found,) = calibrate(run, labels_of(truth, "label"), settings=FAST).metrics
    assert found.against is not None
    assert found.verdict == "checked on 12 labels, too few to rely on"
    few = {query: truth[query] for query in list(truth)[:9]}
    (untold,) = calibrate(run, labels_of(few, "label"), settings=FAST).metrics
    assert untold.against is None


def test_a_figure_that_no_resample_changes_has_no_interval() -> None:
    # Every answer is called yes, so kappa and AUROC of any resample are those of chance.
    truth = {f"q{i}": float(i % 2) for i in range(30)}
    run = run_of({"string_match": dict.fromkeys(truth, 1.0)})
    labels = [*labels_of(truth, "label"), *labels_of(truth, "label", who="ben")]
    report = calibrate(run, labels, settings=FAST)
    (found,) = report.metrics
    assert found.threshold is not None
    assert (found.threshold.kappa.value, found.threshold.kappa.interval) == (0.0, None)
    assert (found.auroc.value, found.auroc.interval) == (0.5, None)
    assert found.people_on_yes is not None
    assert (found.people_on_yes.value, found.people_on_yes.interval) == (1.0, None)
    assert "[0.00, 0.00]" not in calibration_text(report)


@pytest.mark.parametrize(("cut", "called"), [(7.0, "no"), (0.0, "yes")])
def test_a_cut_that_parts_no_labels_is_refused_for_these_labels_alone(cut: float, called: str) -> None:
    values = {f"q{i}": i / 20 for i in range(20)}
    run = run_of({"faithfulness": values, "answer_relevancy": values})
    binary = {query: float(value > 0.5) for query, value in values.items()}
    wide = {query: 20 * value - 5 for query, value in values.items()}  # from -5 to 14
    settings = CalibrationSettings(positive_at=cut, resampling=FAST.resampling)
    reason = f"--positive-at {cut:g} makes every label 'accuracy' a {called}: they go from 0 to 1"
    with pytest.raises(UsageError, match=f"faithfulness: not calibrated: {reason}"):
        calibrate(run, labels_of(binary), metrics=["faithfulness"], settings=settings)
    labels = [*labels_of(binary), *labels_of(wide, "relevance", who="ben")]
    report = calibrate(run, labels, settings=settings)
    assert [found.metric for found in report.metrics] == ["answer_relevancy"]
    assert report.unlabelled == {"faithfulness": reason}


def test_a_run_without_a_metric_that_goes_with_a_label_is_an_error() -> None:
    run = run_of({"ndcg@5": {"q1": 1.0}})
    with pytest.raises(UsageError, match=r"no human label matches ndcg@5. Set one with --pair METRIC=FIELD"):
        calibrate(run, labels_of({"q1": 1.0}), settings=FAST)


def test_too_few_of_a_class_suggest_no_threshold_and_say_so() -> None:
    values = {f"q{i}": i / 60 for i in range(60)}
    truth = {query: float(value > 0.1) for query, value in values.items()}
    report = calibrate(run_of({"faithfulness": values}), labels_of(truth), settings=FAST)
    assert report.metrics[0].threshold is not None
    assert report.metrics[0].threshold.threshold.source == "half"
    assert "no threshold suggested: a threshold needs 10 labels of yes and of no" in calibration_text(report)


@pytest.mark.parametrize(("others", "is_noticed"), [((0.43, 0.63), True), ((0.44, 0.64), False)])
def test_labels_are_said_to_be_picked_where_chance_does_it_less_than_once_in_a_hundred(
    others: tuple[float, float], is_noticed: bool
) -> None:
    # Both pairs have a variance of 0.02, so means differ by sqrt(0.02 / 2 + 0.02 / 2) = 0.1414 by chance,
    # and by 2.576 x 0.1414 = 0.3643 once in a hundred. They differ by 0.90 - 0.53 = 0.37, or by 0.36.
    values = {"q1": 0.8, "q2": 1.0, "q3": others[0], "q4": others[1]}
    labels = labels_of({"q1": 1.0, "q2": 0.0})
    (found,) = calibrate(run_of({"faithfulness": values}), labels, settings=FAST).metrics
    assert ("they do not look like a random sample" in (found.not_random or "")) == is_noticed


def test_people_among_themselves_are_the_ceiling() -> None:
    values = {f"q{i}": i / 20 for i in range(20)}
    anna = {query: float(value >= 0.5) for query, value in values.items()}
    ben = {**anna, "q0": 1.0, "q19": 0.0}
    labels = [*labels_of(anna), *labels_of(ben, who="ben")]
    (found,) = calibrate(run_of({"faithfulness": values}), labels, settings=FAST).metrics
    # 18 of 20 agree; by chance half: (0.9 - 0.5) / 0.5 = 0.8. The two they differ on have no majority.
    assert found.people_on_yes is not None
    assert found.people_on_yes.value == pytest.approx(0.8)
    assert (found.n_labels, found.n_undecided, found.merging) == (18, 2, "majority of annotators")
    (alone,) = calibrate(run_of({"faithfulness": values}), labels_of(anna), settings=FAST).metrics
    assert (alone.people, alone.people_on_yes) == (None, None)


def test_graded_labels_have_a_mean_and_a_share_and_labels_beyond_1_need_to_be_told_where_yes_begins() -> None:
    values = {f"q{i}": i / 40 for i in range(40)}
    stars = {f"q{i}": 1.0 + 4.0 * i / 40 for i in range(0, 40, 2)}
    run, labels = run_of({"faithfulness": values}), labels_of(stars, "stars")
    pair = [LabelPair.parse("faithfulness=stars")]
    with pytest.raises(
        UsageError, match=r"goes from 1 to 4.8: set the lowest label that counts as yes with --positive-at"
    ):
        calibrate(run, labels, pairs=pair, settings=FAST)
    settings = CalibrationSettings(positive_at=3.0, resampling=FAST.resampling)
    (found,) = calibrate(run, labels, pairs=pair, settings=settings).metrics
    assert (found.n_yes, found.positive_at) == (10, 3.0)
    assert found.mean is not None
    assert found.mean.interval is not None
    # The mean of all 40 would be 1 + 4 x 0.4875 = 2.95; the labelled ones alone have 2.9.
    assert found.mean.labels_value == pytest.approx(2.9)
    assert found.mean.value == pytest.approx(2.95, abs=0.02)
    assert found.mean.interval.high - found.mean.interval.low < 1.0


def test_a_metric_of_any_range_is_corrected_too() -> None:
    values = {f"q{i}": 100.0 + i for i in range(60)}
    truth = {f"q{i}": float(i >= 30) for i in range(0, 60, 2)}
    pair = [LabelPair.parse("house_style=accuracy")]
    (found,) = calibrate(run_of({"house_style": values}), labels_of(truth), pairs=pair, settings=FAST).metrics
    assert found.reliability is None
    assert found.share.weight > 0.3
    assert found.auroc.value == 1.0


def test_unscored_labels_and_metrics_without_any_are_said() -> None:
    run = run_of({"faithfulness": {"q1": 1.0, "q2": 0.0}, "token_f1": {"q3": 0.5}})
    labels = labels_of({"q1": 1.0, "q2": 0.0, "q3": 1.0})
    report = calibrate(run, labels, metrics=["faithfulness"], settings=FAST)
    assert report.metrics[0].n_unscored_labels == 1
    report = calibrate(run, labels_of({"q1": 1.0}), label="accuracy", settings=FAST)
    assert report.unlabelled == {"token_f1": "no sample has both a score and a label 'accuracy'"}
    assert "token_f1: not calibrated" in calibration_text(report)


def test_a_metric_that_is_asked_for_and_has_no_label_is_an_error_that_helps() -> None:
    with pytest.raises(UsageError, match="--pair ndcg@5=FIELD"):
        chosen_pairs(["faithfulness", "ndcg@5"], FIELDS, only=["ndcg@5"])


def test_all_names_that_are_not_there_are_in_one_error() -> None:
    pairs = [LabelPair("faithfulnes", LabelField("acuracy")), LabelPair("roge", LabelField("clarity"))]
    with pytest.raises(UsageError) as error:
        chosen_pairs(["faithfulness", "rouge"], FIELDS, pairs=pairs, label="relevnce")
    assert str(error.value).splitlines() == [
        'unknown metric of the run "faithfulnes". Did you mean "faithfulness"?',
        'unknown metric of the run "roge". Did you mean "rouge"?',
        'unknown label field "acuracy". Did you mean "accuracy"?',
        'unknown label field "relevnce". Did you mean "relevance"?',
    ]


def test_labels_of_a_draw_tell_the_share_of_all_and_the_rest_is_drawn_once_the_first_are_labelled() -> None:
    rng = random.Random(5)
    right = {f"q{number}": float(rng.random() < 0.7) for number in range(800)}
    scores = {name: 0.9 * label + 0.1 * rng.random() for name, label in right.items()}
    queries = [{"query_id": name, "individual_metrics": {"faithfulness": scores[name]}} for name in right]
    run = answered_run({"evaluation_id": "r", "query_results": queries})

    def labelled(names: Iterable[str]) -> list[HumanLabel]:
        return [HumanLabel(name, "anna", fields={"label": right[name]}) for name in names]

    first = queue_for_people(run, [], 100)
    assert (len(first), queue_for_people(run, labelled(first[:-1]), 100)) == (40, first)
    both = queue_for_people(run, labelled(first), 100)
    assert (len(both), both[:40], len(set(both))) == (100, first, 100)
    settings = CalibrationSettings(resampling=Resampling(resamples=1_000), drawn=True)
    (found,) = calibrate(run, labelled(both), settings=settings).metrics
    assert found.share.interval is not None
    assert found.share.interval.low < sum(right.values()) / 800 < found.share.interval.high
    assert found.share.effective_labels > 150
    assert (found.share.labels_interval, found.not_random) == (None, None)
    with pytest.raises(UnknownNameError, match="metric of the run"):
        queue_for_people(run, [], 100, metric="chrf")
