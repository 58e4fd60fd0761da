"""What sets things up and measures them: benchmark, judge-card, doctor, demo, completion."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import failing, running_chat
from fault_agent import RunningServer

from acceptance.outside import Commands, kept, read_json
from acceptance.projects import change, write_everything, write_function

BENCHMARK = ("benchmark", "--repetitions", "2", "--warmup", "0", "--json")
PASSAGE = re.compile(r"<<[0-9a-f]{16} (\w+)(?: \d+)?>>\n(.*?)\n<</", re.DOTALL)


@pytest.fixture
def sources(folder: Path) -> Path:
    write_everything(folder)
    return folder


def test_a_retrieval_is_measured_and_compared_over_time(rag_eval: Commands, sources: Path) -> None:
    where = ("--corpus", "documents", "--dataset", "tiny.eval.json")
    options = (*where, "--retriever", "bm25", "--name", "weekly")
    first = rag_eval(*BENCHMARK, *options).ok().json
    assert (first["verdict"], first["last"], first["failures"]) == ("first", None, {})
    assert (first["latency_stats"]["n"], first["metrics"]["mrr"]["value"]) == (4, 1.0)
    again = rag_eval(*BENCHMARK, *options).ok().json
    assert again["verdict"] in ("same", "faster", "slower", "undecided")
    names = {"names": sorted(first), "metrics": first["metrics"], "files": first["files"]}
    performance = sources / "data" / "benchmarks" / "performance"
    for name in ("latency", "throughput"):
        records = read_json(performance / f"{name}_benchmarks.json")["records"]
        assert len(records) == 2
        names[name] = sorted(records[0])
    kept("benchmark", names, sources)
    weekly = (sources / "data" / "evaluation" / "results").glob("benchmark_weekly_*.results.json")
    assert sorted(path.relative_to(sources).as_posix() for path in weekly) == [
        first["results"],
        again["results"],
    ]
    rag_eval("benchmark", *options, "--repetitions", "2").ok()


def test_an_agent_is_measured_or_exits_3(rag_eval: Commands, sources: Path, agent: RunningServer) -> None:
    options = ("--dataset", "evals/safety.jsonl", "--concurrency", "2", "--out", "figures")
    document = rag_eval(*BENCHMARK, "--url", agent.url, *options).ok().json
    assert document["latency_stats"]["n"] == document["api_usage"]["total_requests"] == 12
    assert {path.name for path in (sources / "figures").iterdir()} == {
        "latency_benchmarks.json",
        "throughput_benchmarks.json",
    }
    gone = rag_eval(*BENCHMARK, "--url", "http://127.0.0.1:9", *options)
    assert gone.code == 3
    target = write_function(sources, "slow", "import time; time.sleep(0.02); return question")
    rag_eval(*BENCHMARK, "--target", target, *options).ok()
    assert rag_eval(*BENCHMARK, "--target", target, *options, "--fail-on", "slower").code in (0, 1)


def supporting(asked: dict[str, Any]) -> str:
    """Prefer the first of two answers, and find support for every claim."""
    passages = PASSAGE.findall(asked["messages"][-1]["content"])
    texts = [text for name, text in passages if name == "evidence"]
    if not texts:
        return json.dumps({"reason": "It comes first.", "label": "answer_1"})
    quote = " ".join(texts[0].split()[:3]) if texts[0].isascii() else texts[0][:12]
    found = {"label": "supported", "evidence": 1, "quote": quote}
    n_claims = sum(name == "claims" for name, _ in passages)
    return json.dumps({"claims": [{"number": number, **found} for number in range(1, n_claims + 1)]})


def test_a_lenient_judge_gets_a_card_that_says_so(rag_eval: Commands, folder: Path) -> None:
    with running_chat(supporting) as server:
        judge = ("--judge-model", "scripted", "--judge-url", server.url)
        ended = rag_eval("judge-card", *judge, "--cards", "cards", "--json")
    assert ended.code == 1
    card = ended.json
    assert card["failures"] == {}
    (file,) = (folder / "cards").iterdir()
    measured = {name: card.pop(name) for name in ("date", "seconds_per_call", "faults")}
    assert all(measured.values())
    figures = [figure | {"fault": figure["fault"] is not None} for figure in card["figures"]]
    kept("judge-card", card | {"figures": figures}, folder)
    assert read_json(file)["prompts"] == card["prompts"]


def test_a_judge_that_does_not_reply_has_no_card(rag_eval: Commands, folder: Path) -> None:
    with running_chat(lambda _: failing(400, "no")) as server:
        ended = rag_eval("judge-card", "--judge-model", "scripted", "--judge-url", server.url, "--json")
    assert ended.code == 1
    (figure,) = ended.json["figures"]
    assert (figure["name"], figure["n"], figure["value"]) == ("failed replies", 259, 1.0)
    assert ended.json["failures"] == {"http-400": 259}


def findings(document: dict[str, Any]) -> dict[str, str]:
    return {each["about"]: each["status"] for each in document["findings"]}


def test_the_doctor_finds_what_is_wrong(rag_eval: Commands, folder: Path) -> None:
    rag_eval("doctor", "--offline").ok()
    empty = rag_eval("doctor", "--offline", "--json").ok().json
    assert (empty["problems"], findings(empty)["project"]) == (0, "note")
    write_everything(folder)
    before = list(folder.rglob("*"))
    sound = rag_eval("doctor", "--offline", "--details", "--json").ok().json
    assert (sound["problems"], findings(sound)["agent.yaml"]) == (0, "right")
    change(folder / "agent.yaml", "string_match: 0.75", "string_match: high")
    wrong = rag_eval("doctor", "--offline", "--json")
    assert (wrong.code, wrong.json["problems"]) == (2, 1)
    assert findings(wrong.json)["agent.yaml"] == "problem"
    assert list(folder.rglob("*")) == before  # it changes nothing


def test_the_demo_leaves_its_runs_and_its_page(rag_eval: Commands, folder: Path) -> None:
    rag_eval("demo", "shown").ok()
    runs = rag_eval("runs", "--runs-dir", "shown/runs", "--json").ok().json
    assert [run["state"] for run in runs] == ["complete"] * 3
    assert {"report.html", "questions.eval.json", "agent.yaml"} <= {
        path.name for path in (folder / "shown").iterdir()
    }
    pair = rag_eval("compare", "shown/runs/" + runs[1]["run_id"], "shown/runs/" + runs[2]["run_id"], "--json")
    (answers,) = pair.ok().json["answers"]
    assert (len(answers["better"]), len(answers["worse"])) == (1, 0)
