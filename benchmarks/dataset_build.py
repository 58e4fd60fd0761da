"""Building splits against the plain ``json.loads``/``json.dumps`` loop that does the same mapping.

The raw file is written by a generator: five contexts of about 600 characters a record, the twenty chunks they
were chosen from, one record in five Chinese. Each way runs in a process of its own, so that its peak memory
is its own. The plain loop finds duplicate ids and hashes its files too; it checks nothing else, and a kill
leaves half a file. The default is 100 MB; ``python -m benchmarks.dataset_build 1000`` takes a gigabyte.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.datasets.split_build import EvaluationConfig, build_splits
from rag_evaluation_framework.datasets.split_mapping import SPLITS, reason_to_drop
from rag_evaluation_framework.datasets.validation import validate_file

ROUNDS = 3
MEGABYTE = 1_000_000

_ENGLISH = ["the", "of", "tide", "ferry", "quay", "harbour", "crossing", "island", "passengers", "winter"]
_CHINESE = "轮渡码头海浪航程船票灯塔乘客停航冬季风速码头岛屿"


def main(megabytes: int = 100) -> None:
    """Print CPU seconds, megabytes a second and peak memory of each way, and the ratio of the first two."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw = folder / "offline_dataset.jsonl"
        records = _write_raw(raw, megabytes * MEGABYTE)
        size = raw.stat().st_size / MEGABYTE
        print(f"{size:,.0f} MB, {records:,} records, best of {ROUNDS}\n")
        print(f"{'way':<28} {'CPU s':>8} {'MB/s':>8} {'peak MB':>8} {'times':>7}")
        plain = _measured(_plain_loop, raw, folder)
        for title, way in (
            ("plain json loop", None),
            ("rag-eval build", _build),
            ("rag-eval validate", _validate),
        ):
            seconds, peak = plain if way is None else _measured(way, raw, folder)
            ratio = f"{plain[0] / seconds:6.2f}x" if way is not _validate else ""
            print(f"{title:<28} {seconds:>8.2f} {size / seconds:>8,.0f} {peak:>8,.0f} {ratio:>7}")


def _plain_loop(raw: Path, folder: Path) -> None:
    outputs = {name: folder / f"plain_{name}.jsonl" for name in SPLITS}
    seen = set()
    streams = {name: path.open("w", encoding="utf-8") for name, path in outputs.items()}
    with raw.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["task_id"] in seen:
                raise ValueError(record["task_id"])
            seen.add(record["task_id"])
            mapping = SPLITS.get(record["task_type"])
            if mapping is None:
                continue
            mapped = mapping(record)
            if not reason_to_drop(mapped):
                streams[record["task_type"]].write(json.dumps(mapped, ensure_ascii=False) + "\n")
    for name, stream in streams.items():
        stream.close()
        with outputs[name].open("rb") as written:
            hashlib.file_digest(written, "sha256")


def _build(raw: Path, folder: Path) -> None:
    paths = EvaluationConfig(
        offline_dataset=raw,
        qa_output=folder / "qa_pairs.jsonl",
        summaries_output=folder / "summaries.jsonl",
        manifest_output=folder / "manifest.json",
    )
    build_splits(paths, now=datetime(2025, 11, 4, tzinfo=UTC), force=True)


def _validate(raw: Path, folder: Path) -> None:
    assert not any(issue.severity == "error" for issue in validate_file(raw))


def _measured(way: Callable[[Path, Path], None], raw: Path, folder: Path) -> tuple[float, float]:
    """Return the least CPU seconds of several runs, and the peak memory in megabytes."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed, (way, raw, folder))


def _timed(way: Callable[[Path, Path], None], raw: Path, folder: Path) -> tuple[float, float]:
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        way(raw, folder)
        seconds.append(time.process_time() - start)
    return min(seconds), peak_megabytes()


def _write_raw(path: Path, size: int) -> int:
    written = records = 0
    with path.open("wb") as stream:
        for record in _records():
            written += stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            records += 1
            if written >= size:
                break
    return records


def _records() -> Iterator[dict[str, Any]]:
    generator = random.Random(11)
    while True:
        words, space = (_CHINESE, "") if generator.random() < 0.2 else (_ENGLISH, " ")
        texts = [_text(generator, words, space, 100) for _ in range(5)]
        task_type = generator.choices(["qa", "summaries", "citations"], [6, 3, 1])[0]
        yield {
            "task_id": f"{generator.getrandbits(128):032x}",
            "task_type": task_type,
            "instruction": _text(generator, words, space, 15),
            "expected_response": _text(generator, words, space, 50) + " [1] [3]",
            "rag": {
                "prompt": "Answer from the contexts.\n\n" + "\n".join(texts),
                "contexts": texts,
                "sources": [f"data/processed/{number}.txt#page={number}" for number in range(5)],
                "scores": [generator.random() for _ in range(5)],
                "citations": [_place(generator, number) for number in range(1, 6)],
                "retrieved": [_place(generator, number) | {"rank": number} for number in range(1, 21)],
            },
            "metadata": {"document": "timetable.txt", "run_id": "r-17", "tags": ["ferry", "benchmark"]},
        }


def _text(generator: random.Random, words: str | list[str], space: str, count: int) -> str:
    chosen = generator.choices(words, k=count if space else 2 * count)
    chosen[count // 2] += ': "'
    return space.join(chosen) + '".\n'


def _place(generator: random.Random, number: int) -> dict[str, Any]:
    start = generator.randrange(90_000)
    return {
        "index": number,
        "chunk_id": f"chunk_{generator.getrandbits(48):012x}",
        "source": f"data/processed/{number}.txt",
        "page": generator.randrange(40),
        "start_char": start,
        "end_char": start + 600,
        "score": generator.random(),
    }


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
