"""Programs that are killed while they work."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time


def kill_after(program: str, seconds: float) -> None:
    """Run a program, and kill it so many seconds after it has written a line."""
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
