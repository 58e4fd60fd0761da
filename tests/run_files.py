"""The files of runs, as tests read and damage them."""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.files.access import read_bytes


def plain_journal(run: Path) -> Path:
    """Return the journal of a run as lines; a compressed one is unpacked."""
    path, packed = run / "journal.jsonl", run / "journal.jsonl.zst"
    if packed.is_file():
        path.write_bytes(read_bytes(packed))
        packed.unlink()
    return path
