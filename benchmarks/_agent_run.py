"""One run of ``benchmarks.agent``: samples made one by one, the HTTP agent, a scorer, the journal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_STARTED = time.perf_counter()

from benchmarks._memory import peak_megabytes  # noqa: E402
from rag_evaluation_framework.adapters.http_agent import HttpAgent  # noqa: E402
from rag_evaluation_framework.evaluation.engine import run_samples  # noqa: E402
from rag_evaluation_framework.records.responses import Response  # noqa: E402
from rag_evaluation_framework.records.runs import Options, RunHead  # noqa: E402
from rag_evaluation_framework.records.samples import Sample, Turn  # noqa: E402
from rag_evaluation_framework.records.scores import Score  # noqa: E402
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder  # noqa: E402


class Contains:
    """Scores whether the answer holds the reference."""

    name = "contains"
    method = "substring"

    def score(self, sample: Sample, response: Response) -> Score:
        held = (sample.reference or "").casefold() in (response.text or "").casefold()
        return Score.scored(self.name, held, method=self.method)


def _samples(count: int) -> Iterator[Sample]:
    for number in range(count):
        turn = Turn(role="user", content=f"Question {number}: what is the capital of France?")
        yield Sample(id=f"s{number:07}", turns=(turn,), reference="Paris")


def main() -> None:
    url, count, concurrency, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    folder = RunFolder.create(directory, RunHead(run_id=NEW_RUN, dataset_id="benchmark"))
    settings = Options(concurrency=concurrency)
    agent = HttpAgent(url, path="/v1/chat/completions", protocol="openai-compatible", model="m")
    started, cpu = time.perf_counter(), time.process_time()
    outcome = run_samples(lambda: _samples(count), agent, [Contains()], folder=folder, options=settings)
    ended = time.perf_counter()
    assert outcome.completed, outcome
    assert not outcome.failed, outcome
    took = {
        "seconds": ended - started,
        "whole_seconds": ended - _STARTED,
        "run_cpu_seconds": time.process_time() - cpu,
        "megabytes": peak_megabytes(),
    }
    print(json.dumps(took))


if __name__ == "__main__":
    main()
