"""How much strictness costs: reading and writing records, beside the standard library and msgspec alone."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.access import compress
from rag_evaluation_framework.files.json_scanner import scan
from rag_evaluation_framework.files.strict_json import read_lines

_WORDS = (
    "retrieval query document chunk span citation answer relevant context 检索 评估 über naïve the of and in"
)


def main() -> None:
    """Print megabytes a CPU second, and each way relative to the standard library."""
    records = _records(20_000)
    lines = [strict_json.encode(record) for record in records]
    size = sum(map(len, lines)) / 1e6
    document = strict_json.encode(records, indent=2)
    print(f"{len(lines):,} records, {size:.1f} MB as JSON lines; CPU time, best of 3\n")
    _table(
        "decode JSON lines",
        size,
        {
            "json.loads": lambda: [json.loads(line) for line in lines],
            "json.loads, duplicates refused": lambda: [_loaded(line) for line in lines],
            "msgspec.json.decode": lambda: [msgspec.json.decode(line) for line in lines],
            "strict_json.decode": lambda: [strict_json.decode(line) for line in lines],
        },
    )
    _table(
        "decode one indented document",
        len(document) / 1e6,
        {
            "json.loads": lambda: json.loads(document),
            "msgspec.json.decode": lambda: msgspec.json.decode(document),
            "strict_json.decode": lambda: strict_json.decode(document),
            "json_scanner.scan": lambda: scan(document),
        },
    )
    _table(
        "encode JSON lines",
        size,
        {
            "json.dumps(allow_nan=False)": lambda: [_dumped(record) for record in records],
            "msgspec.json.encode": lambda: [msgspec.json.encode(record) for record in records],
            "strict_json.encode": lambda: [strict_json.encode(record) for record in records],
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        _streams(Path(folder), b"\n".join(lines), size)
    few = records[:300]
    text = yaml_documents.encode(few)
    _table(
        "decode YAML",
        len(text.encode()) / 1e6,
        {
            "yaml.CSafeLoader": lambda: yaml.load(text, Loader=yaml.CSafeLoader),
            "yaml_documents.decode": lambda: yaml_documents.decode(text),
        },
    )


def _streams(folder: Path, data: bytes, size: float) -> None:
    plain, gzip, zstd = folder / "plain", folder / "gzip", folder / "zstd"
    plain.write_bytes(data)
    gzip.write_bytes(compress(data, "gzip"))
    zstd.write_bytes(compress(data, "zstd"))

    def standard() -> None:
        with plain.open("rb") as stream:
            for line in stream:
                json.loads(line)

    def ours(path: Path) -> None:
        for _ in read_lines(path):
            pass

    _table(
        "stream JSON lines from a file",
        size,
        {
            "open + json.loads, plain": standard,
            "read_lines, plain": lambda: ours(plain),
            "read_lines, gzip": lambda: ours(gzip),
            "read_lines, Zstandard": lambda: ours(zstd),
        },
    )


def _table(title: str, megabytes: float, ways: dict[str, Callable[[], Any]]) -> None:
    print(f"{title:34}      MB/s   relative")
    rates = {name: megabytes / _seconds(way) for name, way in ways.items()}
    first = next(iter(rates.values()))
    for name, rate in rates.items():
        print(f"  {name:32}  {rate:8.1f}   {rate / first:6.2f}x")
    print()


def _seconds(way: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        way()
        times.append(time.process_time() - start)
    return min(times)


def _loaded(line: bytes) -> Any:
    """Read as strictly as the standard library can be made to."""
    return json.loads(line, object_pairs_hook=_without_duplicates, parse_constant=_refused)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _refused(word: str) -> float:
    raise ValueError(word)


def _dumped(record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _records(count: int) -> list[dict[str, Any]]:
    """Make evaluation records with contexts, spans and scores, about 3 KB each."""
    chance = random.Random(20)
    words = _WORDS.split()

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=length))

    return [
        {
            "query_id": f"q{number:06d}",
            "query_text": text(12),
            "ground_truth_answer": text(40),
            "contexts": [text(80) for _ in range(5)],
            "citations": [
                {"file": f"doc_{chance.randrange(999)}.md", "start_char": start, "end_char": start + 120}
                for start in chance.sample(range(10_000), 3)
            ],
            "scores": [chance.random() for _ in range(5)],
            "metadata": {"difficulty": "hard", "reviewed": True, "note": None},
        }
        for number in range(count)
    ]


if __name__ == "__main__":
    main()
