"""Shards of a run are joined to what one run over all samples would be, or refused with all the reasons."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, Gate, Threshold, UsageError, evaluate, load
from rag_evaluation_framework.reports import exports

WISH: dict[str, Any] = {"metrics": ["string_match", "token_f1"], "gate": {"string_match": 1.0}}


def answer(question: str) -> str:
    number = int(question.split()[-1])
    return f"The answer is {number}" if number % 3 else "nonsense"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Forty samples, odd and even in turn."""
    path = tmp_path / "numbers.jsonl"
    lines = [
        f'{{"id": "n{n}", "input": "What is {n}", "expected": "The answer is {n}", "tags": ["{tag}"]}}\n'
        for n in range(40)
        for tag in [("even", "odd")[n % 2]]
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def run(data: Path, tag: str | None = None, **changes: Any) -> Evaluation:
    wish = {**WISH, "target": answer, "tags": () if tag is None else (tag,), **changes}
    return evaluate(data, runs_directory=data.parent / "runs", **wish)


def test_shards_are_the_whole_to_the_last_digit(data: Path) -> None:
    whole, odd, even = run(data), run(data, "odd"), run(data, "even")
    merged = odd.merge(even)
    assert {name: each.to_dict() for name, each in merged.metrics.items()} == {
        name: each.to_dict() for name, each in whole.metrics.items()
    }
    assert merged.columns.ids == whole.columns.ids  # in the order of the file
    (part,) = merged.runs
    assert part.head.dataset_hash == whole.head.dataset_hash
    assert part.head.configuration["merged_from"] == [odd.head.run_id, even.head.run_id]
    assert (merged.counts.total, merged.counts.finished) == (40, 40)
    assert [row.passes for row in merged.rows] == [row.passes for row in whole.rows]
    assert merged.verdict == whole.verdict
    assert merged.verdict is not None
    assert merged.verdict.word == "failed"
    compared = whole.compare(merged)
    assert (compared.verdict, compared.warnings, len(compared.answers[0].worse)) == ("no worse", (), 0)


def test_shards_in_files_are_joined_like_runs(data: Path, tmp_path: Path) -> None:
    shards = [run(data, tag) for tag in ("odd", "even")]
    paths = [each.save(tmp_path / f"{n}.results.json") for n, each in enumerate(shards)]
    first, second = (load(path) for path in paths)
    assert isinstance(first, Evaluation)
    assert isinstance(second, Evaluation)
    merged = first.merge(second)
    assert merged.metrics["token_f1"].value == run(data).metrics["token_f1"].value
    kept = load(merged.save(tmp_path / "whole.results.json"))
    assert isinstance(kept, Evaluation)
    assert (kept.counts.total, kept.metrics["string_match"].n_scored) == (40, 40)


def test_the_gate_of_the_shards_decides_the_whole(data: Path, tmp_path: Path) -> None:
    """Of odd numbers 7 in 20 are nonsense, as of even ones: 26 of 40 are right, 0.65."""
    gate = Gate(thresholds=(Threshold("string_match", ">=", 0.65),), max_errors=3, min_scored=0.5)
    odd, even = (run(data, tag, gate=gate) for tag in ("odd", "even"))
    merged = odd.merge(even)
    assert merged.verdict is not None
    assert (merged.verdict.word, merged.verdict.max_errors, merged.verdict.min_scored) == ("passed", 3, 0.5)
    kept = [load(tmp_path / "runs" / each.head.run_id) for each in (odd, even)]
    assert kept[0].merge(kept[1]).verdict == merged.verdict  # type: ignore[union-attr, arg-type]
    assert run(data, "odd", gate=None).merge(run(data, "even", gate=None)).verdict is None
    lenient = run(data, "even", gate=replace(gate, max_errors=9))
    undecided = odd.merge(lenient)
    assert undecided.verdict is None
    assert undecided.warnings[-1] == "no verdict of the whole: the gates of the shards differ"
    compared = run(data, "even", gate=gate, baseline=even.head.run_id)
    assert "compared with its part of a baseline" in odd.merge(compared).warnings[-1]
    told = odd.merge(replace(even, verdict=None)).warnings[-1]
    assert told == f"no verdict of the whole: {even.head.run_id} does not keep what its gate demanded"


def test_what_is_not_one_run_is_refused_with_all_the_reasons(data: Path, tmp_path: Path) -> None:
    odd = run(data, "odd")
    with pytest.raises(UsageError, match="20 samples are in two of them, such as n1 in"):
        odd.merge(run(data, "odd"))
    with pytest.raises(UsageError, match="20 samples are in two of them"):
        odd.merge(odd)
    other = run(data, "even", target=lambda question: "x", metrics=["token_f1"], gate={"token_f1": 0.1})
    with pytest.raises(UsageError) as refused:
        odd.merge(other)
    told = str(refused.value)
    assert told.startswith("cannot merge: ")
    for reason in ("asked ", "string_match: scored otherwise", "has other thresholds"):
        assert reason in told, reason
    elsewhere = tmp_path / "letters.jsonl"
    elsewhere.write_text(
        '{"id": "a", "input": "What is 1", "expected": "The answer is 1"}\n', encoding="utf-8"
    )
    with pytest.raises(UsageError, match=r"is over letters, .* over numbers"):
        odd.merge(run(elsewhere))
    with pytest.raises(UsageError, match="expected two shards or more"):
        odd.merge()


ANSWERS = [
    {
        "id": f"n{number}",
        "question": f"What is {number}?",
        "answer": "" if number % 11 == 5 else f"It is {number % 4}. The pier opened in {1900 + number % 3}.",
        "reference": f"It is {number % 5}.",
        "contexts": [f"It is {number % 4}.", "The pier opened in 1901."],
        "latency_ms": 10.0 + number % 7,
        "usage": {"input_tokens": number, "output_tokens": 3},
    }
    for number in range(30)
]
SCORED_BY = ("string_match", "token_f1", "faithfulness")


def told(evaluation: Evaluation) -> dict[str, Any]:
    """Return all that an evaluation says but its name, its times and the order of its samples."""
    said = evaluation.to_dict()
    summary = {name: value for name, value in said["summary"].items() if "time" not in name}
    queries = sorted(said["query_results"], key=lambda each: each["query_id"])
    sections = {name: said[name] for name in said if name.endswith("_metrics") and "perf" not in name}
    return {**sections, "summary": summary, "blame": said["blame"], "queries": queries}


@pytest.fixture(scope="module")
def whole() -> Evaluation:
    return evaluate(ANSWERS, metrics=SCORED_BY)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.integers(0, 4), min_size=30, max_size=30), chance=st.randoms())
def test_whatever_the_shards_are_and_in_whatever_order_they_make_the_whole(
    whole: Evaluation, tmp_path: Path, places: list[int], chance: random.Random
) -> None:
    shares = [[row for row, place in zip(ANSWERS, places, strict=True) if place == n] for n in range(5)]
    shards = [evaluate(rows, metrics=SCORED_BY) for rows in shares if rows]
    assume(len(shards) > 1)
    chance.shuffle(shards)
    assert told(shards[0].merge(*shards[1:])) == told(whole)
    kept = [load(shard.save(tmp_path / f"{n}.results.parquet")) for n, shard in enumerate(shards)]
    assert all(isinstance(each, Evaluation) for each in kept)
    assert told(kept[0].merge(*kept[1:])) == told(whole)  # type: ignore[union-attr, arg-type]


def test_a_large_run_is_exported_in_shards_that_merge_to_it(
    whole: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_SHARD_ROWS", 7)
    folder = tmp_path / "answers"
    assert whole.export("shards", folder) == f"written to {folder}"
    files = sorted(folder.iterdir())
    assert [each.name for each in files] == [f"part-{n:05}.results.parquet" for n in range(5)]
    merged = rag_eval("merge", *files, "--out", tmp_path / "whole.results.parquet")
    assert merged.exit_code == 0
    again = load(tmp_path / "whole.results.parquet")
    assert isinstance(again, Evaluation)
    assert told(again) == told(whole)
    assert again.columns.ids == whole.columns.ids
    with pytest.raises(UsageError, match="expected a folder that is not there yet"):
        whole.export("shards", folder)
