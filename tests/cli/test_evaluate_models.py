"""``scripts/evaluate_models.py`` from the outside, on real splits and models behind a real HTTP server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from chat_server import failing, running_chat
from model_server import ModelServer, running_models

from acceptance.projects import references
from cases import tables_beside
from command_lines import Command
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.cli import evaluate_models
from rag_evaluation_framework.cli.evaluate_models import output_paths
from rag_evaluation_framework.cli.main import main as rag_eval
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.files.access import open_reading
from rag_evaluation_framework.results.run_store import RunFolder, list_runs

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "evaluate_models.py"
# A parent that ignores Ctrl-C (a shell's background job) hands that down; the script must hear it anyway.
PROGRAM = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
QA = 11  # records of the example that have a reference


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the splits of the example and a configuration that says where they are."""
    folder = tmp_path_factory.mktemp("splits")
    shutil.copytree(ROOT / "configs", folder / "configs")
    (folder / "evaluation" / "datasets").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "offline" / "offline_dataset.jsonl", folder / "evaluation" / "datasets")
    here = Path.cwd()
    os.chdir(folder)
    try:
        with pytest.raises(SystemExit) as ended:
            rag_eval(["build", "--config", "configs/default.yaml"])
    finally:
        os.chdir(here)
    assert ended.value.code == 0
    return folder


@pytest.fixture
def project(splits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the splits, which is the current folder."""
    shutil.copytree(splits, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "project"


@pytest.fixture
def evaluate(project: Path, to_the_end: Command) -> Command:
    return partial(to_the_end, evaluate_models.main)


@pytest.fixture
def server(splits: Path) -> Iterator[ModelServer]:
    with running_models(references(splits)) as models:
        yield models


def test_two_models_are_compared_side_by_side_with_the_first(evaluate: Command, server: ModelServer) -> None:
    ended = evaluate("--model", "careful", "--model", "hasty", "--base-url", server.url)
    assert ended.code == 0
    out = ended.out
    assert out.startswith(f"qa_pairs v1: {QA} samples, {QA} with a recorded prompt\n")
    assert "\ncareful is better than hasty on all 3 metrics\n" in out
    table = {line.split()[0]: line.split()[1:] for line in out.splitlines() if " [" in line}
    verdicts = [table[metric] for metric in ("token_f1", "rouge", "answer_similarity")]
    for careful, hasty, *_ in verdicts:
        assert float(careful) == 1
        assert float(hasty) < 0.9
    # Better for none, the same for none, worse for all.
    assert all(line[5:9] == ["0", "0", str(QA), "worse"] for line in verdicts)
    assert "verdicts are corrected for 3 comparisons" in out


def test_the_prompt_that_is_recorded_is_what_a_model_is_asked(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    assert evaluate("--model", "careful", "--base-url", server.url, "--concurrency", "1").code == 0
    split = project / "evaluation" / "datasets" / "qa_pairs.jsonl"
    recorded = [json.loads(line)["rag_prompt"] for line in split.read_text(encoding="utf-8").splitlines()]
    assert server.prompts("careful") == recorded
    assert server.asked[0]["temperature"] == 0


def test_without_a_recorded_prompt_contexts_are_asked(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    record = {
        "input": "Who sails?",
        "expected": "I cannot tell.",
        "context": ["The crew sails.", "The tide waits."],
    }
    (project / "agent.jsonl").write_text(json.dumps(record) + "\n")
    ended = evaluate("--model", "careful", "--base-url", server.url, "--dataset", "agent.jsonl", "--json")
    assert (ended.code, ended.json["with_recorded_prompt"]) == (0, 0)
    (prompt,) = server.prompts("careful")
    assert "[1] The crew sails.\n[2] The tide waits.\n\nQuestion: Who sails?" in prompt


def test_failures_are_counted_by_kind_and_not_compared(evaluate: Command, server: ModelServer) -> None:
    ended = evaluate("--model", "careful", "--model", "flaky", "--base-url", server.url)
    assert ended.code == 0
    # Prompts 0, 3, 6 and 9 of 11 have no answer.
    assert "flaky: 4 of 11 answers are missing (http-422 4)" in ended.out
    assert "flaky: compared on the 7 answers scored in both; 4 left out" in ended.out


def test_tokens_are_added_up_and_cost_what_the_price_says(evaluate: Command, server: ModelServer) -> None:
    options = ("--model", "careful", "--model", "hasty", "--base-url", server.url, "--json")
    ended = evaluate(*options, "--price", "careful=1000000,2000000")
    usage = ended.model("careful")["performance"]["api_usage"]
    assert usage["input_tokens"] == sum(len(prompt.split()) for prompt in server.prompts("careful"))
    assert ended.model("careful")["cost_usd"] == usage["input_tokens"] + 2 * usage["output_tokens"]
    assert ended.model("hasty")["cost_usd"] is None
    wrong = evaluate(*options, "--price", "carefull=1,2")
    assert (wrong.code, 'Did you mean "careful' in wrong.err) == (2, True)


def test_each_model_has_its_own_results_document(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    options = ("--model", "careful", "--model", "hasty", "--base-url", server.url, "--limit", "3")
    ended = evaluate(*options, "--output", "results/{model}.results.json", "--json")
    assert ended.code == 0
    for name in ("careful", "hasty"):
        results = read_results(project / "results" / f"{name}.results.json")
        assert results["system_version"] == name
        assert results["metadata"]["dataset_version"] == "v1"
        assert len(results["query_results"]) == 3
        assert RunFolder.open(ended.model(name)["run_id"]).results_path.is_file()
    (project / "hasty.json").mkdir()
    unwritten = evaluate(*options, "--output", "{model}.json")
    assert unwritten.code == 2
    assert "hasty.json" in unwritten.err
    assert "careful and hasty" in unwritten.out or "better than" in unwritten.out or "differ" in unwritten.out
    alone = evaluate(*options, "--output", "one.results.json")
    assert (alone.code, "expected {model} in the name" in alone.err) == (2, True)


def test_the_name_of_a_model_stays_inside_the_folder_of_the_results(tmp_path: Path) -> None:
    assert output_paths(tmp_path, ["org/model:7b", "../x"]) == {
        "org/model:7b": tmp_path / "org_model_7b.results.json",
        "../x": tmp_path / "_x.results.json",
    }
    with pytest.raises(UsageError, match="the same file name"):
        output_paths(tmp_path, ["a/b", "a:b"])


def test_any_run_finds_the_others_and_nothing_is_asked_twice(evaluate: Command, server: ModelServer) -> None:
    first = evaluate("--model", "careful", "--model", "hasty", "--base-url", server.url, "--json")
    asked = len(server.asked)
    # The second run leads to the first; complete runs need neither an address nor a key.
    again = evaluate("--resume", "--json")
    assert again.code == 0
    assert (again.json["models"], again.json["comparisons"]) == (
        first.json["models"],
        first.json["comparisons"],
    )
    assert len(server.asked) == asked
    more = evaluate(
        "--resume",
        first.model("careful")["run_id"],
        *("--model", "flaky", "--base-url", server.url, "--temperature", "none", "--json"),
    )
    assert [model["model"] for model in more.json["models"]] == ["careful", "hasty", "flaky"]
    assert len(server.asked) == asked + QA
    assert "temperature" not in server.asked[-1]


def test_resuming_keeps_the_settings_of_the_runs(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    options = ("--base-url", server.url, "--json")
    first = evaluate("--model", "careful", "--limit", "2", *options).model("careful")["run_id"]
    other = evaluate("--model", "hasty", "--limit", "3", *options).model("hasty")["run_id"]
    assert "Remove --limit" in evaluate("--resume", first, "--limit", "3", *options).err
    assert evaluate("--resume", first, "--limit", "2", "--dataset-type", "qa", *options).code == 0
    more = evaluate("--resume", first, "--model", "flaky", *options).model("flaky")["run_id"]
    assert RunFolder.open(more).head.configuration["limit"] == 2
    unlike = evaluate("--resume", first, "--resume", other, *options)
    assert (unlike.code, "content of the dataset: expected" in unlike.err) == (2, True)
    split = project / "evaluation" / "datasets" / "qa_pairs.jsonl"
    shutil.copy(split, project / "moved.jsonl")
    lines = split.read_text(encoding="utf-8").splitlines(keepends=True)
    split.write_text("".join(lines[1:]), encoding="utf-8")
    changed = evaluate("--resume", first, *options)
    assert (changed.code, "cannot resume over other data" in changed.err) == (2, True)
    assert evaluate("--resume", first, "--dataset", "moved.jsonl", *options).code == 0


def test_runs_of_the_same_data_are_compared_anywhere(
    evaluate: Command, server: ModelServer, splits: Path
) -> None:
    runs = [evaluate("--model", "careful", "--base-url", server.url, "--json").model("careful")["run_id"]]
    with running_models(references(splits)) as elsewhere:
        second = evaluate("--model", "hasty", "--base-url", elsewhere.url, "--json")
        runs.append(second.model("hasty")["run_id"])
    both = evaluate("--resume", runs[0], "--resume", runs[1], "--json")
    assert both.code == 0
    assert [model["base_url"] for model in both.json["models"]] == [server.url, elsewhere.url]
    assert {each["verdict"] for each in both.json["comparisons"]} == {"worse"}


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(SCRIPT), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(model: str, number: int) -> str:
    """Wait until so many samples of a model are in its journal, and return its run."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with suppress(OSError):
            for run in list_runs():
                if run.folder and run.folder.head.target == model and run.folder.counts.done >= number:
                    return run.path.name
        time.sleep(0.02)
    raise AssertionError(f"{model} never had {number} samples done")


def test_ctrl_c_exits_130_and_a_resume_begins_the_rest(
    evaluate: Command, project: Path, splits: Path
) -> None:
    with running_models(references(splits), hold_after=1) as server:
        arguments = ("--model", "careful", "--model", "hasty", "--base-url", server.url, "--concurrency", "1")
        with start(*arguments) as process:
            run = wait_for_lines("careful", 1)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "… INCOMPLETE: 1 of 11 questions were answered; interrupted" in out
        assert f"--resume {run[-3:]}" in out
        assert "Not started: hasty" in out
        server.hold_after = None
        resumed = evaluate("--resume", run, "--base-url", server.url)
        keys = [body["idempotency"] for body in server.asked if body["model"] == "careful"]
    # Only what was on its way when the process ended is asked again, under the same key.
    assert len(set(keys)) == QA >= len(keys) - 1
    assert resumed.code == 0
    assert "careful is better than hasty" in resumed.out


def test_an_unreachable_endpoint_exits_3_and_can_be_resumed(evaluate: Command, server: ModelServer) -> None:
    ended = evaluate("--model", "careful", "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == 3
    (run,) = list_runs()
    assert "INCOMPLETE: 0 of 11 questions were answered; rag-eval cannot connect to the agent." in ended.out
    assert f"--resume {run.path.name[-3:]}" in ended.out
    # The key is never sent to an address that a file says.
    elsewhere = evaluate("--resume", run.path.name, "--base-url", server.url)
    assert elsewhere.code == 2
    assert f"expected --base-url http://127.0.0.1:9/v1, got {server.url}" in elsewhere.err
    assert not server.asked


# Of the 11 none is failed for it; 5 are too few to tell, and all have failed. Both are asked on a resume.
@pytest.mark.parametrize("dataset_type", ["qa", "summaries"])
def test_a_wrong_key_exits_3_with_a_line_that_says_so_and_not_the_key(
    evaluate: Command, splits: Path, monkeypatch: pytest.MonkeyPatch, dataset_type: str
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-canary-7f3a")
    with running_models(references(splits), key="sk-right") as server:
        options = ("--base-url", server.url, "--api-key-env", "MY_KEY")
        ended = evaluate("--model", "careful", "--dataset-type", dataset_type, *options)
        assert ended.code == 3
        told = " ".join(ended.out.split())
        assert "Incorrect API key" in told
        assert "he agent rejected" in told or "careful: not one of 5" in told
        assert "http-401" in told
        assert "--resume" in told
        written = []
        for path in (path for path in Path("runs").rglob("*") if path.is_file()):
            with open_reading(path) as file:
                written.append(file.read().decode())
        assert not any("canary" in text for text in [ended.out, ended.err, *written])
        monkeypatch.setenv("MY_KEY", "sk-right")
        (run,) = list_runs()
        again = evaluate("--resume", run.path.name, *options, "--json")
        assert again.code == 0


def test_a_model_that_fails_every_sample_for_good_is_to_be_begun_anew(evaluate: Command) -> None:
    with running_chat(lambda _: failing(400, "no such parameter")) as server:
        ended = evaluate("--model", "small", "--dataset-type", "summaries", "--base-url", server.url)
    assert ended.code == 3
    assert "start again without --resume" in ended.out


def test_a_model_that_is_not_there_does_not_stop_the_others(evaluate: Command, server: ModelServer) -> None:
    ended = evaluate("--model", "unknown", "--model", "careful", "--base-url", server.url, "--json")
    assert ended.code == 3
    assert "http-404" in ended.model("unknown")["reason"]
    assert "The model unknown does not exist" in ended.model("unknown")["reason"]
    assert ended.model("careful")["metrics"]["token_f1"]["value"] == 1.0
    assert ended.json["comparisons"] == []


def test_a_split_that_was_edited_has_no_version_and_a_warning(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    split = project / "evaluation" / "datasets" / "qa_pairs.jsonl"
    split.write_text(
        "".join(split.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8"
    )
    ended = evaluate("--model", "careful", "--base-url", server.url)
    assert ended.code == 0
    assert ended.out.startswith(f"qa_pairs: {QA - 1} samples")
    assert "warning: evaluation/datasets/qa_pairs.jsonl does not match" in ended.out


def test_a_missing_split_exits_2_with_its_command(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    (project / "evaluation" / "datasets" / "summaries.jsonl").unlink()
    ended = evaluate("--model", "careful", "--base-url", server.url, "--dataset-type", "summaries")
    assert (ended.code, ended.out) == (2, "")
    assert "no summaries split at evaluation/datasets/summaries.jsonl" in ended.err
    assert "rag-eval build" in ended.err
    assert not (project / "runs").exists()


def test_a_bad_line_is_found_first_even_beyond_the_limit(
    evaluate: Command, server: ModelServer, project: Path
) -> None:
    with (project / "evaluation" / "datasets" / "qa_pairs.jsonl").open("a") as file:
        file.write('{"task_id": "x"}\n')
    ended = evaluate("--model", "careful", "--base-url", server.url, "--limit", "2")
    assert ended.code == 2
    assert f"qa_pairs.jsonl:{QA + 1}:" in ended.err
    assert not server.asked


@pytest.mark.parametrize(("options", "message"), TABLES["wrong_usage_exits_2_before_any_request"])
def test_wrong_usage_exits_2_before_any_request(evaluate: Command, options: list[str], message: str) -> None:
    ended = evaluate(*options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert "canary" not in ended.err


def test_environment_may_name_the_address(
    evaluate: Command, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert evaluate("--model", "careful", "--limit", "1", "--json").code == 0
    assert len(server.asked) == 1


def test_a_judge_may_score_models_and_kinship_is_warned_of(evaluate: Command, server: ModelServer) -> None:
    clean = json.dumps({"reason": "polite", "label": "clean", "quote": ""})
    with running_chat(lambda _: clean) as judge:
        ended = evaluate(
            *("--model", "careful", "--base-url", server.url, "--limit", "2", "-m", "bias", "--json"),
            *("--judge-model", "careful", "--judge-url", judge.url),
        )
    assert ended.code == 0, ended.err
    assert ended.model("careful")["metrics"]["bias"]["value"] == 1
    assert any("same family" in warning for warning in ended.json["warnings"])
    assert len(judge.requests) == 2


def test_a_complete_run_whose_judge_failed_is_only_scored_again(
    evaluate: Command, server: ModelServer
) -> None:
    is_down = True
    clean = json.dumps({"reason": "polite", "label": "clean", "quote": ""})
    with running_chat(lambda _: failing(503) if is_down else clean) as judge:
        asked = (
            *("--base-url", server.url, "--judge-cache", "judgements", "--json"),
            *("--judge-model", f"openai(model=strict, base_url={judge.url!r}, max_attempts=1)"),
        )
        first = evaluate("--model", "careful", "--limit", "2", "-m", "bias", *asked)
        before = len(server.asked)
        is_down = False
        again = evaluate("--resume", first.model("careful")["run_id"], *asked)
    assert first.model("careful")["metrics"]["bias"]["n_failed"] == 2
    assert again.model("careful")["metrics"]["bias"]["n_scored"] == 2
    assert again.model("careful")["judge_usage"]["calls"] == 2
    assert len(server.asked) == before


def test_another_judge_is_refused_for_all_models_where_one_of_them_has_answers(
    evaluate: Command, server: ModelServer
) -> None:
    clean = json.dumps({"reason": "polite", "label": "clean", "quote": ""})
    replies = iter([failing(404)])
    with running_chat(lambda _: next(replies, clean)) as judge:

        def judged_by(name: str) -> tuple[str, ...]:
            model = f"openai(model={name!r}, base_url={judge.url!r}, max_attempts=1)"
            return ("--base-url", server.url, "--judge-cache", "judgements", "--json", "--judge-model", model)

        models = ("--model", "careful", "--model", "hasty", "--limit", "1", "-m", "bias")
        first = evaluate(*models, *judged_by("strict"))
        assert [first.model(name)["finished"] for name in ("careful", "hasty")] == [0, 1]
        run = first.model("careful")["run_id"]
        refused = evaluate("--resume", run, *judged_by("mild"))
        assert refused.code == 2
        assert "expected bias by judge:strict, got judge:mild" in refused.err
        done = evaluate("--resume", run, *judged_by("strict"))
    assert [done.model(name)["metrics"]["bias"]["n_scored"] for name in ("careful", "hasty")] == [1, 1]
