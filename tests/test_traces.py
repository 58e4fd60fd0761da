"""What a reader of a command has to know: files, lines of functions that run, frames down to the metric."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from serving import QuietHandler, serving

from rag_evaluation_framework import evaluate

RANKING = Path(__file__).parents[1] / "examples" / "handbook" / "ranking"
TRACED = Path(__file__).with_name("traced_command.py")
QUESTION, ANSWER = "What color is the fox?", "The fox is red."


class Budget(NamedTuple):
    """The most files, lines of the functions that run, and frames down to the metric. They only fall."""

    files: int
    lines: int
    frames: int


class Fox(QuietHandler):
    """An agent that knows one answer."""

    def do_POST(self) -> None:
        self.sent()
        self.reply(200, {"response": ANSWER})


def check(budget: Budget, folder: Path, *arguments: str | Path) -> None:
    counts = folder / "counts.json"
    command = [sys.executable, str(TRACED), str(counts), *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(counts.read_text(encoding="utf-8"))
    reached = Budget(len(found["files"]), found["lines"], found["frames"])
    assert all(ours <= most for ours, most in zip(reached, budget, strict=True)), (reached, found["files"])


@pytest.fixture
def row(tmp_path: Path) -> Path:
    """One question with an answer and its context."""
    fields = {"input": QUESTION, "expected": ANSWER, "answer": ANSWER, "context": [ANSWER]}
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(fields) + "\n", encoding="utf-8")
    return path


def test_two_ranked_runs_stay_in_the_budget(tmp_path: Path) -> None:
    files = [RANKING / name for name in ("qrels.trec", "bm25.run", "fused.run")]
    check(Budget(25, 2_150, 20), tmp_path, "rank", *files, "-m", "ndcg@5", "-m", "mrr")


def test_one_answer_of_an_agent_stays_in_the_budget(tmp_path: Path, row: Path) -> None:
    evaluation = {
        "datasets": [{"name": "one", "path": row.name}],
        "metrics": ["string_match"],
        "thresholds": {"string_match": 0.5},
        "ciGate": True,
    }
    manifest = {
        "apiVersion": "agentspec.io/v1",
        "kind": "AgentSpec",
        "metadata": {"name": "fox"},
        "spec": {"evaluation": evaluation},
    }
    (tmp_path / "agent.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    with serving(Fox) as url:
        check(Budget(75, 7_800, 12), tmp_path, "evaluate", "agent.yaml", "--url", url)


def test_faithfulness_of_one_row_stays_in_the_budget(tmp_path: Path, row: Path) -> None:
    check(Budget(89, 7_850, 12), tmp_path, "score", row, "-m", "faithfulness")


def test_one_question_through_retrieval_stays_in_the_budget(tmp_path: Path) -> None:
    query = {
        "query_id": "q1",
        "query_text": QUESTION,
        "relevant_documents": ["d1"],
        "citations": [{"file_name": "fox.md", "start_char": 0, "end_char": 15}],
    }
    documents = [
        {"document_id": "d1", "content": ANSWER, "metadata": {"file_name": "fox.md"}},
        {"document_id": "d2", "content": "Whales are blue."},
    ]
    dataset = {"dataset_id": "tiny", "name": "Tiny", "version": "1.0.0", "queries": [query]}
    path = tmp_path / "tiny.eval.json"
    path.write_text(json.dumps({**dataset, "documents": documents}), encoding="utf-8")
    arguments = ("retrieval", path, "--retriever", "dense", "--store", "exact", "-k", "1")
    check(Budget(61, 5_420, 15), tmp_path, *arguments)


def test_comparison_of_two_answers_stays_in_the_budget(
    tmp_path: Path, row: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        evaluate(row, metrics="faithfulness", runs_directory="runs")
    check(Budget(42, 2_750, 0), tmp_path, "compare", "001", "002")
