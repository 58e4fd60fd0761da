"""Every file that another tool wrote is read at the first try, or one line tells what to add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from cases import tables_beside
from rag_evaluation_framework import RagEvalError, Sample, evaluate
from rag_evaluation_framework.datasets.rows import rows_at, rows_in

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
FILES = [
    "examples/ferry/log.jsonl",
    *(
        f"tests/fixtures/traces/{name}"
        for name in ("langchain.jsonl.gz", "pydantic_ai_5.jsonl", "parent_missing.jsonl")
    ),
    *(
        str(path.relative_to(ROOT))
        for folder in ("tools", "rows")
        for path in sorted((ROOT / "tests" / "fixtures" / folder).iterdir())
        if path.name != "frameworks.json"  # results of several frameworks, each read by its own test
    ),
]
ROWS = TABLES["rows"]
# Files that hold nothing to score, and what is said of them; all others are scored as they are.
ASK = "Ask your agent for answers"
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
