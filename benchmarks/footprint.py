"""What the package costs before it does anything: import time, help time, installed size, dependencies."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path

REPEATS = 7
ROOT = Path(__file__).parents[1]


def cpu_seconds(*arguments: str) -> float:
    """Return the least CPU time of a fresh interpreter over several tries."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def installed() -> tuple[int, int, int]:
    """Install the package alone into a new environment: packages, bytes without and with bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        python = environment / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", str(ROOT)],
            check=True,
            env={**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
            stderr=subprocess.DEVNULL,
        )
        files = [path for path in environment.rglob("site-packages/**/*") if path.is_file()]
        packages = sum(path.name == "METADATA" for path in files)
        source = sum(path.stat().st_size for path in files if path.suffix != ".pyc")
        return packages, source, sum(path.stat().st_size for path in files)


def main() -> None:
    empty = cpu_seconds("-c", "pass")
    imported = cpu_seconds("-c", "import rag_evaluation_framework")
    helped = cpu_seconds("-c", "from rag_evaluation_framework.cli.main import main; main(['--help'])")
    packages, source, everything = installed()
    direct = [line for line in requires("rag-evaluation-framework") or [] if "extra ==" not in line]
    print(f"empty interpreter                    {empty:.3f} s CPU")
    print(f"import rag_evaluation_framework      {imported:.3f} s CPU")
    print(f"rag-eval --help                      {helped:.3f} s CPU")
    print(f"direct dependencies                  {len(direct)}")
    print(f"packages installed                   {packages}")
    print(f"size installed                       {source / 1e6:.1f} MB")
    print(f"the same with compiled bytecode      {everything / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
