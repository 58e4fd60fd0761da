"""A whole run against an agent, in a process of its own: prints what came of it and what it took.

``python storm_run.py URL SAMPLES CONCURRENCY FOLDER``
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from fault_agent import answer_to

from peak_memory import peak_kib
from rag_evaluation_framework import HttpAgent, Options, Response, Sample, Score, Turn
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_store import NEW_RUN, RunFolder
from run_files import plain_journal


class Correct:
    """Scores 1 where the answer is the one the agent gives when it is well."""

    name = "correct"
    method = "equality"

    def score(self, sample: Sample, response: Response) -> Score:
        return Score.scored(self.name, response.text == answer_to(sample.question), method=self.method)


def main() -> None:
    url, count, concurrency, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    samples = [
        Sample(id=f"s{number:06}", turns=(Turn(role="user", content=f"question {number}"),))
        for number in range(count)
    ]
    folder = RunFolder.create(directory, RunHead(run_id=NEW_RUN, dataset_id="storm"))
    settings = Options(concurrency=concurrency, attempt_timeout=2.0, sample_timeout=30.0)
    agent = HttpAgent(url, secret_headers={"Authorization": "Bearer canary-5e1f"})
    started = time.monotonic()
    outcome = run_samples(samples, agent, [Correct()], folder=folder, options=settings)
    elapsed = time.monotonic() - started
    results = list(folder.results())
    failures = Counter(result.response.failure.kind for result in results if result.response.failure)
    print(
        json.dumps(
            {
                "completed": outcome.completed,
                "samples": len({result.sample_id for result in results}),
                "answers": sum(result.response.failure is None for result in results),
                "correct": sum(result.scores[0].value == 1 for result in results),
                "failures": dict(failures),
                "megabytes": peak_kib() // 1024,
                "seconds": round(elapsed, 1),
                "cpu_seconds": round(time.process_time(), 1),
                "leaks": plain_journal(folder.path).read_bytes().count(b"canary-5e1f"),
            }
        )
    )


if __name__ == "__main__":
    main()
