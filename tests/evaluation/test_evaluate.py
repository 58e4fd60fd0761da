"""The verb: whatever people have, evaluated by one call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from statistics import fmean
from threading import Event

import pytest

from cases import tables_beside
from rag_evaluation_framework import (
    Corpus,
    Dataset,
    Evaluation,
    HttpAgent,
    InputError,
    Options,
    RagEvalError,
    UsageError,
    compare,
    evaluate,
    evaluate_async,
    load,
    read_dataset,
    save,
)
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.retrieval.sweep import grid_of

TABLES = tables_beside(__file__)

GRID = grid_of(chunkers=["sentence(chunk_size=400)"], retrievers=["bm25"])

COLUMNS = ("user_input", "response", "retrieved_contexts", "reference")
ROWS = [
    dict(zip(COLUMNS, ("Where is it?", "In Paris.", ["It is in Paris."], "In Paris."), strict=True)),
    dict(zip(COLUMNS, ("Who is it?", "Nobody.", ["It is Ada."], "Ada."), strict=True)),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attempts, "PATIENCE_AT_START", 0.1)
    return tmp_path


@pytest.fixture
def data(folder: Path) -> Path:
    lines = [{"input": "one?", "expected": "yes"}, {"input": "two?", "expected": "no"}]
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def says_yes(question: str) -> str:
    return "yes"


def mean(evaluation: Evaluation, metric: str) -> float | None:
    return evaluation.metrics[metric].value


def test_three_lines_ask_a_function_and_keep_the_run(data: Path, folder: Path) -> None:
    result = evaluate(data, target=says_yes, metrics=["string_match"])
    assert mean(result, "string_match") == 0.5
    assert "string_match" in str(result)
    assert [run.name for run in (folder / "runs").iterdir()] == [result.head.run_id]


def test_rows_that_hold_their_answers_are_scored_and_leave_nothing_behind(folder: Path) -> None:
    result = evaluate(ROWS, metrics=["exact_match"])
    assert mean(result, "exact_match") == 0.5
    assert [row.response.text for row in result.rows] == ["In Paris.", "Nobody."]
    assert list(folder.iterdir()) == []


def test_without_metrics_the_data_are_scored_by_what_they_bear() -> None:
    assert list(evaluate(ROWS).metrics) == ["faithfulness", "answer_correctness", "pass_rate"]


def test_a_dataset_and_its_samples_give_the_same(data: Path) -> None:
    dataset = read_dataset(data)
    assert isinstance(dataset, Dataset)
    for each in (dataset, list(dataset.samples), str(data)):
        assert mean(evaluate(each, target=says_yes, metrics=["string_match"]), "string_match") == 0.5


def test_columns_with_other_names_are_mapped() -> None:
    renamed = [{**row, "q": row["user_input"]} for row in ROWS]
    for row in renamed:
        del row["user_input"]
    assert mean(evaluate(renamed, metrics=["exact_match"], map={"user_input": "q"}), "exact_match") == 0.5


def test_a_gate_of_bounds_decides(data: Path) -> None:
    passed = evaluate(data, target=says_yes, metrics=["string_match"], gate={"string_match": 0.5})
    failed = evaluate(data, target=says_yes, metrics=["string_match"], gate={"string_match": 0.6})
    assert passed.verdict is not None
    assert failed.verdict is not None
    assert (passed.verdict.word, passed.verdict.exit_code) == ("thresholds met", 0)  # "no" is expected
    assert (failed.verdict.word, failed.verdict.exit_code) == ("failed", 1)


def test_an_evaluation_is_scored_again_and_nobody_is_asked(data: Path) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "yes"

    first = evaluate(data, target=answer, metrics=["string_match"])
    again = evaluate(first, metrics=["exact_match"])
    assert mean(again, "exact_match") == 0.5
    of_rows = evaluate(evaluate(ROWS, metrics=["exact_match"]), metrics=["rouge"])
    assert mean(of_rows, "rouge") is not None
    assert len(asked) == 2


def test_several_systems_are_compared_with_the_first(data: Path) -> None:
    result = evaluate(data, target={"yes": says_yes, "no": lambda question: "no"}, metrics=["string_match"])
    assert result.kind == "systems"
    assert result.comparison is not None
    (metric,) = result.comparison.metrics
    assert (metric.baseline, metric.contender, metric.difference) == ("yes", "no", 0.0)


def test_a_run_is_loaded_compared_and_saved(data: Path, folder: Path) -> None:
    result = evaluate(data, target=says_yes, metrics=["string_match"])
    loaded = load(result.head.run_id)
    assert isinstance(loaded, Evaluation)
    assert [row.question for row in loaded.rows] == ["one?", "two?"]
    compared = compare(result, loaded)
    assert compared.verdict == "no worse"
    written = save(loaded, folder / "out.results.json")
    from_file = load(written)
    assert isinstance(from_file, Evaluation)
    assert from_file.columns.scored("string_match") == loaded.columns.scored("string_match")


def test_a_run_that_stopped_is_resumed_by_the_same_call(data: Path) -> None:
    gone = evaluate(data, target="http://127.0.0.1:9", metrics=["string_match"])
    assert gone.verdict is not None
    assert gone.verdict.exit_code == 3
    with pytest.raises(UsageError, match="a different target"):
        evaluate(data, target=says_yes, resume=gone.head.run_id)


def test_it_works_inside_a_running_event_loop(data: Path) -> None:
    async def both() -> tuple[Evaluation, Evaluation]:
        inside = evaluate(data, target=says_yes, metrics=["string_match"])
        return inside, await evaluate_async(data, target=says_yes, metrics=["string_match"])

    assert [mean(each, "string_match") for each in asyncio.run(both())] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        *TABLES["what_cannot_be_evaluated_is_said_before_anything_is_asked"],
        ({"target": says_yes, "sample_size": 0}, "sample_size: expected a whole number of at least 1"),
        ({"target": {"a": says_yes}, "resume": "r"}, "several targets: unused resume"),
        ({"target": {"a": says_yes}, "baseline": "r"}, "several targets: unused baseline"),
        ({"target": GRID, "gate": {}}, "a grid of pipelines: unused gate"),
        ({"target": GRID, "metrics": ["recall", "f1"]}, "metrics: expected one metric to rank a grid by"),
    ],
)
def test_what_cannot_be_evaluated_is_said_before_anything_is_asked(
    data: Path, folder: Path, given: dict[str, object], told: str
) -> None:
    whole: dict[str, object] = {"data": data, "metrics": ["string_match"], **given}
    with pytest.raises(RagEvalError, match=told):
        evaluate(**whole)  # type: ignore[arg-type]
    assert not (folder / "runs").exists()


def test_a_target_object_is_asked_as_it_is(data: Path) -> None:
    result = evaluate(data, target=HttpAgent("http://127.0.0.1:9"), metrics=["string_match"])
    assert not result.outcome.completed


def test_an_interrupt_in_the_first_of_several_leaves_the_second_unasked() -> None:
    asked: list[str] = []
    told = Event()

    def stops(question: str) -> str:
        if not told.is_set():
            told.set()
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return "yes"

    rows = [{"input": f"question {number}?", "expected": "yes"} for number in range(100)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = evaluate(
            rows,
            target={"a": stops, "b": asked.append},
            metrics="string_match",
            options=Options(concurrency=1),
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(result.parts) == ["a"]
    assert asked == []
    assert result.verdict is not None
    assert result.verdict.exit_code == 130


def test_a_gate_decides_over_several_systems_and_over_what_is_scored_again(data: Path) -> None:
    systems = {"yes": says_yes, "neither": lambda question: "perhaps"}
    whole = evaluate(data, target=systems, metrics="string_match", gate={"string_match": 0.5})
    assert whole.verdict is not None
    assert [(check.dataset, check.status) for check in whole.verdict.checks] == [
        ("yes: data", "met"),
        ("neither: data", "missed"),
    ]
    assert whole.verdict.exit_code == 1
    again = evaluate(whole.parts["yes"], metrics="exact_match", gate={"exact_match": 0.6})
    assert again.verdict is not None
    assert again.verdict.exit_code == 1


def test_a_gate_holds_every_ranked_run(folder: Path) -> None:
    (folder / "qrels").write_text("q 0 d 1\n", encoding="utf-8")
    for name in "de":
        (folder / f"{name}.run").write_text(f"q Q0 {name} 1 9 x\n", encoding="utf-8")
    ranked = evaluate("qrels", target={"d": "d.run", "e": "e.run"}, metrics="mrr", gate={"mrr": 0.5})
    assert ranked.verdict is not None
    found = [(check.dataset, check.status) for check in ranked.verdict.checks]
    assert found == [("d: qrels", "met"), ("e: qrels", "missed")]
    with pytest.raises(UsageError, match=r'unknown measured metric "mmr"\. Did you mean "mrr'):
        evaluate("qrels", target={"d": "d.run", "e": "e.run"}, metrics="mrr", gate={"mmr": 0.5})


def test_rows_that_come_one_by_one_are_there_for_every_target() -> None:
    rows = ({"input": question, "expected": "yes"} for question in ("one?", "two?"))
    result = evaluate(rows, target={"a": says_yes, "b": says_yes}, metrics="string_match")
    assert [part.counts.total for part in result.parts.values()] == [2, 2]


def test_samples_in_a_file_named_like_judgements_are_put_to_functions(data: Path) -> None:
    samples = data.rename(data.with_name("qrels_check.jsonl"))
    result = evaluate(samples, target={"a": "builtins:len", "b": "builtins:ascii"}, metrics="string_match")
    assert result.parts["a"].counts.total == 2


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("agent.yaml", b"\xef\xbb\xbfspec:\n  evaluation: "),
        ("agent.yml", b'"spec":\n  evaluation: '),
        ("agent.yaml", b"{apiVersion: x, spec: {evaluation: "),
        ("agent.json", b'{"spec": {"evaluation": '),
    ],
)
def test_a_manifest_is_known_by_its_spec_however_it_is_written(
    data: Path, folder: Path, name: str, start: bytes
) -> None:
    evaluation = {"datasets": [{"name": "one", "path": data.name}], "metrics": ["string_match"]}
    end = b"}}" if start.startswith(b"{") else b"\n"
    (folder / name).write_bytes(start + json.dumps(evaluation).encode() + end)
    assert list(evaluate(name, target=says_yes).parts) == ["one"]


@pytest.mark.parametrize("content", [b"spec: \xff\n", b"- question: \xff\n"])
def test_what_is_not_text_is_an_error_of_input(folder: Path, content: bytes) -> None:
    (folder / "agent.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"agent\.yaml"):
        evaluate("agent.yaml", target=says_yes)


def test_where_answers_fail_is_looked_for_unless_that_is_not_wanted() -> None:
    wrong = ("How many?", "It has 12 bears.", ["It has 9 bears."], "It has 9 bears.")
    rows = [*ROWS, dict(zip(COLUMNS, wrong, strict=True))]
    looked, unlooked = (evaluate(rows, metrics=["faithfulness"], blame=blame) for blame in (True, False))
    assert unlooked.metrics["faithfulness"] == looked.metrics["faithfulness"]
    assert looked.answers.kinds == {"not_used": 1}
    assert [row.blame for row in unlooked.rows] == [None] * 3
    assert "\nCauses were not diagnosed (--no-blame)." in unlooked.render()
    assert "--no-blame" not in looked.render()
    again = evaluate(looked, metrics=["hallucination"], blame=False)
    assert [row.blame for row in again.rows] == [None] * 3
    assert "--no-blame" in again.render()
    assert evaluate(again, metrics=["hallucination"]).answers == looked.answers


# Several systems by one call: ranked runs against qrels, and the cells of a grid of pipelines.

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"


def test_run_files_against_qrels_are_systems_compared_with_the_first() -> None:
    runs = {name: HANDBOOK / "ranking" / f"{name}.run" for name in ("bm25", "fused")}
    ranking = evaluate(HANDBOOK / "ranking" / "qrels.trec", target=runs, metrics=["ndcg@10", "mrr"])
    assert (ranking.kind, list(ranking.parts)) == ("systems", ["bm25", "fused"])
    assert list(ranking.parts["bm25"].metrics) == ["ndcg@10", "mrr"]
    assert ranking.comparison is not None
    assert {each.contender for each in ranking.comparison.metrics} == {"fused"}
    scored = ranking.parts["fused"].columns.scored("mrr")
    assert fmean(scored.values()) == pytest.approx(ranking.parts["fused"].metrics["mrr"].value)
    assert "fused" in str(ranking)


def test_a_grid_is_swept_and_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus = Corpus(Corpus.from_folder(HANDBOOK / "documents").documents)
    grid = grid_of(chunkers=["sentence(chunk_size=400)"], retrievers=["bm25"], k=[3, 5])
    questions = HANDBOOK / "questions.eval.json"
    sweep = evaluate(questions, target=grid, documents=corpus, runs_directory=tmp_path)
    assert (sweep.kind, len(sweep.parts), sweep.outcome.completed) == ("systems", 2, True)
    again = evaluate(
        questions, target=grid, documents=corpus, runs_directory=tmp_path, resume=sweep.head.run_id
    )
    assert [part.metrics for part in again.parts.values()] == [part.metrics for part in sweep.parts.values()]
    assert len(list(tmp_path.iterdir())) == 1
    assert sum(1 for _ in next(iter(sweep.parts.values())).rows) == 168
