"""Runs with a judge behind a real server: what a resume heals and refuses, and what the judge has cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from chat_server import ChatReply, ChatServer, failing, running_chat, throttled
from click.testing import Result
from scripted_judge import found_supported, judge_at, read_question

from acceptance.projects import change, write_ferries
from command_lines import rag_eval

EVALUATE = ("evaluate", "agent.yaml", "--target", "rag.jsonl")
# Of each reply of the server below, as every ChatReply with it says.
TOKENS = {"prompt_tokens": 1000, "completion_tokens": 100}
MILLION = {"price_input": 1.0, "price_output": 10.0}
PRICE = 0.002  # dollars a call: 1000 tokens at 1 and 100 at 10 a million
pytestmark = pytest.mark.usefixtures("folder")


class FragileJudge:
    """Finds every claim supported; from the call ``down_after`` on it is down with this ``status``."""

    def __init__(self, down_after: int | None = None, status: int = 503) -> None:
        self.down_after, self.status, self.calls = down_after, status, 0

    def __call__(self, asked: dict[str, Any]) -> ChatReply:
        self.calls += 1
        if self.down_after is not None and self.calls > self.down_after:
            return failing(self.status)
        return ChatReply(content=found_supported(read_question(asked)), usage=TOKENS)


def document_of(done: Result) -> dict[str, Any]:
    assert done.exception is None, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def model_at(server: ChatServer, **settings: Any) -> tuple[str, ...]:
    """Name the judge at a server; it is asked once and one question at a time unless told otherwise."""
    given = {"max_attempts": 1, **MILLION, **settings}
    return (*judge_at(server, **given), "--judge-concurrency", "1")


def only_run() -> Path:
    (run,) = Path("runs").iterdir()
    return run


def figures(document: dict[str, Any], metric: str = "faithfulness") -> tuple[Any, ...]:
    found = document["runs"][0]["metrics"][metric]
    return found["value"], found["n_scored"], found["n_failed"]


def test_a_judge_without_a_verdict_is_noted_fails_the_gate_and_score_exits_with_3(folder: Path) -> None:
    write_ferries(folder, 4)
    line = "No answer was scored (0 skipped, 4 failed): faithfulness"
    with running_chat(lambda _: "Hm.") as server:
        evaluated = rag_eval(*EVALUATE, *model_at(server))
        scored = rag_eval("score", only_run().name, "-m", "faithfulness", *model_at(server))
    assert (evaluated.return_value, f"note: {line}" in evaluated.stdout) == (1, True)
    assert (scored.return_value, f"warning: {line}" in scored.stderr) == (3, True)


def test_scores_that_failed_with_the_judges_endpoint_are_made_when_the_run_is_resumed(folder: Path) -> None:
    write_ferries(folder, 12)
    judge = FragileJudge(down_after=5)
    with running_chat(judge) as server:
        first = document_of(rag_eval(*EVALUATE, "--json", *model_at(server)))
        # Seven failures in a row are no outage: the run completes, and its gate fails on the errors.
        assert (first["runs"][0]["completed"], first["ciGateResult"]) == (True, "FAIL")
        assert figures(first) == (1.0, 5, 7)
        assert first["runs"][0]["notes"] == [
            "7 samples lack scores because a model's endpoint failed; resume the run to score them"
        ]
        judge.down_after = None
        again = document_of(rag_eval(*EVALUATE, "--json", "--resume", only_run().name, *model_at(server)))
    assert figures(again) == (1.0, 12, 0)
    assert (again["ciGateResult"], again["runs"][0]["errors"], again["runs"][0]["notes"]) == ("PASS", 0, [])
    assert judge.calls == 12 + 7  # what had a verdict is not asked again
    # Five calls were paid for before the judge was down, seven after.
    usage = again["runs"][0]["judgeUsage"]
    assert (usage["calls"], usage["input_tokens"]) == (5 + 7, 12_000)
    assert (only_run() / "journal.jsonl").read_bytes().count(b"\n") == 12 + 7
    results = json.loads((only_run() / "results.json").read_text())
    assert results["answer_quality_metrics"]["faithfulness"]["n_scored"] == 12
    assert "12 of 12" in rag_eval("runs").stdout


def test_an_outage_leaves_no_score_behind_that_a_resume_does_not_heal(folder: Path) -> None:
    write_ferries(folder, 40)
    judge = FragileJudge(down_after=5)
    with running_chat(judge) as server:
        stopped = rag_eval(*EVALUATE, *model_at(server))
        assert stopped.return_value == 3
        assert "failed (http-503" in " ".join(stopped.stdout.split())
        assert "judge:scripted: 5 calls, 5,000 tokens in" in stopped.stderr
        still_down = rag_eval(*EVALUATE, "--resume", only_run().name, *model_at(server))
        assert still_down.return_value == 3
        judge.down_after = None
        healed = document_of(rag_eval(*EVALUATE, "--json", "--resume", only_run().name, *model_at(server)))
    assert figures(healed) == (1.0, 40, 0)
    assert healed["ciGateResult"] == "PASS"


def test_a_reply_of_no_use_is_the_judges_last_word_on_an_answer(folder: Path) -> None:
    write_ferries(folder, 2)
    with running_chat(lambda _: "I'm sorry.") as server:
        first = document_of(rag_eval(*EVALUATE, "--json", *model_at(server)))
        asked = len(server.requests)
        rag_eval(*EVALUATE, "--json", "--resume", only_run().name, *model_at(server))
        assert len(server.requests) == asked
    assert figures(first) == (None, 0, 2)
    # Whether such samples pass is not known: they are no zeros of the pass rate.
    assert figures(first, "pass_rate") == (None, 0, 2)
    assert [sample["pass"] for sample in first["samples"]] == [None, None]
    assert first["ciGateResult"] == "FAIL"


def test_each_option_goes_before_the_manifests_own_and_the_others_stay(folder: Path) -> None:
    with running_chat(FragileJudge()) as server:
        judge = f"    judge: {{model: written, url: '{server.url}', votes: 3}}\n"
        write_ferries(folder, 1, judge)
        document = document_of(rag_eval(*EVALUATE, "--json", "--judge-model", "said"))
        assert document["runs"][0]["metrics"]["faithfulness"]["method"] == "judge:said, 3 votes"
        assert [asked["model"] for asked in server.requests] == ["said"] * 3
        other = document_of(rag_eval(*EVALUATE, "--json", "--judge-model", "said", "--votes", "1"))
    assert other["runs"][0]["metrics"]["faithfulness"]["method"] == "judge:said"


def test_what_the_judge_cost_is_told_and_stands_in_every_document(folder: Path) -> None:
    write_ferries(folder, 3)
    with running_chat(FragileJudge()) as server:
        done = rag_eval(*EVALUATE, "--json", *model_at(server))
        expected = {
            "judge": "judge:scripted",
            "calls": 3,
            "input_tokens": 3000,
            "output_tokens": 300,
            "cost_usd": pytest.approx(3 * PRICE),
        }
        assert document_of(done)["runs"][0]["judgeUsage"] == expected
        assert "judge:scripted: 3 calls, 3,000 tokens in, 300 out, $0.006" in done.stderr
        results = json.loads((only_run() / "results.json").read_text())
        assert results["performance_metrics"]["judge_usage"] == expected
        asked = ("score", only_run().name, "-m", "claim_recall", "--out", "again.results.json", "--json")
        scored = rag_eval(*asked, *model_at(server), "--judge-cache", "empty")
    assert document_of(scored)["judge_usage"] == expected
    again = json.loads((folder / "again.results.json").read_text())
    assert again["performance_metrics"]["judge_usage"] == expected


@pytest.mark.parametrize("other", ["endpoint", "temperature", "seed"])
def test_a_run_with_answers_resumes_only_with_its_endpoint_and_settings(folder: Path, other: str) -> None:
    write_ferries(folder, 12)
    with running_chat(FragileJudge(down_after=5)) as server, running_chat(FragileJudge()) as elsewhere:
        rag_eval(*EVALUATE, *model_at(server))
        settings = {"temperature": {"temperature": 1}, "seed": {"seed": 7}}.get(other, {})
        asked = model_at(elsewhere if other == "endpoint" else server, **settings)
        refused = rag_eval(*EVALUATE, "--resume", only_run().name, *asked)
        assert "cannot resume with a different judge: expected" in str(refused.exception)
        assert server.url in str(refused.exception)
        assert elsewhere.requests == []


def test_a_run_without_answers_takes_the_judge_whose_name_was_put_right(folder: Path) -> None:
    write_ferries(folder, 2)
    judge = FragileJudge()
    with running_chat(lambda asked: judge(asked) if asked["model"] == "right" else failing(404)) as server:
        assert rag_eval(*EVALUATE, *model_at(server, model="wrong")).return_value == 3
        resume = ("--resume", only_run().name)
        done = document_of(rag_eval(*EVALUATE, "--json", *resume, *model_at(server, model="right")))
        head = json.loads((only_run() / "head.json").read_text())
        refused = rag_eval(*EVALUATE, *resume, *model_at(server, model="wrong"))
    assert figures(done) == (1.0, 2, 0)
    assert head["configuration"]["metrics"]["faithfulness"] == "judge:right"
    assert [endpoint["model"] for endpoint in head["configuration"]["judge"]] == ["right"]
    assert "expected faithfulness by judge:right, got judge:wrong" in str(refused.exception)


def test_a_sample_that_misses_a_bound_fails_whatever_became_of_the_judge(folder: Path) -> None:
    write_ferries(folder, 4, metrics="faithfulness, string_match")
    bounds = "{faithfulness: 0.4, string_match: 0.5, pass_rate: 0.9}"
    change(folder / "agent.yaml", "{faithfulness: 0.4}", bounds)
    for n in (0, 1):
        said = f'"answer": "Ferry {n} sails at '
        change(folder / "rag.jsonl", f"{said}nine", f"{said}ten")
    judge = FragileJudge()

    def script(asked: dict[str, Any]) -> ChatReply:
        return ChatReply(content="Hm.") if "at ten" in json.dumps(asked) else judge(asked)

    with running_chat(script) as server:
        allowed = ("--json", "--max-errors", "4")
        document = document_of(rag_eval(*EVALUATE, *allowed, *model_at(server)))
    # Two of four are not what was expected; that their judge says nothing does not hide it.
    assert figures(document, "pass_rate") == (0.5, 4, 0)
    assert document["ciGateResult"] == "FAIL"


def test_a_run_that_lacks_scores_says_so_wherever_it_is_shown(folder: Path) -> None:
    write_ferries(folder, 3)
    judge = FragileJudge(down_after=1)
    with running_chat(judge) as server:
        rag_eval(*EVALUATE, "--markdown", "summary.md", "--junit", "junit.xml", *model_at(server))
        run = only_run().name
        note = "2 samples lack scores because a model's endpoint failed; resume the run to score them"
        assert f"note: {note}" in (folder / "summary.md").read_text().replace("\\", "")
        (suite,) = ElementTree.parse(folder / "junit.xml").getroot().iterfind("testsuite[@name='rag']")
        assert suite.findtext("system-out") == f"rag, run {run}: {note}"
        (row,) = json.loads(rag_eval("runs", "--json").stdout)
        assert (row["state"], row["failed"], row["lacking_scores"]) == ("complete", 0, 2)
        shown = rag_eval("runs").stdout
        assert "unscored" in shown.splitlines()[0]
        assert "rag-eval evaluate agent.yaml " in shown
        assert f"--resume {run}" in " ".join(shown.replace("\\", "").split())
        judge.down_after = None
        rag_eval(*EVALUATE, "--markdown", "summary.md", "--resume", run, *model_at(server))
    assert "note: " not in (folder / "summary.md").read_text()
    assert "lack" not in rag_eval("runs").stdout


def test_a_question_that_metrics_share_is_put_once_though_the_endpoint_fails(folder: Path) -> None:
    write_ferries(folder, 1, metrics="faithfulness, hallucination")
    judge = FragileJudge(down_after=0)
    with running_chat(judge) as server:
        first = document_of(rag_eval(*EVALUATE, "--json", *model_at(server)))
        assert judge.calls == 1
        assert [figures(first, metric) for metric in ("faithfulness", "hallucination")] == [(None, 0, 1)] * 2
        judge.down_after = None
        done = document_of(rag_eval(*EVALUATE, "--json", "--resume", only_run().name, *model_at(server)))
    assert [figures(done, metric) for metric in ("faithfulness", "hallucination")] == [
        (1.0, 1, 0),
        (0.0, 1, 0),
    ]


def test_a_baseline_of_the_same_judge_elsewhere_is_warned_of(folder: Path) -> None:
    write_ferries(folder, 2)
    with running_chat(FragileJudge()) as server, running_chat(FragileJudge()) as elsewhere:
        rag_eval(*EVALUATE, *model_at(server))
        baseline = ("--baseline", only_run().name, "--json")
        same = document_of(rag_eval(*EVALUATE, *baseline, *model_at(server)))
        other = document_of(rag_eval(*EVALUATE, *baseline, *model_at(elsewhere)))
        assert same["warnings"] == []
        (warning,) = other["warnings"]
        assert warning.startswith(f"baseline {baseline[1]} was judged by scripted at {server.url}")
        assert f"this run by scripted at {elsewhere.url}" in warning


def test_scoring_a_run_shows_progress_and_a_throttling_judge(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_evaluation_framework.evaluation import engine
    from rag_evaluation_framework.reports import progress

    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(engine, "_TELL_SECONDS", 0.05)
    write_ferries(folder, 2)
    rag_eval(*EVALUATE)
    replies = iter([throttled("0.5")])
    judge = FragileJudge()
    with running_chat(lambda asked: next(replies, None) or judge(asked)) as server:
        asked = ("score", only_run().name, "-m", "faithfulness", *model_at(server, max_attempts=3))
        shown = rag_eval(*asked).stderr
    assert "rag: 0 of 2, 0 failed; 1 question waits to be judged again" in shown
    assert "rag: done, 2 of 2 in" in shown
