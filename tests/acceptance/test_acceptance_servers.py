"""What needs a model or an agent behind a server: judges, probe, the scripts, questions by a model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_server import failing, running_chat
from fault_agent import RunningServer
from model_server import running_models

from acceptance.outside import EXAMPLES, HANDBOOK, ROOT, Commands, kept, read_json, read_lines, write_lines
from acceptance.projects import crane_question, references, write_judged

PASSAGE = re.compile(r"<<[0-9a-f]{16} (claims|evidence) \d+>>\n(.*?)\n<</", re.DOTALL)


def judge(asked: dict[str, Any]) -> str:
    """Find support where a claim's words stand in the evidence, and nothing wrong otherwise."""
    passages = PASSAGE.findall(asked["messages"][-1]["content"])
    claims = [text for name, text in passages if name == "claims"]
    evidence = "\n".join(text for name, text in passages if name == "evidence")
    if not claims:
        return json.dumps({"reason": "polite", "label": "clean", "quote": ""})
    found = [
        {"number": number, "label": "supported" if claim in evidence else "unsupported", "evidence": 1}
        | {"quote": claim if claim in evidence else ""}
        for number, claim in enumerate(claims, 1)
    ]
    return json.dumps({"claims": found})


@pytest.fixture
def judged(folder: Path) -> tuple[str, ...]:
    """A project whose metrics a judge has to score, and the options that evaluate it."""
    write_judged(folder)
    return ("evaluate", "agent.yaml", "--target", "answers.jsonl", "--json")


def test_a_judge_is_asked_nothing_twice(rag_eval: Commands, judged: tuple[str, ...], folder: Path) -> None:
    with running_chat(judge) as server:
        options = ("--judge-model", "scripted", "--judge-url", server.url)
        document = rag_eval(*judged, *options).ok().json
        figures = document["runs"][0]["metrics"]
        assert {figures[name]["method"] for name in ("faithfulness", "bias")} == {"judge:scripted"}
        assert (document["metrics"]["faithfulness"], document["metrics"]["bias"]) == (0.5, 1.0)
        # One question for the claims of each answer, and one for its bias.
        assert len(server.requests) == 4
        run = document["runs"][0]["runId"]
        again = rag_eval("score", run, "-m", "hallucination", *options, "--json").ok()
        assert again.json["metrics"]["hallucination"]["value"] == 0.5
        assert "judge:scripted: 0 calls" in again.err
        assert len(server.requests) == 4
    kept("judge", document, folder)


def test_without_a_judge_or_with_one_that_talks_nonsense_nothing_is_made_up(
    rag_eval: Commands, judged: tuple[str, ...], folder: Path
) -> None:
    rag_eval(*judged).refused("agent.yaml:3", "bias", "judge")
    with running_chat(lambda _: "I would rather not say.") as server:
        ended = rag_eval(*judged, "--judge-model", "scripted", "--judge-url", server.url)
    assert ended.code in (1, 3)
    figures = ended.json["runs"][0]["metrics"]["faithfulness"]
    assert (figures["value"], figures["n_scored"], figures["n_failed"]) == (None, 0, 2)
    assert ended.json["ciGateResult"] == "FAIL"
    assert "no verdict: not-json" in ended.json["samples"][0]["error"]
    # The reason that is counted is the kind, without what the judge said.
    (told,) = ended.json["runs"][0]["notScored"]["bias"]
    assert told == {"status": "failed", "reason": "no verdict: not-json", "count": 2}


def test_probe_says_what_a_run_would_read(rag_eval: Commands, agent: RunningServer) -> None:
    said = rag_eval("probe", "--url", agent.url, "--message", "Who are you?", "--json").ok().json
    assert said["answer"]["text"] == "The answer to Who are you? is café 42."
    kept("probe", said)
    rag_eval("probe", "--url", agent.url).ok().shows("café 42", "response")
    wrong = rag_eval("probe", "--url", agent.fault("404"), "--json")
    assert wrong.code != 0
    assert wrong.json["status"] == 404


@pytest.fixture
def splits(folder: Path, rag_eval: Commands) -> Path:
    """The splits of the example, and the configuration that says where they are."""
    shutil.copytree(ROOT / "configs", folder / "configs")
    datasets = folder / "evaluation" / "datasets"
    datasets.mkdir(parents=True)
    shutil.copy(EXAMPLES / "offline" / "offline_dataset.jsonl", datasets)
    rag_eval("build", "--config", "configs/default.yaml").ok()
    return folder


def test_models_are_evaluated_compared_and_resumed_by_the_script(script: Commands, splits: Path) -> None:
    with running_models(references(splits)) as server:
        options = ("--model", "careful", "--model", "hasty", "--base-url", server.url)
        reports = ("--output", "results/{model}.results.json", "--json")
        document = script("evaluate_models.py", *options, *reports).ok().json
        assert len(server.asked) == 22
        resumed = (
            script("evaluate_models.py", "--resume", document["models"][1]["run_id"], "--json").ok().json
        )
        assert len(server.asked) == 22
        shown = script("evaluate_models.py", *options, "--dataset-type", "summaries", "-m", "rouge")
        shown.ok().shows("careful", "hasty", "rouge", "1.0")
    first = document["models"][0]
    assert first["model"] == "careful"
    assert first["metrics"]["token_f1"]["value"] == 1.0
    assert [model["metrics"] for model in resumed["models"]] == [
        model["metrics"] for model in document["models"]
    ]
    kept("evaluate-models", document, splits)
    assert len(read_json(splits / "results" / "careful.results.json")["query_results"]) == 11


def test_the_splits_and_folders_of_text_are_checked_by_the_script(script: Commands, splits: Path) -> None:
    said = script("check_processed_corpus.py", HANDBOOK / "documents", "--json")
    kept("check-corpus", said.json, splits)
    path = splits / "evaluation" / "datasets" / "qa_pairs.jsonl"
    lines = read_lines(path)
    lines[2]["reference_answer"] = ""
    write_lines(path, lines)
    (splits / "texts").mkdir()
    (splits / "texts" / "latin.txt").write_bytes("café".encode("latin-1"))
    wrong = script("check_processed_corpus.py", "texts")
    assert wrong.code == 2
    for place in ("qa_pairs.jsonl:3", "reference_answer", "latin.txt"):
        assert place in wrong.out + wrong.err


def test_a_model_writes_questions_with_exact_passages(rag_eval: Commands, folder: Path) -> None:
    (folder / "documents").mkdir()
    for number in range(3):
        text = f"# Dock {number}\n\nThe crane of dock {number} was built in 19{number}8. It lifts 3 tonnes.\n"
        (folder / "documents" / f"dock-{number}.md").write_text(text, encoding="utf-8")
    options = ("generate", "documents", "--model", "scripted", "--queries-per-doc", "1", "--json")
    with running_chat(crane_question) as server:
        said = rag_eval(*options, "--base-url", server.url, "-o", "q.eval.json").ok().json
    assert said["queries"] == 3
    dataset = read_json(folder / "q.eval.json")
    assert [query["ground_truth_answer"] for query in dataset["queries"]] == ["1908", "1918", "1928"]
    assert [span["text"] for query in dataset["queries"] for span in query["citations"]] == [
        f"The crane of dock {number} was built in 19{number}8." for number in range(3)
    ]
    kept("generate-model", {"said": said, "queries": dataset["queries"]}, folder)
    with running_chat(lambda _: failing(400, "no")) as server:
        ended = rag_eval(*options, "--base-url", server.url, "-o", "r.eval.json")
    assert ended.code == 3
    assert not (folder / "r.eval.json").exists()
