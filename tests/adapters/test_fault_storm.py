"""A whole run while three replies in ten are faults of every kind the server knows.

``RAG_EVAL_LONG_TESTS=1`` runs it at full size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fault_agent import FAULTS, running_server

from sizes import LONG

SAMPLES, IN_FLIGHT = (5_000, 500) if LONG else (1_000, 200)
PROGRAM = Path(__file__).parents[1] / "servers" / "storm_run.py"


def test_in_a_storm_every_sample_ends_as_a_correct_answer_or_a_typed_failure(tmp_path: Path) -> None:
    with running_server(fault_share=0.3, seed=7, log=False) as server:
        done = subprocess.run(
            [sys.executable, str(PROGRAM), server.url, str(SAMPLES), str(IN_FLIGHT), str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[1])},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        log = server.log()
    assert done.returncode == 0, done.stderr
    storm = json.loads(done.stdout)
    attempts = log["received"] / SAMPLES
    print(json.dumps({**storm, "attempts": attempts, "faults": log["faults"]}))
    assert storm["completed"]
    assert storm["samples"] == SAMPLES
    assert storm["correct"] == storm["answers"]
    assert storm["answers"] + sum(storm["failures"].values()) == SAMPLES
    # Nothing of ours broke: every failure is one the target named.
    assert not storm["failures"].keys() & {"target-error", "cancelled", "unwritable-response"}
    # 30 % of the replies are faults and half of those are final, so about 85 % can be answered.
    assert storm["answers"] > 0.75 * SAMPLES
    assert log["faults"].keys() == FAULTS.keys()
    assert attempts <= 1.8
    assert storm["megabytes"] < 300
    assert log["stolen"] == []
    assert storm["leaks"] == 0
    assert "canary" not in done.stdout + done.stderr
