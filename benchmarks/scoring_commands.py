"""``rag-eval score`` and ``evaluate`` over real answers with five contexts each: samples a CPU second.

The answers are those of six models to RAGTruth's questions and articles; an answer with fewer contexts has
those of another source besides, and a long article is cut into five. As recorded, six answers share their
contexts, and what comes round again ends in one more space. Then that is taken away: every context that comes
again ends in one more, so that no text comes twice and nothing that is kept helps. RAGTruth has no
references; where one is given here, it is another model's answer, as long as the answer itself, and the first
context is what should have been retrieved. Each figure is of a process of its own, with its start-up and
without: the same command over a few samples is taken away. How Python was built counts for a fifth: one that
was optimised by its own profile, as those of distributions are, is faster than one that was compiled without.
Machines differ by more, and a busy one from hour to hour: what a plain loop takes is printed, before and
after.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._labelled_data import DATA
from benchmarks.text_shifts import Item, items
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn

SAMPLES, FEW, CONTEXTS, TRIES = 2000, 20, 5, 4
METRICS: Mapping[str, Sequence[str]] = {
    "faithfulness": ("faithfulness",),
    "five usual metrics": (
        "faithfulness",
        "answer_similarity",
        "answer_correctness",
        "context_precision",
        "context_recall",
    ),
    "eight metrics": (
        "faithfulness",
        "grounded_fraction",
        "answer_similarity",
        "answer_correctness",
        "context_precision",
        "over_refusal",
        "toxicity",
        "citation_f1",
    ),
}
REQUIRED = {"faithfulness": 800, "five usual metrics": 400}
NO_REFERENCE = "faithfulness, as published"
# So many characters of sentences of one shape, on both sides.
LENGTHS = (2_000, 4_000, 8_000, 16_000, 32_000)


def samples(
    count: int, *, as_recorded: bool = False, with_reference: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield records with question, answer, contexts and reference; no context twice unless as recorded."""
    found = [each for each in items(DATA, cap=sys.maxsize) if each.source in _SOURCES]
    uses: Counter[str] = Counter()
    for number in range(count):
        place = number % len(found)
        item = found[place]
        beside = (found[(place + step) % len(found)] for step in (1, -1))
        other = next((each for each in beside if each.contexts == item.contexts), item)
        again = " " * (number // len(found))  # the texts of another time round are other texts
        contexts = [text + again for text in _five(found, place)]
        uses.update(contexts)
        question = item.question or "What does the article say?"
        contexts = contexts if as_recorded else [text + " " * uses[text] for text in contexts]
        truth = {"reference": other.text + again, "reference_contexts": contexts[:1]}
        yield {
            "id": f"{number}",
            "question": question,
            "answer": item.text + again,
            "contexts": contexts,
            **(truth if with_reference else {}),
        }


_SOURCES = ("ragtruth/qa.jsonl", "ragtruth/summary.jsonl")


def _five(found: Sequence[Item], place: int) -> list[str]:
    contexts = list(found[place].contexts)
    if len(contexts) == 1:  # an article
        lines = contexts[0].split("\n") if contexts[0].count("\n") >= CONTEXTS else contexts[0].split(". ")
        size = -(-len(lines) // CONTEXTS)
        joint = "\n" if contexts[0].count("\n") >= CONTEXTS else ". "
        contexts = [joint.join(lines[first : first + size]) for first in range(0, len(lines), size)]
    while len(contexts) < CONTEXTS:
        place = (place + 7) % len(found)
        contexts += found[place].contexts[: CONTEXTS - len(contexts)]
    return [text.strip()[:4000] for text in contexts]


def scorers_alone(count: int) -> None:
    """Print what the scorers take in one process, all metrics of an answer one after the other."""
    for told, as_recorded in _CONTEXTS.items():
        scored = [_answered(record) for record in samples(count, as_recorded=as_recorded)]
        print(f"\n{f'scorers alone, {told}':<48}{'samples a CPU second':>22}")
        for name, metrics in METRICS.items():
            scorers, began = scorers_for(metrics), time.process_time()
            for sample, response in scored:
                scored_result(sample, response, scorers)
            print(f"{name:<48}{count / (time.process_time() - began):>22,.0f}", flush=True)


_CONTEXTS = {"contexts as recorded": True, "no context twice": False}


def _answered(record: dict[str, Any]) -> tuple[Sample, Response]:
    turns = (Turn(role="user", content=record["question"]),)
    truth = tuple(record["reference_contexts"])
    sample = Sample(id=record["id"], turns=turns, reference=record["reference"], reference_contexts=truth)
    return sample, Response(text=record["answer"], contexts=tuple(record["contexts"]))


def same_shaped(length: int, first: int) -> str:
    """Return so many characters of sentences that differ in their numbers alone."""
    sentences: list[str] = []
    size = 0
    while size < length:
        number = first + 7 * len(sentences)
        sentences.append(f"In {1500 + number % 500} the town of Aberfeld had {number:,} people.")
        size += len(sentences[-1]) + 1
    return " ".join(sentences)[:length]


def cpu_seconds(command: Sequence[str], folder: str) -> float:
    """Return the CPU seconds of a command; what goes wrong is shown."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(command: Sequence[str], tries: int = TRIES) -> float:
    """Return the least of several tries, each with a folder of its own for what it keeps."""
    taken = []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as folder:
            taken.append(cpu_seconds(command, folder))
    return min(taken)


def scoring(path: Path, metrics: Sequence[str], *options: str) -> list[str]:
    """Return the command that scores a file of answers."""
    named = [part for metric in metrics for part in ("-m", metric)]
    return [*RAG_EVAL, "score", str(path), *named, "--workers", "1", *options]


def evaluating(path: Path, metrics: Sequence[str]) -> list[str]:
    """Return the command that evaluates the same answers as those of a system, and write its dataset."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = ({"id": each["id"], "input": each["question"], "context": each["contexts"]} for each in records)
    write(path.with_name("samples.jsonl"), ({**each, "expected": ""} for each in asked))
    evaluated = {"datasets": [{"name": "answers", "path": "$file:samples.jsonl"}], "metrics": [*metrics]}
    manifest = path.with_name("agent.json")
    manifest.write_text(json.dumps({"spec": {"evaluation": evaluated}}), encoding="utf-8")
    return [*RAG_EVAL, "evaluate", str(manifest), "--target", str(path), "--workers", "1"]


RAG_EVAL = (sys.executable, "-c", "from rag_evaluation_framework.cli.main import main; main()")


def write(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for record in records:
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def commands(folder: Path) -> None:
    """Print what each command takes, with blame and without."""
    many, few = folder / "answers.jsonl", folder / "few.jsonl"
    for contexts, as_recorded in _CONTEXTS.items():
        print(f"\n{contexts:<38}samples a CPU second  without start-up  start-up  blame adds  asked for")
        for name, metrics in {NO_REFERENCE: METRICS["faithfulness"], **METRICS}.items():
            for path, count in ((many, SAMPLES), (few, FEW)):
                write(path, samples(count, as_recorded=as_recorded, with_reference=name != NO_REFERENCE))
            made = {"plain": ("--no-blame",), "blamed": ()}
            taken: dict[str, list[list[float]]] = {told: [[], []] for told in made}
            for _ in range(TRIES):  # in turn, so that a host that slows down slows all of them
                for told, options in made.items():
                    for times, path in zip(taken[told], (few, many), strict=True):
                        times.append(least(scoring(path, metrics, *options), 1))
            plain, blamed = ([min(times) for times in taken[told]] for told in made)
            asked = next((f"{least:>11}" for each, least in REQUIRED.items() if name.startswith(each)), "")
            print(f"{name + ', no blame':<38}{_rates(*plain)}")
            print(f"{name:<38}{_rates(*blamed)}{blamed[1] / plain[1] - 1:>12.0%}{asked}", flush=True)


def _rates(start: float, taken: float) -> str:
    return f"{SAMPLES / taken:>20,.0f}{(SAMPLES - FEW) / (taken - start):>18,.0f}{start:>9.2f}s"


def recorded(folder: Path) -> None:
    """Print what ``rag-eval evaluate`` takes where the answers are recorded."""
    path, metrics = folder / "answers.jsonl", METRICS["faithfulness"]
    write(path, samples(SAMPLES, as_recorded=True, with_reference=False))
    rate = SAMPLES / least(evaluating(path, metrics))
    print(f"\nrag-eval evaluate, {NO_REFERENCE}: {rate:,.0f} samples a CPU second", flush=True)


def pace() -> None:
    """Print what the machine itself gives."""
    loop = least([sys.executable, "-c", "n = 0\nfor each in range(10_000_000): n += each % 7"])
    print(f"Python {sys.version}; ten million rounds of a plain loop take {loop:.2f} s", flush=True)


def numeric(folder: Path) -> None:
    """Print what texts of same-shaped sentences with numbers take, the start-up taken away."""
    print("\nsame-shaped sentences with numbers in answer and context, one sample")
    path = folder / "numeric.jsonl"
    start = None
    for length in (20, *LENGTHS):
        record: dict[str, Any] = {
            "id": "1",
            "question": "How many people had Aberfeld?",
            "answer": same_shaped(length, 1000),
            "contexts": [same_shaped(length, 1003)],
        }
        write(path, iter([record]))
        taken = least(scoring(path, METRICS["faithfulness"]))
        if start is None:
            start = taken
            continue
        print(f"{length:>8,} characters{1000 * (taken - start):>10,.0f} ms", flush=True)


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"there is no labelled data at {DATA}")
    with tempfile.TemporaryDirectory() as folder:
        pace()
        commands(Path(folder))
        recorded(Path(folder))
        scorers_alone(SAMPLES)
        numeric(Path(folder))
        pace()


if __name__ == "__main__":
    main()
