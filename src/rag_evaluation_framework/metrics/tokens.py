"""Text made comparable: folding, and the units in which texts are compared.

Everything is compared after NFKC and case folding. Scripts that are written without spaces (Chinese
characters and kana) are compared by the character, never by what stands between spaces.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from unicodedata import category, normalize

from rag_evaluation_framework.characters import UNSPACED
from rag_evaluation_framework.errors import invalid

_UNSPACED_CHARACTER = re.compile(f"([{UNSPACED}])")
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def folded(text: str) -> str:
    """Return the text after NFKC and case folding, with single spaces.

    >>> folded("  Ｆｕｌｌ　Width ")
    'full width'
    """
    # Folding can undo the normal form (U+0345), hence the second pass.
    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


def plain(text: str) -> str:
    """Return the folded text without punctuation and English articles, as SQuAD's scorer compares answers.

    A text that holds nothing else keeps them: the answer "A" is not the answer "The".

    >>> plain("The Eiffel Tower!")
    'eiffel tower'
    """
    kept = folded(text)
    bare = "".join(character for character in kept if not _is_punctuation(character))
    return " ".join(_ARTICLES.sub(" ", bare).split()) or kept


def plain_tokens(text: str) -> list[str]:
    """Split a text into the words of :func:`plain`, and unspaced scripts into characters.

    >>> plain_tokens("The capital is 北京.")
    ['capital', 'is', '北', '京']
    """
    return _UNSPACED_CHARACTER.sub(r" \1 ", plain(text)).split()


def word_tokens(text: str) -> list[str]:
    """Split a text into runs of letters and digits, and unspaced scripts into characters.

    >>> word_tokens("State-of-the-art: 北京!")
    ['state', 'of', 'the', 'art', '北', '京']
    """
    return _WORD.findall(folded(text))


def has_unspaced_script(text: str) -> bool:
    """Tell whether a text has Chinese characters or kana."""
    return _UNSPACED_CHARACTER.search(text) is not None


def checked_references(reference: str | Sequence[str]) -> list[str]:
    """Return the references as a list; none at all, or an empty one, cannot be compared with."""
    references = [reference] if isinstance(reference, str) else list(reference)
    if not references:
        raise invalid("reference", "a text", reference, code="empty-reference")
    for number, text in enumerate(references):
        if not isinstance(text, str) or not text.strip():
            path = "reference" if isinstance(reference, str) else f"reference[{number}]"
            raise invalid(path, "a text that is not empty", text, code="empty-reference")
    return references


def _is_punctuation(character: str) -> bool:
    """Tell Unicode's punctuation, and the ASCII symbols (``$+<=>^`|~``) that SQuAD counts as such."""
    return character in string.punctuation or category(character).startswith("P")
