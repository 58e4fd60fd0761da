"""Traces scored: retrieval hop by hop, the answer against all that was retrieved, time and tokens by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_lines import rag_eval_ended
from otlp_spans import request, retrieval, root, span, tool, write
from rag_evaluation_framework import Evaluation, Options, UsageError, evaluate, load
from rag_evaluation_framework.records.steps import TraceChoice

FARES = {"fares.md": "The fare to Skerry is five pounds.", "dogs.md": "Dogs travel free."}
BOATS = {"boats.md": "Razorbill carries 48 passengers.", "fares.md": FARES["fares.md"]}
MODEL = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 40, "llm.token_count.completion": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    first = request(
        root(1, "How many does Razorbill carry, and what is the fare?", "48 passengers, for five pounds."),
        retrieval(1, 2, "fare", FARES),
        retrieval(1, 3, "Razorbill passengers", BOATS, ms=20),
        tool(1, 4, "fare", {"to": "Skerry"}),
        span(1, 5, 1, MODEL, ms=200),
    )
    failed = root(2, "And to Calf?", "", status={"code": 2, "message": "the model is down"})
    (folder / "traces").mkdir()
    write(folder / "traces" / "1.jsonl", first, request(failed))
    write(folder / "traces" / "2.jsonl", request(root(3, "Lost?"), retrieval(3, 2, "q", FARES, parent=9)))
    expected = {
        "input": "How many does Razorbill carry, and what is the fare?",
        "expected": "Razorbill carries 48 passengers. The fare is five pounds.",
        "relevant_documents": ["boats.md", "fares.md"],
        "metadata": {"expected_tools": [{"name": "fare", "arguments": {"to": "Calf"}}, "clock"]},
    }
    (folder / "expected.jsonl").write_text(json.dumps(expected) + "\n")
    return folder


def scores(folder: Path, *metrics: str) -> dict[str, Any]:
    """The scores of the first trace by metric, with what is expected of it."""
    options = Options(traces=TraceChoice(expected=folder / "expected.jsonl"))
    result = evaluate(folder / "traces", metrics=metrics, options=options)
    row = next(row for row in result.rows if row.id == f"{1:032x}")
    return {score.metric: score for score in row.scores}


def test_each_hop_is_held_against_what_is_relevant(folder: Path) -> None:
    found = scores(folder, "hop_recall", "hop_precision", "hop_gain", "recall@5", "hop_usefulness")
    assert found["hop_recall"].value == 0.75  # fares.md of two, then both: (1/2 + 1) / 2
    assert found["hop_precision"].value == 0.75  # one of two, then both of two
    assert found["hop_gain"].value == 1  # each found one that was not known yet
    assert found["recall@5"].value == 1  # of all that was retrieved
    assert found["hop_usefulness"].value == 1
    assert found["hop_recall"].details["hops"][1] == {
        "query": "Razorbill passengers",
        "documents": 2,
        "relevant": 2,
        "new": 1,
        "known": 2,
    }


def test_tools_time_and_tokens_are_scored_by_step(folder: Path) -> None:
    found = scores(
        folder,
        *("tool_called", "tool_arguments", "step_time(kind=retrieval)", "step_time", "step_tokens"),
        *("tokens", "latency", "needless_steps", "faithfulness"),
    )
    assert {name: score.value for name, score in found.items()} == {
        "tool_called": 0.5,  # the clock was not asked
        "tool_arguments": 0,  # to Skerry, not to Calf
        "step_time(kind=retrieval)": 25,
        "step_time": 200,
        "step_tokens": 48,
        "tokens": 48,
        "latency": 1000,
        "needless_steps": 0,
        "faithfulness": 1,
    }
    assert found["tool_called"].details["tools"] == [
        {"name": "fare", "span": f"{4:016x}"},
        {"name": "clock", "span": None},
    ]


def test_the_steps_of_a_trace_are_shown_by_terminal_page_and_notebook(folder: Path, tmp_path: Path) -> None:
    broken = span(4, 3, 1, MODEL, ms=3000, status={"code": 2, "message": "the model is <b>down</b>"})
    last = request(root(4, "And to Calf?", "Five."), retrieval(4, 2, "fare", {}), broken)
    lines = (folder / "traces" / "1.jsonl").read_bytes() + json.dumps(last).encode() + b"\n"
    (tmp_path / "t.jsonl").write_bytes(lines)
    done = rag_eval_ended("score", "t.jsonl", "--details", folder=tmp_path)
    assert (  # the middle of 25 and 5, of 5, and of 200 and 3000
        "By step, in the median trace: retrieval 15 ms, tool 5 ms, model 1.6 s and 48 tokens."
        in " ".join(done.stdout.split())
    )
    first, second = f"{1:032x}", f"{4:032x}"
    shown = rag_eval_ended("show", "--sample", first, "--sample", second, folder=tmp_path).stdout
    for line in (
        "  steps      1  retrieval: step, “fare”, 2 documents (5 ms)\n",
        '             3  tool: fare, {"to":"Skerry"} (5 ms)\n',
        "             4  model: step, 40 tokens in, 8 tokens out (200 ms)\n",
        "  by step    retrieval 25 ms, tool 5 ms, model 200 ms and 48 tokens; 1.0 s in total\n",
        "  steps      1  retrieval: step, “fare”, no documents (5 ms)\n",
    ):
        assert line in shown
    assert "failed: the model is <b>down</b>" in " ".join(shown.split())
    result = load(next((tmp_path / "runs").iterdir()))
    assert isinstance(result, Evaluation)
    row = next(row for row in result.rows if row.id == second)
    told = "model: step, 40 tokens in, 8 tokens out (3.0 s) failed: the model is &lt;b&gt;down&lt;/b&gt;"
    for html in (row._repr_html_(), row.sample._repr_html_() if row.sample else ""):
        assert told in html
    page = result.render("page")
    assert "By step, in the median trace" in page
    assert '"retrieval","step, “fare”, 2 documents","5 ms",[2.0,2.5],null' in page  # of the second it took


def test_without_metrics_traces_are_scored_by_what_they_can_bear_and_what_is_wrong_is_told(
    folder: Path,
) -> None:
    result = evaluate(folder / "traces")
    assert list(result.metrics)[:2] == ["faithfulness", "needless_steps"]
    assert result.counts.total == 2
    failed = next(row for row in result.rows if row.id == f"{2:032x}")
    assert failed.error == "recorded-error: the model is down"
    lost = folder / "traces" / "2.jsonl"
    assert result.warnings[-2:] == (
        "Skipped 1 incomplete or invalid trace",
        f"{lost}:1: span {2:016x}: expected the parent span in the files, "
        f"got span {9:016x}, which is missing",
    )


def test_an_evaluation_of_traces_is_scored_again_from_what_it_kept(folder: Path, tmp_path: Path) -> None:
    traces = tmp_path / "traces.jsonl"
    traces.write_bytes((folder / "traces" / "1.jsonl").read_bytes())
    result = evaluate(traces, metrics=["needless_steps"], runs_directory=tmp_path / "runs")
    traces.unlink()
    again = evaluate(result, metrics=["step_count(kind=tool)"])
    assert again.metrics["step_count(kind=tool)"].value == 1


def test_so_many_are_drawn_at_random_and_the_same_seed_draws_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "t", *(request(root(n), retrieval(n, 2, "q", FARES)) for n in range(1, 31)))
    drawn = [{row.id for row in evaluate(path, sample_size=5, seed=seed).rows} for seed in (1, 1, 2)]
    assert [len(each) for each in drawn] == [5, 5, 5]
    assert drawn[0] == drawn[1] != drawn[2]


def test_nothing_that_answers_is_one_error_and_choices_are_for_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", request(span(1, 1, None, {"http.route": "/health"})))
    with pytest.raises(UsageError, match=r"t\.jsonl contains no traces with an answer"):
        evaluate(path)
    other = tmp_path / "other.jsonl"
    other.write_text('{"input": "a", "expected": "b"}\n')
    with pytest.raises(UsageError, match="services: expected traces in OTLP JSON"):
        evaluate(other, options=Options(traces=TraceChoice(services=("a",))))


def test_the_command_scores_a_folder_of_traces_and_tells_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    traces = str(folder / "traces")
    done = rag_eval_ended("score", traces, "-m", "step_count", "--until", "2027-01-01", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "expected the parent span in the files" in " ".join(done.stdout.split())
    none = rag_eval_ended("score", traces, "--service", "nobody", folder=tmp_path)
    assert (none.returncode, none.stdout) == (2, "")
    assert "contains no traces with an answer" in none.stderr
    run = rag_eval_ended("score", "-m", "step_count", "--where", "a=b", folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "rag-eval: --where: expected a file of answers or traces, got a run\n"
