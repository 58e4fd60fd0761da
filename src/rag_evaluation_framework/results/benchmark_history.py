"""The benchmark files of a project: speed and quality over time, a record a measurement.

::

    data/benchmarks/performance/latency_benchmarks.json       milliseconds: mean, percentiles, min, max
    data/benchmarks/performance/throughput_benchmarks.json    queries a second; memory and processor
    data/benchmarks/quality/retrieval_quality_benchmarks.json the retrieval metrics of each evaluation
    data/benchmarks/quality/citation_accuracy_benchmarks.json its citation metrics

A measurement is compared with the last one of the same configuration over the same questions on the same
hardware. Each repetition has a pace of its own; only where those of the two measurements lie apart, and their
medians differ by a tenth or more, is one called faster. On a busy machine a difference decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.errors import refused
from rag_evaluation_framework.files.atomic import locked
from rag_evaluation_framework.files.project_root import in_project
from rag_evaluation_framework.results.summaries import CITATION, RETRIEVAL, SPAN_ACCURACY, percentile

LATENCY, THROUGHPUT = "latency_benchmarks", "throughput_benchmarks"
QUALITY = {RETRIEVAL: "retrieval_quality_benchmarks", CITATION: "citation_accuracy_benchmarks"}
"""Which file a section of a results document goes to."""

_NAMES = {
    LATENCY: "Latency in milliseconds",
    THROUGHPUT: "Queries per second, memory and processor",
    QUALITY[RETRIEVAL]: "Quality of retrieval",
    QUALITY[CITATION]: "Accuracy of citations",
}
_SAME = ("configuration", "dataset_id", "dataset_hash", "questions", "concurrency", "hardware")
"""The fields that two measurements must have in common to be compared."""
NEAR = 0.1
"""Medians that differ by a smaller share count as the same: nobody waits noticeably longer."""
BUSY = 1.0
"""The load of each core above which a difference decides nothing."""

Record = Mapping[str, Any]
Word = Literal["first", "same", "faster", "slower", "undecided"]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a measurement with the last of the same: a word, a reason, and both."""

    word: Word
    now: Record
    before: Record | None = None
    reason: str = ""

    @property
    def change(self) -> float | None:
        """By what share there are more queries a second than last time; negative where there are fewer."""
        if self.before is None or not self.before.get("queries_per_second"):
            return None
        return float(self.now["queries_per_second"] / self.before["queries_per_second"] - 1)


def throughput_figures(paces: Sequence[float]) -> dict[str, float]:
    """Return the median pace of the repetitions, and between which paces nine of ten lie."""
    import numpy as np

    ordered = np.sort(np.array(paces, dtype=np.float64))
    shares = {"queries_per_second": 0.5, "slow_repetition": 0.05, "fast_repetition": 0.95}
    return {name: round(percentile(ordered, share), 3) for name, share in shares.items()}


def compared(now: Record, earlier: Sequence[Record]) -> Pace:
    """Compare a measurement of throughput with the last of the same among those before it."""
    before = next((each for each in reversed(earlier) if is_same(each, now)), None)
    if before is None:
        return Pace(word="first", now=now)
    new, old = now["queries_per_second"], before["queries_per_second"]
    if abs(new / old - 1) < NEAR:
        return Pace(word="same", now=now, before=before)
    word: Word = "faster" if new > old else "slower"
    reason = ""
    are_apart = (
        now["slow_repetition"] > before["fast_repetition"]
        if word == "faster"
        else now["fast_repetition"] < before["slow_repetition"]
    )
    busy = [each.get("load_per_core") for each in (now, before)]
    if not are_apart:
        reason = "the repetitions of both measurements overlap"
    elif any(load is not None and load > BUSY for load in busy):
        load = max(each for each in busy if each is not None)
        reason = f"the machine was busy (load {load:.1f} per core)"
    return Pace(word="undecided" if reason else word, now=now, before=before, reason=reason)


def is_same(one: Record, other: Record) -> bool:
    """Return True if two measurements are of the same configuration, questions and hardware."""
    return all(one.get(name) == other.get(name) for name in _SAME)


def same_before(
    now: Record, throughput: Sequence[Record], latency: Sequence[Record]
) -> list[tuple[Record, Record]]:
    """Return the measurements of the same, each with its latencies."""
    known = {each.get("timestamp"): each for each in latency}
    return [(each, known.get(each.get("timestamp"), {})) for each in throughput if is_same(each, now)]


def is_percentile(name: str) -> bool:
    """Return True if a field of a record is a percentile: ``p95``, ``p99.9``."""
    return name[:1] == "p" and name[1:].replace(".", "", 1).isdigit()


# The files.


def performance_records(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the records of a file of figures, in their order; none where there is no file yet."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return []
    from rag_evaluation_framework.datasets.benchmark_files import read_benchmark

    return list(read_benchmark(path)["records"])


def add_record(folder: Path, name: str, record: Record, *, key: str = "timestamp") -> Path:
    """Add a record to a file of figures, in place of one of the same key; several processes may do so."""
    from rag_evaluation_framework.datasets.benchmark_files import read_benchmark, write_benchmark

    path = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", path, error) from error
    with locked(path.parent):
        whole: dict[str, Any] = {"benchmark_id": name, "name": _NAMES.get(name, name), "records": []}
        whole = read_benchmark(path) if path.is_file() else whole
        others = [each for each in whole["records"] if each.get(key) != record[key]]
        write_benchmark({**whole, "records": [*others, dict(record)]}, path)
    return path


def keep_quality(document: Mapping[str, Any], folder: Path | None = None) -> list[Path]:
    """Add what a results document says of retrieval and citations to the project's quality files."""
    folder = in_project("data", "benchmarks", "quality") if folder is None else folder
    kept = []
    for section, name in QUALITY.items():
        figures = dict(_figures(document.get(section) or {}))
        if figures:
            record = {**_head(document), **figures}
            kept.append(add_record(folder, name, record, key="evaluation_id"))
    return kept


def _head(document: Mapping[str, Any]) -> dict[str, Any]:
    summary, about = document.get("summary", {}), document.get("metadata", {})
    return {
        "evaluation_id": document["evaluation_id"],
        "timestamp": document["timestamp"],
        "system_version": document.get("system_version"),
        "dataset_id": document.get("dataset_id"),
        "dataset_version": about.get("dataset_version"),
        "dataset_hash": about.get("dataset_hash"),
        "total_queries": summary.get("total_queries"),
    }


def _figures(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the metrics of a section with the ends of their intervals; what was not measured is left out."""
    for name, written in section.items():
        if name == SPAN_ACCURACY:
            yield from ((each, value) for each, value in written.items() if isinstance(value, int | float))
        elif written.get("value") is not None:
            yield name, written["value"]
            low, high = written.get("confidence_interval") or (None, None)
            ends = {"low": low, "high": high, "n_scored": written.get("n_scored")}
            yield from ((f"{name}_{end}", value) for end, value in ends.items() if value is not None)
