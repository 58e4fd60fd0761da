"""One line of a journal: an entry under its checksum, still a JSON object that any tool can read.

::

    {"crc32":"9ae0daaf","entry":{"index":17,"result":{…},"timing":{…}}}

The checksum covers the bytes of the entry. It detects what a kill, or a full or failing disk, did to a line;
it does not protect against tampering.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import msgspec

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.evaluation.runs.outages import may_be_mended
from rag_evaluation_framework.evaluation.runs.result_fields import (
    Timing,
    result_fields,
    result_from,
    timing_fields,
    timing_from,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.responses import Failure, Usage
from rag_evaluation_framework.records.runs import SampleResult

_OPENING = b'{"crc32":"'
_MIDDLE = b'","entry":'
_ENTRY_STARTS = len(_OPENING) + 8 + len(_MIDDLE)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A finished sample: its place in the dataset (from 0), its result, and its times."""

    index: int
    result: SampleResult
    timing: Timing


class _GlancedResponse(msgspec.Struct):
    failure: Failure | None = None
    usage: Usage | None = None


class _GlancedDetails(msgspec.Struct):
    endpoint_error: Any = None


class _GlancedScore(msgspec.Struct):
    metric: str
    status: str = ""
    details: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def may_be_retried(self) -> bool:
        """As the property of :class:`Score`, which says why."""
        if self.status != "failed":
            return False
        try:
            return msgspec.json.decode(self.details, type=_GlancedDetails).endpoint_error is not None
        except msgspec.DecodeError:  # a plug-in's details may be anything
            return False


class _GlancedResult(msgspec.Struct):
    sample_id: str
    response: _GlancedResponse
    scores: list[_GlancedScore]


class _GlancedTiming(msgspec.Struct):
    scores: list[_GlancedScore] = []
    run_seconds: float = 0.0


class Glance(msgspec.Struct):
    """The part of an entry that counting needs, read at a fraction of the cost of the whole."""

    index: int
    result: _GlancedResult
    timing: _GlancedTiming

    @property
    def failed(self) -> bool:
        return self.result.response.failure is not None

    @property
    def may_be_asked_again(self) -> bool:
        """Whether there is no answer, for a reason that says nothing about the sample."""
        failure = self.result.response.failure
        return failure is not None and may_be_mended(failure.kind)

    @property
    def may_be_rescored(self) -> bool:
        """Whether there is an answer, and a score is missing only because a model's endpoint failed."""
        return not self.failed and any(score.may_be_retried for score in self.result.scores)

    @property
    def metrics(self) -> set[str]:
        return {score.metric for score in (*self.result.scores, *self.timing.scores)}


_glances = msgspec.json.Decoder(Glance)


def line_of(entry: JournalEntry, *, run_seconds: float | None = None) -> bytes:
    """Write an entry, with the time at which it is written down where that is given.

    Raises :class:`InputError` for what JSON cannot hold.
    """
    timing = timing_fields(entry.result, entry.timing)
    if run_seconds is not None:
        timing["run_seconds"] = run_seconds
    content = strict_json.encode(
        {"index": entry.index, "result": result_fields(entry.result), "timing": timing}
    )
    return b"%s%08x%s%s}\n" % (_OPENING, zlib.crc32(content), _MIDDLE, content)


def intact_entry(line: bytes) -> bytes | None:
    """Return the bytes of the entry in a line, or ``None`` if the line is not as it was written."""
    content = line[_ENTRY_STARTS:-2]
    whole = line.startswith(_OPENING) and line.endswith(b"}\n")
    if not whole or b"%08x%s" % (zlib.crc32(content), _MIDDLE) != line[len(_OPENING) : _ENTRY_STARTS]:
        return None
    return content


def glance_at(content: bytes) -> Glance:
    """Read the part of an intact entry that counting needs."""
    return _glances.decode(content)


def entry_from(content: bytes) -> JournalEntry:
    """Read an intact entry; one that another version wrote in an unknown format is an error."""
    written: dict[str, Any] = msgspec.json.decode(content)
    try:
        timing = written["timing"]
        return JournalEntry(written["index"], result_from(written["result"], timing), timing_from(timing))
    except (KeyError, TypeError) as error:
        raise invalid("", "an entry in the form of this version", str(error)) from None


def comparable_part(content: bytes) -> Any:
    """Return what two entries for the same sample must agree on."""
    return msgspec.json.decode(content)["result"]


def answered_part(content: bytes) -> Any:
    """Return what two entries with different scores for the same answer must agree on."""
    return comparable_part(content)["response"]
