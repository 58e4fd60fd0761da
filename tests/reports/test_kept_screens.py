"""What commands print at 80, 100 and 140 columns, kept; no line is longer than the width.

``ACCEPT_WRITE=1 pytest tests/reports/test_kept_screens.py`` writes the kept screens anew, so that a change
shows as a diff.
"""

from __future__ import annotations

import os
import re
import shutil
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fault_agent import running_server

from cases import tables_beside
from command_lines import commands_next, rag_eval, rag_eval_ended, rag_eval_process
from kept_screens import WIDTHS, check
from rag_evaluation_framework import evaluate, load
from rag_evaluation_framework.cli.doctor import show_findings
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.evaluation.benchmarks import KeptBenchmark
from rag_evaluation_framework.evaluation.diagnosis import Finding
from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.history_blocks import describe_benchmark
from rag_evaluation_framework.results.benchmark_history import compared

TABLES = tables_beside(__file__)

EXAMPLES = Path(__file__).parents[2] / "examples"
FERRY = ("--target", "ferry_agent:answer", "--allow-missing")
RANKING = ("ranking/qrels.trec", "ranking/bm25.run", "ranking/ngrams.run")


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def check_said(name: str, width: int, *arguments: str | Path) -> None:
    done = rag_eval(*arguments, "--width", str(width))
    assert done.exception is None
    check(name, width, done.stdout)


def check_run(name: str, width: int, run: Path) -> None:
    text = load(run).render(screen=Screen(width=width)) + "\n"  # type: ignore[union-attr, call-arg]
    check(name, width, text)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which commands run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ferry(ferry_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ferry_runs)
    return ferry_runs


@pytest.fixture(scope="module")
def ferry_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs of the ferry desk: faulty, fixed, new, part, and three answers of part."""
    folder = tmp_path_factory.mktemp("desk") / "ferry"
    shutil.copytree(EXAMPLES / "ferry", folder)
    shutil.copytree(EXAMPLES / "handbook" / "ranking", folder / "ranking")
    for state, options in (
        ("faulty", ("agent.yaml", *FERRY)),
        ("fixed", ("agent.yaml", *FERRY)),
        ("new", ("floor.yaml", *FERRY, "--baseline", "002")),
        ("part", ("floor.yaml", *FERRY, "--baseline", "002")),
        ("part", ("floor.yaml", *FERRY, "--baseline", "002", "--sample-size", "3", "--seed", "7")),
    ):
        done = rag_eval_ended("evaluate", *options, folder=folder, environment={**os.environ, "FERRY": state})
        (folder / f"{state}{len(options)}.txt").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("number", "name"),
    [(1, "failed"), (2, "passed"), (3, "got-worse"), (4, "undecided"), (5, "not-evaluated")],
)
def test_each_verdict_has_its_screen(ferry: Path, number: int, name: str, width: int) -> None:
    (run,) = ferry.glob(f"runs/*_00{number}")
    check_run(name, width, run)


def test_a_run_without_an_agent_says_how_to_continue(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "PATIENCE_AT_START", 0.1)
    shutil.copytree(EXAMPLES / "ferry", tmp_path / "desk")
    nobody = ("--url", "http://127.0.0.1:9", "--allow-missing")
    done = rag_eval_ended("evaluate", "agent.yaml", *nobody, "--width", str(width), folder=tmp_path / "desk")
    assert done.returncode == 3
    check("incomplete", width, done.stdout)


def test_what_a_run_would_ask_has_its_screen(ferry: Path, width: int) -> None:
    done = rag_eval_ended("evaluate", "agent.yaml", *FERRY, "--dry-run", "--width", str(width), folder=ferry)
    assert done.returncode == 0
    check("dry-run", width, done.stdout)


def test_a_run_that_is_loaded_is_shown_as_it_was_when_it_ended(ferry: Path) -> None:
    worse = load(next(ferry.glob("runs/*_003")))
    assert str(worse).count("\n           now  ") == 2
    assert worse.render(everything=True).count("\n           now  ") == 2  # type: ignore[union-attr]
    for number, name in ((1, "faulty4"), (3, "new6"), (4, "part6"), (5, "part10")):
        (run,) = ferry.glob(f"runs/*_00{number}")
        assert f"{load(run)}\n" == (ferry / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show-failed", ("show", "001", "--failed")),
        ("show-worst", ("show", "002", "--worst", "1", "--metric", "claim_recall")),
        ("results", ("results",)),
        ("runs", ("runs",)),
        ("score", ("score", "001", "-m", "token_f1", "--details")),
        ("rank", ("rank", *RANKING)),
        ("stats", ("stats", "evals/passengers.jsonl")),
        ("validate", ("validate", "evals/passengers.jsonl")),
        ("compare", ("compare", "001", "003")),
        ("trend", ("trend",)),
        ("sample", ("sample", "evals/passengers.jsonl", "-n", "2")),
        ("export", ("export", "001", "--to", "csv", "-o", "answers.csv")),
        ("report", ("report", "001", "-o", "page.html")),
        ("list-metric", ("list", "metrics", "faithfulness")),
        ("list-formats", ("list", "formats")),
        ("list-methods", ("list", "methods")),
        ("list-method", ("list", "methods", "toxicity")),
        ("schema", ("schema",)),
        ("convert", ("convert", "evals/passengers.jsonl", "passengers.json", "--to", "ragas", "--lossy")),
        ("show-sample", ("show", "001", "--sample", "11")),
        ("show-metrics", ("show", "003")),
    ],
)
@pytest.mark.usefixtures("ferry")
def test_commands_that_look_at_what_is_there(name: str, arguments: tuple[str, ...], width: int) -> None:
    check_said(name, width, *arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("serve", ("serve", "--no-open")),
        ("annotate", ("annotate", "001", "--annotator", "anna", "--no-open")),
        ("annotate-draw", ("annotate", "001", "--annotator", "anna", "--draw", "5", "--no-open")),
    ],
)
@pytest.mark.usefixtures("ferry")
def test_commands_that_serve_say_where(
    monkeypatch: pytest.MonkeyPatch, name: str, arguments: tuple[str, ...], width: int
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    check(name, width, rag_eval(*arguments, "--width", str(width)).output)


def at_nine(question: str) -> str:
    return "Nine."


@pytest.mark.usefixtures("elsewhere")
def test_shards_that_are_joined_have_their_screen(width: int) -> None:
    rows = [{"id": f"q{n}", "input": f"Q{n}?", "expected": "Nine.", "tags": [f"t{n % 2}"]} for n in range(6)]
    wish: dict[str, Any] = {"metrics": ["string_match"], "gate": {"string_match": 1.0}}
    for tag in ("t0", "t1"):
        evaluate(rows, target=at_nine, tags=(tag,), runs_directory="runs", **wish)
    check_said("merge", width, "merge", "001", "002", "--out", "whole.results.json")


@pytest.mark.usefixtures("elsewhere")
def test_a_project_that_begins_has_its_screen(width: int) -> None:
    check_said("init", width, "init", "desk")


@pytest.mark.usefixtures("ferry")
def test_what_is_not_there_is_told_before_what_does_not_fit() -> None:
    gone = rag_eval("score", "nope.jsonl", "--threshold", "faithfulness=0.9")
    assert str(gone.exception) == 'there is no file nope.jsonl. Did you mean "log.jsonl"?'
    assert 'Did you mean "faithfulness"?' in str(rag_eval("list", "methods", "faithfullness").exception)


def test_the_list_of_metrics_has_its_screen(width: int) -> None:
    # In a process of its own: other tests declare metrics.
    check("list-metrics", width, rag_eval_process("list", "metrics", "--width", str(width)).stdout)


@pytest.mark.parametrize("kind", ["chunkers", "targets"])
def test_lists_of_components_have_their_screens(kind: str, width: int) -> None:
    check_said(f"list-{kind}", width, "list", kind)


def test_an_agent_that_is_probed_is_shown_with_what_was_read(width: int) -> None:
    with running_server() as server:
        for name, url in (("probe", server.url), ("probe-refused", server.fault("404"))):
            done = rag_eval("probe", url, "--width", str(width))
            check(name, width, re.sub(r"\b\d+ ms", "5 ms", done.stdout))


def test_a_sweep_recommends_and_names_what_nothing_finds(elsewhere: Path) -> None:
    shutil.copytree(EXAMPLES / "handbook" / "documents", "documents")
    (elsewhere / "documents" / "map.png").write_bytes(b"\x89PNG")
    chunkers = ("--chunker", "recursive(chunk_size=1000, overlap=200)", "--chunker", "markdown")
    retrievers = ("--retriever", "bm25", "--retriever", "dense", "--store", "exact")
    questions = EXAMPLES / "handbook" / "questions.eval.json"
    done = rag_eval("retrieval", "documents", "--dataset", questions, *chunkers, *retrievers)
    assert done.stdout.startswith(
        "Recommended: markdown 1000 with bm25. Recall 0.55, tied with 2 other setups.\n  Tied with "
    )
    assert "while returning half as much text: " in " ".join(done.stdout.split())
    assert "read 45 of 46 files; skipped map.png (not Markdown, text, HTML or PDF)\n" in done.stdout
    (sweep,) = Path("runs").iterdir()
    for width in WIDTHS:
        text = load(sweep).render(screen=Screen(width=width)) + "\n"  # type: ignore[union-attr, call-arg]
        seconds = re.compile(r"(?<=%  .{13}) +\d+\.\d\d(?=  )")  # in the widest table
        check("retrieval", width, seconds.sub("     0.00", text))
    missed = rag_eval("show", "--missed").stdout
    found = f"{sweep.name}: 39 of 168 questions: no setup retrieved the expected passage"
    assert missed.startswith(f"{found}\n\nq006  Which vessel ")
    assert "  passage    timetable.md 1138–1245: From 1 to 14 October" in missed


def test_what_a_run_may_be_called(ferry: Path) -> None:
    by_end, by_id = rag_eval("show", "001"), rag_eval("show", next(ferry.glob("runs/*_001")).name)
    assert by_end.stdout == by_id.stdout
    assert " of 13 answers is wrong or partly correct\n" in by_end.stdout
    several = rag_eval("show", "_20")  # no end of an id
    assert 'there is no run "_20"' in str(several.exception)
    (ferry / "runs" / "eval_run_20990101_001").mkdir()
    try:
        assert "001 matches 2 runs (" in str(rag_eval("show", "001").exception)
    finally:
        (ferry / "runs" / "eval_run_20990101_001").rmdir()


@pytest.mark.usefixtures("ferry")
def test_answers_are_chosen_by_line_id_slice_and_metric() -> None:
    assert rag_eval("show", "001", "--sample", "11").stdout.startswith(
        "line 11  灯塔有多少级台阶？   museum\n"
    )
    assert "line 6" not in rag_eval("show", "001", "--failed", "--metric", "hit@1").stdout
    assert "line 3" not in rag_eval("show", "001", "--failed", "--slice", "tag=refunds").stdout
    assert "Did you mean" in str(rag_eval("show", "001", "--metric", "faithfullness").exception)
    assert "expected one of tag, category" in str(rag_eval("show", "001", "--slice", "fares").exception)
    assert "expected one of --failed" in str(rag_eval("show", "--failed", "--missed").exception)


def test_every_command_that_comes_next_works_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERRY", "faulty")
    desk, kept = tmp_path / "desk", ("--runs-dir", "kept elsewhere")
    shutil.copytree(EXAMPLES / "ferry", desk)

    def ran(*arguments: str) -> str:
        done = rag_eval_ended(*arguments, folder=desk)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def next_of(*arguments: str) -> list[str]:
        commands = commands_next(ran(*arguments))
        assert commands, arguments
        return [ran(*each) for each in commands]

    assert next_of("evaluate", "agent.yaml", *FERRY, *kept)[0].startswith("eval_run_")
    monkeypatch.setenv("FERRY", "fixed")
    (compared,) = next_of("evaluate", "agent.yaml", *FERRY, *kept, "-m", "hit@1", "--tag", "fares")
    assert ", baseline eval_run_" in " ".join(compared.split())
    next_of("results", *kept)
    next_of("score", "log.jsonl", *kept)
    ran("evaluate", "agent.yaml", *FERRY, *kept)
    changed, page = next_of("compare", "001", "005", *kept)
    assert "1 better" in changed
    assert page.startswith("wrote report.html")
    next_of("trend", *kept)


@pytest.mark.usefixtures("elsewhere")
def test_the_commands_after_rank_generate_and_a_sweep_work_as_printed() -> None:
    shutil.copytree(EXAMPLES / "handbook" / "ranking", "ranking")
    Path("my documents").mkdir()
    for name in ("refunds.md", "fares.md"):
        shutil.copy(EXAMPLES / "handbook" / "documents" / name, "my documents")
    (command,) = commands_next(rag_eval("rank", *RANKING, "-m", "ndcg@5").stdout)
    assert "ndcg@5" in command
    assert "q001" in rag_eval(*command).stdout
    (command,) = commands_next(rag_eval("generate", "my documents", "-o", "few questions.eval.json").stdout)
    (command,) = commands_next(rag_eval(*command, "--runs-dir", "swept", "--store", "exact").stdout)
    assert rag_eval(*command).stdout == "wrote report.html\n"  # every question is found by some combination
    assert "\n  expected " in rag_eval("show", "--sample", "q001", "--runs-dir", "swept").stdout


@pytest.fixture
def golden(golden_runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(golden_runs)
    return golden_runs


@pytest.fixture(scope="module")
def golden_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden set, evaluated; a project begun beside it."""
    folder = tmp_path_factory.mktemp("golden") / "golden"
    shutil.copytree(EXAMPLES / "golden", folder)
    shutil.copy(EXAMPLES / "offline" / "offline_dataset.jsonl", folder)
    (folder / "documents").mkdir()
    for name in ("refunds.md", "fares.md", "visitor-guide-zh.md"):
        shutil.copy(EXAMPLES / "handbook" / "documents" / name, folder / "documents")
    for arguments in (
        ("golden", "evaluation", "--target", "assistant:answer", "--out", "golden.results.json"),
        ("init", "."),
    ):
        done = rag_eval_ended(*arguments, folder=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("generate", ("generate", "documents", "-o", "questions.eval.json", "--force")),
        ("build", ("build", "--offline-dataset", "offline_dataset.jsonl", "--force")),
        ("agreement", ("agreement", "data/evaluation/ground_truth/annotations")),
        ("calibrate", ("calibrate", "golden.results.json", "--labels", "labels.csv", "-m", "token_f1")),
        ("datasets", ("datasets",)),
    ],
)
@pytest.mark.usefixtures("golden")
def test_commands_that_make_and_trust(name: str, arguments: tuple[str, ...], width: int) -> None:
    check_said(name, width, *arguments)


def test_a_golden_set_has_one_row_a_kind(golden: Path, width: int) -> None:
    (run,) = golden.glob("runs/*_001")
    check_run("golden", width, run)


def test_what_a_doctor_finds_has_its_screen(width: int) -> None:
    pip = "pip install 'rag-evaluation-framework[pdf]'"
    keys = 'data/config/ab_testing_config.config.yaml:13: unknown key "significance_levl" in comparison.'
    sound, gone = "agent.yaml is valid", "No answer from http://localhost:4000: cannot connect"
    findings = [
        Finding(status="right", about="rag-eval", text="rag-eval 1.0.0, Python 3.11.7, Linux x86_64"),
        Finding(status="right", about="agent.yaml", text=sound),
        Finding(status="unreachable", about="agent", text=gone, fix="rag-eval probe http://localhost:4000"),
        Finding(
            status="note",
            about="judge",
            text="OPENAI_API_KEY is not set: metrics that need a judge are skipped",
        ),
        Finding(status="note", about="pdf", text="not installed: PDF documents cannot be read", fix=pip),
        Finding(status="problem", about="settings", text=f'{keys} Did you mean "significance_level"?'),
    ]
    screen = Screen(width=width)
    show_findings(screen, findings)
    check("doctor", width, f"{screen}\n")


def test_how_fast_something_is_has_its_screen(width: int) -> None:
    about = TABLES["benchmark_about"]
    now = TABLES["benchmark_now"]
    last = TABLES["benchmark_last"]
    before = {**about, **last, "timestamp": "2026-11-09T06:00:00+00:00", "memory_mb_peak": 129.9}
    screen = Screen(width=width)
    kept = KeptBenchmark(
        pace=compared({**about, **now, "timestamp": "2026-11-16T06:00:00+00:00"}, [before]),
        latency={"mean": 2.5, "p50": 2.31, "p95": 3.87, "p99": 11.2, "min": 1.9, "max": 1204.5},
        earlier=[(before, {"p50": 1.52, "p95": 1.98, "p99": 4.1})],
        failures={"timeout": 2},
        performance={},
        metrics={"hit@1": {"value": 0.625}, "ndcg@5": {"value": 0.7134}, "mrr": {"value": 0.701}},
        indexed={"documents": 45, "chunks": 217, "index_seconds": 4.93},
        files=(
            Path("data/benchmarks/performance/latency_benchmarks.json"),
            Path("data/benchmarks/performance/throughput_benchmarks.json"),
            Path("data/benchmarks/quality/retrieval_quality_benchmarks.json"),
        ),
        results=Path("data/evaluation/results/benchmark_weekly_20261116.results.json"),
    )
    screen.draw(describe_benchmark(kept, again="rag-eval benchmark"))
    check("benchmark", width, f"{screen}\n")
