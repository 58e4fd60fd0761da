"""The samples of a run: their ids and fingerprints, written down before the first request.

The list guards a resume. Samples pair by id; the same samples in another order are the same data; anything
added, removed or edited is refused with the counts. Where a sample was read (its file and line) is not part
of its fingerprint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias, overload

import msgspec

from rag_evaluation_framework.datasets.dialect import IdDigests, repetitions
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted, invalid
from rag_evaluation_framework.files.strict_json import read_lines, write_lines
from rag_evaluation_framework.records.samples import Sample

Samples: TypeAlias = Sequence[Sample] | Callable[[], Iterator[Sample]]
"""Samples in memory, or a function that begins reading them anew each time it is called."""


class KnownSamples(Sequence[Sample]):
    """Samples in memory whose fingerprints are worked out once, for several runs over the same samples."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples = samples

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        return self._samples[index]

    def __len__(self) -> int:
        return len(self._samples)

    @cached_property
    def listed(self) -> tuple[tuple[str, str], ...]:
        """The id and fingerprint of each sample, in order."""
        return tuple((sample.id, fingerprint(sample)) for sample in self._samples)


_FINGERPRINTED = tuple(field.name for field in fields(Sample) if field.name not in ("id", "origin"))


def streamed(samples: Samples) -> Iterator[Sample]:
    """Start reading the samples."""
    return samples() if callable(samples) else iter(samples)


def fingerprint(sample: Sample) -> str:
    """Return 32 hexadecimal digits that identify the content of a sample, its id left out."""
    # Only what is filled in, so that a field that a later version adds changes nothing.
    content = {
        name: value for name in _FINGERPRINTED if (value := getattr(sample, name)) not in (None, (), {})
    }
    try:
        written = msgspec.json.encode(content, enc_hook=_plain, order="deterministic")
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise invalid("", "a sample that can be written as JSON", str(error)).located(
            within=sample.id
        ) from None
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def content_hash(samples: Samples) -> str:
    """Return the SHA-256 over ids and fingerprints, in order: what a run's head calls ``dataset_hash``."""
    digest = hashlib.sha256()
    for pair in _listed(samples):
        digest.update(msgspec.json.encode(pair) + b"\n")
    return f"sha256:{digest.hexdigest()}"


def write_list(samples: Samples, path: Path) -> int:
    """Write the list of a new run's samples; return how many there are. A repeated id is an error."""
    digests = IdDigests()

    def listed() -> Iterator[list[str]]:
        for identifier, digits in _listed(samples):
            digests.add(identifier)
            yield [identifier, digits]
        _refuse_repetitions(samples, digests)

    return write_lines(path, listed())


def count_listed(path: Path) -> int:
    """Return how many samples a run has."""
    return sum(1 for _ in read_list(path))


def read_list(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and fingerprint of each sample of a run, in order."""
    for number, value in read_lines(path):
        match value:
            case [str(identifier), str(digits)]:
                yield identifier, digits
            case _:
                raise invalid("", "a sample's id and fingerprint", value).located(str(path), number)


def placed(samples: Samples, path: Path) -> Iterator[tuple[int, Sample]]:
    """Yield each sample with its place in the list. Call :func:`check_unchanged` first.

    Data that changes while the run goes on is an error, not a misaligned result.
    """
    index_of: dict[str, int] | None = None
    for index, (sample, listed) in enumerate(zip_longest(streamed(samples), read_list(path))):
        if index_of is None and (sample is None or listed is None or listed[0] != sample.id):
            index_of = {identifier: place for place, (identifier, _) in enumerate(read_list(path))}
        place = index if index_of is None or sample is None else index_of.get(sample.id)
        if sample is None or place is None:
            raise UsageError("the dataset was changed while the run was going on")
        yield place, sample


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


def check_unchanged(samples: Samples, path: Path) -> None:
    """Raise :class:`UsageError`, with the counts, if the samples are not those of the list."""
    if all(now == then for now, then in zip_longest(_listed(samples), read_list(path))):
        return
    then = dict(read_list(path))
    now = {sample.id: fingerprint(sample) for sample in streamed(samples)}
    counts = {
        "added": len(now.keys() - then.keys()),
        "removed": len(then.keys() - now.keys()),
        "changed": sum(1 for identifier in now.keys() & then.keys() if now[identifier] != then[identifier]),
    }
    if any(counts.values()):
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        raise UsageError(
            f"cannot resume over other data: expected the {counted(len(then), 'sample')} the run began with, "
            f"got {told}; start a new run, or bring the dataset back"
        )
    digests = IdDigests()
    for sample in streamed(samples):
        digests.add(sample.id)
    _refuse_repetitions(samples, digests)


def _listed(samples: Samples) -> Iterable[tuple[str, str]]:
    if isinstance(samples, KnownSamples):
        return samples.listed
    return ((sample.id, fingerprint(sample)) for sample in streamed(samples))


def _refuse_repetitions(samples: Samples, digests: IdDigests) -> None:
    if repeated := digests.repeated():
        numbered: Iterable[tuple[int | None, str]] = enumerate(sample.id for sample in streamed(samples))
        issues = [
            Issue("duplicate-id", "each sample id once", f"{identifier!r} again", f"samples[{place}]")
            for place, identifier, _ in repetitions(numbered, repeated)
        ]
        if issues:
            raise InputError(issues)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
