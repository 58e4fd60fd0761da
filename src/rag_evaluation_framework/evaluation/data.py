"""Whatever people have, as a manifest with its datasets: a path, an id, rows, samples, a manifest itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from rag_evaluation_framework.datasets.catalogue import checked_entries
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.errors import (
    InputError,
    MissingDatasetError,
    RagEvalError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.golden_runs import find_splits, golden_manifest
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest, read_manifest
from rag_evaluation_framework.evaluation.preflight import source_of
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.samples import Dataset, Refusal, Sample

Data: TypeAlias = str | Path | Manifest | Dataset | Iterable[Sample] | Iterable[Mapping[str, Any]]

_IN_MEMORY = "rows"
_SHOWN_AT_ONCE = 1000


def manifest_of(
    data: Data,
    *,
    metrics: Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # as the command line calls it
    history: History = "own",
    uses_metrics: bool = True,
) -> Manifest:
    """Return the manifest that the data stand for; ``metrics`` fill in where it lists none.

    ``columns`` says which column of a row holds what our dialects call by another name.
    """
    if isinstance(data, Manifest):
        return data
    if isinstance(data, str | Path):
        return _at(Path(data), metrics, format=format, history=history, uses_metrics=uses_metrics)
    dataset = data if isinstance(data, Dataset) else _dataset_of(list(data), columns or {})
    name = dataset.name or _IN_MEMORY
    entry = DatasetEntry(name=name, path=None, metrics=tuple(metrics or ()), dataset=dataset)
    return Manifest(
        file=Path(name), datasets=(_with_metrics(entry, metrics),), configuration={"call": "evaluate"}
    )


def _at(
    path: Path,
    metrics: Sequence[str] | None,
    *,
    format: str | None,  # noqa: A002
    history: History,
    uses_metrics: bool,
) -> Manifest:
    if path.is_dir() and format is None and _has_splits(path):
        return golden_manifest(path, history=history)
    if path.suffix in (".yaml", ".yml") and path.is_file() and format is None and _is_manifest(path):
        return read_manifest(path, uses_metrics=uses_metrics)
    if not path.exists():
        path = _of_catalogue(str(path))
    name = plain_name(path).partition(".")[0] or plain_name(path)
    entry = DatasetEntry(name=name, path=path, metrics=(), format=format)
    return Manifest(file=path, datasets=(_with_metrics(entry, metrics),), configuration={"call": "evaluate"})


def _with_metrics(entry: DatasetEntry, metrics: Sequence[str] | None) -> DatasetEntry:
    """Return a dataset with the metrics asked for or, without any, with those that it can bear."""
    if metrics is not None:
        return replace(entry, metrics=tuple(metrics))
    found: dict[str, None] = {}
    for place, sample in enumerate(source_of(entry).stream()):
        found |= dict.fromkeys(_borne(sample))
        if place >= _SHOWN_AT_ONCE:
            break
    if not found:
        raise UsageError(
            f"dataset {entry.name}: expected metrics, got none, and its samples bear none by themselves"
        )
    return replace(entry, metrics=tuple(found))


def _borne(sample: Sample) -> Iterable[str]:
    if sample.recorded is not None and sample.recorded.contexts:
        yield "faithfulness"
    if isinstance(sample.expectation, Refusal):
        yield "refusal_recall"
    elif sample.reference:
        yield "answer_correctness"
    if sample.relevant_documents:
        yield "hit@1"


def _has_splits(folder: Path) -> bool:
    try:
        return bool(find_splits(folder))
    except RagEvalError:
        return False


def _is_manifest(path: Path) -> bool:
    """Tell a manifest from a dataset that is written as YAML: only the former has a spec."""
    text = path.read_text(encoding="utf-8")
    # JSON is YAML too, and may stand on one line.
    if text.lstrip().startswith("{"):
        return '"spec"' in text
    return any(line.startswith("spec:") for line in text.splitlines())


def _of_catalogue(name: str) -> Path:
    """Return the file of a dataset that the catalogue of the project knows by this id."""
    folder = Path("data", "evaluation")
    entries = checked_entries(folder) if folder.is_dir() else []
    found = [entry.path for entry in entries if entry.dataset_id == name]
    if not found:
        raise MissingDatasetError(f"no dataset {shown(name)}: neither a path nor an id of the catalogue")
    return found[-1]


def _dataset_of(rows: list[Any], columns: Mapping[str, str]) -> Dataset:
    if not rows:
        raise UsageError("data: expected at least one row, got none")
    if all(isinstance(row, Sample) for row in rows):
        return Dataset(samples=tuple(rows), dialect="")
    if not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"data: expected samples or dictionaries, got {shown(rows[0])}")
    names = {theirs: ours for ours, theirs in columns.items()}
    records = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write_lines(path, records)
        try:
            read = read_dataset(path)
        except InputError as error:
            raise InputError([replace(issue, file=_IN_MEMORY) for issue in error.issues]) from None
    return replace(read, samples=tuple(replace(sample, origin=None) for sample in read.samples))
