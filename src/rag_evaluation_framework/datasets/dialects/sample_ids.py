"""Ids for samples of dialects that give them none.

Rows of two runs pair by id, never by position, so such an id must survive a reordered or extended file. It
is ``sample-`` and 12 hexadecimal digits of the SHA-256 of what is asked and what is expected: turns,
reference, contexts, relevant documents, chunks and characters. Labels (tags, metadata) do not count: adding
a tag keeps the id. Samples that are equal in all this get ``-2``, ``-3`` … in file order; since they are
equal, it does not matter which is which. The same sample in another dialect has the same id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.samples import Expectation, Sample

UNNAMED = "sample"
"""The id that a dialect's ``decode`` gives where the record has none; it is replaced on reading."""

_NUMBERED = re.compile(r"-[1-9][0-9]*\Z")
_PREFIX = "sample-"
_DIGITS = 12


def content_id(sample: Sample) -> str:
    """Return the id that follows from what the sample asks and expects."""
    recorded = sample.recorded
    content = [
        [[turn.role, turn.content, turn.reference, _expected(turn.expectation)] for turn in sample.turns],
        sample.reference,
        [recorded.contexts, recorded.answer] if recorded and (recorded.contexts or recorded.answer) else None,
        sample.reference_contexts,
        dict(sample.relevant_documents),
        [[span.file, span.start, span.end, span.page] for span in sample.relevant_spans],
        sample.relevant_chunk_ids,
        _expected(sample.expectation),
    ]
    digest = hashlib.sha256(strict_json.encode_unchecked(content, order="deterministic")).hexdigest()
    return _PREFIX + digest[:_DIGITS]


def _expected(expectation: Expectation | None) -> list[Any] | None:
    return None if expectation is None else [type(expectation).__name__, asdict(expectation)]


def has_content_id(sample: Sample) -> bool:
    """Tell whether the sample's id is the one its content gives, and so need not be written down."""
    if not sample.id.startswith(_PREFIX):
        return sample.id == UNNAMED
    end = len(_PREFIX) + _DIGITS
    head, tail = sample.id[:end], sample.id[end:]
    return (not tail or _NUMBERED.match(tail) is not None) and head == content_id(sample)


class ContentIds:
    """Gives out content ids over one file, numbering the samples that are equal."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def name(self, sample: Sample) -> str:
        """Return the id for the next sample of the file."""
        base = content_id(sample)
        self._given[base] += 1
        count = self._given[base]
        return base if count == 1 else f"{base}-{count}"


def written_id(record: Mapping[str, Any]) -> str:
    """Return the ``id`` of a record that may have one, or :data:`UNNAMED`."""
    given = record.get("id")
    return given if isinstance(given, str) and given else UNNAMED
