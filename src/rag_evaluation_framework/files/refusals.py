"""What the operating system refused, in one line that names the file."""

from __future__ import annotations

import os
from pathlib import Path

from rag_evaluation_framework.errors import StorageError


def refused(action: str, path: str | Path, error: OSError) -> StorageError:
    """Build the error for an action (``read``, ``write``) that failed; it keeps ``errno`` for callers."""
    reason = os.strerror(error.errno) if error.errno is not None else str(error)
    refusal = StorageError(f"cannot {action} {path}: {reason}")
    refusal.errno = error.errno
    return refusal
