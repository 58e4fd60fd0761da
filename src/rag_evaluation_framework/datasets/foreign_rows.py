"""The rows in files of other tools: below a key, in an archive, in the events of a log.

A log or a result is reduced to what samples hold: what was asked, retrieved, answered and expected.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from rag_evaluation_framework.datasets.csv_tables import Columns, write_rows
from rag_evaluation_framework.datasets.dialect import OnError, Record
from rag_evaluation_framework.datasets.field_names import content_text, table
from rag_evaluation_framework.datasets.record_files import PlacedRecord, layout_of, read_records
from rag_evaluation_framework.datasets.value_files import read_document
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import DEFAULT_LIMITS, open_stored
from rag_evaluation_framework.files.json_scanner import lines_of
from rag_evaluation_framework.files.strict_json import drop_nulls, value_at
from rag_evaluation_framework.records.samples import Usage

if sys.version_info < (3, 14):
    from backports.zstd import zipfile
else:
    import zipfile


_Took: TypeAlias = tuple[Usage | None, float | None]
_TOO_MANY = 1 << 53


# Rows that stand below something.


def _within(placed: PlacedRecord, *paths: str) -> Iterator[PlacedRecord]:
    """Yield the rows below the first of the paths that leads to a list; without one, the record itself."""
    for path in paths:
        rows = value_at(placed.value, path)
        if isinstance(rows, list):
            names = [f"{path}[{index}]" for index in range(len(rows))]
            lines = lines_of(placed.text, names) if placed.text is not None else {}
            first = (placed.line or 1) - 1
            is_shared = len(set(lines.values())) < len(rows)
            for number, (name, row) in enumerate(zip(names, rows, strict=True), 1):
                found = lines.get(name)
                line = placed.line if found is None else first + found
                yield PlacedRecord(row, line, placed.within + name, number=number if is_shared else None)
            return
    yield placed


def _records(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    return read_records(path, columns=lambda: columns, on_error=on_error)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _renewed(placed: PlacedRecord, value: Any, took: _Took | None = None) -> PlacedRecord:
    return replace(placed, value=value, text=None, took=took)


def _took(tokens: Sequence[Any], cost: Any, milliseconds: Any) -> _Took | None:
    """Return the tokens read and written, the cost and the time of an answer, as far as they are numbers."""
    read, written = (each if type(each) is int and 0 <= each < _TOO_MANY else None for each in tokens)
    money, time = (
        number if (number := strict_json.finite_number(each)) is not None and number >= 0 else None
        for each in (cost, milliseconds)
    )
    usage = Usage(input_tokens=read, output_tokens=written, cost_usd=money)
    return None if usage == Usage() and time is None else (None if usage == Usage() else usage, time)


def _thousandfold(seconds: Any) -> float | None:
    number = strict_json.finite_number(seconds)
    return None if number is None else round(number * 1000, 6)


# deepeval


def deepeval_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    """A test run has its cases below ``testCases``, in the names of the service."""
    for placed in _records(path, columns, on_error):
        if isinstance(placed.value, Mapping) and "testCases" in placed.value:
            for case in _within(placed, "testCases"):
                yield _renewed(
                    case, _picked(case.value, "input actualOutput expectedOutput retrievalContext context")
                )
            yield from _within(
                _renewed(placed, {"rows": placed.value.get("conversationalTestCases") or []}), "rows"
            )
        else:
            yield placed


def _picked(record: Any, names: str) -> Any:
    """Return what a result or a log says of a sample, without what it says of the run."""
    if not isinstance(record, Mapping):
        return record
    return {name: record[name] for name in names.split() if record.get(name) is not None}


# promptfoo

# As promptfoo 0.121 reads a cell: a text that begins with another word and a colon is a plain text.
_TYPES = (
    "agent-rubric answer-relevance bleu classifier contains contains-all contains-any contains-html "
    "contains-json contains-sql contains-xml context-faithfulness context-recall context-relevance "
    "conversation-relevance cost equals eval factuality finish-reason fn g-eval gleu grade guardrails "
    "icontains icontains-all icontains-any is-html is-json is-refusal is-sql is-valid-function-call is- "
    "valid-openai-function-call is-valid-openai-tools-call is-xml javascript latency levenshtein llm- "
    "rubric meteor model-graded-closedqa model-graded-factuality moderation perplexity perplexity-score "
    "pi python regex rouge-n ruby search-rubric similar skill-used starts-with tool-call-f1 trace- "
    "error-spans trace-span-count trace-span-duration webhook word-count"
)
_TYPED = re.compile(
    rf"(?P<type>(?:not-)?(?:{'|'.join(_TYPES.split())}))(\((?P<threshold>[0-9.]+)\))?(:(?P<value>.*))?",
    re.DOTALL,
)
_EXPECTED = re.compile(r"__expected[0-9]*")


def promptfoo_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    """Tests stand in a configuration, in rows of their own, in a table, or with their results."""
    if layout_of(path) == "csv" and not _is_promptfoo_table(path):
        yield from _yaml_tests(path, on_error)
        return
    for placed in _records(path, columns, on_error):
        record = placed.value
        if not isinstance(record, Mapping):
            yield placed
        elif any(_EXPECTED.fullmatch(name) for name in record):
            yield _renewed(placed, _of_table(record))
        elif "tests" in record:
            yield from _tests(placed, record, on_error, file=path)
        else:
            for row in _within(placed, "results.results", "results"):
                is_result = {"testCase", "vars"} <= _mapping(row.value).keys()
                yield from [_result(row)] if is_result else _varied(row, {}, {})


def _is_promptfoo_table(path: Path) -> bool:
    with open_stored(path) as stream:
        return b"__expected" in stream.readline(1 << 16)


def _yaml_tests(path: Path, on_error: OnError) -> Iterator[PlacedRecord]:
    try:
        document = read_document(path)
    except InputError as error:
        on_error(error)
        return
    value = document.value if isinstance(document.value, Mapping) else {"tests": document.value}
    placed = PlacedRecord(value, None)
    tests = list(_tests(placed, value, on_error, file=path))
    within = {
        test.within: f"{test.within}".removeprefix("" if value is document.value else "tests")
        for test in tests
    }
    lines = document.lines_of(within.values())
    for test in tests:
        yield replace(test, line=lines.get(within[test.within]), within=within[test.within])


def _tests(
    placed: PlacedRecord, value: Mapping[str, Any], on_error: OnError, *, file: Path
) -> Iterator[PlacedRecord]:
    """Yield the tests of a configuration, with what it sets for all of them."""
    default = _mapping(value.get("defaultTest"))
    if not isinstance(value["tests"], list):
        expected = "a list of tests (to read tests of another file, pass that file)"
        issue = Issue("wrong-type", expected, shown(value["tests"]), "tests")
        on_error(InputError([issue]).located(str(file), placed.line))
        return
    for test in _within(_renewed(placed, value), "tests"):
        yield from _varied(test, default.get("vars"), _mapping(default.get("options")))


def _varied(placed: PlacedRecord, shared: Any, options: Mapping[str, Any]) -> Iterator[PlacedRecord]:
    """Yield a test for each of its variants: promptfoo runs a test with each value of a list."""
    test = placed.value
    if not isinstance(test, Mapping) or not isinstance(test.get("vars", {}), Mapping):
        yield placed
        return
    keeps = {**options, **_mapping(test.get("options"))}.get("disableVarExpansion")
    variables = {**_mapping(shared), **test.get("vars", {})}
    listed = [] if keeps else [name for name, value in variables.items() if isinstance(value, list) and value]
    for values in product(*(variables[name] for name in listed)):
        yield _renewed(placed, {**test, "vars": {**variables, **dict(zip(listed, values, strict=True))}})


def _of_table(row: Mapping[str, Any]) -> Record:
    """Return a test from a row of CSV: its columns are variables, those of two underscores are not."""
    test: Record = {"vars": {name: value for name, value in row.items() if not name.startswith("__")}}
    asserted = [_assertion(row[name]) for name in row if _EXPECTED.fullmatch(name) and row[name]]
    if asserted:
        test["assert"] = asserted
    metadata = {name.partition(":")[2]: row[name] for name in row if name.startswith("__metadata:")}
    if metadata:
        test["metadata"] = {
            name.removesuffix("[]"): _listed(str(value)) if name.endswith("[]") else value
            for name, value in metadata.items()
        }
    for name in ("description", "providerOutput"):
        if row.get(f"__{name}"):
            test[name] = row[f"__{name}"]
    return test


def _listed(cell: str) -> list[str]:
    """Return the texts of a list of metadata, whose own commas have a backslash before them."""
    return [text.strip().replace("\\,", ",") for text in re.split(r"(?<!\\),", cell)]


def _assertion(cell: Any) -> Record:
    """Return an assertion as a cell writes it: ``icontains: 14.00``, ``similar(0.8): …``, or plain text."""
    typed = _TYPED.fullmatch(str(cell).strip())
    if typed is None:
        return {"type": "equals", "value": str(cell)}
    found: Record = {"type": typed["type"]}
    if typed["value"] is not None:
        found["value"] = typed["value"].strip()
    if typed["type"].endswith(("-any", "-all")) and "value" in found:
        rows = csv.reader(io.StringIO(found["value"], newline=""), skipinitialspace=True)
        found["value"] = [part.strip() for row in rows for part in row]
    return {**found, "threshold": float(typed["threshold"])} if typed["threshold"] else found


def write_promptfoo_table(
    path: Path, tests: Sequence[Mapping[str, Any]], columns: Columns, problems: FileProblems
) -> None:
    """Write tests as rows of CSV; what has no place in them is all named at once, and nothing is written."""
    rows: list[Record] = []
    for number, test in enumerate(tests):
        row, issues = _row(test, columns)
        rows.append(row)
        problems.extend(issue.located(within=f"[{number}]") for issue in issues)
    problems.raise_if_any()
    has_expected = any(_EXPECTED.fullmatch(name) for row in rows for name in row)
    write_rows(path, rows, columns if has_expected else replace(columns, required=("__expected",)))


def _row(test: Mapping[str, Any], columns: Columns) -> tuple[Record, list[Issue]]:
    """Return a test as a row of CSV, and what of it can stand only in YAML or JSON."""
    row: Record = {}
    unplaced = [name for name in test if name not in _IN_TABLE]
    for name, value in test["vars"].items():
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(one, str) and not one.lstrip().startswith(("[", "{")):
            value = one
        is_plain = isinstance(value, str) or columns.kind(name) == "either"
        row[name] = value if is_plain else strict_json.encode(value).decode()
    asserted = test.get("assert") or []
    for number, assertion in enumerate(asserted, 1):
        row["__expected" if len(asserted) == 1 else f"__expected{number}"] = _asserted(assertion)
        unplaced += [f"assert.{name}" for name in assertion if name not in ("type", "value", "threshold")]
    for name, value in (test.get("metadata") or {}).items():
        if isinstance(value, str):
            row[f"__metadata:{name}"] = value
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            row[f"__metadata:{name}[]"] = ",".join(item.replace(",", "\\,") for item in value)
        else:
            unplaced.append(f"metadata.{name}")
    for name in ("description", "providerOutput"):
        if test.get(name):
            row[f"__{name}"] = test[name]
    expected = "text or assertions (promptfoo CSV cannot store other values; use YAML)"
    issues = [Issue("not-in-table", expected, "another value", name) for name in unplaced]
    return {name: value for name, value in row.items() if value != ""}, issues


_IN_TABLE = ("vars", "assert", "metadata", "description", "providerOutput", "options")


def _asserted(assertion: Mapping[str, Any]) -> str:
    """Return an assertion as a cell; texts of a list are quoted where they have commas."""
    kind, value = assertion["type"], assertion.get("value")
    if assertion.get("threshold") is not None:
        kind = f"{kind}({assertion['threshold']:g})"
    if value is None:
        return str(kind)
    if isinstance(value, list):
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="").writerow(value)
        value = line.getvalue()
    return f"{kind}: {value}"


def _result(placed: PlacedRecord) -> PlacedRecord:
    """Return a test with the answer that a provider gave."""
    record = placed.value
    test = _mapping(record["testCase"])
    response, provider = record.get("response"), record.get("provider")
    found = {**_picked(test, "description assert"), "vars": record["vars"]}
    metadata = dict(test.get("metadata") or {})
    if isinstance(provider, Mapping) and provider.get("id"):
        metadata["provider"] = provider["id"]
    if metadata:
        found["metadata"] = metadata
    if isinstance(response, Mapping) and response.get("output") is not None:
        output = response["output"]
        found["providerOutput"] = (
            output if isinstance(output, str | Mapping) else strict_json.encode(output).decode()
        )
    used = _mapping(record.get("tokenUsage"))
    used = used if used.get("total") else {}
    # A provider that does not report its tokens and cost has nothing but zeros.
    took = _took(
        (used.get("prompt"), used.get("completion")), record.get("cost") or None, record.get("latencyMs")
    )
    return _renewed(placed, found, took)


# inspect_ai

_PART = "samples/"


def inspect_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    with open_stored(path) as stream:
        is_packed = stream.read(4).startswith(b"PK")
    if is_packed:
        yield from _packed_samples(path, on_error)
        return
    for placed in _records(path, columns, on_error):
        if isinstance(placed.value, Mapping) and "samples" in placed.value and "eval" in placed.value:
            for row in _within(placed, "samples"):
                yield _renewed(row, _logged(row.value), _logged_took(row.value))
        else:
            yield placed


def _packed_samples(path: Path, on_error: OnError) -> Iterator[PlacedRecord]:
    """Yield the samples of an ``.eval`` log, which is an archive with a file for each."""
    limits, file = DEFAULT_LIMITS, str(path)
    with open_stored(path) as stream:
        try:
            archive = zipfile.ZipFile(stream)
            members = [member for member in archive.infolist() if member.filename.startswith(_PART)]
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
            on_error(InputError([Issue("not-a-log", "a readable archive", str(error), file=file)]))
            return
        for member in sorted(members, key=lambda each: each.filename):
            name = member.filename
            if member.file_size > max(limits.free_bytes, limits.max_ratio * member.compress_size):
                found = f"{member.file_size:,} bytes from {member.compress_size:,}"
                expected = f"a compression ratio of at most {limits.max_ratio:g}"
                on_error(InputError([Issue("decompression-limit", expected, found, name, file=file)]))
                continue
            try:
                value = strict_json.decode(archive.read(member).decode())
            except InputError as error:
                on_error(error.located(file, within=name))
            except Exception as error:  # noqa: BLE001 - whatever the archive's own code meets in damaged bytes
                on_error(InputError([Issue("not-a-log", "a sample of the log", str(error), name, file=file)]))
            else:
                yield PlacedRecord(_logged(value), None, name, took=_logged_took(value))


def _logged(sample: Any) -> Any:
    """Return a sample of a log in the usual form, with the answer; the id contains the epoch."""
    if not isinstance(sample, Mapping):
        return sample
    found: Record = _picked(sample, "id target choices metadata")
    asked = sample.get("input")
    found["input"] = [_picked(each, "role content") for each in asked] if isinstance(asked, list) else asked
    if isinstance(sample.get("epoch"), int) and sample["epoch"] > 1:
        found["id"] = f"{sample.get('id')}-epoch-{sample['epoch']}"
    if (content := value_at(sample, "output.choices[0].message.content")) is not None:
        found["output"] = content_text(content, "\n") or ""
    return found


def _logged_took(sample: Any) -> _Took | None:
    used = _mapping(value_at(sample, "output.usage"))
    tokens = (used.get("input_tokens"), used.get("output_tokens"))
    return _took(tokens, used.get("total_cost"), _thousandfold(value_at(sample, "output.time")))


# OpenAI evals


def evals_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    """A log says of a sample what was asked, answered and expected in events of their own."""
    events: dict[str, list[PlacedRecord]] = defaultdict(list)
    for placed in _records(path, columns, on_error):
        record = placed.value
        if isinstance(record, Mapping) and "event_id" in record and isinstance(record.get("data"), Mapping):
            events[str(record.get("sample_id"))].append(placed)
        elif isinstance(record, Mapping) and ("spec" in record or "final_report" in record):
            continue
        else:
            yield _item(placed) if "item" in _mapping(record) else placed
    for sample_id, listed in events.items():
        found: Record = {"id": sample_id}
        for event in listed:
            data = event.value["data"]
            asked, said = data.get("prompt"), data.get("sampled", data.get("picked"))
            found |= {} if asked is None else {"input": asked}
            found |= {} if said is None else {"sampled": said[0] if isinstance(said, list) and said else said}
            found |= {} if data.get("expected") is None else {"ideal": data["expected"]}
        if "input" in found:
            yield _renewed(listed[0], found)


def _item(placed: PlacedRecord) -> PlacedRecord:
    """The service's own files have what is asked and expected within ``item``, the answer in ``sample``."""
    found: Record = {"item": placed.value["item"]}
    if (said := value_at(placed.value, "sample.output_text")) is not None:
        found["sampled"] = said
    return _renewed(placed, found)


# LangSmith


def langsmith_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    """Examples are rows; runs are joined with the retriever runs below them; a table has dotted columns."""
    runs: list[PlacedRecord] = []
    for placed in _records(path, columns, on_error):
        record = placed.value
        if isinstance(record, Mapping) and "run_type" in record:
            runs.append(placed)
        elif isinstance(record, Mapping) and any(map(_COLUMN.fullmatch, record)):
            yield _experiment(placed)
        else:
            yield placed
    retrieved: dict[str, list[Any]] = defaultdict(list)
    for run in runs:
        _collect(run.value, retrieved)
    for run in runs:
        if run.value.get("parent_run_id") is None:
            yield _run(run, retrieved)


def _collect(run: Any, retrieved: dict[str, list[Any]]) -> None:
    """Gather the documents of the retriever runs of each trace, those below a run included."""
    waiting = [run]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, Mapping):
            continue
        outputs = each.get("outputs")
        documents = outputs.get("documents", outputs.get("output")) if isinstance(outputs, Mapping) else None
        if each.get("run_type") == "retriever" and isinstance(documents, list):
            retrieved[str(each.get("trace_id") or each.get("parent_run_id"))] += documents
        children = each.get("child_runs")
        waiting += children if isinstance(children, list) else []


def _run(placed: PlacedRecord, retrieved: Mapping[str, list[Any]]) -> PlacedRecord:
    run = placed.value
    outputs = run.get("outputs")
    found: Record = {"id": run.get("id"), "inputs": run.get("inputs"), "answer": outputs}
    documents = retrieved.get(str(run.get("trace_id") or run.get("id")))
    if run.get("run_type") == "retriever":
        del found["answer"]
    found["contexts"] = documents or _retrieved(outputs)
    took = _took(
        (run.get("prompt_tokens"), run.get("completion_tokens")), run.get("total_cost"), _lasted(run)
    )
    return _renewed(placed, drop_nulls(found), took)


def _lasted(run: Mapping[str, Any]) -> float | None:
    """Return the milliseconds from the beginning of a run to its end."""
    with suppress(ValueError, TypeError):
        began, ended = (
            datetime.fromisoformat(run[name]) for name in ("start_time", "end_time") if name in run
        )
        return (ended - began).total_seconds() * 1000
    return None


def _retrieved(outputs: Any) -> Any:
    return next((outputs[name] for name in table().ranks["contexts"] if name in _mapping(outputs)), None)


_COLUMN = re.compile(r"(inputs|outputs|reference)\.(.+)")


def _experiment(placed: PlacedRecord) -> PlacedRecord:
    """Return a row of a table as an example, with the answer where there is a reference beside it."""
    parts: dict[str, Record] = defaultdict(dict)
    found: Record = {}
    for name, value in placed.value.items():
        if column := _COLUMN.fullmatch(name):
            parts[column[1]][column[2]] = value
    found["inputs"] = parts["inputs"]
    for name in ("example_id", "id"):
        if placed.value.get(name):
            found.setdefault("id", placed.value[name])
    if "reference" in parts or "execution_time" in placed.value:
        found |= {"outputs": parts["reference"]} if parts["reference"] else {}
        found |= {"answer": parts["outputs"]} if parts["outputs"] else {}
        if contexts := _retrieved(parts["outputs"]):
            found["contexts"] = contexts
    elif parts["outputs"]:
        found["outputs"] = parts["outputs"]
    return _renewed(
        placed, found, _took((None, None), None, _thousandfold(placed.value.get("execution_time")))
    )


# Phoenix and Langfuse


def phoenix_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    """The server's own CSV has a column for each field: ``input_question``."""
    for placed in _records(path, columns, on_error):
        for row in _within(placed, "data.examples", "examples"):
            record = row.value
            if isinstance(record, Mapping) and "input" not in record:
                parts: dict[str, Record] = defaultdict(dict)
                for name, value in record.items():
                    head, _, rest = name.partition("_")
                    if head in ("input", "output", "metadata") and rest:
                        parts[head][rest] = value
                yield _renewed(row, {**_picked(record, "id example_id"), **parts})
            else:
                yield row


def langfuse_rows(path: Path, columns: Columns, on_error: OnError) -> Iterator[PlacedRecord]:
    for placed in _records(path, columns, on_error):
        yield from _within(placed, "data", "items")
