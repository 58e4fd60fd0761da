"""Hiding what a target sends as a secret, wherever the system under test sends it back."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from urllib.parse import quote

MASK = "***"

# Shorter ones are no secrets, and hiding them would eat into ordinary words.
_SHORTEST = 6


def unmasked(text: str) -> str:
    """Return the text as it is: the mask of a target that has no secrets."""
    return text


def header_mask(values: Iterable[str]) -> Callable[[str], str]:
    """Return a function that hides these header values, and their last words, in a text.

    The last word of ``Bearer abc123`` is the token itself. Encoded by percents, in base 64 or in JSON they
    are hidden too.
    """
    secrets = {part for value in values for part in (value, value.rpartition(" ")[2])}
    encoded = {form for secret in secrets for form in _encoded(secret)}
    longest_first = sorted(
        (text for text in secrets | encoded if len(text) >= _SHORTEST), key=len, reverse=True
    )
    if not longest_first:
        return unmasked

    def mask(text: str) -> str:
        for secret in longest_first:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    return mask


def _encoded(secret: str) -> tuple[str, ...]:
    base64 = b64encode(secret.encode("utf-8")).decode("ascii")
    return quote(secret, safe=""), base64, json.dumps(secret)[1:-1]
