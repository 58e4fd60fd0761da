"""How fast files are validated, beside the ``jsonschema`` package on the same schemas and files."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from rag_evaluation_framework.datasets.schemas import schema, schema_issues
from rag_evaluation_framework.datasets.validation import validate_file
from rag_evaluation_framework.files.strict_json import read_lines

_QUERIES = 4_000
_SAMPLES = 8_000


def main() -> None:
    """Print records a CPU second for each way, and how many times faster ours is."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder, "queries.eval.json")
        dataset.write_text(json.dumps(_dataset(_QUERIES), ensure_ascii=False), encoding="utf-8")
        samples = Path(folder, "samples.jsonl")
        with samples.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(sample, ensure_ascii=False) + "\n" for sample in _samples(_SAMPLES))
        print("records a CPU second, best of 3\n")
        print(f"{'file':<20} {'way':<44} {'records/s':>10} {'times':>7}")
        _compare("evaluation dataset", dataset, "evaluation-dataset", _QUERIES)
        _compare("agent samples", samples, "agent-sample", _SAMPLES)


def _compare(title: str, path: Path, kind: str, records: int) -> None:
    values = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    theirs = Draft202012Validator(schema(kind))
    ways: dict[str, Callable[[], object]] = {
        "jsonschema, schema alone": lambda: [list(theirs.iter_errors(value)) for value in values],
        "json and jsonschema, from the file": lambda: _with_jsonschema(path, theirs),
        "ours, schema alone": lambda: [schema_issues(kind, value) for value in values],
        "ours, from the file: strict JSON, schema": lambda: [
            schema_issues(kind, value) for _, value in read_lines(path)
        ],
        "ours, from the file: rules and quality too": lambda: list(validate_file(path)),
    }
    rates = {way: records / _cpu_seconds(run) for way, run in ways.items()}
    alone, whole = list(rates.values())[:2]
    for way, rate in rates.items():
        peer = alone if way.endswith("alone") else whole
        print(f"{title:<20} {way:<44} {rate:>10,.0f} {rate / peer:>6.1f}x")


def _with_jsonschema(path: Path, validator: Draft202012Validator) -> list[Any]:
    with path.open(encoding="utf-8") as stream:
        return [error for line in stream for error in validator.iter_errors(json.loads(line))]


def _cpu_seconds(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def _dataset(queries: int) -> dict[str, Any]:
    document = "The ferry leaves at eight. 渡轮八点出发。 " * 20
    return {
        "dataset_id": "benchmark_v1.0.0",
        "name": "Benchmark",
        "version": "1.0.0",
        "created_at": "2025-08-30T12:00:00Z",
        "queries": [
            {
                "query_id": f"q{number}",
                "query_text": f"When does ferry {number} leave for island {number * 7919 % 9973}?",
                "query_type": "factual",
                "difficulty": "easy",
                "relevant_documents": [f"d{number % 100}.md"],
                "ground_truth_answer": f"Ferry {number} leaves at eight.",
                "citations": [{"file_name": f"d{number % 100}.md", "start_char": 0, "end_char": 26}],
            }
            for number in range(queries)
        ],
        "documents": [{"document_id": f"d{number}.md", "content": document} for number in range(100)],
    }


def _samples(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {
            "input": f"When does ferry {number} leave?",
            "expected": f"Ferry {number} leaves at eight.",
            "context": [f"Timetable {number}-{part}: the ferry leaves at eight." for part in range(5)],
            "reference_contexts": ["The ferry leaves at eight."],
            "tags": ["timetable", "easy"],
            "metadata": {"difficulty": "easy", "number": number},
        }


if __name__ == "__main__":
    main()
