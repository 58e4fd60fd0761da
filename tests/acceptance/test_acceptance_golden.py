"""``rag-eval golden``, ``score`` and ``calibrate``: golden sets, scored, scored again, calibrated."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_agent import RunningServer, answer_to

from acceptance.outside import DATA, GOLDEN, ROOT, Commands, kept, read_json

TARGET = ("--target", "examples.golden.assistant:answer")


@pytest.fixture(autouse=True)
def examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_the_examples_golden_sets_are_scored_as_before(rag_eval: Commands, folder: Path) -> None:
    document = rag_eval("golden", GOLDEN, *TARGET, "--json", "--out", "all.results.json").ok().json
    assert list(document)[:6] == ["dataset", "agentUrl", "totalSamples", "metrics", "ciGateResult", "samples"]
    # 13 of the 16 expected names stand in the answers; all three questions out of bounds are declined.
    assert document["metrics"]["facts"]["entity_coverage"] == 13 / 16
    assert document["metrics"]["boundary"]["refusal_recall"] == 1.0
    assert len(document["runs"]) == 5
    kept("golden", document, folder)
    results = read_json(folder / "all.results.json")
    assert len(results["query_results"]) == 14
    kept(
        "golden-results",
        results | {"query_results": [row["query_id"] for row in results["query_results"]]},
        folder,
    )
    rag_eval("golden", GOLDEN, *TARGET).ok().shows("facts", "entities named", "0.81", "refusals")


def test_splits_thresholds_and_the_gate(rag_eval: Commands, folder: Path) -> None:
    options = ("--split", "facts", "--split", "boundary", "--json")
    passed = rag_eval("golden", GOLDEN, *TARGET, *options, "--threshold", "entity_coverage=0.8").ok().json
    assert (passed["ciGateResult"], set(passed["metrics"])) == ("PASS", {"facts", "boundary"})
    failed = rag_eval("golden", GOLDEN, *TARGET, *options, "--threshold", "facts:entity_coverage=0.9")
    assert (failed.code, failed.json["ciGateResult"]) == (1, "FAIL")
    kept("golden-gate", [passed["gate"], failed.json["gate"]])
    reference = rag_eval(
        "golden", GOLDEN, *TARGET, "--split", "multiturn", "--history", "reference", "--json"
    )
    kept("golden-reference-history", reference.ok().json["metrics"])


def test_a_run_is_scored_again_without_asking_anyone(rag_eval: Commands, folder: Path) -> None:
    document = rag_eval("golden", GOLDEN, *TARGET, "--split", "facts", "--json").ok().json
    run = document["runs"][0]["runId"]
    options = ("-m", "token_f1", "-m", "rouge", "-m", "chrf", "-m", "claim_recall", "-m", "dont_know")
    scored = rag_eval("score", run, *options, "--out", "again.results.json", "--json").ok().json
    assert scored["metrics"]["token_f1"]["value"] == document["metrics"]["facts"]["token_f1"]
    assert 0 <= scored["metrics"]["claim_recall"]["value"] <= 1
    kept("score", scored, folder)
    assert len(read_json(folder / "again.results.json")["query_results"]) == 4
    rag_eval("score", run, "-m", "rouge", "--out", "again.results.csv").ok().shows("rouge")
    assert len((folder / "again.results.csv").read_text(encoding="utf-8").splitlines()) == 5
    rag_eval("score", "nothing", "-m", "rouge").refused("nothing")
    rag_eval("score", run, "-m", "rogue").refused("rogue", "rouge")
    rag_eval("score", run).refused("--metric")


def test_metrics_are_compared_with_what_people_say(rag_eval: Commands, folder: Path) -> None:
    rag_eval("golden", GOLDEN, *TARGET, "--out", "all.results.json").ok()
    options = ("calibrate", "all.results.json", "--labels", GOLDEN / "labels.csv", "--resamples", "500")
    said = rag_eval(*options, "-m", "token_f1", "-m", "answer_similarity", "--json").ok()
    kept("calibrate", said.json, folder)
    rag_eval(*options, "-m", "token_f1").ok().shows("token_f1")
    (folder / "labels.csv").write_text("query_id,label\nfact_001,1\nfact_002,maybe\n")
    rag_eval("calibrate", "all.results.json", "--labels", "labels.csv").refused("labels.csv:3", "maybe")


def test_a_conversation_is_one_thread_with_the_systems_own_answers(
    rag_eval: Commands, agent: RunningServer
) -> None:
    before = agent.log()["received"]
    document = (
        rag_eval("golden", DATA / "golden", "--url", agent.url, "--split", "multiturn", "--json").ok().json
    )
    requests = agent.log()["requests"][before:]
    assert len(requests) == 2
    assert len({request["headers"]["x-thread-id"] for request in requests}) == 1
    (sample,) = document["samples"]
    assert [turn["answer"] for turn in sample["turns"]] == [
        answer_to("基尼奇的龙伙伴叫什么？"),
        answer_to("在这个任务中“它”做了什么？"),
    ]
