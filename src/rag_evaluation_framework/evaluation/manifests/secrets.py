"""Secrets that were resolved, and the one way to keep them out of whatever is written or shown.

A secret is hidden as it is, and in the forms in which it may come back: as JSON, in percents, in base 64.
Secrets shorter than :data:`SHORTEST` cannot be hidden without eating into ordinary words, so they are refused
where they are read.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from rag_evaluation_framework.errors import ModelError, RagEvalError, UsageError

MASK = "***"
SHORTEST = 6

_TELLING_NAME = re.compile(r"key|token|secret|pass|auth|sig|credential|cookie|bearer", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """Tell from its name that a header, a parameter or a variable holds a secret: ``X-Api-Key``."""
    return _TELLING_NAME.search(name) is not None


class Secrets:
    """Values that must never be shown; :meth:`mask` hides them in a text."""

    def __init__(self) -> None:
        self._forms: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __repr__(self) -> str:
        return "Secrets(…)"

    def add(self, value: str) -> None:
        """Hide this value from now on. Of ``Bearer abc123`` the last word is hidden by itself too."""
        forms = set(self._forms)
        for secret in {value, value.strip(), *value.split()[-1:]}:
            if len(secret) >= SHORTEST:
                forms |= _forms_of(secret)
        # The longest first, so that no end of a secret is left beside its mask.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def mask(self, text: str) -> str:
        """Return the text with every secret replaced by ``***``."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    @contextmanager
    def masked_errors(self) -> Iterator[None]:
        """Hide the secrets in the message of an error of ours that comes out of the block."""
        try:
            yield
        except RagEvalError as error:
            masked = self.mask(str(error))
            if masked == str(error):
                raise
            if isinstance(error, ModelError):
                raise type(error)(error.kind, self.mask(error.message)) from None
            raise UsageError(masked) from None

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value with the secrets in its texts and keys replaced."""
        if not self._forms:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {self.mask_value(key): self.mask_value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_value(item) for item in value]
        return value


def _forms_of(secret: str) -> set[str]:
    data = secret.encode("utf-8", "surrogateescape")
    encoded = b64encode(data).decode("ascii")
    url_safe = urlsafe_b64encode(data).decode("ascii")
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        escape(secret),
        quote(data, safe=""),
        quote_plus(data),
        encoded,
        encoded.rstrip("="),
        url_safe,
        url_safe.rstrip("="),
    }
