"""Shards of a run are joined to what one run over all samples would be, or refused with all the reasons."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, Gate, Threshold, UsageError, evaluate, load
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.reports import exports
from rag_evaluation_framework.structs import replace

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


def figures(evaluation: Evaluation) -> dict[str, Any]:
    return {name: each.to_dict() for name, each in evaluation.metrics.items()}


def test_shards_are_the_whole_to_the_last_digit(data: Path) -> None:
    whole, odd, even = run(data), run(data, "odd"), run(data, "even")
    merged = odd.merge(even)
    assert figures(merged) == figures(whole)
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


@pytest.mark.parametrize(("one", "two", "name"), [("head", "tail", "head+tail"), ("a/n", "b/n", "n")])
def test_the_parts_of_a_dataset_stand_in_the_order_they_are_given(
    data: Path, one: str, two: str, name: str
) -> None:
    lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
    paths = [data.parent / f"{each}.jsonl" for each in (one, two)]
    for path, own in zip(paths, (lines[:25], lines[25:]), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(own), encoding="utf-8")
    whole, (first, second) = run(data), map(run, paths)
    merged, turned = first.merge(second), second.merge(first)
    assert figures(merged) == figures(turned) == figures(whole)
    assert (merged.name, merged.runs[0].head.dataset_hash) == (name, whole.head.dataset_hash)
    assert merged.columns.ids == whole.columns.ids
    assert turned.columns.ids == whole.columns.ids[25:] + whole.columns.ids[:25]


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
    assert undecided.warnings[-1] == "no verdict on the merged run: the gates of the shards differ"
    compared = run(data, "even", gate=gate, baseline=even.head.run_id)
    assert "compared with its part of a baseline" in odd.merge(compared).warnings[-1]
    told = odd.merge(replace(even, verdict=None)).warnings[-1]
    assert told == f"no verdict on the merged run: {even.head.run_id} has no thresholds of its gate"


def test_what_is_not_one_run_is_refused_with_all_the_reasons(data: Path, tmp_path: Path) -> None:
    odd = run(data, "odd")
    with pytest.raises(UsageError, match="20 samples are in two of them, such as n1 in"):
        odd.merge(run(data, "odd"))
    twin = evaluate(data, target=answer, tags=("odd",), runs_directory=tmp_path / "other", **WISH)
    with pytest.raises(UsageError, match=f"n1 in {odd.folder} and {twin.folder}"):  # of the same id
        odd.merge(twin)
    other = run(data, "even", target=lambda question: "x", metrics=["token_f1"], gate={"token_f1": 0.1})
    with pytest.raises(UsageError) as refused:
        odd.merge(other)
    told = str(refused.value)
    assert told.startswith("cannot merge: ")
    for reason in ("asked ", "string_match: scored otherwise", "has other thresholds"):
        assert reason in told, reason
    even = run(data, "even")
    for setting, value in (("system_version", "agent-v2"), ("dataset", {"id": "letters"})):
        head = replace(even.head, configuration={**even.head.configuration, setting: value})
        with pytest.raises(UsageError, match=f"{setting}: set otherwise in {even.head.run_id} than"):
            odd.merge(replace(even, head=head))
    named = [replace(each, parts={f"{n}": each.runs[0]}) for n, each in enumerate((odd, even))]
    with pytest.raises(UsageError, match=r"is over 1, .* over 0"):
        named[0].merge(replace(named[1], parts_are="splits"))
    with pytest.raises(UsageError, match="expected two or more"):
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
    return {**sections, "summary": summary, "queries": queries}


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


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_large_run_writes_shards_that_merge_to_it(
    whole: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(exports, "_SHARD_ROWS", 7)
    write_lines(tmp_path / "answers.jsonl", ANSWERS)
    folder, joined = tmp_path / "answers.shards", tmp_path / f"whole.results.{ending}"
    metrics = (part for each in SCORED_BY for part in ("-m", each))
    scored = ("score", tmp_path / "answers.jsonl", "--runs-dir", tmp_path / "runs", "--out", folder)
    assert rag_eval(*scored, *metrics).exit_code == 0
    files = sorted(folder.iterdir())
    assert [each.name for each in files] == [f"part-{n:05}.results.parquet" for n in range(5)]
    assert rag_eval("merge", folder, "--out", joined).exit_code == 0
    again = load(joined)
    assert isinstance(again, Evaluation)
    assert told(again) == told(whole)
    assert again.columns.ids == whole.columns.ids
    with pytest.raises(UsageError, match="expected a folder that is not there yet"):
        whole.export("shards", folder)


@pytest.mark.parametrize("layout", ["json", "indented json", "parquet"])
def test_results_files_are_merged_row_by_row(tmp_path: Path, layout: str) -> None:
    rows = [
        {**each, "id": f"{n} {each['id']}", "contexts": [f"{n} {each['id']} " * 8_000]}
        for n in range(10)
        for each in ANSWERS
    ]
    paths, wish = [], {"metrics": ["string_match", "token_f1"], "seed": 7}
    for name, share in (("one", rows[:130]), ("two", rows[130:])):
        shard = evaluate(share, **wish)
        paths.append(shard.save(tmp_path / f"{name}.results.{layout.split()[-1]}"))
        if "indented" in layout:
            paths[-1].write_text(json.dumps(shard.to_dict(), indent=2), encoding="utf-8")
    tracemalloc.start()
    assert rag_eval("merge", *paths, "--out", tmp_path / "all.results.json").exit_code == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < sum(len(row["contexts"][0]) for row in rows) / 3
    assert told(load(tmp_path / "all.results.json")) == told(evaluate(rows, **wish))  # type: ignore[arg-type]
    if layout != "parquet":
        content = paths[1].read_text(encoding="utf-8")
        paths[1].write_text(content.replace('"9 n7",', "[4],"), encoding="utf-8")
        refused = str(rag_eval("merge", *paths, "--out", tmp_path / "not.results.json").exception)
        assert "two.results.json: query_results[147].query_id: expected text" in refused


def test_rankings_of_other_queries_are_the_ranking_of_all_to_the_last_digit(tmp_path: Path) -> None:
    kept = [tmp_path / f"{name}.json" for name in ("one", "two", "all", "merged")]
    for path, places in zip(kept, (range(20), range(20, 45), range(45)), strict=False):
        (tmp_path / "qrels").write_text("".join(f"q{n} 0 d{n % 4} 1\n" for n in places))
        for name, turn in (("a", 3), ("b", 5)):
            found = ((n, (n * turn + rank) % 6, 9 - rank) for n in places if n % 7 for rank in range(4))
            (tmp_path / f"{name}.run").write_text("".join(f"q{n} Q0 d{d} 1 {s} t\n" for n, d, s in found))
        files = (tmp_path / name for name in ("qrels", "a.run", "b.run"))
        rag_eval("rank", *files, "--interval", "bootstrap", "--seed", "5", "--out", path)
    assert rag_eval("merge", *kept[:2], "--out", kept[3]).exit_code == 0
    whole, merged = (json.loads(path.read_text()) for path in kept[2:])
    assert {**merged, "head": None} == {**whole, "head": None}
    assert "20 samples are in two of them" in str(rag_eval("merge", kept[0], kept[2], "--out", "x").exception)
