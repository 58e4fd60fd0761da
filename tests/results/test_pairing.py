"""Which row is which: rows in memory and results by every change, repeats, edits, samples of other questions.

Files of every format are in ``test_pairing_formats``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import (
    Comparison,
    Evaluation,
    Gate,
    Options,
    Sample,
    Threshold,
    UsageError,
    compare,
    evaluate,
    load,
)
from rag_evaluation_framework.datasets import dialect
from rag_evaluation_framework.results.baselines import save_baseline
from rag_evaluation_framework.results.verdicts import AnswerChanges

N = 30
Values = dict[str, Any]
Dialect = Callable[[Values], Any]

DIALECTS: Mapping[str, Dialect] = {
    "ground_truth": lambda row: {
        "question": row["question"],
        "answer": row["answer"],
        "contexts": row["contexts"],
        "ground_truth": row["reference"],
    },
    "reference": lambda row: dict(row),
    "named": lambda row: {"id": row["name"], **{name: row[name] for name in row if name != "name"}},
    "ragas 0.1": lambda row: {
        "question": row["question"],
        "answer": row["answer"],
        "contexts": row["contexts"],
        "ground_truths": [row["reference"]],
    },
    "ragas 0.2": lambda row: {
        "user_input": row["question"],
        "response": row["answer"],
        "retrieved_contexts": row["contexts"],
        "reference": row["reference"],
    },
    "deepeval": lambda row: {
        "input": row["question"],
        "actual_output": row["answer"],
        "retrieval_context": row["contexts"],
        "expected_output": row["reference"],
    },
    "query": lambda row: {
        "query": row["question"],
        "output": row["answer"],
        "documents": [{"text": text} for text in row["contexts"]],
        "expected": row["reference"],
    },
    "messages": lambda row: {
        "messages": [
            {"role": "system", "content": "Answer in one sentence."},
            {"role": "user", "content": row["question"]},
            {"role": "assistant", "content": row["answer"]},
        ],
        "contexts": row["contexts"],
        "reference": row["reference"],
    },
}


def values(number: int) -> Values:
    return {
        "name": f"row-{number}",
        "question": f"How many boxes are in hall {number}?",
        "answer": f"There are {number + 3} boxes.",
        "contexts": [f"Hall {number} holds {number + 3} boxes."],
        "reference": f"{number + 3} boxes",
    }


def changed(change: str) -> list[Values]:
    rows = [values(number) for number in range(N)]
    for row in rows:
        if change == "answers":
            row["answer"] = f"I counted: {row['answer']}"
        elif change == "contexts":
            row["contexts"] = ["Another passage.", *row["contexts"]]
        elif change == "reference":
            row["reference"] = f"exactly {row['reference']}"
        elif change == "ids":
            row["name"] = f"new-{row['name']}"
        elif change == "case and spaces":
            row["question"] = f"  {row['question'].upper().replace(' ', '  ')} "
    return rows[::-1] if change == "order" else rows


CHANGES = ("answers", "contexts", "reference", "ids", "case and spaces", "order")


def scored(data: Any) -> Evaluation:
    return evaluate(data, metrics=["string_match"])


def answers(compared: Comparison) -> AnswerChanges:
    (found,) = compared.answers
    return found


def is_all_paired(compared: Comparison, change: str) -> bool:
    found = answers(compared)
    edited = N if change == "reference" else 0
    pairs = found.paired + found.untold + len(found.unpaired)
    return (pairs, found.new, found.gone, len(found.edited)) == (N, (), (), edited)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", DIALECTS)
def test_rows_in_memory_all_pair(name: str, change: str) -> None:
    before = scored([DIALECTS[name](row) for row in changed("")])
    after = scored([DIALECTS[name](row) for row in changed(change)])
    compared = compare(before, after)
    assert is_all_paired(compared, change)
    notice = answers(compared).notice
    assert (notice is not None) == (name == "named" and change == "ids")


@pytest.mark.parametrize("is_baseline", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_rows_of_results_files_all_pair(
    change: str, is_baseline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [scored([DIALECTS["reference"](row) for row in changed(each)]) for each in ("", change)]
    files = [
        load(save_baseline(run, f"b{n}") if is_baseline else run.save(tmp_path / f"{n}.results.json"))
        for n, run in enumerate(runs)
    ]
    for before, after in ((files[0], runs[1]), (runs[0], files[1]), files):
        assert is_all_paired(compare(before, after), change)


@pytest.mark.parametrize("name", DIALECTS)
def test_other_dialects_of_the_same_rows_pair(name: str) -> None:
    if name == "messages":
        pytest.skip("its system turn is part of what is asked")
    before = scored([DIALECTS["reference"](row) for row in changed("")])
    assert answers(compare(before, scored([DIALECTS[name](row) for row in changed("answers")]))).paired == N


def plain(question: str, answer: str, reference: str = "yes", **more: Any) -> Values:
    return {"question": question, "answer": answer, "reference": reference, **more}


def test_repeats_in_another_order_are_the_same() -> None:
    told = ["yes", "no", "yes", "yes"]
    before = [plain("Is it open?", each) for each in told] + [plain("Is it free?", "yes")]
    found = answers(compare(scored(before), scored(before[::-1])))
    assert (found.worse, found.better, found.same) == ((), (), 2)
    fewer = [*before[1:4], *before[:1] * 9, before[4]]
    better = answers(compare(scored(before), scored(fewer)))  # 11 of 12, which were 3 of 4
    assert ([each.question for each in better.better], better.worse) == (["Is it open?"], ())


def test_one_question_with_two_references_is_two_rows() -> None:
    before = [plain("When?", "in May", "May"), plain("When?", "in June", "June")]
    after = [plain("When?", "no idea", "June"), plain("When?", "in May", "May")]
    found = answers(compare(scored(before), scored(after)))
    assert [(each.expected, each.before, each.now) for each in found.worse] == [
        ("June", "in June", "no idea")
    ]
    assert (found.same, found.edited) == (1, ())


def test_logs_numbered_alike_with_other_questions_do_not_pair() -> None:
    def week(first: int, good: int) -> Evaluation:
        return scored(
            [plain(f"Question {first + n}?", "yes" if n < good else "no", id=str(n + 1)) for n in range(200)]
        )

    compared = compare(week(0, 180), week(1000, 140))
    found = answers(compared)
    assert (found.other_questions, found.paired, found.new, found.gone) == ((200, 200), 0, (), ())
    assert found.shares is not None
    assert (found.shares.before, found.shares.now) == ((180, 200), (140, 200))
    (metric,) = compared.metrics
    assert (metric.test, metric.n, metric.verdict) == ("Welch's t, different questions", 200, "worse")
    assert (compared.verdict, compare(week(1000, 140), week(0, 180)).verdict) == ("worse", "better")
    said = str(compared)
    assert "Worse: 70% of 200 answers were correct, 90% of 200 before (-28 to -12 points)" in said
    assert "different questions: 200 answers now, 200 before" in said
    assert "70% of 200 answers were correct" in compared.render("markdown")


def test_equal_shares_of_other_questions_are_undecided() -> None:
    runs = [scored([plain(f"{name} {n}?", "yes" if n else "no") for n in range(40)]) for name in ("a", "b")]
    compared = compare(*runs)
    assert (compared.verdict, answers(compared).finding) == ("undecided", "undecided")


def agent(questions: list[str]) -> list[Values]:
    return [{"id": each, "input": each, "expected": "yes", "tags": [each[0]]} for each in questions]


def asked(folder: Path, questions: list[str], **wish: Any) -> Evaluation:
    return evaluate(
        agent(questions),
        target=lambda _: "yes",
        metrics=["string_match"],
        gate={"string_match": 0.5},
        runs_directory=folder,
        **wish,
    )


def test_a_gate_against_other_questions_is_not_evaluated(tmp_path: Path) -> None:
    before = asked(tmp_path, [f"a{n}" for n in range(20)])
    after = asked(tmp_path, [f"b{n}" for n in range(20)], baseline=before)
    assert after.verdict is not None
    assert (after.verdict.word, after.verdict.exit_code) == ("not evaluated", 1)
    assert after.verdict.reasons == ("baseline not evaluated: the baseline has other questions",)
    assert "the baseline has other questions" in str(after)
    waived = Gate(
        thresholds=(Threshold("string_match", ">=", 0.5),), waive=frozenset({"baseline"}), max_drop=0.1
    )
    assert waived.decide(after).exit_code == 0


def test_questions_left_out_are_named_and_count_nowhere(tmp_path: Path) -> None:
    questions = [f"{kind}{n}" for kind in "ab" for n in range(10)]
    before = asked(tmp_path, questions)
    narrowed = asked(tmp_path, questions, tags=["a"], baseline=before)
    moved = narrowed.regressions
    assert moved is not None
    assert (moved.paired, moved.gone, moved.new, moved.word) == (10, 0, 0, "no worse")
    assert [name for _, name in moved.left_out] == questions[10:]
    assert "10 questions left out by --sample-size, --tag or --dataset: b0" in str(narrowed)
    for pair in ((before, narrowed), (narrowed, before)):
        found = answers(compare(*pair))
        assert (len(found.left_out), found.new, found.gone, found.paired) == (10, (), (), 10)


def old_generation(path: Path) -> None:
    """Give the rows of a results file ids such as earlier versions generated, from the answers too."""
    document = json.loads(path.read_text(encoding="utf-8"))
    for number, query in enumerate(document["query_results"]):
        query["query_id"] = f"sample-{number:012x}"
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_committed_baseline_with_old_ids_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [DIALECTS["ragas 0.1"](row) for row in changed("")]
    old_generation(save_baseline(scored(rows), "main"))
    now = evaluate(
        [DIALECTS["ragas 0.1"](row) for row in changed("answers")], metrics=["string_match"], baseline="main"
    )
    assert now.regressions is not None
    assert (now.regressions.paired, now.regressions.new, now.regressions.gone) == (N, 0, 0)
    assert now.regressions.notice is None


def made_of_all(sample: Sample) -> str:
    """Return an id as earlier versions generated it: from the question and what is expected of the answer."""
    return f"sample-{hashlib.sha256(repr((sample.question, sample.reference)).encode()).hexdigest()[:12]}"


@pytest.mark.parametrize("choice", [{}, {"sample_size": 7, "seed": 3}, {"options": Options(repeats=2)}])
def test_a_run_with_old_ids_is_resumed(
    choice: Values, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.jsonl"
    rows = [{"input": f"q{number // 2}", "expected": f"yes {number}"} for number in range(20)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    wish: Values = {"metrics": ["string_match"], "runs_directory": tmp_path / "runs"}
    told: list[str] = []

    def answer(question: str) -> str:
        told.append(question)
        return "yes"

    with monkeypatch.context() as earlier:
        earlier.setattr(dialect, "made_id", made_of_all)
        whole = evaluate(data, target=answer, **wish, **choice)
    assert whole.folder is not None
    journal, ids = whole.folder / "journal.jsonl", [row.id for row in whole.rows]
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:4]))
    told.clear()
    options = {name: each for name, each in choice.items() if name == "options"}
    resumed = evaluate(data, target=answer, resume=whole.head.run_id, **wish, **options)
    assert ([row.id for row in resumed.rows], len(told)) == (ids, len(ids) - 4)
    data.write_text(data.read_text(encoding="utf-8").replace("yes 3", "no"), encoding="utf-8")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:4]))
    if "sample_size" not in choice:
        with pytest.raises(UsageError, match="cannot resume over other data"):
            evaluate(data, target=answer, resume=whole.head.run_id, **wish, **options)


@pytest.mark.parametrize(
    ("shared", "alike", "is_by_id"),
    [(10, 10, True), (8, 8, True), (7, 7, False), (10, 5, True), (10, 4, False)],
)
def test_ids_win_if_most_are_shared_and_half_ask_the_same(shared: int, alike: int, is_by_id: bool) -> None:
    def rows(own: int, same: int) -> Evaluation:
        return scored(
            [
                plain(f"Question {n if n < same else n + 100}?", "yes", id=f"q{n if n < own else n + 100}")
                for n in range(10)
            ]
        )

    found = answers(compare(rows(10, 10), rows(shared, alike)))
    are_other = found.other_questions is not None
    n_pairs = shared if is_by_id else alike
    assert (are_other, found.paired) == (n_pairs < 8, n_pairs if n_pairs >= 8 else 0)
    assert are_other or (found.notice is None) == is_by_id
    assert are_other or len(found.edited) == (shared - alike if is_by_id else 0)
