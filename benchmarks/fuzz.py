"""Every command's readers against mutated files: no traceback, no hang, under 300 MB.

``python -m benchmarks.fuzz [FILES] [SEED] [GRAMMAR,…]`` writes that many files, 20,000 unless told otherwise,
each mutated from a file of one of the grammars below, or of those named, and gives each to one of the
commands that read it. Whatever a file holds, a command ends with one of its exit codes and a clear line. The
same seed gives the same files.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = 20_000
MOST_MB = 300
SECONDS = 20
_BY_THE_CLOCK = 10
_EXIT_CODES = {0, 1, 2, 3}
# A worker is replaced after so many: what one case leaves in memory does not count against the last.
_PER_WORKER = 250

Mutation = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A kind of file: under which name it lies, a good one, and the commands that read it."""

    file: str
    seeds: tuple[bytes, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one file."""

    number: int
    grammar: str
    command: str
    data: bytes
    code: object
    said: str
    seconds: float
    peak_mb: float

    @property
    def fault(self) -> str | None:
        """What is wrong with how the command ended; ``None`` where nothing is."""
        if self.code not in _EXIT_CODES or "Traceback (most recent call last)" in self.said:
            return (
                f"traceback: {self.said.strip().splitlines()[-1][:200] if self.said.strip() else self.code}"
            )
        if "cannot read or write" in self.said:  # a refusal without the name of its file
            return f"unnamed: {self.said[-200:]}"
        if self.seconds > SECONDS:
            return f"hang: {self.seconds:.0f} s"
        return f"memory: {self.peak_mb:.0f} MB" if self.peak_mb > MOST_MB else None


# Good files, one kind after the other.

_SAMPLE = {
    "id": "s1",
    "input": "What is the fare to Skerry?",
    "expected": "Five pounds.",
    "context": ["The fare to Skerry is five pounds."],
    "relevant_documents": {"fares.md": 2, "faq.md": 0},
    "tags": ["fares"],
    "metadata": {"source": "desk"},
}
_MANIFEST = """\
apiVersion: agentspec.io/v1
kind: AgentSpec
metadata: {name: ferry, version: 1.0.0}
spec:
  evaluation:
    framework: custom
    datasets:
      - {name: fares, path: "$file:samples.jsonl", metrics: [string_match, token_f1]}
    metrics: [token_f1, rouge(variant=rouge1)]
    thresholds: {string_match: 0.5, token_f1: {min: 0.1}}
    ciGate: true
  api:
    chatEndpoint: {path: /v1/chat, protocol: simple}
    headers: {X-Tenant: ferry}
"""
_CONFIGURATION = """\
config_id: evaluation
evaluation:
  random_seed: 7
  k_values: [1, 3, 5]
  offline_dataset: raw.jsonl
"""
_QUESTIONS = {
    "dataset_id": "ferry",
    "name": "Ferry",
    "version": "1.0.0",
    "queries": [
        {
            "query_id": "q1",
            "query_text": "What is the fare to Skerry?",
            "expected_answer": "Five pounds.",
            "relevant_documents": ["fares.md"],
            "citations": [{"file_name": "fares.md", "start_char": 9, "end_char": 44}],
        }
    ],
}
_MARKDOWN = (
    b"# Fares\n\nThe fare to Skerry is five pounds. Razorbill carries 48 passengers.\n\n| to | fare |\n"
    b"| --- | --- |\n| Skerry | 5 |\n\n```\ncode\n```\n\n<!-- note -->\n1. Book at [the office](office.md).\n"
)
_HTML = (
    b"<html><head><title>Fares</title><style>p{}</style></head><body><h1>Fares</h1><p>The fare to Skerry is "
    b"five pounds &amp; rising.</p><p>Razorbill carries 48 passengers.</p>"
    b"<table><tr><td>a<td>b</table><pre> x\n y</pre></body></html>"
)


_ROW = {
    "trace_id": "t1",
    "query": "What does it cost?",
    "reply": {"text": "It costs 8.00."},
    "answer": "It costs 8.00.",
    "chunks": [{"text": "Kayak: single 8.00.", "source": "fares.md", "score": 0.5}],
    "gold": ["8.00", "eight"],
    "tags": ["fares"],
    "relevant_docs": {"fares.md": 2},
}
_NESTED_ROW = {
    "id": 1,
    "inputs": {"question": "a?", "history": [{"role": "user", "content": "b"}]},
    "response": {"choices": [{"message": {"content": "c [1]"}}], "usage": {"prompt_tokens": 9}},
    "retrieval": {"documents": [{"page_content": "d e", "metadata": {"source": "f.md", "score": "0.5"}}]},
    "expected": {"answer": "g"},
    "labels": {"topic": "h", "should_refuse": "no"},
}


def _lines(*records: object) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


_ROWS = (
    json.dumps(_ROW).encode() + b"\n" + json.dumps({**_ROW, "trace_id": "t2", "gold": None}).encode(),
    json.dumps({"data": [_ROW, {**_ROW, "trace_id": 2, "chunks": []}]}, indent=1).encode(),
    json.dumps({"question": ["a?", "b?"], "answer": ["c", "d"], "context": ["e f", None]}).encode(),
    json.dumps(
        [{"messages": [{"role": "user", "content": "a?"}], "output": "b", "documents": ["a.md"]}]
    ).encode(),
    b'sep=;\nQuestion;Answer;context_1;context_2\na?;b;c d;"e\nf"\nc?;;;\n',
    b'question\tanswer\tcontexts\na?\tb\t"c d\n---\ne f"\nc?\td\t"[""g h"", ""i""]"\n',
    b"question,answer,contexts,sources,scores,latency_ms,prompt_tokens\n"
    b"a?,b,\"['c d', 'e f']\",a.md;b.md,0.5;0.25,12.5,80\n",
    json.dumps(_NESTED_ROW).encode() + b"\n" + json.dumps({**_NESTED_ROW, "id": 2}).encode(),
    json.dumps({"columns": ["question", "answer"], "index": [0], "data": [["a?", "b"]]}).encode(),
    _lines({"question": "a?", "contexts": ["b c"]}, {"question": "d?", "contexts": []}),
    _lines({"question": "a?", "reference": "b"}, {"question": "c?", "reference": ["d", "e"]}),
    "问题\t回答\t上下文\n登塔多少钱？\t六镑\t['六镑，儿童三镑']\n".encode(),
)


def _traced(number: int, said: dict[str, str]) -> dict[str, object]:
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in said.items()]
    start = 1794833653 * 10**9 + number
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 10**6)}
    ids = {"traceId": f"{7:032x}", "spanId": f"{number:016x}", "parentSpanId": f"{1:016x}" * (number > 1)}
    return {**ids, **times, "name": "span", "attributes": attributes, "status": {"code": 1}}


_MESSAGES = '[{"role": "%s", "parts": [{"type": "text", "content": "What is the fare?"}]}]'
_SPANS = (
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"},
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": _MESSAGES % "user",
        "gen_ai.output.messages": _MESSAGES % "assistant",
    },
    {"gen_ai.tool.name": "fare", "gen_ai.tool.call.arguments": '{"to": "Skerry"}'},
    {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "fare",
        "gen_ai.retrieval.documents": '[{"id": "fares.md", "score": 0.5, "content": "Five."}]',
    },
    {"openinference.span.kind": "RERANKER", "reranker.output_documents.0.document.id": "fares.md"},
)
_OPEN_INFERENCE = (
    {"openinference.span.kind": "CHAIN", "input.value": "What is the fare?", "output.value": "Five."},
    {
        "openinference.span.kind": "RETRIEVER",
        "input.value": '{"query": "fare"}',
        "retrieval.documents.0.document.content": "Five.",
        "retrieval.documents.0.document.score": "0.5",
        "retrieval.documents.0.document.metadata": '{"source": "fares.md"}',
    },
    {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "What is the fare?",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "fare",
        "llm.token_count.prompt": "12",
    },
    {"openinference.span.kind": "TOOL", "tool.name": "fare", "input.value": "{}", "output.value": "5"},
)


def _exported(*spans: dict[str, object]) -> bytes:
    """Return spans as the file exporter of a collector writes them, a line each."""
    return _lines(*({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]} for span in spans))


def _all_traced(said: tuple[dict[str, str], ...]) -> list[dict[str, object]]:
    return [_traced(number, each) for number, each in enumerate(said, start=1)]


def _traces() -> tuple[bytes, ...]:
    """Return traces of both conventions: packed, in circles, without parents, by other clocks, of an SDK."""
    spans, others = _all_traced(_SPANS), _all_traced(_OPEN_INFERENCE)
    circle = [{**each, "parentSpanId": others[at - 1]["spanId"]} for at, each in enumerate(others)]
    lost = [{**each, "parentSpanId": "00000000000000ff"} for each in others]
    clocks = [{**others[0], "startTimeUnixNano": "1", "endTimeUnixNano": "0"}, *others[1:]]
    at_once = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [*spans, *others]}]}]}
    console = {
        "name": "chain",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "parent_id": None,
        "start_time": "2026-11-16T08:00:00.000000Z",
        "attributes": _OPEN_INFERENCE[0],
    }
    fixtures = EXAMPLES.parent / "tests" / "fixtures" / "traces"
    made = [(fixtures / name).read_bytes() for name in ("pydantic_ai_5.jsonl", "langchain.jsonl.gz")]
    return (
        *(_exported(*spans), _exported(*others), gzip.compress(_exported(*others), mtime=0)),
        *(_exported(*circle), _exported(*lost), _exported(*clocks), json.dumps(at_once).encode()),
        json.dumps(console).encode(),
        *made,
    )


def _example(*parts: str) -> bytes:
    return EXAMPLES.joinpath(*parts).read_bytes()


@cache
def grammars() -> dict[str, Grammar]:
    """Return every kind of file by name."""
    samples = _lines(_SAMPLE, {**_SAMPLE, "id": "s2", "expected": "Refusal"})
    answers = _lines({"id": "s1", "answer": "Five pounds.", "latency_ms": 12.5, "contexts": ["c"]})
    annotation = {
        "annotation_id": "a1",
        "query_id": "s1",
        "annotator_id": "anna",
        "annotations": {"overall_score": 0.8, "factual_correctness": "fully_correct"},
        "citations": [{"file_name": "fares.md", "start_char": 0, "end_char": 9, "is_relevant": True}],
        "created_at": "2026-11-15T04:00:00Z",
    }
    qrels = b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n"
    run = b"q1 Q0 d1 1 3.5 a\nq1 Q0 d7 2 2 a\nq2 Q0 d3 1 1e-3 a\n"
    golden = EXAMPLES / "golden" / "evaluation" / "datasets"
    found = {
        "agent-samples": Grammar(
            "bad.jsonl",
            (samples,),
            (
                "validate @",
                "stats @",
                "convert @ out.eval.json --lossy",
                "evaluate given.yaml --target answers.jsonl",
            ),
        ),
        "evaluation-dataset": Grammar(
            "bad.eval.json",
            (json.dumps(_QUESTIONS, indent=1).encode(),),
            (
                "validate @",
                "stats @",
                "convert @ out.jsonl --to ragas --lossy",
                "retrieval documents --dataset @ -k 2",
            ),
        ),
        "csv": Grammar(
            "bad.csv",
            (
                b'user_input,response,retrieved_contexts,reference\nq,"a, b","[""c""]",r\nq2,a,"[\'x\']",r\n',
                b"query_id;good;note\ns1;1;yes\ns2;0;\n",
            ),
            (
                "validate @",
                "stats @",
                "convert @ out.eval.json --lossy",
                "calibrate old --labels @ --label good",
            ),
        ),
        "rows": Grammar(
            "rows.any",
            _ROWS,
            (
                "score @",
                "score @ -m token_f1 -m context_recall",
                "score @ --map answer=reply --map contexts=chunks[*].text",
                "validate @",
                "stats @",
                "sample @ -n 2",
                "convert @ out.jsonl --to agent-samples --lossy",
                "evaluate @ --target answers.jsonl",
            ),
        ),
        "traces": Grammar(
            "bad.traces.jsonl",
            (_example("langchain_traces", "traces.jsonl"), *_traces()),
            (
                "validate @",
                "stats @",
                "score @",
                "score @ -m hop_recall -m tool_called --dataset samples.jsonl --since 2020-01-01",
                "convert @ out.jsonl --to agent-samples --lossy",
            ),
        ),
        "annotations": Grammar(
            "bad.gt.json",
            (
                json.dumps(
                    {
                        "annotations": [
                            annotation,
                            {**annotation, "annotation_id": "a2", "annotator_id": "ben"},
                        ]
                    }
                ).encode(),
            ),
            ("validate @", "agreement @ --resamples 100", "calibrate old --annotations @"),
        ),
        "golden": Grammar(
            "golden/factual_qa.json",
            ((golden / "factual_qa.json").read_bytes(),),
            ("validate @", "stats @", "golden golden --target answers.jsonl"),
        ),
        "golden-multiturn": Grammar(
            "golden/multiturn_qa.json",
            ((golden / "multiturn_qa.json").read_bytes(),),
            (
                "validate @",
                "convert @ out.jsonl --to agent-samples --lossy",
                "golden golden --target answers.jsonl",
            ),
        ),
        "manifest": Grammar(
            "bad.yaml",
            (_MANIFEST.encode(),),
            ("evaluate @ --target answers.jsonl", "evaluate @ --url http://127.0.0.1:9 --dry-run"),
        ),
        "configuration": Grammar(
            "bad.config.yaml",
            (_CONFIGURATION.encode(),),
            ("validate @", "build --config @", "retrieval --config @"),
        ),
        "rubric": Grammar(
            "rubric.yaml",
            (_example("judging", "rubric.yaml"),),
            (
                "evaluate given.yaml --target answers.jsonl -m rubric --rubric @ --dry-run --judge-model m "
                "--judge-url http://127.0.0.1:9",
            ),
        ),
        "qrels": Grammar(
            "bad.qrels",
            (qrels, b"query-id\tcorpus-id\tscore\nq1\td1\t2\n", b'{"q1": {"d1": 1}, "q2": ["d3"]}'),
            ("rank @ a.run", "validate @", "stats @"),
        ),
        "run": Grammar(
            "bad.run",
            (run, b'{"q1": {"d1": 1.5}}', b'{"q1": ["d1", "d2"]}'),
            ("rank qrels @ --rules trec_eval --totals", "rank qrels @ a.run -m mrr -m map@5"),
        ),
        "offline-records": Grammar(
            "raw.jsonl",
            (b"".join(_example("offline", "offline_dataset.jsonl").splitlines(keepends=True)[:4]),),
            (
                "build --offline-dataset @ --on-error skip --qa-output o1.jsonl --summaries-output o2.jsonl "
                "--manifest-output o3.json",
                "validate @",
            ),
        ),
        "recorded-answers": Grammar(
            "answers2.jsonl", (answers,), ("evaluate given.yaml --target @", "golden golden --target @")
        ),
        "results": Grammar(
            "bad.results.json",
            (b"results",),
            ("validate @", "show @", "compare @ old", "calibrate @ --labels labels.csv --label good"),
        ),
        "journal": Grammar(
            "runs/old/journal.jsonl",
            (b"journal",),
            ("score old -m rouge", "runs", "calibrate old --labels labels.csv --label good"),
        ),
        "head": Grammar("runs/old/head.json", (b"head",), ("score old -m rouge", "runs")),
        "markdown": Grammar(
            "documents/fares.md",
            (_MARKDOWN,),
            (
                "generate documents -o out.eval.json --force",
                "retrieval documents --dataset questions.eval.json -k 1",
            ),
        ),
        "html": Grammar(
            "documents/page.html", (_HTML,), ("generate documents --glob **/*.html -o out.eval.json --force",)
        ),
    }
    with contextlib.suppress(ImportError):
        found["parquet"] = Grammar(
            "bad.parquet",
            (_parquet(),),
            ("validate @ --format ragas", "stats @", "convert @ out.eval.json --from ragas --lossy"),
        )
    with contextlib.suppress(ImportError):
        found["hdf5"] = Grammar("bad.benchmark.h5", (_hdf5(),), ("validate @",))
    return found


def _parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    rows = {"user_input": ["q1", "q2"], "response": ["a", "b"], "retrieved_contexts": [["c"], ["d", "e"]]}
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(rows), stream, compression="zstd")
    return stream.getvalue()


def _hdf5() -> bytes:
    from rag_evaluation_framework.datasets.benchmark_files import table_bytes

    return table_bytes(
        {"benchmark_id": "b"}, [{"query_id": "q1", "score": 0.5}, {"query_id": "q2", "score": 1.0}]
    )


# Mutations: of bytes, of words, and of the values of JSON.

_WORDS = (
    *(b"null true false NaN Infinity -Infinity 1e400 -0 0x10 1_000 " + b"9" * 400).split(),
    *(b'"\\ud800" {} [] "" $file:/etc/passwd $env:HOME !!python/object:os.system ../../x %s%n // /*').split(),
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n\n", b"\t", b"# ", b"---\n", b"{{ x }}", b"=1+1"),
    *(b"&a [*a, *a]", b"<<: *x", b"' OR 1=1", "\u2028\u00e9\u6c49".encode()),
    *(b"[" * 3000, b'{"a":' * 2000, b"x" * 100_000, b"(" * 5000, b"-" * 3000, b"1" * 5000),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 2**63, 10**400, 1e308, 5e-324),
    *("", " ", "x" * 10_000, "\x00", "\u2028", "NaN", "2026-13-45", "../..", "q1"),
    *([], {}, [[]], [None], [{}], {"": ""}, {"a": {"b": [1, {"c": None}]}}, ["a"] * 1000, [1, "a", None]),
)


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 3, 10, 100, 1000)))


def _cut(data: bytes, chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _repeated(data: bytes, chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:end] + data[start:end] * chance.choice((1, 2, 50)) + data[end:]


def _inserted(data: bytes, chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + chance.choice(_WORDS) + data[chance.choice((start, end)) :]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    words = data.split(b" ")
    if len(words) > 1:
        one, other = chance.randrange(len(words)), chance.randrange(len(words))
        words[one], words[other] = words[other], words[one]
    return b" ".join(words)


def _packed(data: bytes, chance: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return _flipped(packed, chance) if chance.random() < 0.7 else packed


def _restructured(data: bytes, chance: random.Random) -> bytes:
    """Change a value, a key or a list of a JSON document, or of one of its lines."""
    lines = data.splitlines()
    is_lines = len(lines) > 1 and all(_json(line) is not None for line in lines)
    place = chance.randrange(len(lines)) if is_lines else 0
    value = _json(lines[place]) if is_lines else _json(data)
    if value is None:
        return _inserted(data, chance)
    holders = list(_holders(value))
    if not holders:
        return json.dumps(chance.choice(_VALUES)).encode()
    holder = chance.choice(holders)
    key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
    match chance.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(key) + chance.choice(("s", " ", "_id", "é"))] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.extend([holder[key]] * chance.choice((1, 3, 200)))
        case _:
            holder[key] = chance.choice(_VALUES)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join([*lines[:place], text, *lines[place + 1 :]]) if is_lines else text


def _json(data: bytes) -> Any:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _holders(value: Any) -> Iterator[Any]:
    """Yield every object and list in a value that is not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


_MUTATIONS: tuple[Mutation, ...] = (
    _flipped,
    _cut,
    _truncated,
    _repeated,
    _inserted,
    _inserted,
    _swapped,
    _packed,
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return data after one to three mutations; those of structure come first, while there is one."""
    if chance.random() < 0.5:
        data = _restructured(data, chance)
        if chance.random() < 0.6:
            return data
    for _ in range(chance.choice((1, 1, 2))):
        data = chance.choice(_MUTATIONS)(data, chance)
    return data


# Running.


def project(folder: Path) -> None:
    """Fill a folder with what the commands need beside the mutated file, a complete run among it."""
    for name in ("documents", "golden"):
        (folder / name).mkdir(parents=True)
    (folder / "documents" / "fares.md").write_bytes(_MARKDOWN)
    (folder / "documents" / "page.html").write_bytes(_HTML)
    shutil.copy(EXAMPLES / "golden" / "evaluation" / "datasets" / "factual_qa.json", folder / "golden")
    (folder / "questions.eval.json").write_text(json.dumps(_QUESTIONS), encoding="utf-8")
    (folder / "raw.jsonl").write_bytes(_example("offline", "offline_dataset.jsonl"))
    shutil.copytree(EXAMPLES / "golden" / "stories", folder / "stories")
    (folder / "qrels").write_bytes(b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n")
    (folder / "a.run").write_bytes(b"q1 Q0 d1 1 3.5 a\nq1 Q0 d7 2 2 a\nq2 Q0 d3 1 1e-3 a\n")
    (folder / "samples.jsonl").write_bytes(_lines(_SAMPLE, {**_SAMPLE, "id": "s2", "input": "And to Calf?"}))
    (folder / "answers.jsonl").write_bytes(
        _lines(*({"id": each, "answer": "Five."} for each in ("s1", "s2")))
    )
    (folder / "labels.csv").write_bytes(b"query_id,good\ns1,1\ns2,0\n")
    (folder / "agent.yaml").write_bytes(_MANIFEST.encode())
    (folder / "given.yaml").write_bytes(_MANIFEST.replace("samples.jsonl", "bad.jsonl").encode())
    shutil.copy(folder / "samples.jsonl", folder / "bad.jsonl")
    code, said = _ended(["evaluate", "agent.yaml", "--target", "answers.jsonl"], folder)
    assert code in (0, 1), said
    (run,) = (folder / "runs").iterdir()
    run.rename(folder / "runs" / "old")


def _ended(arguments: list[str], folder: Path) -> tuple[object, str]:
    """Run a command in this process; return its exit code and what it said."""
    from rag_evaluation_framework.cli.main import main

    os.chdir(folder)
    said, code = _Said(), "no end"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code  # type: ignore[assignment]  # ours are numbers
        except BaseException:  # noqa: BLE001  # whatever gets out of a command is what is looked for
            said.write(traceback.format_exc())
    return code, said.getvalue()


class _Said(io.StringIO):
    """What a command prints; whoever asks for the file gets one that leads nowhere."""

    def fileno(self) -> int:
        return os.open(os.devnull, os.O_WRONLY)


class _GivenUpError(BaseException):
    """A command took too long; nothing of ours catches this."""


def _given_up(*_: object) -> None:
    raise _GivenUpError


def seeds_of(name: str, base: Path) -> tuple[bytes, ...]:
    """Return the good files of a grammar; those of a run are taken from the run itself."""
    file = {"results": "results.json", "journal": "journal.jsonl", "head": "head.json"}.get(name)
    return grammars()[name].seeds if file is None else ((base / "runs" / "old" / file).read_bytes(),)


def file_of(number: int, seed: int, base: Path, names: tuple[str, ...] = ()) -> tuple[str, str, bytes]:
    """Return the grammar (one of ``names``, or any), the command and the mutated file of a number."""
    chance = random.Random(f"{seed}.{number}")
    name = chance.choice(names or sorted(grammars()))
    data = mutated(chance.choice(seeds_of(name, base)), chance)
    return name, chance.choice(grammars()[name].commands), data


def tried(base: Path, name: str, data: bytes, command: str, *, number: int = 0, patience: int = 0) -> Case:
    """Give a file to a command, in a folder of its own; the process is then in ``base`` again.

    After so many seconds of ``patience`` the command is given up: of its processor, or ten times as many by
    the clock, since on a busy machine the clock says little. Its memory is what it took beyond what the
    process held before.
    """
    file = grammars()[name].file
    held = _memory("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(base, folder, dirs_exist_ok=True)
        Path(folder, file).write_bytes(data)
        began = time.monotonic(), time.process_time()
        if patience:  # for the command alone: a busy disk is not at fault
            signal.setitimer(signal.ITIMER_PROF, patience)
            signal.alarm(_BY_THE_CLOCK * patience)
        code, said = _ended([file if word == "@" else word for word in command.split()], Path(folder))
        if patience:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        seconds = max((time.monotonic() - began[0]) / _BY_THE_CLOCK, time.process_time() - began[1])
        os.chdir(base)
    return Case(number, name, command, data, code, said[-3000:], seconds, _memory("VmHWM") - held)


def _memory(field: str) -> float:
    """Return what this process holds, or held at most, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def run_cases(numbers: range, seed: int, base: Path, names: tuple[str, ...] = ()) -> list[Case]:
    """Make the files of these numbers and give them to their commands, in this process."""
    for each in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(each, _given_up)
    cases = []
    for number in numbers:
        name, command, data = file_of(number, seed, base, names)
        cases.append(tried(base, name, data, command, number=number, patience=SECONDS + 1))
    return cases


def _work(arguments: tuple[range, int, Path, tuple[str, ...]]) -> list[Case]:
    return run_cases(*arguments)


def _settled(case: Case, seed: int, base: Path, names: tuple[str, ...]) -> Case:
    """Return a case as it is, or, where it looks like a fault, of a process of its own, as a user has it.

    A worker holds what 250 commands loaded, up to 200 MB of it libraries, and the machine may be busy:
    neither is the command's fault, and what was loaded before does not count for it.
    """
    if case.fault is None and case.peak_mb < MOST_MB - 200:
        return case
    numbers = range(case.number, case.number + 1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run_cases, (numbers, seed, base, names))[0]


def main(files: int = FILES, seed: int = 0, names: tuple[str, ...] = ()) -> int:
    """Print how the commands ended, and each fault once with the file that shows it; return the faults."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        project(base)
        os.chdir(base)
        pieces = [
            (range(at, min(at + _PER_WORKER, files)), seed, base, names)
            for at in range(0, files, _PER_WORKER)
        ]
        codes: Counter[tuple[str, object]] = Counter()
        faults: dict[str, Case] = {}
        slowest = largest = 0.0
        began = time.monotonic()
        context = multiprocessing.get_context("spawn")
        with context.Pool(max(1, (os.cpu_count() or 2)), maxtasksperchild=1) as pool:
            for cases in pool.imap_unordered(_work, pieces):
                if sum(codes.values()) % 1000 + len(cases) >= 1000:
                    print(
                        f"{sum(codes.values()) + len(cases):,} after {time.monotonic() - began:.0f} s",
                        flush=True,
                    )
                for case in (_settled(each, seed, base, names) for each in cases):
                    codes[case.grammar, case.code] += 1
                    slowest, largest = max(slowest, case.seconds), max(largest, case.peak_mb)
                    if case.fault is not None and case.fault not in faults:
                        faults[case.fault] = case
                        print(
                            f"FAULT {case.fault}\n  {case.number}: {case.command}\n{case.said[-1500:]}",
                            flush=True,
                        )
        for grammar in sorted({name for name, _ in codes}):
            ended = ", ".join(
                f"{code}: {codes[grammar, code]}" for code in (0, 1, 2, 3) if codes[grammar, code]
            )
            print(f"{grammar:<20} {ended}")
        print(f"{files:,} files, {len(faults)} faults; slowest {slowest:.1f} s, largest {largest:.0f} MB")
    return len(faults)


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    named = tuple(given[3].split(",")) if 3 in given else ()
    if unknown := sorted(set(named) - grammars().keys()):
        sys.exit(f"there is no grammar {', '.join(unknown)}; there are {', '.join(sorted(grammars()))}")
    sys.exit(bool(main(int(given.get(1, FILES)), int(given.get(2, 0)), named)))
