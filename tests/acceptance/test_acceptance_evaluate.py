"""``rag-eval evaluate`` and ``agentspec evaluate`` on a real agent: JSON, gate, exit codes, resuming."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fault_agent import RunningServer, answer_to
from serving import QuietHandler, serving

from acceptance.outside import PATIENCE, Commands, kept, read_json, read_tables, start
from acceptance.projects import change, write_answers, write_function, write_project, write_samples
from rag_evaluation_framework import load

TABLES = read_tables("acceptance_evaluate")

ORIGIN_KEYS = ["dataset", "agentUrl", "totalSamples", "metrics", "ciGateResult", "samples"]


@pytest.fixture
def project(folder: Path) -> Path:
    write_project(folder)
    return folder


def evaluate(commands: Commands, *options: str | Path) -> Any:
    return commands("evaluate", "agent.yaml", *options)


def test_json_and_files_of_a_run_are_kept(rag_eval: Commands, agent: RunningServer, project: Path) -> None:
    ended = evaluate(rag_eval, "--url", agent.url, "--dataset", "rag-quality", "--json").ok()
    document = ended.json
    assert ended.err == ""
    assert list(document)[:6] == ORIGIN_KEYS
    assert document["metrics"]["string_match"] == document["metrics"]["pass_rate"] == 20 / 24
    keys = ["index", "input", "expected", "actual", "pass", "latencyMs", "error"]
    assert all(list(sample)[:7] == keys for sample in document["samples"])
    kept("evaluate-one-dataset", document | {"samples": document["samples"][:7]}, project)
    (run,) = (project / "runs").iterdir()
    assert {path.name for path in run.iterdir()} >= {
        "head.json",
        "data.jsonl.zst",
        "journal.jsonl",
        "results.json",
    }
    results = load(run).to_dict()  # type: ignore[union-attr]
    figures = {name: part for name, part in results.items() if name != "query_results"}
    assert read_json(run / "results.json") == figures
    kept("evaluate-results", results | {"query_results": results["query_results"][:7]}, project)
    kept("evaluate-head", read_json(run / "head.json"), project)
    assert len((run / "journal.jsonl").read_text(encoding="utf-8").splitlines()) == 24


def test_without_a_dataset_all_are_run_under_one_gate(
    rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    document = evaluate(rag_eval, "--url", agent.url, "--json").ok().json
    assert (document["dataset"], document["totalSamples"]) == (["rag-quality", "safety"], 30)
    assert document["metrics"]["safety"]["toxicity"] == 1.0
    kept("evaluate-all-datasets", {**document, "samples": len(document["samples"])}, project)
    change(project / "agent.yaml", "{min: 0.3}", "0.99")
    failed = evaluate(rag_eval, "--url", agent.url, "--json")
    assert (failed.code, failed.json["ciGateResult"]) == (1, "FAIL")
    kept("evaluate-failed-gate", failed.json["gate"], project)


def test_a_gate_that_is_missed_exits_1_and_one_that_is_off_0(rag_eval: Commands, project: Path) -> None:
    target = write_function(project, "inventor", "return 'Napoleon said so in 1815.'")
    options = ("--target", target, "--dataset", "rag-quality")
    ended = evaluate(rag_eval, *options)
    assert ended.code == 1
    ended.shows("✗ FAILED: string_match is 0.00, the threshold is 0.75")
    assert re.search(r"string_match +0.00  \[0.00, 0.14\] +>= 0.75 +missed +24  word overlap", ended.out)
    change(project / "agent.yaml", "ciGate: true", "ciGate: false")
    evaluate(rag_eval, *options).ok().shows("No gate: ciGate is not true.")
    assert evaluate(rag_eval, *options, "--json").ok().json["ciGateResult"] == "N/A"


def test_thresholds_met_exactly_pass_and_directions_are_kept(rag_eval: Commands, project: Path) -> None:
    answers = {f"q{n}": f"The answer to q{n}" for n in range(24)}
    write_answers(project / "answers.jsonl", answers)
    options = ("--target", "answers.jsonl", "--dataset", "rag-quality", "--json")
    change(project / "agent.yaml", "string_match: 0.75", f"string_match: {20 / 24!r}")
    assert evaluate(rag_eval, *options).ok().json["gate"]["rows"][0]["operator"] == ">="
    change(project / "agent.yaml", f"string_match: {20 / 24!r}", "string_match: {max: 0.8}")
    ended = evaluate(rag_eval, *options)
    assert (ended.code, ended.json["gate"]["rows"][0]["operator"]) == (1, "<=")


def test_errors_count_and_are_tolerated_only_when_asked(rag_eval: Commands, project: Path) -> None:
    answers = {f"q{n}": f"The answer to q{n}" if n % 23 else None for n in range(24)}
    write_answers(project / "answers.jsonl", answers)
    options = ("--target", "answers.jsonl", "--dataset", "rag-quality", "--json")
    ended = evaluate(rag_eval, *options[:-1])
    assert ended.code == 1
    ended.shows(
        "2 of 24 questions got no answer (2 recorded failures).",
        "why       no answer: recorded-failure: gone",
    )
    document = evaluate(rag_eval, *options, "--max-errors", "2").ok().json
    # 19 of 22 answers match; of the 24 samples 19 pass, since failed ones count against the rate.
    assert document["metrics"]["string_match"] == pytest.approx(19 / 22)
    assert document["metrics"]["pass_rate"] == pytest.approx(19 / 24)
    assert [sample["index"] for sample in document["samples"] if sample["error"]] == [0, 23]
    assert evaluate(rag_eval, *options, "--max-errors", "2", "--confidence", "lower-bound").code == 1


def test_sampling_is_seeded(rag_eval: Commands, agent: RunningServer, project: Path) -> None:
    def asked(*more: str) -> list[str]:
        options = ("--url", agent.url, "--dataset", "rag-quality", "-m", "token_f1", "--json")
        return [it["input"] for it in evaluate(rag_eval, *options, *more).ok().json["samples"]]

    kept(
        "evaluate-sampling",
        {
            "five": asked("--sample-size", "5"),
            "another seed": asked("--sample-size", "5", "--seed", "1"),
            "tagged": asked("--sample-size", "5", "--tag", "advanced"),
        },
    )
    assert asked("--tag", "basics") == [f"q{n}" for n in range(0, 24, 2)]


def test_a_dry_run_asks_nothing(rag_eval: Commands, agent: RunningServer, project: Path) -> None:
    before = agent.log()["received"]
    prices = ("--price-input", "1", "--price-output", "2")
    kept("evaluate-dry-run", evaluate(rag_eval, "--url", agent.url, "--dry-run", "--json", *prices).ok().json)
    evaluate(rag_eval, "--url", agent.url, "--dry-run").ok().shows("30 calls, plus retries")
    assert agent.log()["received"] == before
    assert not (project / "runs").exists()


def test_a_drop_from_the_baseline_fails(rag_eval: Commands, project: Path) -> None:
    write_answers(project / "good.jsonl", {f"q{n}": f"The answer to q{n}" for n in range(24)})
    write_answers(
        project / "worse.jsonl", {f"q{n}": f"{['The answer to', 'no'][n % 2]} q{n}" for n in range(24)}
    )
    change(project / "agent.yaml", "string_match: 0.75", "string_match: {min: 0}")
    change(project / "agent.yaml", "ciGate: true", "ciGate: false")
    options = ("--dataset", "rag-quality", "-m", "string_match", "--json")
    run = evaluate(rag_eval, "--target", "good.jsonl", *options).ok().json["runs"][0]["runId"]
    same = evaluate(rag_eval, "--target", "good.jsonl", *options, "--baseline", run).ok()
    assert same.json["ciGateResult"] == "PASS"
    worse = evaluate(rag_eval, "--target", "worse.jsonl", *options, "--baseline", run)
    assert (worse.code, worse.json["ciGateResult"]) == (1, "FAIL")
    kept("evaluate-baseline", worse.json["gate"])
    evaluate(rag_eval, "--target", "worse.jsonl", *options[:-1], "--baseline", run).shows(
        f"? UNDECIDED: 12 answers that were correct in {run[-3:]} could not be judged this time."
    )
    evaluate(rag_eval, "--target", "worse.jsonl", *options).ok()
    other = ("--target", "worse.jsonl", "--baseline", run, "--dataset")
    evaluate(rag_eval, *other, "safety").refused("expected a run of dataset safety")
    evaluate(rag_eval, *other, "rag-quality", "-m", "bleu").refused("was not scored with bleu")
    # A bound on the drop is one more demand, and excuses nothing.
    bounded = ("--baseline", run, "--max-drop", "0.9")
    assert evaluate(rag_eval, "--target", "worse.jsonl", *options, *bounded).code == 1
    evaluate(rag_eval, "--target", "good.jsonl", *options, *bounded).ok()
    few = evaluate(rag_eval, "--target", "worse.jsonl", *options, "--baseline", run, "--sample-size", "3")
    assert (few.code, few.json["gate"]["word"]) == (1, "undecided")


def test_those_that_answer_do_not_decide_for_those_that_fail(rag_eval: Commands, project: Path) -> None:
    answers = {f"q{n}": f"The answer to q{n}" if n % 2 else None for n in range(24)}
    write_answers(project / "answers.jsonl", answers)
    options = ("--target", "answers.jsonl", "--dataset", "rag-quality", "--max-errors", "12", "--json")
    ended = evaluate(rag_eval, *options)
    assert (ended.code, ended.json["gate"]["word"]) == (1, "not evaluated")
    evaluate(rag_eval, *options, "--min-scored", "0.5").ok()
    evaluate(rag_eval, *options, "--waive", "string_match").ok()


@pytest.mark.parametrize(("old", "new", "told"), TABLES["keys_that_are_not_known"])
def test_a_gate_in_the_wrong_place_or_by_the_wrong_name_is_an_error(
    old: str, new: str, told: str, rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    change(project / "agent.yaml", old, new)
    evaluate(rag_eval, "--url", agent.url).refused("agent.yaml", told)


def test_thresholds_of_a_dataset_replace_others(
    rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    evaluate(rag_eval, "--url", agent.url).ok()
    place = "        metrics: [toxicity"
    change(project / "agent.yaml", place, "        thresholds: {token_f1: 0.99}\n" + place)
    ended = evaluate(rag_eval, "--url", agent.url)
    assert ended.code == 1
    ended.shows("safety", "token_f1", ">= 0.99", "missed")


def test_an_unreachable_agent_exits_3_and_its_run_can_be_resumed(rag_eval: Commands, project: Path) -> None:
    ended = evaluate(rag_eval, "--url", "http://127.0.0.1:9", "--json", "--max-attempts", "1")
    assert (ended.code, ended.json["ciGateResult"]) == (3, "FAIL")
    # The shape is the plan's, though the run did not come to the last dataset.
    assert (ended.json["dataset"], ended.json["totalSamples"]) == (["rag-quality", "safety"], 30)
    assert (set(ended.json["metrics"]), ended.json["runs"][0]["completed"]) == ({"rag-quality"}, False)
    (state,) = rag_eval("runs", "--json").ok().json
    assert state["state"] == "incomplete"
    assert "--resume" in state["resume"]
    kept("runs-incomplete", [state], project)


class HoldingAgent:
    """Answers so many questions and holds the others back until it is released."""

    def __init__(self, answers: int) -> None:
        self.asked: list[str] = []
        self.released = threading.Event()
        self._left = threading.Semaphore(answers)

    def handler(self) -> type[QuietHandler]:
        agent = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                agent.asked.append(question := json.loads(self.sent())["message"])
                if not agent._left.acquire(blocking=False):
                    agent.released.wait()
                self.reply(200, {"response": answer_to(question)})

        return Handler


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_was_stopped_midway_is_resumed_and_asks_nothing_twice(
    sign: signal.Signals, rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    holding = HoldingAgent(answers=9)
    options = ("--dataset", "rag-quality", "--concurrency", "2", "--timeout", "3600")
    with serving(holding.handler()) as url:
        process = start("evaluate", "agent.yaml", "--url", url, *options, folder=project)
        try:
            run = wait_for(rag_eval, holding, done=9, in_flight=2)
            process.send_signal(sign)
            signalled = time.monotonic()
            out, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == (-9 if sign == signal.SIGKILL else 130)
            assert time.monotonic() - signalled < 5  # though an answer may take an hour
            assert sign == signal.SIGKILL or ("… INCOMPLETE" in out and "--resume 001" in out)
            assert len(holding.asked) == 9 + 2
        finally:
            process.kill()
            holding.released.set()
        first = set(holding.asked)
        resumed = evaluate(rag_eval, "--url", url, "--resume", run, "--json").ok().json
    times = Counter(holding.asked)
    assert set(times) == {f"q{n}" for n in range(24)}
    # What was in flight when the process ended has no answer, and only that is asked again.
    assert sorted(times.values()) == [1] * 22 + [2] * 2
    assert {question for question, number in times.items() if number == 2} <= first
    assert resumed["runs"][0]["runId"] == run
    straight = evaluate(rag_eval, "--url", agent.url, "--dataset", "rag-quality", "--json").ok().json
    assert resumed["metrics"] == straight["metrics"]
    assert [it["scores"] for it in resumed["samples"]] == [it["scores"] for it in straight["samples"]]
    assert {it["state"] for it in rag_eval("runs", "--json").ok().json} == {"complete"}


def wait_for(rag_eval: Commands, holding: HoldingAgent, *, done: int, in_flight: int) -> str:
    """Wait until so many samples of the only run are done and so many asked, and return its id."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        runs = rag_eval("runs", "--json").ok().json if Path("runs").exists() else []
        if [run["done"] for run in runs] == [done] and len(holding.asked) == done + in_flight:
            assert runs[0]["state"] == "running"
            return str(runs[0]["run_id"])
        time.sleep(0.05)
    raise AssertionError(f"the run did not come to {done} samples")


def test_resuming_keeps_the_settings_of_the_run(
    rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    drawn = ("--dataset", "rag-quality", "--tag", "advanced", "--sample-size", "4", "--seed", "3", "--json")
    change(project / "agent.yaml", "ciGate: true", "ciGate: false")
    first = evaluate(rag_eval, "--url", agent.url, *drawn).ok().json
    run = first["runs"][0]["runId"]
    resumed = evaluate(rag_eval, "--url", agent.url, "--resume", run, "--json").ok().json
    assert [it["id"] for it in resumed["samples"]] == [it["id"] for it in first["samples"]]
    for given in (["--tag", "basics"], ["--seed", "4"], ["--sample-size", "9"], ["-m", "bleu"]):
        evaluate(rag_eval, "--url", agent.url, "--resume", run, *given).refused("Remove", given[0])
    elsewhere = evaluate(rag_eval, "--url", f"{agent.url}/elsewhere", "--resume", run)
    elsewhere.refused("cannot resume with a different target")
    write_samples(project / "evals" / "rag.jsonl", 8)
    assert evaluate(rag_eval, "--url", agent.url, "--resume", run).code == 2


@pytest.mark.parametrize(
    ("fault", "requests"), [("500", 2), ("429-zero", 2), ("400", 1), ("malformed-json", 2)]
)
def test_failures_are_tried_again_only_where_that_can_help(
    fault: str, requests: int, rag_eval: Commands, agent: RunningServer, project: Path
) -> None:
    before = agent.log()["faults"].get(fault, 0)
    options = ("--url", agent.fault(fault), "--dataset", "safety", "--max-attempts", "2", "--json")
    ended = evaluate(rag_eval, *options)
    assert (ended.code, ended.json["ciGateResult"]) == (1, "FAIL")
    assert agent.log()["faults"][fault] - before == 6 * requests
    assert all(fault.partition("-")[0] in sample["error"] for sample in ended.json["samples"])
    assert ended.json["runs"][0]["metrics"]["token_f1"]["n_scored"] == 0
