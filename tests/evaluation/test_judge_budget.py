"""A judge's budget: some samples are judged, the means are those of all, and nothing is asked twice."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_judge import entries, read_question

from rag_evaluation_framework import Evaluation, Gate, Judge, Threshold, UsageError, evaluate, load
from rag_evaluation_framework.errors import ModelOutageError
from rag_evaluation_framework.models.chat import Completion, Message
from rag_evaluation_framework.records.scores import CHEAP_SCORE, NOT_DRAWN

NAMES = ["Anna", "Bertil", "Cecilia", "David", "Erik", "Filippa", "Gustav", "Hedda", "Ivar", "Johanna"]


def rows(count: int, *, wrong: float = 0.3, seed: int = 1) -> list[dict[str, Any]]:
    """Return answers of which some name another pier than the contexts do."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        captain, pier = rng.choice(NAMES), rng.randint(1, 40)
        said = pier if rng.random() > wrong else 90 + pier
        found.append(
            {
                "id": f"q{number}",
                "question": f"Where does ferry {number} of {captain} sail from?",
                "contexts": [f"Ferry {number} of captain {captain} sails from pier {pier} at nine."],
                "answer": f"Ferry {number} of captain {captain} sails from pier {said}.",
            }
        )
    return found


class PierJudge:
    """Knows that piers above 80 are made up; may go down after so many calls."""

    def __init__(self, down_after: int | None = None) -> None:
        self.name, self.asked, self.down_after = "piers", [], down_after  # type: ignore[var-annotated]

    def chat(self, messages: Sequence[Message], *, schema: Any = None, draw: int = 0) -> Completion:
        if self.down_after is not None and len(self.asked) >= self.down_after:
            raise ModelOutageError("connection-failed", "piers at http://localhost: no route")
        asked = {"messages": [{"content": each.content} for each in messages]}
        reading = read_question(asked)
        if reading.prompt.name == "relevance_grade":
            self.asked.append(reading.texts["question"])
            found = [
                {"grade": 3 * ("at nine" in text), "reason": "."} for text in reading.several("contexts")
            ]
            return Completion(text=json.dumps({"contexts": entries(*found)}))
        claims = reading.several("claims")
        self.asked.append("|".join(claims))
        found = [
            {"label": "unsupported", "evidence": 0, "quote": ""}
            if "pier 9" in claim or ("pier 1" in claim and len(claim.rpartition(" ")[2]) > 3)
            else {"label": "supported", "evidence": 1, "quote": " ".join(claim.split()[:3])}
            for claim in claims
        ]
        return Completion(text=json.dumps({"claims": entries(*found)}))


def judged(data: Any, judge: PierJudge | None = None, **wish: Any) -> Evaluation:
    wish = {"metrics": ["faithfulness"], **wish}
    return evaluate(data, judge=Judge(judge or PierJudge()), blame=False, **wish)


def test_some_are_judged_and_the_mean_is_that_of_all() -> None:
    data = rows(240)
    everything = judged(data).metrics["faithfulness"]
    judge = PierJudge()
    found = judged(data, judge, judge_budget=80)
    figure = found.metrics["faithfulness"]
    assert figure.judged is not None
    assert everything.judged is None
    assert (len(judge.asked), figure.n_scored, figure.judged.drawn, figure.judged.n) == (80, 80, 80, 240)
    assert figure.method == "judge:piers, partly judged"
    assert figure.interval is not None
    assert everything.value is not None
    assert figure.interval.low < everything.value < figure.interval.high
    assert (figure.n_skipped, figure.n_failed, figure.reasons) == (0, 0, ())
    # Who was not drawn has no score, and says what words gave.
    scores = [row.scores[0] for row in found.rows]
    undrawn = [score for score in scores if score.is_undrawn]
    assert (len(undrawn), {score.value for score in undrawn}, undrawn[0].reason) == (160, {None}, NOT_DRAWN)
    assert all(CHEAP_SCORE in score.details for score in scores)
    written = found.to_dict()["answer_quality_metrics"]["faithfulness"]
    assert (written["n_scored"], written["n_population"], written["n_drawn"]) == (80, 240, 80)


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (Threshold("wrong", "<=", 0.45), "passed"),
        (Threshold("wrong", "<=", 0.3), "undecided"),
        (Threshold("wrong", "<=", 0.1), "failed"),
        (Threshold("wrong", "<=", 200, is_count=True), "undecided"),
    ],
    ids=str,
)
def test_share_of_a_grade_is_held_by_its_estimate(limit: Threshold, word: str) -> None:
    found = judged(rows(240), judge_budget=80, gate=Gate(thresholds=(limit,)))
    assert (found.answers.left_out, found.verdict.word) == (160, word)


def test_the_same_seed_draws_the_same_and_another_seed_others() -> None:
    data, drawn = rows(100), []
    for seed in (1, 1, 2):
        judge = PierJudge()
        judged(data, judge, judge_budget=30, seed=seed)
        drawn.append(sorted(judge.asked))
    assert drawn[0] == drawn[1] != drawn[2]


def test_it_stops_where_the_interval_is_narrow_enough() -> None:
    judge = PierJudge()
    figure = judged(rows(400, wrong=0.05), judge, precision=0.05).metrics["faithfulness"]
    assert figure.interval is not None
    assert figure.interval.high - figure.interval.low <= 0.1
    assert 40 <= len(judge.asked) < 300
    both = PierJudge()
    judged(rows(400, wrong=0.05), both, precision=0.001, judge_budget=70)
    assert len(both.asked) == 70


def test_a_resume_draws_the_same_and_asks_nothing_twice(tmp_path: Path) -> None:
    data, whole = rows(150), PierJudge()
    expected = judged(data, whole, judge_budget=60).metrics["faithfulness"]
    for down_after in (10, 40):
        first, second, runs = PierJudge(down_after), PierJudge(), tmp_path / str(down_after)
        wish: dict[str, Any] = {"judge_budget": 60, "runs_directory": runs}
        stopped = judged(data, first, **wish)
        assert not stopped.outcome.completed
        (run,) = runs.iterdir()
        assert not load(run).outcome.completed  # type: ignore[union-attr]
        done = judged(data, second, resume=run.name, **wish)
        assert done.outcome.completed
        assert done.metrics["faithfulness"] == expected
        # What was under way when the judge went down is lost, and no other sample is judged in its place.
        assert set(first.asked + second.asked) == set(whole.asked)
        assert len(second.asked) <= 60 - down_after + 16
        again = PierJudge()
        assert judged(data, again, resume=run.name, **wish).metrics["faithfulness"] == expected
        assert again.asked == []
        kept = load(run)
        assert isinstance(kept, Evaluation)
        assert kept.metrics["faithfulness"] == expected


def test_a_resume_goes_on_with_a_larger_budget_and_not_without_one(tmp_path: Path) -> None:
    data, judge = rows(120), PierJudge()
    judged(data, judge, judge_budget=40, runs_directory=tmp_path)
    (run,) = tmp_path.iterdir()
    with pytest.raises(UsageError, match="the run started with --judge-budget 40"):
        judged(data, runs_directory=tmp_path, resume=run.name)
    more = judged(data, judge, judge_budget=90, runs_directory=tmp_path, resume=run.name)
    assert len(judge.asked) == 90 == more.metrics["faithfulness"].n_scored
    assert len(set(judge.asked)) == 90


def test_several_metrics_share_the_draw_and_slices_are_estimated_too() -> None:
    data = [{**row, "tags": ["odd" if place % 2 else "even"]} for place, row in enumerate(rows(300))]
    found = judged(data, judge_budget=150, metrics=["faithfulness", "hallucination"])
    first, second = (found.metrics[name] for name in ("faithfulness", "hallucination"))
    assert first.judged is not None
    assert second.judged is not None
    assert first.judged.drawn == second.judged.drawn
    assert first.value == pytest.approx(1 - second.value)  # type: ignore[operator]
    slices = next(iter(found.parts.values())).slices["tag"]
    told = sum(slices[tag]["faithfulness"].value / 2 for tag in ("odd", "even"))  # type: ignore[operator]
    assert told == pytest.approx(first.value, abs=0.03)


UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({"judge_budget": 0}, "judge_budget: expected a whole number of calls above 0, got 0"),
    ({"precision": 0}, "precision: expected half the width of an interval, got 0"),
    ({"judge_budget": 5, "metrics": ["token_f1"]}, "no metric uses the judge"),
]


@pytest.mark.parametrize(("wish", "told"), UNUSABLE)
def test_what_cannot_be_is_refused(wish: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        judged([{**row, "reference": "Pier 4."} for row in rows(3)], **wish)


def test_a_budget_needs_a_judge() -> None:
    with pytest.raises(UsageError, match="a budget for the judge needs a judge: use --judge-model"):
        evaluate(rows(3), metrics=["faithfulness"], judge_budget=5)


def test_two_runs_judged_in_part_are_compared_by_the_means_of_all(tmp_path: Path) -> None:
    before, after = rows(300, wrong=0.2), rows(300, wrong=0.2)
    for row in after[::4]:  # a quarter is made worse
        row["answer"] = row["answer"].replace("pier ", "pier 9")
    everything = [judged(each) for each in (before, after)]
    truth = [each.metrics["faithfulness"].value for each in everything]
    found = [judged(each, judge_budget=120, seed=3) for each in (before, after)]
    compared = found[0].compare(found[1], force=True)
    (metric,) = compared.metrics
    assert metric.interval is not None
    assert metric.interval.low < truth[1] - truth[0] < metric.interval.high  # type: ignore[operator]
    assert metric.verdict == "worse"
    assert metric.test == "t, stratified and paired: judged in part"
    # A run that was judged whole may stand on either side.
    (whole,) = everything[0].compare(found[1], force=True).metrics
    assert whole.baseline_mean == pytest.approx(truth[0])
    assert whole.verdict == "worse"


def test_the_gate_compares_with_a_baseline_that_was_judged_in_part(tmp_path: Path) -> None:
    before, worse = rows(150, wrong=0.1), {}
    answers = {row["question"]: row.pop("answer") for row in before}
    for number, (question, answer) in enumerate(answers.items()):
        worse[question] = answer if number % 3 else answer.replace("pier ", "pier 9")
    wish: dict[str, Any] = {"judge_budget": 70, "runs_directory": tmp_path / "runs"}
    first = judged(before, target=answers.get, **wish)
    wish["gate"] = {"faithfulness": 0.01}
    for baseline in (first, first.save(tmp_path / "before.results.json")):
        moved = judged(before, target=worse.get, baseline=baseline, **wish).regressions
        assert moved is not None
        assert moved.metrics[0].finding == "worse"
        assert moved.metrics[0].interval is not None
        same = judged(before, target=answers.get, baseline=baseline, **wish).regressions
        assert same is not None
        assert same.word == "no worse"


@pytest.mark.parametrize("metric", ["relevance_grade", "judged_ndcg", "bias"])
def test_what_only_a_judge_scores_is_drawn_too(metric: str) -> None:
    data = rows(120)
    for place, row in enumerate(data):
        row["contexts"].append("It rains." if place % 3 else "Boats sail at nine.")
    judge = PierJudge()
    if metric == "bias":
        judge.chat = lambda *_, **__: Completion(text='{"label": "clean", "quote": "", "reason": "."}')  # type: ignore[method-assign]
    figure = judged(data, judge, metrics=[metric], judge_budget=45, seed=2).metrics[metric]
    assert figure.judged is not None
    assert (figure.n_scored, figure.judged.n, figure.n_failed) == (45, 120, 0)
    if metric == "relevance_grade":  # 2 contexts: one has grade 3, and so has the other of one in three
        assert figure.interval is not None
        assert figure.interval.low < 2.0 < figure.interval.high


def test_a_cascade_and_systems_side_by_side_have_a_budget_too(tmp_path: Path) -> None:
    data, judge = rows(300), PierJudge()
    wish: dict[str, Any] = {"support": "cascade(lexical, judge)", "judge_budget": 60}
    figure = judged(data, judge, **wish).metrics["faithfulness"]
    assert figure.method.endswith("judge:piers), partly judged")
    # Words decide some of the claims, so 60 calls buy more than 60 samples.
    assert (figure.n_scored > 60, len(judge.asked) <= 60) == (True, True)
    answers = {row["question"]: row.pop("answer") for row in data}
    systems = {"old": answers.get, "new": lambda question: answers[question].replace("pier ", "pier 9")}
    whole = judged(data, target=systems, judge_budget=60, runs_directory=tmp_path)
    assert whole.comparison is not None
    (metric,) = whole.comparison.metrics
    assert (metric.verdict, metric.contender_mean, metric.n_unpaired) == ("worse", 0.0, 0)
