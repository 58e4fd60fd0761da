"""What the operating system refused, in one line that names the file."""

from __future__ import annotations

import os
from pathlib import Path

from rag_evaluation_framework.errors import StorageError


def refused(action: str, path: str | Path, error: OSError | ValueError) -> StorageError:
    """Build the error for an action (``read``, ``write``) that failed; it keeps ``errno`` for callers.

    A ``ValueError`` is what Python raises for a name that holds a NUL.
    """
    number = error.errno if isinstance(error, OSError) else None
    refusal = StorageError(f"cannot {action} {path}: {os.strerror(number) if number else error}")
    refusal.errno = number
    return refusal
