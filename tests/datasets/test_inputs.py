"""The table of forty inputs keeps its promise: each file is read at the first try, or told what to add."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas
import pytest

from cases import tables_beside
from rag_evaluation_framework import RagEvalError, Sample, evaluate
from rag_evaluation_framework.datasets.rows import rows_at, rows_in

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "inputs.md"
TABLE = {
    int(row[0]): row[1:]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if (row := [cell.strip() for cell in line.strip("|").split("|")]) and row[0].isdigit()
}
FILES = [
    path
    for row in TABLE.values()
    for path in re.findall(r"`((?:tests|examples)/[^`]+)`", row[2])
    if not path.endswith("/frameworks.json")  # results of several frameworks, each read by its own test
]
ROWS = TABLES["rows"]
# Files that hold nothing to score, and what is said of them; all others are scored as they are.
ASK = "Ask your system for them"
TO_ADD = {
    **dict.fromkeys(
        (
            *("inspect.csv", "inspect.jsonl", "langfuse.json", "langfuse.jsonl", "langsmith_examples.json"),
            *("langsmith_examples.jsonl", "openai_evals.jsonl", "phoenix.csv", "phoenix.json"),
            *("promptfoo.csv", "promptfooconfig.yaml", "ragas_0_1_testset.csv", "ragas_testset.jsonl"),
            *("ragas_turns.jsonl", "squad_rows.csv", "squad_rows.jsonl", "squad_rows.parquet"),
        ),
        ASK,
    ),
    "deepeval_turns.json": "Without them, use -m answer_relevancy --judge-model MODEL",
    "parent_missing.jsonl": "expected the parent span in the files",
}


def parts(sample: Sample) -> list[Any]:
    return [sample.question, sample.recorded.answer, list(sample.recorded.contexts), sample.reference]


def test_the_table_has_forty_inputs_and_every_fixture() -> None:
    assert list(TABLE) == list(range(1, 41))
    assert [number for number, row in TABLE.items() if not re.search(r"`(test|examples)", row[2])] == []
    kept = {str(path.relative_to(ROOT)) for folder in ("tools", "rows") for path in fixtures(folder)}
    assert kept <= set(FILES)


def fixtures(folder: str) -> list[Path]:
    return sorted((ROOT / "tests" / "fixtures" / folder).iterdir())


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_scored_at_the_first_try_or_told_what_to_add(file: str) -> None:
    to_add = TO_ADD.get(Path(file).name)
    if to_add:
        with pytest.raises(RagEvalError, match=to_add):
            evaluate(ROOT / file)
    else:
        result = evaluate(ROOT / file)
        assert any(found.value is not None for found in result.metrics.values())


@pytest.mark.parametrize("path", fixtures("rows"), ids=lambda path: path.name)
def test_rows_of_nobodys_format_are_the_same_rows(path: Path) -> None:
    dialect, reading = rows_at(path)
    assert reading is not None
    read = [parts(sample) for sample in dialect.stream(path)]
    if path.suffix == ".xlsx":
        assert read[0][3] == "14"  # a number's cell has no zeros to keep
        read[0][3] = "14.00"
    assert read == ROWS


def test_a_missing_cell_of_a_frame_is_missing() -> None:
    frame = pandas.DataFrame(ROWS, columns=["question", "answer", "contexts", "reference"])
    frame.loc[1, ["answer", "reference"]] = float("nan")
    dataset, _ = rows_in(frame)
    read = [parts(sample) for sample in dataset.samples]
    assert read == [ROWS[0], [ROWS[1][0], None, ROWS[1][2], None], ROWS[2]]
