"""Whether a question can be put to somebody who has not seen the text it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag_evaluation_framework.synthesis.asking.scripts import writes_another_script

_LONGEST = 600

_TEXT = r"(?:texts?|passages?|excerpts?|chunks?|article|document \d)"
_SPEAKS_OF_TEXT = re.compile(
    rf"\b(?:according to|based on|in|from|of|by|does|do) (?:the|this|these|that) "
    rf"(?:(?:above|given|provided|following) )?{_TEXT}\b"
    r"|\baccording to (?:the|this|these) (?:(?:above|given|provided) )?(?:documents?|sections?|paragraphs?)\b"
    r"|\bchunk_[0-9a-f]{6,}"
    r"|本文|上文|该文|此文|文中|这段文字|该段|上述(?:文本|文字|段落|文档)|以上(?:文本|文字|段落)",
    re.IGNORECASE,
)


def question_problem(question: str, sources: Iterable[str]) -> tuple[str, str] | None:
    """Return the reason to reject a question and what shows it; ``None`` if there is none.

    >>> question_problem("What does the passage say about dogs?", ["Dogs travel free."])
    ('refers-to-the-text', 'does the passage')
    """
    if not question or len(question) > _LONGEST:
        return "malformed-question", f"a question of {len(question)} characters"
    if found := _SPEAKS_OF_TEXT.search(question):
        return "refers-to-the-text", found[0]
    if writes_another_script(question, sources):
        return "other-language", ""
    return None
