"""Which ground truths of golden sets say that the question should be declined.

In every set it is the word ``Refusal``, in any case and width. In the set of questions to decline, the same
in other words will do, or a reason to decline beside whatever the ground truth says. Elsewhere 拒绝 may be an
answer like any other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

REFUSAL = "Refusal"
"""How the ground truth of a question that the system should decline is written."""

_IN_OTHER_WORDS = frozenset({"refusal", "refuse", "refused", "拒绝", "拒絕", "拒答"})


def is_refusal(truth: Any) -> bool:
    """Tell whether a ground truth is the word ``Refusal``."""
    return _folded(truth) == "refusal"


def declines(record: Mapping[str, Any]) -> bool:
    """Tell whether a record of the questions to decline says that it is one.

    >>> declines({"ground_truth": "拒答"}), declines({"ground_truth": "No.", "refusal_reason": "unsafe"})
    (True, True)
    """
    return _folded(record.get("ground_truth")) in _IN_OTHER_WORDS or bool(
        _folded(record.get("refusal_reason"))
    )


def _folded(text: Any) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip() if isinstance(text, str) else ""
