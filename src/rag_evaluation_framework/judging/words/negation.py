"""The words by which a sentence denies something, or says that nothing is known of it."""

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

# That the sources do not tell: a statement about the evidence, which its words cannot support.
SAYS_UNTOLD = re.compile(
    r"\b(?:passages?|contexts?|sources?|texts?|articles?|documents?|records?|data|information|reviews?|answers?)\b[^.;]{0,40}?"
    r"(?:\b(?:do|does|did|is|are|was|were)\s?n[o']t|\bnot)\s(?:\w+\s){0,2}?"
    r"(?:provid|mention|contain|includ|specif|stat|say|indicat|discuss|address|offer|explain|clear|available|given|enough)"
    r"|\b(?:no|not\sany|without\sany|n['’]t\sany|not\s(?:provide|have|contain|include|give))\s(?:\w+\s){0,3}?"
    r"(?:information|mention|details?|indication|data)\b"
    r"|\bnot\s(?:explicitly\s|specifically\s|directly\s)?(?:mentioned|specified|stated|provided|disclosed|listed)\b"
    r"|\b(?:unknown|unclear|unspecified)\b|未提|没有提|沒有提|不清楚|未说明|未說明|没有(?:相关|提供)|無相關|无相关",
    re.IGNORECASE,
)
