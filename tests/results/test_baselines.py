"""A run against an earlier one, through the door: what pairs, what is shown, what is undecided."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Evaluation, Gate, Options, UsageError, Verdict, evaluate
from rag_evaluation_framework.results.baselines import save_baseline

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
        assert found.exit_code == (wrong >= 4), wrong
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
    assert (both.word, both.exit_code) == ("undecided", 0)
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


def test_samples_pair_by_id_and_only_where_their_content_is_the_same(tmp_path: Path) -> None:
    before = evaluate(
        [*rows(["a", "b", "gone"]), {"id": "edited", "input": "then?", "expected": "x"}],
        target=right_but(),
        metrics="string_match",
        runs_directory=tmp_path,
    )
    now = [*rows(["new", "b", "a"]), {"id": "edited", "input": "now?", "expected": "x"}]
    for baseline in (before, before.save(tmp_path / "before.results.json")):
        after = evaluate(
            now, target=right_but(), metrics="string_match", runs_directory=tmp_path, baseline=baseline
        )
        found = after.regressions
        assert found is not None
        assert (found.paired, found.new, found.gone, found.worse) == (2, 2, 2, ())


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
    assert (same.word, same.exit_code) == ("undecided", 0)
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
