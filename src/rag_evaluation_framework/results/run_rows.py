"""The rows of a run: each finished sample's result, with the sample and its times if they are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.records.runs import Run, SampleResult, Timing
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import Samples, fingerprint, read_list, streamed


@dataclass(frozen=True, slots=True)
class RunRow:
    """One sample's result. Without the sample, its question and its truth are not known."""

    result: SampleResult
    sample: Sample | None = None
    timing: Timing | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What an evaluation says of it beside its scores, as its query result has it: ``pass``, ``blame`` …"""


def rows_of_run(run: Run, samples: Iterable[Sample] = ()) -> Iterator[RunRow]:
    """Yield the rows of a run in memory; samples pair by id."""
    known = {sample.id: sample for sample in samples}
    for result in run.results:
        yield RunRow(result, known.get(result.sample_id))


def rows_of_folder(folder: RunFolder, samples: Samples | None = None) -> Iterator[RunRow]:
    """Yield the rows of a run on the disk in the order of its dataset, in memory that does not grow with it.

    ``samples`` may hold more than the run asked, and in another order; one that is missing or was edited
    since is a :class:`UsageError`.
    """
    entries = folder.entries(order="dataset")
    if samples is None:
        for entry in entries:
            yield RunRow(entry.result, timing=entry.timing)
        return
    listed = enumerate(listed_samples(samples, folder.samples_path))
    for entry in entries:
        sample = next((sample for place, sample in listed if place == entry.index), None)
        yield RunRow(entry.result, sample, entry.timing)


def listed_samples(samples: Samples, path: Path) -> Iterator[Sample]:
    """Yield the sample of each line of a run's list, in the order of the list."""
    stream = streamed(samples)
    by_id: dict[str, Sample] | None = None
    for identifier, digits in read_list(path):
        if by_id is None:
            sample = next((sample for sample in stream if sample.id == identifier), None)
            if sample is None:  # the dataset is in another order now
                by_id = {sample.id: sample for sample in streamed(samples)}
        if by_id is not None:
            sample = by_id.get(identifier)
        if sample is None or fingerprint(sample) != digits:
            raise _other_data(samples, path)
        yield sample


def _other_data(samples: Samples, path: Path) -> UsageError:
    now = {sample.id: fingerprint(sample) for sample in streamed(samples)}
    total = missing = edited = 0
    for identifier, digits in read_list(path):
        total += 1
        missing += identifier not in now
        edited += identifier in now and now[identifier] != digits
    found = ", ".join(f"{n:,} {what}" for n, what in ((missing, "missing"), (edited, "edited since")) if n)
    count = counted(total, "sample")
    return UsageError(f"expected the dataset with the {count} of the run as before, got {found}")
