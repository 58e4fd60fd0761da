"""The dialects of ragas 0.1, deepeval, promptfoo, inspect_ai, OpenAI evals, LangSmith, Phoenix and Langfuse.

Samples are written back as samples. What a log or a result says of one is read (the answer, what was
retrieved, what it took); its events and scores are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets import foreign_rows
from rag_evaluation_framework.datasets.csv_tables import CellKind, Columns
from rag_evaluation_framework.datasets.dialect import Record, RecordDialect
from rag_evaluation_framework.datasets.foreign_records import Fields
from rag_evaluation_framework.datasets.record_files import PlacedRecord
from rag_evaluation_framework.errors import FileProblems
from rag_evaluation_framework.files.atomic import write_text_atomically
from rag_evaluation_framework.files.yaml_documents import encode
from rag_evaluation_framework.records.samples import Sample


def _cells(**kinds: str) -> Columns:
    """Return columns by the kind of their cells."""
    named: dict[str, CellKind] = {}
    for kind, names in kinds.items():
        named.update(dict.fromkeys(names.split(), kind))  # type: ignore[arg-type]  # the kinds are CellKind's
    return Columns(named)


class _LogDialect(RecordDialect, frozen=True, kw_only=True, dict=True, weakref=True):
    """Takes from a log also what answers took, which no sample is written with."""

    def _sample(self, placed: PlacedRecord, problems: FileProblems) -> Sample | None:
        sample = super()._sample(placed, problems)
        if sample is None or sample.recorded is None or placed.took is None:
            return sample
        usage, latency_ms = placed.took
        return replace(sample, recorded=replace(sample.recorded, usage=usage, latency_ms=latency_ms))

    def record(self, sample: Sample) -> Record:
        recorded = sample.recorded and replace(sample.recorded, usage=None, latency_ms=None)
        return super().record(replace(sample, recorded=recorded))


def _dialect(
    name: str, paths: Mapping[str, str], *, holds: str, read: Mapping[str, Any] | None = None, **given: Any
) -> RecordDialect:
    """Return a dialect whose records have ``id`` and ``metadata`` under these names, if no path says else."""
    fields = Fields(paths={"id": "id", "metadata": "metadata", **paths}, **(read or {}))
    return _LogDialect(
        name=name,
        holds=frozenset(f"question reference expectation.refusal {holds}".split()),
        decode=fields.decode,
        encode=fields.encode,
        **given,
    )


_RAGAS_ROWS = Fields(
    paths={
        "question": "question",
        "answer": "answer",
        "contexts": "contexts",
        "reference": "ground_truth ground_truths",
        "reference_contexts": "reference_contexts",
        "metadata": "metadata",
    }
)
# The contexts of a generated test set are those that the question was made from.
_RAGAS_TESTS = Fields(
    paths={
        **{name: path for name, path in _RAGAS_ROWS.paths.items() if name not in ("answer", "contexts")},
        "reference_contexts": "reference_contexts contexts",
    }
)


def _ragas_sample(record: Any) -> Sample:
    is_generated = isinstance(record, Mapping) and "evolution_type" in record
    return (_RAGAS_TESTS if is_generated else _RAGAS_ROWS).decode(record)


RAGAS_OLD = _LogDialect(
    name="ragas-0.1",
    holds=frozenset(
        {"question", "reference", "references", "expectation.refusal", "metadata"}
        | {"recorded.contexts", "recorded.answer"}
    ),
    decode=_ragas_sample,
    encode=_RAGAS_ROWS.encode,
    layouts=("lines", "array", "csv", "parquet"),
    cells=_cells(
        text="question answer evolution_type", either="ground_truth", json="contexts ground_truths metadata"
    ),
)

DEEPEVAL = _dialect(
    "deepeval",
    {
        "question": "input turns",
        "answer": "actual_output actualOutput",
        "contexts": "retrieval_context retrievalContext",
        "reference": "expected_output expectedOutput",
        "reference_contexts": "context",
        "metadata": "additional_metadata additionalMetadata",
    },
    read={
        "joined": "|",
        "source_mark": re.compile(
            r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL
        ),
    },
    holds="recorded.contexts recorded.sources recorded.answer reference_contexts metadata",
    rows=foreign_rows.deepeval_rows,
    layouts=("array", "lines"),
    cells=_cells(
        text="input actual_output expected_output scenario expected_outcome name comments source_file",
        either="retrieval_context context turns tools_called expected_tools",
        json="additional_metadata custom_column_key_values expectations token_cost input_token_count "
        "output_token_count",
    ),
)

_PROMPTFOO_TESTS = Fields(
    paths={
        "question": "vars.question vars.*",
        "answer": "providerOutput output",
        "contexts": "vars.context vars.*",
        "reference": "assert vars.expected vars.reference vars.ground_truth",
        "metadata": "metadata",
    },
    asserted="factuality",
)


def _promptfoo_test(sample: Sample) -> Record:
    """Return a test; a list in it is one value, where promptfoo would run the test with each of its items."""
    test = _PROMPTFOO_TESTS.encode(sample)
    is_listed = any(isinstance(value, list) for value in test["vars"].values())
    return {**test, "options": {"disableVarExpansion": True}} if is_listed else test


class _Promptfoo(_LogDialect, frozen=True, kw_only=True, dict=True, weakref=True):
    """Its tests are also written as YAML, alone or in a configuration, and as CSV."""

    def write_samples(self, samples: Iterable[Sample], path: Path) -> None:
        if path.suffix not in (".csv", ".yaml", ".yml"):
            super().write_samples(samples, path)
            return
        problems = FileProblems(str(path))
        tests = list(self._checked_records(samples, problems))
        if path.suffix == ".csv":
            foreign_rows.write_promptfoo_table(path, tests, self.columns(), problems)
        else:
            is_whole = path.stem.endswith("promptfooconfig")
            write_text_atomically(path, encode(_configuration(tests) if is_whole else tests))


def _configuration(tests: list[Record]) -> Record:
    """Return a configuration that promptfoo runs as it is: ``echo`` answers with the prompt it is sent."""
    names = dict.fromkeys(name for test in tests for name in test["vars"])
    prompt = "\n\n".join(f"{{{{{name}}}}}" for name in sorted(names))
    return {"prompts": [prompt], "providers": ["echo"], "tests": tests}


PROMPTFOO = _Promptfoo(
    name="promptfoo",
    holds=frozenset(
        {"question", "reference", "references", "expectation.refusal", "metadata"}
        | {"recorded.contexts", "recorded.answer"}
    ),
    decode=_PROMPTFOO_TESTS.decode,
    encode=_promptfoo_test,
    rows=foreign_rows.promptfoo_rows,
    layouts=("array", "lines"),
    cells=_cells(text="__expected __expected1 question", either="context contexts"),
)

INSPECT = _dialect(
    "inspect",
    {
        "question": "input",
        "answer": "output",
        "contexts": "metadata.contexts metadata.*",
        "reference": "target",
    },
    holds="id turns references recorded.contexts metadata",
    rows=foreign_rows.inspect_rows,
    layouts=("lines", "array", "csv"),
    cells=_cells(text="id", either="input target", json="metadata choices"),
)

OPENAI_EVALS = _dialect(
    "openai-evals",
    {"question": "input item.*", "answer": "sampled", "reference": "ideal item.correct_label item.*"},
    read={"as_messages": True},
    holds="id turns references metadata",
    rows=foreign_rows.evals_rows,
    layouts=("lines",),
)

LANGSMITH_EXPORT = _dialect(
    "langsmith-export",
    {
        "question": "inputs.question inputs.*",
        "answer": "answer",
        "contexts": "contexts inputs.* outputs.*",
        "reference": "outputs.answer outputs.*",
    },
    holds="id turns references recorded.contexts recorded.answer metadata",
    rows=foreign_rows.langsmith_rows,
    layouts=("lines", "array"),
    cells=_cells(text="id example_id error", json="inputs outputs metadata execution_time"),
)

PHOENIX = _dialect(
    "phoenix",
    {
        "id": "id example_id",
        "question": "input.question input.* input",
        "contexts": "input.contexts input.* output.*",
        "reference": "output.answer output.* output",
    },
    holds="id turns references recorded.contexts metadata",
    rows=foreign_rows.phoenix_rows,
    layouts=("lines", "array"),
    cells=_cells(text="id example_id", either="input output", json="metadata"),
)

LANGFUSE = _dialect(
    "langfuse",
    {
        "question": "input input.*",
        "contexts": "input.contexts input.*",
        "reference": "expectedOutput expected_output expectedOutput.* expected_output.*",
    },
    holds="id turns references metadata",
    rows=foreign_rows.langfuse_rows,
    layouts=("lines", "array"),
    cells=_cells(text="id", either="input expectedOutput expected_output", json="metadata"),
)
