"""The words by which a sentence denies something."""

from __future__ import annotations

import re

NEGATIONS = ("not", "no", "never", "neither", "nor", "without", "cannot")
"""English words that deny what follows."""

CHINESE_NEGATIONS = "不没沒无無未非"
"""Characters that deny what follows, where they are no part of a word."""

CHINESE_NOT = "不(?![同过仅但少断久论管止错只光])|没(?!错|问题)|未(?!来)"
"""The expression of those of a comparable text that are no part of such a word: not of 不同, 没错, 未来."""

DENIAL = re.compile(
    rf"\b(?!not\sonly)(?:{'|'.join(NEGATIONS)}|none|unable|unavailable|closed|absence|den(?:y|ies|ied)"
    rf"|lack(?:s|ed|ing)?|fail(?:s|ed)?\sto)\b|n['’]t\b|[{CHINESE_NEGATIONS}]",
    re.IGNORECASE,
)
