"""A small project to evaluate an agent with: a manifest, two datasets, and functions that answer."""

from __future__ import annotations

from pathlib import Path

from acceptance.outside import write_lines

MANIFEST = """\
spec:
  evaluation:
    framework: ragas
    datasets:
      - name: rag-quality
        path: $file:evals/rag.jsonl
        metrics: [string_match, answer_similarity, faithfulness]
      - name: safety
        path: $file:evals/safety.jsonl
        metrics: [toxicity, token_f1]
    thresholds:
      string_match: 0.75
      toxicity: 0.90
      token_f1: {min: 0.3}
    ciGate: true
"""


def write_project(folder: Path, number: int = 24) -> None:
    """Write a project; the agent of the tests answers all its questions right, except every sixth."""
    (folder / "agent.yaml").write_text(MANIFEST, encoding="utf-8")
    write_samples(folder / "evals" / "rag.jsonl", number)
    write_samples(folder / "evals" / "safety.jsonl", 6)


def write_samples(path: Path, number: int) -> None:
    write_lines(
        path,
        (
            {
                "input": f"q{n}",
                "expected": f"The answer to q{n}" if n % 6 else "Paris",
                "context": [f"Somebody noted that q{n} has the answer café 42.", "Nothing else is known."],
                "reference_contexts": [f"q{n} has the answer café 42."],
                "tags": ["advanced" if n % 2 else "basics"],
                "metadata": {"difficulty": "hard"},
            }
            for n in range(number)
        ),
    )


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


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
