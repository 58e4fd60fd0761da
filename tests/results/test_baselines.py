"""A run against an earlier one, through the door: what pairs, what is shown, what is undecided."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from finished_runs import RESULTS, evaluated, head, on_disk, scored

from rag_evaluation_framework import Evaluation, Gate, Options, Threshold, UsageError, Verdict, evaluate, load
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.baselines import (
    Baseline,
    BaselineRun,
    compared,
    compared_metrics,
    latest_of_branch,
    open_baseline,
    save_baseline,
    side_of,
    standing_together,
)
from rag_evaluation_framework.results.regressions import Standing
from rag_evaluation_framework.results.run_folder import RunFolder

QUESTIONS = [f"q{number}" for number in range(18)]


def rows(questions: Collection[str] = QUESTIONS) -> list[dict[str, Any]]:
    return [{"id": each, "input": each, "expected": f"The answer to {each}"} for each in questions]


def right_but(wrong: Collection[str] = ()) -> Callable[[str], str]:
    """An agent that answers right, except for these questions."""
    return lambda question: "nonsense" if question in wrong else f"The answer to {question}"


def run(
    folder: Path, wrong: Collection[str] = (), questions: Collection[str] = QUESTIONS, **given: Any
) -> Evaluation:
    wish: dict[str, Any] = {"metrics": ["string_match"], **given}
    return evaluate(rows(questions), target=right_but(wrong), runs_directory=folder, **wish)


def verdict(evaluation: Evaluation) -> Verdict:
    assert evaluation.verdict is not None
    return evaluation.verdict


# Four flips for the worse and none for the better: P = (1/2) ** 5 = 0.031 by mid-p, the first below 0.04.
@pytest.mark.parametrize("gate", [None, {"string_match": 0.5}])
def test_answers_replaced_by_nonsense_fail_from_the_fourth_on(tmp_path: Path, gate: Any) -> None:
    before = run(tmp_path)
    for wrong in range(19):
        after = run(tmp_path, QUESTIONS[:wrong], gate=gate, baseline=before)
        found = verdict(after)
        assert found.exit_code == (wrong >= 1), wrong
        assert found.word == ("passed" if not wrong else "failed" if wrong >= 4 else "undecided"), wrong
        assert Gate(max_regressions=0).decide(after).exit_code == (wrong >= 1), wrong
        assert found.regressions is not None
        assert [sample for _, sample in found.regressions.worse] == QUESTIONS[:wrong]


def test_a_run_a_results_file_and_an_evaluation_say_the_same(tmp_path: Path) -> None:
    before = run(tmp_path / "runs")
    path = before.save(tmp_path / "before.results.json")
    found = [
        verdict(run(tmp_path / "runs", QUESTIONS[:5], baseline=baseline)).regressions
        for baseline in (before, path, str(path), before.head.run_id, before.folder)
    ]
    for each in found:
        assert each is not None
        assert (each.word, len(each.worse), each.paired) == ("worse", 5, 18)
        assert each.answers[next(iter(before.parts)), "q0"] == "The answer to q0"


def test_what_got_better_is_better_and_what_did_both_is_undecided(tmp_path: Path) -> None:
    before = run(tmp_path, QUESTIONS[:6])
    better = verdict(run(tmp_path, (), baseline=before))
    assert (better.checks[0].status, better.exit_code) == ("better", 0)
    both = verdict(run(tmp_path, QUESTIONS[3:9], baseline=before))
    assert (both.word, both.exit_code) == ("undecided", 1)
    assert both.regressions is not None
    # With three for the better, ten for the worse would have shown it: mid-p of 9 of 12 is 0.046, of 10 of
    # 13 it is 0.029.
    assert (len(both.regressions.worse), len(both.regressions.better)) == (3, 3)
    assert both.regressions.would_fail == 10


def test_too_few_samples_are_not_evaluated_unless_nothing_got_worse(tmp_path: Path) -> None:
    few = QUESTIONS[:3]
    before = run(tmp_path, (), few)
    same = verdict(run(tmp_path, (), few, baseline=before))
    assert (same.word, same.checks[0].status) == ("passed", "no worse")
    worse = verdict(run(tmp_path, few[:1], few, baseline=before))
    assert (worse.word, worse.exit_code) == ("not evaluated", 1)
    assert "3 answers cannot show a drop, whatever they say" in worse.reasons[0]
    waived = Gate(waive=frozenset({"baseline"}))
    assert verdict(run(tmp_path, few[:1], few, baseline=before, gate=waived)).exit_code == 0


def test_an_edited_sample_pairs_by_its_id_and_is_named(tmp_path: Path) -> None:
    kept = QUESTIONS[:10]
    before = evaluate(
        [*rows([*kept, "gone"]), {"id": "edited", "input": "then?", "expected": "x"}],
        target=right_but(),
        metrics="string_match",
        runs_directory=tmp_path,
    )
    now = [*rows(["new", *reversed(kept)]), {"id": "edited", "input": "now?", "expected": "x"}]
    for baseline in (before, before.save(tmp_path / "before.results.json")):
        after = evaluate(
            now, target=right_but(), metrics="string_match", runs_directory=tmp_path, baseline=baseline
        )
        found = after.regressions
        assert found is not None
        assert (found.paired, found.new, found.gone, found.worse) == (11, 1, 1, ())
        assert [name for _, name in found.edited] == ["edited"]


def test_answers_that_count_in_one_run_alone_are_named_and_too_many_of_them_decide_nothing(
    tmp_path: Path,
) -> None:
    def samples(known: str) -> list[dict[str, Any]]:
        return [
            {"id": each, "input": each, "expected": known, "context": [f"{each} is known."]}
            for each in QUESTIONS
        ]

    def declining(number: int) -> Callable[[str], str]:
        declined = QUESTIONS[:number]
        return lambda question: "I do not know." if question in declined else f"{question} is known."

    gate = {"faithfulness": 0.5}
    wish: dict[str, Any] = {"metrics": "faithfulness", "runs_directory": tmp_path, "gate": gate}
    before = evaluate(samples("x"), target=declining(0), **wish)
    for number, status in [(1, "no worse"), (2, "not evaluated"), (18, "not evaluated")]:
        after = evaluate(samples("x"), target=declining(number), baseline=before, **wish)
        assert after.regressions is not None
        assert [sample for _, sample in after.regressions.unpaired] == QUESTIONS[:number]
        assert verdict(after).checks[-1].status == status
        assert f"cannot be compared, scored in one run alone: {QUESTIONS[0]}" in str(after)


def test_a_metric_that_is_only_looked_at_changes_nothing(tmp_path: Path) -> None:
    before = run(tmp_path, metrics=["string_match", "token_f1", "chrf", "bleu", "rouge"])
    alone = verdict(run(tmp_path, QUESTIONS[:4], baseline=before))
    beside = verdict(
        run(tmp_path, QUESTIONS[:4], baseline=before, metrics=["string_match", "token_f1", "chrf", "bleu"])
    )
    assert alone.regressions == beside.regressions
    assert beside.word == "failed"


def test_times_are_not_compared(tmp_path: Path) -> None:
    wish: dict[str, Any] = {"metrics": ["latency", "string_match"], "gate": {"latency": 60_000}}
    before = run(tmp_path, **wish)
    after = run(tmp_path, QUESTIONS[:5], baseline=before, **wish)
    assert after.regressions is not None
    # What is left is the first metric that measures no time.
    assert (len(after.regressions.worse), after.regressions.metrics) == (5, ())


def test_failed_requests_are_worse_than_any_answer(tmp_path: Path) -> None:
    def breaking(question: str) -> str:
        if question in QUESTIONS[:4]:
            raise RuntimeError("gone")
        return f"The answer to {question}"

    before = run(tmp_path)
    after = evaluate(
        rows(), target=breaking, metrics="string_match", runs_directory=tmp_path, baseline=before
    )
    assert after.regressions is not None
    assert (after.regressions.word, len(after.regressions.worse)) == ("worse", 4)


def test_a_baseline_that_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    before = run(tmp_path)
    for given, problem in [
        ({"baseline": before, "metrics": "token_f1"}, "was not scored with token_f1; run rag-eval score"),
        ({"baseline": "no-such-run"}, 'there is no run "no-such-run" in .*The latest is eval_run'),
        ({"baseline": __file__}, "expected a run by its id or the path of its folder, got the file"),
    ]:
        with pytest.raises(UsageError, match=problem):
            run(tmp_path, **given)  # type: ignore[arg-type]
    others = tmp_path / "others.jsonl"
    others.write_text('{"input": "q0", "expected": "x"}\n', encoding="utf-8")
    wish: dict[str, Any] = {"metrics": "string_match", "runs_directory": tmp_path, "baseline": before}
    with pytest.raises(UsageError, match="expected a run of dataset others, got runs of rows"):
        evaluate(others, target=right_but(), **wish)


class Noisy:
    """An agent that answers each question wrong so many times in a hundred, in an order of its own."""

    def __init__(self, wrong: dict[str, list[bool]]) -> None:
        self._wrong = {question: iter(each) for question, each in wrong.items()}

    def __call__(self, question: str) -> str:
        return "nonsense" if next(self._wrong[question]) else f"The answer to {question}"


def repeated(folder: Path, wrong: dict[str, int], **given: Any) -> Evaluation:
    """Ask each question five times; the first so many answers are wrong."""
    answers = {each: [place < wrong.get(each, 0) for place in range(5)] for each in QUESTIONS}
    return evaluate(
        rows(),
        target=Noisy(answers),
        metrics="string_match",
        runs_directory=folder,
        gate={"string_match": 0.5},
        options=Options(repeats=5, concurrency=1),
        **given,
    )


def test_asking_again_tells_noise_from_change(tmp_path: Path) -> None:
    noise = dict.fromkeys(QUESTIONS[:4], 1)
    before = repeated(tmp_path, noise)
    assert before.counts.total == 90
    # Figures are of samples: four of the eighteen score 4 of 5, and all of them pass.
    (part,) = before.parts.values()
    figure, rate = part.metrics["string_match"], part.metrics["pass_rate"]
    assert (figure.value, figure.n_scored, rate.value, rate.n_scored) == (
        pytest.approx((14 + 4 * 0.8) / 18),
        18,
        1.0,
        18,
    )
    assert figure.interval is not None
    assert figure.interval.high - figure.interval.low > 0.15  # not that of ninety scores
    # The same agent again, its mistakes elsewhere: no question got worse, though one answer more is wrong.
    same = verdict(repeated(tmp_path, dict.fromkeys(QUESTIONS[2:7], 1), baseline=before))
    assert (same.word, same.exit_code) == ("undecided", 1)
    # Two questions that are always wrong now are a change, where each was asked once they would not be shown:
    # all five that pass fall to before with 1 of C(10, 5), for each of the two.
    changed = verdict(repeated(tmp_path, dict.fromkeys(QUESTIONS[10:12], 5), baseline=before))
    assert changed.regressions is not None
    assert (changed.word, changed.regressions.word) == ("failed", "worse")
    assert [sample for _, sample in changed.regressions.worse] == QUESTIONS[10:12]
    assert changed.regressions.answers_passed == (86, 90, 80, 90)
    # A baseline that asked once is compared with as well.
    once = run(tmp_path, gate={"string_match": 0.5})
    assert verdict(repeated(tmp_path, dict.fromkeys(QUESTIONS[:3], 5), baseline=once)).word == "failed"
    assert verdict(repeated(tmp_path, {}, baseline=once)).word == "passed"


def test_recorded_answers_are_not_asked_again(tmp_path: Path) -> None:
    recorded = tmp_path / "answers.jsonl"
    recorded.write_text("".join(json.dumps({"input": each, "answer": "yes"}) + "\n" for each in QUESTIONS))
    with pytest.raises(UsageError, match="repeats: expected 1 for answers that are recorded, got 3"):
        evaluate(rows(), target=recorded, metrics="string_match", options=Options(repeats=3))


def in_repository(folder: Path, branch: str) -> None:
    (folder / ".git" / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
    (folder / ".git" / "refs" / "heads" / branch).write_text("0123abcd\n", encoding="utf-8")


def test_a_branch_is_its_latest_complete_run_on_the_dataset_or_what_was_saved_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    in_repository(tmp_path, "main")
    first = run(tmp_path / "runs", QUESTIONS[:9])
    assert {name: first.head.configuration[name] for name in ("branch", "commit")} == {
        "branch": "main",
        "commit": "0123abcd",
    }
    latest = run(tmp_path / "runs", ())
    in_repository(tmp_path, "change")
    found = run(tmp_path / "runs", QUESTIONS[:5], baseline="main").regressions
    assert found is not None
    assert (found.baseline, found.word, len(found.worse)) == (latest.head.run_id, "worse", 5)
    path = save_baseline(latest, "nightly")
    assert path == Path("data", "evaluation", "results", "baseline_nightly.results.json")
    for name in ("nightly", "main"):
        found = run(tmp_path / "elsewhere", QUESTIONS[:5], baseline=name).regressions
        assert found is not None
        assert (found.baseline, found.word, len(found.worse)) == (path.name, "worse", 5)
    written = path.read_bytes()
    assert written.startswith(b'{\n  "')
    kept = save_baseline(load(path), "again")
    assert kept.read_bytes() == written
    assert save_baseline(latest, "nightly").read_bytes() == written
    with pytest.raises(UsageError, match="or branch of that name with a complete run of rows"):
        run(tmp_path / "runs", baseline="release")
    with pytest.raises(UsageError, match="baseline to save: expected a name of letters"):
        save_baseline(latest, "../main")


def test_a_saved_baseline_of_several_datasets_is_one_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        lines = "".join(json.dumps({**each, "context": ["x" * 1000]}) + "\n" for each in rows())
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    metrics: [string_match]\n    thresholds: {string_match: 0.5}\n"
        "    datasets: [{name: a, path: a.jsonl}, {name: b, path: b.jsonl}]\n    ciGate: true\n",
        encoding="utf-8",
    )
    before = evaluate("agent.yaml", target=right_but(), runs_directory=tmp_path / "runs")
    path = save_baseline(before, "main")
    assert path.stat().st_size < 20_000
    after = evaluate(
        "agent.yaml", target=right_but(QUESTIONS[:2]), runs_directory=tmp_path / "runs", baseline="main"
    )
    assert after.regressions is not None
    # Two answers of each dataset are four together, and fail together.
    assert after.regressions.worse == (("a", "q0"), ("a", "q1"), ("b", "q0"), ("b", "q1"))
    assert verdict(after).word == "failed"


@pytest.mark.parametrize(
    ("standings", "together"),
    [
        # Two of three pass and are answered; the mean is over those that have a value.
        ([(True, True, 1.0), (True, True, 0.5), (False, False, None)], (True, True, 0.75, (2, 3))),
        ([(True, True, 1.0), (False, False, None)], (False, False, 1.0, (1, 2))),  # half is not most
        ([(True, None, 0.25), (True, None, None)], (True, None, 0.25, (0, 0))),
        ([(True, True, None), (True, None, None)], (True, True, None, (1, 1))),
    ],
)
def test_a_sample_asked_again_stands_as_most_of_its_answers(standings: Any, together: Any) -> None:
    found = standing_together(
        [
            Standing(answered, passes, {} if value is None else {"m": value})
            for answered, passes, value in standings
        ]
    )
    assert (found.answered, found.passes, found.values.get("m"), found.answers) == together


@dataclass
class Scorer:
    name: str
    method: str = "lexical"
    higher_is_better: bool = True


def test_only_what_was_scored_the_same_way_is_compared() -> None:
    both = (
        *scored({"a": 1.0}),
        *scored({"b": 1.0}, method="judge"),
        *scored({"a": 1.0}, "m", method="unknown"),
    )
    before = BaselineRun(head=head(), results=lambda: iter(both))
    before.check_scored_by([Scorer("token_f1"), Scorer("token_f1", "judge"), Scorer("m", "any")])
    with pytest.raises(UsageError, match="has token_f1 by judge and lexical, this run by embedding"):
        before.check_scored_by([Scorer("token_f1", "embedding")])
    with pytest.raises(UsageError, match="was not scored with chrf; run rag-eval score first"):
        before.check_scored_by([Scorer("m"), Scorer("chrf")])
    times = [Scorer("latency", TIMING_METHOD), Scorer("first"), Scorer("second"), Scorer("gated")]
    bounds = [Threshold(name, ">=", 0.5) for name in ("latency", "gated", "absent")]
    used, held = compared_metrics(times, bounds)
    assert ([each.name for each in used], [each.metric for each in held]) == (["first", "gated"], ["gated"])


def test_the_old_answers_of_the_first_that_got_worse_are_kept() -> None:
    ids = [f"q{number:02}" for number in range(30)]
    passing, failing = (scored(dict.fromkeys(ids, value)) for value in (1.0, 0.0))
    run_before = BaselineRun(head=head(), results=lambda: iter(passing))
    given = side_of(
        "d",
        run_before,
        lambda: iter(failing),
        [],
        scorers=[Scorer("token_f1")],
        thresholds=[Threshold("token_f1", ">=", 0.5)],
        head=head(),
    )
    found = compared(Baseline(name="b", runs={"d": run_before}), [given], min_paired=0.9)
    assert (found.word, len(found.worse)) == ("worse", 30)
    assert found.answers == {("d", name): "x" for name in ids[:20]}
    with pytest.raises(UsageError, match="expected a run of dataset e, got runs of d"):
        Baseline(name="b", runs={"d": run_before}).run_of("e")


def test_only_complete_runs_are_baselines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "runs"

    def made(number: int, *, whole: bool = True, dataset: str = "d", **configuration: Any) -> RunFolder:
        return on_disk(
            runs,
            RESULTS if whole else RESULTS[:2],
            run_id=f"r{number}",
            dataset_id=dataset,
            started_at=f"2026-11-15T0{number}:00:00+00:00",
            configuration={"branch": "main", **configuration},
        )

    first, half = made(1), made(2, whole=False)
    made(3, branch="other")
    made(4), made(5, whole=False, dataset="e", evaluation="r4")  # a group that is not complete
    assert latest_of_branch("main", runs, ["d"]) == first.path
    assert latest_of_branch("main", runs, ["d", "e"]) is None
    group = [made(6), made(7, dataset="e", evaluation="r6")]
    assert (
        latest_of_branch("main", runs, ["d", "e"]) == latest_of_branch("main", runs, ["e"]) == group[0].path
    )
    opened = open_baseline("main", runs_directory=runs, datasets=["e"])
    assert (opened.name, list(opened.runs)) == ("r6", ["d", "e"])
    assert {row.id for row in opened.runs["d"].rows()} == {"q1", "q2", "q3"}
    for given in ("r2", half.path, "r4"):
        with pytest.raises(UsageError, match="is incomplete: expected a complete run"):
            open_baseline(given, runs_directory=runs, datasets=["d"])
    evaluation = evaluated(run_id="r8")
    whole = open_baseline(evaluation, runs_directory=runs, datasets=["d"])
    assert (whole.name, [each.sample_id for each in whole.run_of(evaluation.name).results()]) == (
        "r8",
        ["q1", "q2", "q3"],
    )
    stopped = replace(evaluation, outcome=replace(evaluation.outcome, completed=False))
    with pytest.raises(UsageError, match="baseline r8 is incomplete"):
        open_baseline(stopped, runs_directory=runs, datasets=["d"])
    # A file of another branch, one of this branch without the dataset, two with it, and what is no such file.
    results = tmp_path / "data" / "evaluation" / "results"
    results.mkdir(parents=True)
    for name, dataset, branch, day in (
        ("x", "d", "other", 19),
        ("y", "f", "main", 18),
        ("z", "d", "main", 17),
        ("v", "d", "main", 16),
    ):
        written = evaluated(
            dataset_id=dataset, configuration={"branch": branch}, started_at=f"2026-11-{day}T00:00:00+00:00"
        )
        written.save(results / f"{name}.results.json")
    (results / "w.results.json").write_text("[]", encoding="utf-8")
    assert latest_of_branch("main", runs, ["d"]) == Path("data", "evaluation", "results", "z.results.json")
    assert open_baseline("main", runs_directory=runs, datasets=["f"]).name == "y.results.json"
