"""Changes from run to run: figures outside the range that earlier runs lead to expect, and the speed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.comparison_sentences import short_names
from rag_evaluation_framework.reports.messages.history_sentences import (
    expected_range,
    milliseconds,
    pace_sentence,
    percentiles,
    rate,
    trend_sentence,
)
from rag_evaluation_framework.results.benchmark_history import BUSY
from rag_evaluation_framework.results.run_store import DEFAULT_RUNS_DIRECTORY, in_runs
from rag_evaluation_framework.results.trend import LEAST_RUNS, MetricTrend
from rag_evaluation_framework.text.display import duration

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.benchmarks import KeptBenchmark

# Figures over many runs.

_STEPS = "▁▂▃▄▅▆▇█"
_LONGEST_LINE = 20
_WORDS = {"regression": "worse", "improvement": "better", "steady": "steady", "too few": "too few"}


def describe_trends(trends: Sequence[MetricTrend], *, runs: Path = DEFAULT_RUNS_DIRECTORY) -> blocks.Blocks:
    """Add the verdict, then each metric with its course, its latest value and what was expected."""
    said = blocks.Headline.of_sentence(trend_sentence(trends))
    yield said
    if not trends:
        return
    yield blocks.GAP
    yield blocks.table(
        [
            ("metric", each.metric),
            (blocks.Column("course", leaves=blocks.BAR), blocks.Drawn(course(each), "", is_bar=True)),
            (blocks.right("latest"), blocks.figure(each.current.value)),
            ("expected", expected_range(each)),
            ("result", blocks.result(_WORDS[each.verdict])),
            (blocks.right("earlier runs", leaves=blocks.COUNT), f"{len(each.history):,}"),
            (
                blocks.Column("method", leaves=blocks.BY),
                "" if each.current.method is None else blocks.by(each.current.method),
            ),
        ]
        for each in trends
    )
    first = trends[0].current
    if any(each.low is not None for each in trends):
        yield blocks.prose(
            "Expected: 95% prediction interval for the next run of an unchanged system.", indent=2
        )
    for reason in dict.fromkeys(each.reason for each in trends if each.reason):
        if reason.rpartition(": ")[2] not in said.sentence + ".":
            names = [each.metric for each in trends if each.reason == reason]
            yield blocks.aside(f"{blocks.listed(names)}: {reason}")
    if excluded := max(each.n_excluded for each in trends):
        those = counted(excluded, "earlier run was", "earlier runs were")
        yield blocks.prose(f"{those} excluded: different dataset or method, or too few samples", indent=2)
    yield blocks.GAP
    yield blocks.prose(f"run {first.evaluation_id}, dataset {first.data}")
    worse = [each for each in trends if each.verdict == "regression"]
    before = next((each.history[-1] for each in worse or trends if each.history), None)
    if before is not None and (worse or any(len(each.history) < LEAST_RUNS for each in trends)):
        ids = short_names([before.evaluation_id, first.evaluation_id])
        purpose = "inspect the changed answers" if worse else "compare with the run before"
        yield blocks.Steps([(f"rag-eval compare {' '.join(ids.values())}{in_runs(runs)}", purpose)])


def course(trend: MetricTrend) -> str:
    """Draw the values of the last runs and the latest, the lowest and the highest as far apart as can be."""
    values = [*(point.value for point in trend.history), trend.current.value][-_LONGEST_LINE:]
    low, high = min(values), max(values)
    if low == high:
        return _STEPS[3] * len(values)
    return "".join(_STEPS[round((value - low) / (high - low) * (len(_STEPS) - 1))] for value in values)


# How fast something is: the sentence, the figures over time, what was asked and what it found.


_SHOWN = 5
_SHOWN_METRICS = 4


def benchmark_document(kept: KeptBenchmark) -> dict[str, Any]:
    """Return a measurement as plain values."""
    pace = kept.pace
    return {
        "verdict": pace.word,
        "sentence": pace_sentence(kept),
        "reason": pace.reason or None,
        "change": pace.change,
        "configuration": pace.now["configuration"],
        "dataset_id": pace.now["dataset_id"],
        **kept.performance,
        "failures": dict(kept.failures),
        "metrics": dict(kept.metrics),
        "indexed": dict(kept.indexed),
        "last": None if pace.before is None else dict(pace.before),
        "files": [str(path) for path in kept.files],
        "results": None if kept.results is None else str(kept.results),
    }


def describe_benchmark(kept: KeptBenchmark, *, again: str) -> blocks.Blocks:
    """Add the sentence, the figures of now and before, what was asked, what was found, where it is kept."""
    pace, now = kept.pace, kept.pace.now
    yield blocks.Headline.of_sentence(pace_sentence(kept), color=blocks.STYLES.get(pace.word, ""))
    if kept.failures:
        told = ", ".join(f"{kind} {number:,}" for kind, number in kept.failures.items())
        failed = f"{now['failed_queries']:,} of {counted(now['total_queries'], 'request')} failed ({told})"
        yield blocks.prose(blocks.Styled(failed, blocks.BAD), "; the latencies exclude them")
    yield blocks.GAP
    yield from _table(kept)
    yield blocks.GAP
    for line in _about(kept):
        yield blocks.aside(line)
    yield blocks.GAP
    folders = dict.fromkeys(path.parent for path in kept.files)
    for folder in folders:
        names = ", ".join(path.name for path in kept.files if path.parent == folder)
        yield blocks.prose(f"saved in {folder}: {names}", hang=9)
    if kept.results is not None:
        yield blocks.prose(f"results in {kept.results}", hang=11)
    yield blocks.Steps(_next(kept, again))


def _table(kept: KeptBenchmark) -> blocks.Blocks:
    rows: list[list[blocks.Cell]] = []
    names = percentiles(kept.latency)
    for throughput, latency in ((kept.pace.now, kept.latency), *reversed(kept.earlier[-_SHOWN + 1 :])):
        is_now = throughput is kept.pace.now
        memory, day = throughput.get("memory_mb_peak"), datetime.fromisoformat(str(throughput["timestamp"]))
        rows.append(
            [
                ("measured", "now" if is_now else f"{day:%Y-%m-%d %H:%M}"),
                (blocks.right("questions/s"), rate(throughput["queries_per_second"])),
                *((blocks.right(name), milliseconds(latency.get(name))) for name in names),
                (
                    blocks.right("memory", leaves=blocks.SIZE),
                    blocks.NOTHING if memory is None else f"{memory:,.0f} MB",
                ),
                (blocks.right("failed", leaves=blocks.COUNT), f"{throughput.get('failed_queries', 0):,}"),
            ]
        )
    yield blocks.table(rows)
    if len(kept.earlier) >= _SHOWN:
        hidden = counted(len(kept.earlier) - _SHOWN + 1, "earlier measurement")
        yield blocks.prose(f"{hidden} in the file", indent=2)


def _about(kept: KeptBenchmark) -> list[str]:
    now, indexed = kept.pace.now, kept.indexed
    lines = [str(now["configuration"])]
    if indexed:
        size = [counted(indexed["documents"], "document")]
        size += [counted(indexed["chunks"], "chunk")] if "chunks" in indexed else []
        lines.append(f"{', '.join(size)}, indexed in {duration(indexed['index_seconds'])}")
    at_once = (
        "1 concurrent request" if now["concurrency"] == 1 else f"{now['concurrency']:,} concurrent requests"
    )
    asked = f"{counted(now['questions'], 'question')} of {now['dataset_id']}"
    warm = now["warmup_queries"]
    before = f"; {counted(warm, 'warm-up question')} before" if warm else ""
    lines.append(f"{asked}, each asked {counted(now['repetitions'], 'time')}, {at_once}{before}")
    if kept.metrics:
        found = [f"{name} {blocks.figure(each['value'])}" for name, each in kept.metrics.items()]
        more = f" and {len(found) - _SHOWN_METRICS} more" if len(found) > _SHOWN_METRICS else ""
        lines.append(f"quality: {', '.join(found[:_SHOWN_METRICS])}{more}")
    load = now.get("load_per_core")
    if load is not None and load > BUSY:
        lines.append(f"warning: the machine was busy (load {load:.1f} per core); repeat on an idle machine")
    return lines


def _next(kept: KeptBenchmark, again: str) -> list[tuple[str, str]]:
    if kept.pace.word == "undecided":
        return [(again, "repeat on an idle machine")]
    if kept.results is None:
        return [(f"{again} --name weekly", "save the results too")]
    return [("rag-eval results", "list all saved results")]
