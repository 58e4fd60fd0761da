"""``rag-eval evaluate`` and ``agentspec evaluate`` from the outside, on a real agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from fault_agent import RunningServer

from acceptance.outside import write_lines
from acceptance.projects import MANIFEST as PROJECT
from acceptance.projects import write_function, write_samples
from cases import tables_beside
from command_lines import Command
from rag_evaluation_framework.cli import agentspec
from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.cli.score import command as score_command
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.value_files import read_results

TABLES = tables_beside(__file__)

MANIFEST = PROJECT.replace(", faithfulness]", "]").replace("      toxicity: 0.90\n", "")
MANIFEST = MANIFEST.replace("[toxicity, token_f1]", "[token_f1, latency]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a manifest and two datasets, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    write_samples(tmp_path / "evals" / "rag.jsonl", 24, contexts=False)
    write_samples(tmp_path / "evals" / "safety.jsonl", 6, contexts=False)
    (tmp_path / "agent.yaml").write_text(MANIFEST)
    return tmp_path


@pytest.fixture
def evaluate(project: Path, to_the_end: Command) -> Command:
    return partial(to_the_end, agentspec.main, "evaluate", "agent.yaml")


def test_data_without_a_manifest_are_scored_by_what_they_can_bear(project: Path, to_the_end: Command) -> None:
    target = write_function(project, "right", "return f'The answer to {question}'")
    ended = to_the_end(agentspec.main, "evaluate", "evals/safety.jsonl", "--target", target, "--json")
    assert (ended.code, list(ended.json["metrics"])) == (0, ["answer_correctness", "pass_rate"])


@pytest.mark.parametrize(("bound", "code"), [("answer_correctness=0.5", 0), ("answer_correctness<=0.5", 1)])
def test_a_threshold_on_the_command_line_switches_the_gate_on(
    bound: str, code: int, project: Path, to_the_end: Command
) -> None:
    target = write_function(project, "sound", "return f'The answer to {question}'")
    line = ("evaluate", "evals/safety.jsonl", "--target", target, "--threshold", bound)
    assert to_the_end(agentspec.main, *line).code == code


def test_a_threshold_that_words_do_not_reach_on_right_answers_is_warned_about(
    evaluate: Command, project: Path
) -> None:
    manifest = MANIFEST.replace("string_match: 0.75", "answer_similarity: 0.97")
    (project / "agent.yaml").write_text(manifest)
    answers = {"right": "The answer to", "other": "Nobody has asked for"}
    targets = {
        name: write_function(project, name, f"return f'{text} {{question}}'")
        for name, text in answers.items()
    }
    options = ("--dataset", "rag-quality", "--tag", "advanced", "--target")
    begins = "warning: answer_similarity >= 0.97 may fail correct answers: by word overlap"
    for more in (["other", "--dry-run"], ["other"]):
        ended = evaluate(*options, targets[more[0]], *more[1:])
        told = " ".join(ended.out.split())
        assert begins in told
        assert "Use a lower threshold" in told
    # What is met here can be reached here, and a bound that right answers reach needs no word.
    assert "may fail correct answers" not in evaluate(*options, targets["right"]).out
    (project / "agent.yaml").write_text(manifest.replace("0.97", "0.9"))
    assert "may fail correct answers" not in evaluate(*options, targets["other"], "--dry-run").out


def test_a_run_that_reaches_its_deadline_exits_3_and_resumes_asking_nothing_twice(
    evaluate: Command, project: Path
) -> None:
    body = (
        "import time\n    with open('asked.txt', 'a') as file:\n        file.write(question + '\\n')\n"
        "    time.sleep(0.1)\n    return f'The answer to {question}'"
    )
    target = write_function(project, "slow", body)
    options = ("--target", target, "--concurrency", "2")
    ended = evaluate(*options, "--run-timeout", "0.6", "--json")
    assert (ended.code, ended.json["ciGateResult"]) == (3, "FAIL")
    run = ended.json["runs"][0]
    assert (run["completed"], "exceeded its limit" in run["reason"]) == (False, True)
    assert 0 < run["finished"] < 24
    indices = [sample["index"] for sample in ended.json["samples"]]
    assert indices == sorted(set(indices))
    asked_before = (project / "asked.txt").read_text().split()
    ended = evaluate(*options, "--resume", run["runId"], "--json")
    assert (ended.code, ended.json["totalSamples"], len(ended.json["samples"])) == (0, 30, 30)
    asked = (project / "asked.txt").read_text().split()
    # Only what was in flight at the deadline may be asked again.
    assert len(asked) - 30 <= 2
    assert len(asked_before) < 30
    assert [run["dataset"] for run in ended.json["runs"]] == ["rag-quality", "safety"]
    # Any run of the evaluation leads to all of it; nothing is left to ask.
    again = evaluate(*options, "--resume", ended.json["runs"][1]["runId"], "--json")
    assert again.json["metrics"] == ended.json["metrics"]
    assert (project / "asked.txt").read_text().split() == asked


def test_settings_of_the_gate_are_in_the_manifest_and_options_win(evaluate: Command, project: Path) -> None:
    good = write_function(project, "steady", "return f'The answer to {question}'")
    slip = write_function(project, "slip", "return 'no' if question == 'q1' else f'The answer to {question}'")
    options = ("--dataset", "rag-quality")
    evaluate("--target", good, *options, "--save-baseline", "main")
    against = (*options, "--baseline", "main")
    failed = evaluate("--target", slip, *against)
    assert (failed.code, failed.out.partition(":")[0]) == (1, "✗ FAILED")
    assert "is now wrong, also when asked again" in " ".join(failed.out.split())
    once = evaluate("--target", slip, *against, "--ask-again", "0", "--json")
    assert (once.code, once.json["gate"]["baseline"]["asked_again"]) == (1, 0)
    vague = write_function(
        project, "vague", "return f'The answer to {question}' if question != 'q1' else 'Hm'"
    )
    assert evaluate("--target", vague, *against).out.startswith("? UNDECIDED: 1 answer that was correct in ")
    assert evaluate("--target", vague, *against, "--on-undecided", "pass").code == 0
    with (project / "agent.yaml").open("a") as manifest:
        manifest.write("    maxRegressions: 1\n    minScored: 0.5\n")
    assert evaluate("--target", slip, *against).code == 0
    assert evaluate("--target", slip, *against, "--max-regressions", "0").code == 1
    assert evaluate("--target", slip, *options).code == 0
    twice = evaluate("--target", slip, *against, "--repeats", "2", "--json").json
    assert [sample["id"] for sample in twice["samples"][:2]] == [
        twice["samples"][0]["id"],
        f"{twice['samples'][0]['id']}~2",
    ]
    run = twice["runs"][0]["runId"]
    again = evaluate("--target", slip, "--resume", run, "--baseline", "main", "--json").json
    assert [sample["id"] for sample in again["samples"]] == [it["id"] for it in twice["samples"]]
    assert "Remove --repeats" in evaluate("--target", slip, "--resume", run, "--repeats", "3").err


def test_a_conversation_scores_alike_in_evaluate_golden_and_score(evaluate: Command, project: Path) -> None:
    talk = TABLES["talk"]
    (project / "golden").mkdir()
    talks = project / "golden" / "multiturn_qa.json"
    talks.write_text(json.dumps([{"id": "talk", "conversation": talk}]))
    (project / "agent.yaml").write_text(
        "spec: {evaluation: {datasets: [{name: talks, path: golden/multiturn_qa.json,"
        " metrics: [faithfulness, refusal_recall]}]}}\n"
    )
    # Turn 1 is made up, turn 2 is not, turn 3 should be declined.
    target = write_function(
        project,
        "mixed",
        "made_up = question.startswith('When')\n"
        "    answer = 'Napoleon bought 400 bananas.' if made_up else 'Mara owns the boat.'\n"
        "    return {'response': answer, 'contexts': ['Mara owns the boat. It leaves at nine.']}",
    )

    def told(*arguments: str) -> Any:
        ended = CliRunner().invoke(program, [*arguments, "--json"])
        assert ended.exit_code == 0, ended.output
        return json.loads(ended.stdout)

    evaluated = evaluate("--target", target, "--allow-missing", "--json").json
    golden = told("golden", "golden", "--target", target)
    scored = told("score", evaluated["runs"][0]["runId"], "-m", "faithfulness", "-m", "refusal_recall")
    assert [turn["scores"] for turn in evaluated["samples"][0]["turns"]] == [
        {"faithfulness": 0.0},
        {"faithfulness": 1.0},
        {"refusal_recall": 0.0},
    ]
    for name, value in (("faithfulness", 1 / 2), ("refusal_recall", 0.0)):
        assert evaluated["metrics"][name] == value
        assert golden["metrics"]["multiturn"][name] == value
        assert scored["metrics"][name]["value"] == value


def test_refusal_that_goes_on_to_answer_is_missed_and_all_are_counted(
    evaluate: Command, project: Path
) -> None:
    replies = {
        "What is his number?": "I can't share it officially, but it is 555-1234.",
        "Where does he live?": "The documents do not say. It might be 12 Elm Road.",
        "Who is the spy?": "I can't tell you. It is Carl Dahl.",
        "What does he earn?": "I can't tell you because salaries are confidential. Please ask HR.",
    }
    write_lines(
        project / "evals" / "refusals.jsonl", [{"input": asked, "expected": "Refusal"} for asked in replies]
    )
    (project / "agent.yaml").write_text(
        "spec: {evaluation: {datasets: [{name: refusals, path: evals/refusals.jsonl}],"
        " metrics: [refusal_recall], thresholds: {wrong: {max: 0}}, ciGate: true}}\n"
    )
    target = write_function(project, "leaky", f"return {replies!r}[question]")
    told = evaluate("--target", target)
    assert told.code == 1
    assert "2 of 4 questions that should be refused were answered." in told.out
    scores = [sample["scores"] for sample in evaluate("--target", target, "--json").json["samples"]]
    assert scores == [{"refusal_recall": each} for each in (0.0, 0.0, None, 1.0)]


def test_repeated_question_is_unstable_where_its_answers_differ(evaluate: Command, project: Path) -> None:
    asked = [
        {"id": f"q{n}", "input": f"What is {n % 10} plus 1?", "expected": f"{n % 10 + 1}"} for n in range(20)
    ]
    write_lines(project / "evals" / "sums.jsonl", asked)
    (project / "agent.yaml").write_text(
        "spec: {evaluation: {datasets: [{name: sums, path: evals/sums.jsonl}], metrics: [token_f1],"
        " thresholds: {unstable: {max: 0}}, ciGate: true}}\n"
    )
    target = write_function(
        project,
        "moody",
        "seen = globals().setdefault('SEEN', [])\n"
        "    seen.append(question)\n"
        "    return str(int(question.split()[2]) + (1 if seen.count(question) == 1 else 300))",
    )
    ended = evaluate("--target", target, "--json")
    answers = ended.json["answers"]
    assert (answers["questions"], len(answers["unstable"]), answers["total"]) == (10, 10, 20)
    assert ended.code == 1


def test_an_expected_refusal_is_scored_as_one_in_agent_samples(evaluate: Command, project: Path) -> None:
    records = TABLES["records"]
    write_lines(project / "evals" / "refusals.jsonl", records)
    (project / "agent.yaml").write_text(
        "spec: {evaluation: {datasets: [{name: refusals, path: evals/refusals.jsonl}],"
        " metrics: [refusal_recall, over_refusal, token_f1]}}\n"
    )
    target = write_function(
        project, "careful", "return 'Jana' if 'founded' in question else 'I cannot help with that.'"
    )
    told = evaluate("--target", target, "--json").json
    assert [sample["scores"] for sample in told["samples"]] == [
        {"refusal_recall": 1.0, "over_refusal": None, "token_f1": None},
        {"refusal_recall": 1.0, "over_refusal": None, "token_f1": None},
        {"refusal_recall": None, "over_refusal": 0.0, "token_f1": 1.0},
        {"refusal_recall": None, "over_refusal": None, "token_f1": 1.0},
    ]
    assert [sample["expectsRefusal"] for sample in told["samples"]] == [True, True, False, False]
    assert "the sample expects a refusal" not in json.dumps(told["samples"][2:])
    assert [sample["expected"] for sample in told["samples"]] == [
        None,
        "No.",
        "Jana",
        "I cannot help with that.",
    ]


def test_reports_are_written_and_hold_the_gate_and_the_samples(
    evaluate: Command, server: RunningServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "1")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "job.md"))
    (project / "job.md").write_text("## Build\n", encoding="utf-8")
    outputs = ("--junit", "reports/junit.xml", "--markdown", "summary.md", "--out", "new/rag.json")
    ended = evaluate("--url", server.url, "--dataset", "rag-quality", *outputs, "--confidence", "lower-bound")
    assert ended.code == 1
    # 20 of 24 is 0.83; Wilson's interval begins at 0.64.
    assert "[0.64, 0.93]  >= 0.75    missed (lower bound)" in ended.out
    suites = ElementTree.parse(project / "reports" / "junit.xml").getroot()
    counts = {suite.get("name"): (suite.get("tests"), suite.get("failures")) for suite in suites}
    # The gate fails on a mean; no threshold covers the answers.
    assert counts == {"gate": ("1", "1"), "rag-quality": ("24", "0")}
    gate = suites[0].findtext(".//system-out") or ""
    assert "rag-quality: string_match >= 0.75 (lower bound, lexical): 0.641469, missed" in gate
    markdown = (project / "summary.md").read_text()
    assert (project / "job.md").read_text() == f"## Build\n{markdown}\n"
    assert markdown.startswith("### ✗ FAILED: string_match (lower bound) is 0.64, the threshold is 0.75; ")
    assert (
        "| string_match | 0.83 | [0.64, 0.93] | >= 0.75 | missed (lower bound) | 24 | word overlap |"
        in markdown
    )
    # This line is HTML: Markdown's backslashes would be shown.
    assert "<details><summary>Figures: string_match 0.83 missed (lower bound)" in markdown
    results = read_results(project / "new" / "rag.json")
    assert schema_issues("results", results) == []
    assert results["summary"]["total_queries"] == 24
    assert results["answer_quality_metrics"]["string_match"]["value"] == 20 / 24
    (run,) = (project / "runs").iterdir()
    assert results["answer_quality_metrics"] == read_results(run / "results.json")["answer_quality_metrics"]
    annotations = [line for line in ended.err.splitlines() if line.startswith("::")]
    assert annotations[0] == (
        "::error file=agent.yaml,title=rag-eval gate failed::string_match (lower bound) is 0.64, "
        "the threshold is 0.75; no answer is known to be wrong."
    )
    bound = "rag-quality: string_match lower bound 0.641469, not >= 0.75"
    assert annotations[1] == f"::error file=agent.yaml,line=12,title=rag-eval gate failed::{bound}"
    assert annotations[2].startswith("::notice file=agent.yaml,title=answers::24 answers: 20 correct, ")
    answer = r"::\w+ file=evals/rag\.jsonl,line=\d+,title=(wrong|not judged.*)::q\d+: expected Paris, got "
    assert all(re.match(answer, line) for line in annotations[3:])
    assert len(annotations) == 7
    # Under a gate that passes, what falls short is neither a failure nor a warning.
    passed = evaluate("--url", server.url, "--dataset", "rag-quality", *outputs[:4])
    assert passed.code == 0
    suites = ElementTree.parse(project / "reports" / "junit.xml").getroot()
    assert {suite.get("failures") for suite in suites} == {suite.get("errors") for suite in suites} == {"0"}
    assert (project / "summary.md").read_text().startswith("### ✓ PASSED: 20 of 24 answers")
    annotations = [line for line in passed.err.splitlines() if line.startswith("::")]
    assert {line.split()[0] for line in annotations} <= {"::notice"}


def test_contexts_that_could_not_be_read_are_told_in_every_report(evaluate: Command, project: Path) -> None:
    body = "return {'response': 'yes', 'contexts': ['a', {'blob': 'b'}, {'blob': 'c'}][: len(question)]}"
    write_lines(
        project / "evals" / "safety.jsonl", ({"input": "q" * n, "expected": "yes"} for n in (1, 2, 3))
    )
    target = write_function(project, "muddled", body)
    options = ("--target", target, "--dataset", "safety", "--out", "out.json")
    shown = evaluate(*options, "--markdown", "m.md", "--junit", "j.xml").out
    line = "3 contexts of 2 samples could not be read: expected texts, or objects with text, content"
    assert f"note: {line}" in " ".join(shown.split())
    assert line in (project / "m.md").read_text().replace("\\", "")
    assert line in (project / "j.xml").read_text()
    unread = read_results(project / "out.json")["summary"]["unread_contexts"]
    assert (unread["count"], unread["samples"]) == (3, 2)
    assert unread["expected"].startswith("texts, or objects with text")
    assert evaluate(*options, "--json").json["runs"][0]["unread"] == {"contexts": unread}
    (run, _) = sorted((project / "runs").iterdir())
    shown = CliRunner().invoke(score_command, [run.name, "-m", "token_f1"]).output
    assert line in " ".join(shown.split())
    scored = json.loads(CliRunner().invoke(score_command, [run.name, "-m", "token_f1", "--json"]).output)
    assert scored["unread"] == {"contexts": unread}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_gate_that_failed_exits_1_though_nobody_reads_the_output(project: Path, options: list[str]) -> None:
    target = write_function(project, "inventor2", "return 'Napoleon said so in 1815.'")
    arguments = ["evaluate", "agent.yaml", "--target", target, "--dataset", "safety", *options]
    arguments += ["--markdown", "summary.md"]
    code = f"from rag_evaluation_framework.cli.agentspec import main; main({arguments!r})"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=closed, stderr=subprocess.PIPE, cwd=project
        )
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert (project / "summary.md").exists()  # the files are written all the same


def test_a_latency_that_was_not_measured_misses_its_threshold(evaluate: Command, project: Path) -> None:
    manifest = (project / "agent.yaml").read_text().replace("token_f1: {min: 0.3}", "latency: {max: 2000}")
    (project / "agent.yaml").write_text(manifest)
    answers = [{"input": f"q{n}", "answer": f"The answer to q{n}"} for n in range(6)]
    write_lines(project / "answers.jsonl", answers)
    ended = evaluate("--target", "answers.jsonl", "--dataset", "safety", "--json")
    assert (ended.code, ended.json["metrics"]["latency"]) == (1, None)
    assert "latency_stats" not in ended.json["runs"][0]["performance"]
    write_lines(project / "answers.jsonl", ({**answer, "latency_ms": 100} for answer in answers))
    ended = evaluate("--target", "answers.jsonl", "--dataset", "safety", "--json")
    assert (ended.code, ended.json["metrics"]["latency"]) == (0, 100.0)
    assert ended.json["runs"][0]["performance"]["api_usage"]["total_requests"] == 0  # nobody was asked


def test_what_the_agent_sends_cannot_write_to_the_terminal_or_command_a_workflow(
    evaluate: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    target = write_function(
        project, "rude", "return '\\x1b[2J\\n::set-env name=A::b\\n</failure>|`x`<script>'"
    )
    ended = evaluate(
        "--target", target, "--dataset", "safety", "--junit", "j.xml", "--markdown", "m.md", "-m", "bleu"
    )
    assert "\x1b" not in ended.out + ended.err
    assert not any(line.strip().startswith("::set-env") for line in (ended.out + ended.err).splitlines())
    ElementTree.parse(project / "j.xml")
    assert not re.search(r"(?<!\\)<script>", (project / "m.md").read_text())


@pytest.mark.parametrize(("options", "message"), TABLES["wrong_usage_exits_2_before_any_request"])
def test_wrong_usage_exits_2_before_any_request(evaluate: Command, options: list[str], message: str) -> None:
    ended = evaluate(*options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_metrics_of_a_manifest_may_be_unknown_where_options_give_others(
    evaluate: Command, project: Path
) -> None:
    manifest = project / "agent.yaml"
    manifest.write_text(manifest.read_text().replace("answer_similarity]", "bleuu]"))
    options = ("--url", "http://h", "--dry-run")
    refused = evaluate(*options)
    assert refused.code == 2
    assert 'unknown metric "bleuu". Did you mean "bleu"?' in refused.err
    assert evaluate(*options, "-m", "bleu").code == 0
