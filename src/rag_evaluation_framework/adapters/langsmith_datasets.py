"""Datasets at LangSmith, read by name with its SDK.

Examples are read by LangSmith's dialect, as if they stood in a file, in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rag_evaluation_framework.adapters.langsmith_connection import connected
from rag_evaluation_framework.adapters.langsmith_examples import made_at, record_of
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.dialects.langsmith import LANGSMITH
from rag_evaluation_framework.errors import InputError, Issue, MissingDatasetError, shown
from rag_evaluation_framework.evaluation.hosted_datasets import HostedDataset
from rag_evaluation_framework.records.samples import Origin, Sample

RUNTIME = "runtime"
"""Where a dataset's metadata have the machine that uploaded it; the SDK adds it."""


def read_langsmith_dataset(name: str) -> HostedDataset:
    """Read the dataset of this name; all problems of its examples are in one ``InputError``."""
    with connected(f"reading the dataset {shown(name)} from LangSmith") as server:
        found = server.dataset(name)
        if found is None:
            raise MissingDatasetError(f"no dataset {shown(name)}: {server} has none of this name")
        examples = sorted(server.examples(str(found.id)), key=made_at)
    read = dict(_samples(examples, FileProblems(f"LangSmith dataset {shown(name)}")))
    return HostedDataset(
        samples=tuple(read.values()),
        dialect=LANGSMITH.name,
        name=name,
        description=found.description,
        metadata={key: value for key, value in (found.metadata or {}).items() if key != RUNTIME},
        host="langsmith",
        host_id=str(found.id),
        example_ids={sample.id: example_id for example_id, sample in read.items()},
    )


def _samples(examples: Iterable[Mapping[str, Any]], problems: FileProblems) -> Iterator[tuple[str, Sample]]:
    """Yield the good samples by their examples' ids; the problems of the others are raised at the end."""
    seen: set[str] = set()
    for example in examples:
        record = record_of(example)
        within = f"example {record['id']!r}"
        issues = schema_issues(LANGSMITH.kind, record)
        try:
            sample = None if issues else LANGSMITH.sample(record)
        except InputError as error:
            sample, issues = None, list(error.issues)
        if sample is None:
            problems.extend(issue.located(within=within) for issue in issues)
        elif sample.id in seen:
            problems.add(Issue("duplicate-id", "each example once", f"{sample.id!r} again"))
        else:
            seen.add(sample.id)
            yield str(example.get("id")), replace(sample, origin=Origin(LANGSMITH.name))
    problems.raise_if_any()
