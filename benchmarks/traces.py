"""Traces in OTLP JSON scored for retrieval: how fast, and in how much memory.

The traces are made of the handbook's questions and paragraphs: two searches of five pieces each, a
reranking in every third, a tool in every fifth, a model whose prompt repeats the pieces; 40 spans an export,
those of 16 traces mixed. The default is 50 MB; ``python -m benchmarks.traces 1000`` takes a gigabyte.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._memory import peak_megabytes

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
QUESTIONS = HANDBOOK / "questions.eval.json"
METRICS = ("hop_recall", "hop_gain", "recall@5", "needless_steps")
MEGABYTE = 1_000_000
_BATCH, _MIXED = 40, 16
_BEGAN = 1794833653 * 10**9


def main(megabytes: int = 50) -> None:
    """Print the rate, the peak memory of the process that reads and scores, and what came of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "traces"
        folder.mkdir()
        traces = _write(folder, megabytes * MEGABYTE)
        size = sum(path.stat().st_size for path in folder.iterdir()) / MEGABYTE
        print(f"{size:,.0f} MB in {len(list(folder.iterdir()))} files, {traces:,} traces\n")
        print(f"{'way':<28} {'seconds':>8} {'CPU s':>8} {'MB/s':>8} {'traces/s':>9} {'peak MB':>8}")
        for title, way in (("read", _read), ("rag-eval score", _score)):
            context = multiprocessing.get_context("spawn")
            with context.Pool(1) as pool:
                seconds, cpu, peak, scored = pool.apply(way, (folder,))
            assert scored == traces, (scored, traces)
            rates = f"{size / seconds:>8,.1f} {traces / seconds:>9,.0f}"
            print(f"{title:<28} {seconds:>8.1f} {cpu:>8.1f} {rates} {peak:>8,.0f}", flush=True)


def _read(folder: Path) -> tuple[float, float, float, int]:
    from rag_evaluation_framework.datasets.traces import ReadTraces

    began, cpu = time.monotonic(), time.process_time()
    count = sum(1 for _ in ReadTraces(folder).stream())
    return time.monotonic() - began, time.process_time() - cpu, peak_megabytes(), count


def _score(folder: Path) -> tuple[float, float, float, int]:
    from rag_evaluation_framework import Options, evaluate
    from rag_evaluation_framework.records.steps import TraceChoice

    began, cpu = time.monotonic(), time.process_time()
    options = Options(traces=TraceChoice(expected=QUESTIONS))
    with tempfile.TemporaryDirectory() as runs:
        result = evaluate(folder, metrics=METRICS, options=options, runs_directory=runs)
        assert all(result.metrics[name].value is not None for name in METRICS)
    return time.monotonic() - began, time.process_time() - cpu, peak_megabytes(), result.counts.finished


def _write(folder: Path, size: int) -> int:
    """Write files of a hundred megabytes until there are so many bytes; return how many traces they hold."""
    chance = random.Random(7)
    pieces = [
        (path.name, place, text)
        for path in sorted((HANDBOOK / "documents").iterdir())
        for place, text in enumerate(path.read_text(encoding="utf-8").split("\n\n"))
        if len(text) > 80
    ]
    questions = [each["query_text"] for each in json.loads(QUESTIONS.read_bytes())["queries"]]
    written = count = number = 0
    while written < size:
        with (folder / f"traces-{number:04}.jsonl").open("w", encoding="utf-8") as stream:
            part = 0
            while part < min(100 * MEGABYTE, size - written):
                spans = []
                for _ in range(_MIXED):
                    count += 1
                    spans.append(list(_trace(count, chance.choice(questions), pieces, chance)))
                for line in _lines(_mixed(spans, chance)):
                    part += stream.write(line)
            written += part
        number += 1
    return count


def _mixed(traces: list[list[Any]], chance: random.Random) -> Iterator[Any]:
    """Yield the spans of several traces as they end, the root of each last."""
    while any(traces):
        yield chance.choice([each for each in traces if each]).pop(0)


def _lines(spans: Iterator[Any]) -> Iterator[str]:
    batch: list[Any] = []
    for span in spans:
        batch.append(span)
        if len(batch) == _BATCH:
            yield _line(batch)
            batch = []
    if batch:
        yield _line(batch)


def _line(spans: list[Any]) -> str:
    resource = {"attributes": _attributes({"service.name": "handbook", "telemetry.sdk.language": "python"})}
    request = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    return json.dumps(request, ensure_ascii=False) + "\n"


def _trace(number: int, question: str, pieces: list[Any], chance: random.Random) -> Iterator[Any]:
    """Yield the spans of a trace: what is below the root, and then the root."""
    base = f"{number:032x}"
    found: list[Any] = []
    for hop in (2, 3):
        best = chance.sample(pieces, 5)
        found += best
        query = question if hop == 2 else " ".join(question.split()[:6])
        said = {"openinference.span.kind": "RETRIEVER", "input.value": query}
        listed = [
            {"id": f"{name}-{place}", "metadata": {"source": name}, "page_content": text}
            for name, place, text in best
        ]
        said["output.value"] = json.dumps({"documents": listed}, ensure_ascii=False)
        said |= _documents("retrieval.documents", best)
        yield _span(base, hop, said)
    if number % 3 == 0:
        said = {"openinference.span.kind": "RERANKER", "reranker.query": question}
        yield _span(base, 4, said | _documents("reranker.output_documents", found[:6]))
    if number % 5 == 0:
        arguments = json.dumps({"on": f"2026-11-{number % 28 + 1:02}"})
        said = {"openinference.span.kind": "TOOL", "tool.name": "timetable", "input.value": arguments}
        yield _span(base, 5, {**said, "output.value": chance.choice(pieces)[2]})
    answer = chance.choice(found)[2].split(". ")[0]
    prompt = "\n\n".join(text for _, _, text in found)
    yield _span(
        base,
        6,
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "script",
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": prompt,
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": question,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": answer,
            "llm.token_count.prompt": len(prompt) // 4,
            "llm.token_count.completion": len(answer) // 4,
        },
    )
    chain = {"openinference.span.kind": "CHAIN", "input.value": question, "output.value": answer}
    yield _span(base, 1, chain)


def _documents(prefix: str, pieces: list[Any]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for number, (name, place, text) in enumerate(pieces):
        document = f"{prefix}.{number}.document"
        said[f"{document}.id"] = f"{name}-{place}"
        said[f"{document}.content"] = text
        said[f"{document}.score"] = round(1 - number / 10, 2)
        said[f"{document}.metadata"] = json.dumps({"source": name})
    return said


def _span(trace_id: str, number: int, said: dict[str, Any]) -> dict[str, Any]:
    start = _BEGAN + int(trace_id, 16) * 10**9 + number * 10**7
    span = {
        "traceId": trace_id,
        "spanId": f"{number:016x}",
        "name": "span",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + (10**9 if number == 1 else 5 * 10**6)),
        "attributes": _attributes(said),
        "status": {},
    }
    return span if number == 1 else {**span, "parentSpanId": f"{1:016x}"}


def _attributes(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in said.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
