"""How a dataset says that a question should be declined: one rule for all dialects.

The expected answer is the word ``Refusal``, in any case and width, or the metadata have
``{"expectation": "refusal"}``. A dialect writes the word where it needs an expected answer or has no
metadata, and the mark elsewhere; a text that stands beside the mark is kept, and nothing is compared with it.

In the golden set of questions to decline, the same in other words will do, or a reason to decline beside
whatever the ground truth says. Elsewhere 拒绝 may be an answer like any other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.samples import Refusal, Sample

REFUSAL = "Refusal"
"""How the expected answer to a question that the system should decline is written."""

_MARK = {"expectation": "refusal"}
_IN_OTHER_WORDS = frozenset({"refusal", "refuse", "refused", "拒绝", "拒絕", "拒答"})


class Expected(NamedTuple):
    """What a record expects: a text or a refusal, or both; ``metadata`` are without the mark."""

    reference: str | None
    refusal: Refusal | None
    metadata: Mapping[str, Any]


def read_expected(reference: str | None, metadata: Mapping[str, Any] | None = None) -> Expected:
    """Tell an expected answer from an expected refusal.

    >>> read_expected("REFUSAL", {"topic": "x"})
    Expected(reference=None, refusal=Refusal(reason=None, pattern=None), metadata={'topic': 'x'})
    >>> read_expected("I cannot tell.", {"expectation": "refusal"})
    Expected(reference='I cannot tell.', refusal=Refusal(reason=None, pattern=None), metadata={})
    """
    metadata = metadata or {}
    is_word, is_marked = is_refusal(reference), _MARK.items() <= metadata.items()
    if is_marked:
        metadata = {name: value for name, value in metadata.items() if name not in _MARK}
    return Expected(None if is_word else reference, Refusal() if is_word or is_marked else None, metadata)


def written_reference(sample: Sample) -> str | None:
    """Return the expected answer as a dialect writes it that has no other way to expect a refusal."""
    return REFUSAL if sample.reference is None and _expects_refusal(sample) else sample.reference


def refusal_or_answer(sample: Sample, field: str) -> str | None:
    """Return the expected answer as a dialect writes it that cannot hold a refusal and an answer."""
    if sample.reference is not None and _expects_refusal(sample):
        raise invalid(field, "a refusal or an answer", "both", code="not-held")
    return written_reference(sample)


def marked_metadata(sample: Sample, *, is_told: bool = False) -> dict[str, Any]:
    """Return the metadata of a sample, with the mark if it expects a refusal that is not told elsewhere."""
    return {**sample.metadata, **(_MARK if _expects_refusal(sample) and not is_told else {})}


def is_refusal(truth: Any) -> bool:
    """Tell whether an expected answer is the word ``Refusal``."""
    return _folded(truth) == "refusal"


def declines(record: Mapping[str, Any]) -> bool:
    """Tell whether a record of the questions to decline says that it is one.

    >>> declines({"ground_truth": "拒答"}), declines({"ground_truth": "No.", "refusal_reason": "unsafe"})
    (True, True)
    """
    return _folded(record.get("ground_truth")) in _IN_OTHER_WORDS or bool(
        _folded(record.get("refusal_reason"))
    )


def _expects_refusal(sample: Sample) -> bool:
    return isinstance(sample.expectation, Refusal)


def _folded(text: Any) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip() if isinstance(text, str) else ""
