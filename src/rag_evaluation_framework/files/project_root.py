"""The project that a command or a call runs in, and where in it things are kept.

A project is a folder with ``data/config``, as ``rag-eval init`` makes it. It is looked for from the current
folder upwards, no further than the repository or the home folder around it.
"""

from __future__ import annotations

from pathlib import Path

CONFIGURATIONS = ("evaluation_defaults", "ab_testing_config", "performance_benchmark_config")
"""The configuration files of a project, without their endings."""

_ENDINGS = (".config.yaml", ".config.json")


def project_root() -> Path | None:
    """Return the folder of the project around the current folder, as seen from it; ``None`` without one."""
    seen, here = Path(), Path.cwd()
    for folder in (here, *here.parents):
        config = folder / "data" / "config"
        if config.is_dir() and any(configuration_file(config, name) for name in CONFIGURATIONS):
            return seen
        if (folder / ".git").exists() or folder == Path.home():
            return None
        seen /= ".."
    return None


def configuration_file(folder: Path, name: str) -> Path | None:
    """Return the file of a configuration in a folder, if there is one."""
    return next((path for end in _ENDINGS if (path := folder / f"{name}{end}").is_file()), None)


def in_project(*parts: str) -> Path:
    """Return a path inside the project around the current folder; without a project, inside that folder.

    >>> in_project("runs").name
    'runs'
    """
    return (project_root() or Path()).joinpath(*parts)


def is_runs_directory(folder: Path) -> bool:
    """Return True if runs are saved in a folder by default."""
    return folder.resolve() == in_project("runs").resolve()
