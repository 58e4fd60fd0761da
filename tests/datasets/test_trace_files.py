"""Traces read into samples: by every convention, in every layout, whatever is wrong with some of them."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from otlp_spans import BEGAN, attributes, request, retrieval, root, span, tool, write
from rag_evaluation_framework import InputError, UsageError, evaluate, read_dataset
from rag_evaluation_framework.datasets import traces as trace_reading
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.traces import ReadTraces
from rag_evaluation_framework.datasets.validation import checked_files
from rag_evaluation_framework.files.access import compress
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.steps import TraceChoice
from rag_evaluation_framework.structs import asdict

TABLES = tables_beside(__file__)
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "langchain_traces" / "traces.jsonl"
FIXTURES = ROOT / "tests" / "fixtures" / "traces"


def only(path: Path) -> Sample:
    (sample,) = read_dataset(path).samples
    return sample


def test_the_traces_of_a_langchain_assistant_are_read_with_their_steps() -> None:
    samples = read_dataset(EXAMPLE).samples
    shown = [[step.kind for step in sample.trace.steps] for sample in samples if sample.trace]
    assert shown == [
        ["retrieval", "model"],
        ["retrieval", "retrieval", "model"],
        ["retrieval", "retrieval", "model"],
        ["retrieval", "tool", "tool", "model"],
        ["retrieval", "model"],
        ["model"],
    ]
    freight = samples[1]
    assert freight.question.startswith("How much freight")
    assert freight.recorded.answer.startswith("A single piece may not weigh more than 400 kilograms.")
    first, second, model = freight.trace.steps if freight.trace else ()
    assert (first.query, second.query) == (
        "freight single piece weigh kilograms crane limit",
        "vessels freight deck Kittiwake Guillemot",
    )
    assert [each.names[0] for each in first.found or ()] == ["fares.md", "freight.md", "freight.md"]
    # The piece that both searches found is one context.
    assert len(freight.recorded.contexts) == 5
    assert (model.input_tokens, model.output_tokens) == (498, 15)
    assert {"file", "start", "end"} <= freight.recorded.retrieved[0].keys()


def test_what_failed_is_an_error_of_its_step_in_one_line() -> None:
    fares = read_dataset(EXAMPLE).samples[3]
    right, wrong = (step for step in (fares.trace.steps if fares.trace else ()) if step.kind == "tool")
    assert (right.arguments, right.error) == ({"passenger": "adult", "ticket": "return"}, None)
    assert wrong.error == "KeyError(('senior', 'return'))"


def test_the_turns_of_a_conversation_know_those_before_them() -> None:
    first, second = read_dataset(EXAMPLE).samples[-2:]
    assert (first.trace.conversation, first.trace.before) == ("visit-7", ())
    assert second.trace.before == ((first.question, first.recorded.answer),)
    # Nothing was retrieved for the second: it was answered from what the first had found.
    assert second.recorded.contexts == first.recorded.contexts
    assert second.recorded.retrieved == ()


@pytest.mark.parametrize("file", ["pydantic_ai_2.jsonl", "pydantic_ai_5.jsonl", "console.json"])
def test_an_agent_by_the_conventions_of_opentelemetry_is_read(file: str) -> None:
    sample = only(FIXTURES / file)
    assert sample.question == "What is the fare to Skerry?"
    assert sample.recorded.answer == "The fare to Skerry is five pounds."
    assert sample.recorded.contexts == ("The fare to Skerry is five pounds, and dogs travel free.",)
    assert [(step.kind, step.arguments) for step in (sample.trace.steps if sample.trace else ())] == [
        ("model", None),
        ("tool", {"query": "fare to Skerry"}),
        ("model", None),
    ]


@pytest.mark.parametrize("case", TABLES["each convention of a step is read"], ids=lambda case: case["name"])
def test_each_convention_of_a_step_is_read(case: dict[str, Any], tmp_path: Path) -> None:
    sample = only(write(tmp_path / "t", request(root(1), span(1, 2, 1, case["said"], at=20, ms=7))))
    (step,) = sample.trace.steps if sample.trace else ()
    told = {name: value for name, value in asdict(step).items() if value is not None}
    assert (told.pop("started_ms"), told.pop("took_ms"), told.pop("span")) == (20, 7, f"{2:016x}")
    for found in told.get("found", ()):
        found |= {"names": list(found["names"])}
        for name in [name for name, value in found.items() if value is None]:
            del found[name]
    assert {**told, "query": told.get("query")} == {
        **case["step"],
        "query": case["step"].get("query"),
        **({"found": tuple(case["step"]["found"])} if "found" in case["step"] else {}),
    }


@pytest.mark.parametrize(
    "case", TABLES["each convention of a model's messages is read"], ids=lambda case: case["name"]
)
def test_each_convention_of_a_models_messages_is_read(case: dict[str, Any], tmp_path: Path) -> None:
    events = [{"name": name, "attributes": attributes(said)} for name, said in case.get("events", {}).items()]
    outer = span(1, 1, None, {"http.route": "/chat"}, at=0, ms=90)
    sample = only(write(tmp_path / "t", request(outer, span(1, 2, 1, case["said"], events=events))))
    assert (sample.question, sample.recorded.answer) == ("What is the fare?", "Five pounds.")


@pytest.mark.parametrize(("value", "question"), TABLES["a question is found in what a chain was given"])
def test_a_question_is_found_in_what_a_chain_was_given(
    value: str, question: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "t", request(root(1, value), retrieval(1, 2, "fare", {"a": "x"})))
    # Without one, what was looked for is what was asked.
    assert only(path).question == (question or "fare")


def test_what_reranking_leaves_is_what_the_system_was_given(tmp_path: Path) -> None:
    ranked = {
        "openinference.span.kind": "RERANKER",
        "reranker.output_documents.0.document.id": "b",
        "reranker.output_documents.0.document.score": 0.9,
    }
    spans = [
        root(1),
        retrieval(1, 2, "fare", {"a": "text a", "b": "text b"}),
        span(1, 3, 1, ranked),
        retrieval(1, 4, "dogs", {"c": "text c"}),
    ]
    recorded = only(write(tmp_path / "t", request(*spans))).recorded
    assert recorded.contexts == ("text b", "text c")
    assert [hit["id"] for hit in recorded.retrieved] == ["b", "c"]


def test_of_a_step_within_one_of_its_kind_the_outer_counts(tmp_path: Path) -> None:
    spans = [root(1), retrieval(1, 2, "all", {"a": "x"}), retrieval(1, 3, "part", {"a": "x"}, parent=2)]
    sample = only(write(tmp_path / "t", request(*spans)))
    assert [step.query for step in (sample.trace.steps if sample.trace else ())] == ["all"]


def test_files_folders_layouts_and_compressions_read_the_same(tmp_path: Path) -> None:
    spans = [root(1), retrieval(1, 2, "fare", {"a": "x"})]
    whole = request(*spans)
    snake = json.loads(
        json.dumps(whole)
        .replace("resourceSpans", "resource_spans")
        .replace("scopeSpans", "scope_spans")
        .replace("spanId", "span_id")
        .replace("traceId", "trace_id")
        .replace("parentSpanId", "parent_span_id")
        .replace("startTimeUnixNano", "start_time_unix_nano")
        .replace("endTimeUnixNano", "end_time_unix_nano")
        .replace("stringValue", "string_value")
    )
    protobuf = json.loads(json.dumps(whole))
    for each in protobuf["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in {"traceId", "spanId", "parentSpanId"} & each.keys():
            each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    line = json.dumps(whole).encode()
    halves = [json.dumps(request(each)).encode() for each in reversed(spans)]
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(halves[0])
    (folder / "inner" / "b.json.gz").write_bytes(gzip.compress(halves[1]))
    (folder / "notes.txt").write_text("no spans")
    forms = {
        "line": line,
        "indented": json.dumps(whole, indent=2).encode(),
        "array": json.dumps([whole]).encode(),
        "halves": b"\n".join(halves),
        "several indented": b"\n".join(json.dumps(json.loads(each), indent=1).encode() for each in halves),
        "gzip": gzip.compress(line),
        "zstd": compress(line, "zstd"),
        "snake": json.dumps(snake).encode(),
        "protobuf": json.dumps(protobuf).encode(),
    }
    read = {"folder": only(folder)}
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        assert recognise(tmp_path / name).name == "traces"
        read[name] = only(tmp_path / name)
    first = read["line"]
    assert first.recorded.contexts == ("x",)
    for name, sample in read.items():
        assert (sample.id, sample.turns, sample.recorded, sample.trace) == (
            *(first.id, first.turns, first.recorded, first.trace),
        ), name


WRONG: dict[str, tuple[list[Any], list[str]]] = {
    "missing parent": ([request(root(2), retrieval(2, 2, "q", {"a": "x"}, parent=9))], ["missing-parent"]),
    "lost in this process": ([request(retrieval(2, 2, "q", {}, parent=9, flags=0x100))], ["missing-parent"]),
    "circle": ([request(root(2), span(2, 2, 3, {"gen_ai.system": "x"}), span(2, 3, 2))], ["cycle"]),
    "own parent": ([request(span(2, 2, 2, {"gen_ai.system": "x"}))], ["cycle"]),
    "two of one id": ([request(root(2), root(2, answer="Six."))], ["duplicate-span"]),
    "wrong attribute": ([request(root(2), {**span(2, 2, 1), "attributes": [{"key": 5}]})], ["wrong-span"]),
    "wrong number": (
        [request(root(2), {**span(2, 2, 1), "attributes": [{"key": "a", "value": {"intValue": "x"}}]})],
        ["wrong-span"],
    ),
    "wrong id": ([request({**root(2), "traceId": "xyz"})], ["wrong-span"]),
    "zero id": ([request({**root(2), "spanId": "0" * 16})], ["wrong-span"]),
    "wrong time": ([request({**root(2), "startTimeUnixNano": "1794833653"})], ["wrong-span"]),
    "no list": ([{"resourceSpans": {"scopeSpans": 5}}], ["wrong-type"]),
    "no object": ([{"resourceSpans": [[{"scopeSpans": []}]]}], ["wrong-type"]),
    "no scope": ([{"resourceSpans": [{"scopeSpans": [[]]}]}], ["wrong-type"]),
    "no spans": ([{"a": 1}], ["no-spans"]),
    "cut off": (
        [json.dumps(request(root(2), retrieval(2, 2, "q", {"a": "x"})))[:-40], request(root(2))],
        ["json-syntax"],
    ),
    "no question": ([request(span(2, 1, None, {"openinference.span.kind": "LLM"}))], ["no-question"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place_and_its_trace_left_out(name: str, tmp_path: Path) -> None:
    requests, codes = WRONG[name]
    path = write(tmp_path / "t.jsonl", request(root(1)), *requests, request(root(3)))
    traces = ReadTraces(path)
    assert [int(sample.id, 16) for sample in traces.stream()] == [1, 3]
    assert [issue.code for issue in traces.problems.issues] == codes
    assert [(issue.file, issue.line) for issue in traces.problems.issues] == [(str(path), 2)]
    assert any(f"{path}:2: " in doubt for doubt in traces.doubts)
    (checked,) = checked_files([path])
    assert [issue.code for issue in checked.issues] == codes
    with pytest.raises(InputError, match=r"t\.jsonl:2: "):
        read_dataset(path)


def test_other_clocks_are_told_and_what_they_say_is_not_used(tmp_path: Path) -> None:
    early = retrieval(1, 2, "first", {"a": "x"}, at=-5000)
    path = write(
        tmp_path / "t", request(root(1), retrieval(1, 3, "then", {"b": "y"})), request(early, service="b")
    )
    traces = ReadTraces(path)
    (sample,) = traces.stream()
    assert [(issue.code, issue.severity) for issue in traces.problems.issues] == [("other-clock", "warning")]
    steps = sample.trace.steps if sample.trace else ()
    assert [(step.query, step.started_ms) for step in steps] == [("first", 0), ("then", 30)]
    backwards = {**root(1), "endTimeUnixNano": str(BEGAN - 1)}
    sample = only(write(tmp_path / "b", request(backwards)))
    assert sample.trace.took_ms is None


def test_what_was_retrieved_is_not_known_where_the_span_does_not_say(tmp_path: Path) -> None:
    silent = span(1, 2, 1, {"openinference.span.kind": "RETRIEVER", "input.value": "q"})
    traces = ReadTraces(write(tmp_path / "t", request(root(1), silent, retrieval(1, 3, "then", {"b": "y"}))))
    (sample,) = traces.stream()
    assert [issue.code for issue in traces.problems.issues] == ["no-documents"]
    assert (sample.recorded.contexts, sample.recorded.retrieved_nothing) == ((), False)


def test_a_batch_that_was_sent_twice_counts_once_and_other_spans_are_passed_over(tmp_path: Path) -> None:
    batch = request(root(1), retrieval(1, 2, "q", {"a": "x"}))
    health = request(span(2, 1, None, {"http.route": "/health"}))
    traces = ReadTraces(write(tmp_path / "t", batch, health, batch, {"resourceLogs": []}))
    assert len(list(traces.stream())) == 1
    assert traces.doubts == ("Skipped 1 trace without a model call, a retrieval or a tool call",)


def test_a_trace_called_from_elsewhere_is_whole_and_two_calls_are_two_samples(tmp_path: Path) -> None:
    called = [{**root(1), "parentSpanId": "00000000000000ff", "flags": 0x300}]
    assert only(write(tmp_path / "one", request(*called))).id == f"{1:032x}"
    other = {**root(1, "And dogs?"), "spanId": "000000000000000b", "parentSpanId": "00000000000000ff"}
    path = write(tmp_path / "two", request(*called, {**other, "flags": 0x300}))
    assert [sample.id[-18:] for sample in read_dataset(path).samples] == [
        "1-0000000000000001",
        "1-000000000000000b",
    ]


def test_in_little_room_traces_are_finished_when_nothing_more_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [request(retrieval(n, 2, "q", {"a": "x"}), root(n, f"Question {n}?")) for n in range(1, 60)]
    path = write(tmp_path / "t", *requests, request(retrieval(1, 3, "late", {"b": "y"})))
    plenty = {sample.question for sample in ReadTraces(path).stream()}
    monkeypatch.setattr(trace_reading, "MOST_OPEN_TRACES", 10)
    traces = ReadTraces(path)
    assert {sample.question for sample in traces.stream()} == plenty
    assert len(plenty) == 59
    assert [(issue.code, issue.line) for issue in traces.problems.issues] == [("late-span", 60)]


MOMENT = "2026-11-16T12:54:13+00:00"


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        (TraceChoice(), [1, 2, 3]),
        (TraceChoice(since=MOMENT), [1, 2, 3]),
        (TraceChoice(until=MOMENT), []),
        (TraceChoice(since="2026-11-16T12:54:13.050Z", until="2026-11-17"), [3]),
        (TraceChoice(services=("desk",)), [2]),
        (TraceChoice(services=("desk", "web")), [1, 2]),
        (TraceChoice(where=("tier=gold",)), [1, 3]),
        (TraceChoice(where=("tier=gold", "beta=true")), [3]),
        (TraceChoice(where=("service.name=desk",)), [2]),
        (TraceChoice(where=("tier=tin",)), []),
    ],
)
def test_traces_are_chosen_by_time_service_and_attributes(
    choice: TraceChoice, chosen: list[int], tmp_path: Path
) -> None:
    third = {**root(3, said={"tier": "gold"}), "startTimeUnixNano": str(BEGAN + 10**8)}
    path = write(
        tmp_path / "t",
        request(root(1), span(1, 2, 1, {"tier": "gold"}), service="web"),
        request(root(2), service="desk"),
        request({**third, "attributes": [*third["attributes"], *attributes({"beta": True})]}),
    )
    assert [int(sample.id, 16) for sample in ReadTraces(path, choice).stream()] == chosen


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"since": "yesterday"}, "since: expected a date or time such as 2026-11-16"),
        ({"since": "2026-11-17", "until": "2026-11-16"}, "since: expected a time before 2026-11-16"),
        ({"where": ("gold",)}, "where: expected attribute=value, got 'gold'"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        TraceChoice(**given)


def test_what_a_dataset_expects_is_found_by_question_or_by_id(tmp_path: Path) -> None:
    dataset = tmp_path / "expected.jsonl"
    lines = TABLES["lines"]
    dataset.write_text("".join(json.dumps(line) + "\n" for line in lines))
    piece = retrieval(1, 2, "q", {"piece-1": "x"})
    piece["attributes"] += attributes({"retrieval.documents.0.document.metadata": '{"source": "fares.md"}'})
    path = write(
        tmp_path / "t.jsonl",
        request(root(1), piece, root(2, "Dogs?", said={"rag_eval.sample_id": "s2"}), root(3, "Twice?")),
    )
    traces = ReadTraces(path, TraceChoice(expected=dataset))
    fare, dogs, twice = traces.stream()
    assert (fare.reference, dict(fare.relevant_documents)) == ("Five pounds.", {"piece-1": 1})
    # The piece has the name by which the dataset knows it.
    assert [hit["names"] for hit in fare.recorded.retrieved] == [["fares.md", "piece-1"]]
    assert (dogs.reference, twice.reference) == ("No.", None)
    assert traces.doubts == (f"2 of 3 traces match a question in {dataset}",)


def test_traces_are_never_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write traces"):
        recognise(EXAMPLE).write(read_dataset(EXAMPLE), tmp_path / "t")


def test_a_tool_is_called_with_what_stands_in_its_span(tmp_path: Path) -> None:
    sample = only(write(tmp_path / "t", request(root(1), tool(1, 2, "fare", {"to": "Skerry"}))))
    # Where nothing was retrieved, what tools returned is what the answer was made from.
    assert sample.recorded.contexts == ("done",)


def test_a_trace_that_only_retrieves_skips_the_metrics_of_answers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.otlp.json", request(retrieval(1, 1, "fare?", {"a": "The fare is 5."}, parent=None))
    )
    result = evaluate(path, metrics=["faithfulness", "needless_steps"])
    assert [(each.reason, each.count) for each in result.metrics["faithfulness"].reasons] == [
        ("the sample has retrieved passages but no answer", 1)
    ]
    assert result.metrics["faithfulness"].n_failed == 0
    assert result.metrics["needless_steps"].n_scored == 1
