"""How many files of the package a user's journey runs through: what a reader has to hold in the head."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fault_agent import running_server

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
TRACED = Path(__file__).with_name("traced_command.py")

LIMITS = {"rank": 25, "retrieval": 61, "string_match": 84, "faithfulness": 91}
"""The most files in which a function may run; progress is among them where the machine is slow.

Two of each look for the project around the current folder and read its settings, one makes the records.
"""


def ran(folder: Path, *arguments: str | Path) -> list[str]:
    """Run a command in a folder and return the files in which a function ran."""
    listing = folder / "ran.txt"
    done = subprocess.run(
        [sys.executable, str(TRACED), str(listing), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return listing.read_text(encoding="utf-8").split()


def check(journey: str, files: list[str]) -> None:
    listed = "\n".join(files)
    assert len(files) <= LIMITS[journey], f"{journey} runs through {len(files)} files:\n{listed}"


def test_two_ranked_runs(tmp_path: Path) -> None:
    names = ("qrels.trec", "bm25.run", "fused.run")
    check("rank", ran(tmp_path, "rank", *(HANDBOOK / "ranking" / name for name in names)))


def test_one_question_through_retrieval(tmp_path: Path) -> None:
    question = {
        "query_id": "q1",
        "query_text": "What colour is the fox?",
        "relevant_documents": ["d1"],
        "citations": [{"file_name": "fox.md", "start_char": 0, "end_char": 15}],
    }
    documents = [
        {"document_id": "d1", "content": "The fox is red.", "metadata": {"file_name": "fox.md"}},
        {"document_id": "d2", "content": "Whales are blue."},
    ]
    dataset = {"dataset_id": "tiny", "name": "Tiny", "version": "1.0.0", "queries": [question]}
    path = tmp_path / "tiny.eval.json"
    path.write_text(json.dumps({**dataset, "documents": documents}), encoding="utf-8")
    check(
        "retrieval", ran(tmp_path, "retrieval", path, "--retriever", "dense", "--store", "exact", "-k", "1")
    )


@pytest.mark.parametrize("metric", ["string_match", "faithfulness"])
def test_one_sample_put_to_an_agent(tmp_path: Path, metric: str) -> None:
    sample = {
        "input": "What colour is the fox?",
        "expected": "The fox is red.",
        "context": ["The fox is red."],
    }
    (tmp_path / "one.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
    manifest = {
        "apiVersion": "agentspec.io/v1",
        "kind": "AgentSpec",
        "metadata": {"name": "fox"},
        "spec": {"evaluation": {"datasets": [{"name": "one", "path": "one.jsonl"}], "metrics": [metric]}},
    }
    (tmp_path / "agent.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    with running_server() as server:
        files = ran(tmp_path, "evaluate", "agent.yaml", "--url", server.url)
    check(metric, files)
