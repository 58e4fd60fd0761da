"""Rows as people have them: what is guessed, what a map changes, what is refused; frames and datasets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import openpyxl
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as some

from cases import named, tables_beside
from command_lines import rag_eval_ended
from rag_evaluation_framework import (
    InputError,
    RagEvalError,
    Sample,
    UsageError,
    evaluate,
    load,
    read_dataset,
    save,
)
from rag_evaluation_framework.datasets.rows import rows_at, rows_in
from rag_evaluation_framework.evaluation.scoring import ONLY_RETRIEVED

TABLES = tables_beside(__file__)
LOG = TABLES["log"]
FIELDS = {"question": "query", "reference": "gold", "answer": "answer", "contexts": "chunks[*].content"}


def parts(sample: Sample) -> list[Any]:
    recorded = sample.recorded
    return [
        sample.question,
        recorded.answer if recorded else None,
        list(recorded.contexts) if recorded else [],
        sample.reference,
    ]


@pytest.mark.parametrize(
    ("name", "content", "fields", "first"), named(TABLES["each shape is read at first sight"])
)
def test_each_shape_is_read_at_first_sight(
    name: str, content: str, fields: dict[str, str], first: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode())
    dialect, reading = rows_at(path)
    assert reading is not None
    assert dict(reading.fields) == fields
    assert parts(next(iter(dialect.stream(path)))) == first


@pytest.mark.parametrize(("content", "map_", "said"), TABLES["what is not understood is one clear line"])
def test_what_is_not_understood_is_one_clear_line(
    content: str, map_: dict[str, str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        rows_at(path, map=map_)
    assert str(caught.value) == said


@pytest.mark.parametrize(("content", "said"), TABLES["every bad row is reported with its place"])
def test_every_bad_row_is_reported_with_its_place(
    content: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("rows.jsonl")
    path.write_text(content, encoding="utf-8")
    dialect, _ = rows_at(path)
    with pytest.raises(InputError) as caught:
        dialect.read(path)
    assert str(caught.value).splitlines() == said


def test_a_map_takes_the_place_of_a_guess_and_an_empty_one_leaves_a_part_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,answer,reply,contexts\nq?,a,r,c d\n", encoding="utf-8")
    dialect, _ = rows_at(path, map={"answer": "reply", "reference": "answer", "contexts": ""})
    assert parts(next(iter(dialect.stream(path)))) == ["q?", "r", [], "a"]


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-16", "UTF-16"), ("gbk", "GBK"), ("cp1252", "another encoding")]
)
def test_another_encoding_is_called_by_its_name(encoding: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    text = (
        "question,answer\ncafé?,à bientôt\n" if encoding == "cp1252" else "question,answer\n登塔多少钱,六镑\n"
    )
    path.write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=f"rows.csv: expected UTF-8 text, got {name}.*; save it as UTF-8"):
        rows_at(path)


MADE: dict[str, Callable[[], Any]] = {
    "dictionaries": lambda: LOG,
    "a generator": lambda: (row for row in LOG),
    "columns": lambda: {name: [row[name] for row in LOG] for name in LOG[0]},
    "pandas": lambda: pandas.DataFrame(LOG),
    "polars": lambda: import_module("polars").DataFrame(LOG),
    "polars, lazy": lambda: import_module("polars").DataFrame(LOG).lazy(),
    "datasets": lambda: import_module("datasets").Dataset.from_list(LOG),
    "datasets, one split": lambda: import_module("datasets").DatasetDict(
        {"test": import_module("datasets").Dataset.from_list(LOG)}
    ),
    "arrow": lambda: pyarrow.Table.from_pylist(LOG),
    "an arrow stream": lambda: ArrowStream(pyarrow.Table.from_pylist(LOG)),
}


class ArrowStream:
    """What can only be read as an Arrow stream, as a table of another library."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


LARGE = ("polars", "datasets")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            name, marks=[pytest.mark.vendors(vendor)] if (vendor := name.partition(",")[0]) in LARGE else []
        )
        for name in MADE
    ],
)
def test_rows_in_memory_are_read_by_their_shape(made: str) -> None:
    dataset, reading = rows_in(MADE[made]())
    assert reading is not None
    assert dict(reading.fields) == FIELDS
    assert [parts(sample) for sample in dataset.samples] == [
        ["What does it cost?", "It costs 14.00.", ["Adult: 14.00."], "14.00"],
        ["Who built it?", "Two brothers from Strath.", [], None],
    ]
    assert dataset.samples[1].recorded is not None
    assert dataset.samples[1].recorded.retrieved_nothing


def test_parquet_and_excel_are_read_as_the_same_rows(tmp_path: Path) -> None:
    flat = [{"question": row["query"], "answer": row["answer"], "gold": row["gold"]} for row in LOG]
    frame = pandas.DataFrame(flat)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    for name in ("rows.parquet", "rows.xlsx"):
        dialect, reading = rows_at(tmp_path / name)
        assert reading is not None
        assert [parts(sample)[3] for sample in dialect.stream(tmp_path / name)] == ["14.00", None]
    (tmp_path / "rows.xlsx").write_bytes((tmp_path / "rows.xlsx").read_bytes()[:900])
    with pytest.raises(InputError, match="expected an Excel workbook"):
        rows_at(tmp_path / "rows.xlsx")
    assert openpyxl.__version__


def test_an_arrow_file_and_a_folder_of_parts_are_each_one_table(tmp_path: Path) -> None:
    table, folder, arrow = pyarrow.Table.from_pylist(LOG), tmp_path / "rows", tmp_path / "rows.arrow"
    folder.mkdir()
    for number in (0, 1):  # as Dask calls them, with what Spark puts beside
        pyarrow.parquet.write_table(table.slice(number, 1), folder / f"part.{2 + 8 * number}.parquet")
        (folder / ("_SUCCESS", ".part.2.parquet.crc")[number]).touch()
    for path, opened in ((folder, None), (arrow, pyarrow.ipc.new_stream), (arrow, pyarrow.ipc.new_file)):
        if opened:
            with opened(path, table.schema) as writer:
                writer.write_table(table)
        dialect, reading = rows_at(path)
        assert dict(reading.fields if reading else {}) == FIELDS
        assert [parts(sample)[0] for sample in dialect.stream(path)] == [row["query"] for row in LOG]
    arrow.write_bytes(arrow.read_bytes()[:-400])
    with pytest.raises(InputError, match=r"rows\.arrow: expected a readable Arrow file, got"):
        rows_at(arrow)
    (folder / "notes.txt").touch()
    with pytest.raises(InputError, match="expected a file of rows, or a folder in a known format"):
        rows_at(folder)


def test_rows_are_evaluated_by_what_they_hold_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = evaluate(LOG)
    assert list(tmp_path.iterdir()) == []
    assert set(result.metrics) >= {"faithfulness", "answer_correctness"}
    assert json.loads(result.render("json"))["runs"][0]["reading"]["fields"] == FIELDS
    assert str(result).startswith(
        "rows: question = query, answer = answer, contexts = chunks[*].content, reference = gold\n"
        '      2 rows, 1 with a reference; change with map={"answer": FIELD}\n'
    )
    lines = (
        "rows: question = query, answer = answer, contexts = chunks[*].content, reference = gold",
        '2 rows, 1 with a reference; change with map={"answer": FIELD}',
    )
    markdown = result.render("markdown").replace("\\", "")
    assert all(f"\n- {line}\n" in markdown or f"\n{line}\n" in markdown for line in lines)
    for html in (result._repr_html_(), result.render("page")):
        assert all(f">{line}<" in unescape(html) for line in lines)
    assert str(result.samples[1]).startswith(f"Sample row 2: {LOG[1]['query']}")


def test_a_file_that_cannot_be_scored_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.jsonl").write_text('{"id": 1, "q": "x", "text": "t", "docs": ["one text"]}', encoding="utf-8")
    Path("bare.csv").write_text("question,answer\nq?,a\n", encoding="utf-8")
    Path("notes.txt").write_text("just words\n", encoding="utf-8")
    said = TABLES["said"]
    for name, line in said.items():
        ended = rag_eval_ended("score", name)
        assert ended.returncode == 2
        assert line in ended.stderr
    assert not Path("runs").exists()


FARES, TIMES = {"text": "A single is 14.00.", "id": "fares"}, {"text": "Boats leave at 9.", "id": "times"}
TOOK = {"question": "What is a single?", "answer": "A single is 14.00.", "chunks": [FARES, TIMES]}


@pytest.mark.parametrize(("columns", "figures"), TABLES["what_an_answer_took_and_cites_is_read_and_scored"])
def test_what_an_answer_took_and_cites_is_read_and_scored(
    columns: dict[str, Any], figures: list[float | None]
) -> None:
    metrics = ["latency", "tokens", "cost", "citation_validity"]
    result = evaluate([{**TOOK, **columns}], metrics=metrics)
    assert [result.metrics[name].value for name in metrics] == figures


def test_a_time_without_a_unit_is_not_read_and_asked_for() -> None:
    rows = [{**TOOK, "duration": 2.5}]
    asked = 'the unit of "duration" is unknown. Use map={"latency_s": "duration"} or '
    assert f"not read: {asked}" in " ".join(str(evaluate(rows)).split())
    with pytest.raises(UsageError) as caught:
        evaluate(rows, metrics=["latency"])
    assert asked in str(caught.value)
    told = evaluate(rows, metrics=["latency"], map={"latency_s": "duration"})
    assert told.metrics["latency"].value == 2500.0


def test_a_missing_answer_is_missing_and_an_empty_one_is_wrong(tmp_path: Path) -> None:
    row = {"question": "What is a single?", "reference": "14.00"}
    answers = ("14.00", "", None)
    result = evaluate([{**row, "answer": answer} for answer in answers])
    figure = result.metrics["answer_correctness"]
    assert (figure.n_scored, figure.n_failed, figure.value) == (2, 1, 0.5)
    (missing,) = [each for each in result.rows if each.response.failure is not None]
    assert missing.response.failure is not None
    assert missing.response.failure.kind == "no-recorded-answer"
    # A cell of a table cannot say that an answer was given and empty.
    path = tmp_path / "rows.csv"
    path.write_text("question,answer,reference\nq?,a,a\nr?,,b\n", encoding="utf-8")
    figure = evaluate(path).metrics["answer_correctness"]
    assert (figure.n_scored, figure.n_failed) == (1, 1)


_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_known = """question query answer contexts chunks gold id tags sources scores context_1 relevant_documents
metadata messages should_refuse reference_contexts citations usage prompt_tokens latency_s cost duration
a.b a[0] *"""
_names = some.text(max_size=3) | some.sampled_from(_known.split())


@given(some.lists(some.dictionaries(_names, _values, max_size=6), min_size=1, max_size=4))
def test_no_row_reaches_a_traceback(rows: list[dict[str, Any]]) -> None:
    for map_ in (None, {"question": "question", "answer": "a.b"}):
        with suppress(RagEvalError):
            dataset, _ = rows_in(rows, map=map_)
            assert len(dataset) == len(rows)
            assert json.dumps([sample.question for sample in dataset.samples])


def test_every_command_that_reads_a_dataset_reads_rows_and_says_the_guess_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text("def answer(question):\n    return '14.00'\n", encoding="utf-8")
    Path("q.jsonl").write_text('{"question": "What?", "reference": "14.00"}\n', encoding="utf-8")
    pandas.DataFrame([{"frage": "What?", "gold": "14.00"}]).to_excel("q.xlsx", index=False)
    guess = "q.jsonl: question = question, reference = reference\n"
    for command in (
        ["validate", "q.jsonl"],
        ["stats", "q.jsonl", "--json"],
        ["sample", "q.jsonl"],
        ["convert", "q.jsonl", "out.jsonl", "--to", "agent-samples"],
    ):
        ended = rag_eval_ended(*command)
        assert (ended.returncode, ended.stderr.count(guess)) == (0, 1), ended
        assert guess not in ended.stdout
    assert read_dataset("out.jsonl").samples[0].reference == "14.00"
    monkeypatch.syspath_prepend(str(tmp_path))
    told = rag_eval_ended("evaluate", "q.jsonl", "--target", "app:answer")
    assert told.returncode == 0, told
    assert told.stdout.startswith(guess)
    (sample,) = load("q.xlsx", map={"reference": "gold"}).samples
    assert parts(sample) == ["What?", None, [], "14.00"]
    wrong = rag_eval_ended("validate", "q.jsonl", "--map", "question=frage")
    assert (wrong.returncode, 'unknown question field "frage"' in wrong.stderr) == (2, True)
    with pytest.raises(UsageError, match="cannot write plain rows"):
        save(load("q.jsonl"), "again.jsonl")


def test_rows_of_what_was_retrieved_alone_skip_the_metrics_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"question": "What is a single?", "contexts": ["A single is 14.00."], "reference": "14.00"}
    result = evaluate(
        [{**row, "reference_contexts": ["A single is 14.00."]}], metrics=["faithfulness", "context_recall"]
    )
    assert result.metrics["context_recall"].value == 1.0
    assert [each.reason for each in result.metrics["faithfulness"].reasons] == [ONLY_RETRIEVED]
    assert not result.not_measured
    assert not result.failed()
    for metrics, said in ((None, "no row has an answer"), (["faithfulness"], "Ask your agent for answers")):
        with pytest.raises(UsageError, match=said):
            evaluate([row], metrics=metrics)
    with pytest.raises(UsageError, match="cannot find the answer field"):
        evaluate([{**row, "text": "14.00"}])
    Path("rows.jsonl").write_text(
        json.dumps({**row, "reference_contexts": row["contexts"]}), encoding="utf-8"
    )
    scored = rag_eval_ended("score", "rows.jsonl", "-m", "faithfulness", "-m", "context_recall")
    assert (scored.returncode, scored.stdout.count(ONLY_RETRIEVED)) == (0, 1), scored
    again = rag_eval_ended("score", "001", "-m", "answer_correctness")
    assert (again.returncode, again.stdout.count(ONLY_RETRIEVED)) == (0, 1), again


def test_two_files_of_answers_to_the_same_questions_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, answer in (("before", "The first boat leaves at 06:40."), ("after", "It leaves at noon.")):
        row = {"question": "When?", "answer": answer, "contexts": ["The first boat leaves at 06:40."]}
        row |= {"logged": f"the day {name}"}
        same = {**row, "question": "From where?", "answer": "From the boat."}
        Path(f"{name}.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(same)}\n", encoding="utf-8")
        assert rag_eval_ended("score", f"{name}.jsonl", "-m", "faithfulness").returncode == 0
    compared = rag_eval_ended("compare", "001", "002")
    assert compared.returncode == 0, compared.stderr
    assert "2 not judged in either" in compared.stdout


def test_bounds_given_as_metrics_are_refused_with_where_they_belong() -> None:
    with pytest.raises(UsageError, match="Pass thresholds as gate="):
        evaluate(LOG, metrics={"faithfulness": 0.9})  # type: ignore[arg-type]


@pytest.mark.parametrize(("least", "code", "word"), [("0.9", 1, "✗ FAILED"), ("0.4", 0, "✓ PASSED")])
def test_figures_of_rows_can_be_demanded(tmp_path: Path, least: str, code: int, word: str) -> None:
    row = {"question": "Do you ship it?", "contexts": ["We ship it to Norway."]}
    rows = [
        {**row, "answer": answer} for answer in ("We ship it to Norway.", "We ship it to Mars and Venus.")
    ]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    done = rag_eval_ended("score", "log.jsonl", "--threshold", f"faithfulness={least}", folder=tmp_path)
    assert (done.returncode, f"\n{word}: " in done.stdout) == (code, True), done
    again = rag_eval_ended("score", "001", "-m", "rouge", "--threshold", "rouge=1", folder=tmp_path)
    said = again.stderr.startswith("rag-eval: --threshold: expected a file of answers")
    assert (again.returncode, said) == (2, True)


def test_answers_without_contexts_are_right_or_wrong_and_a_pdf_holds_none(tmp_path: Path) -> None:
    row = {"question": "When does it open?", "reference": "It opens at nine."}
    rows = [
        {**row, "answer": each} for each in ("It opens at nine.", "It opens at noon.", "", "I do not know.")
    ]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    (tmp_path / "log.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    scored = rag_eval_ended("score", "log.jsonl", folder=tmp_path).stdout
    assert re.search("1 of 4 answers is correct(, [123] wrong)?(; [12] (was|were) not judged)?", scored), (
        scored
    )
    for option, lines in (("--failed", ["3", "4"]), ("--not-judged", ["2"])):
        shown = rag_eval_ended("show", option, folder=tmp_path).stdout
        assert re.findall(r"^line (\d)", shown, re.MULTILINE) == lines, shown
    assert "got a PDF document" in rag_eval_ended("score", "log.pdf", folder=tmp_path).stderr


def test_questions_alone_are_told_what_their_answers_could_be_held_against() -> None:
    with pytest.raises(UsageError, match="no row has an expected answer to compare with") as told:
        evaluate([{"question": "Who runs the office?"}], target=lambda question: "Anna runs it.")
    (_, relevancy) = re.findall(r'metrics=\["(\w+)"\]', str(told.value))
    assert f'metrics=["{relevancy}"], judge=MODEL' in str(told.value)
    asked = [{"question": "Who runs the office?"}]
    result = evaluate(asked, target=lambda question: "Anna runs it.", metrics=[relevancy], embedder="hashing")
    assert result.metrics[relevancy].n_scored == 1
