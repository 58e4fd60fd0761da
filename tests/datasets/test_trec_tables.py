"""Files read in blocks give what the reader of lines gives, figure for figure and problem for problem."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import RagEvalError
from rag_evaluation_framework.datasets import trec_tables
from rag_evaluation_framework.datasets.trec_tables import RunFile, read_qrel_columns
from rag_evaluation_framework.files.access import compress
from rag_evaluation_framework.metrics.judged_columns import NotPlain
from rag_evaluation_framework.metrics.ranking import evaluate_ranking
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.results import rankings
from rag_evaluation_framework.results.rankings import evaluate_run_files

TABLES = tables_beside(__file__)

METRICS = ["ndcg@3", "map", "mrr", "hit@1", "hole@5", "bpref", "r-precision"]

SCORES = (
    *(
        *("3", "2.5", "2.50", "-1", "-0.25", "+4", "1e-3", "0.1", "12345678.12345678", "99999999"),
        *("123456789.5", ".5", "7."),
    ),
    *(
        "0.06666666666666667",
        "0.06666666666666668",
        "0.3333333333333333",
        "0.33333333333333331",
        "16777217",
        "16777216",
    ),
    *("1.0000000000000002", "1.0000000000000000222", "0.00001234567890123456789", "1E5", "-0", "0", "-0.0"),
)
WRONG_SCORES = ("high", "nan", "inf", "1_0", "1..2", "--1", "1e999", "1,5", "1:2", "1/2")
DOCUMENTS = TABLES["documents"]

lines_of_runs = st.tuples(
    st.sampled_from(("q1", "q2", "a-longer-query", "q4")), st.sampled_from(DOCUMENTS), st.sampled_from(SCORES)
)
lines_of_qrels = st.tuples(
    st.sampled_from(("q1", "q2", "a-longer-query", "q3")),
    st.sampled_from(DOCUMENTS),
    st.sampled_from(("0", "1", "2", "-1", "+1", "300")),
)
MUTATIONS = {
    "nothing": lambda line: [line],
    "comment": lambda line: [b"# six words are in this line", line],
    "blank": lambda line: [b"", line, b"  \t"],
    "spaces": lambda line: [b" " + line.replace(b" ", b"  ") + b" "],
    "tabs": lambda line: [line.replace(b" ", b"\t")],
    "carriage return": lambda line: [line + b"\r"],
    "more words": lambda line: [line + b" and more"],
    "fewer": lambda line: [line.rpartition(b" ")[0]],
    "twice": lambda line: [line, line],
    "not UTF-8": lambda line: [line.replace(b"d1", b"d\xff")],
    "tag not UTF-8": lambda line: [line + b"\xff"],
    "zero byte": lambda line: [line.replace(b"d2", b"d\x002")],
    "control": lambda line: [line.replace(b"q1", b"q\x1c1")],
    "wrong score": lambda line: [
        line.replace(b" 2.5 ", b" " + random.Random(line).choice(WRONG_SCORES).encode() + b" ")
    ],
}


@st.composite
def files(draw: st.DrawFn, lines: Any, write: str) -> bytes:
    """Draw a file: most have each document once and the queries together, and some lines are changed."""
    rows = draw(st.lists(lines, max_size=25, unique_by=lambda row: row[:2]))
    if draw(st.integers(0, 3)):
        rows.sort(key=lambda row: row[0])
    plain = [write.format(query=query, document=document, number=n).encode() for query, document, n in rows]
    for _ in range(draw(st.integers(0, 2)) if plain else 0):
        place = draw(st.integers(0, len(plain) - 1))
        plain[place : place + 1] = MUTATIONS[draw(st.sampled_from(sorted(MUTATIONS)))](plain[place])
    mark = b"\xef\xbb\xbf" if draw(st.integers(0, 9)) == 0 else b""
    return mark + b"\n".join(plain) + (b"\n" if draw(st.booleans()) else b"")


def told(evaluation: Any) -> Any:
    """Return all figures, or everything that is wrong."""
    try:
        result = evaluation()
    except RagEvalError as error:
        return [str(issue) for issue in getattr(error, "issues", [error])]
    columns = {name: part.columns for name, part in result.parts.items()}
    values = {
        name: (each.ids, {metric: list(map(str, column)) for metric, column in each.values.items()})
        for name, each in columns.items()
    }
    return result.document, values, [part.warnings for part in result.parts.values()]


def careful(qrels: Path, run: Path, options: Options) -> Any:
    with patch.object(rankings, "_ranked_in_blocks", return_value={}):
        return evaluate_run_files(qrels, {"a": run}, METRICS, options=options)


@settings(max_examples=150, deadline=None)
@given(
    files(lines_of_qrels, "{query} 0 {document} {number}"),
    files(lines_of_runs, "{query} Q0 {document} 1 {number} tag"),
    st.sampled_from(["ours", "trec_eval"]),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
def test_blocks_give_what_lines_give(
    tmp_path_factory: pytest.TempPathFactory,
    qrels: bytes,
    run: bytes,
    rules: str,
    depth: int | None,
    complete: bool,
) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "qrels").write_bytes(qrels)
    (folder / "a.run").write_bytes(run)
    options = Options(rules=rules, max_depth=depth, complete=complete, totals=True, resamples=20)
    expected = told(lambda: careful(folder / "qrels", folder / "a.run", options))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trec_tables, "_BLOCK_BYTES", 70)
        given_files = (folder / "qrels", {"a": folder / "a.run"}, METRICS)
        assert told(lambda: evaluate_run_files(*given_files, options=options)) == expected


QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
RUN = b"q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\nq2 Q0 d1 1 1 t\n"


@pytest.mark.parametrize(
    "change", ["nothing", "comment", "blank", "spaces", "tabs", "carriage return", "more words"]
)
@pytest.mark.parametrize("packed", [bytes, compress, partial(compress, compression="zstd")])
def test_what_is_right_is_read_in_blocks(tmp_path: Path, change: str, packed: Any) -> None:
    lines = [each for line in RUN.splitlines() for each in MUTATIONS[change](line)]
    (tmp_path / "qrels").write_bytes(packed(QRELS))
    (tmp_path / "run").write_bytes(packed(b"\n".join(lines)))
    report = evaluate_ranking(read_qrel_columns(tmp_path / "qrels"), RunFile(tmp_path / "run"), ["mrr"])
    assert report.per_query["mrr"].tolist() == [0.5, 1.0]


def test_judgements_of_beir_are_read_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_bytes(b"query-id\tcorpus-id\tscore\na query\ta document\t1\nq2\td\t2\n")
    columns = read_qrel_columns(path)
    assert (dict(columns.queries), columns.grades.tolist()) == ({"a query": 0, "q2": 1}, [1, 2])
    assert columns.documents.texts() == ["a document", "d"]


@pytest.mark.parametrize("content", TABLES["what_is_wrong_or_scattered_is_left_to_the_reader_of_lines"])
def test_what_is_wrong_or_scattered_is_left_to_the_reader_of_lines(tmp_path: Path, content: str) -> None:
    (tmp_path / "qrels").write_bytes(QRELS)
    (tmp_path / "run").write_text(content, encoding="utf-8")
    with pytest.raises((NotPlain, RagEvalError)):
        evaluate_ranking(read_qrel_columns(tmp_path / "qrels"), RunFile(tmp_path / "run"), ["mrr"])
