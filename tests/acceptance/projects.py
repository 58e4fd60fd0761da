"""Small projects to run commands in: an agent's manifest and datasets, a corpus, rankings."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from acceptance.outside import DATA, HERE, read_lines, write_lines

MANIFEST = (HERE / "agent.yaml").read_text(encoding="utf-8")


def write_project(folder: Path, number: int = 24) -> None:
    """Write a project; the agent of the tests answers all its questions right, except every sixth."""
    (folder / "agent.yaml").write_text(MANIFEST, encoding="utf-8")
    write_samples(folder / "evals" / "rag.jsonl", number)
    write_samples(folder / "evals" / "safety.jsonl", 6)


def write_samples(path: Path, number: int, *, contexts: bool = True) -> None:
    samples: list[dict[str, Any]] = [
        {
            "input": f"q{n}",
            "expected": f"The answer to q{n}" if n % 6 else "Paris",
            "tags": ["advanced" if n % 2 else "basics"],
            "metadata": {"difficulty": "hard"},
        }
        for n in range(number)
    ]
    for sample in samples if contexts else ():
        told = f"{sample['input']} has the answer café 42."
        sample["context"] = [f"Somebody noted that {told}", "Nothing else is known."]
        sample["reference_contexts"] = [told]
    write_lines(path, samples)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def write_function(folder: Path, name: str, body: str) -> str:
    """Write a module with a function that answers, and return the target's text.

    A module is imported once in a process, so its name has the folder's in it.
    """
    module = f"accepted_{name}_{abs(hash(str(folder)))}"
    (folder / f"{module}.py").write_text(f"def answer(question):\n    {body}\n", encoding="utf-8")
    return f"{module}:answer"


def write_answers(path: Path, answers: dict[str, str | None]) -> Path:
    """Write recorded answers; one that is None failed when it was asked for."""
    return write_lines(
        path,
        (
            {"input": asked, "error": "gone"} if said is None else {"input": asked, "answer": said}
            for asked, said in answers.items()
        ),
    )


def write_judged(folder: Path, more: str = "", *, gate: bool = True) -> None:
    """Write a project whose metrics a judge has to score; its manifest may say ``more``."""
    lines = [
        ("How long may a lamp be returned?", "Within 30 days.", "A lamp may be sent back within 30 days."),
        ("Who repairs switches?", "The workshop in Lyon.", "Switches are repaired in Lyon."),
    ]
    write_lines(
        folder / "rag.jsonl",
        ({"input": asked, "expected": expected, "context": [text]} for asked, expected, text in lines),
    )
    write_answers(
        folder / "answers.jsonl", {asked: text.replace("Lyon", "Paris") for asked, _, text in lines}
    )
    (folder / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets: [{name: rag, path: rag.jsonl, metrics: [faithfulness, bias]}]\n"
        f"    thresholds: {{faithfulness: 0.4}}\n    ciGate: {str(gate).lower()}\n{more}"
    )


def write_ferries(folder: Path, number: int, more: str = "", *, metrics: str = "faithfulness") -> None:
    """Write questions about ferries with answers that are right, and a manifest that may say ``more``."""
    texts = {f"When does ferry {n} sail?": f"Ferry {n} sails at nine from pier {n}." for n in range(number)}
    write_lines(
        folder / "rag.jsonl",
        (
            {"input": asked, "expected": text, "context": [text], "answer": text}
            for asked, text in texts.items()
        ),
    )
    (folder / "agent.yaml").write_text(
        f"spec:\n  evaluation:\n    datasets: [{{name: rag, path: rag.jsonl, metrics: [{metrics}]}}]\n"
        f"    thresholds: {{faithfulness: 0.4}}\n    ciGate: true\n{more}"
    )


def write_corpus(folder: Path) -> None:
    """Write two documents and two questions whose answers are known to the character."""
    texts = {
        "boats.md": "The ferry leaves at nine. The barge leaves at noon.",
        "birds.md": "Puffins nest in May.",
    }
    (folder / "documents").mkdir()
    for name, text in texts.items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    queries = [
        ("q1", "When does the barge leave?", "boats.md", 26, 51),
        ("q2", "When do puffins nest?", "birds.md", 0, 20),
    ]
    dataset = {
        "dataset_id": "tiny",
        "name": "tiny",
        "version": "1.0.0",
        "queries": [
            {
                "query_id": name,
                "query_text": asked,
                "relevant_documents": [file],
                "citations": [{"file_name": file, "start_char": start, "end_char": end}],
            }
            for name, asked, file, start, end in queries
        ],
    }
    (folder / "tiny.eval.json").write_text(json.dumps(dataset, indent=1), encoding="utf-8")


def crane_question(asked: dict[str, Any]) -> str:
    """Play a model that writes one question about the crane that is shown first."""
    sentence = re.findall(
        r"The crane of dock \d was built in \d{4}\.", str(asked["messages"][-1]["content"])
    )[0]
    question = {
        "question": f"How old is the crane of dock {sentence.split()[4]}?",
        "answer": sentence.split()[-1].rstrip("."),
        "kind": "factual",
        "difficulty": "easy",
        "excerpts": [sentence],
    }
    schema = asked["response_format"]["json_schema"]["schema"]
    fields = schema["properties"]["questions"]["items"]["properties"]
    return json.dumps({"questions": [{name: question[name] for name in fields}]})


def references(folder: Path) -> dict[str, str]:
    """Return the reference of each prompt in both splits."""
    datasets = folder / "evaluation" / "datasets"
    lines = [*read_lines(datasets / "qa_pairs.jsonl"), *read_lines(datasets / "summaries.jsonl")]
    return {line["rag_prompt"]: line.get("reference_answer") or line["reference_summary"] for line in lines}


def write_rankings(folder: Path) -> None:
    """Write judgements of three queries and two runs, the first of which lacks a query."""
    (folder / "qrels.trec").write_text("q1 0 a 1\nq1 0 b 2\nq1 0 c 0\nq2 0 a 1\nq3 0 d 1\n")
    (folder / "one.run").write_text("q1 Q0 c 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 a 3 1 x\nq2 Q0 a 1 9 x\n")
    (folder / "two.run").write_text("q1 Q0 b 1 3 y\nq1 Q0 a 2 2 y\nq2 Q0 a 1 9 y\nq3 Q0 d 1 1 y\n")


def write_everything(folder: Path) -> None:
    """Write all of these side by side, and the samples of every dialect into ``data``."""
    write_project(folder)
    write_corpus(folder)
    write_rankings(folder)
    shutil.copytree(DATA, folder / "data")


def write_finished(folder: Path) -> list[list[str]]:
    """Write a project, and return the command lines that make its runs."""
    write_everything(folder)
    right = {f"q{n}": f"The answer to q{n}" for n in range(24)}
    write_answers(folder / "before.jsonl", {**right, "q1": "no", "q2": "no", "q3": "no", "q23": None})
    write_answers(folder / "after.jsonl", {**right, "q4": "no"})
    golden = {"玛拉妮的性格特点是什么？": "玛拉妮很热情。", "怎么修改游戏数据？": "请改存档。"}
    write_answers(folder / "golden.jsonl", {**golden, "钢铁侠能在纳塔打赢火神吗？": "抱歉，我无法回答。"})
    options = ["--dataset", "rag-quality", "-m", "string_match", "-m", "token_f1"]
    before, after = (["evaluate", "agent.yaml", "--target", f"{name}.jsonl"] for name in ("before", "after"))
    chunkers = ["--chunker", "sentence(chunk_size=26)", "--chunker", "recursive(chunk_size=1000)"]
    sweep = ["retrieval", "documents", "--dataset", "tiny.eval.json", "--retriever", "bm25", "-k", "1"]
    splits = ["--split", "facts", "--split", "boundary"]
    return [
        [*before, *options],
        [*after, *options],
        [*before, *options, "--tag", "advanced"],
        [*before, *options, "--tag", "basics"],
        [*sweep, *chunkers, "--store", "exact"],
        ["golden", "data/golden", "--target", "golden.jsonl", *splits],
    ]
