"""Datasets uploaded to LangSmith with its SDK; a second upload of the same adds nothing.

An example's id follows from its dataset and its sample, so that a request whose reply was lost can be sent
again. What is there already is read first: only examples that are missing or have changed are sent, which is
also how an interrupted upload is completed. Nothing is deleted, and metadata that others added stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, TypeVar
from uuid import UUID, uuid5

from rag_evaluation_framework.adapters.extras import extra_module
from rag_evaluation_framework.adapters.langsmith_connection import CONFLICT, EXTRA, LangSmith, connected
from rag_evaluation_framework.adapters.langsmith_examples import SAMPLE_ID, SPLIT, example_of, record_of
from rag_evaluation_framework.errors import TargetError, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.synthesis.uploading import Upload

Example: TypeAlias = dict[str, Any]
Item = TypeVar("Item")

EXAMPLES_A_REQUEST = 100

# Example ids are made in this namespace; another one would make every upload add everything again.
_NAMESPACE = UUID("7f7af79d-4471-47de-8d7f-56a21f67868e")


def upload_to_langsmith(dataset: Dataset, name: str) -> Upload:
    """Bring the dataset of this name at LangSmith to hold these samples; it is made where there is none."""
    examples = {sample.id: example_of(sample) for sample in dataset.samples}
    with connected(f"uploading the dataset {shown(name)} to LangSmith", to_upload=True) as server:
        place = _place(server, dataset, name)
        dataset_id = str(place.id)
        work = _work(server, dataset_id, examples)
        try:
            _send(server, dataset_id, work)
        except TargetError as error:
            if error.kind != CONFLICT:
                raise
            # Some came there meanwhile, or by a request whose reply was lost: the others are left to send.
            _send(server, dataset_id, _work(server, dataset_id, examples))
    return Upload(
        url=place.url,
        added=len(work.missing),
        updated=len(work.changed),
        unchanged=len(examples) - len(work.missing) - len(work.changed),
        others=work.others,
    )


def check_langsmith(name: str) -> None:
    """Ask for a dataset, whether it is there or not, to see that LangSmith is and accepts the key."""
    with connected(f"uploading the dataset {shown(name)} to LangSmith") as server:
        server.dataset(name)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be sent, and how many examples at LangSmith are none of the dataset's."""

    missing: list[Example]
    changed: list[Example]
    others: int


def _place(server: LangSmith, dataset: Dataset, name: str) -> Any:
    """Return the SDK's record of the dataset, made or brought up to date."""
    found = server.dataset(name)
    if found is None:
        described = {"description": dataset.description, "metadata": dict(dataset.metadata)}
        try:
            return server.asked(partial(server.client.create_dataset, name, **described))
        except TargetError as error:
            found = server.dataset(name) if error.kind == CONFLICT else None
            if found is None:
                raise
    there = found.metadata or {}
    changes: dict[str, Any] = {}
    if not _has(there, dataset.metadata):
        changes["metadata"] = {**there, **dataset.metadata}
    if dataset.description not in (None, found.description):
        changes["description"] = dataset.description
    if changes:
        server.send("PATCH", f"/datasets/{found.id}", data=strict_json.encode(changes))
    return found


def _work(server: LangSmith, dataset_id: str, examples: Mapping[str, Example]) -> _Work:
    """Compare the examples, by sample, with those that are at LangSmith."""
    there = {record_of(example)["id"]: example for example in server.examples(dataset_id)}
    now = datetime.now(UTC)
    missing = [
        {
            "id": uuid5(_NAMESPACE, f"{dataset_id}/{sample_id}"),
            "created_at": now + timedelta(microseconds=number),
            **example,
        }
        for number, (sample_id, example) in enumerate(examples.items())
        if sample_id not in there
    ]
    changed = [
        _update(there[sample_id], example)
        for sample_id, example in examples.items()
        if sample_id in there and not _is_same(there[sample_id], example)
    ]
    return _Work(missing, changed, others=len(there.keys() - examples.keys()))


def _is_same(there: Mapping[str, Any], example: Example) -> bool:
    if any(there.get(part) != example[part] for part in ("inputs", "outputs")):
        return False
    # Examples that others made need not have it: their samples are named after them.
    metadata = {name: value for name, value in example["metadata"].items() if name != SAMPLE_ID}
    return _has(there.get("metadata") or {}, metadata)


def _has(there: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    return all(name in there and there[name] == value for name, value in metadata.items())


def _update(there: Mapping[str, Any], example: Example) -> Example:
    metadata = {**(there.get("metadata") or {}), **example["metadata"]}
    # The split is a field of its own when written, and part of the metadata when read.
    return {**example, "id": there["id"], "metadata": metadata, "split": metadata.pop(SPLIT, None)}


def _send(server: LangSmith, dataset_id: str, work: _Work) -> None:
    create = partial(server.client.create_examples, dataset_id=dataset_id)
    for part in _parts([_as_created(example) for example in work.missing]):
        server.asked(partial(create, examples=part))
    update = partial(server.client.update_examples, dataset_id=dataset_id)
    for part in _parts(work.changed):
        server.asked(partial(update, updates=part))


def _as_created(example: Example) -> Example:
    """Return an example by the names that this version of the SDK has for what is created."""
    schemas = extra_module("langsmith.schemas", feature="uploading to LangSmith", extra=EXTRA)
    if "reference_outputs" not in schemas.ExampleCreate.__annotations__:
        return example
    return {"reference_outputs" if name == "outputs" else name: value for name, value in example.items()}


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), EXAMPLES_A_REQUEST):
        yield items[begin : begin + EXAMPLES_A_REQUEST]
