"""Every name of what was retrieved is read the same from rows, from an agent's reply and by ``probe``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import QuietHandler, serving

from cases import tables_beside
from command_lines import rag_eval, rag_eval_ended
from rag_evaluation_framework import Corpus, Document, DocumentId, evaluate, read_dataset

IDS, TEXTS = ["fares.md", "times.md"], ["A single is 14.00.", "Boats leave at 9."]
ITEMS = [{"id": name, "text": text} for name, text in zip(IDS, TEXTS, strict=True)]
SAID = {name: words.split() for name, words in tables_beside(__file__).items()}


def nested(place: str, value: Any) -> Any:
    """Return a value within objects of these names."""
    for name in reversed(place.split(".") if place else []):
        value = {name: value}
    return value


def items(place: str, name: str) -> list[Any]:
    """Return what was retrieved, with each id under a name at a place."""
    return [{"text": each["text"], **nested(place, {name: each["id"]})} for each in ITEMS]


def cases() -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the fields of a row or a reply, and the texts in them; their ids are always the same."""
    for place in ("", *SAID["around"]):
        yield from ((nested(place, {name: ITEMS}), TEXTS) for name in SAID["lists"])
        yield from ((nested(place, {name: IDS}), []) for name in (*SAID["lists"], *SAID["lists_of_ids"]))
    for name in SAID["names"]:
        yield from (({"contexts": items(place, name)}, TEXTS) for place in ("", *SAID["within"]))
        yield {"hits": [{name: each["id"]} for each in ITEMS]}, []
    for name in SAID["texts"]:
        yield {"hits": [{"id": each["id"], name: each["text"]} for each in ITEMS]}, TEXTS
    yield {"contexts": TEXTS, "sources": IDS}, TEXTS
    yield {"retrieval_results": {"retrieved_docs": IDS, "relevance_scores": [0.9, 0.5]}}, []


CASES = list(cases())


class Agent(QuietHandler):
    """Replies to the number of a case with its fields."""

    def do_POST(self) -> None:
        number = int(json.loads(self.sent())["question"].split()[1])
        self.reply(200, {"answer": "It is 14.00.", **CASES[number][0]})


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with serving(Agent) as url:
        yield url


def test_rows_are_read_by_every_name(tmp_path: Path) -> None:
    wrong = []
    for number, (fields, texts) in enumerate(CASES):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps({"question": "What is a single?", "answer": "It is 14.00.", **fields}))
        (sample,) = read_dataset(path).samples
        recorded = sample.recorded
        read = recorded and (list(recorded.contexts), [each["id"] for each in recorded.retrieved])
        wrong += [] if read == (texts, IDS) else [(fields, read)]
    assert wrong == []


def test_replies_are_read_by_every_name(agent: str, tmp_path: Path) -> None:
    rows = [{"question": f"case {number}", "relevant_documents": IDS[:1]} for number in range(len(CASES))]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    manifest = {
        "spec": {
            "evaluation": {"datasets": [{"name": "rows", "path": "rows.jsonl"}], "metrics": ["mrr"]},
            "api": {"chatEndpoint": {"path": "/ask"}, "request": {"body": {"question": "{{question}}"}}},
        }
    }
    (tmp_path / "agent.yaml").write_text(json.dumps(manifest))
    ended = rag_eval_ended(
        "evaluate", "agent.yaml", "--url", agent, "--out", "o.results.json", folder=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    queries = json.loads((tmp_path / "o.results.json").read_text())["query_results"]
    read = [(each.get("contexts", []), each["retrieval_results"]["retrieved_docs"]) for each in queries]
    wrong = [(case[0], found) for case, found in zip(CASES, read, strict=True) if found != (case[1], IDS)]
    assert wrong == []


def test_probe_reads_every_name_and_prints_the_field(agent: str) -> None:
    wrong = []
    for number, (fields, texts) in enumerate(CASES):
        asked = ("--body", '{"question": "{{question}}"}', "--message", f"case {number}", "--json")
        found = json.loads(rag_eval("probe", f"{agent}/ask", *asked).output)["answer"]
        read = (found["contexts"], found.get("retrieved"))
        wrong += [] if read == (texts, IDS) else [(fields, read)]
    assert wrong == []


def test_probe_prints_the_field_of_the_ids_and_takes_it_as_a_path(agent: str) -> None:
    asked = ("--body", '{"question": "{{question}}"}', "--message", f"case {len(CASES) - 2}")
    shown = rag_eval("probe", f"{agent}/ask", *asked).output
    assert "retrieved   2: fares.md, times.md  ← sources" in shown
    given = rag_eval("probe", f"{agent}/ask", *asked, "--retrieved-path", "sources[*]", "--json").output
    found = json.loads(given)
    assert found["found"]["retrieved"] == "sources[*]"
    assert found["manifest"]["spec"]["api"]["responsePaths"]["retrieved"] == "sources[*]"


@pytest.mark.parametrize("relevant", ["fares.md", "c1"])
def test_the_name_that_a_dataset_knows_is_the_documents(relevant: str) -> None:
    hits = [{"id": f"c{number}", "metadata": {"source": name}} for number, name in enumerate(("x.md", *IDS))]
    row = {"question": "q?", "answer": "a", "hits": hits, "relevant_documents": [relevant]}
    assert evaluate([row], metrics="mrr").metrics["mrr"].value == 0.5


def test_of_two_documents_the_first_name_counts_with_one_notice() -> None:
    corpus = Corpus([Document(DocumentId(name), text) for name, text in zip(IDS, TEXTS, strict=True)])
    hits = [{"file": "times.md", "id": "fares.md", "text": TEXTS[0]}]
    rows = [{"question": f"{n}?", "answer": "a", "hits": hits, "relevant_documents": IDS[:1]} for n in "ab"]
    with pytest.warns(UserWarning, match="is named 'fares.md' and 'times.md'") as notices:
        result = evaluate(rows, metrics="mrr", documents=corpus)
    assert len(notices) == 1
    assert result.metrics["mrr"].value == 1
