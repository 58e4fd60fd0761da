"""Which version of a build a split belongs to, so that a run can say exactly what was asked."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rag_evaluation_framework.datasets.splits.manifest_counts import read_manifest
from rag_evaluation_framework.files.refusals import refused


def split_version(path: str | Path, manifest_path: str | Path) -> str | None:
    """Return the version of the manifest that a split was written with.

    The bytes must be those that the manifest vouches for. ``None`` where there is no manifest, or where it
    speaks of other bytes: the split was edited, or is of another build.
    """
    if not Path(manifest_path).is_file():
        return None
    manifest = read_manifest(manifest_path)
    try:
        with Path(path).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise refused("read", path, error) from error
    vouched = any(split.get("sha256") == digest for split in manifest["splits"].values())
    return str(manifest["version"]) if vouched else None
